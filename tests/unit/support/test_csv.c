// SPDX-License-Identifier: Apache-2.0
#include "support/csv.h"

#include "support/str.h"
#include "unit/testing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 8 };

static int64_t read_text(const char *text, size_t n, lg_csv_value *values, lg_diags *diags) {
    // fmemopen takes no empty buffer.
    FILE *stream = n ? fmemopen((void *)(uintptr_t)text, n, "rb") : fopen("/dev/null", "rb");
    lg_csv_reader *reader = lg_csv_open_stream(stream, "x.csv");
    int64_t total = 0;
    for (;;) {
        lg_csv_value some[3];
        int64_t got = lg_csv_read(reader, some, 3, diags);
        for (int64_t i = 0; i < got && total + i < MOST; i++) {
            values[total + i] = some[i];
        }
        if (got <= 0) {
            total = got < 0 ? -1 : total;
            break;
        }
        total += got;
    }
    lg_csv_close(reader);
    return total;
}

typedef struct good_row {
    const char *name;
    const char *text;
    int64_t n;
    double values[MOST];
    unsigned integers; // a bit a value
} good_row;

static const good_row good_rows[] = {
    {"empty", "", 0, {0}, 0},
    {"integers", "1\n-2\n+3\n", 3, {1, -2, 3}, 7},
    {"no newline at the end", "1\n2", 2, {1, 2}, 3},
    {"crlf", "1\r\n2\r\n", 2, {1, 2}, 3},
    {"a header", "label\n7\n", 1, {7}, 1},
    {"a quoted header", "\"label\"\n7\n", 1, {7}, 1},
    {"a header alone", "label\n", 0, {0}, 0},
    {"byte order mark",
     "\xef\xbb\xbf"
     "5\n",
     1,
     {5},
     1},
    {"quotes", "\"5\"\n\"-6\"\n", 2, {5, -6}, 3},
    {"reals", "1.0\n2.5\n1e3\n-0.5\n", 4, {1, 2.5, 1000, -0.5}, 0},
    {"mixed", "1\n2.0\n", 2, {1, 2}, 1},
    {"empty lines at the end", "1\n\n\r\n", 1, {1}, 1},
    {"infinity first is a number", "inf\n1\n", 2, {INFINITY, 1}, 2},
    {"the ends of int64", "9223372036854775807\n-9223372036854775808\n", 2, {0x1p63, -0x1p63}, 3},
};

static void test_good(void) {
    for (size_t i = 0; i < sizeof good_rows / sizeof *good_rows; i++) {
        const good_row *row = &good_rows[i];
        lg_csv_value values[MOST];
        lg_diags diags = {0};
        int64_t n = read_text(row->text, strlen(row->text), values, &diags);
        LG_CHECK_ROW(row->name, n == row->n);
        for (int64_t k = 0; k < n && k < MOST; k++) {
            LG_CHECK_ROW(row->name, values[k].real == row->values[k]);
            LG_CHECK_ROW(row->name, values[k].is_integer == (row->integers >> k & 1));
        }
        LG_CHECK_ROW(row->name, diags.n == 0);
        lg_diags_free(&diags);
    }
}

typedef struct bad_row {
    const char *name;
    const char *text;
    size_t n_errors;
    int line, column; // of the first
    const char *message;
} bad_row;

static const bad_row bad_rows[] = {
    {"letters", "1\n2x\n", 1, 2, 1, "'2x' is not a number"},
    {"hexadecimal", "0x10\n", 1, 1, 1, "'0x10' is not a number"},
    {"a number that begins with digits is no header", "12abc\n1\n", 1, 1, 1, "not a number"},
    {"a header in the second line", "1\nlabel\n", 1, 2, 1, "'label' is not a number"},
    {"two columns", "1,2\n", 1, 1, 2, "a second column"},
    {"a header of two columns", "id,label\n1\n", 1, 1, 3, "a second column"},
    {"semicolon", "3\n12;4\n", 1, 2, 3, "a second column"},
    {"tab", "1\t\n", 1, 1, 2, "a second column"},
    {"a blank", "1\n 2\n", 1, 2, 1, "a blank"},
    {"a blank behind", "17 \n", 1, 1, 3, "a blank"},
    {"beyond int64", "9223372036854775808\n", 1, 1, 1, "an integer beyond 64 bits"},
    {"an empty line in between", "1\n\n2\n", 1, 2, 1, "an empty line"},
    {"two wrong lines are two errors", "1\nx\n2\ny\n", 2, 2, 1, "'x' is not a number"},
    {"lines that only a carriage return ends", "0\r1\r2\r", 1, 1, 2, "a carriage return within"},
    {"the same with a header", "label\r0\r1\r", 1, 1, 6, "a carriage return within"},
    {"UTF-16",
     "\xff\xfe"
     "1",
     1, 1, 1, "the file is UTF-16"},
    {"UTF-16, the other way round",
     "\xfe\xff"
     "1",
     1, 1, 1, "the file is UTF-16"},
    {"a sign alone", "-\n", 1, 1, 1, "not a number"},
    {"an open quote", "\"5\n", 1, 1, 1, "not a number"},
};

static void test_bad(void) {
    for (size_t i = 0; i < sizeof bad_rows / sizeof *bad_rows; i++) {
        const bad_row *row = &bad_rows[i];
        lg_csv_value values[MOST];
        lg_diags diags = {0};
        int64_t n = read_text(row->text, strlen(row->text), values, &diags);
        LG_CHECK_ROW(row->name, n == -1);
        LG_CHECK_ROW(row->name, diags.n_errors == row->n_errors);
        if (diags.n > 0) {
            LG_CHECK_ROW(row->name, diags.items[0].line == row->line);
            LG_CHECK_ROW(row->name, diags.items[0].column == row->column);
            LG_CHECK_ROW(row->name, strstr(diags.items[0].message, row->message) != NULL);
        }
        lg_diags_free(&diags);
    }
}

static void test_hostile(void) {
    lg_str text = {0};
    lg_csv_value values[MOST];
    lg_diags diags = {0};
    // A line longer than the buffer, then a good one.
    for (int i = 0; i < 200000; i++) {
        lg_str_add(&text, "7");
    }
    lg_str_add(&text, "\n5\n");
    CU_ASSERT_EQUAL(read_text(text.text, text.n, values, &diags), -1);
    CU_ASSERT_EQUAL_FATAL(diags.n_errors, 1);
    CU_ASSERT_PTR_NOT_NULL(strstr(diags.items[0].message, "more than 256 bytes"));
    lg_diags_free(&diags);
    // Thousands of bad lines: some errors, not all.
    lg_str_clear(&text);
    for (int i = 0; i < 5000; i++) {
        lg_str_add(&text, "x\n");
    }
    CU_ASSERT_EQUAL(read_text(text.text, text.n, values, &diags), -1);
    CU_ASSERT_EQUAL(diags.n_errors, LG_CSV_MAX_ERRORS);
    lg_diags_free(&diags);
    lg_str_free(&text);
    // Bytes that are no text.
    CU_ASSERT_EQUAL(read_text("1\0002\n", 4, values, &diags), -1);
    CU_ASSERT_EQUAL(diags.items[0].column, 2);
    lg_diags_free(&diags);
    CU_ASSERT_PTR_NULL(lg_csv_open("/nowhere/x.csv", &diags));
    CU_ASSERT_EQUAL(diags.n_errors, 1);
    lg_diags_free(&diags);
}

// More values than a buffer holds, in order.
static void test_long_file(void) {
    lg_str text = {0};
    for (int i = 0; i < 50000; i++) {
        lg_str_printf(&text, "%d\n", i);
    }
    lg_diags diags = {0};
    lg_csv_reader *reader = lg_csv_open_stream(fmemopen(text.text, text.n, "rb"), "x.csv");
    int64_t n = 0;
    bool in_order = true;
    for (;;) {
        lg_csv_value some[777];
        int64_t got = lg_csv_read(reader, some, 777, &diags);
        for (int64_t i = 0; i < got; i++) {
            in_order = in_order && some[i].integer == n + i;
        }
        if (got <= 0) {
            CU_ASSERT_EQUAL(got, 0);
            break;
        }
        n += got;
    }
    CU_ASSERT_EQUAL(n, 50000);
    CU_ASSERT_TRUE(in_order);
    lg_csv_close(reader);
    lg_str_free(&text);
}

int main(void) {
    static const lg_test tests[] = {{"good files", test_good},
                                    {"bad files", test_bad},
                                    {"hostile files", test_hostile},
                                    {"a long file", test_long_file}};
    return lg_run_tests("support/csv", tests, sizeof tests / sizeof *tests);
}
