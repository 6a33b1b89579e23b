// SPDX-License-Identifier: Apache-2.0
#include "cli/cli.h"

#include "support/alloc.h"
#include "support/plain.h"

#include <inttypes.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

typedef struct progress {
    int64_t n_cases, n_done, n_columns;
    int64_t shown_ns;
} progress;

enum { REDRAW_NS = 100000000 };

static void draw(progress *p) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    int64_t now = (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
    if (now - p->shown_ns < REDRAW_NS) {
        return;
    }
    p->shown_ns = now;
    if (p->n_done == 0) {
        fprintf(stderr, "\r\x1b[K%" PRId64 " column%s proven", p->n_columns, lg_s(p->n_columns));
    } else {
        fprintf(stderr, "\r\x1b[K%" PRId64 " case%s of at most %" PRId64, p->n_done,
                lg_s(p->n_done), p->n_cases);
    }
    fflush(stderr);
}

static void begin_run(void *context, const lg_run_info *info) {
    progress *p = context;
    p->n_cases = info->n_cases;
}

static void compiling(void *context, const char *source) {
    (void)context;
    fprintf(stderr, "\r\x1b[Kcompiling %s (once: it is kept in the cache)", source);
    fflush(stderr);
}

static void add_column(void *context, const lg_column_proof *proof) {
    (void)proof;
    progress *p = context;
    p->n_columns++;
    draw(p);
}

static void add_case(void *context, const lg_case_result *result) {
    (void)result;
    progress *p = context;
    p->n_done++;
    draw(p);
}

static void end_run(void *context, const lg_run_summary *summary) {
    (void)context;
    (void)summary;
    fputs("\r\x1b[K", stderr);
    fflush(stderr);
}

lg_observer lg_progress_open(void) {
    if (!isatty(STDERR_FILENO)) {
        return (lg_observer){0};
    }
    return (lg_observer){.context = lg_xcalloc(1, sizeof(progress)),
                         .run_begun = begin_run,
                         .compiling = compiling,
                         .column_proven = add_column,
                         .case_done = add_case,
                         .run_ended = end_run};
}

void lg_progress_close(lg_observer *observer) {
    free(observer->context);
    *observer = (lg_observer){0};
}
