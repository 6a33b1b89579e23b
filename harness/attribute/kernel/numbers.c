// SPDX-License-Identifier: Apache-2.0
// A wrong number of a kernel on a valid batch: the first kind of broken kernel that would have
// returned it.
#include "attribute/kernel/internal.h"

#include "labels/labels.h"
#include "reference/reference.h"
#include "support/plain.h"

#include <inttypes.h>
#include <math.h>

static bool loss_is_off(const lg_suspicion *s) {
    if (!s->loss || !s->loss->values || s->loss->n != s->reference->n_loss) {
        return false;
    }
    for (int64_t i = 0; i < s->loss->n; i++) {
        double want = s->reference->loss[i];
        bool both_nan = isnan(want) && isnan(s->loss->values[i]);
        if (!both_nan && s->loss->values[i] != want && !lg_is_near(s, s->loss->values[i], want)) {
            return true;
        }
    }
    return false;
}

static bool is_off(const lg_suspicion *s, double got, double want) {
    return !lg_is_near(s, got, want);
}

static bool is_lost(const lg_suspicion *s, double got, double want) {
    (void)s;
    return isfinite(want) && !isfinite(got);
}

// The first element of the gradient that is so; -1: none.
static int64_t first_of_gradient(const lg_suspicion *s,
                                 bool (*is)(const lg_suspicion *, double, double)) {
    int64_t first = -1;
    if (!lg_output_exists(s->gradient) || s->gradient->n != lg_tensor_numel(&s->batch->input)) {
        return first;
    }
    lg_gradient_view right = lg_gradient_open(s->batch, s->reference);
    for (int64_t row = 0; row < right.n_rows; row++) {
        for (int64_t c = 0; c < right.width; c++) {
            int64_t i = lg_gradient_index(&right, row, c);
            bool found = (first < 0 || i < first) &&
                         is(s, lg_output_get(s->gradient, i), lg_gradient_at(&right, row, c));
            first = found ? i : first;
        }
    }
    lg_gradient_close(&right);
    return first;
}

// Rows are right up to the first whose offsets do not fit 15 or 16 bits, and wrong from there on:
// `first` is that element, -1 when there is none.
static lg_cause suspect_overflow(const lg_suspicion *s, const lg_output *out, int64_t first,
                                 int64_t elements_a_row, const char **why) {
    int64_t offset = first * elements_a_row;
    if (first >= 0 && offset + elements_a_row >= INT16_MAX) {
        *why = lg_arena_printf(s->arena,
                               "%s is right up to element %" PRId64 ", offset %" PRId64
                               ", and wrong from there on",
                               lg_arg_name(out->arg), first, offset);
        return LG_CAUSE_INDEX_OVERFLOW;
    }
    return LG_CAUSE_NONE;
}

static bool is_half(lg_dtype dtype) {
    return dtype == LG_FLOAT16 || dtype == LG_BFLOAT16;
}

static double rounded_to(lg_dtype dtype, double value) {
    uint64_t element = 0;
    lg_dtype_set_f64(dtype, &element, 0, value);
    return lg_dtype_get_f64(dtype, &element, 0);
}

// Every wrong row holds the loss of the class that its label becomes in a narrow floating type.
static lg_cause suspect_label_type(const lg_suspicion *s, const char **why) {
    const lg_batch *batch = s->batch;
    const lg_dtype types[] = {LG_FLOAT16, LG_BFLOAT16, LG_FLOAT32};
    bool plain = batch->loss.kind == LG_NLL_LOSS && !s->reference->scalar && s->targets_fit &&
                 !lg_tensor_exists(&batch->weight);
    int64_t width = lg_batch_head_width(batch);
    int64_t spatial = lg_batch_spatial(batch);
    for (size_t k = 0; plain && k < sizeof types / sizeof *types; k++) {
        int64_t first = -1;
        bool all = true;
        for (int64_t row = 0; row < s->n_rows && all; row++) {
            if (lg_is_near(s, s->loss->values[row], s->reference->loss[row])) {
                continue;
            }
            double label = rounded_to(types[k], (double)lg_label_of(s, row));
            int64_t class = label >= 0 && label < (double)width ? (int64_t)label : -1;
            int64_t at = (row / spatial * width + class) * spatial + row % spatial;
            all = class >= 0 && class != lg_label_of(s, row) &&
                  lg_is_near(s, s->loss->values[row], -lg_tensor_get_f64(&batch->input, at));
            first = first < 0 ? row : first;
        }
        if (all && first >= 0) {
            *why = lg_arena_printf(s->arena,
                                   "row %" PRId64 " has the loss of class %.0f: its label %" PRId64
                                   " was kept in %s",
                                   first, rounded_to(types[k], (double)lg_label_of(s, first)),
                                   lg_label_of(s, first), lg_dtype_name(types[k]));
            return LG_CAUSE_PRECISION;
        }
    }
    return LG_CAUSE_NONE;
}

// A gradient that is wrong while the loss is right, or was not asked for.
static lg_cause suspect_gradient(const lg_suspicion *s, const lg_pattern *pattern,
                                 const char **why) {
    const lg_output *weight = s->total_weight;
    if (weight && weight->values && weight->n > 0 && isinf(weight->values[0])) {
        *why = "the total weight is infinite in its type, and divides the gradient to 0";
        return LG_CAUSE_PRECISION;
    }
    if (!lg_output_exists(s->gradient)) {
        return lg_suspect_normalisation(s,
                                        why); // of what was returned, only the count can be wrong
    }
    if (pattern->rounding) {
        return LG_CAUSE_NONE;
    }
    lg_cause overflow = LG_CAUSE_NONE;
    if (lg_overflows_narrow_offsets(s->batch)) {
        overflow = suspect_overflow(s, s->gradient, first_of_gradient(s, is_off), 1, why);
    }
    if (overflow != LG_CAUSE_NONE) {
        return overflow;
    }
    int64_t lost = is_half(s->batch->input.dtype) ? first_of_gradient(s, is_lost) : -1;
    if (lost >= 0) {
        *why = lg_arena_printf(s->arena,
                               "element %" PRId64 " of the gradient is no number in %s: a small "
                               "constant or a large sum does not fit the type",
                               lost, lg_dtype_name(s->batch->input.dtype));
        return LG_CAUSE_PRECISION;
    }
    return lg_suspect_padded_gradient(s, why);
}

static lg_cause suspect_row_overflow(const lg_suspicion *s, const char **why) {
    if (s->reference->scalar) {
        return LG_CAUSE_NONE;
    }
    if (!lg_overflows_narrow_offsets(s->batch)) {
        return LG_CAUSE_NONE;
    }
    int64_t first = -1;
    for (int64_t i = 0; i < s->loss->n && first < 0; i++) {
        first = is_off(s, s->loss->values[i], s->reference->loss[i]) ? i : first;
    }
    return suspect_overflow(s, s->loss, first, lg_batch_head_width(s->batch), why);
}

static double largest_exponent(lg_dtype dtype) {
    return dtype == LG_FLOAT64 ? 709.78 : dtype == LG_FLOAT16 ? 11.09 : 88.72;
}

// Whether the gradient has no number where one is right.
static bool gradient_is_lost(const lg_suspicion *s) {
    return first_of_gradient(s, is_lost) >= 0;
}

// The first logit of a row whose exponential, or the inverse, is no number in its type; -1: none.
static int64_t first_overflowing(const lg_suspicion *s, int64_t row) {
    const lg_batch *batch = s->batch;
    int64_t width = lg_batch_is_binary(batch) ? 1 : lg_batch_head_width(batch);
    int64_t spatial = lg_batch_is_binary(batch) ? 1 : lg_batch_spatial(batch);
    double largest = largest_exponent(batch->input.dtype);
    for (int64_t c = 0; c < width; c++) {
        int64_t at = (row / spatial * width + c) * spatial + row % spatial;
        double x = lg_tensor_get_f64(&batch->input, at);
        if (isfinite(x) && fabs(x) > largest) {
            return at;
        }
    }
    return -1;
}

// A number is right where none was returned, and the exponential of some logit there is none in its
// type: it was taken of the logit itself, where the largest has to come off first.
static lg_cause suspect_overflowing_exp(const lg_suspicion *s, const char **why) {
    const lg_reference *r = s->reference;
    lg_loss_kind kind = s->batch->loss.kind;
    bool by_row = s->loss && s->loss->values && !r->scalar;
    int64_t at = -1;
    if (kind != LG_CROSS_ENTROPY && kind != LG_BCE_WITH_LOGITS) {
        return LG_CAUSE_NONE;
    }
    for (int64_t row = 0; row < r->n_rows; row++) {
        int64_t here = first_overflowing(s, row);
        if (here < 0 && by_row && is_lost(s, s->loss->values[row], r->loss[row])) {
            return LG_CAUSE_NONE; // something else loses numbers
        }
        at = at < 0 ? here : at;
    }
    if (at < 0) {
        return LG_CAUSE_NONE;
    }
    *why = lg_arena_printf(s->arena,
                           "no number is returned where one is right: element %" PRId64
                           " is %.4g, and %s does not hold its exponential or the inverse",
                           at, lg_tensor_get_f64(&s->batch->input, at),
                           lg_dtype_name(s->batch->input.dtype));
    return LG_CAUSE_NUMERICAL_STABILITY;
}

// A negative log likelihood only picks and adds: what is no number, or far beyond all its terms,
// was in memory that nobody had written. A half can overflow.
static lg_cause suspect_garbage(const lg_suspicion *s, const char **why) {
    lg_dtype dtype = s->batch->input.dtype;
    bool wide = dtype == LG_FLOAT32 || dtype == LG_FLOAT64;
    const lg_reference *r = s->reference;
    bool plain = s->batch->loss.kind == LG_NLL_LOSS && wide && r->scalar && isfinite(r->loss[0]);
    double got = plain ? s->loss->values[0] : 0;
    if (!plain || fabs(got) <= 1e6 * fmax(1, r->abs_sum)) {
        return LG_CAUSE_NONE;
    }
    *why = lg_arena_printf(s->arena,
                           "the loss is %.9g, and its terms add up to %.9g at most: something that "
                           "was never written takes part",
                           lg_plain(got), r->abs_sum);
    return LG_CAUSE_UNWRITTEN_OUTPUT;
}

bool lg_loss_is_of_another_class(const lg_suspicion *s) {
    for (int64_t i = 0; i < s->loss->n; i++) {
        if (isfinite(s->loss->values[i]) != isfinite(s->reference->loss[i])) {
            return true;
        }
    }
    return false;
}

lg_cause lg_suspect_numbers(const lg_suspicion *s, const lg_pattern *pattern, int64_t *n_telling,
                            const char **why) {
    *n_telling = 1;
    lg_cause cause = lg_suspect_count(s, why);
    if (cause != LG_CAUSE_NONE) {
        *n_telling = LG_CHANCE_MATCHES; // the number itself is wrong, not like another one
        return cause;
    }
    if (!s->loss && lg_output_exists(s->gradient)) {
        return suspect_gradient(s, pattern, why);
    }
    if (!s->loss || !s->loss->values || s->loss->n != s->reference->n_loss) {
        return LG_CAUSE_NONE;
    }
    if (!loss_is_off(s)) {
        cause = gradient_is_lost(s) ? suspect_overflowing_exp(s, why) : LG_CAUSE_NONE;
        return cause == LG_CAUSE_NONE ? suspect_gradient(s, pattern, why) : cause;
    }
    *n_telling = s->loss->n;
    lg_cause (*const tests[])(const lg_suspicion *, const char **) = {
        lg_suspect_narrow_sum,    lg_suspect_missing_rows, lg_suspect_softmax,
        lg_suspect_left_out_warp, suspect_label_type,      suspect_row_overflow};
    cause = lg_suspect_normalisation(s, why);
    cause = cause == LG_CAUSE_NONE ? suspect_garbage(s, why) : cause;
    if (lg_loss_is_of_another_class(s)) {
        return cause == LG_CAUSE_NONE ? suspect_overflowing_exp(s, why) : cause;
    }
    for (size_t i = 0; i < sizeof tests / sizeof *tests && cause == LG_CAUSE_NONE; i++) {
        cause = tests[i](s, why);
    }
    return cause;
}
