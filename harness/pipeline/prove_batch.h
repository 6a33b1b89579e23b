// SPDX-License-Identifier: Apache-2.0
// The small batches a column proves itself on, in a shape and types its kernel takes.
#ifndef LG_PIPELINE_PROVE_BATCH_H
#define LG_PIPELINE_PROVE_BATCH_H

#include "model/batch.h"
#include "model/kernel_spec.h"

typedef enum lg_proof_fault {
    LG_PROOF_CLEAN,
    LG_PROOF_AT_WIDTH,      // label C in one row among valid ones (BCE: probability 1.5)
    LG_PROOF_AT_WIDTH_LAST, // the same in the last row: it reads past the input's end
    LG_PROOF_NEGATIVE,      // label -1 (BCE: probability -0.5)
    LG_PROOF_FAR,           // label C + 100
} lg_proof_fault;

// The directions this kernel has stages for.
lg_direction lg_proof_directions(const lg_kernel *kernel);

// false when memory is out or this kernel has no such batch (uint8 labels are never negative).
bool lg_proof_batch(const lg_kernel *kernel, lg_proof_fault fault, lg_direction direction,
                    lg_batch *batch);

#endif
