// SPDX-License-Identifier: Apache-2.0
// The softmax of one row in double precision, in loops the compiler can vectorise. Pure functions.
#ifndef LG_REFERENCE_SOFTMAX_H
#define LG_REFERENCE_SOFTMAX_H

#include <stdint.h>

// max: the largest x[c], NaN left out; -inf when there is none. rest: Σ exp(x[c] - max) - 1, exact
// to about one rounding even when it is tiny; NaN when the softmax of the row is not defined (a NaN
// or +inf, or nothing above -inf).
void lg_softmax_stats(const double *x, int64_t n, double *max, double *rest);

// out[c] = exp(x[c] - max) · factor; out may be x. `max` must be finite.
void lg_softmax_scaled(const double *x, int64_t n, double max, double factor, double *out);

// exp(x - max) for x <= max, with the rounding error of the difference taken into account: error
// below one unit in the last place of the result, also when it is subnormal. -inf gives 0, NaN
// gives NaN.
double lg_exp_below(double x, double max);

#endif
