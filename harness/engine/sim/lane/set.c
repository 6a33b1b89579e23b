// SPDX-License-Identifier: Apache-2.0
// set: compare integers, f32 and f64 into a register: all ones for u32 and s32, 1.0 for
// floats.
#include "engine/sim/lane/compare.h"

#define FORM(name, dst, mask, finish, yes)                                                         \
    static void name##_##dst##_plain(char *regs, const lg_insn *insn, uint32_t active) {           \
        finish(regs, insn, active, mask(regs, insn), 0, yes);                                      \
    }                                                                                              \
    static void name##_##dst##_and(char *regs, const lg_insn *insn, uint32_t active) {             \
        finish(regs, insn, active, mask(regs, insn), 1, yes);                                      \
    }                                                                                              \
    static void name##_##dst##_or(char *regs, const lg_insn *insn, uint32_t active) {              \
        finish(regs, insn, active, mask(regs, insn), 2, yes);                                      \
    }                                                                                              \
    static void name##_##dst##_xor(char *regs, const lg_insn *insn, uint32_t active) {             \
        finish(regs, insn, active, mask(regs, insn), 3, yes);                                      \
    }
#define SET(cmp, T, load, compare)                                                                 \
    static __attribute__((noinline))                                                               \
    uint32_t mask_##cmp##_##T(const char *regs, const lg_insn *insn) {                             \
        load return compare(pa, pb);                                                               \
    }                                                                                              \
    FORM(set_##cmp##_##T, u32, mask_##cmp##_##T, finish_set_4, UINT32_MAX)                         \
    FORM(set_##cmp##_##T, f32, mask_##cmp##_##T, finish_set_4, 0x3f800000u)
#define SET_HALVES(cmp, T)                                                                         \
    FORM(set_##cmp##_##T, f16, mask_##cmp##_##T, finish_set_2, 0x3c00u)                            \
    FORM(set_##cmp##_##T, bf16, mask_##cmp##_##T, finish_set_2, 0x3f80u)

#define SET_INT(cmp, T) SET(cmp, T, LOAD_PLAIN, compare_##cmp##_##T) SET_HALVES(cmp, T)
#define SET_u16(cmp, p, v) SET_INT(cmp, u16)
#define SET_u32(cmp, p, v) SET_INT(cmp, u32)
#define SET_u64(cmp, p, v) SET_INT(cmp, u64)
#define SET_s16(cmp, p, v) SET_INT(cmp, s16)
#define SET_s32(cmp, p, v) SET_INT(cmp, s32)
#define SET_s64(cmp, p, v) SET_INT(cmp, s64)
#define SET_f32(cmp, p, v) SET(cmp, f32, LOAD_PLAIN, compare_##cmp##_f32)
#define SET_ftz(cmp, p, v) SET(cmp, ftz, LOAD_FLUSHED, compare_##cmp##_f32)
#define SET_f64(cmp, p, v) SET(cmp, f64, LOAD_PLAIN, compare_##cmp##_f64)
LANE_INT_COMPARISONS(SET_u16)
LANE_INT_COMPARISONS(SET_u32)
LANE_INT_COMPARISONS(SET_u64)
LANE_INT_COMPARISONS(SET_s16)
LANE_INT_COMPARISONS(SET_s32)
LANE_INT_COMPARISONS(SET_s64)
LANE_FLOAT_COMPARISONS(SET_f32)
LANE_FLOAT_COMPARISONS(SET_ftz)
LANE_FLOAT_COMPARISONS(SET_f64)

#define COLUMNS(name)                                                                              \
    { name##_plain, name##_and, name##_or, name##_xor }
#define ROW_INT(cmp, T)                                                                            \
    {COLUMNS(set_##cmp##_##T##_u32), COLUMNS(set_##cmp##_##T##_f32),                               \
     COLUMNS(set_##cmp##_##T##_f16), COLUMNS(set_##cmp##_##T##_bf16)},
#define ROW_FLOAT(cmp, T) {COLUMNS(set_##cmp##_##T##_u32), COLUMNS(set_##cmp##_##T##_f32)},
#define ROW_u16(cmp, p, v) ROW_INT(cmp, u16)
#define ROW_u32(cmp, p, v) ROW_INT(cmp, u32)
#define ROW_u64(cmp, p, v) ROW_INT(cmp, u64)
#define ROW_s16(cmp, p, v) ROW_INT(cmp, s16)
#define ROW_s32(cmp, p, v) ROW_INT(cmp, s32)
#define ROW_s64(cmp, p, v) ROW_INT(cmp, s64)
#define ROW_f32(cmp, p, v) ROW_FLOAT(cmp, f32)
#define ROW_ftz(cmp, p, v) ROW_FLOAT(cmp, ftz)
#define ROW_f64(cmp, p, v) ROW_FLOAT(cmp, f64)

lg_lane_fn *LG_ISA_NAME(lg_lane_select_set)(const lg_lane_form *f) {
    static lg_lane_fn *const ints[6][6][4][4] = {
        {LANE_INT_COMPARISONS(ROW_u16)}, {LANE_INT_COMPARISONS(ROW_u32)},
        {LANE_INT_COMPARISONS(ROW_u64)}, {LANE_INT_COMPARISONS(ROW_s16)},
        {LANE_INT_COMPARISONS(ROW_s32)}, {LANE_INT_COMPARISONS(ROW_s64)},
    };
    static lg_lane_fn *const floats[3][14][2][4] = {{LANE_FLOAT_COMPARISONS(ROW_f32)},
                                                    {LANE_FLOAT_COMPARISONS(ROW_ftz)},
                                                    {LANE_FLOAT_COMPARISONS(ROW_f64)}};
    const lg_ptx_insn *insn = f->insn;
    const lg_ptx_mods *m = &insn->mods;
    int op = lane_bool_index(m->bool_op);
    if (op < 0 || insn->n_types != 2 ||
        !lane_shape(f, MOD_CMP | MOD_BOOL | MOD_FTZ, 1, op == 0 ? 2 : 3)) {
        return NULL;
    }
    lg_ptx_type from = insn->types[1];
    int to = insn->types[0] == LG_PTX_U32 || insn->types[0] == LG_PTX_S32 ? 0
             : insn->types[0] == LG_PTX_F32                               ? 1
             : insn->types[0] == LG_PTX_F16                               ? 2
             : insn->types[0] == LG_PTX_BF16                              ? 3
                                                                          : -1;
    if (from == LG_PTX_F32 || from == LG_PTX_F64) {
        int cmp = lane_float_cmp_index(m->cmp), wide = from == LG_PTX_F64;
        return cmp < 0 || to < 0 || to > 1 || (wide && m->ftz)
                   ? NULL
                   : floats[wide ? 2 : m->ftz][cmp][to][op];
    }
    int width = lane_bits_index(from), cmp = lane_int_cmp_index(m->cmp, from);
    if (width < 0 || cmp < 0 || to < 0 || m->ftz) {
        return NULL;
    }
    return ints[width + (lane_int_index(from) >= 3 ? 3 : 0)][cmp][to][op];
}
