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
    const lg_batch *batch;             // as handed over: logical and device targets
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

#endif
