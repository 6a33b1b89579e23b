// SPDX-License-Identifier: Apache-2.0
// The small batches a column proves itself on, in a shape and types its kernel takes.
#ifndef LG_BATCH_PROOF_H
#define LG_BATCH_PROOF_H

#include "model/batch.h"
#include "manifest/manifest.h"

typedef enum lg_proof_fault {
    LG_PROOF_CLEAN,
    // Class indices.
    LG_PROOF_AT_WIDTH,      // C in one row among valid ones
    LG_PROOF_AT_WIDTH_LAST, // C in the last row: it reads past the input's end
    LG_PROOF_NEGATIVE,      // -1
    LG_PROOF_FAR,           // C + 100
    LG_PROOF_LEAST,         // the least number of the type
    LG_PROOF_SEVERAL,       // C, -1 (uint8: C) and C + 100, two of them side by side
    // Numbers in [0, 1]: class probabilities, and the operands of binary losses.
    LG_PROOF_TARGET_ABOVE, // 1.5
    LG_PROOF_TARGET_BELOW, // -0.5
    LG_PROOF_TARGET_NAN,
    LG_PROOF_INPUT_ABOVE, // of binary_cross_entropy
    LG_PROOF_INPUT_BELOW,
    LG_PROOF_INPUT_NAN,
    LG_N_PROOF_FAULTS
} lg_proof_fault;

// "label C in one row"; static.
const char *lg_proof_fault_text(lg_proof_fault fault);

// Whether there is such a batch for this kernel: uint8 labels are never negative, a loss on labels
// has no probabilities.
bool lg_proof_applies(const lg_kernel *kernel, lg_proof_fault fault);

// False when memory is out or the kernel takes no type that can be made. The fault should apply; a
// kernel without labels is given TARGET_ABOVE for one of labels.
bool lg_proof_batch(const lg_kernel *kernel, lg_proof_fault fault, lg_direction direction,
                    lg_batch *batch);

#endif
