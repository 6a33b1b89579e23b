// SPDX-License-Identifier: Apache-2.0
// What the files of the attribution share: the diagnosis while it is being made.
#ifndef LG_ATTRIBUTE_INTERNAL_H
#define LG_ATTRIBUTE_INTERNAL_H

#include "attribute/attribute.h"
#include "labels/labels.h"

#include <stdbool.h>
#include <stdint.h>

enum { LG_MAX_FACTS = 6 };

// Something that is so, whatever the labels' frequencies: a dtype, a shape, a NaN.
typedef struct lg_fact {
    lg_cause cause;
    const char *evidence; // in the finding's arena
    const char *advice;
    bool doubtful; // the best reading, but the batch may be meant that way
} lg_fact;

typedef struct lg_diagnosis {
    const lg_attribute_input *input;
    const lg_batch *batch;
    lg_finding *finding;
    int64_t n_rows;
    int64_t n_labels;    // class indices; 0: there are none
    int64_t label_width; // the head width that they are held against
    bool *bad;           // rows the loss cannot take; the larger of n_rows and n_labels
    bool *bad_label;     // those of them whose label is to blame
    bool targets_fit;    // class indices, one a row, so that labels can be read by row
    bool misread;        // the handed-over labels are another reading of the meant ones
    int n_facts;
    lg_fact facts[LG_MAX_FACTS];
    lg_label_table table; // only when targets_fit
    bool has_table;
    int n_explanations;
    lg_explanation explanations[LG_MAX_EXPLANATIONS];
} lg_diagnosis;

// Adds a fact unless its cause is there already.
void lg_fact_add(lg_diagnosis *d, lg_cause cause, const char *evidence, const char *advice);

// attribute_labels.c: how targets are handed over, and labels out of range.
void lg_diagnose_handover(lg_diagnosis *d);
void lg_diagnose_label_rows(lg_diagnosis *d);

// How many class indices there are, whether there is one for each row, and which head width they
// are held against. Where input and target do not fit each other it is not sure which axis of the
// input holds the classes: of the widths it can be the largest is taken, so that a label is out of
// range in any case.
void lg_diagnose_label_shape(lg_diagnosis *d);

// attribute_values.c: probabilities, binary inputs and targets, weights; shapes come from the host
// check.
void lg_diagnose_values(lg_diagnosis *d);
int64_t lg_entry_of(const lg_batch *batch, int64_t row, int64_t c); // of the input, of class c
// attribute_nonfinite.c
void lg_diagnose_nonfinite(lg_diagnosis *d);
// The class of a row when its target is an index in range; -1 otherwise, -2 when it is ignored.
int64_t lg_class_of_row(const lg_diagnosis *d, int64_t row);

// attribute_beside.c: beside a fault, what is plain whatever that is: a refused type of the labels,
// probabilities where logarithms are meant.
void lg_diagnose_companions(lg_diagnosis *d);
// What is worth a warning on a batch that is otherwise fine.
void lg_diagnose_warnings(lg_diagnosis *d);

// attribute_text.c: the line of evidence and of advice for one label cause.
const char *lg_label_evidence_text(const lg_diagnosis *d, const lg_explanation *e, lg_cause cause);
const char *lg_label_advice_text(const lg_diagnosis *d, const lg_explanation *e, lg_cause cause);

// The same facts from counts, for arrays that are never in memory as a whole. `first` is a row.
void lg_fact_add_floats(lg_diagnosis *d, lg_dtype dtype, int64_t n_fractional, int64_t first,
                        double first_value);
void lg_fact_add_nonfinite(lg_diagnosis *d, int64_t n_rows, int64_t first);
// Rows of class probabilities that hold NaN or infinity, and that are no probabilities.
void lg_fact_add_target_nonfinite(lg_diagnosis *d, int64_t n_rows, int64_t first);
void lg_fact_add_not_probabilities(lg_diagnosis *d, int64_t n_rows, int64_t first);
// Input rows that are no log-probabilities, for nll_loss; n_rows 0: all are probabilities.
void lg_fact_add_no_logs(lg_diagnosis *d, int64_t n_rows);
// Whether a label of a floating-point target is none: a fraction, NaN, or out of range.
bool lg_float_label_is_bad(int64_t head_width, int64_t ignore_index, double value);
// Whether any of n packed elements is NaN or infinite; false for integers.
bool lg_any_nonfinite(lg_dtype dtype, const void *data, size_t n);

// attribute_rank.c: fills the finding's hypotheses, cause and claims from facts and explanations;
// leaves it alone when there are none.
void lg_diagnosis_conclude(lg_diagnosis *d);

// attribute_kernel.c: the kernel's own fault, from what was observed: guesses with their weights,
// at most LG_MAX_GUESSES; 0 when it kept its promise, or nothing can be said.
struct lg_guess;
int lg_diagnose_kernel(const lg_diagnosis *d, struct lg_guess *out);
// attribute_rank.c: makes the finding of them.
void lg_diagnosis_conclude_kernel(lg_diagnosis *d, const struct lg_guess *guesses, int n);
// On an invalid batch: did the guard let rows through that it promised to signal?
lg_cause lg_diagnose_guard(const lg_diagnosis *d, const char **evidence);

#endif
