// SPDX-License-Identifier: Apache-2.0
// What guards do to whole scenarios: detected, put right, left alone, made worse in silence.
#include "guards/guards.h"

#include "scenario/scenario.h"
#include "unit/testing.h"

#include <math.h>
#include <string.h>

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
        {"clamping makes a wrong class", test_clamp_makes_a_wrong_class},
        {"clamping by luck", test_clamp_by_luck},
        {"subtracting", test_subtract},
        {"clamping ignored labels", test_clamp_ignored},
        {"misread labels", test_misread_labels},
        {"smoothing", test_smoothing},
        {"what does not apply", test_inapplicable},
        {"costs", test_costs},
    };
    return lg_run_tests("guards_study", tests, sizeof tests / sizeof *tests);
}
