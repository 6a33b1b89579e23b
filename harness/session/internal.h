// SPDX-License-Identifier: Apache-2.0
// What a case must show: the scenario's `expect`, or what its faults and the kernel's policy imply.
//
// Defaults: no fault → pass and no diagnosis. A fault on a guarded kernel → detected, the diagnosis
// exact or ambiguous. On an unchecked kernel → silent_corruption, memory_fault, or NaN by the
// arithmetic alone. A batch without a supervised row is valid (its mean is NaN): pass, with the
// warning.
#ifndef LG_SESSION_INTERNAL_H
#define LG_SESSION_INTERNAL_H

#include "batch/batch.h"
#include "device/device.h"
#include "judge/judge.h"
#include "manifest/manifest.h"
#include "result/case.h"
#include "session/session.h"

// Sets `as_expected` and `expectation` of a result whose verdict, attribution and finding stand.
// The text lives in `arena`.
void lg_expect_check(lg_case_result *result, lg_arena *arena);

// --- The self-proof of a column (kernel × mode): a built-in clean batch must pass, the same run
// held against a reference made wrong on purpose must not, and built-in bad batches must be caught
// as the policy says. Released builds have lost their asserts before; a column that lets one bad
// value through proves nothing, and all its cases are then `untested`.
//
// The bad values are those of batch/proof.h: labels C, C in the last row, -1, C + 100, the
// least of the type, and several at once; probabilities above 1, below 0 and NaN. Forward and
// backward are proved apart. The backward stages are launched alone, with the total weight from the
// reference, because an assert of the forward pass would hide what stands behind it; a kernel whose
// backward pass reads more than that of the forward one is proved by both together.

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

// --- Parts of the self-proof: what a trial showed, and how a failed proof is told.

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

// --- What a run may claim: its counts and exit code, and of each chosen kernel whether a case of
// it was launched and judged at all. One owner at a time (the session's lock).

typedef struct lg_kernel_tally lg_kernel_tally;

typedef struct lg_tally {
    lg_arena arena; // texts and gaps of the summary
    const lg_kernel_set *kernels;
    lg_kernel_tally *items; // one a kernel of the set
    lg_run_summary *summary;
} lg_tally;

void lg_tally_init(lg_tally *tally, const lg_session_options *options, lg_run_summary *summary);
// A case that was no case: only why counts.
void lg_tally_absent(lg_tally *tally, const lg_case_run *run);
void lg_tally_case(lg_tally *tally, const lg_case_run *run);
// Fills the summary's gaps (borrowed until lg_tally_free) and its exit code.
void lg_tally_end(lg_tally *tally, const lg_session_options *options);
void lg_tally_free(lg_tally *tally);

#endif
