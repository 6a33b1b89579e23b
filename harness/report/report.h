// SPDX-License-Identifier: Apache-2.0
// The writers: each is an observer (result/observer.h). Files are written to a temporary name and
// renamed, except cases.jsonl, which is flushed line by line so that a kill loses at most one case.
#ifndef LG_REPORT_REPORT_H
#define LG_REPORT_REPORT_H

#include "result/observer.h"
#include "support/error.h"

#include <stdio.h>

typedef struct lg_text_options {
    FILE *out;
    bool color;
    bool verbose; // findings of every case, not only of those that were not as expected
    int width;    // terminal columns, 0: 100
} lg_text_options;

// The table scenario × kernel × mode with one mark a cell, then the finding of each case that was
// not as expected (and one exemplary finding a fault), then the summary.
lg_observer lg_report_text(const lg_text_options *options);
void lg_report_text_free(lg_observer *observer);

lg_observer lg_report_jsonl(const char *path,
                            lg_diags *diags); // context NULL when it cannot be opened
void lg_report_jsonl_free(lg_observer *observer);

lg_observer lg_report_junit(const char *path, lg_diags *diags);
void lg_report_junit_free(lg_observer *observer);

// SARIF 2.1.0, for tools that show findings at a line of a repository. Written when the run has
// ended; context NULL when `path` cannot be.
lg_observer lg_report_sarif(const char *path, const char *version, lg_diags *diags);
void lg_report_sarif_free(lg_observer *observer);

// One case as a JSON object of one line (the lines of cases.jsonl), malloc'd.
char *lg_case_json(const lg_case_result *result);

// The finding as people read it, ending in the replay line.
void lg_finding_text(const lg_case_result *result, FILE *out, bool color);

#endif
