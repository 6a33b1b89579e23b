// SPDX-License-Identifier: Apache-2.0
// Every word of every vocabulary parses back to its value, and nothing else parses.
#include "manifest/manifest.h"
#include "model/cause.h"
#include "model/verdict.h"
#include "result/finding.h"
#include "scenario/scenario.h"
#include "unit/testing.h"

#include <string.h>

static void test_causes(void) {
    size_t n;
    const char *const *names = lg_cause_names(&n);
    CU_ASSERT_EQUAL(n, LG_N_CAUSES - 1);
    for (size_t i = 0; i < n; i++) {
        lg_cause cause;
        LG_CHECK_ROW(names[i], lg_cause_parse(names[i], &cause) && cause == (lg_cause)(i + 1));
        LG_CHECK_ROW(names[i], *lg_cause_help(cause) != '\0');
    }
    lg_cause cause;
    CU_ASSERT_TRUE(lg_cause_parse("none", &cause) && cause == LG_CAUSE_NONE);
    CU_ASSERT_FALSE(lg_cause_parse("wrong_head", &cause));
    size_t n_faults;
    const char *const *faults = lg_fault_names(&n_faults);
    for (size_t i = 0; i < n_faults; i++) {
        LG_CHECK_ROW(faults[i], lg_cause_parse(faults[i], &cause) && cause == (lg_cause)(i + 1));
        LG_CHECK_ROW(faults[i], lg_cause_phase_of(cause) == LG_PHASE_DATA);
    }
    CU_ASSERT_EQUAL(lg_cause_phase_of((lg_cause)(n_faults + 1)), LG_PHASE_KERNEL);
    CU_ASSERT_EQUAL(lg_cause_phase_of(LG_CAUSE_NONE), LG_PHASE_NONE);
}

static void test_verdicts(void) {
    size_t n;
    const char *const *names = lg_verdict_names(&n);
    CU_ASSERT_EQUAL(n, LG_N_VERDICTS);
    CU_ASSERT_STRING_EQUAL(names[0], "untested");
    for (size_t i = 0; i < n; i++) {
        LG_CHECK_ROW(names[i], strcmp(lg_verdict_name((lg_verdict)i), names[i]) == 0);
        LG_CHECK_ROW(names[i], *lg_verdict_help((lg_verdict)i) != '\0');
    }
    CU_ASSERT_STRING_EQUAL(lg_verdict_name(LG_N_VERDICTS), "invalid");
    CU_ASSERT_STRING_EQUAL(lg_attribution_name(LG_ATTRIBUTION_EXACT), "exact");
}

static void test_kernel_words(void) {
    size_t n;
    const char *const *names = lg_policy_names(&n);
    for (size_t i = 0; i < n; i++) {
        LG_CHECK_ROW(names[i], strcmp(lg_policy_name((lg_policy)(i + 1)), names[i]) == 0);
    }
    names = lg_mode_names(&n);
    for (size_t i = 0; i < n; i++) {
        LG_CHECK_ROW(names[i], strcmp(lg_mode_name((lg_mode)(i + 1)), names[i]) == 0);
        LG_CHECK_ROW(names[i], *lg_mode_help((lg_mode)(i + 1)) != '\0');
    }
    CU_ASSERT_STRING_EQUAL(lg_policy_name(LG_POLICY_UNSET), "unset");
    lg_arg_names(&n);
    CU_ASSERT_TRUE(n > 20);
}

static void test_loss_words(void) {
    size_t n;
    const char *const *names = lg_loss_kind_names(&n);
    CU_ASSERT_EQUAL(n, 4);
    for (size_t i = 0; i < n; i++) {
        lg_loss_kind kind;
        LG_CHECK_ROW(names[i], lg_loss_kind_parse(names[i], &kind));
        LG_CHECK_ROW(names[i], strcmp(lg_loss_kind_name(kind), names[i]) == 0);
    }
    names = lg_reduction_names(&n);
    for (size_t i = 0; i < n; i++) {
        LG_CHECK_ROW(names[i], strcmp(lg_reduction_name((lg_reduction)i), names[i]) == 0);
    }
    CU_ASSERT_STRING_EQUAL(lg_direction_name(LG_BOTH), "both");
}

static void test_forms_belong_to_their_fault(void) {
    size_t total = 0;
    for (int kind = LG_CAUSE_NONE; kind < LG_N_CAUSES; kind++) {
        size_t n;
        const char *const *forms = lg_fault_forms((lg_cause)kind, &n);
        for (size_t i = 0; i < n; i++) {
            LG_CHECK_ROW(forms[i], *forms[i] != '\0');
        }
        total += n;
    }
    size_t written = 0;
#define LG_FORM(cause, id, name, help) written++;
#include "scenario/fault_form.def"
#undef LG_FORM
    CU_ASSERT_EQUAL(total, written); // each cause's forms stand together
    size_t n;
    CU_ASSERT_STRING_EQUAL(lg_fault_forms(LG_CAUSE_BCE_RANGE, &n)[0], "input");
    lg_fault_forms(LG_CAUSE_ONE_BASED_LABELS, &n);
    CU_ASSERT_EQUAL(n, 0);
}

static void test_finding_names(void) {
    lg_hypothesis hypotheses[] = {{.cause = LG_CAUSE_ONE_BASED_LABELS},
                                  {.cause = LG_CAUSE_LABEL_EQUALS_WIDTH},
                                  {.cause = LG_CAUSE_CORRUPT_LABELS}};
    lg_finding finding = {.hypotheses = hypotheses, .n_hypotheses = 3, .n_named = 2};
    CU_ASSERT_TRUE(lg_finding_names(&finding, LG_CAUSE_LABEL_EQUALS_WIDTH));
    CU_ASSERT_FALSE(lg_finding_names(&finding, LG_CAUSE_CORRUPT_LABELS));
}

static void test_relation_words(void) {
    size_t n;
    const char *const *names = lg_relation_names(&n);
    CU_ASSERT_EQUAL_FATAL(n, LG_N_RELATIONS - 1);
    for (size_t i = 0; i < n; i++) {
        lg_relation relation = (lg_relation)(i + 1);
        LG_CHECK_ROW(names[i], strcmp(lg_relation_name(relation), names[i]) == 0);
        LG_CHECK_ROW(names[i], *lg_relation_help(relation) && *lg_relation_other(relation));
    }
    CU_ASSERT_STRING_EQUAL(lg_relation_name(LG_RELATION_UNSET), "unset");
    CU_ASSERT_STRING_EQUAL(lg_relation_name(LG_N_RELATIONS), "invalid");
    CU_ASSERT_STRING_EQUAL(lg_relation_help(LG_N_RELATIONS), "");
    CU_ASSERT_STRING_EQUAL(lg_relation_other(LG_N_RELATIONS), "");
}

int main(void) {
    static const lg_test tests[] = {
        {"causes", test_causes},
        {"verdicts", test_verdicts},
        {"policies and modes", test_kernel_words},
        {"losses", test_loss_words},
        {"relations", test_relation_words},
        {"forms of faults", test_forms_belong_to_their_fault},
        {"names of a finding", test_finding_names},
    };
    return lg_run_tests(LG_SUITE, tests, sizeof tests / sizeof *tests);
}
