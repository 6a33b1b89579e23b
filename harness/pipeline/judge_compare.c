// SPDX-License-Identifier: Apache-2.0
#include "pipeline/judge_compare.h"

#include "pipeline/tolerance.h"

#include <math.h>
#include <string.h>

static void note(lg_deviation *deviation, const lg_output *output, int64_t index, int64_t row,
                 double got, double want, double bound, bool take_example) {
    if (deviation->n++ == 0 || take_example) {
        deviation->output = output->name;
        deviation->index = index;
        deviation->got = got;
        deviation->want = want;
        deviation->bound = bound;
    }
    if (row < 0 || deviation->n_rows == LG_KEPT_ROWS) {
        return;
    }
    for (int64_t i = 0; i < deviation->n_rows; i++) {
        if (deviation->rows[i] == row) {
            return;
        }
    }
    deviation->rows[deviation->n_rows++] = row;
}

// The row an element of an output belongs to, -1 for an output over all rows.
static int64_t row_of(const lg_batch *batch, lg_quantity quantity, int64_t index) {
    switch (quantity) {
    case LG_Q_LOSS:
    case LG_Q_TOTAL_WEIGHT:
        return -1;
    case LG_Q_ROW_LOSS:
        return index;
    case LG_Q_GRADIENT: {
        int64_t spatial = lg_batch_spatial(batch);
        int64_t per_sample = spatial * lg_batch_head_width(batch);
        if (batch->loss.kind == LG_BCE || batch->loss.kind == LG_BCE_WITH_LOGITS ||
            per_sample <= 0) {
            return index;
        }
        return index / per_sample * spatial + index % spatial;
    }
    }
    return -1;
}

static void compare_one(const lg_batch *batch, const lg_reference *reference, lg_quantity quantity,
                        const lg_output *output, const double *want, int64_t n_want,
                        lg_comparison *out) {
    if (!output->values) {
        out->missing = output->name;
        return;
    }
    if (output->n != n_want) {
        out->wrong_length = output->name;
        return;
    }
    for (int64_t i = 0; i < output->n; i++) {
        double got = output->values[i];
        double right = want ? want[i] : NAN;
        int64_t row = row_of(batch, quantity, i);
        out->n_compared++;
        if (isnan(right)) {
            if (!isnan(got)) {
                note(&out->made_up, output, i, row, got, right, 0, false);
            }
            continue;
        }
        if (isnan(got)) {
            note(&out->lost, output, i, row, got, right, 0, false);
            continue;
        }
        double bound = isfinite(right) ? lg_tolerance(batch, reference, quantity, i, right) : 0;
        double share = lg_compare(got, right, bound, (lg_dtype)output->dtype);
        if (share <= 1) {
            out->max_share =
                share > out->max_share || isnan(out->max_share) ? share : out->max_share;
            continue;
        }
        bool worse = !(share <= out->worst_off_share);
        out->worst_off_share = worse ? share : out->worst_off_share;
        note(&out->off, output, i, row, got, right, bound, worse);
    }
}

static bool has_stage(const lg_kernel *kernel, lg_direction direction) {
    for (int i = 0; i < kernel->n_stages; i++) {
        if (kernel->stages[i].direction == direction) {
            return true;
        }
    }
    return false;
}

// Compares an output when it was observed; one that had to be observed and was not is `missing`.
static void compare_named(const lg_batch *batch, const lg_reference *reference,
                          const lg_observation *observation, const char *name, lg_quantity quantity,
                          const double *want, int64_t n_want, bool required, lg_comparison *out) {
    const lg_output *output = lg_observation_output(observation, name);
    if (!output) {
        out->missing = required ? name : out->missing;
        return;
    }
    compare_one(batch, reference, quantity, output, want, n_want, out);
}

void lg_compare_outputs(const lg_batch *batch, const lg_reference *reference,
                        const lg_kernel *kernel, const lg_observation *observation, bool invalid,
                        lg_comparison *out) {
    *out = (lg_comparison){.max_share = NAN, .worst_off_share = 0};
    for (int i = 0; i < observation->n_outputs; i++) {
        const lg_output *output = &observation->outputs[i];
        out->broken_fence = output->fence_broken ? output : out->broken_fence;
        out->unwritten = output->n_unwritten > 0 ? output : out->unwritten;
    }
    bool forward = (batch->loss.direction & LG_FORWARD) && has_stage(kernel, LG_FORWARD);
    bool backward = (batch->loss.direction & LG_BACKWARD) && has_stage(kernel, LG_BACKWARD);
    bool scalar = batch->loss.reduction != LG_REDUCTION_NONE;
    if (!reference) {
        const lg_output *loss = lg_observation_output(observation, "output");
        compare_named(batch, NULL, observation, "output", scalar ? LG_Q_LOSS : LG_Q_ROW_LOSS, NULL,
                      loss ? loss->n : 0, forward, out);
        return;
    }
    compare_named(batch, reference, observation, "output", scalar ? LG_Q_LOSS : LG_Q_ROW_LOSS,
                  reference->loss, reference->n_loss, forward, out);
    if (!invalid) {
        compare_named(batch, reference, observation, "total_weight", LG_Q_TOTAL_WEIGHT,
                      &reference->total_weight, 1, false, out);
    }
    if (backward) {
        if (reference->grad_input) {
            compare_named(batch, reference, observation, "grad_input", LG_Q_GRADIENT,
                          reference->grad_input, lg_tensor_numel(&batch->input), true, out);
        } else {
            out->missing = "grad_input";
        }
    }
}
