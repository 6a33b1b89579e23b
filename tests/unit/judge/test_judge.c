// SPDX-License-Identifier: Apache-2.0
// What a kernel could do with a small NLL batch, and what may be seen beside its run: the verdict
// each must get, and every reason the judge knows.
#include "unit/judge/changes.h"
#include "unit/session/settled.h"

typedef struct judge_row {
    const char *name;
    lg_policy policy;
    lg_reduction reduction;
    bool bad;
    void (*change)(scene *s);
    lg_verdict verdict;
    lg_detector detected_by;
    lg_reason reason;
    lg_arg_id output;
    bool kernel_fault;
    const char *text; // must be part of it; NULL: none
} judge_row;

#define LOSS LG_ARG_OUTPUT
#define GRADIENT LG_ARG_GRAD_INPUT
#define TOTAL LG_ARG_TOTAL_WEIGHT
#define NO_ARG LG_N_ARGS

static const judge_row rows[] = {
    // Valid batches.
    {"right mean", ASSERT, MEAN, false, with_nothing, LG_PASS, LG_DETECTOR_NONE, LG_REASON_NONE,
     NO_ARG, false, NULL},
    {"right rows", REPORT, NONE, false, with_nothing, LG_PASS, LG_DETECTOR_NONE, LG_REASON_NONE,
     NO_ARG, false, NULL},
    {"wrong row", ASSERT, NONE, false, with_wrong_row, LG_WRONG_RESULT, LG_DETECTOR_REFERENCE,
     LG_REASON_WRONG_NUMBER, LOSS, true, "output row 0"},
    {"wrong mean", NAN_ROW, MEAN, false, with_wrong_row, LG_WRONG_RESULT, LG_DETECTOR_REFERENCE,
     LG_REASON_WRONG_NUMBER, LOSS, true, "output is"},
    {"wrong gradient", ASSERT, NONE, false, with_wrong_gradient, LG_WRONG_RESULT,
     LG_DETECTOR_REFERENCE, LG_REASON_WRONG_NUMBER, GRADIENT, true, "grad_input row 0"},
    {"wrong total weight", ASSERT, MEAN, false, with_wrong_total, LG_WRONG_RESULT,
     LG_DETECTOR_REFERENCE, LG_REASON_WRONG_NUMBER, TOTAL, true, "total_weight"},
    {"infinity", ASSERT, MEAN, false, with_infinite_loss, LG_WRONG_RESULT, LG_DETECTOR_REFERENCE,
     LG_REASON_WRONG_NUMBER, LOSS, true, "inf"},
    {"NaN from an asserting kernel", ASSERT, NONE, false, with_nan_everywhere, LG_WRONG_RESULT,
     LG_DETECTOR_REFERENCE, LG_REASON_LOST_NUMBER, LOSS, true, "NaN"},
    {"NaN row from a NaN kernel", NAN_ROW, NONE, false, with_nan_everywhere, LG_FALSE_ALARM,
     LG_DETECTOR_NAN, LG_REASON_LOST_NUMBER, LOSS, true, "rows 0 1 2 3"},
    {"assert", ASSERT, MEAN, false, with_assert, LG_FALSE_ALARM, LG_DETECTOR_DEVICE_ASSERT,
     LG_REASON_FALSE_ASSERT, NO_ARG, true, "k.cu:41"},
    {"assert without a line", ASSERT, MEAN, false, with_silent_assert, LG_FALSE_ALARM,
     LG_DETECTOR_DEVICE_ASSERT, LG_REASON_FALSE_ASSERT, NO_ARG, true, "no line"},
    {"record", REPORT, NONE, false, with_record_of_valid_row, LG_FALSE_ALARM,
     LG_DETECTOR_FAULT_RECORD, LG_REASON_FALSE_RECORD, NO_ARG, true, "row 0"},
    {"only dropped records", REPORT, NONE, false, with_record_dropped, LG_FALSE_ALARM,
     LG_DETECTOR_FAULT_RECORD, LG_REASON_FALSE_RECORD, NO_ARG, true, "dropped"},
    {"bad read", ASSERT, MEAN, false, with_illegal_address, LG_MEMORY_FAULT,
     LG_DETECTOR_MEMORY_CHECK, LG_REASON_BAD_ACCESS, NO_ARG, true,
     "byte 8 past the end of `input`, at k.cu:52"},
    {"null", ASSERT, MEAN, false, with_null_weight, LG_MEMORY_FAULT, LG_DETECTOR_MEMORY_CHECK,
     LG_REASON_BAD_ACCESS, NO_ARG, true,
     "null pointer read of 4 bytes, byte 12 of `weight`, which the call leaves out, at k.cu:52"},
    {"broken fence", ASSERT, MEAN, false, with_broken_fence, LG_MEMORY_FAULT,
     LG_DETECTOR_MEMORY_CHECK, LG_REASON_BROKEN_FENCE, GRADIENT, true, "grad_input"},
    {"unwritten", ASSERT, NONE, false, with_poison_left, LG_UNWRITTEN, LG_DETECTOR_REFERENCE,
     LG_REASON_UNWRITTEN, LOSS, true, "1 of 4"},
    {"hang", ASSERT, MEAN, false, with_timeout, LG_HANG, LG_DETECTOR_NONE, LG_REASON_BUDGET_SPENT,
     NO_ARG, true, "budget"},
    {"trap", ASSERT, MEAN, false, with_trap, LG_CRASH, LG_DETECTOR_NONE, LG_REASON_DEVICE_ERROR,
     NO_ARG, true, "719"},
    {"a barrier that does not exist", ASSERT, MEAN, false, with_bad_barrier, LG_CRASH,
     LG_DETECTOR_NONE, LG_REASON_BARRIER, NO_ARG, true, "barrier 40"},
    {"a barrier not all reach", ASSERT, MEAN, false, with_divergent_barrier, LG_HANG,
     LG_DETECTOR_NONE, LG_REASON_BARRIER, NO_ARG, true, "16 of the 32"},
    {"a shuffle of absent lanes", ASSERT, MEAN, false, with_absent_lanes, LG_WRONG_RESULT,
     LG_DETECTOR_MEMORY_CHECK, LG_REASON_BARRIER, NO_ARG, true, "lane 5"},
    {"mode failure", ASSERT, MEAN, false, with_mode_failure, LG_WRONG_RESULT, LG_DETECTOR_REFERENCE,
     LG_REASON_MODE_FAILURE, NO_ARG, true, "64"},
    {"input overwritten", ASSERT, MEAN, false, with_input_written, LG_WRONG_RESULT,
     LG_DETECTOR_MEMORY_CHECK, LG_REASON_INPUT_WRITTEN, NO_ARG, true, "`input`"},
    {"input overwritten, bad label", REPORT, NONE, true, with_record_and_input_written,
     LG_WRONG_RESULT, LG_DETECTOR_MEMORY_CHECK, LG_REASON_INPUT_WRITTEN, NO_ARG, false, "`input`"},
    {"output not read", ASSERT, MEAN, false, with_unreadable_output, LG_UNTESTED, LG_DETECTOR_NONE,
     LG_REASON_NO_OUTPUT, LOSS, false, "`output`"},
    {"gradient not read", ASSERT, MEAN, false, with_gradient_gone, LG_UNTESTED, LG_DETECTOR_NONE,
     LG_REASON_NO_OUTPUT, GRADIENT, false, "grad_input"},
    {"output too short", ASSERT, NONE, false, with_short_output, LG_UNTESTED, LG_DETECTOR_NONE,
     LG_REASON_OUTPUT_LENGTH, LOSS, false, "elements"},
    {"refused though valid", ASSERT, MEAN, false, with_refusal_without_cause, LG_FALSE_ALARM,
     LG_DETECTOR_HOST_CHECK, LG_REASON_REFUSED, NO_ARG, false, "valid"},
    {"race", ASSERT, MEAN, false, with_race, LG_WRONG_RESULT, LG_DETECTOR_MEMORY_CHECK,
     LG_REASON_RACE, NO_ARG, true, "two threads"},
    {"a gradient of another class", ASSERT, NONE, false, with_gradient_of_another_class,
     LG_WRONG_RESULT, LG_DETECTOR_INVARIANT, LG_REASON_INVARIANT, GRADIENT, true, "class"},
    {"a number for a mean over nothing", ASSERT, MEAN, false, with_number_for_nothing,
     LG_WRONG_RESULT, LG_DETECTOR_REFERENCE, LG_REASON_MADE_UP_NUMBER, LOSS, true,
     "where NaN is right"},
    {"no output named", ASSERT, NONE, false, with_no_pass_asked, LG_UNTESTED, LG_DETECTOR_NONE,
     LG_REASON_NOTHING_COMPARED, NO_ARG, false, "no output"},
    {"no reference", ASSERT, MEAN, false, with_no_reference, LG_UNTESTED, LG_DETECTOR_NONE,
     LG_REASON_NO_REFERENCE, NO_ARG, false, "no reference"},
    // Invalid batches, as each policy promises.
    {"assert on a bad label", ASSERT, MEAN, true, with_assert, LG_DETECTED,
     LG_DETECTOR_DEVICE_ASSERT, LG_REASON_NONE, NO_ARG, false, NULL},
    {"assert in the forward launch", ASSERT, MEAN, true, with_early_assert, LG_DETECTED,
     LG_DETECTOR_DEVICE_ASSERT, LG_REASON_NONE, NO_ARG, false, NULL},
    {"assert of a gradient alone", ASSERT, MEAN, true, with_late_assert_backward_only, LG_DETECTED,
     LG_DETECTOR_DEVICE_ASSERT, LG_REASON_NONE, NO_ARG, false, NULL},
    {"assert in the backward launch only", ASSERT, MEAN, true, with_late_assert,
     LG_SILENT_CORRUPTION, LG_DETECTOR_NONE, LG_REASON_LATE_SIGNAL, LOSS, false,
     "gave no signal, only the backward one: device assert"},
    {"records and NaN", REPORT, NONE, true, with_right_record, LG_DETECTED,
     LG_DETECTOR_FAULT_RECORD, LG_REASON_NONE, NO_ARG, false, NULL},
    {"NaN row", NAN_ROW, NONE, true, with_nothing, LG_DETECTED, LG_DETECTOR_NAN, LG_REASON_NONE,
     NO_ARG, false, NULL},
    {"NaN mean", NAN_ROW, MEAN, true, with_nothing, LG_DETECTED, LG_DETECTOR_NAN, LG_REASON_NONE,
     NO_ARG, false, NULL},
    {"NaN by itself", UNCHECKED, MEAN, true, with_nothing, LG_DETECTED, LG_DETECTOR_NAN,
     LG_REASON_NONE, NO_ARG, false, NULL},
    {"host check", ASSERT, MEAN, true, with_host_refusal, LG_DETECTED, LG_DETECTOR_HOST_CHECK,
     LG_REASON_REFUSED, NO_ARG, false, "float32"},
    // Invalid batches, and the promise is not kept.
    {"assert without its line", ASSERT, MEAN, true, with_silent_assert, LG_CRASH, LG_DETECTOR_NONE,
     LG_REASON_OTHER_SIGNAL, NO_ARG, false, "no line"},
    {"assert line, launch fine", ASSERT, NONE, true, with_assert_line_only, LG_UNTESTED,
     LG_DETECTOR_NONE, LG_REASON_NO_OUTPUT, GRADIENT, false, "read back"},
    {"bare 700", ASSERT, MEAN, true, with_bare_700, LG_MEMORY_FAULT, LG_DETECTOR_MEMORY_CHECK,
     LG_REASON_BAD_ACCESS, NO_ARG, false, "700"},
    {"no assert, a number", ASSERT, MEAN, true, with_finite_loss, LG_SILENT_CORRUPTION,
     LG_DETECTOR_NONE, LG_REASON_MADE_UP_NUMBER, LOSS, false, "1.25"},
    {"no assert, NaN", ASSERT, MEAN, true, with_nothing, LG_SILENT_CORRUPTION, LG_DETECTOR_NONE,
     LG_REASON_NO_ASSERT, NO_ARG, false, "no device"},
    {"assert from a reporting kernel", REPORT, NONE, true, with_assert, LG_CRASH, LG_DETECTOR_NONE,
     LG_REASON_OTHER_SIGNAL, NO_ARG, false, "promises"},
    {"no record, NaN", REPORT, NONE, true, with_nothing, LG_SILENT_CORRUPTION, LG_DETECTOR_NONE,
     LG_REASON_NO_RECORD, NO_ARG, false, "no fault rec"},
    {"no record, a number", REPORT, NONE, true, with_finite_loss, LG_SILENT_CORRUPTION,
     LG_DETECTOR_NONE, LG_REASON_MADE_UP_NUMBER, LOSS, false, "row 2"},
    {"record, yet a number", REPORT, NONE, true, with_finite_loss_and_record, LG_SILENT_CORRUPTION,
     LG_DETECTOR_NONE, LG_REASON_MADE_UP_NUMBER, LOSS, false, "signalled"},
    {"record of a valid row", REPORT, NONE, true, with_record_of_valid_row, LG_FALSE_ALARM,
     LG_DETECTOR_FAULT_RECORD, LG_REASON_FALSE_RECORD, NO_ARG, false, "row 0"},
    {"record of a wrong value", REPORT, NONE, true, with_record_of_wrong_value, LG_WRONG_RESULT,
     LG_DETECTOR_FAULT_RECORD, LG_REASON_WRONG_RECORD, NO_ARG, false, "value 7"},
    {"record of wrong bounds", REPORT, NONE, true, with_record_of_wrong_bounds, LG_WRONG_RESULT,
     LG_DETECTOR_FAULT_RECORD, LG_REASON_WRONG_RECORD, NO_ARG, false, "upper bound 4, right is 3"},
    {"record twice", REPORT, MEAN, true, with_record_twice, LG_WRONG_RESULT,
     LG_DETECTOR_FAULT_RECORD, LG_REASON_WRONG_RECORD, NO_ARG, false, "2 fault records of row 2"},
    {"no record of the gradient", REPORT, NONE, true, with_backward_record_missing, LG_WRONG_RESULT,
     LG_DETECTOR_FAULT_RECORD, LG_REASON_WRONG_RECORD, NO_ARG, false, "of a backward launch"},
    {"all records dropped", REPORT, NONE, true, with_record_dropped, LG_SILENT_CORRUPTION,
     LG_DETECTOR_NONE, LG_REASON_NO_RECORD, NO_ARG, false, "dropped"},
    {"a number in the bad row", NAN_ROW, NONE, true, with_finite_loss, LG_SILENT_CORRUPTION,
     LG_DETECTOR_NONE, LG_REASON_MADE_UP_NUMBER, LOSS, false, "row 2"},
    {"infinity in the bad row", NAN_ROW, NONE, true, with_infinite_loss, LG_SILENT_CORRUPTION,
     LG_DETECTOR_NONE, LG_REASON_MADE_UP_NUMBER, LOSS, false, "inf"},
    {"a number in the bad gradient", NAN_ROW, NONE, true, with_finite_gradient,
     LG_SILENT_CORRUPTION, LG_DETECTOR_NONE, LG_REASON_MADE_UP_NUMBER, GRADIENT, false,
     "grad_input row 2"},
    {"NaN in valid rows too", NAN_ROW, NONE, true, with_nan_everywhere, LG_FALSE_ALARM,
     LG_DETECTOR_NAN, LG_REASON_LOST_NUMBER, LOSS, false, "rows 0 1 3"},
    {"valid row wrong", NAN_ROW, NONE, true, with_wrong_row, LG_WRONG_RESULT, LG_DETECTOR_REFERENCE,
     LG_REASON_WRONG_NUMBER, LOSS, false, "row 0"},
    {"unwritten row", NAN_ROW, NONE, true, with_poison_left, LG_UNWRITTEN, LG_DETECTOR_REFERENCE,
     LG_REASON_UNWRITTEN, LOSS, false, "never"},
    {"unchecked number", UNCHECKED, MEAN, true, with_finite_loss, LG_SILENT_CORRUPTION,
     LG_DETECTOR_NONE, LG_REASON_MADE_UP_NUMBER, LOSS, false, "1.25"},
    {"unchecked bad read", UNCHECKED, MEAN, true, with_illegal_address, LG_MEMORY_FAULT,
     LG_DETECTOR_MEMORY_CHECK, LG_REASON_BAD_ACCESS, NO_ARG, false, "`input`"},
    {"refused batch run anyway", UNCHECKED, NONE, false, with_refusal_run_anyway,
     LG_SILENT_CORRUPTION, LG_DETECTOR_NONE, LG_REASON_MADE_UP_NUMBER, LOSS, false, "no signal"},
    {"no policy", LG_POLICY_UNSET, MEAN, true, with_nothing, LG_UNTESTED, LG_DETECTOR_NONE,
     LG_REASON_NO_POLICY, NO_ARG, false, "no policy"},
};

static bool reached[LG_N_REASONS];

static void check_judgement(const char *name, const lg_judgement *got, const lg_judgement *want) {
    bool text_is_right =
        want->text ? got->text && strstr(got->text, want->text) : got->text == NULL;
    if (got->verdict != want->verdict || got->reason != want->reason || !text_is_right) {
        fprintf(stderr, "\n    got %s, %s: %s\n", lg_verdict_name(got->verdict),
                lg_reason_name(got->reason), got->text ? got->text : "-");
    }
    LG_CHECK_ROW(name, got->verdict == want->verdict);
    LG_CHECK_ROW(name, got->detected_by == want->detected_by);
    LG_CHECK_ROW(name, got->reason == want->reason);
    LG_CHECK_ROW(name, got->output == want->output);
    LG_CHECK_ROW(name, got->kernel_fault == want->kernel_fault);
    LG_CHECK_ROW(name, text_is_right);
    reached[got->reason] = true;
}

static void test_each_run_gets_its_verdict(void) {
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const judge_row *row = &rows[i];
        scene s;
        build(&s, row->policy, row->reduction, row->bad);
        row->change(&s);
        lg_arena arena = {0};
        lg_judgement got = judge_scene(&s, &arena);
        lg_judgement want = {.verdict = row->verdict,
                             .detected_by = row->detected_by,
                             .reason = row->reason,
                             .output = row->output,
                             .kernel_fault = row->kernel_fault,
                             .text = row->text};
        check_judgement(row->name, &got, &want);
        lg_arena_free(&arena);
        destroy(&s);
    }
}

// What may be seen of a case beside its own run.
enum {
    WRONG_ROW = 1,      // the run itself is wrong
    MISREAD = 2,        // the labels intended are others
    SENSELESS = 4,      // no loss of the batch means anything
    RELATION = 8,       // a relation is broken
    RELATION_LOST = 16, // a relation could not be run
    SQUARE = 32,        // the batch has two axes of one length
};

#define PASSES .verdict = LG_PASS, .output = LG_N_ARGS
#define CORRUPTS .verdict = LG_SILENT_CORRUPTION

static const struct facts_row {
    const char *name;
    int seen;
    lg_judgement want;
} facts_rows[] = {
    {"nothing beside a right run", 0, {PASSES}},
    {"misread labels",
     MISREAD,
     {CORRUPTS, .reason = LG_REASON_MISREAD_LABELS, .output = LOSS,
      .text = "labels are not those"}},
    {"a senseless loss",
     SENSELESS,
     {CORRUPTS, .reason = LG_REASON_SENSELESS, .output = NO_ARG, .text = "one class"}},
    {"a broken relation",
     RELATION,
     {LG_WRONG_RESULT, LG_DETECTOR_RELATION, LG_REASON_RELATION, GRADIENT, .text = "two ways",
      .kernel_fault = true}},
    {"a relation that could not be run",
     RELATION_LOST,
     {LG_UNTESTED, .reason = LG_REASON_DEVICE_FAILED, .output = NO_ARG, .text = "could not"}},
    {"a square batch", SQUARE, {PASSES, .reason = LG_REASON_SQUARE, .text = "axis 2"}},
    // The first of them decides, and the run itself before all.
    {"labels before sense",
     MISREAD | SENSELESS | RELATION,
     {CORRUPTS, .reason = LG_REASON_MISREAD_LABELS, .output = LOSS, .text = "labels"}},
    {"sense before relations",
     SENSELESS | RELATION,
     {CORRUPTS, .reason = LG_REASON_SENSELESS, .output = NO_ARG, .text = "one class"}},
    {"a relation before the warning",
     RELATION_LOST | SQUARE,
     {LG_UNTESTED, .reason = LG_REASON_DEVICE_FAILED, .output = NO_ARG, .text = "could not"}},
    {"the run before all",
     WRONG_ROW | MISREAD | SENSELESS | RELATION,
     {LG_WRONG_RESULT, LG_DETECTOR_REFERENCE, LG_REASON_WRONG_NUMBER, LOSS, .text = "row 0",
      .kernel_fault = true}},
};

static lg_relation_fact relation_seen(int seen) {
    lg_relation_fact fact = {.broken = seen & (RELATION | RELATION_LOST)};
    fact.judgement =
        seen & RELATION
            ? (lg_judgement){LG_WRONG_RESULT, LG_DETECTOR_RELATION,  LG_REASON_RELATION,
                             GRADIENT,        .text = "in two ways", .kernel_fault = true}
            : (lg_judgement){
                  .reason = LG_REASON_DEVICE_FAILED, .output = NO_ARG, .text = "could not be run"};
    return fact;
}

static void test_each_case_gets_its_verdict(void) {
    scene others; // of the labels intended
    build(&others, ASSERT, NONE, false);
    for (int r = 0; r < ROWS; r++) {
        lg_tensor_set_i64(&others.batch.target, r, (r + 1) % WIDTH);
    }
    lg_reference_free(&others.reference);
    CU_ASSERT_TRUE_FATAL(lg_reference_compute(&others.batch, true, &others.reference));
    lg_batch square = {.loss.kind = LG_NLL_LOSS};
    const int64_t shape[] = {2, WIDTH, WIDTH};
    CU_ASSERT_TRUE_FATAL(lg_tensor_init(&square.input, LG_FLOAT32, 3, shape));
    for (size_t i = 0; i < sizeof facts_rows / sizeof *facts_rows; i++) {
        const struct facts_row *row = &facts_rows[i];
        scene s;
        build(&s, ASSERT, NONE, false);
        if (row->seen & WRONG_ROW) {
            with_wrong_row(&s);
        }
        lg_arena arena = {0};
        lg_case_facts facts = {.run = facts_of(&s),
                               .run_shows = judge_scene(&s, &arena),
                               .given = row->seen & MISREAD  ? &others.batch
                                        : row->seen & SQUARE ? &square
                                                             : &s.batch,
                               .intended = row->seen & MISREAD ? &others.reference : NULL,
                               .relation = relation_seen(row->seen)};
        if (row->seen & SENSELESS) {
            facts.senseless = (lg_senseless){LG_CAUSE_WRONG_HEAD_WIDTH, "a head of one class"};
        }
        lg_judgement got = lg_judge(&facts, &arena);
        check_judgement(row->name, &got, &row->want);
        LG_CHECK_ROW(row->name, lg_same_bits(got.max_error_share, facts.run_shows.max_error_share));
        lg_arena_free(&arena);
        destroy(&s);
    }
    lg_batch_free(&square);
    destroy(&others);
}

// After the tests above. A reason that is new in reason.def needs a row of its own.
static void test_each_reason_is_reached(void) {
    for (int r = LG_REASON_NONE; r < LG_N_REASONS; r++) {
        LG_CHECK_ROW(lg_reason_name((lg_reason)r), reached[r] != is_settled_reason((lg_reason)r));
    }
}

int main(void) {
    const lg_test tests[] = {
        {"each run gets its verdict", test_each_run_gets_its_verdict},
        {"each case gets its verdict", test_each_case_gets_its_verdict},
        {"each reason is reached", test_each_reason_is_reached},
    };
    return lg_run_tests(LG_SUITE, tests, sizeof(tests) / sizeof(tests[0]));
}
