// SPDX-License-Identifier: Apache-2.0
// Inside of a warp: its call frames.
#ifndef LG_ENGINE_SIM_FRAME_H
#define LG_ENGINE_SIM_FRAME_H

#include "engine/sim/exec.h"

#include <string.h>

static inline void lg_set_slot(char *slot, uint8_t bytes, uint32_t lane, uint64_t value) {
    memcpy(slot + lane * bytes, &value, bytes); // little-endian
}

// frame.c: makes frames[depth] one of `code`, constants and special registers filled. False after
// raising a fault.
bool lg_frame_open(lg_exec *x, lg_warp *warp, int depth, const lg_code *code);
// call.c: returns from the top frame; the warp goes on behind the call.
void lg_call_leave(lg_warp *warp);

#endif
