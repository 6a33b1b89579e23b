// SPDX-License-Identifier: Apache-2.0
// Kernel causes that are no matter of one formula: each row plays a kernel that is broken in one
// way and must be named for it.
#include "unit/attribute/play.h"

static void break_offsets(play *p) {
    for (int64_t row = 0; row < p->reference.n_rows; row++) {
        if (row * lg_batch_head_width(&p->batch) > INT16_MAX) {
            p->loss[row] = p->reference.loss[0] + 3;
        }
    }
}

static void break_write(play *p) {
    p->seen.outputs[0].n_unwritten = 2;
    p->seen.outputs[0].first_unwritten = 5;
}

static void break_gradient(play *p) {
    lg_output *gradient = &p->seen.outputs[p->seen.n_outputs++];
    gradient->arg = LG_ARG_GRAD_INPUT;
    gradient->n = lg_tensor_numel(&p->batch.input);
    gradient->values = lg_arena_array(&p->seen.arena, (size_t)gradient->n, sizeof(double));
}

// Each element a little nearer to 0, as rounding towards it leaves it after many steps.
static void break_rounding(play *p) {
    lg_output *gradient = play_add_gradient(p);
    for (int64_t i = 0; i < gradient->n; i++) {
        gradient->values[i] *= 1 - 1e-5 * (double)(1 + i % 3);
    }
}

// The gradient as if nothing came from above.
static void break_upstream(play *p) {
    lg_output *gradient = play_add_gradient(p);
    int64_t width = lg_batch_head_width(&p->batch);
    for (int64_t i = 0; i < gradient->n; i++) {
        gradient->values[i] /= lg_tensor_get_f64(&p->batch.grad_output, i / width);
    }
}

// Row by row and class by class from memory that has the classes first.
static void break_strides(play *p) {
    int64_t width = lg_batch_head_width(&p->batch);
    for (int64_t row = 0; row < p->reference.n_rows; row++) {
        int64_t label = play_label(p, row);
        p->loss[row] =
            -lg_dtype_get_f64(p->batch.input.dtype, p->batch.input.data, row * width + label);
    }
}

static void break_order(play *p) {
    p->seen.race = "race on shared memory";
}

static void break_barrier(play *p) {
    p->seen.status = LG_STATUS_ILLEGAL_INSTRUCTION;
    p->seen.barrier.text = "barrier 40 does not exist";
}

// Whatever else is wrong follows from that.
static void break_input(play *p) {
    p->seen.input_written = "the kernel wrote to `input`";
    break_order(p);
    break_write(p);
}

static void break_smoothing(play *p) {
    p->loss[0] *= 1.4;
}

// Odd labels beyond 2048 are even in float16.
static void break_label_type(play *p) {
    for (int64_t row = 0; row < p->reference.n_rows; row++) {
        int64_t label = play_label(p, row);
        if (label > 2048 && label % 2 == 1) {
            int64_t kept = label % 4 == 1 ? label - 1 : label + 1; // to even: ties
            p->loss[row] =
                -lg_tensor_get_f64(&p->batch.input, row * lg_batch_head_width(&p->batch) + kept);
        }
    }
}

static void miss_all(play *p) {
    for (int64_t i = 0; i < p->reference.n_loss; i++) {
        p->loss[i] = isnan(p->loss[i]) ? 1 : p->loss[i];
    }
}

static const kernel_row rows[] = {
    {"16-bit offsets", LG_NLL_LOSS, LG_REDUCTION_NONE, 200, 200, .breakage = break_offsets,
     .cause = K(INDEX_OVERFLOW)},
    {"poison left", LG_NLL_LOSS, LG_REDUCTION_NONE, 24, 2, .breakage = break_write,
     .cause = K(UNWRITTEN_OUTPUT)},
    {"gradient alone", LG_CROSS_ENTROPY, LG_REDUCTION_MEAN, 8, 15, .gradient = true,
     .breakage = break_gradient, .cause = K(GRADIENT_CONTRACT), .doubtful = true},
    {"race", LG_CROSS_ENTROPY, LG_REDUCTION_MEAN, 8, 15, .breakage = break_order, .cause = K(RACE)},
    {"a barrier that does not exist", LG_CROSS_ENTROPY, LG_REDUCTION_MEAN, 8, 15,
     .breakage = break_barrier, .cause = K(BAD_BARRIER)},
    {"input overwritten", LG_CROSS_ENTROPY, LG_REDUCTION_MEAN, 8, 15, .breakage = break_input,
     .cause = K(INPUT_OVERWRITTEN)},
    {"smoothing with ignored rows", LG_CROSS_ENTROPY, LG_REDUCTION_MEAN, 40, 5, .ignored = 0.2,
     .smoothing = 0.2, .breakage = break_smoothing, .cause = K(OPTION_INTERPLAY), .doubtful = true},
    {"labels in float16", LG_NLL_LOSS, LG_REDUCTION_NONE, 60, 3000, .breakage = break_label_type,
     .cause = K(PRECISION)},
    {"gradient rounded towards 0", LG_CROSS_ENTROPY, LG_REDUCTION_MEAN, 40, 15, .gradient = true,
     .breakage = break_rounding, .cause = K(PRECISION)},
    {"upstream gradient left out", LG_CROSS_ENTROPY, LG_REDUCTION_NONE, 12, 5, .gradient = true,
     .upstream = true, .breakage = break_upstream, .cause = K(GRADIENT_CONTRACT)},
    {"upstream gradient left out of a strided view", LG_CROSS_ENTROPY, LG_REDUCTION_NONE, 12, 5,
     .gradient = true, .strided = true, .upstream = true, .breakage = break_upstream,
     .cause = K(GRADIENT_CONTRACT)},
    {"a strided view read as packed", LG_NLL_LOSS, LG_REDUCTION_NONE, 12, 5, .strided = true,
     .breakage = break_strides, .cause = K(STRIDES_IGNORED)},
    {"label C passes", LG_NLL_LOSS, LG_REDUCTION_NONE, 64, 5, .with_fault = true,
     .breakage = miss_all, .cause = K(LABEL_EQUALS_WIDTH), .also = K(OFF_BY_ONE_CHECK)},
    {"label C is caught", LG_NLL_LOSS, LG_REDUCTION_NONE, 64, 5, .with_fault = true,
     .breakage = play_right, .cause = K(LABEL_EQUALS_WIDTH)},
};

static void test_kernels(void) {
    play_rows(rows, sizeof rows / sizeof *rows);
}

// NaN for a number, a number for NaN: whatever the kernel did, the value does not tell.
static void test_another_class_of_number_tells_nothing(void) {
    const kernel_row plain = {"NaN", LG_CROSS_ENTROPY,      LG_REDUCTION_NONE, 8,
                              5,     .breakage = play_right};
    play p;
    play_begin(&plain, &p);
    p.loss[3] = NAN;
    lg_finding finding;
    play_attribute(&p, true, &finding);
    CU_ASSERT_EQUAL(finding.cause, LG_CAUSE_NONE);
    lg_finding_free(&finding);
    play_end(&p);
}

// -inf for the label's class has a right answer, inf. A kernel that returns NaN there is at fault
// itself: the logits are named, for they are worth a look, and nothing is certain.
static void test_infinity_does_not_acquit_the_kernel(void) {
    const kernel_row plain = {"-inf", LG_CROSS_ENTROPY,      LG_REDUCTION_NONE, 8,
                              5,      .breakage = play_right};
    const double returned[] = {INFINITY, NAN};
    for (int wrong = 0; wrong < 2; wrong++) {
        play p;
        play_begin(&plain, &p);
        lg_tensor_set_f64(&p.batch.input, 3 * 5 + lg_tensor_get_i64(&p.batch.target, 3), -INFINITY);
        p.loss[3] = returned[wrong];
        p.reference.loss[3] = INFINITY;
        lg_finding finding;
        play_attribute(&p, wrong, &finding);
        CU_ASSERT_EQUAL(finding.cause, LG_CAUSE_NONFINITE_LOGITS);
        CU_ASSERT_EQUAL(finding.certain, !wrong);
        CU_ASSERT_EQUAL(finding.n_rows, 1);
        CU_ASSERT_EQUAL(finding.n_values, 0);
        CU_ASSERT_PTR_NOT_NULL(strstr(finding.headline, "holds -inf, and it is the label's"));
        CU_ASSERT_EQUAL(strstr(finding.headline, "IEEE arithmetic") != NULL, wrong);
        lg_finding_free(&finding);
        play_end(&p);
    }
}

static const lg_test tests[] = {
    {"kernels", test_kernels},
    {"another class of number tells nothing", test_another_class_of_number_tells_nothing},
    {"infinity does not acquit the kernel", test_infinity_does_not_acquit_the_kernel},
};

int main(void) {
    return lg_run_tests(LG_SUITE, tests, sizeof tests / sizeof *tests);
}
