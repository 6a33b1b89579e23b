// SPDX-License-Identifier: Apache-2.0
// f32 arithmetic: add sub mul fma mad div rcp sqrt in all rounding modes, .ftz and .sat; min max
// abs neg.
#include "engine/sim/lane/round.h"

// `value` with flushed inputs when ftz, then flushed and clamped as asked for, NaN made canonical.
#define FINISH_0_0(x) f32_canon(x)
#define FINISH_1_0(x) f32_flush(f32_canon(x))
#define FINISH_0_1(x) f32_sat(x)
#define FINISH_1_1(x) f32_sat(f32_flush(x))
#define INPUT_0(x) (x)
#define INPUT_1(x) f32_flush(x)

#define FORMS_NEAREST(ftz, sat)                                                                    \
    LANE_FN2(add_ROUND_RN_##ftz##sat, f32, f32, f32,                                               \
             FINISH_##ftz##_##sat(INPUT_##ftz(a) + INPUT_##ftz(b)))                                \
    LANE_FN2(sub_ROUND_RN_##ftz##sat, f32, f32, f32,                                               \
             FINISH_##ftz##_##sat(INPUT_##ftz(a) - INPUT_##ftz(b)))                                \
    LANE_FN2(mul_ROUND_RN_##ftz##sat, f32, f32, f32,                                               \
             FINISH_##ftz##_##sat(INPUT_##ftz(a) * INPUT_##ftz(b)))                                \
    LANE_FN3(                                                                                      \
        fma_ROUND_RN_##ftz##sat, f32, f32, f32, f32,                                               \
        FINISH_##ftz##_##sat(f32_fma(INPUT_##ftz(a), INPUT_##ftz(b), INPUT_##ftz(c), ROUND_RN)))
FORMS_NEAREST(0, 0)
FORMS_NEAREST(0, 1)
FORMS_NEAREST(1, 0)
FORMS_NEAREST(1, 1)
LANE_FN2(div_ROUND_RN_0, f32, f32, f32, f32_canon(a / b))
LANE_FN2(div_ROUND_RN_1, f32, f32, f32, FINISH_1_0(INPUT_1(a) / INPUT_1(b)))
LANE_FN1(rcp_ROUND_RN_0, f32, f32, f32_canon(1.0f / a))
LANE_FN1(rcp_ROUND_RN_1, f32, f32, FINISH_1_0(1.0f / INPUT_1(a)))
LANE_FN1(sqrt_ROUND_RN_0, f32, f32, f32_canon(__builtin_sqrtf(a)))
LANE_FN1(sqrt_ROUND_RN_1, f32, f32, FINISH_1_0(__builtin_sqrtf(INPUT_1(a))))

#define FORMS_DIRECTED(mode, ftz, sat)                                                             \
    LANE_ROUNDED_FN(add_##mode##_##ftz##sat, add, mode, 2, +, INPUT_##ftz, FINISH_##ftz##_##sat)   \
    LANE_ROUNDED_FN(sub_##mode##_##ftz##sat, add, mode, 2, -, INPUT_##ftz, FINISH_##ftz##_##sat)   \
    LANE_ROUNDED_FN(mul_##mode##_##ftz##sat, mul, mode, 2, +, INPUT_##ftz, FINISH_##ftz##_##sat)   \
    LANE_ROUNDED_FN(fma_##mode##_##ftz##sat, fma, mode, 3, +, INPUT_##ftz, FINISH_##ftz##_##sat)
#define FORMS_DIVISION(mode, ftz)                                                                  \
    LANE_ROUNDED_FN(div_##mode##_##ftz, div, mode, 2, +, INPUT_##ftz, FINISH_##ftz##_0)            \
    LANE_ROUNDED_FN(rcp_##mode##_##ftz, rcp, mode, 1, +, INPUT_##ftz, FINISH_##ftz##_0)            \
    LANE_ROUNDED_FN(sqrt_##mode##_##ftz, sqrt, mode, 1, +, INPUT_##ftz, FINISH_##ftz##_0)
#define FORMS(mode)                                                                                \
    FORMS_DIRECTED(mode, 0, 0)                                                                     \
    FORMS_DIRECTED(mode, 0, 1)                                                                     \
    FORMS_DIRECTED(mode, 1, 0)                                                                     \
    FORMS_DIRECTED(mode, 1, 1)                                                                     \
    FORMS_DIVISION(mode, 0)                                                                        \
    FORMS_DIVISION(mode, 1)
FORMS(ROUND_RZ)
FORMS(ROUND_RM)
FORMS(ROUND_RP)

// abs and neg change the sign bit alone; a NaN stays the NaN it is, as PTX allows.
LANE_FN1(abs_0, f32, f32, f32_abs(a))
LANE_FN1(abs_1, f32, f32, f32_abs(f32_flush(a)))
LANE_FN1(neg_0, u32, u32, a ^ 0x80000000u)
LANE_FN1(neg_1, f32, f32, -f32_flush(a))

#define MIN_MAX(op, ftz)                                                                           \
    LANE_FN2(op##_##ftz, f32, f32, f32, f32_##op(INPUT_##ftz(a), INPUT_##ftz(b)))                  \
    LANE_FN2(op##_nan_##ftz, f32, f32, f32, f32_##op##_nan(INPUT_##ftz(a), INPUT_##ftz(b)))        \
    LANE_FN2(op##_xor_##ftz, f32, f32, f32,                                                        \
             f32_xorsign(f32_##op(f32_abs(INPUT_##ftz(a)), f32_abs(INPUT_##ftz(b))), a, b))        \
    LANE_FN2(op##_nan_xor_##ftz, f32, f32, f32,                                                    \
             f32_xorsign(f32_##op##_nan(f32_abs(INPUT_##ftz(a)), f32_abs(INPUT_##ftz(b))), a, b))
MIN_MAX(min, 0)
MIN_MAX(min, 1)
MIN_MAX(max, 0)
MIN_MAX(max, 1)

#define ROW_OF_MODE(op, mode)                                                                      \
    {                                                                                              \
        {op##_##mode##_00, op##_##mode##_01}, {                                                    \
            op##_##mode##_10, op##_##mode##_11                                                     \
        }                                                                                          \
    }
#define ROWS_ARITHMETIC(op)                                                                        \
    {                                                                                              \
        ROW_OF_MODE(op, ROUND_RN), ROW_OF_MODE(op, ROUND_RZ), ROW_OF_MODE(op, ROUND_RM),           \
            ROW_OF_MODE(op, ROUND_RP)                                                              \
    }
#define ROWS_DIVISION(op)                                                                          \
    {                                                                                              \
        {op##_ROUND_RN_0, op##_ROUND_RN_1}, {op##_ROUND_RZ_0, op##_ROUND_RZ_1},                    \
            {op##_ROUND_RM_0, op##_ROUND_RM_1}, {                                                  \
            op##_ROUND_RP_0, op##_ROUND_RP_1                                                       \
        }                                                                                          \
    }
#define ROWS_MIN_MAX(op)                                                                           \
    {                                                                                              \
        {{op##_0, op##_1}, {op##_xor_0, op##_xor_1}}, {                                            \
            {op##_nan_0, op##_nan_1}, {                                                            \
                op##_nan_xor_0, op##_nan_xor_1                                                     \
            }                                                                                      \
        }                                                                                          \
    }

static lg_lane_fn *select_arithmetic(const lg_lane_form *f, int n_src,
                                     lg_lane_fn *const rows[4][2][2]) {
    const lg_ptx_mods *m = &f->insn->mods;
    int mode = lane_round_index(m->round);
    return lane_shape(f, MOD_ROUND | MOD_FTZ | MOD_SAT, 1, n_src) && mode >= 0
               ? rows[mode][m->ftz][m->sat]
               : NULL;
}

static lg_lane_fn *select_division(const lg_lane_form *f, int n_src, lg_lane_fn *const rows[4][2]) {
    const lg_ptx_mods *m = &f->insn->mods;
    int mode = lane_round_index(m->round);
    // Without a rounding mode these are .approx or .full: approx.c.
    return lane_shape(f, MOD_ROUND | MOD_FTZ, 1, n_src) && mode >= 0 ? rows[mode][m->ftz] : NULL;
}

lg_lane_fn *LG_ISA_NAME(lg_lane_select_float32)(const lg_lane_form *f) {
    static lg_lane_fn *const add[4][2][2] = ROWS_ARITHMETIC(add);
    static lg_lane_fn *const sub[4][2][2] = ROWS_ARITHMETIC(sub);
    static lg_lane_fn *const mul[4][2][2] = ROWS_ARITHMETIC(mul);
    static lg_lane_fn *const fma[4][2][2] = ROWS_ARITHMETIC(fma);
    static lg_lane_fn *const div[4][2] = ROWS_DIVISION(div);
    static lg_lane_fn *const rcp[4][2] = ROWS_DIVISION(rcp);
    static lg_lane_fn *const root[4][2] = ROWS_DIVISION(sqrt);
    static lg_lane_fn *const min[2][2][2] = ROWS_MIN_MAX(min), *const max[2][2][2] =
                                                                   ROWS_MIN_MAX(max);
    static lg_lane_fn *const abs[2] = {abs_0, abs_1}, *const neg[2] = {neg_0, neg_1};
    const lg_ptx_mods *m = &f->insn->mods;
    lg_ptx_op op = f->insn->op;
    if (op == LG_OP_ADD || op == LG_OP_SUB || op == LG_OP_MUL) {
        return select_arithmetic(f, 2, op == LG_OP_ADD ? add : op == LG_OP_SUB ? sub : mul);
    }
    if (op == LG_OP_FMA || op == LG_OP_MAD) {
        return select_arithmetic(f, 3, fma);
    }
    if (op == LG_OP_DIV) {
        return select_division(f, 2, div);
    }
    if (op == LG_OP_RCP || op == LG_OP_SQRT) {
        return select_division(f, 1, op == LG_OP_RCP ? rcp : root);
    }
    if (op == LG_OP_ABS || op == LG_OP_NEG) {
        return lane_shape(f, MOD_FTZ, 1, 1) ? (op == LG_OP_ABS ? abs : neg)[m->ftz] : NULL;
    }
    if (op == LG_OP_MIN || op == LG_OP_MAX) {
        return lane_shape(f, MOD_FTZ | MOD_NAN | MOD_XORSIGN, 1, 2)
                   ? (op == LG_OP_MIN ? min : max)[m->nan][m->xorsign][m->ftz]
                   : NULL;
    }
    return NULL;
}
