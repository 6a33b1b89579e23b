// SPDX-License-Identifier: Apache-2.0
// The exponential and the softmax sums of the reference, against __float128.
#include "reference/internal.h"

#include "unit/reference/quad.h"
#include "unit/testing.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static uint64_t random_bits(uint64_t *state) {
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static double uniform(uint64_t *state) {
    return (double)(random_bits(state) >> 11) * 0x1p-53;
}

static void test_exp_values(void) {
    static const struct {
        const char *name;
        double x, max, want;
    } rows[] = {
        {"the maximum itself", 3.5, 3.5, 1},
        {"minus infinity", -INFINITY, 0, 0},
        {"far below", -1e300, 1e300, 0},
        {"the difference overflows", -1.7e308, 1.7e308, 0},
        {"half of the least subnormal is rounded to 0", -745.2, 0, 0},
        {"least subnormal", -745.1, 0, 0x1p-1074},
        {"NaN", NAN, 1, NAN},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        double got = lg_exp_below(rows[i].x, rows[i].max);
        LG_CHECK_ROW(rows[i].name, got == rows[i].want || (isnan(got) && isnan(rows[i].want)));
    }
}

// Below one unit in the last place: claimed in the header, measured here.
static void test_exp_error(void) {
    static const double scales[] = {1e-12, 1e-3, 0.35, 1, 20, 100, 708, 745, 1e5};
    uint64_t state = 11;
    double worst = 0;
    for (size_t s = 0; s < sizeof scales / sizeof scales[0]; s++) {
        for (int i = 0; i < 20000; i++) {
            // A large maximum makes the difference inexact, which the result must not show.
            double max = i % 2 ? (uniform(&state) - 0.5) * 2 * scales[s] : 0;
            double x = max - uniform(&state) * scales[s];
            quad want = quad_exp((quad)x - (quad)max);
            double ulps = quad_ulps(lg_exp_below(x, max), want, want);
            worst = fmax(worst, ulps);
        }
    }
    printf("\n    largest error of exp: %.3f ulp ... ", worst);
    CU_ASSERT_TRUE(worst < 1);
}

static void test_stats(void) {
    enum { MOST = 2000 };
    static double x[MOST];
    static double scaled[MOST];
    static const double scales[] = {0, 1e-6, 1, 30, 700, 1e6};
    uint64_t state = 5;
    double worst = 0;
    double worst_scaled = 0;
    for (int turn = 0; turn < 300; turn++) {
        int n = 1 + (int)(random_bits(&state) % (turn % 10 ? 40 : MOST));
        double scale = scales[turn % 6];
        int top = 0;
        for (int c = 0; c < n; c++) {
            x[c] = (uniform(&state) - 0.5) * scale + (turn % 7 == 0 ? 1e4 : 0);
            top = x[c] > x[top] ? c : top;
        }
        x[top] += turn % 3 ? 0 : 30; // a saturated row: the rest is tiny and must keep its digits
        quad rest = 0;
        for (int c = 0; c < n; c++) {
            rest += c == top ? 0 : quad_exp((quad)x[c] - (quad)x[top]);
        }
        double max;
        double got;
        lg_softmax_stats(x, n, &max, &got);
        CU_ASSERT_EQUAL(max, x[top]);
        worst = fmax(worst, quad_ulps(got, rest, rest));
        lg_softmax_scaled(x, n, max, 0.75, scaled);
        for (int c = 0; c < n; c++) {
            quad want = quad_exp((quad)x[c] - (quad)max) * (quad)0.75;
            worst_scaled = fmax(worst_scaled, quad_ulps(scaled[c], want, want));
        }
    }
    printf("\n    largest error of the rest: %.3f ulp, of the scaled softmax: %.3f ulp ... ", worst,
           worst_scaled);
    CU_ASSERT_TRUE(worst <= 2);
    CU_ASSERT_TRUE(worst_scaled <= 2);
}

// What is far below the maximum is exactly 0 whatever the factor, what is just below a double's
// range is not when the factor lifts it.
static void test_scaled_ends(void) {
    static const struct {
        const char *name;
        double x, factor;
        bool zero;
    } rows[] = {
        {"minus infinity, large factor", -INFINITY, 1e12, true},
        {"minus infinity, huge factor", -INFINITY, 1e300, true},
        {"below the range of a double, lifted", -760, 1e12, false},
        {"huge factor", -700, 1e300, false},
        {"huge factor on the maximum", 0, 1.5e308, false},
        {"subnormal", -740, 1, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        double out;
        lg_softmax_scaled(&rows[i].x, 1, 0, rows[i].factor, &out);
        quad want = quad_exp((quad)rows[i].x) * (quad)rows[i].factor;
        LG_CHECK_ROW(rows[i].name, rows[i].zero ? out == 0 : out > 0);
        LG_CHECK_ROW(rows[i].name, quad_ulps(out, want, want) <= 2);
    }
}

static void test_undefined(void) {
    static const struct {
        const char *name;
        double x[3];
    } rows[] = {
        {"a NaN", {1, NAN, 0}},
        {"a NaN first", {NAN, 1, 2}},
        {"plus infinity", {1, INFINITY, 0}},
        {"only minus infinity", {-INFINITY, -INFINITY, -INFINITY}},
        {"NaN and minus infinity", {-INFINITY, NAN, -INFINITY}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        double max;
        double rest;
        lg_softmax_stats(rows[i].x, 3, &max, &rest);
        LG_CHECK_ROW(rows[i].name, isnan(rest));
    }
    double max;
    double rest;
    lg_softmax_stats(NULL, 0, &max, &rest);
    CU_ASSERT_TRUE(isnan(rest));
}

int main(void) {
    static const lg_test tests[] = {
        {"exp at its edges", test_exp_values},
        {"exp within one ulp", test_exp_error},
        {"maximum, rest and scaled softmax", test_stats},
        {"scaled softmax at its ends", test_scaled_ends},
        {"rows without a softmax", test_undefined},
    };
    return lg_run_tests("model loss, softmax", tests, sizeof tests / sizeof tests[0]);
}
