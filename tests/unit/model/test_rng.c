// SPDX-License-Identifier: Apache-2.0
#include "model/rng.h"
#include "unit/testing.h"

#include <math.h>

enum { N = 200000 };

// These values are part of the data format: a scenario must give the same batch for ever.
static void test_known_values(void) {
    // Philox4x64-10 of counter 0 and key 0, as in Random123's table of known answers.
    CU_ASSERT_EQUAL(lg_rng_u64(0, 0, 0), UINT64_C(0x16554d9eca36314c));
    CU_ASSERT_EQUAL(lg_rng_below(0, 0, 0, 1000), 87);
    CU_ASSERT_EQUAL(lg_rng_uniform(0, 0, 0), 0x0.16554d9eca363p0);
}

static void test_addresses_are_independent(void) {
    uint64_t base = lg_rng_u64(7, LG_STREAM_LOGITS, 5);
    CU_ASSERT_EQUAL(base, lg_rng_u64(7, LG_STREAM_LOGITS, 5));
    CU_ASSERT_NOT_EQUAL(base, lg_rng_u64(8, LG_STREAM_LOGITS, 5));
    CU_ASSERT_NOT_EQUAL(base, lg_rng_u64(7, LG_STREAM_TARGETS, 5));
    CU_ASSERT_NOT_EQUAL(base, lg_rng_u64(7, LG_STREAM_LOGITS, 6));
    CU_ASSERT_NOT_EQUAL(lg_rng_u64(1, 2, 3), lg_rng_u64(2, 1, 3));
}

static void test_below_is_even(void) {
    int counts[7] = {0};
    for (int i = 0; i < N; i++) {
        uint64_t value = lg_rng_below(3, LG_STREAM_TEST, (uint64_t)i, 7);
        CU_ASSERT_FATAL(value < 7);
        counts[value]++;
    }
    double chi2 = 0;
    for (int k = 0; k < 7; k++) {
        double gap = counts[k] - N / 7.0;
        chi2 += gap * gap / (N / 7.0);
    }
    CU_ASSERT_TRUE(chi2 < 22.5); // 6 degrees of freedom, p = 0.001
    CU_ASSERT_EQUAL(lg_rng_below(3, LG_STREAM_TEST, 1, 1), 0);
}

static void test_distributions(void) {
    double sum = 0;
    double squares = 0;
    double uniform = 0;
    int within = 0;
    for (int i = 0; i < N; i++) {
        double x = lg_rng_normal(11, LG_STREAM_TEST, (uint64_t)i);
        CU_ASSERT_FATAL(isfinite(x));
        sum += x;
        squares += x * x;
        within += fabs(x) < 1;
        double u = lg_rng_uniform(11, LG_STREAM_TEST, (uint64_t)i);
        CU_ASSERT_FATAL(u >= 0 && u < 1);
        uniform += u;
    }
    CU_ASSERT_TRUE(fabs(sum / N) < 4 / sqrt(N));
    CU_ASSERT_TRUE(fabs(squares / N - 1) < 4 * sqrt(2.0 / N));
    CU_ASSERT_TRUE(fabs((double)within / N - 0.682689) < 4 * sqrt(0.25 / N));
    CU_ASSERT_TRUE(fabs(uniform / N - 0.5) < 4 * sqrt(1.0 / 12 / N));
}

int main(void) {
    static const lg_test tests[] = {
        {"known values", test_known_values},
        {"addresses are independent", test_addresses_are_independent},
        {"below is even", test_below_is_even},
        {"distributions", test_distributions},
    };
    return lg_run_tests("rng", tests, sizeof tests / sizeof *tests);
}
