// SPDX-License-Identifier: Apache-2.0
// All four losses once more, in __float128, straight from the definitions: every row makes its
// whole table of log-probabilities, coefficients and gradients. It shares nothing with the
// reference but the access to an element of a tensor by its flat index.
#ifndef LG_TESTS_QUAD_LOSS_H
#define LG_TESTS_QUAD_LOSS_H

#include "model/batch.h"
#include "unit/reference/quad.h"

#include <stdlib.h>

// A value and the Σ|terms| it was added from: errors are counted in units of the last place of
// that.
typedef struct quad_value {
    quad value;
    quad scale;
} quad_value;

typedef struct quad_result {
    int64_t n_rows, width, spatial;
    quad_value *row;      // n_rows
    quad *on_label;       // n_rows: the part of a row's loss on its label (all but for smoothing)
    quad *spread;         // n_rows: the smoothing part
    quad_value *gradient; // n_rows · width, class-fastest
    int *state;           // n_rows: 0 ignored, 1 live, 2 invalid
    quad_value loss;      // mean, sum
    quad_value total_weight;
} quad_result;

static inline quad quad_at(const lg_tensor *t, int64_t index) {
    return (quad)lg_tensor_get_f64(t, index);
}

// The flat index of (row, class) in a tensor with a class axis.
static inline int64_t quad_cell(const quad_result *r, int64_t row, int64_t c) {
    return (row / r->spatial * r->width + c) * r->spatial + row % r->spatial;
}

static inline quad quad_row_upstream(const lg_batch *b, int64_t row) {
    if (b->grad_output.dtype == LG_DTYPE_NONE) {
        return 1;
    }
    return quad_at(&b->grad_output, b->loss.reduction == LG_REDUCTION_NONE ? row : 0);
}

static inline quad quad_class_weight(const lg_batch *b, int64_t c) {
    return b->weight.dtype == LG_DTYPE_NONE ? 1 : quad_at(&b->weight, c);
}

// The coefficient of each log-probability: the loss of a row is -Σ coefficient·lp. `label` < 0:
// from the probabilities of the target.
static inline void quad_coefficients(const lg_batch *b, const quad_result *r, int64_t row,
                                     int64_t label, quad *on_label, quad *each) {
    quad e = b->loss.kind == LG_CROSS_ENTROPY ? (quad)b->loss.label_smoothing : 0;
    for (int64_t c = 0; c < r->width; c++) {
        quad t = label < 0 ? quad_at(&b->target, quad_cell(r, row, c)) : 0;
        each[c] = (label < 0 ? (1 - e) * t : 0) + e / r->width;
        each[c] *= quad_class_weight(b, c);
        if (label >= 0 && e == 0) {
            each[c] = 0; // no smoothing: a NaN weight elsewhere is not looked at
        }
    }
    *on_label = label < 0 ? 0 : (1 - e) * quad_class_weight(b, label);
}

typedef struct quad_row_softmax {
    quad *lp; // log-probabilities
    quad *p;
    quad *others; // 1 - p, from the other classes
} quad_row_softmax;

static inline void quad_softmax(const lg_batch *b, const quad_result *r, int64_t row,
                                const quad_row_softmax *s) {
    const int64_t n = r->width;
    int64_t top = 0;
    quad undefined = 0;
    for (int64_t c = 0; c < n; c++) {
        s->lp[c] = quad_at(&b->input, quad_cell(r, row, c));
        undefined = s->lp[c] != s->lp[c] || s->lp[c] == QUAD_INF ? QUAD_NAN : undefined;
        top = s->lp[c] > s->lp[top] ? c : top;
    }
    quad max = s->lp[top];
    quad rest = 0;
    undefined = max == -QUAD_INF ? QUAD_NAN : undefined;
    for (int64_t c = 0; c < n; c++) {
        s->lp[c] = undefined + (s->lp[c] - max);
        s->p[c] = quad_exp(s->lp[c]);
        rest += c == top ? 0 : s->p[c];
    }
    for (int64_t c = 0; c < n; c++) {
        // Without the class itself: from the rest for all but the top, which is one of the others.
        s->others[c] = c == top ? rest / (1 + rest) : 0;
        for (int64_t k = 0; c != top && k < n; k++) {
            s->others[c] += k == c ? 0 : s->p[k] / (1 + rest);
        }
    }
    for (int64_t c = 0; c < n; c++) {
        s->lp[c] -= quad_log_one_plus(rest);
        s->p[c] /= 1 + rest;
    }
}

// The loss of a row over log-probabilities lp, and its gradient at a scale. For nll_loss the input
// is the log-probabilities and the gradient goes to them.
static inline void quad_row(const lg_batch *b, quad_result *r, int64_t row, int64_t label,
                            quad scale, const quad_row_softmax *s, quad *each) {
    const int64_t n = r->width;
    const int direct = b->loss.kind == LG_NLL_LOSS;
    quad on_label;
    quad_coefficients(b, r, row, label, &on_label, each);
    if (direct) {
        quad x = quad_at(&b->input, quad_cell(r, row, label));
        r->row[row].value = -on_label * x;
        r->on_label[row] = r->row[row].value;
        r->row[row].scale = quad_abs(r->row[row].value);
        for (int64_t c = 0; c < n; c++) {
            quad g = c == label ? -on_label * scale : 0;
            r->gradient[row * n + c] = (quad_value){g, quad_abs(g)};
        }
        return;
    }
    quad_softmax(b, r, row, s);
    quad_value loss = {0, 0};
    quad sum = 0;
    int finite = 1;
    const int spread = label < 0 || b->loss.label_smoothing > 0;
    for (int64_t c = 0; c < n; c++) {
        quad term = spread ? -each[c] * s->lp[c] : 0;
        r->spread[row] += term;
        term += c == label ? -on_label * s->lp[c] : 0;
        loss.value += term;
        loss.scale += quad_abs(term);
        quad d = (c == label ? on_label * scale : 0) + (spread ? each[c] * scale : 0);
        finite &= quad_is_finite(d);
        sum += d;
    }
    r->row[row] = loss;
    r->on_label[row] = label < 0 ? 0 : -on_label * s->lp[label];
    for (int64_t c = 0; c < n; c++) {
        quad d = (c == label ? on_label * scale : 0) + (spread ? each[c] * scale : 0);
        quad_value *g = &r->gradient[row * n + c];
        // A double's probability: below its range it is 0, and 0 times an infinity is NaN.
        g->value = (finite ? s->p[c] : (quad)(double)s->p[c]) * sum - d;
        if (finite && label >= 0) {
            quad label_part = on_label * scale * (c == label ? -s->others[c] : s->p[c]);
            quad spread_part = s->p[c] * (sum - on_label * scale);
            quad own = spread ? each[c] * scale : 0;
            g->value = label_part + spread_part - own + (s->p[c] - s->p[c]);
            g->scale = quad_abs(label_part) + quad_abs(spread_part) + quad_abs(own);
        } else {
            g->scale = quad_abs(s->p[c] * sum) + quad_abs(d);
        }
    }
}

static inline void quad_binary_row(const lg_batch *b, quad_result *r, int64_t row, quad scale) {
    quad x = quad_at(&b->input, row);
    quad t = quad_at(&b->target, row);
    int64_t last = b->input.rank ? b->input.shape[b->input.rank - 1] : 1;
    quad w = b->weight.dtype == LG_DTYPE_NONE ? 1 : quad_at(&b->weight, row);
    quad v = b->pos_weight.dtype == LG_DTYPE_NONE ? 1 : quad_at(&b->pos_weight, row % last);
    int valid = t >= 0 && t <= 1 && (b->loss.kind != LG_BCE || (x >= 0 && x <= 1));
    r->state[row] = valid ? 1 : 2;
    if (!valid) {
        r->row[row].value = r->gradient[row].value = QUAD_NAN;
        return;
    }
    scale *= w;
    if (b->loss.kind == LG_BCE) {
        quad log_x = quad_log(x);
        quad log_not = x == 1 ? -QUAD_INF : quad_log_one_plus(-x);
        log_x = log_x < -100 ? -100 : log_x;
        log_not = log_not < -100 ? -100 : log_not;
        quad under = (1 - x) * x;
        under = under < (quad)1e-12f ? (quad)1e-12f : under;
        r->row[row].value = -w * (t * log_x + (1 - t) * log_not);
        r->row[row].scale = quad_abs(r->row[row].value);
        r->gradient[row].value = scale * (x - t) / under;
        r->gradient[row].scale = quad_abs(r->gradient[row].value);
        return;
    }
    quad small = quad_exp(x < 0 ? x : -x); // exp(-|x|)
    quad log_sigmoid = (x < 0 ? x : 0) - quad_log_one_plus(small);
    quad log_other = (x > 0 ? -x : 0) - quad_log_one_plus(small);
    quad sigmoid = (x < 0 ? small : 1) / (1 + small);
    quad other = (x < 0 ? 1 : small) / (1 + small);
    // The two sides of the definition; PyTorch's order only where the input is not finite.
    r->row[row].value = -w * (v * t * log_sigmoid + (1 - t) * log_other);
    if (!quad_is_finite(x)) {
        r->row[row].value = w * ((1 - t) * x - (1 + (v - 1) * t) * log_sigmoid);
    }
    r->row[row].scale = quad_abs(r->row[row].value);
    r->gradient[row].value = scale * ((1 - t) * sigmoid - v * t * other);
    r->gradient[row].scale = quad_abs(scale) * ((1 - t) * sigmoid + v * t * other);
}

// A row with a probability that is none has neither a loss nor a gradient.
static inline void quad_probability_row(const lg_batch *b, quad_result *r, int64_t row, quad scale,
                                        const quad_row_softmax *s, quad *each) {
    int valid = 1;
    for (int64_t c = 0; c < r->width; c++) {
        quad t = quad_at(&b->target, quad_cell(r, row, c));
        valid &= t >= 0 && t <= 1;
    }
    quad_row(b, r, row, -1, scale, s, each);
    r->state[row] = valid ? 1 : 2;
    for (int64_t c = 0; c < r->width && !valid; c++) {
        r->gradient[row * r->width + c].value = QUAD_NAN;
    }
    r->row[row].value = valid ? r->row[row].value : QUAD_NAN;
    r->on_label[row] = r->row[row].value;
}

// Ground truth about a label: ignored, live or invalid.
static inline int quad_label(const lg_batch *b, int64_t row, int64_t width, int64_t *label) {
    double value = lg_tensor_get_f64(&b->target, row);
    if (lg_dtype_is_float(b->target.dtype) && !(fabs(value) < 9e15 && floor(value) == value)) {
        return 2;
    }
    *label =
        lg_dtype_is_float(b->target.dtype) ? llround(value) : lg_tensor_get_i64(&b->target, row);
    return *label == b->loss.ignore_index ? 0 : *label < 0 || *label >= width ? 2 : 1;
}

static inline void quad_reduce(const lg_batch *b, quad_result *r) {
    const int mean = b->loss.reduction == LG_REDUCTION_MEAN;
    const int indices = b->loss.kind <= LG_CROSS_ENTROPY && !b->target_is_probability;
    quad divisor = mean ? (indices ? r->total_weight.value : r->n_rows) : 1;
    quad on_labels = 0;
    quad spread = 0;
    quad scale = 0;
    int invalid = 0;
    for (int64_t row = 0; row < r->n_rows; row++) {
        invalid |= r->state[row] == 2;
        on_labels += r->on_label[row];
        spread += r->spread[row];
        scale += r->row[row].scale;
    }
    // Two quotients, as in the definition: with a divisor of 0 they may be infinities that cancel.
    int smooth = indices && b->loss.kind == LG_CROSS_ENTROPY && b->loss.label_smoothing > 0;
    r->loss.value = on_labels / divisor + (smooth ? spread / divisor : 0);
    r->loss.value = invalid ? QUAD_NAN : r->loss.value;
    r->loss.scale = quad_abs(scale / divisor);
}

static inline void quad_compute(const lg_batch *b, quad_result *r) {
    const int binary = b->loss.kind == LG_BCE || b->loss.kind == LG_BCE_WITH_LOGITS;
    const lg_tensor *input = &b->input;
    r->width = binary ? 1 : input->rank == 1 ? input->shape[0] : input->shape[1];
    r->spatial = 1;
    for (int i = 2; i < input->rank && !binary; i++) {
        r->spatial *= input->shape[i];
    }
    r->n_rows =
        binary ? lg_tensor_numel(input) : (input->rank == 1 ? 1 : input->shape[0]) * r->spatial;
    size_t n = (size_t)r->n_rows + 1;
    size_t width = (size_t)r->width + 1;
    r->row = calloc(n, sizeof *r->row);
    r->on_label = calloc(n, sizeof *r->on_label);
    r->spread = calloc(n, sizeof *r->spread);
    r->gradient = calloc(n * width, sizeof *r->gradient);
    r->state = calloc(n, sizeof *r->state);
    quad *scratch = calloc(4 * width, sizeof *scratch);
    quad_row_softmax s = {scratch, scratch + width, scratch + 2 * width};
    int64_t label = -1;
    const int indices = !binary && !b->target_is_probability;
    r->total_weight = (quad_value){0, 0};
    for (int64_t row = 0; row < r->n_rows && indices; row++) {
        r->state[row] = quad_label(b, row, r->width, &label);
        if (r->state[row] == 1) {
            r->total_weight.value += quad_class_weight(b, label);
            r->total_weight.scale += quad_abs(quad_class_weight(b, label));
        }
    }
    quad divisor = indices ? r->total_weight.value : (quad)r->n_rows;
    divisor = b->loss.reduction == LG_REDUCTION_MEAN ? divisor : 1;
    for (int64_t row = 0; row < r->n_rows; row++) {
        quad scale = quad_row_upstream(b, row) / divisor;
        if (binary) {
            quad_binary_row(b, r, row, scale);
            r->on_label[row] = r->row[row].value;
        } else if (!indices) {
            quad_probability_row(b, r, row, scale, &s, scratch + 3 * width);
        } else if (r->state[row] == 1) {
            quad_label(b, row, r->width, &label);
            quad_row(b, r, row, label, scale, &s, scratch + 3 * width);
        } else {
            quad fill = r->state[row] == 2 ? QUAD_NAN : 0;
            r->row[row].value = fill;
            for (int64_t c = 0; c < r->width; c++) {
                r->gradient[row * r->width + c] = (quad_value){fill, 0};
            }
        }
    }
    quad_reduce(b, r);
    free(scratch);
}

static inline void quad_free(quad_result *r) {
    free(r->row);
    free(r->on_label);
    free(r->spread);
    free(r->gradient);
    free(r->state);
}

#endif
