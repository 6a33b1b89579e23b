// SPDX-License-Identifier: Apache-2.0
// Runs of right and wrong kernels: numbers, errors and where they surface, fault records, findings.
#include "unit/device/fixture.h"

// --- clean runs

static void test_clean(void) {
    static const struct {
        const char *kernel;
        lg_dtype dtype;
        lg_reduction reduction;
        int64_t samples;
        int64_t width;
    } rows[] = {
        {"nll_loss/no_reduce/assert", LG_FLOAT32, LG_REDUCTION_NONE, 1, 1},
        {"nll_loss/no_reduce/report", LG_FLOAT64, LG_REDUCTION_NONE, 300, 7},
        {"nll_loss/no_reduce/nan", LG_FLOAT16, LG_REDUCTION_NONE, 33, 3},
        {"nll_loss/no_reduce/none", LG_BFLOAT16, LG_REDUCTION_NONE, 32, 2},
        {"nll_loss/reduce/assert", LG_FLOAT32, LG_REDUCTION_MEAN, 64, 5},
        {"nll_loss/reduce/report", LG_FLOAT64, LG_REDUCTION_SUM, 1000, 11},
        {"nll_loss/reduce/nan", LG_FLOAT32, LG_REDUCTION_SUM, 31, 4},
        {"nll_loss/spatial/assert", LG_FLOAT32, LG_REDUCTION_SUM, 100, 4},
    };
    static const lg_mode modes[] = {LG_MODE_BLOCKING, LG_MODE_ASYNC, LG_MODE_BLOCK_SIZES};
    fixture f;
    set_up(&f);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        lg_batch batch =
            make_batch(rows[i].samples, rows[i].width, rows[i].dtype, rows[i].reduction, LG_BOTH);
        double sum = 0;
        for (int64_t k = 0; k < rows[i].samples; k++) {
            sum += expected_loss(k, rows[i].width);
        }
        bool mean = rows[i].reduction == LG_REDUCTION_MEAN;
        for (int m = 0; m < 3; m++) {
            lg_observation seen;
            CU_ASSERT_TRUE_FATAL(run(&f, rows[i].kernel, &batch, modes[m], &seen));
            LG_CHECK_ROW(rows[i].kernel, seen.status == LG_STATUS_OK && !seen.surfaced_at);
            LG_CHECK_ROW(rows[i].kernel, !seen.memory.present && !seen.mode_failure && !seen.race);
            LG_CHECK_ROW(rows[i].kernel, seen.n_asserts == 0 && seen.n_records == 0);
            const lg_output *output = lg_observation_output(&seen, LG_ARG_OUTPUT);
            CU_ASSERT_PTR_NOT_NULL_FATAL(output);
            LG_CHECK_ROW(rows[i].kernel, output->n_unwritten == 0 && !output->fence_broken);
            if (rows[i].reduction == LG_REDUCTION_NONE) {
                CU_ASSERT_EQUAL_FATAL(output->n, rows[i].samples);
                for (int64_t k = 0; k < output->n; k++) {
                    LG_CHECK_ROW(rows[i].kernel,
                                 lg_output_get(output, k) == expected_loss(k, rows[i].width));
                }
            } else {
                CU_ASSERT_EQUAL_FATAL(output->n, 1);
                double want = mean ? sum / (double)rows[i].samples : sum;
                LG_CHECK_ROW(rows[i].kernel, fabs(lg_output_get(output, 0) - want) <= 1e-5 * want);
                const lg_output *total = lg_observation_output(&seen, LG_ARG_TOTAL_WEIGHT);
                CU_ASSERT_PTR_NOT_NULL_FATAL(total);
                LG_CHECK_ROW(rows[i].kernel, lg_output_get(total, 0) == (double)rows[i].samples);
            }
            // One number a row, where its label is.
            const lg_output *gradient = lg_observation_output(&seen, LG_ARG_GRAD_INPUT);
            CU_ASSERT_PTR_NOT_NULL_FATAL(gradient);
            double cell = mean ? -1.0 / (double)rows[i].samples : -1;
            for (int64_t k = 0; k < gradient->n; k++) {
                int64_t row = k / rows[i].width;
                double want = k % rows[i].width == row % rows[i].width ? cell : 0;
                LG_CHECK_ROW(rows[i].kernel, fabs(lg_output_get(gradient, k) - want) <= 1e-7);
            }
            LG_CHECK_ROW(rows[i].kernel, gradient->n_unwritten == 0);
            lg_observation_free(&seen);
        }
        lg_batch_free(&batch);
    }
    tear_down(&f);
}

// --- errors: who failed, where it surfaced, and that the next run works

static void test_bad_label(void) {
    static const struct {
        const char *name;
        const char *kernel;
        lg_mode mode;
        const char *surfaced_at;
        int calls_later;
        int n_launches;
    } rows[] = {
        {"blocking", "nll_loss/no_reduce/assert", LG_MODE_BLOCKING, "cuLaunchKernel", 0, 1},
        // Behind it are two launches and a copy; then the other stream is waited for.
        {"async", "nll_loss/no_reduce/assert", LG_MODE_ASYNC, "cuStreamSynchronize", 4, 3},
        {"block sizes", "nll_loss/no_reduce/assert", LG_MODE_BLOCK_SIZES, "cuLaunchKernel", 0, 1},
    };
    fixture f;
    set_up(&f);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        lg_batch batch = rows_batch();
        lg_tensor_set_i64(&batch.target, 20, 5);
        lg_observation seen;
        CU_ASSERT_TRUE_FATAL(run(&f, rows[i].kernel, &batch, rows[i].mode, &seen));
        LG_CHECK_ROW(rows[i].name, seen.status == LG_STATUS_ASSERT);
        CU_ASSERT_STRING_EQUAL(seen.status_text, "CUDA_ERROR_ASSERT (710)");
        CU_ASSERT_STRING_EQUAL(seen.surfaced_at, rows[i].surfaced_at);
        LG_CHECK_ROW(rows[i].name, seen.calls_later == rows[i].calls_later);
        LG_CHECK_ROW(rows[i].name, seen.n_launches == rows[i].n_launches);
        LG_CHECK_ROW(rows[i].name, seen.failed_launch_index == 0);
        CU_ASSERT_STRING_EQUAL(seen.failed_launch,
                               "nll_loss_forward_no_reduce_assert_float32_int64");
        LG_CHECK_ROW(rows[i].name, !seen.memory.present && !seen.mode_failure);
        CU_ASSERT_EQUAL_FATAL(seen.n_asserts, 1);
        CU_ASSERT_EQUAL_FATAL(seen.n_asserts_kept, 1);
        CU_ASSERT_STRING_EQUAL(seen.asserts[0].file, "kernels/nll_loss.cu");
        CU_ASSERT_TRUE(seen.asserts[0].line > 0);
        CU_ASSERT_EQUAL(seen.asserts[0].thread[0], 20);
        CU_ASSERT_PTR_NOT_NULL(strstr(seen.log, "Assertion `"));
        CU_ASSERT_EQUAL_FATAL(seen.n_outputs, 1);
        CU_ASSERT_FALSE(lg_output_exists(&seen.outputs[0])); // the context died
        lg_observation_free(&seen);

        lg_tensor_set_i64(&batch.target, 20, 0);
        CU_ASSERT_TRUE_FATAL(run(&f, rows[i].kernel, &batch, rows[i].mode, &seen));
        LG_CHECK_ROW(rows[i].name, seen.status == LG_STATUS_OK && seen.n_asserts == 0);
        CU_ASSERT_STRING_EQUAL(seen.log, "");
        lg_observation_free(&seen);
        lg_batch_free(&batch);
    }
    tear_down(&f);
}

// The error belongs to a batch that is gone: nothing of it may be read as this one's.
static void test_poisoned_context(void) {
    fixture f;
    set_up(&f);
    for (int bad = 0; bad < 2; bad++) { // nothing of it runs, so its own labels do not matter
        lg_batch batch = rows_batch();
        lg_tensor_set_i64(&batch.target, 20, bad ? 5 : 0);
        lg_observation seen;
        CU_ASSERT_TRUE_FATAL(run(&f, "nll_loss/no_reduce/assert", &batch, LG_MODE_POISONED, &seen));
        CU_ASSERT_STRING_EQUAL(seen.earlier_launch,
                               "nll_loss_forward_no_reduce_assert_float32_int64");
        CU_ASSERT_EQUAL(seen.status, LG_STATUS_ASSERT);
        CU_ASSERT_PTR_NULL(seen.failed_launch);
        CU_ASSERT_EQUAL(seen.failed_launch_index, -1);
        CU_ASSERT_EQUAL(seen.n_launches, 0);
        CU_ASSERT_EQUAL(seen.n_asserts, 0);
        CU_ASSERT_STRING_EQUAL(seen.log, "");
        CU_ASSERT_FALSE(lg_output_exists(&seen.outputs[0]));
        lg_observation_free(&seen);

        // The next one has a context of its own.
        lg_tensor_set_i64(&batch.target, 20, 0);
        CU_ASSERT_TRUE_FATAL(run(&f, "nll_loss/no_reduce/assert", &batch, LG_MODE_ASYNC, &seen));
        CU_ASSERT_PTR_NULL(seen.earlier_launch);
        CU_ASSERT_EQUAL(seen.status, LG_STATUS_OK);
        lg_observation_free(&seen);
        lg_batch_free(&batch);
    }
    // Without a sticky error there is nothing to poison a context with.
    lg_arena arena = {0};
    lg_batch batch = rows_batch();
    const lg_kernel *kernel = find(&f, "nll_loss/no_reduce/report");
    CU_ASSERT_PTR_NOT_NULL(lg_device_unsuitable(kernel, &batch, LG_MODE_POISONED, &arena));
    CU_ASSERT_PTR_NULL(lg_device_unsuitable(kernel, &batch, LG_MODE_ASYNC, &arena));
    lg_batch_free(&batch);
    lg_arena_free(&arena);
    tear_down(&f);
}

static void test_records(void) {
    fixture f;
    set_up(&f);
    lg_batch batch = make_batch(300, 5, LG_FLOAT32, LG_REDUCTION_NONE, LG_BOTH);
    lg_tensor_set_i64(&batch.target, 7, -1);
    lg_tensor_set_i64(&batch.target, 290, 5);
    lg_observation seen;
    CU_ASSERT_TRUE_FATAL(run(&f, "nll_loss/no_reduce/report", &batch, LG_MODE_ASYNC, &seen));
    CU_ASSERT_EQUAL(seen.status, LG_STATUS_OK);
    CU_ASSERT_EQUAL_FATAL(seen.n_records, 4); // two rows, forward and backward
    CU_ASSERT_EQUAL(seen.n_records_dropped, 0);
    for (int i = 0; i < 4; i++) {
        const lg_fault_record *record = &seen.records[i];
        CU_ASSERT_EQUAL(record->kernel, (uint32_t)i / 2);
        CU_ASSERT_EQUAL(record->row, i % 2 ? 290 : 7);
        CU_ASSERT_EQUAL(record->value, i % 2 ? 5 : -1);
        CU_ASSERT_EQUAL(record->lower, 0);
        CU_ASSERT_EQUAL(record->upper, 5);
        CU_ASSERT_EQUAL(record->code, LG_RECORD_LABEL);
    }
    const lg_output *output = lg_observation_output(&seen, LG_ARG_OUTPUT);
    CU_ASSERT_TRUE(isnan(lg_output_get(output, 7)) && isnan(lg_output_get(output, 290)));
    CU_ASSERT_EQUAL(lg_output_get(output, 8), expected_loss(8, 5));
    CU_ASSERT_EQUAL(output->n_unwritten, 0); // a NaN of the kernel's is not the poison
    lg_observation_free(&seen);
    lg_batch_free(&batch);

    // More faults than the ring holds.
    int64_t n = LG_RING_CAPACITY + 100;
    batch = make_batch(n, 3, LG_FLOAT32, LG_REDUCTION_NONE, LG_FORWARD);
    for (int64_t i = 0; i < n; i++) {
        lg_tensor_set_i64(&batch.target, i, 3);
    }
    CU_ASSERT_TRUE_FATAL(run(&f, "nll_loss/no_reduce/report", &batch, LG_MODE_BLOCKING, &seen));
    CU_ASSERT_EQUAL(seen.n_records, LG_RING_CAPACITY);
    CU_ASSERT_EQUAL(seen.n_records_dropped, 100);
    lg_observation_free(&seen);
    lg_batch_free(&batch);
    tear_down(&f);
}

typedef struct wrong_row {
    const char *kernel;
    lg_device_status status;
    const char *kind; // of the memory finding, or NULL
    const char *buffer;
    int64_t distance;
} wrong_row;

static const wrong_row wrong_rows[] = {
    {"test/past_output", LG_STATUS_ILLEGAL_ADDRESS, "write out of bounds", "output", 1},
    {"test/before_output", LG_STATUS_ILLEGAL_ADDRESS, "write out of bounds", "output", -8},
    {"test/past_input", LG_STATUS_ILLEGAL_ADDRESS, "read out of bounds", "input", 1},
    {"test/write_target", LG_STATUS_ILLEGAL_ADDRESS, "write out of bounds", "target", 9},
    {"test/misaligned", LG_STATUS_MISALIGNED, "misaligned write", "output", 0},
    {"test/trapped", LG_STATUS_TRAP, NULL, NULL, 0},
    {"test/endless", LG_STATUS_TIMEOUT, NULL, NULL, 0},
};

static void test_wrong_kernels(void) {
    fixture f;
    set_up(&f);
    lg_batch batch = rows_batch();
    for (size_t i = 0; i < sizeof wrong_rows / sizeof *wrong_rows; i++) {
        const wrong_row *row = &wrong_rows[i];
        for (int m = 0; m < 2; m++) {
            lg_observation seen;
            bool blocking = m == 0;
            CU_ASSERT_TRUE_FATAL(
                run(&f, row->kernel, &batch, blocking ? LG_MODE_BLOCKING : LG_MODE_ASYNC, &seen));
            LG_CHECK_ROW(row->kernel, seen.status == row->status);
            LG_CHECK_ROW(row->kernel,
                         seen.failed_launch && strcmp(seen.failed_launch, row->kernel + 5) == 0);
            LG_CHECK_ROW(row->kernel, seen.calls_later == (blocking ? 0 : 4));
            LG_CHECK_ROW(row->kernel, seen.memory.present == (row->kind != NULL));
            if (row->kind && seen.memory.present) {
                LG_CHECK_ROW(row->kernel,
                             strcmp(lg_device_fault_name(seen.memory.kind, seen.memory.write),
                                    row->kind) == 0);
                LG_CHECK_ROW(row->kernel,
                             seen.memory.buffer && strcmp(seen.memory.buffer, row->buffer) == 0);
                LG_CHECK_ROW(row->kernel, seen.memory.distance == row->distance);
                LG_CHECK_ROW(row->kernel, seen.memory.line > 0);
            }
            lg_observation_free(&seen);
        }
    }
    // None of them spoiled anything for the next.
    lg_observation seen;
    CU_ASSERT_TRUE_FATAL(run(&f, "test/right", &batch, LG_MODE_ASYNC, &seen));
    CU_ASSERT_EQUAL(seen.status, LG_STATUS_OK);
    for (int64_t i = 0; i < 37; i++) {
        CU_ASSERT_EQUAL(lg_output_get(&seen.outputs[0], i), expected_loss(i, 5));
    }
    lg_observation_free(&seen);
    lg_batch_free(&batch);
    tear_down(&f);
}

// On a device that does not check accesses, writes are found by the fences, reads are not.
static void test_fences(void) {
    lg_driver unchecked = *lg_driver_sim();
    unchecked.checks_accesses = false;
    static const struct {
        const char *kernel;
        const char *buffer; // NULL: nothing to find
        int64_t distance;
        bool output_fence;
    } rows[] = {
        {"test/right", NULL, 0, false},
        {"test/past_output", "output", 3, true}, // 1.0f is 3F800000: its third byte differs first
        {"test/before_output", "output", -8, true},
        {"test/past_input", NULL, 0, false},
        {"test/write_target", "target", 9, false},
    };
    fixture f;
    set_up_with(&f, &unchecked);
    lg_batch batch = rows_batch();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        lg_observation seen;
        CU_ASSERT_TRUE_FATAL(run(&f, rows[i].kernel, &batch, LG_MODE_BLOCKING, &seen));
        LG_CHECK_ROW(rows[i].kernel, seen.status == LG_STATUS_OK);
        LG_CHECK_ROW(rows[i].kernel, seen.memory.present == (rows[i].buffer != NULL));
        LG_CHECK_ROW(rows[i].kernel, seen.outputs[0].fence_broken == rows[i].output_fence);
        if (rows[i].buffer && seen.memory.present) {
            LG_CHECK_ROW(rows[i].kernel, strcmp(seen.memory.buffer, rows[i].buffer) == 0);
            LG_CHECK_ROW(rows[i].kernel, seen.memory.distance <= rows[i].distance + 3 &&
                                             seen.memory.distance >= rows[i].distance - 3);
        }
        lg_observation_free(&seen);
    }
    lg_batch_free(&batch);
    tear_down(&f);
}

// A race that leaves the numbers right, at the block sizes and in the modes that show it.
static void test_races(void) {
    static const struct {
        const char *kernel;
        lg_mode mode;
        bool faulty;
        bool race;
        const char *failure; // of the mode
    } rows[] = {
        {"test/unordered", LG_MODE_BLOCKING, false, false, NULL},
        {"test/unordered", LG_MODE_ASYNC, false, false, NULL},
        {"test/unordered", LG_MODE_BLOCK_SIZES, false, true, "with block size 64 there is a race"},
        {"test/unordered", LG_MODE_BLOCK_SIZES, true, false, NULL}, // not looked for there
        {"test/unordered_by_default", LG_MODE_BLOCKING, false, true, NULL},
        {"test/unordered_by_default", LG_MODE_BLOCKING, true, true, NULL},
        {"test/unordered_by_default", LG_MODE_ASYNC, false, true, NULL},
        {"test/unordered_by_default", LG_MODE_BLOCK_SIZES, false, true, NULL},
    };
    fixture f;
    set_up(&f);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        lg_batch batch = make_batch(100, 5, LG_FLOAT32, LG_REDUCTION_NONE, LG_FORWARD);
        batch.n_injections = rows[i].faulty;
        lg_observation seen;
        CU_ASSERT_TRUE_FATAL(run(&f, rows[i].kernel, &batch, rows[i].mode, &seen));
        LG_CHECK_ROW(rows[i].kernel, seen.status == LG_STATUS_OK);
        LG_CHECK_ROW(rows[i].kernel, (seen.race != NULL) == rows[i].race);
        LG_CHECK_ROW(rows[i].kernel, !seen.race || strstr(seen.race, "test.cu:"));
        bool failed = seen.mode_failure != NULL;
        const char *failure = rows[i].failure;
        LG_CHECK_ROW(rows[i].kernel, failed == (failure != NULL));
        LG_CHECK_ROW(rows[i].kernel, !failed || (failure && strstr(seen.mode_failure, failure)));
        lg_observation_free(&seen);
        batch.n_injections = 0;
        lg_batch_free(&batch);
    }
    tear_down(&f);
}

// A barrier used wrongly is a finding of its own, at its line, and no race.
static void test_barriers(void) {
    static const struct {
        const char *kernel, *text, *source; // of the line that is named
        lg_device_status status;
    } rows[] = {
        {"test/no_barrier", "barrier 37 does not exist", "bar.sync %0",
         LG_STATUS_ILLEGAL_INSTRUCTION},
        {"test/half_a_warp", "barrier 0 is reached by 16 of the 32", "__syncthreads",
         LG_STATUS_TIMEOUT},
        {"test/absent_lanes", "but lane 5 is not there", "__shfl_xor_sync", LG_STATUS_OK},
    };
    fixture f;
    set_up(&f);
    lg_batch batch = rows_batch();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        lg_observation seen;
        CU_ASSERT_TRUE_FATAL(run(&f, rows[i].kernel, &batch, LG_MODE_BLOCKING, &seen));
        const lg_barrier_finding *barrier = &seen.barrier;
        LG_CHECK_ROW(rows[i].kernel, seen.status == rows[i].status);
        LG_CHECK_ROW(rows[i].kernel, !seen.race && !seen.memory.present);
        LG_CHECK_ROW(rows[i].kernel, barrier->text && strstr(barrier->text, rows[i].text));
        const char *line = devrun_source;
        for (int k = 1; k < barrier->line && line; k++) {
            line = strchr(line, '\n');
            line += line != NULL;
        }
        const char *at = line ? strstr(line, rows[i].source) : NULL;
        LG_CHECK_ROW(rows[i].kernel, at && at < strchr(line, '\n'));
        LG_CHECK_ROW(rows[i].kernel, barrier->file && strstr(barrier->file, "test.cu"));
        lg_observation_free(&seen);
    }
    lg_batch_free(&batch);
    tear_down(&f);
}

int main(void) {
    static const lg_test tests[] = {{"clean runs", test_clean},
                                    {"a bad label", test_bad_label},
                                    {"a poisoned context", test_poisoned_context},
                                    {"fault records", test_records},
                                    {"wrong kernels", test_wrong_kernels},
                                    {"races", test_races},
                                    {"barriers", test_barriers},
                                    {"fences", test_fences}};
    return run_devrun_tests(LG_SUITE, tests, sizeof tests / sizeof *tests);
}
