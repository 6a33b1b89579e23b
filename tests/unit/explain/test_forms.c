// SPDX-License-Identifier: Apache-2.0
// Logs as they come: in UTF-16, packed, binary, drawn over, escaped, and cut off anywhere.
#include "explain/explain.h"

#include "support/str.h"
#include "unit/testing.h"

#include <string.h>

#define PLACE                                                                                      \
    "/pytorch/aten/src/ATen/native/cuda/Loss.cu:242: nll_loss_forward_reduce_cuda_kernel_2d"
#define THREAD(t) PLACE ": block: [0,0,0], thread: [" #t ",0,0]"
#define LABEL " Assertion `t >= 0 && t < n_classes` failed."
#define XPU                                                                                        \
    "/p/xpu/sycl/LossNLLKernels.cpp:97: nll_loss_forward: global id: [3,0,0], local id: [3,0,0] "  \
    "Assertion `cur_target >= 0 && cur_target < n_classes` failed"

typedef struct form_row {
    const char *name;
    const char *log;
    lg_log_conclusion conclusion;
    int64_t count;    // of the primary group, 0: there is none
    const char *text; // in the finding's text
    const char *not_in_it;
} form_row;

static const form_row rows[] = {
    {"a progress bar", "Epoch 1:  50%|##  | 5/10\rEpoch 1:  60%|##  | 6/10\r" THREAD(5) LABEL "\n",
     LG_LOG_LOSS_FAULT, 1, "where     /pytorch/", "Epoch"},
    {"lines that only a carriage return ends", THREAD(5) LABEL "\r" THREAD(17) LABEL "\r",
     LG_LOG_LOSS_FAULT, 2, "rows 5, 37, 69 … and 17, 49, 81 …", "\r"},
    {"colours", "\x1b[31m\x1b[1m" THREAD(5) LABEL "\x1b[0m\n", LG_LOG_LOSS_FAULT, 1,
     "where     /pytorch/", "[31m"},
    {"colours and a logger", "\x1b[32mERROR\x1b[0m " THREAD(5) LABEL "\n", LG_LOG_LOSS_FAULT, 1,
     "where     /pytorch/", "[0m"},
    {"a container's log",
     "{\"log\":\"" THREAD(
         5) " Assertion `t \\u003e= 0 \\u0026\\u0026 t \\u003c n_classes` failed.\\n"
            "\",\"stream\":\"stderr\"}\n",
     LG_LOG_LOSS_FAULT, 1, "where     /pytorch/", "{"},
    {"a container's log of a flood",
     "{\"log\":\"" THREAD(5) LABEL "\\n\",\"stream\":\"stderr\"}\n"
                                   "{\"log\":\"" THREAD(6) LABEL "\\n\",\"stream\":\"stderr\"}\n",
     LG_LOG_LOSS_FAULT, 2, "2 threads of that block", "{"},
    {"several lines in one string",
     "{\"a\":1,\"log\":\"epoch 1\\n" THREAD(5) LABEL "\\n" THREAD(6) LABEL "\\nend\"}\n",
     LG_LOG_LOSS_FAULT, 2, "where     /pytorch/", "epoch"},
    {"HTML in a container's log",
     "{\"log\":\"" THREAD(
         5) " Assertion `t \\u0026gt;= 0 &amp;&amp; t &lt; n_classes` failed.\\n\"}\n",
     LG_LOG_LOSS_FAULT, 1, "device assert `t >= 0 && t < n_classes`", "&gt;"},
    {"escapes behind a carriage return",
     "{\"log\":\"step 1\r" THREAD(
         5) " Assertion `t \\u003e= 0 \\u0026\\u0026 t \\u003c n_classes` failed.\\n\"}\n",
     LG_LOG_LOSS_FAULT, 1, "device assert `t >= 0 && t < n_classes`", "{"},
    {"a Windows path in a container's log",
     "{\"log\":\"C:\\\\w\\\\native\\\\cuda\\\\Loss.cu:242: block: [0,0,0], thread: [0,0,0]" LABEL
     "\\r\\n\"}\n",
     LG_LOG_LOSS_FAULT, 1, "where     C:\\w\\native\\cuda\\Loss.cu:242, block 0 thread 0", "\\\\"},
    {"a traceback in a container's log",
     "{\"log\":\"  File \\\"/v/torch/nn/functional.py\\\", line 3053, in cross_entropy\\n\"}\n"
     "{\"log\":\"RuntimeError: expected scalar type Float but found Double\\n\"}\n",
     LG_LOG_LOSS_FAULT, 1, "the dtype check of class weights", NULL},
    {"a value in a container's log",
     "{\"log\":\"AssertionError: Target 12 is out of bounds. Expected \\u003c 10\\n\"}\n",
     LG_LOG_LOSS_FAULT, 1, "values    12; the head has 10 outputs", NULL},
    {"another operation's assert, escaped",
     "{\"log\":\"../a/Indexing.cu:1: k: block: [5,0,0], thread: [7,0,0] Assertion `srcIndex "
     "\\u003c srcSelectDimSize` failed.\\n\"}\n",
     LG_LOG_OTHER_FAULT, 0, "index_select or an embedding", NULL},
    // Lines that are cut off.
    {"cut in the mark of the block", PLACE ": blo", LG_LOG_LOSS_FAULT, 1,
     "cuda/Loss.cu:242, nll_loss_forward_reduce_cuda_kernel_2d\n", NULL},
    {"the same in the midst of a log", PLACE ": blo\nRuntimeError: it is over\n", LG_LOG_LOSS_FAULT,
     1, "missing: block and thread, the condition", NULL},
    {"cut in the block in the midst of a log", PLACE ": block: [0,\nRuntimeError: it is over\n",
     LG_LOG_LOSS_FAULT, 1, "missing: block and thread, the condition", NULL},
    {"the last of a flood", THREAD(5) LABEL "\n" PLACE ": bl", LG_LOG_LOSS_FAULT, 2, "2 times",
     "cut"},
    {"the last of a flood, cut in the file", THREAD(5) LABEL "\n/pytorch/aten/src/ATen/native/cu",
     LG_LOG_LOSS_FAULT, 2, "2 times", "cut"},
    {"cut in the file", "/pytorch/aten/src/ATen/native/cuda/Lo", LG_LOG_UNKNOWN_CHECK, 0,
     "where     /pytorch/aten/src/ATen/native/cuda/Lo\n", NULL},
    {"cut before the kernel", "/pytorch/aten/src/ATen/native/cuda/Loss.cu:24", LG_LOG_UNKNOWN_CHECK,
     0, "losses are in that file", NULL},
    {"a head and a tail less", "thread: [7,0,0] Assertion `t >= 0 && t < n_cla", LG_LOG_LOSS_FAULT,
     1, "missing: the file and the kernel, block and thread, what stands behind", NULL},
    {"a head less, from the thread on", "thread: [7,0,0]" LABEL "\n", LG_LOG_LOSS_FAULT, 1,
     "missing: the file and the kernel, block and thread", NULL},
    {"a head less, in the condition", "t >= 0 && t < n_classes` failed.\n", LG_LOG_LOSS_FAULT, 1,
     "maybe the beginning of the condition", NULL},
    {"a head less, late in the condition", "widget < n_classes` failed.\n", LG_LOG_QUIET, 0,
     "no loss fault", NULL},
    {"the end of either label check", "< n_classes` failed.\n", LG_LOG_LOSS_FAULT, 1,
     "the label check of nll_loss", "uint8"},
    {"a head less, then a whole line", "t < n_classes` failed.\n" THREAD(5) LABEL "\n",
     LG_LOG_LOSS_FAULT, 1, "where     /pytorch/", "cut       "},
    {"an XPU line without its last dot", XPU, LG_LOG_LOSS_FAULT, 1, "work item 3, local 3", NULL},
    {"the same in the midst of a log", XPU "\nend\n", LG_LOG_LOSS_FAULT, 1,
     "missing: what stands behind the condition", NULL},
    {"a HIP line, cut",
     "/w/Loss.hip:186: nll_loss_forward_no_reduce_cuda_kernel: Device-side assertion `cur_target "
     ">= 0 && cur",
     LG_LOG_LOSS_FAULT, 1, "where     /w/Loss.hip:186", NULL},
    // What only looks so.
    {"a kernel's name in a profile",
     "  0.5%  12 us  nll_loss_forward_reduce_cuda_kernel_2d<float, long>\n", LG_LOG_QUIET, 0,
     "no loss fault", NULL},
    {"a note on a file", "compiling /p/aten/src/ATen/native/cuda/Loss.cu", LG_LOG_QUIET, 0,
     "no loss fault", NULL},
    {"a compiler's warning",
     "/p/Loss.cu:250: warning: nll_loss_forward_reduce_cuda_kernel_2d is not used\n", LG_LOG_QUIET,
     0, "no loss fault", NULL},
    {"a file that merely ends", "saved to /data/runs/loss.csv", LG_LOG_QUIET, 0, "no loss fault",
     NULL},
    {"another check's beginning", "thread: [7,0,0] Assertion `index >= -si", LG_LOG_OTHER_FAULT, 0,
     "indexing by a tensor", NULL},
    {"another text with the word", "Assertion `we shall never divide` is a comment\n", LG_LOG_QUIET,
     0, "no loss fault", NULL},
    {"prose with a check's end", "it said: `t < n_classes` failed. Then it went on\n", LG_LOG_QUIET,
     0, "no loss fault", NULL},
    {"an ampersand", "a && b &c; Target 3 is out of bounds.\n", LG_LOG_LOSS_FAULT, 1, "values    3",
     NULL},
};

static void finish(lg_log_reader *reader, const form_row *row, const char *name) {
    lg_log_finding finding;
    lg_str text = {0};
    lg_log_finish(reader, &finding);
    lg_log_finding_text(&finding, "the log", &text);
    LG_CHECK_ROW(name, finding.conclusion == row->conclusion);
    LG_CHECK_ROW(name, (finding.primary >= 0) == (row->count > 0));
    if (finding.primary >= 0) {
        LG_CHECK_ROW(name, finding.groups[finding.primary].count == row->count);
    }
    LG_CHECK_ROW(name, strstr(lg_str_text(&text), row->text) != NULL);
    LG_CHECK_ROW(name, !row->not_in_it || !strstr(lg_str_text(&text), row->not_in_it));
    lg_str_free(&text);
    lg_log_finding_free(&finding);
    lg_log_free(reader);
}

static void feed(lg_log_reader *reader, const char *bytes, size_t n, size_t piece) {
    for (size_t at = 0; at < n; at += piece) {
        lg_log_feed(reader, bytes + at, n - at < piece ? n - at : piece);
    }
}

static void test_forms(void) {
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        for (size_t piece = 1; piece < 2000; piece *= 11) {
            lg_log_reader *reader = lg_log_open();
            feed(reader, rows[i].log, strlen(rows[i].log), piece);
            finish(reader, &rows[i], rows[i].name);
        }
    }
}

static void test_utf16(void) {
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        for (int big = 0; big < 2; big++) {
            lg_str log = {0};
            lg_str_add_n(&log, big ? "\xfe\xff" : "\xff\xfe", 2);
            for (const char *c = rows[i].log; *c; c++) {
                const char unit[2] = {big ? '\0' : *c, big ? *c : '\0'};
                lg_str_add_n(&log, unit, 2);
            }
            lg_log_reader *reader = lg_log_open();
            feed(reader, log.text, log.n, 3);
            finish(reader, &rows[i], rows[i].name);
            lg_str_free(&log);
        }
    }
}

// Bytes that are no log.
static void test_no_text(void) {
    static const struct {
        const char *name;
        const char *bytes;
        size_t n;
        lg_log_conclusion conclusion;
        const char *text;
    } files[] = {
        {"gzip", "\x1f\x8b\x08\x00\x00", 5, LG_LOG_PACKED_FILE, "zcat the log | lossgate explain"},
        {"gzip, cut", "\x1f\x8b", 2, LG_LOG_PACKED_FILE, "is compressed"},
        {"zstd", "\x28\xb5\x2f\xfd\x04", 5, LG_LOG_PACKED_FILE, "zstdcat the log"},
        {"xz", "\xfd\x37zXZ\0", 6, LG_LOG_PACKED_FILE, "xzcat the log"},
        {"zeros", "\0\0\0\0\0\0\0\0\0\0\0", 10, LG_LOG_NO_TEXT, "is no text"},
        {"UTF-16 without its mark", "e\0p\0o\0c\0h\0", 10, LG_LOG_NO_TEXT, "is no text"},
        {"nothing but a mark of UTF-16", "\xff\xfe", 2, LG_LOG_EMPTY, "is empty"},
        {"the same, the other way round", "\xfe\xff", 2, LG_LOG_EMPTY, "is empty"},
        {"one byte", "e", 1, LG_LOG_QUIET, "no loss fault"},
        {"UTF-8 with its mark", "\xef\xbb\xbf" THREAD(5) LABEL, 3 + sizeof(THREAD(5) LABEL) - 1,
         LG_LOG_LOSS_FAULT, "where     /pytorch/"},
        {"bells and backspaces", "10 %\b\b\b\b20 %\a\a\n", 14, LG_LOG_QUIET, "no loss fault"},
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        for (size_t piece = 1; piece < 9; piece += 7) {
            const form_row row = {.conclusion = files[i].conclusion,
                                  .count = files[i].conclusion == LG_LOG_LOSS_FAULT,
                                  .text = files[i].text};
            lg_log_reader *reader = lg_log_open();
            feed(reader, files[i].bytes, files[i].n, piece);
            finish(reader, &row, files[i].name);
        }
    }
}

// Half a megabyte of numbers, none of which means anything.
static void test_noise(void) {
    lg_str bytes = {0};
    uint64_t state = 1;
    for (int i = 0; i < 65536; i++) {
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        const uint64_t word = state ^ state >> 29;
        lg_str_add_n(&bytes, (const char *)&word, sizeof word);
    }
    const form_row row = {.conclusion = LG_LOG_NO_TEXT, .text = "is no text"};
    lg_log_reader *reader = lg_log_open();
    feed(reader, bytes.text, bytes.n, 100000);
    finish(reader, &row, "noise");
    lg_str_free(&bytes);
}

// An assert line cut off after each of its bytes: from the kernel's name on it is a loss's.
static void test_every_cut(void) {
    static const char line[] = THREAD(5) LABEL;
    const size_t named = strlen("/pytorch/aten/src/ATen/native/cuda/Loss.cu:242: nll_loss");
    const size_t native = strlen("/pytorch/aten/src/ATen/native/");
    for (size_t n = 1; n < sizeof line; n++) {
        for (int last = 0; last < 2; last++) {
            char name[32];
            snprintf(name, sizeof name, "%s %zu", last ? "last" : "amid", n);
            size_t from = last ? named : named + strlen("_forward");
            lg_log_reader *reader = lg_log_open();
            lg_log_feed(reader, "epoch 1\n", 8);
            lg_log_feed(reader, line, n);
            if (!last) {
                lg_log_feed(reader, "\nend\n", 5);
            }
            const form_row row = {.conclusion = n >= from             ? LG_LOG_LOSS_FAULT
                                                : last && n >= native ? LG_LOG_UNKNOWN_CHECK
                                                                      : LG_LOG_QUIET,
                                  .count = n >= from,
                                  .text = ""};
            finish(reader, &row, name);
        }
    }
}

// What a stranger's line can make long is shown by a part of it.
static void test_long_names(void) {
    lg_str log = {0};
    for (int i = 0; i < 3000; i++) {
        lg_str_add(&log, "x");
    }
    lg_str_add(&log, THREAD(5) LABEL "\n");
    const form_row row = {
        .conclusion = LG_LOG_LOSS_FAULT, .count = 1, .text = "cuda/Loss.cu:242, nll_loss_forward"};
    lg_log_reader *reader = lg_log_open();
    feed(reader, log.text, log.n, 100000);
    lg_log_finding finding;
    lg_log_finish(reader, &finding);
    CU_ASSERT_TRUE(strlen(finding.groups[0].file) < 200);
    CU_ASSERT_PTR_EQUAL(strstr(finding.groups[0].file, "…xxx"), finding.groups[0].file);
    lg_log_finding_free(&finding);
    lg_log_free(reader);
    reader = lg_log_open();
    feed(reader, log.text, log.n, 7);
    finish(reader, &row, "a long prefix");
    lg_str_free(&log);
}

int main(void) {
    static const lg_test tests[] = {{"forms", test_forms},         {"UTF-16", test_utf16},
                                    {"no text", test_no_text},     {"noise", test_noise},
                                    {"every cut", test_every_cut}, {"long names", test_long_names}};
    return lg_run_tests(LG_SUITE, tests, sizeof tests / sizeof *tests);
}
