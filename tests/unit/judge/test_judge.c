// SPDX-License-Identifier: Apache-2.0
// What a kernel could do with a small NLL batch, and the verdict it must get.
#include "unit/judge/scene.h"

#include <math.h>

// One of the forward and one of the backward launch.
static void add_record(scene *s, int64_t row, int64_t value, int64_t upper) {
    s->seen.records = s->records;
    for (uint32_t launch = 0; launch < 2; launch++) {
        s->records[s->seen.n_records++] = (lg_fault_record){
            .row = row, .value = value, .upper = upper, .kernel = launch, .code = LG_RECORD_LABEL};
    }
}

static void with_right_record(scene *s) {
    add_record(s, BAD_ROW, WIDTH, WIDTH);
}

static void with_late_assert(scene *s) {
    with_assert(s);
    s->seen.failed_launch_index = 1;
}

static void with_early_assert(scene *s) {
    with_assert(s);
    s->seen.failed_launch_index = 0;
}

static void with_late_assert_backward_only(scene *s) {
    with_late_assert(s);
    s->batch.loss.direction = LG_BACKWARD;
}

static void with_silent_assert(scene *s) {
    with_assert(s);
    s->seen.n_asserts = s->seen.n_asserts_kept = 0;
}

static void with_assert_line_only(scene *s) {
    with_assert(s);
    s->seen.status = LG_STATUS_OK;
}

static void with_illegal_address(scene *s) {
    s->seen.status = LG_STATUS_ILLEGAL_ADDRESS;
    s->seen.memory = (lg_memory_finding){.present = true,
                                         .kind = LG_DEVICE_FAULT_OUT_OF_BOUNDS,
                                         .bytes = 4,
                                         .buffer = "input",
                                         .distance = 8,
                                         .file = "k.cu",
                                         .line = 52};
}

static void with_null_weight(scene *s) {
    with_illegal_address(s);
    s->seen.memory.kind = LG_DEVICE_FAULT_NULL_POINTER;
    s->seen.memory.buffer = NULL;
    s->seen.memory.null_arguments = "`weight`";
    s->seen.memory.address = 12;
}

static void with_bare_700(scene *s) {
    s->seen.status = LG_STATUS_ILLEGAL_ADDRESS;
    s->seen.status_text = "CUDA_ERROR_ILLEGAL_ADDRESS (700)";
}

static void with_timeout(scene *s) {
    s->seen.status = LG_STATUS_TIMEOUT;
}

static void with_bad_barrier(scene *s) {
    s->seen.status = LG_STATUS_ILLEGAL_INSTRUCTION;
    s->seen.barrier.text = "barrier 40 does not exist";
}

static void with_divergent_barrier(scene *s) {
    s->seen.status = LG_STATUS_TIMEOUT;
    s->seen.barrier.text = "barrier 0 is reached by 16 of the 32 threads of a warp";
}

static void with_absent_lanes(scene *s) {
    s->seen.barrier.text = "shfl.sync with member mask 0xffffffff, but lane 5 is not there";
}

static void with_trap(scene *s) {
    s->seen.status = LG_STATUS_TRAP;
    s->seen.status_text = "CUDA_ERROR_LAUNCH_FAILED (719)";
}

static void with_broken_fence(scene *s) {
    output_of(s, LG_ARG_GRAD_INPUT)->fence_broken = true;
}

static void with_poison_left(scene *s) {
    output_of(s, LG_ARG_OUTPUT)->n_unwritten = 1;
}

static void with_finite_loss(scene *s) {
    lg_output *output = output_of(s, LG_ARG_OUTPUT);
    output->values[output->n > 1 ? BAD_ROW : 0] = 1.25;
}

static void with_finite_loss_and_record(scene *s) {
    with_finite_loss(s);
    with_right_record(s);
}

static void with_infinite_loss(scene *s) {
    lg_output *output = output_of(s, LG_ARG_OUTPUT);
    output->values[output->n > 1 ? BAD_ROW : 0] = INFINITY;
}

static void with_finite_gradient(scene *s) {
    output_of(s, LG_ARG_GRAD_INPUT)->values[(int64_t)BAD_ROW * WIDTH] = 0;
}

static void with_wrong_row(scene *s) {
    output_of(s, LG_ARG_OUTPUT)->values[0] += 0.01;
}

static void with_wrong_gradient(scene *s) {
    output_of(s, LG_ARG_GRAD_INPUT)->values[0] *= 1.001;
}

static void with_wrong_total(scene *s) {
    output_of(s, LG_ARG_TOTAL_WEIGHT)->values[0] += 1;
}

static void with_nan_everywhere(scene *s) {
    lg_output *output = output_of(s, LG_ARG_OUTPUT);
    for (int64_t i = 0; i < output->n; i++) {
        output->values[i] = NAN;
    }
}

static void with_short_output(scene *s) {
    output_of(s, LG_ARG_OUTPUT)->n--;
}

static void with_unreadable_output(scene *s) {
    output_of(s, LG_ARG_OUTPUT)->values = NULL;
}

static void with_gradient_gone(scene *s) {
    s->seen.n_outputs = 1;
}

static void with_record_of_valid_row(scene *s) {
    add_record(s, 0, 0, WIDTH);
}

static void with_record_of_wrong_value(scene *s) {
    add_record(s, BAD_ROW, WIDTH + 4, WIDTH);
}

static void with_record_of_wrong_bounds(scene *s) {
    add_record(s, BAD_ROW, WIDTH, WIDTH + 1);
}

static void with_record_twice(scene *s) {
    with_right_record(s);
    with_right_record(s);
}

static void with_backward_record_missing(scene *s) {
    with_right_record(s);
    s->seen.n_records--;
}

static void with_record_dropped(scene *s) {
    s->seen.n_records_dropped = 3;
}

static void with_mode_failure(scene *s) {
    s->seen.mode_failure = "block size 64 gave another loss";
}

static void with_input_written(scene *s) {
    s->seen.input_written = "the kernel wrote to `input`";
}

static void with_record_and_input_written(scene *s) {
    with_right_record(s);
    with_input_written(s);
}

static void with_host_refusal(scene *s) {
    s->refused = true;
    s->refusal = (lg_refusal){.cause = LG_CAUSE_FLOAT_TARGETS, .text = "targets are float32"};
    s->seen.refused_on_host = true;
    s->seen.n_outputs = 0;
}

static void with_refusal_run_anyway(scene *s) {
    with_host_refusal(s);
    s->seen.refused_on_host = false;
    s->seen.n_outputs = 1;
    with_finite_loss(s);
}

static void with_refusal_without_cause(scene *s) {
    with_host_refusal(s);
    s->refused = false;
}

static void with_nothing(scene *s) {
    (void)s;
}

typedef struct judge_row {
    const char *name;
    lg_policy policy;
    lg_reduction reduction;
    bool bad;
    void (*change)(scene *s);
    lg_verdict verdict;
    lg_detector detected_by;
    const char *text; // must be part of it; NULL: none
} judge_row;

static const judge_row rows[] = {
    // Valid batches.
    {"right mean", ASSERT, MEAN, false, with_nothing, LG_PASS, LG_DETECTOR_NONE, NULL},
    {"right rows", REPORT, NONE, false, with_nothing, LG_PASS, LG_DETECTOR_NONE, NULL},
    {"wrong row", ASSERT, NONE, false, with_wrong_row, LG_WRONG_RESULT, LG_DETECTOR_REFERENCE,
     "output row 0"},
    {"wrong mean", NAN_ROW, MEAN, false, with_wrong_row, LG_WRONG_RESULT, LG_DETECTOR_REFERENCE,
     "output is"},
    {"wrong gradient", ASSERT, NONE, false, with_wrong_gradient, LG_WRONG_RESULT,
     LG_DETECTOR_REFERENCE, "grad_input row 0"},
    {"wrong total weight", ASSERT, MEAN, false, with_wrong_total, LG_WRONG_RESULT,
     LG_DETECTOR_REFERENCE, "total_weight"},
    {"infinity", ASSERT, MEAN, false, with_infinite_loss, LG_WRONG_RESULT, LG_DETECTOR_REFERENCE,
     "inf"},
    {"NaN from an asserting kernel", ASSERT, NONE, false, with_nan_everywhere, LG_WRONG_RESULT,
     LG_DETECTOR_REFERENCE, "NaN"},
    {"NaN row from a NaN kernel", NAN_ROW, NONE, false, with_nan_everywhere, LG_FALSE_ALARM,
     LG_DETECTOR_NAN, "rows 0 1 2 3"},
    {"assert", ASSERT, MEAN, false, with_assert, LG_FALSE_ALARM, LG_DETECTOR_DEVICE_ASSERT,
     "k.cu:41"},
    {"assert without a line", ASSERT, MEAN, false, with_silent_assert, LG_FALSE_ALARM,
     LG_DETECTOR_DEVICE_ASSERT, "no line"},
    {"record", REPORT, NONE, false, with_record_of_valid_row, LG_FALSE_ALARM,
     LG_DETECTOR_FAULT_RECORD, "row 0"},
    {"only dropped records", REPORT, NONE, false, with_record_dropped, LG_FALSE_ALARM,
     LG_DETECTOR_FAULT_RECORD, "dropped"},
    {"bad read", ASSERT, MEAN, false, with_illegal_address, LG_MEMORY_FAULT,
     LG_DETECTOR_MEMORY_CHECK, "byte 8 past the end of `input`, at k.cu:52"},
    {"null", ASSERT, MEAN, false, with_null_weight, LG_MEMORY_FAULT, LG_DETECTOR_MEMORY_CHECK,
     "null pointer read of 4 bytes, byte 12 of `weight`, which the call leaves out, at k.cu:52"},
    {"broken fence", ASSERT, MEAN, false, with_broken_fence, LG_MEMORY_FAULT,
     LG_DETECTOR_MEMORY_CHECK, "grad_input"},
    {"unwritten", ASSERT, NONE, false, with_poison_left, LG_UNWRITTEN, LG_DETECTOR_REFERENCE,
     "1 of 4"},
    {"hang", ASSERT, MEAN, false, with_timeout, LG_HANG, LG_DETECTOR_NONE, "budget"},
    {"trap", ASSERT, MEAN, false, with_trap, LG_CRASH, LG_DETECTOR_NONE, "719"},
    {"a barrier that does not exist", ASSERT, MEAN, false, with_bad_barrier, LG_CRASH,
     LG_DETECTOR_NONE, "barrier 40"},
    {"a barrier not all reach", ASSERT, MEAN, false, with_divergent_barrier, LG_HANG,
     LG_DETECTOR_NONE, "16 of the 32"},
    {"a shuffle of absent lanes", ASSERT, MEAN, false, with_absent_lanes, LG_WRONG_RESULT,
     LG_DETECTOR_MEMORY_CHECK, "lane 5"},
    {"mode failure", ASSERT, MEAN, false, with_mode_failure, LG_WRONG_RESULT, LG_DETECTOR_REFERENCE,
     "64"},
    {"input overwritten", ASSERT, MEAN, false, with_input_written, LG_WRONG_RESULT,
     LG_DETECTOR_MEMORY_CHECK, "`input`"},
    {"input overwritten, bad label", REPORT, NONE, true, with_record_and_input_written,
     LG_WRONG_RESULT, LG_DETECTOR_MEMORY_CHECK, "`input`"},
    {"output not read", ASSERT, MEAN, false, with_unreadable_output, LG_UNTESTED, LG_DETECTOR_NONE,
     "`output`"},
    {"gradient not read", ASSERT, MEAN, false, with_gradient_gone, LG_UNTESTED, LG_DETECTOR_NONE,
     "grad_input"},
    {"output too short", ASSERT, NONE, false, with_short_output, LG_UNTESTED, LG_DETECTOR_NONE,
     "elements"},
    {"refused though valid", ASSERT, MEAN, false, with_refusal_without_cause, LG_FALSE_ALARM,
     LG_DETECTOR_HOST_CHECK, "valid"},
    // Invalid batches, as each policy promises.
    {"assert on a bad label", ASSERT, MEAN, true, with_assert, LG_DETECTED,
     LG_DETECTOR_DEVICE_ASSERT, NULL},
    {"assert in the forward launch", ASSERT, MEAN, true, with_early_assert, LG_DETECTED,
     LG_DETECTOR_DEVICE_ASSERT, NULL},
    {"assert of a gradient alone", ASSERT, MEAN, true, with_late_assert_backward_only, LG_DETECTED,
     LG_DETECTOR_DEVICE_ASSERT, NULL},
    {"assert in the backward launch only", ASSERT, MEAN, true, with_late_assert,
     LG_SILENT_CORRUPTION, LG_DETECTOR_NONE,
     "gave no signal, only the backward one: device assert"},
    {"records and NaN", REPORT, NONE, true, with_right_record, LG_DETECTED,
     LG_DETECTOR_FAULT_RECORD, NULL},
    {"NaN row", NAN_ROW, NONE, true, with_nothing, LG_DETECTED, LG_DETECTOR_NAN, NULL},
    {"NaN mean", NAN_ROW, MEAN, true, with_nothing, LG_DETECTED, LG_DETECTOR_NAN, NULL},
    {"NaN by itself", UNCHECKED, MEAN, true, with_nothing, LG_DETECTED, LG_DETECTOR_NAN, NULL},
    {"host check", ASSERT, MEAN, true, with_host_refusal, LG_DETECTED, LG_DETECTOR_HOST_CHECK,
     "float32"},
    // Invalid batches, and the promise is not kept.
    {"assert without its line", ASSERT, MEAN, true, with_silent_assert, LG_CRASH, LG_DETECTOR_NONE,
     "no line"},
    {"assert line, launch fine", ASSERT, NONE, true, with_assert_line_only, LG_UNTESTED,
     LG_DETECTOR_NONE, "read back"},
    {"bare 700", ASSERT, MEAN, true, with_bare_700, LG_MEMORY_FAULT, LG_DETECTOR_MEMORY_CHECK,
     "700"},
    {"no assert, a number", ASSERT, MEAN, true, with_finite_loss, LG_SILENT_CORRUPTION,
     LG_DETECTOR_NONE, "1.25"},
    {"no assert, NaN", ASSERT, MEAN, true, with_nothing, LG_SILENT_CORRUPTION, LG_DETECTOR_NONE,
     "no device"},
    {"assert from a reporting kernel", REPORT, NONE, true, with_assert, LG_CRASH, LG_DETECTOR_NONE,
     "promises"},
    {"no record, NaN", REPORT, NONE, true, with_nothing, LG_SILENT_CORRUPTION, LG_DETECTOR_NONE,
     "no fault rec"},
    {"no record, a number", REPORT, NONE, true, with_finite_loss, LG_SILENT_CORRUPTION,
     LG_DETECTOR_NONE, "row 2"},
    {"record, yet a number", REPORT, NONE, true, with_finite_loss_and_record, LG_SILENT_CORRUPTION,
     LG_DETECTOR_NONE, "signalled"},
    {"record of a valid row", REPORT, NONE, true, with_record_of_valid_row, LG_FALSE_ALARM,
     LG_DETECTOR_FAULT_RECORD, "row 0"},
    {"record of a wrong value", REPORT, NONE, true, with_record_of_wrong_value, LG_WRONG_RESULT,
     LG_DETECTOR_FAULT_RECORD, "value 7"},
    {"record of wrong bounds", REPORT, NONE, true, with_record_of_wrong_bounds, LG_WRONG_RESULT,
     LG_DETECTOR_FAULT_RECORD, "upper bound 4, right is 3"},
    {"record twice", REPORT, MEAN, true, with_record_twice, LG_WRONG_RESULT,
     LG_DETECTOR_FAULT_RECORD, "2 fault records of row 2"},
    {"no record of the gradient", REPORT, NONE, true, with_backward_record_missing, LG_WRONG_RESULT,
     LG_DETECTOR_FAULT_RECORD, "of a backward launch"},
    {"all records dropped", REPORT, NONE, true, with_record_dropped, LG_SILENT_CORRUPTION,
     LG_DETECTOR_NONE, "dropped"},
    {"a number in the bad row", NAN_ROW, NONE, true, with_finite_loss, LG_SILENT_CORRUPTION,
     LG_DETECTOR_NONE, "row 2"},
    {"infinity in the bad row", NAN_ROW, NONE, true, with_infinite_loss, LG_SILENT_CORRUPTION,
     LG_DETECTOR_NONE, "inf"},
    {"a number in the bad gradient", NAN_ROW, NONE, true, with_finite_gradient,
     LG_SILENT_CORRUPTION, LG_DETECTOR_NONE, "grad_input row 2"},
    {"NaN in valid rows too", NAN_ROW, NONE, true, with_nan_everywhere, LG_FALSE_ALARM,
     LG_DETECTOR_NAN, "rows 0 1 3"},
    {"valid row wrong", NAN_ROW, NONE, true, with_wrong_row, LG_WRONG_RESULT, LG_DETECTOR_REFERENCE,
     "row 0"},
    {"unwritten row", NAN_ROW, NONE, true, with_poison_left, LG_UNWRITTEN, LG_DETECTOR_REFERENCE,
     "never"},
    {"unchecked number", UNCHECKED, MEAN, true, with_finite_loss, LG_SILENT_CORRUPTION,
     LG_DETECTOR_NONE, "1.25"},
    {"unchecked bad read", UNCHECKED, MEAN, true, with_illegal_address, LG_MEMORY_FAULT,
     LG_DETECTOR_MEMORY_CHECK, "`input`"},
    {"refused batch run anyway", UNCHECKED, NONE, false, with_refusal_run_anyway,
     LG_SILENT_CORRUPTION, LG_DETECTOR_NONE, "no signal"},
};

static void test_each_observation_gets_its_verdict(void) {
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const judge_row *row = &rows[i];
        scene s;
        build(&s, row->policy, row->reduction, row->bad);
        row->change(&s);
        lg_arena arena = {0};
        lg_judgement got = judge_scene(&s, &arena);
        if (got.verdict != row->verdict ||
            (row->text && !(got.text && strstr(got.text, row->text)))) {
            fprintf(stderr, "\n    got %s: %s\n", lg_verdict_name(got.verdict),
                    got.text ? got.text : "-");
        }
        LG_CHECK_ROW(row->name, got.verdict == row->verdict);
        LG_CHECK_ROW(row->name, got.detected_by == row->detected_by);
        LG_CHECK_ROW(row->name,
                     row->text ? got.text && strstr(got.text, row->text) : got.text == NULL);
        lg_arena_free(&arena);
        destroy(&s);
    }
}

int main(void) {
    const lg_test tests[] = {
        {"each observation gets its verdict", test_each_observation_gets_its_verdict},
    };
    return lg_run_tests(LG_SUITE, tests, sizeof(tests) / sizeof(tests[0]));
}
