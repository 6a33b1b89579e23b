// SPDX-License-Identifier: Apache-2.0
#include "model/finding.h"

void lg_finding_free(lg_finding *finding) {
    lg_arena_free(&finding->arena);
    *finding = (lg_finding){0};
}

bool lg_finding_names(const lg_finding *finding, lg_cause cause) {
    for (int i = 0; i < finding->n_named && i < finding->n_hypotheses; i++) {
        const lg_hypothesis *h = &finding->hypotheses[i];
        if (h->cause == cause || (h->with != LG_CAUSE_NONE && h->with == cause)) {
            return true;
        }
    }
    return false;
}
