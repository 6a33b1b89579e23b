// SPDX-License-Identifier: Apache-2.0
// binary_cross_entropy: logarithms and quotients that are not kept from 0 as the contract has it.
#include "attribute/kernel/formula_binary.h"

#include <math.h>

static lg_formula_value held_logs(const lg_suspicion *s, int64_t row, double least) {
    lg_binary_element e = lg_binary_read(s, row);
    return lg_binary_weigh(&e, fmax(log(e.x), least), fmax(log1p(-e.x), least));
}

static lg_formula_value logs_with_eps(const lg_suspicion *s, int64_t row, double eps) {
    lg_binary_element e = lg_binary_read(s, row);
    double rest = lg_formula_round(s, 1 - e.x);
    return lg_binary_weigh(&e, log(lg_formula_round(s, e.x + eps)),
                           log(lg_formula_round(s, rest + eps)));
}

static lg_formula_value logs_of_clipped(const lg_suspicion *s, int64_t row, double eps) {
    lg_binary_element e = lg_binary_read(s, row);
    double p = fmin(fmax(e.x, eps), lg_formula_round(s, 1 - eps));
    return lg_binary_weigh(&e, log(p), log(lg_formula_round(s, 1 - p)));
}

static double ratio(const lg_suspicion *s, double over, double under) {
    return lg_formula_round(s, over / lg_formula_round(s, under));
}

static lg_formula_value quotient_at_least(const lg_suspicion *s, int64_t row, double eps) {
    lg_binary_element e = lg_binary_read(s, row);
    return lg_formula_just(e.scale * ratio(s, e.x - e.t, fmax((1 - e.x) * e.x, eps)));
}

static lg_formula_value quotient_plus_eps(const lg_suspicion *s, int64_t row, double eps) {
    lg_binary_element e = lg_binary_read(s, row);
    return lg_formula_just(e.scale * ratio(s, e.x - e.t, (1 - e.x) * e.x + eps));
}

static double solve_hold(const lg_suspicion *s, int64_t row, double got) {
    lg_binary_element e = lg_binary_read(s, row);
    double sum = -got / e.w; // t·log p + (1 - t)·log(1 - p)
    return e.x < 0.5 ? (sum - (1 - e.t) * log1p(-e.x)) / e.t : (sum - e.t * log(e.x)) / (1 - e.t);
}

static double solve_least(const lg_suspicion *s, int64_t row, double got) {
    lg_binary_element e = lg_binary_read(s, row);
    return e.scale * (e.x - e.t) / got;
}

static double solve_added(const lg_suspicion *s, int64_t row, double got) {
    lg_binary_element e = lg_binary_read(s, row);
    return e.scale * (e.x - e.t) / got - (1 - e.x) * e.x;
}

// The constants in use: in log(p + eps), as bounds of p, under a quotient.
#define EPS 1e-8, 1e-7, 1e-12, 1e-6, 1e-10, 1e-5, 1e-15, 0x1p-23, 0x1p-24, 0x1p-52, 1e-16, 1e-4
#define N_EPS 12

const lg_formula_row lg_bce_losses[] = {
    {.cause = LG_CAUSE_NUMERICAL_STABILITY,
     .before = "log 0 is taken as it is, where -100 is the least",
     .formula = held_logs,
     .n = 1,
     .parameters = {-INFINITY}},
    {.cause = LG_CAUSE_NUMERICAL_STABILITY,
     .before = "log(p + ",
     .after = ") is taken, where log p is held at -100",
     .formula = logs_with_eps,
     .n = N_EPS,
     .parameters = {EPS}},
    {.cause = LG_CAUSE_NUMERICAL_STABILITY,
     .before = "p is kept ",
     .after = " away from 0 and 1, where log p is held at -100",
     .formula = logs_of_clipped,
     .n = N_EPS,
     .parameters = {EPS}},
    {.cause = LG_CAUSE_NUMERICAL_STABILITY,
     .before = "the logarithm is held at ",
     .after = ", where -100 is right",
     .formula = held_logs,
     .n = 9,
     .parameters = {-50, -10, -20, -30, -40, -60, -80, -90, -16},
     .solve = solve_hold},
    {.formula = NULL},
};

const lg_formula_row lg_bce_gradients[] = {
    {.cause = LG_CAUSE_NUMERICAL_STABILITY,
     .before = "the quotient (p - t) / ((1 - p) p) has no least divisor, where 1e-12 is right",
     .formula = quotient_at_least},
    {.cause = LG_CAUSE_NUMERICAL_STABILITY,
     .before = "the divisor (1 - p) p is at least ",
     .after = ", where 1e-12 is right",
     .formula = quotient_at_least,
     .n = N_EPS,
     .parameters = {EPS},
     .solve = solve_least},
    {.cause = LG_CAUSE_NUMERICAL_STABILITY,
     .before = "the divisor is (1 - p) p + ",
     .after = ", where it is at least 1e-12",
     .formula = quotient_plus_eps,
     .n = N_EPS,
     .parameters = {EPS},
     .solve = solve_added},
    {.formula = NULL},
};
