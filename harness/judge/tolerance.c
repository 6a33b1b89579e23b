// SPDX-License-Identifier: Apache-2.0
#include "judge/judge.h"

#include "reference/reference.h"

#include <float.h>
#include <math.h>

// The table: what a kernel computes in and what it stores. u is the unit roundoff, half an ulp
// of 1.
typedef struct precision {
    double u;     // of the accumulator
    double least; // of the accumulator: least normal number; smaller results may be flushed to 0
    double exact; // integers up to this count without rounding in the accumulator
    double u_out; // of the stored type
    double least_step; // of the stored type: half of its least subnormal number
} precision;

static const precision precisions[LG_N_DTYPES] = {
    //               u        least      exact   u_out    least_step
    [LG_FLOAT64] = {0x1p-53, 0x1p-1022, 0x1p53, 0x1p-53, 0x1p-1074},
    [LG_FLOAT32] = {0x1p-24, 0x1p-126, 0x1p24, 0x1p-24, 0x1p-150},
    [LG_FLOAT16] = {0x1p-24, 0x1p-126, 0x1p24, 0x1p-11, 0x1p-25},
    [LG_BFLOAT16] = {0x1p-24, 0x1p-126, 0x1p24, 0x1p-8, 0x1p-134},
};

// The derivation. All errors are first-order, in units of the accumulator's u; the constants are
// sums of the operations named, so that every kernel which performs them in any order is inside.
//
// Elementary operations. +, -, ×, ÷, conversion: 1u; an approximate quotient: 4u. exp(a): the
// result is within 2 ulp = 4u, and the argument is off by 3u·|a| at most (the difference that made
// it, its product with log2 e, and log2 e itself, for exponentials made from ex2). log(a): 4u
// absolute near a = 1 and 3u relative elsewhere: 4 + 3·log a.
//
// Sums. A sum of n terms of one sign, of which each passes through at most k additions, is off by
// k·u of itself. k is chain(n) = min(n, 64 + n/32): a serial sum of a short row, or lanes of a warp
// that add every 32nd term and are then combined. A kernel that adds a long row in one thread has a
// longer chain; its actual error stays below unless its rounding errors line up, and then it is a
// defect.
//
// Softmax. Z = Σ exp(x - m). Its terms are off by 4 + 3·|x - m|; weighted with their share of Z
// that is 4 + 3·log C at most (the entropy of a distribution over C classes). An online softmax
// multiplies by one more exponential whenever its maximum moves: two operations a step, 2·chain(C).
// A kernel that keeps m + log Z, or multiplies m by log2 e, is off by 2·|m|: as much as if the
// logits themselves were perturbed by a rounding. So, with s(m) = 8 + 3·log C + 2·chain(C) + 2·|m|:
//
//   log-probability  |lp|·4 + s(m)                  (its difference, log Z, their sum)
//   probability      p·(s(m) + 4 + 4 + 3·|x - m|)   (the numerator and a quotient)
//
// Losses. A row of cross_entropy is Σ coefficient·(-lp) with Σ|coefficient| = W (row_mass) and
// Σ|terms| = T (row_abs): 8·T + W·s(m), the 8 being the 4 above, weight, smoothing factors, and the
// reference's own error (2); with smoothing or probabilities the C terms are a sum: + chain(C)·T.
// nll_loss: 4·T. A mean or sum over N rows adds chain(N)·Σ T; a mean divides by D, itself off by
// chain(N) + 4.
//
// Gradients. d[c] is a coefficient times the upstream gradient, A = Σ|d|, g = p·Σd - d:
//   A·p·(s(m) + 8 + 3·|x - m| + chain(C) where Σd is a sum) + 8·(A·p + |d|), and |d| <= |g| + A·p.
// A mean divides by D as above: (chain(N) + 4)·|g|. nll_loss: -d alone, the rest exactly 0.
//
// The gradient of a row adds up to A·(Σp - 1) = 0: adding a constant to the logits changes nothing.
// Its error is that of its terms with Σp = 1, Σ|d| = A, Σ|g| <= 2·A and Σp·|x - m| <= log C; what
// the divisor of a mean is off by scales all of them alike and leaves 0 at 0:
//   A·(s(m) + 8 + 3·log C + chain(C) where Σd is a sum + 8·4), and 2·A·u_out for storing.
//
// Binary losses: see binary_row_error and binary_gradient_error. At last the result is stored:
// u_out·|want| + least_step; and an accumulator may flush what is below its least normal number.
enum {
    SOFTMAX_STEPS = 8,
    PROBABILITY_STEPS = 8,
    ROW_STEPS = 8,
    NLL_STEPS = 4,
    MEAN_STEPS = 4,
    GRADIENT_STEPS = 8,
    BINARY_STEPS = 8,
    LOG_STEPS = 4,
};

static double chain(double n) {
    return fmin(n, 64 + n / 32);
}

static const precision *precision_of(const lg_batch *batch) {
    lg_dtype dtype = batch->input.dtype;
    return &precisions[lg_dtype_is_float(dtype) ? dtype : LG_FLOAT64];
}

static bool has_indices(const lg_batch *batch) {
    return batch->loss.kind == LG_NLL_LOSS ||
           (batch->loss.kind == LG_CROSS_ENTROPY && !batch->target_is_probability);
}

static double softmax_error(const lg_batch *batch, const lg_reference *reference, int64_t row) {
    double width = (double)lg_batch_head_width(batch);
    return SOFTMAX_STEPS + 3 * log(fmax(width, 1)) + 2 * chain(width) +
           2 * fabs(reference->row_max[row]);
}

typedef struct element {
    double x, t, w, v;
} element;

static element read_element(const lg_batch *batch, int64_t row) {
    element e = {lg_tensor_get_f64(&batch->input, row), lg_tensor_get_f64(&batch->target, row), 1,
                 1};
    if (lg_tensor_exists(&batch->weight)) {
        e.w = fabs(lg_broadcast_get(&batch->weight, &batch->input, row));
    }
    if (lg_tensor_exists(&batch->pos_weight)) {
        e.v = fabs(lg_broadcast_get(&batch->pos_weight, &batch->input, row));
    }
    return e;
}

// binary_cross_entropy: -t·log x, of a logarithm that is off by 4 + 3·|log|, and (t - 1)·log1p(-x),
// whose argument is exact and which is within 2 ulp = 4 of itself however small x is: w·4·t +
// 8·|l|, the two terms having one sign. A kernel that takes log(1 - x) is outside where x is small:
// it is off by a rounding of 1, which is not small beside x. With logits, in the framework's form
// (1 - t)·x - l·logsigmoid(x): (1 - t)·x and l·max(-x, 0) may cancel, so their sizes count, and
// log1p(exp(-|x|)) carries the error of the exponential: w·(8·((1 - t)·|x| + l·max(-x, 0)) +
// l·log1p(exp(-|x|))·(8 + 3·|x|)).
static double binary_row_error(const lg_batch *batch, int64_t row, double want) {
    element e = read_element(batch, row);
    if (batch->loss.kind == LG_BCE) {
        return LOG_STEPS * e.w * fabs(e.t) + BINARY_STEPS * fabs(want);
    }
    if (!isfinite(e.x)) {
        return BINARY_STEPS * fabs(want);
    }
    double l = (1 - e.t) + e.v * e.t + fabs(e.v - 1) * e.t;
    double large = (1 - e.t) * fabs(e.x) + l * fmax(-e.x, 0);
    double small = l * log1p(exp(-fabs(e.x)));
    return e.w * (BINARY_STEPS * large + small * (BINARY_STEPS + 3 * fabs(e.x)));
}

// binary_cross_entropy: a difference, 1 - x, two products, a quotient: 8·|g|. With logits, as
// (v·t + 1 - t)·σ(x) - v·t, which cancels: the sizes of both count. σ = 1 / (1 + exp(-x)) carries
// the error of the exponential with the factor σ(-x).
static double binary_gradient_error(const lg_batch *batch, int64_t row, double scale, double want) {
    element e = read_element(batch, row);
    if (batch->loss.kind == LG_BCE) {
        return BINARY_STEPS * fabs(want);
    }
    double sigmoid = 1 / (1 + exp(-e.x));
    double l = (1 - e.t) + e.v * e.t;
    double argument = isfinite(e.x) ? 3 * fabs(e.x) * (1 - sigmoid) : 0;
    return fabs(scale) * e.w * (l * sigmoid * (BINARY_STEPS + argument) + 4 * e.v * e.t);
}

// What the coefficients of a row's log-probabilities add up to, and what its terms do.
static double row_mass(const lg_batch *batch, const lg_reference *reference, int64_t row) {
    if (reference->row_mass) {
        return reference->row_mass[row];
    }
    int64_t label = 0;
    if (lg_label_read(batch, row, lg_batch_head_width(batch), &label) != LG_LABEL_SUPERVISED) {
        return 0;
    }
    return lg_tensor_exists(&batch->weight) ? fabs(lg_tensor_get_f64(&batch->weight, label)) : 1;
}

// The error of a row's loss in the accumulator, in units of u.
static double row_error(const lg_batch *batch, const lg_reference *reference, int64_t row,
                        double want) {
    if (lg_batch_is_binary(batch)) {
        return binary_row_error(batch, row, want);
    }
    if (batch->loss.kind == LG_NLL_LOSS) {
        return NLL_STEPS * fabs(want);
    }
    double mass = row_mass(batch, reference, row);
    if (mass == 0 || isnan(reference->row_max[row])) {
        return ROW_STEPS * fabs(want);
    }
    double terms = reference->row_abs ? reference->row_abs[row] : fabs(want);
    double width = (double)lg_batch_head_width(batch);
    double sum = reference->row_abs ? chain(width) * terms : 0;
    return ROW_STEPS * terms + mass * softmax_error(batch, reference, row) + sum;
}

static bool is_ignored(const lg_batch *batch, int64_t row) {
    int64_t label = 0;
    return has_indices(batch) &&
           lg_label_read(batch, row, lg_batch_head_width(batch), &label) == LG_LABEL_IGNORED;
}

// What storing does, and what may be flushed to 0 on the way there (`scale` times).
static double stored(const precision *p, double error, double want, double scale) {
    double bound = error + p->u_out * (fabs(want) + error) + p->least_step + p->least * (1 + scale);
    return fmin(bound, DBL_MAX);
}

static double row_tolerance(const lg_batch *batch, const lg_reference *reference, int64_t row,
                            double want) {
    const precision *p = precision_of(batch);
    if (is_ignored(batch, row)) {
        return 0;
    }
    double mass =
        lg_batch_is_binary(batch) ? read_element(batch, row).w : row_mass(batch, reference, row);
    return stored(p, p->u * row_error(batch, reference, row, want), want, mass);
}

static double loss_tolerance(const lg_batch *batch, const lg_reference *reference, double want) {
    const precision *p = precision_of(batch);
    const bool mean = batch->loss.reduction == LG_REDUCTION_MEAN;
    double n = (double)reference->n_rows;
    double rows = 0;
    for (int64_t row = 0; row < reference->n_rows; row++) {
        double loss = reference->row_loss[row];
        if (isfinite(loss) && !is_ignored(batch, row)) {
            rows += row_error(batch, reference, row, loss);
        }
    }
    double error = rows + chain(n) * reference->abs_sum;
    if (mean) {
        double divisor = fabs(reference->total_weight);
        error = error / divisor + (chain(n) + MEAN_STEPS) * fabs(want);
    }
    return stored(p, p->u * error, want, 1);
}

static double total_weight_tolerance(const lg_batch *batch, const lg_reference *reference,
                                     double want) {
    const precision *p = precision_of(batch);
    double n = (double)reference->n_rows;
    bool counts = !lg_tensor_exists(&batch->weight) || !has_indices(batch);
    if (want == 0 || (counts && n <= p->exact)) {
        return 0;
    }
    return fmin(p->u * (chain(n) + 1) * fabs(want) + p->least, DBL_MAX);
}

// Where element `index` of the input lies.
static void locate(const lg_batch *batch, int64_t index, int64_t *row, int64_t *class_index) {
    int64_t spatial = lg_batch_spatial(batch);
    int64_t width = lg_batch_head_width(batch);
    *row = index / (width * spatial) * spatial + index % spatial;
    *class_index = index / spatial % width;
}

static double upstream_of(const lg_batch *batch, const lg_reference *reference, int64_t row) {
    double g = lg_row_upstream(batch, row);
    return batch->loss.reduction == LG_REDUCTION_MEAN ? g / reference->total_weight : g;
}

static double class_gradient_tolerance(const lg_batch *batch, const lg_reference *reference,
                                       int64_t index, double want) {
    const precision *p = precision_of(batch);
    int64_t row;
    int64_t c;
    int64_t label = 0;
    locate(batch, index, &row, &c);
    double width = (double)lg_batch_head_width(batch);
    double n = (double)reference->n_rows;
    bool mean = batch->loss.reduction == LG_REDUCTION_MEAN;
    double error = mean ? (chain(n) + MEAN_STEPS) * fabs(want) : 0;
    if (has_indices(batch)) {
        lg_label_kind kind = lg_label_read(batch, row, lg_batch_head_width(batch), &label);
        if (kind == LG_LABEL_IGNORED || (batch->loss.kind == LG_NLL_LOSS && c != label)) {
            return 0;
        }
    }
    if (batch->loss.kind == LG_NLL_LOSS) {
        return stored(p, p->u * (error + NLL_STEPS * fabs(want)), want, 1);
    }
    double max = reference->row_max[row];
    double below = max - lg_row_read_class(&batch->input, row, c);
    double probability = exp(-below) / (1 + reference->row_rest[row]);
    double all = fabs(upstream_of(batch, reference, row)) * row_mass(batch, reference, row);
    double own = all * probability;
    double spread = reference->row_mass ? chain(width) : 0;
    // A class that is far below the others has probability 0, and 0·inf has no place here.
    double distance = probability > 0 ? 3 * below : 0;
    error += own * (softmax_error(batch, reference, row) + PROBABILITY_STEPS + distance + spread);
    error += GRADIENT_STEPS * (2 * own + fabs(want));
    return stored(p, p->u * error, want, all);
}

double lg_tolerance_row_sum(const lg_batch *batch, const lg_reference *reference, int64_t row) {
    const precision *p = precision_of(batch);
    double width = (double)lg_batch_head_width(batch);
    double all = fabs(upstream_of(batch, reference, row)) * row_mass(batch, reference, row);
    double spread = reference->row_mass ? chain(width) : 0;
    double error = all * (softmax_error(batch, reference, row) + PROBABILITY_STEPS +
                          3 * log(fmax(width, 1)) + spread + 4 * GRADIENT_STEPS);
    double bound =
        p->u * error + 2 * p->u_out * all + width * (p->least_step + p->least * (1 + all));
    return fmin(bound, DBL_MAX);
}

static double gradient_tolerance(const lg_batch *batch, const lg_reference *reference,
                                 int64_t index, double want) {
    if (!lg_batch_is_binary(batch)) {
        return class_gradient_tolerance(batch, reference, index, want);
    }
    const precision *p = precision_of(batch);
    double scale = upstream_of(batch, reference, index);
    double error = binary_gradient_error(batch, index, scale, want) + 2 * fabs(want);
    return stored(p, p->u * error, want, fabs(scale));
}

double lg_tolerance(const lg_batch *batch, const lg_reference *reference, lg_quantity quantity,
                    int64_t index, double want) {
    switch (quantity) {
    case LG_Q_LOSS:
        return loss_tolerance(batch, reference, want);
    case LG_Q_ROW_LOSS:
        return row_tolerance(batch, reference, index, want);
    case LG_Q_TOTAL_WEIGHT:
        return total_weight_tolerance(batch, reference, want);
    case LG_Q_GRADIENT:
        return gradient_tolerance(batch, reference, index, want);
    }
    return 0;
}

static double round_to(lg_dtype dtype, double value) {
    if (!lg_dtype_is_float(dtype)) {
        return value;
    }
    double room;
    lg_dtype_set_f64(dtype, &room, 0, value);
    return lg_dtype_get_f64(dtype, &room, 0);
}

double lg_compare(double got, double want, double bound, lg_dtype out_dtype) {
    if (isnan(want) || isnan(got)) {
        return isnan(want) && isnan(got) ? 0 : INFINITY;
    }
    if (isinf(want)) {
        return got == want ? 0 : INFINITY;
    }
    if (isinf(got)) {
        double reach = want + copysign(bound, got);
        return round_to(out_dtype, reach) == got ? 0 : INFINITY;
    }
    double error = fabs(got - want);
    if (error == 0) {
        return 0;
    }
    double share = error / bound;
    return share >= 0 ? share : INFINITY;
}
