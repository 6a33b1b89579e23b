// SPDX-License-Identifier: Apache-2.0
#include "support/npz.h"

#include "support/alloc.h"
#include "unit/testing.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char *temp_path(void) {
    char name[] = "/tmp/lossgate-test-XXXXXX.npz";
    int fd = mkstemps(name, 4);
    CU_ASSERT_TRUE_FATAL(fd >= 0);
    close(fd);
    return lg_xstrdup(name);
}

static const double logits[] = {1.5, -2.0, 0.25, 4.0, -0.0, 6.0};
static const int64_t labels[] = {2, 0, INT64_MIN};

static void write_pair(const char *path) {
    lg_diags diags = {0};
    lg_npz_writer *writer = lg_npz_create(path, &diags);
    CU_ASSERT_PTR_NOT_NULL_FATAL(writer);
    lg_npz_add(writer, "logits", LG_NPY_FLOAT64, 2, (int64_t[]){3, 2}, logits);
    lg_npz_add(writer, "labels", LG_NPY_INT64, 1, (int64_t[]){3}, labels);
    lg_npz_add(writer, "none", LG_NPY_UINT8, 1, (int64_t[]){0}, NULL);
    lg_npz_add(writer, "scalar", LG_NPY_INT64, 0, NULL, labels);
    CU_ASSERT_TRUE(lg_npz_finish(writer, &diags));
    CU_ASSERT_EQUAL(diags.n, 0);
    lg_diags_free(&diags);
}

static void check_member(const char *path, const char *name, int rank, int64_t n, const void *want,
                         size_t bytes) {
    lg_diags diags = {0};
    lg_npy_header header;
    char *place = lg_xasprintf("%s:%s", path, name);
    lg_npy_reader *reader = lg_npy_open(place, &header, &diags);
    lg_diags_print(&diags, stderr);
    CU_ASSERT_PTR_NOT_NULL_FATAL(reader);
    char got[64];
    LG_CHECK_ROW(name, header.rank == rank && header.n == n);
    LG_CHECK_ROW(name, lg_npy_read(reader, got, n, &diags) == n);
    LG_CHECK_ROW(name, bytes == 0 || memcmp(got, want, bytes) == 0);
    lg_npy_close(reader);
    lg_diags_free(&diags);
    free(place);
}

static void test_round_trip(void) {
    char *path = temp_path();
    write_pair(path);
    check_member(path, "logits", 2, 6, logits, sizeof logits);
    check_member(path, "labels", 1, 3, labels, sizeof labels);
    check_member(path, "none", 1, 0, NULL, 0);
    check_member(path, "scalar", 0, 1, labels, sizeof *labels);
    unlink(path);
    free(path);
}

static void test_same_bytes(void) {
    char *paths[2] = {temp_path(), temp_path()};
    char *bytes[2];
    size_t n[2];
    for (int i = 0; i < 2; i++) {
        write_pair(paths[i]);
        bytes[i] = lg_read_file(paths[i], &n[i]);
        CU_ASSERT_PTR_NOT_NULL_FATAL(bytes[i]);
    }
    CU_ASSERT_EQUAL(n[0], n[1]);
    CU_ASSERT_TRUE(n[0] == n[1] && memcmp(bytes[0], bytes[1], n[0]) == 0);
    for (int i = 0; i < 2; i++) {
        unlink(paths[i]);
        free(paths[i]);
        free(bytes[i]);
    }
}

static void test_failures(void) {
    char *path = temp_path();
    lg_diags diags = {0};
    lg_npz_writer *writer = lg_npz_create(path, &diags);
    CU_ASSERT_PTR_NOT_NULL_FATAL(writer);
    lg_npz_add(writer, "absurd", LG_NPY_INT64, 2, (int64_t[]){INT64_MAX, INT64_MAX}, labels);
    lg_npz_add(writer, "fine", LG_NPY_INT64, 1, (int64_t[]){3}, labels);
    CU_ASSERT_FALSE(lg_npz_finish(writer, &diags));
    CU_ASSERT_EQUAL_FATAL(diags.n, 1);
    CU_ASSERT_PTR_NOT_NULL(strstr(diags.items[0].message, "absurd shape"));
    unlink(path);
    free(path);

    writer = lg_npz_create("/nowhere/at/all.npz", &diags);
    // A missing folder shows when the archive is made or when it is written.
    if (writer) {
        lg_npz_add(writer, "fine", LG_NPY_INT64, 1, (int64_t[]){3}, labels);
        CU_ASSERT_FALSE(lg_npz_finish(writer, &diags));
    }
    CU_ASSERT_EQUAL(diags.n, 2);
    CU_ASSERT_EQUAL(diags.n_errors, 2);
    lg_diags_free(&diags);
}

int main(void) {
    static const lg_test tests[] = {
        {"round trip", test_round_trip},
        {"the same bytes", test_same_bytes},
        {"failures", test_failures},
    };
    return lg_run_tests("npz", tests, sizeof tests / sizeof *tests);
}
