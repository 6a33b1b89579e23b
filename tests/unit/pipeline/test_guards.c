// SPDX-License-Identifier: Apache-2.0
#include "pipeline/guards.h"

#include "model/scenario_read.h"
#include "unit/testing.h"

#include <math.h>
#include <string.h>

// --- each guard on labels written by hand

enum { MAX_LABELS = 12 };

typedef struct check_row {
    const char *name;
    lg_guard guard;
    lg_dtype dtype;
    int64_t width;
    int64_t ignored;
    int n;
    int64_t labels[MAX_LABELS];
    bool signalled;
    lg_cause cause;
    int n_rows; // -1: the guard names no rows
    int64_t rows[MAX_LABELS];
} check_row;

static const check_row checks[] = {
    {"range: all classes",
     LG_GUARD_LABELS_IN_RANGE,
     LG_INT64,
     3,
     -100,
     4,
     {0, 1, 2, 2},
     false,
     LG_CAUSE_NONE,
     -1,
     {0}},
    {"range: C",
     LG_GUARD_LABELS_IN_RANGE,
     LG_INT64,
     3,
     -100,
     4,
     {0, 1, 3, 2},
     true,
     LG_CAUSE_NONE,
     -1,
     {0}},
    {"range: -1",
     LG_GUARD_LABELS_IN_RANGE,
     LG_INT64,
     3,
     -100,
     2,
     {-1, 1},
     true,
     LG_CAUSE_NONE,
     -1,
     {0}},
    {"range: ignored out of range",
     LG_GUARD_LABELS_IN_RANGE,
     LG_INT64,
     3,
     -100,
     2,
     {-100, 1},
     false,
     LG_CAUSE_NONE,
     -1,
     {0}},
    {"range: no label",
     LG_GUARD_LABELS_IN_RANGE,
     LG_INT64,
     3,
     -100,
     0,
     {0},
     false,
     LG_CAUSE_NONE,
     -1,
     {0}},
    {"range: INT64_MIN",
     LG_GUARD_LABELS_IN_RANGE,
     LG_INT64,
     3,
     -100,
     1,
     {INT64_MIN},
     true,
     LG_CAUSE_NONE,
     -1,
     {0}},
    {"distinct: as many",
     LG_GUARD_N_DISTINCT_EQUALS_C,
     LG_INT64,
     3,
     -100,
     5,
     {0, 1, 2, 2, 0},
     false,
     LG_CAUSE_NONE,
     -1,
     {0}},
    {"distinct: 1..C are as many",
     LG_GUARD_N_DISTINCT_EQUALS_C,
     LG_INT64,
     3,
     -100,
     3,
     {1, 2, 3},
     false,
     LG_CAUSE_NONE,
     -1,
     {0}},
    {"distinct: one class is missing by chance",
     LG_GUARD_N_DISTINCT_EQUALS_C,
     LG_INT64,
     3,
     -100,
     3,
     {0, 0, 2},
     true,
     LG_CAUSE_NONE,
     -1,
     {0}},
    {"distinct: more than the head",
     LG_GUARD_N_DISTINCT_EQUALS_C,
     LG_INT64,
     3,
     -100,
     5,
     {0, 1, 2, 3, 4},
     true,
     LG_CAUSE_WRONG_HEAD_WIDTH,
     -1,
     {0}},
    {"distinct: out-of-range values count once",
     LG_GUARD_N_DISTINCT_EQUALS_C,
     LG_INT64,
     3,
     -100,
     6,
     {-5, 9, -5, 9, 1, -5},
     false,
     LG_CAUSE_NONE,
     -1,
     {0}},
    {"distinct: ignored ones do not count",
     LG_GUARD_N_DISTINCT_EQUALS_C,
     LG_INT64,
     2,
     -100,
     3,
     {0, -100, 1},
     false,
     LG_CAUSE_NONE,
     -1,
     {0}},
    {"width: max + 1",
     LG_GUARD_WIDTH_EQUALS_MAX_PLUS_1,
     LG_INT64,
     3,
     -100,
     2,
     {0, 2},
     false,
     LG_CAUSE_NONE,
     -1,
     {0}},
    {"width: the last class is not in the batch",
     LG_GUARD_WIDTH_EQUALS_MAX_PLUS_1,
     LG_INT64,
     3,
     -100,
     2,
     {0, 1},
     true,
     LG_CAUSE_NONE,
     -1,
     {0}},
    {"width: a label beyond the head",
     LG_GUARD_WIDTH_EQUALS_MAX_PLUS_1,
     LG_INT64,
     3,
     -100,
     2,
     {0, 3},
     true,
     LG_CAUSE_WRONG_HEAD_WIDTH,
     -1,
     {0}},
    {"width: a negative label goes unseen",
     LG_GUARD_WIDTH_EQUALS_MAX_PLUS_1,
     LG_INT64,
     3,
     -100,
     2,
     {-7, 2},
     false,
     LG_CAUSE_NONE,
     -1,
     {0}},
    {"dtype: int64 whatever it holds",
     LG_GUARD_DTYPE_IS_INT64,
     LG_INT64,
     3,
     -100,
     1,
     {77},
     false,
     LG_CAUSE_NONE,
     -1,
     {0}},
    {"dtype: uint8",
     LG_GUARD_DTYPE_IS_INT64,
     LG_UINT8,
     3,
     -100,
     1,
     {1},
     true,
     LG_CAUSE_TARGET_DTYPE,
     -1,
     {0}},
    {"dtype: float32",
     LG_GUARD_DTYPE_IS_INT64,
     LG_FLOAT32,
     3,
     -100,
     1,
     {1},
     true,
     LG_CAUSE_FLOAT_TARGETS,
     -1,
     {0}},
    {"wrapper: names the rows",
     LG_GUARD_WRAPPER,
     LG_INT64,
     3,
     -100,
     5,
     {3, 0, -1, -100, 4},
     true,
     LG_CAUSE_NONE,
     3,
     {0, 2, 4}},
    {"wrapper: quiet",
     LG_GUARD_WRAPPER,
     LG_INT64,
     3,
     -100,
     2,
     {2, 0},
     false,
     LG_CAUSE_NONE,
     -1,
     {0}},
    {"assert: names the threads of one block",
     LG_GUARD_DEVICE_ASSERT,
     LG_INT64,
     3,
     -100,
     3,
     {0, 3, 1},
     true,
     LG_CAUSE_NONE,
     1,
     {1}},
    {"compiled out: says nothing",
     LG_GUARD_COMPILED_OUT,
     LG_INT64,
     3,
     -100,
     2,
     {3, -1},
     false,
     LG_CAUSE_NONE,
     -1,
     {0}},
    {"clamp: says nothing",
     LG_GUARD_CLAMP,
     LG_INT64,
     3,
     -100,
     2,
     {3, -1},
     false,
     LG_CAUSE_NONE,
     -1,
     {0}},
    {"subtract: says nothing",
     LG_GUARD_SUBTRACT_ONE,
     LG_INT64,
     3,
     -100,
     1,
     {0},
     false,
     LG_CAUSE_NONE,
     -1,
     {0}},
    {"smoothing: says nothing",
     LG_GUARD_LABEL_SMOOTHING,
     LG_INT64,
     3,
     -100,
     1,
     {3},
     false,
     LG_CAUSE_NONE,
     -1,
     {0}},
};

static void test_checks(void) {
    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++) {
        const check_row *row = &checks[i];
        lg_guard_view view = {.n = row->n,
                              .labels = row->labels,
                              .head_width = row->width,
                              .ignore_index = row->ignored,
                              .dtype = row->dtype};
        int64_t rows[MAX_LABELS];
        lg_guard_report report = lg_guard_check(row->guard, &view, rows);
        LG_CHECK_ROW(row->name, report.signalled == row->signalled);
        LG_CHECK_ROW(row->name, report.cause == row->cause);
        LG_CHECK_ROW(row->name, report.names_rows == (row->n_rows >= 0));
        if (row->n_rows >= 0) {
            LG_CHECK_ROW(row->name, report.n_rows == row->n_rows);
            LG_CHECK_ROW(row->name,
                         memcmp(rows, row->rows, (size_t)row->n_rows * sizeof *rows) == 0);
        }
    }
}

// Of 33 rows an assert's block and thread tell the row only up to the block size.
static void test_assert_beyond_one_block(void) {
    int64_t labels[33] = {0};
    int64_t rows[33];
    labels[32] = 5;
    lg_guard_view view = {
        .n = 33, .labels = labels, .head_width = 2, .ignore_index = -100, .dtype = LG_INT64};
    lg_guard_report report = lg_guard_check(LG_GUARD_DEVICE_ASSERT, &view, rows);
    CU_ASSERT_TRUE(report.signalled && !report.names_rows);
    report = lg_guard_check(LG_GUARD_WRAPPER, &view, rows);
    CU_ASSERT_TRUE(report.signalled && report.names_rows && report.n_rows == 1 && rows[0] == 32);
}

static void test_changes(void) {
    static const int64_t labels[] = {-100, -1, 0, 1, 2, 3, INT64_MAX, INT64_MIN};
    static const int64_t clamped[] = {0, 0, 0, 1, 2, 2, 2, 0};
    static const int64_t less[] = {-101, -2, -1, 0, 1, 2, INT64_MAX - 1, INT64_MAX};
    enum { N = sizeof labels / sizeof *labels };
    lg_guard_view view = {
        .n = N, .labels = labels, .head_width = 3, .ignore_index = -100, .dtype = LG_INT64};
    int64_t out[N];
    CU_ASSERT_TRUE(lg_guard_change(LG_GUARD_CLAMP, &view, out));
    CU_ASSERT_EQUAL(memcmp(out, clamped, sizeof out), 0);
    CU_ASSERT_TRUE(lg_guard_change(LG_GUARD_SUBTRACT_ONE, &view, out));
    CU_ASSERT_EQUAL(memcmp(out, less, sizeof out), 0);
    CU_ASSERT_FALSE(lg_guard_change(LG_GUARD_LABELS_IN_RANGE, &view, out));
    CU_ASSERT_FALSE(lg_guard_change(LG_GUARD_COMPILED_OUT, &view, out));
}

// One bad row of 1000, and 1000 numbers of a batch: the shares that sampling promises, and the same
// draws again.
static void test_sampling(void) {
    enum { N = 1000 };
    int64_t labels[N] = {0};
    labels[123] = 9;
    int by_batch = 0;
    int by_row = 0;
    for (uint64_t number = 0; number < 1000; number++) {
        lg_guard_view view = {.n = N,
                              .labels = labels,
                              .head_width = 2,
                              .ignore_index = -100,
                              .dtype = LG_INT64,
                              .seed = 5,
                              .number = number};
        bool batch = lg_guard_check(LG_GUARD_SAMPLED_BATCHES, &view, NULL).signalled;
        bool row = lg_guard_check(LG_GUARD_SAMPLED_ROWS, &view, NULL).signalled;
        CU_ASSERT_EQUAL(lg_guard_check(LG_GUARD_SAMPLED_ROWS, &view, NULL).signalled, row);
        by_batch += batch;
        by_row += row;
    }
    // 0.1 of 1000, and 1 - (1 - 1/1000)^100 = 0.0952 of 1000; four standard deviations are 38.
    CU_ASSERT_TRUE(by_batch > 62 && by_batch < 138);
    CU_ASSERT_TRUE(by_row > 57 && by_row < 133);
    lg_guard_view none = {.n = 0, .labels = labels, .head_width = 2, .dtype = LG_INT64};
    CU_ASSERT_FALSE(lg_guard_check(LG_GUARD_SAMPLED_ROWS, &none, NULL).signalled);
}

static void test_names(void) {
    CU_ASSERT_STRING_EQUAL(lg_guard_name(LG_GUARD_CLAMP), "clamp_into_range");
    CU_ASSERT_STRING_EQUAL(lg_guard_name(LG_N_GUARDS), "invalid");
    for (int g = 0; g < LG_N_GUARDS; g++) {
        CU_ASSERT_TRUE(strlen(lg_guard_help((lg_guard)g)) > 0);
    }
}

// --- whole scenarios

static lg_guard_study *study_of(const char *text) {
    static lg_guard_study study;
    lg_diags diags = {0};
    lg_scenario_set set = {0};
    lg_read_options options = {0};
    study = (lg_guard_study){0};
    CU_ASSERT_TRUE_FATAL(
        lg_scenario_read_text("guards.yaml", text, strlen(text), &options, &set, &diags));
    for (int64_t i = 0; i < set.n; i++) {
        CU_ASSERT_TRUE(lg_guard_study_add(&study, &set.items[i], &diags));
    }
    lg_diags_print(&diags, stderr);
    lg_diags_free(&diags);
    lg_scenario_set_free(&set);
    return &study;
}

static const lg_guard_tally *tally(const lg_guard_study *study, lg_guard guard, lg_cause cause) {
    return &study->guards[guard].by_cause[cause];
}

// The batch is 0 1 2 0 1 2; one label becomes 3. Clamped, it is class 2, which it was not.
static void test_clamp_makes_a_wrong_class(void) {
    const lg_guard_study *study =
        study_of("title: t\nloss: {kind: nll_loss, reduction: sum}\n"
                 "batch: {samples: 6, classes: 3, targets: {distribution: round_robin}}\n"
                 "faults: [{kind: label_equals_width, rows: [0]}]\n");
    const lg_guard_tally *clamp = tally(study, LG_GUARD_CLAMP, LG_CAUSE_LABEL_EQUALS_WIDTH);
    CU_ASSERT_TRUE(study->n_faulty == 1 && study->n_clean == 1);
    CU_ASSERT_TRUE(clamp->n == 1 && clamp->detected == 0 && clamp->silent == 1);
    const lg_guard_clean *clean = &study->guards[LG_GUARD_CLAMP].clean;
    CU_ASSERT_TRUE(clean->n == 1 && clean->silent == 0 && clean->broken == 0);
    const lg_guard_tally *wrapper = tally(study, LG_GUARD_WRAPPER, LG_CAUSE_LABEL_EQUALS_WIDTH);
    CU_ASSERT_TRUE(wrapper->detected == 1 && wrapper->rows_exact == 1);
    const lg_guard_tally *out = tally(study, LG_GUARD_COMPILED_OUT, LG_CAUSE_LABEL_EQUALS_WIDTH);
    CU_ASSERT_TRUE(out->detected == 0 && out->left == 1 && out->silent == 0);
    // It says that the head is too narrow, which is another fault.
    const lg_guard_tally *width =
        tally(study, LG_GUARD_WIDTH_EQUALS_MAX_PLUS_1, LG_CAUSE_LABEL_EQUALS_WIDTH);
    CU_ASSERT_TRUE(width->detected == 1 && width->cause_right == 0 && width->cause_wrong == 1);
}

// Clamped, the label 3 of row 2 is the 2 it was: no harm.
static void test_clamp_by_luck(void) {
    const lg_guard_study *study =
        study_of("title: t\nloss: {kind: nll_loss, reduction: sum}\n"
                 "batch: {samples: 6, classes: 3, targets: {distribution: round_robin}}\n"
                 "faults: [{kind: label_equals_width, rows: [2]}]\n");
    const lg_guard_tally *clamp = tally(study, LG_GUARD_CLAMP, LG_CAUSE_LABEL_EQUALS_WIDTH);
    CU_ASSERT_TRUE(clamp->right == 1 && clamp->silent == 0);
}

// 1-based labels are put right by subtracting; clean ones (with a 0) are broken by it, and ignored
// ones stop being ignored. A clean batch without a 0 is corrupted in silence.
static void test_subtract(void) {
    const lg_guard_study *study =
        study_of("title: t\nloss: {kind: nll_loss, reduction: mean}\n"
                 "batch: {samples: 6, classes: 3, targets: {distribution: round_robin}}\n"
                 "faults: [{kind: one_based_labels}]\n");
    const lg_guard_tally *subtract = tally(study, LG_GUARD_SUBTRACT_ONE, LG_CAUSE_ONE_BASED_LABELS);
    CU_ASSERT_TRUE(subtract->n == 1 && subtract->right == 1);
    CU_ASSERT_TRUE(study->guards[LG_GUARD_SUBTRACT_ONE].clean.broken == 1);
    study = study_of("title: t\nloss: {kind: nll_loss, reduction: mean}\n"
                     "batch:\n  targets: {values: [1, 2, 2]}\n  classes: 3\n  samples: 3\n");
    CU_ASSERT_TRUE(study->n_faulty == 0 && study->n_clean == 1);
    CU_ASSERT_TRUE(study->guards[LG_GUARD_SUBTRACT_ONE].clean.silent == 1);
    CU_ASSERT_TRUE(study->guards[LG_GUARD_LABELS_IN_RANGE].clean.false_alarms == 0);
    CU_ASSERT_TRUE(study->guards[LG_GUARD_N_DISTINCT_EQUALS_C].clean.false_alarms == 1);
}

// Clamping an ignored label gives it a class: damage to a clean batch.
static void test_clamp_ignored(void) {
    const lg_guard_study *study =
        study_of("title: t\nloss: {kind: nll_loss, reduction: mean}\n"
                 "batch:\n  targets: {values: [1, -100, 2]}\n  classes: 3\n  samples: 3\n");
    CU_ASSERT_TRUE(study->guards[LG_GUARD_CLAMP].clean.silent == 1);
    CU_ASSERT_TRUE(study->guards[LG_GUARD_WRAPPER].clean.false_alarms == 0);
}

// Labels cut on their way are valid for every check: the loss is wrong in silence.
static void test_misread_labels(void) {
    const lg_guard_study *study =
        study_of("title: t\nloss: {kind: nll_loss, reduction: mean}\n"
                 "batch: {samples: 6, classes: 300, targets: {distribution: round_robin}}\n"
                 "faults: [{kind: target_dtype, where: int32_wrap, rows: [4]}]\n");
    const lg_guard_tally *range = tally(study, LG_GUARD_LABELS_IN_RANGE, LG_CAUSE_TARGET_DTYPE);
    CU_ASSERT_TRUE(range->n == 1 && range->detected == 0);
    CU_ASSERT_EQUAL(range->right + range->silent + range->left, 1);
    CU_ASSERT_EQUAL(range->left, 0);
}

// Label smoothing is there in cross_entropy alone, and protects nothing.
static void test_smoothing(void) {
    const lg_guard_study *study =
        study_of("title: t\nloss: {kind: nll_loss}\nbatch: {samples: 6, classes: 3}\n");
    CU_ASSERT_TRUE(study->guards[LG_GUARD_LABEL_SMOOTHING].clean.n == 0);
    study = study_of("title: t\nloss: {kind: cross_entropy}\nbatch: {samples: 6, classes: 3}\n"
                     "faults: [{kind: negative_labels}]\n");
    const lg_guard_tally *smoothing =
        tally(study, LG_GUARD_LABEL_SMOOTHING, LG_CAUSE_NEGATIVE_LABELS);
    CU_ASSERT_TRUE(smoothing->n == 1 && smoothing->left == 1);
    CU_ASSERT_TRUE(study->guards[LG_GUARD_LABEL_SMOOTHING].clean.silent == 1);
}

static void test_inapplicable(void) {
    const lg_guard_study *study =
        study_of("title: t\nloss: {kind: binary_cross_entropy}\nbatch: {samples: 6}\n");
    CU_ASSERT_TRUE(study->n_inapplicable == 1 && study->n_clean == 0 && study->n_faulty == 0);
    study = study_of("title: t\nloss: {kind: nll_loss}\nbatch: {samples: 6, classes: 3}\n"
                     "faults: [{kind: shape_layout}]\n");
    lg_guard_tally labels = lg_guard_sum(&study->guards[LG_GUARD_WRAPPER], true);
    lg_guard_tally other = lg_guard_sum(&study->guards[LG_GUARD_WRAPPER], false);
    CU_ASSERT_TRUE(labels.n == 0 && other.n == 1 && other.left == 1);
}

static void test_costs(void) {
    static lg_guard_study study;
    lg_guard_study_measure(&study);
    CU_ASSERT_TRUE(study.read_ns_per_label > 0);
    for (int g = 0; g < LG_N_GUARDS; g++) {
        double ns = study.guards[g].ns_per_label;
        bool has_none = g == LG_GUARD_DEVICE_ASSERT || g == LG_GUARD_COMPILED_OUT ||
                        g == LG_GUARD_LABEL_SMOOTHING;
        LG_CHECK_ROW(lg_guard_name((lg_guard)g), has_none ? isnan(ns) : ns > 0 && ns < 1000);
    }
}

int main(void) {
    static const lg_test tests[] = {
        {"checks", test_checks},
        {"an assert beyond one block", test_assert_beyond_one_block},
        {"changes", test_changes},
        {"sampling", test_sampling},
        {"names", test_names},
        {"clamping makes a wrong class", test_clamp_makes_a_wrong_class},
        {"clamping by luck", test_clamp_by_luck},
        {"subtracting", test_subtract},
        {"clamping ignored labels", test_clamp_ignored},
        {"misread labels", test_misread_labels},
        {"smoothing", test_smoothing},
        {"what does not apply", test_inapplicable},
        {"costs", test_costs},
    };
    return lg_run_tests("guards", tests, sizeof tests / sizeof *tests);
}
