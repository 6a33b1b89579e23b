// SPDX-License-Identifier: Apache-2.0
// The rows of scenarios/pairwise: every pair of options that can go together is in one of them, and
// a kernel takes each. Whatever else options can be combined to has a kernel, too.
#include "batch/batch.h"
#include "device/device.h"
#include "scenario/scenario.h"
#include "unit/testing.h"

#include <string.h>

enum { N_LOSSES = 4, MAX_LEVELS = 4 };
static const lg_loss_kind losses[N_LOSSES] = {LG_NLL_LOSS, LG_CROSS_ENTROPY, LG_BCE,
                                              LG_BCE_WITH_LOGITS};

typedef enum factor {
    REDUCTION,
    WEIGHT,
    IGNORE,
    SMOOTHING,
    INPUT,
    TARGET,
    RANK,
    LAYOUT,
    DIRECTION,
    POSITIVE,
    N_FACTORS,
} factor;

enum { IGNORE_NONE, IGNORE_INSIDE, IGNORE_OUTSIDE, IGNORE_255 };
enum { TARGET_INT64, TARGET_INT32, TARGET_UINT8, TARGET_PROBABILITIES };
enum { RANK_C, RANK_NC, RANK_NCL, RANK_NCHW };
enum { LAYOUT_CONTIGUOUS, LAYOUT_STRIDED, LAYOUT_EXPANDED };

static const struct factor_row {
    const char *name;
    int n;
    const char *levels[MAX_LEVELS];
} factors[N_FACTORS] = {
    [REDUCTION] = {"reduction", 3, {"none", "mean", "sum"}},
    [WEIGHT] = {"weight", 2, {"none", "given"}},
    [IGNORE] = {"ignore", 4, {"none", "inside", "outside", "255"}},
    [SMOOTHING] = {"smoothing", 2, {"none", "given"}},
    [INPUT] = {"input", 4, {"float64", "float32", "float16", "bfloat16"}},
    [TARGET] = {"target", 4, {"int64", "int32", "uint8", "probabilities"}},
    [RANK] = {"rank", 4, {"C", "NxC", "NxCxL", "NxCxHxW"}},
    [LAYOUT] = {"layout", 3, {"contiguous", "strided", "expanded"}},
    [DIRECTION] = {"direction", 3, {"forward", "backward", "both"}},
    [POSITIVE] = {"positive", 2, {"none", "given"}},
};

typedef struct combination {
    uint8_t level[N_FACTORS];
} combination;

static uint8_t level_named(factor f, const char *name) {
    uint8_t level = 0;
    while (level + 1 < factors[f].n && strcmp(factors[f].levels[level], name) != 0) {
        level++;
    }
    CU_ASSERT_STRING_EQUAL(factors[f].levels[level], name);
    return level;
}

static bool is_binary(lg_loss_kind loss) {
    return loss == LG_BCE || loss == LG_BCE_WITH_LOGITS;
}

static combination combination_of(const lg_scenario *s) {
    const lg_i64_list stride = s->batch.logits.stride;
    int64_t ignore = s->loss.ignore_index;
    bool ignores = s->batch.ignored_fraction > 0;
    bool lone = s->batch.unbatched || (is_binary(s->loss.kind) && s->batch.classes == 1);
    bool probabilities = s->batch.targets.probabilities;
    const char *target = probabilities ? "probabilities" : lg_dtype_name(s->batch.targets.dtype);
    return (combination){{
        [REDUCTION] = level_named(REDUCTION, lg_reduction_name(s->loss.reduction)),
        [WEIGHT] = s->weight.source != LG_ARRAY_ABSENT,
        [IGNORE] = ignore == 255 ? IGNORE_255
                   : ignore >= 0 ? IGNORE_INSIDE
                   : ignores     ? IGNORE_OUTSIDE
                                 : IGNORE_NONE,
        [SMOOTHING] = s->loss.label_smoothing > 0,
        [INPUT] = level_named(INPUT, lg_dtype_name(s->batch.logits.dtype)),
        [TARGET] = level_named(TARGET, target),
        [RANK] = (uint8_t)(lone ? RANK_C : RANK_NC + s->batch.extent.n),
        [LAYOUT] = stride.n == 0          ? LAYOUT_CONTIGUOUS
                   : stride.items[0] == 0 ? LAYOUT_EXPANDED
                                          : LAYOUT_STRIDED,
        [DIRECTION] = level_named(DIRECTION, lg_direction_name(s->loss.direction)),
        [POSITIVE] = s->pos_weight.source != LG_ARRAY_ABSENT,
    }};
}

// What cannot go together.
static bool is_possible(lg_loss_kind loss, const combination *c) {
    bool probabilities = c->level[TARGET] == TARGET_PROBABILITIES;
    // Smoothing and class probabilities belong to cross_entropy, and a binary target is always one.
    if (loss != LG_CROSS_ENTROPY && (c->level[SMOOTHING] || probabilities != is_binary(loss))) {
        return false;
    }
    if (loss != LG_BCE_WITH_LOGITS && c->level[POSITIVE]) {
        return false;
    }
    // Probabilities ignore nothing, and uint8 cannot hold -100.
    if ((probabilities && c->level[IGNORE] != IGNORE_NONE) ||
        (c->level[TARGET] == TARGET_UINT8 && c->level[IGNORE] == IGNORE_OUTSIDE)) {
        return false;
    }
    // Samples are what is ignored or expanded; a lone sample has no such axis.
    return c->level[RANK] != RANK_C ||
           (c->level[LAYOUT] != LAYOUT_EXPANDED && c->level[IGNORE] != IGNORE_OUTSIDE);
}

// The next combination in counting order; false after the last.
static bool next(combination *c) {
    for (int f = N_FACTORS - 1; f >= 0; f--) {
        if (++c->level[f] < factors[f].n) {
            return true;
        }
        c->level[f] = 0;
    }
    return false;
}

// The pairs of levels of two factors, f < g.
typedef struct pairs {
    bool has[N_FACTORS][MAX_LEVELS][N_FACTORS][MAX_LEVELS];
} pairs;

static void add_pairs(pairs *to, const combination *c) {
    for (int f = 0; f < N_FACTORS; f++) {
        for (int g = f + 1; g < N_FACTORS; g++) {
            to->has[f][c->level[f]][g][c->level[g]] = true;
        }
    }
}

typedef struct pair_count {
    int all, feasible, covered;
} pair_count;

// Of the first n points; names the pairs that are missing where that is an error.
static pair_count count_pairs(lg_loss_kind loss, const lg_scenario *points, int64_t n, bool name) {
    pairs feasible = {0};
    pairs covered = {0};
    combination c = {0};
    do {
        if (is_possible(loss, &c)) {
            add_pairs(&feasible, &c);
        }
    } while (next(&c));
    for (int64_t i = 0; i < n; i++) {
        c = combination_of(&points[i]);
        LG_CHECK_ROW(points[i].point, points[i].loss.kind == loss && is_possible(loss, &c));
        add_pairs(&covered, &c);
    }
    pair_count count = {0};
    for (int at = 0; at < N_FACTORS * MAX_LEVELS * N_FACTORS * MAX_LEVELS; at++) {
        int m = at % MAX_LEVELS;
        int g = at / MAX_LEVELS % N_FACTORS;
        int l = at / MAX_LEVELS / N_FACTORS % MAX_LEVELS;
        int f = at / MAX_LEVELS / N_FACTORS / MAX_LEVELS;
        bool can = feasible.has[f][l][g][m];
        bool there = can && covered.has[f][l][g][m];
        count.all += f < g && l < factors[f].n && m < factors[g].n;
        count.feasible += can;
        count.covered += there;
        if (name && can && !there) {
            fprintf(stderr, "\n    %s: no row with %s %s and %s %s", lg_loss_kind_name(loss),
                    factors[f].name, factors[f].levels[l], factors[g].name, factors[g].levels[m]);
        }
    }
    return count;
}

static void read_rows(lg_loss_kind loss, lg_scenario_set *set) {
    char path[512];
    lg_diags diags = {0};
    snprintf(path, sizeof path, LG_SOURCE_DIR "/scenarios/pairwise/%s.yaml",
             lg_loss_kind_name(loss));
    bool ok = lg_scenario_read(path, NULL, set, &diags);
    lg_diags_print(&diags, stderr);
    CU_ASSERT_TRUE_FATAL(ok);
}

// And none of them without the last row, which shows that a missing one is missed.
static void test_every_pair(void) {
    for (int k = 0; k < N_LOSSES; k++) {
        const char *name = lg_loss_kind_name(losses[k]);
        lg_scenario_set set;
        read_rows(losses[k], &set);
        pair_count count = count_pairs(losses[k], set.items, set.n, true);
        LG_CHECK_ROW(name, count.feasible > 200 && count.covered == count.feasible);
        count = count_pairs(losses[k], set.items, set.n - 1, false);
        LG_CHECK_ROW(name, count.covered < count.feasible);
        lg_scenario_set_free(&set);
    }
}

// The pairs that cannot be, by hand: each rule's, and nothing more.
static void test_infeasible_pairs(void) {
    // uint8 with -100, probabilities with three ways to ignore, one sample expanded or ignored.
    pair_count ce = count_pairs(LG_CROSS_ENTROPY, NULL, 0, false);
    // And no positive weight with any of the 29 other values.
    CU_ASSERT_EQUAL(ce.all - ce.feasible, 1 + 3 + 2 + 29);
    // No smoothing and no positive weight with any of the 29 others, no probabilities with any of
    // the 27 others; the pairs of two of them are counted once.
    pair_count nll = count_pairs(LG_NLL_LOSS, NULL, 0, false);
    CU_ASSERT_EQUAL(nll.all - nll.feasible, 29 + 29 + 27 - 3 + 1 + 2);
    // What is left: 3 reductions, 2 weights, 4 inputs, 4 ranks, 3 layouts, 3 directions and one
    // value of the other four factors; a lone dimension is not expanded.
    CU_ASSERT_EQUAL(count_pairs(LG_BCE, NULL, 0, false).feasible, 231 - 1);
    CU_ASSERT_EQUAL(count_pairs(LG_BCE_WITH_LOGITS, NULL, 0, false).feasible, 253 - 1);
}

// How many of the kernels take the point.
static int count_kernels(const lg_kernel_set *kernels, const lg_scenario *scenario) {
    lg_batch batch;
    lg_diags diags = {0};
    lg_arena arena = {0};
    bool ok = lg_generate(scenario, true, &batch, &diags);
    lg_diags_print(&diags, stderr);
    CU_ASSERT_TRUE_FATAL(ok);
    int n = 0;
    for (int64_t i = 0; i < kernels->n; i++) {
        n += !lg_device_unsuitable(&kernels->items[i], &batch, LG_MODE_BLOCKING, &arena);
    }
    lg_arena_free(&arena);
    lg_batch_free(&batch);
    return n;
}

static void read_kernels(lg_kernel_set *kernels) {
    lg_diags diags = {0};
    *kernels = (lg_kernel_set){0};
    bool ok = lg_kernels_read(LG_SOURCE_DIR "/kernels/nll_loss.yaml", kernels, &diags) &&
              lg_kernels_read(LG_SOURCE_DIR "/kernels/cross_entropy.yaml", kernels, &diags) &&
              lg_kernels_read(LG_SOURCE_DIR "/kernels/bce.yaml", kernels, &diags) &&
              lg_kernels_read(LG_SOURCE_DIR "/kernels/bce_with_logits.yaml", kernels, &diags);
    lg_diags_print(&diags, stderr);
    CU_ASSERT_TRUE_FATAL(ok);
}

static void test_a_kernel_for_each(void) {
    lg_kernel_set kernels;
    read_kernels(&kernels);
    for (int k = 0; k < N_LOSSES; k++) {
        lg_scenario_set set;
        read_rows(losses[k], &set);
        for (int64_t i = 0; i < set.n; i++) {
            LG_CHECK_ROW(set.items[i].point, count_kernels(&kernels, &set.items[i]) >= 1);
        }
        lg_scenario_set_free(&set);
    }
    lg_kernel_set_free(&kernels);
}

static void read_text(const char *text, lg_scenario_set *set) {
    lg_diags diags = {0};
    bool ok = lg_scenario_read_text("t.yaml", text, strlen(text), NULL, set, &diags);
    lg_diags_print(&diags, stderr);
    CU_ASSERT_TRUE_FATAL(ok);
}

#define EACH_REDUCTION_AND_INPUT                                                                   \
    "  loss.reduction: [none, mean, sum]\n"                                                        \
    "  batch.logits.dtype: [float64, float32, float16, bfloat16]\n"
// Gaps or the class axis last, and one sample that stands for all.
#define CLASS_VIEWS(strided)                                                                       \
    "  view:\n"                                                                                    \
    "    C: {batch.samples: 1, batch.unbatched: true}\n"                                           \
    "    C_strided: {batch.samples: 1, batch.unbatched: true, batch.logits.stride: [2]}\n"         \
    "    NC: {batch.samples: 9}\n"                                                                 \
    "    NC_strided: {batch.logits.stride: [1, 9]" strided(                                        \
        "[2]",                                                                                     \
        "[1, 9]") "}\n"                                                                            \
                  "    NC_expanded: {batch.logits.stride: [0, 1]}\n"                               \
                  "    NCL: {batch.extent: [5]}\n"                                                 \
                  "    NCL_strided: {batch.extent: [5], batch.logits.stride: [30, 1, 6]" strided(  \
                      "[10, 2]",                                                                   \
                      "[30, 1, 6]") "}\n"                                                          \
                                    "    NCL_expanded: {batch.extent: [5], batch.logits.stride: "  \
                                    "[0, 5, 1]}\n"                                                 \
                                    "    NCHW: {batch.extent: [3, 4]}\n"                           \
                                    "    NCHW_strided: {batch.extent: [3, 4], "                    \
                                    "batch.logits.stride: [72, 1, 24, 6]" strided(                 \
                                        "[24, 8, 2]",                                              \
                                        "[72, 1, 24, 6]") "}\n"                                    \
                                                          "    NCHW_expanded: {batch.extent: [3, " \
                                                          "4], batch.logits.stride: [0, 12, 4, "   \
                                                          "1]}\n"
#define OF_LABELS(labels, probabilities) ", batch.targets.stride: " labels
#define OF_PROBABILITIES(labels, probabilities) ", batch.targets.stride: " probabilities

// Not only the rows chosen: whatever options go together, there is a kernel that takes them. Values
// do not decide that (weights, labels ignored, smoothing), so that one of each will do.
static void test_a_kernel_for_every_combination(void) {
    static const struct {
        int n;
        const char *text;
    } all[] = {
        {2 * 3 * 4 * 3 * 11,
         "title: t\nloss: {kind: nll_loss, direction: forward}\nbatch: {samples: 9, classes: 6}\n"
         "matrix:\n  loss.kind: [nll_loss, cross_entropy]\n" EACH_REDUCTION_AND_INPUT
         "  batch.targets.dtype: [int64, int32, uint8]\n" CLASS_VIEWS(OF_LABELS)},
        {3 * 4 * 11, "title: t\nloss: {kind: cross_entropy, direction: forward}\n"
                     "batch: {samples: 9, classes: 6, targets: {kind: probabilities}}\n"
                     "matrix:\n" EACH_REDUCTION_AND_INPUT CLASS_VIEWS(OF_PROBABILITIES)},
        // Binary losses have no class axis: a lone dimension is the samples, and all but the first
        // are walked with one stride.
        {2 * 3 * 4 * 11,
         "title: t\nloss: {kind: binary_cross_entropy, direction: forward}\nbatch: {samples: 9}\n"
         "matrix:\n  loss.kind: [binary_cross_entropy, "
         "binary_cross_entropy_with_logits]\n" EACH_REDUCTION_AND_INPUT "  view:\n"
         "    C: {batch.classes: 1}\n"
         "    C_strided: {batch.logits.stride: [2], batch.targets.stride: [3]}\n"
         "    NC: {batch.classes: 6}\n"
         "    NC_strided: {batch.classes: 6, batch.logits.stride: [1, 9], "
         "batch.targets.stride: [14, 2]}\n"
         "    NC_expanded: {batch.classes: 6, batch.logits.stride: [0, 1]}\n"
         "    NCL: {batch.classes: 6, batch.extent: [5]}\n"
         "    NCL_strided: {batch.classes: 6, batch.extent: [5], "
         "batch.logits.stride: [61, 10, 2], batch.targets.stride: [1, 45, 9]}\n"
         "    NCL_expanded: {batch.classes: 6, batch.extent: [5], "
         "batch.logits.stride: [0, 5, 1]}\n"
         "    NCHW: {batch.classes: 6, batch.extent: [3, 4]}\n"
         "    NCHW_strided: {batch.classes: 6, batch.extent: [3, 4], "
         "batch.logits.stride: [150, 24, 8, 2], batch.targets.stride: [75, 12, 4, 1]}\n"
         "    NCHW_expanded: {batch.classes: 6, batch.extent: [3, 4], "
         "batch.logits.stride: [0, 12, 4, 1]}\n"},
    };
    lg_kernel_set kernels;
    read_kernels(&kernels);
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
        lg_scenario_set set;
        read_text(all[k].text, &set);
        CU_ASSERT_EQUAL(set.n, all[k].n);
        for (int64_t i = 0; i < set.n; i++) {
            LG_CHECK_ROW(set.items[i].point, count_kernels(&kernels, &set.items[i]) >= 1);
        }
        lg_scenario_set_free(&set);
    }
    lg_kernel_set_free(&kernels);
}

// A batch that none of the kernels takes is counted as such.
static void test_no_kernel(void) {
    lg_kernel_set kernels;
    lg_scenario_set set;
    read_kernels(&kernels);
    read_text("title: t\nloss: {kind: nll_loss}\nbatch: {samples: 4, extent: [2, 3], "
              "classes: 3, logits: {stride: [36, 12, 1, 2]}}\n",
              &set);
    CU_ASSERT_EQUAL(count_kernels(&kernels, &set.items[0]), 0);
    lg_scenario_set_free(&set);
    lg_kernel_set_free(&kernels);
}

int main(void) {
    static const lg_test tests[] = {
        {"every feasible pair", test_every_pair},
        {"infeasible pairs", test_infeasible_pairs},
        {"a kernel for each", test_a_kernel_for_each},
        {"a kernel for every combination", test_a_kernel_for_every_combination},
        {"no kernel", test_no_kernel},
    };
    return lg_run_tests(LG_SUITE, tests, sizeof tests / sizeof *tests);
}
