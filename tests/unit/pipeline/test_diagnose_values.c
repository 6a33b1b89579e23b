// SPDX-License-Identifier: Apache-2.0
// What a file of labels holds that is no label: NaN, infinities, binary targets, classes beyond
// those stated; shapes that want a squeeze, and logits that are probabilities already.
#include "pipeline/diagnose.h"

#include "support/npy.h"
#include "unit/testing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST = 12, NO_LOGITS = 0 };

typedef struct value_row {
    const char *name;
    bool floats; // the targets, else int64
    int rank;
    int64_t shape[2];
    double targets[MOST];
    int64_t n_logits, width; // rows; 0: only the width
    double logits[MOST];
    int64_t classes;
    lg_loss_kind loss;
    lg_cause cause;
    int64_t n_bad;
    const char *text, *not_in_it;
} value_row;

static const value_row rows[] = {
    {"a NaN",
     true,
     1,
     {4},
     {0, NAN, 2, NAN},
     NO_LOGITS,
     3,
     {0},
     0,
     0,
     LG_CAUSE_FLOAT_TARGETS,
     2,
     "hold nan (2 times), the first at 1",
     "922337"},
    {"infinities",
     true,
     1,
     {4},
     {0, INFINITY, 2, -INFINITY},
     NO_LOGITS,
     3,
     {0},
     0,
     0,
     LG_CAUSE_FLOAT_TARGETS,
     2,
     "hold inf and -inf, the first at 1",
     "whole numbers"},
    {"whole floats",
     true,
     1,
     {4},
     {0, 1, 2, 2},
     NO_LOGITS,
     3,
     {0},
     0,
     0,
     LG_CAUSE_FLOAT_TARGETS,
     0,
     "all whole numbers",
     "nan"},
    {"a NaN among probabilities",
     true,
     2,
     {2, 2},
     {0.5, 0.5, NAN, 1},
     NO_LOGITS,
     2,
     {0},
     0,
     0,
     LG_CAUSE_VALUE_DOMAIN,
     1,
     "1 target row is no probabilities: nan, the first at 1",
     "logits"},
    {"an infinity among probabilities",
     true,
     2,
     {2, 2},
     {0.5, 0.5, INFINITY, 1},
     2,
     2,
     {1, -1, 0, 2},
     0,
     0,
     LG_CAUSE_VALUE_DOMAIN,
     1,
     "inf, the first at 1",
     NULL},
    {"no probabilities at all",
     true,
     2,
     {0, 3},
     {0},
     NO_LOGITS,
     3,
     {0},
     0,
     0,
     LG_CAUSE_NONE,
     0,
     "there is no row",
     "float_targets"},
    {"no labels at all",
     true,
     1,
     {0},
     {0},
     NO_LOGITS,
     3,
     {0},
     0,
     0,
     LG_CAUSE_NONE,
     0,
     "there is no row",
     NULL},
    // Classes.
    {"labels beyond the classes stated",
     false,
     1,
     {4},
     {0, 4, 2, 5},
     NO_LOGITS,
     6,
     {0},
     4,
     0,
     LG_CAUSE_CORRUPT_LABELS,
     2,
     "2 of 4: 1 3",
     "certain"},
    {"as many as stated",
     false,
     1,
     {4},
     {0, 3, 2, 1},
     NO_LOGITS,
     6,
     {0},
     4,
     0,
     LG_CAUSE_NONE,
     0,
     "nothing wrong: 4 rows",
     NULL},
    {"one that is ignored is not beyond",
     false,
     1,
     {4},
     {0, 3, 2, -100},
     NO_LOGITS,
     6,
     {0},
     4,
     0,
     LG_CAUSE_NONE,
     0,
     "nothing wrong: 4 rows",
     NULL},
    // Binary targets.
    {"binary targets",
     true,
     2,
     {4, 1},
     {0, 1, 1, 0},
     NO_LOGITS,
     1,
     {0},
     0,
     0,
     LG_CAUSE_NONE,
     0,
     "cross_entropy over one class is always 0",
     "squeeze"},
    {"binary targets out of range",
     true,
     2,
     {4, 1},
     {0, 1, 1.5, -1},
     NO_LOGITS,
     1,
     {0},
     0,
     0,
     LG_CAUSE_BCE_RANGE,
     2,
     "2 targets are outside [0, 1], the first is 1.5 at 2",
     NULL},
    {"a NaN among binary targets",
     true,
     1,
     {3},
     {0, NAN, 1},
     NO_LOGITS,
     1,
     {0},
     0,
     0,
     LG_CAUSE_BCE_RANGE,
     1,
     "the targets hold nan, the first at 1",
     NULL},
    {"binary targets with their logits",
     true,
     2,
     {3, 1},
     {0, 1, 1},
     3,
     1,
     {-3, 5, 2},
     0,
     0,
     LG_CAUSE_NONE,
     0,
     "nothing wrong: 3 rows",
     NULL},
    {"cross_entropy over one class, as asked for",
     true,
     2,
     {3, 1},
     {0, 1, 1},
     NO_LOGITS,
     1,
     {0},
     0,
     LG_CROSS_ENTROPY,
     LG_CAUSE_VALUE_DOMAIN,
     1,
     "are no probabilities",
     NULL},
    {"logits for probabilities",
     true,
     2,
     {3, 1},
     {0, 1, 1},
     3,
     1,
     {-3, 5, 0.5},
     0,
     LG_BCE,
     LG_CAUSE_BCE_RANGE,
     0,
     "2 inputs are outside [0, 1], the first is -3 at 0",
     NULL},
    {"a NaN among binary logits",
     true,
     2,
     {3, 1},
     {0, 1, 1},
     3,
     1,
     {-3, NAN, 0.5},
     0,
     LG_BCE_WITH_LOGITS,
     LG_CAUSE_NONFINITE_LOGITS,
     0,
     "the input holds nan, the first at 1",
     NULL},
    {"integers as binary targets",
     false,
     2,
     {3, 1},
     {0, 1, 1},
     3,
     1,
     {-3, 5, 0.5},
     0,
     LG_BCE_WITH_LOGITS,
     LG_CAUSE_TARGET_DTYPE,
     0,
     "cast the targets to the input's type",
     NULL},
    {"binary targets of another shape",
     true,
     1,
     {3},
     {0, 1, 1},
     3,
     1,
     {-3, 5, 0.5},
     0,
     LG_BCE_WITH_LOGITS,
     LG_CAUSE_SHAPE_LAYOUT,
     0,
     "targets.reshape(input.shape)",
     NULL},
    {"integers of one class stay class indices",
     false,
     1,
     {3},
     {0, 0, 0},
     NO_LOGITS,
     1,
     {0},
     0,
     0,
     LG_CAUSE_WRONG_HEAD_WIDTH,
     0,
     "WARNING wrong_head_width",
     "read as"},
    // Shapes.
    {"a column",
     false,
     2,
     {4, 1},
     {0, 1, 2, 0},
     NO_LOGITS,
     3,
     {0},
     0,
     0,
     LG_CAUSE_NONE,
     0,
     "[4, 1]: logits of N x C want [N]: targets.squeeze(1)",
     NULL},
    {"a row",
     false,
     2,
     {1, 4},
     {0, 1, 2, 0},
     NO_LOGITS,
     3,
     {0},
     0,
     0,
     LG_CAUSE_NONE,
     0,
     "[1, 4]: logits of N x C want [N]: targets.squeeze(0)",
     NULL},
    {"a column with its logits",
     false,
     2,
     {2, 1},
     {0, 1},
     2,
     3,
     {1, -1, 0, 2, 3, 4},
     0,
     0,
     LG_CAUSE_SHAPE_LAYOUT,
     0,
     "try       hand over targets.squeeze(1)",
     NULL},
    {"a row with its logits",
     false,
     2,
     {1, 2},
     {0, 1},
     2,
     3,
     {1, -1, 0, 2, 3, 4},
     0,
     0,
     LG_CAUSE_SHAPE_LAYOUT,
     0,
     "try       hand over targets.squeeze(0)",
     NULL},
    {"one label more than logits",
     false,
     1,
     {3},
     {0, 1, 2},
     2,
     3,
     {1, -1, 0, 2, 3, 4},
     0,
     0,
     LG_CAUSE_SHAPE_LAYOUT,
     0,
     "as many labels as logits have rows: 3 and 2 are there",
     NULL},
    // Logits.
    {"softmax twice",
     false,
     1,
     {2},
     {0, 1},
     2,
     3,
     {0.25, 0.25, 0.5, 0, 0, 1},
     0,
     0,
     LG_CAUSE_NONE,
     0,
     "is softmax applied twice?",
     NULL},
    {"probabilities for nll_loss",
     false,
     1,
     {2},
     {0, 1},
     2,
     3,
     {0.25, 0.25, 0.5, 0, 0, 1},
     0,
     LG_NLL_LOSS,
     LG_CAUSE_NONE,
     0,
     "nll_loss wants their logarithms",
     NULL},
    {"rows that sum to 1 by negative entries",
     false,
     1,
     {2},
     {0, 1},
     2,
     3,
     {2, -1, 0, 0, 0, 1},
     0,
     0,
     LG_CAUSE_NONE,
     0,
     "nothing wrong",
     "softmax"},
    {"one row that does not sum to 1",
     false,
     1,
     {2},
     {0, 1},
     2,
     3,
     {0.25, 0.25, 0.5, 0, 0.5, 1},
     0,
     0,
     LG_CAUSE_NONE,
     0,
     "nothing wrong",
     "softmax"},
};

static char folder[] = "/tmp/lossgate-values-XXXXXX";

static void write_array(const char *path, bool floats, int rank, const int64_t *shape,
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

static void check(const value_row *row, const lg_diagnose_options *options) {
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

static void test_values(void) {
    char targets[64];
    char logits[64];
    snprintf(targets, sizeof targets, "%s/t.npy", folder);
    snprintf(logits, sizeof logits, "%s/x.npy", folder);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
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
        check(row, &options);
    }
    unlink(targets);
    unlink(logits);
}

// Bytes that fill 0..255 may be longer labels that wrapped; as int64 they are what they are.
static void test_bytes(void) {
    char path[64];
    uint8_t bytes[2560];
    int64_t integers[2560];
    const int64_t n = 2560;
    lg_diags diags = {0};
    snprintf(path, sizeof path, "%s/t.npy", folder);
    for (int i = 0; i < n; i++) {
        bytes[i] = (uint8_t)i;
        integers[i] = i % 256;
    }
    for (int wide = 0; wide < 2; wide++) {
        const void *data = wide ? (const void *)integers : bytes;
        CU_ASSERT_TRUE_FATAL(
            lg_npy_write(path, wide ? LG_NPY_INT64 : LG_NPY_UINT8, 1, &n, data, &diags));
        lg_diagnose_options options = {.targets = path, .head_width = 10, .ignore_index = -100};
        lg_diagnose_result got;
        CU_ASSERT_TRUE_FATAL(lg_diagnose(&options, &got, &diags));
        CU_ASSERT_EQUAL(got.finding.cause, LG_CAUSE_WRONG_HEAD_WIDTH);
        CU_ASSERT_EQUAL(got.finding.certain, wide == 1);
        CU_ASSERT_EQUAL(got.n_notes, wide ? 0 : 1);
        lg_diagnose_free(&got);
    }
    unlink(path);
    lg_diags_free(&diags);
}

int main(void) {
    static const lg_test tests[] = {{"values", test_values}, {"bytes", test_bytes}};
    if (!mkdtemp(folder)) {
        return 2;
    }
    int status = lg_run_tests("pipeline/diagnose_values", tests, sizeof tests / sizeof *tests);
    rmdir(folder);
    return status;
}
