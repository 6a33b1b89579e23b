// SPDX-License-Identifier: Apache-2.0
// A kernel that evaluates another formula than the contract's: what each row would then be. Such a
// formula agrees with the right one nearly everywhere, and breaks at the ends of its range.
#ifndef LG_ATTRIBUTE_KERNEL_FORMULA_H
#define LG_ATTRIBUTE_KERNEL_FORMULA_H

#include "attribute/kernel/internal.h"
#include "reference/reference.h"

// What the formula gives, and how far a kernel's own rounding may take it from that.
typedef struct lg_formula_value {
    double value;
    double unsure;
    bool may_be_lost; // no number is as good: denormals flushed to 0, 0 times infinity
} lg_formula_value;

static inline lg_formula_value lg_formula_just(double value) {
    return (lg_formula_value){value, 0, false};
}

// The loss of a row before reduction, or an element of the gradient.
typedef lg_formula_value (*lg_formula)(const lg_suspicion *s, int64_t row, double parameter);

typedef struct lg_formula_fit {
    int64_t n_telling; // elements that are wrong as the formula has them; 0: it does not fit
    int64_t first;     // the first of them, a row where the loss is a scalar: -1
} lg_formula_fit;

// Whether the formula gives every number returned of the loss. NaN and infinities are as good as
// each other.
lg_formula_fit lg_formula_fits_loss(const lg_suspicion *s, lg_formula formula, double parameter);
// The same for a gradient of one element a row.
lg_formula_fit lg_formula_fits_gradient(const lg_suspicion *s, lg_formula formula,
                                        double parameter);

// Whether what was returned of it differs from what is right by more than rounding; false where it
// was not asked for.
bool lg_formula_loss_is_off(const lg_suspicion *s);
bool lg_formula_gradient_is_off(const lg_suspicion *s);
bool lg_formula_gradient_row_is_off(const lg_suspicion *s, lg_gradient_view *right, int64_t row);

// As a kernel computes that has such an input: in double for float64, else in float.
double lg_formula_round(const lg_suspicion *s, double value);
// Half a unit in the last place of 1, and the least number above 0, of that type.
double lg_formula_epsilon(const lg_suspicion *s);
double lg_formula_least(const lg_suspicion *s);

#endif
