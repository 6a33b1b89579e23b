// SPDX-License-Identifier: Apache-2.0
// The diagnosis of array files says what attribution says of the same batch in memory.
#include "diagnose/diagnose.h"

#include "model/tensor_file.h"
#include "support/alloc.h"
#include "unit/testing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zip.h>

static char folder[] = "/tmp/lossgate-diagnose-XXXXXX";

static const char *path_of(const char *name, char *out, size_t n) {
    snprintf(out, n, "%s/%s", folder, name);
    return out;
}

// --- against lg_attribute -----------------------------------------------------------------------

typedef struct sample {
    int64_t samples, classes, spatial; // spatial 0: no extra dimension
    int64_t width;
    int64_t declared; // K, 0: unknown
    int64_t ignore_index;
    lg_dtype dtype;  // of the labels
    int shift;       // added to every label
    int64_t stray;   // a value written into a few rows; 0: none
    double fraction; // added to a few labels; 0: none
    double entry;    // written into some logits; 0: none
    bool weights;
    double weight_0;
} sample;

static const sample samples[] = {
    {200, 5, 0, 5, 0, -100, LG_INT64, 0, 0, 0, 0, false, 0},
    {200, 5, 0, 3, 0, -100, LG_INT64, 0, 0, 0, 0, false, 0},
    {200, 5, 0, 3, 5, -100, LG_INT32, 0, 0, 0, 0, false, 0},
    {200, 5, 0, 5, 5, -100, LG_INT64, 1, 0, 0, 0, false, 0},
    {4, 5, 0, 5, 0, -100, LG_INT64, 1, 0, 0, 0, false, 0},
    {200, 5, 0, 5, 0, -100, LG_INT64, -1, 0, 0, 0, false, 0},
    {200, 5, 0, 5, 0, -100, LG_INT64, 0, 5, 0, 0, false, 0},
    {200, 5, 0, 5, 0, -100, LG_INT64, 0, -7, 0, 0, false, 0},
    {200, 5, 0, 5, 0, 255, LG_UINT8, 0, 250, 0, 0, false, 0},
    {200, 5, 0, 5, 0, 3, LG_INT64, 0, INT64_MIN, 0, 0, false, 0},
    {200, 5, 0, 5, 0, -100, LG_INT16, 0, 0, 0, 0, false, 0},
    {200, 5, 0, 5, 0, -100, LG_FLOAT32, 0, 0, 0, 0, false, 0},
    {200, 5, 0, 5, 0, -100, LG_FLOAT64, 0, 0, 0.25, 0, false, 0},
    {200, 5, 0, 4, 0, -100, LG_FLOAT32, 0, 0, 0.5, 0, false, 0},
    {50, 5, 0, 5, 0, -100, LG_INT64, 0, 0, 0, NAN, false, 0},
    {50, 5, 0, 5, 0, -100, LG_INT64, 0, 0, 0, INFINITY, false, 0},
    {50, 5, 0, 5, 0, 2, LG_INT64, 0, 0, 0, -INFINITY, false, 0},
    {50, 1, 0, 1, 0, -100, LG_INT64, 0, 0, 0, -INFINITY, false, 0},
    {30, 4, 35, 4, 0, -100, LG_INT64, 0, 0, 0, -INFINITY, false, 0},
    {30, 4, 35, 3, 0, -100, LG_INT64, 0, 0, 0, NAN, false, 0},
    {3, 4, 70000, 4, 0, -100, LG_INT64, 0, 4, 0, INFINITY, false, 0},
    {200, 5, 0, 5, 0, -100, LG_INT64, 0, 0, 0, 0, true, 1},
    {200, 5, 0, 5, 0, -100, LG_INT64, 0, 0, 0, 0, true, -1},
    {200, 1, 0, 4, 0, -100, LG_INT64, 0, 0, 0, 0, true, 0},
    {200, 1, 0, 4, 0, 0, LG_INT64, 0, 0, 0, 0, false, 0},
    {200, 1, 0, 1, 0, -100, LG_INT64, 0, 0, 0, 0, false, 0},
    {0, 5, 0, 5, 0, -100, LG_INT64, 0, 0, 0, 0, false, 0},
};

static bool init(lg_tensor *tensor, lg_dtype dtype, int64_t n, int64_t c, int64_t s) {
    int64_t shape[3] = {n};
    int rank = 1;
    if (c >= 0) {
        shape[rank++] = c;
    }
    if (s > 0) {
        shape[rank++] = s;
    }
    return lg_tensor_init(tensor, dtype, rank, shape);
}

static void make_batch(const sample *s, lg_batch *batch) {
    *batch = (lg_batch){.classes = s->declared,
                        .loss = {.kind = LG_CROSS_ENTROPY,
                                 .reduction = LG_REDUCTION_MEAN,
                                 .ignore_index = s->ignore_index,
                                 .direction = LG_FORWARD}};
    CU_ASSERT_FATAL(init(&batch->input, LG_FLOAT32, s->samples, s->width, s->spatial));
    CU_ASSERT_FATAL(init(&batch->target, s->dtype, s->samples, -1, s->spatial));
    int64_t rows = lg_tensor_numel(&batch->target);
    for (int64_t i = 0; i < rows; i++) {
        int64_t label = (i * 7 + i / 3) % s->classes + s->shift;
        lg_tensor_set_i64(&batch->target, i, label);
        if (s->stray && i % 50 == 13) {
            lg_tensor_set_i64(&batch->target, i, s->stray);
        }
        if (s->fraction != 0 && i % 50 == 17) {
            lg_tensor_set_f64(&batch->target, i, (double)label + s->fraction);
        }
    }
    int64_t n = lg_tensor_numel(&batch->input);
    for (int64_t i = 0; i < n; i++) {
        bool odd = s->entry != 0 && (i % 37 == 5 || (i > n / 2 && i < n / 2 + s->width + 1));
        lg_tensor_set_f64(&batch->input, i, odd ? s->entry : (double)(i % 11) - 5);
    }
    if (s->weights) {
        int64_t shape[1] = {s->width};
        CU_ASSERT_FATAL(lg_tensor_init(&batch->weight, LG_FLOAT32, 1, shape));
        for (int64_t c = 0; c < s->width; c++) {
            lg_tensor_set_f64(&batch->weight, c, c ? 1 : s->weight_0);
        }
    }
}

static bool same_text(const char *a, const char *b) {
    return a == b || (a && b && strcmp(a, b) == 0);
}

static void compare(const char *name, const lg_finding *want, const lg_diagnose_result *got,
                    bool float_labels) {
    const lg_finding *f = &got->finding;
    LG_CHECK_ROW(name, f->cause == want->cause);
    LG_CHECK_ROW(name, f->certain == want->certain);
    LG_CHECK_ROW(name, f->ambiguous == want->ambiguous);
    LG_CHECK_ROW(name, f->warning == want->warning);
    LG_CHECK_ROW(name, same_text(f->headline, want->headline));
    LG_CHECK_ROW(name, f->n_named == want->n_named);
    LG_CHECK_ROW(name, f->n_hypotheses == want->n_hypotheses);
    for (int i = 0; i < f->n_hypotheses && i < want->n_hypotheses; i++) {
        LG_CHECK_ROW(name, f->hypotheses[i].cause == want->hypotheses[i].cause);
        LG_CHECK_ROW(name, f->hypotheses[i].n_with == want->hypotheses[i].n_with);
        for (int k = 0; k < want->hypotheses[i].n_with; k++) {
            LG_CHECK_ROW(name, f->hypotheses[i].with[k] == want->hypotheses[i].with[k]);
        }
        LG_CHECK_ROW(name, f->hypotheses[i].probability == want->hypotheses[i].probability);
        LG_CHECK_ROW(name, same_text(f->hypotheses[i].evidence, want->hypotheses[i].evidence));
        LG_CHECK_ROW(name, same_text(f->hypotheses[i].advice, want->hypotheses[i].advice));
    }
    LG_CHECK_ROW(name, got->n_bad == want->n_rows);
    LG_CHECK_ROW(name,
                 f->n_rows == (want->n_rows < LG_DIAGNOSE_ROWS ? want->n_rows : LG_DIAGNOSE_ROWS));
    for (int64_t i = 0; i < f->n_rows; i++) {
        LG_CHECK_ROW(name, f->rows[i] == want->rows[i]);
    }
    // In memory, the values of every bad row are counted; here those out of range.
    for (int64_t i = 0; !float_labels && i < f->n_values && f->n_values == want->n_values; i++) {
        LG_CHECK_ROW(name, f->values[i].value == want->values[i].value);
        LG_CHECK_ROW(name, f->values[i].count == want->values[i].count);
    }
}

static void write_csv(const char *path, const lg_tensor *tensor) {
    FILE *file = fopen(path, "w");
    fputs("label\n", file);
    for (int64_t i = 0; i < lg_tensor_numel(tensor); i++) {
        if (lg_dtype_is_float(tensor->dtype)) {
            fprintf(file, "%.17g%s\n", lg_tensor_get_f64(tensor, i),
                    lg_tensor_get_f64(tensor, i) == floor(lg_tensor_get_f64(tensor, i)) ? ".0"
                                                                                        : "");
        } else {
            fprintf(file, "%lld\n", (long long)lg_tensor_get_i64(tensor, i));
        }
    }
    fclose(file);
}

static void check_files(const char *name, const sample *s, const lg_batch *batch,
                        const lg_finding *want) {
    char targets[99];
    char logits[99];
    char weight[99];
    char csv[99];
    lg_diags diags = {0};
    CU_ASSERT_FATAL(
        lg_tensor_write(path_of("t.npy", targets, sizeof targets), &batch->target, &diags));
    CU_ASSERT_FATAL(
        lg_tensor_write(path_of("x.npy", logits, sizeof logits), &batch->input, &diags));
    write_csv(path_of("t.csv", csv, sizeof csv), &batch->target);
    if (s->weights) {
        CU_ASSERT_FATAL(
            lg_tensor_write(path_of("w.npy", weight, sizeof weight), &batch->weight, &diags));
    }
    // The type of a .csv is int64 or float64, and its shape one dimension.
    bool csv_too =
        s->spatial == 0 && s->samples > 0 && (s->dtype == LG_INT64 || s->dtype == LG_FLOAT64);
    for (int way = 0; way < 4; way++) {
        bool with_logits = way < 2;
        if ((way % 2 == 1 && !csv_too) || (!with_logits && s->entry != 0)) {
            continue;
        }
        lg_diagnose_options options = {.targets = way % 2 ? csv : targets,
                                       .logits = with_logits ? logits : NULL,
                                       .weight = s->weights ? weight : NULL,
                                       .head_width = s->width,
                                       .classes = s->declared,
                                       .ignore_index = s->ignore_index};
        lg_diagnose_result got;
        bool ok = lg_diagnose(&options, &got, &diags);
        LG_CHECK_ROW(name, ok);
        if (ok) {
            compare(name, want, &got, lg_dtype_is_float(s->dtype) || s->entry != 0);
        }
        lg_diags_print(&diags, stderr);
        lg_diagnose_free(&got);
    }
    lg_diags_free(&diags);
}

static void test_as_in_memory(void) {
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
        char name[32];
        snprintf(name, sizeof name, "sample %zu", i);
        lg_batch batch;
        make_batch(&samples[i], &batch);
        lg_attribute_input input = {.batch = &batch};
        lg_finding want;
        lg_attribute(&input, &want);
        // Where nothing is wrong, attribution in memory has no reference here to disagree with.
        check_files(name, &samples[i], &batch, &want);
        lg_finding_free(&want);
        lg_batch_free(&batch);
    }
}

// --- shapes, archives, errors -------------------------------------------------------------------

static const char *write_ints(const char *name, char *path, int rank, const int64_t *shape,
                              const int64_t *values) {
    lg_diags diags = {0};
    CU_ASSERT_FATAL(
        lg_npy_write(path_of(name, path, 99), LG_NPY_INT64, rank, shape, values, &diags));
    lg_diags_free(&diags);
    return path;
}

static void test_shapes(void) {
    static const int64_t labels[] = {0, 1, 2, 9};
    static const double zeros[24] = {0};
    char targets[99];
    char logits[99];
    lg_diags diags = {0};
    const struct {
        const char *name;
        int rank;
        int64_t target[2];
        int64_t input[3];
        int input_rank;
        lg_cause cause;
        int64_t n_bad;
    } rows[] = {
        {"fits", 1, {4}, {4, 3}, 2, LG_CAUSE_LABEL_EQUALS_WIDTH, 1},
        {"one sample less", 1, {4}, {5, 3}, 2, LG_CAUSE_SHAPE_LAYOUT, 0},
        {"a column", 2, {4, 1}, {4, 3}, 2, LG_CAUSE_SHAPE_LAYOUT, 1},
        {"the class axis last", 2, {2, 2}, {2, 2, 3}, 3, LG_CAUSE_SHAPE_LAYOUT, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        write_ints("t.npy", targets, rows[i].rank, rows[i].target, labels);
        CU_ASSERT_FATAL(lg_npy_write(path_of("x.npy", logits, 99), LG_NPY_FLOAT64,
                                     rows[i].input_rank, rows[i].input, zeros, &diags));
        lg_diagnose_options options = {.targets = targets, .logits = logits, .ignore_index = -100};
        lg_diagnose_result got;
        LG_CHECK_ROW(rows[i].name, lg_diagnose(&options, &got, &diags));
        LG_CHECK_ROW(rows[i].name, rows[i].cause != LG_CAUSE_SHAPE_LAYOUT ||
                                       lg_finding_names(&got.finding, rows[i].cause));
        LG_CHECK_ROW(rows[i].name, got.n_bad == rows[i].n_bad);
        LG_CHECK_ROW(rows[i].name, got.finding.cause != LG_CAUSE_NONE);
        lg_diagnose_free(&got);
    }
    CU_ASSERT_EQUAL(diags.n, 0);
    lg_diags_free(&diags);
}

static void test_archive(void) {
    static const int64_t labels[] = {0, 1, 2, 3, 0, 1, 2, 3};
    const int64_t shape[] = {8};
    char path[99];
    char place[120];
    lg_str bytes = {0};
    lg_npy_write_header(LG_NPY_INT64, 1, shape, &bytes);
    lg_str_add_n(&bytes, (const char *)labels, sizeof labels);
    path_of("a.npz", path, sizeof path);
    snprintf(place, sizeof place, "%s:labels", path);
    zip_t *zip = zip_open(path, ZIP_CREATE | ZIP_TRUNCATE, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(zip);
    CU_ASSERT(zip_file_add(zip, "labels.npy", zip_source_buffer(zip, bytes.text, bytes.n, 0), 0) >=
              0);
    CU_ASSERT_EQUAL(zip_close(zip), 0);
    lg_diagnose_options options = {.targets = place, .head_width = 3, .ignore_index = -100};
    lg_diagnose_result got;
    lg_diags diags = {0};
    CU_ASSERT_TRUE_FATAL(lg_diagnose(&options, &got, &diags));
    CU_ASSERT_EQUAL(got.n_bad, 2);
    CU_ASSERT_TRUE(lg_finding_names(&got.finding, LG_CAUSE_WRONG_HEAD_WIDTH));
    lg_str text = {0};
    lg_diagnose_text(&got, &text);
    CU_ASSERT_PTR_NOT_NULL(strstr(lg_str_text(&text), "2 of 8: 3 7\n"));
    CU_ASSERT_PTR_NOT_NULL(strstr(lg_str_text(&text), "range         0 .. 3"));
    lg_str_free(&text);
    lg_diagnose_free(&got);
    lg_str_free(&bytes);
}

static void test_unreadable(void) {
    static const double zeros[6] = {0};
    const int64_t shape[] = {2, 3};
    char t[99];
    char x[99];
    char csv[99];
    lg_diags diags = {0};
    CU_ASSERT_FATAL(lg_npy_write(path_of("p.npy", t, 99), LG_NPY_FLOAT64, 2, shape, zeros, &diags));
    FILE *file = fopen(path_of("bad.csv", csv, 99), "w");
    fputs("1\n2,3\n", file);
    fclose(file);
    path_of("none.npy", x, 99);
    const struct {
        const char *name;
        const char *targets, *logits, *weight, *message;
    } rows[] = {
        {"no file", x, NULL, NULL, "cannot be opened"},
        {"no logits", t, x, NULL, "cannot be opened"},
        {"no weights", t, NULL, x, "cannot be opened"},
        {"a broken column", csv, NULL, NULL, "second column"},
        {"logits in a text", t, csv, NULL, "logits are read from .npy"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        lg_diags_free(&diags);
        lg_diagnose_options options = {.targets = rows[i].targets,
                                       .logits = rows[i].logits,
                                       .weight = rows[i].weight,
                                       .head_width = 3};
        lg_diagnose_result got;
        LG_CHECK_ROW(rows[i].name, !lg_diagnose(&options, &got, &diags));
        LG_CHECK_ROW(rows[i].name, diags.n_errors == 1);
        LG_CHECK_ROW(rows[i].name,
                     diags.n == 1 && strstr(diags.items[0].message, rows[i].message) != NULL);
        lg_diagnose_free(&got);
    }
    lg_diags_free(&diags);
}

static void remove_folder(void) {
    static const char *const names[] = {"t.npy", "x.npy", "w.npy",  "t.csv",
                                        "a.npz", "p.npy", "bad.csv"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[99];
        unlink(path_of(names[i], path, sizeof path));
    }
    rmdir(folder);
}

int main(void) {
    static const lg_test tests[] = {{"as in memory", test_as_in_memory},
                                    {"shapes", test_shapes},
                                    {"an archive", test_archive},
                                    {"unreadable files", test_unreadable}};
    if (!mkdtemp(folder)) {
        return 2;
    }
    int status = lg_run_tests(LG_SUITE, tests, sizeof tests / sizeof *tests);
    remove_folder();
    return status;
}
