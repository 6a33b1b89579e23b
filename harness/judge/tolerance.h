// SPDX-License-Identifier: Apache-2.0
// How far a right kernel may be from the double-precision reference, derived from dtype, number of
// terms and order of summation; the derivation stands beside the table in tolerance.c.
#ifndef LG_JUDGE_TOLERANCE_H
#define LG_JUDGE_TOLERANCE_H

#include "model/batch.h"
#include "reference/reference.h"

typedef enum lg_quantity { LG_Q_LOSS, LG_Q_ROW_LOSS, LG_Q_TOTAL_WEIGHT, LG_Q_GRADIENT } lg_quantity;

// The bound |got - want| must not exceed, for element `index` of the quantity with reference value
// `want` (finite). Always > 0 and finite unless the quantity must be exact (then 0): a gradient
// that is zero by definition, the loss of an ignored row, a total weight that is a count. `index`:
// the row of a row loss; the flat, row-major index into the input's shape of a gradient. The total
// weight is expected in the accumulator's type, float for a half: one kept in a half is too narrow.
// LG_Q_LOSS takes time proportional to the rows, the others constant time.
double lg_tolerance(const lg_batch *batch, const lg_reference *reference, lg_quantity quantity,
                    int64_t index, double want);

// The bound the sum of the gradient over the classes of `row` must stay within; 0 is what it is
// without rounding. cross_entropy only, rows whose gradient is finite.
double lg_tolerance_row_sum(const lg_batch *batch, const lg_reference *reference, int64_t row);

// Class first (NaN, +inf, -inf, finite), then |got-want| <= bound. A finite `want` whose rounding
// to the output dtype overflows, with the bound added, accepts that infinity. Returns the error as
// a share of the bound: <= 1 passes; INFINITY when the classes differ, or when the bound is 0 and
// not met.
double lg_compare(double got, double want, double bound, lg_dtype out_dtype);

#endif
