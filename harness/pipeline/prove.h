// SPDX-License-Identifier: Apache-2.0
// The self-proof of a column (kernel × mode): a built-in clean batch must pass and a built-in bad
// one must be caught as the policy says. Released builds have lost their asserts before; a column
// that catches nothing proves nothing, and all its cases are then `untested`.
#ifndef LG_PIPELINE_PROVE_H
#define LG_PIPELINE_PROVE_H

#include "model/kernel_spec.h"
#include "pipeline/devrun.h"

typedef enum lg_proof {
    LG_PROOF_NONE = 0,
    LG_PROOF_PROVEN,
    LG_PROOF_FAILED,
    LG_PROOF_INAPPLICABLE, // the mode does not apply to the kernel; its cases will not either
} lg_proof;

// `*why` (for FAILED and INAPPLICABLE) lives in `arena`: what the bad batch did, and the guard's
// line when other bad labels show where it is. Errors of lossgate itself go to `diags`, and the
// proof fails.
lg_proof lg_prove_column(lg_device_session *device, const lg_kernel *kernel, lg_mode mode,
                         lg_arena *arena, const char **why, lg_diags *diags);

#endif
