// SPDX-License-Identifier: Apache-2.0
// The probability of clean labels under each spread, against values that can be written down: urns
// step by step, integrals in closed form, and sums over all sequences of a length, which are 1.
#include "labels/internal.h"

#include "unit/testing.h"

#include <math.h>

static const lg_hidden_labels none = {0};

static bool is_near(double got, double want, double slack) {
    return fabs(got - want) <= slack * fmax(1, fabs(want));
}

// ln P of a sequence of classes, given by how often each of them occurs.
static double log_of_counts(const int *counts, int n_counts, lg_spread spread, double classes) {
    lg_clean_sums sums = {0};
    for (int k = 0; k < n_counts; k++) {
        lg_clean_add(&sums, k, counts[k]);
    }
    return lg_clean_log_probability(&sums, &none, spread, classes);
}

static void test_uniform(void) {
    CU_ASSERT_TRUE(
        is_near(log_of_counts((int[]){2, 1}, 2, LG_SPREAD_UNIFORM, 5), -3 * log(5), 1e-14));
}

// Each label is drawn with (α + how often it has come)/(αK + how many have come).
static void test_dirichlet_urns(void) {
    const lg_spread urns[] = {LG_SPREAD_FLAT, LG_SPREAD_SKEWED, LG_SPREAD_EXTREME};
    for (size_t i = 0; i < sizeof urns / sizeof *urns; i++) {
        double a = lg_spread_alpha(urns[i]);
        double all = 4 * a;
        double want = log(a / all * ((a + 1) / (all + 1)) * (a / (all + 2)));
        CU_ASSERT_TRUE(is_near(log_of_counts((int[]){2, 1}, 2, urns[i], 4), want, 1e-12));
    }
    // With α = 1 and two classes, a b a has 1/2 · 1/3 · 2/4.
    CU_ASSERT_TRUE(
        is_near(log_of_counts((int[]){2, 1}, 2, LG_SPREAD_FLAT, 2), log(1. / 12), 1e-12));
}

// The mean over the exponent s of 1/(1 + 2^-s) is an integral: ln(1 + 2^s)/ln 2.
static void test_zipf_of_two_classes(void) {
    double first = (log1p(exp2(LG_ZIPF_MOST)) - log1p(exp2(LG_ZIPF_LEAST))) / M_LN2 /
                   (LG_ZIPF_MOST - LG_ZIPF_LEAST);
    CU_ASSERT_TRUE(is_near(exp(log_of_counts((int[]){1}, 1, LG_SPREAD_ZIPF, 2)), first, 1e-4));
    CU_ASSERT_TRUE(
        is_near(exp(log_of_counts((int[]){0, 1}, 2, LG_SPREAD_ZIPF, 2)), 1 - first, 1e-4));
}

// The urn of Pitman and Yor, whose classes then get names.
static void test_clustered(void) {
    const double d = LG_CLUSTER_DISCOUNT;
    const double strength = LG_CLUSTER_STRENGTH;
    const double classes = 2000;
    CU_ASSERT_TRUE(
        is_near(log_of_counts((int[]){1}, 1, LG_SPREAD_CLUSTERED, classes), -log(classes), 1e-12));
    CU_ASSERT_TRUE(is_near(log_of_counts((int[]){2}, 1, LG_SPREAD_CLUSTERED, classes),
                           log((1 - d) / (strength + 1) / classes), 1e-12));
    CU_ASSERT_TRUE(is_near(log_of_counts((int[]){1, 1}, 2, LG_SPREAD_CLUSTERED, classes),
                           log((strength + d) / (strength + 1) / classes / (classes - 1)), 1e-12));
}

// One of all sequences of four labels over three classes must come.
static void test_all_sequences_add_up_to_1(void) {
    const lg_spread spreads[] = {LG_SPREAD_UNIFORM, LG_SPREAD_FLAT, LG_SPREAD_SKEWED,
                                 LG_SPREAD_EXTREME, LG_SPREAD_ZIPF, LG_SPREAD_CLUSTERED};
    for (size_t i = 0; i < sizeof spreads / sizeof *spreads; i++) {
        double sum = 0;
        for (int code = 0; code < 81; code++) {
            int counts[3] = {0};
            for (int k = 0, rest = code; k < 4; k++, rest /= 3) {
                counts[rest % 3]++;
            }
            sum += exp(log_of_counts(counts, 3, spreads[i], 3));
        }
        CU_ASSERT_TRUE(is_near(sum, 1, 1e-9));
    }
}

// A window holds neighbours: labels far apart need a wide one, and each of its classes is as
// likely.
static void test_window(void) {
    double close = log_of_counts((int[]){3, 3}, 2, LG_SPREAD_WINDOW, 100);
    int far[100] = {3};
    far[99] = 3;
    CU_ASSERT_TRUE(close > log_of_counts(far, 100, LG_SPREAD_WINDOW, 100) + 6 * log(40));
    CU_ASSERT_TRUE(isinf(log_of_counts((int[]){0, 0, 1}, 3, LG_SPREAD_WINDOW, 2)));
}

static void test_labels_can_be_added_in_parts(void) {
    lg_clean_sums whole = {0};
    lg_clean_sums parts = {0};
    lg_clean_add(&whole, 0, 5);
    lg_clean_add(&whole, 2, 4);
    lg_clean_add(&parts, 0, 5);
    lg_clean_add(&parts, 2, 1);
    lg_clean_add_more(&parts, 2, 1, 3);
    for (int f = 0; f < LG_N_SPREADS; f++) {
        double a = lg_clean_log_probability(&whole, &none, (lg_spread)f, 2000);
        double b = lg_clean_log_probability(&parts, &none, (lg_spread)f, 2000);
        CU_ASSERT_TRUE(is_near(a, b, 1e-12));
    }
}

// Of overwritten labels it is known only that they lay in range: 3 of the 4 classes.
static void test_hidden_labels(void) {
    lg_clean_sums sums = {0};
    lg_clean_add(&sums, 0, 2);
    lg_clean_add(&sums, 3, 1);
    const lg_hidden_labels two = {.n = 2, .classes = 3, .seen = 2};
    double seen = lg_clean_log_probability(&sums, &none, LG_SPREAD_UNIFORM, 4);
    CU_ASSERT_TRUE(is_near(lg_clean_log_probability(&sums, &two, LG_SPREAD_UNIFORM, 4),
                           seen + 2 * log(0.75), 1e-12));
    seen = lg_clean_log_probability(&sums, &none, LG_SPREAD_FLAT, 4);
    // The urn has 3 + 2 balls of classes in range, of 4 + 3; then one more of each.
    CU_ASSERT_TRUE(is_near(lg_clean_log_probability(&sums, &two, LG_SPREAD_FLAT, 4),
                           seen + log(5. / 7 * 6 / 8), 1e-12));
}

int main(void) {
    const lg_test tests[] = {
        {"uniform", test_uniform},
        {"Dirichlet urns", test_dirichlet_urns},
        {"Zipf of two classes", test_zipf_of_two_classes},
        {"clustered", test_clustered},
        {"all sequences add up to 1", test_all_sequences_add_up_to_1},
        {"window", test_window},
        {"labels can be added in parts", test_labels_can_be_added_in_parts},
        {"hidden labels", test_hidden_labels},
    };
    return lg_run_tests(LG_SUITE, tests, sizeof tests / sizeof *tests);
}
