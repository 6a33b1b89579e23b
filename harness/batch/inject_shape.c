// SPDX-License-Identifier: Apache-2.0
// Faults of shapes: input and target no longer fit each other.
#include "batch/internal.h"

#include <string.h>

static bool no_memory(const lg_fault_spec *fault, lg_diags *diags) {
    return lg_error(diags, fault->loc, "%s: the arrays do not fit in memory",
                    lg_cause_name(fault->kind));
}

static bool reshape_input(const lg_fault_spec *fault, lg_batch *batch, lg_injection *injection,
                          lg_diags *diags) {
    lg_tensor *input = &batch->input;
    int axis = input->rank > 1 ? 1 : 0;
    int64_t old = input->shape[axis];
    int64_t width = old / 2;
    // The elements are what they are: told another C, a view finds another number of rows.
    if (width < 1 || input->rank < 2 || input->shape[0] * old % width != 0 ||
        !lg_tensor_is_contiguous(input)) {
        return lg_error(diags, fault->loc,
                        "shape_layout: %lld x %lld logits cannot be viewed with %lld classes",
                        (long long)input->shape[0], (long long)old, (long long)width);
    }
    input->shape[0] = input->shape[0] * old / width;
    input->shape[1] = width;
    int64_t step = 1;
    for (int i = input->rank - 1; i >= 0; i--) {
        input->stride[i] = step;
        step *= input->shape[i];
    }
    injection->fired = width != old;
    return true;
}

// The class axis moved to the end: N×d…×C passed as if it were N×C×d….
static bool move_class_last(const lg_fault_spec *fault, lg_batch *batch, lg_injection *injection,
                            lg_diags *diags) {
    lg_tensor *input = &batch->input;
    if (input->rank < 3) {
        return lg_error(diags, fault->loc, "shape_layout: class_last needs extra dimensions");
    }
    int64_t width = input->shape[1];
    int64_t step = input->stride[1];
    int64_t far_step = input->far_stride[1];
    for (int i = 1; i + 1 < input->rank; i++) {
        input->shape[i] = input->shape[i + 1];
        input->stride[i] = input->stride[i + 1];
        input->far_stride[i] = input->far_stride[i + 1];
    }
    input->shape[input->rank - 1] = width;
    input->stride[input->rank - 1] = step;
    input->far_stride[input->rank - 1] = far_step;
    injection->fired = true;
    return true;
}

// The target's wrong shape by form; false: the fault cannot take this form here.
static bool wrong_shape(const lg_fault_spec *fault, const lg_tensor *old, int *rank,
                        int64_t *shape) {
    *rank = old->rank;
    memcpy(shape, old->shape, sizeof old->shape);
    lg_fault_form form = lg_fault_form_of(fault);
    if (form == LG_FORM_GIVEN) {
        if (fault->shape.n == 0 || fault->shape.n > LG_MAX_RANK) {
            return false;
        }
        *rank = (int)fault->shape.n;
        memcpy(shape, fault->shape.items, (size_t)*rank * sizeof *shape);
        return true;
    }
    if (form == LG_FORM_RANK) {
        shape[(*rank)++] = 1;
        return *rank <= LG_MAX_RANK && old->rank < LG_MAX_RANK;
    }
    int axis = form == LG_FORM_SPATIAL ? old->rank - 1 : 0;
    if (axis < (form == LG_FORM_SPATIAL ? 1 : 0) || axis >= old->rank || shape[axis] == 0) {
        return false;
    }
    shape[axis]--;
    return true;
}

static bool reshape_target(const lg_fault_spec *fault, lg_batch *batch, lg_injection *injection,
                           lg_diags *diags) {
    const lg_tensor *old = &batch->target;
    int64_t shape[LG_MAX_RANK + 1] = {0};
    int rank;
    if (!wrong_shape(fault, old, &rank, shape)) {
        return lg_error(diags, fault->loc,
                        "shape_layout: a target of %d dimensions cannot take the form '%s'",
                        old->rank, lg_fault_form_name(lg_fault_form_of(fault)));
    }
    lg_tensor fresh = {0};
    if (!lg_tensor_init(&fresh, old->dtype, rank, shape)) {
        return no_memory(fault, diags);
    }
    int64_t n = lg_tensor_numel(&fresh);
    int64_t n_old = lg_tensor_numel(old);
    for (int64_t i = 0; i < n; i++) {
        if (n_old == 0) {
            lg_tensor_set_i64(&fresh, i, 0);
        } else if (lg_dtype_is_float(old->dtype)) {
            lg_tensor_set_f64(&fresh, i, lg_tensor_get_f64(old, i % n_old));
        } else {
            lg_tensor_set_i64(&fresh, i, lg_tensor_get_i64(old, i % n_old));
        }
    }
    injection->fired =
        rank != old->rank || memcmp(shape, old->shape, (size_t)rank * sizeof shape[0]) != 0;
    injection->n_changed = 0;
    lg_tensor_free(&batch->target);
    batch->target = fresh;
    return true;
}

bool lg_inject_shape_layout(const lg_fault_spec *fault, lg_batch *batch, lg_injection *injection,
                            lg_diags *diags) {
    if (lg_fault_form_of(fault) == LG_FORM_CLASS_LAST) {
        return move_class_last(fault, batch, injection, diags);
    }
    if (lg_fault_form_of(fault) == LG_FORM_RESHAPED) {
        return reshape_input(fault, batch, injection, diags);
    }
    return reshape_target(fault, batch, injection, diags);
}
