// SPDX-License-Identifier: Apache-2.0
// Batches with labels by hand, for the tests of attribution.
#ifndef LG_TESTS_PIPELINE_ATTRIBUTE_BATCH_H
#define LG_TESTS_PIPELINE_ATTRIBUTE_BATCH_H

#include "attribute/attribute.h"
#include "unit/testing.h"

static inline lg_batch make_batch(int64_t width, lg_dtype dtype, int64_t n, const int64_t *labels) {
    lg_batch batch = {.loss = {.kind = LG_CROSS_ENTROPY,
                               .reduction = LG_REDUCTION_MEAN,
                               .ignore_index = -100,
                               .direction = LG_FORWARD}};
    int64_t shape[2] = {n, width};
    CU_ASSERT_TRUE_FATAL(lg_tensor_init(&batch.input, LG_FLOAT32, 2, shape));
    CU_ASSERT_TRUE_FATAL(lg_tensor_init(&batch.target, dtype, 1, shape));
    for (int64_t i = 0; i < n * width; i++) {
        lg_tensor_set_f64(&batch.input, i, (double)(i % 7) / 4);
    }
    for (int64_t i = 0; i < n; i++) {
        lg_tensor_set_i64(&batch.target, i, labels[i]);
    }
    return batch;
}

#endif
