// SPDX-License-Identifier: Apache-2.0
// A call's registers and local memory, and what a fresh frame has in them: constants, special
// registers, addresses.
#include "engine/sim/exec/internal.h"
#include "support/alloc.h"

#include <stdlib.h>

static uint64_t sreg_value(const lg_exec *x, const lg_warp *warp, lg_ptx_sreg sreg, uint32_t lane) {
    const uint32_t *block = x->launch->block;
    uint32_t thread = (uint32_t)warp->number * LG_LANES + lane;
    switch (sreg) {
    case LG_SREG_TID_X:
        return thread % block[0];
    case LG_SREG_TID_Y:
        return thread / block[0] % block[1];
    case LG_SREG_TID_Z:
        return thread / block[0] / block[1];
    case LG_SREG_NTID_X:
    case LG_SREG_NTID_Y:
    case LG_SREG_NTID_Z:
        return block[sreg - LG_SREG_NTID_X];
    case LG_SREG_CTAID_X:
    case LG_SREG_CTAID_Y:
    case LG_SREG_CTAID_Z:
        return x->block[sreg - LG_SREG_CTAID_X];
    case LG_SREG_NCTAID_X:
    case LG_SREG_NCTAID_Y:
    case LG_SREG_NCTAID_Z:
        return x->launch->grid[sreg - LG_SREG_NCTAID_X];
    case LG_SREG_LANEID:
        return lane;
    case LG_SREG_WARPID:
        return (uint64_t)warp->number;
    case LG_SREG_NWARPID:
        return LG_MAX_WARPS;
    case LG_SREG_NSMID:
        return 1;
    case LG_SREG_LANEMASK_EQ:
        return UINT32_C(1) << lane;
    case LG_SREG_LANEMASK_LE:
        return (UINT32_C(2) << lane) - 1;
    case LG_SREG_LANEMASK_LT:
        return (UINT32_C(1) << lane) - 1;
    case LG_SREG_LANEMASK_GE:
        return ~((UINT32_C(1) << lane) - 1);
    case LG_SREG_LANEMASK_GT:
        return ~((UINT32_C(2) << lane) - 1);
    case LG_SREG_DYNAMIC_SMEM_SIZE:
        return x->launch->shared_bytes;
    case LG_SREG_TOTAL_SMEM_SIZE:
        return x->shared_bytes;
    case LG_SREG_SMID: // one multiprocessor, one grid
    case LG_SREG_GRIDID:
    case LG_SREG_CLOCK: // read while running, see interp.c
    case LG_SREG_CLOCK_HI:
    case LG_SREG_CLOCK64:
    case LG_SREG_GLOBALTIMER:
    case LG_N_SREGS:
        break;
    }
    return 0;
}

static uint64_t param_value(const lg_exec *x, uint64_t what) {
    uint32_t bytes = what >> 32 & 15;
    uint64_t value = 0;
    memcpy(&value, (const char *)x->launch->params + (uint32_t)what, bytes);
    if (what >> 40 & 1) {
        uint32_t shift = 64 - 8 * bytes;
        value = (uint64_t)((int64_t)(value << shift) >> shift);
    }
    return value;
}

static void fill_slot(const lg_exec *x, const lg_warp *warp, const lg_frame *frame,
                      const lg_fill *fill) {
    char *slot = frame->regs + fill->slot;
    uint64_t value = fill->value;
    switch (fill->what) {
    case LG_FILL_PREDICATE: {
        uint32_t lanes = value ? UINT32_MAX : 0;
        memcpy(slot, &lanes, sizeof lanes);
        return;
    }
    case LG_FILL_SREG:
        for (uint32_t lane = 0; lane < LG_LANES; lane++) {
            lg_set_slot(slot, fill->bytes, lane,
                        sreg_value(x, warp, (lg_ptx_sreg)fill->value, lane));
        }
        return;
    case LG_FILL_SHARED:
        value = x->code->shared_at[value >> 32] + (uint64_t)(int64_t)(int32_t)value;
        break;
    case LG_FILL_DYNAMIC:
        value += x->dynamic_shared;
        break;
    case LG_FILL_LOCAL:
        value += frame->local_base;
        break;
    case LG_FILL_PARAM:
        value = param_value(x, value);
        break;
    case LG_FILL_BITS:
        break;
    }
    for (uint32_t lane = 0; lane < LG_LANES && fill->bytes == 8; lane++) {
        ((uint64_t *)(void *)slot)[lane] = value;
    }
    for (uint32_t lane = 0; lane < LG_LANES && fill->bytes == 4; lane++) {
        ((uint32_t *)(void *)slot)[lane] = (uint32_t)value;
    }
    for (uint32_t lane = 0; lane < LG_LANES && fill->bytes == 2; lane++) {
        ((uint16_t *)(void *)slot)[lane] = (uint16_t)value;
    }
}

static bool prepare_regs(lg_exec *x, lg_frame *frame, const lg_code *code) {
    if (frame->capacity < code->frame_bytes) {
        free(frame->regs);
        frame->regs = lg_buffer_alloc(code->frame_bytes);
        frame->capacity = frame->regs ? code->frame_bytes : 0;
        frame->filled = NULL;
        if (!frame->regs) {
            lg_raise(x, NULL, 0, LG_SIM_OUT_OF_MEMORY, LG_DEVICE_FAULT_OUT_OF_MEMORY,
                     "no memory for the registers of a warp");
            return false;
        }
        memset(frame->regs, 0, code->frame_bytes);
    }
    return true;
}

static bool grow_local(lg_exec *x, lg_warp *warp, uint64_t bytes) {
    if (bytes <= warp->local_capacity) {
        return true;
    }
    uint64_t capacity = bytes + bytes / 2 + 64;
    uint32_t *grown = lg_buffer_alloc(capacity * LG_LANES);
    if (!grown) {
        lg_raise(x, NULL, 0, LG_SIM_OUT_OF_MEMORY, LG_DEVICE_FAULT_OUT_OF_MEMORY,
                 "no memory for the local memory of a warp");
        return false;
    }
    memset(grown, 0, capacity * LG_LANES);
    if (warp->local) {
        memcpy(grown, warp->local, warp->local_capacity * LG_LANES);
        free(warp->local);
    }
    warp->local = grown;
    warp->local_capacity = capacity / 4 * 4;
    return true;
}

bool lg_frame_open(lg_exec *x, lg_warp *warp, int depth, const lg_code *code) {
    if (depth >= warp->n_frames) {
        int n = warp->n_frames ? 2 * warp->n_frames : 4;
        warp->frames = lg_xrealloc(warp->frames, (size_t)n * sizeof(lg_frame));
        memset(warp->frames + warp->n_frames, 0, (size_t)(n - warp->n_frames) * sizeof(lg_frame));
        warp->n_frames = n;
    }
    lg_frame *frame = &warp->frames[depth];
    uint64_t local_base = depth ? warp->local_top : 0;
    uint64_t local_top = local_base + (code->ptx->local_bytes + 15) / 16 * 16;
    if (!prepare_regs(x, frame, code) || !grow_local(x, warp, local_top)) {
        return false;
    }
    if (local_top > local_base) {
        memset(warp->local + local_base / 4 * LG_LANES, LG_MEMORY_POISON,
               (local_top - local_base) * LG_LANES);
    }
    warp->local_top = local_top;
    frame->local_base = local_base;
    frame->code = code;
    frame->returned = 0;
    frame->simt_base = warp->n_simt;
    uint32_t header[2] = {UINT32_MAX, 0}; // slot 0 and the carry flag
    memcpy(frame->regs, header, sizeof header);
    // Unwritten registers are zero. Only code that can read one notices, and clearing them took a
    // fifth of the time of launches with many short warps.
    if (code->clear_registers) {
        memset(frame->regs + 64, 0, code->zeroed_end - 64);
    }
    if (frame->filled != code || frame->filled_launch != x->sim->n_launches) {
        for (int i = 0; i < code->n_fixed; i++) {
            fill_slot(x, warp, frame, &code->fixed[i]);
        }
        frame->filled = code;
        frame->filled_launch = x->sim->n_launches;
    }
    for (int i = 0; i < code->n_moving; i++) {
        fill_slot(x, warp, frame, &code->moving[i]);
    }
    return true;
}
