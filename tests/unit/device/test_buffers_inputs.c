// SPDX-License-Identifier: Apache-2.0
// A kernel that writes to what it may only read is seen in every mode whose context lives.
#include "unit/device/fixture.h"

// `ignore_index` says which buffer is written to.
static const char source[] =
    "using i64 = long long;\n"
    "extern \"C\" __global__ void elementwise(float *output, float *input, float *target,\n"
    "    float *weight, float *pos_weight, float *grad_output, i64 which, i64 elements) {\n"
    "    for (i64 i = threadIdx.x; i < elements; i += blockDim.x) { output[i] = 0; }\n"
    "    if (threadIdx.x != 0) { return; }\n"
    "    switch (which) {\n"
    "    case 1: input[3] = 7; break;\n"
    "    case 2: target[1] = 0.25f; break;\n"
    "    case 3: weight[4] = 9; break;\n"
    "    case 4: pos_weight[5] = 9; break;\n"
    "    case 5: grad_output[0] = 2; break;\n"
    "    case 6: input[3] = input[3]; break;\n"
    "    case 7: input[3] = -0.0f; break;\n"
    "    case 8: if (blockDim.x == 64) { input[3] = 1; } break;\n"
    "    case 9: input[3] = __int_as_float(0x7fc00001); break;\n"
    "    case 10: input[elements - 1] = input[0] = 1; break;\n"
    "    case 11: input[elements - 1] = 1; break;\n"
    "    case 12: input[0] = __int_as_float(0x7fc00001); target[0] = 1; break;\n"
    "    }\n"
    "}\n"
    "extern \"C\" __global__ void forward(float *output, float *total_weight, i64 *target,\n"
    "                                     i64 which, unsigned *ring) {\n"
    "    output[0] = total_weight[0] = 3;\n"
    "    if (which == 1) { target[2] = 1ll << 40; }\n"
    "    if (which == 2) { ring[0] = 12; }\n"
    "}\n"
    "extern \"C\" __global__ void backward(float *grad_input, float *total_weight, i64 which,\n"
    "                                      i64 elements) {\n"
    "    for (i64 i = 0; i < elements; i++) { grad_input[i] = 0; }\n"
    "    if (which == 3) { total_weight[0] = 4; }\n"
    "}\n";

#define MANIFEST(family, target, reduction)                                                        \
    "family: " family "\nsource: inputs.cu\nkernels:\n"                                            \
    "  - policy: none\n    dtypes: [float32]\n    targets: [" target "]\n"                         \
    "    reductions: [" reduction "]\n    strided: true\n"

static const char elementwise_manifest[] = MANIFEST(
    "binary_cross_entropy_with_logits", "float32",
    "none") "    name: inputs/elementwise\n    stages:\n      - entry: elementwise\n        grid: "
            "[1]\n"
            "        block_x: [32, 64]\n"
            "        args: [output, input, target, weight, pos_weight, grad_output, ignore_index,\n"
            "               elements]\n";

static const char sum_manifest[] =
    MANIFEST("nll_loss", "int64",
             "sum") "    name: inputs/sum\n    stages:\n"
                    "      - entry: forward\n        grid: [1]\n        block: [1]\n"
                    "        args: [output, total_weight, target, ignore_index, fault_record]\n"
                    "      - entry: backward\n        direction: backward\n        grid: [1]\n     "
                    "   block: [1]\n"
                    "        args: [grad_input, total_weight, ignore_index, elements]\n";

static void open_fixture(fixture *f) {
    set_up(f);
    write_text(f->tree, "inputs.cu", source);
    read_manifest(f, "elementwise.yaml", elementwise_manifest);
    read_manifest(f, "sum.yaml", sum_manifest);
}

// n×2 zeros, weights n×1 and positive weights 2 of ones: both come expanded.
static lg_batch elementwise_batch(int64_t n) {
    lg_batch batch = {.loss = {.kind = LG_BCE_WITH_LOGITS,
                               .reduction = LG_REDUCTION_NONE,
                               .direction = LG_FORWARD},
                      .target_is_probability = true};
    int64_t shape[] = {n, 2};
    CU_ASSERT_TRUE_FATAL(lg_tensor_init(&batch.input, LG_FLOAT32, 2, shape));
    CU_ASSERT_TRUE_FATAL(lg_tensor_init(&batch.target, LG_FLOAT32, 2, shape));
    CU_ASSERT_TRUE_FATAL(lg_tensor_init(&batch.weight, LG_FLOAT32, 2, (int64_t[]){n, 1}));
    CU_ASSERT_TRUE_FATAL(lg_tensor_init(&batch.pos_weight, LG_FLOAT32, 1, (int64_t[]){2}));
    memset(batch.input.data, 0, lg_tensor_bytes(&batch.input));
    memset(batch.target.data, 0, lg_tensor_bytes(&batch.target));
    for (int64_t i = 0; i < n; i++) {
        lg_tensor_set_f64(&batch.weight, i, 1);
    }
    lg_tensor_set_f64(&batch.pos_weight, 0, 1);
    lg_tensor_set_f64(&batch.pos_weight, 1, 1);
    return batch;
}

static bool is_text(const char *got, const char *want) {
    bool same = got && want ? strstr(got, want) != NULL : got == want;
    if (!same) {
        fprintf(stderr, "\n    got %s\n", got ? got : "nothing");
    }
    return same;
}

#define WROTE(what) "the kernel wrote to `" what "`, which is read only: element "

static void test_elementwise(void) {
    static const struct {
        const char *name;
        int which;
        int64_t n;
        lg_mode mode;
        const char *text; // NULL: nothing is found
    } rows[] = {
        {"nothing is written", 0, 3, LG_MODE_BLOCKING, NULL},
        {"nothing is written, async", 0, 3, LG_MODE_ASYNC, NULL},
        {"input", 1, 3, LG_MODE_BLOCKING, WROTE("input") "[1, 1] was 0, is 7"},
        {"input, async", 1, 3, LG_MODE_ASYNC, WROTE("input") "[1, 1] was 0, is 7"},
        {"input, block sizes", 1, 3, LG_MODE_BLOCK_SIZES, WROTE("input") "[1, 1] was 0, is 7"},
        {"target", 2, 3, LG_MODE_BLOCKING, WROTE("target") "[0, 1] was 0, is 0.25"},
        {"expanded weight", 3, 3, LG_MODE_BLOCKING, WROTE("weight") "[2, 0] was 1, is 9"},
        {"expanded positive weight", 4, 3, LG_MODE_BLOCKING,
         WROTE("pos_weight") "[2, 1] was 1, is 9"},
        {"upstream gradient", 5, 3, LG_MODE_BLOCKING, WROTE("grad_output") "[0] was 1, is 2"},
        {"the same value", 6, 3, LG_MODE_BLOCKING, NULL},
        {"another zero", 7, 3, LG_MODE_BLOCKING, WROTE("input") "[1, 1] was 0, is -0"},
        {"NaN", 9, 3, LG_MODE_BLOCKING, WROTE("input") "[1, 1] was 0, is nan"},
        {"first and last", 10, 3, LG_MODE_BLOCKING,
         WROTE("input") "[0, 0] was 0, is 1; 2 of 6 differ"},
        {"the last of many", 11, 200000, LG_MODE_BLOCKING,
         WROTE("input") "[199999, 1] was 0, is 1"},
        {"the first buffer is named", 12, 3, LG_MODE_BLOCKING, WROTE("input") "[0, 0] was 0"},
    };
    fixture f;
    open_fixture(&f);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        lg_batch batch = elementwise_batch(rows[i].n);
        batch.loss.ignore_index = rows[i].which;
        lg_observation seen;
        lg_run_request request = {
            .kernel = find(&f, "inputs/elementwise"), .batch = &batch, .mode = rows[i].mode};
        CU_ASSERT_TRUE_FATAL(lg_device_run(f.session, &request, &seen, &f.diags));
        LG_CHECK_ROW(rows[i].name, seen.status == LG_STATUS_OK);
        LG_CHECK_ROW(rows[i].name, is_text(seen.input_written, rows[i].text));
        LG_CHECK_ROW(rows[i].name, !seen.mode_failure);
        lg_observation_free(&seen);
        lg_batch_free(&batch);
    }
    tear_down(&f);
}

static void test_other_block_size(void) {
    fixture f;
    open_fixture(&f);
    lg_batch batch = elementwise_batch(3);
    batch.loss.ignore_index = 8;
    lg_observation seen;
    CU_ASSERT_TRUE_FATAL(run(&f, "inputs/elementwise", &batch, LG_MODE_BLOCK_SIZES, &seen));
    CU_ASSERT_TRUE(
        is_text(seen.mode_failure, "with block size 64 " WROTE("input") "[1, 1] was 0, is 1"));
    CU_ASSERT_TRUE(seen.input_written != NULL);
    lg_observation_free(&seen);
    CU_ASSERT_TRUE_FATAL(run(&f, "inputs/elementwise", &batch, LG_MODE_BLOCKING, &seen));
    CU_ASSERT_PTR_NULL(seen.input_written);
    lg_observation_free(&seen);
    lg_batch_free(&batch);
    tear_down(&f);
}

// In the bits of another view: the element as people index it, or where it lies in the storage.
static void test_strided(void) {
    fixture f;
    open_fixture(&f);
    lg_batch batch = elementwise_batch(3);
    lg_tensor_free(&batch.input);
    int64_t shape[] = {3, 2}, by_column[] = {1, 4}; // element 3 of the storage is in no row
    CU_ASSERT_TRUE_FATAL(lg_tensor_init_strided(&batch.input, LG_FLOAT32, 2, shape, by_column));
    memset(batch.input.data, 0, lg_tensor_bytes(&batch.input));
    static const struct {
        const char *name;
        int which;
        const char *text;
    } rows[] = {
        {"between the columns", 1, WROTE("input") "3 of the storage was 0, is 7"},
        {"in the second column", 11, WROTE("input") "[1, 1] was 0, is 1"}, // 5 of the storage
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        batch.loss.ignore_index = rows[i].which;
        lg_observation seen;
        CU_ASSERT_TRUE_FATAL(run(&f, "inputs/elementwise", &batch, LG_MODE_BLOCKING, &seen));
        LG_CHECK_ROW(rows[i].name, is_text(seen.input_written, rows[i].text));
        lg_observation_free(&seen);
    }
    lg_batch_free(&batch);
    tear_down(&f);
}

static void test_labels_and_total_weight(void) {
    static const struct {
        const char *name;
        int which;
        const char *text;
    } rows[] = {
        {"nothing is written", 0, NULL},
        {"labels", 1, WROTE("target") "[2] was 2, is 1099511627776"},
        {"the ring's capacity", 2, "the kernel wrote to the head of `fault_record`"},
        {"the total weight in backward", 3,
         WROTE("total_weight") "[0], an input of the backward pass, was 3, is 4"},
    };
    fixture f;
    open_fixture(&f);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        lg_batch batch = make_batch(4, 5, LG_FLOAT32, LG_REDUCTION_SUM, LG_BOTH);
        batch.loss.ignore_index = rows[i].which;
        lg_observation seen;
        CU_ASSERT_TRUE_FATAL(run(&f, "inputs/sum", &batch, LG_MODE_BLOCKING, &seen));
        LG_CHECK_ROW(rows[i].name, seen.status == LG_STATUS_OK);
        LG_CHECK_ROW(rows[i].name, is_text(seen.input_written, rows[i].text));
        lg_observation_free(&seen);
        lg_batch_free(&batch);
    }
    tear_down(&f);
}

// What is null is named: of the two weights the one that is left out.
static void test_null(void) {
    fixture f;
    open_fixture(&f);
    lg_batch batch = elementwise_batch(3);
    lg_tensor_free(&batch.weight);
    batch.weight = (lg_tensor){0};
    batch.loss.ignore_index = 3;
    lg_observation seen;
    CU_ASSERT_TRUE_FATAL(run(&f, "inputs/elementwise", &batch, LG_MODE_BLOCKING, &seen));
    CU_ASSERT_EQUAL(seen.status, LG_STATUS_ILLEGAL_ADDRESS);
    CU_ASSERT_TRUE(
        is_text(lg_device_fault_name(seen.memory.kind, seen.memory.write), "null pointer write"));
    CU_ASSERT_TRUE(is_text(seen.memory.null_arguments, "`weight`"));
    CU_ASSERT_EQUAL(seen.memory.address, 16);
    CU_ASSERT_PTR_NULL(seen.memory.buffer);
    lg_observation_free(&seen);
    lg_batch_free(&batch);
    tear_down(&f);
}

int main(void) {
    static const lg_test tests[] = {
        {"elementwise", test_elementwise},
        {"another block size", test_other_block_size},
        {"strided views", test_strided},
        {"labels, total weight, ring", test_labels_and_total_weight},
        {"null pointers", test_null},
    };
    return run_devrun_tests(LG_SUITE, tests, sizeof tests / sizeof *tests);
}
