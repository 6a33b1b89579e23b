// SPDX-License-Identifier: Apache-2.0
// What ex2.approx gives, for its own instruction and for those that contain it. No fused
// multiply-add is used, so that every instruction set gives the same bits.
#ifndef LG_ENGINE_SIM_LANE_EXP2_H
#define LG_ENGINE_SIM_LANE_EXP2_H

#include "engine/sim/lane/float.h"

// q below, from f^5 down: a minimax fit, by Remez exchange in 200-bit arithmetic.
#define EXP2_Q5 0x1.446c82p-13f
#define EXP2_Q4 0x1.5f0896p-10f
#define EXP2_Q3 0x1.3b29e4p-7f
#define EXP2_Q2 0x1.c6af6cp-5f
#define EXP2_Q1 0x1.ebfbe0p-3f
#define EXP2_Q0 0x1.62e430p-1f

// 2^(x + more) for float x and a whole number `more` of at most 126, rounded once, subnormal
// results included. PTX: relative 2^-22; here 2^-23. x = n + f with |f| <= 1/2, 2^f = 1 + f q(f),
// and 2^(n + more) applied in two steps, the first of which is exact. q is split in two so that not
// every step waits for the one before.
LANE_INLINE float exp2_and(float x, float more) {
    float in = x < 130.0f ? x : 130.0f;
    in = in > -160.0f ? in : -160.0f;
    float n = f32_integral(in, ROUND_RN);
    float f = in - n;
    float square = f * f;
    float low = EXP2_Q1 * f + EXP2_Q0;
    float high = (EXP2_Q5 * f + EXP2_Q4) * square + (EXP2_Q3 * f + EXP2_Q2);
    float p = (high * square + low) * f + 1.0f;
    s32 whole = (s32)(n + more);
    whole = whole > -252 ? whole : -252; // where p 2^whole is 0 already
    whole = whole < 254 ? whole : 254;   // and infinite
    s32 first = whole >> 1, second = whole - first;
    float r = p * f32_from((u32)(first + 127) << 23) * f32_from((u32)(second + 127) << 23);
    return x == x ? r : F32_NAN;
}

LANE_INLINE float exp2_of(float x) {
    return exp2_and(x, 0.0f);
}

#endif
