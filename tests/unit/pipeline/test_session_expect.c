// SPDX-License-Identifier: Apache-2.0
#include "pipeline/session_expect.h"
#include "unit/testing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NO_FAULT LG_CAUSE_NONE

typedef struct expect_row {
    const char *name;
    lg_cause fault;
    lg_policy policy;
    lg_verdict verdict;
    lg_attribution attribution;
    lg_cause found;
    const char *detected_by;
    lg_expect expect;
    bool as_expected;
    const char *text;
} expect_row;

#define GUARDED LG_POLICY_ASSERT
#define UNCHECKED LG_POLICY_NONE
#define WIDTH LG_CAUSE_WRONG_HEAD_WIDTH
#define ONE LG_CAUSE_ONE_BASED_LABELS
#define EXACT LG_ATTRIBUTION_EXACT
#define NO_ATTRIBUTION LG_ATTRIBUTION_NONE

static int64_t rows_3_5[] = {3, 5};
static int64_t rows_3_6[] = {3, 6};

static const expect_row rows[] = {
    {"control passes",
     NO_FAULT,
     GUARDED,
     LG_PASS,
     NO_ATTRIBUTION,
     NO_FAULT,
     NULL,
     {0},
     true,
     "pass"},
    {"control alarmed",
     NO_FAULT,
     GUARDED,
     LG_FALSE_ALARM,
     NO_ATTRIBUTION,
     NO_FAULT,
     NULL,
     {0},
     false,
     "expected pass, found false_alarm"},
    {"control misdiagnosed",
     NO_FAULT,
     GUARDED,
     LG_PASS,
     LG_ATTRIBUTION_WRONG,
     ONE,
     NULL,
     {0},
     false,
     "expected no diagnosis, found one_based_labels"},
    {"fault found exactly",
     WIDTH,
     GUARDED,
     LG_DETECTED,
     EXACT,
     WIDTH,
     "device_assert",
     {0},
     true,
     "detected, cause wrong_head_width"},
    {"fault found ambiguously",
     WIDTH,
     GUARDED,
     LG_DETECTED,
     LG_ATTRIBUTION_AMBIGUOUS,
     ONE,
     "nan",
     {0},
     true,
     "detected, cause wrong_head_width"},
    {"fault misdiagnosed",
     WIDTH,
     GUARDED,
     LG_DETECTED,
     LG_ATTRIBUTION_WRONG,
     ONE,
     "nan",
     {0},
     false,
     "expected attribution exact or ambiguous, found wrong (one_based_labels)"},
    {"fault missed",
     WIDTH,
     GUARDED,
     LG_SILENT_CORRUPTION,
     EXACT,
     WIDTH,
     NULL,
     {0},
     false,
     "expected detected, found silent_corruption"},
    {"fault passed",
     WIDTH,
     GUARDED,
     LG_PASS,
     EXACT,
     WIDTH,
     NULL,
     {0},
     false,
     "expected detected, found pass"},
    {"unchecked corrupts",
     WIDTH,
     UNCHECKED,
     LG_SILENT_CORRUPTION,
     EXACT,
     WIDTH,
     NULL,
     {0},
     true,
     "silent_corruption or memory_fault"},
    {"unchecked reads past",
     WIDTH,
     UNCHECKED,
     LG_MEMORY_FAULT,
     LG_ATTRIBUTION_WRONG,
     ONE,
     NULL,
     {0},
     true,
     "silent_corruption or memory_fault"},
    {"unchecked gives NaN",
     WIDTH,
     UNCHECKED,
     LG_DETECTED,
     EXACT,
     WIDTH,
     "nan",
     {0},
     true,
     "silent_corruption or memory_fault"},
    {"unchecked cannot be guarded",
     WIDTH,
     UNCHECKED,
     LG_DETECTED,
     EXACT,
     WIDTH,
     "host_check",
     {0},
     false,
     "expected silent_corruption or memory_fault, found detected"},
    {"unchecked never passes",
     WIDTH,
     UNCHECKED,
     LG_PASS,
     EXACT,
     WIDTH,
     NULL,
     {0},
     false,
     "expected silent_corruption or memory_fault, found pass"},
    {"no supervised row is a warning",
     LG_CAUSE_NO_SUPERVISED_ROW,
     GUARDED,
     LG_PASS,
     EXACT,
     LG_CAUSE_NO_SUPERVISED_ROW,
     NULL,
     {0},
     true,
     "pass or detected, cause no_supervised_row"},
    {"refused logits",
     LG_CAUSE_NONFINITE_LOGITS,
     GUARDED,
     LG_DETECTED,
     EXACT,
     LG_CAUSE_NONFINITE_LOGITS,
     "device_assert",
     {0},
     true,
     "pass or detected, cause nonfinite_logits"},
    {"logits corrupted",
     LG_CAUSE_NONFINITE_LOGITS,
     UNCHECKED,
     LG_WRONG_RESULT,
     EXACT,
     LG_CAUSE_NONFINITE_LOGITS,
     NULL,
     {0},
     false,
     "expected pass or detected, found wrong_result"},
    {"no supervised row unseen",
     LG_CAUSE_NO_SUPERVISED_ROW,
     GUARDED,
     LG_PASS,
     NO_ATTRIBUTION,
     NO_FAULT,
     NULL,
     {0},
     false,
     "expected attribution exact or ambiguous, found none (none)"},
    {"untested is never fine",
     NO_FAULT,
     GUARDED,
     LG_UNTESTED,
     NO_ATTRIBUTION,
     NO_FAULT,
     NULL,
     {0},
     false,
     "expected pass, found untested"},
    {"untested even when asked for",
     NO_FAULT,
     GUARDED,
     LG_UNTESTED,
     NO_ATTRIBUTION,
     NO_FAULT,
     NULL,
     {.has_verdict = true, .verdict = LG_UNTESTED},
     false,
     "expected untested, found untested"},
    {"skipped is nobody's fault",
     WIDTH,
     GUARDED,
     LG_SKIPPED,
     NO_ATTRIBUTION,
     NO_FAULT,
     NULL,
     {0},
     true,
     "detected"},
    {"skipped where a verdict is asked for",
     WIDTH,
     GUARDED,
     LG_SKIPPED,
     NO_ATTRIBUTION,
     NO_FAULT,
     NULL,
     {.has_verdict = true, .verdict = LG_DETECTED},
     false,
     "expected detected, found skipped"},
    {"another cause expected",
     WIDTH,
     GUARDED,
     LG_DETECTED,
     EXACT,
     WIDTH,
     "nan",
     {.has_cause = true, .cause = ONE},
     false,
     "expected cause one_based_labels, found wrong_head_width (certain)"},
    {"another verdict expected",
     WIDTH,
     GUARDED,
     LG_DETECTED,
     EXACT,
     WIDTH,
     "nan",
     {.has_verdict = true, .verdict = LG_SILENT_CORRUPTION},
     false,
     "expected silent_corruption, found detected"},
    {"rows as expected",
     WIDTH,
     GUARDED,
     LG_DETECTED,
     EXACT,
     WIDTH,
     "nan",
     {.has_rows = true, .rows = {2, rows_3_5}},
     true,
     "detected, 2 rows: 3 5, cause wrong_head_width"},
    {"other rows expected",
     WIDTH,
     GUARDED,
     LG_DETECTED,
     EXACT,
     WIDTH,
     "nan",
     {.has_rows = true, .rows = {2, rows_3_6}},
     false,
     "expected 2 rows: 3 6, found 2 rows: 3 5"},
    {"attribution expected",
     WIDTH,
     UNCHECKED,
     LG_MEMORY_FAULT,
     LG_ATTRIBUTION_WRONG,
     ONE,
     NULL,
     {.has_attribution = true, .attribution = EXACT},
     false,
     "expected attribution exact, found wrong (one_based_labels)"},
    {"all differences are told",
     WIDTH,
     GUARDED,
     LG_PASS,
     LG_ATTRIBUTION_WRONG,
     ONE,
     NULL,
     {.has_cause = true, .cause = WIDTH, .has_rows = true, .rows = {2, rows_3_6}},
     false,
     "expected detected, found pass; expected cause wrong_head_width, found one_based_labels "
     "(certain); expected 2 rows: 3 6, found 2 rows: 3 5"},
};

// A build that fails its self-proof is what a scenario may be about; anything else untested is not.
static void test_untested_can_be_meant(void) {
    static const struct {
        const char *name;
        bool column_failed, has_verdict;
        bool as_expected;
        const char *text;
    } meant[] = {
        {"meant", true, true, true, "untested: the build fails its self-proof"},
        {"no build failed", false, true, false, "expected untested, found untested"},
        {"not asked for", true, false, false, "expected pass, found untested"},
    };
    for (size_t i = 0; i < sizeof(meant) / sizeof(meant[0]); i++) {
        lg_scenario scenario = {
            .name = "s", .expect = {.has_verdict = meant[i].has_verdict, .verdict = LG_UNTESTED}};
        lg_kernel kernel = {.name = "k", .policy = GUARDED};
        lg_case what = {.scenario = &scenario, .kernel = &kernel, .mode = LG_MODE_ASYNC};
        lg_case_result result = {.what = &what, .column_failed = meant[i].column_failed};
        lg_arena arena = {0};
        lg_expect_check(&result, &arena);
        LG_CHECK_ROW(meant[i].name, result.as_expected == meant[i].as_expected);
        LG_CHECK_ROW(meant[i].name, strcmp(result.expectation, meant[i].text) == 0);
        lg_arena_free(&arena);
    }
}

static void test_each_result_meets_its_expectation(void) {
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const expect_row *row = &rows[i];
        // The scenario names its kernels: what they must show they must not skip.
        lg_scenario scenario = {.name = "s", .expect = row->expect, .kernels = {.n = 1}};
        scenario.n_faults = row->fault != LG_CAUSE_NONE;
        scenario.faults[0].kind = row->fault;
        lg_kernel kernel = {.name = "k", .policy = row->policy};
        lg_case what = {.scenario = &scenario, .kernel = &kernel, .mode = LG_MODE_ASYNC};
        lg_hypothesis hypothesis = {.cause = row->found, .probability = 1};
        lg_case_result result = {.what = &what,
                                 .verdict = row->verdict,
                                 .attribution = row->attribution,
                                 .detected_by = row->detected_by};
        result.finding = (lg_finding){.cause = row->found,
                                      .certain = row->found != LG_CAUSE_NONE,
                                      .hypotheses = &hypothesis,
                                      .n_hypotheses = row->found != LG_CAUSE_NONE,
                                      .n_named = row->found != LG_CAUSE_NONE,
                                      .n_rows = 2,
                                      .rows = rows_3_5};
        lg_arena arena = {0};
        lg_expect_check(&result, &arena);
        if (strcmp(result.expectation, row->text) != 0) {
            fprintf(stderr, "\n    got: %s\n", result.expectation);
        }
        LG_CHECK_ROW(row->name, result.as_expected == row->as_expected);
        LG_CHECK_ROW(row->name, strcmp(result.expectation, row->text) == 0);
        lg_arena_free(&arena);
    }
}

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
        lg_case_result result = {.what = &what,
                                 .verdict = LG_DETECTED,
                                 .attribution = LG_ATTRIBUTION_AMBIGUOUS,
                                 .detected_by = "device_assert",
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
    lg_case_result result = {.what = &what, .verdict = LG_DETECTED, .attribution = EXACT};
    lg_arena arena = {0};
    lg_expect_check(&result, &arena);
    CU_ASSERT_FALSE(result.as_expected);
    result.observation.refused_on_host = true;
    lg_expect_check(&result, &arena);
    CU_ASSERT_TRUE(result.as_expected);
    lg_arena_free(&arena);
}

static void test_a_kernel_nobody_named_may_skip(void) {
    lg_scenario scenario = {.name = "s", .expect = {.has_verdict = true, .verdict = LG_DETECTED}};
    lg_kernel kernel = {.name = "k", .policy = GUARDED};
    lg_case what = {.scenario = &scenario, .kernel = &kernel, .mode = LG_MODE_ASYNC};
    lg_case_result result = {.what = &what, .verdict = LG_SKIPPED};
    lg_arena arena = {0};
    lg_expect_check(&result, &arena);
    CU_ASSERT_TRUE(result.as_expected);
    scenario.kernels.n = 1;
    lg_expect_check(&result, &arena);
    CU_ASSERT_FALSE(result.as_expected);
    lg_arena_free(&arena);
}

int main(void) {
    const lg_test tests[] = {
        {"each result meets its expectation", test_each_result_meets_its_expectation},
        {"untested can be meant", test_untested_can_be_meant},
        {"what is said", test_what_is_said},
        {"nothing launched is a place too", test_nothing_launched_is_a_place_too},
        {"a kernel nobody named may skip", test_a_kernel_nobody_named_may_skip},
    };
    return lg_run_tests("pipeline.session_expect", tests, sizeof(tests) / sizeof(tests[0]));
}
