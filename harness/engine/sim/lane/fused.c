// SPDX-License-Identifier: Apache-2.0
// Runs of instructions as one function: what is between them stays in vector registers. A chain of
// single instructions waits for each store to be read back, which takes longer than the arithmetic.
// Every lane gets the bits that the single instructions give.
#include "engine/sim/lane/lane_exp2.h"

#include <immintrin.h>

// nvcc's expf, instruction by instruction, for x = (n + d) ln 2 with n in -126..126:
//   t = sat(fma(x, 1/(252 ln 2), 1/2));  s = fma.rm(t, 252, 12582913);  n = s - 12583039
//   d = fma(x, high part of 1/ln 2, -n);  d = fma(x, low part, d);  ex2(d) * (s << 23)
// What a lane gets is the same bits, with what makes no difference left out: s << 23 is 2^n, by
// which ex2's result is multiplied exactly or rounded as ex2(d + n) is; where ex2(d) is flushed,
// the product is 0 either way.
#define EXP_SCALE f32_from(0x3bbb989du)
#define EXP_HIGH f32_from(0x3fb8aa3bu)
#define EXP_LOW f32_from(0x32a57060u)

#ifdef __AVX512F__
#define EXP_SHIFT 12582913.0f
#define EXP_BIAS -12583039.0f
#define SPLAT(x) _mm512_set1_ps(x)
#define MUL_ADD(a, b, c) _mm512_add_ps(_mm512_mul_ps(a, b), c)

LANE_INLINE __m512 canon_16(__m512 x) {
    return _mm512_mask_blend_ps(_mm512_cmp_ps_mask(x, x, _CMP_ORD_Q), SPLAT(F32_NAN), x);
}

// exp2_and's value, a NaN not yet canonical. What is left of an infinity is 0, and scalef takes any
// exponent and rounds once.
LANE_INLINE __m512 exp2_and_16(__m512 d, __m512 more) {
    enum { NEAREST = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC };
    __m512 n = _mm512_add_ps(_mm512_roundscale_ps(d, NEAREST), more);
    __m512 f = _mm512_reduce_ps(d, NEAREST);
    __m512 square = _mm512_mul_ps(f, f);
    __m512 low = MUL_ADD(SPLAT(EXP2_Q1), f, SPLAT(EXP2_Q0));
    __m512 high = MUL_ADD(SPLAT(EXP2_Q3), f, SPLAT(EXP2_Q2));
    high = MUL_ADD(MUL_ADD(SPLAT(EXP2_Q5), f, SPLAT(EXP2_Q4)), square, high);
    return _mm512_scalef_ps(MUL_ADD(MUL_ADD(high, square, low), f, SPLAT(1.0f)), n);
}

LANE_INLINE __m512 exp_split_16(__m512 x, __m512 *n) {
    __m512 t = _mm512_fmadd_ps(x, SPLAT(EXP_SCALE), SPLAT(0.5f));
    t = _mm512_min_ps(_mm512_max_ps(t, SPLAT(0.0f)), SPLAT(1.0f)); // NaN becomes 0
    __m512 s = _mm512_fmadd_round_ps(t, SPLAT(252.0f), SPLAT(EXP_SHIFT),
                                     _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
    *n = _mm512_add_ps(s, SPLAT(EXP_BIAS));
    return _mm512_fmadd_ps(x, SPLAT(EXP_LOW), _mm512_fmsub_ps(x, SPLAT(EXP_HIGH), *n));
}

LANE_INLINE __m512 exp_16(__m512 x) {
    __m512 n, d = exp_split_16(x, &n);
    return canon_16(exp2_and_16(d, n));
}

LANE_INLINE __m512 exp_plus_16(__m512 x, __m512 c) {
    __m512 n, d = exp_split_16(x, &n), power = exp2_and_16(d, SPLAT(0.0f));
    __mmask16 flushed = _mm512_cmp_ps_mask(power, SPLAT(0x1p-126f), _CMP_LT_OQ);
    power = _mm512_mask_blend_ps(flushed, power, SPLAT(0.0f));
    return canon_16(_mm512_fmadd_ps(power, _mm512_scalef_ps(SPLAT(1.0f), n), c));
}

LANE_INLINE void exp_lanes(char *regs, const lg_insn *insn, uint32_t active, bool of_sub,
                           bool plus) {
    const float *pa = lane_in(regs, insn->src[0]), *pb = lane_in(regs, insn->src[1]);
    const float *pc = lane_in(regs, insn->src[of_sub ? 2 : 1]);
    float *pd = lane_out(regs, insn->dst[0]);
    for (int i = 0; i < LG_LANES; i += 16) {
        __m512 x = _mm512_load_ps(pa + i);
        x = of_sub ? _mm512_sub_ps(x, _mm512_load_ps(pb + i)) : x;
        x = plus ? exp_plus_16(x, _mm512_load_ps(pc + i)) : exp_16(x);
        if (active != LANE_ALL) { // a masked store would not be forwarded to the next load
            x = _mm512_mask_blend_ps((__mmask16)(active >> i), _mm512_load_ps(pd + i), x);
        }
        _mm512_store_ps(pd + i, x);
    }
}

static void exp_single(char *regs, const lg_insn *insn, uint32_t active) {
    exp_lanes(regs, insn, active, false, false);
}

static void exp_of_sub(char *regs, const lg_insn *insn, uint32_t active) {
    exp_lanes(regs, insn, active, true, false);
}

static void exp_plus(char *regs, const lg_insn *insn, uint32_t active) {
    exp_lanes(regs, insn, active, false, true);
}

static void exp_of_sub_plus(char *regs, const lg_insn *insn, uint32_t active) {
    exp_lanes(regs, insn, active, true, true);
}

#else

// fma.rm(t, 252, 12582913) - 12582913 for 0 <= t <= 1: there a float has no fraction, so rounding
// down is the floor of the exact product.
LANE_INLINE float floor_252(float t) {
#ifdef __FMA__
    float n = f32_integral(t * 252.0f, ROUND_RM);
    return __builtin_fmaf(t, 252.0f, -n) < 0 ? n - 1.0f : n; // the product was rounded up to n
#else
    return (float)f64_integral((double)t * 252.0, ROUND_RM);
#endif
}

// d, and n to *n.
LANE_INLINE float exp_split(float x, float *n) {
    float t = f32_sat(f32_fma(x, EXP_SCALE, 0.5f, ROUND_RN));
    *n = floor_252(t) - 126.0f;
    return f32_fma(x, EXP_LOW, f32_fma(x, EXP_HIGH, -*n, ROUND_RN), ROUND_RN);
}

LANE_INLINE float exp_of(float x) {
    float n, d = exp_split(x, &n);
    return exp2_and(d, n);
}

LANE_INLINE float exp_plus_of(float x, float c) {
    float n, d = exp_split(x, &n);
    float scale = f32_from((u32)((s32)n + 127) << 23);
    return f32_canon(f32_fma(f32_flush(exp2_of(d)), scale, c, ROUND_RN));
}

LANE_FN1(exp_single, f32, f32, exp_of(a))
LANE_FN2(exp_of_sub, f32, f32, f32, exp_of(a - b))
LANE_FN3(exp_of_sub_plus, f32, f32, f32, f32, exp_plus_of(a - b, c))
LANE_FN2(exp_plus, f32, f32, f32, exp_plus_of(a, b))

#endif

// The shift is a constant: the same in all lanes.
LANE_INLINE void index_lanes(char *regs, const lg_insn *insn, uint32_t active, bool kept) {
    const u64 *pa = lane_in(regs, insn->src[0]);
    const u64 *pb = lane_in(regs, insn->src[1]);
    const u64 *pc = lane_in(regs, insn->src[2]);
    const u32 shift = *(const u32 *)lane_in(regs, insn->src[3]);
    u64 sums[LG_LANES], offsets[LG_LANES];
    u64 *to = lane_out(regs, insn->dst[0]), *offset_to = lane_out(regs, insn->dst[1]);
    u64 *sum = active == LANE_ALL ? to : sums;
    u64 *offset = active == LANE_ALL ? offset_to : offsets;
    LANE_LOOP(LG_LANES) {
        const u64 shifted = (pa[i] + pb[i]) << shift;
        sum[i] = pc[i] + shifted;
        if (kept) {
            offset[i] = shifted;
        }
    }
    if (__builtin_expect(active != LANE_ALL, 0)) {
        lane_blend(to, sums, active, sizeof(u64));
        if (kept) {
            lane_blend(offset_to, offsets, active, sizeof(u64));
        }
    }
}

static void index_only(char *regs, const lg_insn *insn, uint32_t active) {
    index_lanes(regs, insn, active, false);
}

static void index_kept(char *regs, const lg_insn *insn, uint32_t active) {
    index_lanes(regs, insn, active, true);
}

lg_lane_fn *LG_ISA_NAME(lg_lane_fused)(lg_fused_kind kind) {
    switch (kind) {
    case LG_FUSED_EXP:
        return exp_single;
    case LG_FUSED_EXP_OF_SUB:
        return exp_of_sub;
    case LG_FUSED_EXP_PLUS:
        return exp_plus;
    case LG_FUSED_EXP_OF_SUB_PLUS:
        return exp_of_sub_plus;
    case LG_FUSED_INDEX:
        return index_only;
    case LG_FUSED_INDEX_KEPT:
        return index_kept;
    case LG_N_FUSED:
        break;
    }
    return NULL;
}
