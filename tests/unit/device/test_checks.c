// SPDX-License-Identifier: Apache-2.0
// What is refused before anything runs: manifests that do not fit their kernels, batches a kernel
// cannot take; and the sizes and strides that kernels are given.
#include "device/internal.h"

#include "support/alloc.h"
#include "unit/device/kernels.h"
#include "unit/tree.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct fixture {
    char *tree;
    lg_kernel_set kernels;
    lg_device_session *session;
    lg_diags diags;
} fixture;

static void set_up(fixture *f, const char *manifest, const char *nvcc) {
    *f = (fixture){.tree = make_tree()};
    write_text(f->tree, "test.cu", devrun_source);
    write_text(f->tree, "mine.ptx", "");
    char *path = lg_xasprintf("%s/test.yaml", f->tree);
    bool ok = lg_kernels_read_text(path, manifest, strlen(manifest), &f->kernels, &f->diags);
    lg_diags_print(&f->diags, stderr);
    CU_ASSERT_TRUE_FATAL(ok);
    f->session = lg_device_open(lg_driver_sim(), nvcc, f->tree, &f->diags);
    CU_ASSERT_PTR_NOT_NULL_FATAL(f->session);
    free(path);
}

static void tear_down(fixture *f) {
    lg_device_close(f->session);
    lg_kernel_set_free(&f->kernels);
    lg_diags_free(&f->diags);
    remove_tree(f->tree);
}

static bool has_message(const lg_diags *diags, const char *text) {
    for (size_t i = 0; i < diags->n; i++) {
        if (strstr(diags->items[i].message, text)) {
            return true;
        }
    }
    return false;
}

static void check_messages(const fixture *f, const char *const *messages, size_t n) {
    for (size_t i = 0; i < n; i++) {
        LG_CHECK_ROW(messages[i], has_message(&f->diags, messages[i]));
    }
    if (f->diags.n_errors != n) {
        lg_diags_print(&f->diags, stderr);
    }
    CU_ASSERT_EQUAL(f->diags.n_errors, n);
}

static void test_manifest_against_entries(void) {
    fixture f;
    set_up(&f, devrun_bad_manifest, LG_DEFAULT_NVCC);
    for (int64_t i = 0; i < f.kernels.n; i++) {
        LG_CHECK_ROW(f.kernels.items[i].name,
                     !lg_device_prepare(f.session, &f.kernels.items[i], &f.diags));
        // Asked again it is still refused, and not told twice.
        LG_CHECK_ROW(f.kernels.items[i].name,
                     !lg_device_prepare(f.session, &f.kernels.items[i], &f.diags));
    }
    static const char *const messages[] = {
        "test/too_few: the entry right has 5 parameters, the stage passes 4",
        "test/sizes: parameter 1 of narrow has 4 bytes; 'input' is a pointer of 8 bytes",
        "test/sizes: parameter 2 of narrow has 4 bytes; 'target' is a pointer of 8 bytes",
        "test/missing: there is no entry right_float64 in ",
        "test/missing: there is no entry right_float32 in ",
    };
    check_messages(&f, messages, sizeof messages / sizeof *messages);
    for (size_t i = 0; i < f.diags.n; i++) {
        CU_ASSERT_TRUE(f.diags.items[i].line > 0);
        CU_ASSERT_PTR_NOT_NULL(strstr(f.diags.items[i].file, "test.yaml"));
    }
    tear_down(&f);
}

static void test_sources(void) {
    fixture f;
    set_up(&f, devrun_manifest, NULL);
    CU_ASSERT_FALSE(lg_device_prepare(f.session, &f.kernels.items[0], &f.diags));
    CU_ASSERT_FALSE(lg_device_prepare(f.session, &f.kernels.items[1], &f.diags));
    static const char *const none[] = {" needs nvcc, the CUDA compiler: install it"};
    check_messages(&f, none, 1); // once for the source, not once a kernel
    tear_down(&f);

    set_up(&f, devrun_manifest, LG_DEFAULT_NVCC);
    write_text(f.tree, "test.cu", "__global__ void f() { nonsense; }\n");
    CU_ASSERT_FALSE(lg_device_prepare(f.session, &f.kernels.items[0], &f.diags));
    CU_ASSERT_FALSE(lg_device_prepare(f.session, &f.kernels.items[1], &f.diags));
    static const char *const compile[] = {"identifier \"nonsense\" is undefined"};
    check_messages(&f, compile, 1);
    tear_down(&f);
}

static const char ptx_manifest[] = "family: nll_loss\n"
                                   "ptx: mine.ptx\n"
                                   "kernels:\n"
                                   "  - name: mine\n" DEVRUN_COMMON "    reductions: [sum]\n"
                                   "    stages:\n"
                                   "      - entry: f\n"
                                   "        grid: [1]\n"
                                   "        block: [1]\n"
                                   "        args: [output]\n";
#define PTX_HEAD ".version 8.0\n.target sm_75\n.address_size 64\n"

static void test_ptx(void) {
    static const struct {
        const char *name;
        const char *text;
        const char *message; // NULL: it loads
        int line;
    } rows[] = {
        {"right", PTX_HEAD ".visible .entry f(.param .u64 p)\n{\n ret;\n}\n", NULL, 0},
        {"directive on a line of its own",
         PTX_HEAD ".visible\n.entry f(.param .u64 p)\n{\n ret;\n}\n", NULL, 0},
        {"another entry that is broken, cut away",
         PTX_HEAD ".entry f(.param .u64 p)\n{\n ret;\n}\n.entry g()\n{\n nonsense;\n}\n", NULL, 0},
        {"broken, with the line of the whole text",
         PTX_HEAD ".entry g()\n{\n ret;\n}\n.entry f(.param .u64 p)\n{\n nonsense;\n}\n",
         "nonsense", 10},
        {"empty", "", "CUDA_ERROR_INVALID_IMAGE", 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        fixture f;
        set_up(&f, ptx_manifest, NULL);
        write_text(f.tree, "mine.ptx", rows[i].text);
        bool ok = lg_device_prepare(f.session, &f.kernels.items[0], &f.diags);
        LG_CHECK_ROW(rows[i].name, ok == !rows[i].message);
        LG_CHECK_ROW(rows[i].name, ok == (f.diags.n_errors == 0));
        bool found = !rows[i].message;
        for (size_t k = 0; k < f.diags.n && !found; k++) {
            found = strstr(f.diags.items[k].message, rows[i].message) &&
                    (rows[i].line == 0 || f.diags.items[k].line == rows[i].line);
        }
        LG_CHECK_ROW(rows[i].name, found);
        tear_down(&f);
    }
    fixture f;
    set_up(&f, ptx_manifest, NULL);
    char *path = lg_xasprintf("%s/mine.ptx", f.tree);
    unlink(path);
    free(path);
    CU_ASSERT_FALSE(lg_device_prepare(f.session, &f.kernels.items[0], &f.diags));
    static const char *const messages[] = {"mine.ptx: No such file or directory"};
    check_messages(&f, messages, 1);
    tear_down(&f);
}

// --- which batches

static lg_batch make_batch(int rank, const int64_t *shape, lg_dtype dtype, lg_dtype target) {
    lg_batch batch = {.loss = {.kind = LG_NLL_LOSS,
                               .reduction = LG_REDUCTION_SUM,
                               .ignore_index = -100,
                               .direction = LG_FORWARD}};
    int64_t target_shape[LG_MAX_RANK] = {shape[0]};
    for (int i = 2; i < rank; i++) {
        target_shape[i - 1] = shape[i];
    }
    CU_ASSERT_TRUE_FATAL(lg_tensor_init(&batch.input, dtype, rank, shape));
    CU_ASSERT_TRUE_FATAL(
        lg_tensor_init(&batch.target, target, rank > 1 ? rank - 1 : 0, target_shape));
    memset(batch.input.data, 0, lg_tensor_bytes(&batch.input));
    memset(batch.target.data, 0, lg_tensor_bytes(&batch.target));
    return batch;
}

static void test_unsuitable(void) {
    lg_arg forward_args[] = {{.id = LG_ARG_OUTPUT}, {.id = LG_ARG_INPUT}, {.id = LG_ARG_TARGET}};
    lg_expr sizes[] = {"32", "64"};
    lg_stage stages[] = {{.entry = "f_{dtype}_{target}",
                          .entry_by_dtype = true,
                          .entry_by_target = true,
                          .direction = LG_FORWARD,
                          .n_args = 3,
                          .args = forward_args,
                          .n_block_x = 1,
                          .block_x = sizes}};
    lg_kernel base = {.name = "k",
                      .family = LG_NLL_LOSS,
                      .policy = LG_POLICY_ASSERT,
                      .input_dtypes = 1u << LG_FLOAT32,
                      .target_dtypes = 1u << LG_INT64,
                      .reductions = 1u << LG_REDUCTION_SUM,
                      .batched = true,
                      .n_stages = 1,
                      .stages = stages};
    lg_arena arena = {0};
    int64_t two[] = {4, 3};
    int64_t three[] = {4, 3, 2};
#define EXPECT(row, text)                                                                          \
    do {                                                                                           \
        const char *got = lg_device_unsuitable(&kernel, &batch, mode, &arena);                     \
        const char *want = text;                                                                   \
        LG_CHECK_ROW(row, want ? got &&strcmp(got, want) == 0 : got == NULL);                      \
        lg_batch_free(&batch);                                                                     \
    } while (0)
#define START(rank, shape, input, target_type)                                                     \
    kernel = base;                                                                                 \
    mode = LG_MODE_BLOCKING;                                                                       \
    batch = make_batch(rank, shape, input, target_type)
    lg_kernel kernel;
    lg_batch batch;
    lg_mode mode;
    START(2, two, LG_FLOAT32, LG_INT64);
    EXPECT("suitable", NULL);
    START(2, two, LG_FLOAT32, LG_INT64);
    kernel.family = LG_CROSS_ENTROPY;
    EXPECT("family", "it computes cross_entropy, the batch asks for nll_loss");
    START(2, two, LG_FLOAT32, LG_INT64);
    batch.loss.reduction = LG_REDUCTION_MEAN;
    EXPECT("reduction", "it has no reduction mean");
    START(2, two, LG_FLOAT32, LG_INT64);
    kernel.probability_targets = true;
    EXPECT("indices for probabilities", "it takes class probabilities only");
    START(2, two, LG_FLOAT32, LG_FLOAT32);
    batch.target_is_probability = true;
    EXPECT("probabilities for indices", "it takes class indices only");
    START(3, three, LG_FLOAT32, LG_INT64);
    EXPECT("spatial", "it takes no input with extra dimensions");
    START(3, three, LG_FLOAT32, LG_INT64);
    kernel.spatial = true;
    EXPECT("spatial it takes", NULL);
    START(1, two, LG_FLOAT32, LG_INT64);
    EXPECT("unbatched", "it takes no unbatched input");
    START(2, two, LG_FLOAT32, LG_INT64);
    kernel.batched = false;
    EXPECT("batched", "it takes no N×C input");
    START(2, two, LG_FLOAT64, LG_INT64);
    EXPECT("input type", "it takes no float64 input");
    START(2, two, LG_FLOAT32, LG_INT32);
    EXPECT("target type", "it takes no int32 targets");
    // The host refuses float class indices: a guarded kernel has this case. An unguarded one is
    // given their bytes; but types that a checked call takes are simply not its own.
    START(2, two, LG_FLOAT32, LG_FLOAT32);
    EXPECT("float labels, guarded", NULL);
    START(2, two, LG_FLOAT32, LG_FLOAT32);
    kernel.policy = LG_POLICY_NONE;
    EXPECT("float labels, unguarded", NULL);
    START(2, two, LG_FLOAT32, LG_INT32);
    kernel.policy = LG_POLICY_NONE;
    EXPECT("int32 labels, unguarded", "it takes no int32 targets");
    // Their bits are integers to the device.
    START(2, two, LG_FLOAT32, LG_FLOAT32);
    kernel.policy = LG_POLICY_NONE;
    CU_ASSERT_TRUE_FATAL(lg_tensor_init(&batch.device_target, LG_INT64, 1, two));
    EXPECT("bits of float labels", NULL);
    START(2, two, LG_FLOAT32, LG_INT64);
    batch.loss.label_smoothing = 0.1;
    EXPECT("smoothing", "it has no label smoothing");
    START(2, two, LG_FLOAT32, LG_INT64);
    CU_ASSERT_TRUE_FATAL(lg_tensor_init(&batch.weight, LG_FLOAT32, 1, two + 1));
    EXPECT("weights", "it takes no weights");
    START(2, two, LG_FLOAT32, LG_INT64);
    CU_ASSERT_TRUE_FATAL(lg_tensor_init(&batch.pos_weight, LG_FLOAT32, 1, two + 1));
    EXPECT("pos_weight", "it takes no pos_weight");
    START(2, two, LG_FLOAT32, LG_INT64);
    batch.loss.direction = LG_BACKWARD;
    EXPECT("backward", "it has no backward pass");
    START(2, two, LG_FLOAT32, LG_INT64);
    batch.loss.direction = LG_BOTH;
    EXPECT("both, forward alone", NULL);
    START(2, two, LG_FLOAT32, LG_INT64);
    mode = LG_MODE_BLOCK_SIZES;
    EXPECT("one block size", "it has one legal block size");
    START(2, two, LG_FLOAT32, LG_INT64);
    mode = LG_MODE_BLOCK_SIZES;
    stages[0].n_block_x = 2;
    EXPECT("two block sizes", NULL);
    START(2, two, LG_FLOAT32, LG_INT64);
    lg_tensor_free(&batch.input);
    CU_ASSERT_TRUE_FATAL(
        lg_tensor_init_strided(&batch.input, LG_FLOAT32, 2, two, (int64_t[]){1, 4}));
    memset(batch.input.data, 0, lg_tensor_bytes(&batch.input));
    EXPECT("strides", "it takes contiguous arrays only");
    START(2, two, LG_FLOAT32, LG_INT64);
    kernel.strided = true;
    lg_tensor_free(&batch.input);
    CU_ASSERT_TRUE_FATAL(
        lg_tensor_init_strided(&batch.input, LG_FLOAT32, 2, two, (int64_t[]){1, 4}));
    memset(batch.input.data, 0, lg_tensor_bytes(&batch.input));
    EXPECT("strides it takes", NULL);
    lg_arena_free(&arena);
}

// --- sizes

static void test_collapse(void) {
    static const struct {
        const char *name;
        int rank;
        int64_t shape[4];
        int64_t stride[4];
        int first;
        bool ok;
        int64_t want;
    } rows[] = {
        {"contiguous", 4, {2, 3, 4, 5}, {60, 20, 5, 1}, 2, true, 1},
        {"channels last", 4, {2, 3, 4, 5}, {60, 1, 15, 3}, 2, true, 3},
        {"expanded", 4, {2, 3, 4, 5}, {60, 20, 0, 0}, 2, true, 0},
        {"rows apart", 4, {2, 3, 4, 5}, {96, 32, 8, 1}, 2, false, 0},
        {"expanded outside", 4, {2, 3, 4, 5}, {15, 5, 0, 1}, 2, false, 0},
        {"a single column", 4, {2, 3, 4, 1}, {96, 32, 8, 99}, 2, true, 8},
        {"a single row", 4, {2, 3, 1, 5}, {96, 32, 77, 2}, 2, true, 2},
        {"none left", 2, {2, 3, 0, 0}, {3, 1, 0, 0}, 2, true, 1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        lg_tensor tensor = {.dtype = LG_FLOAT32, .rank = rows[i].rank};
        memcpy(tensor.shape, rows[i].shape, sizeof rows[i].shape);
        memcpy(tensor.stride, rows[i].stride, sizeof rows[i].stride);
        int64_t stride = -1;
        bool ok = lg_collapse(&tensor, rows[i].first, &stride);
        LG_CHECK_ROW(rows[i].name, ok == rows[i].ok);
        LG_CHECK_ROW(rows[i].name, !ok || stride == rows[i].want);
    }
}

static void test_sizes(void) {
    int64_t shape[] = {4, 3, 2, 5};
    lg_batch batch = make_batch(4, shape, LG_FLOAT16, LG_INT64);
    batch.loss.reduction = LG_REDUCTION_MEAN;
    lg_size_values sizes = lg_sizes_measure(&batch);
    sizes.block_x = 64;
    static const struct {
        const char *expr;
        int64_t value;
    } rows[] = {
        {"samples", 4},
        {"head_width", 3},
        {"spatial", 10},
        {"rows", 40},
        {"elements", 120},
        {"input_stride_n", 30},
        {"input_stride_c", 10},
        {"input_stride_s", 1},
        {"target_stride_n", 10},
        {"target_stride_c", 0},
        {"target_stride_s", 1},
        {"ignore_index", -100},
        {"reduction", 1},
        {"reduction_mean", 1},
        {"block_x", 64},
        {"dtype_bytes", 2},
        {"ceil_div(elements, block_x) * 2", 4},
    };
    lg_diags diags = {0};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int64_t value;
        bool ok = lg_sizes_eval(&sizes, rows[i].expr, 0, (lg_loc){0}, &value, &diags);
        LG_CHECK_ROW(rows[i].expr, ok && value == rows[i].value);
    }
    int64_t value;
    CU_ASSERT_TRUE(lg_sizes_eval(&sizes, NULL, 17, (lg_loc){0}, &value, &diags));
    CU_ASSERT_EQUAL(value, 17);
    CU_ASSERT_EQUAL(diags.n, 0);
    static const char *const bad[] = {"rows / target_stride_c", "input", "label_smoothing", "rowz"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        LG_CHECK_ROW(bad[i], !lg_sizes_eval(&sizes, bad[i], 0, (lg_loc){0}, &value, &diags));
        LG_CHECK_ROW(bad[i], diags.n_errors == i + 1);
    }
    lg_diags_free(&diags);
    lg_batch_free(&batch);
}

int main(void) {
    static const lg_test tests[] = {{"manifest against entries", test_manifest_against_entries},
                                    {"sources", test_sources},
                                    {"PTX of a manifest", test_ptx},
                                    {"unsuitable batches", test_unsuitable},
                                    {"collapsed strides", test_collapse},
                                    {"sizes", test_sizes}};
    return lg_run_tests(LG_SUITE, tests, sizeof tests / sizeof *tests);
}
