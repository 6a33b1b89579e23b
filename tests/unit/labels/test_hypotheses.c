// SPDX-License-Identifier: Apache-2.0
// Posteriors of label causes on tables so small that they can be written down, and what labels make
// impossible.
#include "labels/internal.h"

#include "unit/testing.h"

#include <math.h>

static bool is_near(double got, double want, double slack) {
    return fabs(got - want) <= slack * fmax(1e-300, fabs(want));
}

typedef struct posterior {
    int n;
    lg_explanation of[LG_MAX_EXPLANATIONS];
} posterior;

static posterior explain(const int64_t *labels, int n, int64_t width) {
    posterior p;
    lg_label_table table;
    CU_ASSERT_TRUE_FATAL(lg_label_table_init(&table, width, 0, -100, LG_INT64));
    for (int i = 0; i < n; i++) {
        lg_label_table_add(&table, labels[i]);
    }
    lg_label_table_finish(&table);
    p.n = lg_labels_explain(&table, p.of);
    lg_label_table_free(&table);
    double sum = 0;
    for (int i = 0; i < p.n; i++) {
        sum += p.of[i].probability;
        CU_ASSERT_TRUE(i == 0 || p.of[i].probability <= p.of[i - 1].probability);
    }
    CU_ASSERT_TRUE(p.n == 0 || is_near(sum, 1, 1e-12));
    return p;
}

// Of the cause alone; 0 when it is no explanation.
static double of_cause(const posterior *p, lg_cause cause) {
    for (int i = 0; i < p->n; i++) {
        if (p->of[i].cause == cause && p->of[i].with == LG_CAUSE_NONE) {
            return p->of[i].probability;
        }
    }
    return 0;
}

static void test_logarithms(void) {
    CU_ASSERT_TRUE(is_near(lg_log_add(log(3), log(4)), log(7), 1e-14));
    CU_ASSERT_TRUE(is_near(lg_log_add(-INFINITY, log(4)), log(4), 1e-14));
    CU_ASSERT_TRUE(isinf(lg_log_add(-INFINITY, -INFINITY)));
    CU_ASSERT_TRUE(is_near(exp(lg_log_choose(10, 3)), 120, 1e-12));
    CU_ASSERT_TRUE(is_near(exp(lg_log_choose(5, 0)), 1, 1e-12));
}

// The mixture over spreads is the sum of prior × probability.
static void test_mixture_over_spreads(void) {
    const lg_hidden_labels none = {0};
    lg_clean_sums sums = {0};
    lg_clean_add(&sums, 0, 4);
    lg_clean_add(&sums, 2, 1);
    double want = 0;
    for (int f = 0; f < LG_N_SPREADS; f++) {
        want += lg_prior_of_spread((lg_spread)f) *
                exp(lg_clean_log_probability(&sums, &none, (lg_spread)f, 7));
    }
    CU_ASSERT_TRUE(is_near(exp(lg_log_clean(&sums, &none, 7)), want, 1e-12));
}

enum { N = 40, WIDTH = 5 };

// Dense valid labels, but for the first one.
static void fill(int64_t labels[N], int64_t first) {
    for (int i = 0; i < N; i++) {
        labels[i] = i % WIDTH;
    }
    labels[0] = first;
}

// One label C: rows and clean labels cost the same whether a pad token or garbage made it, so the
// posteriors are as prior × P(value): 1 for C by definition, and for garbage the share of draws
// that an urn or single draws make of one value (all but those that fill rows) times its frequency.
static void test_one_label_of_value_c(void) {
    int64_t labels[N];
    fill(labels, WIDTH);
    posterior p = explain(labels, N, WIDTH);
    double ratio = lg_prior_of_cause(LG_CAUSE_CORRUPT_LABELS) * (1 - LG_PRIOR_FILL) *
                   lg_prior_of_corrupt(WIDTH, WIDTH) /
                   lg_prior_of_cause(LG_CAUSE_LABEL_EQUALS_WIDTH);
    CU_ASSERT_TRUE(
        is_near(of_cause(&p, LG_CAUSE_CORRUPT_LABELS) / of_cause(&p, LG_CAUSE_LABEL_EQUALS_WIDTH),
                ratio, 1e-9));
    CU_ASSERT_EQUAL(p.of[0].cause, LG_CAUSE_LABEL_EQUALS_WIDTH);
}

static void test_one_negative_label(void) {
    int64_t labels[N];
    fill(labels, -5);
    posterior p = explain(labels, N, WIDTH);
    double apart = 1 - LG_PRIOR_FILL;
    double ratio = lg_prior_of_cause(LG_CAUSE_CORRUPT_LABELS) * apart *
                   lg_prior_of_corrupt(-5, WIDTH) /
                   (lg_prior_of_cause(LG_CAUSE_NEGATIVE_LABELS) * lg_prior_of_negative(-5) *
                    (LG_PRIOR_ONE_NEGATIVE + (1 - LG_PRIOR_ONE_NEGATIVE) * apart));
    CU_ASSERT_TRUE(
        is_near(of_cause(&p, LG_CAUSE_CORRUPT_LABELS) / of_cause(&p, LG_CAUSE_NEGATIVE_LABELS),
                ratio, 1e-9));
}

// No other fault of the table makes this value.
static void test_the_least_integer_is_garbage(void) {
    int64_t labels[N];
    fill(labels, INT64_MIN);
    posterior p = explain(labels, N, WIDTH);
    CU_ASSERT_TRUE(is_near(of_cause(&p, LG_CAUSE_CORRUPT_LABELS), 1, 1e-12));
}

// One row of class 0 rules out that labels begin at 1, and one of class C-1 a shift below.
static void test_what_is_impossible(void) {
    int64_t labels[N];
    for (int i = 0; i < N; i++) {
        labels[i] = 1 + i % WIDTH;
    }
    posterior p = explain(labels, N, WIDTH);
    CU_ASSERT_EQUAL(p.of[0].cause, LG_CAUSE_ONE_BASED_LABELS);
    CU_ASSERT_TRUE(of_cause(&p, LG_CAUSE_ONE_BASED_LABELS) > 0.9);
    labels[7] = 0;
    p = explain(labels, N, WIDTH);
    CU_ASSERT_EQUAL(of_cause(&p, LG_CAUSE_ONE_BASED_LABELS), 0);
    for (int i = 0; i < N; i++) {
        labels[i] = i % WIDTH - 1;
    }
    p = explain(labels, N, WIDTH);
    CU_ASSERT_EQUAL(p.of[0].cause, LG_CAUSE_OVER_SHIFTED_LABELS);
    labels[7] = WIDTH - 1;
    p = explain(labels, N, WIDTH);
    CU_ASSERT_EQUAL(of_cause(&p, LG_CAUSE_OVER_SHIFTED_LABELS), 0);
}

static void test_nothing_out_of_range_needs_no_explanation(void) {
    int64_t labels[N];
    fill(labels, 0);
    CU_ASSERT_EQUAL(explain(labels, N, WIDTH).n, 0);
    CU_ASSERT_EQUAL(explain(labels, 0, WIDTH).n, 0);
}

// Labels that fill 0..K-1 beyond the head need K outputs.
static void test_a_head_that_is_too_narrow(void) {
    int64_t labels[N];
    for (int i = 0; i < N; i++) {
        labels[i] = i % 8;
    }
    posterior p = explain(labels, N, WIDTH);
    CU_ASSERT_EQUAL(p.of[0].cause, LG_CAUSE_WRONG_HEAD_WIDTH);
    CU_ASSERT_EQUAL(p.of[0].head_width, 8);
    CU_ASSERT_TRUE(p.of[0].probability > 0.99);
}

int main(void) {
    const lg_test tests[] = {
        {"logarithms", test_logarithms},
        {"mixture over spreads", test_mixture_over_spreads},
        {"one label of value C", test_one_label_of_value_c},
        {"one negative label", test_one_negative_label},
        {"the least integer is garbage", test_the_least_integer_is_garbage},
        {"what is impossible", test_what_is_impossible},
        {"nothing out of range needs no explanation",
         test_nothing_out_of_range_needs_no_explanation},
        {"a head that is too narrow", test_a_head_that_is_too_narrow},
    };
    return lg_run_tests(LG_SUITE, tests, sizeof tests / sizeof *tests);
}
