// SPDX-License-Identifier: Apache-2.0
// cvt between integers, plain and .sat.
#include "engine/sim/lane/lane_convert.h"

#define PLAIN(id, slot, T, from, from_slot, F)                                                     \
    LANE_FN1(cvt_##id##_##from, slot, from_slot, (slot)(T)(F)a)

// Clamping compares in 64 bits of the source's signedness.
LANE_INLINE u64 clamp_signed(s64 x, s64 least, u64 most) {
    return x < least ? (u64)least : x > 0 && (u64)x > most ? most : (u64)x;
}
LANE_INLINE u64 clamp_unsigned(u64 x, u64 most) {
    return x > most ? most : x;
}
#define CLAMP_u8(x, T) clamp_unsigned(x, LANE_MOST_##T)
#define CLAMP_u16(x, T) clamp_unsigned(x, LANE_MOST_##T)
#define CLAMP_u32(x, T) clamp_unsigned(x, LANE_MOST_##T)
#define CLAMP_u64(x, T) clamp_unsigned(x, LANE_MOST_##T)
#define CLAMP_s8(x, T) clamp_signed(x, LANE_LEAST_##T, LANE_MOST_##T)
#define CLAMP_s16(x, T) clamp_signed(x, LANE_LEAST_##T, LANE_MOST_##T)
#define CLAMP_s32(x, T) clamp_signed(x, LANE_LEAST_##T, LANE_MOST_##T)
#define CLAMP_s64(x, T) clamp_signed(x, LANE_LEAST_##T, LANE_MOST_##T)
#define SATURATED(id, slot, T, from, from_slot, F)                                                 \
    LANE_FN1(cvt_sat_##id##_##from, slot, from_slot, (slot)(T)CLAMP_##F((F)a, T))

// The preprocessor does not expand a list inside itself, so the sources are listed here again.
#define EACH_SOURCE(X)                                                                             \
    LANE_INT_PLACES(X, u8_2, u16, u8)                                                              \
    LANE_INT_PLACES(X, u8_4, u32, u8)                                                              \
    LANE_INT_PLACES(X, u8_8, u64, u8)                                                              \
    LANE_INT_PLACES(X, s8_2, u16, s8)                                                              \
    LANE_INT_PLACES(X, s8_4, u32, s8)                                                              \
    LANE_INT_PLACES(X, s8_8, u64, s8)                                                              \
    LANE_INT_PLACES(X, u16_2, u16, u16)                                                            \
    LANE_INT_PLACES(X, u16_4, u32, u16)                                                            \
    LANE_INT_PLACES(X, u16_8, u64, u16)                                                            \
    LANE_INT_PLACES(X, s16_2, u16, s16)                                                            \
    LANE_INT_PLACES(X, s16_4, u32, s16)                                                            \
    LANE_INT_PLACES(X, s16_8, u64, s16)                                                            \
    LANE_INT_PLACES(X, u32_4, u32, u32)                                                            \
    LANE_INT_PLACES(X, u32_8, u64, u32)                                                            \
    LANE_INT_PLACES(X, s32_4, u32, s32)                                                            \
    LANE_INT_PLACES(X, s32_8, u64, s32)                                                            \
    LANE_INT_PLACES(X, u64_8, u64, u64)                                                            \
    LANE_INT_PLACES(X, s64_8, u64, s64)
EACH_SOURCE(PLAIN)
EACH_SOURCE(SATURATED)

#define ROW_PLAIN(id, slot, T, from, from_slot, F) cvt_##id##_##from,
#define ROW_SATURATED(id, slot, T, from, from_slot, F) cvt_sat_##id##_##from,

lg_lane_fn *LG_ISA_NAME(lg_lane_select_cvt_int)(const lg_lane_form *f) {
    static lg_lane_fn *const plain[] = {EACH_SOURCE(ROW_PLAIN)};
    static lg_lane_fn *const saturated[] = {EACH_SOURCE(ROW_SATURATED)};
    const lg_ptx_insn *insn = f->insn;
    int to = lane_int_place(insn->types[0], f->dst_bytes[0]);
    int from = lane_int_place(insn->types[1], f->src_bytes[0]);
    if (to < 0 || from < 0 || !lane_shape(f, MOD_SAT, 1, 1)) {
        return NULL;
    }
    return (insn->mods.sat ? saturated : plain)[from * LANE_N_INT_PLACES + to];
}
