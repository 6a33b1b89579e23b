// SPDX-License-Identifier: Apache-2.0
// cross_entropy with class probabilities t as the target, of the input's shape.
//
//   q[c] = (1 - e)·t[c] + e/C          e = label_smoothing; t itself when e = 0
//   row  = -Σ_c w[c]·q[c]·lp[c]        lp as in loss_index.c, w = 1 when absent
//   sum, and mean = sum / rows: the number of rows, never the weights
//
// (PyTorch: cross_entropy_loss_prob_target in LossNLL.cpp.) t is used as it is, normalised or not;
// 0·(-inf) is NaN; there is no 0·log 0 = 0, unless the kernel declares it (zero_log_zero). No row
// is ignored; one with a t outside [0, 1] or NaN is invalid.
#include "reference/internal.h"
#include "reference/reference.h"

#include <math.h>

// Leaves w[c]·q[c] of the row in context->q. Whether each t is a probability.
static bool read_coefficients(const lg_loss_context *context, int64_t row) {
    const lg_batch *batch = context->batch;
    const double e = batch->loss.label_smoothing;
    lg_row_read(&batch->target, row, context->width, context->q);
    bool valid = true;
    for (int64_t c = 0; c < context->width; c++) {
        valid = valid && context->q[c] >= 0 && context->q[c] <= 1; // false for NaN
    }
    for (int64_t c = 0; e > 0 && c < context->width; c++) {
        context->q[c] = context->q[c] * (1 - e) + e / (double)context->width;
    }
    for (int64_t c = 0; context->weight && c < context->width; c++) {
        context->q[c] *= context->weight[c];
    }
    return valid;
}

// The sums over a row's classes, and its softmax statistics.
static void forward_row(const lg_loss_context *context, int64_t row, lg_reference *out) {
    double max;
    double rest;
    lg_row_read(&context->batch->input, row, context->width, context->x);
    lg_softmax_stats(context->x, context->width, &max, &rest);
    double log_z = log1p(rest);
    lg_sum sum = {0};
    lg_sum abs = {0};
    lg_sum mass = {0};
    for (int64_t c = 0; c < context->width; c++) {
        bool nothing = context->q[c] == 0 && context->batch->loss.zero_log_zero;
        double term = nothing ? 0 : context->q[c] * ((max - context->x[c]) + log_z);
        lg_sum_add(&sum, term);
        lg_sum_add(&abs, fabs(term));
        lg_sum_add(&mass, fabs(context->q[c]));
    }
    out->row_max[row] = max;
    out->row_rest[row] = rest;
    out->row_loss[row] = lg_sum_value(&sum);
    out->row_abs[row] = lg_sum_value(&abs);
    out->row_mass[row] = lg_sum_value(&mass);
}

bool lg_prob_forward(const lg_loss_context *context, lg_reference *out) {
    const lg_batch *batch = context->batch;
    lg_sum total = {0};
    lg_sum total_abs = {0};
    for (int64_t row = 0; row < context->n_rows; row++) {
        bool valid = read_coefficients(context, row);
        forward_row(context, row, out);
        if (!valid) {
            out->row_loss[row] = NAN;
            if (!lg_reference_add_invalid(out, row)) {
                return false;
            }
        }
        lg_sum_add(&total, out->row_loss[row]);
        lg_sum_add(&total_abs, out->row_abs[row]);
    }
    out->abs_sum = lg_sum_value(&total_abs);
    if (out->scalar) {
        out->total_weight = (double)context->n_rows;
        bool mean = batch->loss.reduction == LG_REDUCTION_MEAN;
        // Without a single element a mean is NaN, also when there are rows (of width 0).
        double empty = context->n_rows * context->width == 0 ? NAN : 1;
        double sum = lg_sum_value(&total);
        out->loss[0] = mean ? empty * sum / out->total_weight : sum;
    }
    return true;
}

// g = p·Σd - d with d[c] = scale·w[c]·q[c] (PyTorch: log_softmax_backward_data).
void lg_prob_gradient(const lg_loss_context *context, const lg_reference *forward, int64_t row,
                      double *out) {
    const lg_batch *batch = context->batch;
    const double scale = lg_row_scale(batch, forward, row);
    const double max = forward->row_max[row];
    const double z = 1 + forward->row_rest[row];
    bool valid = read_coefficients(context, row);
    if (!valid || !isfinite(max) || isnan(z)) {
        for (int64_t c = 0; c < context->width; c++) {
            out[c] = NAN;
        }
        return;
    }
    lg_sum sum = {0};
    for (int64_t c = 0; c < context->width; c++) {
        context->q[c] *= scale;
        lg_sum_add(&sum, context->q[c]);
    }
    lg_row_read(&batch->input, row, context->width, context->x);
    lg_softmax_scaled(context->x, context->width, max, lg_sum_value(&sum) / z, out);
    for (int64_t c = 0; c < context->width; c++) {
        out[c] -= context->q[c];
    }
}
