// SPDX-License-Identifier: Apache-2.0
// Class-index targets: nll_loss, and cross_entropy with its label smoothing.
//
// With x the input of a row, y its label, w the class weights (1 when absent), C the width:
//
//   nll_loss       l = -w[y]·x[y]
//   cross_entropy  l = -w[y]·lp[y]        with lp[c] = x[c] - m - log Z, m = max x, Z = Σ exp(x -
//   m)
//                  s = -Σ_c w[c]·lp[c]    the smoothing part; e = label_smoothing
//   row            (1 - e)·l + (e/C)·s
//   sum            (1 - e)·Σl + (e/C)·Σs
//   mean           (1 - e)·Σl/D + (e/C)·Σs/D    with D = Σ w[y] over the rows that count
//
// (PyTorch: aten/src/ATen/native/LossNLL.cpp, cross_entropy_loss_label_smoothing; the smoothing
// part spreads e/C over all classes, the true one included, and D is the weight of the labels.)
// Everything is written in terms of m - x[c] >= 0 and log Z >= 0, so nothing cancels.
#include "reference/internal.h"
#include "reference/reference.h"

#include <math.h>

typedef struct row_parts {
    double label;     // l
    double smoothing; // s; 0 unless asked for
    double abs;       // Σ |terms| of s
} row_parts;

static double weight_of(const lg_loss_context *context, int64_t c) {
    return context->weight ? context->weight[c] : 1;
}

// s = Σ_c w[c]·((m - x[c]) + log Z).
static void smoothing_part(const lg_loss_context *context, double max, double log_z,
                           row_parts *parts) {
    lg_sum sum = {0};
    lg_sum abs = {0};
    for (int64_t c = 0; c < context->width; c++) {
        double term = weight_of(context, c) * ((max - context->x[c]) + log_z);
        lg_sum_add(&sum, term);
        lg_sum_add(&abs, fabs(term));
    }
    parts->smoothing = lg_sum_value(&sum);
    parts->abs = lg_sum_value(&abs);
}

static row_parts row_forward(const lg_loss_context *context, int64_t row, int64_t label,
                             lg_reference *out) {
    const lg_batch *batch = context->batch;
    double w = weight_of(context, label);
    if (batch->loss.kind == LG_NLL_LOSS) {
        return (row_parts){.label = -w * lg_row_read_class(&batch->input, row, label)};
    }
    lg_row_read(&batch->input, row, context->width, context->x);
    double max;
    double rest;
    lg_softmax_stats(context->x, context->width, &max, &rest);
    out->row_max[row] = max;
    out->row_rest[row] = rest;
    double log_z = log1p(rest);
    row_parts parts = {.label = w * ((max - context->x[label]) + log_z)};
    if (batch->loss.label_smoothing > 0) {
        smoothing_part(context, max, log_z, &parts);
    }
    return parts;
}

static double abs_weight_sum(const lg_loss_context *context) {
    lg_sum sum = {0};
    for (int64_t c = 0; c < context->width; c++) {
        lg_sum_add(&sum, fabs(weight_of(context, c)));
    }
    return lg_sum_value(&sum);
}

static bool smooths(const lg_batch *batch) {
    return batch->loss.kind == LG_CROSS_ENTROPY && batch->loss.label_smoothing > 0;
}

static void clear_row(const lg_reference *out, int64_t row, double value) {
    out->row_loss[row] = value;
    if (out->row_max) {
        out->row_max[row] = NAN;
        out->row_rest[row] = NAN;
    }
    if (out->row_abs) {
        out->row_abs[row] = 0;
        out->row_mass[row] = 0;
    }
}

static double combine(double e, double width, double label, double smoothing, bool smooth) {
    return smooth ? (1 - e) * label + e / width * smoothing : label;
}

bool lg_index_forward(const lg_loss_context *context, lg_reference *out) {
    const lg_batch *batch = context->batch;
    const bool smooth = smooths(batch);
    const double e = smooth ? batch->loss.label_smoothing : 0;
    const double width = (double)context->width;
    const double abs_weights = smooth ? abs_weight_sum(context) : 0;
    lg_sum labels = {0};
    lg_sum smoothings = {0};
    lg_sum weights = {0};
    lg_sum abs = {0};
    for (int64_t row = 0; row < context->n_rows; row++) {
        int64_t label = 0;
        lg_label_kind kind = lg_label_read(batch, row, context->width, &label);
        if (kind != LG_LABEL_SUPERVISED) {
            bool ignored = kind == LG_LABEL_IGNORED;
            clear_row(out, row, ignored ? 0 : NAN);
            out->n_ignored += ignored;
            if (!ignored && !lg_reference_add_invalid(out, row)) {
                return false;
            }
            continue;
        }
        row_parts parts = row_forward(context, row, label, out);
        double w = weight_of(context, label);
        double row_abs = combine(e, width, fabs(parts.label), parts.abs, smooth);
        out->row_loss[row] = combine(e, width, parts.label, parts.smoothing, smooth);
        if (out->row_abs) {
            out->row_abs[row] = row_abs;
            out->row_mass[row] = (1 - e) * fabs(w) + e / width * abs_weights;
        }
        lg_sum_add(&labels, parts.label);
        lg_sum_add(&smoothings, parts.smoothing);
        lg_sum_add(&weights, w);
        lg_sum_add(&abs, row_abs);
    }
    out->abs_sum = lg_sum_value(&abs);
    // A single sample without a batch dimension takes the reducing path whatever the reduction is.
    if (out->scalar || batch->input.rank == 1) {
        out->total_weight = lg_sum_value(&weights);
    }
    if (out->scalar) {
        bool mean = batch->loss.reduction == LG_REDUCTION_MEAN;
        double divisor = mean ? out->total_weight : 1;
        double loss = combine(e, width, lg_sum_value(&labels) / divisor,
                              lg_sum_value(&smoothings) / divisor, smooth);
        out->loss[0] = out->n_invalid ? NAN : loss;
    }
    return true;
}

// The gradient to the logits by way of that to the log-probabilities, d: g = p·Σd - d (PyTorch:
// log_softmax_backward_data). In this order an infinite or NaN scale gives the class that the
// framework gives; the finite case below cancels less.
static void gradient_in_order(const lg_loss_context *context, double max, double z, int64_t label,
                              double on_label, double on_each, double *out) {
    double sum = 0;
    for (int64_t c = 0; c < context->width; c++) {
        double d = on_each * weight_of(context, c);
        context->q[c] = smooths(context->batch) ? d : 0;
        context->q[c] += c == label ? on_label : 0;
        sum += context->q[c];
    }
    for (int64_t c = 0; c < context->width; c++) {
        out[c] = lg_exp_below(context->x[c], max) / z * sum - context->q[c];
    }
}

// With p the softmax, a = scale·(1 - e)·w[y] on the label and t[c] = scale·(e/C)·w[c] on each
// class: g[c] = a·(p[c] - [c = y]) + p[c]·Σt - t[c]. On the label, p - 1 is taken from the other
// classes: 1 - p[y] = ((1 - exp(x[y] - m)) + rest) / Z, which keeps its digits when p[y] is
// nearly 1.
static void softmax_gradient(const lg_loss_context *context, const lg_reference *forward,
                             int64_t row, int64_t label, double *out) {
    const lg_batch *batch = context->batch;
    const int64_t n = context->width;
    const bool smooth = smooths(batch);
    const double e = smooth ? batch->loss.label_smoothing : 0;
    const double scale = lg_row_scale(batch, forward, row);
    const double max = forward->row_max[row];
    const double rest = forward->row_rest[row];
    const double z = 1 + rest;
    const double on_label = scale * (1 - e) * weight_of(context, label);
    const double on_each = smooth ? scale * (e / (double)n) : 0;
    if (!isfinite(max) || isnan(rest)) {
        for (int64_t c = 0; c < n; c++) {
            out[c] = NAN;
        }
        return;
    }
    lg_row_read(&batch->input, row, n, context->x);
    if (!isfinite(on_label) || !isfinite(on_each)) {
        gradient_in_order(context, max, z, label, on_label, on_each, out);
        return;
    }
    double below = context->x[label] - max;
    lg_sum spread = {0};
    for (int64_t c = 0; smooth && c < n; c++) {
        lg_sum_add(&spread, on_each * weight_of(context, c));
    }
    double all = lg_sum_value(&spread);
    double others = (-expm1(below) + rest) / z;
    lg_softmax_scaled(context->x, n, max, (on_label + all) / z, out);
    if (!smooth) {
        out[label] = -on_label * others;
        return;
    }
    double p_label = lg_exp_below(context->x[label], max) / z;
    for (int64_t c = 0; c < n; c++) {
        out[c] -= on_each * weight_of(context, c);
    }
    out[label] = -on_label * others + (p_label * all - on_each * weight_of(context, label));
}

void lg_index_gradient(const lg_loss_context *context, const lg_reference *forward, int64_t row,
                       double *out) {
    const lg_batch *batch = context->batch;
    int64_t label = 0;
    lg_label_kind kind = lg_label_read(batch, row, context->width, &label);
    if (kind == LG_LABEL_SUPERVISED && batch->loss.kind == LG_CROSS_ENTROPY) {
        softmax_gradient(context, forward, row, label, out);
        return;
    }
    for (int64_t c = 0; c < context->width; c++) {
        out[c] = kind == LG_LABEL_INVALID ? NAN : 0;
    }
    if (kind == LG_LABEL_SUPERVISED) {
        // nll_loss: -w[y]·g on the label, with g already over D for a mean (PyTorch:
        // nll_loss_backward). w = 0 with D = 0 is 0·inf = NaN, as it is there.
        out[label] = -weight_of(context, label) * lg_row_scale(batch, forward, row);
    }
}
