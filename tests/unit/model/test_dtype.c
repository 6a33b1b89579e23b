// SPDX-License-Identifier: Apache-2.0
#include "model/dtype.h"
#include "unit/testing.h"

#include <math.h>
#include <string.h>

static void test_names(void) {
    size_t n;
    const char *const *names = lg_dtype_names(&n);
    CU_ASSERT_EQUAL(n, LG_N_DTYPES - 1);
    for (size_t i = 0; i < n; i++) {
        lg_dtype dtype;
        LG_CHECK_ROW(names[i], lg_dtype_parse(names[i], &dtype) && dtype == (lg_dtype)(i + 1));
        LG_CHECK_ROW(names[i], strcmp(lg_dtype_name(dtype), names[i]) == 0);
        LG_CHECK_ROW(names[i], lg_dtype_is_float(dtype) == (strstr(names[i], "float") != NULL));
    }
    lg_dtype dtype;
    CU_ASSERT_FALSE(lg_dtype_parse("none", &dtype));
    CU_ASSERT_FALSE(lg_dtype_parse("float", &dtype));
    CU_ASSERT_STRING_EQUAL(lg_dtype_name(LG_DTYPE_NONE), "none");
    CU_ASSERT_EQUAL(lg_dtype_bytes(LG_BFLOAT16), 2);
}

typedef struct int_row {
    const char *name;
    lg_dtype dtype;
    int64_t in;
    int64_t out;
    bool holds;
} int_row;

static void test_integers_wrap(void) {
    static const int_row rows[] = {
        {"int64 min", LG_INT64, INT64_MIN, INT64_MIN, true},
        {"int32 fits", LG_INT32, -5, -5, true},
        {"int32 wraps", LG_INT32, (INT64_C(1) << 32) + 3, 3, false},
        {"int16 wraps", LG_INT16, 40000, 40000 - 65536, false},
        {"int8 wraps", LG_INT8, 200, -56, false},
        {"uint8 fits", LG_UINT8, 255, 255, true},
        {"uint8 wraps", LG_UINT8, 300, 44, false},
        {"uint8 negative", LG_UINT8, -1, 255, false},
        {"bool", LG_BOOL, 1, 1, true},
        {"bool of 2", LG_BOOL, 2, 1, false},
        {"float16 of a large integer", LG_FLOAT16, 2049, 2048, true},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint64_t cells[3] = {0x5555555555555555, 0x5555555555555555, 0x5555555555555555};
        lg_dtype_set_i64(rows[i].dtype, cells, 1, rows[i].in);
        LG_CHECK_ROW(rows[i].name, lg_dtype_get_i64(rows[i].dtype, cells, 1) == rows[i].out);
        LG_CHECK_ROW(rows[i].name, lg_dtype_holds(rows[i].dtype, rows[i].in) == rows[i].holds);
        unsigned char *bytes = (unsigned char *)cells;
        size_t size = lg_dtype_bytes(rows[i].dtype);
        LG_CHECK_ROW(rows[i].name, bytes[size - 1] == 0x55 && bytes[2 * size] == 0x55);
    }
}

static void test_floats_to_integers(void) {
    double values[] = {2.9, -2.9, NAN, INFINITY, -INFINITY, 0x1p63, -0x1p63, 0x1p62};
    int64_t wanted[] = {2,         -2,        INT64_MIN, INT64_MIN,
                        INT64_MIN, INT64_MIN, INT64_MIN, INT64_C(1) << 62};
    for (int i = 0; i < 8; i++) {
        CU_ASSERT_EQUAL(lg_dtype_get_i64(LG_FLOAT64, values, i), wanted[i]);
    }
    uint8_t flag;
    lg_dtype_set_f64(LG_BOOL, &flag, 0, NAN);
    CU_ASSERT_EQUAL(flag, 1);
    int64_t label;
    lg_dtype_set_f64(LG_INT64, &label, 0, NAN);
    CU_ASSERT_EQUAL(label, INT64_MIN);
}

// Integers beyond 2^53 must round once on their way to a narrow float.
static void test_large_integers_round_once(void) {
    float narrow;
    int64_t value = (INT64_C(1) << 62) + (INT64_C(1) << 38) + 1; // just above a tie of float32
    lg_dtype_set_i64(LG_FLOAT32, &narrow, 0, value);
    CU_ASSERT_EQUAL(narrow, (float)value);
    CU_ASSERT_EQUAL(narrow, 0x1.000002p62f);
    lg_dtype_set_i64(LG_FLOAT32, &narrow, 0, -value);
    CU_ASSERT_EQUAL(narrow, -0x1.000002p62f);
    lg_dtype_set_i64(LG_FLOAT32, &narrow, 0, INT64_MIN);
    CU_ASSERT_EQUAL(narrow, -0x1p63f);
    uint16_t bits;
    value = (INT64_C(1) << 62) + (INT64_C(1) << 54) + 1; // just above a tie of bfloat16
    lg_dtype_set_i64(LG_BFLOAT16, &bits, 0, value);
    CU_ASSERT_EQUAL(lg_dtype_get_f64(LG_BFLOAT16, &bits, 0), 0x1.02p62);
}

int main(void) {
    static const lg_test tests[] = {
        {"names", test_names},
        {"integers wrap", test_integers_wrap},
        {"floats to integers", test_floats_to_integers},
        {"large integers round once", test_large_integers_round_once},
    };
    return lg_run_tests("dtype", tests, sizeof tests / sizeof *tests);
}
