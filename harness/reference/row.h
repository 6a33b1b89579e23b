// SPDX-License-Identifier: Apache-2.0
// How the reference finds a row of a strided tensor, and what it takes a label for.
#ifndef LG_REFERENCE_ROW_H
#define LG_REFERENCE_ROW_H

#include "model/batch.h"

#include <stdint.h>

// Widens the `width` classes of a row.
void lg_row_read(const lg_tensor *tensor, int64_t row, int64_t width, double *out);
double lg_row_read_class(const lg_tensor *tensor, int64_t row, int64_t class_index);

typedef enum lg_label_kind { LG_LABEL_LIVE, LG_LABEL_IGNORED, LG_LABEL_INVALID } lg_label_kind;

// Reads the class index of a row of batch->target and judges it against ignore_index and [0,
// width).
// `*label` is the value for LIVE; for the others it is unspecified.
lg_label_kind lg_label_read(const lg_batch *batch, int64_t row, int64_t width, int64_t *label);

// Element `index` (flat, row-major, in the shape of `like`) of a tensor that broadcasts against it.
double lg_broadcast_get(const lg_tensor *tensor, const lg_tensor *like, int64_t index);

// The upstream gradient that reaches a row: batch->grad_output, or 1 when there is none.
double lg_row_upstream(const lg_batch *batch, int64_t row);

#endif
