// SPDX-License-Identifier: Apache-2.0
// What ex2.approx gives, for its own instruction and for those that contain it. No fused
// multiply-add is used, so that every instruction set gives the same bits.
#ifndef LG_ENGINE_SIM_LANE_LANE_EXP2_H
#define LG_ENGINE_SIM_LANE_LANE_EXP2_H

#include "engine/sim/lane/lane_float.h"

// q below, from f^5 down: a minimax fit, by Remez exchange in 200-bit arithmetic.
#define EXP2_Q5 0x1.446c82p-13f
#define EXP2_Q4 0x1.5f0896p-10f
#define EXP2_Q3 0x1.3b29e4p-7f
#define EXP2_Q2 0x1.c6af6cp-5f
#define EXP2_Q1 0x1.ebfbe0p-3f
#define EXP2_Q0 0x1.62e430p-1f

// 2^x for float x, subnormal results included. PTX: relative 2^-22; here 2^-23.4.
// x = n + f with |f| <= 1/2, 2^f = 1 + f q(f), and 2^n applied in two steps so that a subnormal
// result is rounded once.
LANE_INLINE float exp2_of(float x) {
    float in = x < 130.0f ? x : 130.0f;
    in = in > -160.0f ? in : -160.0f;
    float n = f32_integral(in, ROUND_RN);
    float f = in - n;
    float q = EXP2_Q5;
    q = q * f + EXP2_Q4;
    q = q * f + EXP2_Q3;
    q = q * f + EXP2_Q2;
    q = q * f + EXP2_Q1;
    q = q * f + EXP2_Q0;
    float p = q * f + 1.0f;
    s32 whole = (s32)n, first = whole >> 1, second = whole - first;
    float r = p * f32_from((u32)(first + 127) << 23) * f32_from((u32)(second + 127) << 23);
    return x == x ? r : F32_NAN;
}

#endif
