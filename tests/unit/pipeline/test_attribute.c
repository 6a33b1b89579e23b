// SPDX-License-Identifier: Apache-2.0
// What a finding says of hand-made batches: the public reports, and what no batch can tell.
#include "pipeline/attribute.h"
#include "unit/testing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_LABELS = 10000 };

typedef struct label_row {
    const char *name;
    int64_t width;
    int64_t classes; // declared; 0: unknown
    int64_t ignore_index;
    lg_dtype dtype;
    int64_t n; // labels listed; 0: use `fill`
    int64_t labels[12];
    void (*fill)(int64_t *labels, int64_t *n);
    lg_cause cause;
    lg_cause also_named[2];
    lg_cause not_named;
    bool ambiguous;
    bool certain;
    bool uncertain;         // must not be certain
    lg_cause only_possible; // not among those named, and not excluded either
    int64_t n_bad;
    const char *advice; // part of the first hypothesis's advice, or NULL
} label_row;

// A cheap scatter of 0..n-1 that favours no class.
static int64_t spread(int64_t i, int64_t classes) {
    return (int64_t)((uint64_t)i * UINT64_C(0x9e3779b97f4a7c15) >> 33) % classes;
}

static void fill_one_to_101(int64_t *labels, int64_t *n) {
    *n = 101;
    for (int64_t i = 0; i < *n; i++) {
        labels[i] = i + 1;
    }
}

static void fill_one_to_5(int64_t *labels, int64_t *n) {
    *n = 500;
    for (int64_t i = 0; i < *n; i++) {
        labels[i] = 1 + spread(i, 5);
    }
}

static void fill_one_to_254(int64_t *labels, int64_t *n) {
    *n = 508;
    for (int64_t i = 0; i < *n; i++) {
        labels[i] = 1 + i % 254;
    }
}

static void fill_r05(int64_t *labels, int64_t *n) {
    *n = 16;
    for (int64_t i = 0; i < *n; i++) {
        labels[i] = i * 12;
    }
    labels[9] = 195;
}

static void fill_r07(int64_t *labels, int64_t *n) {
    *n = 32;
    for (int64_t i = 0; i < *n; i++) {
        labels[i] = i < 27 ? -100 : i % 2;
    }
}

static void fill_r08(int64_t *labels, int64_t *n) {
    *n = 400;
    for (int64_t i = 0; i < *n; i++) {
        labels[i] = i % 5 == 0 ? 250 : spread(i, 19);
    }
}

static void fill_r09(int64_t *labels, int64_t *n) {
    *n = 400;
    for (int64_t i = 0; i < *n; i++) {
        labels[i] = i % 5 == 0 ? 255 : spread(i, 21);
    }
}

static void fill_r10(int64_t *labels, int64_t *n) {
    *n = 16;
    for (int64_t i = 0; i < *n; i++) {
        labels[i] = i * 20;
    }
    labels[14] = labels[15] = 320;
}

static void fill_r13(int64_t *labels, int64_t *n) {
    *n = 200;
    for (int64_t i = 0; i < *n; i++) {
        labels[i] = i % 67 == 0 ? INT32_MIN : spread(i, 10);
    }
}

static void fill_r14(int64_t *labels, int64_t *n) {
    *n = 100;
    for (int64_t i = 0; i < *n; i++) {
        labels[i] = i % 25 == 0 ? INT64_C(0x7f3a1c40e2d0) + 64 * i : spread(i, 50);
    }
}

static void fill_r15(int64_t *labels, int64_t *n) {
    *n = 210;
    for (int64_t i = 0; i < *n; i++) {
        labels[i] = spread(i, 8);
    }
}

static void fill_r24(int64_t *labels, int64_t *n) {
    *n = 500;
    for (int64_t i = 0; i < *n; i++) {
        labels[i] = i % 9 == 0 ? 255 : spread(i, 3);
    }
    labels[310] = 254;
}

static void fill_over_shifted(int64_t *labels, int64_t *n) {
    *n = 500;
    for (int64_t i = 0; i < *n; i++) {
        labels[i] = spread(i, 8) - 1;
    }
}

static void fill_one_of_many(int64_t *labels, int64_t *n) {
    *n = 10000;
    for (int64_t i = 0; i < *n; i++) {
        labels[i] = spread(i, 10);
    }
    labels[777] = 10;
}

static void fill_float64_bits(int64_t *labels, int64_t *n) {
    *n = 40;
    for (int64_t i = 0; i < *n; i++) {
        double label = (double)spread(i, 10);
        memcpy(&labels[i], &label, sizeof label);
    }
}

static void fill_float32_bits(int64_t *labels, int64_t *n) {
    *n = 40;
    for (int64_t i = 0; i < *n; i++) {
        float pair[2] = {(float)(1 + spread(i, 9)), (float)spread(i + 40, 10)};
        memcpy(&labels[i], pair, sizeof pair);
    }
}

static void fill_int32_pairs(int64_t *labels, int64_t *n) {
    *n = 40;
    for (int64_t i = 0; i < *n; i++) {
        labels[i] = spread(i, 10) + (1 + spread(i + 40, 9)) * (INT64_C(1) << 32);
    }
}

static void fill_sign_bytes(int64_t *labels, int64_t *n) {
    *n = 300;
    for (int64_t i = 0; i < *n; i++) {
        labels[i] = (int8_t)(uint8_t)spread(i, 200);
    }
}

#define C(id) LG_CAUSE_##id

static const label_row rows[] = {
    {"R01 labels 1..101 of C=101", 101, 101, -100, LG_INT64, .fill = fill_one_to_101,
     .cause = C(ONE_BASED_LABELS), .not_named = C(NEGATIVE_LABELS), .ambiguous = true, .n_bad = 1,
     .advice = "subtract 1"},
    {"R02 small, 1-based",
     3,
     3,
     -100,
     LG_INT64,
     8,
     {2, 2, 3, 1, 1, 2, 3, 3},
     .cause = C(ONE_BASED_LABELS),
     .also_named = {C(WRONG_HEAD_WIDTH)},
     .ambiguous = true,
     .n_bad = 3},
    {"R04 head 4 fits", 4, 0, -100, LG_INT64, 8, {0, 1, 2, 3, 3, 2, 1, 0}, .cause = C(NONE)},
    {"R04 head 2, K declared",
     2,
     4,
     -100,
     LG_INT64,
     8,
     {0, 1, 2, 3, 3, 2, 1, 0},
     .cause = C(WRONG_HEAD_WIDTH),
     .certain = true,
     .n_bad = 4,
     .advice = "out_features = 4"},
    {"R05 one label C", 195, 195, -100, LG_INT64, .fill = fill_r05, .cause = C(LABEL_EQUALS_WIDTH),
     .also_named = {C(WRONG_HEAD_WIDTH)}, .not_named = C(ONE_BASED_LABELS), .ambiguous = true,
     .n_bad = 1},
    {"R06 one output under softmax",
     1,
     2,
     -100,
     LG_INT64,
     4,
     {0, 0, 0, 0},
     .cause = C(WRONG_HEAD_WIDTH),
     .certain = true},
    {"R07 -100 dominates, ignore -1", 2, 2, -1, LG_INT64, .fill = fill_r07,
     .cause = C(SENTINEL_MISMATCH), .n_bad = 27, .advice = "ignore_index: -100"},
    {"R08 250 where 255 is ignored", 19, 19, 255, LG_INT64, .fill = fill_r08,
     .cause = C(SENTINEL_MISMATCH), .n_bad = 80, .advice = "ignore_index: 250"},
    {"R09 255 and no ignore value", 21, 21, -100, LG_INT64, .fill = fill_r09,
     .cause = C(SENTINEL_MISMATCH), .n_bad = 80, .advice = "ignore_index: 255"},
    {"R10 two labels C", 320, 320, -100, LG_INT64, .fill = fill_r10, .cause = C(LABEL_EQUALS_WIDTH),
     .not_named = C(ONE_BASED_LABELS), .ambiguous = true, .n_bad = 2},
    {"R12 1..5 of C=5", 5, 5, -100, LG_INT64, .fill = fill_one_to_5, .cause = C(ONE_BASED_LABELS),
     .also_named = {C(WRONG_HEAD_WIDTH)}, .only_possible = C(LABEL_EQUALS_WIDTH), .ambiguous = true,
     .n_bad = 104},
    {"R13 INT_MIN", 10, 10, -100, LG_INT64, .fill = fill_r13, .cause = C(CORRUPT_LABELS),
     .certain = true, .n_bad = 3},
    {"R14 addresses", 50, 50, -100, LG_INT64, .fill = fill_r14, .cause = C(CORRUPT_LABELS),
     .certain = true, .n_bad = 4},
    {"R15 uint8 is not to blame", 6, 0, -100, LG_UINT8, .fill = fill_r15,
     .cause = C(WRONG_HEAD_WIDTH), .not_named = C(TARGET_DTYPE), .n_bad = 52,
     .advice = "out_features = 8"},
    {"R17 wide labels",
     5,
     5,
     -100,
     LG_INT64,
     3,
     {0, (INT64_C(1) << 32) + 2, 1},
     .cause = C(TARGET_DTYPE),
     .n_bad = 1},
    {"R24 one pixel 254", 3, 3, 255, LG_INT64, .fill = fill_r24, .cause = C(CORRUPT_LABELS),
     .not_named = C(SENTINEL_MISMATCH), .n_bad = 1},
    {"R26 N=1, label C",
     10,
     10,
     -100,
     LG_INT64,
     1,
     {10},
     .cause = C(LABEL_EQUALS_WIDTH),
     .also_named = {C(ONE_BASED_LABELS), C(WRONG_HEAD_WIDTH)},
     .ambiguous = true,
     .n_bad = 1},
    {"R27 -7 among four",
     3,
     3,
     -100,
     LG_INT64,
     4,
     {-7, 0, 1, 2},
     .cause = C(NEGATIVE_LABELS),
     .n_bad = 1},
    {"two labels of three classes prove nothing",
     3,
     3,
     -100,
     LG_INT64,
     4,
     {1, 2, 1, 2},
     .cause = C(NONE)},
    {"over-shifted", 8, 8, -100, LG_INT64, .fill = fill_over_shifted,
     .cause = C(OVER_SHIFTED_LABELS), .uncertain = true, .n_bad = 63, .advice = "add 1"},
    {"one label C among 10,000 of ten classes", 10, 10, -100, LG_INT64, .fill = fill_one_of_many,
     .cause = C(LABEL_EQUALS_WIDTH), .only_possible = C(WRONG_HEAD_WIDTH), .uncertain = true,
     .n_bad = 1},
    {"bits of float64", 10, 10, -100, LG_INT64, .fill = fill_float64_bits,
     .cause = C(FLOAT_TARGETS), .certain = true, .n_bad = 35},
    {"bits of float32", 10, 10, -100, LG_INT64, .fill = fill_float32_bits,
     .cause = C(FLOAT_TARGETS), .certain = true, .n_bad = 40},
    {"int32 pairs", 10, 10, -100, LG_INT64, .fill = fill_int32_pairs, .cause = C(TARGET_DTYPE),
     .certain = true, .n_bad = 40},
    {"bytes read as signed", 200, 200, -100, LG_INT64, .fill = fill_sign_bytes,
     .cause = C(TARGET_DTYPE), .certain = true, .n_bad = 104},
    {"ignored class 0 is not missing",
     3,
     3,
     0,
     LG_INT64,
     8,
     {0, 1, 2, 0, 1, 2, 2, 1},
     .cause = C(NONE)},
    {"R41 all ignored",
     10,
     10,
     -100,
     LG_INT64,
     5,
     {-100, -100, -100, -100, -100},
     .cause = C(NO_SUPERVISED_ROW),
     .certain = true},
    {"an ignored value beyond the classes takes none of them", 254, 254, 255, LG_INT64,
     .fill = fill_one_to_254, .cause = C(ONE_BASED_LABELS), .also_named = {C(WRONG_HEAD_WIDTH)},
     .ambiguous = true, .n_bad = 2},
    {"no rows", 10, 10, -100, LG_INT64, .fill = NULL, .n = 0, .cause = C(NONE)},
};

static lg_batch make_batch(int64_t width, lg_dtype dtype, int64_t n, const int64_t *labels) {
    lg_batch batch = {.loss = {.kind = LG_CROSS_ENTROPY,
                               .reduction = LG_REDUCTION_MEAN,
                               .ignore_index = -100,
                               .direction = LG_FORWARD}};
    int64_t shape[2] = {n, width};
    CU_ASSERT_TRUE_FATAL(lg_tensor_init(&batch.input, LG_FLOAT32, 2, shape));
    CU_ASSERT_TRUE_FATAL(lg_tensor_init(&batch.target, dtype, 1, shape));
    for (int64_t i = 0; i < n * width; i++) {
        lg_tensor_set_f64(&batch.input, i, (double)(i % 7) / 4);
    }
    for (int64_t i = 0; i < n; i++) {
        lg_tensor_set_i64(&batch.target, i, labels[i]);
    }
    return batch;
}

static void check_probabilities(const char *name, const lg_finding *finding) {
    double sum = 0;
    for (int i = 0; i < finding->n_hypotheses; i++) {
        const lg_hypothesis *h = &finding->hypotheses[i];
        sum += h->probability;
        LG_CHECK_ROW(name, i == 0 || h->probability <= finding->hypotheses[i - 1].probability);
        LG_CHECK_ROW(name, h->evidence != NULL);
    }
    LG_CHECK_ROW(name, finding->n_hypotheses == 0 || fabs(sum - 1) < 1e-9);
}

static void check_row(const label_row *row) {
    int64_t labels[MAX_LABELS];
    int64_t n = row->n;
    memcpy(labels, row->labels, sizeof row->labels);
    if (row->fill) {
        row->fill(labels, &n);
    }
    lg_batch batch = make_batch(row->width, row->dtype, n, labels);
    batch.classes = row->classes;
    batch.loss.ignore_index = row->ignore_index;
    lg_attribute_input input = {.batch = &batch};
    lg_finding finding;
    lg_attribute(&input, &finding);
    bool fine = finding.cause == row->cause && finding.ambiguous == row->ambiguous &&
                (!row->certain || finding.certain) && (!row->uncertain || !finding.certain) &&
                finding.n_rows == row->n_bad;
    if (!fine) {
        fprintf(stderr, "\n    '%s': found %s, p %.3g, certain %d, ambiguous %d, %lld rows: %s\n",
                row->name, lg_cause_name(finding.cause),
                finding.n_hypotheses ? finding.hypotheses[0].probability : 0, finding.certain,
                finding.ambiguous, (long long)finding.n_rows,
                finding.headline ? finding.headline : "");
        for (int i = 0; i < finding.n_named; i++) {
            fprintf(stderr, "        %s + %s %.3g\n", lg_cause_name(finding.hypotheses[i].cause),
                    lg_cause_name(finding.hypotheses[i].with), finding.hypotheses[i].probability);
        }
    }
    LG_CHECK_ROW(row->name, fine);
    LG_CHECK_ROW(row->name, !(finding.certain && finding.ambiguous));
    for (int i = 0; i < 2; i++) {
        LG_CHECK_ROW(row->name, row->also_named[i] == LG_CAUSE_NONE ||
                                    lg_finding_names(&finding, row->also_named[i]));
    }
    LG_CHECK_ROW(row->name,
                 row->not_named == LG_CAUSE_NONE || !lg_finding_names(&finding, row->not_named));
    bool contends = false;
    for (int i = 0; i < finding.n_named; i++) {
        contends = contends || finding.hypotheses[i].cause == row->only_possible ||
                   finding.hypotheses[i].with == row->only_possible;
    }
    LG_CHECK_ROW(row->name, row->only_possible == LG_CAUSE_NONE ||
                                (!contends && lg_finding_names(&finding, row->only_possible)));
    bool advised = !row->advice || (finding.n_hypotheses > 0 && finding.hypotheses[0].advice &&
                                    strstr(finding.hypotheses[0].advice, row->advice));
    LG_CHECK_ROW(row->name, advised);
    check_probabilities(row->name, &finding);
    // Each row listed is out of range and not ignored, and no other row is.
    int64_t at = 0;
    for (int64_t i = 0; i < n; i++) {
        int64_t label = lg_tensor_get_i64(&batch.target, i);
        bool bad = label != row->ignore_index && (label < 0 || label >= row->width);
        bool listed = at < finding.n_rows && finding.rows[at] == i;
        at += listed;
        LG_CHECK_ROW(row->name, bad == listed);
    }
    lg_finding_free(&finding);
    lg_batch_free(&batch);
}

static void test_labels(void) {
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        check_row(&rows[i]);
    }
}

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
        sum += h->cause == cause || h->with == cause ? h->probability : 0;
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
                                      .kind = "read out of bounds",
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
    {"labels", test_labels},
    {"doubt grows in small batches", test_doubt_grows_in_small_batches},
    {"values are counted", test_values_are_counted},
    {"evidence prints", test_evidence_prints},
};

int main(void) {
    return lg_run_tests("pipeline/attribute", tests, sizeof tests / sizeof *tests);
}
