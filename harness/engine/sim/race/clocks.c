// SPDX-License-Identifier: Apache-2.0
// The clocks of warps. Counts grow over the whole launch, and a new block knows all of the last
// one.
#include "engine/sim/race/internal.h"
#include "support/alloc.h"

#include <stdlib.h>
#include <string.h>

void lg_race_begin(lg_exec *x) {
    if (!x->sim->race) {
        x->sim->race = lg_xcalloc(1, sizeof(lg_race));
    }
    lg_race *race = x->race = x->sim->race;
    race->memory = x->memory;
    x->memory = lg_race_mem_table();
    race->seq = 0;
}

void lg_race_end(lg_exec *x) {
    if (x->race) {
        lg_race_forget_lines(x->race);
        lg_race_free_order(x->race);
        x->race->lanes_warp = NULL;
    }
}

void lg_race_block(lg_exec *x) {
    lg_race_settle(x->race);
    lg_race_new_block(x->race);
    if (++x->race->seq == 0) { // the numbers of blocks start anew: nothing old may look newer
        lg_race_forget_lines(x->race);
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
        memset(x->warps[i].fenced_block, 0, sizeof x->warps[i].fenced_block);
    }
}

int lg_race_find_conflict(const char *regs, const lg_insn *insn, uint32_t active,
                          const uint64_t *offsets) {
    lg_mem_form form = lg_mem_form_of(insn);
    uint64_t last = 0;
    bool rising = true; // as of rows: no two are the same
    for (uint32_t rest = active; rest; rest &= rest - 1) {
        uint64_t offset = offsets[__builtin_ctz(rest)];
        rising &= rest == active || offset > last;
        last = offset;
    }
    for (uint32_t rest = rising ? 0 : active; rest; rest &= rest - 1) {
        uint32_t lane = (uint32_t)__builtin_ctz(rest), first = (uint32_t)__builtin_ctz(active);
        while (!(active >> first & 1) || offsets[first] != offsets[lane]) {
            first++; // at most to the lane itself
        }
        for (uint32_t i = 0; i < form.vec && first != lane; i++) {
            const char *values = regs + insn->src[1 + i];
            if (memcmp(values + lane * form.reg_bytes, values + first * form.reg_bytes,
                       form.bytes) != 0) { // little-endian: the low bytes
                return (int)lane;
            }
        }
    }
    return -1;
}

int lg_race_how(const lg_insn *insn, bool write) {
    lg_mem_form form = lg_mem_form_of(insn);
    return (write ? LG_RACE_WRITE : 0) | (form.strong ? LG_RACE_STRONG : 0) |
           (form.narrow ? LG_RACE_NARROW : 0);
}

void lg_race_merge(uint32_t *to, const uint32_t *from, int n, int but) {
    for (int i = 0; i < n; i++) {
        if (from[i] > to[i] && i != but) {
            to[i] = from[i];
        }
    }
}

void lg_race_meet(lg_exec *x) {
    x->race->phase++;
}

void lg_race_arrive(lg_exec *x, lg_warp *warp, lg_barrier *barrier) {
    lg_race_merge(barrier->clocks, warp->clocks, x->n_warps, -1);
    lg_race_merge(barrier->fenced, warp->fenced, x->n_warps, -1);
    lg_race_merge(barrier->fenced_block, warp->fenced_block, x->n_warps, -1);
    warp->clocks[warp->number]++; // what it does from here on, the barrier does not order
    warp->lane_epoch++;
}

void lg_race_release(lg_exec *x, lg_warp *warp, const lg_barrier *barrier) {
    lg_race_merge(warp->clocks, barrier->clocks, x->n_warps, warp->number);
    lg_race_merge(warp->fenced, barrier->fenced, x->n_warps, -1);
    lg_race_merge(warp->fenced_block, barrier->fenced_block, x->n_warps, -1);
}
