// SPDX-License-Identifier: Apache-2.0
// A warp's state: call frames, and the stack of paths that wait while another one runs.
//
// A divergent branch leaves an entry for the place where its paths meet (unless the running path
// ends there anyway), then one for each path but the running one. A path's mask is a proper subset
// of the one below, so 32 lanes need less than LG_SIMT_DEPTH entries over all frames.

#include "engine/sim/exec/internal.h"
#include <stdlib.h>

bool lg_warp_start(lg_exec *x, lg_warp *warp) {
    int first = warp->number * LG_LANES;
    int n = x->n_threads - first;
    warp->live = n >= LG_LANES ? UINT32_MAX : (UINT32_C(1) << n) - 1;
    warp->mask = warp->live;
    warp->state = LG_WARP_READY;
    warp->n_simt = 0;
    warp->depth = 0;
    warp->rpc = NULL;
    warp->ip = x->code->insns;
    if (!lg_frame_open(x, warp, 0, x->code)) {
        return false;
    }
    warp->frames[0].mask = warp->live;
    return true;
}

void lg_warp_free(lg_warp *warp) {
    for (int i = 0; i < warp->n_frames; i++) {
        free(warp->frames[i].regs);
    }
    free(warp->frames);
    free(warp->local);
}

bool lg_warp_resume(lg_warp *warp) {
    while (warp->mask == 0) {
        const lg_frame *frame = &warp->frames[warp->depth];
        if (warp->n_simt > frame->simt_base) {
            const lg_simt *entry = &warp->simt[--warp->n_simt];
            warp->ip = entry->ip;
            warp->rpc = entry->rpc;
            warp->mask = entry->mask & warp->live & ~frame->returned;
        } else if (warp->depth > 0) {
            lg_call_leave(warp);
        } else {
            return false;
        }
    }
    return true;
}

static bool push(lg_exec *x, lg_warp *warp, const lg_insn *insn, lg_simt entry) {
    if (warp->n_simt == LG_SIMT_DEPTH) {
        lg_raise(x, insn, __builtin_ctz(entry.mask), LG_SIM_STACK_OVERFLOW,
                 LG_DEVICE_FAULT_STACK_OVERFLOW, "stack overflow: too many divergent paths");
        return false;
    }
    warp->simt[warp->n_simt++] = entry;
    return true;
}

bool lg_warp_split(lg_exec *x, lg_warp *warp, const lg_insn *insn, const lg_insn *meet,
                   lg_simt first, lg_simt second) {
    if (meet != warp->rpc && !push(x, warp, insn, (lg_simt){meet, warp->rpc, warp->mask})) {
        return false;
    }
    warp->rpc = meet;
    first.rpc = meet;
    second.rpc = meet;
    if (first.ip == meet) { // those lanes are there already
        first = second;
    } else if (second.ip != meet && !push(x, warp, insn, second)) {
        return false;
    }
    warp->ip = first.ip;
    warp->mask = first.mask;
    return true;
}
