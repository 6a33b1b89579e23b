// SPDX-License-Identifier: Apache-2.0
// The self-proof on kernels whose guards are nearly right: what it must refuse, and how it says so.
#include "session/internal.h"

#include "batch/batch.h"
#include "reference/reference.h"
#include "unit/testing.h"

#include <math.h>
#include <string.h>

static const char *const manifests[] = {
    LG_SOURCE_DIR "/kernels/mutants/guards.yaml", LG_SOURCE_DIR "/kernels/mutants/guards_bce.yaml",
    LG_SOURCE_DIR "/kernels/mutants/records.yaml",
    LG_SOURCE_DIR "/kernels/mutants/asserts_off.yaml", LG_TEST_DIR "/data/session/rows.yaml"};

typedef struct proof_row {
    const char *kernel;
    const char *why;   // a part of it; NULL: proven
    const char * not ; // no part of it, or NULL
} proof_row;

static const proof_row rows[] = {
    {"mutants/guard/fixed", NULL, NULL},
    {"mutants/guard/backward_from_minus_one",
     "the built-in bad batch (label -1 in one row, backward) gave", "detects nothing"},
    {"mutants/guard/backward_at_width",
     "the built-in bad batch (label C in one row, backward) gave silent_corruption", NULL},
    {"mutants/guard/backward_at_width", "caught: label -1 in one row", "detects nothing"},
    {"mutants/guard/backward_at_width", "the guard is `t >= 0 && t <= n_classes`", NULL},
    {"mutants/guard/backward_unguarded",
     "this backward pass detects nothing: its asserts are compiled out, missing or never reached",
     NULL},
    {"mutants/guard/forward_unguarded",
     "the built-in bad batch (label C in one row, forward) gave silent_corruption", NULL},
    {"mutants/guard/by_negation", "missed: the least label of its type in one row", NULL},
    {"mutants/bce_guard/fixed", NULL, NULL},
    {"mutants/bce_guard/upper_only",
     "missed: target -0.5 in one row, probability -0.5 in one row; caught: target 1.5", "label"},
    {"mutants/bce_guard/lower_only", "missed: target 1.5 in one row, probability 1.5", "label"},
    {"mutants/bce_guard/nan_passes", "missed: target NaN in one row, probability NaN", "label"},
    {"mutants/bce_guard/target_unguarded", "missed: target 1.5 in one row, target -0.5", "label"},
    {"mutants/record/fixed", NULL, NULL},
    {"mutants/record/launch_zero", NULL, NULL}, // wrong only where both passes run
    {"mutants/record/row_in_block", "a fault record accuses row 4 (value 5), which is valid",
     "detects nothing"},
    {"mutants/record/value_clamped", "has value 4, right is 5", "detects nothing"},
    {"mutants/record/upper_is_last", "has upper bound 4, right is 5", "detects nothing"},
    {"mutants/record/code_of_input", "has code 2, right is 1", "detects nothing"},
    {"mutants/record/block_and_thread", "has block.x 12, right is one of 3", "detects nothing"},
    {"mutants/record/twice", "wrote 2 fault records of row 12", "detects nothing"},
    {"mutants/record/once_a_warp", "missed: bad labels in three rows", "detects nothing"},
    {"mutants/record/forward_only",
     "backward) gave silent_corruption: no fault record was written; policy report promises NaN "
     "and a right fault record of each bad row; this backward pass detects nothing",
     NULL},
    {"mutants/asserts/off", "this build detects nothing: its asserts are compiled out", NULL},
    {"rows/right", NULL, NULL},
    {"mutants/guard/trap", "gave crash: the device reported CUDA_ERROR_LAUNCH_FAILED (719)",
     "detects nothing"},
    {"mutants/guard/trap", "policy assert promises a device-side assert (error 710) with its line",
     NULL},
    {"mutants/guard/trap", "a trap ends the launch without naming anything", NULL},
};

static const lg_kernel *find(const lg_kernel_set *set, const char *name) {
    for (int64_t i = 0; i < set->n; i++) {
        if (strcmp(set->items[i].name, name) == 0) {
            return &set->items[i];
        }
    }
    return NULL;
}

static void test_each_broken_guard_is_told(void) {
    lg_diags diags = {0};
    lg_kernel_set kernels = {0};
    for (size_t i = 0; i < sizeof manifests / sizeof *manifests; i++) {
        CU_ASSERT_TRUE_FATAL(lg_kernels_read(manifests[i], &kernels, &diags));
    }
    lg_device_session *device =
        lg_device_open(lg_driver_sim(), LG_DEFAULT_NVCC, "test-cache", &diags);
    CU_ASSERT_PTR_NOT_NULL_FATAL(device);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const proof_row *row = &rows[i];
        const lg_kernel *kernel = find(&kernels, row->kernel);
        LG_CHECK_ROW(row->kernel, kernel != NULL);
        lg_arena arena = {0};
        const char *why = NULL;
        lg_proof proof =
            kernel ? lg_prove_column(device, kernel, LG_MODE_BLOCKING, &arena, &why, &diags)
                   : LG_PROOF_NONE;
        bool told = row->why ? why && strstr(why, row->why) : why == NULL;
        told = told && !(row->not &&why && strstr(why, row->not ));
        if (!told) {
            fprintf(stderr, "\n    %s: %s\n", row->kernel, why ? why : "proven");
        }
        LG_CHECK_ROW(row->kernel, proof == (row->why ? LG_PROOF_FAILED : LG_PROOF_PROVEN));
        LG_CHECK_ROW(row->kernel, told);
        lg_arena_free(&arena);
    }
    CU_ASSERT_EQUAL(diags.n_errors, 0);
    lg_diags_print(&diags, stderr);
    lg_device_close(device);
    lg_kernel_set_free(&kernels);
    lg_diags_free(&diags);
}

// What a batch of the proof must hold, by kernel: every fault that applies makes it invalid.
static void test_each_fault_that_applies_is_one(void) {
    const struct {
        const char *name;
        lg_kernel kernel;
        int n_faults;
    } kinds[] = {
        {"int64 labels",
         {.family = LG_NLL_LOSS, .target_dtypes = 1u << LG_INT64, .batched = true},
         6},
        {"uint8 labels",
         {.family = LG_CROSS_ENTROPY, .target_dtypes = 1u << LG_UINT8, .batched = true},
         4},
        {"int32 labels, spatial",
         {.family = LG_CROSS_ENTROPY, .target_dtypes = 1u << LG_INT32, .spatial = true},
         6},
        {"class probabilities",
         {.family = LG_CROSS_ENTROPY, .probability_targets = true, .batched = true},
         3},
        {"binary_cross_entropy", {.family = LG_BCE, .batched = true}, 6},
        {"with logits", {.family = LG_BCE_WITH_LOGITS, .unbatched = true}, 3},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        lg_kernel kernel = kinds[i].kernel;
        kernel.input_dtypes = 1u << LG_FLOAT32;
        int n = 0;
        for (int f = LG_PROOF_CLEAN; f < LG_N_PROOF_FAULTS; f++) {
            if (!lg_proof_applies(&kernel, (lg_proof_fault)f)) {
                continue;
            }
            n += f != LG_PROOF_CLEAN;
            lg_batch batch;
            lg_reference reference = {0};
            CU_ASSERT_TRUE_FATAL(lg_proof_batch(&kernel, (lg_proof_fault)f, LG_FORWARD, &batch));
            CU_ASSERT_TRUE_FATAL(lg_reference_compute(&batch, false, &reference));
            int64_t want = f == LG_PROOF_CLEAN ? 0 : f == LG_PROOF_SEVERAL ? 3 : 1;
            LG_CHECK_ROW(kinds[i].name, reference.n_invalid == want);
            lg_reference_free(&reference);
            lg_batch_free(&batch);
        }
        LG_CHECK_ROW(kinds[i].name, n == kinds[i].n_faults);
    }
}

int main(void) {
    const lg_test tests[] = {
        {"each broken guard is told", test_each_broken_guard_is_told},
        {"each fault that applies is one", test_each_fault_that_applies_is_one},
    };
    return lg_run_tests(LG_SUITE, tests, sizeof tests / sizeof *tests);
}
