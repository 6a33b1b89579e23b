// SPDX-License-Identifier: Apache-2.0
// From facts and weighed explanations to a ranked list and what is claimed of it.
#include "attribute/internal.h"
#include "attribute/kernel/kernel.h"
#include "labels/labels.h"

#include <stdlib.h>

// Adds a cause to what the hypothesis states, with its line of evidence and, unless it is NULL, of
// advice.
static void state_also(lg_diagnosis *d, lg_hypothesis *h, lg_cause cause, const char *evidence,
                       const char *advice) {
    lg_arena *arena = &d->finding->arena;
    if (cause == LG_CAUSE_NONE || lg_hypothesis_states(h, cause)) {
        return;
    }
    lg_hypothesis_add(h, cause);
    h->evidence =
        lg_arena_printf(arena, "%s; and %s: %s", h->evidence, lg_cause_name(cause), evidence);
    if (advice) {
        h->advice = h->advice ? lg_arena_printf(arena, "%s; and %s", h->advice, advice) : advice;
    }
}

static lg_hypothesis make_hypothesis(lg_diagnosis *d, const lg_explanation *e) {
    lg_hypothesis h = {.cause = e->cause,
                       .probability = e->probability,
                       .evidence = lg_label_evidence_text(d, e, e->cause),
                       .advice = lg_label_advice_text(d, e, e->cause)};
    if (e->with != LG_CAUSE_NONE) {
        state_also(d, &h, e->with, lg_label_evidence_text(d, e, e->with), NULL);
    }
    return h;
}

static void rank_label_causes(lg_diagnosis *d) {
    lg_finding *finding = d->finding;
    finding->n_hypotheses = d->n_explanations;
    finding->hypotheses =
        lg_arena_array(&finding->arena, (size_t)d->n_explanations, sizeof *finding->hypotheses);
    for (int i = 0; i < d->n_explanations; i++) {
        finding->hypotheses[i] = make_hypothesis(d, &d->explanations[i]);
    }
}

static int by_probability(const void *a, const void *b) {
    double left = ((const lg_hypothesis *)a)->probability;
    double right = ((const lg_hypothesis *)b)->probability;
    return (left < right) - (left > right);
}

// Whether a hypothesis agrees with all that the first one states. Causes are right also where
// others came with them; those stated together are right only together.
static bool agrees(const lg_hypothesis *first, const lg_hypothesis *other) {
    bool all = lg_hypothesis_states(other, first->cause);
    for (int i = 0; i < first->n_with; i++) {
        all = all && lg_hypothesis_states(other, first->with[i]);
    }
    return all;
}

// The least n for which what follows the first n hypotheses is no more likely than `bound`.
static int least_with_rest(const lg_finding *finding, double bound) {
    double rest = 0;
    int n = finding->n_hypotheses;
    // Summed from the least, so that the small tail is not lost in rounding.
    while (n > 1 && rest + finding->hypotheses[n - 1].probability <= bound) {
        rest += finding->hypotheses[--n].probability;
    }
    return n;
}

// What the finding claims of a ranked list: how many hypotheses it has to name, and how sure it is.
static void set_claims(lg_finding *finding) {
    const lg_hypothesis *first = &finding->hypotheses[0];
    double against = 0;
    for (int i = finding->n_hypotheses - 1; i >= 1; i--) {
        const lg_hypothesis *h = &finding->hypotheses[i];
        against += agrees(first, h) ? 0 : h->probability;
    }
    bool identified = against <= LG_IDENTIFIED_REST;
    finding->n_named = identified ? 1 : least_with_rest(finding, LG_IDENTIFIED_REST);
    finding->n_possible =
        against <= LG_EXCLUDED_REST ? 1 : least_with_rest(finding, LG_EXCLUDED_REST);
    finding->cause = first->cause;
    finding->certain = against <= LG_CERTAIN_REST;
    finding->ambiguous = !identified;
    finding->headline = first->evidence;
}

// Frequencies of kernel faults are known too roughly for any of them to be certain.
void lg_attribute_conclude_kernel(lg_diagnosis *d, const lg_guess *guesses, int n) {
    lg_finding *finding = d->finding;
    double total = 0;
    for (int i = 0; i < n; i++) {
        total += guesses[i].weight;
    }
    finding->n_hypotheses = n;
    finding->hypotheses = lg_arena_array(&finding->arena, (size_t)n, sizeof *finding->hypotheses);
    for (int i = 0; i < n; i++) {
        finding->hypotheses[i] =
            (lg_hypothesis){.cause = guesses[i].cause,
                            .probability = guesses[i].weight / total,
                            .evidence = guesses[i].why,
                            .advice = "replay the case and look at the kernel, not at the labels"};
    }
    qsort(finding->hypotheses, (size_t)n, sizeof *finding->hypotheses, by_probability);
    set_claims(finding);
    finding->certain = false;
}

// All facts, which are so whatever the labels are.
static lg_hypothesis state_facts(lg_diagnosis *d) {
    lg_hypothesis h = {
        .cause = d->facts[0].cause, .evidence = d->facts[0].evidence, .advice = d->facts[0].advice};
    for (int i = 1; i < d->n_facts; i++) {
        state_also(d, &h, d->facts[i].cause, d->facts[i].evidence, d->facts[i].advice);
    }
    return h;
}

static bool states_the_same(const lg_hypothesis *a, const lg_hypothesis *b) {
    return a->n_with == b->n_with && agrees(a, b);
}

// The facts stand in every hypothesis, beside each explanation of the labels in turn. What states
// the same is one hypothesis: a label fault can be a fact too.
static void pair_facts_with_labels(lg_diagnosis *d) {
    lg_finding *finding = d->finding;
    for (int i = 0; i < d->n_explanations; i++) {
        const lg_explanation *e = &d->explanations[i];
        lg_hypothesis h = state_facts(d);
        const lg_cause causes[] = {e->cause, e->with};
        for (int k = 0; k < 2 && causes[k] != LG_CAUSE_NONE; k++) {
            state_also(d, &h, causes[k], lg_label_evidence_text(d, e, causes[k]),
                       lg_label_advice_text(d, e, causes[k]));
        }
        int at = 0;
        while (at < finding->n_hypotheses && !states_the_same(&finding->hypotheses[at], &h)) {
            at++;
        }
        if (at == finding->n_hypotheses) {
            finding->hypotheses[finding->n_hypotheses++] = h;
        }
        finding->hypotheses[at].probability += e->probability;
    }
    qsort(finding->hypotheses, (size_t)finding->n_hypotheses, sizeof *finding->hypotheses,
          by_probability);
}

static void conclude_facts(lg_diagnosis *d) {
    lg_finding *finding = d->finding;
    finding->hypotheses =
        lg_arena_array(&finding->arena, LG_MAX_EXPLANATIONS + 1, sizeof *finding->hypotheses);
    pair_facts_with_labels(d);
    if (finding->n_hypotheses == 0) {
        finding->hypotheses[finding->n_hypotheses++] = state_facts(d);
        finding->hypotheses[0].probability = 1;
    }
    set_claims(finding);
    // Which label fault stands beside the facts is weighed, and several at once are never certain.
    bool weighed = finding->hypotheses[0].n_with > d->n_facts - 1;
    for (int i = 0; i < d->n_facts; i++) {
        weighed = weighed || d->facts[i].doubtful;
    }
    finding->certain = finding->certain && !weighed;
}

// Whether every label out of range may be a class that the head does not have.
static bool all_may_be_classes(const lg_label_table *table) {
    return table->n_out > 0 && table->n_out_dropped == 0 && table->out[0].value >= 0 &&
           table->out[table->n_out - 1].value < LG_LARGEST_CLASS;
}

// What speaks for the first cause is how often which class occurs, and no more: all labels out of
// range are the one value next to the classes, which may be a class, moved or missing in the head,
// as well as none; or they may all be classes, and are held for blends of a mask; or a single value
// is held for the classes that are missing.
static bool only_frequencies_tell(const lg_diagnosis *d) {
    const lg_label_evidence *l = &d->table.evidence;
    const lg_label_table *table = &d->table;
    lg_cause first = d->finding->cause;
    bool one = table->n_out == 1 && table->n_out_dropped == 0;
    bool next = one && (table->out[0].value == -1 || table->out[0].value == l->head_width);
    if (l->classes > l->head_width && first == LG_CAUSE_WRONG_HEAD_WIDTH) {
        return false; // the declared number of classes tells
    }
    return next || (first == LG_CAUSE_CORRUPT_LABELS && all_may_be_classes(table)) ||
           (first == LG_CAUSE_WRONG_HEAD_WIDTH && one);
}

void lg_attribute_conclude(lg_diagnosis *d) {
    if (d->n_facts > 0) {
        conclude_facts(d);
    } else if (d->n_explanations > 0) {
        rank_label_causes(d);
        set_claims(d->finding);
        if (only_frequencies_tell(d)) {
            d->finding->certain = false;
            d->finding->n_possible = d->finding->n_hypotheses;
        }
        // Two label faults at once can stand in for one that the model knows too little of.
        bool single = d->finding->hypotheses[0].n_with == 0;
        d->finding->certain = d->finding->certain && single;
    }
}
