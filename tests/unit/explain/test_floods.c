// SPDX-License-Identifier: Apache-2.0
// Long logs: floods of one assert, lines without an end, and more kinds of lines than are kept.
#include "explain/internal.h"
#include "support/alloc.h"
#include "unit/explain/helpers.h"

#include <stdlib.h>

static void add_flood(lg_str *log, int n) {
    for (int i = 0; i < n; i++) {
        lg_str_printf(log,
                      LOSS_CU ":250: nll_loss_forward_reduce_cuda_kernel_2d: block: [0,0,0], "
                              "thread: [%d,0,0]" LABEL,
                      i % 32);
    }
}

static void test_flood(void) {
    lg_str log = {0};
    lg_str_add(&log, "epoch 1\n");
    add_flood(&log, 20000);
    lg_str_add(&log, INDEXING);
    add_flood(&log, 4000);
    lg_log_finding finding;
    feed_in_pieces(log.text, log.n, 100000, &finding);
    CU_ASSERT_EQUAL(finding.n_groups, 2);
    CU_ASSERT_EQUAL_FATAL(finding.primary, 0);
    CU_ASSERT_EQUAL(finding.groups[0].count, 24000);
    CU_ASSERT_EQUAL(finding.groups[0].first_line, 2);
    CU_ASSERT_EQUAL(finding.groups[0].n_blocks, 0);
    CU_ASSERT_EQUAL(finding.groups[1].first_line, 20002);
    CU_ASSERT_EQUAL(finding.n_lines, 24002);
    // Nearly all threads print: a fault of all rows is likelier than a stray label.
    CU_ASSERT_EQUAL(finding.guesses[0].cause, LG_CAUSE_WRONG_HEAD_WIDTH);
    lg_log_finding_free(&finding);
    lg_str_free(&log);
}

// A line that differs from the flood in anything but block and thread is a group of its own.
static void test_flood_is_exact(void) {
    lg_str log = {0};
    add_flood(&log, 100);
    lg_str_add(&log, REDUCE "[1,0,0] Assertion `t >= 0 && t < n_classes` failed!\n");
    lg_str_add(&log, REDUCE "[x,0,0]" LABEL);
    lg_str_add(&log, LOSS_CU ":251: nll_loss_forward_reduce_cuda_kernel_2d: block: [0,0,0], "
                             "thread: [3,0,0]" LABEL);
    add_flood(&log, 1);
    lg_log_finding finding;
    feed_in_pieces(log.text, log.n, 1 << 20, &finding);
    CU_ASSERT_EQUAL(finding.groups[0].count, 101);
    CU_ASSERT_EQUAL_FATAL(finding.n_groups, 3);
    CU_ASSERT_EQUAL(finding.groups[1].count, 1); // an assert, but without a thread one can read
    CU_ASSERT_FALSE(finding.groups[1].has_thread);
    CU_ASSERT_EQUAL(finding.groups[2].line, 251);
    CU_ASSERT_EQUAL(finding.groups[2].count, 1);
    lg_log_finding_free(&finding);
    lg_str_free(&log);
}

// A logger's prefix changes nothing; a longer path is another file.
static void test_flood_with_prefix(void) {
    lg_str log = {0};
    for (int i = 0; i < 50; i++) {
        lg_str_printf(&log, "[rank%d] 10:00:%02d.5 ", i % 8, i);
        add_flood(&log, 1);
    }
    lg_str_add(&log, "/other" REDUCE "[1,0,0]" LABEL);
    lg_log_finding finding;
    feed_in_pieces(log.text, log.n, 1000, &finding);
    CU_ASSERT_EQUAL_FATAL(finding.n_groups, 2);
    CU_ASSERT_EQUAL(finding.groups[0].count, 50);
    CU_ASSERT_STRING_EQUAL(finding.groups[0].file, LOSS_CU);
    CU_ASSERT_STRING_EQUAL(finding.groups[1].file, "/other" LOSS_CU);
    CU_ASSERT_EQUAL(finding.groups[1].first_line, 51);
    lg_log_finding_free(&finding);
    lg_str_free(&log);
}

typedef struct flood_form {
    const char *name;
    const char *before[2], *behind[2]; // of lines in turn, around block and thread
    int groups;
    const char *file;
} flood_form;

#define KERNEL ":250: nll_loss_forward_reduce_cuda_kernel_2d: block: ["
#define ESCAPED "`t \\u003e= 0 \\u0026\\u0026 t \\u003c n_classes` failed."
#define COLOUR "\x1b[31m"
#define PLAIN_COLOUR "\x1b[0m"

static const flood_form forms[] = {
    {"a container's JSON",
     {"{\"log\":\"" LOSS_CU KERNEL, NULL},
     {" Assertion " ESCAPED "\\n\",\"stream\":\"stderr\"}\n", NULL},
     1,
     LOSS_CU},
    {"JSON that ends with the line",
     {"{\"time\": 1, \"message\":\"" LOSS_CU KERNEL, NULL},
     {" Assertion `t >= 0 && t < n_classes` failed.\"}\n", NULL},
     1,
     LOSS_CU},
    {"several lines in a string",
     {"{\"log\":\"epoch 1\\n" LOSS_CU KERNEL, NULL},
     {" Assertion " ESCAPED "\\nepoch 2\"}\n", NULL},
     1,
     LOSS_CU},
    {"a Windows path in JSON",
     {"{\"log\":\"C:\\\\w\\\\Loss.cu:250: block: [", NULL},
     {" Assertion " ESCAPED "\\r\\n\"}\n", NULL},
     1,
     "C:\\w\\Loss.cu"},
    {"colours in JSON",
     {"{\"log\":\"\\u001b[31m" LOSS_CU KERNEL, NULL},
     {" Assertion " ESCAPED "\\u001b[0m\\n\"}\n", NULL},
     1,
     LOSS_CU},
    {"colours",
     {COLOUR LOSS_CU KERNEL, NULL},
     {" Assertion `t >= 0 && t < n_classes` failed." PLAIN_COLOUR "\n", NULL},
     1,
     LOSS_CU},
    {"carriage returns",
     {LOSS_CU KERNEL, NULL},
     {" Assertion `t >= 0 && t < n_classes` failed.\r", NULL},
     1,
     LOSS_CU},
    {"two asserts in turn",
     {LOSS_CU KERNEL, LOSS_CU KERNEL},
     {" Assertion `t >= 0 && t < n_classes` failed.\n", " Assertion `t < n_classes` failed.\n"},
     2,
     LOSS_CU},
    {"two files in turn, one the end of the other",
     {LOSS_CU KERNEL, "/x" LOSS_CU KERNEL},
     {" Assertion `t >= 0 && t < n_classes` failed.\n",
      " Assertion `t >= 0 && t < n_classes` failed.\n"},
     2,
     LOSS_CU},
};

// Whatever a line is wrapped in, a flood is one entry, and its threads are told apart.
static void test_flood_forms(void) {
    enum { LINES = 64 };
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        const flood_form *form = &forms[i];
        lg_str log = {0};
        for (int k = 0; k < LINES; k++) {
            int turn = form->before[1] ? k % 2 : 0;
            lg_str_printf(&log, "%s0,0,0], thread: [%d,0,0]%s", form->before[turn], k,
                          form->behind[turn]);
        }
        for (size_t piece = 1; piece < 100000; piece *= 47) {
            lg_log_finding finding;
            feed_in_pieces(log.text, log.n, piece, &finding);
            LG_CHECK_ROW(form->name, finding.n_groups == form->groups);
            for (int g = 0; g < finding.n_groups; g++) {
                LG_CHECK_ROW(form->name, finding.groups[g].count == LINES / form->groups);
                LG_CHECK_ROW(form->name,
                             lg_log_group_threads(&finding.groups[g]) == LINES / form->groups);
            }
            LG_CHECK_ROW(form->name,
                         finding.n_groups > 0 && strcmp(finding.groups[0].file, form->file) == 0);
            lg_log_finding_free(&finding);
        }
        lg_str_free(&log);
    }
}

// In JSON as well, what differs in more than block and thread is another group.
static void test_flood_in_json_is_exact(void) {
    static const char *const others[] = {
        "{\"log\":\"" LOSS_CU KERNEL "0,0,0], thread: [1,0,0] Assertion " ESCAPED " Twice\\n\"}\n",
        "{\"log\":\"/x" LOSS_CU KERNEL "0,0,0], thread: [1,0,0] Assertion " ESCAPED "\\n\"}\n",
        "{\"log\":\"\\\"" LOSS_CU KERNEL "0,0,0], thread: [1,0,0] Assertion " ESCAPED "\\n\"}\n",
        "{\"log\":\"" LOSS_CU ":251: f: block: [0,0,0], thread: [1,0,0] Assertion " ESCAPED
        "\\n\"}\n",
    };
    lg_str log = {0};
    for (int i = 0; i < 8; i++) {
        lg_str_printf(&log,
                      "{\"log\":\"" LOSS_CU KERNEL "0,0,0], thread: [%d,0,0] Assertion " ESCAPED
                      "\\n\"}\n",
                      i);
        lg_str_add(&log, i % 2 ? others[i / 2] : "{\"log\":\"epoch\\n\"}\n");
    }
    lg_log_finding finding;
    feed_in_pieces(log.text, log.n, 1000, &finding);
    CU_ASSERT_EQUAL(finding.groups[0].count, 9); // a text behind it does not make it another assert
    CU_ASSERT_EQUAL_FATAL(finding.n_groups, 4);
    CU_ASSERT_STRING_EQUAL(finding.groups[1].file, "/x" LOSS_CU);
    CU_ASSERT_EQUAL(finding.groups[1].count, 1);
    CU_ASSERT_STRING_EQUAL(finding.groups[2].file, "\"" LOSS_CU);
    CU_ASSERT_EQUAL(finding.groups[3].line, 251);
    CU_ASSERT_EQUAL(finding.n_lines, 16);
    lg_log_finding_free(&finding);
    lg_str_free(&log);
}

// A line of several buffers with a find in its middle, and lines after it.
static void test_long_line(void) {
    lg_str log = {0};
    char *filler = lg_xmalloc(3000000);
    memset(filler, 'x', 3000000);
    lg_str_add_n(&log, filler, 3000000);
    lg_str_add(&log, " IndexError: Target 7 is out of bounds. ");
    lg_str_add_n(&log, filler, 3000000);
    lg_str_add(&log, "\nIndexError: Target -1 is out of bounds.\n");
    lg_log_finding finding;
    feed_in_pieces(log.text, log.n, 65536, &finding);
    CU_ASSERT_EQUAL_FATAL(finding.n_groups, 1);
    CU_ASSERT_EQUAL(finding.groups[0].count, 2);
    CU_ASSERT_EQUAL(finding.groups[0].first_line, 1);
    CU_ASSERT_EQUAL(finding.groups[0].n_values, 2);
    CU_ASSERT_EQUAL(finding.n_lines, 2);
    lg_log_finding_free(&finding);
    lg_str_free(&log);
    free(filler);
}

// Many kinds of lines: the groups are bounded, the rest is counted.
static void test_many_groups(void) {
    lg_str log = {0};
    for (int i = 0; i < 200; i++) {
        lg_str_printf(&log, "k.cu:%d: f: block: [0,0,0], thread: [0,0,0] Assertion `x` failed.\n",
                      i + 1);
    }
    lg_log_finding finding;
    feed_in_pieces(log.text, log.n, 1 << 20, &finding);
    CU_ASSERT_EQUAL(finding.n_groups, LG_LOG_MAX_GROUPS);
    CU_ASSERT_EQUAL(finding.n_dropped, 200 - LG_LOG_MAX_GROUPS);
    lg_log_finding_free(&finding);
    lg_str_free(&log);
}

// Control characters of a log do not reach the terminal.
static void test_control_characters(void) {
    lg_log_finding finding;
    const char log[] = "\x1b[31mIndexError: Target 3 is out of bounds.\x07\x01\n";
    feed_in_pieces(log, sizeof log - 1, 1 << 20, &finding);
    lg_str text = {0};
    lg_log_finding_text(&finding, "x", &text);
    CU_ASSERT_PTR_NULL(strchr(lg_str_text(&text), '\x1b'));
    CU_ASSERT_PTR_NULL(strchr(lg_str_text(&text), '\x07'));
    lg_str_free(&text);
    lg_log_finding_free(&finding);
}

int main(void) {
    static const lg_test tests[] = {{"a flood", test_flood},
                                    {"what is no flood", test_flood_is_exact},
                                    {"a flood behind prefixes", test_flood_with_prefix},
                                    {"floods as logs hold them", test_flood_forms},
                                    {"what is no flood in JSON", test_flood_in_json_is_exact},
                                    {"a long line", test_long_line},
                                    {"many kinds of lines", test_many_groups},
                                    {"control characters", test_control_characters}};
    return lg_run_tests(LG_SUITE, tests, sizeof tests / sizeof *tests);
}
