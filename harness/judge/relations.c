// SPDX-License-Identifier: Apache-2.0
#include "judge/judge.h"

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

// The other batch in the label type that the kernel gets the first one in.
typedef struct passed_batch {
    bool fitted;
    lg_batch batch;
} passed_batch;

static passed_batch pass_batch(const lg_scenario *scenario, const lg_kernel *kernel,
                               const lg_batch *batch) {
    passed_batch passed = {0};
    passed.fitted = lg_fit_labels(scenario, kernel, batch, &passed.batch);
    passed.batch = passed.fitted ? passed.batch : *batch;
    return passed;
}

static void free_passed(passed_batch *passed) {
    if (passed->fitted) {
        lg_tensor_free(&passed->batch.target);
    }
}

const char *lg_relations_unsuitable(const lg_relations *relations, const lg_scenario *scenario,
                                    const lg_kernel *kernel, lg_arena *arena) {
    for (int i = 0; i < relations->n; i++) {
        const lg_related *related = &relations->items[i];
        for (int k = 0; k < related->n_others; k++) {
            passed_batch passed = pass_batch(scenario, kernel, &related->others[k].batch);
            const char *why = lg_device_unsuitable(kernel, &passed.batch, LG_MODE_BLOCKING, arena);
            free_passed(&passed);
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
    const lg_case *what;
    lg_arena *arena;
    lg_diags *diags;
} relation_run;

// A run of the relation: the first batch's, or one of another batch's, which owns its observation.
typedef struct run_side {
    lg_relation_side side;
    lg_observation own;
    lg_judgement shows;
} run_side;

// One more run of the case's kernel.
static bool run_other(const relation_run *r, const lg_related_batch *part, run_side *out) {
    passed_batch passed = pass_batch(r->what->scenario, r->what->kernel, &part->batch);
    lg_run_request request = {
        .kernel = r->what->kernel, .batch = &passed.batch, .mode = LG_MODE_BLOCKING};
    out->side = (lg_relation_side){.batch = &part->batch,
                                   .reference = &part->reference,
                                   .seen = &out->own,
                                   .source = part->source};
    bool ok = lg_device_run(r->device, &request, &out->own, r->diags);
    free_passed(&passed);
    return ok;
}

static lg_run_facts facts_of(const relation_run *r, const lg_relation_side *side) {
    return (lg_run_facts){.batch = side->batch,
                          .reference = side->reference,
                          .kernel = r->what->kernel,
                          .observation = side->seen};
}

enum { MAX_SIDES = 3 }; // the others, then the first batch

// A side that does not pass breaks the relation. Wrong numbers are left to the comparison at first,
// which says more: what differs between two runs.
static const run_side *first_failing(const run_side *sides, int n, bool numbers_too) {
    for (int i = 0; i < n; i++) {
        lg_verdict verdict = sides[i].shows.verdict;
        if (verdict != LG_PASS && (verdict != LG_WRONG_RESULT || numbers_too)) {
            return &sides[i];
        }
    }
    return NULL;
}

// The side that is further from what the reference says is the one to look at.
static const run_side *worst_of(const run_side *sides, int n) {
    const run_side *worst = sides;
    double worst_share = -1;
    for (int i = 0; i < n; i++) {
        const lg_judgement *shows = &sides[i].shows;
        double share = shows->verdict == LG_PASS ? shows->max_error_share : INFINITY;
        if (share > worst_share) {
            worst = &sides[i];
            worst_share = share;
        }
    }
    return worst;
}

// The relation is broken: by a gap between the runs; NULL: `side` fails by itself.
static lg_relation_fact broken_by(const relation_run *r, const run_side *side,
                                  const lg_relation_gap *gap) {
    lg_relation relation = r->related->relation;
    lg_relation_fact fact = {.broken = true,
                             .relation = relation,
                             .relative_gap = gap ? gap->relative : INFINITY,
                             .run = facts_of(r, &side->side),
                             .judgement = side->shows};
    if (gap) {
        fact.judgement = (lg_judgement){.verdict = LG_WRONG_RESULT,
                                        .detected_by = LG_DETECTOR_RELATION,
                                        .reason = LG_REASON_RELATION,
                                        .output = gap->output,
                                        .text = gap->text,
                                        .kernel_fault = true};
    } else {
        fact.judgement.text = lg_arena_printf(
            r->arena, "relation %s, on %s: %s", lg_relation_name(relation),
            lg_relation_other(relation),
            side->shows.text ? side->shows.text : lg_verdict_name(side->shows.verdict));
    }
    return fact;
}

static lg_relation_fact compare_sides(const relation_run *r, const run_side *sides, int n) {
    const run_side *failing = first_failing(sides, n, false);
    if (failing) {
        return broken_by(r, failing, NULL);
    }
    lg_relation_side others[MAX_SIDES - 1] = {0};
    for (int i = 0; i < n - 1; i++) {
        others[i] = sides[i].side;
    }
    lg_relation_gap gap = lg_relation_compare(r->related, &sides[n - 1].side, others, r->arena);
    if (gap.differs) {
        return broken_by(r, worst_of(sides, n), &gap);
    }
    failing = first_failing(sides, n, true); // the runs agree; each must be right, too
    return failing ? broken_by(r, failing, NULL) : (lg_relation_fact){0};
}

static lg_relation_fact observe_one(const relation_run *r, const lg_run_facts *own) {
    int n = r->related->n_others + 1;
    run_side sides[MAX_SIDES] = {0};
    run_side *first = &sides[n - 1];
    first->side = (lg_relation_side){
        .batch = own->batch, .reference = own->reference, .seen = own->observation};
    bool ok = !r->related->has_first || run_other(r, &r->related->first, first);
    for (int i = 0; ok && i < n - 1; i++) {
        ok = run_other(r, &r->related->others[i], &sides[i]);
    }
    lg_relation_fact fact = {.broken = true, .relation = r->related->relation};
    if (ok) {
        for (int i = 0; i < n; i++) {
            lg_run_facts run = facts_of(r, &sides[i].side);
            sides[i].shows = lg_judge_run(&run, r->arena);
        }
        fact = compare_sides(r, sides, n);
    } else {
        fact.judgement =
            (lg_judgement){.reason = LG_REASON_DEVICE_FAILED,
                           .output = LG_N_ARGS,
                           .text = lg_arena_printf(
                               r->arena, "relation %s: the device could not run the other batch",
                               lg_relation_name(r->related->relation))};
    }
    for (int i = 0; i < n; i++) {
        if (fact.run.observation == &sides[i].own) {
            fact.observation = sides[i].own; // its owner from here; see lg_relations_observe
        } else {
            lg_observation_free(&sides[i].own);
        }
    }
    return fact;
}

void lg_relations_observe(lg_device_session *device, const lg_relations *relations,
                          const lg_case *what, lg_case_facts *facts, lg_arena *arena,
                          lg_diags *diags) {
    lg_relation_fact *fact = &facts->relation;
    for (int i = 0; !fact->broken && i < relations->n; i++) {
        relation_run r = {.device = device,
                          .related = &relations->items[i],
                          .what = what,
                          .arena = arena,
                          .diags = diags};
        *fact = observe_one(&r, &facts->run);
    }
    if (fact->broken && fact->run.observation != facts->run.observation) {
        fact->run.observation = &fact->observation;
    }
}

void lg_relation_fact_free(lg_relation_fact *fact) {
    lg_observation_free(&fact->observation);
    *fact = (lg_relation_fact){0};
}
