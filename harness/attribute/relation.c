// SPDX-License-Identifier: Apache-2.0
// The cause of a metamorphic relation that does not hold: what the numbers of the run to look at
// say, or else what the relation itself points at.
#include "attribute/attribute.h"

#include <math.h>

static lg_cause cause_of(const lg_relation_fact *fact) {
    bool mean = fact->run.batch->loss.reduction == LG_REDUCTION_MEAN;
    bool slight = fact->relative_gap < 0.01; // lost digits; a row too many or too few shows more
    switch (fact->relation) {
    case LG_RELATION_PERMUTE_ROWS:
        return LG_CAUSE_RACE;
    case LG_RELATION_SPLIT_BATCH:
        return mean     ? LG_CAUSE_WRONG_NORMALISATION
               : slight ? LG_CAUSE_PRECISION
                        : LG_CAUSE_INDEX_OVERFLOW;
    case LG_RELATION_DOUBLE_BATCH:
        return slight ? LG_CAUSE_PRECISION : LG_CAUSE_INDEX_OVERFLOW;
    case LG_RELATION_SHIFT_LOGITS:
        return LG_CAUSE_PRECISION;
    case LG_RELATION_FLATTEN_SPATIAL:
    case LG_RELATION_CONTIGUOUS_COPY:
        return LG_CAUSE_STRIDES_IGNORED;
    case LG_RELATION_UNSET:
    case LG_N_RELATIONS:
        break;
    }
    return LG_CAUSE_PRECISION;
}

// Does the cause follow from a number that was recomputed, or is it what attribution says where no
// number fits?
static bool is_specific(lg_cause cause) {
    return cause != LG_CAUSE_NONE && cause != LG_CAUSE_PRECISION &&
           cause != LG_CAUSE_STRIDES_IGNORED && cause != LG_CAUSE_OPTION_INTERPLAY &&
           cause != LG_CAUSE_GRADIENT_CONTRACT;
}

void lg_attribute_relation(const lg_relation_fact *fact, lg_finding *out) {
    lg_attribute_input input = {.batch = fact->run.batch,
                                .reference = fact->run.reference,
                                .kernel = fact->run.kernel,
                                .observation = fact->run.observation,
                                .result_wrong = true};
    lg_attribute(&input, out);
    bool named = out->cause != LG_CAUSE_NONE && !out->warning;
    // Of a run that fails by itself its own cause is as good as any.
    if (named && (is_specific(out->cause) || isinf(fact->relative_gap))) {
        return;
    }
    lg_finding_free(out);
    lg_hypothesis *h = lg_arena_array(&out->arena, 1, sizeof *h);
    *h = (lg_hypothesis){.cause = cause_of(fact),
                         .probability = 1,
                         .evidence = lg_arena_strdup(&out->arena, fact->judgement.text),
                         .advice = "replay the case and look at the kernel, not at the labels"};
    out->hypotheses = h;
    out->n_hypotheses = 1;
    out->n_named = 1;
    out->cause = h->cause;
    out->headline = h->evidence;
}
