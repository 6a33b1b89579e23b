// SPDX-License-Identifier: Apache-2.0
// The end of a block: what it did to a line becomes as little as tells the same.
#include "engine/sim/race/lines.h"
#include "support/alloc.h"

#include <stdlib.h>

// The i-th use of a line: those of `more`, then the two in front, which are the newest.
static lg_race_use *use_at(lg_race_line *at, uint32_t i) {
    return i < at->n ? &at->more[i] : i == at->n ? &at->read : &at->write;
}

static bool is_own(const lg_race *race, const lg_race_use *u) {
    return u->mask && u->seq == race->seq;
}

// Whether the same releases order all that the block did to the line.
static bool is_alike(const lg_race *race, lg_race_line *at) {
    if (race->n_released > LG_RACE_RELEASES) {
        return false;
    }
    for (uint32_t i = 0; i < race->n_released; i++) {
        bool some = false, all = true;
        for (uint32_t k = 0; k < at->n + 2; k++) {
            const lg_race_use *u = use_at(at, k);
            bool is = is_own(race, u) && lg_race_released(race, i, u->warp, u->clock);
            some |= is;
            all &= is || !is_own(race, u);
        }
        if (some && !all) {
            return false;
        }
    }
    return true;
}

static bool same_time(const lg_race_use *a, const lg_race_use *b) {
    return a->seq == b->seq && a->clock == b->clock && a->warp == b->warp;
}

// Between blocks a strong access of the block's scope is a weak one.
static bool is_weak(const lg_race_use *u) {
    return !(u->how & LG_RACE_STRONG) || u->how & LG_RACE_NARROW;
}

// Whether whatever races with `u` races with `by`, on the grains they share.
static bool is_covered(const lg_race_use *u, const lg_race_use *by) {
    bool as_much = (lg_race_writes(by) || !lg_race_writes(u)) && (is_weak(by) || !is_weak(u));
    return as_much && (by->clock == LG_RACE_NEVER || same_time(u, by));
}

// Takes away what `by` tells as well; what the block did in one way becomes one use.
static void cover(lg_race_line *at, lg_race_use *by) {
    for (uint32_t k = at->n + 2; k-- > 0;) {
        lg_race_use *u = use_at(at, k);
        if (u != by && u->mask && is_covered(u, by)) {
            by->mask |= same_time(u, by) && u->how == by->how ? u->mask : 0;
            u->mask &= ~by->mask;
        }
    }
}

// What the ended block did becomes as few uses as tell the same.
static void merge_uses(const lg_race *race, lg_race_line *at) {
    const lg_race_use *last = NULL;
    for (uint32_t i = at->n + 2; i-- > 0;) {
        lg_race_use *u = use_at(at, i);
        if (is_own(race, u)) {
            last = last ? last : u;
            u->warp = race->n_released ? last->warp : 0;
            u->clock = race->n_released ? last->clock : LG_RACE_NEVER;
        }
    }
    for (uint32_t i = at->n + 2; i-- > 0;) {
        if (is_own(race, use_at(at, i))) {
            cover(at, use_at(at, i));
        }
    }
    lg_race_drop_empty(at);
}

static uint32_t settled_number(lg_race *race, const lg_race_use *use) {
    enum { LOOK_BACK = 8 }; // a block uses its lines in a few ways only
    uint32_t n = race->n_settled;
    for (uint32_t i = n; i-- > 0 && i + LOOK_BACK >= n;) {
        const lg_race_use *u = &race->settled[i];
        if (same_time(u, use) && u->site == use->site && u->how == use->how) {
            return i;
        }
    }
    if (n == race->settled_capacity) {
        race->settled_capacity = n ? 2 * n : 16;
        race->settled = lg_xrealloc(race->settled, race->settled_capacity * sizeof *race->settled);
    }
    race->settled[race->n_settled++] = *use;
    return n;
}

// A line may stay long.
static void trim(lg_race_line *at) {
    if (at->n < at->capacity / 2) {
        lg_race_use *fitting = at->n ? lg_xrealloc(at->more, at->n * sizeof *at->more) : NULL;
        if (!fitting) {
            free(at->more);
        }
        at->more = fitting;
        at->capacity = at->n;
    }
}

// Whether the line is one use, for which a number stands from now on.
static bool settle_line(lg_race *race, lg_race_line *at) {
    if (!race->n_released || is_alike(race, at)) {
        merge_uses(race, at);
    }
    const lg_race_use *one = at->write.mask ? &at->write : &at->read;
    if (at->n || (at->read.mask && at->write.mask) || one->mask != UINT64_MAX) {
        trim(at);
        return false;
    }
    at->of->entries[at->number] = settled_number(race, one) * 2 + 1;
    return true;
}

void lg_race_settle(lg_race *race) {
    while (race->touched) {
        uint32_t made = race->touched - 1;
        lg_race_line *at = lg_race_line_at(race, made);
        race->touched = at->next;
        if (at->of && at->of->shared) {
            at->of->entries[at->number] = 0;
            lg_race_spare_line(race, made);
        } else if (!at->of || settle_line(race, at)) {
            lg_race_spare_line(race, made);
        }
    }
}
