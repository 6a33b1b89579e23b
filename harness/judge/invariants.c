// SPDX-License-Identifier: Apache-2.0
#include "judge/judge.h"

#include "reference/reference.h"

#include <inttypes.h>
#include <math.h>

typedef struct checking {
    const lg_batch *batch;
    const lg_reference *reference;
    lg_arena *arena;
    const lg_output *gradient; // NULL: not observed
    const lg_output *row_loss; // NULL: not observed, or reduced
    lg_gradient_view *right;
    int64_t width;
    lg_broken_invariant *broken; // filled by what finds one
} checking;

static bool breaks(const checking *c, lg_arg_id output, const char *text) {
    *c->broken = (lg_broken_invariant){.output = output, .text = text};
    return true;
}

static const lg_output *output_of(const lg_observation *observation, lg_arg_id arg, int64_t n) {
    const lg_output *output = lg_observation_output(observation, arg);
    return lg_output_exists(output) && output->n == n ? output : NULL;
}

static double gradient_of(const checking *c, int64_t row, int64_t class_index) {
    return lg_output_get(c->gradient, lg_gradient_index(c->right, row, class_index));
}

static bool check_ignored(const checking *c, int64_t row) {
    double loss = c->row_loss ? lg_output_get(c->row_loss, row) : 0;
    if (loss != 0) {
        return breaks(c, LG_ARG_OUTPUT,
                      lg_arena_printf(c->arena,
                                      "row %" PRId64
                                      " is ignored and has the loss %.9g: an ignored row "
                                      "contributes exactly nothing",
                                      row, loss));
    }
    for (int64_t k = 0; c->gradient && k < c->width; k++) {
        double got = gradient_of(c, row, k);
        if (got != 0) {
            return breaks(
                c, LG_ARG_GRAD_INPUT,
                lg_arena_printf(c->arena,
                                "row %" PRId64 " is ignored and the gradient of its class "
                                "%" PRId64 " is %.9g: an ignored row contributes exactly nothing",
                                row, k, got));
        }
    }
    return false;
}

static bool check_one_element(const checking *c, int64_t row, int64_t label) {
    for (int64_t k = 0; k < c->width; k++) {
        double got = gradient_of(c, row, k);
        if (k != label && got != 0) {
            return breaks(c, LG_ARG_GRAD_INPUT,
                          lg_arena_printf(c->arena,
                                          "row %" PRId64 " has label %" PRId64
                                          " and the gradient of class "
                                          "%" PRId64 " is %.9g: nll_loss reads one element a row",
                                          row, label, k, got));
        }
    }
    int64_t i = lg_gradient_index(c->right, row, label);
    double want = lg_gradient_at(c->right, row, label);
    if (gradient_of(c, row, label) == 0 &&
        fabs(want) > lg_tolerance(c->batch, c->reference, LG_Q_GRADIENT, i, want)) {
        return breaks(c, LG_ARG_GRAD_INPUT,
                      lg_arena_printf(c->arena,
                                      "row %" PRId64
                                      " counts and the gradient of its label %" PRId64
                                      " is 0, not %.9g",
                                      row, label, want));
    }
    return false;
}

// Coefficient of the softmax in a row's gradient where it is one number, else 0.
static double coefficient(const checking *c, int64_t row, int64_t label) {
    const lg_batch *batch = c->batch;
    if (batch->target_is_probability || batch->loss.label_smoothing != 0) {
        return 0;
    }
    double g = lg_row_upstream(batch, row);
    bool mean = batch->loss.reduction == LG_REDUCTION_MEAN;
    bool weighted = lg_tensor_exists(&batch->weight);
    double weight = weighted ? lg_tensor_get_f64(&batch->weight, label) : 1;
    return weight * (mean ? g / c->reference->total_weight : g);
}

static bool check_row_sum(const checking *c, int64_t row, int64_t label) {
    lg_sum sum = {0};
    for (int64_t k = 0; k < c->width; k++) {
        lg_sum_add(&sum, gradient_of(c, row, k));
    }
    double got = lg_sum_value(&sum);
    double bound = lg_tolerance_row_sum(c->batch, c->reference, row);
    if (fabs(got) <= bound) {
        return false;
    }
    double scale = coefficient(c, row, label);
    if (scale != 0) {
        return breaks(c, LG_ARG_GRAD_INPUT,
                      lg_arena_printf(c->arena,
                                      "the gradient of row %" PRId64
                                      " adds up to %.6g, not to 0 (bound "
                                      "%.3g): its softmax adds up to %.9g",
                                      row, got, bound, 1 + got / scale));
    }
    return breaks(c, LG_ARG_GRAD_INPUT,
                  lg_arena_printf(c->arena,
                                  "the gradient of row %" PRId64
                                  " adds up to %.6g, not to 0 (bound "
                                  "%.3g)",
                                  row, got, bound));
}

static bool is_finite_row(const checking *c, int64_t row) {
    return c->reference->row_max && isfinite(c->reference->row_max[row]) &&
           isfinite(c->reference->row_rest[row]) && isfinite(lg_gradient_at(c->right, row, 0));
}

static bool check_row(const checking *c, int64_t row) {
    int64_t label = 0;
    if (!c->batch->target_is_probability) {
        switch (lg_label_read(c->batch, row, c->width, &label)) {
        case LG_LABEL_IGNORED:
            return check_ignored(c, row);
        case LG_LABEL_INVALID:
            return false;
        case LG_LABEL_SUPERVISED:
            break;
        }
    }
    if (!c->gradient) {
        return false;
    }
    if (c->batch->loss.kind == LG_NLL_LOSS) {
        return check_one_element(c, row, label);
    }
    return is_finite_row(c, row) && check_row_sum(c, row, label);
}

bool lg_invariants_check(const lg_batch *batch, const lg_reference *reference,
                         const lg_observation *observation, lg_arena *arena,
                         lg_broken_invariant *out) {
    lg_gradient_view right = lg_gradient_open(batch, reference);
    checking c = {.batch = batch,
                  .reference = reference,
                  .arena = arena,
                  .right = &right,
                  .broken = out,
                  .width = lg_batch_head_width(batch)};
    if (batch->loss.kind != LG_NLL_LOSS && batch->loss.kind != LG_CROSS_ENTROPY) {
        return false; // every element of a binary loss is a row of its own
    }
    if (batch->loss.direction & LG_BACKWARD) {
        c.gradient = output_of(observation, LG_ARG_GRAD_INPUT, lg_tensor_numel(&batch->input));
    }
    if (batch->loss.reduction == LG_REDUCTION_NONE) {
        c.row_loss = output_of(observation, LG_ARG_OUTPUT, reference->n_rows);
    }
    bool broken = false;
    bool any = c.gradient || (c.row_loss && reference->n_ignored > 0);
    for (int64_t row = 0; any && !broken && row < reference->n_rows; row++) {
        broken = check_row(&c, row);
    }
    lg_gradient_close(&right);
    return broken;
}
