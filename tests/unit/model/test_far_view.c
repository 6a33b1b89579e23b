// SPDX-License-Identifier: Apache-2.0
// Which strides make a far view, which none, and in which order its elements lie.
#include "model/far_view.h"
#include "unit/testing.h"

#include <string.h>

#define FAR INT64_C(3000000000)

static void test_reach(void) {
    static const struct {
        const char *name;
        int rank;
        int64_t shape[3], stride[3];
        size_t element;
        lg_view_reach reach;
        int64_t bytes, n;
    } rows[] = {
        {"contiguous", 2, {3, 4}, {4, 1}, 4, LG_VIEW_NEAR, 48, 12},
        {"a scalar", 0, {0}, {0}, 8, LG_VIEW_NEAR, 8, 1},
        {"nothing", 2, {0, 4}, {FAR, 1}, 4, LG_VIEW_NEAR, 0, 4},
        {"rows far apart", 2, {3, 4}, {FAR, 1}, 4, LG_VIEW_FAR, (2 * FAR + 4) * 4, 12},
        {"classes far apart", 2, {3, 4}, {1, FAR}, 4, LG_VIEW_FAR, (3 * FAR + 3) * 4, 12},
        {"one far row", 2, {1, 4}, {FAR, 1}, 4, LG_VIEW_NEAR, 16, 4},
        {"expanded and far", 2, {5, 4}, {0, FAR}, 2, LG_VIEW_FAR, (3 * FAR + 1) * 2, 4},
        {"just near", 1, {2}, {(LG_FAR_BYTES / 4) - 1}, 4, LG_VIEW_NEAR, LG_FAR_BYTES, 2},
        {"just far", 1, {2}, {LG_FAR_BYTES / 4}, 4, LG_VIEW_FAR, LG_FAR_BYTES + 4, 2},
        {"many, held whole", 1, {4097}, {1 << 18}, 4, LG_VIEW_NEAR, (4096LL << 20) + 4, 4097},
        {"as many as may be", 1, {4096}, {1 << 24}, 4, LG_VIEW_FAR, (4095LL << 26) + 4, 4096},
        {"too many", 1, {4097}, {1 << 24}, 4, LG_VIEW_CROWDED, (4096LL << 26) + 4, 4097},
        {"overlapping", 2, {3, 4}, {FAR, FAR}, 4, LG_VIEW_OVERLAPS, (5 * FAR + 1) * 4, 12},
        {"interleaved", 2, {3, 4}, {2 * FAR, 3 * FAR}, 4, LG_VIEW_OVERLAPS, (13 * FAR + 1) * 4, 12},
        {"touching", 2, {2, 4}, {4 * FAR, FAR}, 4, LG_VIEW_FAR, (7 * FAR + 1) * 4, 8},
        {"a tebibyte", 1, {2}, {(INT64_C(1) << 37) - 1}, 8, LG_VIEW_FAR, INT64_C(1) << 40, 2},
        {"beyond", 1, {2}, {INT64_C(1) << 37}, 8, LG_VIEW_BEYOND, (INT64_C(1) << 40) + 8, 2},
        {"beyond all numbers", 1, {3}, {INT64_MAX}, 8, LG_VIEW_BEYOND, INT64_MAX, 3},
        {"beyond in bytes", 1, {2}, {INT64_MAX - 1}, 8, LG_VIEW_BEYOND, INT64_MAX, 2},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int64_t bytes, n;
        lg_view_reach reach = lg_view_reach_of(rows[i].element, rows[i].rank, rows[i].shape,
                                               rows[i].stride, &bytes, &n);
        LG_CHECK_ROW(rows[i].name, reach == rows[i].reach);
        LG_CHECK_ROW(rows[i].name, bytes == rows[i].bytes);
        LG_CHECK_ROW(rows[i].name, n == rows[i].n);
    }
}

// The host's side is a packed array of the same values; the walk goes by address.
static void test_tensor(void) {
    const int64_t shape[] = {2, 3, 2}, stride[] = {1, FAR, 0};
    lg_tensor t, like, copy;
    CU_ASSERT_TRUE_FATAL(lg_tensor_init_far(&t, LG_INT32, 3, shape, stride));
    CU_ASSERT_EQUAL(t.n_stored, 6); // the expanded dimension once
    CU_ASSERT_FALSE(lg_tensor_is_contiguous(&t));
    CU_ASSERT_EQUAL(memcmp(lg_tensor_given_stride(&t), stride, sizeof stride), 0);
    for (int64_t i = 0; i < 12; i++) {
        lg_tensor_set_i64(&t, i, i / 2);
    }
    for (int64_t i = 0; i < 12; i++) {
        CU_ASSERT_EQUAL(lg_tensor_get_i64(&t, i), i / 2);
    }
    lg_far_walk walk = lg_far_walk_of(&t);
    static const int64_t far[] = {0, 1, FAR, FAR + 1, 2 * FAR, 2 * FAR + 1};
    static const int32_t values[] = {0, 3, 1, 4, 2, 5};
    CU_ASSERT_EQUAL_FATAL(walk.n, 6);
    for (int64_t i = 0; i < 6; i++) {
        int64_t offset, stored;
        lg_far_walk_at(&walk, i, &offset, &stored);
        CU_ASSERT_EQUAL(offset, far[i]);
        CU_ASSERT_EQUAL(((const int32_t *)t.data)[stored], values[i]);
    }
    const int64_t part[] = {2, 2, 2};
    CU_ASSERT_TRUE_FATAL(lg_tensor_init_like(&like, LG_UINT8, part, &t));
    CU_ASSERT_TRUE(like.is_far);
    CU_ASSERT_EQUAL(like.n_stored, 4);
    CU_ASSERT_EQUAL(lg_tensor_given_stride(&like)[1], FAR);
    CU_ASSERT_EQUAL(lg_tensor_get_i64(&like, 7), 0);
    CU_ASSERT_TRUE_FATAL(lg_tensor_copy(&copy, &t));
    CU_ASSERT_TRUE(copy.is_far);
    CU_ASSERT_EQUAL(lg_tensor_get_i64(&copy, 11), 5);
    lg_tensor_free(&copy);
    lg_tensor_free(&like);
    lg_tensor_free(&t);
}

int main(void) {
    static const lg_test tests[] = {{"reach", test_reach}, {"tensor", test_tensor}};
    return lg_run_tests("far views", tests, sizeof tests / sizeof *tests);
}
