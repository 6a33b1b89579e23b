// SPDX-License-Identifier: Apache-2.0
// Between the files of the host checks. Not for use outside them.
#ifndef LG_BATCH_HOSTCHECK_PARTS_H
#define LG_BATCH_HOSTCHECK_PARTS_H

#include "batch/hostcheck.h"

typedef struct lg_check {
    const lg_batch *batch;
    lg_arena *arena;
    lg_refusal refusal;
} lg_check;

// Notes the refusal; returns false, so that a check can `return lg_refuse(...)`: true is "go on".
bool lg_refuse(lg_check *check, lg_cause cause, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
// "[4, 3]"; "[]" for a scalar. In the arena.
const char *lg_shape_text(const lg_check *check, int rank, const int64_t *shape);
const char *lg_tensor_shape_text(const lg_check *check, const lg_tensor *tensor);
// The number for a text: printf shows the sign of a NaN, which says nothing and differs by machine.
double lg_unsigned_nan(double value);
bool lg_shapes_equal(const lg_tensor *a, const lg_tensor *b);

// hostcheck_weight.c
bool lg_check_class_weight_shape(lg_check *check);
bool lg_check_binary_weight_shapes(lg_check *check);
bool lg_check_weight_dtypes(lg_check *check);
bool lg_check_weight_values(lg_check *check);

// hostcheck_target.c: class indices only
bool lg_check_index_shape(lg_check *check);
bool lg_check_index_dtype(lg_check *check);
bool lg_check_index_fractions(lg_check *check); // lost on the way to the device

#endif
