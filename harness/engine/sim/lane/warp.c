// SPDX-License-Identifier: Apache-2.0
// Exchanges between the lanes of a warp: shfl vote match redux activemask elect.
//
// The lanes that take part are those of `active`. Lanes that name different member masks in one
// instruction form groups of their own (as match followed by redux does); a lane's group is the
// active lanes of its mask. What shfl reads from a lane that is not active PTX leaves undefined; it
// is the register of that lane here, and exchange.c replaces it.
#include "engine/sim/lane/impl.h"

#ifdef __AVX512F__
#include <immintrin.h>
#endif

enum shfl_mode { SHFL_UP, SHFL_DOWN, SHFL_BFLY, SHFL_IDX };

// from[i] = lane that lane i reads; returns the lanes whose source is in range. c holds the clamp
// in its low five bits and the segment mask in bits 8 to 12.
LANE_INLINE uint32_t shfl_lanes(s32 *from, const u32 *pb, const u32 *pc, enum shfl_mode mode) {
    s32 in_range[LG_LANES];
    LANE_LOOP(LG_LANES) {
        s32 b = (s32)(pb[i] & 31), clamp = (s32)(pc[i] & 31), segment = (s32)(pc[i] >> 8 & 31);
        s32 last = (i & segment) | (clamp & ~segment), first = i & segment;
        s32 j = mode == SHFL_UP     ? i - b
                : mode == SHFL_DOWN ? i + b
                : mode == SHFL_BFLY ? i ^ b
                                    : first | (b & ~segment);
        bool inside = mode == SHFL_UP ? j >= last : j <= last;
        in_range[i] = inside ? 1 : 0;
        from[i] = inside ? j : i;
    }
    uint32_t bits = 0;
    for (int i = 0; i < LG_LANES; i++) {
        bits |= (uint32_t)in_range[i] << i;
    }
    return bits;
}

LANE_INLINE void gather(u32 *to, const u32 *pa, const s32 *from) {
#ifdef __AVX512F__
    __m512i low = _mm512_loadu_si512(pa), high = _mm512_loadu_si512(pa + 16);
    for (int v = 0; v < 2; v++) {
        __m512i index = _mm512_loadu_si512(from + 16 * v);
        _mm512_storeu_si512(to + 16 * v, _mm512_permutex2var_epi32(low, index, high));
    }
#else
    for (int i = 0; i < LG_LANES; i++) {
        to[i] = pa[from[i] & 31];
    }
#endif
}

LANE_INLINE void shfl(char *regs, const lg_insn *insn, uint32_t active, enum shfl_mode mode) {
    s32 from[LG_LANES];
    u32 tmp[LG_LANES];
    uint32_t in_range =
        shfl_lanes(from, lane_in(regs, insn->src[1]), lane_in(regs, insn->src[2]), mode);
    gather(tmp, lane_in(regs, insn->src[0]), from);
    lane_blend_4(regs + insn->dst[0], tmp, active);
    lane_set_pred(regs, insn->dst[1], in_range, active);
}
#define SHFL(name, mode)                                                                           \
    static void name(char *regs, const lg_insn *insn, uint32_t active) {                           \
        shfl(regs, insn, active, mode);                                                            \
    }
SHFL(shfl_up, SHFL_UP)
SHFL(shfl_down, SHFL_DOWN)
SHFL(shfl_bfly, SHFL_BFLY)
SHFL(shfl_idx, SHFL_IDX)

// The active lanes of lane i's member mask; forms without a mask (before .sync) mean all active
// lanes.
LANE_INLINE uint32_t group_of(const u32 *masks, int i, uint32_t active) {
    return masks ? masks[i] & active : active;
}

enum vote_mode { VOTE_ALL, VOTE_ANY, VOTE_UNI, VOTE_BALLOT };

LANE_INLINE void vote(char *regs, const lg_insn *insn, uint32_t active, enum vote_mode mode,
                      bool masked) {
    const u32 *masks = masked ? lane_in(regs, insn->src[1]) : NULL;
    const uint32_t a = lane_pred(regs, insn, 0);
    uint32_t bits = 0;
    u32 ballots[LG_LANES];
    for (int i = 0; i < LG_LANES; i++) {
        uint32_t group = group_of(masks, i, active), yes = a & group;
        bool holds = mode == VOTE_ALL   ? yes == group
                     : mode == VOTE_ANY ? yes != 0
                                        : yes == group || yes == 0;
        bits |= (uint32_t)holds << i;
        ballots[i] = yes;
    }
    if (mode == VOTE_BALLOT) {
        lane_blend_4(regs + insn->dst[0], ballots, active);
    } else {
        lane_set_pred(regs, insn->dst[0], bits, active);
    }
}
#define VOTE(name, mode)                                                                           \
    static void name##_sync(char *regs, const lg_insn *insn, uint32_t active) {                    \
        vote(regs, insn, active, mode, true);                                                      \
    }                                                                                              \
    static void name##_old(char *regs, const lg_insn *insn, uint32_t active) {                     \
        vote(regs, insn, active, mode, false);                                                     \
    }
VOTE(vote_all, VOTE_ALL)
VOTE(vote_any, VOTE_ANY)
VOTE(vote_uni, VOTE_UNI)
VOTE(vote_ballot, VOTE_BALLOT)

// match.any: the lanes of the group with the same value. match.all: the group when all have the
// same, else 0, and whether.
#define MATCH(T)                                                                                   \
    static void match_any_##T(char *regs, const lg_insn *insn, uint32_t active) {                  \
        const T *pa = lane_in(regs, insn->src[0]);                                                 \
        const u32 *masks = lane_in(regs, insn->src[1]);                                            \
        u32 tmp[LG_LANES];                                                                         \
        for (int i = 0; i < LG_LANES; i++) {                                                       \
            uint32_t same = 0;                                                                     \
            for (int j = 0; j < LG_LANES; j++) {                                                   \
                same |= (uint32_t)(pa[j] == pa[i]) << j;                                           \
            }                                                                                      \
            tmp[i] = same & group_of(masks, i, active);                                            \
        }                                                                                          \
        lane_blend_4(regs + insn->dst[0], tmp, active);                                            \
    }                                                                                              \
    static void match_all_##T(char *regs, const lg_insn *insn, uint32_t active) {                  \
        const T *pa = lane_in(regs, insn->src[0]);                                                 \
        const u32 *masks = lane_in(regs, insn->src[1]);                                            \
        u32 tmp[LG_LANES];                                                                         \
        uint32_t all = 0;                                                                          \
        for (int i = 0; i < LG_LANES; i++) {                                                       \
            uint32_t same = 0;                                                                     \
            for (int j = 0; j < LG_LANES; j++) {                                                   \
                same |= (uint32_t)(pa[j] == pa[i]) << j;                                           \
            }                                                                                      \
            uint32_t group = group_of(masks, i, active);                                           \
            bool holds = (same & group) == group;                                                  \
            all |= (uint32_t)holds << i;                                                           \
            tmp[i] = holds ? group : 0;                                                            \
        }                                                                                          \
        lane_blend_4(regs + insn->dst[0], tmp, active);                                            \
        lane_set_pred(regs, insn->dst[1], all, active);                                            \
    }
MATCH(u32)
MATCH(u64)

// Most reductions name one mask for all lanes, so the last group's result is kept.
#define REDUX(name, T, combined)                                                                   \
    static void redux_##name(char *regs, const lg_insn *insn, uint32_t active) {                   \
        const T *pa = lane_in(regs, insn->src[0]);                                                 \
        const u32 *masks = lane_in(regs, insn->src[1]);                                            \
        T tmp[LG_LANES] = {0};                                                                     \
        uint32_t last = 0;                                                                         \
        T result = 0;                                                                              \
        for (uint32_t todo = active; todo; todo &= todo - 1) {                                     \
            int i = __builtin_ctz(todo);                                                           \
            uint32_t group = group_of(masks, i, active);                                           \
            if (group != last && group) {                                                          \
                T a = pa[__builtin_ctz(group)];                                                    \
                for (uint32_t rest = group & (group - 1); rest; rest &= rest - 1) {                \
                    const T b = pa[__builtin_ctz(rest)];                                           \
                    a = (T)(combined);                                                             \
                }                                                                                  \
                result = a;                                                                        \
                last = group;                                                                      \
            }                                                                                      \
            tmp[i] = group ? result : 0;                                                           \
        }                                                                                          \
        lane_blend_4(regs + insn->dst[0], tmp, active);                                            \
    }
REDUX(add, u32, a + b)
REDUX(min_u32, u32, a < b ? a : b)
REDUX(max_u32, u32, a > b ? a : b)
REDUX(min_s32, s32, a < b ? a : b)
REDUX(max_s32, s32, a > b ? a : b)
REDUX(and, u32, a &b)
REDUX(or, u32, a | b)
REDUX(xor, u32, a ^ b)

static void activemask(char *regs, const lg_insn *insn, uint32_t active) {
    u32 tmp[LG_LANES];
    LANE_LOOP(LG_LANES) {
        tmp[i] = active;
    }
    lane_blend_4(regs + insn->dst[0], tmp, active);
}

// elect.sync: the lowest lane of each group.
static void elect(char *regs, const lg_insn *insn, uint32_t active) {
    const u32 *masks = lane_in(regs, insn->src[0]);
    u32 tmp[LG_LANES];
    uint32_t leaders = 0;
    for (int i = 0; i < LG_LANES; i++) {
        uint32_t group = group_of(masks, i, active);
        tmp[i] = group ? (u32)__builtin_ctz(group) : 0;
        leaders |= (uint32_t)(group != 0 && tmp[i] == (u32)i) << i;
    }
    lane_blend_4(regs + insn->dst[0], tmp, active);
    lane_set_pred(regs, insn->dst[1], leaders, active);
}

static lg_lane_fn *select_shfl(const lg_lane_form *f) {
    lg_ptx_sub sub = f->insn->mods.sub;
    int n_src = f->insn->mods.sync ? 4 : 3;
    if (f->n_dst < 1 || f->n_dst > 2 || f->insn->n_types != 1 || f->insn->types[0] != LG_PTX_B32 ||
        !lane_shape(f, MOD_SUB | MOD_SYNC, f->n_dst, n_src)) {
        return NULL;
    }
    return sub == LG_SUB_UP     ? shfl_up
           : sub == LG_SUB_DOWN ? shfl_down
           : sub == LG_SUB_BFLY ? shfl_bfly
           : sub == LG_SUB_IDX  ? shfl_idx
                                : NULL;
}

static lg_lane_fn *select_vote(const lg_lane_form *f) {
    const lg_ptx_insn *insn = f->insn;
    bool sync = insn->mods.sync;
    lg_ptx_sub sub = insn->mods.sub;
    if (insn->n_types != 1 || !lane_shape(f, MOD_SUB | MOD_SYNC, 1, sync ? 2 : 1)) {
        return NULL;
    }
    if (sub == LG_SUB_BALLOT) {
        return insn->types[0] != LG_PTX_B32 ? NULL : sync ? vote_ballot_sync : vote_ballot_old;
    }
    return insn->types[0] != LG_PTX_PRED ? NULL
           : sub == LG_SUB_ALL           ? (sync ? vote_all_sync : vote_all_old)
           : sub == LG_SUB_ANY           ? (sync ? vote_any_sync : vote_any_old)
           : sub == LG_SUB_UNI           ? (sync ? vote_uni_sync : vote_uni_old)
                                         : NULL;
}

static lg_lane_fn *select_match(const lg_lane_form *f) {
    const lg_ptx_insn *insn = f->insn;
    lg_ptx_sub sub = insn->mods.sub;
    int wide = insn->n_types != 1             ? -1
               : insn->types[0] == LG_PTX_B32 ? 0
               : insn->types[0] == LG_PTX_B64 ? 1
                                              : -1;
    int n_dst = sub == LG_SUB_ALL && f->n_dst == 2 ? 2 : 1;
    if (wide < 0 || !lane_shape(f, MOD_SUB | MOD_SYNC, n_dst, 2)) {
        return NULL;
    }
    return sub == LG_SUB_ANY   ? (wide ? match_any_u64 : match_any_u32)
           : sub == LG_SUB_ALL ? (wide ? match_all_u64 : match_all_u32)
                               : NULL;
}

static lg_lane_fn *select_redux(const lg_lane_form *f) {
    const lg_ptx_insn *insn = f->insn;
    lg_ptx_sub sub = insn->mods.sub;
    if (insn->n_types != 1 || !lane_shape(f, MOD_SUB | MOD_SYNC, 1, 2)) {
        return NULL;
    }
    bool is_signed = insn->types[0] == LG_PTX_S32, bits = insn->types[0] == LG_PTX_B32;
    if (!is_signed && !bits && insn->types[0] != LG_PTX_U32) {
        return NULL;
    }
    if (bits) {
        return sub == LG_SUB_AND   ? redux_and
               : sub == LG_SUB_OR  ? redux_or
               : sub == LG_SUB_XOR ? redux_xor
                                   : NULL;
    }
    return sub == LG_SUB_ADD   ? redux_add
           : sub == LG_SUB_MIN ? (is_signed ? redux_min_s32 : redux_min_u32)
           : sub == LG_SUB_MAX ? (is_signed ? redux_max_s32 : redux_max_u32)
                               : NULL;
}

lg_lane_fn *LG_ISA_NAME(lg_lane_select_warp)(const lg_lane_form *f) {
    const lg_ptx_insn *insn = f->insn;
    if (insn->op == LG_OP_ACTIVEMASK) {
        return lane_shape(f, 0, 1, 0) ? activemask : NULL;
    }
    if (insn->op == LG_OP_ELECT) {
        return lane_shape(f, MOD_SYNC, 2, 1) ? elect : NULL;
    }
    return insn->op == LG_OP_SHFL    ? select_shfl(f)
           : insn->op == LG_OP_VOTE  ? select_vote(f)
           : insn->op == LG_OP_MATCH ? select_match(f)
           : insn->op == LG_OP_REDUX ? select_redux(f)
                                     : NULL;
}
