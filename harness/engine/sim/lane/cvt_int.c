// SPDX-License-Identifier: Apache-2.0
// cvt between integers, plain and .sat.
#include "engine/sim/lane/convert.h"

// A destination in a register of its own width is converted in one loop. The others, and .sat, are
// rare: they pass through 64 bits, so that the loops number as many as the types and not their
// pairs.
#define DIRECT(id, slot, T, from, from_slot, F)                                                    \
    LANE_FN1(cvt_##id##_##from, slot, from_slot, (slot)(T)(F)a)
#define STAGED(id, slot, T, from, from_slot, F)                                                    \
    static void cvt_##id##_##from(char *regs, const lg_insn *insn, uint32_t active) {              \
        u64 x[LG_LANES] __attribute__((aligned(64)));                                              \
        load_##from(x, lane_in(regs, insn->src[0]));                                               \
        store_##id(regs, insn, active, x);                                                         \
    }
#define SATURATED(id, slot, T, from, from_slot, F)                                                 \
    static void cvt_sat_##id##_##from(char *regs, const lg_insn *insn, uint32_t active) {          \
        u64 x[LG_LANES] __attribute__((aligned(64)));                                              \
        load_##from(x, lane_in(regs, insn->src[0]));                                               \
        CLAMP_##F(x, T);                                                                           \
        store_##id(regs, insn, active, x);                                                         \
    }

#define LOAD_STORE(id, slot, T, ...)                                                               \
    static __attribute__((noinline)) void load_##id(u64 *x, const slot *from) {                    \
        LANE_LOOP(LG_LANES) {                                                                      \
            x[i] = (u64)(T)from[i];                                                                \
        }                                                                                          \
    }                                                                                              \
    static __attribute__((noinline)) void store_##id(char *regs, const lg_insn *insn,              \
                                                     uint32_t active, const u64 *x) {              \
        slot tmp[LG_LANES] __attribute__((aligned(64)));                                           \
        LANE_LOOP(LG_LANES) {                                                                      \
            tmp[i] = (slot)(T)x[i];                                                                \
        }                                                                                          \
        lane_finish(regs, insn, active, tmp, sizeof(slot));                                        \
    }
LANE_INT_PLACES(LOAD_STORE, )

// Clamping compares in 64 bits of the source's signedness.
static __attribute__((noinline)) void clamp_signed(u64 *x, s64 least, u64 most) {
    LANE_LOOP(LG_LANES) {
        s64 v = (s64)x[i];
        x[i] = v < least ? (u64)least : v > 0 && (u64)v > most ? most : (u64)v;
    }
}
static __attribute__((noinline)) void clamp_unsigned(u64 *x, u64 most) {
    LANE_LOOP(LG_LANES) {
        x[i] = x[i] > most ? most : x[i];
    }
}
#define CLAMP_u8(x, T) clamp_unsigned(x, LANE_MOST_##T)
#define CLAMP_u16(x, T) clamp_unsigned(x, LANE_MOST_##T)
#define CLAMP_u32(x, T) clamp_unsigned(x, LANE_MOST_##T)
#define CLAMP_u64(x, T) clamp_unsigned(x, LANE_MOST_##T)
#define CLAMP_s8(x, T) clamp_signed(x, LANE_LEAST_##T, LANE_MOST_##T)
#define CLAMP_s16(x, T) clamp_signed(x, LANE_LEAST_##T, LANE_MOST_##T)
#define CLAMP_s32(x, T) clamp_signed(x, LANE_LEAST_##T, LANE_MOST_##T)
#define CLAMP_s64(x, T) clamp_signed(x, LANE_LEAST_##T, LANE_MOST_##T)

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
#define PLAIN_u8_2 DIRECT
#define PLAIN_u8_4 STAGED
#define PLAIN_u8_8 STAGED
#define PLAIN_s8_2 DIRECT
#define PLAIN_s8_4 STAGED
#define PLAIN_s8_8 STAGED
#define PLAIN_u16_2 DIRECT
#define PLAIN_u16_4 STAGED
#define PLAIN_u16_8 STAGED
#define PLAIN_s16_2 DIRECT
#define PLAIN_s16_4 STAGED
#define PLAIN_s16_8 STAGED
#define PLAIN_u32_4 DIRECT
#define PLAIN_u32_8 STAGED
#define PLAIN_s32_4 DIRECT
#define PLAIN_s32_8 STAGED
#define PLAIN_u64_8 DIRECT
#define PLAIN_s64_8 DIRECT
#define PLAIN(id, slot, T, from, from_slot, F) PLAIN_##id(id, slot, T, from, from_slot, F)
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
