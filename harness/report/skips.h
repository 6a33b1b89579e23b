// SPDX-License-Identifier: Apache-2.0
// Why cases were skipped, and for which kernels: what a run says nothing about.
#ifndef LG_REPORT_SKIPS_H
#define LG_REPORT_SKIPS_H

#include "result/case.h"
#include "report/names.h"

#include <stdio.h>

typedef struct lg_skip_reason {
    char *text;
    lg_names kernels;
    int64_t n_cases;
} lg_skip_reason;

// A zeroed tally is empty.
typedef struct lg_skips {
    lg_skip_reason *reasons;
    size_t n;
} lg_skips;

void lg_skips_add(lg_skips *skips, const lg_case_result *result);
// "  skipped 12: it takes no int64 targets (my_loss/forward)", a line a reason; `word` is
// "skipped".
void lg_skips_print(const lg_skips *skips, const char *word, FILE *out);
void lg_skips_free(lg_skips *skips);

#endif
