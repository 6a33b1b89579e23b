// SPDX-License-Identifier: Apache-2.0
// f32 operations on 32 lanes in a directed rounding mode. AVX-512 instructions name their mode;
// with AVX2 the machine's mode is switched around vector instructions; elsewhere a wider format is
// rounded (lane_float.h). nvcc's expf has an fma.rm, so these are not as rare as they look.
#ifndef LG_ENGINE_SIM_LANE_ROUND_H
#define LG_ENGINE_SIM_LANE_ROUND_H

#include "engine/sim/lane/float.h"

#include <immintrin.h>

#if defined(__AVX512F__)

#define LANE_ROUNDED(name, mode, wide, narrow)                                                     \
    LANE_INLINE void rounded_##name##_##mode(float *r, const float *pa, const float *pb,           \
                                             const float *pc) {                                    \
        enum { R = LANE_MODE_##mode | _MM_FROUND_NO_EXC };                                         \
        for (int i = 0; i < LG_LANES; i += 16) {                                                   \
            __m512 a = _mm512_load_ps(pa + i), b = _mm512_load_ps(pb + i);                         \
            __m512 c = _mm512_load_ps(pc + i);                                                     \
            (void)b;                                                                               \
            (void)c;                                                                               \
            _mm512_store_ps(r + i, wide);                                                          \
        }                                                                                          \
    }
#define LANE_MODE_ROUND_RZ _MM_FROUND_TO_ZERO
#define LANE_MODE_ROUND_RM _MM_FROUND_TO_NEG_INF
#define LANE_MODE_ROUND_RP _MM_FROUND_TO_POS_INF

#elif defined(__AVX2__)

// The empty statements keep the operations between the two switches: the compiler does not know
// that they depend on the mode, but it keeps the order of volatile statements.
#define LANE_ROUNDED(name, mode, wide, narrow)                                                     \
    LANE_INLINE void rounded_##name##_##mode(float *r, const float *pa, const float *pb,           \
                                             const float *pc) {                                    \
        const unsigned saved = _mm_getcsr();                                                       \
        _mm_setcsr((saved & ~0x6000u) | LANE_MODE_##mode);                                         \
        for (int i = 0; i < LG_LANES; i += 8) {                                                    \
            __m256 a = _mm256_load_ps(pa + i), b = _mm256_load_ps(pb + i);                         \
            __m256 c = _mm256_load_ps(pc + i);                                                     \
            __asm__ volatile("" : "+x"(a), "+x"(b), "+x"(c));                                      \
            __m256 x = narrow;                                                                     \
            __asm__ volatile("" : "+x"(x));                                                        \
            _mm256_store_ps(r + i, x);                                                             \
        }                                                                                          \
        _mm_setcsr(saved);                                                                         \
    }
#define LANE_MODE_ROUND_RZ 0x6000u
#define LANE_MODE_ROUND_RM 0x2000u
#define LANE_MODE_ROUND_RP 0x4000u

#endif

#ifdef LANE_ROUNDED
#define LANE_ROUNDED_MODE(mode)                                                                    \
    LANE_ROUNDED(add, mode, _mm512_add_round_ps(a, b, R), _mm256_add_ps(a, b))                     \
    LANE_ROUNDED(mul, mode, _mm512_mul_round_ps(a, b, R), _mm256_mul_ps(a, b))                     \
    LANE_ROUNDED(fma, mode, _mm512_fmadd_round_ps(a, b, c, R), _mm256_fmadd_ps(a, b, c))           \
    LANE_ROUNDED(div, mode, _mm512_div_round_ps(a, b, R), _mm256_div_ps(a, b))                     \
    LANE_ROUNDED(rcp, mode, _mm512_div_round_ps(_mm512_set1_ps(1.0f), a, R),                       \
                 _mm256_div_ps(_mm256_set1_ps(1.0f), a))                                           \
    LANE_ROUNDED(sqrt, mode, _mm512_sqrt_round_ps(a, R), _mm256_sqrt_ps(a))
#else
#define LANE_ROUNDED(name, mode, value)                                                            \
    LANE_INLINE void rounded_##name##_##mode(float *r, const float *pa, const float *pb,           \
                                             const float *pc) {                                    \
        LANE_LOOP(LG_LANES) {                                                                      \
            const float a = pa[i], b = pb[i], c = pc[i];                                           \
            (void)b;                                                                               \
            (void)c;                                                                               \
            r[i] = value;                                                                          \
        }                                                                                          \
    }
#define LANE_ROUNDED_MODE(mode)                                                                    \
    LANE_ROUNDED(add, mode, f32_add(a, b, mode))                                                   \
    LANE_ROUNDED(mul, mode, f32_mul(a, b, mode))                                                   \
    LANE_ROUNDED(fma, mode, f32_fma(a, b, c, mode))                                                \
    LANE_ROUNDED(div, mode, f32_div(a, b, mode))                                                   \
    LANE_ROUNDED(rcp, mode, f32_div(1.0f, a, mode))                                                \
    LANE_ROUNDED(sqrt, mode, f32_sqrt(a, mode))
#endif

LANE_ROUNDED_MODE(ROUND_RZ)
LANE_ROUNDED_MODE(ROUND_RM)
LANE_ROUNDED_MODE(ROUND_RP)

// A lane function around one of these: prepare(x) on the sources, finish(x) on the result; `sign`
// is + or -, for the second source.
#define LANE_ROUNDED_FN(name, op, mode, n_src, sign, prepare, finish)                              \
    static void name(char *regs, const lg_insn *insn, uint32_t active) {                           \
        float x[3][LG_LANES] __attribute__((aligned(64)));                                         \
        float r[LG_LANES] __attribute__((aligned(64)));                                            \
        for (int s = 0; s < n_src; s++) {                                                          \
            const f32 *from = lane_in(regs, insn->src[s]);                                         \
            LANE_LOOP(LG_LANES) {                                                                  \
                x[s][i] = s == 1 ? sign prepare(from[i]) : prepare(from[i]);                       \
            }                                                                                      \
        }                                                                                          \
        rounded_##op##_##mode(r, x[0], x[n_src > 1 ? 1 : 0], x[n_src > 2 ? 2 : 0]);                \
        f32 tmp[LG_LANES];                                                                         \
        f32 *pd = lane_out(regs, insn->dst[0]);                                                    \
        f32 *out = active == LANE_ALL ? pd : tmp;                                                  \
        LANE_LOOP(LG_LANES) {                                                                      \
            out[i] = finish(r[i]);                                                                 \
        }                                                                                          \
        if (__builtin_expect(active != LANE_ALL, 0)) {                                             \
            lane_blend(pd, tmp, active, sizeof(f32));                                              \
        }                                                                                          \
    }

#endif
