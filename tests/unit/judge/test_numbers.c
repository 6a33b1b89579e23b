// SPDX-License-Identifier: Apache-2.0
// The numbers that a judgement is made of: the share of a bound, a NaN that is right, a gradient
// that stays in its type.
#include "unit/judge/scene.h"

#include "support/alloc.h"

#include <math.h>
#include <stdlib.h>

// The share of the bound is what is left of the tolerance: 0 for exact numbers, NaN when none was
// seen.
static void test_the_error_share_is_reported(void) {
    scene s;
    lg_arena arena = {0};
    build(&s, ASSERT, NONE, false);
    lg_judgement got = judge_scene(&s, &arena);
    CU_ASSERT_TRUE(got.max_error_share >= 0 && got.max_error_share <= 1);
    with_assert(&s);
    got = judge_scene(&s, &arena);
    CU_ASSERT_TRUE(isnan(got.max_error_share));
    lg_arena_free(&arena);
    destroy(&s);
}

// A mean over no row is NaN, and NaN is then what a right kernel returns.
static void test_a_reference_that_is_nan_passes(void) {
    scene s;
    build(&s, ASSERT, MEAN, false);
    for (int r = 0; r < ROWS; r++) {
        lg_tensor_set_i64(&s.batch.target, r, -100);
    }
    lg_reference_free(&s.reference);
    CU_ASSERT_TRUE_FATAL(lg_reference_compute(&s.batch, true, &s.reference));
    s.seen.n_outputs = 0;
    add_output(&s, LG_ARG_OUTPUT, s.reference.loss, 1);
    add_output(&s, LG_ARG_GRAD_INPUT, s.reference.grad_input, ROWS * WIDTH);
    lg_arena arena = {0};
    lg_judgement got = judge_scene(&s, &arena);
    CU_ASSERT_EQUAL(got.verdict, LG_PASS);
    output_of(&s, LG_ARG_OUTPUT)->values[0] = 0;
    got = judge_scene(&s, &arena);
    CU_ASSERT_EQUAL(got.verdict, LG_WRONG_RESULT);
    lg_arena_free(&arena);
    destroy(&s);
}

// As a run leaves it for a large batch: the gradient in its own type, the reference's not kept.
static void test_a_gradient_in_its_type(void) {
    scene s;
    build(&s, ASSERT, MEAN, false);
    lg_output *gradient = output_of(&s, LG_ARG_GRAD_INPUT);
    float *data = lg_arena_array(&s.seen.arena, ROWS * WIDTH, sizeof *data);
    for (int i = 0; i < ROWS * WIDTH; i++) {
        data[i] = (float)gradient->values[i];
    }
    gradient->values = NULL;
    gradient->data = data;
    free(s.reference.grad_input);
    s.reference.grad_input = NULL;
    lg_arena arena = {0};
    lg_judgement got = judge_scene(&s, &arena);
    CU_ASSERT_EQUAL(got.verdict, LG_PASS);
    data[(ROWS - 1) * WIDTH] += 0.5f;
    got = judge_scene(&s, &arena);
    CU_ASSERT_EQUAL(got.verdict, LG_WRONG_RESULT);
    data[(ROWS - 1) * WIDTH] = NAN;
    got = judge_scene(&s, &arena);
    CU_ASSERT_NOT_EQUAL(got.verdict, LG_PASS);
    gradient->data = NULL; // it could not be read
    got = judge_scene(&s, &arena);
    CU_ASSERT_NOT_EQUAL(got.verdict, LG_PASS);
    lg_arena_free(&arena);
    destroy(&s);
}

int main(void) {
    const lg_test tests[] = {
        {"a gradient in its type", test_a_gradient_in_its_type},
        {"the error share is reported", test_the_error_share_is_reported},
        {"a reference that is NaN passes", test_a_reference_that_is_nan_passes},
    };
    return lg_run_tests(LG_SUITE, tests, sizeof(tests) / sizeof(tests[0]));
}
