// SPDX-License-Identifier: Apache-2.0
// Between loss.c, which owns the result, and one file a kind of target, which fills it. Not for use
// outside the reference.
#ifndef LG_REFERENCE_INTERNAL_H
#define LG_REFERENCE_INTERNAL_H

#include "reference/reference.h"

#include <stdint.h>

// What both directions need beside the batch. Owned by loss.c.
typedef struct lg_loss_context {
    const lg_batch *batch;
    int64_t n_rows;
    int64_t width;  // C; 1 for BCE
    double *weight; // C class weights, widened; NULL when absent or BCE
    double *x;      // C: scratch, one row of the input
    double *q;      // C: scratch, one row of coefficients
} lg_loss_context;

// Appends to out->invalid_rows; false when memory is out.
bool lg_reference_add_invalid(lg_reference *out, int64_t row);

// Each fills loss, row_loss, total_weight, abs_sum, the counts and the invalid rows of `out`, whose
// arrays are allocated. false when memory is out.
bool lg_index_forward(const lg_loss_context *context, lg_reference *out); // nll_loss, cross_entropy
bool lg_prob_forward(const lg_loss_context *context, lg_reference *out);  // class probabilities
bool lg_bce_forward(const lg_loss_context *context, lg_reference *out);   // both binary losses

// The gradient of one row: `width` values.
void lg_index_gradient(const lg_loss_context *context, const lg_reference *forward, int64_t row,
                       double *out);
void lg_prob_gradient(const lg_loss_context *context, const lg_reference *forward, int64_t row,
                      double *out);
void lg_bce_gradient(const lg_loss_context *context, const lg_reference *forward, int64_t row,
                     double *out);

// The upstream gradient of a row, divided by what a mean divides by.
double lg_row_scale(const lg_batch *batch, const lg_reference *forward, int64_t row);

// --- The softmax of one row in double precision, in loops the compiler can vectorise. Pure
// functions.

// max: the largest x[c], NaN left out; -inf when there is none. rest: Σ exp(x[c] - max) - 1, exact
// to about one rounding even when it is tiny; NaN when the softmax of the row is not defined (a NaN
// or +inf, or nothing above -inf).
void lg_softmax_stats(const double *x, int64_t n, double *max, double *rest);

// out[c] = exp(x[c] - max) · factor; out may be x. `max` must be finite.
void lg_softmax_scaled(const double *x, int64_t n, double max, double factor, double *out);

// exp(x - max) for x <= max, with the rounding error of the difference taken into account: error
// below one unit in the last place of the result, also when it is subnormal. -inf gives 0, NaN
// gives NaN.
double lg_exp_below(double x, double max);

#endif
