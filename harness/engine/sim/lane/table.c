// SPDX-License-Identifier: Apache-2.0
// The lane table of one instruction set: an opcode's selection, after a check that every operand's
// slot has the width that the form asks for.
#include "engine/sim/lane/impl.h"

static bool is_half(lg_ptx_type type) {
    return type == LG_PTX_F16 || type == LG_PTX_F16X2 || type == LG_PTX_BF16 ||
           type == LG_PTX_BF16X2;
}

static lg_ptx_type type_of(const lg_ptx_insn *insn, int t) {
    return insn->n_types > t ? insn->types[t] : LG_PTX_NO_TYPE;
}

static lg_lane_fn *select_arithmetic(const lg_lane_form *f) {
    const lg_ptx_mods *m = &f->insn->mods;
    lg_ptx_type type = type_of(f->insn, 0);
    return m->cc                  ? LG_ISA_NAME(lg_lane_select_carry)(f)
           : m->approx || m->full ? LG_ISA_NAME(lg_lane_select_approx)(f)
           : type == LG_PTX_F32   ? LG_ISA_NAME(lg_lane_select_float32)(f)
           : type == LG_PTX_F64   ? LG_ISA_NAME(lg_lane_select_float64)(f)
           : is_half(type)        ? LG_ISA_NAME(lg_lane_select_half)(f)
                                  : LG_ISA_NAME(lg_lane_select_int)(f);
}

static lg_lane_fn *select_setp(const lg_lane_form *f) {
    return is_half(type_of(f->insn, 0)) ? LG_ISA_NAME(lg_lane_select_half_setp)(f)
                                        : LG_ISA_NAME(lg_lane_select_setp)(f);
}

static lg_lane_fn *select_set(const lg_lane_form *f) {
    return is_half(type_of(f->insn, 1)) ? LG_ISA_NAME(lg_lane_select_half_set)(f)
                                        : LG_ISA_NAME(lg_lane_select_set)(f);
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
        [LG_OP_ADDC] = LG_ISA_NAME(lg_lane_select_carry),
        [LG_OP_SUBC] = LG_ISA_NAME(lg_lane_select_carry),
        [LG_OP_MADC] = LG_ISA_NAME(lg_lane_select_carry),
        [LG_OP_POPC] = LG_ISA_NAME(lg_lane_select_field),
        [LG_OP_CLZ] = LG_ISA_NAME(lg_lane_select_field),
        [LG_OP_BREV] = LG_ISA_NAME(lg_lane_select_field),
        [LG_OP_BFIND] = LG_ISA_NAME(lg_lane_select_field),
        [LG_OP_BFE] = LG_ISA_NAME(lg_lane_select_field),
        [LG_OP_BFI] = LG_ISA_NAME(lg_lane_select_field),
        [LG_OP_FNS] = LG_ISA_NAME(lg_lane_select_field),
        [LG_OP_SZEXT] = LG_ISA_NAME(lg_lane_select_field),
        [LG_OP_BMSK] = LG_ISA_NAME(lg_lane_select_field),
        [LG_OP_COPYSIGN] = LG_ISA_NAME(lg_lane_select_sign),
        [LG_OP_TESTP] = LG_ISA_NAME(lg_lane_select_sign),
        [LG_OP_RSQRT] = LG_ISA_NAME(lg_lane_select_approx),
        [LG_OP_SIN] = LG_ISA_NAME(lg_lane_select_approx),
        [LG_OP_COS] = LG_ISA_NAME(lg_lane_select_approx),
        [LG_OP_LG2] = LG_ISA_NAME(lg_lane_select_approx),
        [LG_OP_EX2] = LG_ISA_NAME(lg_lane_select_approx),
        [LG_OP_TANH] = LG_ISA_NAME(lg_lane_select_approx),
        [LG_OP_SETP] = select_setp,
        [LG_OP_SET] = select_set,
        [LG_OP_SHFL] = LG_ISA_NAME(lg_lane_select_warp),
        [LG_OP_VOTE] = LG_ISA_NAME(lg_lane_select_warp),
        [LG_OP_MATCH] = LG_ISA_NAME(lg_lane_select_warp),
        [LG_OP_REDUX] = LG_ISA_NAME(lg_lane_select_warp),
        [LG_OP_ACTIVEMASK] = LG_ISA_NAME(lg_lane_select_warp),
        [LG_OP_ELECT] = LG_ISA_NAME(lg_lane_select_warp),
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

const lg_lane_table LG_ISA_NAME(lg_lane_isa) = {LG_ISA_NUMBER, select_form,
                                                LG_ISA_NAME(lg_lane_fused)};
