// SPDX-License-Identifier: Apache-2.0
// Parts of the self-proof: what a trial showed, and how a failed proof is told.
#ifndef LG_SESSION_PROVE_PARTS_H
#define LG_SESSION_PROVE_PARTS_H

#include "judge/judge.h"
#include "batch/proof.h"

// One proof batch run and judged; strings live in the column's arena.
typedef struct lg_trial {
    bool ran;             // false: there is no such batch, or lossgate failed (diags)
    bool invalid;         // the reference says the batch is invalid
    const char *unsuited; // the kernel or mode cannot take it
    lg_judgement judgement;
    bool lie_accepted; // a reference made wrong on purpose passed (clean batches only)
    bool signalled;    // the kernel gave any signal at all: assert, record, trap
    lg_device_status status;
    const char *guard; // "`t < n` at k.cu:41": the assert that fired
    const char *load;  // "`input` at k.cu:52": the access that went out of bounds
} lg_trial;

// The trials of one direction; those of faults that do not apply have not run.
typedef struct lg_trials {
    const lg_kernel *kernel;
    lg_direction direction;
    lg_trial of[LG_N_PROOF_FAULTS];
    bool caught[LG_N_PROOF_FAULTS];
} lg_trials;

// What `first`, a bad batch that was not caught, should have done and did, and what the others say
// about the guard.
const char *lg_proof_failure_text(const lg_trials *trials, lg_proof_fault first, lg_arena *arena);

#endif
