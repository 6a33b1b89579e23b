// SPDX-License-Identifier: Apache-2.0
// The main of every CUnit executable: runs the table of tests, fails on a failure or on no test.
#ifndef LG_TESTS_TESTING_H
#define LG_TESTS_TESTING_H

#include <CUnit/Basic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// clang's analyzer does not know that a _FATAL assertion leaves the test.
#ifdef __clang_analyzer__
static inline void lg_analysed(bool holds, bool fatal) {
    if (fatal && !holds) {
        abort();
    }
}
#define CU_assertImplementation(value, line, text, file, function, fatal) lg_analysed(value, fatal)
#endif

typedef struct lg_test {
    const char *name;
    void (*function)(void);
} lg_test;

static inline int lg_run_tests(const char *suite_name, const lg_test *tests, size_t n) {
    if (n == 0 || CU_initialize_registry() != CUE_SUCCESS) {
        return 2;
    }
    CU_pSuite suite = CU_add_suite(suite_name, NULL, NULL);
    for (size_t i = 0; suite && i < n; i++) {
        if (!CU_add_test(suite, tests[i].name, tests[i].function)) {
            return 2;
        }
    }
    if (!suite) {
        return 2;
    }
    CU_basic_set_mode(CU_BRM_VERBOSE);
    CU_basic_run_tests();
    unsigned failures = CU_get_number_of_failures();
    unsigned run = CU_get_number_of_tests_run();
    unsigned asserts = CU_get_number_of_asserts();
    CU_cleanup_registry();
    if (run != n || asserts == 0) {
        fprintf(stderr, "%s: %u of %zu tests ran, %u assertions\n", suite_name, run, n, asserts);
        return 2;
    }
    return failures ? 1 : 0;
}

// Whether two numbers are the same bit for bit: -0 is not 0, a NaN is itself.
static inline bool lg_same_bits(double a, double b) {
    uint64_t a_bits, b_bits;
    memcpy(&a_bits, &a, sizeof a_bits);
    memcpy(&b_bits, &b, sizeof b_bits);
    return a_bits == b_bits;
}

// For table-driven tests: a failed row says its name.
#define LG_CHECK_ROW(row_name, condition)                                                          \
    do {                                                                                           \
        int lg_ok_ = (condition) != 0;                                                             \
        if (!lg_ok_) {                                                                             \
            fprintf(stderr, "\n    row '%s' failed: %s (%s:%d)\n", (row_name), #condition,         \
                    __FILE__, __LINE__);                                                           \
        }                                                                                          \
        CU_ASSERT_TRUE(lg_ok_);                                                                    \
    } while (0)

#endif
