// SPDX-License-Identifier: Apache-2.0
// Other formulas of the binary losses: logarithms and quotients that are not kept from 0 as the
// contract has it, exponentials that overflow, a pos_weight on another term.
//
// x is the input, t the target, w the weight, v the pos_weight, as in reference/bce.c; σ is the
// sigmoid and softplus(x) = log(1 + exp(x)) = -log σ(-x).
#ifndef LG_ATTRIBUTE_KERNEL_FORMULA_BINARY_H
#define LG_ATTRIBUTE_KERNEL_FORMULA_BINARY_H

#include "attribute/kernel/formula.h"

typedef struct lg_binary_element {
    double x, t, w, v;
    double scale; // of the gradient: w times what comes from above, over the divisor of a mean
} lg_binary_element;

lg_binary_element lg_binary_read(const lg_suspicion *s, int64_t row);

// -(v·t·log_p + (1 - t)·log_not). A kernel that chooses by the target never meets 0 times infinity;
// one that multiplies makes NaN of it.
lg_formula_value lg_binary_weigh(const lg_binary_element *e, double log_p, double log_not);

enum { LG_FORMULA_PARAMETERS = 12 };
typedef struct lg_formula_row {
    lg_cause cause;
    int n;                      // parameters to try; 0: 0 alone
    const char *before, *after; // the parameter stands between them; NULL: there is none
    lg_formula formula;
    double parameters[LG_FORMULA_PARAMETERS];
    // The parameter that one wrong element has, where there is one a row; NULL: the list is all. It
    // explains that element whatever made it, so that another one has to agree.
    double (*solve)(const lg_suspicion *s, int64_t row, double got);
} lg_formula_row;

// Each ends with a row without a formula.
extern const lg_formula_row lg_bce_losses[], lg_bce_gradients[];       // formula_bce.c
extern const lg_formula_row lg_logits_losses[], lg_logits_gradients[]; // formula_logits.c

#endif
