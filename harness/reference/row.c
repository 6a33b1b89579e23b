// SPDX-License-Identifier: Apache-2.0
#include "reference/reference.h"

#include "model/half.h"

#include <math.h>

// Offset in `tensor->data` of (row, class 0), for a tensor of shape C, N×C or N×C×d1….
static int64_t row_offset(const lg_tensor *tensor, int64_t row) {
    if (tensor->rank < 2) {
        return 0;
    }
    int64_t offset = 0;
    for (int i = tensor->rank - 1; i >= 2; i--) {
        offset += row % tensor->shape[i] * tensor->stride[i];
        row /= tensor->shape[i];
    }
    return offset + row * tensor->stride[0];
}

// Elements between neighbouring classes of such a tensor.
static int64_t class_stride(const lg_tensor *tensor) {
    return tensor->rank == 0 ? 0 : tensor->stride[tensor->rank == 1 ? 0 : 1];
}

// One loop a type, so that the compiler sees a plain conversion; the contiguous case of the common
// types is a loop of its own because only that one can be vectorised.
void lg_row_read(const lg_tensor *tensor, int64_t row, int64_t width, double *out) {
    int64_t base = row_offset(tensor, row);
    int64_t step = class_stride(tensor);
    switch (tensor->dtype) {
    case LG_FLOAT64: {
        const double *in = (const double *)tensor->data + base;
        for (int64_t c = 0; c < width; c++) {
            out[c] = in[c * step];
        }
        return;
    }
    case LG_FLOAT32: {
        const float *in = (const float *)tensor->data + base;
        if (step == 1) {
            for (int64_t c = 0; c < width; c++) {
                out[c] = (double)in[c];
            }
            return;
        }
        for (int64_t c = 0; c < width; c++) {
            out[c] = (double)in[c * step];
        }
        return;
    }
    case LG_FLOAT16: {
        const uint16_t *in = (const uint16_t *)tensor->data + base;
        for (int64_t c = 0; c < width; c++) {
            out[c] = (double)lg_f16_to_f32(in[c * step]);
        }
        return;
    }
    case LG_BFLOAT16: {
        const uint16_t *in = (const uint16_t *)tensor->data + base;
        for (int64_t c = 0; c < width; c++) {
            out[c] = (double)lg_bf16_to_f32(in[c * step]);
        }
        return;
    }
    case LG_INT64:
    case LG_INT32:
    case LG_INT16:
    case LG_INT8:
    case LG_UINT8:
    case LG_BOOL:
    case LG_DTYPE_NONE:
    case LG_N_DTYPES:
        break;
    }
    for (int64_t c = 0; c < width; c++) {
        out[c] = lg_dtype_get_f64(tensor->dtype, tensor->data, base + c * step);
    }
}

double lg_row_read_class(const lg_tensor *tensor, int64_t row, int64_t class_index) {
    int64_t offset = row_offset(tensor, row) + class_index * class_stride(tensor);
    return lg_dtype_get_f64(tensor->dtype, tensor->data, offset);
}

lg_label_kind lg_label_read(const lg_batch *batch, int64_t row, int64_t width, int64_t *label) {
    const lg_tensor *target = &batch->target;
    if (lg_dtype_is_float(target->dtype)) {
        double value = lg_tensor_get_f64(target, row);
        // False for NaN and for what no 64-bit integer holds, so that the cast is defined.
        if (!(value >= -0x1p63 && value < 0x1p63) || value != trunc(value)) {
            return LG_LABEL_INVALID;
        }
        *label = (int64_t)value;
    } else {
        *label = lg_tensor_get_i64(target, row);
    }
    if (*label == batch->loss.ignore_index) {
        return LG_LABEL_IGNORED;
    }
    return *label >= 0 && *label < width ? LG_LABEL_SUPERVISED : LG_LABEL_INVALID;
}

double lg_broadcast_get(const lg_tensor *tensor, const lg_tensor *like, int64_t index) {
    int64_t offset = 0;
    for (int i = like->rank - 1, j = tensor->rank - 1; j >= 0 && i >= 0; i--, j--) {
        int64_t place = index % like->shape[i];
        index /= like->shape[i];
        offset += tensor->shape[j] == 1 ? 0 : place * tensor->stride[j];
    }
    return lg_dtype_get_f64(tensor->dtype, tensor->data, offset);
}

double lg_row_upstream(const lg_batch *batch, int64_t row) {
    if (!lg_tensor_exists(&batch->grad_output)) {
        return 1;
    }
    bool per_row = batch->loss.reduction == LG_REDUCTION_NONE;
    return lg_tensor_get_f64(&batch->grad_output, per_row ? row : 0);
}
