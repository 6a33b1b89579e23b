// SPDX-License-Identifier: Apache-2.0
// Inside of the race check: what is known of the accesses to one allocation.
//
// It is kept in lines of 64 grains: a grain is as wide as the narrowest access the allocation has
// seen, four bytes at most, so that what one warp reads or writes side by side is one line or two,
// each a few comparisons.
#ifndef LG_ENGINE_SIM_RACE_LINES_H
#define LG_ENGINE_SIM_RACE_LINES_H

#include "engine/sim/race.h"

enum { LG_LINE_GRAINS = 64, LG_MAX_GRAIN_SHIFT = 2 };

typedef struct lg_race_use { // of the grains of `mask`
    uint64_t mask;
    uint32_t seq; // of the block; not above the launch's base: of an earlier launch
    uint32_t clock;
    uint32_t site;
    uint8_t warp;
    uint8_t how;
} lg_race_use;

typedef struct lg_race_line {
    lg_race_use read, write; // the newest weak ones
    lg_race_use *more;       // older ones and strong ones, newest last
    uint32_t n, capacity;
} lg_race_line;

struct lg_race_lines {
    uint32_t shift; // log2 of the grain's bytes
    uint64_t n;
    bool spilled; // some line has more
    lg_race_line *lines;
};

static inline bool lg_race_writes(const lg_race_use *use) {
    return use->how & LG_RACE_WRITE;
}

// Takes the use down. `base`: uses of blocks up to it are of earlier launches.
void lg_race_add(lg_race_lines *lines, lg_race_line *at, const lg_race_use *now, uint32_t base);
// Makes alloc->lines for accesses of `shift` (log2 of bytes) or wider; false when memory is out.
bool lg_race_need_lines(lg_alloc *alloc, uint32_t shift);

#endif
