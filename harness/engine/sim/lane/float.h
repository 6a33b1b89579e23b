// SPDX-License-Identifier: Apache-2.0
// Floating point, one lane at a time, in forms the compiler can turn into vector code.
//
// Rounding other than to nearest comes from *rounding to odd*: compute the exact result in a wider
// format, truncated, with the last bit set when anything was lost. Such a value still lies on the
// right side of every number and every midpoint of a format at least two bits narrower, so rounding
// it once more, in any mode, gives what rounding the exact result would (Boldo and Melquiond,
// "Emulation of FMA and correctly rounded sums: proved algorithms using rounding to odd", IEEE TC
// 57(4), 2008).
#ifndef LG_ENGINE_SIM_LANE_FLOAT_H
#define LG_ENGINE_SIM_LANE_FLOAT_H

#include "engine/sim/lane/impl.h"

#include <math.h>

// As lane_round_index numbers them.
enum { ROUND_RN, ROUND_RZ, ROUND_RM, ROUND_RP };

LANE_INLINE u32 f32_bits(float x) {
    u32 u;
    memcpy(&u, &x, sizeof u);
    return u;
}

LANE_INLINE float f32_from(u32 u) {
    float x;
    memcpy(&x, &u, sizeof x);
    return x;
}

LANE_INLINE u64 f64_bits(double x) {
    u64 u;
    memcpy(&u, &x, sizeof u);
    return u;
}

LANE_INLINE double f64_from(u64 u) {
    double x;
    memcpy(&x, &u, sizeof x);
    return x;
}

// PTX: NaN results of f32 arithmetic are the quiet NaN 0x7fffffff, without payload.
#define F32_NAN f32_from(0x7fffffffu)

LANE_INLINE float f32_canon(float x) {
    return x == x ? x : F32_NAN;
}

// .ftz: subnormal inputs and results become zeros of the same sign.
LANE_INLINE float f32_flush(float x) {
    u32 u = f32_bits(x);
    return f32_from((u & 0x7f800000u) == 0 ? u & 0x80000000u : u);
}

// .sat: clamp to [0, 1]; NaN becomes +0, and so does -0.
LANE_INLINE float f32_sat(float x) {
    float low = x > 0.0f ? x : 0.0f;
    return low < 1.0f ? low : 1.0f;
}

LANE_INLINE double f64_sat(double x) {
    double low = x > 0.0 ? x : 0.0;
    return low < 1.0 ? low : 1.0;
}

// s, the sum rounded to nearest, and err, what that lost exactly: the sum rounded to odd.
LANE_INLINE double f64_make_odd(double s, double err) {
    u64 u = f64_bits(s);
    u64 finite = (u & 0x7ff0000000000000u) != 0x7ff0000000000000u ? 1 : 0;
    u64 lost =
        err != 0 ? finite & ~u & 1 : 0; // the NaN that an infinite s leaves in err is not finite
    u64 inward = (f64_bits(err) ^ u) >> 63; // of opposite signs: the sum lies nearer to zero than s
    return f64_from(u + lost - (inward != 0 ? lost + lost : 0));
}

LANE_INLINE float f32_make_odd(float s, float err) {
    u32 u = f32_bits(s);
    u32 finite = (u & 0x7f800000u) != 0x7f800000u ? 1 : 0;
    u32 lost = err != 0 ? finite & ~u & 1 : 0;
    u32 inward = (f32_bits(err) ^ u) >> 31;
    return f32_from(u + lost - (inward != 0 ? lost + lost : 0));
}

// Knuth's exact error of a sum (no overflow among the values used here).
LANE_INLINE double f64_sum_odd(double a, double b) {
    double s = a + b;
    double bb = s - a;
    double err = (a - (s - bb)) + (b - bb);
    return f64_make_odd(s, err);
}

LANE_INLINE float f32_sum_odd(float a, float b) {
    float s = a + b;
    float bb = s - a;
    float err = (a - (s - bb)) + (b - bb);
    return f32_make_odd(s, err);
}

// A double as a float rounded to odd.
LANE_INLINE float f32_odd_of_f64(double x) {
    float f = (float)x;
    u32 u = f32_bits(f);
    double err = x - (double)f;
    bool finite = (u & 0x7f800000u) != 0x7f800000u;
    bool lost = err < 0 || err > 0;
    bool away = (err > 0) == (x > 0);
    // A result that rounded to zero has no neighbour below it in magnitude.
    return f32_from(lost && finite && !(u & 1) ? (away ? u + 1 : u - 1) : u);
}

// x rounded once to the format with `mantissa` stored bits and exponent bias `bias` (f32: 23, 127;
// f16: 10, 15; bf16: 7, 127), as its bits. An infinity stays one; NaN becomes 0x7fff… of the
// format.
LANE_INLINE u64 f64_round_to(double x, int mantissa, int bias, int mode) {
    const u64 f64_infinity = 0x7ff0000000000000u;
    const u64 infinity = (u64)(2 * bias + 1) << mantissa;
    const int sign_at = mantissa + (bias == 15 ? 5 : 8);
    u64 u = f64_bits(x);
    u64 negative = u >> 63;
    u64 mag = u & 0x7fffffffffffffffu;
    // NaN and infinity are looked after below; as numbers they are above every target's range.
    u64 field = mag >> 52;
    // A subnormal double is far below half of every target's least value: the bit that it does not
    // have makes no difference, but zero must stay zero.
    u64 m = (mag & 0xfffffffffffffu) | (field < 1 ? field : 1) << 52;
    const s64 least = 1024 - bias; // the exponent field of the target's least normal number
    s64 above = (s64)field - least;
    s64 normal = above > 0 ? above : 0;
    u64 shift = (u64)(normal - above + 52 - mantissa);
    shift = shift < 60 ? shift : 60;
    u64 kept = m >> shift;
    u64 lost = m - (kept << shift);
    u64 unit = 1ull << shift;
    // Away from zero goes what is lost when the sign asks for it; to nearest, more than half, or
    // half when the last bit kept is odd.
    u64 outward = mode == ROUND_RM ? negative : mode == ROUND_RP ? negative ^ 1 : 0;
    u64 up =
        mode == ROUND_RN ? (lost + lost + (kept & 1) > unit ? 1 : 0) : (lost > 0 ? outward : 0);
    // The implicit bit adds one to the exponent field, so a carry out of the fraction is right too.
    u64 r = kept + up + ((u64)normal << mantissa);
    u64 most = mode == ROUND_RN ? infinity : infinity - 1 + outward;
    most = mag == f64_infinity ? infinity : most;
    r = r < most ? r : most;
    r |= negative << sign_at;
    return mag > f64_infinity ? (1ull << sign_at) - 1 : r;
}

LANE_INLINE float f32_round(double x, int mode) {
    return mode == ROUND_RN ? (float)x : f32_from((u32)f64_round_to(x, 23, 127, mode));
}

// The sum of exact doubles a and b in a rounding mode of f32. IEEE: an exact zero sum of operands
// of different sign is -0 in round-down and +0 otherwise.
LANE_INLINE float f32_sum_round(double a, double b, int mode) {
    float r = f32_round(f64_sum_odd(a, b), mode);
    bool cancelled = a + b == 0 && (f64_bits(a) >> 63) != (f64_bits(b) >> 63);
    return mode == ROUND_RM && cancelled ? -0.0f : r;
}

LANE_INLINE float f32_add(float a, float b, int mode) {
    return mode == ROUND_RN ? a + b : f32_sum_round(a, b, mode);
}

// The product of two floats is exact as a double.
LANE_INLINE float f32_mul(float a, float b, int mode) {
    return mode == ROUND_RN ? a * b : f32_round((double)a * (double)b, mode);
}

LANE_INLINE float f32_fma(float a, float b, float c, int mode) {
#ifdef __FMA__
    if (mode == ROUND_RN) {
        return __builtin_fmaf(a, b, c);
    }
#endif
    return f32_sum_round((double)a * (double)b, c, mode);
}

// For directed modes a quotient or root rounded to double is good enough: where it is not a float f
// itself, a/b differs from f by at least 2^-48 of it (a - f*b is a nonzero multiple of the product
// of their last places, and f*b has 48 bits), and sqrt(a) by 2^-49, so the double lies on the right
// side.
LANE_INLINE float f32_div(float a, float b, int mode) {
    return mode == ROUND_RN ? a / b : f32_round((double)a / (double)b, mode);
}

LANE_INLINE float f32_sqrt(float a, int mode) {
    return mode == ROUND_RN ? __builtin_sqrtf(a) : f32_round(__builtin_sqrt((double)a), mode);
}

// x rounded to an integral value, the sign of zero kept. Without SSE4.1 there is no instruction for
// it: adding and subtracting 2^23 (2^52) rounds the magnitude to nearest, and a comparison corrects
// that.
#ifdef __SSE4_1__
LANE_INLINE float f32_integral(float x, int mode) {
    return mode == ROUND_RN   ? __builtin_rintf(x)
           : mode == ROUND_RZ ? __builtin_truncf(x)
           : mode == ROUND_RM ? __builtin_floorf(x)
                              : __builtin_ceilf(x);
}

LANE_INLINE double f64_integral(double x, int mode) {
    return mode == ROUND_RN   ? __builtin_rint(x)
           : mode == ROUND_RZ ? __builtin_trunc(x)
           : mode == ROUND_RM ? __builtin_floor(x)
                              : __builtin_ceil(x);
}
#else
LANE_INLINE float f32_integral(float x, int mode) {
    u32 sign = f32_bits(x) & 0x80000000u;
    float mag = f32_from(f32_bits(x) ^ sign);
    float r = mag + 0x1p23f - 0x1p23f;
    bool away = (mode == ROUND_RM && sign) || (mode == ROUND_RP && !sign);
    r = away && r < mag ? r + 1.0f : r;
    r = mode != ROUND_RN && !away && r > mag ? r - 1.0f : r;
    return mag < 0x1p23f ? f32_from(f32_bits(r) | sign) : x;
}

LANE_INLINE double f64_integral(double x, int mode) {
    u64 sign = f64_bits(x) & 0x8000000000000000u;
    double mag = f64_from(f64_bits(x) ^ sign);
    double r = mag + 0x1p52 - 0x1p52;
    bool away = (mode == ROUND_RM && sign) || (mode == ROUND_RP && !sign);
    r = away && r < mag ? r + 1.0 : r;
    r = mode != ROUND_RN && !away && r > mag ? r - 1.0 : r;
    return mag < 0x1p52 ? f64_from(f64_bits(r) | sign) : x;
}
#endif

// The number of two when only one is, canonical NaN when none is; -0 < +0.
LANE_INLINE float f32_min(float a, float b) {
    float r = a < b ? a : b;
    r = a == b ? f32_from(f32_bits(a) | f32_bits(b)) : r;
    r = b != b ? a : r;
    return f32_canon(r);
}

LANE_INLINE float f32_max(float a, float b) {
    float r = a > b ? a : b;
    r = a == b ? f32_from(f32_bits(a) & f32_bits(b)) : r;
    r = b != b ? a : r;
    return f32_canon(r);
}

// .NaN: NaN when either is.
LANE_INLINE float f32_min_nan(float a, float b) {
    return a != a || b != b ? F32_NAN : f32_min(a, b);
}

LANE_INLINE float f32_max_nan(float a, float b) {
    return a != a || b != b ? F32_NAN : f32_max(a, b);
}

LANE_INLINE float f32_abs(float a) {
    return f32_from(f32_bits(a) & 0x7fffffffu);
}

// .xorsign.abs: the magnitude of min or max of the magnitudes, with the exclusive or of the signs;
// a NaN stays canonical.
LANE_INLINE float f32_xorsign(float magnitude, float a, float b) {
    u32 signs = (f32_bits(a) ^ f32_bits(b)) & 0x80000000u;
    return magnitude == magnitude ? f32_from(f32_bits(magnitude) | signs) : F32_NAN;
}

#endif
