// SPDX-License-Identifier: Apache-2.0
// Cross-entropy kernels that each break one invariant, compiled and run: the softmax of a row sums
// to 1, its gradient to 0, and an ignored row contributes exactly nothing. Each must be caught by
// the invariant, not only by the reference.
#include "judge/judge.h"

#include "device/device.h"
#include "support/str.h"
#include "unit/device/kernel_folder.h"
#include "unit/judge/relation_helpers.h"

// FLAW: 0 none; 1 the denominator lacks the last class; 2 the label is not taken off; 3 an ignored
// row keeps its loss; 4 an ignored row keeps its softmax as a gradient.
static const char source[] =
    "using i64 = long long;\n"
    "#define ROW i64 row = blockIdx.x * (i64)blockDim.x + threadIdx.x; if (row >= n) { return; }\n"
    "struct softmax { float top, sum; };\n"
    "__device__ softmax row_softmax(const float *x, i64 width) {\n"
    "    softmax s = {x[0], 0};\n"
    "    for (i64 c = 1; c < width; c++) { s.top = fmaxf(s.top, x[c]); }\n"
    "    for (i64 c = 0; c < width; c++) { s.sum += expf(x[c] - s.top); }\n"
    "    return s;\n"
    "}\n"
    "__device__ float row_loss(int flaw, const float *x, i64 t, i64 width, i64 ignored) {\n"
    "    if (t == ignored && flaw != 3) { return 0; }\n"
    "    softmax s = row_softmax(x, width);\n"
    "    return logf(s.sum) - (x[t == ignored ? 0 : t] - s.top);\n"
    "}\n"
    "template <int FLAW> __device__ void forward(float *out, const float *x, const i64 *t, i64 n,\n"
    "                                            i64 width, i64 ignored) {\n"
    "    ROW;\n"
    "    out[row] = row_loss(FLAW, x + row * width, t[row], width, ignored);\n"
    "}\n"
    "template <int FLAW> __device__ void backward(float *g, const float *x, const i64 *t, i64 n,\n"
    "                                             i64 width, i64 ignored) {\n"
    "    ROW;\n"
    "    x += row * width;\n"
    "    bool none = t[row] == ignored && FLAW != 4;\n"
    "    softmax s = row_softmax(x, FLAW == 1 ? width - 1 : width);\n"
    "    for (i64 c = 0; c < width; c++) {\n"
    "        float hot = FLAW != 2 && c == t[row];\n"
    "        g[row * width + c] = none ? 0 : expf(x[c] - s.top) / s.sum - hot;\n"
    "    }\n"
    "}\n"
    "#define PAIR(k)                                                                             "
    "\\\n"
    "    extern \"C\" __global__ void forward_##k(float *out, const float *x, const i64 *t, i64 n, "
    "\\\n"
    "        i64 width, i64 ignored) { forward<k>(out, x, t, n, width, ignored); }               "
    "\\\n"
    "    extern \"C\" __global__ void backward_##k(float *g, const float *x, const i64 *t, i64 n,  "
    "\\\n"
    "        i64 width, i64 ignored) { backward<k>(g, x, t, n, width, ignored); }\n"
    "PAIR(0) PAIR(1) PAIR(2) PAIR(3) PAIR(4)\n";

enum { N_FLAWS = 5 };

static kernel_folder f;

static void set_up(void) {
    open_kernels(&f, source);
    lg_str manifest = {0};
    lg_str_add(&manifest, "family: cross_entropy\nsource: test.cu\nkernels:\n");
    for (int i = 0; i < N_FLAWS; i++) {
        lg_str_printf(&manifest,
                      "  - name: test/%d\n    policy: none\n    dtypes: [float32]\n"
                      "    reductions: [none]\n    weights: false\n    stages:\n"
                      "      - entry: forward_%d\n        grid: [\"ceil_div(samples, 32)\"]\n"
                      "        block: [32]\n"
                      "        args: [output, input, target, samples, head_width, ignore_index]\n"
                      "      - entry: backward_%d\n        direction: backward\n"
                      "        grid: [\"ceil_div(samples, 32)\"]\n        block: [32]\n"
                      "        args: [grad_input, input, target, samples, head_width, "
                      "ignore_index]\n",
                      i, i, i);
    }
    add_manifest(&f, "ce.yaml", lg_str_text(&manifest));
    lg_str_free(&manifest);
}

static void tear_down(void) {
    close_kernels(&f);
}

typedef struct flaw_row {
    const char *name;
    int flaw;
    const char *says; // NULL: it passes
} flaw_row;

static const flaw_row rows[] = {
    {"right", 0, NULL},
    {"softmax without its last class", 1, "its softmax adds up to 1."},
    {"the label is not taken off", 2, "adds up to 1, not to 0"},
    {"an ignored row keeps its loss", 3, "is ignored and has the loss"},
    {"an ignored row keeps a gradient", 4, "is ignored and the gradient of its class"},
};

#define BATCH                                                                                      \
    "title: t\nloss: {kind: cross_entropy, reduction: none, direction: both, ignore_index: -1}\n"  \
    "batch: {samples: 40, classes: 6, ignored_fraction: 0.2, logits: {dtype: float32}}\n"

static void test_kernels(void) {
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const flaw_row *row = &rows[i];
        scene s;
        lg_arena arena = {0};
        lg_observation seen = {0};
        scene_begin(&s, BATCH);
        const lg_kernel *kernel = &f.kernels.items[row->flaw];
        lg_run_request request = {.kernel = kernel, .batch = &s.batch, .mode = LG_MODE_BLOCKING};
        bool ran = lg_device_run(f.device, &request, &seen, &f.diags);
        lg_diags_print(&f.diags, stderr);
        CU_ASSERT_TRUE_FATAL(ran);
        lg_run_facts run = {
            .batch = &s.batch, .reference = &s.reference, .kernel = kernel, .observation = &seen};
        lg_judgement judgement = lg_judge_run(&run, &arena);
        LG_CHECK_ROW(row->name, judgement.verdict == (row->says ? LG_WRONG_RESULT : LG_PASS));
        if (row->says) {
            LG_CHECK_ROW(row->name, judgement.detected_by == LG_DETECTOR_INVARIANT);
            LG_CHECK_ROW(row->name, judgement.text && strstr(judgement.text, row->says));
            fprintf(stderr, "%s",
                    judgement.text && strstr(judgement.text, row->says) ? "" : judgement.text);
        }
        lg_observation_free(&seen);
        lg_arena_free(&arena);
        scene_end(&s);
    }
}

int main(void) {
    static const lg_test tests[] = {
        {"set up", set_up},
        {"kernels that break an invariant", test_kernels},
        {"tear down", tear_down},
    };
    return lg_run_tests(LG_SUITE, tests, sizeof tests / sizeof *tests);
}
