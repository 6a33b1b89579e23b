// SPDX-License-Identifier: Apache-2.0
// cvt of integers to f16, bf16, f32 and f64, in all rounding modes.
#include "engine/sim/lane/convert.h"

// A 64-bit integer as a double of fewer bits with a sticky last one: rounding that to f32 or less,
// in any mode, is rounding the integer (see lane_float.h; at least 43 bits are kept).
LANE_INLINE double f64_odd_of_u64(u64 x) {
    u64 sticky = (x & ~0x7ffull) | ((x & 0x7ffu) != 0 ? 0x800u : 0);
    return (double)(x < 1ull << 53 ? x : sticky);
}

LANE_INLINE double f64_odd_of_s64(s64 x) {
    u64 mag = x < 0 ? 0u - (u64)x : (u64)x;
    double r = f64_odd_of_u64(mag);
    return x < 0 ? -r : r;
}

// Only the 64-bit integers do not fit a double; in directed modes the bits beyond 53 are cut off
// and one added when that has to go away from zero.
static double f64_of_magnitude(u64 mag, bool away) {
    int n_lost = 11 - (mag ? __builtin_clzll(mag) : 64);
    if (n_lost <= 0) {
        return (double)mag;
    }
    u64 lost = mag & ((1ull << n_lost) - 1);
    u64 kept = (mag >> n_lost) + (away && lost ? 1 : 0);
    return (double)kept * (double)(1ull << n_lost);
}

LANE_INLINE double f64_of_u64(u64 x, int mode) {
    return mode == ROUND_RN ? (double)x : f64_of_magnitude(x, mode == ROUND_RP);
}

LANE_INLINE double f64_of_s64(s64 x, int mode) {
    if (mode == ROUND_RN) {
        return (double)x;
    }
    return x < 0 ? -f64_of_magnitude(0u - (u64)x, mode == ROUND_RM)
                 : f64_of_magnitude((u64)x, mode == ROUND_RP);
}

// EXACT: a double that rounds as the integer does.
#define EXACT_u8(x) (double)(x)
#define EXACT_s8(x) (double)(x)
#define EXACT_u16(x) (double)(x)
#define EXACT_s16(x) (double)(x)
#define EXACT_u32(x) (double)(x)
#define EXACT_s32(x) (double)(x)
#define EXACT_u64(x) f64_odd_of_u64(x)
#define EXACT_s64(x) f64_odd_of_s64(x)

// To nearest, f32 and f64 have instructions. The rest goes through such doubles, in two steps, so
// that the loops number as many as the types and not their pairs.
#define LOAD(id, slot, T, ...)                                                                     \
    static __attribute__((noinline)) void load_##id(double *x, const slot *a) {                    \
        LANE_LOOP(LG_LANES) {                                                                      \
            x[i] = EXACT_##T((T)a[i]);                                                             \
        }                                                                                          \
    }
LANE_INT_PLACES(LOAD, )
#define ROUND(to, D, mode)                                                                         \
    static __attribute__((noinline)) void round_##to##_##mode(char *regs, const lg_insn *insn,     \
                                                              uint32_t active, const double *x) {  \
        D tmp[LG_LANES] __attribute__((aligned(64)));                                              \
        LANE_LOOP(LG_LANES) {                                                                      \
            tmp[i] = to##_round(x[i], ROUND_##mode);                                               \
        }                                                                                          \
        lane_finish(regs, insn, active, tmp, sizeof(D));                                           \
    }
#define ROUND_HALVES(mode) ROUND(f16, u16, mode) ROUND(bf16, u16, mode)
ROUND_HALVES(RN)
ROUND_HALVES(RZ)
ROUND_HALVES(RM)
ROUND_HALVES(RP)
ROUND(f32, f32, RZ)
ROUND(f32, f32, RM)
ROUND(f32, f32, RP)

#define STAGED(to, id, slot, mode)                                                                 \
    static void cvt_##to##_##id##_##mode(char *regs, const lg_insn *insn, uint32_t active) {       \
        double x[LG_LANES] __attribute__((aligned(64)));                                           \
        load_##id(x, lane_in(regs, insn->src[0]));                                                 \
        round_##to##_##mode(regs, insn, active, x);                                                \
    }
#define NEAREST(id, slot, T, ...)                                                                  \
    LANE_FN1(cvt_f32_##id##_RN, f32, slot, (float)(T)a)                                            \
    LANE_FN1(cvt_f64_##id##_RN, f64, slot, (double)(T)a)                                           \
    STAGED(f16, id, slot, RN)                                                                      \
    STAGED(bf16, id, slot, RN)
#define DIRECTED(id, slot, T, mode)                                                                \
    STAGED(f32, id, slot, mode)                                                                    \
    STAGED(f16, id, slot, mode)                                                                    \
    STAGED(bf16, id, slot, mode)
LANE_INT_PLACES(NEAREST, )
LANE_INT_PLACES(DIRECTED, RZ)
LANE_INT_PLACES(DIRECTED, RM)
LANE_INT_PLACES(DIRECTED, RP)

// Only 64-bit integers may not fit a double.
#define F64_OF_64(mode)                                                                            \
    LANE_FN1(cvt_f64_u64_8_##mode, f64, u64, f64_of_u64(a, ROUND_##mode))                          \
    LANE_FN1(cvt_f64_s64_8_##mode, f64, s64, f64_of_s64(a, ROUND_##mode))
F64_OF_64(RZ)
F64_OF_64(RM)
F64_OF_64(RP)

// .sat clamps to [0, 1], where every mode is exact.
#define SATURATED(id, slot, T, ...)                                                                \
    LANE_FN1(cvt_sat_f32_##id, u32, slot, (T)a > 0 ? 0x3f800000u : 0)                              \
    LANE_FN1(cvt_sat_f64_##id, u64, slot, (T)a > 0 ? 0x3ff0000000000000u : 0)                      \
    LANE_FN1(cvt_sat_f16_##id, u16, slot, (T)a > 0 ? 0x3c00u : 0)
LANE_INT_PLACES(SATURATED, )
#define ROW_SATURATED(id, slot, T, to) cvt_sat_##to##_##id,

#define ROW(id, slot, T, to, mode) cvt_##to##_##id##_##mode,
#define ROWS(to)                                                                                   \
    {                                                                                              \
        LANE_INT_PLACES(ROW, to, RN)                                                               \
        LANE_INT_PLACES(ROW, to, RZ)                                                               \
        LANE_INT_PLACES(ROW, to, RM)                                                               \
        LANE_INT_PLACES(ROW, to, RP)                                                               \
    }

lg_lane_fn *LG_ISA_NAME(lg_lane_select_cvt_from_int)(const lg_lane_form *f) {
    static lg_lane_fn *const rows[3][4 * LANE_N_INT_PLACES] = {ROWS(f32), ROWS(f16), ROWS(bf16)};
    static lg_lane_fn *const f64_exact[LANE_N_INT_PLACES] = {LANE_INT_PLACES(ROW, f64, RN)};
    static lg_lane_fn *const f64_of_64[2][4] = {
        {cvt_f64_u64_8_RN, cvt_f64_u64_8_RZ, cvt_f64_u64_8_RM, cvt_f64_u64_8_RP},
        {cvt_f64_s64_8_RN, cvt_f64_s64_8_RZ, cvt_f64_s64_8_RM, cvt_f64_s64_8_RP}};
    static lg_lane_fn *const saturated[3][LANE_N_INT_PLACES] = {
        {LANE_INT_PLACES(ROW_SATURATED, f32)},
        {LANE_INT_PLACES(ROW_SATURATED, f16)},
        {LANE_INT_PLACES(ROW_SATURATED, f64)},
    };
    const lg_ptx_insn *insn = f->insn;
    lg_ptx_type type = insn->types[0];
    int from = lane_int_place(insn->types[1], f->src_bytes[0]);
    int to = type == LG_PTX_F32    ? 0
             : type == LG_PTX_F16  ? 1
             : type == LG_PTX_F64  ? 2
             : type == LG_PTX_BF16 ? 3
                                   : -1;
    int mode = lane_round_index(insn->mods.round);
    if (to < 0 || from < 0 || mode < 0 || f->dst_bytes[0] != lg_ptx_type_bytes(type) ||
        !lane_shape(f, MOD_ROUND | MOD_SAT, 1, 1)) {
        return NULL;
    }
    if (insn->mods.sat) {
        return to < 3 ? saturated[to][from] : NULL;
    }
    if (to == 2) {
        bool wide = insn->types[1] == LG_PTX_U64 || insn->types[1] == LG_PTX_S64;
        return wide ? f64_of_64[insn->types[1] == LG_PTX_S64][mode] : f64_exact[from];
    }
    return rows[to == 3 ? 2 : to][mode * LANE_N_INT_PLACES + from];
}
