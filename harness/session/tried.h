// SPDX-License-Identifier: Apache-2.0
// Which of the options that a manifest claims a case really put to a kernel: a green run says
// nothing about the others.
#ifndef LG_SESSION_TRIED_H
#define LG_SESSION_TRIED_H

#include "manifest/manifest.h"
#include "reference/reference.h"
#include "support/str.h"

// Bit sets; dtypes and reductions as in lg_kernel. Forward and backward apart: each direction has
// entries of its own.
typedef struct lg_tried {
    uint32_t options; // of tried.def
    struct lg_tried_pass {
        uint32_t inputs, targets, reductions;
        uint32_t pairs[LG_N_DTYPES]; // by input type, the targets beside it: an entry each
    } forward, backward;
} lg_tried;

lg_tried lg_tried_claimed(const lg_kernel *kernel);
// Of one launched batch, as it was handed over; `reference` may be NULL.
lg_tried lg_tried_by(const lg_kernel *kernel, const lg_batch *batch, const lg_reference *reference);
void lg_tried_join(lg_tried *all, const lg_tried *more);
// "weights, ignored rows, reduction sum, int32 targets, float16 input backward": what is claimed
// and was not met; what neither direction met is told once. malloc'd; NULL: nothing.
char *lg_tried_missing(const lg_tried *claimed, const lg_tried *met);

#endif
