// SPDX-License-Identifier: Apache-2.0
// What a manifest claims and the cases of a run did not put to its kernel.
#include "session/internal.h"

#include "unit/judge/relation_helpers.h"

#include <stdlib.h>

#define BIT(value) (1u << (value))
#define CE(options) "title: t\nloss: {kind: cross_entropy, " options "}\n"

static lg_arg row_args[] = {{.id = LG_ARG_OUTPUT},
                            {.id = LG_ARG_INPUT},
                            {.id = LG_ARG_TARGET},
                            {.id = LG_ARG_SAMPLES},
                            {.id = LG_ARG_HEAD_WIDTH}};
static lg_arg gradient_args[] = {{.id = LG_ARG_GRAD_INPUT},
                                 {.id = LG_ARG_GRAD_OUTPUT},
                                 {.id = LG_ARG_INPUT},
                                 {.id = LG_ARG_TARGET}};

// A kernel with an entry for each pair of types, forward and backward.
static const lg_stage stages[] = {
    {.entry = "f_{dtype}_{target}",
     .entry_by_dtype = true,
     .entry_by_target = true,
     .direction = LG_FORWARD,
     .n_args = 5,
     .args = row_args},
    {.entry = "b_{dtype}_{target}",
     .entry_by_dtype = true,
     .entry_by_target = true,
     .direction = LG_BACKWARD,
     .n_args = 4,
     .args = gradient_args},
};

static lg_kernel pair_kernel(void) {
    return (lg_kernel){.name = "pair",
                       .family = LG_CROSS_ENTROPY,
                       .policy = LG_POLICY_ASSERT,
                       .input_dtypes = BIT(LG_FLOAT32) | BIT(LG_FLOAT16),
                       .target_dtypes = BIT(LG_INT64) | BIT(LG_INT32),
                       .reductions = BIT(LG_REDUCTION_NONE) | BIT(LG_REDUCTION_SUM),
                       .batched = true,
                       .n_stages = 2,
                       .stages = (lg_stage *)stages};
}

static lg_coverage run_text(const lg_kernel *kernel, const char *text) {
    scene s;
    scene_begin(&s, text);
    lg_coverage run = lg_coverage_of(kernel, &s.batch, &s.reference);
    scene_end(&s);
    return run;
}

typedef struct coverage_row {
    const char *name;
    const char *texts[4];
    const char *missing; // NULL: nothing
} coverage_row;

#define F32_I64 "batch: {samples: 9, classes: 3, ignored_fraction: 0.5}\n"
#define TYPES(input, label)                                                                        \
    "batch: {samples: 9, classes: 3, logits: {dtype: " input "}, targets: {dtype: " label "}}\n"
#define BAD "faults: [{kind: label_equals_width}]\n"

static const coverage_row rows[] = {
    {"nothing",
     {NULL},
     "the backward pass, an upstream gradient, N×C input, ignored rows, invalid rows, reduction "
     "none, reduction sum, float32 input, float16 input, int64 targets, int32 targets"},
    {"forward alone",
     {CE("reduction: none, direction: forward") F32_I64,
      CE("reduction: sum, direction: forward") TYPES("float16", "int32") BAD},
     "the backward pass, an upstream gradient, float32 input with int32 targets, float16 input "
     "with int64 targets"},
    {"backward in one type",
     {CE("reduction: none, direction: forward") F32_I64,
      CE("reduction: sum, direction: forward") TYPES("float16", "int32"),
      CE("reduction: sum, grad_output: [2]") TYPES("float16", "int64") BAD},
     "float32 input with int32 targets, reduction none backward, float32 input backward, int32 "
     "targets backward"},
    {"a pair alone in no direction",
     {CE("reduction: none, grad_output: {uniform: [1, 2]}") F32_I64,
      CE("reduction: sum") TYPES("float16", "int32") BAD,
      CE("reduction: sum") TYPES("float16", "int64")},
     "float32 input with int32 targets"},
    {"everything",
     {CE("reduction: none, grad_output: {uniform: [1, 2]}") F32_I64,
      CE("reduction: sum") TYPES("float16", "int32") BAD,
      CE("reduction: sum") TYPES("float16", "int64"),
      CE("reduction: sum") TYPES("float32", "int32")},
     NULL},
};

static void test_missing(void) {
    lg_kernel kernel = pair_kernel();
    lg_coverage claimed = lg_coverage_claimed(&kernel);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        lg_coverage met = {0};
        for (int k = 0; k < 4 && rows[i].texts[k]; k++) {
            lg_coverage more = run_text(&kernel, rows[i].texts[k]);
            lg_coverage_add(&met, &more);
        }
        char *missing = lg_coverage_missing(&claimed, &met);
        bool same = missing && rows[i].missing ? strcmp(missing, rows[i].missing) == 0
                                               : missing == rows[i].missing;
        LG_CHECK_ROW(rows[i].name, same);
        if (!same) {
            fprintf(stderr, "    %s\n", missing ? missing : "nothing");
        }
        free(missing);
    }
}

// One entry for all label types says nothing of pairs, and a kernel claims what it has.
static void test_claims(void) {
    lg_kernel kernel = pair_kernel();
    lg_stage one = {.entry = "f_{dtype}",
                    .entry_by_dtype = true,
                    .direction = LG_FORWARD,
                    .n_args = 5,
                    .args = row_args};
    kernel.stages = &one;
    kernel.n_stages = 1;
    lg_coverage claimed = lg_coverage_claimed(&kernel);
    CU_ASSERT_EQUAL(claimed.backward.inputs, 0);
    CU_ASSERT_EQUAL(claimed.forward.inputs, kernel.input_dtypes);
    CU_ASSERT_EQUAL(claimed.forward.pairs[LG_FLOAT32], 0);
    kernel.family = LG_BCE;
    claimed = lg_coverage_claimed(&kernel);
    CU_ASSERT_EQUAL(claimed.forward.targets, 0); // of the input's type
    kernel.policy = LG_POLICY_NONE;
    lg_coverage met = {0};
    claimed = lg_coverage_claimed(&kernel);
    char *missing = lg_coverage_missing(&claimed, &met);
    CU_ASSERT_PTR_NOT_NULL_FATAL(missing);
    CU_ASSERT_STRING_EQUAL(missing, "reduction none, reduction sum, float32 input, float16 input");
    free(missing);
}

int main(void) {
    static const lg_test tests[] = {
        {"what is missing", test_missing},
        {"what is claimed", test_claims},
    };
    return lg_run_tests(LG_SUITE, tests, sizeof tests / sizeof *tests);
}
