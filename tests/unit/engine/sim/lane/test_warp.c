// SPDX-License-Identifier: Apache-2.0
// Exchanges between lanes, against PTX's pseudo-code run lane by lane over whole warps.
#include "unit/engine/sim/lane/testing.h"

#define N(rows) (sizeof(rows) / sizeof((rows)[0]))

// A warp as an instruction sees it: the active lanes and the sources of all of them.
typedef struct warp {
    const lane_test *t;
    const lane_values *in;
    uint32_t active;
} warp;

static uint32_t group_of(const warp *w, int lane, int mask_source) {
    return (uint32_t)w->in->src[mask_source][lane] & w->active;
}

static void want_shfl(const warp *w, int lane, lane_answer *answer) {
    int a = 0, b = (int)(w->in->src[1][lane] & 31);
    int clamp = (int)(w->in->src[2][lane] & 31), segment = (int)(w->in->src[2][lane] >> 8 & 31);
    int last = (lane & segment) | (clamp & ~segment), first = lane & segment;
    lg_ptx_sub sub = w->t->insn.mods.sub;
    bool inside;
    if (sub == LG_SUB_UP) {
        a = lane - b;
        inside = a >= last;
    } else {
        a = sub == LG_SUB_DOWN ? lane + b : sub == LG_SUB_BFLY ? lane ^ b : first | (b & ~segment);
        inside = a <= last;
    }
    answer->d[0] = w->in->src[0][inside ? a : lane];
    answer->d[1] = inside;
}

static void want_vote(const warp *w, int lane, lane_answer *answer) {
    uint32_t group = group_of(w, lane, 1);
    uint64_t yes = 0;
    int n = 0, n_yes = 0;
    for (int i = 0; i < LG_LANES; i++) {
        if ((group >> i) & 1) {
            bool p = w->in->src[0][i] ^ (w->in->src_inverted & 1);
            yes |= (uint64_t)p << i;
            n_yes += p;
            n++;
        }
    }
    lg_ptx_sub sub = w->t->insn.mods.sub;
    answer->d[0] = sub == LG_SUB_BALLOT ? yes
                   : sub == LG_SUB_ALL  ? n_yes == n
                   : sub == LG_SUB_ANY  ? n_yes > 0
                                        : n_yes == n || n_yes == 0;
}

static void want_match(const warp *w, int lane, lane_answer *answer) {
    uint32_t group = group_of(w, lane, 1), same = 0;
    for (int i = 0; i < LG_LANES; i++) {
        same |= (uint32_t)(((group >> i) & 1) && w->in->src[0][i] == w->in->src[0][lane]) << i;
    }
    bool all = same == group;
    answer->d[0] = w->t->insn.mods.sub == LG_SUB_ANY ? same : all ? group : 0;
    answer->d[1] = all;
}

static void want_redux(const warp *w, int lane, lane_answer *answer) {
    uint32_t group = group_of(w, lane, 1);
    lg_ptx_sub sub = w->t->insn.mods.sub;
    lg_ptx_type type = w->t->insn.types[0];
    bool first = true;
    __int128 r = 0;
    for (int i = 0; i < LG_LANES; i++) {
        if (!((group >> i) & 1)) {
            continue;
        }
        __int128 a = int_of(type, w->in->src[0][i]);
        r = first               ? a
            : sub == LG_SUB_ADD ? r + a
            : sub == LG_SUB_MIN ? (a < r ? a : r)
            : sub == LG_SUB_MAX ? (a > r ? a : r)
            : sub == LG_SUB_AND ? (r & a)
            : sub == LG_SUB_OR  ? (r | a)
                                : (r ^ a);
        first = false;
    }
    answer->d[0] = low_bits((uint64_t)r, 32);
}

static void want_activemask(const warp *w, int lane, lane_answer *answer) {
    (void)lane;
    answer->d[0] = w->active;
}

static void want_elect(const warp *w, int lane, lane_answer *answer) {
    uint32_t group = group_of(w, lane, 0);
    int leader = 0;
    while (!((group >> leader) & 1) && leader < LG_LANES - 1) {
        leader++;
    }
    answer->d[0] = (uint64_t)leader;
    answer->d[1] = leader == lane;
}

typedef void warp_oracle(const warp *w, int lane, lane_answer *answer);

typedef struct warp_row {
    const char *pattern;
    warp_oracle *oracle;
    bool pair;   // d|p
    int mask_at; // source that is the member mask, -1 none
} warp_row;

static const warp_row rows[] = {
    {"shfl.sync.{up,down,bfly,idx}.b32", want_shfl, false, 3},
    {"shfl.sync.{up,down,bfly,idx}.b32", want_shfl, true, 3},
    {"vote.sync.{all,any,uni}.pred", want_vote, false, 1},
    {"vote.sync.ballot.b32", want_vote, false, 1},
    {"match.any.sync.{b32,b64}", want_match, false, 1},
    {"match.all.sync.{b32,b64}", want_match, false, 1},
    {"match.all.sync.{b32,b64}", want_match, true, 1},
    {"redux.sync.{add,min,max}.{u32,s32}", want_redux, false, 1},
    {"redux.sync.{and,or,xor}.b32", want_redux, false, 1},
    {"activemask.b32", want_activemask, false, -1},
    {"elect.sync", want_elect, true, 0},
};

// Sources of a warp: few distinct values, clamps as compilers make them and others, and member
// masks that are all lanes, the active ones, or two groups; a lane is always a member of its own
// mask.
static void fill_warp(const lane_test *t, const warp_row *row, lane_values *in, uint32_t active,
                      uint64_t *state) {
    static const uint32_t clamps[] = {0x1f,   0x0,    0x1c1f, 0x181f, 0x1800,
                                      0x100f, 0x1000, 0x71f,  0x815};
    lane_fill(t, in, state);
    uint64_t r = next_random(state);
    uint32_t split = (uint32_t)next_random(state);
    uint64_t uniform = next_random(state) % 33, clamp = clamps[r % N(clamps)];
    for (int i = 0; i < LG_LANES; i++) {
        if (r % 3) {
            in->src[0][i] =
                t->form.src_bytes[0] ? 5 + next_random(state) % (1 + r % 3) : in->src[0][i];
        }
        if (t->insn.op == LG_OP_SHFL) {
            in->src[1][i] = r % 2 ? uniform : next_random(state) % 40;
            in->src[2][i] = r % 5 ? clamp : clamps[next_random(state) % N(clamps)];
        }
        if (row->mask_at >= 0) {
            uint32_t own = (split >> i) & 1 ? split : ~split;
            in->src[row->mask_at][i] = r % 4 == 0 ? own : r % 4 == 1 ? active : UINT32_MAX;
        }
    }
}

static bool check_warp(const lane_test *t, const warp_row *row) {
    const lg_lane_table *tables[3];
    int n_isas = lane_isas(tables);
    uint64_t state = 99;
    for (int batch = 0; batch < 300; batch++) {
        static const uint32_t actives[] = {UINT32_MAX, 0xffff, 0x1, 0x80000000u, 0x55555555u};
        lane_values in = {0}, want, got;
        uint32_t active = batch % 2   ? UINT32_MAX
                          : batch % 4 ? actives[(batch / 4) % (int)N(actives)]
                                      : (uint32_t)next_random(&state) | 1;
        fill_warp(t, row, &in, active, &state);
        want = in;
        warp w = {t, &in, active};
        for (int i = 0; i < LG_LANES; i++) {
            lane_answer answer = {0};
            row->oracle(&w, i, &answer);
            for (int d = 0; d < t->form.n_dst && ((active >> i) & 1); d++) {
                want.dst[d][i] = answer.d[d];
            }
        }
        for (int isa = 0; isa < n_isas; isa++) {
            lg_lane_fn *fn = tables[isa]->select(&t->form);
            if (!fn || !lane_run(t, fn, &in, active, &got) ||
                !lane_compare(t, lg_isa_name(tables[isa]->isa), &in, active, &want, &got)) {
                return false;
            }
        }
    }
    return true;
}

typedef struct warp_visit {
    lg_arena arena;
    const warp_row *row;
} warp_visit;

static void check_name(const char *name, void *context) {
    warp_visit *visit = context;
    lane_test t;
    bool known = lane_open(&t, &visit->arena, name);
    LG_CHECK_ROW(name, known);
    if (visit->row->pair) {
        t.form.n_dst = 2;
        t.form.dst_bytes[1] = 0;
        t.dst_types[1] = LG_PTX_PRED;
    }
    LG_CHECK_ROW(name, known && check_warp(&t, visit->row));
}

static void test_exchanges(void) {
    warp_visit visit = {0};
    for (size_t i = 0; i < N(rows); i++) {
        visit.row = &rows[i];
        lane_expand(rows[i].pattern, check_name, &visit);
    }
    lg_arena_free(&visit.arena);
}

// In place, the lanes already written must not be read again.
static void test_in_place(void) {
    const lg_lane_table *tables[3];
    int n_isas = lane_isas(tables);
    lg_arena arena = {0};
    lane_test t;
    CU_ASSERT_TRUE(lane_open(&t, &arena, "shfl.sync.down.b32"));
    for (int isa = 0; isa < n_isas; isa++) {
        lane_values in = {.alias = true}, got;
        for (int i = 0; i < LG_LANES; i++) {
            in.src[0][i] = 100 + (uint64_t)i;
            in.src[1][i] = 1;
            in.src[2][i] = 0x1f;
            in.src[3][i] = UINT32_MAX;
        }
        CU_ASSERT_TRUE(lane_run(&t, tables[isa]->select(&t.form), &in, UINT32_MAX, &got));
        for (int i = 0; i < LG_LANES; i++) {
            CU_ASSERT_EQUAL(got.dst[0][i], (uint64_t)(i < 31 ? 101 + i : 131));
        }
    }
    lg_arena_free(&arena);
}

int main(void) {
    static const lg_test tests[] = {
        {"shfl, vote, match, redux, activemask and elect", test_exchanges},
        {"shfl in place", test_in_place},
    };
    return lg_run_tests(LG_SUITE, tests, N(tests));
}
