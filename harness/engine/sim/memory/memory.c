// SPDX-License-Identifier: Apache-2.0
#include "engine/sim/memory/device.h"
#include "support/alloc.h"

#include <stdlib.h>
#include <string.h>

enum { MIN_GAP = 4096, MAX_GAP = 1 << 20, ADDRESS_ALIGN = 256 };

static void drop_memory(lg_alloc *alloc) {
    if (alloc->owned) {
        free(alloc->host);
    }
    free(alloc->written);
    alloc->host = NULL;
    alloc->written = NULL;
}

void lg_memory_free(lg_sim *sim) {
    for (size_t i = 0; i < sim->n_allocs; i++) {
        drop_memory(sim->allocs[i]);
        free(sim->allocs[i]);
    }
    free(sim->allocs);
}

static uint64_t gap_of(uint64_t bytes) {
    return bytes < MIN_GAP ? MIN_GAP : bytes > MAX_GAP ? MAX_GAP : bytes;
}

// A fresh address, with gaps that its own size and its neighbour's ask for; 0 when there is none.
static uint64_t find_place(const lg_sim *sim, uint64_t bytes) {
    uint64_t gap = gap_of(bytes);
    if (sim->n_allocs) {
        uint64_t before = gap_of(sim->allocs[sim->n_allocs - 1]->full_bytes);
        gap = before > gap ? before : gap;
    }
    if (bytes == 0 || bytes > LG_GLOBAL_END - LG_GLOBAL_BASE) {
        return 0;
    }
    uint64_t base = (sim->next + gap + ADDRESS_ALIGN - 1) & ~(uint64_t)(ADDRESS_ALIGN - 1);
    return base > LG_GLOBAL_END || bytes > LG_GLOBAL_END - base ? 0 : base;
}

// A record for that address; 0: NULL.
static lg_alloc *place(lg_sim *sim, uint64_t base, size_t bytes) {
    if (base == 0) {
        return NULL;
    }
    if (sim->n_allocs == sim->capacity) {
        size_t capacity = sim->capacity ? sim->capacity * 2 : 64;
        lg_alloc **grown = realloc(sim->allocs, capacity * sizeof(lg_alloc *));
        if (!grown) {
            return NULL;
        }
        sim->allocs = grown;
        sim->capacity = capacity;
    }
    lg_alloc *alloc = calloc(1, sizeof *alloc);
    if (!alloc) {
        return NULL;
    }
    *alloc = (lg_alloc){
        .base = base, .bytes = bytes, .write_bytes = bytes, .full_bytes = bytes, .live = true};
    return alloc;
}

static uint64_t keep(lg_sim *sim, lg_alloc *alloc) {
    sim->allocs[sim->n_allocs++] = alloc;
    sim->next = alloc->base + alloc->full_bytes;
    sim->bytes_in_use += alloc->full_bytes;
    return alloc->base;
}

// Gives the record memory of its own, or frees it.
static bool own_memory(lg_alloc *alloc) {
    alloc->owned = true;
    alloc->host = lg_buffer_alloc(alloc->bytes);
    alloc->written = calloc((alloc->bytes + 7) / 8, 1);
    if (!alloc->host || !alloc->written) {
        drop_memory(alloc);
        free(alloc);
        return false;
    }
    memset(alloc->host, LG_MEMORY_POISON, alloc->bytes);
    return true;
}

uint64_t lg_sim_alloc(lg_sim *sim, size_t bytes) {
    lg_alloc *alloc = place(sim, find_place(sim, bytes), bytes);
    return alloc && own_memory(alloc) ? keep(sim, alloc) : 0;
}

uint64_t lg_sim_map(lg_sim *sim, void *host, size_t bytes) {
    lg_alloc *alloc = host ? place(sim, find_place(sim, bytes), bytes) : NULL;
    if (!alloc) {
        return 0;
    }
    alloc->host = host;
    alloc->all_written = true; // the host may write at any time
    return keep(sim, alloc);
}

// Index of the last record that starts at or below the address, -1 when there is none.
static ptrdiff_t find_before(const lg_sim *sim, uint64_t address) {
    size_t low = 0, high = sim->n_allocs;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (sim->allocs[middle]->base <= address) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return (ptrdiff_t)low - 1;
}

lg_alloc *lg_memory_find(const lg_sim *sim, uint64_t address) {
    ptrdiff_t i = find_before(sim, address);
    if (i < 0 || !sim->allocs[i]->live || address - sim->allocs[i]->base >= sim->allocs[i]->bytes) {
        return NULL;
    }
    return sim->allocs[i];
}

uint64_t lg_sim_reserve(lg_sim *sim, uint64_t bytes) {
    uint64_t base = find_place(sim, bytes);
    sim->next = base ? base + bytes : sim->next;
    return base;
}

bool lg_sim_back(lg_sim *sim, uint64_t base, size_t bytes) {
    uint64_t end = base + bytes;
    ptrdiff_t before = find_before(sim, base);
    size_t at = (size_t)(before + 1);
    bool free_before =
        before < 0 || sim->allocs[before]->base + sim->allocs[before]->full_bytes <= base;
    if (base % ADDRESS_ALIGN || bytes == 0 || end < base || end > sim->next || !free_before ||
        (at < sim->n_allocs && sim->allocs[at]->base < end)) {
        return false;
    }
    lg_alloc *alloc = place(sim, base, bytes);
    if (!alloc || !own_memory(alloc)) {
        return false;
    }
    alloc->bytes = 0;
    alloc->write_bytes = 0;
    for (size_t i = sim->n_allocs; i > at; i--) {
        sim->allocs[i] = sim->allocs[i - 1];
    }
    sim->allocs[at] = alloc;
    sim->n_allocs++;
    sim->bytes_in_use += bytes;
    return true;
}

// The live record that starts there, open or not.
static lg_alloc *find_start(const lg_sim *sim, uint64_t base) {
    ptrdiff_t i = find_before(sim, base);
    return i >= 0 && sim->allocs[i]->base == base && sim->allocs[i]->live ? sim->allocs[i] : NULL;
}

bool lg_sim_open(lg_sim *sim, uint64_t base) {
    lg_alloc *alloc = find_start(sim, base);
    if (!alloc) {
        return false;
    }
    alloc->bytes = alloc->full_bytes;
    alloc->write_bytes = alloc->read_only ? 0 : alloc->full_bytes;
    return true;
}

static lg_alloc *find_exact(const lg_sim *sim, uint64_t base) {
    lg_alloc *alloc = lg_memory_find(sim, base);
    return alloc && alloc->base == base ? alloc : NULL;
}

bool lg_sim_free(lg_sim *sim, uint64_t base) {
    lg_alloc *alloc = find_start(sim, base);
    if (!alloc) {
        return false;
    }
    drop_memory(alloc);
    alloc->bytes = 0;
    alloc->write_bytes = 0;
    alloc->live = false;
    sim->bytes_in_use -= alloc->full_bytes;
    return true;
}

bool lg_sim_set_read_only(lg_sim *sim, uint64_t base, bool read_only) {
    lg_alloc *alloc = find_exact(sim, base);
    if (!alloc) {
        return false;
    }
    alloc->read_only = read_only;
    alloc->write_bytes = read_only ? 0 : alloc->bytes;
    return true;
}

// Host access ignores read-only: the driver writes constants.
static lg_alloc *find_range(const lg_sim *sim, uint64_t address, size_t bytes) {
    ptrdiff_t i = find_before(sim, address);
    if (i < 0 || !sim->allocs[i]->live) {
        return NULL;
    }
    lg_alloc *alloc = sim->allocs[i];
    uint64_t offset = address - alloc->base;
    return offset <= alloc->bytes && bytes <= alloc->bytes - offset ? alloc : NULL;
}

bool lg_sim_write(lg_sim *sim, uint64_t address, const void *from, size_t bytes) {
    lg_alloc *alloc = find_range(sim, address, bytes);
    if (!alloc) {
        return false;
    }
    if (bytes) {
        memcpy(alloc->host + (address - alloc->base), from, bytes);
        lg_memory_mark_written(alloc, address - alloc->base, bytes);
    }
    return true;
}

bool lg_sim_read(lg_sim *sim, uint64_t address, void *to, size_t bytes) {
    const lg_alloc *alloc = find_range(sim, address, bytes);
    if (!alloc) {
        return false;
    }
    if (bytes) {
        memcpy(to, alloc->host + (address - alloc->base), bytes);
    }
    return true;
}

bool lg_sim_fill(lg_sim *sim, uint64_t address, const void *pattern, size_t pattern_bytes,
                 size_t n) {
    size_t bytes;
    if (__builtin_mul_overflow(pattern_bytes, n, &bytes)) {
        return false;
    }
    lg_alloc *alloc = find_range(sim, address, bytes);
    if (!alloc) {
        return false;
    }
    char *to = alloc->host + (address - alloc->base);
    if (pattern_bytes == 1) {
        memset(to, *(const unsigned char *)pattern, bytes);
    } else {
        for (size_t i = 0; i < n; i++) {
            memcpy(to + i * pattern_bytes, pattern, pattern_bytes);
        }
    }
    if (bytes) {
        lg_memory_mark_written(alloc, address - alloc->base, bytes);
    }
    return true;
}

size_t lg_sim_bytes_in_use(const lg_sim *sim) {
    return sim->bytes_in_use;
}

void lg_memory_mark_written(lg_alloc *alloc, uint64_t offset, uint64_t n) {
    if (!alloc->written || alloc->all_written) {
        return;
    }
    if (offset == 0 && n == alloc->bytes) {
        alloc->all_written = true;
        return;
    }
    for (; n && offset % 8; offset++, n--) {
        alloc->written[offset / 8] |= (uint8_t)(1u << offset % 8);
    }
    memset(alloc->written + offset / 8, 0xff, n / 8);
    offset += n / 8 * 8;
    for (n %= 8; n; offset++, n--) {
        alloc->written[offset / 8] |= (uint8_t)(1u << offset % 8);
    }
}

bool lg_memory_is_written(const lg_alloc *alloc, uint64_t offset, uint64_t n) {
    if (!alloc->written || alloc->all_written) {
        return true;
    }
    for (uint64_t i = offset; i < offset + n; i++) {
        if (!(alloc->written[i / 8] >> i % 8 & 1)) {
            return false;
        }
    }
    return true;
}

// Bytes past the end (1: the first one after it), before the start (negative), or 0: an access that
// begins inside and runs over the end counts from the end.
static int64_t distance_to(const lg_alloc *alloc, uint64_t address, uint32_t bytes) {
    if (address < alloc->base) {
        return (int64_t)(address - alloc->base);
    }
    uint64_t end = alloc->base + alloc->full_bytes;
    if (address >= end) {
        return (int64_t)(address - end) + 1;
    }
    return bytes > end - address ? 1 : 0;
}

const lg_alloc *lg_memory_nearest(const lg_sim *sim, uint64_t address, uint32_t bytes,
                                  int64_t *distance) {
    ptrdiff_t before = find_before(sim, address);
    const lg_alloc *best = NULL;
    uint64_t best_size = 0;
    for (ptrdiff_t i = before; i <= before + 1; i++) {
        if (i < 0 || (size_t)i >= sim->n_allocs) {
            continue;
        }
        int64_t d = distance_to(sim->allocs[i], address, bytes);
        uint64_t size = d < 0 ? 0 - (uint64_t)d : (uint64_t)d;
        if (!best || size < best_size) {
            best = sim->allocs[i];
            best_size = size;
            *distance = d;
        }
    }
    return best;
}
