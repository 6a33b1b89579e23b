// SPDX-License-Identifier: Apache-2.0
// What a softmax over other than the C classes, or smoothing over other than all of them, would
// have returned.
#include "attribute/kernel/internal.h"

#include <inttypes.h>
#include <math.h>

static double input_at(const lg_batch *batch, int64_t row, int64_t c) {
    int64_t spatial = lg_batch_spatial(batch);
    int64_t width = lg_batch_head_width(batch);
    return lg_tensor_get_f64(&batch->input, (row / spatial * width + c) * spatial + row % spatial);
}

// How much a row's loss grows when `extra` lanes of logit 0 join the softmax.
static double padding_shift(const lg_suspicion *s, int64_t row, double extra) {
    int64_t width = lg_batch_head_width(s->batch);
    double top = 0;
    for (int64_t c = 0; c < width; c++) {
        top = fmax(top, input_at(s->batch, row, c));
    }
    double sum = 0;
    for (int64_t c = 0; c < width; c++) {
        sum += exp(input_at(s->batch, row, c) - top);
    }
    return log1p(extra * exp(-top) / sum);
}

// The loss with `shift` added to each row that counts, as the reduction makes it of it.
static double shifted_loss(const lg_suspicion *s, int64_t element, double extra, double constant) {
    const lg_batch *batch = s->batch;
    if (!s->reference->scalar) {
        double shift = extra > 0 ? padding_shift(s, element, extra) : constant;
        return s->reference->loss[element] + shift;
    }
    double sum = 0;
    int64_t n = 0;
    for (int64_t row = 0; row < s->n_rows; row++) {
        if (batch->target_is_probability || lg_label_of(s, row) != batch->loss.ignore_index) {
            sum += extra > 0 ? padding_shift(s, row, extra) : constant;
            n++;
        }
    }
    bool mean = batch->loss.reduction == LG_REDUCTION_MEAN;
    return s->reference->loss[0] + (mean && n > 0 ? sum / (double)n : sum);
}

static bool all_shifted(const lg_suspicion *s, double extra, double constant) {
    int64_t n_compared = 0;
    for (int64_t i = 0; i < s->loss->n; i++) {
        bool ignored = !s->reference->scalar && !s->batch->target_is_probability &&
                       lg_label_of(s, i) == s->batch->loss.ignore_index;
        if (!ignored && !lg_is_near(s, s->loss->values[i], shifted_loss(s, i, extra, constant))) {
            return false;
        }
        n_compared += !ignored;
    }
    return n_compared > 0;
}

// The sum of exponentials of a row, over that of its largest logit.
static double log_mass(const lg_suspicion *s, int64_t row) {
    int64_t width = lg_batch_head_width(s->batch);
    double top = -INFINITY;
    for (int64_t c = 0; c < width; c++) {
        top = fmax(top, input_at(s->batch, row, c));
    }
    double sum = 0;
    for (int64_t c = 0; c < width; c++) {
        sum += exp(input_at(s->batch, row, c) - top);
    }
    return top + log(sum);
}

// Lanes that hold a number other than 0: the sum of exponentials of every row is too large by the
// same amount, which is what a row's loss is too high by, times its own sum. That tells them from a
// sum that is too large by a factor, as one that underflowed, only where the rows' sums differ.
static lg_cause suspect_filled_lanes(const lg_suspicion *s, const char **why) {
    double log_extra = NAN;
    double least = INFINITY;
    double most = -INFINITY;
    double unsure = 0;
    int64_t n = 0;
    for (int64_t row = 0; !s->reference->scalar && row < s->loss->n; row++) {
        double shift = s->loss->values[row] - s->reference->loss[row];
        if (!lg_row_is_supervised(s, row)) {
            continue;
        }
        if (!(shift > s->slack * fmax(1, fabs(s->reference->loss[row])))) {
            return LG_CAUSE_NONE;
        }
        double mass = log_mass(s, row);
        double extra = mass + log(expm1(shift));
        // What rounding of the loss leaves unsure of the excess.
        double here = 0.01 + s->slack * fmax(1, fabs(s->reference->loss[row])) / shift;
        if (n++ > 0 && !(fabs(extra - log_extra) <= fmin(here + unsure, 0.5))) {
            return LG_CAUSE_NONE;
        }
        log_extra = n == 1 || here < unsure ? extra : log_extra;
        unsure = n == 1 ? here : fmin(here, unsure);
        least = fmin(least, mass);
        most = fmax(most, mass);
    }
    if (n == 0 || !(most - least > 0.1 + 2 * unsure)) {
        return LG_CAUSE_NONE;
    }
    *why = lg_arena_printf(s->arena,
                           "the softmax of every row sums exp(%.4g) more than its %" PRId64
                           " classes do: lanes beyond them hold a number",
                           log_extra, lg_batch_head_width(s->batch));
    return LG_CAUSE_PADDED_LANES;
}

typedef struct smoothing {
    int shards;
    bool own_width; // the mass is spread over the classes of the shard: e over C/shards each
} smoothing;

// The loss of a row whose smoothing part knows the classes of the label's shard only.
static double shard_smoothed(const lg_suspicion *s, int64_t row, smoothing as) {
    int64_t width = lg_batch_head_width(s->batch);
    int64_t part = width / as.shards;
    int64_t label = lg_label_of(s, row);
    double e = s->batch->loss.label_smoothing;
    double mass = log_mass(s, row);
    double spread = 0;
    for (int64_t c = label / part * part; c < label / part * part + part; c++) {
        spread += mass - input_at(s->batch, row, c);
    }
    return (1 - e) * (mass - input_at(s->batch, row, label)) +
           e / (double)(as.own_width ? part : width) * spread;
}

static bool is_shard_smoothed(const lg_suspicion *s, smoothing as) {
    double sum = 0;
    int64_t n_live = 0;
    for (int64_t row = 0; row < s->n_rows; row++) {
        if (!lg_row_is_supervised(s, row)) {
            continue;
        }
        double loss = shard_smoothed(s, row, as);
        if (!s->reference->scalar && !lg_is_near(s, s->loss->values[row], loss)) {
            return false;
        }
        sum += loss;
        n_live++;
    }
    bool mean = s->batch->loss.reduction == LG_REDUCTION_MEAN;
    double all = mean ? sum / (double)n_live : sum;
    return n_live > 0 && (!s->reference->scalar || lg_is_near(s, s->loss->values[0], all));
}

static lg_cause suspect_shard_smoothing(const lg_suspicion *s, const char **why) {
    int64_t width = lg_batch_head_width(s->batch);
    if (!(s->batch->loss.label_smoothing > 0) || !s->targets_fit) {
        return LG_CAUSE_NONE;
    }
    for (int shards = 2; shards <= 8; shards++) {
        for (int own = 0; own < 2 && width % shards == 0 && width > shards; own++) {
            if (is_shard_smoothed(s, (smoothing){shards, own})) {
                *why = lg_arena_printf(s->arena,
                                       "the smoothing of a row covers the classes of one of %d "
                                       "shards, not all %" PRId64,
                                       shards, width);
                return LG_CAUSE_SHARD_STATISTICS;
            }
        }
    }
    return LG_CAUSE_NONE;
}

static lg_cause suspect_constant_shift(const lg_suspicion *s, const char **why) {
    int64_t width = lg_batch_head_width(s->batch);
    for (int64_t block = 32; block <= 1024; block *= 2) {
        int64_t extra = (block - width % block) % block;
        if (extra > 0 && all_shifted(s, (double)extra, 0)) {
            *why = lg_arena_printf(s->arena,
                                   "the softmax sums %" PRId64 " lanes beyond class "
                                   "%" PRId64,
                                   extra, width - 1);
            return LG_CAUSE_PADDED_LANES;
        }
    }
    for (int shards = 2; shards <= 8; shards++) {
        if (all_shifted(s, 0, log(shards))) {
            *why = lg_arena_printf(s->arena,
                                   "every row's loss is too high by ln %d: %d shards each "
                                   "hold all classes",
                                   shards, shards);
            return LG_CAUSE_SHARD_STATISTICS;
        }
    }
    return LG_CAUSE_NONE;
}

lg_cause lg_suspect_softmax(const lg_suspicion *s, const char **why) {
    const lg_batch *batch = s->batch;
    bool plain = batch->loss.kind == LG_CROSS_ENTROPY && !lg_tensor_exists(&batch->weight) &&
                 (batch->target_is_probability || s->targets_fit);
    if (!plain) {
        return LG_CAUSE_NONE;
    }
    lg_cause cause = suspect_constant_shift(s, why);
    if (cause == LG_CAUSE_NONE && !batch->target_is_probability) {
        cause = suspect_shard_smoothing(s, why);
    }
    if (cause == LG_CAUSE_NONE && batch->loss.label_smoothing == 0) {
        cause = suspect_filled_lanes(s, why);
    }
    return cause;
}

// The logarithm of a row's sum of exponentials without those of one warp of a block that takes the
// classes 32 a warp, in turn.
static double log_mass_without(const lg_suspicion *s, int64_t row, int64_t n_warps, int64_t out) {
    int64_t width = lg_batch_head_width(s->batch);
    double top = -INFINITY;
    double sum = 0;
    for (int64_t c = 0; c < width; c++) {
        top = c / 32 % n_warps == out ? top : fmax(top, input_at(s->batch, row, c));
    }
    for (int64_t c = 0; c < width; c++) {
        sum += c / 32 % n_warps == out ? 0 : exp(input_at(s->batch, row, c) - top);
    }
    return top + log(sum);
}

static double weight_of_row(const lg_suspicion *s, int64_t row) {
    const lg_tensor *weight = &s->batch->weight;
    return lg_tensor_exists(weight) ? lg_tensor_get_f64(weight, lg_label_of(s, row)) : 1;
}

// Whether the loss is that of softmaxes without one warp's classes, each row's or their sum or
// mean.
static bool is_loss_without(const lg_suspicion *s, int64_t n_warps, int64_t out) {
    const lg_reference *r = s->reference;
    double sum = 0;
    for (int64_t row = 0; row < s->n_rows; row++) {
        if (!lg_row_is_supervised(s, row)) {
            continue;
        }
        double mass = log_mass_without(s, row, n_warps, out);
        double own = (mass - input_at(s->batch, row, lg_label_of(s, row))) * weight_of_row(s, row);
        if (!r->scalar && !lg_is_near(s, s->loss->values[row], own)) {
            return false;
        }
        sum += own;
    }
    double all = s->batch->loss.reduction == LG_REDUCTION_MEAN ? sum / r->total_weight : sum;
    return !r->scalar ||
           (lg_is_near(s, s->loss->values[0], all) && !lg_is_near(s, all, r->loss[0]));
}

lg_cause lg_suspect_left_out_warp(const lg_suspicion *s, const char **why) {
    const lg_batch *batch = s->batch;
    bool plain = batch->loss.kind == LG_CROSS_ENTROPY && !batch->target_is_probability &&
                 s->targets_fit && batch->loss.label_smoothing == 0;
    int64_t width = lg_batch_head_width(batch);
    for (int64_t n = 2; plain && n <= 32 && width > 32 * (n - 1); n *= 2) {
        // The last, or the first: a loop over the warps that ends or begins at the wrong one.
        for (int first = 0; first < 2; first++) {
            int64_t out = first ? 0 : n - 1;
            if (is_loss_without(s, n, out)) {
                *why = lg_arena_printf(s->arena,
                                       "the softmax leaves out the classes of warp %" PRId64
                                       " of %" PRId64 " of its block",
                                       out, n);
                return LG_CAUSE_SHARD_STATISTICS;
            }
        }
    }
    return LG_CAUSE_NONE;
}
