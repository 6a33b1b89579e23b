// SPDX-License-Identifier: Apache-2.0
// The reference's gradient, element by element, without holding all of it: where the reference does
// not keep it whole (lg_reference_keeps_gradient), a few rows at a time are computed as they are
// asked for. Walk it row by row: a step backwards computes a row again.
#ifndef LG_REFERENCE_GRADIENT_VIEW_H
#define LG_REFERENCE_GRADIENT_VIEW_H

#include "reference/reference.h"

typedef struct lg_gradient_view {
    const lg_batch *batch;
    const lg_reference *reference;
    int64_t n_rows;
    int64_t width;      // gradient elements of a row: C, 1 for BCE
    int64_t spatial;    // S, 1 for BCE
    int64_t begin, end; // rows in the window
    double *window;     // owned
} lg_gradient_view;

// Batch and reference stay the caller's, and must outlive the view. Close it in the end.
lg_gradient_view lg_gradient_open(const lg_batch *batch, const lg_reference *reference);
void lg_gradient_close(lg_gradient_view *view);

// Where a class of a row lies in the gradient, which is contiguous in the input's shape.
static inline int64_t lg_gradient_index(const lg_gradient_view *view, int64_t row, int64_t c) {
    return (row / view->spatial * view->width + c) * view->spatial + row % view->spatial;
}

void lg_gradient_move(lg_gradient_view *view, int64_t row); // moves the window to the row

// NaN when memory is out, which no comparison takes for a gradient.
static inline double lg_gradient_at(lg_gradient_view *view, int64_t row, int64_t c) {
    if (view->reference->grad_input) {
        return view->reference->grad_input[lg_gradient_index(view, row, c)];
    }
    if (row < view->begin || row >= view->end) {
        lg_gradient_move(view, row);
    }
    return view->window[(row - view->begin) * view->width + c];
}

#endif
