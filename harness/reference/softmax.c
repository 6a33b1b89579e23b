// SPDX-License-Identifier: Apache-2.0
#include "reference/internal.h"

#include "reference/reference.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

// Independent partial results a loop keeps, so that its additions can run side by side.
enum { LANES = 8 };

// The loops are written once, inlined into a plain function and, where there is one, into a
// function for AVX2. Both do the same operations in the same order, without contraction: the bits
// are the same.
#define BODY static inline __attribute__((always_inline))

// exp(x - max). Range reduction by Cody and Waite: d = k·ln 2 + r with |r| <= ln 2 / 2, where ln 2
// is split so that k·LN2_HIGH is exact; then the Taylor polynomial of exp to degree 13 (its
// remainder is below 2^-57 there), and the scale 2^(k+100) put together from its bits. No branches:
// the callers' loops vectorise.
//
// Returns exp(x - max)·2^100, so that a subnormal result is rounded once, by whoever takes the
// 2^100 away.
static const double UNLIFT = 0x1p-100;

BODY double lifted_exp(double x, double max) {
    static const double LOG2_E = 0x1.71547652b82fep0;
    static const double LN2_HIGH =
        0x1.62e42fefa3800p-1; // 11 zero bits at the end: k·LN2_HIGH exact
    static const double LN2_LOW = 0x1.ef35793c76730p-45;
    static const double ROUNDER = 0x1.8p52; // adding it leaves the nearest integer in the low bits
    double d = x - max;
    double of_max = x - d;
    double d_low = (x - (d + of_max)) + (of_max - max);
    // Below -775 the result is 0, also after a factor of up to 2^43; an infinite d has a NaN error.
    bool vanishes = d < -775;
    d_low = vanishes ? 0 : d_low;
    d = vanishes ? 0 : d;
    double shifted = d * LOG2_E + ROUNDER;
    double k = shifted - ROUNDER;
    double r = (d - k * LN2_HIGH) - (k * LN2_LOW - d_low);
    double p = 0x1.6124613a86d09p-33;  // 1/13!
    p = p * r + 0x1.1eed8eff8d898p-29; // 1/12!
    p = p * r + 0x1.ae64567f544e4p-26; // 1/11!
    p = p * r + 0x1.27e4fb7789f5cp-22; // 1/10!
    p = p * r + 0x1.71de3a556c734p-19; // 1/9!
    p = p * r + 0x1.a01a01a01a01ap-16; // 1/8!
    p = p * r + 0x1.a01a01a01a01ap-13; // 1/7!
    p = p * r + 0x1.6c16c16c16c17p-10; // 1/6!
    p = p * r + 0x1.1111111111111p-7;  // 1/5!
    p = p * r + 0x1.5555555555555p-5;  // 1/4!
    p = p * r + 0x1.5555555555555p-3;  // 1/3!
    p = p * r + 0.5;                   // 1/2!
    double value = 1 + (r + r * r * p);
    uint64_t bits;
    memcpy(&bits, &shifted, sizeof bits);
    bits = (bits + 1023 + 100) << 52;
    double scale;
    memcpy(&scale, &bits, sizeof scale);
    return vanishes ? 0 : value * scale;
}

BODY double exp_below(double x, double max) {
    return lifted_exp(x, max) * UNLIFT;
}

double lg_exp_below(double x, double max) {
    return exp_below(x, max);
}

BODY double largest(const double *x, int64_t n) {
    double lane[LANES];
    for (int i = 0; i < LANES; i++) {
        lane[i] = -INFINITY;
    }
    int64_t c = 0;
    for (; c + LANES <= n; c += LANES) {
        for (int i = 0; i < LANES; i++) {
            lane[i] = x[c + i] > lane[i] ? x[c + i] : lane[i];
        }
    }
    for (; c < n; c++) {
        lane[0] = x[c] > lane[0] ? x[c] : lane[0];
    }
    for (int i = 1; i < LANES; i++) {
        lane[0] = lane[i] > lane[0] ? lane[i] : lane[0];
    }
    return lane[0];
}

// lg_sum_add over arrays of sums and of errors, which is the form that vectorises.
BODY void add(double *sum, double *error, double term) {
    lg_sum s = {*sum, *error};
    lg_sum_add(&s, term);
    *sum = s.sum;
    *error = s.error;
}

BODY void stats(const double *x, int64_t n, double *max, double *rest) {
    double m = largest(x, n);
    *max = m;
    *rest = NAN;
    if (!isfinite(m)) {
        return;
    }
    double sum[LANES] = {0};
    double error[LANES] = {0};
    int64_t c = 0;
    for (; c + LANES <= n; c += LANES) {
        for (int i = 0; i < LANES; i++) {
            add(&sum[i], &error[i], exp_below(x[c + i], m));
        }
    }
    for (; c < n; c++) {
        add(&sum[0], &error[0], exp_below(x[c], m));
    }
    // The sum is at least 1, from the largest element itself; taking that 1 away leaves the others.
    double all = 0;
    double low = 0;
    for (int i = 0; i < LANES; i++) {
        add(&all, &low, sum[i]);
        low += error[i];
    }
    *rest = (all - 1) + low;
}

BODY void scaled(const double *x, int64_t n, double max, double factor, double *out) {
    // A factor that could overflow the lifted exponential takes the 2^100 away beforehand.
    bool large = fabs(factor) > 0x1p900;
    double before = large ? factor * UNLIFT : factor;
    double after = large ? 1 : UNLIFT;
    for (int64_t c = 0; c < n; c++) {
        out[c] = lifted_exp(x[c], max) * before * after;
    }
}

static void stats_plain(const double *x, int64_t n, double *max, double *rest) {
    stats(x, n, max, rest);
}

static void scaled_plain(const double *x, int64_t n, double max, double factor, double *out) {
    scaled(x, n, max, factor, out);
}

#ifdef __x86_64__
static __attribute__((target("avx2"))) void stats_avx2(const double *x, int64_t n, double *max,
                                                       double *rest) {
    stats(x, n, max, rest);
}

static __attribute__((target("avx2"))) void scaled_avx2(const double *x, int64_t n, double max,
                                                        double factor, double *out) {
    scaled(x, n, max, factor, out);
}

static bool has_avx2(void) {
    return __builtin_cpu_supports("avx2");
}
#else
#define stats_avx2 stats_plain
#define scaled_avx2 scaled_plain

static bool has_avx2(void) {
    return false;
}
#endif

void lg_softmax_stats(const double *x, int64_t n, double *max, double *rest) {
    (has_avx2() ? stats_avx2 : stats_plain)(x, n, max, rest);
}

void lg_softmax_scaled(const double *x, int64_t n, double max, double factor, double *out) {
    (has_avx2() ? scaled_avx2 : scaled_plain)(x, n, max, factor, out);
}
