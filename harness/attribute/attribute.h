// SPDX-License-Identifier: Apache-2.0
// From a batch (and what was observed) to a diagnosis: evidence first, then ranked hypotheses.
//
// Knows nothing of what was injected: it sees what a user would have.
#ifndef LG_ATTRIBUTE_ATTRIBUTE_H
#define LG_ATTRIBUTE_ATTRIBUTE_H

#include "model/batch.h"
#include "result/finding.h"
#include "manifest/manifest.h"
#include "reference/reference.h"
#include "result/observation.h"
#include "model/verdict.h"
#include "batch/hostcheck.h"
#include "support/str.h"

// The labels as evidence, collected in one pass; also for `lossgate diagnose` on a stream of
// labels.
typedef struct lg_label_evidence {
    int64_t n; // labels seen
    int64_t n_ignored;
    int64_t head_width; // C
    int64_t classes;    // K, 0 unknown
    int64_t ignore_index;
    lg_dtype dtype;     // of the target
    int64_t min, max;   // over the labels that are not ignored
    int64_t n_in_range; // 0 <= label < C
    int64_t n_negative;
    int64_t n_at_width;    // label == C
    int64_t n_above_width; // label > C
    int64_t n_zero;        // label == 0
    int64_t n_distinct;    // distinct live labels (exact up to a bound, see attribute.c)
    int64_t n_distinct_in_range;
    int64_t n_distinct_out; // distinct out-of-range values
    int64_t dominant_out;   // the most frequent out-of-range value and its count
    int64_t n_dominant_out;
    int64_t n_float32_bits; // out-of-range labels that look like one or two packed float32
    int64_t n_float64_bits;
    int64_t n_int32_pairs; // look like two int32 labels side by side
    int64_t n_sign_bytes;  // values -128..-1 in a signed reading of uint8
    int64_t n_int_min;     // INT32_MIN or INT64_MIN
    int64_t n_pointers;    // look like user-space addresses
    int64_t n_fractional;  // float targets with a fractional part
    double first_fractional;
    int64_t first_fractional_row;
    // Out-of-range labels by their place, in the order of the labels. A run is a stretch of one
    // value; one that is joined has its own value to the left or, in a map, above it.
    int64_t row_length; // labels in a row of a map; 0: the labels have no second dimension
    int64_t n_out_runs;
    int64_t longest_out_run;
    int64_t longest_out_run_value;
    int64_t n_out_joined;
} lg_label_evidence;

typedef struct lg_attribute_input {
    const lg_batch *batch;             // as handed over: logical and device targets
    const lg_reference *reference;     // or NULL
    const lg_refusal *refusal;         // the host check's, or NULL
    const lg_kernel *kernel;           // or NULL (diagnose without a run)
    const lg_observation *observation; // or NULL
    // A deviation the judge found on a *valid* batch; LG_CAUSE_NONE: none. Kernel causes follow.
    bool result_wrong;
} lg_attribute_input;

void lg_evidence_collect(const lg_batch *batch, lg_label_evidence *out);
void lg_evidence_print(const lg_label_evidence *evidence, lg_str *out);
// The rest of what attribution looks at: types, shapes, weights, and what was observed of the run.
void lg_evidence_print_run(const lg_attribute_input *input, lg_str *out);

// Fills `out`; free with lg_finding_free. A clean batch and run give cause NONE.
void lg_attribute(const lg_attribute_input *input, lg_finding *out);

// Grades a finding against the ground truth (see lg_attribution). The rows must be exactly the
// union of the rows of all faults that fired; otherwise, and when no injected cause is named, it is
// WRONG. EXACT: not ambiguous, and every cause the finding states (its own, and those stated with
// it) was injected. One of several injected faults is enough: another may have left no trace of its
// own, as a label C under a head that is one too narrow. AMBIGUOUS: an injected cause is among
// those named or not excluded. Nothing fired: NONE when nothing or only a warning was concluded,
// else WRONG.
lg_attribution lg_attribution_grade(const lg_batch *batch, const lg_finding *finding);

#endif
