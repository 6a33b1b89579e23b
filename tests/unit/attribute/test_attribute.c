// SPDX-License-Identifier: Apache-2.0
// What of a batch is counted and printed as evidence, and how doubt follows it.
#include "unit/attribute/batch.h"

#include <string.h>

// The same 1-based labels: the fewer rows, the less sure.
static void test_doubt_grows_in_small_batches(void) {
    double last = 0;
    const int64_t sizes[] = {2, 4, 8, 40};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        int64_t labels[40];
        for (int64_t i = 0; i < sizes[s]; i++) {
            labels[i] = i % 2 == 0 ? 2 : 1;
        }
        lg_batch batch = make_batch(2, LG_INT64, sizes[s], labels);
        lg_attribute_input input = {.batch = &batch};
        lg_finding finding;
        lg_attribute(&input, &finding);
        double p = 0;
        for (int i = 0; i < finding.n_hypotheses; i++) {
            bool here = finding.hypotheses[i].cause == LG_CAUSE_ONE_BASED_LABELS;
            p += here ? finding.hypotheses[i].probability : 0;
        }
        CU_ASSERT_TRUE(p > last);
        last = p;
        lg_finding_free(&finding);
        lg_batch_free(&batch);
    }
    CU_ASSERT_TRUE(last > 0.9 && last < 1);
}

static void test_values_are_counted(void) {
    const int64_t labels[] = {0, 9, 1, 9, -3, 9, 2, -3};
    lg_batch batch = make_batch(4, LG_INT64, 8, labels);
    lg_attribute_input input = {.batch = &batch};
    lg_finding finding;
    lg_attribute(&input, &finding);
    CU_ASSERT_EQUAL_FATAL(finding.n_values, 2);
    CU_ASSERT_EQUAL(finding.values[0].value, 9);
    CU_ASSERT_EQUAL(finding.values[0].count, 3);
    CU_ASSERT_EQUAL(finding.values[1].value, -3);
    CU_ASSERT_EQUAL(finding.values[1].count, 2);
    lg_finding_free(&finding);
    lg_batch_free(&batch);
}

static void test_evidence_prints(void) {
    const int64_t labels[] = {0, 1, 9, 9, -100, INT32_MIN};
    lg_batch batch = make_batch(4, LG_INT64, 6, labels);
    lg_label_evidence evidence;
    lg_evidence_collect(&batch, &evidence);
    CU_ASSERT_EQUAL(evidence.n_ignored, 1);
    CU_ASSERT_EQUAL(evidence.n_in_range, 2);
    CU_ASSERT_EQUAL(evidence.n_distinct_out, 2);
    CU_ASSERT_EQUAL(evidence.dominant_out, 9);
    CU_ASSERT_EQUAL(evidence.n_int_min, 1);
    lg_str text = {0};
    lg_evidence_print(&evidence, &text);
    CU_ASSERT_STRING_EQUAL(
        lg_str_text(&text),
        "labels        6 of int64, 1 ignored (-100)\n"
        "classes       head width 4\n"
        "range         -2147483648 .. 9, 4 distinct\n"
        "in range      2 labels, 2 classes, class 0 1 times\n"
        "out of range  1 negative, 0 equal to the width, 2 above it, 2 distinct\n"
        "dominant      9, 2 times\n"
        "runs          2 of one value out of range, the longest 2 times 9\n"
        "pattern       INT_MIN 1\n");
    lg_str_free(&text);
    lg_batch_free(&batch);
}

// A map of 24 x 24 labels of five classes in stripes, with 255 or another value written over it.
static lg_batch make_map(int64_t value, const int64_t *at, int64_t n) {
    lg_batch batch = {
        .loss = {.kind = LG_CROSS_ENTROPY, .ignore_index = -100, .direction = LG_FORWARD}};
    int64_t input[4] = {1, 5, 24, 24};
    int64_t target[3] = {1, 24, 24};
    CU_ASSERT_TRUE_FATAL(lg_tensor_init(&batch.input, LG_FLOAT32, 4, input));
    CU_ASSERT_TRUE_FATAL(lg_tensor_init(&batch.target, LG_INT64, 3, target));
    memset(batch.input.data, 0, lg_tensor_bytes(&batch.input));
    for (int64_t i = 0; i < 24 * 24; i++) {
        lg_tensor_set_i64(&batch.target, i, i / 24 * 5 / 24);
    }
    for (int64_t i = 0; i < n; i++) {
        lg_tensor_set_i64(&batch.target, at[i], value);
    }
    return batch;
}

static double probability_of(const lg_finding *finding, lg_cause cause) {
    double sum = 0;
    for (int i = 0; i < finding->n_hypotheses; i++) {
        const lg_hypothesis *h = &finding->hypotheses[i];
        sum += lg_hypothesis_states(h, cause) ? h->probability : 0;
    }
    return sum;
}

// The same value as often: as one area it is a mask's sentinel, scattered it may be corruption.
static void test_places_in_a_map_count(void) {
    int64_t area[36];
    int64_t scattered[36];
    for (int64_t i = 0; i < 36; i++) {
        area[i] = (8 + i / 6) * 24 + 8 + i % 6;
        scattered[i] = (i * 16 + i % 3) % (24 * 24);
    }
    const int64_t *places[] = {area, scattered};
    const int64_t joined[] = {35, 0};
    const int64_t runs[] = {6, 36};
    double sentinel[2];
    for (int i = 0; i < 2; i++) {
        lg_batch batch = make_map(200, places[i], 36);
        lg_label_evidence evidence;
        lg_evidence_collect(&batch, &evidence);
        CU_ASSERT_EQUAL(evidence.row_length, 24);
        CU_ASSERT_EQUAL(evidence.n_out_joined, joined[i]);
        CU_ASSERT_EQUAL(evidence.n_out_runs, runs[i]);
        lg_attribute_input input = {.batch = &batch};
        lg_finding finding;
        lg_attribute(&input, &finding);
        sentinel[i] = probability_of(&finding, LG_CAUSE_SENTINEL_MISMATCH);
        double corrupt = probability_of(&finding, LG_CAUSE_CORRUPT_LABELS);
        CU_ASSERT_TRUE(corrupt > 0);
        CU_ASSERT_EQUAL(corrupt < sentinel[i] * 1e-3, i == 0);
        lg_finding_free(&finding);
        lg_batch_free(&batch);
    }
    CU_ASSERT_TRUE(sentinel[0] > sentinel[1]);
}

static void test_run_evidence_prints(void) {
    const int64_t labels[] = {0, 1, 9};
    lg_batch batch = make_batch(4, LG_INT64, 3, labels);
    lg_assert_line line = {.file = "k.cu", .line = 7, .expression = "t < n", .thread = {2, 0, 0}};
    lg_fault_record record = {.row = 2, .value = 9, .upper = 4};
    lg_observation seen = {.status_text = "CUDA_ERROR_ASSERT (710)",
                           .failed_launch = "nll",
                           .n_launches = 1,
                           .surfaced_at = "cuCtxSynchronize",
                           .n_asserts = 1,
                           .n_asserts_kept = 1,
                           .asserts = &line,
                           .n_records = 1,
                           .records = &record,
                           .memory = {.present = true,
                                      .kind = LG_DEVICE_FAULT_OUT_OF_BOUNDS,
                                      .bytes = 4,
                                      .buffer = "input",
                                      .distance = 20}};
    lg_attribute_input input = {.batch = &batch, .observation = &seen};
    lg_str text = {0};
    lg_evidence_print_run(&input, &text);
    CU_ASSERT_STRING_EQUAL(lg_str_text(&text),
                           "loss          cross_entropy, mean, smoothing 0\n"
                           "input         float32 [3, 4]\n"
                           "target        int64 [3]\n"
                           "status        CUDA_ERROR_ASSERT (710)\n"
                           "failed        launch 0 of 1, nll, surfaced at cuCtxSynchronize\n"
                           "asserts       1, the first `t < n` at k.cu:7, block 0 thread 2\n"
                           "records       1 and 0 dropped, the first row 2 value 9 bounds 0..4\n"
                           "memory        read out of bounds of 4 bytes, 20 bytes off `input`\n");
    lg_str_free(&text);
    lg_batch_free(&batch);
}

static const lg_test tests[] = {
    {"places in a map count", test_places_in_a_map_count},
    {"run evidence prints", test_run_evidence_prints},
    {"doubt grows in small batches", test_doubt_grows_in_small_batches},
    {"values are counted", test_values_are_counted},
    {"evidence prints", test_evidence_prints},
};

int main(void) {
    return lg_run_tests(LG_SUITE, tests, sizeof tests / sizeof *tests);
}
