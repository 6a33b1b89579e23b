// SPDX-License-Identifier: Apache-2.0
// f16 and bf16 against float, one lane at a time, as integer and float operations that any vector
// instruction set has. A NaN becomes 0x7fff, which PTX calls canonical for both.
#ifndef LG_ENGINE_SIM_LANE_LANE_HALF_H
#define LG_ENGINE_SIM_LANE_LANE_HALF_H

#include "engine/sim/lane/lane_float.h"

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

#endif
