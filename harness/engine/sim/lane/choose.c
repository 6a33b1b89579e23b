// SPDX-License-Identifier: Apache-2.0
// selp and slct: pick one of two values by a predicate or by a sign.
#include "engine/sim/lane/float.h"

#include <immintrin.h>

// selp's predicate is one word of 32 lane bits, which AVX-512 takes as masks as it is.
#ifdef __AVX512F__
#define LANES_SELECT(T, out, pa, pb, bits, suffix, per)                                            \
    for (int v = 0; v < LG_LANES / per; v++) {                                                     \
        __m512i x = _mm512_loadu_si512(pa + v * per), y = _mm512_loadu_si512(pb + v * per);        \
        __m512i r = _mm512_mask_blend_##suffix((bits) >> (v * per), y, x);                         \
        _mm512_storeu_si512(out + v * per, r);                                                     \
    }
#else
#define LANES_SELECT(T, out, pa, pb, bits, suffix, per)                                            \
    LANE_LOOP(LG_LANES) {                                                                          \
        out[i] = ((bits) >> i) & 1 ? pa[i] : pb[i];                                                \
    }
#endif

#define SELP(T, suffix, per)                                                                       \
    static void selp_##T(char *regs, const lg_insn *insn, uint32_t active) {                       \
        const T *pa = lane_in(regs, insn->src[0]);                                                 \
        const T *pb = lane_in(regs, insn->src[1]);                                                 \
        const uint32_t bits = lane_pred(regs, insn, 2);                                            \
        T tmp[LG_LANES];                                                                           \
        T *pd = lane_out(regs, insn->dst[0]);                                                      \
        T *out = active == LANE_ALL ? pd : tmp;                                                    \
        LANES_SELECT(T, out, pa, pb, bits, suffix, per)                                            \
        if (__builtin_expect(active != LANE_ALL, 0)) {                                             \
            lane_blend(pd, tmp, active, sizeof(T));                                                \
        }                                                                                          \
    }
SELP(u16, epi16, 32)
SELP(u32, epi32, 16)
SELP(u64, epi64, 8)

// slct: a when c >= 0, b otherwise; a NaN c is not.
#define SLCT(T)                                                                                    \
    LANE_FN3(slct_s32_##T, T, T, T, s32, c >= 0 ? a : b)                                           \
    LANE_FN3(slct_f32_##T, T, T, T, f32, c >= 0 ? a : b)
SLCT(u16)
SLCT(u32)
SLCT(u64)
// .ftz flushes c: a negative subnormal becomes -0, which is >= 0.
LANE_INLINE bool flushed_is_at_least_0(float c) {
    return f32_flush(c) >= 0;
}
LANE_FN3(slct_ftz_u16, u16, u16, u16, f32, flushed_is_at_least_0(c) ? a : b)
LANE_FN3(slct_ftz_u32, u32, u32, u32, f32, flushed_is_at_least_0(c) ? a : b)
LANE_FN3(slct_ftz_u64, u64, u64, u64, f32, flushed_is_at_least_0(c) ? a : b)

lg_lane_fn *LG_ISA_NAME(lg_lane_select_choose)(const lg_lane_form *f) {
    static lg_lane_fn *const selp[3] = {selp_u16, selp_u32, selp_u64};
    static lg_lane_fn *const slct_s32[3] = {slct_s32_u16, slct_s32_u32, slct_s32_u64};
    static lg_lane_fn *const slct_f32[2][3] = {{slct_f32_u16, slct_f32_u32, slct_f32_u64},
                                               {slct_ftz_u16, slct_ftz_u32, slct_ftz_u64}};
    const lg_ptx_insn *insn = f->insn;
    if (insn->n_types < 1 || !lane_shape(f, MOD_FTZ, 1, 3)) {
        return NULL;
    }
    lg_ptx_type type = insn->types[0];
    int width = type == LG_PTX_F16 || type == LG_PTX_BF16                             ? 0
                : type == LG_PTX_F32 || type == LG_PTX_F16X2 || type == LG_PTX_BF16X2 ? 1
                : type == LG_PTX_F64                                                  ? 2
                                     : lane_bits_index(type);
    if (width < 0) {
        return NULL;
    }
    if (insn->op == LG_OP_SELP) {
        return insn->n_types == 1 && !insn->mods.ftz ? selp[width] : NULL;
    }
    if (insn->n_types != 2) {
        return NULL;
    }
    return insn->types[1] == LG_PTX_S32 && !insn->mods.ftz ? slct_s32[width]
           : insn->types[1] == LG_PTX_F32                  ? slct_f32[insn->mods.ftz][width]
                                                           : NULL;
}
