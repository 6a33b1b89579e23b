// SPDX-License-Identifier: Apache-2.0
// Parts of batches and their text by hand; whole shrinking is in tests/cli/shrink.t.
#include "shrink/shrink.h"

#include "batch/batch.h"
#include "engine/driver/driver.h"
#include "scenario/scenario.h"
#include "shrink/internal.h"
#include "unit/testing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void fill_f64(lg_tensor *tensor, const double *values) {
    for (int64_t i = 0; i < lg_tensor_numel(tensor); i++) {
        lg_tensor_set_f64(tensor, i, values[i]);
    }
}

static bool is_f64(const lg_tensor *tensor, int64_t n, const double *values) {
    bool same = lg_tensor_numel(tensor) == n;
    for (int64_t i = 0; same && i < n; i++) {
        same = lg_tensor_get_f64(tensor, i) == values[i];
    }
    return same;
}

static bool is_i64(const lg_tensor *tensor, int64_t n, const int64_t *values) {
    bool same = lg_tensor_numel(tensor) == n;
    for (int64_t i = 0; same && i < n; i++) {
        same = lg_tensor_get_i64(tensor, i) == values[i];
    }
    return same;
}

// 2 samples, 3 classes, 2 columns: input 0 .. 11, labels of the four rows, weights 10 20 30.
static lg_batch spatial_batch(const int64_t labels[4]) {
    lg_batch batch = {
        .loss = {.kind = LG_CROSS_ENTROPY, .ignore_index = -100, .direction = LG_BOTH},
        .classes = 3};
    CU_ASSERT_TRUE_FATAL(lg_tensor_init(&batch.input, LG_FLOAT32, 3, (int64_t[]){2, 3, 2}));
    CU_ASSERT_TRUE_FATAL(lg_tensor_init(&batch.target, LG_INT64, 2, (int64_t[]){2, 2}));
    CU_ASSERT_TRUE_FATAL(lg_tensor_init(&batch.weight, LG_FLOAT32, 1, (int64_t[]){3}));
    for (int64_t i = 0; i < 12; i++) {
        lg_tensor_set_f64(&batch.input, i, (double)i);
    }
    for (int64_t i = 0; i < 4; i++) {
        lg_tensor_set_i64(&batch.target, i, labels[i]);
    }
    fill_f64(&batch.weight, (double[]){10, 20, 30});
    return batch;
}

static void test_take(void) {
    lg_batch batch = spatial_batch((int64_t[]){0, 1, 2, 3});
    lg_batch part;
    CU_ASSERT_TRUE_FATAL(lg_shrink_take(&batch, 0, (int64_t[]){1}, 1, &part));
    CU_ASSERT_TRUE(is_f64(&part.input, 6, (double[]){6, 7, 8, 9, 10, 11}));
    CU_ASSERT_TRUE(is_i64(&part.target, 2, (int64_t[]){2, 3}));
    CU_ASSERT_TRUE(is_f64(&part.weight, 3, (double[]){10, 20, 30}));
    lg_batch_free(&part);
    CU_ASSERT_TRUE_FATAL(lg_shrink_take(&batch, 2, (int64_t[]){1}, 1, &part));
    CU_ASSERT_TRUE(is_f64(&part.input, 6, (double[]){1, 3, 5, 7, 9, 11}));
    CU_ASSERT_TRUE(is_i64(&part.target, 2, (int64_t[]){1, 3}));
    lg_batch_free(&part);
    lg_batch_free(&batch);
}

typedef struct class_row {
    const char *name;
    int64_t labels[4];
    int64_t ignored;
    bool shift;
    int64_t want[4];
    int64_t want_ignored;
} class_row;

// Classes 0 and 2 of three are kept.
static const class_row class_rows[] = {
    {"labels follow their class", {0, 2, 2, 0}, -100, true, {0, 1, 1, 0}, -100},
    {"C stays C", {3, 0, 4, 2}, -100, true, {2, 0, 3, 1}, -100},
    {"C keeps its value", {3, 0, 4, 2}, -100, false, {3, 0, 4, 1}, -100},
    {"negative labels stay", {-1, 0, -100, 2}, -100, true, {-1, 0, -100, 1}, -100},
    {"an ignored class moves", {2, 0, 0, 2}, 2, true, {1, 0, 0, 1}, 1},
    {"an ignored value beyond the head moves with C",
     {255, 0, 3, 2},
     255,
     true,
     {254, 0, 2, 1},
     254},
};

static void test_take_classes(void) {
    for (size_t i = 0; i < sizeof class_rows / sizeof *class_rows; i++) {
        const class_row *row = &class_rows[i];
        lg_batch batch = spatial_batch(row->labels);
        batch.loss.ignore_index = row->ignored;
        lg_batch part;
        bool ok = lg_shrink_take_classes(&batch, (int64_t[]){0, 2}, 2, row->shift, &part);
        LG_CHECK_ROW(row->name, ok);
        if (ok) {
            LG_CHECK_ROW(row->name, is_i64(&part.target, 4, row->want));
            LG_CHECK_ROW(row->name, part.loss.ignore_index == row->want_ignored);
            LG_CHECK_ROW(row->name, is_f64(&part.input, 8, (double[]){0, 1, 4, 5, 6, 7, 10, 11}));
            LG_CHECK_ROW(row->name, is_f64(&part.weight, 2, (double[]){10, 30}));
            LG_CHECK_ROW(row->name, part.classes == 2);
            lg_batch_free(&part);
        }
        lg_batch_free(&batch);
    }
}

// A weight vector that is one too long stays one too long.
static void test_wrong_weight_length(void) {
    lg_batch batch = spatial_batch((int64_t[]){0, 2, 2, 0});
    lg_tensor_free(&batch.weight);
    CU_ASSERT_TRUE_FATAL(lg_tensor_init(&batch.weight, LG_FLOAT32, 1, (int64_t[]){4}));
    fill_f64(&batch.weight, (double[]){1, 2, 3, 4});
    lg_batch part;
    CU_ASSERT_TRUE_FATAL(lg_shrink_take_classes(&batch, (int64_t[]){0, 2}, 2, true, &part));
    CU_ASSERT_TRUE(is_f64(&part.weight, 3, (double[]){1, 2, 3}));
    lg_batch_free(&part);
    lg_batch_free(&batch);
}

// A strided view is cut to a strided view.
static void test_strided(void) {
    lg_batch batch = {.loss = {.kind = LG_CROSS_ENTROPY, .ignore_index = -100}, .classes = 2};
    CU_ASSERT_TRUE_FATAL(
        lg_tensor_init_strided(&batch.input, LG_FLOAT32, 2, (int64_t[]){3, 2}, (int64_t[]){1, 3}));
    memset(batch.input.data, 0, lg_tensor_bytes(&batch.input));
    fill_f64(&batch.input, (double[]){1, 2, 3, 4, 5, 6});
    CU_ASSERT_TRUE_FATAL(lg_tensor_init(&batch.target, LG_INT64, 1, (int64_t[]){3}));
    for (int64_t i = 0; i < 3; i++) {
        lg_tensor_set_i64(&batch.target, i, i);
    }
    lg_batch part;
    CU_ASSERT_TRUE_FATAL(lg_shrink_take(&batch, 0, (int64_t[]){0, 2}, 2, &part));
    CU_ASSERT_TRUE(is_f64(&part.input, 4, (double[]){1, 2, 5, 6}));
    CU_ASSERT_FALSE(lg_tensor_is_contiguous(&part.input));
    lg_batch_free(&part);
    lg_batch_free(&batch);
}

// A target of another length than the input's is left alone by rows, and cut by itself.
static void test_unmatched_target(void) {
    lg_batch batch = {.loss = {.kind = LG_NLL_LOSS, .ignore_index = -100}, .classes = 2};
    CU_ASSERT_TRUE_FATAL(lg_tensor_init(&batch.input, LG_FLOAT32, 2, (int64_t[]){2, 2}));
    CU_ASSERT_TRUE_FATAL(lg_tensor_init(&batch.target, LG_INT64, 1, (int64_t[]){5}));
    fill_f64(&batch.input, (double[]){1, 2, 3, 4});
    for (int64_t i = 0; i < 5; i++) {
        lg_tensor_set_i64(&batch.target, i, i % 2);
    }
    lg_batch part;
    CU_ASSERT_TRUE_FATAL(lg_shrink_take(&batch, 0, (int64_t[]){1}, 1, &part));
    CU_ASSERT_TRUE(is_f64(&part.input, 2, (double[]){3, 4}) && part.target.shape[0] == 5);
    lg_batch_free(&part);
    CU_ASSERT_TRUE_FATAL(lg_shrink_cut_target(&batch, 3, &part));
    CU_ASSERT_TRUE(is_i64(&part.target, 3, (int64_t[]){0, 1, 0}) && part.input.shape[0] == 2);
    lg_batch_free(&part);
    CU_ASSERT_FALSE(lg_shrink_cut_target(&batch, 6, &part));
    lg_batch_free(&batch);
}

// --- a batch as text and back

static const char *const round_trips[] = {
    "title: t\nloss: {kind: nll_loss}\nbatch: {seed: 3, samples: 5, classes: 4}\n",
    "title: t\nloss: {kind: cross_entropy, weight: {uniform: [0.5, 2]}, label_smoothing: 0.1}\n"
    "batch: {seed: 3, samples: 3, extent: [2, 2], classes: 4, ignored_fraction: 0.3,\n"
    "        logits: {dtype: bfloat16}, targets: {dtype: uint8}}\n"
    "matrix: {loss.ignore_index: [2, 255]}\n",
    "title: t\nloss: {kind: cross_entropy, reduction: none, grad_output: {uniform: [0.5, 2]}}\n"
    "batch: {samples: 3, classes: 4, logits: {dtype: float64}, targets: {distribution: simplex}}\n",
    "title: t\nloss: {kind: binary_cross_entropy_with_logits, pos_weight: {uniform: [1, 3]}}\n"
    "batch: {samples: 3, classes: 4, extent: [2], logits: {dtype: float16}}\n",
    "title: t\nloss: {kind: binary_cross_entropy, weight: {uniform: [1, 3]}}\nbatch: {samples: "
    "7}\n",
    "title: t\nloss: {kind: nll_loss}\nbatch: {samples: 6, classes: 3, logits: {stride: [1, 6]}}\n"
    "faults: [{kind: wrong_head_width}, {kind: nonfinite_logits}]\n",
    "title: t\nloss: {kind: nll_loss}\nbatch: {samples: 6, classes: 3}\n"
    "faults: [{kind: corrupt_labels, count: 3}]\n",
};

static void check_same_tensor(const char *name, const lg_tensor *a, const lg_tensor *b) {
    bool same = a->dtype == b->dtype && a->rank == b->rank &&
                memcmp(a->shape, b->shape, (size_t)a->rank * sizeof *a->shape) == 0 &&
                memcmp(a->stride, b->stride, (size_t)a->rank * sizeof *a->stride) == 0;
    LG_CHECK_ROW(name, same);
    for (int64_t i = 0; same && lg_tensor_exists(a) && i < lg_tensor_numel(a); i++) {
        double x = lg_tensor_get_f64(a, i);
        double y = lg_tensor_get_f64(b, i);
        same = (x != x && y != y) || (x == y && lg_tensor_get_i64(a, i) == lg_tensor_get_i64(b, i));
    }
    LG_CHECK_ROW(name, same);
}

// Written as values, read and generated, the batch is the same bit for bit.
static void check_round_trip(const lg_scenario *point) {
    lg_diags diags = {0};
    lg_batch batch;
    lg_batch again;
    CU_ASSERT_TRUE_FATAL(lg_generate(point, true, &batch, &diags));
    lg_arena arena = {0};
    lg_scenario literal;
    lg_shrink_literal(&batch, point, &arena, &literal);
    lg_shrink_short_decimals(&literal);
    lg_str text = {0};
    lg_scenario_write(&literal, &text);
    lg_scenario_set set = {0};
    lg_read_options options = {0};
    bool ok =
        lg_scenario_read_text("again.yaml", lg_str_text(&text), text.n, &options, &set, &diags);
    ok = ok && lg_generate(&set.items[0], true, &again, &diags);
    lg_diags_print(&diags, stderr);
    CU_ASSERT_TRUE_FATAL(ok);
    check_same_tensor(lg_str_text(&text), &batch.input, &again.input);
    check_same_tensor(lg_str_text(&text), lg_batch_device_target(&batch), &again.target);
    check_same_tensor(lg_str_text(&text), &batch.weight, &again.weight);
    check_same_tensor(lg_str_text(&text), &batch.pos_weight, &again.pos_weight);
    check_same_tensor(lg_str_text(&text), &batch.grad_output, &again.grad_output);
    CU_ASSERT_TRUE(batch.target_is_probability == again.target_is_probability);
    const lg_loss_options *a = &batch.loss, *b = &again.loss;
    CU_ASSERT_TRUE(a->kind == b->kind && a->reduction == b->reduction &&
                   a->direction == b->direction && a->zero_log_zero == b->zero_log_zero);
    CU_ASSERT_EQUAL(a->ignore_index, b->ignore_index);
    CU_ASSERT_TRUE(lg_same_bits(a->label_smoothing, b->label_smoothing));
    lg_batch_free(&batch);
    lg_batch_free(&again);
    lg_scenario_set_free(&set);
    lg_str_free(&text);
    lg_arena_free(&arena);
    lg_diags_free(&diags);
}

static void test_round_trips(void) {
    for (size_t i = 0; i < sizeof round_trips / sizeof *round_trips; i++) {
        lg_diags diags = {0};
        lg_scenario_set set = {0};
        lg_read_options options = {0};
        bool ok = lg_scenario_read_text("first.yaml", round_trips[i], strlen(round_trips[i]),
                                        &options, &set, &diags);
        lg_diags_print(&diags, stderr);
        CU_ASSERT_TRUE_FATAL(ok);
        for (int64_t p = 0; p < set.n; p++) {
            check_round_trip(&set.items[p]);
        }
        lg_scenario_set_free(&set);
        lg_diags_free(&diags);
    }
}

static void test_short_decimals(void) {
    static const struct {
        const char *name;
        lg_dtype dtype;
        double value, want;
    } rows[] = {
        {"float32", LG_FLOAT32, 0.1f, 0.1},
        {"float32 of seven digits", LG_FLOAT32, 1.2345678f, 1.2345678},
        {"float64", LG_FLOAT64, 0.1, 0.1},
        {"float16", LG_FLOAT16, 0.0999755859375, 0.1},
        {"bfloat16", LG_BFLOAT16, 3.140625, 3.14},
        {"negative zero", LG_FLOAT32, -0.0, -0.0},
        {"infinity", LG_FLOAT32, -INFINITY, -INFINITY},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        double value = rows[i].value;
        lg_scenario scenario = {.batch.logits = {.source = LG_ARRAY_VALUES,
                                                 .dtype = rows[i].dtype,
                                                 .values = {.n = 1, .items = &value}}};
        lg_shrink_short_decimals(&scenario);
        LG_CHECK_ROW(rows[i].name, lg_same_bits(value, rows[i].want));
    }
}

// --- on the device: bounds on runs, the same result twice, what cannot be values

typedef struct rig {
    lg_kernel_set kernels;
    lg_device_session *device;
    const lg_kernel *kernel;
    lg_scenario_set set;
    lg_diags diags;
} rig;

static void open_rig(rig *r, const char *kernel, const char *text) {
    *r = (rig){0};
    lg_read_options options = {0};
    char cache[4096];
    ssize_t n = readlink("/proc/self/exe", cache, sizeof cache - 20);
    CU_ASSERT_TRUE_FATAL(n > 0);
    memcpy(cache + n, ".cache", sizeof ".cache");
    CU_ASSERT_TRUE_FATAL(
        lg_kernels_read(LG_SOURCE_DIR "/kernels/nll_loss.yaml", &r->kernels, &r->diags));
    for (int64_t i = 0; i < r->kernels.n; i++) {
        r->kernel =
            strcmp(r->kernels.items[i].name, kernel) == 0 ? &r->kernels.items[i] : r->kernel;
    }
    CU_ASSERT_PTR_NOT_NULL_FATAL(r->kernel);
    r->device = lg_device_open(lg_driver_sim(), LG_DEFAULT_NVCC, cache, &r->diags);
    CU_ASSERT_PTR_NOT_NULL_FATAL(r->device);
    bool ok = lg_device_prepare(r->device, r->kernel, &r->diags) &&
              lg_scenario_read_text("s.yaml", text, strlen(text), &options, &r->set, &r->diags);
    lg_diags_print(&r->diags, stderr);
    CU_ASSERT_TRUE_FATAL(ok);
}

static void close_rig(rig *r) {
    lg_device_close(r->device);
    lg_kernel_set_free(&r->kernels);
    lg_scenario_set_free(&r->set);
    lg_diags_free(&r->diags);
}

static bool shrink(rig *r, int64_t max_runs, lg_shrink_result *out) {
    lg_shrink_options options = {.device = r->device,
                                 .kernel = r->kernel,
                                 .mode = LG_MODE_BLOCKING,
                                 .device_name = "sim",
                                 .max_runs = max_runs};
    return lg_shrink(&r->set.items[0], &options, out, &r->diags);
}

static const char two_bad_rows[] =
    "title: t\nloss: {kind: nll_loss, reduction: mean, weight: {uniform: [0.5, 2]}}\n"
    "batch: {seed: 1, samples: 200, classes: 12}\n"
    "faults: [{kind: negative_labels, rows: [77, 130], values: [-9]}]\n";

static void test_same_twice(void) {
    rig r;
    open_rig(&r, "nll_loss/reduce/report", two_bad_rows);
    lg_shrink_result results[2];
    lg_str text[2] = {{0}, {0}};
    for (int i = 0; i < 2; i++) {
        CU_ASSERT_TRUE_FATAL(shrink(&r, 0, &results[i]));
        lg_scenario_write(&results[i].scenario, &text[i]);
    }
    CU_ASSERT_STRING_EQUAL(lg_str_text(&text[0]), lg_str_text(&text[1]));
    CU_ASSERT_EQUAL(results[0].n_runs, results[1].n_runs);
    const lg_shrink_result *result = &results[0];
    CU_ASSERT_TRUE(result->literal && !result->out_of_runs);
    CU_ASSERT_EQUAL(result->before.batch_rows, 200);
    // One row would leave other causes possible, and the first batch did not.
    CU_ASSERT_TRUE(result->after.batch_rows > 1 && result->after.batch_rows <= 32);
    CU_ASSERT_TRUE(result->before.n_named == 1 && result->after.n_named == 1);
    CU_ASSERT_EQUAL(result->after.n_rows, 1);
    CU_ASSERT_TRUE(result->scenario.expect.has_cause && result->scenario.expect.causes == 0);
    CU_ASSERT_EQUAL(result->after.cause, LG_CAUSE_NEGATIVE_LABELS);
    CU_ASSERT_EQUAL(result->after.judged.verdict, LG_DETECTED);
    // Nothing that is not needed is left.
    CU_ASSERT_EQUAL(result->scenario.weight.source, LG_ARRAY_ABSENT);
    CU_ASSERT_EQUAL(result->scenario.loss.direction, LG_FORWARD);
    int64_t bad = result->after.rows[0];
    // -1 would be shorter, and might be a sentinel.
    CU_ASSERT_EQUAL(result->scenario.batch.targets.int_values.items[bad], -9);
    for (int i = 0; i < 2; i++) {
        lg_shrink_free(&results[i]);
        lg_str_free(&text[i]);
    }
    close_rig(&r);
}

// However few runs are allowed, what is written shows the fault; the runs are kept to.
static void test_few_runs(void) {
    rig r;
    open_rig(&r, "nll_loss/reduce/report", two_bad_rows);
    for (int64_t max_runs = 1; max_runs <= 4; max_runs++) {
        lg_shrink_result result;
        CU_ASSERT_TRUE(shrink(&r, max_runs, &result));
        CU_ASSERT_TRUE(result.out_of_runs && result.n_runs <= max_runs + 1); // and the last check
        CU_ASSERT_EQUAL(result.after.cause, LG_CAUSE_NEGATIVE_LABELS);
        lg_shrink_free(&result);
    }
    close_rig(&r);
}

static void test_nothing(void) {
    rig r;
    open_rig(&r, "nll_loss/reduce/report",
             "title: t\nloss: {kind: nll_loss}\nbatch: {samples: 5, classes: 3}\n");
    lg_shrink_result result;
    CU_ASSERT_TRUE(shrink(&r, 0, &result));
    CU_ASSERT_TRUE(result.nothing && result.n_runs == 1);
    lg_shrink_free(&result);
    close_rig(&r);
}

// A kernel that cannot take the batch shows nothing that could be kept.
static void test_does_not_run(void) {
    rig r;
    open_rig(
        &r, "nll_loss/reduce/report",
        "title: t\nloss: {kind: nll_loss, reduction: none}\nbatch: {samples: 5, classes: 3}\n");
    lg_shrink_result result;
    CU_ASSERT_FALSE(shrink(&r, 0, &result));
    CU_ASSERT_EQUAL_FATAL(r.diags.n_errors, 1);
    CU_ASSERT_PTR_NOT_NULL(strstr(r.diags.items[0].message, "the case cannot be run"));
    lg_shrink_free(&result);
    close_rig(&r);
}

// Labels cut on their way to an unchecked kernel: no list of values says that, so the fault stays
// and the sizes shrink.
static void test_by_size(void) {
    rig r;
    open_rig(&r, "nll_loss/reduce/none",
             "title: t\nloss: {kind: nll_loss}\nbatch: {seed: 2, samples: 40, classes: 9}\n"
             "faults: [{kind: target_dtype, where: int32_wrap, rows: [30]}]\n");
    lg_shrink_result result;
    CU_ASSERT_TRUE_FATAL(shrink(&r, 0, &result));
    CU_ASSERT_EQUAL(result.before.judged.verdict, LG_SILENT_CORRUPTION);
    CU_ASSERT_EQUAL(result.after.judged.verdict, LG_SILENT_CORRUPTION);
    CU_ASSERT_FALSE(result.literal);
    CU_ASSERT_TRUE(result.after.batch_rows <= 2);
    CU_ASSERT_EQUAL(result.scenario.n_faults, 1);
    lg_shrink_free(&result);
    close_rig(&r);
}

// Too many elements to list: sizes first, then values.
static void test_large(void) {
    rig r;
    open_rig(&r, "nll_loss/reduce/report",
             "title: t\nloss: {kind: nll_loss}\nbatch: {seed: 2, samples: 300, classes: 500}\n"
             "faults: [{kind: label_equals_width, rows: [250, 299]}]\n");
    lg_shrink_result result;
    CU_ASSERT_TRUE_FATAL(shrink(&r, 0, &result));
    CU_ASSERT_EQUAL(result.before.batch_rows, 300);
    CU_ASSERT_TRUE(result.literal);
    CU_ASSERT_TRUE(result.after.batch_rows <= 32);
    CU_ASSERT_EQUAL(result.after.cause, LG_CAUSE_LABEL_EQUALS_WIDTH);
    CU_ASSERT_EQUAL(result.after.n_named, result.before.n_named);
    lg_shrink_free(&result);
    close_rig(&r);
}

int main(void) {
    static const lg_test tests[] = {
        {"take rows and columns", test_take},
        {"take classes", test_take_classes},
        {"a wrong weight length", test_wrong_weight_length},
        {"strided views", test_strided},
        {"a target that does not fit", test_unmatched_target},
        {"batches as text and back", test_round_trips},
        {"short decimals", test_short_decimals},
        {"the same twice", test_same_twice},
        {"few runs", test_few_runs},
        {"nothing to shrink", test_nothing},
        {"a case that does not run", test_does_not_run},
        {"by size", test_by_size},
        {"large batches", test_large},
    };
    return lg_run_tests("shrink", tests, sizeof tests / sizeof *tests);
}
