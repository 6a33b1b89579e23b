// SPDX-License-Identifier: Apache-2.0
// cvt by the classes of its types, and cvt.pack.
#include "engine/sim/lane/convert.h"

// cvt.pack.sat: a and b, saturated, a above b; with 8-bit results the lower half of c moves up.
LANE_INLINE u32 packed(s32 x, s32 least, s32 most) {
    return (u32)(x < least ? least : x > most ? most : x);
}
LANE_FN2(pack_u16, u32, s32, s32, packed(a, 0, 65535) << 16 | packed(b, 0, 65535))
LANE_FN2(pack_s16, u32, s32, s32,
         packed(a, -32768, 32767) << 16 | (packed(b, -32768, 32767) & 0xffffu))
LANE_FN3(pack_u8, u32, s32, s32, u32, c << 16 | packed(a, 0, 255) << 8 | packed(b, 0, 255))
LANE_FN3(pack_s8, u32, s32, s32, u32,
         c << 16 | (packed(a, -128, 127) & 0xffu) << 8 | (packed(b, -128, 127) & 0xffu))

static lg_lane_fn *select_pack(const lg_lane_form *f) {
    const lg_ptx_insn *insn = f->insn;
    if (insn->types[1] != LG_PTX_S32 || !insn->mods.sat || f->dst_bytes[0] != 4 ||
        !lane_src_are(f, 0, f->n_src, 4)) {
        return NULL;
    }
    if (lane_shape(f, MOD_SAT, 1, 2) && insn->n_types == 2) {
        return insn->types[0] == LG_PTX_U16   ? pack_u16
               : insn->types[0] == LG_PTX_S16 ? pack_s16
                                              : NULL;
    }
    if (lane_shape(f, MOD_SAT, 1, 3) && insn->n_types == 3 && insn->types[2] == LG_PTX_B32) {
        return insn->types[0] == LG_PTX_U8 ? pack_u8 : insn->types[0] == LG_PTX_S8 ? pack_s8 : NULL;
    }
    return NULL;
}

static bool is_integer(lg_ptx_type type) {
    return (type >= LG_PTX_U8 && type <= LG_PTX_S64);
}

lg_lane_fn *LG_ISA_NAME(lg_lane_select_cvt)(const lg_lane_form *f) {
    const lg_ptx_insn *insn = f->insn;
    if (insn->n_types < 2) {
        return NULL;
    }
    if (insn->mods.pack) {
        return select_pack(f);
    }
    if (insn->n_types != 2) {
        return NULL;
    }
    bool to = is_integer(insn->types[0]), from = is_integer(insn->types[1]);
    return to && from ? LG_ISA_NAME(lg_lane_select_cvt_int)(f)
           : to       ? LG_ISA_NAME(lg_lane_select_cvt_to_int)(f)
           : from     ? LG_ISA_NAME(lg_lane_select_cvt_from_int)(f)
                      : LG_ISA_NAME(lg_lane_select_cvt_float)(f);
}
