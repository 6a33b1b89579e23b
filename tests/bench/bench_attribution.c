// SPDX-License-Identifier: Apache-2.0
// Measures attribution on drawn batches: the confusion matrix, the calibration, the worst. Exits 1
// when a requirement is broken: nothing certain and wrong, an injected cause named and the rows
// exact in every case, 99 % exact where the batch identifies its cause, calibration within 2
// points. In the world `other`, whose frequencies are not those that the statements rest on,
// calibration is printed and not required.
//
//   bench_attribution [--batches N] [--seed S] [--clean SHARE] [--world priors|other]
#include "attribute/attribute.h"
#include "attribution_draw.h"
#include "attribution_values.h"
#include "support/strparse.h"

#include <inttypes.h>
#include <stdio.h>

enum { N_DECILES = 10, N_WORST = 10 };

typedef struct worst_case {
    int64_t index;
    double probability; // that the finding gave the injected cause
    lg_cause truth;
    lg_cause found;
} worst_case;

typedef struct measurement {
    int64_t n;
    int64_t n_skipped;
    int64_t n_clean;
    int64_t n_false_alarms;
    int64_t n_certain;
    int64_t n_certain_wrong;
    int64_t n_unnamed;
    int64_t n_rows_wrong;
    int64_t n_exact;
    int64_t n_ambiguous;
    int64_t n_wrong;
    int64_t n_pairs;
    int64_t n_pairs_both; // both causes of a pair are named
    int64_t n_identified; // batches that identify their cause: the finding is not ambiguous
    int64_t n_identified_exact;
    int64_t n_signed; // batches with a signature that only their cause leaves
    int64_t n_signed_exact;
    int64_t confusion[LG_N_CAUSES][LG_N_CAUSES];
    int64_t decile_n[N_DECILES];
    int64_t decile_right[N_DECILES];
    double decile_sum[N_DECILES];
    worst_case worst[N_WORST];
    int n_worst;
} measurement;

static bool was_injected(const lg_batch *batch, lg_cause cause) {
    for (int i = 0; i < batch->n_injections; i++) {
        if (batch->injections[i].cause == cause) {
            return true;
        }
    }
    return false;
}

// Whether every cause that a hypothesis states was injected.
static bool is_right(const lg_batch *batch, const lg_hypothesis *h) {
    bool right = was_injected(batch, h->cause);
    for (int i = 0; i < h->n_with; i++) {
        right = right && was_injected(batch, h->with[i]);
    }
    return right;
}

// Whether it states all that was injected, and nothing else.
static bool is_all(const lg_batch *batch, const lg_hypothesis *h) {
    return is_right(batch, h) && batch->n_injections == 1 + h->n_with;
}

static double probability_of_truth(const lg_batch *batch, const lg_finding *finding) {
    double sum = 0;
    for (int i = 0; i < finding->n_hypotheses; i++) {
        const lg_hypothesis *h = &finding->hypotheses[i];
        sum += is_all(batch, h) ? h->probability : 0;
    }
    return sum;
}

// Keeps the ten findings that gave the truth least.
static void note_worst(measurement *m, worst_case one) {
    int at = m->n_worst;
    if (at == N_WORST && one.probability >= m->worst[at - 1].probability) {
        return;
    }
    at = at < N_WORST ? at : N_WORST - 1;
    while (at > 0 && m->worst[at - 1].probability > one.probability) {
        m->worst[at] = m->worst[at - 1];
        at--;
    }
    m->worst[at] = one;
    m->n_worst += m->n_worst < N_WORST;
}

// Whether the labels bear a signature that only the injected cause leaves, judged from the batch
// alone and by rules that share nothing with the posterior.
static bool bears_signature(const draw *d) {
    const lg_batch *batch = &d->batch;
    if (batch->n_injections != 1) {
        return false;
    }
    lg_label_evidence e;
    lg_evidence_collect(batch, &e);
    double share = (double)e.n_dominant_out / (double)d->n_live;
    lg_cause cause = batch->injections[0].cause;
    if (cause == LG_CAUSE_WRONG_HEAD_WIDTH) {
        // K is declared, or labels far beyond C are dense and 0 occurs.
        return e.classes > e.head_width ||
               (e.n_zero > 0 && e.n_distinct_out >= 8 && e.n_negative == 0 &&
                e.n_distinct_out * 2 >= e.max - e.head_width && e.max < 3 * e.head_width);
    }
    if (cause == LG_CAUSE_NEGATIVE_LABELS) {
        return e.n_distinct_out >= 2 && e.n_distinct_out <= 8 && e.min >= -100 && share < 0.02 &&
               d->n_live >= 500 && e.max == e.head_width - 1 && e.classes <= e.head_width;
    }
    if (cause == LG_CAUSE_CORRUPT_LABELS) {
        return e.n_int_min + e.n_pointers >= 3 &&
               e.n_int_min + e.n_pointers == e.n_negative + e.n_at_width + e.n_above_width;
    }
    if (cause == LG_CAUSE_FLOAT_TARGETS) {
        return d->n_live >= 4;
    }
    return false;
}

static void measure_one(measurement *m, const draw *d, int64_t index) {
    const lg_batch *batch = &d->batch;
    lg_attribute_input input = {.batch = batch};
    lg_finding finding;
    lg_attribute(&input, &finding);
    m->n++;
    if (batch->n_injections == 0) {
        m->n_clean++;
        m->n_false_alarms += finding.cause != LG_CAUSE_NONE && !finding.warning;
        lg_finding_free(&finding);
        return;
    }
    lg_cause truth = batch->injections[0].cause;
    bool right = finding.n_hypotheses > 0 && is_right(batch, &finding.hypotheses[0]);
    bool all = finding.n_hypotheses > 0 && is_all(batch, &finding.hypotheses[0]);
    bool named = false;
    bool all_named = true;
    for (int i = 0; i < batch->n_injections; i++) {
        bool one = lg_finding_names(&finding, batch->injections[i].cause);
        named = named || one;
        all_named = all_named && one;
    }
    m->confusion[right ? finding.cause : truth][finding.cause]++;
    m->n_certain += finding.certain;
    m->n_certain_wrong += finding.certain && !right;
    m->n_unnamed += !named;
    m->n_pairs += batch->n_injections > 1;
    m->n_pairs_both += batch->n_injections > 1 && all_named;
    if ((finding.certain && !right) || !named) {
        printf("batch %" PRId64 ": %s, found %s%s\n", index, lg_cause_name(truth),
               lg_cause_name(finding.cause), finding.certain ? ", certain" : "");
    }
    lg_attribution grade = lg_attribution_grade(batch, &finding);
    m->n_exact += grade == LG_ATTRIBUTION_EXACT;
    m->n_ambiguous += grade == LG_ATTRIBUTION_AMBIGUOUS;
    m->n_wrong += grade == LG_ATTRIBUTION_WRONG;
    // The grade is wrong for the rows alone when the cause was named.
    m->n_rows_wrong += grade == LG_ATTRIBUTION_WRONG && named && right;
    m->n_identified += !finding.ambiguous;
    m->n_identified_exact += !finding.ambiguous && grade == LG_ATTRIBUTION_EXACT;
    if (bears_signature(d)) {
        m->n_signed++;
        m->n_signed_exact += grade == LG_ATTRIBUTION_EXACT;
    }
    double top = finding.n_hypotheses > 0 ? finding.hypotheses[0].probability : 0;
    int decile = top >= 1 ? N_DECILES - 1 : (int)(top * N_DECILES);
    m->decile_n[decile]++;
    m->decile_right[decile] += all;
    m->decile_sum[decile] += top;
    note_worst(m, (worst_case){.index = index,
                               .probability = probability_of_truth(batch, &finding),
                               .truth = truth,
                               .found = finding.cause});
    lg_finding_free(&finding);
}

static void print_confusion(const measurement *m) {
    printf("\ninjected \\ found (the cause found when it was injected, else the first injected)\n");
    for (int truth = 0; truth < LG_N_CAUSES; truth++) {
        int64_t n = 0;
        for (int found = 0; found < LG_N_CAUSES; found++) {
            n += m->confusion[truth][found];
        }
        if (n == 0) {
            continue;
        }
        printf("  %-20s %7" PRId64 ":", lg_cause_name((lg_cause)truth), n);
        for (int found = 0; found < LG_N_CAUSES; found++) {
            if (m->confusion[truth][found] > 0) {
                printf("  %s %" PRId64, lg_cause_name((lg_cause)found), m->confusion[truth][found]);
            }
        }
        printf("\n");
    }
}

// Prints the deciles; false when one with at least 1,000 findings is off by more than 2 points.
static bool print_calibration(const measurement *m) {
    bool fine = true;
    printf("\n  stated        findings     mean     right\n");
    for (int i = 0; i < N_DECILES; i++) {
        if (m->decile_n[i] == 0) {
            continue;
        }
        double n = (double)m->decile_n[i];
        double mean = m->decile_sum[i] / n;
        double right = (double)m->decile_right[i] / n;
        bool counts = m->decile_n[i] >= 1000;
        bool within = fabs(mean - right) <= 0.02;
        fine = fine && (!counts || within);
        printf("  %3d..%3d %%   %9" PRId64 "   %5.1f %%   %5.1f %%%s\n", i * 10, i * 10 + 10,
               m->decile_n[i], 100 * mean, 100 * right,
               !counts  ? "   (too few to judge)"
               : within ? ""
                        : "   OFF");
    }
    return fine;
}

static bool print_requirement(const char *what, bool kept) {
    printf("  %s  %s\n", kept ? "kept  " : "BROKEN", what);
    return kept;
}

static bool report(const measurement *m, world in) {
    int64_t faulty = m->n - m->n_clean;
    printf("%" PRId64 " batches: %" PRId64 " with faults (%" PRId64 " with two), %" PRId64
           " clean; %" PRId64 " draws skipped\n",
           m->n, faulty, m->n_pairs, m->n_clean, m->n_skipped);
    printf("exact %" PRId64 ", ambiguous %" PRId64 ", wrong %" PRId64 "; certain %" PRId64
           "; both of two named %" PRId64 "\n",
           m->n_exact, m->n_ambiguous, m->n_wrong, m->n_certain, m->n_pairs_both);
    printf("identified %" PRId64 ", of these exact %" PRId64
           " (%.2f %%); with a signature of their "
           "own %" PRId64 ", of these exact %" PRId64 "\n",
           m->n_identified, m->n_identified_exact,
           100 * (double)m->n_identified_exact / (double)(m->n_identified ? m->n_identified : 1),
           m->n_signed, m->n_signed_exact);
    printf("certain and wrong %" PRId64 ", no injected cause named %" PRId64 "\n",
           m->n_certain_wrong, m->n_unnamed);
    print_confusion(m);
    bool calibrated = print_calibration(m);
    printf("\nleast probability given to the truth\n");
    for (int i = 0; i < m->n_worst; i++) {
        printf("  batch %-8" PRId64 " %.3g  %s, found %s\n", m->worst[i].index,
               m->worst[i].probability, lg_cause_name(m->worst[i].truth),
               lg_cause_name(m->worst[i].found));
    }
    printf("\nrequirements\n");
    bool kept = print_requirement("some batches had faults", faulty > 0);
    kept &= print_requirement("no finding is certain and wrong", m->n_certain_wrong == 0);
    kept &= print_requirement("an injected cause is named in every case", m->n_unnamed == 0);
    kept &= print_requirement("the rows are exact in every case", m->n_rows_wrong == 0);
    kept &= print_requirement("no alarm on a clean batch", m->n_false_alarms == 0);
    kept &= print_requirement("at least 99 % exact where the batch identifies the cause",
                              m->n_identified > 0 &&
                                  (double)m->n_identified_exact >= 0.99 * (double)m->n_identified);
    kept &= print_requirement("at least 99 % exact where only one cause leaves such a signature",
                              m->n_signed > 0 &&
                                  (double)m->n_signed_exact >= 0.99 * (double)m->n_signed);
    if (in == WORLD_PRIORS) {
        kept &= print_requirement("calibrated within 2 points", calibrated);
    }
    return kept;
}

static bool parse_world(const char *text, world *out) {
    *out = strcmp(text, "other") == 0 ? WORLD_OTHER : WORLD_PRIORS;
    return *out == WORLD_OTHER || strcmp(text, "priors") == 0;
}

int main(int argc, char **argv) {
    int64_t batches = 100000;
    uint64_t seed = 1;
    double clean = 0.05;
    world in = WORLD_PRIORS;
    for (int i = 1; i < argc; i += 2) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";
        bool fine = (strcmp(argv[i], "--batches") == 0 && lg_parse_i64(value, &batches)) ||
                    (strcmp(argv[i], "--seed") == 0 && lg_parse_u64(value, &seed)) ||
                    (strcmp(argv[i], "--clean") == 0 && lg_parse_f64(value, &clean)) ||
                    (strcmp(argv[i], "--world") == 0 && parse_world(value, &in));
        if (!fine || batches < 1) {
            fprintf(stderr, "usage: bench_attribution [--batches N] [--seed S] [--clean SHARE] "
                            "[--world priors|other]\n");
            return 2;
        }
    }
    static measurement m;
    static draw d;
    for (int64_t index = 0; m.n < batches; index++) {
        lg_diags diags = {0};
        // Every fourth batch has values.
        bool drawn = index % 4 == 3 ? draw_values_batch(&d, in, seed, index, &diags)
                                    : draw_batch(&d, in, seed, index, clean, &diags);
        if (drawn) {
            measure_one(&m, &d, index);
            lg_batch_free(&d.batch);
        } else {
            m.n_skipped++;
        }
        lg_diags_free(&diags);
    }
    return report(&m, in) ? 0 : 1;
}
