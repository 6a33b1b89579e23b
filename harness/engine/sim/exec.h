// SPDX-License-Identifier: Apache-2.0
// Inside of engine/sim: what decoding, execution and device memory share. Not for other layers.
//
// Generic addresses: shared and local memory and parameters have a window each, far below global
// memory. A shared, local or param address is an offset from 0; cvta adds the window's base.
#ifndef LG_ENGINE_SIM_EXEC_H
#define LG_ENGINE_SIM_EXEC_H

#include "engine/ptx/ptx.h"
#include "engine/sim/lane.h"
#include "engine/sim/sim.h"
#include "support/arena.h"

#define LG_SHARED_WINDOW UINT64_C(0x010000000000)
#define LG_LOCAL_WINDOW UINT64_C(0x020000000000)
#define LG_PARAM_WINDOW UINT64_C(0x030000000000)
#define LG_FUNCTION_BASE UINT64_C(0x040000000000)
#define LG_WINDOW_BYTES UINT64_C(0x010000000000)
#define LG_GLOBAL_BASE UINT64_C(0x700000000000)
#define LG_GLOBAL_END UINT64_C(0x7fff00000000)

enum {
    LG_CARRY_SLOT = 4, // of every frame
    LG_MAX_WARPS = 32,
    LG_N_BARRIERS = 16,
    LG_SIMT_DEPTH = 160,                       // see warp.c: divergence of 32 lanes needs less
    LG_MAX_CALLS = 4096,                       // call depth
    LG_MAX_LOCAL_BYTES = 512 * 1024,           // local memory of a thread
    LG_MAX_ASSERT_LINES = 1024,                // then the launch stops at once
    LG_BUDGET_AFTER_ASSERT = 50 * 1000 * 1000, // warp instructions
    LG_MAX_LOG_BYTES = 8 * 1024 * 1024,        // of printf and assert lines
    LG_MAX_STRING = 64 * 1024,                 // bytes of a string that a kernel prints
    LG_DEFAULT_SHARED_LIMIT = 48 * 1024,       // bytes
    LG_MAX_SHARED_LIMIT = 227 * 1024,
    LG_MEMORY_POISON = 0x7f, // fills new memory: large and odd in every type
};

typedef enum lg_kind {
    LG_KIND_LANE = 0,
#define LG_SIM_KIND(id, name) LG_KIND_##id,
#include "engine/sim/kinds.def"
#undef LG_SIM_KIND
    LG_N_KINDS
} lg_kind;

// --- device memory (memory.c)

// One allocation. Records are kept after the free, so that a late access is named; a freed one has
// `bytes` and `write_bytes` 0, a read-only one `write_bytes` 0: what execution has cached stays
// true.
typedef struct lg_alloc {
    uint64_t base;
    uint64_t bytes;       // readable
    uint64_t write_bytes; // writable
    char *host;
    uint64_t full_bytes;         // as allocated
    uint8_t *written;            // one bit a byte; NULL where it is not tracked
    struct lg_race_lines *lines; // what the running launch's race check knows of it, or NULL
    bool owned;                  // `host` is ours
    bool live;
    bool read_only;
    bool all_written; // no tracking any more: code that is not checked has written to it
} lg_alloc;

struct lg_sim {
    lg_alloc **allocs; // by base, growing; records never move
    size_t n_allocs, capacity;
    uint64_t next; // first address not handed out
    size_t bytes_in_use;
    uint32_t n_modules;   // ever loaded: numbers their function addresses
    uint64_t n_launches;  // names the frames whose launch constants are filled
    lg_alloc shared;      // the running block's shared memory at its window
    lg_alloc shared_flat; // the same at 0
    lg_alloc params;      // the running launch's parameters at their window
    lg_alloc params_flat; // the same at 0
    lg_alloc nothing;     // 0 bytes: every access misses
    struct lg_race *race; // kept from launch to launch; NULL at first
    struct lg_warp
        *warps; // LG_MAX_WARPS, kept with their frames from launch to launch; NULL at first
};

lg_alloc *lg_memory_find(const lg_sim *sim, uint64_t address); // live one that holds it, or NULL
// The nearest record, live or freed; NULL when there is none. `distance` as in lg_sim_fault.
const lg_alloc *lg_memory_nearest(const lg_sim *sim, uint64_t address, uint32_t bytes,
                                  int64_t *distance);
void lg_memory_mark_written(lg_alloc *alloc, uint64_t offset, uint64_t n);
bool lg_memory_is_written(const lg_alloc *alloc, uint64_t offset, uint64_t n);

// --- decoded code (decode*.c)

typedef enum lg_fill_what {
    LG_FILL_BITS,      // value
    LG_FILL_SREG,      // special register number `value`
    LG_FILL_SHARED,    // static shared memory: object number << 32 | offset
    LG_FILL_DYNAMIC,   // address of dynamic shared memory + value
    LG_FILL_LOCAL,     // local address of the frame + value
    LG_FILL_PARAM,     // a parameter of the launch: its offset | element bytes << 32 | signed << 40
    LG_FILL_PREDICATE, // all lanes or none
} lg_fill_what;

// A slot that holds the same for a whole call: constants, special registers, addresses.
typedef struct lg_fill {
    lg_fill_what what;
    uint32_t slot;
    uint8_t bytes; // of an element
    uint64_t value;
} lg_fill;

typedef struct lg_call_arg {
    bool is_register;
    uint8_t reg_bytes; // element bytes of the slot when is_register
    uint32_t from;     // slot, or byte offset in the caller's parameter rows
    uint32_t to;       // byte offset in the callee's parameter rows (args)
    uint32_t bytes;
} lg_call_arg;

typedef struct lg_call {
    int function; // -1: through a register
    int n_args, n_returns;
    lg_call_arg *args, *returns; // returns: `from` is the caller's place, `to` the callee's
} lg_call;

typedef struct lg_branch_table {
    int n;
    uint32_t *targets; // decoded instruction
} lg_branch_table;

typedef struct lg_code {
    struct lg_sim_module *module;
    const lg_ptx_function *ptx;
    int function;
    int n_insns;
    lg_insn *insns;
    // The frame: [0, 64) slot 0, carry flag and spare; [64, zeroed_end) registers and parameter
    // rows; then the filled slots; then scratch.
    uint32_t zeroed_end, frame_bytes, scratch;
    bool clear_registers; // some register may be read before it is written: clear on every entry
    uint32_t rows;        // slot of the parameter rows: word k of lane l is uint32_t [k * 32 + l]
    uint32_t rows_base;   // byte offset of the first row
    uint32_t n_rows;
    int n_fixed, n_moving; // fixed: for a launch; moving: on every entry of a frame
    lg_fill *fixed, *moving;
    int n_calls;
    lg_call *calls;
    int n_tables;
    lg_branch_table *tables;
    int n_callees, callee_capacity; // functions it calls by name (may repeat)
    int *callees;
    bool calls_indirectly;
    int n_objects, object_capacity; // shared objects it names (may repeat)
    int *objects;
    bool prepared;       // it and all it can reach are decoded, and the fields below are set
    int shared_object;   // number of its own static shared memory, -1 none
    uint32_t *shared_at; // of an entry: where each object it can reach lies in a launch of it
    uint64_t shared_end; // of an entry: bytes of static shared memory
    // Instructions that lg_fuse has replaced, as they were.
    int n_fused;
    struct lg_single {
        uint32_t at;
        lg_insn insn;
    } * single;
    // Coverage, one an instruction; NULL when it is off.
    uint64_t *executed, *taken, *not_taken, *divergent;
} lg_code;

struct lg_sim_module {
    lg_arena arena;
    lg_sim *sim;
    const lg_ptx_module *ptx;
    uint32_t number;
    uint64_t *addresses; // of module symbols: global address, or number of the shared object
    int n_objects;  // pieces of static shared memory: module-level variables, functions' frames
    lg_code *codes; // by function index; n_insns 0 for extern ones
    uint32_t n_sites, site_capacity;
    unsigned site_checks; // of the launches that filled the sites: others must not trust them
    lg_alloc **sites;     // the allocation each memory instruction used last, never NULL; malloc'd
    uint64_t *last;       // the offset there of its last access by a whole warp; malloc'd
    bool coverage;
};

// Memory instructions: src[0] is the address slot, src[1..] the stored values, dst the loaded ones,
// imm the offset, aux[0] a lg_mem_form, aux[1] the site.
typedef struct lg_mem_form {
    uint8_t bytes;     // of an element in memory: 1, 2, 4, 8
    uint8_t reg_bytes; // of the register's element: 2, 4, 8
    uint8_t vec : 3;   // elements: 1, 2, 4
    uint8_t sign : 1;  // sign-extends
    uint8_t address_32 : 1;
    uint8_t strong : 1; // for the race check: atomic, .volatile, .relaxed, …
    uint8_t narrow : 1; // of a scope that ends with the block
    uint8_t fences : 1; // .release: what came before it is ordered
    uint8_t space;      // lg_ptx_space
} lg_mem_form;
_Static_assert(sizeof(lg_mem_form) == 4, "a memory form fits aux[0]");

static inline lg_mem_form lg_mem_form_of(const lg_insn *insn) {
    union {
        uint32_t word;
        lg_mem_form form;
    } u = {.word = insn->aux[0]};
    return u.form;
}

// A load or store that may touch memory others see.
static inline bool lg_is_access(const lg_insn *insn) {
    return !insn->lane && insn->kind >= LG_KIND_LD_2;
}

static inline uint64_t lg_function_address(const lg_sim_module *module, int function) {
    return LG_FUNCTION_BASE + ((uint64_t)module->number << 24) + (uint64_t)function * 16;
}

// --- execution

typedef struct lg_simt { // a path that waits below the running one
    const lg_insn *ip;
    const lg_insn *rpc;
    uint32_t mask;
} lg_simt;

typedef struct lg_frame {
    const lg_code *code;
    char *regs;
    uint32_t capacity;      // bytes at regs
    const lg_code *filled;  // whose fixed slots regs holds,
    uint64_t filled_launch; // of which launch
    uint64_t local_base;    // where its local memory starts
    uint32_t mask;          // lanes that called
    uint32_t returned;      // of them
    int simt_base;          // entries below are the caller's
    const lg_insn *call;    // the caller's call instruction, rpc and mask
    const lg_insn *caller_rpc;
    uint32_t caller_mask;
} lg_frame;

typedef enum lg_warp_state { LG_WARP_READY, LG_WARP_WAITING, LG_WARP_DONE } lg_warp_state;

typedef struct lg_warp {
    lg_warp_state state;
    int number;
    uint32_t live; // lanes not exited
    uint32_t mask; // lanes running
    const lg_insn *ip;
    const lg_insn *rpc; // where the running path meets the next one below; NULL at the bottom
    int n_simt;
    lg_simt simt[LG_SIMT_DEPTH];
    int depth; // frames[depth] runs
    int n_frames;
    lg_frame *frames;                   // kept for reuse
    uint32_t *local;                    // word k of lane l is local[k * 32 + l]
    uint64_t local_capacity, local_top; // bytes a thread
    int barrier;                        // waited for
    uint32_t barrier_lanes;
    uint32_t clocks[LG_MAX_WARPS];       // what it has seen of each warp (race.h)
    uint32_t fenced[LG_MAX_WARPS];       // what of it lies before a fence of the device
    uint32_t fenced_block[LG_MAX_WARPS]; // before a fence of any scope
    uint32_t lane_epoch;                 // how often its lanes were ordered among themselves
} lg_warp;

typedef struct lg_barrier {
    uint32_t waiting;  // warps
    uint32_t arrived;  // warps, waiting or not
    uint32_t threads;  // arrived
    uint32_t expected; // threads; 0: the whole block
    uint32_t popc, all, any;
    uint32_t clocks[LG_MAX_WARPS], fenced[LG_MAX_WARPS], fenced_block[LG_MAX_WARPS];
} lg_barrier;

typedef enum lg_stop {
    LG_STOP_NONE,    // goes on
    LG_STOP_DONE,    // the warp ended
    LG_STOP_BARRIER, // waits
    LG_STOP_TURN,    // its turn is over
    LG_STOP_FAULT,   // the launch ends
} lg_stop;

typedef struct lg_race_lines lg_race_lines;
typedef struct lg_exec lg_exec;

// Block number `i` of the order: i * factor + offset modulo n, a permutation as factor and n are
// coprime.
typedef struct lg_block_order {
    uint64_t n, factor, offset;
} lg_block_order;

typedef bool lg_mem_fn(lg_exec *x, char *regs, const lg_insn *insn, uint32_t active);
// The lanes of `active` (not 0) whose access lies in the allocation, aligned. Gives their offsets
// there, and the bytes from each of them to the next lane: 0 when they are at one place, -1 when it
// varies.
typedef uint32_t lg_survey_fn(const char *regs, const lg_insn *insn, uint32_t active,
                              const lg_alloc *alloc, uint64_t *offsets, int64_t *stride);
typedef struct lg_mem_table { // LD_2, …, ST_ANY, in the order of kinds.def
    lg_mem_fn *fn[8];
    lg_survey_fn *survey;
} lg_mem_table;

struct lg_exec {
    lg_alloc **sites;
    uint64_t *last;
    unsigned checks;
    lg_warp *warp; // running
    const lg_mem_table *memory;
    uint64_t n;        // warp instructions so far
    uint64_t lanes;    // lane instructions so far
    uint64_t turn_end; // n at which the warp gives up its turn; at most budget
    uint64_t budget;
    lg_sim *sim;
    lg_sim_module *module;
    const lg_code *code; // the entry's
    const lg_sim_launch *launch;
    lg_sim_result *result;
    lg_str log;
    bool log_full;
    int n_asserts;
    uint32_t block[3];       // running
    uint64_t dynamic_shared; // its address
    uint64_t shared_bytes;
    int n_warps, n_threads;
    lg_warp *warps;
    lg_barrier barriers[LG_N_BARRIERS];
    uint64_t random;
    lg_block_order order;
    struct lg_race *race; // NULL unless the launch is checked for races
};

lg_survey_fn lg_survey_baseline, lg_survey_avx2, lg_survey_avx512;
extern const lg_mem_table lg_mem_table_baseline, lg_mem_table_avx2, lg_mem_table_avx512;

// decode.c: fills module->codes[function]; false after adding to `diags`.
bool lg_decode(lg_sim_module *module, int function, lg_diags *diags);
// module.c: decodes what a launch of the function can reach and lays out its shared memory, once.
bool lg_module_prepare(lg_sim_module *module, int function, lg_diags *diags);
void lg_module_forget_sites(lg_sim_module *module);
// coverage.c: counters for a decoded function.
void lg_coverage_begin(lg_sim_module *module, lg_code *code);

// interp.c
lg_stop lg_run_warp(lg_exec *x, lg_warp *warp);

// warp.c
bool lg_warp_start(lg_exec *x, lg_warp *warp); // at the entry, for the block x->block
void lg_warp_free(lg_warp *warp);
// The running path is over (its mask is empty): goes on with the next one, returning from calls as
// needed. False when the warp has ended.
bool lg_warp_resume(lg_warp *warp);
// Splits the running path at `insn` in two (ip and mask of each; rpc is set here) that meet again
// at `meet`; `first` runs first. False after raising a fault.
bool lg_warp_split(lg_exec *x, lg_warp *warp, const lg_insn *insn, const lg_insn *meet,
                   lg_simt first, lg_simt second);

// call.c: pushes a frame for `lanes` of the running mask; false after raising a fault.
bool lg_call_enter(lg_exec *x, lg_warp *warp, const lg_insn *insn, int function, uint32_t lanes);

// barrier.c
lg_stop lg_barrier_arrive(lg_exec *x, lg_warp *warp, char *regs, const lg_insn *insn,
                          uint32_t active);
void lg_barriers_reset(lg_exec *x);
void lg_barrier_warp_done(lg_exec *x);
void lg_barrier_deadlock(lg_exec *x);

// intrinsics.c, printf.c
// Prints a line for each active lane and ends the warp; false when the launch is to end at once.
bool lg_assert_fail(lg_exec *x, char *regs, const lg_insn *insn, uint32_t active);
bool lg_vprintf(lg_exec *x, char *regs, const lg_insn *insn, uint32_t active);
// Formats one call as device printf does: arguments lie at `args` with natural alignment. Returns
// the number of conversions, -1 after raising a fault.
int lg_format_printf(lg_exec *x, const lg_insn *insn, int lane, uint64_t format, uint64_t args,
                     lg_str *out);
// Appends a NUL-terminated string of the lane's address space, at most LG_MAX_STRING bytes; false
// after raising a fault.
bool lg_read_string(lg_exec *x, const lg_insn *insn, int lane, uint64_t address, lg_str *out);

// launch.c: the coordinates of the i-th block of the launch's order.
void lg_launch_block(const lg_exec *x, uint64_t i, uint32_t block[3]);

// exchange.c: shfl, vote, match, redux, elect and bar.warp.sync of the running warp. Lanes that the
// ISA leaves undefined are a finding; the launch goes on.
void lg_exchange(lg_exec *x, char *regs, const lg_insn *insn, uint32_t active);
void lg_warp_sync(lg_exec *x, char *regs, const lg_insn *insn, uint32_t active);

// fault.c. The first error of a launch stays; a sanitizer finding gives way to an error.
void lg_raise(lg_exec *x, const lg_insn *insn, int lane, lg_sim_status status,
              lg_device_fault_kind kind, const char *format, ...)
    __attribute__((format(printf, 6, 7)));
void lg_raise_access(lg_exec *x, const lg_insn *insn, int lane, lg_ptx_space space,
                     uint64_t address, uint32_t bytes, bool write);
// Of an access; of lanes, where `bytes` is 0.
void lg_find(lg_exec *x, const lg_insn *insn, int lane, lg_sim_fault fault, const char *what);

#endif
