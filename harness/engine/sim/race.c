// SPDX-License-Identifier: Apache-2.0
// The clocks of warps, and races on shared memory. Counts grow over the whole launch, and a new
// block knows all of the last one.
#include "engine/sim/race.h"
#include "support/alloc.h"

#include <stdlib.h>
#include <string.h>

enum { SEVERAL_LANES = 0xff };

// One a byte of shared memory. A stamp is the accessing warp's count, 0 for never; an epoch is the
// accessing warp's number of orderings of its own lanes.
struct lg_race_cell {
    uint32_t write_stamp;
    uint32_t write_epoch, read_epoch;
    uint8_t write_warp, read_warp;
    uint8_t write_lane, read_lane;
    uint8_t write_how, read_how;
    uint32_t read_stamps[LG_MAX_WARPS];
};

bool lg_race_begin(lg_exec *x) {
    lg_race *race = lg_xcalloc(1, sizeof *race);
    x->race = race;
    race->memory = x->memory;
    x->memory = lg_race_mem_table();
    race->base = race->seq = x->sim->race_seq;
    // Fresh pages are zero already: a launch pays only for the bytes it touches.
    race->cells = x->shared_bytes ? calloc(x->shared_bytes, sizeof *race->cells) : NULL;
    return race->cells || x->shared_bytes == 0;
}

void lg_race_end(lg_exec *x) {
    if (x->race) {
        x->sim->race_seq = x->race->seq;
        lg_race_free_order(x->race);
        free(x->race->cells);
        free(x->race);
    }
}

void lg_race_block(lg_exec *x) {
    lg_race_new_block(x->race);
    if (++x->race->seq == 0) { // the numbers of blocks start anew: nothing old may look newer
        for (size_t i = 0; i < x->sim->n_allocs; i++) {
            lg_race_forget(x->sim->allocs[i]);
        }
        x->race->base = 0;
        x->race->seq = 1;
    }
    uint32_t newest = 1;
    for (int i = 0; i < x->n_warps; i++) {
        uint32_t own = x->warps[i].clocks[i];
        newest = own >= newest ? own + 1 : newest;
    }
    for (int i = 0; i < x->n_warps; i++) {
        for (int k = 0; k < LG_MAX_WARPS; k++) {
            x->warps[i].clocks[k] = newest - 1;
        }
        x->warps[i].clocks[i] = newest;
        x->warps[i].lane_epoch++;
        memset(x->warps[i].fenced, 0, sizeof x->warps[i].fenced);
    }
}

int lg_race_how(const lg_insn *insn, bool write) {
    lg_mem_form form = lg_mem_form_of(insn);
    return (write ? LG_RACE_WRITE : 0) | (form.strong ? LG_RACE_STRONG : 0) |
           (form.narrow ? LG_RACE_NARROW : 0);
}

static void report(lg_exec *x, const lg_insn *insn, int lane, uint64_t offset, uint32_t bytes,
                   int how, const char *other, int number, const char *order) {
    char text[192];
    snprintf(text, sizeof text, "race: %s of shared byte %llu that %s %d %s without %s between",
             how & LG_RACE_WRITE ? "write" : "read", (unsigned long long)offset, other, number,
             how & LG_RACE_WRITE ? "uses" : "wrote", order);
    lg_find_access(x, insn, lane, "race", LG_SPACE_SHARED, offset, bytes, text);
}

// Lanes of one warp: nothing but bar.warp.sync or a barrier orders them.
static void check_lanes(lg_exec *x, const lg_insn *insn, int lane, uint64_t offset, uint32_t bytes,
                        int how, const lg_race_cell *cell) {
    const lg_warp *warp = x->warp;
    bool strong = how & LG_RACE_STRONG;
    const char *order = "bar.warp.sync";
    if (cell->write_warp == warp->number && cell->write_epoch == warp->lane_epoch &&
        cell->write_lane != lane && !(strong && cell->write_how & LG_RACE_STRONG)) {
        report(x, insn, lane, offset, bytes, how, "lane", cell->write_lane, order);
    }
    if (how & LG_RACE_WRITE && cell->read_warp == warp->number &&
        cell->read_epoch == warp->lane_epoch && cell->read_lane != lane &&
        !(strong && cell->read_how & LG_RACE_STRONG)) {
        int other = cell->read_lane == SEVERAL_LANES ? (lane + 1) % LG_LANES : cell->read_lane;
        report(x, insn, lane, offset, bytes, how, "lane", other, order);
    }
}

static void check_warps(lg_exec *x, const lg_insn *insn, int lane, uint64_t offset, uint32_t bytes,
                        int how, const lg_race_cell *cell) {
    const lg_warp *warp = x->warp;
    bool both_strong = how & LG_RACE_STRONG && cell->write_how & LG_RACE_STRONG;
    if (cell->write_warp != warp->number && cell->write_stamp > warp->clocks[cell->write_warp] &&
        !both_strong) {
        report(x, insn, lane, offset, bytes, how, "warp", cell->write_warp, "a barrier");
    }
    for (int other = 0; other < x->n_warps && how & LG_RACE_WRITE; other++) {
        if (other != warp->number && cell->read_stamps[other] > warp->clocks[other]) {
            report(x, insn, lane, offset, bytes, how, "warp", other, "a barrier");
        }
    }
}

void lg_race_access(lg_exec *x, const lg_insn *insn, int lane, uint64_t offset, uint32_t bytes,
                    int how, bool same) {
    const lg_warp *warp = x->warp;
    uint8_t own = (uint8_t)warp->number;
    for (uint64_t at = offset; at < offset + bytes; at++) {
        lg_race_cell *cell = &x->race->cells[at];
        if (!same) {
            check_warps(x, insn, lane, at, bytes, how, cell);
            check_lanes(x, insn, lane, at, bytes, how, cell);
        }
        if (how & LG_RACE_WRITE) {
            cell->write_stamp = warp->clocks[own];
            cell->write_epoch = warp->lane_epoch;
            cell->write_warp = own;
            cell->write_lane = (uint8_t)lane;
            cell->write_how = (uint8_t)how;
            continue;
        }
        bool again = cell->read_warp == own && cell->read_epoch == warp->lane_epoch;
        bool several = again && cell->read_lane != lane;
        cell->read_stamps[own] = warp->clocks[own];
        cell->read_epoch = warp->lane_epoch;
        cell->read_warp = own;
        cell->read_lane = several ? SEVERAL_LANES : (uint8_t)lane;
        cell->read_how = (uint8_t)(again ? cell->read_how & how : how);
    }
}

static void merge(uint32_t *to, const uint32_t *from, int n, int but) {
    for (int i = 0; i < n; i++) {
        if (from[i] > to[i] && i != but) {
            to[i] = from[i];
        }
    }
}

void lg_race_arrive(lg_exec *x, lg_warp *warp, lg_barrier *barrier) {
    merge(barrier->clocks, warp->clocks, x->n_warps, -1);
    merge(barrier->fenced, warp->fenced, x->n_warps, -1);
    warp->clocks[warp->number]++; // what it does from here on, the barrier does not order
    warp->lane_epoch++;
}

void lg_race_release(lg_exec *x, lg_warp *warp, const lg_barrier *barrier) {
    merge(warp->clocks, barrier->clocks, x->n_warps, warp->number);
    merge(warp->fenced, barrier->fenced, x->n_warps, -1);
}
