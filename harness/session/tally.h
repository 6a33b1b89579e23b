// SPDX-License-Identifier: Apache-2.0
// What a run may claim: its counts and exit code, and of each chosen kernel whether a case of it
// was launched and judged at all. One owner at a time (the session's lock).
#ifndef LG_SESSION_TALLY_H
#define LG_SESSION_TALLY_H

#include "session/plan.h"
#include "session/case.h"

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
