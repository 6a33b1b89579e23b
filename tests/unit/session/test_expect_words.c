// SPDX-License-Identifier: Apache-2.0
// Expectations of what a finding says, where an error comes to light, and which loss a kernel
// returns.
#include "session/internal.h"
#include "unit/testing.h"

#include <math.h>
#include <string.h>

#define GUARDED LG_POLICY_ASSERT
#define WIDTH LG_CAUSE_WRONG_HEAD_WIDTH
#define ONE LG_CAUSE_ONE_BASED_LABELS
#define EXACT LG_ATTRIBUTION_EXACT

// What a finding says in words, where the error came to light, and the numbers of the kernel.
typedef struct said_row {
    const char *name;
    lg_expect expect;
    bool as_expected;
    const char *text;
} said_row;

#define BIT(id) (UINT32_C(1) << LG_CAUSE_##id)

static double one_loss[] = {0.15200};
static double another_loss[] = {0.07600};
static double two_losses[] = {0.152, 0.5};
static double nan_loss[] = {NAN};

static const said_row said[] = {
    {"both causes",
     {.causes = BIT(LABEL_EQUALS_WIDTH) | BIT(WRONG_HEAD_WIDTH)},
     true,
     "detected, cause wrong_head_width, cause label_equals_width"},
    {"a cause that is not named",
     {.causes = BIT(LABEL_EQUALS_WIDTH) | BIT(RACE)},
     false,
     "expected cause race to be named, found label_equals_width (ambiguous)"},
    {"advice of the second cause",
     {.advice = "head of 4"},
     true,
     "detected, cause label_equals_width"},
    {"advice of a cause that is not named",
     {.advice = "subtract"},
     false,
     "expected advice with 'subtract', found look at row 3"},
    {"headline", {.evidence = "195"}, true, "detected, cause label_equals_width"},
    {"evidence", {.evidence = "0 occurs"}, true, "detected, cause label_equals_width"},
    {"other evidence",
     {.evidence = "1..C"},
     false,
     "expected evidence with '1..C', found 0 occurs"},
    {"call", {.surfaced_at = "cuStream*"}, true, "detected, cause label_equals_width"},
    {"another call",
     {.surfaced_at = "host_check"},
     false,
     "expected the error to surface at host_check, found cuStreamSynchronize"},
    {"launch", {.failed_launch = "*backward*"}, true, "detected, cause label_equals_width"},
    {"another launch",
     {.failed_launch = "none"},
     false,
     "expected none to be the failed launch, found nll_backward"},
    {"loss",
     {.loss = {1, one_loss}, .loss_tolerance = 1e-4},
     true,
     "detected, cause label_equals_width"},
    {"another loss",
     {.loss = {1, another_loss}, .loss_tolerance = 1e-4},
     false,
     "expected loss 0.076 in place 0, found 0.15201"},
    {"a loss without tolerance",
     {.loss = {1, one_loss}},
     false,
     "expected loss 0.152 in place 0, found 0.15201"},
    {"a NaN",
     {.loss = {1, nan_loss}, .loss_tolerance = INFINITY},
     false,
     "expected loss nan in place 0, found 0.15201"},
    {"as many losses",
     {.loss = {2, two_losses}, .loss_tolerance = 1},
     false,
     "expected 2 losses, found 1"},
};

static void test_what_is_said(void) {
    for (size_t i = 0; i < sizeof(said) / sizeof(said[0]); i++) {
        lg_scenario scenario = {.name = "s", .expect = said[i].expect, .n_faults = 1};
        scenario.faults[0].kind = LG_CAUSE_LABEL_EQUALS_WIDTH;
        lg_kernel kernel = {.name = "k", .policy = GUARDED};
        lg_case what = {.scenario = &scenario, .kernel = &kernel, .mode = LG_MODE_ASYNC};
        lg_hypothesis hypotheses[] = {
            {.cause = LG_CAUSE_LABEL_EQUALS_WIDTH,
             .evidence = "0 occurs",
             .advice = "look at row 3"},
            {.cause = WIDTH, .advice = "use a head of 4"},
            {.cause = ONE, .evidence = "labels run 1..C", .advice = "subtract 1"},
        };
        double loss = 0.15201;
        lg_case_result result = {
            .what = &what,
            .judged = {.verdict = LG_DETECTED, .detected_by = LG_DETECTOR_DEVICE_ASSERT},
            .attribution = LG_ATTRIBUTION_AMBIGUOUS,
            .loss = &loss,
            .n_loss = 1};
        result.observation.surfaced_at = "cuStreamSynchronize";
        result.observation.failed_launch = "nll_backward";
        result.finding = (lg_finding){.cause = LG_CAUSE_LABEL_EQUALS_WIDTH,
                                      .ambiguous = true,
                                      .headline = "one label 195",
                                      .hypotheses = hypotheses,
                                      .n_hypotheses = 3,
                                      .n_named = 2};
        lg_arena arena = {0};
        lg_expect_check(&result, &arena);
        bool same = strcmp(result.expectation, said[i].text) == 0;
        if (!same) {
            fprintf(stderr, "\n    got: %s\n", result.expectation);
        }
        LG_CHECK_ROW(said[i].name, result.as_expected == said[i].as_expected && same);
        lg_arena_free(&arena);
    }
}

static void test_nothing_launched_is_a_place_too(void) {
    lg_scenario scenario = {.name = "s",
                            .n_faults = 1,
                            .expect = {.surfaced_at = "host_check", .failed_launch = "none"}};
    scenario.faults[0].kind = LG_CAUSE_TARGET_DTYPE;
    lg_kernel kernel = {.name = "k", .policy = GUARDED};
    lg_case what = {.scenario = &scenario, .kernel = &kernel, .mode = LG_MODE_ASYNC};
    lg_case_result result = {
        .what = &what, .judged = {.verdict = LG_DETECTED}, .attribution = EXACT};
    lg_arena arena = {0};
    lg_expect_check(&result, &arena);
    CU_ASSERT_FALSE(result.as_expected);
    result.observation.refused_on_host = true;
    lg_expect_check(&result, &arena);
    CU_ASSERT_TRUE(result.as_expected);
    lg_arena_free(&arena);
}

int main(void) {
    const lg_test tests[] = {
        {"what is said", test_what_is_said},
        {"nothing launched is a place too", test_nothing_launched_is_a_place_too},
    };
    return lg_run_tests(LG_SUITE, tests, sizeof(tests) / sizeof(tests[0]));
}
