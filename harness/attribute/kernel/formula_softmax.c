// SPDX-License-Identifier: Apache-2.0
// Other formulas of cross_entropy: a softmax that takes off something else than the maximum of its
// row, and the logarithm of a softmax that was rounded to 0.
#include "attribute/kernel/formula.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>

static double input_at(const lg_suspicion *s, int64_t row, int64_t c) {
    int64_t spatial = lg_batch_spatial(s->batch);
    int64_t width = lg_batch_head_width(s->batch);
    return lg_tensor_get_f64(&s->batch->input,
                             (row / spatial * width + c) * spatial + row % spatial);
}

static double log_mass(const lg_suspicion *s, int64_t row) {
    const lg_reference *r = s->reference;
    return r->row_max[row] + log1p(r->row_rest[row]);
}

// --- exponentials of something else than x minus the maximum

// What is taken off every logit of a row.
typedef double (*offset)(const lg_suspicion *s, int64_t row);

static double take_nothing(const lg_suspicion *s, int64_t row) {
    (void)s;
    (void)row;
    return 0;
}

static double take_positive_maximum(const lg_suspicion *s, int64_t row) {
    return fmax(0, s->reference->row_max[row]);
}

static double take_first(const lg_suspicion *s, int64_t row) {
    return input_at(s, row, 0);
}

typedef struct mass {
    double right;   // the sum of exponentials
    double rounded; // as the kernel's type makes it of each
    double unsure;  // rounding of exponentials among the denormals
    bool lost;      // infinite, or 0
    bool torn;      // all but denormal: where those are flushed, it is lost
} mass;

static mass mass_of(const lg_suspicion *s, int64_t row, offset take) {
    double off = take(s, row);
    double normal = s->batch->input.dtype == LG_FLOAT64 ? DBL_MIN : (double)FLT_MIN;
    mass m = {0};
    double largest = 0;
    for (int64_t c = 0; c < lg_batch_head_width(s->batch); c++) {
        double e = exp(input_at(s, row, c) - off);
        double rounded = lg_formula_round(s, e);
        m.right += e;
        m.rounded += rounded;
        m.unsure += rounded < normal ? lg_formula_least(s) : 0;
        largest = fmax(largest, rounded);
    }
    m.rounded = lg_formula_round(s, m.rounded);
    m.lost = isinf(m.rounded) || m.rounded == 0;
    m.torn = !m.lost && largest < normal;
    return m;
}

// What a row's loss changes by for each unit that the logarithm of its sum is off.
static double weight_of_mass(const lg_suspicion *s, int64_t row) {
    const lg_reference *r = s->reference;
    if (r->row_mass) {
        return r->row_mass[row];
    }
    bool weighted = lg_tensor_exists(&s->batch->weight);
    return weighted ? lg_tensor_get_f64(&s->batch->weight, lg_label_of(s, row)) : 1;
}

static lg_formula_value loss_with(const lg_suspicion *s, int64_t row, offset take) {
    double right = s->reference->row_loss[row];
    if (!lg_row_is_supervised(s, row) || !isfinite(log_mass(s, row))) {
        return (lg_formula_value){right, 0, false};
    }
    mass m = mass_of(s, row, take);
    if (m.lost) {
        return (lg_formula_value){INFINITY, 0, false};
    }
    double weight = weight_of_mass(s, row);
    double shift = m.torn ? weight * (log(m.rounded) - log(m.right)) : 0;
    return (lg_formula_value){right + shift, m.torn ? weight * m.unsure / m.rounded : 0, m.torn};
}

static lg_formula_value loss_with_nothing(const lg_suspicion *s, int64_t row, double unused) {
    (void)unused;
    return loss_with(s, row, take_nothing);
}

static lg_formula_value loss_with_positive(const lg_suspicion *s, int64_t row, double unused) {
    (void)unused;
    return loss_with(s, row, take_positive_maximum);
}

static lg_formula_value loss_with_first(const lg_suspicion *s, int64_t row, double unused) {
    (void)unused;
    return loss_with(s, row, take_first);
}

// --- the logarithm of a softmax

// p as it is rounded; the eps keeps log p from 0 where it is not 0 itself.
static lg_formula_value log_of_softmax(const lg_suspicion *s, int64_t row, double eps) {
    double right = s->reference->row_loss[row];
    if (!lg_row_is_supervised(s, row) || !isfinite(log_mass(s, row))) {
        return (lg_formula_value){right, 0, false};
    }
    double p = exp(input_at(s, row, lg_label_of(s, row)) - log_mass(s, row));
    double rounded = lg_formula_round(s, p);
    double normal = s->batch->input.dtype == LG_FLOAT64 ? DBL_MIN : (double)FLT_MIN;
    bool torn = rounded < normal;
    double weight = weight_of_mass(s, row);
    double least = lg_formula_least(s);
    return (lg_formula_value){
        .value = -weight * log(lg_formula_round(s, rounded + eps)),
        .unsure = torn && eps == 0 && rounded > 0 ? weight * 2 * least / rounded : 0,
        .may_be_lost = torn && eps == 0};
}

// --- the gradient

// Rows whose sum is lost have no right gradient, and all others have. Rows that are torn may be
// either. Returns how many are wrong, 0 when it is not so.
static int64_t count_lost_gradients(const lg_suspicion *s, offset take) {
    lg_gradient_view right = lg_gradient_open(s->batch, s->reference);
    int64_t n = 0;
    bool fits = true;
    for (int64_t row = 0; fits && row < right.n_rows; row++) {
        bool live = lg_row_is_supervised(s, row) && isfinite(log_mass(s, row));
        mass m = live ? mass_of(s, row, take) : (mass){0};
        bool wrong = lg_formula_gradient_row_is_off(s, &right, row);
        fits = m.torn || wrong == m.lost;
        n += wrong;
    }
    lg_gradient_close(&right);
    return fits ? n : 0;
}

// --- which of them it is

typedef struct formula_row {
    const char *what;
    lg_formula loss;
    offset take; // NULL: the gradient is right, or says nothing
    double eps;
} formula_row;

static const formula_row rows[] = {
    {"exponentials are taken of the logits as they are, without their maximum off",
     loss_with_nothing, take_nothing, 0},
    {"the running maximum starts at 0, not at -inf: exponentials of rows far below 0 are lost",
     loss_with_positive, take_positive_maximum, 0},
    {"the first class is taken off every logit, not the maximum", loss_with_first, take_first, 0},
    {"the logarithm is that of a softmax rounded to 0", log_of_softmax, NULL, 0},
    {"log(p + 1e-8) of the softmax is taken", log_of_softmax, NULL, 1e-8},
    {"log(p + 1e-7) of the softmax is taken", log_of_softmax, NULL, 1e-7},
    {"log(p + 1e-12) of the softmax is taken", log_of_softmax, NULL, 1e-12},
    {"log(p + 1e-6) of the softmax is taken", log_of_softmax, NULL, 1e-6},
    {"log(p + 1e-10) of the softmax is taken", log_of_softmax, NULL, 1e-10},
    {"log(p + 1e-9) of the softmax is taken", log_of_softmax, NULL, 1e-9},
    {"log(p + 1e-5) of the softmax is taken", log_of_softmax, NULL, 1e-5},
    {"log(p + 1e-20) of the softmax is taken", log_of_softmax, NULL, 1e-20},
    {"log(p + 1e-30) of the softmax is taken", log_of_softmax, NULL, 1e-30},
};

typedef struct evidence {
    int64_t n_telling;
    int64_t first; // of the loss; -1
} evidence;

static evidence try_row(const lg_suspicion *s, const formula_row *row, bool loss_off,
                        bool gradient_off) {
    evidence e = {0, -1};
    if (loss_off) {
        lg_formula_fit fit = lg_formula_fits_loss(s, row->loss, row->eps);
        if (fit.n_telling == 0) {
            return e;
        }
        e = (evidence){fit.n_telling, fit.first};
    }
    if (gradient_off) {
        int64_t n = row->take ? count_lost_gradients(s, row->take) : 0;
        return n > 0 ? (evidence){e.n_telling + n, e.first} : (evidence){0, -1};
    }
    return e;
}

// A row that the formula breaks, for the text: the loss may be a mean of all.
static int64_t first_broken(const lg_suspicion *s, const formula_row *row) {
    for (int64_t i = 0; i < s->reference->n_rows; i++) {
        lg_formula_value v = row->loss(s, i, row->eps);
        if (!isfinite(v.value) || v.may_be_lost ||
            !lg_is_near(s, v.value, s->reference->row_loss[i])) {
            return i;
        }
    }
    return -1;
}

static const char *text_of(const lg_suspicion *s, const formula_row *row, evidence e, bool either) {
    int64_t at = e.first >= 0 ? e.first : first_broken(s, row);
    const char *or_zero = either ? ", or the running maximum starts at 0" : "";
    if (at < 0) {
        return lg_arena_printf(s->arena, "%s%s", row->what, or_zero);
    }
    double least = INFINITY;
    for (int64_t c = 0; c < lg_batch_head_width(s->batch); c++) {
        least = fmin(least, input_at(s, at, c));
    }
    return lg_arena_printf(s->arena,
                           "%s%s: row %" PRId64 " has logits from %.6g to %.6g, and its loss is "
                           "%.9g",
                           row->what, or_zero, at, least, s->reference->row_max[at],
                           s->reference->row_loss[at]);
}

lg_cause lg_suspect_softmax_formula(const lg_suspicion *s, int64_t *n_telling, const char **why) {
    const lg_reference *r = s->reference;
    const lg_loss_options *options = &s->batch->loss;
    if (options->kind != LG_CROSS_ENTROPY || r->n_invalid > 0 || !r->row_max || !r->row_rest ||
        !(s->targets_fit || s->batch->target_is_probability)) {
        return LG_CAUSE_NONE;
    }
    bool loss_off = lg_formula_loss_is_off(s);
    bool gradient_off = lg_formula_gradient_is_off(s);
    if (!loss_off && !gradient_off) {
        return LG_CAUSE_NONE;
    }
    bool plain = s->targets_fit && options->label_smoothing == 0;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (rows[i].loss == log_of_softmax && !plain) {
            continue;
        }
        evidence e = try_row(s, &rows[i], loss_off, gradient_off);
        if (e.n_telling > 0) {
            bool either = i == 0 && try_row(s, &rows[1], loss_off, gradient_off).n_telling > 0;
            *n_telling = e.n_telling;
            *why = text_of(s, &rows[i], e, either);
            return LG_CAUSE_NUMERICAL_STABILITY;
        }
    }
    return LG_CAUSE_NONE;
}
