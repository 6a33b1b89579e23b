// SPDX-License-Identifier: Apache-2.0
// exp, log and log1p in __float128, written for the tests so that both compilers have them. Errors
// of a few units of 2^-113, which is nothing beside a double.
#ifndef LG_TESTS_QUAD_H
#define LG_TESTS_QUAD_H

#include <math.h>

typedef __float128 quad;

static const quad QUAD_NAN = (quad)NAN;
static const quad QUAD_INF = (quad)INFINITY;

static inline quad quad_abs(quad x) {
    return x < 0 ? -x : x;
}

static inline int quad_is_finite(quad x) {
    return x - x == 0;
}

// 2·atanh(z) = log((1 + z) / (1 - z)) for |z| <= 1/3, by its series.
static inline quad quad_two_atanh(quad z) {
    quad square = z * z;
    quad power = z;
    quad sum = 0;
    for (int k = 1; k < 90; k += 2) {
        sum += power / k;
        power *= square;
    }
    return 2 * sum;
}

// 1/3 makes log 2: (1 + 1/3) / (1 - 1/3) = 2.
static inline quad quad_ln2(void) {
    static quad ln2; // the tests have one thread
    ln2 = ln2 == 0 ? quad_two_atanh((quad)1 / 3) : ln2;
    return ln2;
}

// x = k·log 2 + r, then the series of exp; the power of two is applied in steps a double can hold.
static inline quad quad_exp(quad x) {
    if (x != x) {
        return x;
    }
    if (x < -11000 || x > 11000) {
        return x < 0 ? 0 : QUAD_INF;
    }
    quad ln2 = quad_ln2();
    int k = (int)floor((double)(x / ln2) + 0.5);
    quad r = x - k * ln2;
    quad term = 1;
    quad sum = 1;
    for (int i = 1; i < 34; i++) {
        term *= r / i;
        sum += term;
    }
    for (; k > 500; k -= 500) {
        sum *= (quad)0x1p500;
    }
    for (; k < -500; k += 500) {
        sum *= (quad)0x1p-500;
    }
    return sum * (quad)ldexp(1, k);
}

static inline quad quad_log1p(quad x) {
    return quad_two_atanh(x / (2 + x));
}

static inline quad quad_log(quad x) {
    if (!(x > 0) || !quad_is_finite(x)) {
        return x == 0 ? -QUAD_INF : x > 0 ? x : QUAD_NAN;
    }
    int k = 0;
    for (; x >= (quad)1.5; k++) {
        x /= 2;
    }
    for (; x < (quad)0.75; k--) {
        x *= 2;
    }
    return quad_log1p(x - 1) + k * quad_ln2();
}

// log(1 + x) for x > -1, keeping the digits of a small x.
static inline quad quad_log_one_plus(quad x) {
    return quad_abs(x) <= (quad)0.25 ? quad_log1p(x) : quad_log(1 + x);
}

// |got - want| in units in the last place of `scale` (a double's); 0 when the classes agree and are
// not finite, INFINITY when they differ. A `want` beyond a double's range counts as infinite.
static inline double quad_ulps(double got, quad want, quad scale) {
    double rounded = (double)want;
    if (isnan(rounded) || isinf(rounded)) {
        return (isnan(rounded) && isnan(got)) || got == rounded ? 0 : INFINITY;
    }
    if (!isfinite(got)) {
        return INFINITY;
    }
    double size = fmax(fabs((double)scale), fabs(rounded));
    double ulp = size >= 0x1p-1022 ? ldexp(1, ilogb(size) - 52) : 0x1p-1074;
    return (double)(quad_abs((quad)got - want) / ulp);
}

#endif
