// SPDX-License-Identifier: Apache-2.0
// Inside of the race check.
//
// Of an access the check keeps, for each byte, the last weak write, the last strong one, and of the
// readers the last one, one more of its block and one of another block, in shared memory all that
// nothing orders (lines.h); and of the running warp which lanes it was, until the next order
// (lanes.h).
#ifndef LG_ENGINE_SIM_RACE_INTERNAL_H
#define LG_ENGINE_SIM_RACE_INTERNAL_H

#include "engine/sim/race/race.h"

typedef struct lg_race_lines lg_race_lines;

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

enum { LG_RACE_RELEASES = 8 };

typedef struct lg_race {
    const lg_mem_table *memory; // that of the instruction set
    uint32_t seq;               // number of the running block, from 1
    uint32_t phase;             // how often all its warps have waited for each other
    bool fenced;                // some warp of the running block has executed a fence
    // lines.c: of the allocations that the launch has used.
    lg_race_lines *lines;
    struct lg_race_line **chunks; // kept from launch to launch
    uint32_t n_chunks, n_used;    // n_used: of their lines
    uint32_t spare, touched;      // lines that are free, and that the block has touched: number + 1
    struct lg_race_use *settled;  // whole lines that ended blocks have used in one way
    uint32_t n_settled, settled_capacity;
    // lanes.c: what the lanes of the running warp did since they were last ordered.
    const lg_warp *lanes_warp;
    uint32_t lanes_epoch; // of that warp
    uint64_t lanes_stamp; // names them
    bool lanes_fenced;    // there was a fence
    struct lg_race_piece *pieces;
    uint32_t n_pieces, piece_capacity;
    // order.c
    lg_race_sync *syncs;
    uint32_t n_syncs, sync_capacity;
    uint32_t *table; // of numbers + 1 by address, open addressing
    uint32_t table_size;
    lg_race_acquired *acquired; // by the running block
    uint32_t n_acquired, acquired_capacity;
    uint32_t released[LG_RACE_RELEASES]; // numbers of words the running block has released to
    uint32_t n_released;                 // may be more than those
} lg_race;

// clocks.c
// The later of each of n clocks, but one; -1: of all.
void lg_race_merge(uint32_t *to, const uint32_t *from, int n, int but);
// How the instruction accesses memory.
int lg_race_how(const lg_insn *insn, bool write);
// A lane that stores another value to a place than a lane before it in the same instruction, of
// those in `active`: which stays is not defined. -1: there is none.
int lg_race_find_conflict(const char *regs, const lg_insn *insn, uint32_t active,
                          const uint64_t *offsets);

// access.c: notes each access, then performs it.
const lg_mem_table *lg_race_mem_table(void);

// settle.c
void lg_race_settle(lg_race *race); // the running block has ended

// lines.c
void lg_race_forget_lines(lg_race *race); // of all allocations

// order.c
// A strong access of the running warp to a word. Narrow: of the block's scope, or to shared memory.
typedef struct lg_race_word {
    uint64_t address; // of shared memory: in its window
    bool narrow, reads, writes;
} lg_race_word;
void lg_race_strong(lg_exec *x, lg_race_word word);
// Whether what the warp of a block did at that count lies before what the running warp does now.
bool lg_race_ordered(const lg_exec *x, uint32_t seq, uint8_t warp, uint32_t clock);
// The same for whoever reads the i-th word that the running block has released to.
bool lg_race_released(const lg_race *race, uint32_t i, uint8_t warp, uint32_t clock);
void lg_race_new_block(lg_race *race);
void lg_race_free_order(lg_race *race);

#endif
