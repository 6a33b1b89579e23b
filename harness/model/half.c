// SPDX-License-Identifier: Apache-2.0
#include "model/half.h"

#include <string.h>

float lg_bf16_to_f32(uint16_t bits) {
    uint32_t wide = (uint32_t)bits << 16;
    if ((bits & 0x7f80) == 0x7f80 && (bits & 0x7f)) {
        wide |= 0x00400000; // a NaN comes out quiet
    }
    float value;
    memcpy(&value, &wide, sizeof value);
    return value;
}

float lg_f16_to_f32(uint16_t bits) {
    uint32_t sign = (uint32_t)(bits & 0x8000) << 16;
    uint32_t exponent = (bits >> 10) & 0x1f;
    uint32_t fraction = bits & 0x3ff;
    uint32_t wide;
    if (exponent == 0x1f) {
        wide = sign | 0x7f800000 | (fraction << 13) | (fraction ? 0x00400000 : 0);
    } else if (exponent) {
        wide = sign | ((exponent + 112) << 23) | (fraction << 13);
    } else {
        // Subnormal: fraction · 2^-24 is exact in float.
        float magnitude = (float)fraction * 0x1p-24f;
        return sign ? -magnitude : magnitude;
    }
    float value;
    memcpy(&value, &wide, sizeof value);
    return value;
}

// Rounds to a 16-bit format with `n_fraction` stored fraction bits and least normal exponent
// `min_exponent`, to nearest even, in one step from the 53-bit significand.
static uint16_t round_to_16(double value, int n_fraction, int min_exponent) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    uint16_t sign = (uint16_t)(bits >> 63 << 15);
    uint16_t infinity = (uint16_t)(0x7fff >> n_fraction << n_fraction);
    int biased = (int)(bits >> 52 & 0x7ff);
    uint64_t fraction = bits & 0xfffffffffffff;
    if (biased == 0x7ff) {
        uint16_t quiet = (uint16_t)(1u << (n_fraction - 1));
        uint16_t payload = (uint16_t)(fraction >> (52 - n_fraction));
        return sign | infinity | (fraction ? quiet | payload : 0);
    }
    if (biased == 0) {
        return sign; // a double subnormal is far below half of the least subnormal here
    }
    int exponent = biased - 1023;
    int below = exponent < min_exponent ? min_exponent - exponent : 0;
    int shift = 52 - n_fraction + below;
    if (shift > 54) {
        return sign;
    }
    uint64_t significand = fraction | (uint64_t)1 << 52;
    uint64_t kept = significand >> shift;
    uint64_t rest = significand & (((uint64_t)1 << shift) - 1);
    uint64_t half = (uint64_t)1 << (shift - 1);
    kept += rest > half || (rest == half && (kept & 1));
    // The hidden bit (or a carry into it) adds one to the exponent field.
    uint64_t field = below ? 0 : (uint64_t)(exponent - min_exponent) << n_fraction;
    uint64_t result = field + kept;
    return sign | (uint16_t)(result < infinity ? result : infinity);
}

uint16_t lg_f64_to_f16(double value) {
    return round_to_16(value, 10, -14);
}

uint16_t lg_f64_to_bf16(double value) {
    return round_to_16(value, 7, -126);
}
