// SPDX-License-Identifier: Apache-2.0
// cvt between f16, bf16, f32 and f64, to integral values in the same type, and the packing forms.
#include "engine/sim/lane/half.h"

// Same type, to an integral value in mode RN RZ RM RP, or unchanged (mode NO).
#define INTEGRAL_NO(V, x) (x)
#define INTEGRAL_RN(V, x) V##_integral(x, ROUND_RN)
#define INTEGRAL_RZ(V, x) V##_integral(x, ROUND_RZ)
#define INTEGRAL_RM(V, x) V##_integral(x, ROUND_RM)
#define INTEGRAL_RP(V, x) V##_integral(x, ROUND_RP)
#define SAME(mode)                                                                                 \
    LANE_FN1(f32_##mode##_00, f32, f32, f32_canon(INTEGRAL_##mode(f32, a)))                        \
    LANE_FN1(f32_##mode##_01, f32, f32, f32_sat(INTEGRAL_##mode(f32, a)))                          \
    LANE_FN1(f32_##mode##_10, f32, f32, f32_canon(INTEGRAL_##mode(f32, f32_flush(a))))             \
    LANE_FN1(f32_##mode##_11, f32, f32, f32_sat(INTEGRAL_##mode(f32, f32_flush(a))))               \
    LANE_FN1(f64_##mode##_00, f64, f64, INTEGRAL_##mode(f64, a))                                   \
    LANE_FN1(f64_##mode##_01, f64, f64, f64_sat(INTEGRAL_##mode(f64, a)))                          \
    LANE_FN1(f16_##mode##_00, u16, u16, f16_of(INTEGRAL_##mode(f32, f16_value(a))))                \
    LANE_FN1(f16_##mode##_01, u16, u16, f16_of(f32_sat(INTEGRAL_##mode(f32, f16_value(a)))))       \
    LANE_FN1(bf16_##mode##_00, u16, u16, bf16_of(INTEGRAL_##mode(f32, bf16_value(a))))             \
    LANE_FN1(bf16_##mode##_01, u16, u16, bf16_of(f32_sat(INTEGRAL_##mode(f32, bf16_value(a)))))
SAME(NO)
SAME(RN)
SAME(RZ)
SAME(RM)
SAME(RP)

// Widening is exact.
static void f32_of_f16_00(char *regs, const lg_insn *insn, uint32_t active) {
    float tmp[LG_LANES] __attribute__((aligned(64)));
    load_f16(tmp, lane_in(regs, insn->src[0]), LG_LANES);
    LANE_LOOP(LG_LANES) {
        tmp[i] = f32_canon(tmp[i]);
    }
    lane_finish(regs, insn, active, tmp, sizeof(f32));
}
LANE_FN1(f32_of_f16_01, f32, u16, f32_sat(f16_value(a)))
LANE_FN1(f32_of_bf16_00, f32, u16, f32_canon(bf16_value(a)))
LANE_FN1(f32_of_bf16_01, f32, u16, f32_sat(bf16_value(a)))
LANE_FN1(f32_of_bf16_10, f32, u16, f32_flush(f32_canon(bf16_value(a))))
LANE_FN1(f32_of_bf16_11, f32, u16, f32_sat(f32_flush(bf16_value(a))))
LANE_FN1(f64_of_f16_00, f64, u16, (double)f16_value(a))
LANE_FN1(f64_of_f16_01, f64, u16, f64_sat((double)f16_value(a)))
LANE_FN1(f64_of_bf16_00, f64, u16, (double)bf16_value(a))
LANE_FN1(f64_of_bf16_01, f64, u16, f64_sat((double)bf16_value(a)))
LANE_FN1(f64_of_f32_00, f64, f32, (double)a)
LANE_FN1(f64_of_f32_01, f64, f32, f64_sat((double)a))
LANE_FN1(f64_of_f32_10, f64, f32, (double)f32_flush(a))
LANE_FN1(f64_of_f32_11, f64, f32, f64_sat((double)f32_flush(a)))

// .relu clamps negative values to zero; .satfinite clamps to the largest finite value. NaN stays
// NaN.
LANE_INLINE float f32_relu(float x) {
    return x <= 0 ? 0.0f : x;
}
LANE_INLINE u16 finite_f16(u16 h) {
    return (h & 0x7fffu) == 0x7c00u ? h - 1 : h;
}
LANE_INLINE u16 finite_bf16(u16 h) {
    return (h & 0x7fffu) == 0x7f80u ? h - 1 : h;
}

LANE_INLINE u16 f16_of_f32(float x, int mode) {
    return mode == ROUND_RN ? f16_of(x) : f16_round(x, mode);
}
LANE_INLINE u16 bf16_of_f32(float x, int mode) {
    return mode == ROUND_RN ? bf16_of(x) : bf16_round(x, mode);
}

// Narrowing rounds once. From f32 to the halves also with .relu and .satfinite.
#define NARROW(mode)                                                                               \
    LANE_FN1(f32_of_f64_##mode##_00, f32, f64, f32_canon(f32_round(a, ROUND_##mode)))              \
    LANE_FN1(f32_of_f64_##mode##_01, f32, f64, f32_sat(f32_round(a, ROUND_##mode)))                \
    LANE_FN1(f32_of_f64_##mode##_10, f32, f64, f32_flush(f32_canon(f32_round(a, ROUND_##mode))))   \
    LANE_FN1(f32_of_f64_##mode##_11, f32, f64, f32_sat(f32_flush(f32_round(a, ROUND_##mode))))     \
    LANE_FN1(f16_of_f64_##mode##_00, u16, f64, f16_round(a, ROUND_##mode))                         \
    LANE_FN1(f16_of_f64_##mode##_01, u16, f64, f16_round(f64_sat(a), ROUND_##mode))                \
    LANE_FN1(bf16_of_f64_##mode##_00, u16, f64, bf16_round(a, ROUND_##mode))                       \
    LANE_FN1(bf16_of_f64_##mode##_01, u16, f64, bf16_round(f64_sat(a), ROUND_##mode))              \
    LANE_FN1(bf16_of_f16_##mode##_00, u16, u16, bf16_of_f32(f16_value(a), ROUND_##mode))           \
    LANE_FN1(bf16_of_f16_##mode##_01, u16, u16, bf16_of_f32(f32_sat(f16_value(a)), ROUND_##mode))  \
    LANE_FN1(f16_of_bf16_##mode##_00, u16, u16, f16_of_f32(bf16_value(a), ROUND_##mode))           \
    LANE_FN1(f16_of_bf16_##mode##_01, u16, u16, f16_of_f32(f32_sat(bf16_value(a)), ROUND_##mode))  \
    NARROW_HALF(f16, mode)                                                                         \
    NARROW_HALF(bf16, mode)
#define NARROW_HALF(H, mode)                                                                       \
    LANE_FN1(H##_of_f32_##mode##_01, u16, f32, H##_of_f32(f32_sat(a), ROUND_##mode))               \
    LANE_FN1(H##_of_f32_##mode##_10, u16, f32, H##_of_f32(f32_flush(a), ROUND_##mode))             \
    LANE_FN1(H##_of_f32_##mode##_11, u16, f32, H##_of_f32(f32_sat(f32_flush(a)), ROUND_##mode))    \
    LANE_FN1(H##_relu_##mode##_0, u16, f32, H##_of_f32(f32_relu(a), ROUND_##mode))                 \
    LANE_FN1(H##_relu_##mode##_1, u16, f32, finite_##H(H##_of_f32(f32_relu(a), ROUND_##mode)))     \
    LANE_FN1(H##_finite_##mode, u16, f32, finite_##H(H##_of_f32(a, ROUND_##mode)))                 \
    LANE_FN2(                                                                                      \
        H##x2_##mode##_01, u32, f32, f32,                                                          \
        PAIR(finite_##H(H##_of_f32(a, ROUND_##mode)), finite_##H(H##_of_f32(b, ROUND_##mode))))    \
    LANE_FN2(H##x2_##mode##_10, u32, f32, f32,                                                     \
             PAIR(H##_of_f32(f32_relu(a), ROUND_##mode), H##_of_f32(f32_relu(b), ROUND_##mode)))   \
    LANE_FN2(H##x2_##mode##_11, u32, f32, f32,                                                     \
             PAIR(finite_##H(H##_of_f32(f32_relu(a), ROUND_##mode)),                               \
                  finite_##H(H##_of_f32(f32_relu(b), ROUND_##mode))))
// a becomes the upper half.
#define PAIR(high, low) ((u32)(high) << 16 | (low))
NARROW(RN)
NARROW(RZ)
NARROW(RM)
NARROW(RP)

#define NARROW_PLAIN(H, mode)                                                                      \
    LANE_FN1(H##_of_f32_##mode##_00, u16, f32, H##_of_f32(a, ROUND_##mode))                        \
    LANE_FN2(H##x2_##mode##_00, u32, f32, f32,                                                     \
             PAIR(H##_of_f32(a, ROUND_##mode), H##_of_f32(b, ROUND_##mode)))
NARROW_PLAIN(f16, RZ)
NARROW_PLAIN(f16, RM)
NARROW_PLAIN(f16, RP)
NARROW_PLAIN(bf16, RN)
NARROW_PLAIN(bf16, RZ)
NARROW_PLAIN(bf16, RM)
NARROW_PLAIN(bf16, RP)

// The frequent ones go through the conversion instructions where there are any.
static void f16_of_f32_RN_00(char *regs, const lg_insn *insn, uint32_t active) {
    u16 tmp[LG_LANES] __attribute__((aligned(64)));
    store_f16(tmp, lane_in(regs, insn->src[0]), LG_LANES);
    lane_finish(regs, insn, active, tmp, sizeof(u16));
}
static void f16x2_RN_00(char *regs, const lg_insn *insn, uint32_t active) {
    u16 high[LG_LANES] __attribute__((aligned(64))), low[LG_LANES] __attribute__((aligned(64)));
    u32 tmp[LG_LANES] __attribute__((aligned(64)));
    store_f16(high, lane_in(regs, insn->src[0]), LG_LANES);
    store_f16(low, lane_in(regs, insn->src[1]), LG_LANES);
    LANE_LOOP(LG_LANES) {
        tmp[i] = PAIR(high[i], low[i]);
    }
    lane_finish(regs, insn, active, tmp, sizeof(u32));
}

// The kinds of float that cvt takes, as rows and columns of its tables.
static int kind_of(lg_ptx_type type) {
    return type == LG_PTX_F16    ? 0
           : type == LG_PTX_BF16 ? 1
           : type == LG_PTX_F32  ? 2
           : type == LG_PTX_F64  ? 3
                                 : -1;
}

#define ROW_SAME(T)                                                                                \
    {T##_NO_00, T##_RN_00, T##_RZ_00, T##_RM_00, T##_RP_00}, {                                     \
        T##_NO_01, T##_RN_01, T##_RZ_01, T##_RM_01, T##_RP_01                                      \
    }
static lg_lane_fn *select_same(const lg_ptx_mods *m, int kind) {
    static lg_lane_fn *const rows[4][2][5] = {
        {ROW_SAME(f16)}, {ROW_SAME(bf16)}, {ROW_SAME(f32)}, {ROW_SAME(f64)}};
    static lg_lane_fn *const flushed[2][5] = {
        {f32_NO_10, f32_RN_10, f32_RZ_10, f32_RM_10, f32_RP_10},
        {f32_NO_11, f32_RN_11, f32_RZ_11, f32_RM_11, f32_RP_11}};
    int mode = m->round == LG_ROUND_DEFAULT ? 0
               : m->round >= LG_ROUND_RNI && m->round <= LG_ROUND_RPI
                   ? (int)m->round - LG_ROUND_RNI + 1
                   : lane_round_index(m->round) + 1;
    if (m->relu || m->satfinite || m->round == LG_ROUND_RNA) {
        return NULL;
    }
    if (m->ftz) {
        // .ftz is about f32; on f16 it is accepted where it cannot matter.
        return kind == 2 ? flushed[m->sat][mode] : NULL;
    }
    return rows[kind][m->sat][mode];
}

#define ROW_WIDE(D, A)                                                                             \
    {                                                                                              \
        {D##_of_##A##_00, D##_of_##A##_01}, {                                                      \
            D##_of_##A##_10, D##_of_##A##_11                                                       \
        }                                                                                          \
    }
#define ROW_WIDE_PLAIN(D, A)                                                                       \
    {                                                                                              \
        {D##_of_##A##_00, D##_of_##A##_01}, {                                                      \
            D##_of_##A##_00, D##_of_##A##_01                                                       \
        }                                                                                          \
    }
static lg_lane_fn *select_wide(const lg_ptx_mods *m, int to, int from) {
    static lg_lane_fn *const f32_rows[2][2][2] = {ROW_WIDE_PLAIN(f32, f16), ROW_WIDE(f32, bf16)};
    static lg_lane_fn *const f64_rows[3][2][2] = {ROW_WIDE_PLAIN(f64, f16),
                                                  ROW_WIDE_PLAIN(f64, bf16), ROW_WIDE(f64, f32)};
    if (m->round != LG_ROUND_DEFAULT || m->relu || m->satfinite) {
        return NULL;
    }
    return to == 2 ? f32_rows[from][m->ftz][m->sat] : f64_rows[from][m->ftz][m->sat];
}

#define MODES(name, tail)                                                                          \
    { name##_RN_##tail, name##_RZ_##tail, name##_RM_##tail, name##_RP_##tail }
#define ROW_NARROW(name)                                                                           \
    {                                                                                              \
        {MODES(name, 00), MODES(name, 01)}, {                                                      \
            MODES(name, 10), MODES(name, 11)                                                       \
        }                                                                                          \
    }
#define ROW_NARROW_PLAIN(name)                                                                     \
    {                                                                                              \
        {MODES(name, 00), MODES(name, 01)}, {                                                      \
            {NULL}, {                                                                              \
                NULL                                                                               \
            }                                                                                      \
        }                                                                                          \
    }
static lg_lane_fn *select_narrow(const lg_ptx_mods *m, int to, int from) {
    static lg_lane_fn *const f32_f64[2][2][4] = ROW_NARROW(f32_of_f64);
    static lg_lane_fn *const half_f64[2][2][2][4] = {ROW_NARROW_PLAIN(f16_of_f64),
                                                     ROW_NARROW_PLAIN(bf16_of_f64)};
    static lg_lane_fn *const half_f32[2][2][2][4] = {ROW_NARROW(f16_of_f32),
                                                     ROW_NARROW(bf16_of_f32)};
    static lg_lane_fn *const half_half[2][2][2][4] = {ROW_NARROW_PLAIN(f16_of_bf16),
                                                      ROW_NARROW_PLAIN(bf16_of_f16)};
    static lg_lane_fn *const relu[2][2][4] = {{MODES(f16_relu, 0), MODES(f16_relu, 1)},
                                              {MODES(bf16_relu, 0), MODES(bf16_relu, 1)}};
    static lg_lane_fn *const finite[2][4] = {
        {f16_finite_RN, f16_finite_RZ, f16_finite_RM, f16_finite_RP},
        {bf16_finite_RN, bf16_finite_RZ, bf16_finite_RM, bf16_finite_RP}};
    int mode = lane_round_index(m->round);
    if (mode < 0 || m->round == LG_ROUND_DEFAULT) {
        return NULL;
    }
    if (m->relu || m->satfinite) {
        bool plain = from == 2 && to < 2 && !m->ftz && !m->sat;
        return !plain ? NULL : m->relu ? relu[to][m->satfinite][mode] : finite[to][mode];
    }
    if (to == 2) {
        return f32_f64[m->ftz][m->sat][mode];
    }
    return (from == 3 ? half_f64 : from == 2 ? half_f32 : half_half)[to][m->ftz][m->sat][mode];
}

static lg_lane_fn *select_pair(const lg_lane_form *f) {
    static lg_lane_fn *const rows[2][2][2][4] = {ROW_NARROW(f16x2), ROW_NARROW(bf16x2)};
    const lg_ptx_mods *m = &f->insn->mods;
    int mode = lane_round_index(m->round);
    if (mode < 0 || m->round == LG_ROUND_DEFAULT || f->insn->types[1] != LG_PTX_F32 ||
        !lane_shape(f, MOD_ROUND | MOD_RELU | MOD_SATFINITE, 1, 2) || f->dst_bytes[0] != 4 ||
        !lane_src_are(f, 0, 2, 4)) {
        return NULL;
    }
    return rows[f->insn->types[0] == LG_PTX_BF16X2][m->relu][m->satfinite][mode];
}

lg_lane_fn *LG_ISA_NAME(lg_lane_select_cvt_float)(const lg_lane_form *f) {
    const lg_ptx_insn *insn = f->insn;
    const lg_ptx_mods *m = &insn->mods;
    if (insn->types[0] == LG_PTX_F16X2 || insn->types[0] == LG_PTX_BF16X2) {
        return select_pair(f);
    }
    int to = kind_of(insn->types[0]), from = kind_of(insn->types[1]);
    if (to < 0 || from < 0 || f->dst_bytes[0] != lg_ptx_type_bytes(insn->types[0]) ||
        f->src_bytes[0] != lg_ptx_type_bytes(insn->types[1]) ||
        !lane_shape(f, MOD_ROUND | MOD_FTZ | MOD_SAT | MOD_RELU | MOD_SATFINITE, 1, 1)) {
        return NULL;
    }
    return to == from                             ? select_same(m, to)
           : to > from && !(to == 1 && from == 0) ? select_wide(m, to, from)
                                                  : select_narrow(m, to, from);
}
