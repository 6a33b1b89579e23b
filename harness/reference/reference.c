// SPDX-License-Identifier: Apache-2.0
// The reference as a whole: what is allocated, which formulas apply, in which order the gradient
// lies.
#include "reference/reference.h"

#include "reference/internal.h"
#include "support/alloc.h"

#include <math.h>
#include <stdlib.h>

typedef enum target_kind { CLASS_INDEX, CLASS_PROBABILITY, BINARY } target_kind;

static target_kind kind_of(const lg_batch *batch) {
    switch (batch->loss.kind) {
    case LG_NLL_LOSS:
        return CLASS_INDEX;
    case LG_CROSS_ENTROPY:
        return batch->target_is_probability ? CLASS_PROBABILITY : CLASS_INDEX;
    case LG_BCE:
    case LG_BCE_WITH_LOGITS:
        return BINARY;
    }
    return CLASS_INDEX;
}

// Room for n doubles, at least one, so that an empty batch is not "out of memory".
static double *doubles(int64_t n) {
    size_t bytes;
    if (n < 0 || __builtin_mul_overflow((size_t)n, sizeof(double), &bytes)) {
        return NULL;
    }
    return lg_buffer_alloc(bytes ? bytes : sizeof(double));
}

static void context_free(lg_loss_context *context) {
    free(context->weight);
    free(context->x);
    free(context->q);
}

static bool context_init(lg_loss_context *context, const lg_batch *batch) {
    *context = (lg_loss_context){
        .batch = batch, .n_rows = lg_batch_rows(batch), .width = lg_batch_head_width(batch)};
    bool binary = kind_of(batch) == BINARY;
    bool weighted = !binary && lg_tensor_exists(&batch->weight);
    context->x = doubles(context->width);
    context->q = doubles(context->width);
    context->weight = weighted ? doubles(context->width) : NULL;
    if (!context->x || !context->q || (weighted && !context->weight)) {
        context_free(context);
        return false;
    }
    for (int64_t c = 0; weighted && c < context->width; c++) {
        context->weight[c] = lg_tensor_get_f64(&batch->weight, c);
    }
    return true;
}

static bool allocate(const lg_batch *batch, bool with_gradient, lg_reference *out) {
    int64_t n = lg_batch_rows(batch);
    bool softmax = batch->loss.kind == LG_CROSS_ENTROPY;
    bool spread = softmax && (batch->target_is_probability || batch->loss.label_smoothing > 0);
    *out = (lg_reference){
        .n_rows = n,
        .scalar = batch->loss.reduction != LG_REDUCTION_NONE,
    };
    out->n_loss = out->scalar ? 1 : n;
    out->row_loss = doubles(n);
    out->loss = out->scalar ? doubles(1) : out->row_loss;
    out->row_max = softmax ? doubles(n) : NULL;
    out->row_rest = softmax ? doubles(n) : NULL;
    out->row_abs = spread ? doubles(n) : NULL;
    out->row_mass = spread ? doubles(n) : NULL;
    out->grad_input = with_gradient ? doubles(lg_tensor_numel(&batch->input)) : NULL;
    return out->row_loss && out->loss && (!softmax || (out->row_max && out->row_rest)) &&
           (!spread || (out->row_abs && out->row_mass)) && (!with_gradient || out->grad_input);
}

bool lg_reference_add_invalid(lg_reference *out, int64_t row) {
    int64_t n = out->n_invalid;
    // Full exactly when the count is a power of two (from 16 on): then it doubles.
    if (n == 0 || (n >= 16 && (n & (n - 1)) == 0)) {
        size_t capacity = n == 0 ? 16 : (size_t)n * 2;
        int64_t *rows = realloc(out->invalid_rows, capacity * sizeof *rows);
        if (!rows) {
            return false;
        }
        out->invalid_rows = rows;
    }
    out->invalid_rows[out->n_invalid++] = row;
    return true;
}

static bool forward(const lg_loss_context *context, lg_reference *out) {
    switch (kind_of(context->batch)) {
    case CLASS_INDEX:
        return lg_index_forward(context, out);
    case CLASS_PROBABILITY:
        return lg_prob_forward(context, out);
    case BINARY:
        return lg_bce_forward(context, out);
    }
    return false;
}

static void row_gradient(const lg_loss_context *context, const lg_reference *done, int64_t row,
                         double *out) {
    switch (kind_of(context->batch)) {
    case CLASS_INDEX:
        lg_index_gradient(context, done, row, out);
        return;
    case CLASS_PROBABILITY:
        lg_prob_gradient(context, done, row, out);
        return;
    case BINARY:
        lg_bce_gradient(context, done, row, out);
        return;
    }
}

double lg_row_scale(const lg_batch *batch, const lg_reference *forward_result, int64_t row) {
    double upstream = lg_row_upstream(batch, row);
    bool mean = batch->loss.reduction == LG_REDUCTION_MEAN;
    return mean ? upstream / forward_result->total_weight : upstream;
}

// The whole gradient in the input's own order: with extra dimensions the classes of a row lie
// `spatial` elements apart, so each row goes through a buffer of its own.
static bool gradient(const lg_loss_context *context, lg_reference *out) {
    const lg_batch *batch = context->batch;
    int64_t spatial = kind_of(batch) == BINARY ? 1 : lg_batch_spatial(batch);
    int64_t width = context->width;
    if (spatial == 1) {
        for (int64_t row = 0; row < context->n_rows; row++) {
            row_gradient(context, out, row, out->grad_input + row * width);
        }
        return true;
    }
    double *classes = doubles(width);
    if (!classes) {
        return false;
    }
    for (int64_t row = 0; row < context->n_rows; row++) {
        double *first = out->grad_input + row / spatial * width * spatial + row % spatial;
        row_gradient(context, out, row, classes);
        for (int64_t c = 0; c < width; c++) {
            first[c * spatial] = classes[c];
        }
    }
    free(classes);
    return true;
}

bool lg_reference_compute(const lg_batch *batch, bool with_gradient, lg_reference *out) {
    lg_loss_context context;
    if (!context_init(&context, batch)) {
        *out = (lg_reference){0};
        return false;
    }
    bool ok = allocate(batch, with_gradient, out) && forward(&context, out) &&
              (!with_gradient || gradient(&context, out));
    context_free(&context);
    if (!ok) {
        lg_reference_free(out);
    }
    return ok;
}

bool lg_reference_keeps_gradient(const lg_batch *batch) {
    enum { MOST = 1 << 17 }; // elements: a megabyte
    return (batch->loss.direction & LG_BACKWARD) && lg_tensor_numel(&batch->input) <= MOST;
}

void lg_reference_free(lg_reference *reference) {
    if (reference->loss != reference->row_loss) {
        free(reference->loss);
    }
    free(reference->row_loss);
    free(reference->invalid_rows);
    free(reference->grad_input);
    free(reference->row_max);
    free(reference->row_rest);
    free(reference->row_abs);
    free(reference->row_mass);
    *reference = (lg_reference){0};
}

void lg_reference_gradient_rows(const lg_batch *batch, const lg_reference *forward_result,
                                int64_t begin, int64_t end, double *out) {
    lg_loss_context context;
    int64_t width = lg_batch_head_width(batch);
    if (!context_init(&context, batch)) {
        for (int64_t i = 0; i < (end - begin) * width; i++) {
            out[i] = NAN;
        }
        return;
    }
    for (int64_t row = begin; row < end; row++) {
        row_gradient(&context, forward_result, row, out + (row - begin) * width);
    }
    context_free(&context);
}
