// SPDX-License-Identifier: Apache-2.0
#include "engine/sim/decode/fuse.h"
#include "engine/sim/decode/internal.h"
#include "engine/sim/decode/liveness.h"

#include "support/alloc.h"

#include <stdlib.h>
#include <string.h>

static bool decode_one(lg_decoder *d, int at, lg_insn *out) {
    const lg_ptx_insn *insn = &d->ptx->insns[at];
    switch (insn->op) {
    case LG_OP_LD:
    case LG_OP_LDU:
    case LG_OP_ST:
        return lg_decode_memory(d, insn, out);
    case LG_OP_ATOM:
    case LG_OP_RED:
        return lg_decode_atomic(d, insn, out);
    case LG_OP_CVTA:
        return lg_decode_cvta(d, insn, out);
    case LG_OP_ISSPACEP:
        return lg_decode_isspacep(d, insn, out);
    case LG_OP_BRA:
    case LG_OP_BRX:
        return lg_decode_branch(d, insn, at, out);
    case LG_OP_CALL:
        return lg_decode_call(d, insn, out);
    case LG_OP_BAR:
    case LG_OP_BARRIER:
        return lg_decode_barrier(d, insn, out);
    case LG_OP_RET:
        out->kind = LG_KIND_RET;
        return true;
    case LG_OP_EXIT:
        out->kind = LG_KIND_EXIT;
        return true;
    case LG_OP_TRAP:
    case LG_OP_BRKPT:
        out->kind = LG_KIND_TRAP;
        return true;
    case LG_OP_MEMBAR: // one warp instruction at a time is sequentially consistent
    case LG_OP_FENCE:  // but the race check asks, and whether it reaches other blocks
        out->kind = LG_KIND_FENCE;
        out->aux[0] = lg_decode_is_narrow(insn);
        return true;
    case LG_OP_PREFETCH:
    case LG_OP_PREFETCHU:
    case LG_OP_APPLYPRIORITY:
    case LG_OP_PMEVENT:
    case LG_OP_NANOSLEEP:
    case LG_OP_GRIDDEPCONTROL:
        out->kind = LG_KIND_NOP;
        return true;
    default: // every other opcode moves values between registers, or is refused there
        return lg_decode_lane(d, insn, out);
    }
}

// Registers: predicates side by side, then the others, 64-byte aligned; then the parameter rows.
static bool lay_out_frame(lg_decoder *d) {
    const lg_ptx_function *ptx = d->ptx;
    uint64_t at = 64;
    d->reg_slots = lg_arena_array(&d->module->arena, (size_t)ptx->n_regs + 1, sizeof(uint32_t));
    for (int i = 0; i < ptx->n_regs; i++) {
        if (lg_reg_bytes(ptx->regs[i].type) == 0) {
            d->reg_slots[i] = (uint32_t)at;
            at += 4;
        }
    }
    for (int i = 0; i < ptx->n_regs; i++) {
        uint8_t bytes = lg_reg_bytes(ptx->regs[i].type);
        if (bytes != 0) {
            at = (at + 63) & ~UINT64_C(63);
            d->reg_slots[i] = (uint32_t)at;
            at += bytes > 8 ? 0 : (uint64_t)bytes * LG_LANES; // use of another type is refused
        }
        if (at > LG_MAX_FRAME_BYTES) {
            break;
        }
    }
    lg_code *code = d->code;
    uint64_t rows_from = ptx->is_entry ? ptx->param_bytes & ~UINT64_C(15) : 0;
    uint64_t rows_bytes = ptx->param_bytes + ptx->call_param_bytes - rows_from;
    code->rows_base = (uint32_t)rows_from;
    code->n_rows = (uint32_t)((rows_bytes + 7) / 8 * 2);
    at = (at + 63) & ~UINT64_C(63);
    if (at + rows_bytes * LG_LANES + 512 > LG_MAX_FRAME_BYTES) {
        lg_diags_add(d->diags, LG_ERROR, (lg_loc){d->module->ptx->name, ptx->line, 1}, NULL,
                     "function '%s' has more registers than the engine holds", ptx->name);
        return false;
    }
    code->rows = (uint32_t)at;
    code->zeroed_end = lg_align_64(code->rows + code->n_rows * 4 * LG_LANES);
    code->scratch = code->zeroed_end;
    code->clear_registers = lg_reads_before_write(ptx);
    d->next_slot = code->scratch + 256;
    return true;
}

// Where each PTX instruction begins in the decoded code: one place later for each reconvergence.
static void index_insns(lg_decoder *d, bool *meets) {
    const lg_ptx_function *ptx = d->ptx;
    for (int i = 0; i < ptx->n_insns; i++) {
        int32_t at = ptx->reconverge ? ptx->reconverge[i] : -1;
        if (at >= 0 && at < ptx->n_insns) {
            meets[at] = true;
        }
    }
    uint32_t at = 0;
    for (int i = 0; i < ptx->n_insns; i++) {
        d->index_of[i] = at;
        at += meets[i] ? 2 : 1;
    }
    d->index_of[ptx->n_insns] = at;
    d->code->n_insns = (int)at + 1;
}

static void decode_insns(lg_decoder *d, const bool *meets) {
    lg_code *code = d->code;
    for (int i = 0; i < d->ptx->n_insns; i++) {
        const lg_ptx_insn *insn = &d->ptx->insns[i];
        lg_insn *out = &code->insns[d->index_of[i]];
        if (meets[i]) {
            *out++ = (lg_insn){.kind = LG_KIND_RECONVERGE, .index = (uint32_t)i};
        }
        *out = (lg_insn){.index = (uint32_t)i};
        for (int k = 0; k < LG_MAX_DST; k++) {
            out->dst[k] = code->scratch;
        }
        for (int k = 0; k < LG_MAX_SRC; k++) {
            out->src[k] = code->scratch;
        }
        if (insn->guard >= 0) {
            out->guard = d->reg_slots[insn->guard];
            out->guard_invert = insn->guard_negated;
        }
        decode_one(d, i, out);
    }
    code->insns[code->n_insns - 1] =
        (lg_insn){.kind = LG_KIND_END, .index = (uint32_t)(d->ptx->n_insns - 1)};
}

// What runs falls through to the next instruction that is needed. Branches and what the interpreter
// looks at rarely go to the next one of all: a move that is executed needlessly does no harm.
static void set_steps(lg_decoder *d) {
    enum { LONGEST = 255 };
    lg_code *code = d->code;
    for (int i = code->n_insns - 1; i >= 0; i--) {
        lg_insn *insn = &code->insns[i];
        insn->step = 1;
        if (i + 1 == code->n_insns || !(insn->lane || lg_is_access(insn))) {
            continue;
        }
        const lg_insn *next = insn + 1;
        bool needless = next->kind == LG_KIND_LANE && next->lane && d->fold.dropped[next->index];
        if (needless && next->step < LONGEST) {
            insn->step = (uint16_t)(1 + next->step);
        }
    }
}

// Fills that change within a launch are apart, so that a frame used again only redoes those.
static void split_fills(lg_decoder *d) {
    lg_code *code = d->code;
    code->fixed = lg_arena_array(&d->module->arena, (size_t)d->n_fills + 1, sizeof(lg_fill));
    code->moving = lg_arena_array(&d->module->arena, (size_t)d->n_fills + 1, sizeof(lg_fill));
    for (int i = 0; i < d->n_fills; i++) {
        const lg_fill *fill = &d->fills[i];
        bool moves = fill->what == LG_FILL_LOCAL ||
                     (fill->what == LG_FILL_SREG &&
                      (fill->value == LG_SREG_CTAID_X || fill->value == LG_SREG_CTAID_Y ||
                       fill->value == LG_SREG_CTAID_Z));
        if (moves) {
            code->moving[code->n_moving++] = *fill;
        } else {
            code->fixed[code->n_fixed++] = *fill;
        }
    }
}

bool lg_decode(lg_sim_module *module, int function, lg_diags *diags) {
    const lg_ptx_function *ptx = &module->ptx->functions[function];
    lg_code *code = &module->codes[function];
    lg_decoder d = {.module = module,
                    .ptx = ptx,
                    .code = code,
                    .diags = diags,
                    .lanes = lg_lane_table_best(),
                    .ok = true};
    if (!lay_out_frame(&d)) {
        return false;
    }
    size_t n = (size_t)ptx->n_insns;
    d.index_of = lg_arena_array(&module->arena, n + 1, sizeof(uint32_t));
    bool *meets = lg_xcalloc(n + 1, sizeof *meets);
    index_insns(&d, meets);
    code->insns = lg_arena_array(&module->arena, (size_t)code->n_insns, sizeof(lg_insn));
    code->calls = lg_arena_array(&module->arena, n, sizeof(lg_call));
    code->tables = lg_arena_array(&module->arena, n, sizeof(lg_branch_table));
    lg_fold_find(ptx, !code->clear_registers, &d.fold);
    decode_insns(&d, meets);
    set_steps(&d);
    lg_fuse(&d);
    split_fills(&d);
    code->frame_bytes = lg_align_64(d.next_slot);
    if (code->frame_bytes > LG_MAX_FRAME_BYTES) {
        lg_diags_add(diags, LG_ERROR, (lg_loc){module->ptx->name, ptx->line, 1}, NULL,
                     "function '%s' has more constants than the engine holds", ptx->name);
        d.ok = false;
    }
    lg_fold_free(&d.fold);
    free(meets);
    free(d.fills);
    return d.ok;
}
