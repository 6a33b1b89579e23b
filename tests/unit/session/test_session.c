// SPDX-License-Identifier: Apache-2.0
// Whole runs on the embedded device with kernels that are wrong in known ways (tests/data/session).
#include "session/session.h"
#include "unit/testing.h"

#include "scenario/scenario.h"
#include "support/str.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char control_text[] = "title: Clean\n"
                                   "loss: {kind: nll_loss, reduction: none, direction: forward}\n"
                                   "batch: {seed: 1, samples: 40, classes: 7}\n"
                                   "run: {modes: [blocking]}\n";
static const char fault_text[] = "title: A label at the width\n"
                                 "loss: {kind: nll_loss, reduction: none, direction: forward}\n"
                                 "batch: {seed: 2, samples: 40, classes: 7}\n"
                                 "faults:\n"
                                 "  - {kind: label_equals_width, rows: [5]}\n"
                                 "run: {modes: [blocking]}\n"
                                 "matrix: {batch.seed: [2, 3, 4]}\n";

typedef struct seen_case {
    char *kernel;
    char *scenario;
    lg_verdict verdict;
    bool as_expected;
    char *reason;
    char *id;
} seen_case;

// An observer that keeps what it is told.
typedef struct seen {
    seen_case cases[128];
    int n_cases;
    lg_str failed_columns; // "kernel: why" a line
    int n_columns;
    lg_run_summary summary;
} seen;

static void see_case(void *context, const lg_case_result *result) {
    seen *s = context;
    s->cases[s->n_cases++] =
        (seen_case){.kernel = strdup(result->what->kernel->name),
                    .scenario = strdup(result->what->scenario->name),
                    .verdict = result->judged.verdict,
                    .as_expected = result->as_expected,
                    .reason = strdup(result->judged.text ? result->judged.text : ""),
                    .id = strdup(result->what->id)};
}

static void see_column(void *context, const lg_column_proof *proof) {
    seen *s = context;
    s->n_columns++;
    if (!proof->proven) {
        lg_str_printf(&s->failed_columns, "%s: %s\n", proof->kernel->name, proof->why);
    }
}

static void seen_free(seen *s) {
    for (int i = 0; i < s->n_cases; i++) {
        free(s->cases[i].kernel);
        free(s->cases[i].scenario);
        free(s->cases[i].reason);
        free(s->cases[i].id);
    }
    lg_str_free(&s->failed_columns);
}

static void read_text(const char *folder, const char *name, const char *text,
                      lg_scenario_set *set) {
    char path[256];
    snprintf(path, sizeof(path), "%s/%s.yaml", folder, name);
    FILE *file = fopen(path, "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    fputs(text, file);
    fclose(file);
    lg_diags diags = {0};
    lg_read_options options = {.root = folder};
    CU_ASSERT_TRUE(lg_scenario_read(path, &options, set, &diags));
    lg_diags_print(&diags, stderr);
    lg_diags_free(&diags);
    unlink(path);
}

// Runs both scenarios on the kernels that match; false with the errors printed.
static bool run(const char *kernel_glob, int jobs, const char *only_case, seen *s) {
    *s = (seen){0};
    char folder[] = "/tmp/lossgate-session-XXXXXX";
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
    lg_scenario_set sets[2] = {0};
    read_text(folder, "control", control_text, &sets[0]);
    read_text(folder, "fault", fault_text, &sets[1]);
    rmdir(folder);
    lg_diags diags = {0};
    lg_kernel_set kernels = {0};
    CU_ASSERT_TRUE(lg_kernels_read(LG_TEST_DIR "/data/session/rows.yaml", &kernels, &diags));
    lg_observer observer = {.context = s, .case_done = see_case, .column_proven = see_column};
    lg_session_options options = {.driver = lg_driver_sim(),
                                  .nvcc = LG_DEFAULT_NVCC,
                                  .cache_dir = "test-cache",
                                  .sets = sets,
                                  .n_sets = 2,
                                  .kernels = &kernels,
                                  .kernel_globs = {.n = 1, .items = &kernel_glob},
                                  .only_case = only_case,
                                  .jobs = jobs,
                                  .repro_prefix = "lossgate run",
                                  .observers = &observer,
                                  .n_observers = 1};
    bool ok = lg_session_run(&options, &s->summary, &diags);
    lg_diags_print(&diags, stderr);
    lg_diags_free(&diags);
    lg_kernel_set_free(&kernels);
    lg_scenario_set_free(&sets[0]);
    lg_scenario_set_free(&sets[1]);
    return ok;
}

typedef struct verdict_row {
    const char *kernel;
    lg_verdict control;
    lg_verdict fault;
    int exit_code;
    const char *reason; // in one of the cases
} verdict_row;

static const verdict_row verdicts[] = {
    {"rows/right", LG_PASS, LG_DETECTED, 0, ""},
    {"rows/wrong_row", LG_WRONG_RESULT, LG_DETECTED, 1, "output row 3"},
    {"rows/unwritten_row", LG_UNWRITTEN, LG_DETECTED, 1, "1 of 40 elements of `output`"},
    {"rows/write_past", LG_MEMORY_FAULT, LG_DETECTED, 1, "rows.cu:"},
    {"rows/false_alarm", LG_FALSE_ALARM, LG_DETECTED, 1, "device assert `valid && "},
    {"rows/trap", LG_CRASH, LG_CRASH, 1, "719"},
    {"rows/silent", LG_PASS, LG_SILENT_CORRUPTION, 1, "output row 5"},
    {"rows/unguarded", LG_UNTESTED, LG_UNTESTED, 3, "this build detects nothing"},
};

static void test_each_wrong_kernel_gets_its_verdict(void) {
    for (size_t i = 0; i < sizeof(verdicts) / sizeof(verdicts[0]); i++) {
        const verdict_row *row = &verdicts[i];
        seen s;
        LG_CHECK_ROW(row->kernel, run(row->kernel, 1, NULL, &s));
        LG_CHECK_ROW(row->kernel, s.n_cases == 4);
        bool told = false;
        for (int c = 0; c < s.n_cases; c++) {
            lg_verdict want =
                strcmp(s.cases[c].scenario, "control") == 0 ? row->control : row->fault;
            if (s.cases[c].verdict != want) {
                fprintf(stderr, "\n    %s: %s: %s\n", s.cases[c].scenario,
                        lg_verdict_name(s.cases[c].verdict), s.cases[c].reason);
            }
            LG_CHECK_ROW(row->kernel, s.cases[c].verdict == want);
            told = told || strstr(s.cases[c].reason, row->reason) != NULL;
        }
        LG_CHECK_ROW(row->kernel, told);
        LG_CHECK_ROW(row->kernel, s.summary.exit_code == row->exit_code);
        seen_free(&s);
    }
}

static void test_a_build_without_asserts_fails_its_proof(void) {
    seen s;
    CU_ASSERT_TRUE(run("rows/*", 1, NULL, &s));
    CU_ASSERT_EQUAL(s.n_columns, 8);
    CU_ASSERT_EQUAL(strncmp(lg_str_text(&s.failed_columns), "rows/unguarded: ", 16), 0);
    CU_ASSERT_PTR_NULL(strstr(lg_str_text(&s.failed_columns), "rows/right"));
    CU_ASSERT_EQUAL(s.summary.n_untested, 4);
    CU_ASSERT_EQUAL(s.summary.exit_code, 1);
    CU_ASSERT_EQUAL(s.summary.n_cases, 32);
    seen_free(&s);
}

static void test_workers_change_nothing(void) {
    seen one;
    seen many;
    CU_ASSERT_TRUE(run("rows/*", 1, NULL, &one));
    CU_ASSERT_TRUE(run("rows/*", 5, NULL, &many));
    CU_ASSERT_EQUAL_FATAL(one.n_cases, many.n_cases);
    for (int i = 0; i < one.n_cases; i++) {
        CU_ASSERT_STRING_EQUAL(one.cases[i].id, many.cases[i].id);
        CU_ASSERT_EQUAL(one.cases[i].verdict, many.cases[i].verdict);
        CU_ASSERT_STRING_EQUAL(one.cases[i].reason, many.cases[i].reason);
    }
    CU_ASSERT_STRING_EQUAL(lg_str_text(&one.failed_columns), lg_str_text(&many.failed_columns));
    seen_free(&one);
    seen_free(&many);
}

static void test_one_case_runs_alone(void) {
    seen all;
    CU_ASSERT_TRUE(run("rows/right", 1, NULL, &all));
    CU_ASSERT_EQUAL_FATAL(all.n_cases, 4);
    seen one;
    CU_ASSERT_TRUE(run("rows/right", 2, all.cases[2].id, &one));
    CU_ASSERT_EQUAL_FATAL(one.n_cases, 1);
    CU_ASSERT_STRING_EQUAL(one.cases[0].id, all.cases[2].id);
    CU_ASSERT_EQUAL(one.cases[0].verdict, LG_DETECTED);
    seen_free(&one);
    seen_free(&all);
    CU_ASSERT_TRUE(run("rows/right", 1, "0000000000000000", &one));
    CU_ASSERT_EQUAL(one.n_cases, 0);
    CU_ASSERT_EQUAL(one.summary.exit_code, 3);
    seen_free(&one);
}

int main(void) {
    const lg_test tests[] = {
        {"each wrong kernel gets its verdict", test_each_wrong_kernel_gets_its_verdict},
        {"a build without asserts fails its proof", test_a_build_without_asserts_fails_its_proof},
        {"workers change nothing", test_workers_change_nothing},
        {"one case runs alone", test_one_case_runs_alone},
    };
    return lg_run_tests(LG_SUITE, tests, sizeof(tests) / sizeof(tests[0]));
}
