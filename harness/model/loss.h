// SPDX-License-Identifier: Apache-2.0
// The losses, their options, and the double-precision reference.
//
// Shapes: the input is C, N×C or N×C×d1…; "rows" are the samples × extra dimensions, numbered from 0,
// row-major over (n, d1, …): rows = N·S with S = d1·d2…. Target: one class index a row, or class
// probabilities in the input's shape. BCE: every element of the input is a row of its own.
#ifndef LG_MODEL_LOSS_H
#define LG_MODEL_LOSS_H

#include "model/batch.h"

#include <stdbool.h>
#include <stdint.h>

// What the reference found. All arrays are owned by it; free with lg_reference_free.
typedef struct lg_reference {
    int64_t n_rows;
    bool scalar;          // mean or sum: `loss` has one element; none: one a row
    double *loss;         // n_loss elements; what a correct kernel returns (NaN where that is right)
    int64_t n_loss;
    double *row_loss;     // n_rows: each row's own loss before reduction; NaN for an invalid row,
                          // 0 for an ignored one
    double total_weight;  // sum of the weights of the rows that count (valid ones); 0 for none
    // Sum of |terms| behind `loss` (mean, sum: over rows; none: unused): scale for tolerances.
    double abs_sum;
    int64_t n_ignored;
    int64_t n_invalid;
    int64_t *invalid_rows; // ascending row numbers whose label the loss cannot take
    double *grad_input;    // numel(input), row-major logical order; NULL unless asked for. The rows
                           // of an invalid label are NaN, of an ignored one 0
} lg_reference;

// Formulas: SEMANTICS of PyTorch, written out in loss.c beside each function. Compensated sums.
// Reads input, target, weight through the tensors' dtypes and strides; 64-bit indices throughout.
// Needs shapes that agree (pipeline/hostcheck.h accepts them first); false when memory is out.
bool lg_reference_compute(const lg_batch *batch, bool with_gradient, lg_reference *out);
void lg_reference_free(lg_reference *reference);

// The gradient of rows [begin, end) of the flattened N·S rows into `out`, (end-begin)·C values,
// class-fastest. What lg_reference_compute uses; for comparing without a full-size buffer.
void lg_reference_gradient_rows(const lg_batch *batch, const lg_reference *forward, int64_t begin,
                                int64_t end, double *out);

#endif
