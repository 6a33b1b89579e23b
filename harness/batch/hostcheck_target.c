// SPDX-License-Identifier: Apache-2.0
// Host checks of class indices: shape, type, and fractions that were cut off on the way to the
// device.
#include "batch/internal.h"

#include <math.h>

// The shape of class indices for this input: without its class axis.
static int index_shape(const lg_tensor *input, int64_t *shape) {
    int rank = 0;
    for (int i = 0; i < input->rank; i++) {
        if (i != (input->rank == 1 ? 0 : 1)) {
            shape[rank++] = input->shape[i];
        }
    }
    return rank;
}

bool lg_check_index_shape(lg_check *check) {
    const lg_tensor *input = &check->batch->input;
    const lg_tensor *target = &check->batch->target;
    int64_t want[LG_MAX_RANK];
    int rank = index_shape(input, want);
    const char *input_text = lg_tensor_shape_text(check, input);
    const char *target_text = lg_tensor_shape_text(check, target);
    if (input->rank > 1 && (target->rank == 0 || target->shape[0] != input->shape[0])) {
        return lg_refuse(check, LG_CAUSE_SHAPE_LAYOUT,
                         "the input has %lld samples and the target %lld (shapes %s and %s)",
                         (long long)input->shape[0],
                         (long long)(target->rank ? target->shape[0] : 0), input_text, target_text);
    }
    if (target->rank != rank) {
        return lg_refuse(check, LG_CAUSE_SHAPE_LAYOUT,
                         "class indices have shape %s: an input of shape %s needs %s, one index a "
                         "row",
                         target_text, input_text, lg_shape_text(check, rank, want));
    }
    for (int i = 1; i < rank; i++) {
        if (target->shape[i] != want[i]) {
            return lg_refuse(
                check, LG_CAUSE_SHAPE_LAYOUT,
                "the extra dimensions differ: class indices have shape %s, an input of "
                "shape %s needs %s",
                target_text, input_text, lg_shape_text(check, rank, want));
        }
    }
    const lg_tensor *device = lg_batch_device_target(check->batch);
    if (device != target && !lg_shapes_equal(device, target)) {
        return lg_refuse(check, LG_CAUSE_SHAPE_LAYOUT,
                         "the target passed to the device has shape %s instead of %s",
                         lg_tensor_shape_text(check, device), target_text);
    }
    return true;
}

// What a class index can never be.
static bool is_fractional(double value) {
    return !isfinite(value) || value != trunc(value);
}

// Lists the fractional rows of a floating-point target in the refusal; returns the first, or -1.
static int64_t list_fractional(lg_check *check) {
    const lg_tensor *target = &check->batch->target;
    int64_t n = lg_tensor_numel(target);
    int64_t n_rows = 0;
    for (int64_t row = 0; row < n; row++) {
        n_rows += is_fractional(lg_tensor_get_f64(target, row));
    }
    if (n_rows == 0) {
        return -1;
    }
    int64_t *rows = lg_arena_array(check->arena, (size_t)n_rows, sizeof *rows);
    int64_t at = 0;
    for (int64_t row = 0; row < n; row++) {
        if (is_fractional(lg_tensor_get_f64(target, row))) {
            rows[at++] = row;
        }
    }
    check->refusal.rows = rows;
    check->refusal.n_rows = n_rows;
    return rows[0];
}

static bool is_index_dtype(lg_dtype dtype) {
    return dtype == LG_INT64 || dtype == LG_INT32 || dtype == LG_UINT8;
}

bool lg_check_index_dtype(lg_check *check) {
    lg_dtype dtype = lg_batch_device_target(check->batch)->dtype;
    if (is_index_dtype(dtype)) {
        return true;
    }
    if (!lg_dtype_is_float(dtype)) {
        return lg_refuse(check, LG_CAUSE_TARGET_DTYPE,
                         "class indices are %s: give int64, int32 or uint8", lg_dtype_name(dtype));
    }
    int64_t row =
        lg_dtype_is_float(check->batch->target.dtype) ? list_fractional(check) : (int64_t)-1;
    if (row < 0) {
        return lg_refuse(check, LG_CAUSE_FLOAT_TARGETS,
                         "class indices are %s: give int64, int32 or uint8", lg_dtype_name(dtype));
    }
    return lg_refuse(check, LG_CAUSE_FLOAT_TARGETS,
                     "class indices are %s, and row %lld holds %g, which is no class: give int64, "
                     "int32 or uint8",
                     lg_dtype_name(dtype), (long long)row,
                     lg_unsigned_nan(lg_tensor_get_f64(&check->batch->target, row)));
}

// Whether the device was given the floating-point values cut to integers, and not, say, their bits:
// every row that has an integer part which fits must hold it.
static bool was_truncated(const lg_tensor *target, const lg_tensor *device) {
    int64_t n = lg_tensor_numel(target);
    for (int64_t row = 0; row < n; row++) {
        double value = trunc(lg_tensor_get_f64(target, row));
        bool fits = value >= -0x1p31 && value < 0x1p31; // false for NaN
        if (device->dtype == LG_UINT8) {
            fits = value >= 0 && value < 256;
        }
        if (fits && lg_tensor_get_i64(device, row) != (int64_t)value) {
            return false;
        }
    }
    return true;
}

bool lg_check_index_fractions(lg_check *check) {
    const lg_tensor *target = &check->batch->target;
    const lg_tensor *device = lg_batch_device_target(check->batch);
    if (device == target || !lg_dtype_is_float(target->dtype) || !was_truncated(target, device)) {
        return true;
    }
    int64_t row = list_fractional(check);
    if (row < 0) {
        return true; // nothing was lost: the labels are the integers they were
    }
    return lg_refuse(check, LG_CAUSE_FLOAT_TARGETS,
                     "class indices were cut from %s to %s: row %lld held %g and became %lld; give "
                     "integers",
                     lg_dtype_name(target->dtype), lg_dtype_name(device->dtype), (long long)row,
                     lg_unsigned_nan(lg_tensor_get_f64(target, row)),
                     (long long)lg_tensor_get_i64(device, row));
}

lg_refusal lg_hostcheck_index_dtype(const lg_batch *batch, lg_arena *arena) {
    lg_check check = {.batch = batch, .arena = arena};
    lg_check_index_dtype(&check);
    return check.refusal;
}
