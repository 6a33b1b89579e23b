// SPDX-License-Identifier: Apache-2.0
// The gradient read through a view is the whole gradient, element by element, in every order.
#include "reference/reference.h"
#include "unit/testing.h"

#include <math.h>
#include <string.h>

static const struct row {
    const char *name;
    lg_loss_kind kind;
    bool probabilities;
    int rank;
    int64_t shape[3];
} rows[] = {
    {"rows", LG_CROSS_ENTROPY, false, 2, {300, 7, 0}},
    {"rows that fill several windows", LG_CROSS_ENTROPY, false, 2, {40, 5000, 0}},
    {"a row larger than a window", LG_CROSS_ENTROPY, false, 2, {3, 70000, 0}},
    {"extra dimensions", LG_NLL_LOSS, false, 3, {5, 9, 31}},
    {"class probabilities", LG_CROSS_ENTROPY, true, 3, {4, 6, 11}},
    {"binary, several windows", LG_BCE_WITH_LOGITS, true, 2, {700, 200, 0}},
    {"one sample", LG_NLL_LOSS, false, 1, {12, 0, 0}},
    {"no sample", LG_CROSS_ENTROPY, false, 2, {0, 5, 0}},
};

static bool make_batch(const struct row *row, lg_batch *batch) {
    *batch = (lg_batch){.loss = {.kind = row->kind,
                                 .reduction = LG_REDUCTION_MEAN,
                                 .ignore_index = 2,
                                 .direction = LG_BOTH},
                        .target_is_probability = row->probabilities};
    int64_t labels[2] = {row->rank > 1 ? row->shape[0] : 1, row->shape[2]};
    int label_rank = row->rank > 2 ? 2 : row->rank > 1 ? 1 : 0;
    bool same = row->probabilities;
    if (!lg_tensor_init(&batch->input, LG_FLOAT32, row->rank, row->shape) ||
        !lg_tensor_init(&batch->target, same ? LG_FLOAT32 : LG_INT64, same ? row->rank : label_rank,
                        same ? row->shape : labels)) {
        return false;
    }
    uint32_t state = 5;
    for (int64_t i = 0; i < lg_tensor_numel(&batch->input); i++) {
        state = state * 1664525u + 1013904223u;
        lg_dtype_set_f64(LG_FLOAT32, batch->input.data, i, (state >> 8) * 0x1p-22 - 2);
    }
    for (int64_t i = 0; i < lg_tensor_numel(&batch->target); i++) {
        state = state * 1664525u + 1013904223u;
        lg_dtype_set_f64(batch->target.dtype, batch->target.data, i,
                         same ? (state >> 8) * 0x1p-24 : (state >> 8) % 5);
    }
    return true;
}

static bool is_same(double a, double b) {
    return a == b || (isnan(a) && isnan(b));
}

static void check_row(const struct row *row) {
    lg_batch batch;
    lg_reference whole = {0}, parts = {0};
    CU_ASSERT_TRUE_FATAL(make_batch(row, &batch));
    CU_ASSERT_TRUE_FATAL(lg_reference_compute(&batch, true, &whole));
    CU_ASSERT_TRUE_FATAL(lg_reference_compute(&batch, false, &parts));
    lg_gradient_view kept = lg_gradient_open(&batch, &whole);
    lg_gradient_view view = lg_gradient_open(&batch, &parts);
    int64_t n = 0;
    bool forwards = true, backwards = true;
    for (int64_t r = 0; r < view.n_rows; r++) {
        for (int64_t c = 0; c < view.width; c++, n++) {
            double want = whole.grad_input[lg_gradient_index(&view, r, c)];
            forwards = forwards && is_same(want, lg_gradient_at(&view, r, c)) &&
                       is_same(want, lg_gradient_at(&kept, r, c));
        }
    }
    for (int64_t r = view.n_rows - 1; r >= 0 && r >= view.n_rows - 50; r--) {
        double want = whole.grad_input[lg_gradient_index(&view, r, view.width - 1)];
        backwards = backwards && is_same(want, lg_gradient_at(&view, r, view.width - 1));
    }
    LG_CHECK_ROW(row->name, forwards);
    LG_CHECK_ROW(row->name, backwards);
    LG_CHECK_ROW(row->name, n == lg_tensor_numel(&batch.input)); // each element once
    LG_CHECK_ROW(row->name, view.end - view.begin <= view.n_rows);
    lg_gradient_close(&kept);
    lg_gradient_close(&view);
    lg_reference_free(&whole);
    lg_reference_free(&parts);
    lg_batch_free(&batch);
}

static void test_rows(void) {
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        check_row(&rows[i]);
    }
}

static void test_kept(void) {
    lg_batch batch = {0};
    const int64_t shape[2] = {512, 256};
    CU_ASSERT_TRUE_FATAL(lg_tensor_init(&batch.input, LG_FLOAT32, 2, shape));
    batch.loss.direction = LG_FORWARD;
    CU_ASSERT_FALSE(lg_reference_keeps_gradient(&batch));
    batch.loss.direction = LG_BOTH;
    CU_ASSERT_TRUE(lg_reference_keeps_gradient(&batch));
    lg_batch_free(&batch);
    const int64_t larger[2] = {512, 257};
    CU_ASSERT_TRUE_FATAL(lg_tensor_init(&batch.input, LG_FLOAT32, 2, larger));
    batch.loss.direction = LG_BOTH;
    CU_ASSERT_FALSE(lg_reference_keeps_gradient(&batch));
    lg_batch_free(&batch);
}

static const lg_test tests[] = {{"rows", test_rows}, {"kept", test_kept}};

int main(void) {
    return lg_run_tests("model.gradient_view", tests, sizeof tests / sizeof tests[0]);
}
