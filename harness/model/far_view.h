// SPDX-License-Identifier: Apache-2.0
// Views whose elements lie gigabytes apart, so that offsets beyond 2^31 and 2^32 elements are
// reached with a few elements. The host holds those alone; a device is given an address range of
// which only the places of elements are backed by memory.
#ifndef LG_MODEL_FAR_VIEW_H
#define LG_MODEL_FAR_VIEW_H

#include "model/tensor.h"

// A view that reaches over more bytes than this is far, from its first element to the end of its
// last.
#define LG_FAR_BYTES ((int64_t)256 << 20)
// One of too many elements for that is held whole, gaps and all, up to this.
#define LG_WHOLE_BYTES ((int64_t)16 << 30)
// No device has more addresses than this for one array.
#define LG_REACH_BYTES ((int64_t)1 << 40)
enum { LG_MAX_FAR_ELEMENTS = 4096 };

typedef enum lg_view_reach {
    LG_VIEW_NEAR = 0, // held whole
    LG_VIEW_FAR,
    LG_VIEW_BEYOND,   // over LG_REACH_BYTES
    LG_VIEW_CROWDED,  // over LG_WHOLE_BYTES, and more than LG_MAX_FAR_ELEMENTS
    LG_VIEW_OVERLAPS, // would be far, but a stride does not step over all that smaller ones span
} lg_view_reach;

// What a view of `shape` (sizes >= 0) with these strides (>= 0, in elements) is. `*bytes` gets what
// it spans, INT64_MAX for more; `*n` its elements, expanded dimensions counted once.
lg_view_reach lg_view_reach_of(size_t element_bytes, int rank, const int64_t *shape,
                               const int64_t *stride, int64_t *bytes, int64_t *n);

// The elements of a far tensor by ascending address. Expanded dimensions are walked once.
typedef struct lg_far_walk {
    const lg_tensor *tensor; // borrowed
    int64_t n;               // elements
    int n_axes;
    int axes[LG_MAX_RANK]; // by falling stride
} lg_far_walk;

lg_far_walk lg_far_walk_of(const lg_tensor *tensor);
// Element i of the walk: its offset for kernels and in `tensor->data`, both in elements.
void lg_far_walk_at(const lg_far_walk *walk, int64_t i, int64_t *far, int64_t *stored);

#endif
