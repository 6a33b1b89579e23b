// SPDX-License-Identifier: Apache-2.0
// Strict numbers, strings, arenas and diagnostics.
#include "support/arena.h"
#include "support/error.h"
#include "support/str.h"
#include "support/strparse.h"
#include "unit/testing.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef struct int_row {
    const char *text;
    bool ok;
    int64_t value;
} int_row;

static void test_integers(void) {
    static const int_row rows[] = {
        {"0", true, 0},
        {"-7", true, -7},
        {"+7", true, 7},
        {"007", true, 7},
        {"9223372036854775807", true, INT64_MAX},
        {"-9223372036854775808", true, INT64_MIN},
        {"9223372036854775808", false, 0},
        {"12abc", false, 0},
        {"0x10", false, 0},
        {"1e3", false, 0},
        {"1.0", false, 0},
        {"", false, 0},
        {"-", false, 0},
        {" 1", false, 0},
        {"1 ", false, 0},
        {"nan", false, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int64_t value = 0;
        LG_CHECK_ROW(rows[i].text, lg_parse_i64(rows[i].text, &value) == rows[i].ok);
        LG_CHECK_ROW(rows[i].text, value == rows[i].value);
    }
    uint64_t value;
    CU_ASSERT_TRUE(lg_parse_u64("18446744073709551615", &value) && value == UINT64_MAX);
    CU_ASSERT_FALSE(lg_parse_u64("18446744073709551616", &value));
    CU_ASSERT_FALSE(lg_parse_u64("-1", &value));
    CU_ASSERT_FALSE(lg_parse_u64("+1", &value));
}

static void test_reals(void) {
    double value;
    CU_ASSERT_TRUE(lg_parse_f64("1e-3", &value) && value == 1e-3);
    CU_ASSERT_TRUE(lg_parse_f64("-0", &value) && signbit(value));
    CU_ASSERT_TRUE(lg_parse_f64("-.inf", &value) && value == -INFINITY);
    CU_ASSERT_TRUE(lg_parse_f64("inf", &value) && value == INFINITY);
    CU_ASSERT_TRUE(lg_parse_f64(".NaN", &value) && isnan(value));
    static const char *const refused[] = {"", "x", "1x", "0x1p3", "1e999", "1e", " 1", "1,5", "e5"};
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        LG_CHECK_ROW(refused[i], !lg_parse_f64(refused[i], &value));
    }
}

static void test_nearest(void) {
    static const char *const names[] = {"reduction", "ignore_index", "weight"};
    CU_ASSERT_STRING_EQUAL(lg_nearest("reducton", names, 3), "reduction");
    CU_ASSERT_STRING_EQUAL(lg_nearest("wieght", names, 3), "weight");
    CU_ASSERT_PTR_NULL(lg_nearest("classes", names, 3));
    CU_ASSERT_EQUAL(lg_edit_distance("ab", "ba"), 1);
    CU_ASSERT_EQUAL(lg_edit_distance("", "abc"), 3);
}

static void test_arena(void) {
    lg_arena arena = {0};
    for (size_t n = 1; n < 100000; n *= 3) {
        unsigned char *bytes = lg_arena_alloc(&arena, n);
        CU_ASSERT_EQUAL((uintptr_t)bytes % 16, 0);
        bool zero = true;
        for (size_t i = 0; i < n; i++) {
            zero = zero && bytes[i] == 0;
        }
        CU_ASSERT_TRUE(zero);
        memset(bytes, 0xff, n);
    }
    CU_ASSERT_STRING_EQUAL(lg_arena_printf(&arena, "%d-%s", 3, "x"), "3-x");
    CU_ASSERT_STRING_EQUAL(lg_arena_strndup(&arena, "abcdef", 3), "abc");
    lg_arena_free(&arena);
    CU_ASSERT_PTR_NULL(arena.head);
}

static void test_diagnostics(void) {
    lg_diags diags = {0};
    CU_ASSERT_FALSE(lg_error(&diags, (lg_loc){0}, "no %s", "file"));
    lg_diags_add(&diags, LG_WARNING, (lg_loc){"a.yaml", 2, 3}, "\tx", "careful");
    CU_ASSERT_TRUE(diags.n == 2 && diags.n_errors == 1);
    char *text = NULL;
    size_t n = 0;
    FILE *out = open_memstream(&text, &n);
    lg_diags_print(&diags, out);
    fclose(out);
    CU_ASSERT_STRING_EQUAL(text, "lossgate: error: no file\na.yaml:2:3: warning: careful\n"
                                 "  \tx\n  \t ^\n");
    free(text);
    lg_diags_free(&diags);
}

int main(void) {
    static const lg_test tests[] = {
        {"integers", test_integers},       {"reals", test_reals},
        {"nearest name", test_nearest},    {"arena", test_arena},
        {"diagnostics", test_diagnostics},
    };
    return lg_run_tests("basics", tests, sizeof tests / sizeof *tests);
}
