// SPDX-License-Identifier: Apache-2.0
// What a kernel could have done wrong in a scene, or the scene could be: one change each.
#ifndef LG_TESTS_JUDGE_CHANGES_H
#define LG_TESTS_JUDGE_CHANGES_H

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

static void with_race(scene *s) {
    s->seen.race = "two threads write to `output`";
}

// nll_loss reads one element a row; the gradient of another one is not 0.
static void with_gradient_of_another_class(scene *s) {
    output_of(s, LG_ARG_GRAD_INPUT)->values[1] = 0.25;
}

// Every row is ignored: the mean is 0/0.
static void with_number_for_nothing(scene *s) {
    for (int r = 0; r < ROWS; r++) {
        lg_tensor_set_i64(&s->batch.target, r, s->batch.loss.ignore_index);
    }
    lg_reference_free(&s->reference);
    CU_ASSERT_TRUE_FATAL(lg_reference_compute(&s->batch, true, &s->reference));
    s->seen.n_outputs = 0;
    double zero = 0;
    add_output(s, LG_ARG_OUTPUT, &zero, 1);
    add_output(s, LG_ARG_GRAD_INPUT, s->reference.grad_input, ROWS * WIDTH);
    add_output(s, LG_ARG_TOTAL_WEIGHT, &s->reference.total_weight, 1);
}

static void with_no_pass_asked(scene *s) {
    s->kernel.n_stages = 0;
    s->batch.loss.direction = (lg_direction)0;
    s->seen.n_outputs = 0;
}

static void with_no_reference(scene *s) {
    s->has_reference = false;
}

#endif
