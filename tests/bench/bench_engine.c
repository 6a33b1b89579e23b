// SPDX-License-Identifier: Apache-2.0
// What a warp instruction costs on one core, all access checks on: nanoseconds, lane instructions a
// second, and the same arithmetic as a plain C loop compiled as this program is, in the same run.
//
//   bench_engine [seconds]     how long each row is measured (0.5 by default; the best of its runs
//   counts)
#include "engine/ptx/ptx.h"
#include "engine/sim/lane/lane.h"
#include "engine/sim/sim.h"
#include "support/alloc.h"
#include "support/str.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { SOFTMAX_ROWS = 64, SOFTMAX_CLASSES = 4096, NLL_ROWS = 1 << 16, NLL_CLASSES = 64 };

// Of this thread's processor time: other programs on the machine do not count.
static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static char *compile_kernels(void) {
    char path[] = "/tmp/lossgate-bench-XXXXXX", command[1024];
    int file = mkstemp(path);
    if (file < 0) {
        return NULL;
    }
    close(file);
    snprintf(command, sizeof command,
             "%s -ptx -arch=compute_75 -lineinfo -std=c++17 -o %s %s/tests/bench/engine_kernels.cu",
             LG_DEFAULT_NVCC, path, LG_SOURCE_DIR);
    size_t n;
    char *text = system(command) == 0 ? lg_read_file(path, &n) : NULL;
    unlink(path);
    return text;
}

// --- the same arithmetic in C, scalar as written

static void host_softmax(const float *in, float *out, int n_classes) {
    float largest = -3.4e38f, sum = 0;
    for (int c = 0; c < n_classes; c++) {
        largest = fmaxf(largest, in[c]);
    }
    for (int c = 0; c < n_classes; c++) {
        sum += expf(in[c] - largest);
    }
    float scale = 1.0f / sum;
    for (int c = 0; c < n_classes; c++) {
        out[c] = expf(in[c] - largest) * scale;
    }
}

static void host_nll(const float *x, const int64_t *labels, const float *weight, float *out) {
    float loss = 0, total = 0;
    for (int64_t row = 0; row < NLL_ROWS; row++) {
        int64_t t = labels[row];
        if (t == -100) {
            continue;
        }
        if (t < 0 || t >= NLL_CLASSES) {
            abort();
        }
        loss -= weight[t] * x[row * NLL_CLASSES + t];
        total += weight[t];
    }
    out[0] = loss;
    out[1] = total;
}

typedef struct bench {
    lg_sim *sim;
    const lg_ptx_module *ptx;
    double seconds;
    float *x, *out;
    int64_t *labels;
    float *weight;
    uint64_t device_x, device_out, device_labels, device_weight;
} bench;

static double time_host(const bench *b, bool softmax) {
    double best = INFINITY, end = now() + b->seconds;
    do {
        double start = now();
        for (int row = 0; softmax && row < SOFTMAX_ROWS; row++) {
            host_softmax(b->x + row * SOFTMAX_CLASSES, b->out + row * SOFTMAX_CLASSES,
                         SOFTMAX_CLASSES);
        }
        if (!softmax) {
            host_nll(b->x, b->labels, b->weight, b->out);
        }
        double taken = now() - start;
        best = taken < best ? taken : best;
    } while (now() < end);
    return best;
}

// The largest difference between what the engine computed and the C loop, relative.
static double compare(const bench *b, size_t n) {
    float *got = lg_xcalloc(n, sizeof *got);
    double worst = 0;
    if (!lg_sim_read(b->sim, b->device_out, got, n * sizeof *got)) {
        worst = INFINITY;
    }
    for (size_t i = 0; i < n; i++) {
        double difference = fabs((double)got[i] - (double)b->out[i]) / fabs((double)b->out[i]);
        if (!(difference <= worst)) { // NaN counts as worst
            worst = difference;
        }
    }
    free(got);
    return worst;
}

static bool time_engine(const bench *b, const char *name, const lg_sim_launch *launch,
                        double host_seconds, size_t n_out) {
    lg_diags diags = {0};
    lg_sim_module *module = lg_sim_load(b->sim, b->ptx, &diags);
    if (!module) {
        lg_diags_print(&diags, stderr);
        return false;
    }
    int function = lg_ptx_find_function(b->ptx, name);
    double best = INFINITY, end = now() + b->seconds;
    uint64_t warp = 0, lane = 0;
    bool ok = true;
    do {
        lg_sim_result result;
        double start = now();
        lg_sim_launch_kernel(b->sim, module, function, launch, &result);
        double taken = now() - start;
        best = taken < best ? taken : best;
        ok = result.status == LG_SIM_OK;
        if (!ok) {
            fprintf(stderr, "%s: %s\n", name, result.fault.text);
        }
        warp = result.warp_instructions;
        lane = result.lane_instructions;
        lg_sim_result_free(&result);
    } while (ok && now() < end);
    double difference = compare(b, n_out);
    printf("%-12s %-9s %12llu %8.2f ns %10.2e /s %8.2f ms %8.2f ms %6.2f %9.1e\n", name,
           lg_sim_isa(), (unsigned long long)warp, best * 1e9 / (double)warp, (double)lane / best,
           best * 1e3, host_seconds * 1e3, best / host_seconds, difference);
    lg_sim_unload(b->sim, module);
    return ok && difference <= 1e-3;
}

static bool run_all(bench *b, const char *only) {
    static const char *const isas[] = {"avx512", "avx2", "baseline"};
    struct {
        uint64_t in, out;
        int n_classes;
    } softmax = {b->device_x, b->device_out, SOFTMAX_CLASSES};
    struct {
        uint64_t x, labels, weight, out;
        int64_t n_rows, n_classes, ignore_index;
    } nll = {b->device_x, b->device_labels, b->device_weight, b->device_out, NLL_ROWS, NLL_CLASSES,
             -100};
    lg_sim_launch softmax_launch = {
        .grid = {SOFTMAX_ROWS, 1, 1}, .block = {256, 1, 1}, .params = &softmax, .param_bytes = 20};
    lg_sim_launch nll_launch = {
        .grid = {1, 1, 1}, .block = {256, 1, 1}, .params = &nll, .param_bytes = sizeof nll};
    bool ok = true;
    printf("%-12s %-9s %12s %11s %13s %11s %11s %6s %9s\n", "kernel", "code", "warp insns",
           "a warp insn", "lane insns", "engine", "C loop", "ratio", "differ");
    for (size_t i = 0; i < sizeof isas / sizeof *isas; i++) {
        setenv("LOSSGATE_ISA", isas[i], 1);
        if (strcmp(lg_sim_isa(), isas[i]) != 0 || (only && strcmp(only, isas[i]) != 0)) {
            continue; // the machine cannot, or the user does not want it
        }
        double host = time_host(b, true);
        ok &= time_engine(b, "row_softmax", &softmax_launch, host,
                          (size_t)SOFTMAX_ROWS * SOFTMAX_CLASSES);
        host = time_host(b, false);
        ok &= time_engine(b, "nll_sum", &nll_launch, host, 2);
    }
    return ok;
}

int main(int argc, char **argv) {
    char *text = compile_kernels();
    lg_diags diags = {0};
    lg_ptx_module *ptx =
        text ? lg_ptx_load("engine_kernels.ptx", text, strlen(text), &diags) : NULL;
    if (!ptx) {
        lg_diags_print(&diags, stderr);
        return 1;
    }
    size_t n = (size_t)NLL_ROWS * NLL_CLASSES;
    bench b = {.sim = lg_sim_create(),
               .ptx = ptx,
               .seconds = argc > 1 ? atof(argv[1]) : 0.5,
               .x = lg_xcalloc(n, sizeof(float)),
               .out = lg_xcalloc(n, sizeof(float)),
               .labels = lg_xcalloc(NLL_ROWS, sizeof(int64_t)),
               .weight = lg_xcalloc(NLL_CLASSES, sizeof(float))};
    uint64_t state = 1;
    for (size_t i = 0; i < n; i++) {
        state = state * UINT64_C(6364136223846793005) + 1;
        b.x[i] = (float)(int32_t)(state >> 33) * 0x1p-29f;
    }
    for (size_t i = 0; i < NLL_ROWS; i++) {
        b.labels[i] = i % 50 == 3 ? -100 : (int64_t)(i * 37 % NLL_CLASSES);
    }
    for (size_t i = 0; i < NLL_CLASSES; i++) {
        b.weight[i] = 0.5f + (float)i / NLL_CLASSES;
    }
    b.device_x = lg_sim_alloc(b.sim, n * sizeof(float));
    b.device_out = lg_sim_alloc(b.sim, n * sizeof(float));
    b.device_labels = lg_sim_alloc(b.sim, NLL_ROWS * sizeof(int64_t));
    b.device_weight = lg_sim_alloc(b.sim, NLL_CLASSES * sizeof(float));
    bool ok = lg_sim_write(b.sim, b.device_x, b.x, n * sizeof(float)) &&
              lg_sim_write(b.sim, b.device_labels, b.labels, NLL_ROWS * sizeof(int64_t)) &&
              lg_sim_write(b.sim, b.device_weight, b.weight, NLL_CLASSES * sizeof(float));
    ok = ok && run_all(&b, argc > 2 ? argv[2] : NULL);
    lg_sim_destroy(b.sim);
    lg_ptx_free(ptx);
    free(text);
    free(b.x);
    free(b.out);
    free(b.labels);
    free(b.weight);
    return ok ? 0 : 1;
}
