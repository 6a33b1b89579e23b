// SPDX-License-Identifier: Apache-2.0
// The tolerances against what lossgate's own kernels really return on the embedded device: how much
// of its bound each uses, and that a result wrong by twice its bound does not pass while one wrong
// by half of it does.
//
//   test_pipeline_bounds            the test
//   test_pipeline_bounds --table    larger batches, and the shares as the table of tests/README.md
#include "judge/judge.h"
#include "session/session.h"
#include "unit/testing.h"

#include "scenario/scenario.h"
#include "support/plain.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const manifests[] = {
    LG_SOURCE_DIR "/kernels/nll_loss.yaml", LG_SOURCE_DIR "/kernels/cross_entropy.yaml",
    LG_SOURCE_DIR "/kernels/bce.yaml", LG_SOURCE_DIR "/kernels/bce_with_logits.yaml"};

#define TYPES "  batch.logits.dtype: [float64, float32, float16, bfloat16]\n"
#define REDUCTIONS "  loss.reduction: [none, mean, sum]\n"
#define WEIGHTS "  loss.weight: [none, {uniform: [0.5, 2]}]\n"

// Every kernel takes some of these; %s: the sizes.
static const char *const scenarios[] = {
    "title: a\nloss: {kind: nll_loss}\n"
    "batch: {seed: 31, ignored_fraction: 0.1, logits: {distribution: uniform, lo: -9, hi: 0}}\n"
    "matrix:\n" TYPES REDUCTIONS WEIGHTS "%s",
    "title: b\nloss: {kind: cross_entropy}\n"
    "batch: {seed: 32, ignored_fraction: 0.1, logits: {distribution: normal, scale: 3}}\n"
    "matrix:\n" TYPES REDUCTIONS WEIGHTS "  loss.label_smoothing: [0, 0.1]\n%s",
    "title: c\nloss: {kind: cross_entropy}\n"
    "batch: {seed: 33, logits: {distribution: normal, scale: 3}, targets: {distribution: "
    "simplex}}\n"
    "matrix:\n" TYPES REDUCTIONS WEIGHTS "%s",
    "title: d\nloss: {kind: binary_cross_entropy}\n"
    "batch: {seed: 34, logits: {distribution: uniform, lo: 0.001, hi: 0.999}, targets: "
    "{distribution: uniform}}\n"
    "matrix:\n" TYPES REDUCTIONS WEIGHTS "%s",
    "title: e\nloss: {kind: binary_cross_entropy_with_logits}\n"
    "batch: {seed: 35, logits: {distribution: normal, scale: 4}, targets: {distribution: "
    "uniform}}\n"
    "matrix:\n" TYPES REDUCTIONS WEIGHTS "%s",
};

enum { N_OUTPUTS = 3, N_TYPES = 4, MAX_KERNELS = 64 };

// Of one kernel: the largest share of a bound by input type and output; NaN: never compared.
typedef struct shares {
    const lg_kernel *kernel;
    double of[N_TYPES][N_OUTPUTS];
} shares;

typedef struct bench {
    lg_kernel_set kernels;
    lg_device_session *device;
    lg_diags diags;
    int n;
    shares rows[MAX_KERNELS];
    int64_t n_shifted;
} bench;

static const lg_arg_id outputs[N_OUTPUTS] = {LG_ARG_OUTPUT, LG_ARG_TOTAL_WEIGHT, LG_ARG_GRAD_INPUT};
static const lg_dtype types[N_TYPES] = {LG_FLOAT64, LG_FLOAT32, LG_FLOAT16, LG_BFLOAT16};

// What has to hold for anything to be shown, also where no test runs.
static void must(bool condition) {
    if (!condition) {
        fputs("the kernels cannot be run\n", stderr);
        exit(EXIT_FAILURE);
    }
}

static bool read_scenario(const char *text, const char *sizes, lg_scenario_set *set,
                          lg_diags *diags) {
    char path[] = "/tmp/lossgate-bounds-XXXXXX";
    int file = mkstemp(path);
    must(file >= 0);
    FILE *out = fdopen(file, "w");
    fprintf(out, text, sizes);
    fclose(out);
    bool ok = lg_scenario_read(path, &(lg_read_options){.root = "/tmp"}, set, diags);
    unlink(path);
    return ok;
}

static lg_quantity quantity_of(const lg_reference *reference, int output) {
    return output == 0   ? reference->scalar ? LG_Q_LOSS : LG_Q_ROW_LOSS
           : output == 1 ? LG_Q_TOTAL_WEIGHT
                         : LG_Q_GRADIENT;
}

static double want_of(const lg_reference *reference, int output, int64_t i) {
    return output == 0   ? reference->loss[i]
           : output == 1 ? reference->total_weight
                         : reference->grad_input[i];
}

static double bound_of(const lg_point_data *point, int output, int64_t i) {
    return lg_tolerance(&point->view, &point->reference, quantity_of(&point->reference, output), i,
                        want_of(&point->reference, output, i));
}

static lg_judgement judge_point(const lg_point_data *point, const lg_kernel *kernel,
                                const lg_observation *seen, lg_arena *arena) {
    lg_run_facts run = {.batch = &point->view,
                        .reference = &point->reference,
                        .kernel = kernel,
                        .observation = seen};
    return lg_judge_run(&run, arena);
}

static lg_verdict judge(const lg_point_data *point, const lg_kernel *kernel,
                        const lg_observation *seen) {
    lg_arena arena = {0};
    lg_verdict verdict = judge_point(point, kernel, seen, &arena).verdict;
    lg_arena_free(&arena);
    return verdict;
}

// The next number of the type away from 0: the smallest error an exact result can have.
static double next_of(lg_dtype dtype, double x) {
    double unit = dtype == LG_FLOAT64   ? 0x1p-52
                  : dtype == LG_FLOAT32 ? 0x1p-23
                  : dtype == LG_FLOAT16 ? 0x1p-10
                                        : 0x1p-7;
    return x + fmax(fabs(x) * unit, 0x1p-24);
}

// Gives an output values that can be changed; they live with the observation.
static void widen(lg_observation *seen, int output) {
    lg_output *out = (lg_output *)lg_observation_output(seen, outputs[output]);
    double *values = lg_arena_array(&seen->arena, (size_t)out->n + 1, sizeof *values);
    for (int64_t i = 0; i < out->n; i++) {
        values[i] = lg_output_get(out, i);
    }
    out->values = values;
    out->data = NULL;
}

static void shift_one(bench *b, const lg_point_data *point, const lg_kernel *kernel,
                      lg_observation *seen, int output, int64_t i) {
    lg_output *out = (lg_output *)lg_observation_output(seen, outputs[output]);
    double kept = out->values[i];
    double want = want_of(&point->reference, output, i);
    double bound = bound_of(point, output, i);
    for (int sign = -1; sign <= 1; sign += 2) {
        out->values[i] = bound > 0 ? want + sign * 2 * bound : next_of((lg_dtype)out->dtype, want);
        LG_CHECK_ROW(kernel->name, judge(point, kernel, seen) == LG_WRONG_RESULT);
        out->values[i] = want + sign * 0.5 * bound;
        LG_CHECK_ROW(kernel->name, judge(point, kernel, seen) == LG_PASS);
        b->n_shifted++;
    }
    out->values[i] = kept;
}

// The elements with the largest and with the least bound above 0, the first exact one, the ends.
static void shift_some(bench *b, const lg_point_data *point, const lg_kernel *kernel,
                       lg_observation *seen, int output) {
    const lg_output *out = lg_observation_output(seen, outputs[output]);
    widen(seen, output);
    int64_t picked[] = {0, out->n - 1, -1, -1, -1};
    for (int64_t i = 0; i < out->n; i++) {
        double bound = bound_of(point, output, i);
        if (bound == 0) {
            picked[2] = picked[2] < 0 ? i : picked[2];
            continue;
        }
        if (picked[3] < 0 || bound > bound_of(point, output, picked[3])) {
            picked[3] = i;
        }
        if (picked[4] < 0 || bound < bound_of(point, output, picked[4])) {
            picked[4] = i;
        }
    }
    for (int k = 0; k < 5; k++) {
        if (picked[k] >= 0) {
            shift_one(b, point, kernel, seen, output, picked[k]);
        }
    }
}

static shares *row_of(bench *b, const lg_kernel *kernel) {
    for (int i = 0; i < b->n; i++) {
        if (b->rows[i].kernel == kernel) {
            return &b->rows[i];
        }
    }
    must(b->n < MAX_KERNELS);
    shares *row = &b->rows[b->n++];
    row->kernel = kernel;
    for (int t = 0; t < N_TYPES; t++) {
        for (int o = 0; o < N_OUTPUTS; o++) {
            row->of[t][o] = NAN;
        }
    }
    return row;
}

static void note_shares(bench *b, const lg_point_data *point, const lg_kernel *kernel,
                        const lg_observation *seen) {
    int type = 0;
    while (types[type] != point->view.input.dtype) {
        type++;
    }
    for (int o = 0; o < N_OUTPUTS; o++) {
        const lg_output *out = lg_observation_output(seen, outputs[o]);
        double *most = &row_of(b, kernel)->of[type][o];
        for (int64_t i = 0; out && i < out->n; i++) {
            double want = want_of(&point->reference, o, i);
            double share = lg_compare(lg_output_get(out, i), want, bound_of(point, o, i),
                                      (lg_dtype)out->dtype);
            *most = isnan(*most) || share > *most ? share : *most;
        }
    }
}

static void must_pass(const lg_point_data *point, const lg_kernel *kernel,
                      const lg_observation *seen) {
    lg_arena arena = {0};
    lg_judgement got = judge_point(point, kernel, seen, &arena);
    if (got.verdict != LG_PASS) {
        fprintf(stderr, "%s: %s: %s\n", kernel->name, lg_verdict_name(got.verdict),
                got.text ? got.text : "");
    }
    must(got.verdict == LG_PASS);
    lg_arena_free(&arena);
}

static void run_kernel(bench *b, const lg_point_data *point, const lg_kernel *kernel, bool shift) {
    lg_arena arena = {0};
    if (kernel->policy == LG_POLICY_NAN &&
        !lg_device_unsuitable(kernel, &point->batch, LG_MODE_BLOCKING, &arena)) {
        lg_run_request request = {
            .kernel = kernel, .batch = &point->batch, .mode = LG_MODE_BLOCKING};
        lg_observation seen;
        must(lg_device_run(b->device, &request, &seen, &b->diags));
        must_pass(point, kernel, &seen);
        note_shares(b, point, kernel, &seen);
        for (int o = 0; shift && o < N_OUTPUTS; o++) {
            if (lg_observation_output(&seen, outputs[o])) {
                shift_some(b, point, kernel, &seen, o);
            }
        }
        lg_observation_free(&seen);
    }
    lg_arena_free(&arena);
}

static void run_all(bench *b, const char *sizes, bool shift) {
    *b = (bench){0};
    for (size_t i = 0; i < sizeof manifests / sizeof *manifests; i++) {
        must(lg_kernels_read(manifests[i], &b->kernels, &b->diags));
    }
    b->device = lg_device_open(lg_driver_sim(), LG_DEFAULT_NVCC, "test-cache", &b->diags);
    must(b->device != NULL);
    for (size_t s = 0; s < sizeof scenarios / sizeof *scenarios; s++) {
        lg_scenario_set set = {0};
        bool read = read_scenario(scenarios[s], sizes, &set, &b->diags);
        lg_diags_print(&b->diags, stderr);
        must(read);
        for (int64_t p = 0; p < set.n; p++) {
            lg_point_data point;
            lg_point_prepare(&set.items[p], &point, &b->diags);
            if (!point.reference.grad_input) { // a large batch's is not kept
                lg_reference_free(&point.reference);
                must(lg_reference_compute(&point.view, true, &point.reference));
            }
            for (int64_t k = 0; k < b->kernels.n; k++) {
                run_kernel(b, &point, &b->kernels.items[k], shift);
            }
            lg_point_free(&point);
        }
        lg_scenario_set_free(&set);
    }
    lg_diags_print(&b->diags, stderr);
}

static void free_all(bench *b) {
    lg_device_close(b->device);
    lg_kernel_set_free(&b->kernels);
    lg_diags_free(&b->diags);
}

static const char small_sizes[] = "  batch.samples: [33]\n  batch.classes: [3, 40]\n";
static const char large_sizes[] = "  batch.samples: [33, 400]\n  batch.classes: [3, 33, 500]\n";

static void test_twice_the_bound_fails(void) {
    bench b;
    run_all(&b, small_sizes, true);
    CU_ASSERT_TRUE(b.n_shifted > 5000);
    int n_kernels = 0;
    for (int64_t k = 0; k < b.kernels.n; k++) {
        n_kernels += b.kernels.items[k].policy == LG_POLICY_NAN;
    }
    CU_ASSERT_EQUAL(b.n, n_kernels); // every kernel of ours was among them, in every type
    for (int i = 0; i < b.n; i++) {
        for (int t = 0; t < N_TYPES; t++) {
            LG_CHECK_ROW(b.rows[i].kernel->name, b.rows[i].of[t][0] <= 1);
            LG_CHECK_ROW(b.rows[i].kernel->name, b.rows[i].of[t][2] <= 1);
        }
    }
    free_all(&b);
}

static int print_table(void) {
    bench b;
    run_all(&b, large_sizes, false);
    puts("| kernel | float64 | float32 | float16 | bfloat16 |\n| --- | --- | --- | --- | --- |");
    for (int i = 0; i < b.n; i++) {
        const char *name = b.rows[i].kernel->name;
        printf("| `%.*s` |", (int)(strlen(name) - strlen("/nan")), name);
        for (int t = 0; t < N_TYPES; t++) {
            printf(" %.2g, %.2g |", lg_plain(b.rows[i].of[t][0]), lg_plain(b.rows[i].of[t][2]));
        }
        putchar('\n');
    }
    free_all(&b);
    return EXIT_SUCCESS;
}

int main(int argc, char **argv) {
    if (argc > 1 && strcmp(argv[1], "--table") == 0) {
        return print_table();
    }
    const lg_test tests[] = {{"twice the bound fails", test_twice_the_bound_fails}};
    return lg_run_tests(LG_SUITE, tests, sizeof tests / sizeof *tests);
}
