// SPDX-License-Identifier: Apache-2.0
// How likely each kind of broken kernel is by the pattern of what is wrong, where its numbers could
// not be recomputed: how far off, in the loss or only in the gradient, with which options in use.
#include "attribute/kernel/internal.h"
#include "judge/judge.h"
#include "labels/labels.h"

#include "reference/reference.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

// How far the numbers are off.
typedef enum size {
    SIZE_ROUNDING, // as rounding can be, where there is much of it
    SIZE_SMALL,
    SIZE_LARGE, // beyond a twentieth
    N_SIZES,
} size;

// P(size | cause, its numbers could not be recomputed). Rounding leaves small errors; a wrong
// element, option or offset leaves large ones; what mostly can be recomputed is unlikely here.
static const struct {
    lg_cause cause;
    double p[N_SIZES];
} sizes[] = {
    {LG_CAUSE_PRECISION, {0.9, 0.4, 0.02}},
    {LG_CAUSE_OPTION_INTERPLAY, {0.002, 0.1, 0.6}},
    {LG_CAUSE_INDEX_OVERFLOW, {0.0005, 0.02, 0.5}},
    {LG_CAUSE_STRIDES_IGNORED, {0.0005, 0.01, 0.1}},
    {LG_CAUSE_WRONG_NORMALISATION, {0.001, 0.05, 0.1}},
    {LG_CAUSE_PADDED_LANES, {0.002, 0.05, 0.1}},
    {LG_CAUSE_SHARD_STATISTICS, {0.002, 0.05, 0.1}},
    {LG_CAUSE_GRADIENT_CONTRACT, {0.002, 0.3, 0.6}},
    {LG_CAUSE_RACE, {0.002, 0.02, 0.05}},
};

// The largest deviation of the loss, relative; of a number for no number, infinite.
static double loss_deviation(const lg_suspicion *s) {
    double off = 0;
    if (!s->loss || !s->loss->values || s->loss->n != s->reference->n_loss) {
        return 0;
    }
    for (int64_t i = 0; i < s->loss->n; i++) {
        double want = s->reference->loss[i];
        double got = s->loss->values[i];
        bool same = got == want || (isnan(got) && isnan(want));
        double here = same ? 0 : fabs(got - want) / fmax(1, fabs(want));
        off = isnan(here) ? INFINITY : fmax(off, here);
    }
    return off;
}

// Whether the loss is what a right kernel may return, small ones too.
static bool loss_is_right(const lg_suspicion *s) {
    if (!s->loss || !s->loss->values || s->loss->n != s->reference->n_loss) {
        return true;
    }
    lg_quantity quantity = s->reference->scalar ? LG_Q_LOSS : LG_Q_ROW_LOSS;
    for (int64_t i = 0; i < s->loss->n; i++) {
        double want = s->reference->loss[i];
        double got = s->loss->values[i];
        double bound = isfinite(want) ? lg_tolerance(s->batch, s->reference, quantity, i, want) : 0;
        if (!(lg_compare(got, want, bound, s->batch->input.dtype) <= 1)) {
            return false;
        }
    }
    return true;
}

// Elements that no rounding makes: those of an ignored row, and of nll_loss beside the label.
static bool is_exactly_zero(const lg_suspicion *s, int64_t row, double want) {
    return want == 0 && !lg_batch_is_binary(s->batch) &&
           (s->batch->loss.kind == LG_NLL_LOSS || !lg_row_is_supervised(s, row));
}

// Of the gradient, relative to the largest element of its row; 1 where any number but 0 is wrong.
static double gradient_deviation(const lg_suspicion *s) {
    if (!lg_output_exists(s->gradient) || s->gradient->n != lg_tensor_numel(&s->batch->input)) {
        return 0;
    }
    double off = 0;
    double largest = 0;
    lg_gradient_view right = lg_gradient_open(s->batch, s->reference);
    for (int64_t row = 0; row < right.n_rows; row++) {
        double scale = 0;
        double worst = 0;
        for (int64_t c = 0; c < right.width; c++) {
            double want = lg_gradient_at(&right, row, c);
            double got = lg_output_get(s->gradient, lg_gradient_index(&right, row, c));
            bool same = got == want || (isnan(got) && isnan(want));
            double here = same ? 0 : fabs(got - want);
            worst = isnan(here) ? INFINITY : fmax(worst, here);
            off = !same && is_exactly_zero(s, row, want) ? fmax(off, 1) : off;
            scale = isfinite(want) ? fmax(scale, fabs(want)) : scale;
        }
        largest = fmax(largest, scale);
        off = fmax(off, worst > 0 ? worst / (scale > 0 ? scale : largest > 0 ? largest : 1) : 0);
    }
    lg_gradient_close(&right);
    return off;
}

static size size_of(const lg_suspicion *s, double off) {
    bool half = s->batch->input.dtype == LG_FLOAT16 || s->batch->input.dtype == LG_BFLOAT16;
    double rounding = half ? s->slack : 64 * s->slack;
    return off <= rounding ? SIZE_ROUNDING : off <= 0.05 ? SIZE_SMALL : SIZE_LARGE;
}

lg_pattern lg_pattern_of(const lg_suspicion *s) {
    lg_pattern p = {.loss_off = loss_deviation(s), .gradient_off = gradient_deviation(s)};
    p.gradient_alone = p.gradient_off > 0 && loss_is_right(s);
    p.rows_scale = lg_gradient_rows_scale(s);
    p.rounding = size_of(s, fmax(p.loss_off, p.gradient_off)) == SIZE_ROUNDING;
    return p;
}

// Whether the batch gives the cause room at all.
static bool has_room(const lg_suspicion *s, const lg_pattern *p, lg_cause cause) {
    const lg_batch *batch = s->batch;
    bool softmax = batch->loss.kind == LG_CROSS_ENTROPY;
    bool options = batch->loss.label_smoothing > 0 || lg_tensor_exists(&batch->weight) ||
                   lg_tensor_exists(&batch->pos_weight) || s->reference->n_ignored > 0;
    // Precision and races need nothing of a batch.
    return (cause != LG_CAUSE_OPTION_INTERPLAY || options) &&
           (cause != LG_CAUSE_INDEX_OVERFLOW || lg_overflows_narrow_offsets(batch)) &&
           (cause != LG_CAUSE_STRIDES_IGNORED || lg_is_strided(batch)) &&
           (cause != LG_CAUSE_WRONG_NORMALISATION || (batch->loss.reduction == LG_REDUCTION_MEAN &&
                                                      s->reference->scalar && p->rows_scale)) &&
           ((cause != LG_CAUSE_PADDED_LANES && cause != LG_CAUSE_SHARD_STATISTICS) || softmax) &&
           (cause != LG_CAUSE_GRADIENT_CONTRACT || p->gradient_alone);
}

static const char *pattern_text(const lg_suspicion *s, const lg_pattern *p) {
    const lg_batch *batch = s->batch;
    if (p->gradient_alone) {
        return lg_arena_printf(s->arena,
                               "the loss is right and the gradient is off by %.2g of its row",
                               p->gradient_off);
    }
    bool smooth = batch->loss.label_smoothing > 0;
    bool weighted = lg_tensor_exists(&batch->weight);
    bool positive = lg_tensor_exists(&batch->pos_weight);
    bool ignored = s->reference->n_ignored > 0;
    return lg_arena_printf(s->arena, "the loss is off by %.2g%s%s%s%s%s", p->loss_off,
                           smooth || weighted || positive || ignored ? " with" : "",
                           smooth ? " label smoothing" : "",
                           !weighted                   ? ""
                           : lg_batch_is_binary(batch) ? " weights"
                                                       : " class weights",
                           positive ? " pos_weight" : "", ignored ? " ignored rows" : "");
}

// The most that rounding can make of a number, relative: an operation errs by half a unit of the
// narrowest type anybody computes in, float16 (bfloat16 where the input is), and a chain of n by
// n times that of the terms' magnitudes. A handful of operations are made for each row.
static double rounding_room(const lg_suspicion *s) {
    enum { OPERATIONS_OF_A_ROW = 4 };
    const lg_batch *batch = s->batch;
    const lg_reference *r = s->reference;
    double n = OPERATIONS_OF_A_ROW;
    n += batch->loss.kind == LG_CROSS_ENTROPY ? (double)lg_batch_head_width(batch) : 0;
    n += r->scalar ? (double)r->n_rows : 0;
    bool mean = r->scalar && batch->loss.reduction == LG_REDUCTION_MEAN;
    double magnitude =
        r->scalar ? r->abs_sum / (mean && r->total_weight > 0 ? r->total_weight : 1) : 1;
    double loss = r->scalar && isfinite(r->loss[0]) ? fabs(r->loss[0]) : 1;
    double cancelled = fmax(1, isfinite(magnitude) ? magnitude / fmax(1, loss) : 1);
    return fmin(1, n * (batch->input.dtype == LG_BFLOAT16 ? 0x1p-8 : 0x1p-11)) * cancelled;
}

// Beyond what rounding can make, it is not quite impossible: a type narrower still, or an
// exponential of a rounded number.
#define PRIOR_BEYOND_ROUNDING 0.01
// Where nothing explains better than this what was seen, no cause is named.
#define LEAST_WEIGHT 0.005

int lg_guess_by_pattern(const lg_suspicion *s, const lg_pattern *p, lg_guess *out, bool *unlikely) {
    int n = 0;
    double best = 0;
    double off = fmax(p->loss_off, p->gradient_off);
    size at = size_of(s, off);
    const char *text = pattern_text(s, p);
    lg_broken_invariant invariant;
    bool checked = p->gradient_alone && s->reference->n_invalid == 0;
    const char *broken =
        checked && lg_invariants_check(s->batch, s->reference, s->seen, s->arena, &invariant)
            ? invariant.text
            : NULL;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        if (has_room(s, p, sizes[i].cause)) {
            // What moves a loss seldom spares it and hits the gradient alone.
            bool of_gradient = sizes[i].cause == LG_CAUSE_GRADIENT_CONTRACT;
            bool elsewhere =
                p->gradient_alone && !of_gradient && sizes[i].cause != LG_CAUSE_PRECISION;
            bool beyond = sizes[i].cause == LG_CAUSE_PRECISION && !(off <= rounding_room(s));
            double weight = lg_prior_of_kernel_cause(sizes[i].cause) * sizes[i].p[at];
            weight *= beyond ? PRIOR_BEYOND_ROUNDING : 1;
            best = fmax(best, weight);
            out[n++] = (lg_guess){.cause = sizes[i].cause,
                                  .weight = elsewhere ? weight * LG_PRIOR_LOSS_SPARED : weight,
                                  .why = of_gradient && broken ? broken : text};
        }
    }
    *unlikely = best < LEAST_WEIGHT;
    return n;
}
