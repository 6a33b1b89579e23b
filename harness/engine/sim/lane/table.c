// SPDX-License-Identifier: Apache-2.0
// The lane table of one instruction set: an opcode's selection, after a check that every operand's
// slot has the width that the form asks for.
#include "engine/sim/lane/lane_impl.h"

static lg_lane_fn *select_arithmetic(const lg_lane_form *f) {
    const lg_ptx_insn *insn = f->insn;
    lg_ptx_type type = insn->n_types > 0 ? insn->types[0] : LG_PTX_NO_TYPE;
    if (type == LG_PTX_F32) {
        return LG_ISA_NAME(lg_lane_select_float32)(f);
    }
    if (type == LG_PTX_F64) {
        return LG_ISA_NAME(lg_lane_select_float64)(f);
    }
    return LG_ISA_NAME(lg_lane_select_int)(f);
}

// The forms whose operands may be wider than their type check that themselves.
static bool has_widths(const lg_lane_form *f) {
    if (f->insn->op == LG_OP_CVT || f->insn->op == LG_OP_MOV) {
        return true;
    }
    for (int d = 0; d < f->n_dst; d++) {
        if (f->dst_bytes[d] != lg_lane_result_bytes(f->insn, d)) {
            return false;
        }
    }
    for (int s = 0; s < f->n_src; s++) {
        if (f->src_bytes[s] != lg_lane_immediate_bytes(f->insn, s)) {
            return false;
        }
    }
    return true;
}

static lg_lane_fn *select_form(const lg_lane_form *f) {
    static lg_lane_fn *(*const by_op[LG_N_OPS])(const lg_lane_form *) = {
        [LG_OP_ADD] = select_arithmetic,
        [LG_OP_SUB] = select_arithmetic,
        [LG_OP_MUL] = select_arithmetic,
        [LG_OP_MAD] = select_arithmetic,
        [LG_OP_FMA] = select_arithmetic,
        [LG_OP_DIV] = select_arithmetic,
        [LG_OP_REM] = select_arithmetic,
        [LG_OP_ABS] = select_arithmetic,
        [LG_OP_NEG] = select_arithmetic,
        [LG_OP_MIN] = select_arithmetic,
        [LG_OP_MAX] = select_arithmetic,
        [LG_OP_SAD] = select_arithmetic,
        [LG_OP_RCP] = select_arithmetic,
        [LG_OP_SQRT] = select_arithmetic,
        [LG_OP_MUL24] = LG_ISA_NAME(lg_lane_select_int),
        [LG_OP_MAD24] = LG_ISA_NAME(lg_lane_select_int),
        [LG_OP_DP4A] = LG_ISA_NAME(lg_lane_select_int),
        [LG_OP_DP2A] = LG_ISA_NAME(lg_lane_select_int),
        [LG_OP_AND] = LG_ISA_NAME(lg_lane_select_bits),
        [LG_OP_OR] = LG_ISA_NAME(lg_lane_select_bits),
        [LG_OP_XOR] = LG_ISA_NAME(lg_lane_select_bits),
        [LG_OP_NOT] = LG_ISA_NAME(lg_lane_select_bits),
        [LG_OP_CNOT] = LG_ISA_NAME(lg_lane_select_bits),
        [LG_OP_LOP3] = LG_ISA_NAME(lg_lane_select_bits),
        [LG_OP_SHL] = LG_ISA_NAME(lg_lane_select_bits),
        [LG_OP_SHR] = LG_ISA_NAME(lg_lane_select_bits),
        [LG_OP_SHF] = LG_ISA_NAME(lg_lane_select_bits),
        [LG_OP_PRMT] = LG_ISA_NAME(lg_lane_select_bits),
        [LG_OP_SETP] = LG_ISA_NAME(lg_lane_select_setp),
        [LG_OP_SELP] = LG_ISA_NAME(lg_lane_select_choose),
        [LG_OP_SLCT] = LG_ISA_NAME(lg_lane_select_choose),
        [LG_OP_MOV] = LG_ISA_NAME(lg_lane_select_move),
        [LG_OP_CVT] = LG_ISA_NAME(lg_lane_select_cvt),
    };
    if (f->insn->op >= LG_N_OPS || f->n_dst < 0 || f->n_dst > LG_MAX_DST || f->n_src < 0 ||
        f->n_src > LG_MAX_SRC || !by_op[f->insn->op] || !has_widths(f)) {
        return NULL;
    }
    return by_op[f->insn->op](f);
}

const lg_lane_table LG_ISA_NAME(lg_lane_isa) = {LG_LANE_ISA, select_form};
