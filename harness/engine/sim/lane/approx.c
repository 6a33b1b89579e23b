// SPDX-License-Identifier: Apache-2.0
// The .approx and .full functions. The hardware's bits are its own; PTX bounds the error, and
// beside each function stands PTX's bound and what the tests measure here. No fused multiply-add is
// used, so that every instruction set gives the same bits.
#include "engine/sim/lane/exp2.h"
#include "engine/sim/lane/half.h"

// Polynomials below: minimax fits, by Remez exchange in 200-bit arithmetic.

// log2(x), subnormal x included. PTX: absolute 2^-22 for 1/2 < x < 2, relative 2^-22 elsewhere;
// here 2^-23.6 of both. x = m 2^e with m in [sqrt(1/2), sqrt(2)); log2(m) = t p(t), t = m - 1.
LANE_INLINE float log2_of(float x) {
    u32 u = f32_bits(x);
    bool tiny = (u & 0x7f800000u) == 0;
    u = tiny ? f32_bits(x * 0x1p23f) : u;
    // Bits of sqrt(1/2): subtracting them leaves the exponent relative to that in the upper bits.
    u32 shifted = u - 0x3f3504f3u;
    s32 e = (s32)shifted >> 23;
    float t = f32_from((shifted & 0x7fffffu) + 0x3f3504f3u) - 1.0f;
    float p = -0x1.cebe90p-4f;
    p = p * t + 0x1.80ab32p-3f;
    p = p * t + -0x1.865fecp-3f;
    p = p * t + 0x1.a265f6p-3f;
    p = p * t + -0x1.eac696p-3f;
    p = p * t + 0x1.2782e6p-2f;
    p = p * t + -0x1.715a68p-2f;
    p = p * t + 0x1.ec7080p-2f;
    p = p * t + -0x1.715470p-1f;
    p = p * t + 0x1.715476p+0f;
    float r = t * p + (float)(tiny ? e - 23 : e);
    r = x == 0 ? -INFINITY : r;
    r = x == INFINITY ? x : r;
    return x >= 0 ? r : F32_NAN;
}

// sin and cos, as doubles. PTX: absolute 2^-20.5 within [-2 pi, 2 pi] and 2^-14.7 within 100 pi;
// here it is the rounding to float up to about 10^6, and a value within [-1, 1] beyond that. x = n
// pi/2 + r; pi/2 in three parts, of which the first two times n are exact.
LANE_INLINE float sin_shifted(float value, double quarter) {
    double x = value;
    double n = f64_integral(x * 0x1.45f306dc9c883p-1, ROUND_RN);
    double r = x - n * 0x1.921fb544p+0;
    r = r - n * 0x1.0b4611a6p-34;
    r = r - n * 0x1.3198a2e037073p-69;
    r = r > 0.8 ? 0.8 : r;
    r = r < -0.8 ? -0.8 : r;
    n = n + quarter;
    double quadrant = n - 4.0 * f64_integral(n * 0.25, ROUND_RM);
    double z = r * r;
    double s = -0x1.aa12eeb7b9726p-26;
    s = s * z + 0x1.71d97b51c58f5p-19;
    s = s * z + -0x1.a019fd5d0a4c2p-13;
    s = s * z + 0x1.1111110fba0ebp-7;
    s = s * z + -0x1.5555555555105p-3;
    s = s * z * r + r;
    double c = 0x1.1bf7923c15b3ep-29;
    c = c * z + -0x1.27e0cc416dfbep-22;
    c = c * z + 0x1.a019fc2b777ccp-16;
    c = c * z + -0x1.6c16c168df6e4p-10;
    c = c * z + 0x1.5555555553f25p-5;
    c = c * z + -0x1.ffffffffffffap-2;
    c = c * z + 1.0;
    bool odd = quadrant == 1.0 || quadrant == 3.0;
    double y = odd ? c : s;
    float f = (float)(quadrant >= 2.0 ? -y : y);
    f = quarter == 0 && value == 0 ? value : f; // sin(-0) = -0
    return f32_abs(value) < INFINITY ? f : F32_NAN;
}

// tanh. PTX: relative 2^-11; here 2^-22.5. Below 5/8 an odd polynomial, beyond 1 - 2/(e^2x + 1).
LANE_INLINE float tanh_of(float x) {
    float mag = f32_abs(x);
    float z = mag * mag;
    float p = 0x1.2d53b0p-9f;
    p = p * z + -0x1.119cf2p-7f;
    p = p * z + 0x1.64b22cp-6f;
    p = p * z + -0x1.ba0960p-5f;
    p = p * z + 0x1.1110ecp-3f;
    p = p * z + -0x1.555556p-2f;
    float near = mag * (p * z) + mag;
    float e = exp2_of(mag * 0x1.715476p+1f);
    float far = 1.0f - 2.0f / (e + 1.0f);
    float r = mag < 0.625f ? near : far;
    r = f32_from(f32_bits(r) | (f32_bits(x) & 0x80000000u));
    return f32_canon(r);
}

// 1/sqrt(x). PTX: relative 2^-22.9; here 1.5 roundings, 2^-23.4.
LANE_INLINE float rsqrt_of(float x) {
    return f32_canon(1.0f / __builtin_sqrtf(x));
}

// a/b. PTX .approx: 2 ulp for 2^-126 <= |b| <= 2^126; beyond, a times zero. .full: 2 ulp. Here
// rounded to nearest within those ranges.
LANE_INLINE float div_approx(float a, float b) {
    float zero = f32_from(f32_bits(b) & 0x80000000u);
    bool large = f32_abs(b) > 0x1p126f && f32_abs(b) < INFINITY;
    return f32_canon(large ? a * zero : a / b);
}

#define FLUSHED(x) f32_flush(x)
#define UNARY(name, value_of)                                                                      \
    LANE_FN1(name##_0, f32, f32, value_of(a))                                                      \
    LANE_FN1(name##_1, f32, f32, f32_flush(value_of(f32_flush(a))))
#define RCP_OF(x) f32_canon(1.0f / (x))
#define SQRT_OF(x) f32_canon(__builtin_sqrtf(x))
#define SIN_OF(x) sin_shifted(x, 0)
#define COS_OF(x) sin_shifted(x, 1)
UNARY(ex2, exp2_of)
UNARY(lg2, log2_of)
UNARY(sin, SIN_OF)
UNARY(cos, COS_OF)
UNARY(rsqrt, rsqrt_of)
UNARY(rcp, RCP_OF)   // PTX: 1 ulp; here rounded to nearest
UNARY(sqrt, SQRT_OF) // PTX: relative 2^-23; here rounded to nearest
LANE_FN1(tanh_0, f32, f32, tanh_of(a))

LANE_FN2(div_approx_0, f32, f32, f32, div_approx(a, b))
LANE_FN2(div_approx_1, f32, f32, f32, f32_flush(div_approx(f32_flush(a), f32_flush(b))))
LANE_FN2(div_full_0, f32, f32, f32, f32_canon(a / b))
LANE_FN2(div_full_1, f32, f32, f32, f32_flush(f32_canon(f32_flush(a) / f32_flush(b))))

// The halves round a float result once more. PTX: ex2.f16 relative 2^-9.9, ex2.bf16 2^-7, tanh.f16
// absolute 2^-10.987, tanh.bf16 2^-8.
#define HALVES(T, H, n)                                                                            \
    HALF_FN(ex2_##T, H, n, 1, 0, exp2_of(a))                                                       \
    HALF_FN(tanh_##T, H, n, 1, 0, tanh_of(a))
HALVES(f16, f16, 32)
HALVES(f16x2, f16, 64)
HALF_FN(tanh_bf16, bf16, 32, 1, 0, tanh_of(a))
HALF_FN(tanh_bf16x2, bf16, 64, 1, 0, tanh_of(a))
// A bf16 is subnormal exactly where it is as a float, and 2^x rounds to no subnormal after
// flushing.
HALF_FN(ex2_bf16, bf16, 32, 1, 0, f32_flush(exp2_of(f32_flush(a))))
HALF_FN(ex2_bf16x2, bf16, 64, 1, 0, f32_flush(exp2_of(f32_flush(a))))

// f64: rsqrt.approx is emulated in full precision by the hardware's code; the two .approx.ftz read
// and write the upper 32 bits alone ("gross approximations" that start an iteration).
LANE_INLINE double f64_upper(double x) {
    u64 u = f64_bits(x) & 0xffffffff00000000u;
    bool subnormal = (u & 0x7ff0000000000000u) == 0;
    return f64_from(subnormal ? u & 0x8000000000000000u : u);
}
LANE_INLINE double f64_canon(double x) {
    return x == x ? x : f64_from(0x7fffffff00000000u);
}
LANE_INLINE double rsqrt_f64(double x) {
    return 1.0 / __builtin_sqrt(x);
}
LANE_FN1(rcp_gross, f64, f64, f64_canon(f64_upper(1.0 / f64_upper(a))))
LANE_FN1(rsqrt_gross, f64, f64, f64_canon(f64_upper(rsqrt_f64(f64_upper(a)))))
LANE_FN1(rsqrt_double, f64, f64, rsqrt_f64(a))

static lg_lane_fn *select_f32(lg_ptx_op op, const lg_ptx_mods *m) {
    static lg_lane_fn *const ex2[2] = {ex2_0, ex2_1}, *const lg2[2] = {lg2_0, lg2_1};
    static lg_lane_fn *const sine[2] = {sin_0, sin_1}, *const cosine[2] = {cos_0, cos_1};
    static lg_lane_fn *const rsqrt[2] = {rsqrt_0, rsqrt_1}, *const rcp[2] = {rcp_0, rcp_1};
    static lg_lane_fn *const root[2] = {sqrt_0, sqrt_1};
    return op == LG_OP_EX2               ? ex2[m->ftz]
           : op == LG_OP_LG2             ? lg2[m->ftz]
           : op == LG_OP_SIN             ? sine[m->ftz]
           : op == LG_OP_COS             ? cosine[m->ftz]
           : op == LG_OP_RSQRT           ? rsqrt[m->ftz]
           : op == LG_OP_RCP             ? rcp[m->ftz]
           : op == LG_OP_SQRT            ? root[m->ftz]
           : op == LG_OP_TANH && !m->ftz ? tanh_0
                                         : NULL;
}

static lg_lane_fn *select_half(lg_ptx_op op, lg_ptx_type type, bool ftz) {
    if (op == LG_OP_TANH && !ftz) {
        return type == LG_PTX_F16      ? tanh_f16
               : type == LG_PTX_F16X2  ? tanh_f16x2
               : type == LG_PTX_BF16   ? tanh_bf16
               : type == LG_PTX_BF16X2 ? tanh_bf16x2
                                       : NULL;
    }
    if (op != LG_OP_EX2) {
        return NULL;
    }
    return type == LG_PTX_F16 && !ftz     ? ex2_f16
           : type == LG_PTX_F16X2 && !ftz ? ex2_f16x2
           : type == LG_PTX_BF16 && ftz   ? ex2_bf16
           : type == LG_PTX_BF16X2 && ftz ? ex2_bf16x2
                                          : NULL;
}

lg_lane_fn *LG_ISA_NAME(lg_lane_select_approx)(const lg_lane_form *f) {
    static lg_lane_fn *const quotient[2][2] = {{div_approx_0, div_approx_1},
                                               {div_full_0, div_full_1}};
    const lg_ptx_insn *insn = f->insn;
    const lg_ptx_mods *m = &insn->mods;
    if (insn->n_types != 1 || m->approx == m->full) {
        return NULL;
    }
    if (insn->op == LG_OP_DIV) {
        return insn->types[0] == LG_PTX_F32 && lane_shape(f, MOD_APPROX | MOD_FULL | MOD_FTZ, 1, 2)
                   ? quotient[m->full][m->ftz]
                   : NULL;
    }
    if (!lane_shape(f, MOD_APPROX | MOD_FTZ, 1, 1)) {
        return NULL;
    }
    if (insn->types[0] == LG_PTX_F32) {
        return select_f32(insn->op, m);
    }
    if (insn->types[0] == LG_PTX_F64) {
        return insn->op == LG_OP_RCP     ? (m->ftz ? rcp_gross : NULL)
               : insn->op == LG_OP_RSQRT ? (m->ftz ? rsqrt_gross : rsqrt_double)
                                         : NULL;
    }
    return select_half(insn->op, insn->types[0], m->ftz);
}
