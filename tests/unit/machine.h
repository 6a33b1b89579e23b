// SPDX-License-Identifier: Apache-2.0
// Kernels as an honest device would compute them, in the accumulator's precision: every operation
// is rounded, exponentials and logarithms are off by up to 2 ulp at random, sums run over lanes and
// a tree. And the same kernels with one defect each. For the test of the tolerances.
#ifndef LG_TESTS_MACHINE_H
#define LG_TESTS_MACHINE_H

#include "reference/reference.h"

#include <math.h>
#include <stdlib.h>

typedef enum defect {
    SOUND,
    MEAN_BY_COUNT,           // divides by the rows, not by their weight
    IGNORED_COUNTED,         // ignored rows count in the total weight
    SMOOTHING_WITHOUT_TRUE,  // spreads e/(C - 1)
    PADDED_LANE,             // one lane beyond C takes part with a logit of 0
    NEXT_LABEL,              // reads the class behind the label
    NARROW_SUM,              // adds rows in the stored type
    NARROW_TOTAL_WEIGHT,     // keeps the total weight in the stored type
    DROPPED_ROW,             // the last row is left out
    NO_UPSTREAM,             // the gradient ignores the upstream gradient
    SMOOTHED_GRADIENT_PLAIN, // the gradient ignores the smoothing
    LOG_OF_ROUNDED           // log(1 - x) where log1p(-x) is meant
} defect;

typedef struct machine {
    const lg_batch *batch;
    int lanes;      // that share a row of classes
    bool keeps_lse; // log-probabilities as x - (m + log Z)
    defect defect;
    uint64_t state;
    double *loss; // one, or one a row
    double *grad; // in the input's shape
    double total_weight;
} machine;

static inline double m_round(const machine *m, double x) {
    return m->batch->input.dtype == LG_FLOAT64 ? x : (double)(float)x;
}

static inline double m_store(const machine *m, double x) {
    double room;
    lg_dtype_set_f64(m->batch->input.dtype, &room, 0, x);
    return lg_dtype_get_f64(m->batch->input.dtype, &room, 0);
}

// Up to 2 ulp off.
static inline double m_off(machine *m, double x) {
    m->state = m->state * 6364136223846793005u + 1442695040888963407u;
    double step = (double)(m->state >> 40) * 0x1p-23 - 1; // -1 … 1
    double u = m->batch->input.dtype == LG_FLOAT64 ? 0x1p-53 : 0x1p-24;
    return m_round(m, x * (1 + 3 * u * step));
}

static inline double m_exp(machine *m, double x) {
    return m_off(m, exp(x));
}

static inline double m_log(machine *m, double x) {
    return m_off(m, log(x));
}

static inline double m_weight(const machine *m, int64_t c) {
    return lg_tensor_exists(&m->batch->weight) ? lg_tensor_get_f64(&m->batch->weight, c) : 1;
}

typedef struct softmax {
    double max, sum;
} softmax;

static inline softmax m_merge(machine *m, softmax a, softmax b) {
    double max = fmax(a.max, b.max);
    double left = a.max == max ? a.sum : m_round(m, a.sum * m_exp(m, m_round(m, a.max - max)));
    double right = b.max == max ? b.sum : m_round(m, b.sum * m_exp(m, m_round(m, b.max - max)));
    return (softmax){max, m_round(m, left + right)};
}

static inline softmax m_softmax(machine *m, const double *x, int64_t n) {
    softmax lane[256];
    for (int i = 0; i < m->lanes; i++) {
        lane[i] = (softmax){-INFINITY, 0};
        for (int64_t c = i; c < n; c += m->lanes) {
            lane[i] = m_merge(m, lane[i], (softmax){x[c], 1});
        }
    }
    if (m->defect == PADDED_LANE) {
        lane[0] = m_merge(m, lane[0], (softmax){0, 1});
    }
    for (int half = m->lanes / 2; half > 0; half /= 2) {
        for (int i = 0; i < half; i++) {
            lane[i] = m_merge(m, lane[i], lane[i + half]);
        }
    }
    return lane[0];
}

static inline double m_lp(machine *m, softmax s, double x) {
    double log_z = m_log(m, s.sum);
    return m->keeps_lse ? m_round(m, x - m_round(m, s.max + log_z))
                        : m_round(m, m_round(m, x - s.max) - log_z);
}

static inline double m_p(machine *m, softmax s, double x) {
    return m->keeps_lse ? m_exp(m, m_round(m, x - m_round(m, s.max + m_log(m, s.sum))))
                        : m_off(m, m_exp(m, m_round(m, x - s.max)) / s.sum);
}

// w[c]·q[c] of a row; the label's own part beside it.
static inline double m_coefficient(const machine *m, int64_t row, int64_t c, int64_t label) {
    const lg_batch *b = m->batch;
    int64_t width = lg_batch_head_width(b);
    double e = m_round(m, b->loss.kind == LG_CROSS_ENTROPY ? b->loss.label_smoothing : 0);
    double share = m_round(m, e / (m->defect == SMOOTHING_WITHOUT_TRUE ? width - 1 : width));
    double t = b->target_is_probability ? lg_row_read_class(&b->target, row, c) : c == label;
    double q = m_round(m, m_round(m, m_round(m, 1 - e) * t) + share);
    return m_round(m, m_weight(m, c) * q);
}

static inline double m_class_row(machine *m, int64_t row, int64_t label, const double *x) {
    const lg_batch *b = m->batch;
    int64_t width = lg_batch_head_width(b);
    label += m->defect == NEXT_LABEL;
    if (b->loss.kind == LG_NLL_LOSS) {
        return m_round(m, -m_weight(m, label) * x[label]);
    }
    softmax s = m_softmax(m, x, width);
    double sum = 0;
    for (int64_t c = 0; c < width; c++) {
        double coefficient = m_coefficient(m, row, c, label);
        sum = coefficient == 0 ? sum : m_round(m, sum - m_round(m, coefficient * m_lp(m, s, x[c])));
    }
    return sum;
}

static inline void m_class_gradient(machine *m, int64_t row, int64_t label, double scale,
                                    const double *x) {
    const lg_batch *b = m->batch;
    int64_t width = lg_batch_head_width(b);
    int64_t spatial = lg_batch_spatial(b);
    double *first = m->grad + row / spatial * width * spatial + row % spatial;
    softmax s = b->loss.kind == LG_NLL_LOSS ? (softmax){0, 1} : m_softmax(m, x, width);
    double all = 0;
    bool plain = m->defect == SMOOTHED_GRADIENT_PLAIN;
    for (int64_t c = 0; c < width; c++) {
        all = m_round(m, all + (plain ? c == label : m_coefficient(m, row, c, label)));
    }
    for (int64_t c = 0; c < width; c++) {
        double own = plain ? c == label : m_coefficient(m, row, c, label);
        double p = b->loss.kind == LG_NLL_LOSS ? 0 : m_p(m, s, x[c]);
        double d = m_round(m, m_round(m, all * p) - own);
        first[c * spatial] = m_store(m, m_round(m, scale * d));
    }
}

static inline double m_binary_row(machine *m, int64_t row, double scale, double *gradient) {
    const lg_batch *b = m->batch;
    double x = lg_tensor_get_f64(&b->input, row);
    double t = lg_tensor_get_f64(&b->target, row);
    double w = lg_tensor_exists(&b->weight) ? lg_tensor_get_f64(&b->weight, row) : 1;
    double v =
        lg_tensor_exists(&b->pos_weight) ? lg_broadcast_get(&b->pos_weight, &b->input, row) : 1;
    scale = m_round(m, scale * w);
    if (b->loss.kind == LG_BCE) {
        double log_x = fmax(m_log(m, x), -100);
        bool rounded = m->defect == LOG_OF_ROUNDED;
        double log_not = rounded ? m_log(m, m_round(m, 1 - x)) : m_off(m, log1p(-x));
        log_not = fmax(log_not, -100);
        double under = fmax(m_round(m, m_round(m, 1 - x) * x), (double)1e-12f);
        *gradient = m_store(m, m_round(m, scale * m_round(m, m_round(m, x - t) / under)));
        return m_round(
            m, w * m_round(m, m_round(m, m_round(m, t - 1) * log_not) - m_round(m, t * log_x)));
    }
    // The framework's form, in which terms cancel.
    double l = m_round(m, 1 + m_round(m, m_round(m, v - 1) * t));
    double log_sigmoid = m_round(m, fmin(0, x) - m_off(m, log1p(m_exp(m, -fabs(x)))));
    double sigmoid = m_round(m, 1 / m_round(m, 1 + m_exp(m, -x)));
    double d = m_round(m, m_round(m, m_round(m, v * t) + 1 - t) * sigmoid);
    *gradient = m_store(m, m_round(m, scale * m_round(m, d - m_round(m, v * t))));
    return m_round(m,
                   w * m_round(m, m_round(m, m_round(m, 1 - t) * x) - m_round(m, l * log_sigmoid)));
}

// Rows strided over 32 lanes, then a tree: terms[i], in the accumulator or (a defect) the stored
// type.
static inline double m_sum(const machine *m, const double *terms, int64_t n) {
    double lane[32] = {0};
    bool narrow = m->defect == NARROW_SUM;
    for (int64_t i = 0; i < n; i++) {
        double sum = lane[i % 32] + terms[i];
        lane[i % 32] = narrow ? m_store(m, sum) : m_round(m, sum);
    }
    for (int half = 16; half > 0; half /= 2) {
        for (int i = 0; i < half; i++) {
            double sum = lane[i] + lane[i + half];
            lane[i] = narrow ? m_store(m, sum) : m_round(m, sum);
        }
    }
    return lane[0];
}

static inline double m_scale(const machine *m, int64_t row, double divisor) {
    double upstream = m->defect == NO_UPSTREAM ? 1 : lg_row_upstream(m->batch, row);
    return m->batch->loss.reduction == LG_REDUCTION_MEAN ? m_round(m, upstream / divisor)
                                                         : upstream;
}

// Runs both directions over a valid batch. loss and grad are the caller's arrays.
static inline void m_run(machine *m) {
    const lg_batch *b = m->batch;
    const bool binary = b->loss.kind == LG_BCE || b->loss.kind == LG_BCE_WITH_LOGITS;
    const bool indices = !binary && !b->target_is_probability;
    const int64_t n = lg_batch_rows(b);
    const int64_t width = lg_batch_head_width(b);
    double *terms = calloc((size_t)n + 1, sizeof *terms);
    double *weights = calloc((size_t)n + 1, sizeof *weights);
    double *x = calloc((size_t)width + 1, sizeof *x);
    double unused;
    for (int64_t row = 0; row < n; row++) {
        int64_t label = -1;
        bool live = !indices || lg_label_read(b, row, width, &label) == LG_LABEL_SUPERVISED;
        bool counted = live || m->defect == IGNORED_COUNTED;
        bool by_count = !indices || !live || m->defect == MEAN_BY_COUNT;
        weights[row] = !counted ? 0 : by_count ? 1 : m_weight(m, label);
        if (!binary && live) {
            lg_row_read(&b->input, row, width, x);
            terms[row] = m_class_row(m, row, label, x);
        } else if (binary) {
            terms[row] = m_binary_row(m, row, 1, &unused);
        }
    }
    m->total_weight = m_sum(m, weights, n);
    if (m->defect == NARROW_TOTAL_WEIGHT) {
        m->total_weight = m_store(m, m->total_weight);
    }
    double sum = m_sum(m, terms, n - (m->defect == DROPPED_ROW));
    bool mean = b->loss.reduction == LG_REDUCTION_MEAN;
    m->loss[0] = m_store(m, mean ? m_round(m, sum / m->total_weight) : sum);
    for (int64_t row = 0; row < n && b->loss.reduction == LG_REDUCTION_NONE; row++) {
        m->loss[row] = m_store(m, terms[row]);
    }
    for (int64_t row = 0; row < n; row++) {
        int64_t label = -1;
        double scale = m_scale(m, row, m->total_weight);
        if (binary) {
            m_binary_row(m, row, scale, &m->grad[row]);
        } else if (!indices || lg_label_read(b, row, width, &label) == LG_LABEL_SUPERVISED) {
            lg_row_read(&b->input, row, width, x);
            m_class_gradient(m, row, label, scale, x);
        }
    }
    free(terms);
    free(weights);
    free(x);
}

#endif
