// SPDX-License-Identifier: Apache-2.0
// Logs as tables: what the reader concludes of each, whatever the pieces it is fed in.
#ifndef LG_TESTS_PIPELINE_EXPLAIN_HELPERS_H
#define LG_TESTS_PIPELINE_EXPLAIN_HELPERS_H

#include "explain/explain.h"
#include "scenario/scenario.h"
#include "unit/testing.h"

#include <string.h>

#define LOSS_CU "/pytorch/aten/src/ATen/native/cuda/Loss.cu"
#define REDUCE LOSS_CU ":250: nll_loss_forward_reduce_cuda_kernel_2d: block: [0,0,0], thread: "
#define NO_REDUCE LOSS_CU ":186: nll_loss_forward_no_reduce_cuda_kernel: block: "
#define LABEL " Assertion `t >= 0 && t < n_classes` failed.\n"
#define CUR_LABEL " Assertion `cur_target >= 0 && cur_target < n_classes` failed.\n"
#define AFTERMATH                                                                                  \
    "RuntimeError: CUDA error: device-side assert triggered\n"                                     \
    "CUDA kernel errors might be asynchronously reported at some other API call, so the "          \
    "stacktrace below might be incorrect.\nFor debugging consider passing "                        \
    "CUDA_LAUNCH_BLOCKING=1\nCompile with `TORCH_USE_CUDA_DSA` to enable device-side "             \
    "assertions.\n"
#define FRAME                                                                                      \
    "  File \"/v/torch/nn/functional.py\", line 3053, in cross_entropy\n"                          \
    "    return torch._C._nn.cross_entropy_loss(input, target)\n"
#define INDEXING                                                                                   \
    "../aten/src/ATen/native/cuda/Indexing.cu:1146: indexSelectLargeIndex: block: [542,0,0], "     \
    "thread: [37,0,0] Assertion `srcIndex < srcSelectDimSize` failed.\n"
#define PADDLE                                                                                     \
    "Error: /paddle/softmax_with_cross_entropy_op.cu:536 Assertion `labels_[idx_lbl] >= 0 && "     \
    "labels_[idx_lbl] < d_ || labels_[idx_lbl] == ignore_idx_` failed. "

typedef struct log_row {
    const char *name;
    const char *log;
    lg_log_conclusion conclusion;
    lg_log_what what; // of the primary group, 0: there is none
    int64_t count, first_line;
    int64_t row;          // exact; -1: none
    lg_cause cause;       // the most probable
    lg_cause second;      // also listed; NONE: not looked at
    lg_cause never;       // not listed; NONE: not looked at
    const char *text;     // in the finding's text
    const char *scenario; // in the scenario's text; NULL: there is none
} log_row;

static inline void feed_in_pieces(const char *log, size_t n, size_t piece, lg_log_finding *out) {
    lg_log_reader *reader = lg_log_open();
    for (size_t at = 0; at < n; at += piece) {
        lg_log_feed(reader, log + at, n - at < piece ? n - at : piece);
    }
    lg_log_finish(reader, out);
    lg_log_free(reader);
}

static inline bool has_guess(const lg_log_finding *finding, lg_cause cause) {
    for (int i = 0; i < finding->n_guesses; i++) {
        if (finding->guesses[i].cause == cause) {
            return true;
        }
    }
    return false;
}

// The scenario that is written reads back without an error, and has what the row says.
static inline void check_scenario(const log_row *row, const lg_log_finding *finding) {
    lg_str text = {0};
    bool written = lg_log_scenario(finding, "a \"log\"", &text);
    LG_CHECK_ROW(row->name, written == (row->scenario != NULL));
    if (written) {
        lg_diags diags = {0};
        lg_scenario_set set = {0};
        lg_read_options options = {0};
        bool ok = lg_scenario_read_text("s.yaml", text.text, text.n, &options, &set, &diags);
        LG_CHECK_ROW(row->name, ok && set.n == 1);
        LG_CHECK_ROW(row->name, row->scenario && strstr(text.text, row->scenario));
        if (!ok) {
            lg_diags_print(&diags, stderr);
        }
        lg_diags_free(&diags);
        lg_scenario_set_free(&set);
    }
    lg_str_free(&text);
}

static inline void check_row(const log_row *row, const lg_log_finding *finding) {
    LG_CHECK_ROW(row->name, finding->conclusion == row->conclusion);
    LG_CHECK_ROW(row->name, (finding->primary >= 0) == (row->what != 0));
    if (finding->primary >= 0 && row->what) {
        const lg_log_group *group = &finding->groups[finding->primary];
        LG_CHECK_ROW(row->name, group->what == row->what);
        LG_CHECK_ROW(row->name, group->count == row->count);
        LG_CHECK_ROW(row->name, group->first_line == row->first_line);
        LG_CHECK_ROW(row->name, finding->has_row == (row->row >= 0));
        LG_CHECK_ROW(row->name, !finding->has_row || finding->row == row->row);
        LG_CHECK_ROW(row->name, finding->n_guesses > 0);
        LG_CHECK_ROW(row->name, finding->guesses[0].cause == row->cause);
        LG_CHECK_ROW(row->name, row->second == LG_CAUSE_NONE || has_guess(finding, row->second));
        LG_CHECK_ROW(row->name, row->never == LG_CAUSE_NONE || !has_guess(finding, row->never));
    }
    lg_str text = {0};
    lg_log_finding_text(finding, "the log", &text);
    LG_CHECK_ROW(row->name, strstr(lg_str_text(&text), row->text) != NULL);
    lg_str_free(&text);
    check_scenario(row, finding);
}

// The most probable comes first, and a guess from a log alone never takes a cause for certain.
static inline void check_doubt(const char *name, const lg_log_finding *finding) {
    double sum = 0;
    for (int g = 0; g < finding->n_guesses; g++) {
        sum += finding->guesses[g].probability;
        LG_CHECK_ROW(name, g == 0 || finding->guesses[g].probability <=
                                         finding->guesses[g - 1].probability);
    }
    LG_CHECK_ROW(name, sum <= 1 + 1e-9);
    LG_CHECK_ROW(name, finding->n_guesses == 0 || sum > 0.9);
}

// Whatever the pieces, the finding is the same.
static inline void check_logs(const log_row *rows, size_t n) {
    static const size_t pieces[] = {1 << 20, 1, 7, 64};
    for (size_t i = 0; i < n; i++) {
        for (size_t p = 0; p < sizeof pieces / sizeof *pieces; p++) {
            lg_log_finding finding;
            feed_in_pieces(rows[i].log, strlen(rows[i].log), pieces[p], &finding);
            check_row(&rows[i], &finding);
            check_doubt(rows[i].name, &finding);
            lg_log_finding_free(&finding);
        }
    }
}

#endif
