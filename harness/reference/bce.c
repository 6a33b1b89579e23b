// SPDX-License-Identifier: Apache-2.0
// The binary losses: each element is a row. x is the input, t the target, w the weight (1 when
// absent), v the pos_weight (1 when absent); weight and pos_weight broadcast.
//
//   binary_cross_entropy   l = -w·(t·max(log x, -100) + (1 - t)·max(log(1 - x), -100))
//                          g = w·(x - t) / max((1 - x)·x, 1e-12)
//   …_with_logits          l = w·((1 - t)·x - (1 + (v - 1)·t)·logsigmoid(x))
//                          g = w·((1 - t)·σ(x) - v·t·σ(-x))
//   sum, and mean = sum / elements
//
// (PyTorch: aten/src/ATen/native/Loss.cpp.) The 1e-12 is a float constant there, and here.
#include "reference/internal.h"
#include "reference/reference.h"

#include <math.h>

typedef struct element {
    double x, t, w, v;
    bool valid;
} element;

static element read_element(const lg_batch *batch, int64_t row) {
    element e = {.x = lg_tensor_get_f64(&batch->input, row),
                 .t = lg_tensor_get_f64(&batch->target, row),
                 .w = 1,
                 .v = 1};
    if (lg_tensor_exists(&batch->weight)) {
        e.w = lg_broadcast_get(&batch->weight, &batch->input, row);
    }
    if (lg_tensor_exists(&batch->pos_weight)) {
        e.v = lg_broadcast_get(&batch->pos_weight, &batch->input, row);
    }
    // Both comparisons are false for NaN.
    e.valid = e.t >= 0 && e.t <= 1;
    if (batch->loss.kind == LG_BCE) {
        e.valid = e.valid && e.x >= 0 && e.x <= 1;
    }
    return e;
}

// The formula as PyTorch evaluates it; what a NaN or an infinite logit gives follows from its
// order.
static double logits_loss_in_order(const element *e) {
    double log_sigmoid = fmin(0, e->x) - log1p(exp(-fabs(e->x)));
    return e->w * ((1 - e->t) * e->x - (1 + (e->v - 1) * e->t) * log_sigmoid);
}

// For finite x, with no two terms that cancel: -logsigmoid(x) = max(-x, 0) + log1p(exp(-|x|)), and
// (1 - t)·x + (1 + (v - 1)·t)·(-x) = -v·t·x for x < 0.
static double logits_loss(const element *e) {
    if (!isfinite(e->x)) {
        return isnan(e->x) ? NAN : logits_loss_in_order(e);
    }
    double from_sign = e->x < 0 ? -e->v * e->t * e->x : (1 - e->t) * e->x;
    double factor = (1 - e->t) + e->v * e->t;
    return e->w * (from_sign + factor * log1p(exp(-fabs(e->x))));
}

static double probability_loss(const element *e) {
    double log_x = fmax(log(e->x), -100);
    double log_not_x = fmax(log1p(-e->x), -100);
    return e->w * ((e->t - 1) * log_not_x - e->t * log_x);
}

bool lg_bce_forward(const lg_loss_context *context, lg_reference *out) {
    const lg_batch *batch = context->batch;
    lg_sum total = {0};
    lg_sum abs = {0};
    for (int64_t row = 0; row < context->n_rows; row++) {
        element e = read_element(batch, row);
        if (!e.valid) {
            out->row_loss[row] = NAN;
            if (!lg_reference_add_invalid(out, row)) {
                return false;
            }
            continue;
        }
        double loss = batch->loss.kind == LG_BCE ? probability_loss(&e) : logits_loss(&e);
        out->row_loss[row] = loss;
        lg_sum_add(&total, loss);
        lg_sum_add(&abs, fabs(loss));
    }
    out->abs_sum = lg_sum_value(&abs);
    if (out->scalar) {
        out->total_weight = (double)context->n_rows;
        bool mean = batch->loss.reduction == LG_REDUCTION_MEAN;
        double sum = lg_sum_value(&total);
        double loss = mean ? sum / out->total_weight : sum;
        out->loss[0] = out->n_invalid ? NAN : loss;
    }
    return true;
}

static double sigmoid(double x) {
    // exp of a negative number only: no overflow, and full precision on the small side.
    double small = exp(-fabs(x));
    return x >= 0 ? 1 / (1 + small) : small / (1 + small);
}

void lg_bce_gradient(const lg_loss_context *context, const lg_reference *forward, int64_t row,
                     double *out) {
    const lg_batch *batch = context->batch;
    element e = read_element(batch, row);
    if (!e.valid) {
        out[0] = NAN;
        return;
    }
    double scale = lg_row_scale(batch, forward, row) * e.w;
    if (batch->loss.kind == LG_BCE) {
        static const double EPSILON = (double)1e-12f;
        out[0] = scale * (e.x - e.t) / fmax((1 - e.x) * e.x, EPSILON);
        return;
    }
    out[0] = scale * ((1 - e.t) * sigmoid(e.x) - e.v * e.t * sigmoid(-e.x));
}
