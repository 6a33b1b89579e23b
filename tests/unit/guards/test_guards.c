// SPDX-License-Identifier: Apache-2.0
// Each guard on labels written by hand.
#include "guards/guards.h"

#include "unit/testing.h"

#include <string.h>

enum { MAX_LABELS = 12 };

typedef struct check_row {
    const char *name;
    lg_guard guard;
    int64_t labels[MAX_LABELS];
    int n;
    lg_dtype dtype; // NONE: int64
    int64_t width;  // 0: 3
    bool signalled;
    lg_cause cause;
    int n_rows; // 0: the guard names no rows
    int64_t rows[MAX_LABELS];
} check_row;

// With -100 as the ignored label.
#define LABELS(...)                                                                                \
    .labels = {__VA_ARGS__}, .n = (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t))

static const check_row checks[] = {
    {"range: all classes", LG_GUARD_LABELS_IN_RANGE, LABELS(0, 1, 2, 2)},
    {"range: C", LG_GUARD_LABELS_IN_RANGE, LABELS(0, 1, 3, 2), .signalled = true},
    {"range: -1", LG_GUARD_LABELS_IN_RANGE, LABELS(-1, 1), .signalled = true},
    {"range: ignored out of range", LG_GUARD_LABELS_IN_RANGE, LABELS(-100, 1)},
    {"range: no label", LG_GUARD_LABELS_IN_RANGE, .n = 0},
    {"range: INT64_MIN", LG_GUARD_LABELS_IN_RANGE, LABELS(INT64_MIN), .signalled = true},
    {"distinct: as many", LG_GUARD_N_DISTINCT_EQUALS_C, LABELS(0, 1, 2, 2, 0)},
    {"distinct: 1..C are as many", LG_GUARD_N_DISTINCT_EQUALS_C, LABELS(1, 2, 3)},
    {"distinct: one class is missing by chance", LG_GUARD_N_DISTINCT_EQUALS_C, LABELS(0, 0, 2),
     .signalled = true},
    {"distinct: more than the head", LG_GUARD_N_DISTINCT_EQUALS_C, LABELS(0, 1, 2, 3, 4),
     .signalled = true, .cause = LG_CAUSE_WRONG_HEAD_WIDTH},
    {"distinct: out-of-range values count once", LG_GUARD_N_DISTINCT_EQUALS_C,
     LABELS(-5, 9, -5, 9, 1, -5)},
    {"distinct: ignored ones do not count", LG_GUARD_N_DISTINCT_EQUALS_C, LABELS(0, -100, 1),
     .width = 2},
    {"width: max + 1", LG_GUARD_WIDTH_EQUALS_MAX_PLUS_1, LABELS(0, 2)},
    {"width: the last class is not in the batch", LG_GUARD_WIDTH_EQUALS_MAX_PLUS_1, LABELS(0, 1),
     .signalled = true},
    {"width: a label beyond the head", LG_GUARD_WIDTH_EQUALS_MAX_PLUS_1, LABELS(0, 3),
     .signalled = true, .cause = LG_CAUSE_WRONG_HEAD_WIDTH},
    {"width: a negative label goes unseen", LG_GUARD_WIDTH_EQUALS_MAX_PLUS_1, LABELS(-7, 2)},
    {"dtype: int64 whatever it holds", LG_GUARD_DTYPE_IS_INT64, LABELS(77)},
    {"dtype: uint8", LG_GUARD_DTYPE_IS_INT64, LABELS(1), .dtype = LG_UINT8, .signalled = true,
     .cause = LG_CAUSE_TARGET_DTYPE},
    {"dtype: float32", LG_GUARD_DTYPE_IS_INT64, LABELS(1), .dtype = LG_FLOAT32, .signalled = true,
     .cause = LG_CAUSE_FLOAT_TARGETS},
    {"wrapper: names the rows", LG_GUARD_WRAPPER, LABELS(3, 0, -1, -100, 4), .signalled = true,
     .n_rows = 3, .rows = {0, 2, 4}},
    {"wrapper: quiet", LG_GUARD_WRAPPER, LABELS(2, 0)},
    {"assert: names the threads of one block", LG_GUARD_DEVICE_ASSERT, LABELS(0, 3, 1),
     .signalled = true, .n_rows = 1, .rows = {1}},
    {"compiled out: says nothing", LG_GUARD_COMPILED_OUT, LABELS(3, -1)},
    {"clamp: says nothing", LG_GUARD_CLAMP, LABELS(3, -1)},
    {"subtract: says nothing", LG_GUARD_SUBTRACT_ONE, LABELS(0)},
    {"smoothing: says nothing", LG_GUARD_LABEL_SMOOTHING, LABELS(3)},
};

static void test_checks(void) {
    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++) {
        const check_row *row = &checks[i];
        lg_guard_view view = {.n = row->n,
                              .labels = row->labels,
                              .head_width = row->width ? row->width : 3,
                              .ignore_index = -100,
                              .dtype = row->dtype ? row->dtype : LG_INT64};
        int64_t rows[MAX_LABELS];
        lg_guard_report report = lg_guard_check(row->guard, &view, rows);
        LG_CHECK_ROW(row->name, report.signalled == row->signalled);
        LG_CHECK_ROW(row->name, report.cause == row->cause);
        LG_CHECK_ROW(row->name, report.names_rows == (row->n_rows > 0));
        if (row->n_rows > 0) {
            LG_CHECK_ROW(row->name, report.n_rows == row->n_rows);
            LG_CHECK_ROW(row->name,
                         memcmp(rows, row->rows, (size_t)row->n_rows * sizeof *rows) == 0);
        }
    }
}

// Of 33 rows an assert's block and thread tell the row only up to the block size.
static void test_assert_beyond_one_block(void) {
    int64_t labels[33] = {0};
    int64_t rows[33];
    labels[32] = 5;
    lg_guard_view view = {
        .n = 33, .labels = labels, .head_width = 2, .ignore_index = -100, .dtype = LG_INT64};
    lg_guard_report report = lg_guard_check(LG_GUARD_DEVICE_ASSERT, &view, rows);
    CU_ASSERT_TRUE(report.signalled && !report.names_rows);
    report = lg_guard_check(LG_GUARD_WRAPPER, &view, rows);
    CU_ASSERT_TRUE(report.signalled && report.names_rows && report.n_rows == 1 && rows[0] == 32);
}

static void test_changes(void) {
    static const int64_t labels[] = {-100, -1, 0, 1, 2, 3, INT64_MAX, INT64_MIN};
    static const int64_t clamped[] = {0, 0, 0, 1, 2, 2, 2, 0};
    static const int64_t less[] = {-101, -2, -1, 0, 1, 2, INT64_MAX - 1, INT64_MAX};
    enum { N = sizeof labels / sizeof *labels };
    lg_guard_view view = {
        .n = N, .labels = labels, .head_width = 3, .ignore_index = -100, .dtype = LG_INT64};
    int64_t out[N];
    CU_ASSERT_TRUE(lg_guard_change(LG_GUARD_CLAMP, &view, out));
    CU_ASSERT_EQUAL(memcmp(out, clamped, sizeof out), 0);
    CU_ASSERT_TRUE(lg_guard_change(LG_GUARD_SUBTRACT_ONE, &view, out));
    CU_ASSERT_EQUAL(memcmp(out, less, sizeof out), 0);
    CU_ASSERT_FALSE(lg_guard_change(LG_GUARD_LABELS_IN_RANGE, &view, out));
    CU_ASSERT_FALSE(lg_guard_change(LG_GUARD_COMPILED_OUT, &view, out));
}

// One bad row of 1000, and 1000 numbers of a batch: the shares that sampling promises, and the same
// draws again.
static void test_sampling(void) {
    enum { N = 1000 };
    int64_t labels[N] = {0};
    labels[123] = 9;
    int by_batch = 0;
    int by_row = 0;
    for (uint64_t number = 0; number < 1000; number++) {
        lg_guard_view view = {.n = N,
                              .labels = labels,
                              .head_width = 2,
                              .ignore_index = -100,
                              .dtype = LG_INT64,
                              .seed = 5,
                              .number = number};
        bool batch = lg_guard_check(LG_GUARD_SAMPLED_BATCHES, &view, NULL).signalled;
        bool row = lg_guard_check(LG_GUARD_SAMPLED_ROWS, &view, NULL).signalled;
        CU_ASSERT_EQUAL(lg_guard_check(LG_GUARD_SAMPLED_ROWS, &view, NULL).signalled, row);
        by_batch += batch;
        by_row += row;
    }
    // 0.1 of 1000, and 1 - (1 - 1/1000)^100 = 0.0952 of 1000; four standard deviations are 38.
    CU_ASSERT_TRUE(by_batch > 62 && by_batch < 138);
    CU_ASSERT_TRUE(by_row > 57 && by_row < 133);
    lg_guard_view none = {.n = 0, .labels = labels, .head_width = 2, .dtype = LG_INT64};
    CU_ASSERT_FALSE(lg_guard_check(LG_GUARD_SAMPLED_ROWS, &none, NULL).signalled);
}

static void test_names(void) {
    CU_ASSERT_STRING_EQUAL(lg_guard_name(LG_GUARD_CLAMP), "clamp_into_range");
    CU_ASSERT_STRING_EQUAL(lg_guard_name(LG_N_GUARDS), "invalid");
    for (int g = 0; g < LG_N_GUARDS; g++) {
        CU_ASSERT_TRUE(strlen(lg_guard_help((lg_guard)g)) > 0);
    }
}

int main(void) {
    static const lg_test tests[] = {
        {"checks", test_checks},   {"an assert beyond one block", test_assert_beyond_one_block},
        {"changes", test_changes}, {"sampling", test_sampling},
        {"names", test_names},
    };
    return lg_run_tests("guards", tests, sizeof tests / sizeof *tests);
}
