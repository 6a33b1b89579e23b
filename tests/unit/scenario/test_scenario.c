// SPDX-License-Identifier: Apache-2.0
// What a valid scenario file becomes.
#include "unit/scenario/helpers.h"

#include "model/rng.h"
#include "support/alloc.h"

#include <math.h>

static const char example[] =
    "title: A five-class task trained with a three-class head\n"
    "origin: pytorch/pytorch#39157          # optional: where the case was seen\n"
    "loss:\n"
    "  kind: nll_loss        # nll_loss | cross_entropy | binary_cross_entropy\n"
    "  reduction: mean\n"
    "  ignore_index: -100\n"
    "  label_smoothing: 0\n"
    "  weight: none          # none | {uniform: [lo, hi]} | [numbers] | {file: w.npy}\n"
    "  direction: both       # forward | backward | both\n"
    "batch:\n"
    "  seed: 7\n"
    "  samples: 64\n"
    "  extent: []            # extra dimensions d1, d2 …: [32, 32] is segmentation\n"
    "  classes: 5\n"
    "  logits:  {dtype: float32, distribution: normal, scale: 2.0}\n"
    "  targets: {dtype: int64, distribution: uniform}\n"
    "faults:\n"
    "  - {kind: wrong_head_width, head_width: 3}\n"
    "run:\n"
    "  kernels: [\"nll_loss/*\"]\n"
    "  modes: [blocking, async]\n"
    "expect: {cause: wrong_head_width}\n"
    "matrix:\n"
    "  batch.samples: [1, 31, 32, 33, 1000]\n";

static void test_the_example(void) {
    lg_scenario_set set;
    CU_ASSERT_TRUE_FATAL(read_valid("example", example, &set));
    CU_ASSERT_EQUAL_FATAL(set.n, 5);
    const lg_scenario *s = &set.items[1];
    CU_ASSERT_STRING_EQUAL(s->title, "A five-class task trained with a three-class head");
    CU_ASSERT_STRING_EQUAL(s->origin, "pytorch/pytorch#39157");
    CU_ASSERT_STRING_EQUAL(s->name, "test");
    CU_ASSERT_STRING_EQUAL(s->point, "batch.samples=31");
    CU_ASSERT_TRUE(s->loss.kind == LG_NLL_LOSS && s->loss.reduction == LG_REDUCTION_MEAN);
    CU_ASSERT_TRUE(s->loss.ignore_index == -100 && s->loss.direction == LG_BOTH);
    CU_ASSERT_EQUAL(s->weight.source, LG_ARRAY_ABSENT);
    CU_ASSERT_TRUE(s->batch.seed == 7 && s->batch.samples == 31 && s->batch.classes == 5);
    CU_ASSERT_EQUAL(s->batch.extent.n, 0);
    CU_ASSERT_TRUE(s->batch.logits.source == LG_ARRAY_GENERATED && s->batch.logits.scale == 2);
    CU_ASSERT_TRUE(s->batch.logits.distribution == LG_DIST_NORMAL);
    CU_ASSERT_TRUE(s->batch.targets.dtype == LG_INT64 && !s->batch.targets.probabilities);
    CU_ASSERT_EQUAL_FATAL(s->n_faults, 1);
    CU_ASSERT_TRUE(s->faults[0].kind == LG_CAUSE_WRONG_HEAD_WIDTH);
    CU_ASSERT_TRUE(s->faults[0].head_width == 3 && s->faults[0].loc.line == 18);
    CU_ASSERT_STRING_EQUAL(s->kernels.items[0], "nll_loss/*");
    CU_ASSERT_TRUE(s->modes.n == 2 && strcmp(s->modes.items[1], "async") == 0);
    CU_ASSERT_TRUE(s->expect.has_cause && s->expect.cause == LG_CAUSE_WRONG_HEAD_WIDTH);
    CU_ASSERT_FALSE(s->expect.has_verdict || s->expect.has_rows || s->expect.has_attribution);
    lg_scenario_set_free(&set);
}

static void test_defaults(void) {
    lg_scenario_set set;
    CU_ASSERT_TRUE_FATAL(read_valid("least", "title: x\nloss: {kind: cross_entropy}", &set));
    CU_ASSERT_EQUAL_FATAL(set.n, 1);
    const lg_scenario *s = &set.items[0];
    CU_ASSERT_STRING_EQUAL(s->point, "");
    CU_ASSERT_PTR_NULL(s->origin);
    CU_ASSERT_TRUE(s->loss.reduction == LG_REDUCTION_MEAN && s->loss.ignore_index == -100);
    CU_ASSERT_TRUE(s->loss.direction == LG_BOTH && s->loss.label_smoothing == 0);
    CU_ASSERT_TRUE(s->batch.samples == 64 && s->batch.classes == 10 && s->batch.seed == 0);
    CU_ASSERT_TRUE(s->batch.logits.dtype == LG_FLOAT32 && s->batch.logits.scale == 1);
    CU_ASSERT_TRUE(s->batch.targets.distribution == LG_DIST_UNIFORM);
    CU_ASSERT_TRUE(s->kernels.n == 0 && s->modes.n == 0 && s->n_faults == 0);
    lg_scenario_set_free(&set);
}

#define HEAD "title: x\nloss: {kind: nll_loss}\n"
#define CE "title: x\nloss: {kind: cross_entropy}\n"

typedef struct size_row {
    const char *name;
    const char *text;
    int64_t samples;
    int64_t classes;
    int64_t n_extent;
    bool unbatched;
} size_row;

static void test_sizes_follow_listed_arrays(void) {
    static const size_row rows[] = {
        {"logits N×C", HEAD "batch: {logits: {values: [1,2,3,4,5,6], shape: [2, 3]}}", 2, 3, 0,
         false},
        {"logits N×C×d", HEAD "batch: {logits: {values: [1,2,3,4,5,6], shape: [1, 3, 2]}}", 1, 3, 1,
         false},
        {"logits C", HEAD "batch: {logits: {values: [1,2,3]}}", 1, 3, 0, true},
        {"more classes than the head",
         HEAD "batch: {classes: 7, logits: {values: [1,2,3,4], shape: [2, 2]}}", 2, 7, 0, false},
        {"labels", HEAD "batch: {classes: 4, targets: {values: [0, 3, 1]}}", 3, 4, 0, false},
        {"labels N×d", HEAD "batch: {targets: {values: [0, 3, 1, 2], shape: [2, 2]}}", 2, 10, 1,
         false},
        {"probabilities",
         CE "batch: {targets: {kind: probabilities, values: [0.5, 0.5, 1, 0], shape: [2, 2]}}", 2,
         2, 0, false},
        {"binary",
         "title: x\nloss: {kind: binary_cross_entropy}\n"
         "batch: {logits: {values: [0.5, 0.25]}}",
         2, 1, 0, false},
        {"one sample", HEAD "batch: {unbatched: true}", 1, 10, 0, true},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        lg_scenario_set set;
        bool ok = read_valid(rows[i].name, rows[i].text, &set);
        LG_CHECK_ROW(rows[i].name, ok);
        if (ok) {
            const lg_batch_spec *batch = &set.items[0].batch;
            LG_CHECK_ROW(rows[i].name, batch->samples == rows[i].samples);
            LG_CHECK_ROW(rows[i].name, batch->classes == rows[i].classes);
            LG_CHECK_ROW(rows[i].name, batch->extent.n == rows[i].n_extent);
            LG_CHECK_ROW(rows[i].name, batch->unbatched == rows[i].unbatched);
        }
        lg_scenario_set_free(&set);
    }
}

// What a checked call refuses is an experiment, not an error of the file.
static void test_experiments_are_readable(void) {
    static const char *const texts[] = {
        "title: x\nloss: {kind: cross_entropy, label_smoothing: 1.2}\n",
        "title: x\nloss: {kind: cross_entropy, label_smoothing: -0.5}\n",
        "title: x\nloss: {kind: nll_loss, weight: [1, 2, 3]}\nbatch: {classes: 5}\n",
        "title: x\nloss: {kind: nll_loss, weight: {values: [1, -2], dtype: float64}}\n",
        "title: x\nloss: {kind: nll_loss, weight: [1, .inf, .nan]}\n",
        HEAD "batch: {samples: 4, targets: {values: [0, 1, 2], shape: [3]}}\n",
        HEAD "batch: {samples: 4, targets: {values: [0, 1, 2, 3], shape: [2, 2]}}\n",
        HEAD "batch: {targets: {values: [0, 1.5, 2], dtype: float32}}\n",
        HEAD "batch: {targets: {values: [-5, 999, 9223372036854775807]}}\n",
        HEAD "batch: {samples: 0}\n",
        CE "batch: {targets: {distribution: simplex}}\n",
        CE "batch: {logits: {values: [.inf, -.inf, .nan, 1e-320], shape: [2, 2]}}\n",
        "title: x\nloss: {kind: nll_loss, ignore_index: -9223372036854775808}\n",
        HEAD "batch: {targets: {dtype: bool, distribution: constant, value: 1}}\n",
        HEAD "batch: {samples: 2, logits: {stride: [0, 1]}, targets: {stride: [2]}}\n",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        lg_scenario_set set;
        LG_CHECK_ROW(texts[i], read_valid(texts[i], texts[i], &set));
        lg_scenario_set_free(&set);
    }
}

static void test_integers_stay_exact(void) {
    lg_scenario_set set;
    CU_ASSERT_TRUE_FATAL(read_valid("large",
                                    HEAD "batch: {targets: {values: [9007199254740993, "
                                         "-9223372036854775808, 9223372036854775807]}}",
                                    &set));
    const lg_array_spec *targets = &set.items[0].batch.targets;
    CU_ASSERT_TRUE_FATAL(targets->values_are_integers && targets->int_values.n == 3);
    CU_ASSERT_EQUAL(targets->int_values.items[0], INT64_C(9007199254740993));
    CU_ASSERT_EQUAL(targets->int_values.items[1], INT64_MIN);
    CU_ASSERT_EQUAL(targets->int_values.items[2], INT64_MAX);
    lg_scenario_set_free(&set);
    CU_ASSERT_TRUE_FATAL(
        read_valid("mixed", HEAD "batch: {logits: {values: [1, -0, 0.5, .nan]}}", &set));
    const lg_array_spec *logits = &set.items[0].batch.logits;
    CU_ASSERT_FALSE(logits->values_are_integers);
    CU_ASSERT_TRUE(signbit(logits->values.items[1]) && isnan(logits->values.items[3]));
    lg_scenario_set_free(&set);
}

static void test_matrix_order(void) {
    lg_scenario_set set;
    CU_ASSERT_TRUE_FATAL(read_valid("matrix",
                                    HEAD "faults:\n  - {kind: negative_labels}\n"
                                         "matrix:\n"
                                         "  batch.samples: [1, 2]\n"
                                         "  loss.weight: [none, {uniform: [0.5, 2]}, [1, 2]]\n"
                                         "  faults.0.values: [[-1], [-2, -3]]\n",
                                    &set));
    CU_ASSERT_EQUAL_FATAL(set.n, 12);
    static const char *const points[] = {
        "batch.samples=1 loss.weight=none faults.0.values=[-1]",
        "batch.samples=1 loss.weight=none faults.0.values=[-2,-3]",
        "batch.samples=1 loss.weight={uniform:[0.5,2]} faults.0.values=[-1]",
    };
    for (int i = 0; i < 3; i++) {
        CU_ASSERT_STRING_EQUAL(set.items[i].point, points[i]);
    }
    CU_ASSERT_STRING_EQUAL(set.items[11].point,
                           "batch.samples=2 loss.weight=[1,2] faults.0.values=[-2,-3]");
    CU_ASSERT_EQUAL(set.items[0].weight.source, LG_ARRAY_ABSENT);
    CU_ASSERT_TRUE(set.items[2].weight.source == LG_ARRAY_GENERATED && set.items[2].weight.hi == 2);
    CU_ASSERT_TRUE(set.items[4].weight.source == LG_ARRAY_VALUES);
    CU_ASSERT_TRUE(set.items[11].batch.samples == 2 && set.items[11].faults[0].values.n == 2);
    CU_ASSERT_EQUAL(set.items[0].faults[0].values.n, 1);
    lg_scenario_set_free(&set);
}

// A row sets several keys together, its faults with their expectation among them.
static void test_matrix_rows(void) {
    lg_scenario_set set;
    CU_ASSERT_TRUE_FATAL(read_valid("rows",
                                    HEAD
                                    "faults: [{kind: weight_vector, length: 3}]\n"
                                    "matrix:\n"
                                    "  faults:\n"
                                    "    negative+wide: {faults: [{kind: negative_labels}, {kind: "
                                    "label_equals_width}], expect.causes: [negative_labels]}\n"
                                    "    long: {faults.0.length: 11, batch.seed: 5}\n"
                                    "  batch.samples: [8, 9]\n",
                                    &set));
    CU_ASSERT_EQUAL_FATAL(set.n, 4);
    const lg_scenario *pair = &set.items[1];
    CU_ASSERT_STRING_EQUAL(pair->point, "faults=negative+wide batch.samples=9");
    CU_ASSERT_TRUE(pair->n_faults == 2 && pair->faults[1].kind == LG_CAUSE_LABEL_EQUALS_WIDTH);
    CU_ASSERT_EQUAL(pair->expect.causes, UINT32_C(1) << LG_CAUSE_NEGATIVE_LABELS);
    CU_ASSERT_TRUE(pair->batch.samples == 9 && pair->batch.seed == 0);
    const lg_scenario *other = &set.items[2];
    CU_ASSERT_STRING_EQUAL(other->point, "faults=long batch.samples=8");
    CU_ASSERT_TRUE(other->n_faults == 1 && other->faults[0].length == 11);
    CU_ASSERT_TRUE(other->batch.seed == 5 && other->expect.causes == 0);
    lg_scenario_set_free(&set);
}

// A list that many points share is converted once.
static void test_matrix_shares_lists(void) {
    lg_scenario_set set;
    CU_ASSERT_TRUE_FATAL(read_valid("shared",
                                    HEAD "batch: {targets: {values: [0, 1, 2]}}\n"
                                         "matrix: {batch.seed: [1, 2, 3]}\n",
                                    &set));
    CU_ASSERT_EQUAL_FATAL(set.n, 3);
    CU_ASSERT_PTR_EQUAL(set.items[0].batch.targets.values.items,
                        set.items[2].batch.targets.values.items);
    lg_scenario_set_free(&set);
}

static void test_names(void) {
    static const char text[] = "title: x\nloss: {kind: nll_loss}\n";
    lg_read_options options = {.root = "some/scenarios/"};
    lg_scenario_set set;
    lg_diags diags = {0};
    CU_ASSERT_TRUE(lg_scenario_read_text("some/scenarios/faults/a.b.yaml", text, strlen(text),
                                         &options, &set, &diags));
    CU_ASSERT_STRING_EQUAL(set.items[0].name, "faults/a.b");
    lg_scenario_set_free(&set);
    CU_ASSERT_TRUE(
        lg_scenario_read_text("other/c.yaml", text, strlen(text), &options, &set, &diags));
    CU_ASSERT_STRING_EQUAL(set.items[0].name, "c");
    lg_scenario_set_free(&set);
    CU_ASSERT_FALSE(lg_scenario_read("/nonexistent.yaml", NULL, &set, &diags));
    CU_ASSERT_PTR_NOT_NULL(strstr(diags.items[0].message, "No such file"));
    lg_diags_free(&diags);
}

// Cut at every byte, and with random bytes changed, the example gives an answer and no crash.
static void test_hostile(void) {
    size_t n = strlen(example);
    for (size_t i = 0; i < 3000; i++) {
        char *text = malloc(n + 1);
        memcpy(text, example, n + 1);
        size_t length = n;
        if (i < n) {
            length = i;
        } else {
            for (int k = 0; k < 4; k++) {
                uint64_t at = lg_rng_below(1, LG_STREAM_TEST, 8 * i + 2 * (uint64_t)k, n);
                uint64_t byte = lg_rng_below(1, LG_STREAM_TEST, 8 * i + 2 * (uint64_t)k + 1, 256);
                text[at] = (char)byte;
            }
        }
        char *exact = malloc(length + 1);
        memcpy(exact, text, length);
        lg_scenario_set set;
        lg_diags diags = {0};
        bool ok = lg_scenario_read_text("test.yaml", exact, length, NULL, &set, &diags);
        CU_ASSERT_EQUAL(ok, diags.n_errors == 0);
        CU_ASSERT_TRUE(ok || set.n == 0);
        lg_scenario_set_free(&set);
        lg_diags_free(&diags);
        free(exact);
        free(text);
    }
}

int main(void) {
    static const lg_test tests[] = {
        {"the example of the guide", test_the_example},
        {"defaults", test_defaults},
        {"sizes follow listed arrays", test_sizes_follow_listed_arrays},
        {"experiments are readable", test_experiments_are_readable},
        {"integers stay exact", test_integers_stay_exact},
        {"order of a matrix", test_matrix_order},
        {"named rows", test_matrix_rows},
        {"points share lists", test_matrix_shares_lists},
        {"names", test_names},
        {"cut and changed files", test_hostile},
    };
    return lg_run_tests("scenario", tests, sizeof tests / sizeof *tests);
}
