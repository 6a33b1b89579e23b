// SPDX-License-Identifier: Apache-2.0
// What a mean or sum over other rows, by another divisor, or in a narrower type would have
// returned.
#include "attribute/kernel/internal.h"

#include <inttypes.h>
#include <math.h>

// A mean that was divided by another count: got × that count is the sum of the row losses.
static lg_cause suspect_divisor(const lg_suspicion *s, const char **why) {
    const lg_reference *r = s->reference;
    if (!r->scalar || s->batch->loss.reduction != LG_REDUCTION_MEAN || !s->loss->values) {
        return LG_CAUSE_NONE;
    }
    double sum = r->loss[0] * r->total_weight;
    bool scales = lg_gradient_rows_scale(s);
    const struct {
        const char *name;
        double n;
    } divisors[] = {{"the number of rows", (double)r->n_rows},
                    {"the number of supervised rows", (double)(r->n_rows - r->n_ignored)},
                    {"the number of samples", (double)lg_batch_samples(s->batch)},
                    {"the number of classes", (double)lg_batch_head_width(s->batch)},
                    {"1", 1}};
    for (size_t i = 0; i < sizeof divisors / sizeof *divisors; i++) {
        bool other = divisors[i].n > 0 && !lg_is_near(s, divisors[i].n, r->total_weight);
        if (other && scales && lg_is_near(s, s->loss->values[0], sum / divisors[i].n)) {
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

static double row_weight(const lg_suspicion *s, int64_t row) {
    if (!lg_row_is_supervised(s, row)) {
        return 0;
    }
    const lg_tensor *weight = &s->batch->weight;
    bool weighted = lg_tensor_exists(weight) && !s->batch->target_is_probability;
    return weighted ? lg_tensor_get_f64(weight, lg_label_of(s, row)) : 1;
}

static double rounded(lg_dtype dtype, double value) {
    uint64_t element = 0;
    lg_dtype_set_f64(dtype, &element, 0, value);
    return lg_dtype_get_f64(dtype, &element, 0);
}

// The weights added one after another in the input's type: less is no matter of precision.
static double narrow_total_weight(const lg_suspicion *s) {
    double sum = 0;
    for (int64_t row = 0; row < s->n_rows; row++) {
        sum = rounded(s->batch->input.dtype, sum + row_weight(s, row));
    }
    return sum;
}

// A total weight as the narrow type of the input makes it of its rows.
static bool is_narrow_weight(const lg_suspicion *s, double got, double want) {
    lg_dtype dtype = s->batch->input.dtype;
    bool half = dtype == LG_FLOAT16 || dtype == LG_BFLOAT16;
    double narrow = half && s->targets_fit ? narrow_total_weight(s) : want;
    return (got <= want && got >= narrow) || (got >= want && got <= narrow) || isinf(got);
}

// The kernel says itself what it divides by, and that is exact or nearly so.
lg_cause lg_suspect_count(const lg_suspicion *s, const char **why) {
    const lg_output *counted = s->total_weight;
    if (!counted || !counted->values || counted->n != 1 || !s->reference->scalar) {
        return LG_CAUSE_NONE;
    }
    double got = counted->values[0];
    double want = s->reference->total_weight;
    bool half = counted->dtype == LG_FLOAT16 || counted->dtype == LG_BFLOAT16;
    bool weighted = lg_tensor_exists(&s->batch->weight) && !s->batch->target_is_probability;
    // Rounding may take a part of a long sum of weights; of a count it takes nothing.
    double slack = weighted ? fmax(64 * 0x1p-18, half ? 0x1p-4 : 0) : half ? 0x1p-4 : 0x1p-18;
    if (!isfinite(want) || fabs(got - want) <= slack * fmax(1, fabs(want)) ||
        is_narrow_weight(s, got, want)) {
        return LG_CAUSE_NONE;
    }
    *why =
        isnan(got) ? lg_arena_printf(s->arena,
                                     "the total weight is no number, and %.9g is right: it is "
                                     "written in part, or 0/0",
                                     want)
        : weighted || got != floor(got)
            ? lg_arena_printf(s->arena,
                              "the kernel's total weight is %.9g, and that of the rows that "
                              "count is %.9g",
                              got, want)
            : lg_arena_printf(s->arena, "the kernel counts %.9g rows, and %.9g count", got, want);
    return LG_CAUSE_WRONG_NORMALISATION;
}

// The mean of the means of `n` micro-batches of neighbouring rows; NaN when one has no weight.
static double mean_of_means(const lg_suspicion *s, int n) {
    int64_t n_rows = s->n_rows;
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
                 s->targets_fit && s->reference->row_loss && lg_gradient_rows_scale(s);
    for (int n = 2; plain && n <= 8 && n <= s->n_rows; n++) {
        double means = mean_of_means(s, n);
        if (lg_is_near(s, s->loss->values[0], means) &&
            !lg_is_near(s, means, s->reference->loss[0])) {
            *why = lg_arena_printf(s->arena,
                                   "the mean is that of the means of %d micro-batches, which have "
                                   "not as many supervised rows as each other",
                                   n);
            return LG_CAUSE_WRONG_NORMALISATION;
        }
    }
    return LG_CAUSE_NONE;
}

lg_cause lg_suspect_normalisation(const lg_suspicion *s, const char **why) {
    lg_cause (*const tests[])(const lg_suspicion *, const char **) = {
        suspect_empty_mean, suspect_divisor, suspect_micro_batches};
    lg_cause cause = LG_CAUSE_NONE;
    for (size_t i = 0; i < sizeof tests / sizeof *tests && cause == LG_CAUSE_NONE; i++) {
        cause = tests[i](s, why);
    }
    return cause;
}

// A sum or mean of some rows.
typedef struct part {
    double sum;
    double weight;
} part;

// Whether the loss is that of the part: short of all, and by more than rounding.
static bool is_loss_of_part(const lg_suspicion *s, part p) {
    const lg_reference *r = s->reference;
    bool mean = s->batch->loss.reduction == LG_REDUCTION_MEAN;
    double parts[] = {mean ? p.sum / r->total_weight : p.sum, mean ? p.sum / p.weight : p.sum};
    for (int i = 0; i < 2; i++) {
        if (lg_is_near(s, s->loss->values[0], parts[i]) && !lg_is_near(s, parts[i], r->loss[0])) {
            return true;
        }
    }
    return false;
}

static double weight_of(const lg_suspicion *s, int64_t row) {
    return lg_batch_is_binary(s->batch) ? 1 : row_weight(s, row);
}

// Blocks of `size` threads walk the rows, `n_blocks` of them, and the sums of the last ones are
// left out: `kept` are added.
static bool is_sum_of_blocks(const lg_suspicion *s, int64_t size, int64_t n_blocks, int64_t kept) {
    part p = {0, 0};
    for (int64_t row = 0; row < s->n_rows; row++) {
        if (row / size % n_blocks < kept) {
            p.sum += s->reference->row_loss[row];
            p.weight += weight_of(s, row);
        }
    }
    return is_loss_of_part(s, p);
}

static lg_cause suspect_missing_blocks(const lg_suspicion *s, const char **why) {
    // Few sizes: each one more is one more chance to fit what another fault left.
    static const int64_t sizes[] = {256, 128, 512, 1024, 64};
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        int64_t size = sizes[k];
        for (int64_t n = 2; n <= 128 && size * (n - 1) < s->n_rows; n *= 2) {
            const int64_t kept[] = {n - 1, n / 2};
            for (int i = 0; i < (n > 2 ? 2 : 1); i++) {
                if (is_sum_of_blocks(s, size, n, kept[i])) {
                    *why = lg_arena_printf(s->arena,
                                           "the loss is that of %" PRId64 " of %" PRId64
                                           " blocks of %" PRId64 " threads that share the %" PRId64
                                           " rows: the sums of the others are left out",
                                           kept[i], n, size, s->n_rows);
                    return LG_CAUSE_INDEX_OVERFLOW;
                }
            }
        }
    }
    return LG_CAUSE_NONE;
}

// Rows beyond a block or a grid that nobody added: the sum is that of the first rows, a multiple of
// a warp, and short of all. Named with the faults of size: here the rows outgrow a grid.
lg_cause lg_suspect_missing_rows(const lg_suspicion *s, const char **why) {
    const lg_reference *r = s->reference;
    bool countable = s->targets_fit || lg_batch_is_binary(s->batch);
    if (!r->scalar || !r->row_loss || !countable || s->n_rows <= 32) {
        return LG_CAUSE_NONE;
    }
    part p = {0, 0};
    for (int64_t row = 0; row + 1 < s->n_rows; row++) {
        p.sum += r->row_loss[row];
        p.weight += weight_of(s, row);
        if ((row + 1) % 32 == 0 && is_loss_of_part(s, p)) {
            *why = lg_arena_printf(s->arena,
                                   "the loss is that of the first %" PRId64 " of %" PRId64
                                   " rows: the rows beyond are left out",
                                   row + 1, s->n_rows);
            return LG_CAUSE_INDEX_OVERFLOW;
        }
    }
    return suspect_missing_blocks(s, why);
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
