// SPDX-License-Identifier: Apache-2.0
#include "guards/guards.h"

#include "model/rng.h"
#include "support/alloc.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

// Labels in batches, so that the check of every tenth batch is measured as it is used.
enum { N_BATCHES = 256, BATCH = 4096, N_CLASSES = 1000, N_PASSES = 5 };

static double now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int64_t read_labels(const lg_guard_view *view) {
    int64_t sum = 0;
    for (int64_t i = 0; i < view->n; i++) {
        sum += view->labels[i];
    }
    return sum;
}

// What one pass takes, in ns; `guard` LG_N_GUARDS: reading alone. The sum keeps the compiler from
// dropping the work.
static double time_pass(lg_guard guard, const int64_t *labels, int64_t *out, int64_t *sum) {
    double begun = now_ns();
    for (uint64_t b = 0; b < N_BATCHES; b++) {
        lg_guard_view view = {.n = BATCH,
                              .labels = labels + b * BATCH,
                              .head_width = N_CLASSES,
                              .ignore_index = -100,
                              .dtype = LG_INT64,
                              .number = b};
        if (guard == LG_N_GUARDS) {
            *sum += read_labels(&view);
        } else if (lg_guard_change(guard, &view, out)) {
            *sum += out[b];
        } else {
            lg_guard_report report = lg_guard_check(guard, &view, out);
            *sum += report.signalled + report.n_rows;
        }
    }
    return now_ns() - begun;
}

static double measure(lg_guard guard, const int64_t *labels, int64_t *out) {
    double least = INFINITY;
    volatile int64_t sink;
    int64_t sum = 0;
    for (int pass = 0; pass < N_PASSES; pass++) {
        least = fmin(least, time_pass(guard, labels, out, &sum));
    }
    sink = sum;
    (void)sink;
    return least / ((double)N_BATCHES * BATCH);
}

// These make no pass over the labels on the host: the option of a loss, and what a kernel does.
static bool has_pass(lg_guard guard) {
    return guard != LG_GUARD_LABEL_SMOOTHING && guard != LG_GUARD_DEVICE_ASSERT &&
           guard != LG_GUARD_COMPILED_OUT;
}

void lg_guard_study_measure(lg_guard_study *study) {
    int64_t n = (int64_t)N_BATCHES * BATCH;
    int64_t *labels = lg_xmalloc((size_t)n * sizeof(*labels));
    int64_t *out = lg_xmalloc(BATCH * sizeof(*out));
    for (int64_t i = 0; i < n; i++) {
        labels[i] = (int64_t)lg_rng_below(0, LG_STREAM_TARGETS, (uint64_t)i, N_CLASSES);
    }
    study->read_ns_per_label = measure(LG_N_GUARDS, labels, out);
    for (int g = 0; g < LG_N_GUARDS; g++) {
        study->guards[g].ns_per_label =
            has_pass((lg_guard)g) ? measure((lg_guard)g, labels, out) : NAN;
    }
    free(out);
    free(labels);
}
