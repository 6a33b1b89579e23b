// SPDX-License-Identifier: Apache-2.0
// Faults of how labels are passed: their values are right, their bytes are read as something
// else. `batch->target` holds what the caller means, `batch->device_target` what the kernel is
// given.
#include "batch/internal.h"
#include "support/alloc.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool no_memory(const lg_fault_spec *fault, lg_diags *diags) {
    return lg_error(diags, fault->loc, "%s: the target does not fit in memory",
                    lg_cause_name(fault->kind));
}

// Replaces batch->target by an undefined one of the same shape and another dtype.
static bool retype_target(lg_batch *batch, lg_dtype dtype) {
    lg_tensor fresh = {0};
    const lg_tensor *old = &batch->target;
    if (!lg_tensor_init_like(&fresh, dtype, old->shape, old)) {
        return false;
    }
    lg_tensor_free(&batch->target);
    batch->target = fresh;
    return true;
}

static bool start_device_target(lg_batch *batch, lg_dtype dtype) {
    lg_tensor_free(&batch->device_target);
    return lg_tensor_init(&batch->device_target, dtype, batch->target.rank, batch->target.shape);
}

// Ground truth of a misread: rows whose passed value is out of range and not ignored.
static void add_misread_rows(const lg_batch *batch, const lg_label_draft *draft,
                             lg_injection *injection) {
    for (int64_t row = 0; row < draft->n_rows; row++) {
        int64_t value = lg_tensor_get_i64(&batch->device_target, row);
        injection->n_changed += value != draft->labels[row];
        if (value != draft->ignore_index && (value < 0 || value >= draft->head_width)) {
            lg_injection_add_row(injection, row);
        }
    }
    injection->fired = injection->n_rows > 0;
}

static bool is_supervised(const lg_label_draft *draft, int64_t row) {
    int64_t label = draft->labels[row];
    return label != draft->ignore_index && label >= 0 && label < draft->head_width;
}

static bool choose_live(const lg_fault_spec *fault, int index, const lg_label_draft *draft,
                        int64_t **rows, int64_t *n, lg_diags *diags) {
    *rows = NULL;
    *n = 0;
    bool *usable = lg_buffer_alloc((size_t)(draft->n_rows > 0 ? draft->n_rows : 1));
    if (!usable) {
        return no_memory(fault, diags);
    }
    for (int64_t row = 0; row < draft->n_rows; row++) {
        usable[row] = is_supervised(draft, row);
    }
    bool fine = lg_inject_choose_rows(fault, index, draft->seed, draft->n_rows, usable, 1, 0, rows,
                                      n, diags);
    free(usable);
    return fine;
}

static bool write_floats(const lg_fault_spec *fault, lg_batch *batch, const lg_label_draft *draft,
                         lg_dtype dtype, lg_diags *diags) {
    if (!retype_target(batch, dtype)) {
        return no_memory(fault, diags);
    }
    for (int64_t row = 0; row < draft->n_rows; row++) {
        lg_tensor_set_f64(&batch->target, row, (double)draft->labels[row]);
    }
    return true;
}

// Adds the fraction to the chosen rows of the (already floating-point) target.
static bool add_fractions(const lg_fault_spec *fault, int index, double fraction, lg_batch *batch,
                          const lg_label_draft *draft, lg_injection *injection, lg_diags *diags) {
    if (!(fraction > 0 && fraction < 1)) {
        return lg_error(diags, fault->loc, "float_targets: number %g must lie between 0 and 1",
                        fraction);
    }
    int64_t *rows;
    int64_t n;
    bool fine = choose_live(fault, index, draft, &rows, &n, diags);
    for (int64_t i = 0; fine && i < n; i++) {
        double value = (double)draft->labels[rows[i]] + fraction;
        lg_tensor_set_f64(&batch->target, rows[i], value);
        // A narrow float may have no room for the fraction of a large label.
        double stored = lg_tensor_get_f64(&batch->target, rows[i]);
        if (stored != floor(stored)) {
            lg_injection_add_row(injection, rows[i]);
        }
    }
    injection->n_changed = injection->n_rows;
    free(rows);
    return fine;
}

static bool hand_over_bits(const lg_fault_spec *fault, lg_batch *batch, const lg_label_draft *draft,
                           lg_dtype dtype, lg_injection *injection, lg_diags *diags) {
    if (!start_device_target(batch, LG_INT64)) {
        return no_memory(fault, diags);
    }
    int64_t *out = batch->device_target.data;
    for (int64_t row = 0; row < draft->n_rows; row++) {
        if (dtype == LG_FLOAT64) {
            double value = (double)draft->labels[row];
            memcpy(&out[row], &value, sizeof value);
            continue;
        }
        // An int64 read spans two neighbouring float32 labels; the buffer holds the second half
        // too.
        float pair[2] = {(float)draft->labels[2 * row], (float)draft->labels[2 * row + 1]};
        memcpy(&out[row], pair, sizeof pair);
    }
    add_misread_rows(batch, draft, injection);
    return true;
}

static bool cut_fractions(const lg_fault_spec *fault, lg_batch *batch, const lg_label_draft *draft,
                          lg_diags *diags) {
    if (!start_device_target(batch, LG_INT64)) {
        return no_memory(fault, diags);
    }
    for (int64_t row = 0; row < draft->n_rows; row++) {
        lg_tensor_set_i64(&batch->device_target, row, lg_tensor_get_i64(&batch->target, row));
    }
    return true;
}

static bool inject_float_targets(const lg_fault_spec *fault, int index, const lg_label_draft *draft,
                                 lg_batch *batch, lg_injection *injection, lg_diags *diags) {
    lg_dtype dtype = fault->dtype == LG_DTYPE_NONE ? LG_FLOAT32 : fault->dtype;
    if (!lg_dtype_is_float(dtype)) {
        return lg_error(diags, fault->loc, "float_targets: %s is not a floating-point type",
                        lg_dtype_name(dtype));
    }
    if (fault->form == LG_FLOAT_BITS && dtype != LG_FLOAT32 && dtype != LG_FLOAT64) {
        return lg_error(diags, fault->loc, "float_targets: the bits form needs float32 or float64");
    }
    if (fault->form == LG_FLOAT_BITS && dtype == LG_FLOAT32 && draft->n_drawn < 2 * draft->n_rows) {
        return lg_error(diags, fault->loc,
                        "float_targets: bits of float32 need generated targets: given ones have no "
                        "second label a row");
    }
    if (draft->n_rows == 0) {
        return true;
    }
    if (!write_floats(fault, batch, draft, dtype, diags)) {
        return false;
    }
    switch (fault->form) {
    case LG_FLOAT_REFUSED:
        injection->fired = true;
        injection->n_changed = draft->n_rows;
        return fault->number == 0 ||
               add_fractions(fault, index, fault->number, batch, draft, injection, diags);
    case LG_FLOAT_BITS:
        return hand_over_bits(fault, batch, draft, dtype, injection, diags);
    case LG_FLOAT_TRUNCATED: {
        double fraction = fault->number == 0 ? 0.5 : fault->number;
        bool fine = add_fractions(fault, index, fraction, batch, draft, injection, diags) &&
                    cut_fractions(fault, batch, draft, diags);
        injection->fired = injection->n_rows > 0;
        return fine;
    }
    }
    return true;
}

// Two int32 labels side by side, read as one int64.
static bool inject_int32_pairs(const lg_fault_spec *fault, const lg_label_draft *draft,
                               lg_batch *batch, lg_injection *injection, lg_diags *diags) {
    if (draft->n_drawn < 2 * draft->n_rows) {
        return lg_error(diags, fault->loc,
                        "target_dtype: int32_as_int64 needs generated targets: given ones have no "
                        "second label a row");
    }
    if (!retype_target(batch, LG_INT32) || !start_device_target(batch, LG_INT64)) {
        return no_memory(fault, diags);
    }
    int64_t *out = batch->device_target.data;
    for (int64_t row = 0; row < draft->n_rows; row++) {
        int32_t pair[2] = {(int32_t)draft->labels[2 * row], (int32_t)draft->labels[2 * row + 1]};
        lg_tensor_set_i64(&batch->target, row, draft->labels[row]);
        memcpy(&out[row], pair, sizeof pair);
    }
    add_misread_rows(batch, draft, injection);
    return true;
}

// Wide labels whose low 32 bits are a class: what a kernel that narrows them takes for valid.
static bool inject_int32_wrap(const lg_fault_spec *fault, int index, lg_label_draft *draft,
                              lg_batch *batch, lg_injection *injection, lg_diags *diags) {
    if (draft->dtype != LG_INT64) {
        return lg_error(diags, fault->loc, "target_dtype: int32_wrap needs int64 targets, not %s",
                        lg_dtype_name(draft->dtype));
    }
    int64_t *rows;
    int64_t n;
    bool fine = choose_live(fault, index, draft, &rows, &n, diags);
    for (int64_t i = 0; fine && i < n; i++) {
        int64_t wide = draft->labels[rows[i]] + ((int64_t)1 << 32);
        if (fault->values.n) {
            wide = fault->values.items[i % fault->values.n];
        }
        if (wide == draft->ignore_index || (wide >= 0 && wide < draft->head_width)) {
            fine = lg_error(diags, fault->loc, "target_dtype: %lld is not a wide label",
                            (long long)wide);
            continue;
        }
        draft->labels[rows[i]] = wide;
        lg_tensor_set_i64(&batch->target, rows[i], wide);
        lg_injection_add_row(injection, rows[i]);
    }
    free(rows);
    injection->n_changed = injection->n_rows;
    injection->fired = injection->n_rows > 0;
    if (fine && !start_device_target(batch, LG_INT32)) {
        return no_memory(fault, diags);
    }
    for (int64_t row = 0; fine && row < draft->n_rows; row++) {
        lg_tensor_set_i64(&batch->device_target, row, draft->labels[row]);
    }
    return fine;
}

// Labels from 256 on do not fit a byte: each is stored as another, valid class. Needs K > 256.
static bool inject_uint8_wrap(const lg_fault_spec *fault, const lg_label_draft *draft,
                              lg_batch *batch, lg_injection *injection, lg_diags *diags) {
    if (!start_device_target(batch, LG_UINT8)) {
        return no_memory(fault, diags);
    }
    for (int64_t row = 0; row < draft->n_rows; row++) {
        lg_tensor_set_i64(&batch->device_target, row, draft->labels[row]);
        if (lg_tensor_get_i64(&batch->device_target, row) != draft->labels[row]) {
            lg_injection_add_row(injection, row);
        }
    }
    injection->n_changed = injection->n_rows;
    injection->fired = injection->n_rows > 0;
    return true;
}

// uint8 labels widened as if they were signed: 200 becomes -56.
static bool inject_sign_bytes(const lg_fault_spec *fault, const lg_label_draft *draft,
                              lg_batch *batch, lg_injection *injection, lg_diags *diags) {
    if (!retype_target(batch, LG_UINT8) || !start_device_target(batch, LG_INT64)) {
        return no_memory(fault, diags);
    }
    for (int64_t row = 0; row < draft->n_rows; row++) {
        lg_tensor_set_i64(&batch->target, row, draft->labels[row]);
        int64_t stored = lg_tensor_get_i64(&batch->target, row);
        lg_tensor_set_i64(&batch->device_target, row, stored >= 128 ? stored - 256 : stored);
    }
    add_misread_rows(batch, draft, injection);
    return true;
}

static bool inject_wrong_dtype(const lg_fault_spec *fault, const lg_label_draft *draft,
                               lg_batch *batch, lg_injection *injection, lg_diags *diags) {
    lg_dtype dtype = fault->dtype == LG_DTYPE_NONE ? LG_INT16 : fault->dtype;
    if (dtype == draft->dtype) {
        return true;
    }
    if (!retype_target(batch, dtype)) {
        return no_memory(fault, diags);
    }
    for (int64_t row = 0; row < draft->n_rows; row++) {
        lg_tensor_set_i64(&batch->target, row, draft->labels[row]);
    }
    injection->n_changed = draft->n_rows;
    injection->fired = draft->n_rows > 0;
    return true;
}

// The flat index of the largest probability of a row.
static int64_t largest_of(const lg_batch *batch, const lg_tensor *target, int64_t row) {
    int64_t spatial = lg_batch_spatial(batch);
    int64_t width = lg_batch_head_width(batch);
    int64_t first = row / spatial * width * spatial + row % spatial;
    int64_t best = first;
    for (int64_t c = 1; c < width; c++) {
        int64_t at = first + c * spatial;
        if (lg_tensor_get_f64(target, at) > lg_tensor_get_f64(target, best)) {
            best = at;
        }
    }
    return best;
}

bool lg_inject_dense_dtype(const lg_fault_spec *fault, lg_batch *batch, lg_injection *injection,
                           lg_diags *diags) {
    lg_dtype dtype = fault->dtype == LG_DTYPE_NONE ? LG_INT16 : fault->dtype;
    lg_tensor old = batch->target;
    if (dtype == old.dtype) {
        return true;
    }
    batch->target = (lg_tensor){0};
    bool fine = lg_tensor_init(&batch->target, dtype, old.rank, old.shape);
    int64_t n = fine ? lg_tensor_numel(&old) : 0;
    bool binary = lg_batch_is_binary(batch);
    for (int64_t i = 0; i < n; i++) {
        double value = lg_tensor_get_f64(&old, i);
        if (lg_dtype_is_float(dtype)) {
            lg_tensor_set_f64(&batch->target, i, value);
        } else {
            lg_tensor_set_i64(&batch->target, i, binary && value >= 0.5);
        }
    }
    // One-hot: what is left of probabilities when they are made of class indices.
    bool one_hot = !binary && !lg_dtype_is_float(dtype) && lg_batch_head_width(batch) > 0;
    for (int64_t row = 0; fine && one_hot && row < lg_batch_rows(batch); row++) {
        lg_tensor_set_i64(&batch->target, largest_of(batch, &old, row), 1);
    }
    lg_tensor_free(&old);
    injection->n_changed = n;
    injection->fired = n > 0;
    return fine || no_memory(fault, diags);
}

static bool inject_target_dtype(const lg_fault_spec *fault, int index, lg_label_draft *draft,
                                lg_batch *batch, lg_injection *injection, lg_diags *diags) {
    if (draft->n_rows == 0) {
        return true;
    }
    switch (lg_fault_form_of(fault)) {
    case LG_FORM_INT32_AS_INT64:
        return inject_int32_pairs(fault, draft, batch, injection, diags);
    case LG_FORM_INT32_WRAP:
        return inject_int32_wrap(fault, index, draft, batch, injection, diags);
    case LG_FORM_UINT8_WRAP:
        return inject_uint8_wrap(fault, draft, batch, injection, diags);
    case LG_FORM_SIGN_BYTES:
        return inject_sign_bytes(fault, draft, batch, injection, diags);
    default: // LG_FORM_REFUSED: the others belong to other kinds
        return inject_wrong_dtype(fault, draft, batch, injection, diags);
    }
}

bool lg_inject_target(const lg_scenario *scenario, int index, lg_label_draft *draft,
                      lg_batch *batch, lg_diags *diags) {
    const lg_fault_spec *fault = &scenario->faults[index];
    lg_injection *injection = &batch->injections[index];
    if (fault->kind == LG_CAUSE_FLOAT_TARGETS) {
        return inject_float_targets(fault, index, draft, batch, injection, diags);
    }
    if (fault->kind == LG_CAUSE_TARGET_DTYPE) {
        return inject_target_dtype(fault, index, draft, batch, injection, diags);
    }
    return true;
}
