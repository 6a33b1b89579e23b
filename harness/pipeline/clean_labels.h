// SPDX-License-Identifier: Apache-2.0
// The probability of clean labels under each spread of the classes.
#ifndef LG_PIPELINE_CLEAN_LABELS_H
#define LG_PIPELINE_CLEAN_LABELS_H

#include "pipeline/priors.h"

#include <stdbool.h>
#include <stdint.h>

// What a spread needs to know of a label sequence: sums over its classes, so that classes can be
// added without a pass over the labels.
typedef struct lg_clean_sums {
    int64_t n;                      // labels
    double log_gamma[LG_N_SPREADS]; // sum over classes of ln Γ(α + count) - ln Γ(α); Dirichlet only
    double log_rank;   // sum over labels of ln(rank + 1); rank 0 is the zipf's first class
    bool uniform_only; // counts are unknown: only the uniform spread can be computed
} lg_clean_sums;

// Adds `count` labels of a class whose zipf rank is `rank` (>= 0).
void lg_clean_add(lg_clean_sums *sums, double rank, int64_t count);

// The same for a class that the sums hold `had` labels of already.
void lg_clean_add_more(lg_clean_sums *sums, double rank, int64_t had, int64_t count);

// Labels that were overwritten: all that is left of them is that they lay in range.
typedef struct lg_hidden_labels {
    int64_t n;
    double classes;    // that lie in range
    double seen;       // labels in `sums` that lie in range
    double first_rank; // the zipf ranks in range: first_rank .. first_rank + classes - 1
} lg_hidden_labels;

// ln P(the hidden labels lie in range | the labels of `sums`, spread, classes).
double lg_hidden_log_probability(const lg_clean_sums *sums, const lg_hidden_labels *hidden,
                                 lg_spread spread, double classes);

// ln P(this sequence of labels | spread, `classes` classes); -INFINITY when it is impossible.
double lg_clean_log_probability(const lg_clean_sums *sums, lg_spread spread, double classes);

#endif
