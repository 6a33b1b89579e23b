// SPDX-License-Identifier: Apache-2.0
// setp and set of f16, bf16 and their packed pairs: compared as floats, which hold them exactly.
#include "engine/sim/lane/compare.h"
#include "engine/sim/lane/half.h"

// One half of every lane as floats: of a 16-bit register, or of the lower or upper halves of a
// packed one. .ftz is about f16's own subnormals.
#define LOADERS(H, ftz)                                                                            \
    static __attribute__((noinline)) void load_##H##_##ftz(f32 *to, const char *regs,              \
                                                           uint32_t slot) {                        \
        const u16 *p = lane_in(regs, slot);                                                        \
        LANE_LOOP(LG_LANES) {                                                                      \
            to[i] = input_##ftz(H##_value(p[i]));                                                  \
        }                                                                                          \
    }                                                                                              \
    static __attribute__((noinline)) void load_##H##x2_##ftz(f32 *low, f32 *high,                  \
                                                             const char *regs, uint32_t slot) {    \
        const u32 *p = lane_in(regs, slot);                                                        \
        LANE_LOOP(LG_LANES) {                                                                      \
            low[i] = input_##ftz(H##_value((u16)p[i]));                                            \
            high[i] = input_##ftz(H##_value((u16)(p[i] >> 16)));                                   \
        }                                                                                          \
    }
LOADERS(f16, 0)
LOADERS(f16, 1)
LOADERS(bf16, 0)

typedef struct masks {
    uint32_t low, high;
} masks;

#define LANES_BUFFER(name) f32 name[LG_LANES] __attribute__((aligned(64)))
#define MASKS(cmp, H, ftz)                                                                         \
    static __attribute__((noinline))                                                               \
    uint32_t mask_##cmp##_##H##ftz(const char *regs, const lg_insn *insn) {                        \
        LANES_BUFFER(a);                                                                           \
        LANES_BUFFER(b);                                                                           \
        load_##H##_##ftz(a, regs, insn->src[0]);                                                   \
        load_##H##_##ftz(b, regs, insn->src[1]);                                                   \
        return compare_##cmp##_f32(a, b);                                                          \
    }                                                                                              \
    static __attribute__((noinline))                                                               \
    masks mask_##cmp##_##H##x2##ftz(const char *regs, const lg_insn *insn) {                       \
        LANES_BUFFER(a);                                                                           \
        LANES_BUFFER(b);                                                                           \
        LANES_BUFFER(c);                                                                           \
        LANES_BUFFER(d);                                                                           \
        load_##H##x2_##ftz(a, c, regs, insn->src[0]);                                              \
        load_##H##x2_##ftz(b, d, regs, insn->src[1]);                                              \
        return (masks){compare_##cmp##_f32(a, b), compare_##cmp##_f32(c, d)};                      \
    }

// set of a packed pair: `yes` in each half where it holds.
static __attribute__((noinline)) void
finish_set_pair(char *regs, const lg_insn *insn, uint32_t active, masks t, int op, uint32_t yes) {
    uint32_t c = op == 0 ? 0 : lane_pred(regs, insn, 2);
    uint32_t low = lane_bool(op, t.low, c), high = lane_bool(op, t.high, c);
    u32 tmp[LG_LANES];
    LANE_LOOP(LG_LANES) {
        tmp[i] = ((low >> i) & 1 ? yes : 0) | ((high >> i) & 1 ? yes << 16 : 0);
    }
    lane_blend_4(regs + insn->dst[0], tmp, active);
}

static void finish_pair(char *regs, const lg_insn *insn, uint32_t active, masks t, int op) {
    finish_setp(regs, insn, active, t.low, t.high, op);
}

static void finish_not(char *regs, const lg_insn *insn, uint32_t active, uint32_t t, int op) {
    finish_setp(regs, insn, active, t, ~t, op);
}

#define EACH_BOOL(X, ...)                                                                          \
    X(__VA_ARGS__, none, 0) X(__VA_ARGS__, and, 1) X(__VA_ARGS__, or, 2) X(__VA_ARGS__, xor, 3)
#define SETP_ONE(id, bool_op, op)                                                                  \
    static void setp_##id##_##bool_op(char *regs, const lg_insn *insn, uint32_t active) {          \
        finish_not(regs, insn, active, mask_##id(regs, insn), op);                                 \
    }
#define SETP_PAIR(id, bool_op, op)                                                                 \
    static void setp_##id##_##bool_op(char *regs, const lg_insn *insn, uint32_t active) {          \
        finish_pair(regs, insn, active, mask_##id(regs, insn), op);                                \
    }
#define SET_ONE(id, dst, finish, yes, bool_op, op)                                                 \
    static void set_##id##_##dst##_##bool_op(char *regs, const lg_insn *insn, uint32_t active) {   \
        finish(regs, insn, active, mask_##id(regs, insn), op, yes);                                \
    }

#define FORMS(cmp, H, ftz, one)                                                                    \
    MASKS(cmp, H, ftz)                                                                             \
    EACH_BOOL(SETP_ONE, cmp##_##H##ftz)                                                            \
    EACH_BOOL(SETP_PAIR, cmp##_##H##x2##ftz)                                                       \
    EACH_BOOL(SET_ONE, cmp##_##H##ftz, half, finish_set_2, one)                                    \
    EACH_BOOL(SET_ONE, cmp##_##H##ftz, u16, finish_set_2, 0xffffu)                                 \
    EACH_BOOL(SET_ONE, cmp##_##H##ftz, u32, finish_set_4, UINT32_MAX)                              \
    EACH_BOOL(SET_ONE, cmp##_##H##x2##ftz, half, finish_set_pair, one)                             \
    EACH_BOOL(SET_ONE, cmp##_##H##x2##ftz, u32, finish_set_pair, 0xffffu)
#define FORMS_f16(cmp, p, v) FORMS(cmp, f16, 0, 0x3c00u)
#define FORMS_ftz(cmp, p, v) FORMS(cmp, f16, 1, 0x3c00u)
#define FORMS_bf16(cmp, p, v) FORMS(cmp, bf16, 0, 0x3f80u)
LANE_FLOAT_COMPARISONS(FORMS_f16)
LANE_FLOAT_COMPARISONS(FORMS_ftz)
LANE_FLOAT_COMPARISONS(FORMS_bf16)

#define BOOLS(name)                                                                                \
    { name##_none, name##_and, name##_or, name##_xor }
#define SETP_ROW(cmp, H, ftz) {BOOLS(setp_##cmp##_##H##ftz), BOOLS(setp_##cmp##_##H##x2##ftz)},
#define SETP_ROW_f16(cmp, p, v) SETP_ROW(cmp, f16, 0)
#define SETP_ROW_ftz(cmp, p, v) SETP_ROW(cmp, f16, 1)
#define SETP_ROW_bf16(cmp, p, v) SETP_ROW(cmp, bf16, 0)
#define SET_ROW(cmp, H, ftz)                                                                       \
    {BOOLS(set_##cmp##_##H##ftz##_half), BOOLS(set_##cmp##_##H##ftz##_u16),                        \
     BOOLS(set_##cmp##_##H##ftz##_u32), BOOLS(set_##cmp##_##H##x2##ftz##_half),                    \
     BOOLS(set_##cmp##_##H##x2##ftz##_u32)},
#define SET_ROW_f16(cmp, p, v) SET_ROW(cmp, f16, 0)
#define SET_ROW_ftz(cmp, p, v) SET_ROW(cmp, f16, 1)
#define SET_ROW_bf16(cmp, p, v) SET_ROW(cmp, bf16, 0)

// 0 f16, 1 f16 with .ftz, 2 bf16; -1 when the type is none of them, or has no .ftz.
static int half_index(lg_ptx_type type, bool ftz) {
    return type == LG_PTX_F16 || type == LG_PTX_F16X2               ? ftz
           : (type == LG_PTX_BF16 || type == LG_PTX_BF16X2) && !ftz ? 2
                                                                    : -1;
}

lg_lane_fn *LG_ISA_NAME(lg_lane_select_half_setp)(const lg_lane_form *f) {
    static lg_lane_fn *const rows[3][14][2][4] = {{LANE_FLOAT_COMPARISONS(SETP_ROW_f16)},
                                                  {LANE_FLOAT_COMPARISONS(SETP_ROW_ftz)},
                                                  {LANE_FLOAT_COMPARISONS(SETP_ROW_bf16)}};
    const lg_ptx_insn *insn = f->insn;
    const lg_ptx_mods *m = &insn->mods;
    int op = lane_bool_index(m->bool_op), cmp = lane_float_cmp_index(m->cmp);
    int half = insn->n_types == 1 ? half_index(insn->types[0], m->ftz) : -1;
    if (op < 0 || cmp < 0 || half < 0 || f->n_dst < 1 || f->n_dst > 2 ||
        !lane_shape(f, MOD_CMP | MOD_BOOL | MOD_FTZ, f->n_dst, op == 0 ? 2 : 3)) {
        return NULL;
    }
    bool pair = insn->types[0] == LG_PTX_F16X2 || insn->types[0] == LG_PTX_BF16X2;
    return rows[half][cmp][pair][op];
}

lg_lane_fn *LG_ISA_NAME(lg_lane_select_half_set)(const lg_lane_form *f) {
    static lg_lane_fn *const rows[3][14][5][4] = {{LANE_FLOAT_COMPARISONS(SET_ROW_f16)},
                                                  {LANE_FLOAT_COMPARISONS(SET_ROW_ftz)},
                                                  {LANE_FLOAT_COMPARISONS(SET_ROW_bf16)}};
    const lg_ptx_insn *insn = f->insn;
    const lg_ptx_mods *m = &insn->mods;
    if (insn->n_types != 2) {
        return NULL;
    }
    lg_ptx_type to = insn->types[0], from = insn->types[1];
    int op = lane_bool_index(m->bool_op), cmp = lane_float_cmp_index(m->cmp);
    int half = half_index(from, m->ftz);
    if (op < 0 || cmp < 0 || half < 0 ||
        !lane_shape(f, MOD_CMP | MOD_BOOL | MOD_FTZ, 1, op == 0 ? 2 : 3)) {
        return NULL;
    }
    bool pair = from == LG_PTX_F16X2 || from == LG_PTX_BF16X2;
    int column = to == from                                        ? (pair ? 3 : 0)
                 : !pair && (to == LG_PTX_U16 || to == LG_PTX_S16) ? 1
                 : to == LG_PTX_U32 || to == LG_PTX_S32            ? (pair ? 4 : 2)
                                                                   : -1;
    return column >= 0 ? rows[half][cmp][column][op] : NULL;
}
