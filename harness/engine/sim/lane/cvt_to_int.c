// SPDX-License-Identifier: Apache-2.0
// cvt of f16, bf16, f32 and f64 to integers: round to an integral value, then clamp to the range of
// the destination (always, .sat or not). PTX on NaN: zero, except the most significant bit alone
// when the source is f64 or the destination has 64 bits.
#include "engine/sim/lane/lane_convert.h"

// `above` is the least power of two beyond the range, `least` its lower end: both exact in any
// type. Inside, the value is converted by way of a type of the machine that holds it.
#define TO_INT(T, V, W, above, least, nan)                                                         \
    LANE_INLINE T V##_to_##T(V r) {                                                                \
        V inside = r < (V)(above) ? r : (V)0;                                                      \
        inside = inside >= (V)(least) ? inside : (V)(least);                                       \
        T low = (T)(W)inside;                                                                      \
        T clamped = r >= (V)(above) ? (T)LANE_MOST_##T : low;                                      \
        return r == r ? clamped : (T)(nan);                                                        \
    }
#define TO_INT_EACH(V, nan8, nan16, nan32)                                                         \
    TO_INT(u8, V, s32, 0x1p8, 0, nan8)                                                             \
    TO_INT(s8, V, s32, 0x1p7, -0x1p7, nan8)                                                        \
    TO_INT(u16, V, s32, 0x1p16, 0, nan16)                                                          \
    TO_INT(s16, V, s32, 0x1p15, -0x1p15, nan16)                                                    \
    TO_INT(u32, V, u32, 0x1p32, 0, nan32)                                                          \
    TO_INT(s32, V, s32, 0x1p31, -0x1p31, nan32)                                                    \
    TO_INT(u64, V, u64, 0x1p64, 0, 0x8000000000000000u)                                            \
    TO_INT(s64, V, s64, 0x1p63, -0x1p63, 0x8000000000000000u)
TO_INT_EACH(f32, 0, 0, 0)
TO_INT_EACH(f64, 0x80u, 0x8000u, 0x80000000u)

#define VALUE_f32(x) (x)
#define VALUE_ftz(x) f32_flush(x)
#define VALUE_f64(x) (x)
#define VALUE_f16(x) f16_value(x)
#define VALUE_bf16(x) bf16_value(x)

#define CVT(id, slot, T, from, A, V, mode)                                                         \
    LANE_FN1(cvt_##id##_##from##_##mode, slot, A,                                                  \
             (slot)V##_to_##T(V##_integral(VALUE_##from(a), ROUND_##mode)))
#define ROW(id, slot, T, from, A, V, mode) cvt_##id##_##from##_##mode,

#define EACH_MODE(X, from, A, V)                                                                   \
    LANE_INT_PLACES(X, from, A, V, RN)                                                             \
    LANE_INT_PLACES(X, from, A, V, RZ)                                                             \
    LANE_INT_PLACES(X, from, A, V, RM)                                                             \
    LANE_INT_PLACES(X, from, A, V, RP)
EACH_MODE(CVT, f32, f32, f32)
EACH_MODE(CVT, ftz, f32, f32)
EACH_MODE(CVT, f64, f64, f64)
EACH_MODE(CVT, f16, u16, f32)
EACH_MODE(CVT, bf16, u16, f32)

lg_lane_fn *LG_ISA_NAME(lg_lane_select_cvt_to_int)(const lg_lane_form *f) {
    static lg_lane_fn *const rows[5][4 * LANE_N_INT_PLACES] = {
        {EACH_MODE(ROW, f32, f32, f32)},  {EACH_MODE(ROW, ftz, f32, f32)},
        {EACH_MODE(ROW, f64, f64, f64)},  {EACH_MODE(ROW, f16, u16, f32)},
        {EACH_MODE(ROW, bf16, u16, f32)},
    };
    const lg_ptx_insn *insn = f->insn;
    const lg_ptx_mods *m = &insn->mods;
    lg_ptx_type type = insn->types[1];
    int to = lane_int_place(insn->types[0], f->dst_bytes[0]);
    int from = type == LG_PTX_F32    ? m->ftz
               : type == LG_PTX_F64  ? 2
               : type == LG_PTX_F16  ? 3
               : type == LG_PTX_BF16 ? 4
                                     : -1;
    int mode =
        m->round >= LG_ROUND_RNI && m->round <= LG_ROUND_RPI ? (int)m->round - LG_ROUND_RNI : -1;
    // A parser that does not tell .rni from .rn means the same here.
    mode = mode < 0 && m->round != LG_ROUND_DEFAULT ? lane_round_index(m->round) : mode;
    if (to < 0 || from < 0 || mode < 0 || f->src_bytes[0] != lg_ptx_type_bytes(type) ||
        !lane_shape(f, MOD_SAT | MOD_FTZ | MOD_ROUND, 1, 1) || (m->ftz && type != LG_PTX_F32)) {
        return NULL;
    }
    return rows[from][mode * LANE_N_INT_PLACES + to];
}
