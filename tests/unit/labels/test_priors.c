// SPDX-License-Identifier: Apache-2.0
// Priors are distributions: what they are over adds up to 1, and single values are those that their
// definition gives.
#include "labels/labels.h"

#include "unit/testing.h"

#include <math.h>

static bool is_near(double got, double want, double slack) {
    return fabs(got - want) <= slack;
}

static void test_causes_and_spreads_add_up_to_1(void) {
    double causes = 0;
    double spreads = 0;
    for (int i = 0; i < LG_N_CAUSES; i++) {
        causes += lg_prior_of_cause((lg_cause)i);
        CU_ASSERT_TRUE(lg_cause_phase_of((lg_cause)i) == LG_PHASE_DATA ||
                       lg_prior_of_cause((lg_cause)i) == 0);
    }
    for (int i = 0; i < LG_N_SPREADS; i++) {
        spreads += lg_prior_of_spread((lg_spread)i);
    }
    CU_ASSERT_TRUE(is_near(causes, 1, 1e-12));
    CU_ASSERT_TRUE(is_near(spreads, 1, 1e-12));
}

// P(J = j) = 1/(j(j+1)) telescopes: P(a <= J < b) = 1/a - 1/b.
static void test_missing_classes(void) {
    static const double bounds[][2] = {{1, 2}, {1, 3}, {2, 3}, {5, 50}, {1000, 1e9}};
    for (size_t i = 0; i < sizeof bounds / sizeof *bounds; i++) {
        double want = 1 / bounds[i][0] - 1 / bounds[i][1];
        CU_ASSERT_TRUE(is_near(lg_prior_of_missing_classes(bounds[i][0], bounds[i][1]), want,
                               1e-12 * want + 1e-18));
    }
}

static void test_numbers_of_rows_add_up_to_1(void) {
    static const int64_t sizes[] = {1, 7, 20, 100, 5000};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        int64_t n = sizes[i];
        double stray = 0;
        double sentinel = 0;
        for (int64_t m = 1; m <= n; m++) {
            stray += lg_prior_of_stray_rows(m, n);
            sentinel += lg_prior_of_sentinel_rows(m, n);
        }
        CU_ASSERT_TRUE(is_near(stray, 1, 1e-9));
        CU_ASSERT_TRUE(is_near(sentinel, 1, 1e-9));
    }
    CU_ASSERT_EQUAL(lg_sentinel_min_rows(1000), 50); // 5 %
}

// A handful of stray rows is far more common than a tenth of them.
static void test_few_stray_rows_are_common(void) {
    CU_ASSERT_TRUE(lg_prior_of_stray_rows(1, 1000) > 10 * lg_prior_of_stray_rows(50, 1000));
    CU_ASSERT_TRUE(lg_prior_of_stray_rows(50, 1000) > lg_prior_of_stray_rows(500, 1000));
}

// -1 in half of the cases, small values by 1/(a(a-1)), then log-uniform: both series telescope.
static void test_negative_values(void) {
    const double n = 1000000;
    double sum = 0;
    for (int64_t a = 1; a <= (int64_t)n; a++) {
        sum += lg_prior_of_negative(-a);
    }
    double small = 0.35 * (1 - 1 / n);
    double wide = 0.15 * log(n + 1) / (31 * M_LN2);
    CU_ASSERT_TRUE(is_near(sum, 0.5 + small + wide, 1e-9));
    CU_ASSERT_TRUE(is_near(lg_prior_of_negative(-1), 0.5 + 0.15 / 31, 1e-12));
    CU_ASSERT_EQUAL(lg_prior_of_negative(0), 0);
    CU_ASSERT_TRUE(lg_prior_of_negative(INT64_MIN) < 1e-30);
}

static void test_corrupt_values(void) {
    // The minima have their own share, on top of that of random bits.
    CU_ASSERT_TRUE(lg_prior_of_corrupt(INT64_MIN, 10) >= LG_PRIOR_CORRUPT_INT64_MIN);
    CU_ASSERT_TRUE(lg_prior_of_corrupt(INT32_MIN, 10) >= LG_PRIOR_CORRUPT_INT32_MIN);
    CU_ASSERT_TRUE(lg_prior_of_corrupt(INT32_MIN, 10) < LG_PRIOR_CORRUPT_INT32_MIN + 1e-6);
    CU_ASSERT_TRUE(lg_prior_of_corrupt(0x7f0012345678, 10) >
                   lg_prior_of_corrupt(INT64_C(0x6f12345678901234), 10));
}

static void test_sentinels(void) {
    double conventions = 0;
    for (int i = 0; i < lg_n_sentinel_conventions; i++) {
        conventions += lg_sentinel_conventions[i].weight;
        CU_ASSERT_TRUE(lg_prior_of_sentinel(lg_sentinel_conventions[i].value, 10) > 0);
    }
    CU_ASSERT_TRUE(conventions > 0 &&
                   conventions + LG_PRIOR_SENTINEL_IS_WIDTH + LG_PRIOR_SENTINEL_ABOVE_WIDTH <
                       1 + 1e-12);
    CU_ASSERT_TRUE(lg_prior_of_sentinel(255, 10) > 1000 * lg_prior_of_sentinel(253, 10));
    CU_ASSERT_TRUE(lg_prior_of_sentinel(10, 10) >= LG_PRIOR_SENTINEL_IS_WIDTH);
}

int main(void) {
    const lg_test tests[] = {
        {"causes and spreads add up to 1", test_causes_and_spreads_add_up_to_1},
        {"missing classes", test_missing_classes},
        {"numbers of rows add up to 1", test_numbers_of_rows_add_up_to_1},
        {"few stray rows are common", test_few_stray_rows_are_common},
        {"negative values", test_negative_values},
        {"corrupt values", test_corrupt_values},
        {"sentinels", test_sentinels},
    };
    return lg_run_tests(LG_SUITE, tests, sizeof tests / sizeof *tests);
}
