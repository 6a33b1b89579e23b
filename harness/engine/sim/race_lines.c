// SPDX-License-Identifier: Apache-2.0
#include "engine/sim/race_lines.h"
#include "support/alloc.h"

#include <stdlib.h>

static void free_lines(lg_race_lines *lines) {
    for (uint64_t i = 0; i < lines->n && lines->spilled; i++) {
        free(lines->lines[i].more);
    }
    free(lines->lines);
    free(lines);
}

void lg_race_forget(lg_alloc *alloc) {
    if (alloc->lines) {
        free_lines(alloc->lines);
        alloc->lines = NULL;
    }
}

static void push(lg_race_lines *lines, lg_race_line *at, const lg_race_use *u) {
    if (at->n == at->capacity) {
        at->capacity = at->capacity ? at->capacity * 2 : 4;
        at->more = lg_xrealloc(at->more, at->capacity * sizeof(lg_race_use));
        lines->spilled = true;
    }
    at->more[at->n++] = *u;
}

// Drops what `now` makes useless. Writes: all it covers. Reads: those of its own warp it covers; of
// its block and of other blocks the newest reader of each grain stays.
static void prune(lg_race_line *at, const lg_race_use *now, uint32_t base) {
    int class = now->how & (LG_RACE_WRITE | LG_RACE_STRONG);
    uint64_t mates = 0, others = 0;
    for (uint32_t i = at->n; i-- > 0;) {
        lg_race_use *u = &at->more[i];
        if (u->seq <= base) {
            u->mask = 0;
        } else if ((u->how & (LG_RACE_WRITE | LG_RACE_STRONG)) != class) {
            continue;
        } else if (lg_race_writes(u) || (u->seq == now->seq && u->warp == now->warp)) {
            u->mask &= ~now->mask;
        } else if (u->seq == now->seq) {
            u->mask &= ~(mates & now->mask);
            mates |= u->mask;
        } else {
            u->mask &= ~others;
            others |= u->mask;
        }
    }
    uint32_t kept = 0;
    for (uint32_t i = 0; i < at->n; i++) {
        if (at->more[i].mask) {
            at->more[kept++] = at->more[i];
        }
    }
    at->n = kept;
}

void lg_race_add(lg_race_lines *lines, lg_race_line *at, const lg_race_use *now, uint32_t base) {
    bool strong = now->how & LG_RACE_STRONG;
    if (!strong) {
        lg_race_use *slot = lg_race_writes(now) ? &at->write : &at->read;
        lg_race_use old = *slot;
        bool same_warp = old.seq == now->seq && old.warp == now->warp;
        bool covered = (old.mask & ~now->mask) == 0 && (lg_race_writes(now) || same_warp);
        *slot = *now;
        if (old.seq > base && !covered) {
            if (same_warp && old.clock == now->clock) {
                slot->mask |= old.mask;
            } else {
                push(lines, at, &old);
            }
        }
    }
    if (at->n) {
        prune(at, now, base);
    }
    if (strong) {
        push(lines, at, now);
    }
}

static uint64_t spread(uint64_t bits, uint32_t factor) {
    uint64_t out = 0;
    for (uint32_t i = 0; i * factor < LG_LINE_GRAINS; i++) {
        out |= (bits >> i & 1 ? (UINT64_C(1) << factor) - 1 : 0) << i * factor;
    }
    return out;
}

static lg_race_use part_of(const lg_race_use *u, uint32_t part, uint32_t factor) {
    lg_race_use out = *u;
    out.mask = spread(u->mask >> part * (LG_LINE_GRAINS / factor), factor);
    return out;
}

static lg_race_lines *make_lines(const lg_alloc *alloc, uint32_t shift) {
    lg_race_lines *lines = lg_xcalloc(1, sizeof *lines);
    lines->shift = shift;
    lines->n = (alloc->full_bytes >> shift) / LG_LINE_GRAINS + 1;
    // Fresh pages are zero already: only what is touched takes memory.
    lines->lines = calloc(lines->n, sizeof(lg_race_line));
    if (!lines->lines) {
        free(lines);
        return NULL;
    }
    return lines;
}

// The same knowledge in narrower grains: each line becomes `factor` lines.
static lg_race_lines *refine(const lg_race_lines *old, const lg_alloc *alloc, uint32_t shift) {
    lg_race_lines *fresh = make_lines(alloc, shift);
    uint32_t factor = 1U << (old->shift - shift);
    for (uint64_t i = 0; fresh && i < old->n * factor && i < fresh->n; i++) {
        const lg_race_line *from = &old->lines[i / factor];
        lg_race_line *to = &fresh->lines[i];
        uint32_t part = (uint32_t)(i % factor);
        to->read = part_of(&from->read, part, factor);
        to->write = part_of(&from->write, part, factor);
        for (uint32_t k = 0; k < from->n; k++) {
            lg_race_use u = part_of(&from->more[k], part, factor);
            if (u.mask) {
                push(fresh, to, &u);
            }
        }
    }
    return fresh;
}

bool lg_race_need_lines(lg_alloc *alloc, uint32_t shift) {
    lg_race_lines *old = alloc->lines;
    if (old && old->shift <= shift) {
        return true;
    }
    alloc->lines = old ? refine(old, alloc, shift) : make_lines(alloc, shift);
    if (old) {
        free_lines(old);
    }
    return alloc->lines != NULL;
}
