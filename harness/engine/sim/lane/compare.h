// SPDX-License-Identifier: Apache-2.0
// Comparing 32 lanes into a predicate. Loops that end in a bit a lane are what compilers vectorise
// worst, and compares end most loops of a kernel, so these are written for each instruction set:
// AVX-512 compares into mask registers, the others compare vectors and gather their sign bits.
#ifndef LG_ENGINE_SIM_LANE_COMPARE_H
#define LG_ENGINE_SIM_LANE_COMPARE_H

#include "engine/sim/lane/float.h"

#include <immintrin.h>

// LANE_COMPARISONS(name, AVX-512 integer predicate, value on elements a and b)
#define LANE_INT_COMPARISONS(X)                                                                    \
    X(eq, _MM_CMPINT_EQ, a == b)                                                                   \
    X(ne, _MM_CMPINT_NE, a != b)                                                                   \
    X(lt, _MM_CMPINT_LT, a < b)                                                                    \
    X(le, _MM_CMPINT_LE, a <= b)                                                                   \
    X(gt, _MM_CMPINT_NLE, a > b)                                                                   \
    X(ge, _MM_CMPINT_NLT, a >= b)

// The ordered ones are false when an operand is NaN, those with u true.
#define LANE_FLOAT_COMPARISONS(X)                                                                  \
    X(eq, _CMP_EQ_OQ, a == b)                                                                      \
    X(ne, _CMP_NEQ_OQ, (a < b) | (a > b))                                                          \
    X(lt, _CMP_LT_OQ, a < b)                                                                       \
    X(le, _CMP_LE_OQ, a <= b)                                                                      \
    X(gt, _CMP_GT_OQ, a > b)                                                                       \
    X(ge, _CMP_GE_OQ, a >= b)                                                                      \
    X(equ, _CMP_EQ_UQ, ~((a < b) | (a > b)))                                                       \
    X(neu, _CMP_NEQ_UQ, a != b)                                                                    \
    X(ltu, _CMP_NGE_UQ, ~(a >= b))                                                                 \
    X(leu, _CMP_NGT_UQ, ~(a > b))                                                                  \
    X(gtu, _CMP_NLE_UQ, ~(a <= b))                                                                 \
    X(geu, _CMP_NLT_UQ, ~(a < b))                                                                  \
    X(num, _CMP_ORD_Q, (a == a) & (b == b))                                                        \
    X(nan, _CMP_UNORD_Q, (a != a) | (b != b))

#ifdef __AVX512F__

#define LANE_COMPARE_2(T, SUFFIX, LOAD, name, predicate)                                           \
    LANE_INLINE uint32_t compare_##name##_##T(const void *a, const void *b) {                      \
        return _mm512_cmp_##SUFFIX##_mask(LOAD(a), LOAD(b), predicate);                            \
    }
#define LANE_COMPARE_4(T, SUFFIX, LOAD, name, predicate)                                           \
    LANE_INLINE uint32_t compare_##name##_##T(const void *a, const void *b) {                      \
        const char *x = a, *y = b;                                                                 \
        uint32_t low = _mm512_cmp_##SUFFIX##_mask(LOAD(x), LOAD(y), predicate);                    \
        uint32_t high = _mm512_cmp_##SUFFIX##_mask(LOAD(x + 64), LOAD(y + 64), predicate);         \
        return low | high << 16;                                                                   \
    }
#define LANE_COMPARE_8(T, SUFFIX, LOAD, name, predicate)                                           \
    LANE_INLINE uint32_t compare_##name##_##T(const void *a, const void *b) {                      \
        const char *x = a, *y = b;                                                                 \
        uint32_t m0 = _mm512_cmp_##SUFFIX##_mask(LOAD(x), LOAD(y), predicate);                     \
        uint32_t m1 = _mm512_cmp_##SUFFIX##_mask(LOAD(x + 64), LOAD(y + 64), predicate);           \
        uint32_t m2 = _mm512_cmp_##SUFFIX##_mask(LOAD(x + 128), LOAD(y + 128), predicate);         \
        uint32_t m3 = _mm512_cmp_##SUFFIX##_mask(LOAD(x + 192), LOAD(y + 192), predicate);         \
        return m0 | m1 << 8 | m2 << 16 | m3 << 24;                                                 \
    }
#define COMPARE_u16(name, p, v) LANE_COMPARE_2(u16, epu16, _mm512_loadu_si512, name, p)
#define COMPARE_s16(name, p, v) LANE_COMPARE_2(s16, epi16, _mm512_loadu_si512, name, p)
#define COMPARE_u32(name, p, v) LANE_COMPARE_4(u32, epu32, _mm512_loadu_si512, name, p)
#define COMPARE_s32(name, p, v) LANE_COMPARE_4(s32, epi32, _mm512_loadu_si512, name, p)
#define COMPARE_u64(name, p, v) LANE_COMPARE_8(u64, epu64, _mm512_loadu_si512, name, p)
#define COMPARE_s64(name, p, v) LANE_COMPARE_8(s64, epi64, _mm512_loadu_si512, name, p)
#define COMPARE_f32(name, p, v) LANE_COMPARE_4(f32, ps, _mm512_loadu_ps, name, p)
#define COMPARE_f64(name, p, v) LANE_COMPARE_8(f64, pd, _mm512_loadu_pd, name, p)

#else

#ifdef __AVX2__
#define LANE_VECTOR 32
#define LANE_SIGNS_4(m) (uint32_t) _mm256_movemask_ps((__m256)(m))
#define LANE_SIGNS_8(m) (uint32_t) _mm256_movemask_pd((__m256d)(m))
#else
#define LANE_VECTOR 16
#define LANE_SIGNS_4(m) (uint32_t) _mm_movemask_ps((__m128)(m))
#define LANE_SIGNS_8(m) (uint32_t) _mm_movemask_pd((__m128d)(m))
#endif

typedef uint16_t v16_u16 __attribute__((vector_size(16), may_alias));
typedef int16_t v16_s16 __attribute__((vector_size(16), may_alias));
typedef uint32_t v_u32 __attribute__((vector_size(LANE_VECTOR), may_alias));
typedef int32_t v_s32 __attribute__((vector_size(LANE_VECTOR), may_alias));
typedef uint64_t v_u64 __attribute__((vector_size(LANE_VECTOR), may_alias));
typedef int64_t v_s64 __attribute__((vector_size(LANE_VECTOR), may_alias));
typedef float v_f32 __attribute__((vector_size(LANE_VECTOR), may_alias));
typedef double v_f64 __attribute__((vector_size(LANE_VECTOR), may_alias));

#define LANE_COMPARE_2(T, V, name, value)                                                          \
    LANE_INLINE uint32_t compare_##name##_##T(const void *pa, const void *pb) {                    \
        const V *x = pa, *y = pb;                                                                  \
        __m128i m[4];                                                                              \
        for (int i = 0; i < 4; i++) {                                                              \
            const V a = x[i], b = y[i];                                                            \
            m[i] = (__m128i)(value);                                                               \
        }                                                                                          \
        uint32_t low = (uint32_t)_mm_movemask_epi8(_mm_packs_epi16(m[0], m[1]));                   \
        return low | (uint32_t)_mm_movemask_epi8(_mm_packs_epi16(m[2], m[3])) << 16;               \
    }
#define LANE_COMPARE_N(T, V, bytes, name, value)                                                   \
    LANE_INLINE uint32_t compare_##name##_##T(const void *pa, const void *pb) {                    \
        const V *x = pa, *y = pb;                                                                  \
        uint32_t bits = 0;                                                                         \
        for (int i = 0; i < LG_LANES * bytes / LANE_VECTOR; i++) {                                 \
            const V a = x[i], b = y[i];                                                            \
            bits |= LANE_SIGNS_##bytes(value) << (i * (LANE_VECTOR / bytes));                      \
        }                                                                                          \
        return bits;                                                                               \
    }
#define COMPARE_u16(name, p, v) LANE_COMPARE_2(u16, v16_u16, name, v)
#define COMPARE_s16(name, p, v) LANE_COMPARE_2(s16, v16_s16, name, v)
#define COMPARE_u32(name, p, v) LANE_COMPARE_N(u32, v_u32, 4, name, v)
#define COMPARE_s32(name, p, v) LANE_COMPARE_N(s32, v_s32, 4, name, v)
#define COMPARE_u64(name, p, v) LANE_COMPARE_N(u64, v_u64, 8, name, v)
#define COMPARE_s64(name, p, v) LANE_COMPARE_N(s64, v_s64, 8, name, v)
#define COMPARE_f32(name, p, v) LANE_COMPARE_N(f32, v_f32, 4, name, v)
#define COMPARE_f64(name, p, v) LANE_COMPARE_N(f64, v_f64, 8, name, v)

#endif

LANE_INT_COMPARISONS(COMPARE_u16)
LANE_INT_COMPARISONS(COMPARE_s16)
LANE_INT_COMPARISONS(COMPARE_u32)
LANE_INT_COMPARISONS(COMPARE_s32)
LANE_INT_COMPARISONS(COMPARE_u64)
LANE_INT_COMPARISONS(COMPARE_s64)
LANE_FLOAT_COMPARISONS(COMPARE_f32)
LANE_FLOAT_COMPARISONS(COMPARE_f64)

// The index of a comparison in a row of six: eq ne lt le gt ge; -1 when integers do not have it.
// The .lo .ls .hi .hs of unsigned types are lt le gt ge.
LANE_INLINE int lane_int_cmp_index(lg_ptx_cmp cmp, lg_ptx_type type) {
    bool bits = type == LG_PTX_B16 || type == LG_PTX_B32 || type == LG_PTX_B64;
    bool is_unsigned = type == LG_PTX_U16 || type == LG_PTX_U32 || type == LG_PTX_U64;
    if (cmp >= LG_CMP_EQ && cmp <= LG_CMP_GE) {
        return !bits || cmp <= LG_CMP_NE ? (int)cmp - LG_CMP_EQ : -1;
    }
    return cmp >= LG_CMP_LO && cmp <= LG_CMP_HS && is_unsigned ? (int)cmp - LG_CMP_LO + 2 : -1;
}

// In a row of fourteen, in the order of LANE_FLOAT_COMPARISONS.
LANE_INLINE int lane_float_cmp_index(lg_ptx_cmp cmp) {
    return cmp >= LG_CMP_EQ && cmp <= LG_CMP_GE     ? (int)cmp - LG_CMP_EQ
           : cmp >= LG_CMP_EQU && cmp <= LG_CMP_NAN ? (int)cmp - LG_CMP_EQU + 6
                                                    : -1;
}

// Rows of four: no boolean operation, and, or, xor; -1 for another.
LANE_INLINE int lane_bool_index(lg_ptx_sub op) {
    return op == LG_SUB_NONE  ? 0
           : op == LG_SUB_AND ? 1
           : op == LG_SUB_OR  ? 2
           : op == LG_SUB_XOR ? 3
                              : -1;
}

LANE_INLINE uint32_t lane_bool(int op, uint32_t t, uint32_t c) {
    return op == 0 ? t : op == 1 ? t & c : op == 2 ? t | c : t ^ c;
}

// setp: p = BoolOp(t, c), q = BoolOp(u, c), where u is !t except for packed halves. Writing q when
// the form has none costs nothing worth a second function: it goes to a slot nobody reads. c is
// read before p is written, as they may be the same register.
LANE_INLINE void finish_setp(char *regs, const lg_insn *insn, uint32_t active, uint32_t t,
                             uint32_t u, int op) {
    uint32_t c = op == 0 ? 0 : lane_pred(regs, insn, 2);
    lane_set_pred(regs, insn->dst[0], lane_bool(op, t, c), active);
    lane_set_pred(regs, insn->dst[1], lane_bool(op, u, c), active);
}

// set: `yes` in the lanes where BoolOp(t, c) holds, zero in the others.
static __attribute__((noinline, unused)) void
finish_set_4(char *regs, const lg_insn *insn, uint32_t active, uint32_t t, int op, uint32_t yes) {
    uint32_t bits = lane_bool(op, t, op == 0 ? 0 : lane_pred(regs, insn, 2));
    u32 tmp[LG_LANES];
    LANE_LOOP(LG_LANES) {
        tmp[i] = (bits >> i) & 1 ? yes : 0;
    }
    lane_blend_4(regs + insn->dst[0], tmp, active);
}

static __attribute__((noinline, unused)) void
finish_set_2(char *regs, const lg_insn *insn, uint32_t active, uint32_t t, int op, uint32_t yes) {
    uint32_t bits = lane_bool(op, t, op == 0 ? 0 : lane_pred(regs, insn, 2));
    u16 tmp[LG_LANES];
    LANE_LOOP(LG_LANES) {
        tmp[i] = (u16)((bits >> i) & 1 ? yes : 0);
    }
    lane_blend_2(regs + insn->dst[0], tmp, active);
}

LANE_INLINE void flush_f32(f32 *to, const f32 *from) {
    LANE_LOOP(LG_LANES) {
        to[i] = f32_flush(from[i]);
    }
}

// The two sources of a comparison as pa and pb: as they are, or with subnormals flushed.
#define LOAD_PLAIN                                                                                 \
    const void *pa = lane_in(regs, insn->src[0]);                                                  \
    const void *pb = lane_in(regs, insn->src[1]);
#define LOAD_FLUSHED                                                                               \
    f32 pa[LG_LANES] __attribute__((aligned(64))), pb[LG_LANES] __attribute__((aligned(64)));      \
    flush_f32(pa, lane_in(regs, insn->src[0]));                                                    \
    flush_f32(pb, lane_in(regs, insn->src[1]));

#endif
