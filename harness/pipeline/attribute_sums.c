// SPDX-License-Identifier: Apache-2.0
// What a mean or sum over other rows, by another divisor, or in a narrower type would have
// returned.
#include "pipeline/attribute_kernel_parts.h"

#include <inttypes.h>
#include <math.h>

// A mean that was divided by another count: got × that count is the sum of the row losses.
static lg_cause suspect_divisor(const lg_suspicion *s, const char **why) {
    const lg_reference *r = s->reference;
    if (!r->scalar || s->batch->loss.reduction != LG_REDUCTION_MEAN || !s->loss->values) {
        return LG_CAUSE_NONE;
    }
    double sum = r->loss[0] * r->total_weight;
    const struct {
        const char *name;
        double n;
    } divisors[] = {{"the number of rows", (double)r->n_rows},
                    {"the number of live rows", (double)(r->n_rows - r->n_ignored)},
                    {"the number of samples", (double)lg_batch_samples(s->batch)},
                    {"the number of classes", (double)lg_batch_head_width(s->batch)},
                    {"1", 1}};
    for (size_t i = 0; i < sizeof divisors / sizeof *divisors; i++) {
        bool other = divisors[i].n > 0 && !lg_is_near(s, divisors[i].n, r->total_weight);
        if (other && lg_is_near(s, s->loss->values[0], sum / divisors[i].n)) {
            *why = lg_arena_printf(s->arena,
                                   "the mean is the sum divided by %s (%.9g), not by the total "
                                   "weight %.9g",
                                   divisors[i].name, divisors[i].n, r->total_weight);
            return LG_CAUSE_WRONG_NORMALISATION;
        }
    }
    return LG_CAUSE_NONE;
}

// 0/0 is NaN; a number there comes from a divisor that was kept away from 0.
static lg_cause suspect_empty_mean(const lg_suspicion *s, const char **why) {
    const lg_reference *r = s->reference;
    bool empty = r->scalar && s->batch->loss.reduction == LG_REDUCTION_MEAN && isnan(r->loss[0]) &&
                 r->n_ignored == r->n_rows;
    if (!empty || !isfinite(s->loss->values[0])) {
        return LG_CAUSE_NONE;
    }
    *why = lg_arena_printf(s->arena, "no row counts, and the mean over nothing is %.9g, not 0/0",
                           s->loss->values[0]);
    return LG_CAUSE_WRONG_NORMALISATION;
}

// The kernel says itself how many rows it counted.
static lg_cause suspect_count(const lg_suspicion *s, const char **why) {
    const lg_output *counted = s->total_weight;
    bool countable = counted && counted->values && counted->n == 1 &&
                     counted->dtype != LG_FLOAT16 && counted->dtype != LG_BFLOAT16 &&
                     !lg_tensor_exists(&s->batch->weight) && s->reference->scalar;
    if (!countable || lg_is_near(s, counted->values[0], s->reference->total_weight)) {
        return LG_CAUSE_NONE;
    }
    *why = lg_arena_printf(s->arena, "the kernel counts %.9g rows, and %.9g count",
                           counted->values[0], s->reference->total_weight);
    return LG_CAUSE_WRONG_NORMALISATION;
}

static double row_weight(const lg_suspicion *s, int64_t row) {
    if (!lg_row_is_live(s, row)) {
        return 0;
    }
    const lg_tensor *weight = &s->batch->weight;
    bool weighted = lg_tensor_exists(weight) && !s->batch->target_is_probability;
    return weighted ? lg_tensor_get_f64(weight, lg_label_of(s, row)) : 1;
}

// The mean of the means of `n` micro-batches of neighbouring rows; NaN when one has no weight.
static double mean_of_means(const lg_suspicion *s, int n) {
    int64_t n_rows = s->d->n_rows;
    double means = 0;
    for (int k = 0; k < n; k++) {
        double sum = 0;
        double weight = 0;
        for (int64_t row = n_rows * k / n; row < n_rows * (k + 1) / n; row++) {
            sum += s->reference->row_loss[row];
            weight += row_weight(s, row);
        }
        means += sum / weight;
    }
    return means / n;
}

static lg_cause suspect_micro_batches(const lg_suspicion *s, const char **why) {
    bool plain = s->reference->scalar && s->batch->loss.reduction == LG_REDUCTION_MEAN &&
                 s->d->targets_fit && s->reference->row_loss;
    for (int n = 2; plain && n <= 8 && n <= s->d->n_rows; n++) {
        double means = mean_of_means(s, n);
        if (lg_is_near(s, s->loss->values[0], means) &&
            !lg_is_near(s, means, s->reference->loss[0])) {
            *why = lg_arena_printf(s->arena,
                                   "the mean is that of the means of %d micro-batches, which have "
                                   "not as many live rows as each other",
                                   n);
            return LG_CAUSE_WRONG_NORMALISATION;
        }
    }
    return LG_CAUSE_NONE;
}

lg_cause lg_suspect_normalisation(const lg_suspicion *s, const char **why) {
    lg_cause (*const tests[])(const lg_suspicion *, const char **) = {
        suspect_empty_mean, suspect_count, suspect_divisor, suspect_micro_batches};
    lg_cause cause = LG_CAUSE_NONE;
    for (size_t i = 0; i < sizeof tests / sizeof *tests && cause == LG_CAUSE_NONE; i++) {
        cause = tests[i](s, why);
    }
    return cause;
}

// Rows beyond a block or a grid that nobody added: the sum is that of the first rows, a multiple of
// a warp, and short of all. Named with the faults of size: here the rows outgrow a grid.
lg_cause lg_suspect_missing_rows(const lg_suspicion *s, const char **why) {
    const lg_reference *r = s->reference;
    if (!r->scalar || !r->row_loss || !s->d->targets_fit || s->d->n_rows <= 32) {
        return LG_CAUSE_NONE;
    }
    bool mean = s->batch->loss.reduction == LG_REDUCTION_MEAN;
    double sum = 0;
    double weight = 0;
    for (int64_t row = 0; row + 1 < s->d->n_rows; row++) {
        sum += r->row_loss[row];
        weight += row_weight(s, row);
        double parts[] = {mean ? sum / r->total_weight : sum, mean ? sum / weight : sum};
        for (int i = 0; (row + 1) % 32 == 0 && i < 2; i++) {
            if (lg_is_near(s, s->loss->values[0], parts[i]) &&
                !lg_is_near(s, parts[i], r->loss[0])) {
                *why = lg_arena_printf(s->arena,
                                       "the loss is that of the first %" PRId64 " of %" PRId64
                                       " rows: the rows beyond are left out",
                                       row + 1, s->d->n_rows);
                return LG_CAUSE_INDEX_OVERFLOW;
            }
        }
    }
    return LG_CAUSE_NONE;
}

static double rounded(lg_dtype dtype, double value) {
    uint64_t element = 0;
    lg_dtype_set_f64(dtype, &element, 0, value);
    return lg_dtype_get_f64(dtype, &element, 0);
}

// The rows added one after another in the input's own type: what a sum in it is at its worst.
static double sum_in_input_type(const lg_suspicion *s) {
    lg_dtype dtype = s->batch->input.dtype;
    double sum = 0;
    for (int64_t row = 0; row < s->reference->n_rows; row++) {
        sum = rounded(dtype, sum + s->reference->row_loss[row]);
    }
    return sum;
}

lg_cause lg_suspect_narrow_sum(const lg_suspicion *s, const char **why) {
    const lg_reference *r = s->reference;
    lg_dtype dtype = s->batch->input.dtype;
    if (!r->scalar || !r->row_loss || (dtype != LG_FLOAT16 && dtype != LG_BFLOAT16)) {
        return LG_CAUSE_NONE;
    }
    bool mean = s->batch->loss.reduction == LG_REDUCTION_MEAN;
    double divisor = mean ? r->total_weight : 1;
    double got = s->loss->values[0];
    double narrow = rounded(dtype, sum_in_input_type(s) / divisor);
    // A tree of narrow sums errs less than a chain, and to the same side.
    bool between = (got <= r->loss[0] && got >= narrow) || (got >= r->loss[0] && got <= narrow);
    if (!between) {
        return LG_CAUSE_NONE;
    }
    *why =
        lg_arena_printf(s->arena,
                        "%" PRId64 " rows added in %s give %.9g, and the loss is %.9g instead of "
                        "%.9g",
                        r->n_rows, lg_dtype_name(dtype), narrow, got, r->loss[0]);
    return LG_CAUSE_PRECISION;
}
