// SPDX-License-Identifier: Apache-2.0
// The self-proof of a column (kernel × mode): a built-in clean batch must pass, the same run held
// against a reference made wrong on purpose must not, and built-in bad batches must be caught as
// the policy says. Released builds have lost their asserts before; a column that lets one bad value
// through proves nothing, and all its cases are then `untested`.
//
// The bad values are those of batch/proof.h: labels C, C in the last row, -1, C + 100, the
// least of the type, and several at once; probabilities above 1, below 0 and NaN. Forward and
// backward are proved apart. The backward stages are launched alone, with the total weight from the
// reference, because an assert of the forward pass would hide what stands behind it; a kernel whose
// backward pass reads more than that of the forward one is proved by both together.
#ifndef LG_SESSION_PROVE_H
#define LG_SESSION_PROVE_H

#include "manifest/manifest.h"
#include "device/device.h"

typedef enum lg_proof {
    LG_PROOF_NONE = 0,
    LG_PROOF_PROVEN,
    LG_PROOF_FAILED,
    LG_PROOF_INAPPLICABLE, // the mode does not apply to the kernel; its cases will not either
} lg_proof;

// `*why` (for FAILED and INAPPLICABLE) lives in `arena`: the bad batch, what came and what the
// policy promises, which other bad batches were missed and caught, and where the guard stands.
// Errors of lossgate itself go to `diags`, and the proof fails.
lg_proof lg_prove_column(lg_device_session *device, const lg_kernel *kernel, lg_mode mode,
                         lg_arena *arena, const char **why, lg_diags *diags);

#endif
