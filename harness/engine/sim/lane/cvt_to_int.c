// SPDX-License-Identifier: Apache-2.0
// cvt of f16, bf16, f32 and f64 to integers: round to an integral value, then clamp to the range of
// the destination (always, .sat or not). PTX on NaN: zero, except the most significant bit alone
// when the source is f64 or the destination has 64 bits.
#include "engine/sim/lane/convert.h"

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

// f32 to 32-bit integers, which is nearly all of them, takes one loop. The others go in steps, so
// that the loops number as many as the types and not their pairs: the source as f32 or f64, the
// conversion, the register.
#define DIRECT(id, slot, T, from, A, V, mode)                                                      \
    LANE_FN1(cvt_##id##_##from##_##mode, slot, A,                                                  \
             (slot)V##_to_##T(V##_integral(VALUE_##from(a), ROUND_##mode)))
#define STAGED(id, slot, T, from, A, V, mode)                                                      \
    static void cvt_##id##_##from##_##mode(char *regs, const lg_insn *insn, uint32_t active) {     \
        V buffer[LG_LANES] __attribute__((aligned(64)));                                           \
        T y[LG_LANES] __attribute__((aligned(64)));                                                \
        convert_##V##_##T##_##mode(y, source_##from(buffer, lane_in(regs, insn->src[0])));         \
        store_##id(regs, insn, active, y);                                                         \
    }

LANE_INLINE const f32 *source_f32(f32 *buffer, const f32 *from) {
    (void)buffer;
    return from;
}
LANE_INLINE const f64 *source_f64(f64 *buffer, const f64 *from) {
    (void)buffer;
    return from;
}
#define LOAD(from, A, value)                                                                       \
    static __attribute__((noinline)) const f32 *source_##from(f32 *buffer, const A *a) {           \
        LANE_LOOP(LG_LANES) {                                                                      \
            buffer[i] = value;                                                                     \
        }                                                                                          \
        return buffer;                                                                             \
    }
LOAD(ftz, f32, f32_flush(a[i]))
LOAD(f16, u16, f16_value(a[i]))
LOAD(bf16, u16, bf16_value(a[i]))

#define CONVERT(T, V, mode)                                                                        \
    static __attribute__((noinline)) void convert_##V##_##T##_##mode(T *y, const V *x) {           \
        LANE_LOOP(LG_LANES) {                                                                      \
            y[i] = V##_to_##T(V##_integral(x[i], ROUND_##mode));                                   \
        }                                                                                          \
    }
#define CONVERT_MODES(T, V)                                                                        \
    CONVERT(T, V, RN)                                                                              \
    CONVERT(T, V, RZ)                                                                              \
    CONVERT(T, V, RM)                                                                              \
    CONVERT(T, V, RP)
#define CONVERT_TYPES(V)                                                                           \
    CONVERT_MODES(u8, V)                                                                           \
    CONVERT_MODES(s8, V)                                                                           \
    CONVERT_MODES(u16, V)                                                                          \
    CONVERT_MODES(s16, V)                                                                          \
    CONVERT_MODES(u32, V)                                                                          \
    CONVERT_MODES(s32, V)                                                                          \
    CONVERT_MODES(u64, V)                                                                          \
    CONVERT_MODES(s64, V)
CONVERT_TYPES(f32)
CONVERT_TYPES(f64)

#define STORE(id, slot, T, ...)                                                                    \
    static __attribute__((noinline)) void store_##id(char *regs, const lg_insn *insn,              \
                                                     uint32_t active, const T *y) {                \
        slot tmp[LG_LANES] __attribute__((aligned(64)));                                           \
        LANE_LOOP(LG_LANES) {                                                                      \
            tmp[i] = (slot)y[i];                                                                   \
        }                                                                                          \
        lane_finish(regs, insn, active, tmp, sizeof(slot));                                        \
    }
LANE_INT_PLACES(STORE, )

#define ROW(id, slot, T, from, A, V, mode) cvt_##id##_##from##_##mode,

#define EACH_MODE(X, from, A, V)                                                                   \
    LANE_INT_PLACES(X, from, A, V, RN)                                                             \
    LANE_INT_PLACES(X, from, A, V, RZ)                                                             \
    LANE_INT_PLACES(X, from, A, V, RM)                                                             \
    LANE_INT_PLACES(X, from, A, V, RP)
EACH_MODE(STAGED, f32, f32, f32)
EACH_MODE(STAGED, ftz, f32, f32)
EACH_MODE(STAGED, f64, f64, f64)
EACH_MODE(STAGED, f16, u16, f32)
EACH_MODE(STAGED, bf16, u16, f32)

#define DIRECT_MODES(from)                                                                         \
    DIRECT(one_u32, u32, u32, from, f32, f32, RN)                                                  \
    DIRECT(one_u32, u32, u32, from, f32, f32, RZ)                                                  \
    DIRECT(one_u32, u32, u32, from, f32, f32, RM)                                                  \
    DIRECT(one_u32, u32, u32, from, f32, f32, RP)                                                  \
    DIRECT(one_s32, u32, s32, from, f32, f32, RN)                                                  \
    DIRECT(one_s32, u32, s32, from, f32, f32, RZ)                                                  \
    DIRECT(one_s32, u32, s32, from, f32, f32, RM)                                                  \
    DIRECT(one_s32, u32, s32, from, f32, f32, RP)
DIRECT_MODES(f32)
DIRECT_MODES(ftz)
#define ROWS_DIRECT(from)                                                                          \
    {                                                                                              \
        {cvt_one_u32_##from##_RN, cvt_one_u32_##from##_RZ, cvt_one_u32_##from##_RM,                \
         cvt_one_u32_##from##_RP},                                                                 \
        {                                                                                          \
            cvt_one_s32_##from##_RN, cvt_one_s32_##from##_RZ, cvt_one_s32_##from##_RM,             \
                cvt_one_s32_##from##_RP                                                            \
        }                                                                                          \
    }

lg_lane_fn *LG_ISA_NAME(lg_lane_select_cvt_to_int)(const lg_lane_form *f) {
    static lg_lane_fn *const rows[5][4 * LANE_N_INT_PLACES] = {
        {EACH_MODE(ROW, f32, f32, f32)},  {EACH_MODE(ROW, ftz, f32, f32)},
        {EACH_MODE(ROW, f64, f64, f64)},  {EACH_MODE(ROW, f16, u16, f32)},
        {EACH_MODE(ROW, bf16, u16, f32)},
    };
    static lg_lane_fn *const direct[2][2][4] = {ROWS_DIRECT(f32), ROWS_DIRECT(ftz)};
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
    if (from < 2 && f->dst_bytes[0] == 4 &&
        (insn->types[0] == LG_PTX_U32 || insn->types[0] == LG_PTX_S32)) {
        return direct[from][insn->types[0] == LG_PTX_S32][mode];
    }
    return rows[from][mode * LANE_N_INT_PLACES + to];
}
