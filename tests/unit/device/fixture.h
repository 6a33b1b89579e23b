// SPDX-License-Identifier: Apache-2.0
// A session with the test kernels and lossgate's own, and batches with exact losses.
#ifndef LG_TESTS_PIPELINE_DEVRUN_FIXTURE_H
#define LG_TESTS_PIPELINE_DEVRUN_FIXTURE_H

#include "device/device.h"

#include "device/internal.h"
#include "support/alloc.h"
#include "unit/device/kernels.h"
#include "unit/tree.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// --- the fixture: test kernels in a folder of their own, lossgate's own kernels, a session

typedef struct fixture {
    char *tree;
    lg_kernel_set kernels;
    lg_device_session *session;
    lg_diags diags;
} fixture;

static char *tree_dir;
// Beside this program, and kept: a source is compiled when it has changed.
static char *cache_dir;

static char *beside_program(const char *name) {
    char path[4096];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    path[n > 0 ? n : 0] = '\0';
    char *slash = strrchr(path, '/');
    return lg_xasprintf("%.*s/%s", slash ? (int)(slash - path) : 0, path, name);
}

static inline void read_manifest(fixture *f, const char *name, const char *text) {
    char *path = lg_xasprintf("%s/%s", f->tree, name);
    bool ok = lg_kernels_read_text(path, text, strlen(text), &f->kernels, &f->diags);
    lg_diags_print(&f->diags, stderr);
    CU_ASSERT_TRUE_FATAL(ok);
    free(path);
}

static inline void set_up_with(fixture *f, const lg_driver *driver) {
    *f = (fixture){.tree = lg_xasprintf("%s/tree", tree_dir)};
    write_text(tree_dir, "tree/test.cu", devrun_source);
    read_manifest(f, "test.yaml", devrun_manifest);
    read_manifest(f, "bce.yaml", devrun_bce_manifest);
    CU_ASSERT_TRUE_FATAL(
        lg_kernels_read(LG_SOURCE_DIR "/kernels/nll_loss.yaml", &f->kernels, &f->diags));
    f->session = lg_device_open(driver, LG_DEFAULT_NVCC, cache_dir, &f->diags);
    lg_diags_print(&f->diags, stderr);
    CU_ASSERT_PTR_NOT_NULL_FATAL(f->session);
}

static inline void set_up(fixture *f) {
    set_up_with(f, lg_driver_sim());
}

static inline void tear_down(fixture *f) {
    lg_device_close(f->session);
    lg_kernel_set_free(&f->kernels);
    lg_diags_free(&f->diags);
    free(f->tree);
}

static inline const lg_kernel *find(const fixture *f, const char *name) {
    for (int64_t i = 0; i < f->kernels.n; i++) {
        if (strcmp(f->kernels.items[i].name, name) == 0) {
            return &f->kernels.items[i];
        }
    }
    CU_FAIL_FATAL("no such kernel");
    return NULL;
}

// N rows of C log-probabilities -(row + class / 8), labels row % C: the loss of a row is exact in
// every float type.
static inline lg_batch make_batch(int64_t samples, int64_t width, lg_dtype dtype,
                                  lg_reduction reduction, lg_direction direction) {
    lg_batch batch = {.loss = {.kind = LG_NLL_LOSS,
                               .reduction = reduction,
                               .ignore_index = -100,
                               .direction = direction},
                      .classes = width};
    CU_ASSERT_TRUE_FATAL(lg_tensor_init(&batch.input, dtype, 2, (int64_t[]){samples, width}));
    CU_ASSERT_TRUE_FATAL(lg_tensor_init(&batch.target, LG_INT64, 1, &samples));
    for (int64_t i = 0; i < samples; i++) {
        lg_tensor_set_i64(&batch.target, i, i % width);
        for (int64_t k = 0; k < width; k++) {
            lg_tensor_set_f64(&batch.input, i * width + k, -(double)(i % 8) - (double)k / 8);
        }
    }
    return batch;
}

static inline double expected_loss(int64_t row, int64_t width) {
    return (double)(row % 8) + (double)(row % width) / 8;
}

static inline lg_batch rows_batch(void) { // 37 rows: a full warp and a part of one
    return make_batch(37, 5, LG_FLOAT32, LG_REDUCTION_NONE, LG_FORWARD);
}

static inline bool run(fixture *f, const char *kernel, const lg_batch *batch, lg_mode mode,
                       lg_observation *out) {
    lg_run_request request = {
        .kernel = find(f, kernel), .batch = batch, .mode = mode, .budget = 2000000};
    bool ok = lg_device_run(f->session, &request, out, &f->diags);
    lg_diags_print(&f->diags, stderr);
    lg_diags_free(&f->diags);
    f->diags = (lg_diags){0};
    return ok;
}

// The main of a test program on it.
static inline int run_devrun_tests(const char *suite, const lg_test *tests, size_t n) {
    tree_dir = try_tree();
    if (!tree_dir) {
        return 2;
    }
    cache_dir = beside_program("ptx-cache");
    int result = lg_run_tests(suite, tests, n);
    remove_tree(tree_dir);
    free(cache_dir);
    return result;
}

#endif
