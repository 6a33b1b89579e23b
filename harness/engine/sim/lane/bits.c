// SPDX-License-Identifier: Apache-2.0
// Logic and shifts: and or xor not cnot lop3 shl shr shf prmt, and logic on predicates.
#include "engine/sim/lane/impl.h"

#define LOGIC(T)                                                                                   \
    LANE_FN2(and_##T, T, T, T, a &b)                                                               \
    LANE_FN2(or_##T, T, T, T, a | b)                                                               \
    LANE_FN2(xor_##T, T, T, T, a ^ b)                                                              \
    LANE_FN1(not_##T, T, T, ~a)                                                                    \
    LANE_FN1(cnot_##T, T, T, a == 0)
LOGIC(u16)
LOGIC(u32)
LOGIC(u64)

#define LOGIC_PRED(op, value)                                                                      \
    static void op##_pred(char *regs, const lg_insn *insn, uint32_t active) {                      \
        uint32_t a = lane_pred(regs, insn, 0), b = lane_pred(regs, insn, 1);                       \
        lane_set_pred(regs, insn->dst[0], value, active);                                          \
    }
LOGIC_PRED(and, a &b)
LOGIC_PRED(or, a | b)
LOGIC_PRED(xor, a ^ b)
static void not_pred(char *regs, const lg_insn *insn, uint32_t active) {
    lane_set_pred(regs, insn->dst[0], ~lane_pred(regs, insn, 0), active);
}

// Amounts are 32 bits and clamp at the width of the value: zero, or the sign, is what is left.
LANE_FN2(shl_u16, u16, u16, u32, b > 15 ? 0 : (u32)a << (b & 15))
LANE_FN2(shl_u32, u32, u32, u32, b > 31 ? 0 : a << (b & 31))
LANE_FN2(shl_u64, u64, u64, u32, b > 63 ? 0 : a << (b & 63))
LANE_FN2(shr_u16, u16, u16, u32, b > 15 ? 0 : a >> (b & 15))
LANE_FN2(shr_u32, u32, u32, u32, b > 31 ? 0 : a >> (b & 31))
LANE_FN2(shr_u64, u64, u64, u32, b > 63 ? 0 : a >> (b & 63))
LANE_FN2(shr_s16, s16, s16, u32, a >> (b > 15 ? 15 : b))
LANE_FN2(shr_s32, s32, s32, u32, a >> (b > 31 ? 31 : b))
LANE_FN2(shr_s64, s64, s64, u32, a >> (b > 63 ? 63 : b))

// Funnel shift of the 64 bits b:a, by c modulo 32 (.wrap) or at most 32 (.clamp): .l keeps the
// upper half, .r the lower.
LANE_INLINE u64 join(u32 a, u32 b) {
    return (u64)b << 32 | a;
}
LANE_INLINE u32 at_most_32(u32 c) {
    return c > 32 ? 32 : c;
}
LANE_FN3(shf_l_wrap, u32, u32, u32, u32, (join(a, b) << (c & 31)) >> 32)
LANE_FN3(shf_l_clamp, u32, u32, u32, u32, (join(a, b) << at_most_32(c)) >> 32)
LANE_FN3(shf_r_wrap, u32, u32, u32, u32, join(a, b) >> (c & 31))
LANE_FN3(shf_r_clamp, u32, u32, u32, u32, join(a, b) >> at_most_32(c))

// Bit 4*a+2*b+c of the table is the result for one bit of each source.
LANE_INLINE u32 lop3(u32 a, u32 b, u32 c, u32 table) {
    u32 r = 0;
    r |= (0u - (table & 1)) & ~a & ~b & ~c;
    r |= (0u - (table >> 1 & 1)) & ~a & ~b & c;
    r |= (0u - (table >> 2 & 1)) & ~a & b & ~c;
    r |= (0u - (table >> 3 & 1)) & ~a & b & c;
    r |= (0u - (table >> 4 & 1)) & a & ~b & ~c;
    r |= (0u - (table >> 5 & 1)) & a & ~b & c;
    r |= (0u - (table >> 6 & 1)) & a & b & ~c;
    r |= (0u - (table >> 7 & 1)) & a & b & c;
    return r;
}
LANE_FN4(lop3_b32, u32, u32, u32, u32, u32, lop3(a, b, c, e))

// lop3.and / lop3.or with d|p: p = (d != 0) op q.
LANE_INLINE void lop3_pred(char *regs, const lg_insn *insn, uint32_t active, bool is_and) {
    const u32 *pa = lane_in(regs, insn->src[0]), *pb = lane_in(regs, insn->src[1]);
    const u32 *pc = lane_in(regs, insn->src[2]), *pt = lane_in(regs, insn->src[3]);
    u32 tmp[LG_LANES];
    uint32_t nonzero = 0, q = lane_pred(regs, insn, 4);
    for (int i = 0; i < LG_LANES; i++) {
        tmp[i] = lop3(pa[i], pb[i], pc[i], pt[i]);
        nonzero |= (uint32_t)(tmp[i] != 0) << i;
    }
    lane_blend_4(regs + insn->dst[0], tmp, active);
    lane_set_pred(regs, insn->dst[1], is_and ? nonzero & q : nonzero | q, active);
}
static void lop3_and(char *regs, const lg_insn *insn, uint32_t active) {
    lop3_pred(regs, insn, active, true);
}
static void lop3_or(char *regs, const lg_insn *insn, uint32_t active) {
    lop3_pred(regs, insn, active, false);
}

// prmt: four selectors of four bits each pick a byte of b:a; bit 3 replicates that byte's sign.
LANE_INLINE u32 prmt_byte(u64 bytes, u32 selector) {
    u32 byte = (u32)(bytes >> (8 * (selector & 7))) & 0xff;
    return selector & 8 ? (byte & 0x80 ? 0xff : 0) : byte;
}
LANE_INLINE u32 prmt_all(u32 a, u32 b, u32 s0, u32 s1, u32 s2, u32 s3) {
    u64 bytes = join(a, b);
    return prmt_byte(bytes, s0) | prmt_byte(bytes, s1) << 8 | prmt_byte(bytes, s2) << 16 |
           prmt_byte(bytes, s3) << 24;
}
LANE_FN3(prmt, u32, u32, u32, u32, prmt_all(a, b, c, c >> 4, c >> 8, c >> 12))
// The modes take their two low bits n of c: bytes from n upwards (f4e) or downwards (b4e), byte n
// four times (rc8), n clamped from the left (ecl) or right (ecr), half n twice (rc16).
LANE_INLINE u32 most(u32 x, u32 y) {
    return x > y ? x : y;
}
LANE_INLINE u32 least(u32 x, u32 y) {
    return x < y ? x : y;
}
#define PRMT(mode, s0, s1, s2, s3)                                                                 \
    LANE_INLINE u32 prmt_##mode##_of(u32 a, u32 b, u32 c) {                                        \
        u32 n = c & 3;                                                                             \
        return prmt_all(a, b, s0, s1, s2, s3);                                                     \
    }                                                                                              \
    LANE_FN3(prmt_##mode, u32, u32, u32, u32, prmt_##mode##_of(a, b, c))
PRMT(f4e, n, n + 1, n + 2, n + 3)
PRMT(b4e, n, (n + 7) & 7, (n + 6) & 7, (n + 5) & 7)
PRMT(rc8, n, n, n, n)
PRMT(ecl, n, most(n, 1), most(n, 2), 3)
PRMT(ecr, 0, least(n, 1), least(n, 2), n)
PRMT(rc16, 2 * (n & 1), 2 * (n & 1) + 1, 2 * (n & 1), 2 * (n & 1) + 1)

static lg_lane_fn *select_prmt(const lg_lane_form *f) {
    lg_ptx_sub sub = f->insn->mods.sub;
    return !lane_shape(f, MOD_SUB, 1, 3) ? NULL
           : sub == LG_SUB_NONE          ? prmt
           : sub == LG_SUB_F4E           ? prmt_f4e
           : sub == LG_SUB_B4E           ? prmt_b4e
           : sub == LG_SUB_RC8           ? prmt_rc8
           : sub == LG_SUB_ECL           ? prmt_ecl
           : sub == LG_SUB_ECR           ? prmt_ecr
           : sub == LG_SUB_RC16          ? prmt_rc16
                                         : NULL;
}

static lg_lane_fn *select_lop3(const lg_lane_form *f) {
    lg_ptx_sub op =
        f->insn->mods.bool_op != LG_SUB_NONE ? f->insn->mods.bool_op : f->insn->mods.sub;
    if (op == LG_SUB_NONE) {
        return lane_shape(f, 0, 1, 4) ? lop3_b32 : NULL;
    }
    if (!lane_shape(f, MOD_SUB | MOD_BOOL, 2, 5)) {
        return NULL;
    }
    return op == LG_SUB_AND ? lop3_and : op == LG_SUB_OR ? lop3_or : NULL;
}

static lg_lane_fn *select_shift(const lg_lane_form *f) {
    static lg_lane_fn *const shl[3] = {shl_u16, shl_u32, shl_u64};
    static lg_lane_fn *const shr[2][3] = {{shr_u16, shr_u32, shr_u64}, {shr_s16, shr_s32, shr_s64}};
    static lg_lane_fn *const shf[2][2] = {{shf_l_wrap, shf_l_clamp}, {shf_r_wrap, shf_r_clamp}};
    const lg_ptx_insn *insn = f->insn;
    if (insn->op == LG_OP_SHF) {
        lg_ptx_sub sub = insn->mods.sub;
        return lane_shape(f, MOD_SUB | MOD_WRAP | MOD_CLAMP, 1, 3) &&
                       insn->mods.wrap != insn->mods.clamp && (sub == LG_SUB_L || sub == LG_SUB_R)
                   ? shf[sub == LG_SUB_R][insn->mods.clamp]
                   : NULL;
    }
    int width = lane_bits_index(insn->types[0]);
    if (width < 0 || !lane_shape(f, 0, 1, 2)) {
        return NULL;
    }
    return insn->op == LG_OP_SHL ? shl[width] : shr[lane_int_index(insn->types[0]) >= 3][width];
}

lg_lane_fn *LG_ISA_NAME(lg_lane_select_bits)(const lg_lane_form *f) {
    static lg_lane_fn *const and[4] = {and_u16, and_u32, and_u64, and_pred};
    static lg_lane_fn *const or [4] = {or_u16, or_u32, or_u64, or_pred};
    static lg_lane_fn *const xor [4] = {xor_u16, xor_u32, xor_u64, xor_pred};
    static lg_lane_fn *const not [4] = {not_u16, not_u32, not_u64, not_pred};
    static lg_lane_fn *const cnot[4] = {cnot_u16, cnot_u32, cnot_u64, NULL};
    const lg_ptx_insn *insn = f->insn;
    lg_ptx_op op = insn->op;
    if (insn->n_types != 1) {
        return NULL;
    }
    if (op == LG_OP_SHL || op == LG_OP_SHR || op == LG_OP_SHF) {
        return select_shift(f);
    }
    if (op == LG_OP_PRMT) {
        return select_prmt(f);
    }
    if (op == LG_OP_LOP3) {
        return select_lop3(f);
    }
    int width = insn->types[0] == LG_PTX_PRED ? 3 : lane_bits_index(insn->types[0]);
    if (width < 0) {
        return NULL;
    }
    if (op == LG_OP_NOT || op == LG_OP_CNOT) {
        return lane_shape(f, 0, 1, 1) ? (op == LG_OP_NOT ? not : cnot)[width] : NULL;
    }
    if (!lane_shape(f, 0, 1, 2)) {
        return NULL;
    }
    return op == LG_OP_AND   ? and[width]
           : op == LG_OP_OR  ? or [width]
           : op == LG_OP_XOR ? xor[width]
                             : NULL;
}
