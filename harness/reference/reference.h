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
//     rows are ignored and 0·(g/0) = NaN where supervised rows have weight 0.
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

#include <math.h>
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

// --- The reference's gradient, element by element, without holding all of it: where the reference
// does not keep it whole (lg_reference_keeps_gradient), a few rows at a time are computed as they
// are asked for. Walk it row by row: a step backwards computes a row again.

typedef struct lg_gradient_view {
    const lg_batch *batch;
    const lg_reference *reference;
    int64_t n_rows;
    int64_t width;      // gradient elements of a row: C, 1 for BCE
    int64_t spatial;    // S, 1 for BCE
    int64_t begin, end; // rows in the window
    double *window;     // owned
} lg_gradient_view;

// Batch and reference stay the caller's, and must outlive the view. Close it in the end.
lg_gradient_view lg_gradient_open(const lg_batch *batch, const lg_reference *reference);
void lg_gradient_close(lg_gradient_view *view);

// Where a class of a row lies in the gradient, which is contiguous in the input's shape.
static inline int64_t lg_gradient_index(const lg_gradient_view *view, int64_t row, int64_t c) {
    return (row / view->spatial * view->width + c) * view->spatial + row % view->spatial;
}

void lg_gradient_move(lg_gradient_view *view, int64_t row); // moves the window to the row

// NaN when memory is out, which no comparison takes for a gradient.
static inline double lg_gradient_at(lg_gradient_view *view, int64_t row, int64_t c) {
    if (view->reference->grad_input) {
        return view->reference->grad_input[lg_gradient_index(view, row, c)];
    }
    if (row < view->begin || row >= view->end) {
        lg_gradient_move(view, row);
    }
    return view->window[(row - view->begin) * view->width + c];
}

// --- How the reference finds a row of a strided tensor, and what it takes a label for.

// Widens the `width` classes of a row.
void lg_row_read(const lg_tensor *tensor, int64_t row, int64_t width, double *out);
double lg_row_read_class(const lg_tensor *tensor, int64_t row, int64_t class_index);

typedef enum lg_label_kind {
    LG_LABEL_SUPERVISED,
    LG_LABEL_IGNORED,
    LG_LABEL_INVALID
} lg_label_kind;

// Reads the class index of a row of batch->target and judges it against ignore_index and [0,
// width).
// `*label` is the value for LIVE; for the others it is unspecified.
lg_label_kind lg_label_read(const lg_batch *batch, int64_t row, int64_t width, int64_t *label);

// Element `index` (flat, row-major, in the shape of `like`) of a tensor that broadcasts against it.
double lg_broadcast_get(const lg_tensor *tensor, const lg_tensor *like, int64_t index);

// The upstream gradient that reaches a row: batch->grad_output, or 1 when there is none.
double lg_row_upstream(const lg_batch *batch, int64_t row);

// --- A compensated sum: the running sum and, beside it, the exact rounding error of each addition
// (TwoSum: D. E. Knuth, The Art of Computer Programming 2, section 4.2.2; as a summation: A.
// Neumaier, ZAMM 54, 1974). The result is as if summed in twice the precision and rounded once.

typedef struct lg_sum {
    double sum;
    double error;
} lg_sum;

static inline void lg_sum_add(lg_sum *s, double term) {
    double sum = s->sum + term;
    double of_term = sum - s->sum;
    s->error += (s->sum - (sum - of_term)) + (term - of_term);
    s->sum = sum;
}

// An infinite or NaN sum has no meaningful error term: the plain sum has the class that counts.
static inline double lg_sum_value(const lg_sum *s) {
    return isfinite(s->sum) ? s->sum + s->error : s->sum;
}

#endif
