// SPDX-License-Identifier: Apache-2.0
// What stands beside a fault and is plain whatever that is, and what deserves a warning on a batch
// that is otherwise fine.
#include "attribute/internal.h"
#include "batch/batch.h"
#include "support/alloc.h"

#include <inttypes.h>
#include <stdlib.h>

void lg_fact_add_no_logs(lg_diagnosis *d, int64_t n_rows) {
    bool softmax = n_rows == 0;
    lg_fact_add(d, LG_CAUSE_VALUE_DOMAIN,
                softmax ? "every input row lies in [0, 1] and sums to 1: probabilities, not their "
                          "logarithms"
                        : lg_arena_printf(&d->finding->arena,
                                          "%" PRId64 " input rows have entries above 0, which no "
                                          "log-probability is",
                                          n_rows),
                softmax ? "take the logarithm (log_softmax instead of softmax)"
                        : "apply log_softmax first, or use cross_entropy");
    lg_fact *last = &d->facts[d->n_facts - 1];
    last->doubtful = last->doubtful || (last->cause == LG_CAUSE_VALUE_DOMAIN && !softmax);
}

// Rows that cannot be log-probabilities. A few rows are looked at first: the rest only if they show
// something, because the input may be large and is right nearly always. `sure`: only when every row
// is class probabilities, which nothing else looks like.
static void note_value_domain(lg_diagnosis *d, bool sure) {
    const lg_batch *batch = d->batch;
    int64_t width = lg_batch_head_width(batch);
    if (batch->loss.kind != LG_NLL_LOSS || !batch->input.data || width < 1 ||
        lg_tensor_numel(&batch->input) != d->n_rows * width) {
        return;
    }
    double *values = lg_xmalloc((size_t)width * sizeof *values);
    bool *wrong = lg_xcalloc((size_t)d->n_rows + 1, sizeof *wrong);
    int64_t n = 0;
    int64_t n_live = 0;
    int64_t n_probabilities = 0;
    for (int64_t row = 0; row < d->n_rows && (row < 256 || n > 0); row++) {
        if (lg_class_of_row(d, row) == -2) {
            continue;
        }
        for (int64_t c = 0; c < width; c++) {
            values[c] = lg_tensor_get_f64(&batch->input, lg_entry_of(batch, row, c));
        }
        wrong[row] = !lg_could_be_log_probabilities(values, width);
        n_live++;
        n += wrong[row];
        n_probabilities += wrong[row] && lg_could_be_probabilities(values, width);
    }
    bool noted = n > 0 && (!sure || n_probabilities == n_live);
    for (int64_t row = 0; noted && row < d->n_rows; row++) {
        d->bad[row] = d->bad[row] || wrong[row];
    }
    free(wrong);
    free(values);
    if (!noted) {
        return;
    }
    lg_fact_add_no_logs(d, n_probabilities == n_live ? 0 : n);
}

static void warn_no_supervision(lg_diagnosis *d) {
    const lg_batch *batch = d->batch;
    if (!d->has_table || d->n_rows == 0) {
        return;
    }
    const lg_label_evidence *e = &d->table.evidence;
    lg_arena *arena = &d->finding->arena;
    if (e->n_ignored == e->n) {
        lg_fact_add(d, LG_CAUSE_NO_SUPERVISED_ROW,
                    lg_arena_printf(arena,
                                    "all %" PRId64 " labels are ignore_index %" PRId64
                                    ": the mean is 0/0",
                                    e->n, e->ignore_index),
                    "skip batches without a label, or look at what sets the labels");
        return;
    }
    const lg_tensor *weight = &batch->weight;
    if (!lg_tensor_exists(weight) || !d->table.counts || lg_tensor_numel(weight) != e->head_width) {
        return;
    }
    for (int64_t k = 0; k < e->head_width; k++) {
        if (d->table.counts[k] > 0 && lg_tensor_get_f64(weight, k) != 0) {
            return;
        }
    }
    lg_fact_add(d, LG_CAUSE_NO_SUPERVISED_ROW,
                "every class that occurs has weight 0: the mean is 0/0",
                "give the classes that occur a weight");
}

void lg_attribute_warnings(lg_diagnosis *d) {
    const lg_batch *batch = d->batch;
    if (lg_batch_is_binary(batch)) {
        return;
    }
    warn_no_supervision(d);
    if (d->n_facts == 0) {
        note_value_domain(d, false);
    }
    if (d->n_facts == 0 && d->n_rows > 0 && lg_batch_head_width(batch) == 1 &&
        !batch->target_is_probability) {
        lg_fact_add(d, LG_CAUSE_WRONG_HEAD_WIDTH,
                    "the head has one output: softmax over it is 1 whatever is learnt, loss and "
                    "gradient are 0",
                    "one output a class (two for a yes/no question), or a binary loss");
    }
}

void lg_attribute_companions(lg_diagnosis *d) {
    const lg_batch *batch = d->batch;
    if (lg_batch_is_binary(batch) || batch->target_is_probability) {
        return;
    }
    if (d->n_facts > 0 && lg_tensor_exists(&batch->target)) {
        lg_refusal refusal = lg_hostcheck_index_dtype(batch, &d->finding->arena);
        if (refusal.cause != LG_CAUSE_NONE) {
            lg_fact_add(d, refusal.cause, refusal.text, NULL);
        }
    }
    note_value_domain(d, true);
}
