// SPDX-License-Identifier: Apache-2.0
// From a checked function of PTX to code that runs: one lg_insn an instruction, with its registers,
// constants and parameters as slots of a frame, its branches relative, and the lane function that
// executes it. Decoding refuses what the engine cannot execute and says where; what it accepts,
// runs.
//
// Beyond that it drops moves that nobody needs (fold.h) and gives runs that nvcc writes often one
// lane function (fuse.h): the bits and the counts of instructions stay.
#ifndef LG_ENGINE_SIM_DECODE_DECODE_H
#define LG_ENGINE_SIM_DECODE_DECODE_H

#include "engine/ptx/ptx.h"
#include "engine/sim/lane/lane.h"
#include "engine/sim/memory/device.h"
#include "support/arena.h"

#define LG_FUNCTION_BASE UINT64_C(0x040000000000) // of the addresses of functions

enum { LG_CARRY_SLOT = 4 }; // of every frame

typedef struct lg_sim_module lg_sim_module; // a decoded module, loaded on one device

typedef enum lg_kind {
    LG_KIND_LANE = 0,
#define LG_SIM_KIND(id, name) LG_KIND_##id,
#include "engine/sim/decode/kinds.def"
#undef LG_SIM_KIND
    LG_N_KINDS
} lg_kind;

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

// A load or store that may touch memory others see.
static inline bool lg_is_access(const lg_insn *insn) {
    return !insn->lane && insn->kind >= LG_KIND_LD_2;
}

static inline uint64_t lg_function_address(const lg_sim_module *module, int function) {
    return LG_FUNCTION_BASE + ((uint64_t)module->number << 24) + (uint64_t)function * 16;
}

// Fills module->codes[function]; false after adding to `diags`.
bool lg_decode(lg_sim_module *module, int function, lg_diags *diags);
// Puts the single instructions back in place of fused ones: coverage counts each.
void lg_unfuse(lg_code *code);

#endif
