// SPDX-License-Identifier: Apache-2.0
// Targets with a class axis: class probabilities are taken as such and checked, one-hot rows of
// integers are said to be what they are, and labels of such a shape stay labels.
#include "diagnose/diagnose.h"

#include "model/tensor_file.h"
#include "support/alloc.h"
#include "unit/testing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[] = "/tmp/lossgate-rows-XXXXXX";

static const char *path_of(const char *name, char *out, size_t n) {
    snprintf(out, n, "%s/%s", folder, name);
    return out;
}

enum kind { PROBABILITIES, ONE_HOT, LABELS };

typedef struct row {
    const char *name;
    enum kind kind;
    lg_npy_type type;
    int64_t samples, classes, spatial; // spatial 0: none
    int64_t head_width;                // without logits; 0: logits of `width`
    int64_t width;
    int64_t ignore_index;
    double entry; // written over one entry of the targets, in the sample 2; 0: none
    double score; // written over one logit, in the sample 3; 0: none
    lg_cause cause;
    bool warning;
    int64_t n_bad, first_bad;
    const char *text;
} row;

#define F64 LG_NPY_FLOAT64
#define F32 LG_NPY_FLOAT32
#define I64 LG_NPY_INT64
#define U8 LG_NPY_UINT8

static const row rows[] = {
    {"probabilities", PROBABILITIES, F64, 20, 5, 0, 0, 5, -100, 0, 0, 0, false, 0, 0,
     "nothing wrong: 20 rows\nevidence\n  targets       class probabilities, 20 rows of 5 classes"},
    {"probabilities for a head", PROBABILITIES, F32, 20, 5, 0, 5, 0, -100, 0, 0, 0, false, 0, 0,
     "nothing wrong: 20 rows"},
    {"spatial probabilities", PROBABILITIES, F64, 4, 5, 7, 0, 5, -100, 0, 0, 0, false, 0, 0,
     "28 rows of 5 classes"},
    {"a row that does not add up to 1", PROBABILITIES, F64, 20, 5, 0, 0, 5, -100, 0.9, 0,
     LG_CAUSE_VALUE_DOMAIN, false, 1, 2, "normalise the target rows"},
    {"the same for a head", PROBABILITIES, F32, 20, 5, 0, 5, 0, -100, 0.9, 0, LG_CAUSE_VALUE_DOMAIN,
     false, 1, 2, "1 target rows are no probabilities"},
    {"a negative one", PROBABILITIES, F64, 20, 5, 0, 0, 5, -100, -0.2, 0, LG_CAUSE_VALUE_DOMAIN,
     false, 1, 2, "the first is row 2"},
    {"NaN", PROBABILITIES, F64, 20, 5, 0, 0, 5, -100, NAN, 0, LG_CAUSE_VALUE_DOMAIN, false, 1, 2,
     "1 target row is no probabilities: nan, the first at 2"},
    {"spatial, one pixel", PROBABILITIES, F64, 4, 5, 7, 0, 5, -100, 0.9, 0, LG_CAUSE_VALUE_DOMAIN,
     false, 1, 14, "1 of 28: 14\n"},
    {"a logit that is NaN", PROBABILITIES, F64, 20, 5, 0, 0, 5, -100, 0, NAN,
     LG_CAUSE_NONFINITE_LOGITS, false, 1, 3, "1 rows of the input hold NaN or infinity"},
    {"a masked class that has a share", PROBABILITIES, F64, 20, 5, 0, 0, 5, -100, 0, -INFINITY,
     LG_CAUSE_NONFINITE_LOGITS, false, 1, 3, "row 3"},
    {"an index to ignore", PROBABILITIES, F64, 20, 5, 0, 0, 5, 2, 0, 0, LG_CAUSE_VALUE_DOMAIN,
     false, 0, 0, "class probabilities have no index to ignore"},
    {"probabilities of other classes", PROBABILITIES, F64, 20, 5, 0, 0, 6, -100, 0, 0,
     LG_CAUSE_SHAPE_LAYOUT, false, 0, 0, "they must be equal"},
    {"one-hot floats", ONE_HOT, F64, 20, 5, 0, 0, 5, -100, 0, 0, 0, false, 0, 0,
     "one-hot       20 rows: targets.argmax(axis=1) as class indices says the same"},
    {"one-hot floats for a head", ONE_HOT, F64, 20, 5, 0, 5, 0, -100, 0, 0, 0, false, 0, 0,
     "one-hot       20 rows: targets.argmax(axis=1)"},
    {"one-hot floats of another type", ONE_HOT, F32, 20, 5, 0, 0, 5, -100, 0, 0,
     LG_CAUSE_TARGET_DTYPE, false, 0, 0, "the target is float32 and the input float64"},
    {"one-hot floats of other classes", ONE_HOT, F64, 20, 5, 0, 0, 6, -100, 0, 0,
     LG_CAUSE_SHAPE_LAYOUT, false, 0, 0, "one-hot rows of 5 classes for a head of 6"},
    {"one-hot integers", ONE_HOT, I64, 20, 5, 0, 0, 5, -100, 0, 0, LG_CAUSE_SHAPE_LAYOUT, false, 0,
     0, "hand over targets.argmax(axis=1), or the rows as class probabilities"},
    {"one-hot bytes for a head", ONE_HOT, U8, 20, 5, 0, 5, 0, -100, 0, 0, LG_CAUSE_SHAPE_LAYOUT,
     false, 0, 0, "FAULT shape_layout — certain: the targets are one-hot rows, uint8"},
    {"one-hot integers for a head", ONE_HOT, I64, 20, 5, 0, 5, 0, -100, 0, 0, LG_CAUSE_SHAPE_LAYOUT,
     false, 0, 0, "one-hot rows, int64"},
    {"spatial one-hot integers", ONE_HOT, I64, 4, 5, 7, 5, 0, -100, 0, 0, LG_CAUSE_SHAPE_LAYOUT,
     false, 0, 0, "one-hot rows, int64"},
    {"so few that it may be chance", ONE_HOT, I64, 3, 2, 0, 2, 0, -100, 0, 0, LG_CAUSE_SHAPE_LAYOUT,
     true, 0, 0, "WARNING shape_layout"},
    {"one row with two ones", ONE_HOT, I64, 20, 5, 0, 5, 0, -100, 1, 0, 0, false, 0, 0,
     "nothing wrong: 100 rows"},
    {"labels of the shape", LABELS, I64, 20, 5, 0, 5, 0, -100, 0, 0, 0, false, 0, 0,
     "in range      100 labels"},
    {"float labels of the shape", LABELS, F64, 20, 5, 0, 5, 0, -100, 0, 0, LG_CAUSE_FLOAT_TARGETS,
     false, 0, 0, "the class indices are float64"},
};

// Entry c of position s of sample n.
static double entry_of(const row *r, int64_t n, int64_t c, int64_t s) {
    if (r->kind == LABELS) {
        return (double)((n + c) % r->classes == 0 ? 3 : 2 + (n + c) % 3);
    }
    int64_t label = (n * 3 + s) % r->classes;
    if (r->kind == ONE_HOT) {
        return c == label;
    }
    return c == label ? 0.5 : 0.5 / (double)(r->classes - 1);
}

static void store(lg_npy_type type, void *data, int64_t i, double value) {
    if (type == F64) {
        ((double *)data)[i] = value;
    } else if (type == F32) {
        ((float *)data)[i] = (float)value;
    } else if (type == I64) {
        ((int64_t *)data)[i] = (int64_t)value;
    } else {
        ((uint8_t *)data)[i] = (uint8_t)value;
    }
}

static void write_targets(const row *r, const char *path) {
    int64_t spatial = r->spatial ? r->spatial : 1;
    void *data = lg_xcalloc((size_t)(r->samples * r->classes * spatial), sizeof(double));
    int64_t i = 0;
    for (int64_t n = 0; n < r->samples; n++) {
        for (int64_t c = 0; c < r->classes; c++) {
            for (int64_t s = 0; s < spatial; s++, i++) {
                bool spoiled = r->entry != 0 && n == 2 && c == 0 && s == 0;
                store(r->type, data, i, spoiled ? r->entry : entry_of(r, n, c, s));
            }
        }
    }
    int64_t shape[] = {r->samples, r->classes, spatial};
    lg_diags diags = {0};
    CU_ASSERT_FATAL(lg_npy_write(path, r->type, r->spatial ? 3 : 2, shape, data, &diags));
    free(data);
}

static void write_logits(const row *r, const char *path) {
    int64_t spatial = r->spatial ? r->spatial : 1;
    int64_t n = r->samples * r->width * spatial;
    double *data = lg_xcalloc((size_t)n, sizeof *data);
    if (r->score != 0) {
        data[3 * r->width * spatial] = r->score;
    }
    int64_t shape[] = {r->samples, r->width, spatial};
    lg_diags diags = {0};
    CU_ASSERT_FATAL(lg_npy_write(path, F64, r->spatial ? 3 : 2, shape, data, &diags));
    free(data);
}

static void test_class_rows(void) {
    char targets[99];
    char logits[99];
    path_of("t.npy", targets, sizeof targets);
    path_of("x.npy", logits, sizeof logits);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const row *r = &rows[i];
        write_targets(r, targets);
        if (r->head_width == 0) {
            write_logits(r, logits);
        }
        lg_diagnose_options options = {.targets = targets,
                                       .logits = r->head_width ? NULL : logits,
                                       .head_width = r->head_width,
                                       .ignore_index = r->ignore_index};
        lg_diagnose_result got;
        lg_diags diags = {0};
        bool ok = lg_diagnose(&options, &got, &diags);
        LG_CHECK_ROW(r->name, ok && diags.n == 0);
        LG_CHECK_ROW(r->name, r->cause == LG_CAUSE_NONE ? got.finding.cause == LG_CAUSE_NONE
                                                        : lg_finding_names(&got.finding, r->cause));
        LG_CHECK_ROW(r->name, got.finding.warning == r->warning);
        LG_CHECK_ROW(r->name, got.n_bad == r->n_bad);
        LG_CHECK_ROW(r->name, r->n_bad == 0 || got.finding.rows[0] == r->first_bad);
        lg_str text = {0};
        lg_diagnose_text(&got, &text);
        LG_CHECK_ROW(r->name, strstr(lg_str_text(&text), r->text) != NULL);
        if (!strstr(lg_str_text(&text), r->text) ||
            (r->cause == LG_CAUSE_NONE) != (got.finding.cause == LG_CAUSE_NONE)) {
            fprintf(stderr, "%s", lg_str_text(&text));
            lg_diags_print(&diags, stderr);
        }
        lg_str_free(&text);
        lg_diagnose_free(&got);
        lg_diags_free(&diags);
    }
    unlink(targets);
    unlink(logits);
}

int main(void) {
    static const lg_test tests[] = {{"class rows", test_class_rows}};
    if (!mkdtemp(folder)) {
        return 1;
    }
    int status = lg_run_tests(LG_SUITE, tests, sizeof tests / sizeof *tests);
    rmdir(folder);
    return status;
}
