// SPDX-License-Identifier: Apache-2.0
// The losses, their options, and the double-precision reference.
//
// Shapes: the input is C, N×C or N×C×d1…; "rows" are the samples × extra dimensions, numbered from
// 0, row-major over (n, d1, …): rows = N·S with S = d1·d2…. Target: one class index a row, or class
// probabilities in the input's shape. BCE: every element of the input is a row of its own.
//
// Decisions. The formulas follow PyTorch on the CPU in double precision. Where PyTorch differs
// between its own devices, or is silent, the contract of lossgate is this one:
//   - A class index is a 64-bit integer until it has been tested: 2^32 + k is out of range,
//   whatever
//     the extra dimensions (a CUDA kernel of PyTorch narrows it to 32 bits first).
//   - ignore_index is tested before the bounds and may lie inside or outside [0, C).
//   - mean over nothing (no row, all rows ignored, total weight 0) is 0/0 = NaN for every shape,
//   also
//     for a single ignored sample, where PyTorch's CUDA kernel gives 0. Its gradient is 0 where the
//     rows are ignored and 0·(g/0) = NaN where live rows have weight 0.
//   - An ignored row contributes exactly nothing: loss 0, gradient 0, even when its logits are NaN.
//     (PyTorch's log_softmax lets the NaN through into the gradient of that row.)
//   - A row whose label is neither ignored nor in [0, C) is invalid: its loss and its gradient row
//   are
//     NaN, and so is every mean or sum over it. total_weight leaves it out; C = 0 makes every row
//     that is not ignored invalid. The other rows keep their gradient, divided by that
//     total_weight.
//   - A floating-point class index that is integral counts as that class; any other is invalid.
//   That
//     such targets are refused in a checked call is batch/hostcheck.h's business. `target` is
//     judged, not `device_target`.
//   - Class probabilities: a row with one outside [0, 1] or NaN is invalid (PyTorch does not look).
//     What a row adds up to is not looked at: PyTorch takes it as it is, and so does the contract.
//   - BCE: a row whose input or target is outside [0, 1] or NaN is invalid. With logits: a row
//   whose
//     target is (PyTorch does not look); NaN and infinite logits follow IEEE arithmetic.
//   - NaN and infinite inputs and class weights make no row invalid; they follow the formulas.
//   - uint8 and int32 class indices are taken with every shape (PyTorch: uint8 without extra
//     dimensions, int32 never).
//   - Two zeros compare equal: the sign of a zero loss or gradient is not part of the contract.
//   - tests/golden/README.md lists the recorded cases that are not the contract for these reasons.
#ifndef LG_REFERENCE_REFERENCE_H
#define LG_REFERENCE_REFERENCE_H

#include "model/batch.h"

#include <stdbool.h>
#include <stdint.h>

// What the reference found. All arrays are owned by it; free with lg_reference_free.
typedef struct lg_reference {
    int64_t n_rows;
    bool scalar;  // mean or sum: `loss` has one element; none: one a row
    double *loss; // n_loss elements; what a correct kernel returns (NaN where that is right).
                  // For none it is `row_loss` itself
    int64_t n_loss;
    double *row_loss; // n_rows: each row's own loss before reduction; NaN for an invalid row,
                      // 0 for an ignored one
    // Class indices: the sum of the weights of the rows that count (valid ones), 0 for none unless
    // the input is a single sample without a batch dimension. Class probabilities and BCE: what a
    // mean divides by, the number of rows; 0 for none.
    double total_weight;
    // Sum of |terms| behind `loss` (mean, sum: over rows; none: unused): scale for tolerances.
    double abs_sum;
    int64_t n_ignored;
    int64_t n_invalid;
    int64_t *invalid_rows; // ascending row numbers whose label the loss cannot take
    double *grad_input;    // numel(input), row-major logical order; NULL unless asked for. The rows
                           // of an invalid label are NaN, of an ignored one 0
    // cross_entropy only, else NULL; n_rows each. The largest logit m, and the rest of the softmax
    // denominator Z = Σ exp(x - m) = 1 + rest, which keeps its digits when the row is saturated
    // (NaN when the row has a NaN, a +inf, or only -inf).
    double *row_max;
    double *row_rest;
    // cross_entropy with class probabilities or label smoothing only, else NULL; n_rows each: the
    // sum of |terms| of the row's loss, and of |coefficients| of its log-probabilities.
    double *row_abs;
    double *row_mass;
} lg_reference;

// Formulas: SEMANTICS of PyTorch, written out beside each function in loss_index.c, loss_prob.c and
// loss_bce.c. Compensated sums. Reads input, target, weight through the tensors' dtypes and
// strides; 64-bit indices throughout. A BCE weight or pos_weight broadcasts against the input's
// shape. Needs shapes that agree (batch/hostcheck.h accepts them first); false when memory is
// out.
bool lg_reference_compute(const lg_batch *batch, bool with_gradient, lg_reference *out);
// Whether a comparison should have the gradient whole: the batch asks for one, and it is small.
// gradient_view.h reads it in both cases.
bool lg_reference_keeps_gradient(const lg_batch *batch);
void lg_reference_free(lg_reference *reference);

// The gradient of rows [begin, end) of the flattened N·S rows into `out`, (end-begin)·C values,
// class-fastest. What lg_reference_compute uses; for comparing without a full-size buffer. When
// memory is out, `out` is filled with NaN, which no comparison takes for a gradient.
void lg_reference_gradient_rows(const lg_batch *batch, const lg_reference *forward, int64_t begin,
                                int64_t end, double *out);

#endif
