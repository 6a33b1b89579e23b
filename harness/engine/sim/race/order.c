// SPDX-License-Identifier: Apache-2.0
// What orders without a barrier: a fence and then a strong write of a word, read by a strong
// access.
//
// Blocks run one after another, so all that another block has released to a word was released
// before the running block reads it, and an address keeps one list of blocks in the order they ran.
// Beside it stands what the running block has released to the word for its own warps: who reads the
// word learns that at once.
#include "engine/sim/race/lanes.h"
#include "support/alloc.h"

#include <stdlib.h>
#include <string.h>

// How far the warps of a block had come at the fence before they wrote the word.
typedef struct release {
    uint32_t seq;
    uint32_t clocks[LG_MAX_WARPS];
} release;

struct lg_race_sync {
    uint64_t address;
    release inside;    // of the running block, to its own warps; of another block: nothing
    release *releases; // seq rising
    uint32_t n, capacity;
};

void lg_race_fence(lg_exec *x, lg_warp *warp, bool narrow) {
    lg_race_lanes_begin(x);
    x->race->lanes_fenced = true;
    memcpy(warp->fenced_block, warp->clocks, sizeof warp->fenced_block);
    if (!narrow) {
        memcpy(warp->fenced, warp->clocks, sizeof warp->fenced);
    }
    warp->clocks[warp->number]++; // what it does from here on, the fence does not order
    x->race->fenced = true;
}

void lg_race_new_block(lg_race *race) {
    race->fenced = false;
    race->n_acquired = 0;
    race->n_released = 0;
}

void lg_race_free_order(lg_race *race) {
    for (uint32_t i = 0; i < race->n_syncs; i++) {
        free(race->syncs[i].releases);
    }
    free(race->syncs);
    free(race->table);
    free(race->acquired);
    race->syncs = NULL;
    race->table = NULL;
    race->acquired = NULL;
    race->n_syncs = race->sync_capacity = race->table_size = 0;
    race->n_acquired = race->acquired_capacity = 0;
}

static uint32_t place_of(const lg_race *race, uint64_t address) {
    uint64_t hash = (address >> 2) * UINT64_C(0x9e3779b97f4a7c15) >> 32;
    for (uint32_t at = (uint32_t)hash & (race->table_size - 1);;
         at = (at + 1) & (race->table_size - 1)) {
        uint32_t number = race->table[at];
        if (number == 0 || race->syncs[number - 1].address == address) {
            return at;
        }
    }
}

// The number of a word that blocks released to, or -1.
static int64_t find_sync(const lg_race *race, uint64_t address) {
    return race->n_syncs ? (int64_t)race->table[place_of(race, address)] - 1 : -1;
}

static void grow_table(lg_race *race) {
    race->table_size = race->table_size ? race->table_size * 2 : 64;
    free(race->table);
    race->table = lg_xcalloc(race->table_size, sizeof *race->table);
    for (uint32_t i = 0; i < race->n_syncs; i++) {
        race->table[place_of(race, race->syncs[i].address)] = i + 1;
    }
}

static uint32_t make_sync(lg_race *race, uint64_t address) {
    int64_t found = find_sync(race, address);
    if (found >= 0) {
        return (uint32_t)found;
    }
    if (race->n_syncs * 2 >= race->table_size) {
        grow_table(race);
    }
    if (race->n_syncs == race->sync_capacity) {
        race->sync_capacity = race->sync_capacity ? race->sync_capacity * 2 : 16;
        race->syncs = lg_xrealloc(race->syncs, race->sync_capacity * sizeof *race->syncs);
    }
    race->syncs[race->n_syncs] = (lg_race_sync){.address = address};
    race->table[place_of(race, address)] = race->n_syncs + 1;
    return race->n_syncs++;
}

// The place of a block's release, or where it belongs.
static uint32_t find_release(const lg_race_sync *sync, uint32_t seq) {
    uint32_t low = 0, high = sync->n;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (sync->releases[middle].seq < seq) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static void add_release(lg_race_sync *sync, uint32_t seq, const uint32_t *clocks) {
    uint32_t at = find_release(sync, seq);
    bool known = at < sync->n && sync->releases[at].seq == seq;
    if (!known) {
        if (sync->n == sync->capacity) {
            sync->capacity = sync->capacity ? sync->capacity * 2 : 16;
            sync->releases = lg_xrealloc(sync->releases, sync->capacity * sizeof(release));
        }
        memmove(sync->releases + at + 1, sync->releases + at, (sync->n - at) * sizeof(release));
        sync->releases[at] = (release){.seq = seq};
        sync->n++;
    }
    lg_race_merge(sync->releases[at].clocks, clocks, LG_MAX_WARPS, -1);
}

// What the block had learnt from other words before its fence goes along.
static void pass_on(lg_race *race, uint32_t to, const uint32_t *fenced) {
    for (uint32_t i = 0; i < race->n_acquired; i++) {
        const lg_race_acquired *known = &race->acquired[i];
        if (known->sync == to || fenced[known->warp] < known->clock) {
            continue;
        }
        const lg_race_sync *from = &race->syncs[known->sync];
        for (uint32_t k = 0; k < from->n; k++) {
            add_release(&race->syncs[to], from->releases[k].seq, from->releases[k].clocks);
        }
    }
}

// The running warp learns what other blocks have released to the word.
static void acquire(lg_race *race, const lg_warp *warp, uint32_t sync) {
    for (uint32_t i = 0; i < race->n_acquired; i++) {
        if (race->acquired[i].sync == sync && race->acquired[i].warp == warp->number) {
            return;
        }
    }
    if (race->n_acquired == race->acquired_capacity) {
        race->acquired_capacity = race->acquired_capacity ? race->acquired_capacity * 2 : 16;
        race->acquired =
            lg_xrealloc(race->acquired, race->acquired_capacity * sizeof *race->acquired);
    }
    race->acquired[race->n_acquired++] =
        (lg_race_acquired){sync, warp->clocks[warp->number], (uint8_t)warp->number};
}

static bool has_fence(const lg_exec *x, const uint32_t *fenced) {
    for (int i = 0; i < x->n_warps && x->race->fenced; i++) {
        if (fenced[i]) {
            return true;
        }
    }
    return false;
}

static void note_release(lg_race *race, uint32_t sync) {
    for (uint32_t i = 0; i < race->n_released && i < LG_RACE_RELEASES; i++) {
        if (race->released[i] == sync) {
            return;
        }
    }
    if (race->n_released < LG_RACE_RELEASES) {
        race->released[race->n_released] = sync;
    }
    race->n_released++;
}

static void read_word(lg_exec *x, lg_race_word word) {
    lg_race *race = x->race;
    lg_warp *warp = x->warp;
    int64_t sync = find_sync(race, word.address);
    if (sync < 0) {
        return;
    }
    const release *inside = &race->syncs[sync].inside;
    if (inside->seq == race->seq) {
        lg_race_merge(warp->clocks, inside->clocks, x->n_warps, warp->number);
    }
    if (!word.narrow) {
        acquire(race, warp, (uint32_t)sync);
    }
}

static void write_word(lg_exec *x, lg_race_word word) {
    lg_race *race = x->race;
    const lg_warp *warp = x->warp;
    if (!has_fence(x, warp->fenced_block)) {
        return;
    }
    uint32_t sync = make_sync(race, word.address);
    release *inside = &race->syncs[sync].inside;
    if (inside->seq != race->seq) {
        *inside = (release){.seq = race->seq};
    }
    lg_race_merge(inside->clocks, warp->fenced_block, x->n_warps, -1);
    if (!word.narrow && has_fence(x, warp->fenced)) {
        add_release(&race->syncs[sync], race->seq, warp->fenced);
        note_release(race, sync);
        pass_on(race, sync, warp->fenced);
    }
}

void lg_race_strong(lg_exec *x, lg_race_word word) {
    if (x->race->lanes_fenced) {
        lg_race_lanes_ordered(x->race);
    }
    if (word.reads) {
        read_word(x, word);
    }
    if (word.writes) {
        write_word(x, word);
    }
}

static bool releases(const lg_race_sync *sync, uint32_t seq, uint8_t warp, uint32_t clock) {
    uint32_t at = find_release(sync, seq);
    return at < sync->n && sync->releases[at].seq == seq &&
           sync->releases[at].clocks[warp] >= clock;
}

bool lg_race_released(const lg_race *race, uint32_t i, uint8_t warp, uint32_t clock) {
    return releases(&race->syncs[race->released[i]], race->seq, warp, clock);
}

bool lg_race_ordered(const lg_exec *x, uint32_t seq, uint8_t warp, uint32_t clock) {
    const lg_race *race = x->race;
    const lg_warp *own = x->warp;
    if (seq == race->seq) {
        return warp == own->number || own->clocks[warp] >= clock;
    }
    for (uint32_t i = 0; i < race->n_acquired; i++) {
        const lg_race_acquired *known = &race->acquired[i];
        if (known->warp != own->number && own->clocks[known->warp] < known->clock) {
            continue;
        }
        if (releases(&race->syncs[known->sync], seq, warp, clock)) {
            return true;
        }
    }
    return false;
}
