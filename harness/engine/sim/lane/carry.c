// SPDX-License-Identifier: Apache-2.0
// Extended precision: add.cc addc sub.cc subc mad.cc madc. The carry flag is one bit a lane in the
// slot insn->cc; for the subtractions it is the borrow.
#include "engine/sim/lane/impl.h"

// value and carry-out of one lane, in terms of a, b, c and the carry k that came in.
#define CARRY(name, T, n_src, value, carry)                                                        \
    static void name(char *regs, const lg_insn *insn, uint32_t active) {                           \
        const T *pa = lane_in(regs, insn->src[0]);                                                 \
        const T *pb = lane_in(regs, insn->src[1]);                                                 \
        const T *pc = lane_in(regs, insn->src[n_src > 2 ? 2 : 1]);                                 \
        T tmp[LG_LANES];                                                                           \
        uint32_t in, out = 0;                                                                      \
        memcpy(&in, regs + insn->cc, sizeof in);                                                   \
        for (int i = 0; i < LG_LANES; i++) {                                                       \
            const T a = pa[i], b = pb[i], c = pc[i], k = (in >> i) & 1;                            \
            const T r = (T)(value);                                                                \
            (void)c;                                                                               \
            (void)k;                                                                               \
            tmp[i] = r;                                                                            \
            out |= (uint32_t)(carry) << i;                                                         \
        }                                                                                          \
        lane_blend(regs + insn->dst[0], tmp, active, sizeof(T));                                   \
        lane_set_pred(regs, insn->cc, out, active);                                                \
    }
// The same without carry-out.
#define CARRY_IN(name, T, n_src, value)                                                            \
    static void name(char *regs, const lg_insn *insn, uint32_t active) {                           \
        const T *pa = lane_in(regs, insn->src[0]);                                                 \
        const T *pb = lane_in(regs, insn->src[1]);                                                 \
        const T *pc = lane_in(regs, insn->src[n_src > 2 ? 2 : 1]);                                 \
        T tmp[LG_LANES];                                                                           \
        uint32_t in;                                                                               \
        memcpy(&in, regs + insn->cc, sizeof in);                                                   \
        LANE_LOOP(LG_LANES) {                                                                      \
            const T a = pa[i], b = pb[i], c = pc[i], k = (in >> i) & 1;                            \
            (void)c;                                                                               \
            tmp[i] = (T)(value);                                                                   \
        }                                                                                          \
        lane_blend(regs + insn->dst[0], tmp, active, sizeof(T));                                   \
    }

LANE_INLINE u64 high_u32(u32 a, u32 b) {
    return ((u64)a * b) >> 32;
}
LANE_INLINE u64 high_s32(u32 a, u32 b) {
    return (u32)(((s64)(s32)a * (s32)b) >> 32);
}
LANE_INLINE u64 high_u64(u64 a, u64 b) {
    return (u64)(((unsigned __int128)a * b) >> 64);
}
LANE_INLINE u64 high_s64(u64 a, u64 b) {
    return (u64)(((__int128)(s64)a * (s64)b) >> 64);
}

// A sum carries when it is below an operand, or equal to it with a carry coming in.
#define CARRIES(r, x, k) ((r) < (x) || ((k) && (r) == (x)))
#define CARRY_ALL(T)                                                                               \
    CARRY(add_cc_##T, T, 2, a + b, r < a)                                                          \
    CARRY(addc_cc_##T, T, 2, a + b + k, CARRIES(r, a, k))                                          \
    CARRY_IN(addc_##T, T, 2, a + b + k)                                                            \
    CARRY(sub_cc_##T, T, 2, a - b, a < b)                                                          \
    CARRY(subc_cc_##T, T, 2, a - b - k, a < b || (k && a == b))                                    \
    CARRY_IN(subc_##T, T, 2, a - b - k)                                                            \
    CARRY(mad_lo_cc_##T, T, 3, a *b + c, r < c)                                                    \
    CARRY(madc_lo_cc_##T, T, 3, a *b + c + k, CARRIES(r, c, k))                                    \
    CARRY_IN(madc_lo_##T, T, 3, a *b + c + k)
CARRY_ALL(u32)
CARRY_ALL(u64)
#define CARRY_HIGH(S, T)                                                                           \
    CARRY(mad_hi_cc_##S, T, 3, high_##S(a, b) + c, r < c)                                          \
    CARRY(madc_hi_cc_##S, T, 3, high_##S(a, b) + c + k, CARRIES(r, c, k))                          \
    CARRY_IN(madc_hi_##S, T, 3, high_##S(a, b) + c + k)
CARRY_HIGH(u32, u32)
CARRY_HIGH(s32, u32)
CARRY_HIGH(u64, u64)
CARRY_HIGH(s64, u64)

#define WIDTHS(name)                                                                               \
    { name##_u32, name##_u64 }
#define HIGHS(name)                                                                                \
    {                                                                                              \
        {name##_u32, name##_u64}, {                                                                \
            name##_s32, name##_s64                                                                 \
        }                                                                                          \
    }

lg_lane_fn *LG_ISA_NAME(lg_lane_select_carry)(const lg_lane_form *f) {
    static lg_lane_fn *const add[2] = WIDTHS(add_cc), *const sub[2] = WIDTHS(sub_cc);
    static lg_lane_fn *const addc[2][2] = {WIDTHS(addc), WIDTHS(addc_cc)};
    static lg_lane_fn *const subc[2][2] = {WIDTHS(subc), WIDTHS(subc_cc)};
    static lg_lane_fn *const mad_lo[2] = WIDTHS(mad_lo_cc);
    static lg_lane_fn *const madc_lo[2][2] = {WIDTHS(madc_lo), WIDTHS(madc_lo_cc)};
    static lg_lane_fn *const mad_hi[2][2] = HIGHS(mad_hi_cc);
    static lg_lane_fn *const madc_hi[2][2][2] = {HIGHS(madc_hi), HIGHS(madc_hi_cc)};
    const lg_ptx_insn *insn = f->insn;
    lg_ptx_op op = insn->op;
    int type = insn->n_types == 1 ? lane_int_index(insn->types[0]) : -1;
    if (type < 0 || type % 3 == 0) {
        return NULL;
    }
    int width = type % 3 - 1, is_signed = type >= 3, cc = insn->mods.cc;
    if (op == LG_OP_MAD || op == LG_OP_MADC) {
        lg_ptx_sub sub_op = insn->mods.sub;
        if (!lane_shape(f, MOD_CC | MOD_SUB, 1, 3)) {
            return NULL;
        }
        return sub_op == LG_SUB_LO ? (op == LG_OP_MAD ? mad_lo[width] : madc_lo[cc][width])
               : sub_op == LG_SUB_HI
                   ? (op == LG_OP_MAD ? mad_hi[is_signed][width] : madc_hi[cc][is_signed][width])
                   : NULL;
    }
    if (!lane_shape(f, MOD_CC, 1, 2)) {
        return NULL;
    }
    return op == LG_OP_ADD    ? add[width]
           : op == LG_OP_SUB  ? sub[width]
           : op == LG_OP_ADDC ? addc[cc][width]
           : op == LG_OP_SUBC ? subc[cc][width]
                              : NULL;
}
