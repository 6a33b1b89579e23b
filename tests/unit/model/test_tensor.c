// SPDX-License-Identifier: Apache-2.0
#include "model/batch.h"
#include "model/tensor.h"
#include "model/tensor_file.h"
#include "support/alloc.h"
#include "unit/testing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void test_contiguous(void) {
    lg_tensor tensor;
    const int64_t shape[3] = {2, 3, 4};
    CU_ASSERT_TRUE_FATAL(lg_tensor_init(&tensor, LG_FLOAT32, 3, shape));
    CU_ASSERT_TRUE(tensor.stride[0] == 12 && tensor.stride[1] == 4 && tensor.stride[2] == 1);
    CU_ASSERT_TRUE(lg_tensor_numel(&tensor) == 24 && lg_tensor_bytes(&tensor) == 96);
    CU_ASSERT_TRUE(lg_tensor_is_contiguous(&tensor));
    for (int64_t i = 0; i < 24; i++) {
        CU_ASSERT_EQUAL(lg_tensor_offset(&tensor, i), i);
        lg_tensor_set_f64(&tensor, i, (double)i / 2);
    }
    CU_ASSERT_EQUAL(lg_tensor_get_f64(&tensor, 23), 11.5);
    lg_tensor copy;
    CU_ASSERT_TRUE(lg_tensor_copy(&copy, &tensor));
    CU_ASSERT_EQUAL(memcmp(copy.data, tensor.data, 96), 0);
    lg_tensor_free(&tensor);
    CU_ASSERT_FALSE(lg_tensor_exists(&tensor));
    lg_tensor_free(&copy);
}

static void test_strided(void) {
    lg_tensor tensor;
    const int64_t shape[2] = {3, 4};
    const int64_t transposed[2] = {1, 3};
    CU_ASSERT_TRUE_FATAL(lg_tensor_init_strided(&tensor, LG_INT32, 2, shape, transposed));
    CU_ASSERT_EQUAL(tensor.n_stored, 12);
    CU_ASSERT_FALSE(lg_tensor_is_contiguous(&tensor));
    CU_ASSERT_EQUAL(lg_tensor_offset(&tensor, 1), 3);
    CU_ASSERT_EQUAL(lg_tensor_offset(&tensor, 4), 1);
    lg_tensor_free(&tensor);
    const int64_t expanded[2] = {0, 2};
    CU_ASSERT_TRUE_FATAL(lg_tensor_init_strided(&tensor, LG_INT32, 2, shape, expanded));
    CU_ASSERT_EQUAL(tensor.n_stored, 7);
    lg_tensor_set_i64(&tensor, 1, 42);
    CU_ASSERT_EQUAL(lg_tensor_get_i64(&tensor, 9), 42);
    lg_tensor_free(&tensor);
}

static void test_edges(void) {
    lg_tensor tensor;
    CU_ASSERT_TRUE_FATAL(lg_tensor_init(&tensor, LG_INT64, 0, NULL));
    CU_ASSERT_TRUE(lg_tensor_numel(&tensor) == 1 && tensor.n_stored == 1);
    CU_ASSERT_EQUAL(lg_tensor_offset(&tensor, 0), 0);
    lg_tensor_free(&tensor);
    const int64_t empty[2] = {0, 5};
    CU_ASSERT_TRUE_FATAL(lg_tensor_init(&tensor, LG_INT64, 2, empty));
    CU_ASSERT_TRUE(lg_tensor_numel(&tensor) == 0 && tensor.n_stored == 0);
    CU_ASSERT_TRUE(lg_tensor_is_contiguous(&tensor));
    lg_tensor_free(&tensor);
    const int64_t huge[2] = {INT64_C(1) << 40, INT64_C(1) << 40};
    CU_ASSERT_FALSE(lg_tensor_init(&tensor, LG_INT64, 2, huge));
    const int64_t hidden[3] = {0, INT64_C(1) << 40, INT64_C(1) << 40};
    CU_ASSERT_FALSE(lg_tensor_init(&tensor, LG_INT64, 3, hidden));
    const int64_t negative[1] = {-1};
    CU_ASSERT_FALSE(lg_tensor_init(&tensor, LG_INT64, 1, negative));
    const int64_t one[1] = {2};
    const int64_t far[1] = {INT64_MAX};
    CU_ASSERT_FALSE(lg_tensor_init_strided(&tensor, LG_INT64, 1, one, far));
    CU_ASSERT_FALSE(lg_tensor_init_strided(&tensor, LG_INT64, 1, one, negative));
    CU_ASSERT_FALSE(lg_tensor_init(&tensor, LG_INT64, LG_MAX_RANK + 1, hidden));
    CU_ASSERT_FALSE(lg_tensor_exists(&tensor));
}

typedef struct size_row {
    const char *name;
    lg_loss_kind kind;
    int rank;
    int64_t shape[4];
    int64_t samples, width, spatial, rows;
} size_row;

static void test_batch_sizes(void) {
    static const size_row rows[] = {
        {"unbatched", LG_NLL_LOSS, 1, {5}, 1, 5, 1, 1},
        {"batched", LG_NLL_LOSS, 2, {7, 5}, 7, 5, 1, 7},
        {"spatial", LG_CROSS_ENTROPY, 4, {2, 5, 3, 4}, 2, 5, 12, 24},
        {"no samples", LG_CROSS_ENTROPY, 2, {0, 5}, 0, 5, 1, 0},
        {"binary vector", LG_BCE, 1, {9}, 9, 1, 1, 9},
        {"binary matrix", LG_BCE_WITH_LOGITS, 2, {9, 3}, 9, 1, 3, 27},
        {"binary scalar", LG_BCE, 0, {0}, 1, 1, 1, 1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        lg_batch batch = {.loss = {.kind = rows[i].kind}};
        CU_ASSERT_TRUE_FATAL(lg_tensor_init(&batch.input, LG_FLOAT32, rows[i].rank, rows[i].shape));
        LG_CHECK_ROW(rows[i].name, lg_batch_samples(&batch) == rows[i].samples);
        LG_CHECK_ROW(rows[i].name, lg_batch_head_width(&batch) == rows[i].width);
        LG_CHECK_ROW(rows[i].name, lg_batch_spatial(&batch) == rows[i].spatial);
        LG_CHECK_ROW(rows[i].name, lg_batch_rows(&batch) == rows[i].rows);
        CU_ASSERT_PTR_EQUAL(lg_batch_device_target(&batch), &batch.target);
        lg_batch_free(&batch);
    }
}

static void test_files(void) {
    static const lg_dtype dtypes[] = {LG_FLOAT64, LG_FLOAT32, LG_FLOAT16, LG_BFLOAT16, LG_INT64,
                                      LG_INT32,   LG_INT16,   LG_INT8,    LG_UINT8,    LG_BOOL};
    char path[] = "/tmp/lossgate_tensor_XXXXXX";
    int fd = mkstemp(path);
    CU_ASSERT_FATAL(fd >= 0);
    close(fd);
    for (size_t k = 0; k < sizeof dtypes / sizeof *dtypes; k++) {
        const int64_t shape[2] = {2, 3};
        const int64_t stride[2] = {1, 2};
        lg_tensor out;
        lg_tensor in;
        lg_diags diags = {0};
        CU_ASSERT_TRUE_FATAL(lg_tensor_init_strided(&out, dtypes[k], 2, shape, stride));
        for (int64_t i = 0; i < 6; i++) {
            lg_tensor_set_i64(&out, i, i % 2 ? i : 0);
        }
        const char *name = lg_dtype_name(dtypes[k]);
        LG_CHECK_ROW(name, lg_tensor_write(path, &out, &diags));
        LG_CHECK_ROW(name, lg_tensor_read(path, &in, &diags));
        LG_CHECK_ROW(name, in.dtype == (dtypes[k] == LG_BFLOAT16 ? LG_FLOAT32 : dtypes[k]));
        LG_CHECK_ROW(name, in.rank == 2 && in.shape[0] == 2 && in.shape[1] == 3);
        for (int64_t i = 0; i < 6; i++) {
            LG_CHECK_ROW(name, lg_tensor_get_f64(&in, i) == lg_tensor_get_f64(&out, i));
        }
        lg_tensor_free(&in);
        lg_tensor_free(&out);
        lg_diags_free(&diags);
    }
    unlink(path);
}

int main(void) {
    static const lg_test tests[] = {
        {"contiguous", test_contiguous},   {"strided", test_strided}, {"edges", test_edges},
        {"batch sizes", test_batch_sizes}, {"files", test_files},
    };
    return lg_run_tests("tensor", tests, sizeof tests / sizeof *tests);
}
