// SPDX-License-Identifier: Apache-2.0
// The probability of clean labels under each spread of the classes.
#ifndef LG_LABELS_CLEAN_H
#define LG_LABELS_CLEAN_H

#include "labels/priors.h"

#include <stdbool.h>
#include <stdint.h>

// What a spread needs to know of a label sequence: sums over its classes, so that classes can be
// added without a pass over the labels. Ranks count the classes that have rows from 0.
typedef struct lg_clean_sums {
    int64_t n;                      // labels
    int64_t n_distinct;             // classes among them
    double log_gamma[LG_N_SPREADS]; // Dirichlet: sum over classes of ln Γ(α + count) - ln Γ(α);
                                    // clustered: of ln Γ(count - d) - ln Γ(1 - d)
    double log_rank;                // sum over labels of ln(rank + 1)
    double least_rank, largest_rank;
    bool uniform_only; // counts are unknown: only the uniform spread can be computed
} lg_clean_sums;

// Adds `count` labels of a class whose rank is `rank` (>= 0).
void lg_clean_add(lg_clean_sums *sums, double rank, int64_t count);

// The same for a class that the sums hold `had` labels of already.
void lg_clean_add_more(lg_clean_sums *sums, double rank, int64_t had, int64_t count);

// Labels that were overwritten: all that is left of them is that they lay in range.
typedef struct lg_hidden_labels {
    int64_t n;
    double classes;    // that lie in range
    double seen;       // labels in `sums` that lie in range
    double first_rank; // the ranks in range: first_rank .. first_rank + classes - 1
} lg_hidden_labels;

// ln P(this sequence of labels, and that the hidden labels lie in range | spread, `classes`
// classes); -INFINITY when it is impossible.
double lg_clean_log_probability(const lg_clean_sums *sums, const lg_hidden_labels *hidden,
                                lg_spread spread, double classes);

#endif
