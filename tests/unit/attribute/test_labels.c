// SPDX-License-Identifier: Apache-2.0
// What a finding says of labels by hand: the public reports, and what no batch can tell.
#include "unit/attribute/batch.h"

#include <math.h>
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
        int64_t byte = spread(i, 200);
        labels[i] = byte < 128 ? byte : byte - 256;
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
            lg_str stated = {0};
            lg_hypothesis_print(&finding.hypotheses[i], &stated);
            fprintf(stderr, "        %s %.3g\n", lg_str_text(&stated),
                    finding.hypotheses[i].probability);
            lg_str_free(&stated);
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
        contends = contends || lg_hypothesis_states(&finding.hypotheses[i], row->only_possible);
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

static const lg_test tests[] = {{"labels", test_labels}};

int main(void) {
    return lg_run_tests(LG_SUITE, tests, sizeof tests / sizeof *tests);
}
