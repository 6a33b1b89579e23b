// SPDX-License-Identifier: Apache-2.0
#include "report/internal.h"

#include "support/alloc.h"
#include "support/plain.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_KERNELS = 4 }; // named a reason

static lg_skip_reason *find_reason(lg_skips *skips, const char *text) {
    for (size_t i = 0; i < skips->n; i++) {
        if (strcmp(skips->reasons[i].text, text) == 0) {
            return &skips->reasons[i];
        }
    }
    skips->reasons = lg_xrealloc(skips->reasons, (skips->n + 1) * sizeof(*skips->reasons));
    skips->reasons[skips->n] = (lg_skip_reason){.text = lg_xstrdup(text)};
    return &skips->reasons[skips->n++];
}

void lg_skips_add(lg_skips *skips, const lg_case_result *result) {
    lg_skip_reason *reason =
        find_reason(skips, result->judged.text ? result->judged.text : "no reason is known");
    reason->n_cases++;
    lg_names_add(&reason->kernels, result->what->kernel->name);
}

void lg_skips_print(const lg_skips *skips, const char *word, FILE *out) {
    for (size_t i = 0; i < skips->n; i++) {
        const lg_skip_reason *reason = &skips->reasons[i];
        fprintf(out, "  %s %" PRId64 ": %s (", word, reason->n_cases, reason->text);
        for (size_t k = 0; k < reason->kernels.n && k < MAX_KERNELS; k++) {
            fprintf(out, "%s%s", k ? ", " : "", reason->kernels.items[k]);
        }
        if (reason->kernels.n > MAX_KERNELS) {
            fprintf(out, " and %zu more", reason->kernels.n - MAX_KERNELS);
        }
        fputs(")\n", out);
    }
}

void lg_skips_free(lg_skips *skips) {
    for (size_t i = 0; i < skips->n; i++) {
        free(skips->reasons[i].text);
        lg_names_free(&skips->reasons[i].kernels);
    }
    free(skips->reasons);
    *skips = (lg_skips){0};
}

static void add_formatted(lg_add_unproven *add, void *context, const char *name, char *text) {
    add(context, name, text);
    free(text);
}

void lg_each_unproven(const lg_run_summary *summary, lg_add_unproven *add, void *context) {
    for (int64_t i = 0; i < summary->n_gaps; i++) {
        const lg_kernel_gap *gap = &summary->gaps[i];
        if (gap->why_none) {
            add_formatted(
                add, context, gap->kernel->name,
                lg_xasprintf("nothing was proven of %s: no case was launched and judged: %s",
                             gap->kernel->name, gap->why_none));
        }
    }
    if (summary->interrupted) {
        add_formatted(add, context, "run",
                      lg_xasprintf("interrupted after %" PRId64 " of %" PRId64 " case%s",
                                   summary->n_done, summary->n_planned, lg_s(summary->n_planned)));
    }
    if (summary->exit_code == 3 && (summary->n_as_expected == 0 || summary->n_unproven == 0)) {
        add(context, "run", "nothing was proven");
    }
}
