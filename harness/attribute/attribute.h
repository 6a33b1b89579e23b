// SPDX-License-Identifier: Apache-2.0
// From a batch (and what was observed) to a diagnosis: evidence first, then ranked hypotheses.
//
// Knows nothing of what was injected: it sees what a user would have.
#ifndef LG_ATTRIBUTE_ATTRIBUTE_H
#define LG_ATTRIBUTE_ATTRIBUTE_H

#include "batch/batch.h"
#include "judge/judge.h"
#include "labels/labels.h"
#include "manifest/manifest.h"
#include "model/batch.h"
#include "model/verdict.h"
#include "reference/reference.h"
#include "result/finding.h"
#include "result/observation.h"
#include "support/str.h"

typedef struct lg_attribute_input {
    const lg_batch *batch;             // as passed: logical and device targets
    const lg_reference *reference;     // or NULL
    const lg_refusal *refusal;         // the host check's, or NULL
    const lg_kernel *kernel;           // or NULL (diagnose without a run)
    const lg_observation *observation; // or NULL
    // A deviation the judge found on a *valid* batch; LG_CAUSE_NONE: none. Kernel causes follow.
    bool result_wrong;
} lg_attribute_input;

// What attribution looks at beside the labels: types, shapes, weights, and what was observed of the
// run.
void lg_evidence_print_run(const lg_attribute_input *input, lg_str *out);

// Fills `out`; free with lg_finding_free. A clean batch and run give cause NONE.
void lg_attribute(const lg_attribute_input *input, lg_finding *out);
// The same for a metamorphic relation that does not hold.
void lg_attribute_relation(const lg_relation_fact *fact, lg_finding *out);

// Grades a finding against the ground truth (see lg_attribution). The rows must be exactly the
// union of the rows of all faults that fired; otherwise, and when no injected cause is named, it is
// WRONG. EXACT: not ambiguous, and every cause the finding states (its own, and those stated with
// it) was injected. One of several injected faults is enough: another may have left no trace of its
// own, as a label C under a head that is one too narrow. AMBIGUOUS: an injected cause is among
// those named or not excluded. Nothing fired: NONE when nothing or only a warning was concluded,
// else WRONG.
lg_attribution lg_attribution_grade(const lg_batch *batch, const lg_finding *finding);

// --- A diagnosis while it is being made: for whoever has the facts of arrays that are never in
// memory as a whole, as diagnose does.

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
    bool misread;        // the passed labels are another reading of the intended ones
    int n_facts;
    lg_fact facts[LG_MAX_FACTS];
    lg_label_table table; // only when targets_fit
    bool has_table;
    int n_explanations;
    lg_explanation explanations[LG_MAX_EXPLANATIONS];
} lg_diagnosis;

// Adds a fact unless its cause is there already.
void lg_fact_add(lg_diagnosis *d, lg_cause cause, const char *evidence, const char *advice);
// Facts from counts; `first` is a row. Texts go to the finding's arena.
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

// Probabilities, binary inputs and targets, weights; shapes come from the host
// check.
void lg_attribute_values(lg_diagnosis *d);
// What is worth a warning on a batch that is otherwise fine.
void lg_attribute_warnings(lg_diagnosis *d);
// Fills the finding's hypotheses, cause and claims from facts and explanations;
// leaves it alone when there are none.
void lg_attribute_conclude(lg_diagnosis *d);

#endif
