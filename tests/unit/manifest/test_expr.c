// SPDX-License-Identifier: Apache-2.0
#include "manifest/manifest.h"
#include "model/rng.h"
#include "support/str.h"
#include "unit/testing.h"

#include <stdlib.h>
#include <string.h>

static bool look_up(void *context, const char *name, int64_t *value) {
    (void)context;
    if (strcmp(name, "samples") == 0) {
        *value = 100;
    } else if (strcmp(name, "block_x") == 0) {
        *value = 32;
    } else {
        return false;
    }
    return true;
}

typedef struct good_row {
    const char *text;
    int64_t value;
} good_row;

static void test_values(void) {
    static const good_row rows[] = {
        {"1", 1},
        {" 7 ", 7},
        {"2 + 3 * 4", 14},
        {"(2 + 3) * 4", 20},
        {"10 - 3 - 2", 5},
        {"7 / 2", 3},
        {"-7 / 2", -4},
        {"7 / -2", -4},
        {"-7 / -2", 3},
        {"100 / 10 / 3", 3},
        {"- - 3", 3},
        {"ceil_div(samples, block_x)", 4},
        {"ceil_div(96, block_x)", 3},
        {"ceil_div(-7, 2)", -3},
        {"ceil_div(0, 5)", 0},
        {"mod(samples, block_x)", 4},
        {"mod(-7, 2)", 1},
        {"mod(7, -2)", -1},
        {"mod(6, 3)", 0},
        {"min(samples, 64)", 64},
        {"max(min(1, 2), 3 - 4)", 1},
        {"next_pow2(0)", 1},
        {"next_pow2(33)", 64},
        {"next_pow2(64)", 64},
        {"next_pow2(4611686018427387904)", INT64_C(4611686018427387904)},
        {"9223372036854775807", INT64_MAX},
        {"-9223372036854775807 - 1", INT64_MIN},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int64_t value = 0;
        lg_expr_problem problem;
        LG_CHECK_ROW(rows[i].text, lg_expr_eval(rows[i].text, look_up, NULL, &value, &problem));
        LG_CHECK_ROW(rows[i].text, value == rows[i].value);
    }
}

typedef struct bad_row {
    const char *text;
    const char *message;
    size_t at;
} bad_row;

static void test_errors(void) {
    static const bad_row rows[] = {
        {"", "no value at the end", 0},
        {"1 +", "no value at the end", 3},
        {"1 2", "text behind", 2},
        {"(1", "no ')' at the end", 2},
        {"(1 2", "text where ')' is missing", 3},
        {"1)", "text behind", 1},
        {"* 2", "'*' where a value is wanted", 0},
        {"12abc", "letters behind", 0},
        {"0x10", "letters behind", 0},
        {"1.5", "text behind", 1},
        {"rows", "unknown name 'rows'", 0},
        {"2 * foo(1)", "unknown function 'foo'", 4},
        {"min", "without its values", 0},
        {"min(1)", "two values", 0},
        {"min(1, 2, 3)", "text where ')' is missing", 8},
        {"1 / 0", "division by zero", 2},
        {"ceil_div(1, samples - 100)", "division by zero", 0},
        {"9223372036854775808", "63 bits", 0},
        {"9223372036854775807 + 1", "64 bits", 20},
        {"-9223372036854775807 - 2", "64 bits", 21},
        {"4294967296 * 4294967296", "64 bits", 11},
        {"(-9223372036854775807 - 1) / -1", "64 bits", 27},
        {"-(-9223372036854775807 - 1)", "64 bits", 0},
        {"next_pow2(9223372036854775807)", "has none", 0},
        {"a_name_that_is_much_longer_than_any_name_that_can_be_known", "more than 47", 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int64_t value;
        lg_expr_problem problem = {0};
        LG_CHECK_ROW(rows[i].text, !lg_expr_eval(rows[i].text, look_up, NULL, &value, &problem));
        LG_CHECK_ROW(rows[i].text, strstr(problem.text, rows[i].message));
        LG_CHECK_ROW(rows[i].text, problem.at == rows[i].at);
    }
}

static void test_check_needs_no_values(void) {
    size_t n;
    const char *const *names = lg_expr_names(&n);
    lg_expr_problem problem = {0};
    CU_ASSERT_TRUE(lg_expr_check("ceil_div(rows * 32, block_x) / elements", names, n, &problem));
    CU_ASSERT_TRUE(lg_expr_check("1 / (samples - samples)", names, n, &problem));
    CU_ASSERT_FALSE(lg_expr_check("ceil_div(smaples, 2)", names, n, &problem));
    CU_ASSERT_PTR_NOT_NULL(strstr(problem.text, "did you mean 'samples'?"));
    CU_ASSERT_FALSE(lg_expr_check("input", names, n, &problem)); // a buffer is no size
}

static void test_hostile(void) {
    lg_str deep = {0};
    for (int i = 0; i < 100000; i++) {
        lg_str_add(&deep, "(");
    }
    int64_t value;
    lg_expr_problem problem;
    CU_ASSERT_FALSE(lg_expr_eval(deep.text, look_up, NULL, &value, &problem));
    CU_ASSERT_PTR_NOT_NULL(strstr(problem.text, "nesting"));
    lg_str_clear(&deep);
    lg_str_add(&deep, "1");
    for (int i = 0; i < 100000; i++) {
        lg_str_add(&deep, "+1");
    }
    CU_ASSERT_TRUE(lg_expr_eval(deep.text, look_up, NULL, &value, &problem) && value == 100001);
    lg_str_free(&deep);
    static const char letters[] = "0123456789+-*/(), samplesminmaxceil_divnext_pow2block_x";
    int n_good = 0;
    for (uint64_t i = 0; i < 20000; i++) {
        char text[13] = {0};
        for (uint64_t k = 0; k < 12; k++) {
            text[k] = letters[lg_rng_below(5, LG_STREAM_TEST, 12 * i + k, sizeof letters)];
        }
        n_good += lg_expr_eval(text, look_up, NULL, &value, &problem);
    }
    CU_ASSERT_TRUE(n_good > 0 && n_good < 20000);
}

int main(void) {
    static const lg_test tests[] = {
        {"values", test_values},
        {"errors", test_errors},
        {"checking needs no values", test_check_needs_no_values},
        {"hostile expressions", test_hostile},
    };
    return lg_run_tests("kernel_expr", tests, sizeof tests / sizeof *tests);
}
