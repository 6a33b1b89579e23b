// SPDX-License-Identifier: Apache-2.0
// Every way the label faults can explain a batch's labels, weighed by Bayes' rule.
//
// An explanation is one cause, or two at once. Each says how clean labels became the labels seen: a
// remap moves all of them (shifts, a head that is too narrow, misread bits), a stray fault
// overwrites some rows. Its weight is prior × P(clean part | spread of the classes) × P(which rows,
// which values); the spreads of priors.h are summed over, so skewed frequencies and classes missing
// by chance are in.
#ifndef LG_LABELS_HYPOTHESES_H
#define LG_LABELS_HYPOTHESES_H

#include "labels/evidence.h"

typedef struct lg_explanation {
    lg_cause cause; // explains more of the bad rows than `with`
    lg_cause with;  // a second fault at the same time, or LG_CAUSE_NONE
    double probability;
    int64_t head_width; // wrong_head_width: the least K that the labels need; else 0
    int64_t sentinel;   // sentinel_mismatch: the value
} lg_explanation;

enum { LG_MAX_EXPLANATIONS = 40 };

// Ranked explanations of the out-of-range labels of a finished table; probabilities sum to 1.
// Returns their number: 0 when no label is out of range, or none of the faults explains them.
int lg_explain_labels(const lg_label_table *table, lg_explanation *out);

#endif
