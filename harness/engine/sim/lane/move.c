// SPDX-License-Identifier: Apache-2.0
// mov: registers, immediates and special registers (all of them slots), predicates, and the forms
// that pack {a, b, …} into a wider register or unpack one.
#include "engine/sim/lane/impl.h"

LANE_FN1(mov_16, u16, u16, a)
LANE_FN1(mov_32, u32, u32, a)
LANE_FN1(mov_64, u64, u64, a)
// A special register may be wider or narrower than the register it is read into.
LANE_FN1(mov_16_32, u16, u32, a)
LANE_FN1(mov_16_64, u16, u64, a)
LANE_FN1(mov_32_16, u32, u16, a)
LANE_FN1(mov_32_64, u32, u64, a)
LANE_FN1(mov_64_16, u64, u16, a)
LANE_FN1(mov_64_32, u64, u32, a)

static void mov_pred(char *regs, const lg_insn *insn, uint32_t active) {
    lane_set_pred(regs, insn->dst[0], lane_pred(regs, insn, 0), active);
}

// The first element is the least significant.
LANE_FN2(pack_32_2, u32, u16, u16, a | (u32)b << 16)
LANE_FN2(pack_64_2, u64, u32, u32, a | (u64)b << 32)
LANE_FN4(pack_64_4, u64, u16, u16, u16, u16, a | (u64)b << 16 | (u64)c << 32 | (u64)e << 48)

// Unpacking goes through buffers, because a destination may be narrower than the source it is from
// but several of them are written.
#define UNPACK(name, A, D, n)                                                                      \
    static void name(char *regs, const lg_insn *insn, uint32_t active) {                           \
        const A *pa = lane_in(regs, insn->src[0]);                                                 \
        D parts[n][LG_LANES];                                                                      \
        for (int k = 0; k < n; k++) {                                                              \
            D *part = parts[k];                                                                    \
            const int shift = k * 8 * (int)sizeof(D);                                              \
            LANE_LOOP(LG_LANES) {                                                                  \
                part[i] = (D)(pa[i] >> shift);                                                     \
            }                                                                                      \
        }                                                                                          \
        for (int k = 0; k < n; k++) {                                                              \
            void *pd = lane_out(regs, insn->dst[k]);                                               \
            if (active == LANE_ALL) {                                                              \
                memcpy(pd, parts[k], sizeof parts[k]);                                             \
            } else {                                                                               \
                lane_blend(pd, parts[k], active, sizeof(D));                                       \
            }                                                                                      \
        }                                                                                          \
    }
UNPACK(unpack_32_2, u32, u16, 2)
UNPACK(unpack_64_2, u64, u32, 2)
UNPACK(unpack_64_4, u64, u16, 4)

static int width_index(int bytes) {
    return bytes == 2 ? 0 : bytes == 4 ? 1 : bytes == 8 ? 2 : -1;
}

lg_lane_fn *LG_ISA_NAME(lg_lane_select_move)(const lg_lane_form *f) {
    static lg_lane_fn *const mov[3][3] = {{mov_16, mov_16_32, mov_16_64},
                                          {mov_32_16, mov_32, mov_32_64},
                                          {mov_64_16, mov_64_32, mov_64}};
    const lg_ptx_insn *insn = f->insn;
    if (insn->n_types != 1 || lane_mods(&insn->mods) != 0 || f->n_dst < 1 || f->n_src < 1) {
        return NULL;
    }
    if (insn->types[0] == LG_PTX_PRED) {
        return f->n_dst == 1 && f->n_src == 1 && f->dst_bytes[0] == 0 && f->src_bytes[0] == 0
                   ? mov_pred
                   : NULL;
    }
    if (f->n_dst == 1 && f->n_src == 1) {
        int d = width_index(f->dst_bytes[0]), s = width_index(f->src_bytes[0]);
        return d >= 0 && s >= 0 ? mov[d][s] : NULL;
    }
    if (f->n_dst == 1) {
        int whole = f->dst_bytes[0], part = f->src_bytes[0];
        if (whole != part * f->n_src || !lane_src_are(f, 0, f->n_src, part)) {
            return NULL;
        }
        return whole == 4 && part == 2   ? pack_32_2
               : whole == 8 && part == 4 ? pack_64_2
               : whole == 8 && part == 2 ? pack_64_4
                                         : NULL;
    }
    int whole = f->src_bytes[0], part = f->dst_bytes[0];
    for (int k = 1; k < f->n_dst; k++) {
        if (f->dst_bytes[k] != part) {
            return NULL;
        }
    }
    if (f->n_src != 1 || whole != part * f->n_dst) {
        return NULL;
    }
    return whole == 4 && part == 2   ? unpack_32_2
           : whole == 8 && part == 4 ? unpack_64_2
           : whole == 8 && part == 2 ? unpack_64_4
                                     : NULL;
}
