// SPDX-License-Identifier: Apache-2.0
#include "model/tensor.h"

#include "support/alloc.h"

#include <stdlib.h>
#include <string.h>

bool lg_tensor_exists(const lg_tensor *tensor) {
    return tensor->dtype != LG_DTYPE_NONE;
}

int64_t lg_tensor_numel(const lg_tensor *tensor) {
    int64_t n = 1;
    for (int i = 0; i < tensor->rank; i++) {
        n *= tensor->shape[i];
    }
    return n;
}

size_t lg_tensor_bytes(const lg_tensor *tensor) {
    return tensor->n_stored * lg_dtype_bytes(tensor->dtype);
}

const int64_t *lg_tensor_given_stride(const lg_tensor *tensor) {
    return tensor->is_far ? tensor->far_stride : tensor->stride;
}

bool lg_tensor_is_contiguous(const lg_tensor *tensor) {
    int64_t expected = 1;
    bool in_order = true;
    const int64_t *stride = lg_tensor_given_stride(tensor);
    for (int i = tensor->rank - 1; i >= 0; i--) {
        if (tensor->shape[i] == 0) {
            return true;
        }
        in_order = in_order && (tensor->shape[i] == 1 || stride[i] == expected);
        expected *= tensor->shape[i];
    }
    return in_order;
}

// One past the largest offset a view reaches; false when it overflows or a size is negative.
static bool count_stored(int rank, const int64_t *shape, const int64_t *stride, int64_t *n) {
    bool empty = false;
    int64_t last = 0;
    for (int i = 0; i < rank; i++) {
        int64_t reach;
        if (shape[i] < 0 || stride[i] < 0) {
            return false;
        }
        empty = empty || shape[i] == 0;
        if (shape[i] > 0 && (__builtin_mul_overflow(shape[i] - 1, stride[i], &reach) ||
                             __builtin_add_overflow(last, reach, &last))) {
            return false;
        }
    }
    if (empty) {
        *n = 0;
        return true;
    }
    return !__builtin_add_overflow(last, 1, n);
}

static bool product_fits(int rank, const int64_t *shape) {
    int64_t product = 1;
    for (int i = 0; i < rank; i++) {
        // A zero elsewhere must not hide that strides computed from this shape would overflow.
        int64_t size = shape[i] > 0 ? shape[i] : 1;
        if (shape[i] < 0 || __builtin_mul_overflow(product, size, &product)) {
            return false;
        }
    }
    return true;
}

bool lg_tensor_init_strided(lg_tensor *tensor, lg_dtype dtype, int rank, const int64_t *shape,
                            const int64_t *stride) {
    *tensor = (lg_tensor){0};
    int64_t n;
    size_t bytes;
    if (rank < 0 || rank > LG_MAX_RANK || !product_fits(rank, shape) ||
        !count_stored(rank, shape, stride, &n) ||
        __builtin_mul_overflow((size_t)n, lg_dtype_bytes(dtype), &bytes)) {
        return false;
    }
    void *data = lg_buffer_alloc(bytes);
    if (!data) {
        return false;
    }
    *tensor = (lg_tensor){.dtype = dtype, .rank = rank, .data = data, .n_stored = (size_t)n};
    if (rank > 0) {
        memcpy(tensor->shape, shape, (size_t)rank * sizeof *shape);
        memcpy(tensor->stride, stride, (size_t)rank * sizeof *stride);
    }
    return true;
}

bool lg_tensor_init(lg_tensor *tensor, lg_dtype dtype, int rank, const int64_t *shape) {
    *tensor = (lg_tensor){0};
    if (rank < 0 || rank > LG_MAX_RANK || !product_fits(rank, shape)) {
        return false;
    }
    int64_t stride[LG_MAX_RANK];
    int64_t step = 1;
    for (int i = rank - 1; i >= 0; i--) {
        stride[i] = step;
        step *= shape[i] > 0 ? shape[i] : 1;
    }
    return lg_tensor_init_strided(tensor, dtype, rank, shape, stride);
}

bool lg_tensor_init_far(lg_tensor *tensor, lg_dtype dtype, int rank, const int64_t *shape,
                        const int64_t *stride) {
    int64_t packed[LG_MAX_RANK];
    int64_t step = 1;
    for (int i = rank <= LG_MAX_RANK ? rank - 1 : -1; i >= 0; i--) {
        packed[i] = stride[i] == 0 ? 0 : step;
        if (stride[i] != 0 && shape[i] > 0 && __builtin_mul_overflow(step, shape[i], &step)) {
            return false;
        }
    }
    if (!lg_tensor_init_strided(tensor, dtype, rank, shape, packed)) {
        return false;
    }
    tensor->is_far = true;
    memcpy(tensor->far_stride, stride, (size_t)rank * sizeof *stride);
    return true;
}

bool lg_tensor_init_like(lg_tensor *tensor, lg_dtype dtype, const int64_t *shape,
                         const lg_tensor *like) {
    bool ok = like->is_far ? lg_tensor_init_far(tensor, dtype, like->rank, shape, like->far_stride)
                           : lg_tensor_init_strided(tensor, dtype, like->rank, shape, like->stride);
    if (ok && tensor->n_stored) {
        memset(tensor->data, 0, lg_tensor_bytes(tensor));
    }
    return ok;
}

bool lg_tensor_copy(lg_tensor *out, const lg_tensor *in) {
    *out = (lg_tensor){0};
    if (!lg_tensor_exists(in)) {
        return true;
    }
    size_t bytes = lg_tensor_bytes(in);
    void *data = lg_buffer_alloc(bytes);
    if (!data) {
        return false;
    }
    if (bytes) {
        memcpy(data, in->data, bytes);
    }
    *out = *in;
    out->data = data;
    return true;
}

void lg_tensor_free(lg_tensor *tensor) {
    free(tensor->data);
    *tensor = (lg_tensor){0};
}

int64_t lg_tensor_offset(const lg_tensor *tensor, int64_t index) {
    int64_t offset = 0;
    for (int i = tensor->rank - 1; i >= 0; i--) {
        offset += index % tensor->shape[i] * tensor->stride[i];
        index /= tensor->shape[i];
    }
    return offset;
}

double lg_tensor_get_f64(const lg_tensor *tensor, int64_t index) {
    return lg_dtype_get_f64(tensor->dtype, tensor->data, lg_tensor_offset(tensor, index));
}

int64_t lg_tensor_get_i64(const lg_tensor *tensor, int64_t index) {
    return lg_dtype_get_i64(tensor->dtype, tensor->data, lg_tensor_offset(tensor, index));
}

void lg_tensor_set_f64(lg_tensor *tensor, int64_t index, double value) {
    lg_dtype_set_f64(tensor->dtype, tensor->data, lg_tensor_offset(tensor, index), value);
}

void lg_tensor_set_i64(lg_tensor *tensor, int64_t index, int64_t value) {
    lg_dtype_set_i64(tensor->dtype, tensor->data, lg_tensor_offset(tensor, index), value);
}
