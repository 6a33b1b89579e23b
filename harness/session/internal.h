// SPDX-License-Identifier: Apache-2.0
// The steps of a run and of a case, for each other; session.h says which file is which.
#ifndef LG_SESSION_INTERNAL_H
#define LG_SESSION_INTERNAL_H

#include "batch/batch.h"
#include "device/device.h"
#include "judge/judge.h"
#include "manifest/manifest.h"
#include "result/case.h"
#include "session/session.h"

// --- The plan.

// Whether the command line lets a kernel through: all but mutants, which a pattern of it or of the
// scenario (NULL: none) has to ask for.
bool lg_plan_is_chosen(const lg_session_options *options, const lg_scenario *scenario,
                       const lg_kernel *kernel);
// The command that runs exactly this case again, malloc'd; words a shell would change are quoted.
char *lg_case_repro(const lg_case *what, const char *prefix);

// --- The labels of a batch as a few bins for reports: in-range classes in at most 32 ranges of
// equal width, every value outside [0, C) on its own while there are few.

// Fills at most LG_MAX_LABEL_BINS ascending bins without empty ones; 0 when the targets are no
// class indices. Every row is in one bin.
int64_t lg_label_histogram(const lg_batch *batch, lg_label_bin bins[LG_MAX_LABEL_BINS]);

// --- Errors of lossgate itself.

// The first error since `from`, in `arena`; `otherwise` when there is none.
const char *lg_last_error(lg_arena *arena, const lg_diags *diags, size_t from,
                          const char *otherwise);

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

// `why` (for FAILED and INAPPLICABLE): its text, in `arena`, says the bad batch, what came and what
// the policy promises, which other bad batches were missed and caught, and where the guard stands.
// Errors of lossgate itself go to `diags`, and the proof fails.
lg_proof lg_prove_column(lg_device_session *device, const lg_kernel *kernel, lg_mode mode,
                         lg_arena *arena, lg_column_failure *why, lg_diags *diags);

// --- Parts of the self-proof: what a trial showed, and why a proof failed, in words.

// One proof batch run and judged; strings live in the column's arena.
typedef struct lg_trial {
    bool ran;             // false: there is no such batch, or lossgate failed (diags)
    bool invalid;         // the reference says the batch is invalid
    const char *unsuited; // the kernel or mode cannot take it
    lg_judgement judgement;
    bool caught;       // as the policy promises (bad batches only)
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
} lg_trials;

// What `first`, a bad batch that was not caught, should have done and did, and what the others say
// about the guard.
const char *lg_proof_failure_text(const lg_trials *trials, lg_proof_fault first, lg_arena *arena);

// --- What a case must show: the scenario's `expect`, or what its faults and the kernel's policy
// imply. Without a fault: pass and no diagnosis. A fault on a guarded kernel: detected, the
// diagnosis exact or ambiguous. On an unchecked kernel: silent_corruption, memory_fault, or NaN by
// the arithmetic alone. A batch without a supervised row is valid (its mean is NaN): pass, with the
// warning.

// Sets `as_expected` and `expectation` of a result whose verdict, attribution and finding stand.
// The text lives in `arena`.
void lg_expect_check(lg_case_result *result, lg_arena *arena);

// --- Where to look.

// Fills the place of a result that is not as expected, as far as it is known. `seen`: the run that
// the verdict rests on; `passed`: its batch, or NULL. Texts live in `arena`.
void lg_case_place(lg_device_session *device, const lg_observation *seen, const lg_batch *passed,
                   lg_case_result *result, lg_arena *arena);

// --- Coverage: what of a manifest's claims was run.

lg_coverage lg_coverage_claimed(const lg_kernel *kernel);
// Of one launched batch, as the kernel got it; `reference` may be NULL.
lg_coverage lg_coverage_of(const lg_kernel *kernel, const lg_batch *batch,
                           const lg_reference *reference);
void lg_coverage_add(lg_coverage *all, const lg_coverage *more);
// "weights, ignored rows, reduction sum, int32 targets, float16 input backward": what is claimed
// and was not run; what neither direction ran is said once. malloc'd; NULL: nothing.
char *lg_coverage_missing(const lg_coverage *claimed, const lg_coverage *run);

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
// A case that is absent: only its reason counts.
void lg_tally_absent(lg_tally *tally, const lg_case_run *run);
void lg_tally_case(lg_tally *tally, const lg_case_run *run);
// Fills the summary's gaps (borrowed until lg_tally_free) and its exit code.
void lg_tally_end(lg_tally *tally, const lg_session_options *options);
void lg_tally_free(lg_tally *tally);

#endif
