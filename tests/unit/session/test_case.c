// SPDX-License-Identifier: Apache-2.0
// One case at a time: why it did not run, and where its finding points (tests/data/session).
#include "session/internal.h"
#include "unit/session/settled.h"
#include "unit/testing.h"

#include <string.h>

static lg_kernel_set kernels;
static lg_driver driver;
static lg_device_session *device;
static lg_diags diags;

// The embedded device, whose memory a test can let run out.
static int64_t n_allocated;
static int64_t n_allocations = INT64_MAX;

static CUresult count_allocation(CUdeviceptr *address, size_t bytes) {
    return n_allocated++ < n_allocations ? lg_driver_sim()->cuMemAlloc(address, bytes)
                                         : CUDA_ERROR_OUT_OF_MEMORY;
}

static void set_up(void) {
    driver = *lg_driver_sim();
    driver.cuMemAlloc = count_allocation;
    CU_ASSERT_TRUE(lg_kernels_read(LG_TEST_DIR "/data/session/rows.yaml", &kernels, &diags));
    CU_ASSERT_TRUE(lg_kernels_read(LG_TEST_DIR "/data/session/stages.yaml", &kernels, &diags));
    device = lg_device_open(&driver, LG_DEFAULT_NVCC, "test-cache", &diags);
    CU_ASSERT_PTR_NOT_NULL_FATAL(device);
    for (int64_t i = 0; i < kernels.n; i++) {
        CU_ASSERT_TRUE(lg_device_prepare(device, &kernels.items[i], &diags));
    }
    lg_diags_print(&diags, stderr);
}

static void tear_down(void) {
    lg_device_close(device);
    lg_kernel_set_free(&kernels);
    lg_diags_free(&diags);
}

static const lg_kernel *find_kernel(const char *name) {
    for (int64_t i = 0; i < kernels.n; i++) {
        if (strcmp(kernels.items[i].name, name) == 0) {
            return &kernels.items[i];
        }
    }
    CU_FAIL_FATAL("no such kernel");
    return NULL;
}

typedef struct case_setup {
    const char *kernel, *text;
    lg_mode mode;
    bool named;
    const char *column_failure;
} case_setup;

// A case of a scenario of one point, and what it borrows.
typedef struct one_case {
    lg_scenario_set set;
    lg_case what;
    lg_point_data data;
    lg_case_run run;
} one_case;

static void run_case(const case_setup *setup, one_case *c) {
    *c = (one_case){0};
    lg_diags dropped = {0}; // a test may want them
    lg_read_options options = {0};
    bool read = lg_scenario_read_text("t.yaml", setup->text, strlen(setup->text), &options, &c->set,
                                      &diags);
    lg_diags_print(&diags, stderr);
    CU_ASSERT_TRUE_FATAL(read);
    lg_point_prepare(&c->set.items[0], &c->data, &dropped);
    c->what = (lg_case){.scenario = &c->set.items[0],
                        .kernel = find_kernel(setup->kernel),
                        .mode = setup->mode,
                        .device = "sim"};
    lg_case_run_one(device, &c->what, setup->named, &c->data, setup->column_failure, "run", &c->run,
                    &dropped);
    lg_diags_free(&dropped);
}

static void free_case(one_case *c) {
    lg_case_run_free(&c->run);
    lg_point_free(&c->data);
    lg_scenario_set_free(&c->set);
}

#define ROWS(rest) "title: t\nloss: {kind: nll_loss, reduction: none, direction: forward}\n" rest
#define MEAN "title: t\nloss: {kind: nll_loss, reduction: mean}\n"
#define BATCH "batch: {seed: 2, samples: 40, classes: 7}\n"
#define BAD_LABEL "faults: [{kind: label_equals_width, rows: [5]}]\n"
#define DOUBLED "run: {relations: [double_batch]}\n"

typedef struct reason_row {
    const char *name;
    case_setup setup;
    lg_verdict verdict;
    lg_reason reason;
    bool absent;
    const char *text; // a part of it
} reason_row;

#define BLOCKING .mode = LG_MODE_BLOCKING

static const reason_row reason_rows[] = {
    {"no batch",
     {"rows/right",
      ROWS("batch: {samples: 3, classes: 5, targets: {values: [0, -100, 2]}}\n"
           "faults: [{kind: label_equals_width, rows: [1]}]\n"),
      BLOCKING},
     LG_UNTESTED,
     LG_REASON_NO_BATCH,
     false,
     "row 1 is ignored"},
    {"a fault that changes nothing",
     {"rows/right",
      ROWS("batch: {samples: 3, classes: 5, targets: {values: [0, 1, 0]}}\n"
           "faults: [{kind: wrong_head_width, head_width: 3}]\n"),
      BLOCKING},
     LG_UNTESTED,
     LG_REASON_NOT_FIRED,
     false,
     "wrong_head_width changed nothing"},
    {"the column failed",
     {"rows/right", ROWS(BATCH), BLOCKING, .column_failure = "a bad batch passed"},
     LG_UNTESTED,
     LG_REASON_COLUMN_FAILED,
     false,
     "a bad batch passed"},
    {"unsuitable, named",
     {"rows/right", MEAN BATCH, BLOCKING, .named = true},
     LG_SKIPPED,
     LG_REASON_UNSUITABLE,
     false,
     "it has no reduction mean"},
    {"unsuitable, matched by a wildcard",
     {"rows/right", MEAN BATCH, BLOCKING},
     LG_SKIPPED,
     LG_REASON_UNSUITABLE,
     true,
     "it has no reduction mean"},
    {"an earlier batch ended the context",
     {"rows/right", ROWS(BATCH), .mode = LG_MODE_POISONED},
     LG_SKIPPED,
     LG_REASON_EARLIER_BATCH,
     false,
     "a batch before had ended the context"},
};

static void check_reason(const reason_row *row, const lg_case_run *run) {
    const lg_judgement *judged = &run->result.judged;
    bool text_is_right = judged->text && strstr(judged->text, row->text);
    if (judged->reason != row->reason || judged->verdict != row->verdict || !text_is_right) {
        fprintf(stderr, "\n    got %s, %s: %s\n", lg_verdict_name(judged->verdict),
                lg_reason_name(judged->reason), judged->text ? judged->text : "-");
    }
    LG_CHECK_ROW(row->name, judged->verdict == row->verdict);
    LG_CHECK_ROW(row->name, judged->reason == row->reason);
    LG_CHECK_ROW(row->name, judged->detected_by == LG_DETECTOR_NONE && !judged->kernel_fault);
    LG_CHECK_ROW(row->name, text_is_right);
    LG_CHECK_ROW(row->name, run->absent == row->absent);
    LG_CHECK_ROW(row->name, run->result.finding.cause == LG_CAUSE_NONE);
    LG_CHECK_ROW(row->name, run->coverage.forward.inputs == 0 || row->verdict != LG_SKIPPED);
    LG_CHECK_ROW(row->name, run->result.expectation != NULL);
}

static void test_each_reason_not_to_run(void) {
    bool reached[LG_N_REASONS] = {false};
    for (size_t i = 0; i < sizeof reason_rows / sizeof *reason_rows; i++) {
        one_case c;
        run_case(&reason_rows[i].setup, &c);
        check_reason(&reason_rows[i], &c.run);
        reached[c.run.result.judged.reason] = true;
        free_case(&c);
    }
    for (int r = LG_REASON_NONE; r < LG_N_REASONS; r++) {
        LG_CHECK_ROW(lg_reason_name((lg_reason)r), reached[r] == is_settled_reason((lg_reason)r));
    }
}

// The device fails at the case itself, and at the second run that a relation asks for.
static void test_device_failed(void) {
    static const reason_row rows[] = {
        {"the case",
         {"rows/right", ROWS(BATCH), BLOCKING},
         LG_UNTESTED,
         LG_REASON_DEVICE_FAILED,
         false,
         "no room for 'output'"},
        {"a relation",
         {"rows/right", ROWS(BATCH DOUBLED), BLOCKING},
         LG_UNTESTED,
         LG_REASON_DEVICE_FAILED,
         false,
         "relation double_batch: the device could not run"},
    };
    one_case c;
    n_allocated = 0;
    run_case(&rows[0].setup, &c);
    CU_ASSERT_EQUAL(c.run.result.judged.verdict, LG_PASS);
    free_case(&c);
    int64_t of_one_run = n_allocated;
    for (int i = 0; i < 2; i++) {
        n_allocated = 0;
        n_allocations = i * of_one_run;
        run_case(&rows[i].setup, &c);
        check_reason(&rows[i], &c.run);
        free_case(&c);
    }
    n_allocations = INT64_MAX;
}

typedef struct place_row {
    const char *name, *kernel, *text;
    lg_reason reason;
    lg_arg_id output;
    lg_place_kind kind;
    const char *what;
} place_row;

// Where the wrong output was written: a wrong gradient is none of the forward launches' doing.
static const place_row place_rows[] = {
    {"a wrong loss", "stages/wrong_loss", MEAN BATCH, LG_REASON_WRONG_NUMBER, LG_ARG_OUTPUT,
     LG_PLACE_ENTRY, "the entry finish_wrong_loss"},
    {"a wrong total weight, which the backward launch reads", "stages/wrong_weight", MEAN BATCH,
     LG_REASON_WRONG_NUMBER, LG_ARG_TOTAL_WEIGHT, LG_PLACE_ENTRY, "the entry finish_wrong_weight"},
    {"a wrong gradient", "stages/wrong_gradient", MEAN BATCH, LG_REASON_WRONG_NUMBER,
     LG_ARG_GRAD_INPUT, LG_PLACE_ENTRY, "the entry gradient_wrong"},
    {"a gradient that breaks an invariant", "stages/beside", MEAN BATCH, LG_REASON_INVARIANT,
     LG_ARG_GRAD_INPUT, LG_PLACE_ENTRY, "the entry gradient_beside"},
    {"a gradient that breaks a relation", "stages/short", MEAN BATCH DOUBLED, LG_REASON_RELATION,
     LG_ARG_GRAD_INPUT, LG_PLACE_ENTRY, "the entry gradient_short"},
    {"a signal that came too late", "stages/late", MEAN BATCH BAD_LABEL, LG_REASON_LATE_SIGNAL,
     LG_ARG_OUTPUT, LG_PLACE_ENTRY, "the entry finish_right"},
    {"a false alarm", "rows/false_alarm", ROWS(BATCH), LG_REASON_FALSE_ASSERT, LG_N_ARGS,
     LG_PLACE_GUARD, "the guard that fired"},
    {"a bad access", "rows/write_past", ROWS(BATCH), LG_REASON_BAD_ACCESS, LG_N_ARGS,
     LG_PLACE_ACCESS, "the bad access"},
    {"an entry of its failed launch", "rows/trap", ROWS(BATCH), LG_REASON_DEVICE_ERROR, LG_N_ARGS,
     LG_PLACE_ENTRY, "the entry rows_trap"},
    {"nothing wrong", "stages/right", MEAN BATCH DOUBLED, LG_REASON_NONE, LG_N_ARGS,
     LG_PLACE_UNKNOWN, NULL},
};

static void test_each_finding_points_at_its_writer(void) {
    for (size_t i = 0; i < sizeof place_rows / sizeof *place_rows; i++) {
        const place_row *row = &place_rows[i];
        one_case c;
        run_case(&(case_setup){row->kernel, row->text, BLOCKING}, &c);
        const lg_case_result *result = &c.run.result;
        const char *what = result->place.what;
        if (result->judged.reason != row->reason || (row->what && !what)) {
            fprintf(stderr, "\n    got %s: %s\n", lg_reason_name(result->judged.reason),
                    result->judged.text ? result->judged.text : "-");
        }
        LG_CHECK_ROW(row->name, result->judged.reason == row->reason);
        LG_CHECK_ROW(row->name, result->judged.output == row->output);
        LG_CHECK_ROW(row->name, result->place.kind == row->kind);
        LG_CHECK_ROW(row->name, row->what ? what && strcmp(what, row->what) == 0 : !what);
        free_case(&c);
    }
}

// The names of its two entries contain one another: which launch failed is known by its number.
static void test_entries_with_like_names(void) {
    one_case c;
    run_case(&(case_setup){"stages/pair",
                           "title: t\nloss: {kind: nll_loss, reduction: none}\n" BATCH BAD_LABEL,
                           BLOCKING},
             &c);
    const lg_case_result *result = &c.run.result;
    CU_ASSERT_EQUAL(result->judged.verdict, LG_DETECTED);
    CU_ASSERT_EQUAL(result->judged.reason, LG_REASON_NONE);
    CU_ASSERT_EQUAL(result->observation.failed_launch_index, 0);
    CU_ASSERT_TRUE(result->as_expected);
    lg_arena arena = {0};
    const char *why = NULL;
    CU_ASSERT_EQUAL(lg_prove_column(device, c.what.kernel, LG_MODE_BLOCKING, &arena, &why, &diags),
                    LG_PROOF_PROVEN);
    lg_arena_free(&arena);
    free_case(&c);
}

int main(void) {
    static const lg_test tests[] = {
        {"set up", set_up},
        {"each reason not to run", test_each_reason_not_to_run},
        {"the device failed", test_device_failed},
        {"each finding points at its writer", test_each_finding_points_at_its_writer},
        {"entries with like names", test_entries_with_like_names},
        {"tear down", tear_down},
    };
    return lg_run_tests(LG_SUITE, tests, sizeof tests / sizeof *tests);
}
