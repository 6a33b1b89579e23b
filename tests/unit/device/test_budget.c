// SPDX-License-Identifier: Apache-2.0
// What a launch may take: enough for every kernel of ours on batches of every shape, with room to
// spare, and little enough that a hang is soon one.
#include "unit/device/fixture.h"

#include "scenario/scenario.h"
#include "session/session.h"

static const char *const manifests[] = {
    LG_SOURCE_DIR "/kernels/nll_loss.yaml", LG_SOURCE_DIR "/kernels/cross_entropy.yaml",
    LG_SOURCE_DIR "/kernels/bce.yaml", LG_SOURCE_DIR "/kernels/bce_with_logits.yaml"};

// The most work an element: double precision, every option, and few rows, so that kernels with a
// thread a row run in a few lanes, or so many that what a row costs counts most.
static const struct row {
    const char *name;
    const char *loss;
    const char *batch;
} rows[] = {
    {"one wide row", "{kind: cross_entropy, label_smoothing: 0.1, weight: {uniform: [0.5, 2]}}",
     "{seed: 1, samples: 1, classes: 8000, logits: {dtype: float64}}"},
    {"a few wide rows", "{kind: cross_entropy, label_smoothing: 0.1, weight: {uniform: [0.5, 2]}}",
     "{seed: 1, samples: 3, classes: 3000, logits: {dtype: bfloat16}}"},
    {"many narrow rows", "{kind: cross_entropy, label_smoothing: 0.1}",
     "{seed: 1, samples: 300, classes: 2, logits: {dtype: float64}}"},
    {"probabilities", "{kind: cross_entropy, label_smoothing: 0.1}",
     "{seed: 1, samples: 2, classes: 5000, logits: {dtype: float64}, "
     "targets: {dtype: float64, distribution: simplex}}"},
    {"an image", "{kind: nll_loss, weight: {uniform: [0.5, 2]}}",
     "{seed: 1, samples: 2, extent: [40, 40], classes: 3, logits: {dtype: float64}}"},
    {"many labels", "{kind: nll_loss}",
     "{seed: 1, samples: 5000, classes: 1, logits: {dtype: float16}}"},
    {"binary", "{kind: binary_cross_entropy}",
     "{seed: 1, samples: 50, classes: 100, logits: {dtype: float64}}"},
    {"binary with logits", "{kind: binary_cross_entropy_with_logits}",
     "{seed: 1, samples: 50, classes: 100, logits: {dtype: float64}}"},
};

static void read_row(const struct row *row, lg_scenario_set *set, lg_diags *diags) {
    char *path = lg_xasprintf("%s/row.yaml", tree_dir);
    char *text = lg_xasprintf("title: %s\nloss: %s\nbatch: %s\n", row->name, row->loss, row->batch);
    write_text(tree_dir, "row.yaml", text);
    bool ok = lg_scenario_read(path, &(lg_read_options){.root = tree_dir}, set, diags);
    lg_diags_print(diags, stderr);
    CU_ASSERT_TRUE_FATAL(ok);
    free(path);
    free(text);
}

// A driver that gives each launch a quarter of its budget, and nothing of what every launch gets.
static void give_quarter(uint64_t budget) {
    lg_driver_sim()->set_budget((budget - LG_BUDGET_LEAST) / 4);
}

// Runs each kernel that takes the batch with each of its block sizes; returns how many there are.
static int run_row(const struct row *row, fixture *f, const lg_point_data *point) {
    int n = 0;
    for (int64_t k = 0; k < f->kernels.n; k++) {
        lg_arena arena = {0};
        const lg_kernel *kernel = &f->kernels.items[k];
        lg_run_request request = {
            .kernel = kernel, .batch = &point->batch, .mode = LG_MODE_BLOCK_SIZES};
        if (lg_device_unsuitable(kernel, &point->batch, request.mode, &arena)) {
            request.mode = LG_MODE_ASYNC; // it may have one block size alone
        }
        if (kernel->policy == LG_POLICY_NAN &&
            !lg_device_unsuitable(kernel, &point->batch, request.mode, &arena)) {
            lg_observation seen;
            LG_CHECK_ROW(row->name, lg_device_run(f->session, &request, &seen, &f->diags));
            LG_CHECK_ROW(kernel->name, seen.status == LG_STATUS_OK && !seen.mode_failure);
            lg_observation_free(&seen);
            n++;
        }
        lg_arena_free(&arena);
    }
    return n;
}

static void test_right_kernels(void) {
    fixture f = {0};
    for (size_t i = 0; i < sizeof manifests / sizeof *manifests; i++) {
        CU_ASSERT_TRUE_FATAL(lg_kernels_read(manifests[i], &f.kernels, &f.diags));
    }
    lg_driver driver = *lg_driver_sim();
    driver.set_budget = give_quarter;
    f.session = lg_device_open(&driver, LG_DEFAULT_NVCC, cache_dir, &f.diags);
    CU_ASSERT_PTR_NOT_NULL_FATAL(f.session);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        lg_scenario_set set = {0};
        lg_point_data point;
        read_row(&rows[i], &set, &f.diags);
        lg_point_prepare(&set.items[0], &point, &f.diags);
        LG_CHECK_ROW(rows[i].name, !point.failure && point.has_reference);
        LG_CHECK_ROW(rows[i].name, run_row(&rows[i], &f, &point) > 0);
        lg_point_free(&point);
        lg_scenario_set_free(&set);
    }
    lg_diags_print(&f.diags, stderr);
    lg_device_close(f.session);
    lg_kernel_set_free(&f.kernels);
    lg_diags_free(&f.diags);
}

static void test_size(void) {
    lg_batch small = make_batch(37, 5, LG_FLOAT32, LG_REDUCTION_NONE, LG_FORWARD);
    CU_ASSERT_EQUAL(lg_device_budget(&small, 2), LG_BUDGET_LEAST + 2 * LG_BUDGET_PER_WARP +
                                                     (37 * 5 + 37) * LG_BUDGET_PER_ELEMENT);
    lg_batch_free(&small);
    // Beyond the engine's own limit there is nothing to give.
    lg_batch huge = {.input = {.dtype = LG_FLOAT32, .rank = 2, .shape = {INT32_MAX, INT32_MAX}},
                     .target = {.dtype = LG_INT64, .rank = 1, .shape = {INT32_MAX}}};
    CU_ASSERT_EQUAL(lg_device_budget(&huge, 1), UINT64_C(10000000000));
}

// Without a budget of the caller's, a kernel that never ends does.
static void test_hang(void) {
    fixture f;
    set_up(&f);
    lg_batch batch = rows_batch();
    lg_observation seen;
    lg_run_request request = {
        .kernel = find(&f, "test/endless"), .batch = &batch, .mode = LG_MODE_BLOCKING};
    CU_ASSERT_TRUE_FATAL(lg_device_run(f.session, &request, &seen, &f.diags));
    CU_ASSERT_EQUAL(seen.status, LG_STATUS_TIMEOUT);
    lg_observation_free(&seen);
    lg_batch_free(&batch);
    tear_down(&f);
}

int main(void) {
    const lg_test tests[] = {
        {"right kernels", test_right_kernels}, {"size", test_size}, {"hang", test_hang}};
    return run_devrun_tests("pipeline.devrun_budget", tests, sizeof tests / sizeof tests[0]);
}
