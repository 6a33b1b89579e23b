// SPDX-License-Identifier: Apache-2.0
// Values that lanes are likely to get wrong: zeros, ends of ranges, midpoints, subnormals, NaN.
#ifndef LG_TESTS_ENGINE_SIM_LANE_SPECIALS_H
#define LG_TESTS_ENGINE_SIM_LANE_SPECIALS_H

#include "engine/ptx/ast.h"

#include <stdint.h>

static const uint64_t specials_int[] = {0,  1,  2,  3,   7,   8,   15,  16,   31,   32,   33,
                                        47, 63, 64, 127, 128, 255, 256, 1023, 4096, 65535};
static const uint64_t specials_f16[] = {0x0000, 0x8000, 0x0001, 0x8001, 0x03ff, 0x83ff, 0x0400,
                                        0x8400, 0x3c00, 0xbc00, 0x3800, 0x3bff, 0x3c01, 0x7bff,
                                        0xfbff, 0x7c00, 0xfc00, 0x7e00, 0xfe00, 0x7d01, 0x7fff,
                                        0x4200, 0x6400, 0x6401, 0x57ff, 0x1400};
static const uint64_t specials_bf16[] = {0x0000, 0x8000, 0x0001, 0x8001, 0x007f, 0x807f, 0x0080,
                                         0x8080, 0x3f80, 0xbf80, 0x3f00, 0x3f7f, 0x3f81, 0x7f7f,
                                         0xff7f, 0x7f80, 0xff80, 0x7fc0, 0xffc0, 0x7f81, 0x4040,
                                         0x4b00, 0x4f00, 0xcf00, 0x5f00, 0x0100};
static const uint64_t specials_f32[] = {
    0x00000000, 0x80000000, 0x00000001, 0x80000001, 0x007fffff, 0x807fffff, 0x00800000, 0x80800000,
    0x3f800000, 0xbf800000, 0x3f000000, 0xbf000000, 0x3fc00000, 0x40200000, 0x3f7fffff, 0x3f800001,
    0x7f7fffff, 0xff7fffff, 0x7f800000, 0xff800000, 0x7fc00000, 0xffc00000, 0x7f800001, 0x7fffffff,
    0x4effffff, 0x4f000000, 0xcf000000, 0xcf000001, 0x4f7fffff, 0x4f800000, 0x5effffff, 0x5f000000,
    0xdf000000, 0x5f800000, 0x42fe0000, 0x42ff0000, 0x437f0000, 0x43ff8000, 0x477fefff, 0x477ff000,
    0x33800000, 0x33000000, 0x33000001, 0x38800000, 0x387fffff, 0x7f7f8000, 0x7f7f7fff, 0x4b000001};
static const uint64_t specials_f64[] = {
    0x0000000000000000, 0x8000000000000000, 0x0000000000000001, 0x800fffffffffffff,
    0x0010000000000000, 0x3ff0000000000000, 0xbff0000000000000, 0x3fe0000000000000,
    0xbfe0000000000000, 0x3ff8000000000000, 0x4004000000000000, 0x3ff0000000000001,
    0x3fefffffffffffff, 0x7fefffffffffffff, 0xffefffffffffffff, 0x7ff0000000000000,
    0xfff0000000000000, 0x7ff8000000000000, 0xfff8000000000000, 0x7ff0000000000001,
    0x41dfffffffc00000, 0x41e0000000000000, 0xc1e0000000000000, 0xc1e0000000200000,
    0x41efffffffe00000, 0x41f0000000000000, 0x43dfffffffffffff, 0x43e0000000000000,
    0xc3e0000000000000, 0x43efffffffffffff, 0x43f0000000000000, 0x47efffffe0000000,
    0x47effffff0000000, 0x36a0000000000000, 0x3690000000000000, 0x3690000000000001,
    0x3810000000000000, 0x380fffffffffffff, 0x40effdffffffffff, 0x40effe0000000000};

// One of the special values of a float type, or a small, large or boundary integer.
static inline uint64_t lane_special(lg_ptx_type type, uint64_t r) {
#define PICK(table, random) (table)[(random) % (sizeof(table) / sizeof((table)[0]))]
    uint64_t first = r >> 8, second = r >> 32;
    if (type == LG_PTX_F16 || type == LG_PTX_F16X2) {
        uint64_t low = PICK(specials_f16, first);
        return type == LG_PTX_F16 ? low : low | PICK(specials_f16, second) << 16;
    }
    if (type == LG_PTX_BF16 || type == LG_PTX_BF16X2) {
        uint64_t low = PICK(specials_bf16, first);
        return type == LG_PTX_BF16 ? low : low | PICK(specials_bf16, second) << 16;
    }
    if (type == LG_PTX_F32) {
        return PICK(specials_f32, first);
    }
    if (type == LG_PTX_F64) {
        return PICK(specials_f64, first);
    }
    // Small values, their negations, and values next to the ends of 8 to 64 bits.
    static const int tops[] = {7, 15, 31, 63};
    uint64_t v = PICK(specials_int, first), end = 1ull << PICK(tops, r >> 16);
#undef PICK
    uint64_t kind = r % 4;
    return kind == 0 ? v : kind == 1 ? 0 - v : kind == 2 ? end - 1 + (r >> 40) % 3 : v & 31;
}

#endif
