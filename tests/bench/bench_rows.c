// SPDX-License-Identifier: Apache-2.0
// What a row of a wide cross-entropy costs on the engine, one core, the checks of every access on:
// the block-per-row kernel of kernels/cross_entropy.cu, forward and backward apart, in nanoseconds
// an element of the logits, beside a copy of the same bytes in the same run. The launch alone is
// measured: neither what it takes to load nor to copy to the device.
//
//   bench_rows [rows [classes [code]]]   256 and 50257 by default, and each instruction set that
//   the
//                                        machine has; the best of several launches counts
#include "device/device.h"
#include "device/internal.h"
#include "engine/ptx/ptx.h"
#include "engine/sim/sim.h"
#include "support/alloc.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define FORWARD "cross_entropy_forward_block_nan_float32_int64"
#define BACKWARD "cross_entropy_backward_block_nan_float32_int64"

enum { LEAST_LAUNCHES = 3, LEAST_SECONDS = 1, BLOCK = 256 };

typedef struct rows_bench {
    int64_t rows, classes;
    size_t bytes; // of the logits
    lg_sim *sim;
    lg_ptx_module *ptx;
    float *x, *gradient;
    int64_t *labels;
    uint64_t device_x, device_gradient, device_labels, device_loss, device_weight, device_total,
        device_one;
} rows_bench;

// The parameters of the two entries, in the order of CE_NC_PARAMS.
typedef struct common_params {
    int64_t samples, n_classes, ignore_index;
    double smoothing;
    int32_t reduction;
    uint64_t ring;
    uint32_t launch;
} common_params;

typedef struct params {
    uint64_t buffers[6];
    common_params common;
} params;

// Of this thread's processor time: other programs on the machine do not count.
static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static lg_ptx_module *load_kernels(lg_diags *diags) {
    const char *names[] = {FORWARD, BACKWARD};
    lg_compiled compiled = {0};
    lg_compiler *compiler = lg_compiler_open(LG_DEFAULT_NVCC, LG_BENCH_CACHE, diags);
    lg_ptx_module *ptx = NULL;
    if (compiler && lg_compile(compiler, LG_SOURCE_DIR "/kernels/cross_entropy.cu", NULL, 0,
                               &compiled, diags)) {
        lg_ptx_index index = lg_ptx_index_make(compiled.ptx, compiled.n_bytes);
        lg_str text = {0};
        lg_ptx_slice(compiled.ptx, compiled.n_bytes, &index, names, 2, false, &text);
        ptx = lg_ptx_load("cross_entropy.ptx", text.text, text.n, diags);
        lg_str_free(&text);
        lg_ptx_index_free(&index);
    }
    lg_compiled_free(&compiled);
    lg_compiler_close(compiler);
    return ptx;
}

static bool fill(rows_bench *b) {
    uint64_t state = 1;
    int64_t n = b->rows * b->classes;
    for (int64_t i = 0; i < n; i++) {
        state = state * UINT64_C(6364136223846793005) + 1;
        b->x[i] = (float)(int32_t)(state >> 32) * 0x1p-29f; // within ±4
    }
    for (int64_t i = 0; i < b->rows; i++) {
        b->labels[i] = i * 7919 % b->classes;
    }
    const float one = 1, total = (float)b->rows;
    size_t per_row = (size_t)b->rows * sizeof(float);
    b->device_x = lg_sim_alloc(b->sim, b->bytes);
    b->device_gradient = lg_sim_alloc(b->sim, b->bytes);
    b->device_labels = lg_sim_alloc(b->sim, (size_t)b->rows * sizeof(int64_t));
    b->device_loss = lg_sim_alloc(b->sim, per_row);
    b->device_weight = lg_sim_alloc(b->sim, per_row);
    b->device_total = lg_sim_alloc(b->sim, sizeof total);
    b->device_one = lg_sim_alloc(b->sim, sizeof one);
    return lg_sim_write(b->sim, b->device_x, b->x, b->bytes) &&
           lg_sim_write(b->sim, b->device_labels, b->labels, (size_t)b->rows * sizeof(int64_t)) &&
           lg_sim_write(b->sim, b->device_total, &total, sizeof total) &&
           lg_sim_write(b->sim, b->device_one, &one, sizeof one);
}

// The first row's loss or gradient in double precision: is what was timed the right computation?
static double error_of(const rows_bench *b, bool backward) {
    double largest = -INFINITY, sum = 0, worst = 0;
    for (int64_t c = 0; c < b->classes; c++) {
        largest = b->x[c] > largest ? b->x[c] : largest;
    }
    for (int64_t c = 0; c < b->classes; c++) {
        sum += exp((double)b->x[c] - largest);
    }
    int64_t label = b->labels[0];
    float loss = 0;
    if (!backward) {
        lg_sim_read(b->sim, b->device_loss, &loss, sizeof loss);
        double want = largest + log(sum) - b->x[label];
        return fabs(loss - want) / want;
    }
    lg_sim_read(b->sim, b->device_gradient, b->gradient, (size_t)b->classes * sizeof(float));
    for (int64_t c = 0; c < b->classes; c++) {
        double p = exp((double)b->x[c] - largest) / sum;
        double want = (p - (c == label ? 1 : 0)) / (double)b->rows;
        double error = fabs(b->gradient[c] - want) / fabs(want);
        worst = error <= worst ? worst : error; // NaN counts as worst
    }
    return worst;
}

static bool time_launch(rows_bench *b, bool backward) {
    const char *name = backward ? BACKWARD : FORWARD;
    params values = {.buffers = {b->device_loss, b->device_loss, b->device_weight, b->device_x,
                                 b->device_labels, 0},
                     .common = {b->rows, b->classes, -100, 0, 1, 0, 0}};
    if (backward) {
        const uint64_t buffers[6] = {b->device_gradient, b->device_one,    b->device_total,
                                     b->device_x,        b->device_labels, 0};
        memcpy(values.buffers, buffers, sizeof buffers);
    }
    lg_sim_launch launch = {.grid = {(uint32_t)b->rows, 1, 1},
                            .block = {BLOCK, 1, 1},
                            .params = &values,
                            .param_bytes = offsetof(params, common.launch) + sizeof(uint32_t)};
    lg_diags diags = {0};
    lg_sim_module *module = lg_sim_load(b->sim, b->ptx, &diags);
    if (!module) {
        lg_diags_print(&diags, stderr);
        return false;
    }
    double best = INFINITY, copy = INFINITY, end = now() + LEAST_SECONDS;
    lg_sim_result result;
    bool ok = true;
    for (int i = 0; ok && (i < LEAST_LAUNCHES || now() < end); i++) {
        double start = now();
        lg_sim_launch_kernel(b->sim, module, lg_ptx_find_function(b->ptx, name), &launch, &result);
        double taken = now() - start;
        best = taken < best ? taken : best;
        ok = result.status == LG_SIM_OK;
        if (!ok) {
            fprintf(stderr, "%s: %s\n", name, result.fault.text);
        }
        lg_sim_result_free(&result);
        start = now();
        memcpy(b->gradient, b->x, b->bytes);
        __asm__ volatile("" : : "r"(b->gradient) : "memory");
        taken = now() - start;
        copy = taken < copy ? taken : copy;
    }
    double n = (double)b->rows * (double)b->classes, error = ok ? error_of(b, backward) : INFINITY;
    printf("%-9s %-9s %12.2f %12.2f %12.2f %10.1e\n", backward ? "backward" : "forward",
           lg_sim_isa(), best * 1e9 / n, copy * 1e9 / n, best * 1e3, error);
    lg_sim_unload(b->sim, module);
    return error <= 1e-3;
}

static bool run_all(rows_bench *b, const char *only) {
    static const char *const isas[] = {"avx512", "avx2", "baseline"};
    bool ok = fill(b);
    printf("cross_entropy/block, %lld x %lld float32, blocks of %d, one core\n"
           "%-9s %-9s %12s %12s %12s %10s\n",
           (long long)b->rows, (long long)b->classes, BLOCK, "direction", "code", "ns/element",
           "memcpy ns/el", "launch ms", "error");
    for (size_t i = 0; i < sizeof isas / sizeof *isas && ok; i++) {
        setenv("LOSSGATE_ISA", isas[i], 1);
        if (strcmp(lg_sim_isa(), isas[i]) == 0 && (!only || strcmp(only, isas[i]) == 0)) {
            ok = time_launch(b, false);
            ok &= time_launch(b, true);
        }
    }
    return ok;
}

int main(int argc, char **argv) {
    rows_bench b = {.rows = argc > 1 ? strtoll(argv[1], NULL, 10) : 256,
                    .classes = argc > 2 ? strtoll(argv[2], NULL, 10) : 50257};
    if (b.rows < 1 || b.classes < 1 || b.rows > INT32_MAX || b.classes > INT32_MAX) {
        fprintf(stderr, "usage: bench_rows [rows [classes [code]]]\n");
        return 2;
    }
    lg_diags diags = {0};
    b.bytes = (size_t)(b.rows * b.classes) * sizeof(float);
    b.ptx = load_kernels(&diags);
    if (!b.ptx) {
        lg_diags_print(&diags, stderr);
        return 1;
    }
    b.sim = lg_sim_create();
    b.x = lg_xmalloc(b.bytes);
    b.gradient = lg_xmalloc(b.bytes);
    b.labels = lg_xcalloc((size_t)b.rows, sizeof *b.labels);
    bool ok = run_all(&b, argc > 3 ? argv[3] : NULL);
    lg_sim_destroy(b.sim);
    lg_ptx_free(b.ptx);
    lg_diags_free(&diags);
    free(b.x);
    free(b.gradient);
    free(b.labels);
    return ok ? 0 : 1;
}
