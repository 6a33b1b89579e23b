// SPDX-License-Identifier: Apache-2.0
#include "judge/judge.h"

#include "attribute/attribute.h"
#include "batch/batch.h"
#include "judge/internal.h"

#include <math.h>

bool lg_relations_make(const lg_scenario *scenario, const lg_batch *batch, lg_relations *out) {
    *out = (lg_relations){0};
    for (int i = LG_RELATION_UNSET + 1; i < LG_N_RELATIONS; i++) {
        if (!(scenario->relations & LG_RELATION_BIT(i))) {
            continue;
        }
        if (!lg_related_make(batch, (lg_relation)i, scenario->batch.seed, &out->items[out->n])) {
            lg_relations_free(out);
            return false;
        }
        out->n++;
    }
    return true;
}

void lg_relations_free(lg_relations *relations) {
    for (int i = 0; i < relations->n; i++) {
        lg_related_free(&relations->items[i]);
    }
    *relations = (lg_relations){0};
}

// The other batch in the label type that the kernel is given the first one in.
typedef struct handed_batch {
    bool fitted;
    lg_batch batch;
} handed_batch;

static handed_batch hand_over(const lg_scenario *scenario, const lg_kernel *kernel,
                              const lg_batch *batch) {
    handed_batch handed = {0};
    handed.fitted = lg_fit_labels(scenario, kernel, batch, &handed.batch);
    handed.batch = handed.fitted ? handed.batch : *batch;
    return handed;
}

static void hand_back(handed_batch *handed) {
    if (handed->fitted) {
        lg_tensor_free(&handed->batch.target);
    }
}

const char *lg_relations_unsuitable(const lg_relations *relations, const lg_scenario *scenario,
                                    const lg_kernel *kernel, lg_arena *arena) {
    for (int i = 0; i < relations->n; i++) {
        const lg_related *related = &relations->items[i];
        for (int k = 0; k < related->n_others; k++) {
            handed_batch handed = hand_over(scenario, kernel, &related->others[k].batch);
            const char *why = lg_device_unsuitable(kernel, &handed.batch, LG_MODE_BLOCKING, arena);
            hand_back(&handed);
            if (why) {
                return lg_arena_printf(arena, "relation %s: %s",
                                       lg_relation_name(related->relation), why);
            }
        }
    }
    return NULL;
}

typedef struct relation_run {
    lg_device_session *device;
    const lg_related *related;
    lg_case_result *result;
    lg_arena *arena;
    lg_diags *diags;
} relation_run;

// One more run of the case's kernel; the caller frees the observation.
static bool run_side(const relation_run *r, const lg_related_batch *part, lg_observation *seen,
                     lg_relation_side *side) {
    const lg_case *what = r->result->what;
    handed_batch handed = hand_over(what->scenario, what->kernel, &part->batch);
    lg_run_request request = {
        .kernel = what->kernel, .batch = &handed.batch, .mode = LG_MODE_BLOCKING};
    *side = (lg_relation_side){
        .batch = &part->batch, .reference = &part->reference, .seen = seen, .source = part->source};
    bool ok = lg_device_run(r->device, &request, seen, r->diags);
    hand_back(&handed);
    return ok;
}

// The cause a broken relation points at when the other run's own numbers name none.
static lg_cause cause_of(const lg_related *related, const lg_relation_side *side,
                         double relative_gap) {
    bool mean = side->batch->loss.reduction == LG_REDUCTION_MEAN;
    bool slight = relative_gap < 0.01; // lost digits; a row too many or too few shows more
    switch (related->relation) {
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

// `relative_gap`: INFINITY when the other run fails by itself, for which its own cause is as good
// as any.
static void blame(const relation_run *r, const lg_relation_side *side, double relative_gap) {
    lg_finding *finding = &r->result->finding;
    lg_attribute_input input = {.batch = side->batch,
                                .reference = side->reference,
                                .kernel = r->result->what->kernel,
                                .observation = side->seen,
                                .result_wrong = true};
    lg_finding_free(finding);
    lg_attribute(&input, finding);
    bool named = finding->cause != LG_CAUSE_NONE && !finding->warning;
    if (named && (is_specific(finding->cause) || isinf(relative_gap))) {
        return;
    }
    lg_finding_free(finding);
    lg_hypothesis *h = lg_arena_array(&finding->arena, 1, sizeof *h);
    *h = (lg_hypothesis){.cause = cause_of(r->related, side, relative_gap),
                         .probability = 1,
                         .evidence = lg_arena_strdup(&finding->arena, r->result->reason),
                         .advice = "replay the case and look at the kernel, not at the labels"};
    finding->hypotheses = h;
    finding->n_hypotheses = 1;
    finding->n_named = 1;
    finding->cause = h->cause;
    finding->headline = h->evidence;
}

static void conclude(const relation_run *r, lg_verdict verdict, const char *detected_by,
                     const char *reason) {
    r->result->verdict = verdict;
    r->result->detected_by = detected_by;
    r->result->reason = reason;
}

// The sides of a relation with the judge's word on each: first the others, then the first batch.
typedef struct judged_sides {
    int n;
    const lg_relation_side *side[3];
    lg_judgement judgement[3];
} judged_sides;

static void judge_side(const relation_run *r, const lg_relation_side *side, judged_sides *sides) {
    sides->side[sides->n] = side;
    sides->judgement[sides->n++] =
        lg_judge(side->batch, side->reference, NULL, r->result->what->kernel, side->seen, r->arena);
}

// A side that does not pass takes the case's verdict. Wrong numbers are left to the comparison at
// first, which says more: what differs between two runs.
static bool all_pass(const relation_run *r, const judged_sides *sides, bool numbers_too) {
    for (int i = 0; i < sides->n; i++) {
        const lg_judgement *judgement = &sides->judgement[i];
        bool wrong_number = judgement->verdict == LG_WRONG_RESULT;
        if (judgement->verdict == LG_PASS || (wrong_number && !numbers_too)) {
            continue;
        }
        lg_relation relation = r->related->relation;
        conclude(r, judgement->verdict, judgement->detected_by,
                 lg_arena_printf(r->arena, "relation %s, on %s: %s", lg_relation_name(relation),
                                 lg_relation_other(relation),
                                 judgement->reason ? judgement->reason
                                                   : lg_verdict_name(judgement->verdict)));
        blame(r, sides->side[i], INFINITY);
        return false;
    }
    return true;
}

// The side that is further from what the reference says is the one to look at.
static const lg_relation_side *worst_side(const judged_sides *sides) {
    int worst = 0;
    double worst_share = -1;
    for (int i = 0; i < sides->n; i++) {
        const lg_judgement *judgement = &sides->judgement[i];
        double share = judgement->verdict == LG_PASS ? judgement->max_error_share : INFINITY;
        if (share > worst_share) {
            worst = i;
            worst_share = share;
        }
    }
    return sides->side[worst];
}

static void judge_relation(const relation_run *r, const lg_relation_side *first,
                           const lg_relation_side *others) {
    judged_sides sides = {0};
    for (int i = 0; i < r->related->n_others; i++) {
        judge_side(r, &others[i], &sides);
    }
    judge_side(r, first, &sides);
    if (!all_pass(r, &sides, false)) {
        return;
    }
    lg_relation_gap gap = lg_relation_compare(r->related, first, others, r->arena);
    if (gap.reason) {
        conclude(r, LG_WRONG_RESULT, "relation", gap.reason);
        blame(r, worst_side(&sides), gap.relative);
        return;
    }
    all_pass(r, &sides, true); // the runs agree; each must be right, too
}

static bool check_one(const relation_run *r, const lg_batch *batch, const lg_reference *reference) {
    lg_observation *seen = lg_arena_array(r->arena, 3, sizeof *seen);
    lg_relation_side others[2] = {0};
    lg_relation_side first = {
        .batch = batch, .reference = reference, .seen = &r->result->observation};
    bool ok = !r->related->has_first || run_side(r, &r->related->first, &seen[2], &first);
    for (int i = 0; ok && i < r->related->n_others; i++) {
        ok = run_side(r, &r->related->others[i], &seen[i], &others[i]);
    }
    if (ok) {
        judge_relation(r, &first, others);
    } else {
        conclude(r, LG_UNTESTED, NULL,
                 lg_arena_printf(r->arena, "relation %s: the device could not run the other batch",
                                 lg_relation_name(r->related->relation)));
    }
    for (int i = 0; i < 3; i++) {
        lg_observation_free(&seen[i]);
    }
    return ok;
}

bool lg_relations_check(lg_device_session *device, const lg_relations *relations,
                        const lg_batch *batch, const lg_reference *reference,
                        lg_case_result *result, lg_arena *arena, lg_diags *diags) {
    bool ok = true;
    for (int i = 0; ok && i < relations->n && result->verdict == LG_PASS; i++) {
        relation_run r = {.device = device,
                          .related = &relations->items[i],
                          .result = result,
                          .arena = arena,
                          .diags = diags};
        ok = check_one(&r, batch, reference);
    }
    result->attribution = lg_attribution_grade(batch, &result->finding);
    return ok;
}
