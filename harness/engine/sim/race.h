// SPDX-License-Identifier: Apache-2.0
// Inside of engine/sim: the race check of LG_SIM_CHECK_RACE.
//
// Two accesses to one byte race when they come from different warps (in shared memory also from
// different lanes), one of them writes, not both are strong (atom, red, .volatile, .relaxed, …, of
// a scope that reaches the other thread), and nothing orders one before the other. Order comes
// from
//   - a barrier of the block: each warp counts what it does between barriers and fences, and a
//     barrier tells all that wait at it the counts of all that arrived;
//   - bar.warp.sync, between the lanes of a warp, for shared memory;
//   - a fence (membar.gl, fence.*.gpu, .release) and then a strong write of a word, on one side, a
//     strong read of that word on the other: `the last block adds up what the others left`. The
//     fence of the reading side is not asked for, as the guides' own examples leave it out.
// A write that leaves the bits that were there (every block stores the same flag) is no race.
//
// Of an access the check keeps, for each byte, the last weak write, the last strong one, and of the
// readers the last one, one more of its block and one of another block.
#ifndef LG_ENGINE_SIM_RACE_H
#define LG_ENGINE_SIM_RACE_H

#include "engine/sim/exec.h"

enum { // bits of `how`
    LG_RACE_READ = 0,
    LG_RACE_WRITE = 1,
    LG_RACE_STRONG = 2,
    LG_RACE_NARROW = 4, // strong within the block only
};

typedef struct lg_race_sync lg_race_sync; // a word that orders blocks

// A warp of the running block has read such a word.
typedef struct lg_race_acquired {
    uint32_t sync; // number
    uint32_t clock;
    uint8_t warp;
} lg_race_acquired;

typedef struct lg_race {
    const lg_mem_table *memory; // that of the instruction set
    uint32_t base;              // block numbers of this launch are above it
    uint32_t seq;               // number of the running block
    bool fenced;                // some warp of the running block has executed a fence
    lg_race_cell *cells;        // one a shared byte
    lg_race_sync *syncs;
    uint32_t n_syncs, sync_capacity;
    uint32_t *table; // of numbers + 1 by address, open addressing
    uint32_t table_size;
    lg_race_acquired *acquired; // by the running block
    uint32_t n_acquired, acquired_capacity;
} lg_race;

// race.c: the clocks of warps, and shared memory.
bool lg_race_begin(lg_exec *x); // false when memory is out
void lg_race_end(lg_exec *x);
void lg_race_block(lg_exec *x); // a new block starts
// A lane's access to shared bytes [offset, offset + bytes). `same` tells that a write leaves what
// was there.
void lg_race_access(lg_exec *x, const lg_insn *insn, int lane, uint64_t offset, uint32_t bytes,
                    int how, bool same);
void lg_race_arrive(lg_exec *x, lg_warp *warp, lg_barrier *barrier);
void lg_race_release(lg_exec *x, lg_warp *warp, const lg_barrier *barrier);
// How the instruction accesses memory.
int lg_race_how(const lg_insn *insn, bool write);

// race_global.c: global memory.
const lg_mem_table *lg_race_mem_table(void); // notes each access, then performs it
void lg_race_atomic(lg_exec *x, const lg_insn *insn, uint32_t lane, lg_alloc *alloc,
                    uint64_t offset);
void lg_race_forget(lg_alloc *alloc); // frees what is known of its accesses

// race_order.c: what orders blocks.
void lg_race_fence(lg_exec *x, lg_warp *warp);
// A strong access of the running warp to the word.
void lg_race_strong(lg_exec *x, uint64_t address, bool reads, bool writes);
// Whether what the warp of a block did at that count lies before what the running warp does now.
bool lg_race_ordered(const lg_exec *x, uint32_t seq, uint8_t warp, uint32_t clock);
void lg_race_new_block(lg_race *race);
void lg_race_free_order(lg_race *race);

#endif
