// SPDX-License-Identifier: Apache-2.0
// f64 arithmetic: add sub mul fma mad div rcp sqrt in all rounding modes; min max abs neg.
//
// Round to nearest is the machine's. The directed modes are rare and have no wider format to
// compute in, so they run lane by lane under the machine's own rounding mode. NaN operands keep
// their payload and invalid operations give 0xfff8000000000000, as the host does.
#include "engine/sim/lane/float.h"

#include <immintrin.h>

// Without the instruction this is the C library's, which is correctly rounded in every mode.
LANE_INLINE double f64_fma(double a, double b, double c) {
    return __builtin_fma(a, b, c);
}

LANE_FN2(add_RN, f64, f64, f64, a + b)
LANE_FN2(sub_RN, f64, f64, f64, a - b)
LANE_FN2(mul_RN, f64, f64, f64, a *b)
LANE_FN3(fma_RN, f64, f64, f64, f64, f64_fma(a, b, c))
LANE_FN2(div_RN, f64, f64, f64, a / b)
LANE_FN1(rcp_RN, f64, f64, 1.0 / a)
LANE_FN1(sqrt_RN, f64, f64, __builtin_sqrt(a))

// The compiler does not know that the mode changes, so the operands and the result are volatile:
// neither they nor the instructions that set the mode move past one another.
#define DIRECTED(name, n_src, mode, bits, value)                                                   \
    static void name##_##mode(char *regs, const lg_insn *insn, uint32_t active) {                  \
        const f64 *src[n_src];                                                                     \
        f64 tmp[LG_LANES];                                                                         \
        for (int s = 0; s < n_src; s++) {                                                          \
            src[s] = lane_in(regs, insn->src[s]);                                                  \
        }                                                                                          \
        const unsigned saved = _mm_getcsr();                                                       \
        _mm_setcsr((saved & ~0x6000u) | (bits));                                                   \
        for (int i = 0; i < LG_LANES; i++) {                                                       \
            volatile double a = src[0][i];                                                         \
            volatile double b = n_src > 1 ? src[n_src > 1 ? 1 : 0][i] : 0;                         \
            volatile double c = n_src > 2 ? src[n_src > 2 ? 2 : 0][i] : 0;                         \
            volatile double r = value;                                                             \
            tmp[i] = r;                                                                            \
            (void)b;                                                                               \
            (void)c;                                                                               \
        }                                                                                          \
        _mm_setcsr(saved);                                                                         \
        lane_blend_8(regs + insn->dst[0], tmp, active);                                            \
    }
#define DIRECTED_ALL(name, n_src, value)                                                           \
    DIRECTED(name, n_src, RZ, 0x6000u, value)                                                      \
    DIRECTED(name, n_src, RM, 0x2000u, value)                                                      \
    DIRECTED(name, n_src, RP, 0x4000u, value)
DIRECTED_ALL(add, 2, a + b)
DIRECTED_ALL(sub, 2, a - b)
DIRECTED_ALL(mul, 2, a *b)
DIRECTED_ALL(fma, 3, f64_fma(a, b, c))
DIRECTED_ALL(div, 2, a / b)
DIRECTED_ALL(rcp, 1, 1.0 / a)
DIRECTED_ALL(sqrt, 1, __builtin_sqrt(a))

LANE_FN1(abs_f64, u64, u64, a & 0x7fffffffffffffffull)
LANE_FN1(neg_f64, u64, u64, a ^ 0x8000000000000000ull)

// The number of two when only one is, NaN when none is; -0 < +0.
#define F64_NAN f64_from(0x7fffffffffffffffull)
LANE_INLINE double f64_min(double a, double b) {
    double r = a < b ? a : b;
    r = a == b ? f64_from(f64_bits(a) | f64_bits(b)) : r;
    r = b != b ? a : r;
    return r == r ? r : F64_NAN;
}
LANE_INLINE double f64_max(double a, double b) {
    double r = a > b ? a : b;
    r = a == b ? f64_from(f64_bits(a) & f64_bits(b)) : r;
    r = b != b ? a : r;
    return r == r ? r : F64_NAN;
}
LANE_FN2(min_f64, f64, f64, f64, f64_min(a, b))
LANE_FN2(max_f64, f64, f64, f64, f64_max(a, b))

#define MODES(op)                                                                                  \
    { op##_RN, op##_RZ, op##_RM, op##_RP }

lg_lane_fn *LG_ISA_NAME(lg_lane_select_float64)(const lg_lane_form *f) {
    static lg_lane_fn *const add[4] = MODES(add), *const sub[4] = MODES(sub);
    static lg_lane_fn *const mul[4] = MODES(mul), *const fma[4] = MODES(fma);
    static lg_lane_fn *const div[4] = MODES(div), *const rcp[4] = MODES(rcp);
    static lg_lane_fn *const root[4] = MODES(sqrt);
    lg_ptx_op op = f->insn->op;
    int mode = lane_round_index(f->insn->mods.round);
    if (op == LG_OP_ABS || op == LG_OP_NEG) {
        return lane_shape(f, 0, 1, 1) ? (op == LG_OP_ABS ? abs_f64 : neg_f64) : NULL;
    }
    if (op == LG_OP_MIN || op == LG_OP_MAX) {
        return lane_shape(f, 0, 1, 2) ? (op == LG_OP_MIN ? min_f64 : max_f64) : NULL;
    }
    int n_src = op == LG_OP_FMA || op == LG_OP_MAD    ? 3
                : op == LG_OP_RCP || op == LG_OP_SQRT ? 1
                                                      : 2;
    if (mode < 0 || !lane_shape(f, MOD_ROUND, 1, n_src)) {
        return NULL;
    }
    return op == LG_OP_ADD                      ? add[mode]
           : op == LG_OP_SUB                    ? sub[mode]
           : op == LG_OP_MUL                    ? mul[mode]
           : op == LG_OP_FMA || op == LG_OP_MAD ? fma[mode]
           : op == LG_OP_DIV                    ? div[mode]
           : op == LG_OP_RCP                    ? rcp[mode]
           : op == LG_OP_SQRT                   ? root[mode]
                                                : NULL;
}
