// SPDX-License-Identifier: Apache-2.0
// How fast logs are read: a flood of one assert, behind a logger's changing prefix, in a
// container's JSON, in colours, of two asserts that alternate; an ordinary training log, and one
// line without an end; beside memchr over the same bytes. Processor time.
#include "explain/explain.h"
#include "support/alloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

enum { PIECE_BYTES = 1 << 20, REPEATS = 256 };

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

#define ASSERT_HEAD                                                                                \
    "/pytorch/aten/src/ATen/native/cuda/Loss.cu:250: nll_loss_forward_reduce_cuda_kernel_2d: "     \
    "block: [0,0,0], thread: [%d,0,0] Assertion "
#define ASSERT_LINE ASSERT_HEAD "`t >= 0 && t < n_classes` failed.\n"

static void add_flood(lg_str *out, int i) {
    lg_str_printf(out, ASSERT_LINE, i % 32);
}

static void add_prefixed(lg_str *out, int i) {
    lg_str_printf(out, "[rank%d] 10:00:%02d.%03d ", i % 8, i / 1000 % 60, i % 1000);
    lg_str_printf(out, ASSERT_LINE, i % 32);
}

static void add_container(lg_str *out, int i) {
    lg_str_printf(out,
                  "{\"log\":\"" ASSERT_HEAD
                  "`t \\u003e= 0 \\u0026\\u0026 t \\u003c n_classes` failed.\\n\",\"stream\":"
                  "\"stderr\",\"time\":\"2026-01-01T10:00:%02d.%09dZ\"}\n",
                  i % 32, i / 1000 % 60, i % 1000 * 1000003);
}

static void add_coloured(lg_str *out, int i) {
    lg_str_add(out, "\x1b[31m");
    lg_str_printf(out, ASSERT_HEAD "`t >= 0 && t < n_classes` failed.\x1b[0m\n", i % 32);
}

static void add_alternating(lg_str *out, int i) {
    lg_str_printf(out, ASSERT_HEAD, i % 32);
    lg_str_add(out, i % 2 ? "`t >= 0 && t < n_classes` failed.\n" : "`t < n_classes` failed.\n");
}

static void add_training(lg_str *out, int i) {
    lg_str_printf(out,
                  "2026-01-01 10:00:%02d,123 INFO trainer: epoch %d step %d loss=%.4f acc=%.3f "
                  "lr=1e-3 input shape torch.Size([32, 3, 224, 224])\n",
                  i % 60, i / 100, i, 1 / (i + 1.0), i / 1e6);
}

static void add_endless(lg_str *out, int i) {
    lg_str_add(out, i % 7 ? "loss loss loss loss loss " : "0.123 0.125 0.128 ");
}

typedef struct log_kind {
    const char *name;
    void (*add)(lg_str *out, int i);
} log_kind;

// Lines up to a whole piece.
static void fill(const log_kind *kind, lg_str *out) {
    for (int i = 0; out->n < PIECE_BYTES; i++) {
        kind->add(out, i);
    }
}

static double read_log(const lg_str *piece, int64_t *n_asserts) {
    lg_log_reader *reader = lg_log_open();
    double start = seconds();
    for (int i = 0; i < REPEATS; i++) {
        lg_log_feed(reader, piece->text, piece->n);
    }
    lg_log_finding finding;
    lg_log_finish(reader, &finding);
    double took = seconds() - start;
    *n_asserts = finding.primary >= 0 ? finding.groups[finding.primary].count : 0;
    lg_log_finding_free(&finding);
    lg_log_free(reader);
    return took;
}

static double count_lines(const lg_str *piece, int64_t *n_lines) {
    double start = seconds();
    for (int i = 0; i < REPEATS; i++) {
        const char *end = piece->text + piece->n;
        for (const char *at = piece->text; (at = memchr(at, '\n', (size_t)(end - at))); at++) {
            ++*n_lines;
        }
    }
    return seconds() - start;
}

int main(void) {
    static const log_kind kinds[] = {
        {"flood of one assert", add_flood}, {"flood, prefixed lines", add_prefixed},
        {"flood in JSON", add_container},   {"flood in colours", add_coloured},
        {"two floods", add_alternating},    {"training log", add_training},
        {"one endless line", add_endless}};
    printf("%-24s %8s %10s %12s %12s %10s\n", "log", "MB", "lines", "explain MB/s", "memchr MB/s",
           "asserts");
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        lg_str piece = {0};
        int64_t n_asserts = 0;
        int64_t n_lines = 0;
        fill(&kinds[i], &piece);
        double mega = 1e-6 * (double)piece.n * REPEATS;
        double took = read_log(&piece, &n_asserts);
        double searched = count_lines(&piece, &n_lines);
        printf("%-24s %8.0f %10lld %12.0f %12.0f %10lld\n", kinds[i].name, mega, (long long)n_lines,
               mega / took, mega / searched, (long long)n_asserts);
        lg_str_free(&piece);
    }
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    printf("peak memory %ld KiB\n", usage.ru_maxrss);
    return 0;
}
