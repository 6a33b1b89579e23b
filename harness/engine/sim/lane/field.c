// SPDX-License-Identifier: Apache-2.0
// Bits and bit fields: popc clz brev bfind bfe bfi szext bmsk fns.
#include "engine/sim/lane/impl.h"

LANE_FN1(popc_b32, u32, u32, __builtin_popcount(a))
LANE_FN1(popc_b64, u32, u64, __builtin_popcountll(a))
LANE_FN1(clz_b32, u32, u32, a ? __builtin_clz(a) : 32)
LANE_FN1(clz_b64, u32, u64, a ? __builtin_clzll(a) : 64)

LANE_INLINE u32 reverse_b32(u32 a) {
    a = (a >> 1 & 0x55555555u) | (a & 0x55555555u) << 1;
    a = (a >> 2 & 0x33333333u) | (a & 0x33333333u) << 2;
    a = (a >> 4 & 0x0f0f0f0fu) | (a & 0x0f0f0f0fu) << 4;
    a = (a >> 8 & 0x00ff00ffu) | (a & 0x00ff00ffu) << 8;
    return a >> 16 | a << 16;
}
LANE_FN1(brev_b32, u32, u32, reverse_b32(a))
LANE_FN1(brev_b64, u64, u64, (u64)reverse_b32((u32)a) << 32 | reverse_b32((u32)(a >> 32)))

// The most significant bit that differs from the sign (for .u: that is one), all ones when there is
// none; .shiftamt counts the shift left that would bring it to the top instead.
LANE_INLINE u32 find_bit(u64 a, u32 top, bool shiftamt) {
    u32 position = a ? 63u - (u32)__builtin_clzll(a) : 0;
    return a == 0 ? UINT32_MAX : shiftamt ? top - position : position;
}
#define BFIND(T, top, value)                                                                       \
    LANE_FN1(bfind_##T, u32, T, find_bit(value, top, false))                                       \
    LANE_FN1(bfind_shiftamt_##T, u32, T, find_bit(value, top, true))
BFIND(u32, 31, a)
BFIND(s32, 31, a < 0 ? (u32)~a : (u32)a)
BFIND(u64, 63, a)
BFIND(s64, 63, a < 0 ? (u64)~a : (u64)a)

// bfe: `len` bits from `pos`, both of 8 bits. Bits beyond the register are zero, or for .s copies
// of the field's sign bit, which is the register's own when the field reaches beyond it.
LANE_INLINE u64 field_mask(u32 len, u32 bits) {
    return len >= bits ? (bits == 64 ? UINT64_MAX : (1ull << bits) - 1) : (1ull << len) - 1;
}
LANE_INLINE u64 extract(u64 a, u32 pos, u32 len, u32 bits, bool is_signed) {
    pos &= 0xff;
    len &= 0xff;
    u64 mask = field_mask(len, bits);
    u64 field = pos >= bits ? 0 : (a >> (pos & 63)) & mask;
    u32 sign_at = pos + len - 1 > bits - 1 ? bits - 1 : pos + len - 1;
    bool negative = is_signed && len > 0 && ((a >> (sign_at & 63)) & 1);
    // How many bits of the field lie within the register; the rest are copies of the sign.
    u32 inside = pos >= bits ? 0 : len < bits - pos ? len : bits - pos;
    return negative ? field | ~field_mask(inside, 64) : field;
}
LANE_FN3(bfe_u32, u32, u32, u32, u32, extract(a, b, c, 32, false))
LANE_FN3(bfe_s32, u32, u32, u32, u32, extract(a, b, c, 32, true))
LANE_FN3(bfe_u64, u64, u64, u32, u32, extract(a, b, c, 64, false))
LANE_FN3(bfe_s64, u64, u64, u32, u32, extract(a, b, c, 64, true))

// bfi: the low `len` bits of a into b at `pos`; what would lie beyond the register is dropped.
LANE_INLINE u64 insert(u64 a, u64 b, u32 pos, u32 len, u32 bits) {
    pos &= 0xff;
    len &= 0xff;
    u64 mask = pos >= bits ? 0 : field_mask(len, bits) << (pos & 63);
    u64 moved = pos >= bits ? 0 : a << (pos & 63);
    return (moved & mask) | (b & ~mask);
}
LANE_FN4(bfi_b32, u32, u32, u32, u32, u32, insert(a, b, c, e, 32))
LANE_FN4(bfi_b64, u64, u64, u64, u32, u32, insert(a, b, c, e, 64))

// szext: the low b bits of a, extended. .wrap takes b modulo 32, .clamp at most 32.
LANE_INLINE u32 extend(u32 a, u32 n, bool is_signed) {
    if (n >= 32) {
        return a;
    }
    u32 low = a & ((1u << n) - 1);
    bool negative = is_signed && n > 0 && (a >> ((n - 1) & 31) & 1);
    return negative ? low | ~((1u << n) - 1) : low;
}
LANE_FN2(szext_wrap_u32, u32, u32, u32, extend(a, b & 31, false))
LANE_FN2(szext_wrap_s32, u32, u32, u32, extend(a, b & 31, true))
LANE_FN2(szext_clamp_u32, u32, u32, u32, extend(a, b, false))
LANE_FN2(szext_clamp_s32, u32, u32, u32, extend(a, b, true))

// bmsk: b ones from bit a upwards.
LANE_INLINE u32 mask_from(u32 a, u32 b) {
    u32 ones = b >= 32 ? UINT32_MAX : (1u << (b & 31)) - 1;
    return a >= 32 ? 0 : ones << (a & 31);
}
LANE_FN2(bmsk_wrap, u32, u32, u32, mask_from(a & 31, b & 31))
LANE_FN2(bmsk_clamp, u32, u32, u32, mask_from(a, b))

// fns: the position of the n-th set bit of the mask from `base` on, upwards for n > 0 and downwards
// for n < 0; n = 0 asks for bit `base` itself. All ones when there is none.
static u32 nth_set(u32 mask, u32 base, s32 n) {
    if (base > 31) {
        return UINT32_MAX;
    }
    s64 left = n == 0 ? 1 : n < 0 ? -(s64)n : n;
    int step = n < 0 ? -1 : 1, end = n == 0 ? (int)base + 1 : n < 0 ? -1 : 32;
    for (int p = (int)base; p != end; p += step) {
        if ((mask >> p & 1) && --left == 0) {
            return (u32)p;
        }
    }
    return UINT32_MAX;
}
LANE_FN3(fns_b32, u32, u32, u32, s32, nth_set(a, b, c))

static lg_lane_fn *select_bfind(const lg_lane_form *f, int type) {
    static lg_lane_fn *const rows[2][6] = {{NULL, bfind_u32, bfind_u64, NULL, bfind_s32, bfind_s64},
                                           {NULL, bfind_shiftamt_u32, bfind_shiftamt_u64, NULL,
                                            bfind_shiftamt_s32, bfind_shiftamt_s64}};
    return type >= 0 && lane_shape(f, MOD_SHIFTAMT, 1, 1) ? rows[f->insn->mods.shiftamt][type]
                                                          : NULL;
}

// szext and bmsk need exactly one of .wrap and .clamp.
static lg_lane_fn *select_extend(const lg_lane_form *f, int type) {
    static lg_lane_fn *const szext[2][2] = {{szext_wrap_u32, szext_wrap_s32},
                                            {szext_clamp_u32, szext_clamp_s32}};
    static lg_lane_fn *const bmsk[2] = {bmsk_wrap, bmsk_clamp};
    const lg_ptx_insn *insn = f->insn;
    bool clamp = insn->mods.clamp;
    if (!lane_shape(f, MOD_WRAP | MOD_CLAMP, 1, 2) || insn->mods.wrap == clamp) {
        return NULL;
    }
    if (insn->op == LG_OP_BMSK) {
        return insn->types[0] == LG_PTX_B32 ? bmsk[clamp] : NULL;
    }
    return type == 1 || type == 4 ? szext[clamp][type == 4] : NULL;
}

lg_lane_fn *LG_ISA_NAME(lg_lane_select_field)(const lg_lane_form *f) {
    static lg_lane_fn *const bfe[6] = {NULL, bfe_u32, bfe_u64, NULL, bfe_s32, bfe_s64};
    static lg_lane_fn *const popc[3] = {NULL, popc_b32, popc_b64};
    static lg_lane_fn *const clz[3] = {NULL, clz_b32, clz_b64};
    static lg_lane_fn *const brev[3] = {NULL, brev_b32, brev_b64};
    static lg_lane_fn *const bfi[3] = {NULL, bfi_b32, bfi_b64};
    const lg_ptx_insn *insn = f->insn;
    lg_ptx_op op = insn->op;
    if (insn->n_types != 1) {
        return NULL;
    }
    int type = lane_int_index(insn->types[0]);
    int width = type < 0 ? lane_bits_index(insn->types[0]) : -1;
    if (op == LG_OP_BFIND) {
        return select_bfind(f, type);
    }
    if (op == LG_OP_SZEXT || op == LG_OP_BMSK) {
        return select_extend(f, type);
    }
    if (op == LG_OP_BFE) {
        return type >= 0 && lane_shape(f, 0, 1, 3) ? bfe[type] : NULL;
    }
    if (op == LG_OP_FNS) {
        return insn->types[0] == LG_PTX_B32 && lane_shape(f, 0, 1, 3) ? fns_b32 : NULL;
    }
    if (op == LG_OP_BFI) {
        return width >= 0 && lane_shape(f, 0, 1, 4) ? bfi[width] : NULL;
    }
    if (width < 0 || !lane_shape(f, 0, 1, 1)) {
        return NULL;
    }
    return op == LG_OP_POPC   ? popc[width]
           : op == LG_OP_CLZ  ? clz[width]
           : op == LG_OP_BREV ? brev[width]
                              : NULL;
}
