// SPDX-License-Identifier: Apache-2.0
#include "result/assert_log.h"

#include "support/alloc.h"
#include "support/str.h"
#include "unit/testing.h"

#include <stdlib.h>
#include <string.h>

typedef struct good_row {
    const char *name;
    const char *line;
    const char *file;
    int number;
    const char *function;
    int64_t block[3];
    int64_t thread[3];
    const char *expression;
} good_row;

static const good_row good_rows[] = {
    {"plain",
     "kernels/nll_loss.cu:41: nll: block: [0,0,0], thread: [3,0,0] Assertion `t >= 0 && t < n` "
     "failed.",
     "kernels/nll_loss.cu",
     41,
     "nll",
     {0, 0, 0},
     {3, 0, 0},
     "t >= 0 && t < n"},
    {"signature with colons and blanks",
     "a.cu:7: void at::native::f<float, int>(T *, const long *, a::b): block: [12,3,4], thread: "
     "[1023,2,1] Assertion `x` failed.",
     "a.cu",
     7,
     "void at::native::f<float, int>(T *, const long *, a::b)",
     {12, 3, 4},
     {1023, 2, 1},
     "x"},
    {"logger prefix",
     "[rank0]: 12:30:01 /opt/a/Loss.cu:250: f: block: [0,0,0], thread: [5,0,0] Assertion `t` "
     "failed.",
     "/opt/a/Loss.cu",
     250,
     "f",
     {0, 0, 0},
     {5, 0, 0},
     "t"},
    {"drive letter",
     "C:\\w\\Loss.cu:250: block: [0,0,0], thread: [5,0,0] Assertion `t` failed.",
     "C:\\w\\Loss.cu",
     250,
     "",
     {0, 0, 0},
     {5, 0, 0},
     "t"},
    {"backquote and quote",
     "a.cu:1: f: block: [0,0,0], thread: [0,0,0] Assertion `t' failed.",
     "a.cu",
     1,
     "f",
     {0, 0, 0},
     {0, 0, 0},
     "t"},
    {"quotes in the expression",
     "a.cu:1: f: block: [0,0,0], thread: [0,0,0] Assertion `c == '`' && \"it failed.\"` failed.",
     "a.cu",
     1,
     "f",
     {0, 0, 0},
     {0, 0, 0},
     "c == '`' && \"it failed.\""},
    {"blanks in triples and a CR",
     "a.cu:1: f: block: [1, 2, 3], thread: [4, 5, 6] Assertion `t` failed.\r",
     "a.cu",
     1,
     "f",
     {1, 2, 3},
     {4, 5, 6},
     "t"},
    {"empty expression",
     "a.cu:1: f: block: [0,0,0], thread: [0,0,0] Assertion `` failed.",
     "a.cu",
     1,
     "f",
     {0, 0, 0},
     {0, 0, 0},
     ""},
    {"large block",
     "a.cu:1: f: block: [2147483646,65535,65535], thread: [0,0,0] Assertion `t` failed.",
     "a.cu",
     1,
     "f",
     {2147483646, 65535, 65535},
     {0, 0, 0},
     "t"},
};

static bool same(lg_span span, const char *text) {
    return span.n == strlen(text) && memcmp(span.text, text, span.n) == 0;
}

static void test_good_lines(void) {
    for (size_t i = 0; i < sizeof good_rows / sizeof *good_rows; i++) {
        const good_row *row = &good_rows[i];
        lg_assert_match match;
        bool ok = lg_assert_parse(row->line, strlen(row->line), &match);
        LG_CHECK_ROW(row->name, ok);
        if (ok) {
            LG_CHECK_ROW(row->name, same(match.file, row->file));
            LG_CHECK_ROW(row->name, match.line == row->number);
            LG_CHECK_ROW(row->name, same(match.function, row->function));
            LG_CHECK_ROW(row->name, match.has_function == (*row->function != '\0'));
            LG_CHECK_ROW(row->name, memcmp(match.block, row->block, sizeof row->block) == 0);
            LG_CHECK_ROW(row->name, memcmp(match.thread, row->thread, sizeof row->thread) == 0);
            LG_CHECK_ROW(row->name, same(match.expression, row->expression));
        }
    }
}

typedef struct bad_row {
    const char *name;
    const char *line;
} bad_row;

static const bad_row bad_rows[] = {
    {"empty", ""},
    {"only the mark", ": block: ["},
    {"host assert", "a.out: a.c:3: main: Assertion `x' failed."},
    {"no file", ":1: f: block: [0,0,0], thread: [0,0,0] Assertion `t` failed."},
    {"no line", "a.cu: f: block: [0,0,0], thread: [0,0,0] Assertion `t` failed."},
    {"two coordinates", "a.cu:1: f: block: [0,0], thread: [0,0,0] Assertion `t` failed."},
    {"negative", "a.cu:1: f: block: [0,0,-1], thread: [0,0,0] Assertion `t` failed."},
    {"number too long",
     "a.cu:1: f: block: [99999999999999999999,0,0], thread: [0,0,0] Assertion `t` failed."},
    {"line too large", "a.cu:4294967297: f: block: [0,0,0], thread: [0,0,0] Assertion `t` failed."},
    {"cut in the expression", "a.cu:1: f: block: [0,0,0], thread: [0,0,0] Assertion `t"},
    {"cut after the expression", "a.cu:1: f: block: [0,0,0], thread: [0,0,0] Assertion `t`"},
    {"cut in a triple", "a.cu:1: f: block: [0,0,0], thread: [0,"},
    {"no quotes", "a.cu:1: f: block: [0,0,0], thread: [0,0,0] Assertion t failed."},
};

static void test_bad_lines(void) {
    for (size_t i = 0; i < sizeof bad_rows / sizeof *bad_rows; i++) {
        lg_assert_match match;
        LG_CHECK_ROW(bad_rows[i].name,
                     !lg_assert_parse(bad_rows[i].line, strlen(bad_rows[i].line), &match));
    }
}

// Every prefix of a good line, in memory of exactly its size: nothing reads past the end.
static void test_prefixes(void) {
    for (size_t i = 0; i < sizeof good_rows / sizeof *good_rows; i++) {
        size_t n = strlen(good_rows[i].line);
        for (size_t k = 0; k < n; k++) {
            char *cut = lg_xmalloc(k ? k : 1);
            memcpy(cut, good_rows[i].line, k);
            lg_assert_match match;
            bool ok = lg_assert_parse(cut, k, &match);
            bool only_cr_cut = k == n - 1 && good_rows[i].line[k] == '\r';
            LG_CHECK_ROW(good_rows[i].name, ok == only_cr_cut);
            free(cut);
        }
    }
}

static void test_log(void) {
    lg_str log = {0};
    lg_str_add(&log, "row 3 is bad\n");
    for (int i = 0; i < 100; i++) {
        lg_str_printf(&log, "k.cu:9: f: block: [%d,0,0], thread: [%d,0,0] Assertion `t` failed.\n",
                      i / 32, i % 32);
        lg_str_add(&log, i % 10 ? "" : "\nsomething else: block: [1\n");
    }
    lg_arena arena = {0};
    lg_assert_line *kept;
    int64_t n_kept;
    CU_ASSERT_EQUAL(lg_assert_log_parse(log.text, log.n, 40, &arena, &kept, &n_kept), 100);
    CU_ASSERT_EQUAL_FATAL(n_kept, 40);
    for (int i = 0; i < 40; i++) {
        CU_ASSERT_EQUAL(kept[i].block[0], i / 32);
        CU_ASSERT_EQUAL(kept[i].thread[0], i % 32);
        CU_ASSERT_STRING_EQUAL(kept[i].file, "k.cu");
        CU_ASSERT_STRING_EQUAL(kept[i].function, "f");
        CU_ASSERT_STRING_EQUAL(kept[i].expression, "t");
    }
    // Without its last newline the last line still counts; an empty log has none.
    CU_ASSERT_EQUAL(lg_assert_log_parse(log.text, log.n - 1, 0, &arena, &kept, &n_kept), 100);
    CU_ASSERT_EQUAL(n_kept, 0);
    CU_ASSERT_EQUAL(lg_assert_log_parse("", 0, 8, &arena, &kept, &n_kept), 0);
    lg_arena_free(&arena);
    lg_str_free(&log);
}

typedef struct form_row {
    const char *name;
    const char *line;
    lg_assert_form form; // 0: no assert line of any form
    const char *file;
    int number;
    const char *function;
    int64_t block, thread; // their x
    const char *expression;
    const char *rest;
} form_row;

static const form_row form_rows[] = {
    {"cuda", "a.cu:1: f: block: [2,0,0], thread: [7,0,0] Assertion `t` failed.", LG_ASSERT_CUDA,
     "a.cu", 1, "f", 2, 7, "t", ""},
    {"hip", "/w/Loss.hip:9: void f<a::b>(int): Device-side assertion `t >= 0' failed.",
     LG_ASSERT_HIP, "/w/Loss.hip", 9, "void f<a::b>(int)", 0, 0, "t >= 0", ""},
    {"hip without a function", "k.hip:9: : Device-side assertion `t' failed.\r", LG_ASSERT_HIP,
     "k.hip", 9, "", 0, 0, "t", ""},
    {"sycl", "L.cpp:88: f(int *): global id: [51,0,0], local id: [19,0,0] Assertion `t` failed.",
     LG_ASSERT_SYCL, "L.cpp", 88, "f(int *)", 51, 19, "t", ""},
    {"printf of a kernel, with values",
     "Error: /p/x_op.cu:536 Assertion `l >= 0 && l < d` failed. The value got 30.", LG_ASSERT_PLAIN,
     "/p/x_op.cu", 536, "", 0, 0, "l >= 0 && l < d", " The value got 30."},
    {"host check", "RuntimeError: Assertion `cur' failed.  at /q/C.c:97", LG_ASSERT_PLAIN, "", 0,
     "", 0, 0, "cur", "  at /q/C.c:97"},
    {"assert of the C library", "a.out: a.c:3: main: Assertion `x == 1' failed.", LG_ASSERT_PLAIN,
     "a.c", 3, "main", 0, 0, "x == 1", ""},
    {"hip without quotes", "k.hip:9: f: Device-side assertion t failed.", 0, "", 0, "", 0, 0, "",
     ""},
    {"no end", "k.cu:9 Assertion `t` fail", 0, "", 0, "", 0, 0, "", ""},
    {"prose", "the Assertion that t failed.", 0, "", 0, "", 0, 0, "", ""},
};

static void test_forms(void) {
    for (size_t i = 0; i < sizeof form_rows / sizeof *form_rows; i++) {
        const form_row *row = &form_rows[i];
        lg_assert_match match;
        bool ok = lg_assert_parse_any(row->line, strlen(row->line), &match);
        LG_CHECK_ROW(row->name, ok == (row->form != 0));
        if (ok) {
            LG_CHECK_ROW(row->name, match.form == row->form);
            LG_CHECK_ROW(row->name, same(match.file, row->file));
            LG_CHECK_ROW(row->name, match.line == row->number);
            LG_CHECK_ROW(row->name, same(match.function, row->function));
            LG_CHECK_ROW(row->name, match.block[0] == row->block);
            LG_CHECK_ROW(row->name, match.thread[0] == row->thread);
            LG_CHECK_ROW(row->name, same(match.expression, row->expression));
            LG_CHECK_ROW(row->name, same(match.rest, row->rest));
        }
    }
}

int main(void) {
    static const lg_test tests[] = {{"good lines", test_good_lines},
                                    {"bad lines", test_bad_lines},
                                    {"prefixes of good lines", test_prefixes},
                                    {"a log", test_log},
                                    {"lines of every form", test_forms}};
    return lg_run_tests(LG_SUITE, tests, sizeof tests / sizeof *tests);
}
