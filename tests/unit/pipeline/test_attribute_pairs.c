// SPDX-License-Identifier: Apache-2.0
// Two faults in one batch that are plain each for itself: both are named.
#include "pipeline/attribute.h"
#include "pipeline/generate.h"
#include "unit/testing.h"

typedef struct pair_row {
    const char *name;
    lg_fault_spec faults[2];
    bool certain;
} pair_row;

static const lg_fault_spec probabilities = {.kind = LG_CAUSE_VALUE_DOMAIN,
                                            .where = "probabilities"};

static void test_pairs(void) {
    const lg_fault_spec weights = {.kind = LG_CAUSE_WEIGHT_VECTOR, .length = 5};
    const lg_fault_spec shape = {.kind = LG_CAUSE_SHAPE_LAYOUT, .where = "batch"};
    const lg_fault_spec type = {.kind = LG_CAUSE_TARGET_DTYPE, .dtype = LG_INT16};
    const lg_fault_spec labels = {.kind = LG_CAUSE_LABEL_EQUALS_WIDTH, .count = 3};
    const pair_row pairs[] = {
        {"probabilities and weights", {probabilities, weights}, true},
        {"probabilities and a shape", {probabilities, shape}, true},
        {"probabilities and a type of labels", {probabilities, type}, true},
        {"probabilities and labels C", {probabilities, labels}, false},
        {"a type of labels and weights", {type, weights}, true},
        {"a type of labels and a shape", {type, shape}, true},
        {"weights and labels C", {weights, labels}, false},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        const lg_array_spec some = {.source = LG_ARRAY_GENERATED, .lo = 0.25, .hi = 2};
        lg_scenario s = {.path = "row.yaml"};
        s.loss = (lg_loss_options){.kind = LG_NLL_LOSS,
                                   .reduction = LG_REDUCTION_NONE,
                                   .ignore_index = -100,
                                   .direction = LG_FORWARD};
        s.batch = (lg_batch_spec){.seed = 5,
                                  .samples = 100,
                                  .classes = 8,
                                  .logits = {.source = LG_ARRAY_GENERATED, .scale = 1},
                                  .targets = {.source = LG_ARRAY_GENERATED}};
        s.weight = some;
        s.n_faults = 2;
        s.faults[0] = pairs[i].faults[0];
        s.faults[1] = pairs[i].faults[1];
        lg_batch batch;
        lg_diags diags = {0};
        CU_ASSERT_TRUE_FATAL(lg_generate(&s, true, &batch, &diags));
        lg_diags_free(&diags);
        lg_attribute_input input = {.batch = &batch};
        lg_finding finding;
        lg_attribute(&input, &finding);
        LG_CHECK_ROW(pairs[i].name,
                     finding.n_hypotheses > 0 && finding.hypotheses[0].with != LG_CAUSE_NONE);
        LG_CHECK_ROW(pairs[i].name, lg_finding_names(&finding, pairs[i].faults[0].kind));
        LG_CHECK_ROW(pairs[i].name, lg_finding_names(&finding, pairs[i].faults[1].kind));
        LG_CHECK_ROW(pairs[i].name, finding.certain == pairs[i].certain);
        LG_CHECK_ROW(pairs[i].name, lg_attribution_grade(&batch, &finding) == LG_ATTRIBUTION_EXACT);
        lg_finding_free(&finding);
        lg_batch_free(&batch);
    }
}

static const lg_test tests[] = {{"pairs", test_pairs}};

int main(void) {
    return lg_run_tests("pipeline/attribute_pairs", tests, sizeof tests / sizeof *tests);
}
