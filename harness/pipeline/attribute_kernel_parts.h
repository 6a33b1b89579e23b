// SPDX-License-Identifier: Apache-2.0
// What the tests of a broken kernel share: what was observed of it, on which batch.
#ifndef LG_PIPELINE_ATTRIBUTE_KERNEL_PARTS_H
#define LG_PIPELINE_ATTRIBUTE_KERNEL_PARTS_H

#include "pipeline/attribute_parts.h"

typedef struct lg_suspicion {
    const lg_diagnosis *d;
    const lg_batch *batch;
    const lg_reference *reference;
    const lg_observation *seen;
    lg_arena *arena;
    const lg_output *loss;
    const lg_output *gradient;
    const lg_output *total_weight;
    double slack; // relative: what rounding alone may do to a loss of this dtype
} lg_suspicion;

bool lg_is_near(const lg_suspicion *s, double got, double want);
int64_t lg_label_of(const lg_suspicion *s, int64_t row); // as handed to the device
// The row counts: its target is a probability, or a label that is not ignored.
bool lg_row_is_live(const lg_suspicion *s, int64_t row);
bool lg_is_strided(const lg_batch *batch);
// Offsets into the input do not fit 16 bits with a sign, the narrowest anybody uses.
bool lg_overflows_narrow_offsets(const lg_batch *batch);

// attribute_numbers.c: a wrong loss or gradient.
lg_cause lg_suspect_numbers(const lg_suspicion *s, const char **why);

// attribute_softmax.c: what a broken softmax or smoothing would have returned; attribute_sums.c:
// what a broken sum or mean would have. NONE: no such number was seen.
lg_cause lg_suspect_softmax(const lg_suspicion *s, const char **why);
lg_cause lg_suspect_normalisation(const lg_suspicion *s, const char **why);
lg_cause lg_suspect_narrow_sum(const lg_suspicion *s, const char **why);

// attribute_gradient.c: a gradient that breaks what every gradient keeps; NONE: it keeps all of it.
lg_cause lg_suspect_gradient_contract(const lg_suspicion *s, const char **why);

#endif
