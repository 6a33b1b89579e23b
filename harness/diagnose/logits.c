// SPDX-License-Identifier: Apache-2.0
// The logits beside class indices: NaN and infinities, probabilities where logits are expected, and
// what is no logarithm of a probability where nll_loss wants one.
#include "batch/batch.h"
#include "diagnose/internal.h"
#include "support/alloc.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static bool is_nll(const lg_diagnose_pass *p) {
    return p->options->loss == LG_NLL_LOSS;
}

// attribute_values.c has the rule of what is broken: -inf is how classes are masked.
static void take_nonfinite(lg_logit_row *row, bool is_label, double value) {
    bool minus = value == -INFINITY;
    row->n_minus += minus;
    row->broken = row->broken || !minus || is_label;
}

static void take_logarithm(lg_logit_row *row, double value) {
    double p = exp(value);
    row->above = row->above || !lg_could_be_log_probability(value);
    row->no_probability = row->no_probability || !lg_could_be_probability(value);
    row->exp_sum += p;
    row->entropy += p > 0 ? -p * value : 0;
}

static bool is_ignored(const lg_diagnose_pass *p, int64_t row) {
    return p->labels[row] == p->options->ignore_index;
}

static void take_entries(lg_diagnose_pass *p, int64_t at, int64_t n) {
    int64_t spatial = p->spatial;
    int64_t width = lg_batch_head_width(&p->batch);
    bool nll = is_nll(p);
    bool look = nll || lg_any_nonfinite(p->logits.dtype, p->logits.raw, (size_t)n);
    for (int64_t i = 0; (look || p->looks_soft) && i < n; i++) {
        double value = lg_dtype_get_f64(p->logits.dtype, p->logits.raw, i);
        int64_t flat = at + i;
        int64_t r = flat / (width * spatial) * spatial + flat % spatial;
        lg_logit_row *row = &p->logit_rows[r];
        if (!isfinite(value) && !is_ignored(p, r)) {
            take_nonfinite(row, flat / spatial % width == p->labels[r], value);
        }
        row->sum += value;
        p->looks_soft = p->looks_soft && lg_could_be_probability(value);
        if (nll) {
            take_logarithm(row, value);
        }
    }
}

static void close_logarithms(lg_diagnose_pass *p, int64_t i) {
    const lg_logit_row *row = &p->logit_rows[i];
    p->n_logs++;
    if (row->above) {
        p->n_soft += !row->no_probability && lg_could_be_probability_sum(row->sum);
        lg_row_list_add(&p->no_logs, p->n_rows + i);
    } else if (!lg_could_be_log_probability_sum(row->exp_sum, row->entropy)) {
        p->first_sum = p->unnormalised.n == 0 ? row->exp_sum : p->first_sum;
        lg_row_list_add(&p->unnormalised, p->n_rows + i);
    }
}

bool lg_diagnose_take_logits(lg_diagnose_pass *p, int64_t n_rows, lg_diags *diags) {
    int64_t width = lg_batch_head_width(&p->batch);
    int64_t left = n_rows * width;
    memset(p->logit_rows, 0, (size_t)n_rows * sizeof *p->logit_rows);
    for (int64_t at = 0; left > 0;) {
        int64_t got = lg_source_raw(&p->logits, left, diags);
        if (got <= 0) {
            return false;
        }
        take_entries(p, at, got);
        at += got;
        left -= got;
    }
    for (int64_t i = 0; i < n_rows; i++) {
        lg_logit_row *row = &p->logit_rows[i];
        bool dead = row->broken || (width > 0 && row->n_minus == width);
        row->above = row->above && !dead && !is_ignored(p, i);
        p->looks_soft = p->looks_soft && lg_could_be_probability_sum(row->sum);
        if (dead) {
            p->first_nonfinite = p->n_nonfinite++ == 0 ? p->n_rows + i : p->first_nonfinite;
            p->bad[i] = true;
        } else if (is_nll(p) && !is_ignored(p, i)) {
            close_logarithms(p, i);
        }
    }
    return true;
}

// --- what is said of it -------------------------------------------------------------------------

void lg_diagnose_add_no_logs(lg_diagnose_pass *p, lg_diagnosis *d) {
    bool softmax = p->n_soft == p->n_logs;
    bool alone = d->n_facts == 0 && d->n_explanations == 0;
    // Beside another fault only what nothing else looks like: attribute_values.c does the same.
    if (p->no_logs.n > 0 && (alone || (softmax && d->n_facts + (d->n_explanations > 0) == 1))) {
        lg_fact_add_no_logs(d, softmax ? 0 : p->no_logs.n);
        p->bad_rows = p->any_rows;
        p->no_logs.n = 0; // said
    }
}

static void note_no_logs(const lg_diagnose_pass *p, lg_diagnose_result *out) {
    lg_arena *arena = &out->finding.arena;
    if (p->no_logs.n > 0) {
        lg_diagnose_note(out, lg_arena_printf(arena,
                                              "%" PRId64 " of %" PRId64
                                              " input rows have entries above 0, which no "
                                              "log-probability is: rows %s",
                                              p->no_logs.n, p->n_logs,
                                              lg_row_list_text(&p->no_logs, arena)));
    } else if (p->unnormalised.n > 0) {
        lg_diagnose_note(out,
                         lg_arena_printf(arena,
                                         "the exponentials of %" PRId64 " of %" PRId64
                                         " input rows do not sum to 1 (row %" PRId64
                                         ": %.4g), so that they are no log_softmax; masked or cut "
                                         "distributions may be so: rows %s",
                                         p->unnormalised.n, p->n_logs, p->unnormalised.first[0],
                                         p->first_sum, lg_row_list_text(&p->unnormalised, arena)));
    }
}

void lg_diagnose_note_logits(const lg_diagnose_pass *p, lg_diagnose_result *out) {
    if (is_nll(p)) {
        note_no_logs(p, out);
    } else if (p->looks_soft && out->n_rows > 0) {
        lg_diagnose_note(out, "the logits look like probabilities (no entry is negative, each row "
                              "sums to 1): is softmax applied twice? cross_entropy applies it "
                              "itself");
    }
}
