// SPDX-License-Identifier: Apache-2.0
// f16, bf16 and their packed pairs: add sub mul fma min max abs neg, each rounded once.
//
// They are computed in float (24 bits) and rounded again, which is a single rounding where
// - the float is exact: products of f16 (22 bits, at least 2^-48 in size);
// - or the format's p bits satisfy 2p + 2 <= 24, for a sum or difference (Figueroa, "When is double
//   rounding innocuous?", SIGNUM 30(3), 1995): f16 has p = 11, bf16 p = 8; sums that end up
//   subnormal are exact, being multiples of the least subnormal;
// - or the float is the result rounded to odd (lane_float.h): f16 fma from its exact product and a
// sum
//   whose error is known, in float; bf16 products, which are exact as doubles; bf16 fma likewise in
//   double, as its product may lie outside the range of float. A bf16 fma rounded to nearest in
//   double first would not do: the product can be a midpoint of bf16, with an addend far below
//   2^-53 of it to break the tie.
#include "engine/sim/lane/half.h"

LANE_INLINE float finish_none(float x) {
    return x;
}
LANE_INLINE float finish_sat(float x) {
    return f32_sat(x);
}
LANE_INLINE float finish_relu(float x) {
    return x <= 0 ? 0.0f : x;
}

LANE_INLINE float mul_f16(float a, float b) {
    return a * b;
}
LANE_INLINE float mul_bf16(float a, float b) {
    return f32_odd_of_f64((double)a * (double)b);
}
LANE_INLINE float fma_f16(float a, float b, float c) {
    return f32_sum_odd(a * b, c);
}
LANE_INLINE float fma_bf16(float a, float b, float c) {
    return f32_odd_of_f64(f64_sum_odd((double)a * (double)b, (double)c));
}

#define SUMS(T, H, n, ftz, finish)                                                                 \
    HALF_FN(add_##T##_##ftz##finish, H, n, 2, ftz, finish_##finish(a + b))                         \
    HALF_FN(sub_##T##_##ftz##finish, H, n, 2, ftz, finish_##finish(a - b))                         \
    HALF_FN(mul_##T##_##ftz##finish, H, n, 2, ftz, finish_##finish(mul_##H(a, b)))
#define FMA(T, H, n, ftz, finish)                                                                  \
    HALF_FN(fma_##T##_##ftz##finish, H, n, 3, ftz, finish_##finish(fma_##H(a, b, c)))
#define MIN_MAX(T, H, n, ftz, op)                                                                  \
    HALF_FN(op##_##T##_##ftz##00, H, n, 2, ftz, f32_##op(a, b))                                    \
    HALF_FN(op##_##T##_##ftz##01, H, n, 2, ftz,                                                    \
            f32_xorsign(f32_##op(f32_abs(a), f32_abs(b)), a, b))                                   \
    HALF_FN(op##_##T##_##ftz##10, H, n, 2, ftz, f32_##op##_nan(a, b))                              \
    HALF_FN(op##_##T##_##ftz##11, H, n, 2, ftz,                                                    \
            f32_xorsign(f32_##op##_nan(f32_abs(a), f32_abs(b)), a, b))
#define ALL_F16(T, n, ftz)                                                                         \
    SUMS(T, f16, n, ftz, none)                                                                     \
    SUMS(T, f16, n, ftz, sat)                                                                      \
    FMA(T, f16, n, ftz, none)                                                                      \
    FMA(T, f16, n, ftz, sat)                                                                       \
    FMA(T, f16, n, ftz, relu)                                                                      \
    MIN_MAX(T, f16, n, ftz, min)                                                                   \
    MIN_MAX(T, f16, n, ftz, max)
ALL_F16(f16, 32, 0)
ALL_F16(f16, 32, 1)
ALL_F16(f16x2, 64, 0)
ALL_F16(f16x2, 64, 1)
#define ALL_BF16(T, n)                                                                             \
    SUMS(T, bf16, n, 0, none)                                                                      \
    FMA(T, bf16, n, 0, none)                                                                       \
    FMA(T, bf16, n, 0, relu)                                                                       \
    MIN_MAX(T, bf16, n, 0, min)                                                                    \
    MIN_MAX(T, bf16, n, 0, max)
ALL_BF16(bf16, 32)
ALL_BF16(bf16x2, 64)

// abs and neg change the sign bits alone.
LANE_FN1(abs_16, u16, u16, a & 0x7fffu)
LANE_FN1(neg_16, u16, u16, a ^ 0x8000u)
LANE_FN1(abs_32, u32, u32, a & 0x7fff7fffu)
LANE_FN1(neg_32, u32, u32, a ^ 0x80008000u)
LANE_INLINE u32 flush_half(u32 h) {
    return (h & 0x7c00u) == 0 ? h & 0x8000u : h;
}
LANE_INLINE u32 flush_halves(u32 h) {
    return flush_half(h & 0xffffu) | flush_half(h >> 16) << 16;
}
LANE_FN1(abs_ftz_16, u16, u16, flush_half(a) & 0x7fffu)
LANE_FN1(neg_ftz_16, u16, u16, flush_half(a) ^ 0x8000u)
LANE_FN1(abs_ftz_32, u32, u32, flush_halves(a) & 0x7fff7fffu)
LANE_FN1(neg_ftz_32, u32, u32, flush_halves(a) ^ 0x80008000u)

enum half_type { F16, F16X2, BF16, BF16X2 };

static lg_lane_fn *select_sign(const lg_lane_form *f, enum half_type type) {
    static lg_lane_fn *const abs[2][2] = {{abs_16, abs_32}, {abs_ftz_16, abs_ftz_32}};
    static lg_lane_fn *const neg[2][2] = {{neg_16, neg_32}, {neg_ftz_16, neg_ftz_32}};
    bool ftz = f->insn->mods.ftz, wide = type == F16X2 || type == BF16X2;
    if (!lane_shape(f, MOD_FTZ, 1, 1) || (ftz && type >= BF16)) {
        return NULL;
    }
    return (f->insn->op == LG_OP_ABS ? abs : neg)[ftz][wide];
}

#define ROWS_SUM(op)                                                                               \
    {                                                                                              \
        {{op##_f16_0none, op##_f16_0sat}, {op##_f16_1none, op##_f16_1sat}},                        \
            {{op##_f16x2_0none, op##_f16x2_0sat}, {op##_f16x2_1none, op##_f16x2_1sat}},            \
            {{op##_bf16_0none, NULL}, {NULL, NULL}}, {                                             \
            {op##_bf16x2_0none, NULL}, {                                                           \
                NULL, NULL                                                                         \
            }                                                                                      \
        }                                                                                          \
    }
static lg_lane_fn *select_sum(const lg_lane_form *f, enum half_type type) {
    static lg_lane_fn *const add[4][2][2] = ROWS_SUM(add), *const sub[4][2][2] = ROWS_SUM(sub);
    static lg_lane_fn *const mul[4][2][2] = ROWS_SUM(mul);
    const lg_ptx_mods *m = &f->insn->mods;
    if (!lane_shape(f, MOD_ROUND | MOD_FTZ | MOD_SAT, 1, 2) || lane_round_index(m->round) != 0) {
        return NULL;
    }
    lg_ptx_op op = f->insn->op;
    return (op == LG_OP_ADD ? add : op == LG_OP_SUB ? sub : mul)[type][m->ftz][m->sat];
}

#define ROW_FMA(T, ftz)                                                                            \
    { fma_##T##_##ftz##none, fma_##T##_##ftz##sat, fma_##T##_##ftz##relu }
static lg_lane_fn *select_fma(const lg_lane_form *f, enum half_type type) {
    static lg_lane_fn *const rows[4][2][3] = {
        {ROW_FMA(f16, 0), ROW_FMA(f16, 1)},
        {ROW_FMA(f16x2, 0), ROW_FMA(f16x2, 1)},
        {{fma_bf16_0none, NULL, fma_bf16_0relu}, {NULL}},
        {{fma_bf16x2_0none, NULL, fma_bf16x2_0relu}, {NULL}},
    };
    const lg_ptx_mods *m = &f->insn->mods;
    if (!lane_shape(f, MOD_ROUND | MOD_FTZ | MOD_SAT | MOD_RELU, 1, 3) ||
        lane_round_index(m->round) != 0 || (m->sat && m->relu)) {
        return NULL;
    }
    return rows[type][m->ftz][m->sat ? 1 : m->relu ? 2 : 0];
}

#define ROW_MIN_MAX(op, T, ftz)                                                                    \
    {                                                                                              \
        {op##_##T##_##ftz##00, op##_##T##_##ftz##01}, {                                            \
            op##_##T##_##ftz##10, op##_##T##_##ftz##11                                             \
        }                                                                                          \
    }
#define ROWS_MIN_MAX(op)                                                                           \
    {                                                                                              \
        {ROW_MIN_MAX(op, f16, 0), ROW_MIN_MAX(op, f16, 1)},                                        \
            {ROW_MIN_MAX(op, f16x2, 0), ROW_MIN_MAX(op, f16x2, 1)},                                \
            {ROW_MIN_MAX(op, bf16, 0), {{NULL}, {NULL}}}, {                                        \
            ROW_MIN_MAX(op, bf16x2, 0), {                                                          \
                {NULL}, {                                                                          \
                    NULL                                                                           \
                }                                                                                  \
            }                                                                                      \
        }                                                                                          \
    }
static lg_lane_fn *select_min_max(const lg_lane_form *f, enum half_type type) {
    static lg_lane_fn *const min[4][2][2][2] = ROWS_MIN_MAX(min);
    static lg_lane_fn *const max[4][2][2][2] = ROWS_MIN_MAX(max);
    const lg_ptx_mods *m = &f->insn->mods;
    return lane_shape(f, MOD_FTZ | MOD_NAN | MOD_XORSIGN, 1, 2)
               ? (f->insn->op == LG_OP_MIN ? min : max)[type][m->ftz][m->nan][m->xorsign]
               : NULL;
}

lg_lane_fn *LG_ISA_NAME(lg_lane_select_half)(const lg_lane_form *f) {
    lg_ptx_type t = f->insn->types[0];
    enum half_type type = t == LG_PTX_F16     ? F16
                          : t == LG_PTX_F16X2 ? F16X2
                          : t == LG_PTX_BF16  ? BF16
                                              : BF16X2;
    lg_ptx_op op = f->insn->op;
    if (f->insn->n_types != 1) {
        return NULL;
    }
    return op == LG_OP_ADD || op == LG_OP_SUB || op == LG_OP_MUL ? select_sum(f, type)
           : op == LG_OP_FMA                                     ? select_fma(f, type)
           : op == LG_OP_MIN || op == LG_OP_MAX                  ? select_min_max(f, type)
           : op == LG_OP_ABS || op == LG_OP_NEG                  ? select_sign(f, type)
                                                                 : NULL;
}
