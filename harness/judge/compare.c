// SPDX-License-Identifier: Apache-2.0
#include "judge/internal.h"

#include "judge/judge.h"
#include "reference/reference.h"

#include <math.h>
#include <string.h>

static void note(lg_deviation *deviation, const lg_output *output, int64_t index, int64_t row,
                 double got, double want, double bound, bool take_example) {
    if (deviation->n++ == 0 || take_example) {
        deviation->output = output->arg;
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

// `row`: that the element belongs to, -1 for an output over all rows.
static void compare_element(const lg_batch *batch, const lg_reference *reference,
                            lg_quantity quantity, const lg_output *output, int64_t i, int64_t row,
                            double right, lg_comparison *out) {
    double got = lg_output_get(output, i);
    out->n_compared++;
    if (isnan(right)) {
        if (!isnan(got)) {
            note(&out->made_up, output, i, row, got, right, 0, false);
        }
        return;
    }
    if (isnan(got)) {
        note(&out->lost, output, i, row, got, right, 0, false);
        return;
    }
    double bound = isfinite(right) ? lg_tolerance(batch, reference, quantity, i, right) : 0;
    double share = lg_compare(got, right, bound, (lg_dtype)output->dtype);
    if (share <= 1) {
        out->max_share = share > out->max_share || isnan(out->max_share) ? share : out->max_share;
        return;
    }
    bool worse = !(share <= out->worst_off_share);
    out->worst_off_share = worse ? share : out->worst_off_share;
    note(&out->off, output, i, row, got, right, bound, worse);
}

static bool is_comparable(const lg_output *output, int64_t n_want, lg_comparison *out) {
    lg_arg_id arg = output->arg;
    if (!lg_output_exists(output)) {
        out->missing = arg;
    } else if (output->n != n_want) {
        out->wrong_length = arg;
    }
    return lg_output_exists(output) && output->n == n_want;
}

// `want` NULL: every element should be NaN.
static void compare_one(const lg_batch *batch, const lg_reference *reference, lg_quantity quantity,
                        const lg_output *output, const double *want, int64_t n_want,
                        lg_comparison *out) {
    if (!is_comparable(output, n_want, out)) {
        return;
    }
    for (int64_t i = 0; i < output->n; i++) {
        compare_element(batch, reference, quantity, output, i, quantity == LG_Q_ROW_LOSS ? i : -1,
                        want ? want[i] : NAN, out);
    }
}

static void compare_gradient(const lg_batch *batch, const lg_reference *reference,
                             const lg_output *output, lg_comparison *out) {
    if (!is_comparable(output, lg_tensor_numel(&batch->input), out)) {
        return;
    }
    lg_gradient_view right = lg_gradient_open(batch, reference);
    for (int64_t row = 0; row < right.n_rows; row++) {
        for (int64_t c = 0; c < right.width; c++) {
            compare_element(batch, reference, LG_Q_GRADIENT, output,
                            lg_gradient_index(&right, row, c), row, lg_gradient_at(&right, row, c),
                            out);
        }
    }
    lg_gradient_close(&right);
}

// Compares an output when it was observed; one that had to be observed and was not is `missing`.
static void compare_named(const lg_batch *batch, const lg_reference *reference,
                          const lg_observation *observation, lg_arg_id arg, lg_quantity quantity,
                          const double *want, int64_t n_want, bool required, lg_comparison *out) {
    const lg_output *output = lg_observation_output(observation, arg);
    if (!output) {
        out->missing = required ? arg : out->missing;
        return;
    }
    compare_one(batch, reference, quantity, output, want, n_want, out);
}

void lg_compare_outputs(const lg_batch *batch, const lg_reference *reference,
                        const lg_kernel *kernel, const lg_observation *observation, bool invalid,
                        lg_comparison *out) {
    *out = (lg_comparison){.missing = LG_N_ARGS, .wrong_length = LG_N_ARGS, .max_share = NAN};
    for (int i = 0; i < observation->n_outputs; i++) {
        const lg_output *output = &observation->outputs[i];
        out->broken_fence = output->fence_broken ? output : out->broken_fence;
        out->unwritten = output->n_unwritten > 0 ? output : out->unwritten;
    }
    int ran = (int)batch->loss.direction & (int)lg_kernel_directions(kernel);
    bool forward = ran & LG_FORWARD;
    bool backward = ran & LG_BACKWARD;
    bool scalar = batch->loss.reduction != LG_REDUCTION_NONE;
    if (!reference) {
        const lg_output *loss = lg_observation_output(observation, LG_ARG_OUTPUT);
        compare_named(batch, NULL, observation, LG_ARG_OUTPUT, scalar ? LG_Q_LOSS : LG_Q_ROW_LOSS,
                      NULL, loss ? loss->n : 0, forward, out);
        return;
    }
    compare_named(batch, reference, observation, LG_ARG_OUTPUT, scalar ? LG_Q_LOSS : LG_Q_ROW_LOSS,
                  reference->loss, reference->n_loss, forward, out);
    if (!invalid) {
        compare_named(batch, reference, observation, LG_ARG_TOTAL_WEIGHT, LG_Q_TOTAL_WEIGHT,
                      &reference->total_weight, 1, false, out);
    }
    const lg_output *gradient =
        backward ? lg_observation_output(observation, LG_ARG_GRAD_INPUT) : NULL;
    if (gradient) {
        compare_gradient(batch, reference, gradient, out);
    } else if (backward) {
        out->missing = LG_ARG_GRAD_INPUT;
    }
}
