// SPDX-License-Identifier: Apache-2.0
// The sizes and options of the argument vocabulary, measured from a batch.
#include "manifest/manifest.h"

#include <string.h>

bool lg_collapse(const lg_tensor *tensor, int first, int64_t *stride) {
    bool found = false;
    int64_t expected = 0;
    const int64_t *given = lg_tensor_given_stride(tensor);
    *stride = 1;
    for (int i = tensor->rank - 1; i >= first; i--) {
        if (tensor->shape[i] == 1) {
            continue; // its stride is never walked
        }
        if (!found) {
            *stride = given[i];
            found = true;
        } else if (given[i] != expected) {
            return false;
        }
        expected = given[i] * tensor->shape[i];
    }
    return true;
}

static int64_t stride_of(const lg_tensor *tensor, int dimension) {
    return dimension < tensor->rank ? lg_tensor_given_stride(tensor)[dimension] : 0;
}

static void measure_strides(const lg_batch *batch, int64_t *value) {
    const lg_tensor *input = &batch->input;
    const lg_tensor *target = lg_batch_device_target(batch);
    if (lg_batch_is_binary(batch)) { // no class axis: samples, and everything else
        value[LG_ARG_INPUT_STRIDE_N] = stride_of(input, 0);
        lg_collapse(input, 1, &value[LG_ARG_INPUT_STRIDE_S]);
        value[LG_ARG_TARGET_STRIDE_N] = stride_of(target, 0);
        lg_collapse(target, 1, &value[LG_ARG_TARGET_STRIDE_S]);
        return;
    }
    bool batched = input->rank > 1;
    value[LG_ARG_INPUT_STRIDE_N] = batched ? stride_of(input, 0) : 0;
    value[LG_ARG_INPUT_STRIDE_C] = stride_of(input, batched ? 1 : 0);
    lg_collapse(input, 2, &value[LG_ARG_INPUT_STRIDE_S]);
    if (batch->target_is_probability) {
        value[LG_ARG_TARGET_STRIDE_N] = batched ? stride_of(target, 0) : 0;
        value[LG_ARG_TARGET_STRIDE_C] = stride_of(target, batched ? 1 : 0);
        lg_collapse(target, 2, &value[LG_ARG_TARGET_STRIDE_S]);
    } else {
        value[LG_ARG_TARGET_STRIDE_N] = batched ? stride_of(target, 0) : 0;
        lg_collapse(target, 1, &value[LG_ARG_TARGET_STRIDE_S]);
    }
}

lg_size_values lg_sizes_measure(const lg_batch *batch) {
    lg_size_values sizes = {.label_smoothing = batch->loss.label_smoothing,
                            .dtype_bytes = (int64_t)lg_dtype_bytes(batch->input.dtype)};
    int64_t *value = sizes.value;
    value[LG_ARG_SAMPLES] = lg_batch_samples(batch);
    value[LG_ARG_HEAD_WIDTH] = lg_batch_head_width(batch);
    value[LG_ARG_SPATIAL] = lg_batch_spatial(batch);
    value[LG_ARG_ROWS] = lg_batch_rows(batch);
    value[LG_ARG_ELEMENTS] = lg_tensor_numel(&batch->input);
    measure_strides(batch, value);
    value[LG_ARG_IGNORE_INDEX] = batch->loss.ignore_index;
    value[LG_ARG_REDUCTION] = batch->loss.reduction;
    value[LG_ARG_REDUCTION_MEAN] = batch->loss.reduction == LG_REDUCTION_MEAN;
    return sizes;
}

static bool look_up(void *context, const char *name, int64_t *value) {
    const lg_size_values *sizes = context;
    const struct {
        const char *name;
        int64_t value;
    } others[] = {{"block_x", sizes->block_x},
                  {"dtype_bytes", sizes->dtype_bytes},
                  {"row", sizes->row},
                  {"threads", sizes->threads}};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        if (strcmp(name, others[i].name) == 0) {
            *value = others[i].value;
            return true;
        }
    }
    lg_arg_id id = lg_arg_find(name);
    if (id == LG_N_ARGS || lg_arg_kind_of(id) != LG_ARG_SIZE) {
        return false;
    }
    *value = sizes->value[id];
    return true;
}

bool lg_sizes_eval(const lg_size_values *sizes, lg_expr expr, int64_t otherwise, lg_loc loc,
                   int64_t *value, lg_diags *diags) {
    *value = otherwise;
    if (!expr) {
        return true;
    }
    lg_size_values copy = *sizes; // the callback's context is not const
    lg_expr_problem problem;
    return lg_expr_eval(expr, look_up, &copy, value, &problem) ||
           lg_error(diags, loc, "'%s' has no value here: %s", expr, problem.text);
}
