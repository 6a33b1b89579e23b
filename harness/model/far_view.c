// SPDX-License-Identifier: Apache-2.0
#include "model/far_view.h"

// The dimensions that walk somewhere, by falling stride; their number.
static int sort_axes(int rank, const int64_t *shape, const int64_t *stride, int *axes) {
    int n = 0;
    for (int i = 0; i < rank; i++) {
        if (shape[i] < 2 || stride[i] == 0) {
            continue;
        }
        int at = n++;
        while (at > 0 && stride[axes[at - 1]] < stride[i]) {
            axes[at] = axes[at - 1];
            at--;
        }
        axes[at] = i;
    }
    return n;
}

// Bytes from the first element to the end of the last; INT64_MAX when that is more than fits.
static int64_t span_of(size_t element_bytes, int rank, const int64_t *shape,
                       const int64_t *stride) {
    int64_t last = 0;
    for (int i = 0; i < rank; i++) {
        int64_t step;
        if (shape[i] == 0) {
            return 0;
        }
        if (__builtin_mul_overflow(shape[i] - 1, stride[i], &step) ||
            __builtin_add_overflow(last, step, &last)) {
            return INT64_MAX;
        }
    }
    int64_t bytes;
    return __builtin_add_overflow(last, 1, &last) ||
                   __builtin_mul_overflow(last, (int64_t)element_bytes, &bytes)
               ? INT64_MAX
               : bytes;
}

static bool is_nested(int n_axes, const int *axes, const int64_t *shape, const int64_t *stride) {
    int64_t spanned = 0; // by the smaller strides; sums of a span that fits
    for (int i = n_axes - 1; i >= 0; i--) {
        if (stride[axes[i]] <= spanned) {
            return false;
        }
        spanned += (shape[axes[i]] - 1) * stride[axes[i]];
    }
    return true;
}

lg_view_reach lg_view_reach_of(size_t element_bytes, int rank, const int64_t *shape,
                               const int64_t *stride, int64_t *bytes, int64_t *n) {
    int axes[LG_MAX_RANK];
    int n_axes = sort_axes(rank, shape, stride, axes);
    *bytes = span_of(element_bytes, rank, shape, stride);
    *n = 1;
    for (int i = 0; i < n_axes; i++) {
        *n = __builtin_mul_overflow(*n, shape[axes[i]], n) ? INT64_MAX : *n;
    }
    if (*bytes > LG_REACH_BYTES) {
        return LG_VIEW_BEYOND;
    }
    if (*bytes <= LG_FAR_BYTES || (*n > LG_MAX_FAR_ELEMENTS && *bytes <= LG_WHOLE_BYTES)) {
        return LG_VIEW_NEAR;
    }
    if (*n > LG_MAX_FAR_ELEMENTS) {
        return LG_VIEW_CROWDED;
    }
    return is_nested(n_axes, axes, shape, stride) ? LG_VIEW_FAR : LG_VIEW_OVERLAPS;
}

lg_far_walk lg_far_walk_of(const lg_tensor *tensor) {
    lg_far_walk walk = {.tensor = tensor, .n = tensor->n_stored ? 1 : 0};
    walk.n_axes = sort_axes(tensor->rank, tensor->shape, tensor->far_stride, walk.axes);
    for (int i = 0; i < walk.n_axes; i++) {
        walk.n *= tensor->shape[walk.axes[i]];
    }
    return walk;
}

void lg_far_walk_at(const lg_far_walk *walk, int64_t i, int64_t *far, int64_t *stored) {
    *far = 0;
    *stored = 0;
    for (int a = walk->n_axes - 1; a >= 0; a--) {
        int axis = walk->axes[a];
        int64_t at = i % walk->tensor->shape[axis];
        i /= walk->tensor->shape[axis];
        *far += at * walk->tensor->far_stride[axis];
        *stored += at * walk->tensor->stride[axis];
    }
}
