// SPDX-License-Identifier: Apache-2.0
#include "report/report.h"

#include "support/alloc.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

typedef struct jsonl {
    char *path;
    FILE *file;
    lg_diags *diags;
    bool failed; // said once
} jsonl;

static void write_case(void *context, const lg_case_result *result) {
    jsonl *j = context;
    if (j->failed) {
        return;
    }
    char *line = lg_case_json(result);
    // Flushed line by line: a kill loses at most the case in flight.
    if (fprintf(j->file, "%s\n", line) < 0 || fflush(j->file) != 0) {
        j->failed = true;
        lg_error(j->diags, (lg_loc){.file = j->path}, "cannot write: %s", strerror(errno));
    }
    free(line);
}

lg_observer lg_report_jsonl(const char *path, lg_diags *diags) {
    FILE *file = fopen(path, "w");
    if (!file) {
        lg_error(diags, (lg_loc){.file = path}, "cannot write: %s", strerror(errno));
        return (lg_observer){0};
    }
    jsonl *j = lg_xcalloc(1, sizeof(*j));
    *j = (jsonl){.path = lg_xstrdup(path), .file = file, .diags = diags};
    return (lg_observer){.context = j, .case_done = write_case};
}

void lg_report_jsonl_free(lg_observer *observer) {
    jsonl *j = observer->context;
    if (j) {
        if (fclose(j->file) != 0 && !j->failed) {
            lg_error(j->diags, (lg_loc){.file = j->path}, "cannot write: %s", strerror(errno));
        }
        free(j->path);
        free(j);
    }
    *observer = (lg_observer){0};
}
