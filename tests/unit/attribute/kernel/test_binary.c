// SPDX-License-Identifier: Apache-2.0
// Broken binary cross-entropies: each row plays one, in float as a kernel computes, and it must be
// named for it.
#include "unit/attribute/play.h"

#include "reference/reference.h"

// Far beyond rounding, and like nothing that is recomputed.
static void break_far(play *p) {
    for (int64_t i = 0; i < p->reference.n_loss; i++) {
        p->loss[i] *= 1.5 + 0.1 * (double)(i % 7);
    }
}

static void break_first_pos_weight(play *p) {
    lg_batch other = p->batch;
    lg_reference wrong;
    for (int i = 0; i < other.pos_weight.rank; i++) {
        other.pos_weight.stride[i] = 0;
    }
    CU_ASSERT_TRUE_FATAL(lg_reference_compute(&other, false, &wrong));
    memcpy(p->loss, wrong.loss, (size_t)wrong.n_loss * sizeof(double));
    lg_reference_free(&wrong);
}

static const kernel_row rows[] = {
    {"far beyond rounding", LG_BCE_WITH_LOGITS, LG_REDUCTION_NONE, 6, 3, .breakage = break_far,
     .cause = K(NONE)},
    {"far beyond rounding, with pos_weight", LG_BCE_WITH_LOGITS, LG_REDUCTION_NONE, 6, 3,
     .positive = true, .breakage = break_far, .cause = K(OPTION_INTERPLAY), .doubtful = true},
    {"pos_weight of the first class", LG_BCE_WITH_LOGITS, LG_REDUCTION_NONE, 6, 3, .positive = true,
     .breakage = break_first_pos_weight, .cause = K(OPTION_INTERPLAY)},
};

static void test_kernels(void) {
    play_rows(rows, sizeof rows / sizeof *rows);
}

// --- formulas: x the input, t the target, v the pos_weight

static float bce_right(float x, float t, float v) {
    (void)v;
    return (t - 1) * fmaxf(log1pf(-x), -100) - t * fmaxf(logf(x), -100);
}

static float bce_unclamped(float x, float t, float v) {
    (void)v;
    return (t - 1) * log1pf(-x) - t * logf(x);
}

static float bce_unclamped_by_target(float x, float t, float v) {
    (void)v;
    float of_x = t == 0 ? 0 : t * logf(x);
    return -of_x - (t == 1 ? 0 : (1 - t) * log1pf(-x));
}

static float bce_at_50(float x, float t, float v) {
    (void)v;
    return (t - 1) * fmaxf(log1pf(-x), -50) - t * fmaxf(logf(x), -50);
}

static float bce_at_37(float x, float t, float v) {
    (void)v;
    return (t - 1) * fmaxf(log1pf(-x), -37) - t * fmaxf(logf(x), -37);
}

static float bce_plus_eps(float x, float t, float v) {
    (void)v;
    return -(t * logf(x + 1e-8f) + (1 - t) * logf(1 - x + 1e-8f));
}

static float bce_clipped(float x, float t, float v) {
    (void)v;
    float p = fminf(fmaxf(x, 1e-6f), 1 - 1e-6f);
    return -(t * logf(p) + (1 - t) * logf(1 - p));
}

static float slope_right(float x, float t, float v) {
    (void)v;
    return (x - t) / fmaxf((1 - x) * x, 1e-12f);
}

static float slope_without_eps(float x, float t, float v) {
    (void)v;
    return (x - t) / ((1 - x) * x);
}

static float slope_at_least(float x, float t, float v) {
    (void)v;
    return (x - t) / fmaxf((1 - x) * x, 3e-7f);
}

static float slope_plus_eps(float x, float t, float v) {
    (void)v;
    return (x - t) / ((1 - x) * x + 1e-7f);
}

static float softplus(float x) {
    return fmaxf(x, 0) + log1pf(expf(-fabsf(x)));
}

static float sigmoid(float x) {
    return 1 / (1 + expf(-x));
}

static float logits_right(float x, float t, float v) {
    return v * t * softplus(-x) + (1 - t) * softplus(x);
}

static float logits_other_term(float x, float t, float v) {
    return t * softplus(-x) + v * (1 - t) * softplus(x);
}

static float logits_both_terms(float x, float t, float v) {
    return v * (t * softplus(-x) + (1 - t) * softplus(x));
}

static float logits_exp_of_minus(float x, float t, float v) {
    return (1 - t) * x + (1 + (v - 1) * t) * logf(1 + expf(-x));
}

static float logits_exp(float x, float t, float v) {
    (void)v;
    return logf(1 + expf(x)) - t * x;
}

static float logits_of_sigmoid(float x, float t, float v) {
    return -(v * t * logf(sigmoid(x)) + (1 - t) * logf(1 - sigmoid(x)));
}

static float logits_of_held_sigmoid(float x, float t, float v) {
    return -(v * t * fmaxf(logf(sigmoid(x)), -100) + (1 - t) * fmaxf(logf(1 - sigmoid(x)), -100));
}

static float logits_slope_right(float x, float t, float v) {
    return (1 - t) * sigmoid(x) - v * t * sigmoid(-x);
}

static float logits_slope_other_term(float x, float t, float v) {
    return v * (1 - t) * sigmoid(x) - t * sigmoid(-x);
}

static float logits_slope_of_exp(float x, float t, float v) {
    float p = expf(x) / (1 + expf(x));
    return (1 - t) * p - v * t * (1 - p);
}

typedef float (*formula)(float x, float t, float v);

typedef struct formula_row {
    const char *name;
    lg_loss_kind loss;
    lg_reduction reduction;
    formula loss_of, slope_of;
    lg_cause cause;
    const char *words; // in the headline
    bool positive;
    bool tame; // no input at an end of its range
} formula_row;

#define NUMB K(NUMERICAL_STABILITY)

static const formula_row formulas[] = {
    {"no clamp", LG_BCE, LG_REDUCTION_NONE, bce_unclamped, slope_right, NUMB,
     .words = "log 0 is taken as it is"},
    {"no clamp, by target", LG_BCE, LG_REDUCTION_NONE, bce_unclamped_by_target, slope_right, NUMB,
     .words = "log 0 is taken as it is"},
    {"no clamp, mean", LG_BCE, LG_REDUCTION_MEAN, bce_unclamped, slope_right, NUMB,
     .words = "log 0 is taken as it is"},
    {"clamp at -50", LG_BCE, LG_REDUCTION_NONE, bce_at_50, slope_right, NUMB,
     .words = "held at -50"},
    {"clamp at -50, mean", LG_BCE, LG_REDUCTION_MEAN, bce_at_50, slope_right, NUMB,
     .words = "held at -50"},
    {"clamp at -37", LG_BCE, LG_REDUCTION_NONE, bce_at_37, slope_right, NUMB,
     .words = "held at -37"},
    {"log(p + 1e-8)", LG_BCE, LG_REDUCTION_NONE, bce_plus_eps, slope_right, NUMB,
     .words = "log(p + 1e-08)"},
    {"log(p + 1e-8), mean", LG_BCE, LG_REDUCTION_MEAN, bce_plus_eps, slope_right, NUMB,
     .words = "log(p + 1e-08)"},
    {"clipped", LG_BCE, LG_REDUCTION_SUM, bce_clipped, slope_right, NUMB,
     .words = "kept 1e-06 away"},
    {"no eps", LG_BCE, LG_REDUCTION_NONE, bce_right, slope_without_eps, NUMB,
     .words = "no least divisor"},
    {"no eps, mean", LG_BCE, LG_REDUCTION_MEAN, bce_right, slope_without_eps, NUMB,
     .words = "no least divisor"},
    {"another eps", LG_BCE, LG_REDUCTION_SUM, bce_right, slope_at_least, NUMB,
     .words = "at least 3e-07"},
    {"eps added", LG_BCE, LG_REDUCTION_NONE, bce_right, slope_plus_eps, NUMB,
     .words = "(1 - p) p + 1e-07"},
    {"neither clamp nor eps", LG_BCE, LG_REDUCTION_NONE, bce_unclamped, slope_without_eps, NUMB,
     .words = "; and the quotient"},
    {"other term", LG_BCE_WITH_LOGITS, LG_REDUCTION_MEAN, logits_other_term,
     logits_slope_other_term, K(OPTION_INTERPLAY), .words = "at the term of 1 - t",
     .positive = true, .tame = true},
    {"other term, forward", LG_BCE_WITH_LOGITS, LG_REDUCTION_NONE, logits_other_term,
     logits_slope_right, K(OPTION_INTERPLAY), .words = "at the term of 1 - t", .positive = true},
    {"other term, backward", LG_BCE_WITH_LOGITS, LG_REDUCTION_NONE, logits_right,
     logits_slope_other_term, K(OPTION_INTERPLAY), .words = "in the gradient", .positive = true},
    {"both terms", LG_BCE_WITH_LOGITS, LG_REDUCTION_SUM, logits_both_terms, logits_slope_right,
     K(OPTION_INTERPLAY), .words = "multiplies both terms", .positive = true, .tame = true},
    {"exp(-x)", LG_BCE_WITH_LOGITS, LG_REDUCTION_NONE, logits_exp_of_minus, logits_slope_right,
     NUMB, .words = "exp(-x) overflows", .positive = true},
    {"exp(x)", LG_BCE_WITH_LOGITS, LG_REDUCTION_MEAN, logits_exp, logits_slope_right, NUMB,
     .words = "exp(x) overflows"},
    {"exp(x), row by row", LG_BCE_WITH_LOGITS, LG_REDUCTION_NONE, logits_exp, logits_slope_of_exp,
     NUMB, .words = "; and the sigmoid is exp(x)"},
    {"log of a sigmoid", LG_BCE_WITH_LOGITS, LG_REDUCTION_NONE, logits_of_sigmoid,
     logits_slope_right, NUMB, .words = "sigmoid rounded to 0 or 1", .positive = true},
    {"log of a sigmoid, held", LG_BCE_WITH_LOGITS, LG_REDUCTION_NONE, logits_of_held_sigmoid,
     logits_slope_right, NUMB, .words = "held at -100"},
};

static void set_ends(play *p) {
    static const double probabilities[][2] = {{0, 1},     {1, 0},    {0, 0},    {1, 1},
                                              {1e-30, 1}, {1e-7, 1}, {1, 0.25}, {1e-44, 1}};
    static const double logits[][2] = {{-100, 0}, {100, 1}, {-95, 1}, {97, 0},
                                       {30, 1},   {-30, 0}, {24, 0},  {-24, 1}};
    bool bce = p->scenario.loss.kind == LG_BCE;
    for (int64_t i = 0; i < 8; i++) {
        lg_tensor_set_f64(&p->batch.input, 3 * i, bce ? probabilities[i][0] : logits[i][0]);
        lg_tensor_set_f64(&p->batch.target, 3 * i, bce ? probabilities[i][1] : logits[i][1]);
    }
    play_again(p);
}

static void play_formula(play *p, const formula_row *row) {
    kernel_row plain = {row->name, row->loss, row->reduction, 40, 3, .gradient = true};
    plain.positive = row->positive;
    play_begin(&plain, p);
    if (!row->tame) {
        set_ends(p);
    }
    double row_loss[120];
    lg_output *gradient = play_add_gradient(p);
    bool mean = row->reduction == LG_REDUCTION_MEAN;
    CU_ASSERT_EQUAL_FATAL(gradient->n, 120);
    for (int64_t i = 0; i < 120; i++) {
        float x = (float)lg_tensor_get_f64(&p->batch.input, i);
        float t = (float)lg_tensor_get_f64(&p->batch.target, i);
        float v =
            row->positive ? (float)lg_broadcast_get(&p->batch.pos_weight, &p->batch.input, i) : 1;
        row_loss[i] = row->loss_of(x, t, v);
        gradient->values[i] = row->slope_of(x, t, v) / (mean ? 120 : 1);
    }
    play_reduce(p, row_loss);
}

static void test_formulas(void) {
    for (size_t i = 0; i < sizeof formulas / sizeof *formulas; i++) {
        const formula_row *row = &formulas[i];
        play p;
        lg_finding finding;
        play_formula(&p, row);
        play_attribute(&p, true, &finding);
        play_expect(row->name, &finding, row->cause);
        LG_CHECK_ROW(row->name, !finding.ambiguous && !finding.certain);
        bool worded = finding.headline && strstr(finding.headline, row->words);
        if (!worded) {
            fprintf(stderr, "\n    '%s': %s\n", row->name, finding.headline);
        }
        LG_CHECK_ROW(row->name, worded);
        lg_finding_free(&finding);
        play_end(&p);
    }
}

// What a right kernel computes is no other formula, though its inputs give all of them room.
static void test_right_formulas(void) {
    const formula_row right[] = {
        {"bce", LG_BCE, LG_REDUCTION_NONE, bce_right, .slope_of = slope_right},
        {"bce, mean", LG_BCE, LG_REDUCTION_MEAN, bce_right, .slope_of = slope_right},
        {"logits", LG_BCE_WITH_LOGITS, LG_REDUCTION_NONE, logits_right, logits_slope_right,
         .positive = true},
    };
    for (size_t i = 0; i < sizeof right / sizeof *right; i++) {
        play p;
        lg_finding finding;
        play_formula(&p, &right[i]);
        play_attribute(&p, true, &finding);
        LG_CHECK_ROW(right[i].name, finding.cause != K(NUMERICAL_STABILITY));
        LG_CHECK_ROW(right[i].name, finding.cause != K(OPTION_INTERPLAY));
        lg_finding_free(&finding);
        play_end(&p);
    }
}

// One wrong element follows from some clamp or eps whatever made it: that is no evidence.
static void test_one_wrong_element_is_no_clamp(void) {
    const formula_row right = {"one element", LG_BCE, LG_REDUCTION_NONE, bce_right,
                               .slope_of = slope_right};
    play p;
    lg_finding finding;
    play_formula(&p, &right);
    p.loss[0] = 61.7; // 100 is right
    play_attribute(&p, true, &finding);
    CU_ASSERT_NOT_EQUAL(finding.cause, K(NUMERICAL_STABILITY));
    lg_finding_free(&finding);
    play_end(&p);
}

static const lg_test tests[] = {
    {"kernels", test_kernels},
    {"formulas", test_formulas},
    {"right formulas", test_right_formulas},
    {"one wrong element is no clamp", test_one_wrong_element_is_no_clamp},
};

int main(void) {
    return lg_run_tests(LG_SUITE, tests, sizeof tests / sizeof *tests);
}
