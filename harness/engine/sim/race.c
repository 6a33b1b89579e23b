// SPDX-License-Identifier: Apache-2.0
// Shared-memory races, by happens-before between the warps of a block: each warp counts its
// barriers; a barrier tells the warps that wait at it the counts of all that arrived. An access is
// ordered after another warp's when the own view of that warp's count has reached the access.
//
// A write that leaves what was there (every warp sets the same flag) is no finding. Lanes of one
// warp are taken to run in step. Counts grow over the whole launch, and a new block knows all of
// the last one.
#include "engine/sim/exec.h"
#include "support/alloc.h"

#include <stdlib.h>
#include <string.h>

// One a byte of shared memory. A stamp is the accessing warp's count, 0 for never.
struct lg_race_cell {
    uint32_t write_stamp;
    uint8_t write_warp;
    uint8_t write_atomic;
    uint32_t read_stamps[LG_MAX_WARPS];
};

bool lg_race_begin(lg_exec *x) {
    if (x->shared_bytes == 0) {
        return true;
    }
    // Fresh pages are zero already: a launch pays only for the bytes it touches.
    x->cells = calloc(x->shared_bytes, sizeof *x->cells);
    return x->cells != NULL;
}

void lg_race_block(lg_exec *x) {
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
    }
}

static void report(lg_exec *x, const lg_insn *insn, int lane, uint64_t offset, uint32_t bytes,
                   const char *what, int other) {
    char text[192];
    snprintf(text, sizeof text,
             "race: %s of shared byte %llu that warp %d %s without a barrier between", what,
             (unsigned long long)offset, other, strcmp(what, "read") == 0 ? "wrote" : "uses");
    lg_find_access(x, insn, lane, "race", LG_SPACE_SHARED, offset, bytes, text);
}

void lg_race_access(lg_exec *x, const lg_insn *insn, int lane, uint64_t offset, uint32_t bytes,
                    int how, bool same) {
    const lg_warp *warp = x->warp;
    int own = warp->number;
    for (uint64_t at = offset; at < offset + bytes; at++) {
        lg_race_cell *cell = &x->cells[at];
        bool both_atomic = how == LG_RACE_ATOMIC && cell->write_atomic;
        if (cell->write_warp != own && cell->write_stamp > warp->clocks[cell->write_warp] &&
            !both_atomic && !same) {
            report(x, insn, lane, at, bytes, how == LG_RACE_READ ? "read" : "write",
                   cell->write_warp);
        }
        if (how == LG_RACE_READ) {
            cell->read_stamps[own] = warp->clocks[own];
            continue;
        }
        for (int other = 0; other < x->n_warps && !same; other++) {
            if (other != own && cell->read_stamps[other] > warp->clocks[other]) {
                report(x, insn, lane, at, bytes, "write", other);
            }
        }
        cell->write_stamp = warp->clocks[own];
        cell->write_warp = (uint8_t)own;
        cell->write_atomic = how == LG_RACE_ATOMIC;
    }
}

void lg_race_arrive(lg_exec *x, lg_warp *warp, lg_barrier *barrier) {
    for (int i = 0; i < x->n_warps; i++) {
        if (warp->clocks[i] > barrier->clocks[i]) {
            barrier->clocks[i] = warp->clocks[i];
        }
    }
    warp->clocks[warp->number]++; // what it does from here on, the barrier does not order
}

void lg_race_release(lg_exec *x, lg_warp *warp, const lg_barrier *barrier) {
    for (int i = 0; i < x->n_warps; i++) {
        if (barrier->clocks[i] > warp->clocks[i] && i != warp->number) {
            warp->clocks[i] = barrier->clocks[i];
        }
    }
}
