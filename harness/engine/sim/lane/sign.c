// SPDX-License-Identifier: Apache-2.0
// copysign (the sign of a, the magnitude of b) and testp.
#include "engine/sim/lane/impl.h"

LANE_FN2(copysign_f32, u32, u32, u32, (a & 0x80000000u) | (b & 0x7fffffffu))
LANE_FN2(copysign_f64, u64, u64, u64, (a & 0x8000000000000000u) | (b & 0x7fffffffffffffffu))

// x is the magnitude's bits, inf those of infinity, min those of the least normal number. Zero is
// neither normal nor subnormal.
#define TESTP(T, name, test)                                                                       \
    static void testp_##name##_##T(char *regs, const lg_insn *insn, uint32_t active) {             \
        const T *pa = lane_in(regs, insn->src[0]);                                                 \
        const T inf = sizeof(T) == 4 ? (T)0x7f800000u : (T)0x7ff0000000000000u;                    \
        const T min = sizeof(T) == 4 ? (T)0x00800000u : (T)0x0010000000000000u;                    \
        uint32_t bits = 0;                                                                         \
        for (int i = 0; i < LG_LANES; i++) {                                                       \
            const T x = (T)(pa[i] << 1) >> 1;                                                      \
            bits |= (uint32_t)(test) << i;                                                         \
        }                                                                                          \
        (void)inf;                                                                                 \
        (void)min;                                                                                 \
        lane_set_pred(regs, insn->dst[0], bits, active);                                           \
    }
#define TESTS(T)                                                                                   \
    TESTP(T, finite, x < inf)                                                                      \
    TESTP(T, infinite, x == inf)                                                                   \
    TESTP(T, number, x <= inf)                                                                     \
    TESTP(T, notanumber, x > inf)                                                                  \
    TESTP(T, normal, x >= min && x < inf)                                                          \
    TESTP(T, subnormal, x > 0 && x < min)
TESTS(u32)
TESTS(u64)

#define ROW(T)                                                                                     \
    {                                                                                              \
        testp_finite_##T, testp_infinite_##T, testp_number_##T, testp_notanumber_##T,              \
            testp_normal_##T, testp_subnormal_##T                                                  \
    }

lg_lane_fn *LG_ISA_NAME(lg_lane_select_sign)(const lg_lane_form *f) {
    static lg_lane_fn *const testp[2][6] = {ROW(u32), ROW(u64)};
    const lg_ptx_insn *insn = f->insn;
    if (insn->n_types != 1 || (insn->types[0] != LG_PTX_F32 && insn->types[0] != LG_PTX_F64)) {
        return NULL;
    }
    bool wide = insn->types[0] == LG_PTX_F64;
    if (insn->op == LG_OP_COPYSIGN) {
        return lane_shape(f, 0, 1, 2) ? (wide ? copysign_f64 : copysign_f32) : NULL;
    }
    lg_ptx_sub sub = insn->mods.sub;
    return lane_shape(f, MOD_SUB, 1, 1) && sub >= LG_SUB_FINITE && sub <= LG_SUB_SUBNORMAL
               ? testp[wide][sub - LG_SUB_FINITE]
               : NULL;
}
