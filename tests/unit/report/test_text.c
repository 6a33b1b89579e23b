// SPDX-License-Identifier: Apache-2.0
#include "report/report.h"
#include "unit/report/fixture.h"
#include "unit/testing.h"

#include <stdlib.h>

typedef struct page {
    char *text;
    size_t n;
    FILE *out;
    lg_observer observer;
    lg_run_summary summary;
} page;

static void page_open(page *p, int width, bool color) {
    *p = (page){0};
    p->out = open_memstream(&p->text, &p->n);
    lg_text_options options = {.out = p->out, .width = width, .color = color};
    p->observer = lg_report_text(&options);
    lg_run_info info = {.device = "sim"};
    p->observer.run_begun(p->observer.context, &info);
}

static void page_add(page *p, const lg_case_result *result) {
    p->observer.case_done(p->observer.context, result);
    p->summary.n_cases++;
    p->summary.by_verdict[result->judged.verdict]++;
    p->summary.n_as_expected += result->as_expected;
    p->summary.n_not_expected += !result->as_expected;
}

static const char *page_end(page *p) {
    p->observer.run_ended(p->observer.context, &p->summary);
    lg_report_text_free(&p->observer);
    fclose(p->out);
    return p->text;
}

static void check(const char *name, const char *text, const char *expected) {
    if (strcmp(text, expected) != 0) {
        fprintf(stderr, "\n--- got\n%s--- expected\n%s---\n", text, expected);
    }
    LG_CHECK_ROW(name, strcmp(text, expected) == 0);
}

static void test_one_mark_a_cell(void) {
    fixture f;
    fixture_init(&f);
    page p;
    page_open(&p, 0, false);
    f.result.n_injected = 0; // no exemplary finding
    page_add(&p, &f.result);
    page_add(&p, &f.result);
    f.kernel.name = "nll_loss/reduce/none";
    f.kernel.policy = LG_POLICY_NONE;
    f.result.judged.verdict = LG_MEMORY_FAULT;
    page_add(&p, &f.result);
    f.result.judged.verdict = LG_SILENT_CORRUPTION;
    page_add(&p, &f.result);
    f.scenario.name = "smoke/controls";
    f.what.mode = LG_MODE_BLOCKING;
    f.result.judged.verdict = LG_PASS;
    page_add(&p, &f.result);
    check("cells", page_end(&p),
          "                  assert none       \n"
          "                  async block async\n"
          "faults/wrong_head_width\n"
          "  nll_loss/reduce  D  2       SM  2\n"
          "smoke/controls\n"
          "  nll_loss/reduce        P  1      \n"
          "\n"
          "P pass  D detected  S silent_corruption  M memory_fault  with the number of cases\n"
          "\n"
          "5 cases on sim: 5 as expected, 0 not, 0 untested, 0 skipped\n"
          "pass 1, detected 2, silent_corruption 1, memory_fault 1\n");
    free(p.text);
}

static void test_a_failed_column_comes_first(void) {
    fixture f;
    fixture_init(&f);
    page p;
    page_open(&p, 0, false);
    lg_column_proof proof = {
        .kernel = &f.kernel, .mode = LG_MODE_ASYNC, .why = "this build detects nothing"};
    p.observer.column_proven(p.observer.context, &proof);
    f.result.judged.verdict = LG_UNTESTED;
    f.result.as_expected = false;
    f.result.judged.text = "this build detects nothing";
    for (int i = 0; i < 3; i++) {
        page_add(&p, &f.result);
    }
    p.summary.n_untested = 3;
    p.summary.n_not_expected = 0;
    p.summary.exit_code = 3;
    check("untested", page_end(&p),
          "                  assert\n"
          "                  async\n"
          "faults/wrong_head_width\n"
          "  nll_loss/reduce  ?  3\n"
          "\n"
          "? untested  with the number of cases\n"
          "\n"
          "UNTESTED nll_loss/reduce/assert, async: 3 cases\n"
          "  why        this build detects nothing\n"
          "  scenarios  faults/wrong_head_width\n"
          "  replay     lossgate run --case 0123456789abcdef\n"
          "\n"
          "3 cases on sim: 0 as expected, 0 not, 3 untested, 0 skipped\n"
          "untested 3\n"
          "nothing was proven\n");
    free(p.text);
}

// What was not run is told by reason, with the kernels; a failed column that no case depended on is
// not.
static void test_skips_are_told_by_reason(void) {
    fixture f;
    fixture_init(&f);
    page p;
    page_open(&p, 0, false);
    lg_column_proof proof = {.kernel = &f.kernel, .mode = LG_MODE_ASYNC, .why = "no assert"};
    p.observer.column_proven(p.observer.context, &proof);
    f.result.judged.verdict = LG_SKIPPED;
    f.result.as_expected = true;
    static const char *const kernels[] = {"a", "b", "c", "d", "e", "f"};
    for (int i = 0; i < 8; i++) {
        f.kernel.name = kernels[i % 6];
        f.result.judged.text = i == 7 ? "it takes no weights" : "it takes no int64 targets";
        page_add(&p, &f.result);
    }
    f.result.judged.text = "it has no reduction sum";
    p.observer.point_left_out(p.observer.context, &f.result);
    p.summary.n_skipped = 8;
    p.summary.n_untaken = 1;
    p.summary.exit_code = 3;
    const char *text = page_end(&p);
    const char *want = "8 cases on sim: 8 as expected, 0 not, 0 untested, 8 skipped\n"
                       "skipped 8\n"
                       "  skipped 7: it takes no int64 targets (a, b, c, d and 2 more)\n"
                       "  skipped 1: it takes no weights (b)\n"
                       "1 scenario point is taken by none of the kernels and modes chosen\n"
                       "  left out 1: it has no reduction sum (b)\n"
                       "nothing was proven\n";
    const char *found = strstr(text, "8 cases");
    if (!found || strcmp(found, want) != 0) {
        fprintf(stderr, "\n%s", text);
    }
    CU_ASSERT_TRUE(found && strcmp(found, want) == 0);
    CU_ASSERT_PTR_NULL(strstr(text, "UNTESTED"));
    free(p.text);
}

static size_t count(const char *text, const char *part) {
    size_t n = 0;
    for (const char *at = strstr(text, part); at; at = strstr(at + 1, part)) {
        n++;
    }
    return n;
}

// A broken kernel fails all points of a matrix alike: three findings a cell, and the rest is
// counted.
static void test_a_flood_is_cut_and_counted(void) {
    fixture f;
    fixture_init(&f);
    page p;
    page_open(&p, 0, false);
    f.result.as_expected = false;
    f.result.judged.verdict = LG_WRONG_RESULT;
    f.result.expectation = "expected detected, found wrong_result";
    for (int i = 0; i < 10; i++) {
        page_add(&p, &f.result);
    }
    const char *text = page_end(&p);
    CU_ASSERT_EQUAL(count(text, "  replay "), 3);
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "and 7 more like these"));
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "  ! 10\n"));
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "! not as expected (how many)"));
    free(p.text);
}

static void test_one_example_for_each_fault(void) {
    fixture f;
    fixture_init(&f);
    page p;
    page_open(&p, 0, true);
    page_add(&p, &f.result);
    page_add(&p, &f.result);
    f.result.injected[0].cause = LG_CAUSE_NEGATIVE_LABELS;
    page_add(&p, &f.result);
    const char *text = page_end(&p);
    CU_ASSERT_EQUAL(count(text, "  replay "), 2);
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "\x1b[32m"));
    free(p.text);
}

static void test_a_wide_table_is_printed_in_parts(void) {
    fixture f;
    fixture_init(&f);
    page p;
    page_open(&p, 40, false);
    f.result.n_injected = 0;
    static const char *const names[] = {"a/kernel_with_quite_a_long_name/assert",
                                        "a/kernel_with_quite_a_long_name/report",
                                        "a/kernel_with_quite_a_long_name/nan"};
    for (int k = 0; k < 3; k++) {
        f.kernel.name = names[k];
        f.kernel.policy = (lg_policy)(LG_POLICY_ASSERT + k);
        page_add(&p, &f.result);
    }
    const char *text = page_end(&p);
    CU_ASSERT_EQUAL(count(text, "faults/wrong_head_width\n"), 2);
    for (const char *line = text; *line;) {
        size_t n = strcspn(line, "\n");
        // The sign of a shortened name is three bytes and one column.
        LG_CHECK_ROW("width", n <= 40 + 2 || strncmp(line, "D detected", 10) == 0 ||
                                  strstr(line, " cases on ") != NULL);
        line += n + (line[n] == '\n');
    }
    free(p.text);
}

int main(void) {
    const lg_test tests[] = {
        {"one mark a cell", test_one_mark_a_cell},
        {"a failed column comes first", test_a_failed_column_comes_first},
        {"skips are told by reason", test_skips_are_told_by_reason},
        {"a flood is cut and counted", test_a_flood_is_cut_and_counted},
        {"one example for each fault", test_one_example_for_each_fault},
        {"a wide table is printed in parts", test_a_wide_table_is_printed_in_parts},
    };
    return lg_run_tests(LG_SUITE, tests, sizeof(tests) / sizeof(tests[0]));
}
