// SPDX-License-Identifier: Apache-2.0
#include "manifest/manifest.h"
#include "support/str.h"
#include "unit/testing.h"

#include <glob.h>
#include <stdlib.h>
#include <string.h>

// The manifests below name this file as their source, since it is surely there.
#define SOURCE "source: " LG_TEST_DIR "/unit/manifest/test_manifest.c\n"
#define STAGE "{entry: f, grid: [1], block: [32], args: [output, input]}"

static bool read(const char *text, lg_kernel_set *set, lg_diags *diags) {
    return lg_kernels_read_text("folder/m.yaml", text, strlen(text), set, diags);
}

static const char full[] = //
    "family: nll_loss\n" SOURCE "nvcc_flags: [-DNDEBUG]\n"
    "kernels:\n"
    "  - name: nll_loss/reduce/{policy}\n"
    "    policies: [report, assert]\n"
    "    dtypes: [float32, float64]\n"
    "    targets: [int64, int32]\n"
    "    reductions: [mean, sum]\n"
    "    inputs: [unbatched, spatial]\n"
    "    weights: false\n"
    "    strided: true\n"
    "    total_weight: accumulate\n"
    "    zero_grad_input: true\n"
    "    scratch: {partial: \"8 * rows\"}\n"
    "    stages:\n"
    "      - entry: forward_{policy}_{dtype}_{target}\n"
    "        grid: [\"min(ceil_div(rows, block_x), 64)\", 2]\n"
    "        block_x: [256, 64]\n"
    "        shared_bytes: block_x * dtype_bytes\n"
    "        recorder: mod(row * 32, threads)\n"
    "        args: [output, total_weight, scratch_partial, input, target, fault_record]\n"
    "      - entry: backward_{dtype}\n"
    "        direction: backward\n"
    "        grid: [1]\n"
    "        block: [32, 4]\n"
    "        args: [grad_input, grad_output]\n"
    "  - name: plain\n"
    "    policy: none\n"
    "    dtypes: [float32]\n"
    "    stages: [" STAGE "]\n";

static void test_everything_is_read(void) {
    lg_kernel_set set = {0};
    lg_diags diags = {0};
    CU_ASSERT_TRUE_FATAL(read(full, &set, &diags));
    CU_ASSERT_EQUAL_FATAL(set.n, 3);
    const lg_kernel *kernel = &set.items[1];
    CU_ASSERT_STRING_EQUAL(set.items[0].name, "nll_loss/reduce/assert");
    CU_ASSERT_STRING_EQUAL(kernel->name, "nll_loss/reduce/report");
    CU_ASSERT_TRUE(kernel->policy == LG_POLICY_REPORT && kernel->family == LG_NLL_LOSS);
    CU_ASSERT_EQUAL(kernel->input_dtypes, 1u << LG_FLOAT32 | 1u << LG_FLOAT64);
    CU_ASSERT_EQUAL(kernel->target_dtypes, 1u << LG_INT64 | 1u << LG_INT32);
    CU_ASSERT_EQUAL(kernel->reductions, 1u << LG_REDUCTION_MEAN | 1u << LG_REDUCTION_SUM);
    CU_ASSERT_TRUE(kernel->unbatched && !kernel->batched && kernel->spatial);
    CU_ASSERT_TRUE(!kernel->weights && kernel->strided && kernel->total_weight_accumulates);
    CU_ASSERT_TRUE(kernel->zero_grad_input && !kernel->label_smoothing);
    CU_ASSERT_TRUE(kernel->n_scratch == 1 && strcmp(kernel->scratch[0].name, "partial") == 0);
    CU_ASSERT_TRUE(kernel->n_nvcc_flags == 1 && kernel->loc.line == 5);
    CU_ASSERT_EQUAL_FATAL(kernel->n_stages, 2);
    const lg_stage *stage = &kernel->stages[0];
    CU_ASSERT_STRING_EQUAL(stage->entry, "forward_report_{dtype}_{target}");
    CU_ASSERT_STRING_EQUAL(stage->grid[1], "2");
    CU_ASSERT_STRING_EQUAL(stage->grid[2], "1");
    CU_ASSERT_STRING_EQUAL(stage->block[0], "256");
    CU_ASSERT_TRUE(stage->n_block_x == 2 && strcmp(stage->block_x[1], "64") == 0);
    CU_ASSERT_STRING_EQUAL(stage->shared_bytes, "block_x * dtype_bytes");
    CU_ASSERT_STRING_EQUAL(stage->recorder, "mod(row * 32, threads)");
    CU_ASSERT_PTR_NULL(kernel->stages[1].recorder);
    CU_ASSERT_TRUE(stage->entry_by_dtype && stage->entry_by_target);
    CU_ASSERT_TRUE(stage->n_args == 6 && strcmp(stage->args[2].name, "scratch_partial") == 0);
    CU_ASSERT_TRUE(stage->args[2].id == LG_N_ARGS && stage->args[2].scratch == 0);
    CU_ASSERT_TRUE(lg_stage_takes(stage, stage->args[0].id) && stage->args[0].scratch == -1);
    CU_ASSERT_TRUE(kernel->stages[1].direction == LG_BACKWARD && kernel->stages[1].n_block_x == 0);
    CU_ASSERT_STRING_EQUAL(kernel->stages[1].block[1], "4");
    const lg_kernel *plain = &set.items[2];
    CU_ASSERT_EQUAL(plain->target_dtypes, 1u << LG_INT64);
    CU_ASSERT_TRUE(plain->batched && !plain->unbatched && plain->weights);
    CU_ASSERT_EQUAL(plain->reductions, 7);
    CU_ASSERT_PTR_NULL(plain->stages[0].shared_bytes);

    // A second manifest goes behind; one that fails adds nothing.
    CU_ASSERT_FALSE(read(full, &set, &diags));
    CU_ASSERT_EQUAL(set.n, 3);
    CU_ASSERT_EQUAL(diags.n_errors, 3);
    CU_ASSERT_PTR_NOT_NULL(strstr(diags.items[0].message, "a second kernel"));
    lg_diags_free(&diags);
    lg_kernel_set_free(&set);
}

typedef struct bad_row {
    const char *name;
    const char *text;
    int line; // of the first error
    size_t n_errors;
    const char *messages[16]; // the first ones, in the order of the file
} bad_row;

#define BEGIN "family: nll_loss\n" SOURCE "kernels:\n  - name: k\n    policy: none\n"
#define KERNEL BEGIN "    dtypes: [float32]\n"

#define GRID(text)                                                                                 \
    KERNEL "    stages: [{entry: f, grid: [" text "], block: [32], args: [output]}]\n"

static const bad_row bad[] = {
    {"a division by zero on every batch",
     GRID("rows/(samples-samples)"),
     7,
     1,
     {"kernels.0.stages.0.grid.0 'rows/(samples-samples)' has a division by zero for a batch of 1 "
      "sample"}},
    {"a grid below zero", GRID("0-rows"), 7, 1, {"is -1 for a batch of 1 sample of 10 classes"}},
    {"a grid without blocks for one row", GRID("rows/64"), 7, 1, {"it must be at least 1"}},
    {"a size that overflows", GRID("rows*9223372036854775807*2"), 7, 1, {"does not fit 64 bits"}},
    {"text for true",
     KERNEL "    weights: \"false\"\n    stages: [" STAGE "]\n",
     7,
     1,
     {"kernels.0.weights is the text 'false'; want true or false, without quotes"}},
    {"no stage of the errors hides another",
     "famly: nll_loss\n" SOURCE "kernels:\n"
     "  - name: k\n    policy: asert\n    dtypes: [float33]\n    scratch: {sums: rows *}\n"
     "    stages:\n"
     "      - {entry: f, grid: [1/0], block: [32], args: [output, targt, scratch_smus]}\n"
     "      - {grid: [1], block: [0], args: [input]}\n"
     "  - name: k\n    policy: none\n    policies: [report]\n",
     1,
     14,
     {"unknown key 'famly' in a manifest; did you mean 'family'?", "missing key 'family'",
      "kernels.0.policy is 'asert'", "kernels.0.dtypes is 'float33'", "kernels.0.scratch.sums",
      "grid '1/0' has a division by zero", "unknown argument 'targt'; did you mean 'target'?",
      "unknown argument 'scratch_smus'; did you mean 'scratch_sums'?",
      "missing key 'kernels.0.stages.1.entry'", "block is 0; it must lie between 1 and 1024",
      "missing key 'kernels.1.dtypes'", "missing key 'kernels.1.stages'", "a second kernel 'k'",
      "kernels.1: want one of policy and policies, not both"}},
    {"nothing",
     "{}",
     1,
     3,
     {"missing key 'family'", "missing key 'kernels'", "missing key 'source'"}},
    {"not a mapping", "[1]", 1, 1, {"a manifest is a list"}},
    {"source is not there",
     "family: nll_loss\nsource: none.cu\nkernels:\n  - {name: k, policy: none, dtypes: [float32], "
     "stages: [" STAGE "]}\n",
     2,
     1,
     {"source: 'folder/none.cu' cannot be read"}},
    {"source and ptx",
     "family: nll_loss\n" SOURCE "ptx: " LG_TEST_DIR "/CMakeLists.txt\nkernels:\n  - {name: k, "
     "policy: none, dtypes: [float32], stages: [" STAGE "]}\n",
     3,
     1,
     {"both source and ptx"}},
    {"argument name",
     KERNEL "    stages: [{entry: f, grid: [1], block: [1], args: [output, inptu]}]\n",
     7,
     1,
     {"unknown argument 'inptu'; did you mean 'input'?"}},
    {"scratch name",
     KERNEL "    scratch: {part: 8}\n    stages: [{entry: f, grid: [1], block: [1], args: [output, "
            "scratch_prat]}]\n",
     8,
     1,
     {"did you mean 'scratch_part'?"}},
    {"expressions",
     KERNEL "    stages: [{entry: f, grid: [ceil_div(sampels)], block: [\"2 *\"], shared_bytes: "
            "1 / 0, args: [output]}]\n",
     7,
     3,
     {"did you mean 'samples'?", "no value at the end", "division by zero"}},
    {"sizes out of range",
     KERNEL "    stages: [{entry: f, grid: [0], block: [2048], args: [output]}]\n",
     7,
     2,
     {"grid is 0", "block is 2048"}},
    {"block size that refers to itself",
     KERNEL "    stages: [{entry: f, grid: [1], block_x: [block_x], args: [output]}]\n",
     7,
     1,
     {"unknown name 'block_x'"}},
    {"rows are known to a recorder only",
     KERNEL "    stages: [{entry: f, grid: [row], block: [1], recorder: rwo, args: [output]}]\n",
     7,
     2,
     {"unknown name 'row'", "did you mean 'row'?"}},
    {"four dimensions",
     KERNEL "    stages: [{entry: f, grid: [1, 1, 1, 1], block: [1], args: [output]}]\n",
     7,
     1,
     {"grid has 4 dimensions; want 1 to 3"}},
    {"no stage", KERNEL "    stages: []\n", 7, 1, {"stages has 0 entries; want 1 to 32"}},
    {"no block",
     KERNEL "    stages: [{entry: f, grid: [1], args: [output]}]\n",
     7,
     1,
     {"block or block_x"}},
    {"two blocks",
     KERNEL "    stages: [{entry: f, grid: [1], block: [1], block_x: [1], args: [output]}]\n",
     7,
     1,
     {"not both"}},
    {"no output",
     KERNEL "    stages: [{entry: f, grid: [1], block: [1], args: [input]}]\n",
     7,
     1,
     {"no forward stage is given 'output'"}},
    {"no gradient",
     KERNEL "    stages: [{entry: f, direction: backward, grid: [1], block: [1], args: [input]}]\n",
     7,
     1,
     {"no backward stage is given 'grad_input'"}},
    {"direction of a stage",
     KERNEL "    stages: [{entry: f, direction: both, grid: [1], block: [1], args: [output]}]\n",
     7,
     1,
     {"want one of forward, backward"}},
    {"no stages", KERNEL "    stages: []\n", 7, 1, {"0 entries"}},
    {"unknown keys and words",
     BEGIN "    dtypes: [float32, flaot64, float32]\n    reduction: [mean]\n    stages: [" STAGE
           "]\n",
     6,
     3,
     {"did you mean 'float64'?", "lists 'float32' twice", "did you mean 'reductions'?"}},
    {"types that do not fit",
     BEGIN "    dtypes: [int64]\n    targets: [float32]\n    probability_targets: false\n"
           "    label_smoothing: true\n    stages: [" STAGE "]\n",
     6,
     3,
     {"the input cannot be int64", "class indices are integers", "no label smoothing"}},
    {"a rule for probabilities without them",
     BEGIN "    dtypes: [float32]\n    zero_log_zero: true\n    stages: [" STAGE "]\n",
     7,
     1,
     {"only kernels of class probabilities"}},
    {"policy twice", KERNEL "    policies: [nan]\n    stages: [" STAGE "]\n", 7, 1, {"not both"}},
    {"no policy",
     "family: nll_loss\n" SOURCE "kernels:\n  - {name: k, dtypes: [float32], stages: [" STAGE
     "]}\n",
     4,
     1,
     {"policy or policies"}},
    {"several policies, one name",
     "family: nll_loss\n" SOURCE
     "kernels:\n  - {name: k, policies: [nan, none], dtypes: [float32], "
     "stages: [" STAGE "]}\n",
     4,
     1,
     {"need {policy} in the name"}},
    {"braces",
     "family: nll_loss\n" SOURCE "kernels:\n  - {name: 'k{dtype}', policy: nan, dtypes: [float32], "
     "stages: [{entry: 'f_{dtpye}', grid: [1], block: [1], args: [output]}]}\n",
     4,
     2,
     {"only {policy} can stand", "{policy}, {dtype} and {target}"}},
    {"two kernels of one name",
     "family: nll_loss\n" SOURCE
     "kernels:\n  - {name: k, policy: nan, dtypes: [float32], stages: [" STAGE
     "]}\n  - {name: k, policy: none, dtypes: [float32], stages: [" STAGE "]}\n",
     5,
     1,
     {"a second kernel 'k'; the first is at folder/m.yaml:4"}},
};

static void test_errors(void) {
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const bad_row *row = &bad[i];
        lg_kernel_set set = {0};
        lg_diags diags = {0};
        LG_CHECK_ROW(row->name, !read(row->text, &set, &diags));
        bool as_wanted = diags.n_errors == row->n_errors && diags.items[0].line == row->line;
        for (size_t k = 0; k < row->n_errors && k < diags.n && row->messages[k]; k++) {
            as_wanted = as_wanted && strstr(diags.items[k].message, row->messages[k]) != NULL;
        }
        LG_CHECK_ROW(row->name, as_wanted);
        if (!as_wanted) {
            lg_diags_print(&diags, stderr);
        }
        CU_ASSERT_EQUAL(set.n, 0);
        lg_diags_free(&diags);
        lg_kernel_set_free(&set);
    }
}

static void test_shipped_manifests(void) {
    glob_t files;
    CU_ASSERT_EQUAL_FATAL(glob(LG_SOURCE_DIR "/kernels/*.yaml", 0, NULL, &files), 0);
    lg_kernel_set set = {0};
    for (size_t i = 0; i < files.gl_pathc; i++) {
        lg_diags diags = {0};
        bool ok = lg_kernels_read(files.gl_pathv[i], &set, &diags);
        LG_CHECK_ROW(files.gl_pathv[i], ok);
        lg_diags_print(&diags, stderr);
        lg_diags_free(&diags);
    }
    CU_ASSERT_TRUE(set.n >= 4);
    globfree(&files);
    lg_kernel_set_free(&set);
}

static void test_hostile(void) {
    size_t n = sizeof full - 1;
    for (size_t i = 0; i < n; i++) {
        char *text = malloc(n); // no byte more: nothing behind the end may be read
        memcpy(text, full, i);
        lg_kernel_set set = {0};
        lg_diags diags = {0};
        bool ok = lg_kernels_read_text("m.yaml", text, i, &set, &diags);
        CU_ASSERT_TRUE(ok == (diags.n_errors == 0) && ok == (set.n > 0));
        lg_diags_free(&diags);
        lg_kernel_set_free(&set);
        memcpy(text, full, n);
        text[i] = (char)(text[i] ^ 0x15);
        ok = lg_kernels_read_text("m.yaml", text, n, &set, &diags);
        CU_ASSERT_EQUAL(ok, diags.n_errors == 0);
        lg_diags_free(&diags);
        lg_kernel_set_free(&set);
        free(text);
    }
}

int main(void) {
    static const lg_test tests[] = {
        {"everything is read", test_everything_is_read},
        {"errors", test_errors},
        {"shipped manifests", test_shipped_manifests},
        {"cut and changed manifests", test_hostile},
    };
    return lg_run_tests("manifest", tests, sizeof tests / sizeof *tests);
}
