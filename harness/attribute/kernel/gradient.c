// SPDX-License-Identifier: Apache-2.0
// A gradient whose rows do not add up to 0, by lanes beyond the classes.
#include "attribute/kernel/internal.h"

#include "judge/judge.h"
#include "reference/reference.h"

#include <inttypes.h>
#include <math.h>

// Logarithm of the sum of exponentials of a row; its softmax in the gradient adds up to `softmax`.
typedef struct row_sums {
    double log_mass;
    double softmax;
} row_sums;

// False: the row's gradient adds up to 0, as it should, or the row is not finite.
static bool sum_row(const lg_suspicion *s, int64_t row, row_sums *out) {
    const lg_reference *r = s->reference;
    int64_t width = lg_batch_head_width(s->batch);
    int64_t spatial = lg_batch_spatial(s->batch);
    lg_sum sum = {0};
    for (int64_t c = 0; c < width; c++) {
        lg_sum_add(&sum, lg_output_get(s->gradient,
                                       (row / spatial * width + c) * spatial + row % spatial));
    }
    bool weighted = lg_tensor_exists(&s->batch->weight);
    double scale = lg_row_upstream(s->batch, row);
    scale *= weighted ? lg_tensor_get_f64(&s->batch->weight, lg_label_of(s, row)) : 1;
    scale /= s->batch->loss.reduction == LG_REDUCTION_MEAN ? r->total_weight : 1;
    *out = (row_sums){.log_mass = r->row_max[row] + log1p(r->row_rest[row]),
                      .softmax = 1 + lg_sum_value(&sum) / scale};
    return fabs(lg_sum_value(&sum)) > lg_tolerance_row_sum(s->batch, r, row) &&
           isfinite(out->log_mass) && isfinite(out->softmax);
}

// Lanes beyond C make every row's denominator too large by the same number. That tells them from a
// softmax that is too small by a factor only where the rows' own sums differ.
static lg_cause suspect_padded_gradient(const lg_suspicion *s, const char **why) {
    double log_extra = NAN;
    double least = INFINITY;
    double most = -INFINITY;
    for (int64_t row = 0; row < s->n_rows; row++) {
        row_sums sums;
        if (!lg_row_is_supervised(s, row)) {
            continue;
        }
        if (!sum_row(s, row, &sums) || !(sums.softmax > 0 && sums.softmax < 1)) {
            return LG_CAUSE_NONE;
        }
        double extra = sums.log_mass + log(1 / sums.softmax - 1);
        if (!isnan(log_extra) && !(fabs(extra - log_extra) <= 0.01 * fmax(1, fabs(extra)))) {
            return LG_CAUSE_NONE;
        }
        log_extra = extra;
        least = fmin(least, sums.log_mass);
        most = fmax(most, sums.log_mass);
    }
    if (!(most - least > 0.1 * fmax(1, fabs(log_extra)))) { // ten times what the rows may differ by
        return LG_CAUSE_NONE;
    }
    *why = lg_arena_printf(s->arena,
                           "the softmax in every row's gradient is divided by exp(%.4g) more than "
                           "its %" PRId64 " classes add up to: lanes beyond them take part",
                           log_extra, lg_batch_head_width(s->batch));
    return LG_CAUSE_PADDED_LANES;
}

lg_cause lg_suspect_padded_gradient(const lg_suspicion *s, const char **why) {
    const lg_output *gradient = s->gradient;
    bool plain = s->batch->loss.kind == LG_CROSS_ENTROPY && !s->batch->target_is_probability &&
                 s->batch->loss.label_smoothing == 0 && s->targets_fit;
    bool whole = lg_output_exists(gradient) && gradient->n == lg_tensor_numel(&s->batch->input) &&
                 s->reference->n_invalid == 0;
    return plain && whole ? suspect_padded_gradient(s, why) : LG_CAUSE_NONE;
}

// Whether the row's gradient is `factor` times the right one for some factor.
static bool row_scales(const lg_suspicion *s, lg_gradient_view *right, int64_t row) {
    double scale = 0;
    double factor = 1;
    for (int64_t c = 0; c < right->width; c++) {
        double want = lg_gradient_at(right, row, c);
        if (fabs(want) > scale) {
            scale = fabs(want);
            factor = lg_output_get(s->gradient, lg_gradient_index(right, row, c)) / want;
        }
    }
    double bound = s->slack * scale * fmax(1, fabs(factor));
    lg_sum sum = {0};
    for (int64_t c = 0; c < right->width; c++) {
        double got = lg_output_get(s->gradient, lg_gradient_index(right, row, c));
        if (!(fabs(got - factor * lg_gradient_at(right, row, c)) <= bound)) {
            return false;
        }
        lg_sum_add(&sum, got);
    }
    bool adds_up = s->batch->loss.kind == LG_CROSS_ENTROPY && scale > 0;
    // Sixteen times: a gradient of another scale rounds on that scale.
    return !adds_up ||
           fabs(lg_sum_value(&sum)) <=
               16 * fmax(1, fabs(factor)) * lg_tolerance_row_sum(s->batch, s->reference, row);
}

bool lg_gradient_rows_scale(const lg_suspicion *s) {
    if (!lg_output_exists(s->gradient) || s->gradient->n != lg_tensor_numel(&s->batch->input)) {
        return true;
    }
    bool scale = true;
    lg_gradient_view right = lg_gradient_open(s->batch, s->reference);
    for (int64_t row = 0; row < right.n_rows && scale; row++) {
        bool live = lg_batch_is_binary(s->batch) || !s->targets_fit || lg_row_is_supervised(s, row);
        scale = !live || row_scales(s, &right, row);
    }
    lg_gradient_close(&right);
    return scale;
}
