// SPDX-License-Identifier: Apache-2.0
// setp of integers, f32 and f64: p = BoolOp(t, c), q = BoolOp(!t, c).
#include "engine/sim/lane/compare.h"

static void finish_not(char *regs, const lg_insn *insn, uint32_t active, uint32_t t, int op) {
    finish_setp(regs, insn, active, t, ~t, op);
}

// The plain form, by far the most frequent, writes p alone.
#define SETP(name, T, load, compare)                                                               \
    static __attribute__((noinline)) uint32_t name##_mask(const char *regs, const lg_insn *insn) { \
        load return compare(pa, pb);                                                               \
    }                                                                                              \
    static void name##_plain(char *regs, const lg_insn *insn, uint32_t active) {                   \
        load lane_set_pred(regs, insn->dst[0], compare(pa, pb), active);                           \
    }                                                                                              \
    static void name##_pair(char *regs, const lg_insn *insn, uint32_t active) {                    \
        finish_not(regs, insn, active, name##_mask(regs, insn), 0);                                \
    }                                                                                              \
    static void name##_and(char *regs, const lg_insn *insn, uint32_t active) {                     \
        finish_not(regs, insn, active, name##_mask(regs, insn), 1);                                \
    }                                                                                              \
    static void name##_or(char *regs, const lg_insn *insn, uint32_t active) {                      \
        finish_not(regs, insn, active, name##_mask(regs, insn), 2);                                \
    }                                                                                              \
    static void name##_xor(char *regs, const lg_insn *insn, uint32_t active) {                     \
        finish_not(regs, insn, active, name##_mask(regs, insn), 3);                                \
    }

#define SETP_u16(name, p, v) SETP(setp_##name##_u16, u16, LOAD_PLAIN, compare_##name##_u16)
#define SETP_u32(name, p, v) SETP(setp_##name##_u32, u32, LOAD_PLAIN, compare_##name##_u32)
#define SETP_u64(name, p, v) SETP(setp_##name##_u64, u64, LOAD_PLAIN, compare_##name##_u64)
#define SETP_s16(name, p, v) SETP(setp_##name##_s16, s16, LOAD_PLAIN, compare_##name##_s16)
#define SETP_s32(name, p, v) SETP(setp_##name##_s32, s32, LOAD_PLAIN, compare_##name##_s32)
#define SETP_s64(name, p, v) SETP(setp_##name##_s64, s64, LOAD_PLAIN, compare_##name##_s64)
#define SETP_f32(name, p, v) SETP(setp_##name##_f32, f32, LOAD_PLAIN, compare_##name##_f32)
#define SETP_f64(name, p, v) SETP(setp_##name##_f64, f64, LOAD_PLAIN, compare_##name##_f64)
#define SETP_ftz(name, p, v) SETP(setp_##name##_ftz, f32, LOAD_FLUSHED, compare_##name##_f32)
LANE_INT_COMPARISONS(SETP_u16)
LANE_INT_COMPARISONS(SETP_u32)
LANE_INT_COMPARISONS(SETP_u64)
LANE_INT_COMPARISONS(SETP_s16)
LANE_INT_COMPARISONS(SETP_s32)
LANE_INT_COMPARISONS(SETP_s64)
LANE_FLOAT_COMPARISONS(SETP_f32)
LANE_FLOAT_COMPARISONS(SETP_f64)
LANE_FLOAT_COMPARISONS(SETP_ftz)

#define ROW(name) {name##_plain, name##_pair, name##_and, name##_or, name##_xor},
#define ROW_u16(name, p, v) ROW(setp_##name##_u16)
#define ROW_u32(name, p, v) ROW(setp_##name##_u32)
#define ROW_u64(name, p, v) ROW(setp_##name##_u64)
#define ROW_s16(name, p, v) ROW(setp_##name##_s16)
#define ROW_s32(name, p, v) ROW(setp_##name##_s32)
#define ROW_s64(name, p, v) ROW(setp_##name##_s64)
#define ROW_f32(name, p, v) ROW(setp_##name##_f32)
#define ROW_f64(name, p, v) ROW(setp_##name##_f64)
#define ROW_ftz(name, p, v) ROW(setp_##name##_ftz)

lg_lane_fn *LG_ISA_NAME(lg_lane_select_setp)(const lg_lane_form *f) {
    static lg_lane_fn *const ints[6][6][5] = {
        {LANE_INT_COMPARISONS(ROW_u16)}, {LANE_INT_COMPARISONS(ROW_u32)},
        {LANE_INT_COMPARISONS(ROW_u64)}, {LANE_INT_COMPARISONS(ROW_s16)},
        {LANE_INT_COMPARISONS(ROW_s32)}, {LANE_INT_COMPARISONS(ROW_s64)},
    };
    static lg_lane_fn *const floats[3][14][5] = {
        {LANE_FLOAT_COMPARISONS(ROW_f32)},
        {LANE_FLOAT_COMPARISONS(ROW_ftz)},
        {LANE_FLOAT_COMPARISONS(ROW_f64)},
    };
    const lg_ptx_insn *insn = f->insn;
    int op = lane_bool_index(insn->mods.bool_op);
    if (op < 0 || insn->n_types != 1 || f->n_dst < 1 || f->n_dst > 2 ||
        !lane_shape(f, MOD_CMP | MOD_BOOL | MOD_FTZ, f->n_dst, op == 0 ? 2 : 3)) {
        return NULL;
    }
    int column = op > 0 ? op + 1 : f->n_dst - 1;
    lg_ptx_type type = insn->types[0];
    if (type == LG_PTX_F32 || type == LG_PTX_F64) {
        int cmp = lane_float_cmp_index(insn->mods.cmp);
        bool is_f64 = type == LG_PTX_F64;
        return cmp < 0 || (is_f64 && insn->mods.ftz)
                   ? NULL
                   : floats[is_f64 ? 2 : insn->mods.ftz][cmp][column];
    }
    int width = lane_bits_index(type);
    int cmp = lane_int_cmp_index(insn->mods.cmp, type);
    if (width < 0 || cmp < 0 || insn->mods.ftz) {
        return NULL;
    }
    bool is_signed = lane_int_index(type) >= 3;
    return ints[width + (is_signed ? 3 : 0)][cmp][column];
}
