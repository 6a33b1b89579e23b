// SPDX-License-Identifier: Apache-2.0
// Floats of one vector register, for the few functions that the compiler does not make good vector
// code of. The same operations with the same bits for AVX-512 and AVX2; where there is neither,
// VF_LANES is not defined.
#ifndef LG_ENGINE_SIM_LANE_VECTOR_H
#define LG_ENGINE_SIM_LANE_VECTOR_H

#include "engine/sim/lane/float.h"

#include <immintrin.h>

#if defined __AVX512F__

#define VF_LANES 16
typedef __m512 vf;
#define VF(name) _mm512_##name
#define VF_NEAREST (_MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)

LANE_INLINE vf vf_canon(vf x) {
    return _mm512_mask_blend_ps(_mm512_cmp_ps_mask(x, x, _CMP_ORD_Q), _mm512_set1_ps(F32_NAN), x);
}

// x, 0 where it is below `least`; a NaN stays.
LANE_INLINE vf vf_flush_below(vf x, float least) {
    __mmask16 below = _mm512_cmp_ps_mask(x, _mm512_set1_ps(least), _CMP_LT_OQ);
    return _mm512_mask_blend_ps(below, x, _mm512_setzero_ps());
}

// x = n + what is returned, n the nearest whole number. Of an infinity 0 is left.
LANE_INLINE vf vf_split(vf x, vf *n) {
    *n = _mm512_roundscale_ps(x, VF_NEAREST);
    return _mm512_reduce_ps(x, VF_NEAREST);
}

// p 2^n for p within 1/2..2 or NaN and a whole or infinite n, rounded once.
LANE_INLINE vf vf_scale(vf p, vf n) {
    return _mm512_scalef_ps(p, n);
}

// The floor of the exact product a b, both at least 0 and the product below 2^22.
LANE_INLINE vf vf_floor_product(vf a, float b) {
    const vf shift = _mm512_set1_ps(12582912.0f); // 1.5 · 2^23: a float there has no fraction
    vf sum = _mm512_fmadd_round_ps(a, _mm512_set1_ps(b), shift,
                                   _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
    return _mm512_sub_ps(sum, shift);
}

// x in the lanes whose bit of `active` is set, else what is there.
LANE_INLINE void vf_store_some(float *to, vf x, uint32_t active) {
    _mm512_store_ps(to, _mm512_mask_blend_ps((__mmask16)active, _mm512_load_ps(to), x));
}

#elif defined __AVX2__

#define VF_LANES 8
typedef __m256 vf;
#define VF(name) _mm256_##name
#define VF_NEAREST (_MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)

LANE_INLINE vf vf_canon(vf x) {
    return _mm256_blendv_ps(x, _mm256_set1_ps(F32_NAN), _mm256_cmp_ps(x, x, _CMP_UNORD_Q));
}

LANE_INLINE vf vf_flush_below(vf x, float least) {
    return _mm256_andnot_ps(_mm256_cmp_ps(x, _mm256_set1_ps(least), _CMP_LT_OQ), x);
}

LANE_INLINE vf vf_split(vf x, vf *n) {
    // Of two operands the second is taken where one is a NaN. Beyond 300 all is 0 or infinite.
    x = _mm256_min_ps(_mm256_set1_ps(300.0f), _mm256_max_ps(_mm256_set1_ps(-300.0f), x));
    *n = _mm256_round_ps(x, VF_NEAREST);
    return _mm256_sub_ps(x, *n);
}

// In two steps, the first of which is exact.
LANE_INLINE vf vf_scale(vf p, vf n) {
    n = _mm256_min_ps(_mm256_max_ps(n, _mm256_set1_ps(-252.0f)), _mm256_set1_ps(254.0f));
    const __m256i bias = _mm256_set1_epi32(127);
    __m256i whole = _mm256_cvttps_epi32(n);
    __m256i first = _mm256_srai_epi32(whole, 1), second = _mm256_sub_epi32(whole, first);
    first = _mm256_slli_epi32(_mm256_add_epi32(first, bias), 23);
    second = _mm256_slli_epi32(_mm256_add_epi32(second, bias), 23);
    p = _mm256_mul_ps(p, _mm256_castsi256_ps(first));
    return _mm256_mul_ps(p, _mm256_castsi256_ps(second));
}

LANE_INLINE vf vf_floor_product(vf a, float b) {
    const vf factor = _mm256_set1_ps(b);
    vf n = _mm256_floor_ps(_mm256_mul_ps(a, factor));
    vf rest = _mm256_fmsub_ps(a, factor, n); // below 0 where the product was rounded up to n
    vf less = _mm256_cmp_ps(rest, _mm256_setzero_ps(), _CMP_LT_OQ);
    return _mm256_sub_ps(n, _mm256_and_ps(less, _mm256_set1_ps(1.0f)));
}

LANE_INLINE void vf_store_some(float *to, vf x, uint32_t active) {
    const __m256i bits = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
    __m256i some = _mm256_and_si256(_mm256_set1_epi32((int)active), bits);
    vf mask = _mm256_castsi256_ps(_mm256_cmpeq_epi32(some, bits));
    _mm256_store_ps(to, _mm256_blendv_ps(_mm256_load_ps(to), x, mask));
}

#endif
#endif
