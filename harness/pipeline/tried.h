// SPDX-License-Identifier: Apache-2.0
// Which of the options that a manifest claims a case really put to a kernel: a green run says
// nothing about the others.
#ifndef LG_PIPELINE_TRIED_H
#define LG_PIPELINE_TRIED_H

#include "model/kernel_spec.h"
#include "model/loss.h"
#include "support/str.h"

// Bit sets; dtypes and reductions as in lg_kernel.
typedef struct lg_tried {
    uint32_t options; // of tried.def
    uint32_t inputs, targets, reductions;
} lg_tried;

lg_tried lg_tried_claimed(const lg_kernel *kernel);
// Of one launched batch, as it was handed over; `reference` may be NULL.
lg_tried lg_tried_by(const lg_kernel *kernel, const lg_batch *batch, const lg_reference *reference);
void lg_tried_join(lg_tried *all, const lg_tried *more);
// "weights, ignored rows, reduction sum, int32 targets": what is claimed and was not met. malloc'd;
// NULL: nothing.
char *lg_tried_missing(const lg_tried *claimed, const lg_tried *met);

#endif
