// SPDX-License-Identifier: Apache-2.0
// The steps of an attribution, a file each.
#ifndef LG_ATTRIBUTE_INTERNAL_H
#define LG_ATTRIBUTE_INTERNAL_H

#include "attribute/attribute.h"
#include "attribute/kernel/kernel.h"
#include "labels/labels.h"

#include <stdbool.h>
#include <stdint.h>

// labels.c: how targets are passed, and labels out of range.
void lg_attribute_handover(lg_diagnosis *d);
void lg_attribute_label_rows(lg_diagnosis *d);
// How many class indices there are, whether there is one for each row, and which head width they
// are held against. Where input and target do not fit each other it is not sure which axis of the
// input holds the classes: of the widths it can be the largest is taken, so that a label is out of
// range in any case.
void lg_attribute_label_shape(lg_diagnosis *d);
int64_t lg_entry_of(const lg_batch *batch, int64_t row, int64_t c); // of the input, of class c
// nonfinite.c
void lg_attribute_nonfinite(lg_diagnosis *d);
// The class of a row when its target is an index in range; -1 otherwise, -2 when it is ignored.
int64_t lg_class_of_row(const lg_diagnosis *d, int64_t row);
// beside.c: beside a fault, what is plain whatever that is: a refused type of the labels,
// probabilities where logarithms are expected.
void lg_attribute_companions(lg_diagnosis *d);
// text.c: the line of evidence and of advice for one label cause.
const char *lg_label_evidence_text(const lg_diagnosis *d, const lg_explanation *e, lg_cause cause);
const char *lg_label_advice_text(const lg_diagnosis *d, const lg_explanation *e, lg_cause cause);
// rank.c: makes the finding of the kernel's guesses.
void lg_attribute_conclude_kernel(lg_diagnosis *d, const lg_guess *guesses, int n);

#endif
