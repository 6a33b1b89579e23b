// SPDX-License-Identifier: Apache-2.0
// What a kernel is given and what it leaves: poison, directions, scratch, arguments, block sizes.
#include "unit/device/fixture.h"

static void test_unwritten(void) {
    fixture f;
    set_up(&f);
    lg_batch batch = rows_batch();
    lg_observation seen;
    CU_ASSERT_TRUE_FATAL(run(&f, "test/unwritten", &batch, LG_MODE_BLOCKING, &seen));
    CU_ASSERT_EQUAL(seen.outputs[0].n_unwritten, 7); // rows 2, 7, … 32
    CU_ASSERT_EQUAL(seen.outputs[0].first_unwritten, 2);
    CU_ASSERT_EQUAL(lg_output_get(&seen.outputs[0], 3), expected_loss(3, 5));
    lg_observation_free(&seen);
    lg_batch_free(&batch);
    tear_down(&f);

    static const lg_dtype dtypes[] = {LG_FLOAT64, LG_FLOAT32, LG_FLOAT16, LG_BFLOAT16};
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++) {
        unsigned char data[64];
        uint32_t word = lg_poison_word(dtypes[i]);
        for (size_t k = 0; k < sizeof data; k += 4) {
            memcpy(data + k, &word, 4);
        }
        int64_t n = (int64_t)(sizeof data / lg_dtype_bytes(dtypes[i]));
        int64_t first = -1;
        LG_CHECK_ROW(lg_dtype_name(dtypes[i]), isnan(lg_dtype_get_f64(dtypes[i], data, 1)));
        LG_CHECK_ROW(lg_dtype_name(dtypes[i]), lg_count_poison(dtypes[i], data, n, &first) == n);
        LG_CHECK_ROW(lg_dtype_name(dtypes[i]), first == 0);
        lg_dtype_set_f64(dtypes[i], data, 0, NAN); // any NaN a kernel makes is another
        lg_dtype_set_f64(dtypes[i], data, 2, 0);
        LG_CHECK_ROW(lg_dtype_name(dtypes[i]),
                     lg_count_poison(dtypes[i], data, n, &first) == n - 2);
        LG_CHECK_ROW(lg_dtype_name(dtypes[i]), first == 1);
    }
}

static void test_directions(void) {
    static const struct {
        const char *name;
        lg_direction direction;
        int n_launches;
        bool output, total_weight, gradient;
    } rows[] = {
        {"forward", LG_FORWARD, 2, true, true, false},
        {"backward reads what forward wrote", LG_BACKWARD, 3, false, true, true},
        {"both", LG_BOTH, 3, true, true, true},
    };
    fixture f;
    set_up(&f);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        lg_batch batch = make_batch(8, 5, LG_FLOAT32, LG_REDUCTION_SUM, rows[i].direction);
        lg_observation seen;
        CU_ASSERT_TRUE_FATAL(run(&f, "test/scratched", &batch, LG_MODE_BLOCKING, &seen));
        LG_CHECK_ROW(rows[i].name, seen.status == LG_STATUS_OK);
        LG_CHECK_ROW(rows[i].name, seen.n_launches == rows[i].n_launches);
        const lg_output *output = lg_observation_output(&seen, LG_ARG_OUTPUT);
        const lg_output *total = lg_observation_output(&seen, LG_ARG_TOTAL_WEIGHT);
        const lg_output *gradient = lg_observation_output(&seen, LG_ARG_GRAD_INPUT);
        LG_CHECK_ROW(rows[i].name, (output != NULL) == rows[i].output);
        LG_CHECK_ROW(rows[i].name, (total != NULL) == rows[i].total_weight);
        LG_CHECK_ROW(rows[i].name, (gradient != NULL) == rows[i].gradient);
        LG_CHECK_ROW(rows[i].name,
                     !output || lg_output_get(output, 0) ==
                                    -((0 + 1 + 2 + 3 + 4 + 5 + 6 + 7) * 5 + 8 * 10 / 8.0));
        LG_CHECK_ROW(rows[i].name, !total || lg_output_get(total, 0) == 3);
        for (int64_t k = 0; gradient && k < 40; k++) {
            LG_CHECK_ROW(rows[i].name, lg_output_get(gradient, k) == 3.0 + (double)k);
        }
        lg_observation_free(&seen);
        lg_batch_free(&batch);
    }
    // Scratch is not zeroed, so a kernel that counts on it shows; grad_input is where the manifest
    // says.
    lg_batch batch = make_batch(8, 5, LG_FLOAT32, LG_REDUCTION_SUM, LG_BOTH);
    lg_observation seen;
    CU_ASSERT_TRUE_FATAL(run(&f, "test/adds_to_scratch", &batch, LG_MODE_BLOCKING, &seen));
    CU_ASSERT_TRUE(isnan(lg_observation_output(&seen, LG_ARG_OUTPUT)->values[0]));
    const lg_output *gradient = lg_observation_output(&seen, LG_ARG_GRAD_INPUT);
    CU_ASSERT_EQUAL(gradient->n_unwritten, 0);
    for (int64_t k = 0; k < 40; k++) {
        CU_ASSERT_EQUAL(lg_output_get(gradient, k), k == 1 ? 3 : 0);
    }
    lg_observation_free(&seen);
    lg_batch_free(&batch);
    tear_down(&f);
}

static void test_arguments(void) {
    fixture f;
    set_up(&f);
    lg_batch batch = make_batch(4, 2, LG_FLOAT32, LG_REDUCTION_NONE, LG_FORWARD);
    batch.loss.ignore_index = -3;
    batch.loss.label_smoothing = 0.25; // 250 as a float, 0.25 as a double
    lg_observation seen;
    CU_ASSERT_TRUE_FATAL(run(&f, "test/narrow", &batch, LG_MODE_BLOCKING, &seen));
    CU_ASSERT_EQUAL(lg_output_get(&seen.outputs[0], 3), -3 + 250 + 0.25);
    lg_observation_free(&seen);

    batch.loss.ignore_index = INT64_C(1) << 40;
    lg_run_request request = {
        .kernel = find(&f, "test/narrow"), .batch = &batch, .mode = LG_MODE_BLOCKING};
    CU_ASSERT_FALSE(lg_device_run(f.session, &request, &seen, &f.diags));
    CU_ASSERT_EQUAL_FATAL(f.diags.n_errors, 1);
    CU_ASSERT_STRING_EQUAL(
        f.diags.items[0].message,
        "test/narrow: narrow takes 'ignore_index' in 32 bits, and 1099511627776 does not fit");
    lg_observation_free(&seen);
    lg_batch_free(&batch);
    tear_down(&f);
}

// Elementwise weights come in the input's shape, an upstream gradient is 1 when the batch has none.
static void test_expanded(void) {
    fixture f;
    set_up(&f);
    lg_batch batch = {.loss = {.kind = LG_BCE_WITH_LOGITS,
                               .reduction = LG_REDUCTION_NONE,
                               .direction = LG_FORWARD},
                      .target_is_probability = true};
    int64_t shape[] = {3, 2};
    CU_ASSERT_TRUE_FATAL(lg_tensor_init(&batch.input, LG_FLOAT32, 2, shape));
    CU_ASSERT_TRUE_FATAL(lg_tensor_init(&batch.target, LG_FLOAT32, 2, shape));
    CU_ASSERT_TRUE_FATAL(lg_tensor_init(&batch.weight, LG_FLOAT32, 2, (int64_t[]){3, 1}));
    CU_ASSERT_TRUE_FATAL(lg_tensor_init(&batch.pos_weight, LG_FLOAT32, 1, (int64_t[]){2}));
    memset(batch.input.data, 0, lg_tensor_bytes(&batch.input));
    memset(batch.target.data, 0, lg_tensor_bytes(&batch.target));
    for (int i = 0; i < 3; i++) {
        lg_tensor_set_f64(&batch.weight, i, i + 1);
    }
    lg_tensor_set_f64(&batch.pos_weight, 0, 4);
    lg_tensor_set_f64(&batch.pos_weight, 1, 5);
    lg_observation seen;
    CU_ASSERT_TRUE_FATAL(run(&f, "test/echo", &batch, LG_MODE_BLOCKING, &seen));
    for (int i = 0; i < 6; i++) {
        int row = i / 2, pos_weight = i % 2 ? 5 : 4;
        CU_ASSERT_EQUAL(lg_output_get(&seen.outputs[0], i), row + 1 + 10 * pos_weight + 100);
    }
    lg_observation_free(&seen);
    CU_ASSERT_TRUE_FATAL(lg_tensor_init(&batch.grad_output, LG_FLOAT64, 0, NULL));
    lg_tensor_set_f64(&batch.grad_output, 0, 2);
    CU_ASSERT_TRUE_FATAL(run(&f, "test/echo", &batch, LG_MODE_BLOCKING, &seen));
    CU_ASSERT_EQUAL(lg_output_get(&seen.outputs[0], 0), 1 + 40 + 200);
    lg_observation_free(&seen);
    lg_batch_free(&batch);
    tear_down(&f);
}

static void test_empty(void) {
    fixture f;
    set_up(&f);
    lg_batch batch = make_batch(0, 5, LG_FLOAT32, LG_REDUCTION_NONE, LG_BOTH);
    lg_observation seen;
    CU_ASSERT_TRUE_FATAL(run(&f, "nll_loss/no_reduce/assert", &batch, LG_MODE_ASYNC, &seen));
    CU_ASSERT_EQUAL(seen.status, LG_STATUS_OK);
    CU_ASSERT_EQUAL(seen.n_launches, 2); // the unrelated ones
    CU_ASSERT_EQUAL(lg_observation_output(&seen, LG_ARG_OUTPUT)->n, 0);
    lg_observation_free(&seen);
    lg_batch_free(&batch);
    tear_down(&f);
}

// --- block sizes

static void test_block_sizes(void) {
    fixture f;
    set_up(&f);
    lg_batch batch = make_batch(64, 5, LG_FLOAT32, LG_REDUCTION_SUM, LG_FORWARD);
    lg_observation seen;
    CU_ASSERT_TRUE_FATAL(run(&f, "test/one_warp", &batch, LG_MODE_BLOCK_SIZES, &seen));
    CU_ASSERT_PTR_NOT_NULL_FATAL(seen.mode_failure);
    CU_ASSERT_STRING_EQUAL(seen.mode_failure,
                           "output[0] is -inf with block size 128, finite with the default");
    lg_observation_free(&seen);
    CU_ASSERT_TRUE_FATAL(run(&f, "test/one_warp", &batch, LG_MODE_BLOCKING, &seen));
    double whole = lg_output_get(&seen.outputs[0], 0);
    lg_observation_free(&seen);

    // Without the last size the wrong number is finite: it is returned for the judge to see.
    lg_kernel two = *find(&f, "test/one_warp");
    lg_stage stage = two.stages[0];
    stage.n_block_x = 2;
    two.stages = &stage;
    lg_run_request request = {.kernel = &two, .batch = &batch, .mode = LG_MODE_BLOCK_SIZES};
    CU_ASSERT_TRUE_FATAL(lg_device_run(f.session, &request, &seen, &f.diags));
    CU_ASSERT_PTR_NULL(seen.mode_failure);
    CU_ASSERT_TRUE(fabs(lg_output_get(&seen.outputs[0], 0)) <= 0.9 * fabs(whole));
    lg_observation_free(&seen);
    lg_batch_free(&batch);
    tear_down(&f);
}

int main(void) {
    static const lg_test tests[] = {
        {"unwritten outputs", test_unwritten}, {"directions and scratch", test_directions},
        {"arguments", test_arguments},         {"expanded weights", test_expanded},
        {"an empty batch", test_empty},        {"block sizes", test_block_sizes}};
    return run_devrun_tests(LG_SUITE, tests, sizeof tests / sizeof *tests);
}
