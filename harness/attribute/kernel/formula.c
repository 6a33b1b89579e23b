// SPDX-License-Identifier: Apache-2.0
#include "attribute/kernel/formula.h"

#include "judge/judge.h"

#include <float.h>
#include <math.h>

double lg_formula_round(const lg_suspicion *s, double value) {
    return s->batch->input.dtype == LG_FLOAT64 ? value : (double)(float)value;
}

double lg_formula_epsilon(const lg_suspicion *s) {
    return s->batch->input.dtype == LG_FLOAT64 ? 0x1p-53 : 0x1p-24;
}

double lg_formula_least(const lg_suspicion *s) {
    return s->batch->input.dtype == LG_FLOAT64 ? 0x1p-1074 : 0x1p-149;
}

// How far a number may be off for rounding alone.
typedef struct slack {
    double relative;
    double absolute;
} slack;

static slack slack_of_loss(const lg_suspicion *s) {
    return (slack){s->slack, s->slack};
}

// Of a gradient nothing but its own size says what is small, down to where denormals begin.
static slack slack_of_gradient(const lg_suspicion *s) {
    return (slack){s->slack, s->batch->input.dtype == LG_FLOAT64 ? DBL_MIN : (double)FLT_MIN};
}

static bool is_near(double got, double want, slack by) {
    return fabs(got - want) <= by.absolute + by.relative * fabs(want);
}

// Whether a right kernel may return it, or rounding alone takes it no further.
static bool is_right(const lg_suspicion *s, lg_quantity quantity, int64_t at, double got,
                     double right, slack by) {
    if (got == right || (isnan(got) && isnan(right))) {
        return true;
    }
    if (isfinite(right)) {
        by.absolute += lg_tolerance(s->batch, s->reference, quantity, at, right);
    }
    return is_near(got, right, by);
}

// Whether the number returned is what the formula gives.
static bool is_it(const lg_formula_value *v, double got, slack by) {
    if (!isfinite(v->value)) {
        return !isfinite(got);
    }
    by.absolute += v->unsure;
    return is_near(got, v->value, by) || (v->may_be_lost && !isfinite(got));
}

// So unsure that nearly any number fits: one that does says nothing.
static bool is_vague(const lg_formula_value *v) {
    return isfinite(v->value) && !(v->unsure <= 0.05 * fmax(1, fabs(v->value)));
}

// Counts a number of the fit that may be `right` too; false: the formula does not give it.
static bool count(lg_formula_fit *fit, const lg_formula_value *v, double got, bool right, slack by,
                  int64_t at) {
    if (!is_it(v, got, by)) {
        return false;
    }
    bool telling = !right && !is_vague(v);
    fit->first = telling && fit->n_telling == 0 ? at : fit->first;
    fit->n_telling += telling;
    return true;
}

static bool loss_is_right(const lg_suspicion *s, int64_t i) {
    return is_right(s, s->reference->scalar ? LG_Q_LOSS : LG_Q_ROW_LOSS, i, s->loss->values[i],
                    s->reference->loss[i], slack_of_loss(s));
}

bool lg_formula_loss_is_off(const lg_suspicion *s) {
    const lg_reference *r = s->reference;
    bool there = s->loss && s->loss->values && s->loss->n == r->n_loss;
    bool off = false;
    for (int64_t i = 0; there && i < r->n_loss && !off; i++) {
        off = !loss_is_right(s, i);
    }
    return off;
}

static bool gradient_is_right(const lg_suspicion *s, lg_gradient_view *right, int64_t row,
                              int64_t c) {
    int64_t at = lg_gradient_index(right, row, c);
    return is_right(s, LG_Q_GRADIENT, at, lg_output_get(s->gradient, at),
                    lg_gradient_at(right, row, c), slack_of_gradient(s));
}

bool lg_formula_gradient_row_is_off(const lg_suspicion *s, lg_gradient_view *right, int64_t row) {
    bool off = false;
    for (int64_t c = 0; c < right->width && !off; c++) {
        off = !gradient_is_right(s, right, row, c);
    }
    return off;
}

bool lg_formula_gradient_is_off(const lg_suspicion *s) {
    bool off = false;
    if (!lg_output_exists(s->gradient) || s->gradient->n != lg_tensor_numel(&s->batch->input)) {
        return off;
    }
    lg_gradient_view right = lg_gradient_open(s->batch, s->reference);
    for (int64_t row = 0; row < right.n_rows && !off; row++) {
        off = lg_formula_gradient_row_is_off(s, &right, row);
    }
    lg_gradient_close(&right);
    return off;
}

lg_formula_fit lg_formula_fits_loss(const lg_suspicion *s, lg_formula formula, double parameter) {
    const lg_reference *r = s->reference;
    const lg_formula_fit none = {0, -1};
    lg_formula_fit fit = none;
    lg_formula_value all = {0, 0, false};
    slack by = slack_of_loss(s);
    for (int64_t row = 0; row < r->n_rows; row++) {
        lg_formula_value v = formula(s, row, parameter);
        if (!r->scalar && !count(&fit, &v, s->loss->values[row], loss_is_right(s, row), by, row)) {
            return none;
        }
        all.value += v.value;
        all.unsure += v.unsure;
        all.may_be_lost = all.may_be_lost || v.may_be_lost;
    }
    if (r->scalar) {
        bool mean = s->batch->loss.reduction == LG_REDUCTION_MEAN;
        all.value /= mean ? r->total_weight : 1;
        all.unsure /= mean ? r->total_weight : 1;
        if (!count(&fit, &all, s->loss->values[0], loss_is_right(s, 0), by, -1)) {
            return none;
        }
    }
    return fit;
}

lg_formula_fit lg_formula_fits_gradient(const lg_suspicion *s, lg_formula formula,
                                        double parameter) {
    const lg_formula_fit none = {0, -1};
    lg_formula_fit fit = none;
    lg_gradient_view right = lg_gradient_open(s->batch, s->reference);
    for (int64_t row = 0; row < right.n_rows; row++) {
        lg_formula_value v = formula(s, row, parameter);
        if (!count(&fit, &v, lg_output_get(s->gradient, row), gradient_is_right(s, &right, row, 0),
                   slack_of_gradient(s), row)) {
            fit = none;
            break;
        }
    }
    lg_gradient_close(&right);
    return fit;
}
