// SPDX-License-Identifier: Apache-2.0
// A warp's state: call frames, and the stack of paths that wait while another one runs.
//
// A divergent branch leaves an entry for the place where its paths meet (unless the running path
// ends there anyway), then one for each path but the running one. A path's mask is a proper subset
// of the one below, so 32 lanes need less than LG_SIMT_DEPTH entries over all frames.
#include "engine/sim/exec.h"
#include "engine/sim/rows.h"
#include "support/alloc.h"

#include <stdlib.h>
#include <string.h>

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

static void set_slot(char *slot, uint8_t bytes, uint32_t lane, uint64_t value) {
    memcpy(slot + lane * bytes, &value, bytes); // little-endian
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
            set_slot(slot, fill->bytes, lane, sreg_value(x, warp, (lg_ptx_sreg)fill->value, lane));
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
            lg_raise(x, NULL, 0, LG_SIM_OUT_OF_MEMORY, "out of memory",
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
        lg_raise(x, NULL, 0, LG_SIM_OUT_OF_MEMORY, "out of memory",
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

// Makes frames[depth] one of `code`: registers zero, constants and special registers filled.
static bool open_frame(lg_exec *x, lg_warp *warp, int depth, const lg_code *code) {
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
    if (!open_frame(x, warp, 0, x->code)) {
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

// --- calls

// The parameter rows of a frame, and an offset in them.
static uint32_t *rows_of(const lg_frame *frame) {
    return (uint32_t *)(void *)(frame->regs + frame->code->rows);
}

static uint64_t row_offset(const lg_frame *frame, uint64_t offset) {
    return offset - frame->code->rows_base;
}

static void copy_rows(uint32_t *to, uint64_t to_offset, const uint32_t *from, uint64_t from_offset,
                      uint64_t bytes, uint32_t lanes) {
    uint32_t step = (to_offset | from_offset | bytes) % 4 ? 1 : 4;
    for (uint64_t i = 0; i < bytes; i += step) {
        for (uint32_t lane = 0; lane < LG_LANES; lane++) {
            if (lanes >> lane & 1) {
                lg_rows_put(to, lane, to_offset + i, step,
                            lg_rows_get(from, lane, from_offset + i, step));
            }
        }
    }
}

static void rows_from_register(uint32_t *rows, uint64_t offset, uint32_t bytes, const char *slot,
                               uint8_t reg_bytes, uint32_t lanes) {
    for (uint32_t lane = 0; lane < LG_LANES; lane++) {
        if (lanes >> lane & 1) {
            uint64_t value = 0;
            memcpy(&value, slot + lane * reg_bytes, reg_bytes);
            lg_rows_put(rows, lane, offset, bytes, value);
        }
    }
}

static void register_from_rows(char *slot, uint8_t reg_bytes, const uint32_t *rows, uint64_t offset,
                               uint32_t bytes, uint32_t lanes) {
    for (uint32_t lane = 0; lane < LG_LANES; lane++) {
        if (lanes >> lane & 1) {
            set_slot(slot, reg_bytes, lane, lg_rows_get(rows, lane, offset, bytes));
        }
    }
}

// An argument given as a register is one element; a variable has the size of the parameter.
static bool fits(const lg_call *call, const lg_ptx_function *callee) {
    if (callee->n_params != call->n_args || callee->n_returns != call->n_returns) {
        return false;
    }
    for (int i = 0; i < call->n_args + call->n_returns; i++) {
        const lg_call_arg *arg =
            i < call->n_returns ? &call->returns[i] : &call->args[i - call->n_returns];
        uint64_t bytes = callee->symbols[i].bytes;
        bool element = bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8;
        if (arg->is_register ? !element : arg->bytes != bytes) {
            return false;
        }
    }
    return true;
}

bool lg_call_enter(lg_exec *x, lg_warp *warp, const lg_insn *insn, int function, uint32_t lanes) {
    const lg_code *caller = warp->frames[warp->depth].code;
    const lg_code *code = &x->module->codes[function];
    const lg_call *call = &caller->calls[insn->imm];
    int lane = __builtin_ctz(lanes);
    if (!fits(call, code->ptx)) {
        lg_raise(x, insn, lane, LG_SIM_ILLEGAL_INSTRUCTION, "bad call",
                 "call of %s with other arguments than it has", code->ptx->name);
        return false;
    }
    uint64_t local = warp->local_top + code->ptx->local_bytes;
    if (warp->depth + 1 >= LG_MAX_CALLS || local > LG_MAX_LOCAL_BYTES) {
        lg_raise(x, insn, lane, LG_SIM_STACK_OVERFLOW, "stack overflow",
                 "stack overflow: %d calls deep, %llu bytes of local memory a thread",
                 warp->depth + 1, (unsigned long long)local);
        return false;
    }
    if (!open_frame(x, warp, warp->depth + 1, code)) {
        return false;
    }
    const lg_frame *below = &warp->frames[warp->depth];
    lg_frame *frame = &warp->frames[++warp->depth];
    frame->mask = lanes;
    frame->call = insn;
    frame->caller_rpc = warp->rpc;
    frame->caller_mask = warp->mask;
    for (int i = 0; i < call->n_args; i++) {
        const lg_ptx_symbol *symbol = &code->ptx->symbols[code->ptx->n_returns + i];
        const lg_call_arg *arg = &call->args[i];
        uint64_t to = row_offset(frame, symbol->offset);
        if (arg->is_register) {
            rows_from_register(rows_of(frame), to, (uint32_t)symbol->bytes, below->regs + arg->from,
                               arg->reg_bytes, lanes);
        } else {
            copy_rows(rows_of(frame), to, rows_of(below), row_offset(below, arg->from),
                      symbol->bytes, lanes);
        }
    }
    warp->ip = code->insns;
    warp->rpc = NULL;
    warp->mask = lanes;
    return true;
}

static void leave_frame(lg_warp *warp) {
    const lg_frame *frame = &warp->frames[warp->depth--];
    const lg_frame *below = &warp->frames[warp->depth];
    const lg_call *call = &below->code->calls[frame->call->imm];
    uint32_t lanes = frame->mask & warp->live;
    for (int i = 0; i < call->n_returns; i++) {
        const lg_ptx_symbol *symbol = &frame->code->ptx->symbols[i];
        const lg_call_arg *arg = &call->returns[i];
        uint64_t from = row_offset(frame, symbol->offset);
        if (arg->is_register) {
            register_from_rows(below->regs + arg->from, arg->reg_bytes, rows_of(frame), from,
                               (uint32_t)symbol->bytes, lanes);
        } else {
            copy_rows(rows_of(below), row_offset(below, arg->from), rows_of(frame), from,
                      symbol->bytes, lanes);
        }
    }
    warp->local_top = frame->local_base;
    warp->ip = frame->call + 1;
    warp->rpc = frame->caller_rpc;
    warp->mask = frame->caller_mask & warp->live & ~below->returned;
    if (warp->ip == warp->rpc) { // an indirect call of several targets: the others are next
        warp->mask = 0;
    }
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
            leave_frame(warp);
        } else {
            return false;
        }
    }
    return true;
}

static bool push(lg_exec *x, lg_warp *warp, const lg_insn *insn, lg_simt entry) {
    if (warp->n_simt == LG_SIMT_DEPTH) {
        lg_raise(x, insn, __builtin_ctz(entry.mask), LG_SIM_STACK_OVERFLOW, "stack overflow",
                 "stack overflow: too many divergent paths");
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
