// SPDX-License-Identifier: Apache-2.0
// A device from inside: its allocations, what launches keep on it, and how code sees memory.
//
// Generic addresses: shared and local memory and parameters have a window each, far below global
// memory. A shared, local or param address is an offset from 0; cvta adds the window's base.
//
// Loads and stores are vector code, compiled once an instruction set as the lane functions are: all
// lanes in the allocation that the instruction used last, aligned. Everything else goes to `slow`.
#ifndef LG_ENGINE_SIM_MEMORY_DEVICE_H
#define LG_ENGINE_SIM_MEMORY_DEVICE_H

#include "engine/ptx/ast.h"
#include "engine/sim/lane/lane.h"
#include "engine/sim/memory/memory.h"

#define LG_SHARED_WINDOW UINT64_C(0x010000000000)
#define LG_LOCAL_WINDOW UINT64_C(0x020000000000)
#define LG_PARAM_WINDOW UINT64_C(0x030000000000)
#define LG_WINDOW_BYTES UINT64_C(0x010000000000)
#define LG_GLOBAL_BASE UINT64_C(0x700000000000)
#define LG_GLOBAL_END UINT64_C(0x7fff00000000)

enum { LG_MEMORY_POISON = 0x7f }; // fills new memory: large and odd in every type

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

void lg_memory_free(lg_sim *sim); // all allocations; the device goes
// The allocation an access of `bytes` at a (generic or global or shared) address lies in, or NULL:
// its offset there is relative to the allocation's base. Local memory is no allocation.
lg_alloc *lg_resolve(lg_sim *sim, lg_ptx_space space, uint64_t address, uint32_t bytes, bool write);

// --- accesses of code

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

// The address of one lane's access: 32-bit ones wrap.
uint64_t lg_lane_address(const char *regs, const lg_insn *insn, bool address_32, uint32_t lane);

// What a launch knows of its memory instructions, by their site.
typedef struct lg_mem_state lg_mem_state;
typedef bool lg_mem_fn(lg_mem_state *m, char *regs, const lg_insn *insn, uint32_t active);
struct lg_mem_state {
    lg_alloc **sites; // the allocation each used last, never NULL
    uint64_t *last;   // the offset there of its last access by a whole warp
    lg_mem_fn *slow;  // lane by lane, with every check; false after raising a fault
};

// The lanes of `active` (not 0) whose access lies in the allocation, aligned. Gives their offsets
// there, and the bytes from each of them to the next lane: 0 when they are at one place, -1 when it
// varies.
typedef uint32_t lg_survey_fn(const char *regs, const lg_insn *insn, uint32_t active,
                              const lg_alloc *alloc, uint64_t *offsets, int64_t *stride);
typedef struct lg_mem_table { // LD_2, …, ST_ANY, in the order of decode/kinds.def
    lg_mem_fn *fn[8];
    lg_survey_fn *survey;
} lg_mem_table;

lg_survey_fn lg_survey_baseline, lg_survey_avx2, lg_survey_avx512;
extern const lg_mem_table lg_mem_table_baseline, lg_mem_table_avx2, lg_mem_table_avx512;
const lg_mem_table *lg_mem_table_best(void); // of the instruction set of lg_lane_table_best()

#endif
