// SPDX-License-Identifier: Apache-2.0
#include "reference/reference.h"

#include "support/alloc.h"

#include <stdlib.h>

enum { WINDOW = 1 << 16 }; // elements, if a row has no more

lg_gradient_view lg_gradient_open(const lg_batch *batch, const lg_reference *reference) {
    bool binary = lg_batch_is_binary(batch);
    return (lg_gradient_view){.batch = batch,
                              .reference = reference,
                              .n_rows = reference->n_rows,
                              .width = binary ? 1 : lg_batch_head_width(batch),
                              .spatial = binary ? 1 : lg_batch_spatial(batch)};
}

void lg_gradient_close(lg_gradient_view *view) {
    free(view->window);
    view->window = NULL;
    view->begin = view->end = 0;
}

void lg_gradient_move(lg_gradient_view *view, int64_t row) {
    int64_t width = view->width > 0 ? view->width : 1;
    int64_t most = width < WINDOW ? WINDOW / width : 1;
    if (!view->window) {
        view->window = lg_xmalloc((size_t)(most * width) * sizeof *view->window);
    }
    // Who asks for the next row walks on; another one may be the only one asked for.
    int64_t n = row == view->end ? most : 1;
    n = n < view->n_rows - row ? n : view->n_rows - row;
    lg_reference_gradient_rows(view->batch, view->reference, row, row + n, view->window);
    view->begin = row;
    view->end = row + n;
}
