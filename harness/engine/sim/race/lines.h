// SPDX-License-Identifier: Apache-2.0
// Inside of the race check: what is known of the accesses of a launch to an allocation.
//
// It is kept in lines of 64 grains: a grain is as wide as the narrowest access the allocation has
// seen, four bytes at most, so that what one warp reads or writes side by side is one line or two,
// each a few comparisons.
//
// A block that has ended cannot be told apart by warps any more, but for what a fence ordered. So
// its uses of a line become one, and a line of which one use is all that is left is a number: 4
// bytes for 256 of a row that one block has read.
#ifndef LG_ENGINE_SIM_RACE_LINES_H
#define LG_ENGINE_SIM_RACE_LINES_H

#include "engine/sim/race/internal.h"

enum { LG_LINE_GRAINS = 64, LG_MAX_GRAIN_SHIFT = 2 };

#define LG_RACE_NEVER UINT32_MAX // clock of a block that has ended without a release

typedef struct lg_race_use { // of the grains of `mask`
    uint64_t mask;
    uint32_t seq; // of the block
    uint32_t clock;
    uint32_t site;
    uint8_t warp;
    uint8_t how;
} lg_race_use;

typedef struct lg_race_line {
    lg_race_use read, write; // the newest weak ones
    lg_race_use *more;       // older ones and strong ones, newest last
    uint32_t n, capacity;
    bool more_writes; // some of them may be writes
    lg_race_lines *of;
    uint32_t number; // there
    uint32_t seq;    // of the block that touched it last
    uint32_t phase;  // of the block, where the line is one of shared memory
    uint32_t next;   // in lg_race's spare or touched ones
    uint32_t pieces; // of lanes.c, the first one's number + 1,
    uint64_t stamp;  // of these lanes; none of others
} lg_race_line;

struct lg_race_lines {
    lg_alloc *alloc;
    bool shared; // of the running block: forgotten when it ends
    lg_race_lines *next;
    uint32_t shift; // log2 of the grain's bytes
    uint32_t n;
    uint32_t *entries; // each 0, twice the line's number + 1, or twice that of a settled use plus 1
};

static inline bool lg_race_writes(const lg_race_use *use) {
    return use->how & LG_RACE_WRITE;
}

// The line, ready for the running block to use.
lg_race_line *lg_race_open_line(lg_race *race, lg_race_lines *lines, uint64_t number);
lg_race_line *lg_race_line_at(const lg_race *race, uint32_t number);
void lg_race_spare_line(lg_race *race, uint32_t made);
void lg_race_drop_empty(lg_race_line *at); // uses of no grain, of `more`
// Takes the running warp's use down.
void lg_race_add(const lg_exec *x, lg_race_line *at, const lg_race_use *now);
// Makes alloc->lines for accesses of `shift` (log2 of bytes) or wider; false when memory is out.
bool lg_race_need_lines(lg_race *race, lg_alloc *alloc, uint32_t shift, bool shared);

#endif
