// SPDX-License-Identifier: Apache-2.0
// Verdicts that a scenario may and may not expect beside its faults.
#include "scenario/scenario.h"
#include "support/str.h"
#include "unit/testing.h"

#include <string.h>

#define NLL "loss: {kind: nll_loss, weight: {uniform: [1, 2]}}\n"
#define CE "loss: {kind: cross_entropy}\n"
#define PROBABILITIES CE "batch: {targets: {kind: probabilities}}\n"
#define BCE "loss: {kind: binary_cross_entropy}\n"
#define SPATIAL NLL "batch: {extent: [4]}\n"

typedef struct prospect_row {
    const char *loss;
    const char *fault;
    bool may_pass;
} prospect_row;

static const prospect_row rows[] = {
    // Never valid.
    {NLL, "kind: label_equals_width", false},
    {CE, "kind: negative_labels", false},
    {CE, "kind: sentinel_mismatch, values: [255]", false},
    {CE, "kind: float_targets", false},
    {CE, "kind: shape_layout", false},
    {SPATIAL, "kind: shape_layout, where: spatial", false},
    {NLL, "kind: weight_vector, length: 3", false},
    {BCE, "kind: bce_range", false},
    {BCE, "kind: bce_range, where: target, number: -0.25", false},
    {PROBABILITIES, "kind: value_domain, where: negative", false},
    {PROBABILITIES, "kind: nonfinite_logits, where: target", false},
    // Valid, or so by chance: the loss is defined, or what was shifted stays in range.
    {CE, "kind: no_supervised_row", true},
    {NLL, "kind: no_supervised_row, where: zero_weight", true},
    {CE, "kind: nonfinite_logits", true},
    {CE, "kind: one_based_labels", true},
    {CE, "kind: over_shifted_labels", true},
    {CE, "kind: wrong_head_width", true},
    {CE, "kind: float_targets, form: truncated", true},
    {CE, "kind: target_dtype, where: uint8_wrap", true},
    {CE, "kind: shape_layout, where: class_last", true},
    {PROBABILITIES, "kind: value_domain, where: unnormalised", true},
    {NLL, "kind: value_domain, where: probabilities", true},
};

// The error at expect.verdict, if there is one; any other fails the test.
static bool is_refused(const char *name, const char *text) {
    lg_scenario_set set;
    lg_diags diags = {0};
    lg_read_options options = {0};
    bool ok = lg_scenario_read_text("t.yaml", text, strlen(text), &options, &set, &diags);
    for (size_t i = 0; i < diags.n; i++) {
        LG_CHECK_ROW(name, strstr(diags.items[i].message, "expect.verdict is ") != NULL);
    }
    LG_CHECK_ROW(name, ok == (diags.n_errors == 0));
    if (ok) {
        lg_scenario_set_free(&set);
    }
    lg_diags_free(&diags);
    return !ok;
}

static bool refuses(const prospect_row *row, const char *verdict) {
    lg_str text = {0};
    lg_str_printf(&text, "title: t\n%sfaults: [{%s}]\nexpect: {verdict: %s}\n", row->loss,
                  row->fault, verdict);
    bool refused = is_refused(row->fault, lg_str_text(&text));
    lg_str_free(&text);
    return refused;
}

static void test_verdicts_beside_faults(void) {
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        LG_CHECK_ROW(rows[i].fault, refuses(&rows[i], "pass") == !rows[i].may_pass);
        LG_CHECK_ROW(rows[i].fault, !refuses(&rows[i], "detected"));
        LG_CHECK_ROW(rows[i].fault, !refuses(&rows[i], "silent_corruption"));
    }
}

// One hopeless fault is enough, and it is the one that is named.
static void test_second_fault(void) {
    lg_scenario_set set;
    lg_diags diags = {0};
    lg_read_options options = {0};
    const char *text =
        "title: t\n" CE "faults: [{kind: nonfinite_logits}, {kind: negative_labels}]\n"
        "expect: {verdict: pass}\n";
    CU_ASSERT_FALSE(lg_scenario_read_text("t.yaml", text, strlen(text), &options, &set, &diags));
    CU_ASSERT_EQUAL_FATAL(diags.n_errors, 1);
    CU_ASSERT_PTR_NOT_NULL(strstr(diags.items[0].message, "faults.1 (negative_labels)"));
    CU_ASSERT_EQUAL(diags.items[0].line, 4);
    lg_diags_free(&diags);
}

static void test_detected_without_faults(void) {
    CU_ASSERT_TRUE(is_refused("drawn", "title: t\n" CE "expect: {verdict: detected}\n"));
    CU_ASSERT_FALSE(is_refused("drawn", "title: t\n" CE "expect: {verdict: false_alarm}\n"));
    CU_ASSERT_FALSE(is_refused("listed", "title: t\n" CE "batch: {targets: {values: [0, 99]}}\n"
                                         "expect: {verdict: detected}\n"));
}

int main(void) {
    static const lg_test tests[] = {
        {"verdicts beside faults", test_verdicts_beside_faults},
        {"the second fault", test_second_fault},
        {"detected without faults", test_detected_without_faults},
    };
    return lg_run_tests("scenario_prospects", tests, sizeof tests / sizeof *tests);
}
