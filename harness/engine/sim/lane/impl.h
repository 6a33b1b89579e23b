// SPDX-License-Identifier: Apache-2.0
// What every lane/*.c shares: element types, the shape of a lane function, and what modifiers a
// form carries. Each of these files is compiled once an instruction set with LG_ISA set to its name
// (isa.cmake), so every symbol that crosses a file goes through LG_ISA_NAME.
#ifndef LG_ENGINE_SIM_LANE_IMPL_H
#define LG_ENGINE_SIM_LANE_IMPL_H

#include "engine/sim/lane/lane.h"

#include <stddef.h>
#include <string.h>

#ifdef __AVX512F__
#include <immintrin.h>
#endif

#ifndef LG_ISA
#error "lane/*.c is compiled by isa.cmake, which sets LG_ISA"
#endif

#define LG_ISA_JOIN2(base, isa) base##_##isa
#define LG_ISA_JOIN(base, isa) LG_ISA_JOIN2(base, isa)
#define LG_ISA_NAME(base) LG_ISA_JOIN(base, LG_ISA)

#define LANE_INLINE static inline __attribute__((always_inline))

// One slot is seen as whatever type the instruction names, so accesses may alias. A lane reads its
// elements before it writes, and a destination is either exactly a source's slot or apart from it,
// so there is no dependence from one lane to another: the loops may run in any order.
typedef uint8_t u8;
typedef int8_t s8;
typedef uint16_t __attribute__((may_alias)) u16;
typedef uint32_t __attribute__((may_alias)) u32;
typedef uint64_t __attribute__((may_alias)) u64;
typedef int16_t __attribute__((may_alias)) s16;
typedef int32_t __attribute__((may_alias)) s32;
typedef int64_t __attribute__((may_alias)) s64;
typedef float __attribute__((may_alias)) f32;
typedef double __attribute__((may_alias)) f64;

#if defined(__clang__)
#define LANE_LOOP(n) _Pragma("clang loop vectorize(assume_safety)") for (int i = 0; i < (n); i++)
#else
#define LANE_LOOP(n) _Pragma("GCC ivdep") for (int i = 0; i < (n); i++)
#endif

#define LANE_ALL UINT32_MAX

LANE_INLINE const void *lane_in(const char *regs, uint32_t slot) {
    return __builtin_assume_aligned(regs + slot, 64);
}

LANE_INLINE void *lane_out(char *regs, uint32_t slot) {
    return __builtin_assume_aligned(regs + slot, 64);
}

// A function computes into its destination when all lanes are active, and into a buffer of its own
// otherwise, of which these keep the active lanes. That costs a store more than a masked loop
// would, and halves the code.
#ifdef __AVX512F__
#define LANE_BLEND(name, T, suffix, mask, per)                                                     \
    static __attribute__((noinline, unused)) void name(void *dst, const void *from,                \
                                                       uint32_t active) {                          \
        T *d = dst;                                                                                \
        const T *t = from;                                                                         \
        for (int i = 0; i < LG_LANES; i += per) {                                                  \
            __m512i v = _mm512_loadu_si512(t + i);                                                 \
            _mm512_mask_storeu_##suffix(d + i, (mask)(active >> i), v);                            \
        }                                                                                          \
    }
#else
#define LANE_BLEND(name, T, suffix, mask, per)                                                     \
    static __attribute__((noinline, unused)) void name(void *dst, const void *from,                \
                                                       uint32_t active) {                          \
        T *d = __builtin_assume_aligned(dst, 64);                                                  \
        const T *t = from;                                                                         \
        LANE_LOOP(LG_LANES) {                                                                      \
            d[i] = (active >> i) & 1 ? t[i] : d[i];                                                \
        }                                                                                          \
    }
#endif
LANE_BLEND(lane_blend_2, u16, epi16, __mmask32, 32)
LANE_BLEND(lane_blend_4, u32, epi32, __mmask16, 16)
LANE_BLEND(lane_blend_8, u64, epi64, __mmask8, 8)

LANE_INLINE void lane_blend(void *dst, const void *from, uint32_t active, size_t bytes) {
    if (bytes == 2) {
        lane_blend_2(dst, from, active);
    } else if (bytes == 4) {
        lane_blend_4(dst, from, active);
    } else {
        lane_blend_8(dst, from, active);
    }
}

// Writes a whole buffer of results.
LANE_INLINE void lane_finish(char *regs, const lg_insn *insn, uint32_t active, const void *from,
                             size_t bytes) {
    void *pd = lane_out(regs, insn->dst[0]);
    if (active == LANE_ALL) {
        memcpy(pd, from, bytes * LG_LANES);
    } else {
        lane_blend(pd, from, active, bytes);
    }
}

// A predicate register keeps the bits of the inactive lanes.
LANE_INLINE uint32_t lane_pred(const char *regs, const lg_insn *insn, int s) {
    uint32_t bits;
    memcpy(&bits, regs + insn->src[s], sizeof bits);
    return bits ^ (0u - ((insn->src_inverted >> s) & 1u));
}

LANE_INLINE void lane_set_pred(char *regs, uint32_t slot, uint32_t bits, uint32_t active) {
    uint32_t old;
    memcpy(&old, regs + slot, sizeof old);
    old = (old & ~active) | (bits & active);
    memcpy(regs + slot, &old, sizeof old);
}

// LANE_FN<n>(name, D, A, …, value): a lane function of n sources, `value` in terms of a, b, c, e.
#define LANE_SOURCE(T, x, n) const T *p##x = lane_in(regs, insn->src[n]);
#define LANE_VALUE(T, x) const T x = p##x[i];
#define LANE_FN(name, D, sources, values, value)                                                   \
    static void name(char *regs, const lg_insn *insn, uint32_t active) {                           \
        sources D tmp[LG_LANES];                                                                   \
        D *pd = lane_out(regs, insn->dst[0]);                                                      \
        D *out = active == LANE_ALL ? pd : tmp;                                                    \
        LANE_LOOP(LG_LANES) {                                                                      \
            values out[i] = (D)(value);                                                            \
        }                                                                                          \
        if (__builtin_expect(active != LANE_ALL, 0)) {                                             \
            lane_blend(pd, tmp, active, sizeof(D));                                                \
        }                                                                                          \
    }
#define LANE_FN1(name, D, A, value) LANE_FN(name, D, LANE_SOURCE(A, a, 0), LANE_VALUE(A, a), value)
#define LANE_FN2(name, D, A, B, value)                                                             \
    LANE_FN(name, D, LANE_SOURCE(A, a, 0) LANE_SOURCE(B, b, 1), LANE_VALUE(A, a) LANE_VALUE(B, b), \
            value)
#define LANE_FN3(name, D, A, B, C, value)                                                          \
    LANE_FN(name, D, LANE_SOURCE(A, a, 0) LANE_SOURCE(B, b, 1) LANE_SOURCE(C, c, 2),               \
            LANE_VALUE(A, a) LANE_VALUE(B, b) LANE_VALUE(C, c), value)
#define LANE_FN4(name, D, A, B, C, E, value)                                                       \
    LANE_FN(name, D,                                                                               \
            LANE_SOURCE(A, a, 0) LANE_SOURCE(B, b, 1) LANE_SOURCE(C, c, 2) LANE_SOURCE(E, e, 3),   \
            LANE_VALUE(A, a) LANE_VALUE(B, b) LANE_VALUE(C, c) LANE_VALUE(E, e), value)

// The modifiers of a form as bits, so that a topic says in one place which it takes: a modifier
// that nobody looks at must not be dropped silently.
enum {
    MOD_FTZ = 1 << 0,
    MOD_SAT = 1 << 1,
    MOD_APPROX = 1 << 2,
    MOD_FULL = 1 << 3,
    MOD_CC = 1 << 4,
    MOD_NAN = 1 << 5,
    MOD_XORSIGN = 1 << 6,
    MOD_RELU = 1 << 7,
    MOD_SATFINITE = 1 << 8,
    MOD_WRAP = 1 << 9,
    MOD_CLAMP = 1 << 10,
    MOD_SHIFTAMT = 1 << 11,
    MOD_SYNC = 1 << 12,
    MOD_SUB = 1 << 13,
    MOD_CMP = 1 << 14,
    MOD_BOOL = 1 << 15,
    MOD_ROUND = 1 << 16,
};

LANE_INLINE unsigned lane_mods(const lg_ptx_mods *m) {
    return (m->ftz ? MOD_FTZ : 0u) | (m->sat ? MOD_SAT : 0u) | (m->approx ? MOD_APPROX : 0u) |
           (m->full ? MOD_FULL : 0u) | (m->cc ? MOD_CC : 0u) | (m->nan ? MOD_NAN : 0u) |
           (m->xorsign ? MOD_XORSIGN : 0u) | (m->relu ? MOD_RELU : 0u) |
           (m->satfinite ? MOD_SATFINITE : 0u) | (m->wrap ? MOD_WRAP : 0u) |
           (m->clamp ? MOD_CLAMP : 0u) | (m->shiftamt ? MOD_SHIFTAMT : 0u) |
           (m->sync ? MOD_SYNC : 0u) | (m->sub != LG_SUB_NONE ? MOD_SUB : 0u) |
           (m->cmp != LG_CMP_NONE ? MOD_CMP : 0u) | (m->bool_op != LG_SUB_NONE ? MOD_BOOL : 0u) |
           (m->round != LG_ROUND_DEFAULT ? MOD_ROUND : 0u);
}

// Whether the form has no modifier beyond `allowed`, and this many destinations and sources.
LANE_INLINE bool lane_shape(const lg_lane_form *f, unsigned allowed, int n_dst, int n_src) {
    return (lane_mods(&f->insn->mods) & ~allowed) == 0 && f->n_dst == n_dst && f->n_src == n_src;
}

LANE_INLINE bool lane_src_are(const lg_lane_form *f, int first, int n, int bytes) {
    for (int s = first; s < first + n; s++) {
        if (f->src_bytes[s] != bytes) {
            return false;
        }
    }
    return true;
}

// Rows of six: u16 u32 u64 s16 s32 s64; -1 for another type.
LANE_INLINE int lane_int_index(lg_ptx_type type) {
    return type == LG_PTX_U16   ? 0
           : type == LG_PTX_U32 ? 1
           : type == LG_PTX_U64 ? 2
           : type == LG_PTX_S16 ? 3
           : type == LG_PTX_S32 ? 4
           : type == LG_PTX_S64 ? 5
                                : -1;
}

// Rows of three: 16, 32, 64 bits of a .b, .u or .s type; -1 for another.
LANE_INLINE int lane_bits_index(lg_ptx_type type) {
    int i = lane_int_index(type);
    return i >= 0               ? i % 3
           : type == LG_PTX_B16 ? 0
           : type == LG_PTX_B32 ? 1
           : type == LG_PTX_B64 ? 2
                                : -1;
}

// Rows of four: rn rz rm rp; -1 for a rounding to an integer.
LANE_INLINE int lane_round_index(lg_ptx_round round) {
    return round == LG_ROUND_DEFAULT || round == LG_ROUND_RN ? 0
           : round == LG_ROUND_RZ                            ? 1
           : round == LG_ROUND_RM                            ? 2
           : round == LG_ROUND_RP                            ? 3
                                                             : -1;
}

// One selection a topic; the dispatch by opcode is table.c's.
lg_lane_fn *LG_ISA_NAME(lg_lane_select_int)(const lg_lane_form *form);
lg_lane_fn *LG_ISA_NAME(lg_lane_select_carry)(const lg_lane_form *form);
lg_lane_fn *LG_ISA_NAME(lg_lane_select_bits)(const lg_lane_form *form);
lg_lane_fn *LG_ISA_NAME(lg_lane_select_field)(const lg_lane_form *form);
lg_lane_fn *LG_ISA_NAME(lg_lane_select_float32)(const lg_lane_form *form);
lg_lane_fn *LG_ISA_NAME(lg_lane_select_float64)(const lg_lane_form *form);
lg_lane_fn *LG_ISA_NAME(lg_lane_select_half)(const lg_lane_form *form);
lg_lane_fn *LG_ISA_NAME(lg_lane_select_approx)(const lg_lane_form *form);
lg_lane_fn *LG_ISA_NAME(lg_lane_select_setp)(const lg_lane_form *form);
lg_lane_fn *LG_ISA_NAME(lg_lane_select_set)(const lg_lane_form *form);
lg_lane_fn *LG_ISA_NAME(lg_lane_select_half_setp)(const lg_lane_form *form);
lg_lane_fn *LG_ISA_NAME(lg_lane_select_half_set)(const lg_lane_form *form);
lg_lane_fn *LG_ISA_NAME(lg_lane_select_sign)(const lg_lane_form *form);
lg_lane_fn *LG_ISA_NAME(lg_lane_select_choose)(const lg_lane_form *form);
lg_lane_fn *LG_ISA_NAME(lg_lane_select_move)(const lg_lane_form *form);
lg_lane_fn *LG_ISA_NAME(lg_lane_select_cvt)(const lg_lane_form *form);
lg_lane_fn *LG_ISA_NAME(lg_lane_select_cvt_int)(const lg_lane_form *form);
lg_lane_fn *LG_ISA_NAME(lg_lane_select_cvt_to_int)(const lg_lane_form *form);
lg_lane_fn *LG_ISA_NAME(lg_lane_select_cvt_from_int)(const lg_lane_form *form);
lg_lane_fn *LG_ISA_NAME(lg_lane_select_cvt_float)(const lg_lane_form *form);
lg_lane_fn *LG_ISA_NAME(lg_lane_select_warp)(const lg_lane_form *form);

lg_lane_fn *LG_ISA_NAME(lg_lane_fused)(lg_fused_kind kind);

#endif
