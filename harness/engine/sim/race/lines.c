// SPDX-License-Identifier: Apache-2.0
#include "engine/sim/race/lanes.h"
#include "support/alloc.h"

#include <stdlib.h>
#include <string.h>

enum { CHUNK = 64, KEPT_CHUNKS = 16 }; // lines; chunks

lg_race_line *lg_race_line_at(const lg_race *race, uint32_t number) {
    return &race->chunks[number / CHUNK][number % CHUNK];
}

// --- uses

void lg_race_drop_empty(lg_race_line *at) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < at->n; i++) {
        if (at->more[i].mask) {
            at->more[kept++] = at->more[i];
        }
    }
    at->n = kept;
    at->more_writes &= kept != 0;
}

static bool is_older(const lg_exec *x, const lg_race_use *u) {
    return lg_race_ordered(x, u->seq, u->warp, u->clock);
}

// Drops what `now` makes useless. Writes: all it covers. Reads: those it covers of its own warp, in
// shared memory those it covers that are ordered before it; in global memory, which all blocks may
// read, the newest other reader of its block and of other blocks stays.
static void prune(const lg_exec *x, lg_race_line *at, const lg_race_use *now) {
    int class = now->how & (LG_RACE_WRITE | LG_RACE_STRONG);
    uint64_t mates = 0, others = 0;
    for (uint32_t i = at->n; i-- > 0;) {
        lg_race_use *u = &at->more[i];
        if ((u->how & (LG_RACE_WRITE | LG_RACE_STRONG)) != class) {
            continue;
        } else if (lg_race_writes(u) || (u->seq == now->seq && u->warp == now->warp)) {
            u->mask &= ~now->mask;
        } else if (at->of->shared) {
            u->mask &= is_older(x, u) ? ~now->mask : UINT64_MAX;
        } else if (u->seq == now->seq) {
            u->mask &= ~(mates & now->mask);
            mates |= u->mask;
        } else {
            u->mask &= ~others;
            others |= u->mask;
        }
    }
    lg_race_drop_empty(at);
}

static void grow(lg_race_line *at) {
    at->capacity = at->capacity ? at->capacity * 2 : 2;
    at->more = lg_xrealloc(at->more, at->capacity * sizeof(lg_race_use));
}

static void append(lg_race_line *at, const lg_race_use *u) {
    if (at->n == at->capacity) {
        grow(at);
    }
    at->more[at->n++] = *u;
    at->more_writes |= lg_race_writes(u);
}

// Useless uses are harmless; when they fill the memory, they go.
static void push(const lg_exec *x, lg_race_line *at, const lg_race_use *u, const lg_race_use *now) {
    if (at->n == at->capacity && at->n) {
        prune(x, at, now);
        if (at->n > at->capacity / 2) {
            grow(at);
        }
    }
    append(at, u);
}

void lg_race_add(const lg_exec *x, lg_race_line *at, const lg_race_use *now) {
    if (now->how & LG_RACE_STRONG) {
        push(x, at, now, now);
        return;
    }
    lg_race_use *slot = lg_race_writes(now) ? &at->write : &at->read;
    lg_race_use old = *slot;
    bool same_warp = old.seq == now->seq && old.warp == now->warp;
    bool covered = (old.mask & ~now->mask) == 0 && (lg_race_writes(now) || same_warp);
    *slot = *now;
    if (old.mask && !covered) {
        if (same_warp && old.clock == now->clock) {
            slot->mask |= old.mask;
        } else {
            push(x, at, &old, now);
        }
    }
}

// --- lines

static uint32_t take_line(lg_race *race) {
    uint32_t number = race->spare - 1;
    if (race->spare) {
        race->spare = lg_race_line_at(race, number)->next;
        return number;
    }
    if (race->n_used == race->n_chunks * CHUNK) {
        size_t n = race->n_chunks + 1;
        // The size of a pointer is meant: it is an array of them.
        // NOLINTNEXTLINE(bugprone-sizeof-expression)
        race->chunks = lg_xrealloc(race->chunks, n * sizeof *race->chunks);
        race->chunks[race->n_chunks++] = lg_xcalloc(CHUNK, sizeof(lg_race_line));
    }
    return race->n_used++;
}

void lg_race_spare_line(lg_race *race, uint32_t made) {
    lg_race_line_at(race, made)->next = race->spare;
    race->spare = made + 1;
}

static uint32_t make_line(lg_race *race, lg_race_lines *lines, uint32_t number) {
    uint32_t entry = lines->entries[number], made = take_line(race);
    lg_race_line *at = lg_race_line_at(race, made);
    at->read = at->write = (lg_race_use){0};
    at->n = 0;
    at->more_writes = false;
    at->of = lines;
    at->number = number;
    at->seq = 0;
    at->pieces = 0;
    if (entry) {
        lg_race_use use = race->settled[entry / 2];
        *(lg_race_writes(&use) ? &at->write : &at->read) = use;
    }
    lines->entries[number] = (made + 1) * 2;
    return made;
}

lg_race_line *lg_race_open_line(lg_race *race, lg_race_lines *lines, uint64_t number) {
    uint32_t entry = lines->entries[number];
    bool is_made = entry && entry % 2 == 0;
    uint32_t made = is_made ? entry / 2 - 1 : make_line(race, lines, (uint32_t)number);
    lg_race_line *at = lg_race_line_at(race, made);
    if (lines->shared && at->phase != race->phase) {
        at->read = at->write = (lg_race_use){0};
        at->n = 0;
        at->more_writes = false;
    }
    at->phase = race->phase;
    if (at->seq != race->seq) {
        at->seq = race->seq;
        at->next = race->touched;
        race->touched = made + 1;
    }
    return at;
}

// --- allocations

static void free_chunk(lg_race_line *chunk) {
    for (uint32_t i = 0; i < CHUNK; i++) {
        free(chunk[i].more);
    }
    free(chunk);
}

void lg_race_forget_lines(lg_race *race) {
    while (race->lines) {
        lg_race_lines *lines = race->lines;
        race->lines = lines->next;
        lines->alloc->lines = NULL;
        free(lines->entries);
        free(lines);
    }
    while (race->n_chunks > KEPT_CHUNKS) {
        free_chunk(race->chunks[--race->n_chunks]);
    }
    race->n_used = race->spare = race->touched = race->n_settled = 0;
}

void lg_race_free(lg_race *race) {
    while (race && race->n_chunks) {
        free_chunk(race->chunks[--race->n_chunks]);
    }
    if (race) {
        free(race->chunks);
        free(race->settled);
        free(race->pieces);
    }
    free(race);
}

static uint64_t spread(uint64_t bits, uint32_t factor) {
    uint64_t out = 0;
    for (uint32_t i = 0; i * factor < LG_LINE_GRAINS; i++) {
        out |= (bits >> i & 1 ? (UINT64_C(1) << factor) - 1 : 0) << i * factor;
    }
    return out;
}

uint64_t lg_race_part(uint64_t mask, uint32_t part, uint32_t factor) {
    return spread(mask >> part * (LG_LINE_GRAINS / factor), factor);
}

static lg_race_use part_of(const lg_race_use *u, uint32_t part, uint32_t factor) {
    lg_race_use out = *u;
    out.mask = lg_race_part(u->mask, part, factor);
    return out;
}

// Fresh pages are zero already: only what is touched takes memory.
static uint32_t *make_entries(const lg_alloc *alloc, uint32_t shift, uint32_t *n) {
    uint64_t count = (alloc->full_bytes >> shift) / LG_LINE_GRAINS + 1;
    *n = (uint32_t)count;
    return count <= UINT32_MAX ? calloc(count, sizeof(uint32_t)) : NULL;
}

static void split_line(lg_race *race, lg_race_lines *lines, uint32_t number, uint32_t from,
                       uint32_t part, uint32_t factor) {
    const lg_race_line old = *lg_race_line_at(race, from);
    lg_race_line *to = old.seq == race->seq ? lg_race_open_line(race, lines, number)
                                            : lg_race_line_at(race, make_line(race, lines, number));
    to->read = part_of(&old.read, part, factor);
    to->write = part_of(&old.write, part, factor);
    for (uint32_t k = 0; k < old.n; k++) {
        lg_race_use u = part_of(&old.more[k], part, factor);
        if (u.mask) {
            append(to, &u);
        }
    }
    lg_race_split_lanes(race, &old, to, part, factor);
}

// A line that has been split. One that the block has touched is in its list until it ends.
static void retire_line(lg_race *race, uint32_t made) {
    lg_race_line *at = lg_race_line_at(race, made);
    at->of = NULL;
    if (at->seq != race->seq) {
        lg_race_spare_line(race, made);
    }
}

// The same knowledge in narrower grains: each line becomes `factor` lines.
static bool refine(lg_race *race, lg_race_lines *lines, uint32_t shift) {
    uint32_t factor = 1U << (lines->shift - shift), n;
    uint32_t *entries = make_entries(lines->alloc, shift, &n), *old = lines->entries;
    if (!entries) {
        return false;
    }
    lines->entries = entries;
    lines->shift = shift;
    lines->n = n;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t entry = old[i / factor];
        if (entry % 2) {
            entries[i] = entry;
        } else if (entry) {
            split_line(race, lines, i, entry / 2 - 1, i % factor, factor);
            if (i % factor == factor - 1 || i == n - 1) {
                retire_line(race, entry / 2 - 1);
            }
        }
    }
    free(old);
    return true;
}

bool lg_race_need_lines(lg_race *race, lg_alloc *alloc, uint32_t shift, bool shared) {
    lg_race_lines *lines = alloc->lines;
    if (lines) {
        return lines->shift <= shift || refine(race, lines, shift);
    }
    lines = lg_xcalloc(1, sizeof *lines);
    *lines = (lg_race_lines){.alloc = alloc, .shift = shift, .shared = shared};
    lines->entries = make_entries(alloc, shift, &lines->n);
    if (!lines->entries) {
        free(lines);
        return false;
    }
    lines->next = race->lines;
    race->lines = lines;
    alloc->lines = lines;
    return true;
}
