// SPDX-License-Identifier: Apache-2.0
// Integer arithmetic without carry: add sub mul mad div rem abs neg min max sad mul24 mad24 dp4a
// dp2a.
//
// Everything wraps, so sums and products are computed unsigned. Division by zero, which PTX leaves
// unspecified, gives what nvcc's expansion on the hardware gives: all ones as quotient and as
// remainder. The most negative value over -1 wraps to itself, remainder 0.
#include "engine/sim/lane/impl.h"

#define ROWS3(op)                                                                                  \
    { op##_u16, op##_u32, op##_u64, op##_u16, op##_u32, op##_u64 }
#define ROWS6(op)                                                                                  \
    { op##_u16, op##_u32, op##_u64, op##_s16, op##_s32, op##_s64 }
#define EACH_UNSIGNED(FN) FN(u16) FN(u32) FN(u64)
#define EACH_SIGNED(FN) FN(s16) FN(s32) FN(s64)
#define EACH_TYPE(FN) EACH_UNSIGNED(FN) EACH_SIGNED(FN)

#define UNSIGNED_OPS(T)                                                                            \
    LANE_FN2(add_##T, T, T, T, a + b)                                                              \
    LANE_FN2(sub_##T, T, T, T, a - b)                                                              \
    LANE_FN2(mul_lo_##T, T, T, T, 1ull * a * b)                                                    \
    LANE_FN3(mad_lo_##T, T, T, T, T, 1ull * a * b + c)                                             \
    LANE_FN1(neg_##T, T, T, 0u - a)
UNSIGNED_OPS(u16)
#undef UNSIGNED_OPS
#define UNSIGNED_OPS(T)                                                                            \
    LANE_FN2(add_##T, T, T, T, a + b)                                                              \
    LANE_FN2(sub_##T, T, T, T, a - b)                                                              \
    LANE_FN2(mul_lo_##T, T, T, T, a *b)                                                            \
    LANE_FN3(mad_lo_##T, T, T, T, T, a *b + c)                                                     \
    LANE_FN1(neg_##T, T, T, 0u - a)
UNSIGNED_OPS(u32)
UNSIGNED_OPS(u64)

#define MIN_MAX(T)                                                                                 \
    LANE_FN2(min_##T, T, T, T, a < b ? a : b)                                                      \
    LANE_FN2(max_##T, T, T, T, a > b ? a : b)
EACH_TYPE(MIN_MAX)

LANE_FN2(min_relu_s32, s32, s32, s32, (a < b ? a : b) > 0 ? (a < b ? a : b) : 0)
LANE_FN2(max_relu_s32, s32, s32, s32, (a > b ? a : b) > 0 ? (a > b ? a : b) : 0)

LANE_FN1(abs_s16, u16, s16, a < 0 ? -a : a)
LANE_FN1(abs_s32, u32, s32, a < 0 ? 0u - (u32)a : (u32)a)
LANE_FN1(abs_s64, u64, s64, a < 0 ? 0u - (u64)a : (u64)a)

#define SAD(T, U) LANE_FN3(sad_##T, U, T, T, U, (a < b ? (U)b - (U)a : (U)a - (U)b) + c)
SAD(u16, u16)
SAD(u32, u32)
SAD(u64, u64)
SAD(s16, u16)
SAD(s32, u32)
SAD(s64, u64)

// add.sat.s32 and sub.sat.s32 clamp to the range of s32.
LANE_INLINE s32 clamp_s32(s64 x) {
    return (s32)(x > INT32_MAX ? INT32_MAX : x < INT32_MIN ? INT32_MIN : x);
}
LANE_FN2(add_sat_s32, s32, s32, s32, clamp_s32((s64)a + b))
LANE_FN2(sub_sat_s32, s32, s32, s32, clamp_s32((s64)a - b))

#define WIDE(T, D, U)                                                                              \
    LANE_FN2(mul_wide_##T, D, T, T, (D)a *(D)b)                                                    \
    LANE_FN3(mad_wide_##T, U, T, T, U, (U)((D)a * (D)b) + c)
WIDE(u16, u32, u32)
WIDE(s16, s32, u32)
#ifdef __AVX512F__
// The compiler takes the full 64-bit product for these, which is three times as slow as the
// instruction for 32-bit factors; addresses are made of them.
#define WIDE_32(T, suffix)                                                                         \
    LANE_INLINE void wide_##T(u64 *out, const T *pa, const T *pb, const u64 *pc) {                 \
        for (int i = 0; i < LG_LANES; i += 8) {                                                    \
            __m256i a = _mm256_loadu_si256((const __m256i *)(const void *)(pa + i));               \
            __m256i b = _mm256_loadu_si256((const __m256i *)(const void *)(pb + i));               \
            __m512i r = _mm512_mul_##suffix(_mm512_cvtepu32_epi64(a), _mm512_cvtepu32_epi64(b));   \
            r = pc ? _mm512_add_epi64(r, _mm512_loadu_si512(pc + i)) : r;                          \
            _mm512_storeu_si512(out + i, r);                                                       \
        }                                                                                          \
    }                                                                                              \
    LANE_INLINE void run_wide_##T(char *regs, const lg_insn *insn, uint32_t active, bool mad) {    \
        u64 tmp[LG_LANES];                                                                         \
        u64 *pd = lane_out(regs, insn->dst[0]);                                                    \
        wide_##T(active == LANE_ALL ? pd : tmp, lane_in(regs, insn->src[0]),                       \
                 lane_in(regs, insn->src[1]), mad ? lane_in(regs, insn->src[2]) : NULL);           \
        if (__builtin_expect(active != LANE_ALL, 0)) {                                             \
            lane_blend_8(pd, tmp, active);                                                         \
        }                                                                                          \
    }                                                                                              \
    static void mul_wide_##T(char *regs, const lg_insn *insn, uint32_t active) {                   \
        run_wide_##T(regs, insn, active, false);                                                   \
    }                                                                                              \
    static void mad_wide_##T(char *regs, const lg_insn *insn, uint32_t active) {                   \
        run_wide_##T(regs, insn, active, true);                                                    \
    }
WIDE_32(u32, epu32)
WIDE_32(s32, epi32)
#else
WIDE(u32, u64, u64)
WIDE(s32, s64, u64)
#endif

LANE_INLINE u64 mul_high_u64(u64 a, u64 b) {
    return (u64)(((unsigned __int128)a * b) >> 64);
}
LANE_INLINE u64 mul_high_s64(s64 a, s64 b) {
    return (u64)(((__int128)a * b) >> 64);
}
#define HIGH(T, U, product)                                                                        \
    LANE_FN2(mul_hi_##T, U, T, T, product)                                                         \
    LANE_FN3(mad_hi_##T, U, T, T, U, (U)(product) + c)
HIGH(u16, u16, ((u32)a * b) >> 16)
HIGH(s16, u16, ((s32)a * b) >> 16)
HIGH(u32, u32, ((u64)a * b) >> 32)
HIGH(s32, u32, ((s64)a * b) >> 32)
HIGH(u64, u64, mul_high_u64(a, b))
HIGH(s64, u64, mul_high_s64(a, b))
LANE_FN3(mad_hi_sat_s32, s32, s32, s32, s32, clamp_s32((((s64)a * b) >> 32) + c))

// mul24 multiplies the low 24 bits (sign-extended for s32): .lo is bits 0–31 and .hi bits 16–47 of
// the 48-bit product.
LANE_INLINE s64 low24_s32(s32 x) {
    return (s32)((u32)x << 8) >> 8;
}
LANE_INLINE u64 low24_u32(u32 x) {
    return x & 0xffffffu;
}
#define MUL24(T, W)                                                                                \
    LANE_FN2(mul24_lo_##T, u32, T, T, low24_##T(a) * low24_##T(b))                                 \
    LANE_FN2(mul24_hi_##T, u32, T, T, (low24_##T(a) * low24_##T(b)) >> 16)                         \
    LANE_FN3(mad24_lo_##T, u32, T, T, u32, (u32)(low24_##T(a) * low24_##T(b)) + c)                 \
    LANE_FN3(mad24_hi_##T, u32, T, T, u32, (u32)((low24_##T(a) * low24_##T(b)) >> 16) + c)
MUL24(u32, u64)
MUL24(s32, s64)
LANE_FN3(mad24_hi_sat_s32, s32, s32, s32, s32,
         clamp_s32((s64)(s32)((low24_s32(a) * low24_s32(b)) >> 16) + c))

#define DIVIDE_UNSIGNED(T)                                                                         \
    LANE_FN2(div_##T, T, T, T, b == 0 ? (T)-1 : a / b)                                             \
    LANE_FN2(rem_##T, T, T, T, b == 0 ? (T)-1 : a % b)
EACH_UNSIGNED(DIVIDE_UNSIGNED)
#define DIVIDE_SIGNED(T)                                                                           \
    LANE_FN2(div_##T, T, T, T, b == 0 ? -1 : b == -1 ? (T)(0u - (u64)a) : a / b)                   \
    LANE_FN2(rem_##T, T, T, T, b == 0 ? -1 : b == -1 ? 0 : a % b)
EACH_SIGNED(DIVIDE_SIGNED)

#define BYTE_OF(T, x, n) ((s32)(T)((x) >> (8 * (n))))
#define DP4A(A, B)                                                                                 \
    LANE_FN3(dp4a_##A##_##B, u32, u32, u32, u32,                                                   \
             c + (u32)(BYTE_OF(A, a, 0) * BYTE_OF(B, b, 0) + BYTE_OF(A, a, 1) * BYTE_OF(B, b, 1) + \
                       BYTE_OF(A, a, 2) * BYTE_OF(B, b, 2) + BYTE_OF(A, a, 3) * BYTE_OF(B, b, 3)))
DP4A(u8, u8)
DP4A(u8, s8)
DP4A(s8, u8)
DP4A(s8, s8)

// dp2a takes the two halves of a and the low or high two bytes of b.
#define HALF_OF(T, x, n) ((s64)(T)((x) >> (16 * (n))))
#define DP2A(A, HA, B)                                                                             \
    LANE_FN3(                                                                                      \
        dp2a_lo_##A##_##B, u32, u32, u32, u32,                                                     \
        c + (u32)(HALF_OF(HA, a, 0) * BYTE_OF(B, b, 0) + HALF_OF(HA, a, 1) * BYTE_OF(B, b, 1)))    \
    LANE_FN3(                                                                                      \
        dp2a_hi_##A##_##B, u32, u32, u32, u32,                                                     \
        c + (u32)(HALF_OF(HA, a, 0) * BYTE_OF(B, b, 2) + HALF_OF(HA, a, 1) * BYTE_OF(B, b, 3)))
DP2A(u8, u16, u8)
DP2A(u8, u16, s8)
DP2A(s8, s16, u8)
DP2A(s8, s16, s8)

static lg_lane_fn *select_dot(const lg_lane_form *f) {
    static lg_lane_fn *const dp4a[2][2] = {{dp4a_u8_u8, dp4a_u8_s8}, {dp4a_s8_u8, dp4a_s8_s8}};
    static lg_lane_fn *const dp2a[2][2][2] = {
        {{dp2a_lo_u8_u8, dp2a_lo_u8_s8}, {dp2a_lo_s8_u8, dp2a_lo_s8_s8}},
        {{dp2a_hi_u8_u8, dp2a_hi_u8_s8}, {dp2a_hi_s8_u8, dp2a_hi_s8_s8}}};
    const lg_ptx_insn *insn = f->insn;
    if (insn->n_types != 2 || f->n_src != 3) {
        return NULL;
    }
    bool signed_a = insn->types[0] == LG_PTX_S32, signed_b = insn->types[1] == LG_PTX_S32;
    if ((!signed_a && insn->types[0] != LG_PTX_U32) ||
        (!signed_b && insn->types[1] != LG_PTX_U32)) {
        return NULL;
    }
    if (insn->op == LG_OP_DP4A) {
        return insn->mods.sub == LG_SUB_NONE ? dp4a[signed_a][signed_b] : NULL;
    }
    return insn->mods.sub == LG_SUB_LO   ? dp2a[0][signed_a][signed_b]
           : insn->mods.sub == LG_SUB_HI ? dp2a[1][signed_a][signed_b]
                                         : NULL;
}

static lg_lane_fn *select_product(const lg_lane_form *f, int type) {
    static lg_lane_fn *const mul_lo[6] = ROWS3(mul_lo), *const mad_lo[6] = ROWS3(mad_lo);
    static lg_lane_fn *const mul_hi[6] = ROWS6(mul_hi), *const mad_hi[6] = ROWS6(mad_hi);
    static lg_lane_fn *const mul_wide[6] = {mul_wide_u16, mul_wide_u32, NULL,
                                            mul_wide_s16, mul_wide_s32, NULL};
    static lg_lane_fn *const mad_wide[6] = {mad_wide_u16, mad_wide_u32, NULL,
                                            mad_wide_s16, mad_wide_s32, NULL};
    bool mad = f->insn->op == LG_OP_MAD;
    lg_ptx_sub sub = f->insn->mods.sub;
    if (f->insn->mods.sat) {
        return mad && sub == LG_SUB_HI && type == 4 ? mad_hi_sat_s32 : NULL;
    }
    return sub == LG_SUB_LO     ? (mad ? mad_lo : mul_lo)[type]
           : sub == LG_SUB_HI   ? (mad ? mad_hi : mul_hi)[type]
           : sub == LG_SUB_WIDE ? (mad ? mad_wide : mul_wide)[type]
                                : NULL;
}

static lg_lane_fn *select_24(const lg_lane_form *f, int type) {
    static lg_lane_fn *const mul24[2][2] = {{mul24_lo_u32, mul24_lo_s32},
                                            {mul24_hi_u32, mul24_hi_s32}};
    static lg_lane_fn *const mad24[2][2] = {{mad24_lo_u32, mad24_lo_s32},
                                            {mad24_hi_u32, mad24_hi_s32}};
    lg_ptx_sub sub = f->insn->mods.sub;
    bool mad = f->insn->op == LG_OP_MAD24, high = sub == LG_SUB_HI;
    if ((type != 1 && type != 4) || (!high && sub != LG_SUB_LO)) {
        return NULL;
    }
    if (f->insn->mods.sat) {
        return mad && high && type == 4 ? mad24_hi_sat_s32 : NULL;
    }
    return (mad ? mad24 : mul24)[high][type == 4];
}

lg_lane_fn *LG_ISA_NAME(lg_lane_select_int)(const lg_lane_form *f) {
    static lg_lane_fn *const add[6] = ROWS3(add), *const sub[6] = ROWS3(sub);
    static lg_lane_fn *const div[6] = ROWS6(div), *const rem[6] = ROWS6(rem);
    static lg_lane_fn *const min[6] = ROWS6(min), *const max[6] = ROWS6(max);
    static lg_lane_fn *const sad[6] = ROWS6(sad);
    static lg_lane_fn *const neg[6] = {NULL, NULL, NULL, neg_u16, neg_u32, neg_u64};
    static lg_lane_fn *const abs[6] = {NULL, NULL, NULL, abs_s16, abs_s32, abs_s64};
    const lg_ptx_insn *insn = f->insn;
    if (insn->op == LG_OP_DP4A || insn->op == LG_OP_DP2A) {
        return lane_shape(f, MOD_SUB, 1, 3) ? select_dot(f) : NULL;
    }
    int type = insn->n_types == 1 ? lane_int_index(insn->types[0]) : -1;
    if (type < 0) {
        return NULL;
    }
    bool sat = insn->mods.sat, relu = insn->mods.relu;
    if (insn->op == LG_OP_ADD || insn->op == LG_OP_SUB) {
        bool is_add = insn->op == LG_OP_ADD;
        if (!lane_shape(f, MOD_SAT, 1, 2)) {
            return NULL;
        }
        return !sat        ? (is_add ? add : sub)[type]
               : type != 4 ? NULL
               : is_add    ? add_sat_s32
                           : sub_sat_s32;
    }
    if (insn->op == LG_OP_MUL || insn->op == LG_OP_MAD) {
        int n_src = insn->op == LG_OP_MUL ? 2 : 3;
        return lane_shape(f, MOD_SUB | MOD_SAT, 1, n_src) ? select_product(f, type) : NULL;
    }
    if (insn->op == LG_OP_MUL24 || insn->op == LG_OP_MAD24) {
        int n_src = insn->op == LG_OP_MUL24 ? 2 : 3;
        return lane_shape(f, MOD_SUB | MOD_SAT, 1, n_src) ? select_24(f, type) : NULL;
    }
    if (insn->op == LG_OP_MIN || insn->op == LG_OP_MAX) {
        bool is_min = insn->op == LG_OP_MIN;
        if (!lane_shape(f, MOD_RELU, 1, 2)) {
            return NULL;
        }
        return !relu       ? (is_min ? min : max)[type]
               : type != 4 ? NULL
               : is_min    ? min_relu_s32
                           : max_relu_s32;
    }
    if (insn->op == LG_OP_SAD) {
        return lane_shape(f, 0, 1, 3) ? sad[type] : NULL;
    }
    if (insn->op == LG_OP_ABS || insn->op == LG_OP_NEG) {
        return lane_shape(f, 0, 1, 1) ? (insn->op == LG_OP_ABS ? abs : neg)[type] : NULL;
    }
    if (insn->op == LG_OP_DIV || insn->op == LG_OP_REM) {
        return lane_shape(f, 0, 1, 2) ? (insn->op == LG_OP_DIV ? div : rem)[type] : NULL;
    }
    return NULL;
}
