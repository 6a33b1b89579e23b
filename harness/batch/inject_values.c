// SPDX-License-Identifier: Apache-2.0
// Faults of the input's values, of probabilities and of weights.
#include "batch/batch.h"
#include "batch/internal.h"
#include "labels/labels.h"
#include "support/alloc.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool no_memory(const lg_fault_spec *fault, lg_diags *diags) {
    return lg_error(diags, fault->loc, "%s: the arrays do not fit in memory",
                    lg_cause_name(fault->kind));
}

static bool has_data(const lg_tensor *tensor) {
    return lg_tensor_exists(tensor) && tensor->data;
}

// The flat index of class c in a row of an N×C×d… array: rows count over (n, d…).
static int64_t entry_of(const lg_batch *batch, int64_t row, int64_t c) {
    if (lg_batch_is_binary(batch)) {
        return row;
    }
    int64_t spatial = lg_batch_spatial(batch);
    int64_t width = lg_batch_head_width(batch);
    return (row / spatial * width + c) * spatial + row % spatial;
}

// Rows that are not ignored (probability and binary targets ignore none).
static bool row_is_live(const lg_batch *batch, int64_t row) {
    if (batch->target_is_probability || row >= lg_tensor_numel(&batch->target)) {
        return true;
    }
    return lg_tensor_get_i64(&batch->target, row) != batch->loss.ignore_index;
}

static bool choose(const lg_fault_spec *fault, int index, uint64_t seed, const lg_batch *batch,
                   int64_t **rows, int64_t *n, lg_diags *diags) {
    *rows = NULL;
    *n = 0;
    int64_t n_rows = lg_batch_rows(batch);
    bool *usable = lg_buffer_alloc((size_t)(n_rows > 0 ? n_rows : 1));
    if (!usable) {
        return no_memory(fault, diags);
    }
    for (int64_t row = 0; row < n_rows; row++) {
        usable[row] = row_is_live(batch, row);
    }
    for (int i = 0; i < batch->n_injections; i++) {
        for (int64_t r = 0; r < batch->injections[i].n_rows; r++) {
            int64_t row = batch->injections[i].rows[r];
            if (row < n_rows) {
                usable[row] = false;
            }
        }
    }
    bool fine = lg_inject_choose_rows(fault, index, seed, n_rows, usable, 1, 0, rows, n, diags);
    free(usable);
    return fine;
}

// -inf masks a class and harms only where the class counts: that of the label, or one with a
// probability. `otherwise`: where there is none.
static int64_t counting_class(const lg_batch *batch, int64_t row, int64_t otherwise) {
    int64_t width = lg_batch_head_width(batch);
    if (lg_batch_is_binary(batch)) {
        return otherwise;
    }
    if (!batch->target_is_probability) {
        int64_t label = lg_tensor_get_i64(&batch->target, row);
        return label >= 0 && label < width ? label : otherwise;
    }
    for (int64_t c = 0; c < width; c++) {
        if (lg_tensor_get_f64(&batch->target, entry_of(batch, row, c)) > 0) {
            return c;
        }
    }
    return otherwise;
}

static bool inject_nonfinite(const lg_fault_spec *fault, int index, uint64_t seed, lg_batch *batch,
                             lg_injection *injection, lg_diags *diags) {
    double value = fault->number == 0 ? NAN : fault->number;
    if (isfinite(value)) {
        return lg_error(diags, fault->loc, "nonfinite_logits: number must be .nan, .inf or -.inf");
    }
    bool in_target = lg_fault_form_of(fault) == LG_FORM_TARGET_NONFINITE;
    if (in_target && !batch->target_is_probability) {
        return lg_error(diags, fault->loc, "nonfinite_logits: where: target needs probabilities");
    }
    lg_tensor *tensor = in_target ? &batch->target : &batch->input;
    int64_t *rows;
    int64_t n;
    bool fine = choose(fault, index, seed, batch, &rows, &n, diags);
    int64_t width = lg_batch_head_width(batch);
    for (int64_t i = 0; fine && width > 0 && i < n; i++) {
        int64_t c =
            (int64_t)lg_inject_draw_below(index, seed, LG_STREAM_FAULT_VALUE, i, (uint64_t)width);
        if (value == -INFINITY && !in_target) {
            c = counting_class(batch, rows[i], c);
        }
        lg_tensor_set_f64(tensor, entry_of(batch, rows[i], c), value);
        lg_injection_add_row(injection, rows[i]);
    }
    free(rows);
    return fine;
}

static bool inject_bce_range(const lg_fault_spec *fault, int index, uint64_t seed, lg_batch *batch,
                             lg_injection *injection, lg_diags *diags) {
    bool in_target = lg_fault_form_of(fault) == LG_FORM_TARGET_OUTSIDE;
    if (!lg_batch_is_binary(batch)) {
        return lg_error(diags, fault->loc, "bce_range needs a binary loss");
    }
    if (batch->loss.kind == LG_BCE_WITH_LOGITS && !in_target) {
        return lg_error(diags, fault->loc,
                        "bce_range: logits may take any value; use where: "
                        "target");
    }
    double value = fault->number == 0 ? (in_target ? 2 : 1.5) : fault->number;
    if (value >= 0 && value <= 1) {
        return lg_error(diags, fault->loc, "bce_range: %g lies inside [0, 1]", value);
    }
    lg_tensor *tensor = in_target ? &batch->target : &batch->input;
    int64_t *rows;
    int64_t n;
    bool fine = choose(fault, index, seed, batch, &rows, &n, diags);
    for (int64_t i = 0; fine && i < n; i++) {
        lg_tensor_set_f64(tensor, rows[i], value);
        double stored = lg_tensor_get_f64(tensor, rows[i]);
        if (!(stored >= 0 && stored <= 1)) {
            lg_injection_add_row(injection, rows[i]);
        }
    }
    free(rows);
    return fine;
}

// Rows that no log-probabilities could be: what the loss cannot take once the input is spoiled.
static bool add_impossible_rows(const lg_fault_spec *fault, lg_batch *batch,
                                lg_injection *injection, lg_diags *diags) {
    int64_t n_rows = lg_batch_rows(batch);
    int64_t width = lg_batch_head_width(batch);
    double *row_values = lg_buffer_alloc((size_t)(width > 0 ? width : 1) * sizeof *row_values);
    if (!row_values) {
        return no_memory(fault, diags);
    }
    for (int64_t row = 0; row < n_rows; row++) {
        for (int64_t c = 0; c < width; c++) {
            row_values[c] = lg_tensor_get_f64(&batch->input, entry_of(batch, row, c));
        }
        if (row_is_live(batch, row) && !lg_could_be_log_probabilities(row_values, width)) {
            lg_injection_add_row(injection, row);
        }
    }
    free(row_values);
    return true;
}

// nll_loss given softmax probabilities instead of their logarithms.
static bool exponentiate(const lg_fault_spec *fault, lg_batch *batch, lg_injection *injection,
                         lg_diags *diags) {
    int64_t n = lg_tensor_numel(&batch->input);
    for (int64_t i = 0; i < n; i++) {
        lg_tensor_set_f64(&batch->input, i, exp(lg_tensor_get_f64(&batch->input, i)));
    }
    return add_impossible_rows(fault, batch, injection, diags);
}

// nll_loss given the raw values that log-softmax should have been applied to.
static bool redraw_logits(const lg_fault_spec *fault, const lg_scenario *scenario, lg_batch *batch,
                          lg_injection *injection, lg_diags *diags) {
    if (scenario->batch.logits.source == LG_ARRAY_VALUES ||
        scenario->batch.logits.source == LG_ARRAY_FILE) {
        return lg_error(diags, fault->loc, "value_domain: logits needs generated logits");
    }
    int64_t n = lg_tensor_numel(&batch->input);
    for (int64_t i = 0; i < n; i++) {
        lg_tensor_set_f64(
            &batch->input, i,
            lg_array_draw(&scenario->batch.logits, scenario->batch.seed, LG_STREAM_LOGITS, i));
    }
    return add_impossible_rows(fault, batch, injection, diags);
}

static bool inject_value_domain(const lg_scenario *scenario, int index, uint64_t seed,
                                lg_batch *batch, lg_injection *injection, lg_diags *diags) {
    const lg_fault_spec *fault = &scenario->faults[index];
    lg_fault_form form = lg_fault_form_of(fault);
    bool probabilities = form == LG_FORM_PROBABILITIES;
    if (probabilities || form == LG_FORM_RAW_LOGITS) {
        if (batch->loss.kind != LG_NLL_LOSS) {
            return lg_error(diags, fault->loc, "value_domain: %s belongs to nll_loss",
                            probabilities ? "probabilities" : "logits");
        }
        return probabilities ? exponentiate(fault, batch, injection, diags)
                             : redraw_logits(fault, scenario, batch, injection, diags);
    }
    bool negative = form == LG_FORM_NEGATIVE;
    if (!batch->target_is_probability || lg_batch_is_binary(batch)) {
        return lg_error(diags, fault->loc,
                        "value_domain: this form needs class-probability targets");
    }
    double number = fault->number != 0 ? fault->number : (negative ? -0.25 : 1.5);
    int64_t *rows;
    int64_t n;
    bool fine = choose(fault, index, seed, batch, &rows, &n, diags);
    int64_t width = lg_batch_head_width(batch);
    for (int64_t i = 0; fine && width > 0 && i < n; i++) {
        for (int64_t c = 0; c < (negative ? 1 : width); c++) {
            int64_t at = entry_of(batch, rows[i], c);
            double old = lg_tensor_get_f64(&batch->target, at);
            lg_tensor_set_f64(&batch->target, at, negative ? number : old * number);
        }
        lg_injection_add_row(injection, rows[i]);
    }
    free(rows);
    return fine;
}

// Weights of 1 where the scenario gave none, so that there is something to spoil.
static bool ensure_weights(const lg_fault_spec *fault, lg_batch *batch, lg_diags *diags) {
    if (lg_tensor_exists(&batch->weight)) {
        return true;
    }
    int64_t shape[LG_MAX_RANK] = {lg_batch_head_width(batch)};
    int rank = 1;
    if (lg_batch_is_binary(batch)) {
        rank = batch->input.rank;
        memcpy(shape, batch->input.shape, sizeof shape);
    }
    if (!lg_tensor_init(&batch->weight, batch->input.dtype, rank, shape)) {
        return no_memory(fault, diags);
    }
    int64_t n = lg_tensor_numel(&batch->weight);
    for (int64_t i = 0; i < n; i++) {
        lg_tensor_set_f64(&batch->weight, i, 1);
    }
    return true;
}

static bool replace_weights(const lg_fault_spec *fault, lg_batch *batch, lg_dtype dtype, int rank,
                            const int64_t *shape, lg_diags *diags) {
    lg_tensor fresh = {0};
    if (!lg_tensor_init(&fresh, dtype, rank, shape)) {
        return no_memory(fault, diags);
    }
    int64_t n = lg_tensor_numel(&fresh);
    int64_t n_old = lg_tensor_numel(&batch->weight);
    for (int64_t i = 0; i < n; i++) {
        lg_tensor_set_f64(&fresh, i, i < n_old ? lg_tensor_get_f64(&batch->weight, i) : 1);
    }
    lg_tensor_free(&batch->weight);
    batch->weight = fresh;
    return true;
}

static bool inject_weight_vector(const lg_fault_spec *fault, lg_batch *batch,
                                 lg_injection *injection, lg_diags *diags) {
    if (!ensure_weights(fault, batch, diags)) {
        return false;
    }
    lg_tensor *weight = &batch->weight;
    if (fault->number != 0) {
        injection->fired = lg_tensor_numel(weight) > 0;
        injection->n_changed = injection->fired;
        if (injection->fired) {
            lg_tensor_set_f64(weight, 0, fault->number);
        }
        return true;
    }
    if (fault->dtype != LG_DTYPE_NONE) {
        injection->fired = fault->dtype != weight->dtype;
        return replace_weights(fault, batch, fault->dtype, weight->rank, weight->shape, diags);
    }
    int64_t shape[LG_MAX_RANK];
    memcpy(shape, weight->shape, sizeof shape);
    int last = weight->rank - 1;
    if (last < 0) {
        return true; // A scalar has no length to get wrong.
    }
    shape[last] = fault->length > 0 ? fault->length : shape[last] + 1;
    injection->fired = shape[last] != weight->shape[last];
    return replace_weights(fault, batch, weight->dtype, weight->rank, shape, diags);
}

static bool inject_no_supervised_row(const lg_fault_spec *fault, lg_batch *batch,
                                     lg_injection *injection, lg_diags *diags) {
    if (batch->target_is_probability) {
        return lg_error(diags, fault->loc, "no_supervised_row needs class-index targets");
    }
    int64_t n = lg_tensor_numel(&batch->target);
    if (lg_fault_form_of(fault) == LG_FORM_IGNORED) {
        if (!lg_dtype_holds(batch->target.dtype, batch->loss.ignore_index)) {
            return lg_error(
                diags, fault->loc, "no_supervised_row: %s cannot hold ignore_index %lld",
                lg_dtype_name(batch->target.dtype), (long long)batch->loss.ignore_index);
        }
        for (int64_t row = 0; row < n; row++) {
            injection->n_changed += row_is_live(batch, row);
            lg_tensor_set_i64(&batch->target, row, batch->loss.ignore_index);
        }
        injection->fired = n > 0;
        return true;
    }
    if (!ensure_weights(fault, batch, diags)) {
        return false;
    }
    int64_t width = lg_tensor_numel(&batch->weight);
    for (int64_t row = 0; row < n; row++) {
        int64_t label = lg_tensor_get_i64(&batch->target, row);
        if (row_is_live(batch, row) && label >= 0 && label < width) {
            lg_tensor_set_f64(&batch->weight, label, 0);
            injection->n_changed++;
        }
    }
    injection->fired = injection->n_changed > 0;
    return true;
}

bool lg_inject_values(const lg_scenario *scenario, int index, lg_batch *batch, lg_diags *diags) {
    const lg_fault_spec *fault = &scenario->faults[index];
    lg_injection *injection = &batch->injections[index];
    uint64_t seed = scenario->batch.seed;
    bool fine = true;
    bool writes_rows = fault->kind == LG_CAUSE_NONFINITE_LOGITS ||
                       fault->kind == LG_CAUSE_BCE_RANGE || fault->kind == LG_CAUSE_VALUE_DOMAIN;
    if (writes_rows && !has_data(&batch->input)) {
        return true; // Labels only: the input has no values to spoil.
    }
    if (fault->kind == LG_CAUSE_NONFINITE_LOGITS) {
        fine = inject_nonfinite(fault, index, seed, batch, injection, diags);
    } else if (fault->kind == LG_CAUSE_BCE_RANGE) {
        fine = inject_bce_range(fault, index, seed, batch, injection, diags);
    } else if (fault->kind == LG_CAUSE_VALUE_DOMAIN) {
        fine = inject_value_domain(scenario, index, seed, batch, injection, diags);
    } else if (fault->kind == LG_CAUSE_TARGET_DTYPE && batch->target_is_probability) {
        return lg_inject_dense_dtype(fault, batch, injection, diags);
    } else if (fault->kind == LG_CAUSE_SHAPE_LAYOUT) {
        return lg_inject_shape_layout(fault, batch, injection, diags);
    } else if (fault->kind == LG_CAUSE_WEIGHT_VECTOR) {
        return inject_weight_vector(fault, batch, injection, diags);
    } else if (fault->kind == LG_CAUSE_NO_SUPERVISED_ROW) {
        return inject_no_supervised_row(fault, batch, injection, diags);
    }
    if (writes_rows) {
        injection->n_changed = injection->n_rows;
        injection->fired = injection->n_rows > 0;
    }
    return fine;
}
