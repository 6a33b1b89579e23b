// SPDX-License-Identifier: Apache-2.0
// What a run may claim from the results of its cases: counts, exit code, kernels of which nothing
// was proven, and what of a claim no case had.
#include "session/internal.h"

#include "unit/testing.h"

#include <string.h>

enum { MAX_CASES = 5 };

// One case of the first kernel. `reason` alone: an absent one.
typedef struct tally_case {
    lg_verdict verdict;
    bool as_expected;
    const char *absent; // why it was no case; NULL: it was one
    bool host_check;
    bool skip_meant; // the scenario expects that it is skipped
} tally_case;

#define PASS                                                                                       \
    { .verdict = LG_PASS, .as_expected = true }
#define WRONG                                                                                      \
    { .verdict = LG_WRONG_RESULT }
#define UNTESTED_CASE                                                                              \
    { .verdict = LG_UNTESTED }
#define SKIP                                                                                       \
    { .verdict = LG_SKIPPED, .as_expected = true }
#define ABSENT(why)                                                                                \
    { .absent = why }

typedef struct tally_row {
    const char *name;
    int n;
    tally_case cases[MAX_CASES];
    bool chosen; // the user named the manifest
    int exit_code;
    int64_t as_expected, not_expected, untested, skipped;
    const char *why_none; // of the first kernel; NULL: it was launched, or nobody asks
} tally_row;

#define CASES(...)                                                                                 \
    .n = (int)(sizeof((tally_case[]){__VA_ARGS__}) / sizeof(tally_case)), .cases = {__VA_ARGS__}

static const tally_row rows[] = {
    {"nothing", .n = 0, .exit_code = 3},
    {"one passes", CASES(PASS), .exit_code = 0, .as_expected = 1},
    {"one is wrong", CASES(PASS, WRONG), .exit_code = 1, .as_expected = 1, .not_expected = 1},
    {"one is untested", CASES(PASS, UNTESTED_CASE), .exit_code = 1, .as_expected = 1,
     .untested = 1},
    {"all are untested", CASES(UNTESTED_CASE), .exit_code = 3, .untested = 1},
    {"all are skipped", CASES(SKIP, SKIP), .exit_code = 3, .skipped = 2},
    {"a skip that is meant", CASES({LG_SKIPPED, true, NULL, false, true}), .exit_code = 0,
     .as_expected = 1},
    {"a skip that is not as expected", CASES(PASS, {.verdict = LG_SKIPPED}), .exit_code = 1,
     .as_expected = 1, .not_expected = 1, .skipped = 1},
    {"untested as meant", CASES({LG_UNTESTED, true, NULL, false, false}), .exit_code = 0,
     .as_expected = 1},
    {"absent ones are no cases", CASES(PASS, ABSENT("it takes no weights")), .exit_code = 0,
     .as_expected = 1},
    {"launched, chosen", CASES(PASS, ABSENT("it takes no weights")), true, .exit_code = 0,
     .as_expected = 1},
    {"refused before any launch, chosen", CASES({LG_DETECTED, true, NULL, true, false}), true,
     .exit_code = 3, .as_expected = 1,
     .why_none = "refused by a host check, before any launch (1)"},
    {"refused before any launch, not chosen", CASES({LG_DETECTED, true, NULL, true, false}),
     .exit_code = 0, .as_expected = 1},
    {"reasons by number, each once",
     CASES({LG_DETECTED, true, NULL, true, false}, ABSENT("b"), ABSENT("a"), ABSENT("b"),
           UNTESTED_CASE),
     true, .exit_code = 1, .as_expected = 1, .untested = 1, .why_none = "b (2); "},
};

static lg_case_run run_of(const tally_case *from, const lg_case *what) {
    lg_case_run run = {.absent = from->absent != NULL};
    run.result = (lg_case_result){.what = what,
                                  .judged = {.verdict = from->verdict, .text = from->absent},
                                  .as_expected = from->as_expected};
    run.result.observation.refused_on_host = from->host_check;
    // Everything that a kernel of one type could claim.
    run.coverage = (lg_coverage){.options = UINT32_MAX,
                                 .forward = {.inputs = 1u << LG_FLOAT32,
                                             .targets = 1u << LG_INT64,
                                             .reductions = 1u << LG_REDUCTION_MEAN}};
    return run;
}

static lg_stage forward = {.entry = "f", .direction = LG_FORWARD};

static lg_kernel kernel_of_one_type(const char *name) {
    return (lg_kernel){.name = name,
                       .family = LG_NLL_LOSS,
                       .policy = LG_POLICY_ASSERT,
                       .input_dtypes = 1u << LG_FLOAT32,
                       .target_dtypes = 1u << LG_INT64,
                       .reductions = 1u << LG_REDUCTION_MEAN,
                       .batched = true,
                       .n_stages = 1,
                       .stages = &forward};
}

static void run_row(const tally_row *row, const lg_kernel_set *kernels, lg_run_summary *summary,
                    lg_tally *tally) {
    lg_session_options options = {.kernels = kernels, .kernels_chosen = row->chosen};
    *summary = (lg_run_summary){0};
    lg_tally_init(tally, &options, summary);
    for (int i = 0; i < row->n; i++) {
        lg_scenario scenario = {.name = "s"};
        scenario.expect.has_verdict = row->cases[i].skip_meant;
        scenario.expect.verdict = LG_SKIPPED;
        lg_case what = {.scenario = &scenario, .kernel = &kernels->items[0]};
        lg_case_run run = run_of(&row->cases[i], &what);
        if (run.absent) {
            lg_tally_absent(tally, &run);
        } else {
            lg_tally_case(tally, &run);
        }
    }
    lg_tally_end(tally, &options);
}

static void test_counts_and_exit_codes(void) {
    lg_kernel kernel = kernel_of_one_type("k");
    lg_kernel_set kernels = {.n = 1, .items = &kernel};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const tally_row *row = &rows[i];
        lg_run_summary summary;
        lg_tally tally;
        run_row(row, &kernels, &summary, &tally);
        LG_CHECK_ROW(row->name, summary.exit_code == row->exit_code);
        LG_CHECK_ROW(row->name, summary.n_as_expected == row->as_expected);
        LG_CHECK_ROW(row->name, summary.n_not_expected == row->not_expected);
        LG_CHECK_ROW(row->name, summary.n_untested == row->untested);
        LG_CHECK_ROW(row->name, summary.n_skipped == row->skipped);
        const char *why = summary.n_gaps ? summary.gaps[0].why_none : NULL;
        const char *want = row->why_none;
        LG_CHECK_ROW(row->name, !want == !why);
        LG_CHECK_ROW(row->name, !why || (want && !strncmp(why, want, strlen(want))));
        LG_CHECK_ROW(row->name, summary.n_unproven == (row->why_none != NULL));
        lg_tally_free(&tally);
        CU_ASSERT_PTR_NULL(summary.gaps);
    }
}

// Of a launched kernel: what it claims and no case had. Of one that no scenario is for: that. A
// mutant that nobody asked for is no gap.
static void test_gaps(void) {
    lg_kernel items[] = {kernel_of_one_type("k"), kernel_of_one_type("idle"),
                         kernel_of_one_type("mutants/m")};
    items[0].input_dtypes |= 1u << LG_FLOAT16;
    items[0].reductions |= 1u << LG_REDUCTION_SUM;
    lg_kernel_set kernels = {.n = 3, .items = items};
    tally_row row = {"gaps", CASES(PASS), true};
    lg_run_summary summary;
    lg_tally tally;
    run_row(&row, &kernels, &summary, &tally);
    CU_ASSERT_EQUAL_FATAL(summary.n_gaps, 2);
    CU_ASSERT_PTR_EQUAL(summary.gaps[0].kernel, &items[0]);
    CU_ASSERT_PTR_NULL(summary.gaps[0].why_none);
    CU_ASSERT_STRING_EQUAL(summary.gaps[0].never_tested, "reduction sum, float16 input");
    CU_ASSERT_PTR_EQUAL(summary.gaps[1].kernel, &items[1]);
    CU_ASSERT_STRING_EQUAL(summary.gaps[1].why_none, "no scenario is for it");
    CU_ASSERT_EQUAL(summary.exit_code, 3);
    lg_tally_free(&tally);
}

// Of more reasons than are told the most frequent ones are, and that there are others.
static void test_many_reasons(void) {
    lg_kernel kernel = kernel_of_one_type("k");
    lg_kernel_set kernels = {.n = 1, .items = &kernel};
    tally_row row = {"reasons",
                     CASES(ABSENT("a"), ABSENT("b"), ABSENT("c"), ABSENT("d"), ABSENT("d")), true};
    lg_run_summary summary;
    lg_tally tally;
    run_row(&row, &kernels, &summary, &tally);
    CU_ASSERT_EQUAL(summary.n_gaps, 0); // no case at all: that alone is told
    lg_tally_free(&tally);
    row.cases[0] = (tally_case)UNTESTED_CASE;
    run_row(&row, &kernels, &summary, &tally);
    CU_ASSERT_EQUAL_FATAL(summary.n_gaps, 1);
    CU_ASSERT_PTR_NOT_NULL_FATAL(summary.gaps[0].why_none);
    CU_ASSERT_EQUAL(strncmp(summary.gaps[0].why_none, "d (2); ", 7), 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(summary.gaps[0].why_none, "; …"));
    lg_tally_free(&tally);
}

int main(void) {
    static const lg_test tests[] = {
        {"counts and exit codes", test_counts_and_exit_codes},
        {"gaps", test_gaps},
        {"many reasons", test_many_reasons},
    };
    return lg_run_tests(LG_SUITE, tests, sizeof tests / sizeof *tests);
}
