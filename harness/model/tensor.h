// SPDX-License-Identifier: Apache-2.0
// A strided array of one element type, as the framework would hand it to a kernel.
#ifndef LG_MODEL_TENSOR_H
#define LG_MODEL_TENSOR_H

#include "model/dtype.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LG_MAX_RANK = 8 };

typedef struct lg_tensor {
    lg_dtype dtype; // LG_DTYPE_NONE: there is no such tensor
    int rank;       // 0 is a scalar
    int64_t shape[LG_MAX_RANK];
    int64_t stride[LG_MAX_RANK]; // in elements, >= 0; 0 is an expanded dimension
    void *data;                  // element (0, 0, …); owned by the tensor, from lg_buffer_alloc
    size_t n_stored;             // elements in `data`; every reachable offset is below it
    // A view whose elements lie gigabytes apart (model/far_view.h): kernels are given it with the
    // strides `far_stride`, `data` holds the elements alone, with `stride`.
    bool is_far;
    int64_t far_stride[LG_MAX_RANK];
} lg_tensor;

bool lg_tensor_exists(const lg_tensor *tensor);
int64_t lg_tensor_numel(const lg_tensor *tensor);      // product of the shape; 1 for a scalar
size_t lg_tensor_bytes(const lg_tensor *tensor);       // stored bytes
bool lg_tensor_is_contiguous(const lg_tensor *tensor); // as kernels are given it
const int64_t *lg_tensor_given_stride(const lg_tensor *tensor); // the strides kernels are given

// A contiguous tensor, contents undefined. false when memory is out or a size overflows.
bool lg_tensor_init(lg_tensor *tensor, lg_dtype dtype, int rank, const int64_t *shape);
// The same logical shape stored with other strides (n_stored follows); contents undefined.
bool lg_tensor_init_strided(lg_tensor *tensor, lg_dtype dtype, int rank, const int64_t *shape,
                            const int64_t *stride);
// The same, of a far view: `stride` is what kernels are given. Dimensions of stride 0 stay
// expanded.
bool lg_tensor_init_far(lg_tensor *tensor, lg_dtype dtype, int rank, const int64_t *shape,
                        const int64_t *stride);
// The strides of another tensor, far or not, for a shape of its rank; gaps between elements are 0.
bool lg_tensor_init_like(lg_tensor *tensor, lg_dtype dtype, const int64_t *shape,
                         const lg_tensor *like);
bool lg_tensor_copy(lg_tensor *out, const lg_tensor *in); // keeps the strides
void lg_tensor_free(lg_tensor *tensor);

// Offset in `data` of the flat (row-major) logical element `index`.
int64_t lg_tensor_offset(const lg_tensor *tensor, int64_t index);
double lg_tensor_get_f64(const lg_tensor *tensor, int64_t index); // by flat logical index
int64_t lg_tensor_get_i64(const lg_tensor *tensor, int64_t index);
void lg_tensor_set_f64(lg_tensor *tensor, int64_t index, double value);
void lg_tensor_set_i64(lg_tensor *tensor, int64_t index, int64_t value);

#endif
