// SPDX-License-Identifier: Apache-2.0
// Small arrays as tables: what is diagnosed of each, from files in a folder of the test's own.
#ifndef LG_TESTS_PIPELINE_DIAGNOSE_HELPERS_H
#define LG_TESTS_PIPELINE_DIAGNOSE_HELPERS_H

#include "diagnose/diagnose.h"
#include "support/npy.h"
#include "unit/testing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST = 12 };

typedef struct value_row {
    const char *name;
    bool floats; // the targets, else int64
    int rank;
    int64_t shape[2];
    double targets[MOST];
    int64_t n_logits, width; // rows of logits, 0: none, so that the width is only said
    double logits[MOST];
    int64_t classes;
    lg_loss_kind loss;
    lg_cause cause;
    int64_t n_bad;
    const char *text, *not_in_it;
} value_row;

static char folder[] = "/tmp/lossgate-diagnose-XXXXXX";

static inline void write_array(const char *path, bool floats, int rank, const int64_t *shape,
                               const double *values) {
    lg_diags diags = {0};
    int64_t integers[MOST];
    for (int i = 0; i < MOST; i++) {
        integers[i] = floats ? 0 : (int64_t)values[i];
    }
    const void *data = floats ? (const void *)values : integers;
    CU_ASSERT_TRUE_FATAL(
        lg_npy_write(path, floats ? LG_NPY_FLOAT64 : LG_NPY_INT64, rank, shape, data, &diags));
    lg_diags_free(&diags);
}

static inline void check_diagnosis(const value_row *row, const lg_diagnose_options *options) {
    lg_diagnose_result got;
    lg_diags diags = {0};
    lg_str text = {0};
    LG_CHECK_ROW(row->name, lg_diagnose(options, &got, &diags));
    lg_diagnose_text(&got, &text);
    LG_CHECK_ROW(row->name, got.finding.cause == row->cause);
    LG_CHECK_ROW(row->name, got.n_bad == row->n_bad);
    LG_CHECK_ROW(row->name, strstr(lg_str_text(&text), row->text) != NULL);
    LG_CHECK_ROW(row->name, !row->not_in_it || !strstr(lg_str_text(&text), row->not_in_it));
    lg_str_free(&text);
    lg_diagnose_free(&got);
    lg_diags_free(&diags);
}

static inline void check_rows(const value_row *rows, size_t n) {
    char targets[64];
    char logits[64];
    snprintf(targets, sizeof targets, "%s/t.npy", folder);
    snprintf(logits, sizeof logits, "%s/x.npy", folder);
    for (size_t i = 0; i < n; i++) {
        const value_row *row = &rows[i];
        write_array(targets, row->floats, row->rank, row->shape, row->targets);
        const int64_t shape[2] = {row->n_logits, row->width};
        if (row->n_logits) {
            write_array(logits, true, 2, shape, row->logits);
        }
        const lg_diagnose_options options = {.targets = targets,
                                             .logits = row->n_logits ? logits : NULL,
                                             .head_width = row->width,
                                             .classes = row->classes,
                                             .loss = row->loss,
                                             .ignore_index = -100};
        check_diagnosis(row, &options);
    }
    unlink(targets);
    unlink(logits);
}

// In a folder that is made for the tests.
static inline int run_in_folder(const char *suite, const lg_test *tests, size_t n) {
    if (!mkdtemp(folder)) {
        return 2;
    }
    int status = lg_run_tests(suite, tests, n);
    rmdir(folder);
    return status;
}

#endif
