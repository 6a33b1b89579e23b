// SPDX-License-Identifier: Apache-2.0
// Runs of instructions as one function: what is between them stays in vector registers. A chain of
// single instructions waits for each store to be read back, which takes longer than the arithmetic.
// Every lane gets the bits that the single instructions give.
#include "engine/sim/lane/exp2.h"
#include "engine/sim/lane/vector.h"

// nvcc's expf, instruction by instruction, for x = (n + d) ln 2 with n in -126..126:
//   t = sat(fma(x, 1/(252 ln 2), 1/2));  s = fma.rm(t, 252, 12582913);  n = s - 12583039
//   d = fma(x, high part of 1/ln 2, -n);  d = fma(x, low part, d);  ex2(d) * (s << 23)
// What a lane gets is the same bits, with what makes no difference left out: s << 23 is 2^n, by
// which ex2's result is multiplied exactly or rounded as ex2(d + n) is; where ex2(d) is flushed,
// the product is 0 either way.
#define EXP_SCALE f32_from(0x3bbb989du)
#define EXP_HIGH f32_from(0x3fb8aa3bu)
#define EXP_LOW f32_from(0x32a57060u)

#ifdef VF_LANES
#define MUL_ADD(a, b, c) VF(add_ps)(VF(mul_ps)(a, b), c)

// exp2_and's value, a NaN not yet canonical.
LANE_INLINE vf vf_exp2_and(vf d, vf more) {
    vf n, f = vf_split(d, &n), square = VF(mul_ps)(f, f);
    vf low = MUL_ADD(VF(set1_ps)(EXP2_Q1), f, VF(set1_ps)(EXP2_Q0));
    vf high = MUL_ADD(VF(set1_ps)(EXP2_Q3), f, VF(set1_ps)(EXP2_Q2));
    vf top = MUL_ADD(VF(set1_ps)(EXP2_Q5), f, VF(set1_ps)(EXP2_Q4));
    high = MUL_ADD(top, square, high);
    vf p = MUL_ADD(MUL_ADD(high, square, low), f, VF(set1_ps)(1.0f));
    return vf_scale(p, VF(add_ps)(n, more));
}

// d, and n to *n.
LANE_INLINE vf vf_exp_split(vf x, vf *n) {
    vf t = VF(fmadd_ps)(x, VF(set1_ps)(EXP_SCALE), VF(set1_ps)(0.5f));
    t = VF(min_ps)(VF(max_ps)(t, VF(setzero_ps)()), VF(set1_ps)(1.0f)); // NaN becomes 0
    *n = VF(sub_ps)(vf_floor_product(t, 252.0f), VF(set1_ps)(126.0f));
    return VF(fmadd_ps)(x, VF(set1_ps)(EXP_LOW), VF(fmsub_ps)(x, VF(set1_ps)(EXP_HIGH), *n));
}

LANE_INLINE vf vf_exp(vf x) {
    vf n, d = vf_exp_split(x, &n);
    return vf_canon(vf_exp2_and(d, n));
}

LANE_INLINE vf vf_exp_plus(vf x, vf c) {
    vf n, d = vf_exp_split(x, &n);
    vf power = vf_flush_below(vf_exp2_and(d, VF(setzero_ps)()), 0x1p-126f);
    return vf_canon(VF(fmadd_ps)(power, vf_scale(VF(set1_ps)(1.0f), n), c));
}

LANE_INLINE void exp_lanes(char *regs, const lg_insn *insn, uint32_t active, bool of_sub,
                           bool plus) {
    const float *pa = lane_in(regs, insn->src[0]), *pb = lane_in(regs, insn->src[1]);
    const float *pc = lane_in(regs, insn->src[of_sub ? 2 : 1]);
    float *pd = lane_out(regs, insn->dst[0]);
    for (int i = 0; i < LG_LANES; i += VF_LANES) {
        vf x = VF(load_ps)(pa + i);
        x = of_sub ? VF(sub_ps)(x, VF(load_ps)(pb + i)) : x;
        x = plus ? vf_exp_plus(x, VF(load_ps)(pc + i)) : vf_exp(x);
        if (active != LANE_ALL) { // a masked store would not be forwarded to the next load
            vf_store_some(pd + i, x, active >> i);
        } else {
            VF(store_ps)(pd + i, x);
        }
    }
}

static void exp_single(char *regs, const lg_insn *insn, uint32_t active) {
    exp_lanes(regs, insn, active, false, false);
}

static void exp_of_sub(char *regs, const lg_insn *insn, uint32_t active) {
    exp_lanes(regs, insn, active, true, false);
}

static void exp_plus(char *regs, const lg_insn *insn, uint32_t active) {
    exp_lanes(regs, insn, active, false, true);
}

static void exp_of_sub_plus(char *regs, const lg_insn *insn, uint32_t active) {
    exp_lanes(regs, insn, active, true, true);
}

#else

// d, and n to *n. With 12582913, a float has no fraction: rounding down is the floor of the exact
// product.
LANE_INLINE float exp_split(float x, float *n) {
    float t = f32_sat(f32_fma(x, EXP_SCALE, 0.5f, ROUND_RN));
    *n = (float)f64_integral((double)t * 252.0, ROUND_RM) - 126.0f;
    return f32_fma(x, EXP_LOW, f32_fma(x, EXP_HIGH, -*n, ROUND_RN), ROUND_RN);
}

LANE_INLINE float exp_of(float x) {
    float n, d = exp_split(x, &n);
    return exp2_and(d, n);
}

LANE_INLINE float exp_plus_of(float x, float c) {
    float n, d = exp_split(x, &n);
    float scale = f32_from((u32)((s32)n + 127) << 23);
    return f32_canon(f32_fma(f32_flush(exp2_of(d)), scale, c, ROUND_RN));
}

LANE_FN1(exp_single, f32, f32, exp_of(a))
LANE_FN2(exp_of_sub, f32, f32, f32, exp_of(a - b))
LANE_FN3(exp_of_sub_plus, f32, f32, f32, f32, exp_plus_of(a - b, c))
LANE_FN2(exp_plus, f32, f32, f32, exp_plus_of(a, b))

#endif

// The shift is a constant: the same in all lanes.
LANE_INLINE void index_lanes(char *regs, const lg_insn *insn, uint32_t active, bool kept) {
    const u64 *pa = lane_in(regs, insn->src[0]);
    const u64 *pb = lane_in(regs, insn->src[1]);
    const u64 *pc = lane_in(regs, insn->src[2]);
    const u32 shift = *(const u32 *)lane_in(regs, insn->src[3]);
    u64 sums[LG_LANES], offsets[LG_LANES];
    u64 *to = lane_out(regs, insn->dst[0]), *offset_to = lane_out(regs, insn->dst[1]);
    u64 *sum = active == LANE_ALL ? to : sums;
    u64 *offset = active == LANE_ALL ? offset_to : offsets;
    LANE_LOOP(LG_LANES) {
        const u64 shifted = (pa[i] + pb[i]) << shift;
        sum[i] = pc[i] + shifted;
        if (kept) {
            offset[i] = shifted;
        }
    }
    if (__builtin_expect(active != LANE_ALL, 0)) {
        lane_blend(to, sums, active, sizeof(u64));
        if (kept) {
            lane_blend(offset_to, offsets, active, sizeof(u64));
        }
    }
}

static void index_only(char *regs, const lg_insn *insn, uint32_t active) {
    index_lanes(regs, insn, active, false);
}

static void index_kept(char *regs, const lg_insn *insn, uint32_t active) {
    index_lanes(regs, insn, active, true);
}

lg_lane_fn *LG_ISA_NAME(lg_lane_fused)(lg_fused_kind kind) {
    static lg_lane_fn *const fns[LG_N_FUSED] = {
        [LG_FUSED_EXP] = exp_single,    [LG_FUSED_EXP_OF_SUB] = exp_of_sub,
        [LG_FUSED_EXP_PLUS] = exp_plus, [LG_FUSED_EXP_OF_SUB_PLUS] = exp_of_sub_plus,
        [LG_FUSED_INDEX] = index_only,  [LG_FUSED_INDEX_KEPT] = index_kept,
    };
    return fns[kind];
}
