// SPDX-License-Identifier: Apache-2.0
#include "session/internal.h"
#include "unit/testing.h"

#include <string.h>

#define NO_FAULT LG_CAUSE_NONE

typedef struct expect_row {
    const char *name;
    lg_cause fault;
    lg_policy policy;
    lg_verdict verdict;
    lg_attribution attribution;
    lg_cause found;
    lg_detector detected_by;
    bool as_expected;
    lg_expect expect; // of the scenario; nothing: what its fault implies
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
    {"control passes", NO_FAULT, GUARDED, LG_PASS, NO_ATTRIBUTION, NO_FAULT, LG_DETECTOR_NONE, true,
     .text = "pass"},
    {"control alarmed", NO_FAULT, GUARDED, LG_FALSE_ALARM, NO_ATTRIBUTION, NO_FAULT,
     LG_DETECTOR_NONE, false, .text = "expected pass, found false_alarm"},
    {"control misdiagnosed", NO_FAULT, GUARDED, LG_PASS, LG_ATTRIBUTION_WRONG, ONE,
     LG_DETECTOR_NONE, false, .text = "expected no diagnosis, found one_based_labels"},
    {"fault found exactly", WIDTH, GUARDED, LG_DETECTED, EXACT, WIDTH, LG_DETECTOR_DEVICE_ASSERT,
     true, .text = "detected, cause wrong_head_width"},
    {"fault found ambiguously", WIDTH, GUARDED, LG_DETECTED, LG_ATTRIBUTION_AMBIGUOUS, ONE,
     LG_DETECTOR_NAN, true, .text = "detected, cause wrong_head_width"},
    {"fault misdiagnosed", WIDTH, GUARDED, LG_DETECTED, LG_ATTRIBUTION_WRONG, ONE, LG_DETECTOR_NAN,
     false, .text = "expected attribution exact or ambiguous, found wrong (one_based_labels)"},
    {"fault missed", WIDTH, GUARDED, LG_SILENT_CORRUPTION, EXACT, WIDTH, LG_DETECTOR_NONE, false,
     .text = "expected detected, found silent_corruption"},
    {"fault passed", WIDTH, GUARDED, LG_PASS, EXACT, WIDTH, LG_DETECTOR_NONE, false,
     .text = "expected detected, found pass"},
    {"unchecked corrupts", WIDTH, UNCHECKED, LG_SILENT_CORRUPTION, EXACT, WIDTH, LG_DETECTOR_NONE,
     true, .text = "silent_corruption or memory_fault"},
    {"unchecked reads past", WIDTH, UNCHECKED, LG_MEMORY_FAULT, LG_ATTRIBUTION_WRONG, ONE,
     LG_DETECTOR_NONE, true, .text = "silent_corruption or memory_fault"},
    {"unchecked gives NaN", WIDTH, UNCHECKED, LG_DETECTED, EXACT, WIDTH, LG_DETECTOR_NAN, true,
     .text = "silent_corruption or memory_fault"},
    {"unchecked cannot be guarded", WIDTH, UNCHECKED, LG_DETECTED, EXACT, WIDTH,
     LG_DETECTOR_HOST_CHECK, false,
     .text = "expected silent_corruption or memory_fault, found detected"},
    {"unchecked never passes", WIDTH, UNCHECKED, LG_PASS, EXACT, WIDTH, LG_DETECTOR_NONE, false,
     .text = "expected silent_corruption or memory_fault, found pass"},
    {"no supervised row is a warning", LG_CAUSE_NO_SUPERVISED_ROW, GUARDED, LG_PASS, EXACT,
     LG_CAUSE_NO_SUPERVISED_ROW, LG_DETECTOR_NONE, true,
     .text = "pass or detected, cause no_supervised_row"},
    {"refused logits", LG_CAUSE_NONFINITE_LOGITS, GUARDED, LG_DETECTED, EXACT,
     LG_CAUSE_NONFINITE_LOGITS, LG_DETECTOR_DEVICE_ASSERT, true,
     .text = "pass or detected, cause nonfinite_logits"},
    {"logits corrupted", LG_CAUSE_NONFINITE_LOGITS, UNCHECKED, LG_WRONG_RESULT, EXACT,
     LG_CAUSE_NONFINITE_LOGITS, LG_DETECTOR_NONE, false,
     .text = "expected pass or detected, found wrong_result"},
    {"no supervised row unseen", LG_CAUSE_NO_SUPERVISED_ROW, GUARDED, LG_PASS, NO_ATTRIBUTION,
     NO_FAULT, LG_DETECTOR_NONE, false,
     .text = "expected attribution exact or ambiguous, found none (none)"},
    {"untested is never fine", NO_FAULT, GUARDED, LG_UNTESTED, NO_ATTRIBUTION, NO_FAULT,
     LG_DETECTOR_NONE, false, .text = "expected pass, found untested"},
    {"untested even when asked for", NO_FAULT, GUARDED, LG_UNTESTED, NO_ATTRIBUTION, NO_FAULT,
     LG_DETECTOR_NONE, false, .expect = {.has_verdict = true, .verdict = LG_UNTESTED},
     .text = "expected untested, found untested"},
    {"skipped is nobody's fault", WIDTH, GUARDED, LG_SKIPPED, NO_ATTRIBUTION, NO_FAULT,
     LG_DETECTOR_NONE, true, .text = "detected"},
    {"skipped where a verdict is asked for", WIDTH, GUARDED, LG_SKIPPED, NO_ATTRIBUTION, NO_FAULT,
     LG_DETECTOR_NONE, false, .expect = {.has_verdict = true, .verdict = LG_DETECTED},
     .text = "expected detected, found skipped"},
    {"another cause expected", WIDTH, GUARDED, LG_DETECTED, EXACT, WIDTH, LG_DETECTOR_NAN, false,
     .expect = {.has_cause = true, .cause = ONE},
     .text = "expected cause one_based_labels, found wrong_head_width (certain)"},
    {"another verdict expected", WIDTH, GUARDED, LG_DETECTED, EXACT, WIDTH, LG_DETECTOR_NAN, false,
     .expect = {.has_verdict = true, .verdict = LG_SILENT_CORRUPTION},
     .text = "expected silent_corruption, found detected"},
    {"rows as expected", WIDTH, GUARDED, LG_DETECTED, EXACT, WIDTH, LG_DETECTOR_NAN, true,
     .expect = {.has_rows = true, .rows = {2, rows_3_5}},
     .text = "detected, 2 rows: 3 5, cause wrong_head_width"},
    {"other rows expected", WIDTH, GUARDED, LG_DETECTED, EXACT, WIDTH, LG_DETECTOR_NAN, false,
     .expect = {.has_rows = true, .rows = {2, rows_3_6}},
     .text = "expected 2 rows: 3 6, found 2 rows: 3 5"},
    {"attribution expected", WIDTH, UNCHECKED, LG_MEMORY_FAULT, LG_ATTRIBUTION_WRONG, ONE,
     LG_DETECTOR_NONE, false, .expect = {.has_attribution = true, .attribution = EXACT},
     .text = "expected attribution exact, found wrong (one_based_labels)"},
    {"all differences are told", WIDTH, GUARDED, LG_PASS, LG_ATTRIBUTION_WRONG, ONE,
     LG_DETECTOR_NONE, false,
     .expect = {.has_cause = true, .cause = WIDTH, .has_rows = true, .rows = {2, rows_3_6}},
     .text =
         "expected detected, found pass; expected cause wrong_head_width, found one_based_labels "
         "(certain); expected 2 rows: 3 6, found 2 rows: 3 5"},
};

// A build that fails its self-proof is what a scenario may be about; anything else untested is not.
static void test_untested_can_be_meant(void) {
    static const struct {
        const char *name;
        lg_reason reason;
        bool has_verdict;
        bool as_expected;
        const char *text;
    } meant[] = {
        {"meant", LG_REASON_COLUMN_FAILED, true, true, "untested: the build fails its self-proof"},
        {"no build failed", LG_REASON_NO_OUTPUT, true, false, "expected untested, found untested"},
        {"not asked for", LG_REASON_COLUMN_FAILED, false, false, "expected pass, found untested"},
    };
    for (size_t i = 0; i < sizeof(meant) / sizeof(meant[0]); i++) {
        lg_scenario scenario = {
            .name = "s", .expect = {.has_verdict = meant[i].has_verdict, .verdict = LG_UNTESTED}};
        lg_kernel kernel = {.name = "k", .policy = GUARDED};
        lg_case what = {.scenario = &scenario, .kernel = &kernel, .mode = LG_MODE_ASYNC};
        lg_case_result result = {.what = &what, .judged = {.reason = meant[i].reason}};
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
        lg_case_result result = {
            .what = &what,
            .judged = {.verdict = row->verdict, .detected_by = row->detected_by},
            .attribution = row->attribution};
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

static void test_a_kernel_nobody_named_may_skip(void) {
    lg_scenario scenario = {.name = "s", .expect = {.has_verdict = true, .verdict = LG_DETECTED}};
    lg_kernel kernel = {.name = "k", .policy = GUARDED};
    lg_case what = {.scenario = &scenario, .kernel = &kernel, .mode = LG_MODE_ASYNC};
    lg_case_result result = {.what = &what, .judged = {.verdict = LG_SKIPPED}};
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
        {"a kernel nobody named may skip", test_a_kernel_nobody_named_may_skip},
    };
    return lg_run_tests(LG_SUITE, tests, sizeof(tests) / sizeof(tests[0]));
}
