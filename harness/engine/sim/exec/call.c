// SPDX-License-Identifier: Apache-2.0
// Calls and returns: arguments and results move between the frames of a warp.
#include "engine/sim/exec/internal.h"

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
            lg_set_slot(slot, reg_bytes, lane, lg_rows_get(rows, lane, offset, bytes));
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
        lg_raise(x, insn, lane, LG_SIM_ILLEGAL_INSTRUCTION, LG_DEVICE_FAULT_BAD_CALL,
                 "call of %s with other arguments than it has", code->ptx->name);
        return false;
    }
    uint64_t local = warp->local_top + code->ptx->local_bytes;
    if (warp->depth + 1 >= LG_MAX_CALLS || local > LG_MAX_LOCAL_BYTES) {
        lg_raise(x, insn, lane, LG_SIM_STACK_OVERFLOW, LG_DEVICE_FAULT_STACK_OVERFLOW,
                 "stack overflow: %d calls deep, %llu bytes of local memory a thread",
                 warp->depth + 1, (unsigned long long)local);
        return false;
    }
    if (!lg_frame_open(x, warp, warp->depth + 1, code)) {
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

void lg_call_leave(lg_warp *warp) {
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
