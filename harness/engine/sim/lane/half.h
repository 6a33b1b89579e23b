// SPDX-License-Identifier: Apache-2.0
// f16 and bf16 against float, one lane at a time, as integer and float operations that any vector
// instruction set has. A NaN becomes 0x7fff, which PTX calls canonical for both.
#ifndef LG_ENGINE_SIM_LANE_HALF_H
#define LG_ENGINE_SIM_LANE_HALF_H

#include "engine/sim/lane/float.h"

#ifdef __F16C__
#include <immintrin.h>
#endif

LANE_INLINE float f16_value(u16 h) {
    u32 em = h & 0x7fffu;
    // Rebias the exponent by 112, twice for infinity and NaN; a subnormal is a multiple of 2^-24.
    u32 rebiased = (em << 13) + (em >= 0x7c00u ? 0x70000000u : 0x38000000u);
    float subnormal = (float)(s32)em * 0x1p-24f;
    u32 u = em < 0x0400u ? f32_bits(subnormal) : rebiased;
    return f32_from(u | (h & 0x8000u) << 16);
}

LANE_INLINE float bf16_value(u16 h) {
    return f32_from((u32)h << 16);
}

// Round to nearest even. Below 2^-14, adding 0.5 rounds to a multiple of 2^-24 in its last place.
LANE_INLINE u16 f16_of(float x) {
    u32 u = f32_bits(x);
    u32 mag = u & 0x7fffffffu;
    u32 normal = (mag + 0xfffu + ((mag >> 13) & 1) - 0x38000000u) >> 13;
    u32 subnormal = f32_bits(f32_from(mag) + 0.5f) - 0x3f000000u;
    u32 r = mag < 0x38800000u ? subnormal : normal;
    r = mag >= 0x47800000u ? 0x7c00u : r;
    r |= (u >> 16) & 0x8000u;
    return (u16)(mag > 0x7f800000u ? 0x7fffu : r);
}

LANE_INLINE u16 bf16_of(float x) {
    u32 u = f32_bits(x);
    u32 r = (u + 0x7fffu + ((u >> 16) & 1)) >> 16;
    return (u16)((u & 0x7fffffffu) > 0x7f800000u ? 0x7fffu : r);
}

LANE_INLINE u16 f16_round(double x, int mode) {
    return (u16)f64_round_to(x, 10, 15, mode);
}

LANE_INLINE u16 bf16_round(double x, int mode) {
    return (u16)f64_round_to(x, 7, 127, mode);
}

// With conversion instructions these are a few instructions, without them a long loop.
#ifdef __F16C__
#define LANE_HALF_CALL LANE_INLINE
#else
#define LANE_HALF_CALL static __attribute__((noinline, unused))
#endif

LANE_HALF_CALL void load_f16(float *to, const u16 *from, int n) {
#if defined(__AVX512F__)
    for (int i = 0; i < n; i += 16) {
        __m256i h = _mm256_loadu_si256((const __m256i *)(const void *)(from + i));
        _mm512_storeu_ps(to + i, _mm512_cvtph_ps(h));
    }
#elif defined(__F16C__)
    for (int i = 0; i < n; i += 8) {
        __m128i h = _mm_loadu_si128((const __m128i *)(const void *)(from + i));
        _mm256_storeu_ps(to + i, _mm256_cvtph_ps(h));
    }
#else
    LANE_LOOP(n) {
        to[i] = f16_value(from[i]);
    }
#endif
}

// The conversion keeps a NaN's upper payload bits, so the canonical f32 NaN becomes 0x7fff.
LANE_HALF_CALL void store_f16(u16 *to, const f32 *from, int n) {
#if defined(__AVX512F__)
    // One store of 64 bytes, because a load as wide follows: two halves would not be forwarded to
    // it.
    for (int i = 0; i < n; i += 32) {
        __m256i h[2];
        for (int k = 0; k < 2; k++) {
            __m512 x = _mm512_loadu_ps(from + i + 16 * k);
            __mmask16 number = _mm512_cmp_ps_mask(x, x, _CMP_ORD_Q);
            x = _mm512_mask_blend_ps(number, _mm512_set1_ps(F32_NAN), x);
            h[k] = _mm512_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT);
        }
        __m512i both = _mm512_inserti64x4(_mm512_castsi256_si512(h[0]), h[1], 1);
        _mm512_storeu_si512(to + i, both);
    }
#elif defined(__F16C__)
    for (int i = 0; i < n; i += 8) {
        __m256 x = _mm256_loadu_ps(from + i);
        __m256 number = _mm256_cmp_ps(x, x, _CMP_ORD_Q);
        x = _mm256_blendv_ps(_mm256_set1_ps(F32_NAN), x, number);
        __m128i h = _mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT);
        _mm_storeu_si128((__m128i *)(void *)(to + i), h);
    }
#else
    LANE_LOOP(n) {
        to[i] = f16_of(from[i]);
    }
#endif
}

LANE_INLINE void load_bf16(float *to, const u16 *from, int n) {
    LANE_LOOP(n) {
        to[i] = bf16_value(from[i]);
    }
}

LANE_INLINE void store_bf16(u16 *to, const f32 *from, int n) {
    LANE_LOOP(n) {
        to[i] = bf16_of(from[i]);
    }
}

// .ftz on f16: below 2^-14 in magnitude. Results are flushed as they are stored, after rounding.
LANE_INLINE float input_0(float x) {
    return x;
}
LANE_INLINE float input_1(float x) {
    u32 u = f32_bits(x);
    return f32_from((u & 0x7fffffffu) < 0x38800000u ? u & 0x80000000u : u);
}
LANE_INLINE void flush_stored_f16(u16 *h, int n) {
    LANE_LOOP(n) {
        h[i] = (u16)((h[i] & 0x7c00u) == 0 ? h[i] & 0x8000u : h[i]);
    }
}

// A packed register is 64 halves in a row, so the same code runs over n = 32 or 64 of them.
#define HALF_FN(name, H, n, n_src, ftz, value)                                                     \
    static void name(char *regs, const lg_insn *insn, uint32_t active) {                           \
        float x[3][n] __attribute__((aligned(64))), r[n] __attribute__((aligned(64)));             \
        for (int s = 0; s < n_src; s++) {                                                          \
            load_##H(x[s], lane_in(regs, insn->src[s]), n);                                        \
        }                                                                                          \
        LANE_LOOP(n) {                                                                             \
            const float a = input_##ftz(x[0][i]);                                                  \
            const float b = input_##ftz(x[n_src > 1 ? 1 : 0][i]);                                  \
            const float c = input_##ftz(x[n_src > 2 ? 2 : 0][i]);                                  \
            r[i] = (value);                                                                        \
            (void)b;                                                                               \
            (void)c;                                                                               \
        }                                                                                          \
        u16 tmp[n] __attribute__((aligned(64)));                                                   \
        store_##H(tmp, r, n);                                                                      \
        if (ftz) {                                                                                 \
            flush_stored_f16(tmp, n);                                                              \
        }                                                                                          \
        lane_finish(regs, insn, active, tmp, sizeof tmp / LG_LANES);                               \
    }

#endif
