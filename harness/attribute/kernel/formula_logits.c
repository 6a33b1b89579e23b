// SPDX-License-Identifier: Apache-2.0
// binary_cross_entropy_with_logits: exponentials that overflow, a sigmoid that is rounded before
// its logarithm is taken, a pos_weight on another term.
#include "attribute/kernel/formula_binary.h"

#include <float.h>
#include <math.h>

static double softplus(double x) {
    return fmax(x, 0) + log1p(exp(-fabs(x)));
}

static double sigmoid(double x) {
    return x >= 0 ? 1 / (1 + exp(-x)) : exp(x) / (1 + exp(x));
}

static lg_formula_value with_exp_of_minus(const lg_suspicion *s, int64_t row, double unused) {
    (void)unused;
    bool over = isinf(lg_formula_round(s, exp(-lg_binary_read(s, row).x)));
    return lg_formula_just(over ? INFINITY : s->reference->row_loss[row]);
}

static lg_formula_value with_exp(const lg_suspicion *s, int64_t row, double unused) {
    (void)unused;
    bool over = isinf(lg_formula_round(s, exp(lg_binary_read(s, row).x)));
    return lg_formula_just(over ? INFINITY : s->reference->row_loss[row]);
}

// log of σ(x) and of 1 - σ(x), rounded as numbers next to 1 and 0 are. Where rounding decides
// between 0 and a small number, any value is as good.
static lg_formula_value logs_of_sigmoid(const lg_suspicion *s, int64_t row, double least) {
    lg_binary_element e = lg_binary_read(s, row);
    double epsilon = lg_formula_epsilon(s);
    double normal = s->batch->input.dtype == LG_FLOAT64 ? DBL_MIN : (double)FLT_MIN;
    double p = sigmoid(e.x);
    double rest = sigmoid(-e.x);
    bool p_is_gone = p < lg_formula_least(s) / 4;
    bool rest_is_gone = rest < epsilon / 4;
    bool p_is_torn = e.t > 0 && !p_is_gone && p < normal;
    bool rest_is_torn = e.t < 1 && !rest_is_gone && rest < 4 * epsilon;
    lg_formula_value v = lg_binary_weigh(&e, fmax(p_is_gone ? -INFINITY : log(p), least),
                                         fmax(rest_is_gone ? -INFINITY : log(rest), least));
    if (p_is_torn || rest_is_torn) {
        return (lg_formula_value){s->reference->row_loss[row], INFINITY, true};
    }
    // What may be 0 may also be multiplied, log 0 by 0.
    v.may_be_lost = v.may_be_lost || (e.t == 0 && p < normal) || (e.t == 1 && rest < 4 * epsilon);
    v.unsure = rest_is_gone ? 0 : fabs(e.w) * (1 - e.t) * 2 * epsilon / rest;
    return v;
}

// A difference of sigmoids is as sure as its terms.
static lg_formula_value slope(const lg_suspicion *s, const lg_binary_element *e, double value) {
    return (lg_formula_value){value, fabs(e->scale) * (1 + e->v) * 2 * lg_formula_epsilon(s),
                              false};
}

static lg_formula_value positive_on_the_other(const lg_suspicion *s, int64_t row, double unused) {
    (void)unused;
    lg_binary_element e = lg_binary_read(s, row);
    return lg_formula_just(e.w * (e.t * softplus(-e.x) + e.v * (1 - e.t) * softplus(e.x)));
}

static lg_formula_value positive_on_both(const lg_suspicion *s, int64_t row, double unused) {
    (void)unused;
    lg_binary_element e = lg_binary_read(s, row);
    return lg_formula_just(e.w * e.v * (e.t * softplus(-e.x) + (1 - e.t) * softplus(e.x)));
}

static lg_formula_value slope_on_the_other(const lg_suspicion *s, int64_t row, double unused) {
    (void)unused;
    lg_binary_element e = lg_binary_read(s, row);
    return slope(s, &e, e.scale * (e.v * (1 - e.t) * sigmoid(e.x) - e.t * sigmoid(-e.x)));
}

static lg_formula_value slope_on_both(const lg_suspicion *s, int64_t row, double unused) {
    (void)unused;
    lg_binary_element e = lg_binary_read(s, row);
    return slope(s, &e, e.scale * e.v * ((1 - e.t) * sigmoid(e.x) - e.t * sigmoid(-e.x)));
}

static lg_formula_value slope_of_exp(const lg_suspicion *s, int64_t row, double unused) {
    (void)unused;
    lg_binary_element e = lg_binary_read(s, row);
    bool over = isinf(lg_formula_round(s, exp(e.x)));
    return slope(s, &e,
                 over ? NAN : e.scale * ((1 - e.t) * sigmoid(e.x) - e.v * e.t * sigmoid(-e.x)));
}

const lg_formula_row lg_logits_losses[] = {
    {.cause = LG_CAUSE_NUMERICAL_STABILITY,
     .before = "log(1 + exp(-x)) is taken as it is, and exp(-x) overflows where x is far below 0",
     .formula = with_exp_of_minus},
    {.cause = LG_CAUSE_NUMERICAL_STABILITY,
     .before = "log(1 + exp(x)) is taken as it is, and exp(x) overflows where x is far above 0",
     .formula = with_exp},
    {.cause = LG_CAUSE_NUMERICAL_STABILITY,
     .before = "the logarithm is that of a sigmoid rounded to 0 or 1",
     .formula = logs_of_sigmoid,
     .n = 1,
     .parameters = {-INFINITY}},
    {.cause = LG_CAUSE_NUMERICAL_STABILITY,
     .before = "the logarithm is that of a sigmoid rounded to 0 or 1, held at ",
     .after = "",
     .formula = logs_of_sigmoid,
     .n = 2,
     .parameters = {-100, -50}},
    {.cause = LG_CAUSE_OPTION_INTERPLAY,
     .before = "pos_weight stands at the term of 1 - t, where it belongs to that of t",
     .formula = positive_on_the_other},
    {.cause = LG_CAUSE_OPTION_INTERPLAY,
     .before = "pos_weight multiplies both terms, where it belongs to that of t",
     .formula = positive_on_both},
    {.formula = NULL},
};

const lg_formula_row lg_logits_gradients[] = {
    {.cause = LG_CAUSE_NUMERICAL_STABILITY,
     .before = "the sigmoid is exp(x) / (1 + exp(x)), and exp(x) overflows where x is far above 0",
     .formula = slope_of_exp},
    {.cause = LG_CAUSE_OPTION_INTERPLAY,
     .before = "pos_weight stands at the term of 1 - t in the gradient",
     .formula = slope_on_the_other},
    {.cause = LG_CAUSE_OPTION_INTERPLAY,
     .before = "pos_weight multiplies both terms of the gradient",
     .formula = slope_on_both},
    {.formula = NULL},
};
