// SPDX-License-Identifier: Apache-2.0
// A compensated sum: the running sum and, beside it, the exact rounding error of each addition
// (TwoSum: D. E. Knuth, The Art of Computer Programming 2, section 4.2.2; as a summation: A.
// Neumaier, ZAMM 54, 1974). The result is as if summed in twice the precision and rounded once.
#ifndef LG_REFERENCE_SUM_H
#define LG_REFERENCE_SUM_H

#include <math.h>

typedef struct lg_sum {
    double sum;
    double error;
} lg_sum;

static inline void lg_sum_add(lg_sum *s, double term) {
    double sum = s->sum + term;
    double of_term = sum - s->sum;
    s->error += (s->sum - (sum - of_term)) + (term - of_term);
    s->sum = sum;
}

// An infinite or NaN sum has no meaningful error term: the plain sum has the class that counts.
static inline double lg_sum_value(const lg_sum *s) {
    return isfinite(s->sum) ? s->sum + s->error : s->sum;
}

#endif
