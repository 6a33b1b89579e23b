// SPDX-License-Identifier: Apache-2.0
#include "session/internal.h"

#include "support/alloc.h"
#include "support/str.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

// Reasons why no case launched a kernel: how many are kept, and how many of them are printed.
enum { MAX_REASONS = 32, MAX_PRINTED = 3 };

typedef struct reason {
    char *text;
    int64_t n;
} reason;

struct lg_kernel_tally {
    int64_t n_launched;
    lg_coverage run; // of all its cases
    int n_reasons;
    reason reasons[MAX_REASONS];
};

void lg_tally_init(lg_tally *tally, const lg_session_options *options, lg_run_summary *summary) {
    *tally = (lg_tally){.kernels = options->kernels, .summary = summary};
    tally->items = lg_xcalloc((size_t)options->kernels->n + 1, sizeof(*tally->items));
}

void lg_tally_free(lg_tally *tally) {
    for (int64_t k = 0; k < tally->kernels->n; k++) {
        for (int i = 0; i < tally->items[k].n_reasons; i++) {
            free(tally->items[k].reasons[i].text);
        }
    }
    free(tally->items);
    lg_arena_free(&tally->arena);
    tally->summary->n_gaps = 0;
    tally->summary->gaps = NULL;
}

static lg_kernel_tally *tally_of(lg_tally *tally, const lg_case_run *run) {
    return &tally->items[run->result.what->kernel - tally->kernels->items];
}

static void add_reason(lg_kernel_tally *kernel, const char *text) {
    for (int i = 0; i < kernel->n_reasons; i++) {
        if (strcmp(kernel->reasons[i].text, text) == 0) {
            kernel->reasons[i].n++;
            return;
        }
    }
    if (kernel->n_reasons < MAX_REASONS) {
        kernel->reasons[kernel->n_reasons++] = (reason){.text = lg_xstrdup(text), .n = 1};
    }
}

void lg_tally_absent(lg_tally *tally, const lg_case_run *run) {
    add_reason(tally_of(tally, run),
               run->result.judged.text ? run->result.judged.text : "no reason is known");
}

// That a batch is not run may be what a scenario is about.
static bool is_expected_skip(const lg_case_result *result) {
    const lg_expect *expect = &result->what->scenario->expect;
    return result->as_expected && expect->has_verdict && expect->verdict == LG_SKIPPED;
}

static void count(lg_run_summary *summary, const lg_case_result *result) {
    summary->n_cases++;
    summary->by_verdict[result->judged.verdict]++;
    if (result->judged.verdict == LG_UNTESTED && !result->as_expected) {
        summary->n_untested++;
    } else if (result->judged.verdict == LG_SKIPPED && !is_expected_skip(result)) {
        summary->n_skipped++;
        summary->n_not_expected += !result->as_expected;
    } else if (result->as_expected) {
        summary->n_as_expected++;
    } else {
        summary->n_not_expected++;
    }
}

void lg_tally_case(lg_tally *tally, const lg_case_run *run) {
    const lg_case_result *result = &run->result;
    lg_kernel_tally *kernel = tally_of(tally, run);
    count(tally->summary, result);
    if (result->judged.verdict == LG_SKIPPED) {
        lg_tally_absent(tally, run);
    } else if (result->judged.verdict == LG_UNTESTED) {
        add_reason(kernel, "untested");
    } else if (result->observation.refused_on_host) {
        add_reason(kernel, "refused by a host check, before any launch");
    } else {
        kernel->n_launched++;
        lg_coverage_add(&kernel->run, &run->coverage);
    }
}

static int by_count(const void *a, const void *b) {
    const reason *x = a;
    const reason *y = b;
    return (x->n < y->n) - (x->n > y->n);
}

static const char *why_none(lg_tally *tally, lg_kernel_tally *kernel) {
    if (kernel->n_reasons == 0) {
        return "no scenario is for it";
    }
    qsort(kernel->reasons, (size_t)kernel->n_reasons, sizeof(*kernel->reasons), by_count);
    lg_str text = {0};
    for (int i = 0; i < kernel->n_reasons && i < MAX_PRINTED; i++) {
        lg_str_printf(&text, "%s%s (%" PRId64 ")", i ? "; " : "", kernel->reasons[i].text,
                      kernel->reasons[i].n);
    }
    if (kernel->n_reasons > MAX_PRINTED) {
        lg_str_add(&text, "; …");
    }
    const char *kept = lg_arena_strdup(&tally->arena, lg_str_text(&text));
    lg_str_free(&text);
    return kept;
}

static bool fill_gap(lg_tally *tally, int64_t index, lg_kernel_gap *gap) {
    const lg_kernel *kernel = &tally->kernels->items[index];
    lg_kernel_tally *seen = &tally->items[index];
    *gap = (lg_kernel_gap){.kernel = kernel};
    if (seen->n_launched == 0) {
        gap->why_none = why_none(tally, seen);
        return true;
    }
    lg_coverage claimed = lg_coverage_claimed(kernel);
    char *missing = lg_coverage_missing(&claimed, &seen->run);
    gap->never_tested = missing ? lg_arena_strdup(&tally->arena, missing) : NULL;
    free(missing);
    return gap->never_tested != NULL;
}

static int exit_code(const lg_run_summary *summary) {
    if (summary->n_not_expected > 0) {
        return 1;
    }
    if (summary->n_as_expected == 0) {
        return 3; // empty, or all skipped or untested: nothing proven
    }
    if (summary->n_untested > 0) {
        return 1;
    }
    return summary->n_unproven > 0 ? 3 : 0;
}

void lg_tally_end(lg_tally *tally, const lg_session_options *options) {
    lg_run_summary *summary = tally->summary;
    // Where nothing was run at all, that alone is to be said.
    if (options->kernels_chosen && !summary->interrupted && summary->n_cases > 0) {
        size_t n = (size_t)tally->kernels->n + 1;
        lg_kernel_gap *gaps = lg_arena_array(&tally->arena, n, sizeof(*gaps));
        for (int64_t k = 0; k < tally->kernels->n; k++) {
            bool planned = tally->items[k].n_launched + tally->items[k].n_reasons > 0;
            if ((planned || lg_plan_is_chosen(options, NULL, &tally->kernels->items[k])) &&
                fill_gap(tally, k, &gaps[summary->n_gaps])) {
                summary->n_unproven += gaps[summary->n_gaps++].why_none != NULL;
            }
        }
        summary->gaps = gaps;
    }
    summary->exit_code = exit_code(summary);
}
