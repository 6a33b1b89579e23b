// SPDX-License-Identifier: Apache-2.0
// Facts about probabilities, binary inputs and targets, and weights.
#include "attribute/internal.h"
#include "batch/batch.h"
#include "support/alloc.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

int64_t lg_entry_of(const lg_batch *batch, int64_t row, int64_t c) {
    if (lg_batch_is_binary(batch)) {
        return row;
    }
    int64_t spatial = lg_batch_spatial(batch);
    return (row / spatial * lg_batch_head_width(batch) + c) * spatial + row % spatial;
}

void lg_fact_add_target_nonfinite(lg_diagnosis *d, int64_t n_rows, int64_t first) {
    lg_fact_add(d, LG_CAUSE_NONFINITE_LOGITS,
                lg_arena_printf(&d->finding->arena,
                                "%" PRId64 " target rows hold NaN or infinity, the first is "
                                "row %" PRId64,
                                n_rows, first),
                "look at how the soft labels are made");
}

void lg_fact_add_not_probabilities(lg_diagnosis *d, int64_t n_rows, int64_t first) {
    lg_fact_add(d, LG_CAUSE_VALUE_DOMAIN,
                lg_arena_printf(&d->finding->arena,
                                "%" PRId64 " target rows are no probabilities (an entry outside "
                                "[0, 1] or a sum other than 1), the first is row %" PRId64,
                                n_rows, first),
                "normalise the target rows: entries in [0, 1] that sum to 1");
}

static void diagnose_probability_targets(lg_diagnosis *d) {
    const lg_batch *batch = d->batch;
    const lg_tensor *target = &batch->target;
    int64_t width = lg_batch_head_width(batch);
    if (!target->data || width < 1 || lg_tensor_numel(target) != d->n_rows * width) {
        return;
    }
    double *row_values = lg_xmalloc((size_t)width * sizeof *row_values);
    int64_t n_wrong = 0;
    int64_t n_nan = 0;
    int64_t first_wrong = -1;
    int64_t first_nan = -1;
    for (int64_t row = 0; row < d->n_rows; row++) {
        bool finite = true;
        for (int64_t c = 0; c < width; c++) {
            row_values[c] = lg_tensor_get_f64(target, lg_entry_of(batch, row, c));
            finite = finite && isfinite(row_values[c]);
        }
        bool wrong = finite && !lg_could_be_probabilities(row_values, width);
        n_nan += !finite;
        n_wrong += wrong;
        d->bad[row] = d->bad[row] || wrong || !finite;
        first_wrong = wrong && first_wrong < 0 ? row : first_wrong;
        first_nan = !finite && first_nan < 0 ? row : first_nan;
    }
    free(row_values);
    if (n_nan > 0) {
        lg_fact_add_target_nonfinite(d, n_nan, first_nan);
    }
    if (n_wrong > 0) {
        lg_fact_add_not_probabilities(d, n_wrong, first_wrong);
    }
}

static bool outside_unit(double value) {
    return value < 0 || value > 1;
}

static void diagnose_binary(lg_diagnosis *d) {
    const lg_batch *batch = d->batch;
    lg_arena *arena = &d->finding->arena;
    bool check_input = batch->loss.kind == LG_BCE && batch->input.data;
    bool check_target = batch->target.data && lg_tensor_numel(&batch->target) == d->n_rows;
    int64_t n_input = 0;
    int64_t n_target = 0;
    int64_t first = -1;
    double value = 0;
    for (int64_t row = 0; row < d->n_rows; row++) {
        double x = check_input ? lg_tensor_get_f64(&batch->input, row) : 0;
        double t = check_target ? lg_tensor_get_f64(&batch->target, row) : 0;
        bool bad_input = check_input && isfinite(x) && outside_unit(x);
        bool bad_target = outside_unit(t) || isnan(t);
        if ((bad_input || bad_target) && first < 0) {
            first = row;
            value = bad_input ? x : t;
        }
        n_input += bad_input;
        n_target += bad_target;
        d->bad[row] = d->bad[row] || bad_input || bad_target;
    }
    if (n_input + n_target == 0) {
        return;
    }
    const char *what = n_input > 0 ? "input" : "target";
    double distance = value > 1 ? value - 1 : -value;
    lg_fact_add(d, LG_CAUSE_BCE_RANGE,
                lg_arena_printf(arena,
                                "%" PRId64 " %s values lie outside [0, 1], the first is %.9g in "
                                "element %" PRId64 ", off by %.3g",
                                n_input > 0 ? n_input : n_target, what, value, first, distance),
                n_input > 0 ? "apply a sigmoid first, or use binary_cross_entropy_with_logits"
                            : "scale the targets to [0, 1]");
}

static void diagnose_weights(lg_diagnosis *d) {
    const lg_batch *batch = d->batch;
    const lg_tensor *weight = &batch->weight;
    lg_arena *arena = &d->finding->arena;
    if (!lg_tensor_exists(weight) || !weight->data) {
        return;
    }
    if (weight->dtype != batch->input.dtype) {
        lg_fact_add(d, LG_CAUSE_WEIGHT_VECTOR,
                    lg_arena_printf(arena, "the weights are %s, the input is %s",
                                    lg_dtype_name(weight->dtype),
                                    lg_dtype_name(batch->input.dtype)),
                    "cast the weights to the input's type");
        return;
    }
    int64_t n = lg_tensor_numel(weight);
    // Of logits in a wrong shape, weights and labels still know how many classes are meant.
    int64_t width = d->n_labels > 0 ? d->label_width : lg_batch_head_width(batch);
    if (!lg_batch_is_binary(batch) && (weight->rank != 1 || n != width)) {
        const char *in =
            weight->rank == 1 ? "" : lg_arena_printf(arena, " in %d dimensions", weight->rank);
        lg_fact_add(
            d, LG_CAUSE_WEIGHT_VECTOR,
            lg_arena_printf(arena, "%" PRId64 " weights%s for %" PRId64 " classes", n, in, width),
            "give one weight a class");
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        double value = lg_tensor_get_f64(weight, i);
        if (!(value >= 0) || isinf(value)) {
            lg_fact_add(d, LG_CAUSE_WEIGHT_VECTOR,
                        lg_arena_printf(arena, "weight %" PRId64 " is %g", i, value),
                        "weights are finite and not negative; look for a class that never occurs");
            return;
        }
    }
}

void lg_attribute_values(lg_diagnosis *d) {
    const lg_batch *batch = d->batch;
    diagnose_weights(d);
    if (batch->input.data) {
        lg_attribute_nonfinite(d);
    }
    if (lg_batch_is_binary(batch)) {
        diagnose_binary(d);
    } else if (batch->target_is_probability) {
        diagnose_probability_targets(d);
    }
}
