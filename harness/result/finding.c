// SPDX-License-Identifier: Apache-2.0
#include "result/finding.h"

#include <stdio.h>

bool lg_hypothesis_states(const lg_hypothesis *h, lg_cause cause) {
    bool found = h->cause == cause;
    for (int i = 0; i < h->n_with; i++) {
        found = found || h->with[i] == cause;
    }
    return found;
}

void lg_hypothesis_add(lg_hypothesis *h, lg_cause cause) {
    if (cause != LG_CAUSE_NONE && h->n_with < LG_MAX_COMPANIONS &&
        !lg_hypothesis_states(h, cause)) {
        h->with[h->n_with++] = cause;
    }
}

void lg_hypothesis_print(const lg_hypothesis *h, lg_str *out) {
    lg_str_add(out, lg_cause_name(h->cause));
    for (int i = 0; i < h->n_with; i++) {
        lg_str_printf(out, " %s %s", i ? "and" : "with", lg_cause_name(h->with[i]));
    }
}

void lg_finding_free(lg_finding *finding) {
    lg_arena_free(&finding->arena);
    *finding = (lg_finding){0};
}

bool lg_finding_names(const lg_finding *finding, lg_cause cause) {
    // Nearly any kind of broken kernel is possible somehow: only what is claimed counts there.
    bool kernel = lg_cause_phase_of(finding->cause) == LG_PHASE_KERNEL;
    int n =
        finding->n_possible > finding->n_named && !kernel ? finding->n_possible : finding->n_named;
    for (int i = 0; i < n && i < finding->n_hypotheses; i++) {
        if (lg_hypothesis_states(&finding->hypotheses[i], cause)) {
            return true;
        }
    }
    return false;
}

const char *lg_finding_certainty(const lg_finding *finding) {
    return finding->cause == LG_CAUSE_NONE ? NULL
           : finding->certain              ? "certain"
           : finding->ambiguous            ? "ambiguous"
                                           : "likely";
}

const char *lg_percent_text(double probability, char out[LG_PERCENT_BYTES]) {
    double percent = 100 * probability;
    if (percent < 0.1) {
        snprintf(out, LG_PERCENT_BYTES, "<0.1 %%");
    } else if (percent > 99.9) {
        snprintf(out, LG_PERCENT_BYTES, ">99.9 %%");
    } else if (percent < 1 || percent >= 99) {
        snprintf(out, LG_PERCENT_BYTES, "%.1f %%", percent);
    } else {
        snprintf(out, LG_PERCENT_BYTES, "%.0f %%", percent);
    }
    return out;
}

// The probability of a cause, alone or with others.
static double probability_of(const lg_finding *finding, lg_cause cause) {
    double sum = 0;
    for (int i = 0; i < finding->n_hypotheses; i++) {
        const lg_hypothesis *h = &finding->hypotheses[i];
        sum += lg_hypothesis_states(h, cause) ? h->probability : 0;
    }
    return sum;
}

const char *lg_finding_not_excluded(const lg_finding *finding, lg_arena *arena) {
    lg_str text = {0};
    bool listed[LG_N_CAUSES] = {false};
    for (int i = 0; i < finding->n_named && i < finding->n_hypotheses; i++) {
        const lg_hypothesis *h = &finding->hypotheses[i];
        listed[h->cause] = true;
        for (int k = 0; k < h->n_with; k++) {
            listed[h->with[k]] = true;
        }
    }
    for (int i = finding->n_named; i < finding->n_possible && i < finding->n_hypotheses; i++) {
        const lg_hypothesis *h = &finding->hypotheses[i];
        for (int k = -1; k < h->n_with; k++) {
            lg_cause cause = k < 0 ? h->cause : h->with[k];
            char percent[LG_PERCENT_BYTES];
            if (!listed[cause]) {
                lg_str_printf(&text, "%s%s (%s)", text.n > 0 ? ", " : "", lg_cause_name(cause),
                              lg_percent_text(probability_of(finding, cause), percent));
            }
            listed[cause] = true;
        }
    }
    const char *kept =
        text.n > 0 ? lg_arena_printf(arena, "%s cannot be excluded", lg_str_text(&text)) : NULL;
    lg_str_free(&text);
    return kept;
}
