// SPDX-License-Identifier: Apache-2.0
// Executes warps: from barrier to barrier, one instruction for all lanes of a path at a time.
// Diverged lanes meet again where the decoder says. Every access is checked; what a warp may not do
// ends the launch with a fault, and what its member masks or the sanitizers find is kept while it
// goes on.
#ifndef LG_ENGINE_SIM_EXEC_EXEC_H
#define LG_ENGINE_SIM_EXEC_EXEC_H

#include "engine/sim/state/state.h"

lg_stop lg_run_warp(lg_exec *x, lg_warp *warp); // until it ends, waits, or its turn is over

bool lg_warp_start(lg_exec *x, lg_warp *warp); // at the entry, for the block x->block
void lg_warp_free(lg_warp *warp);

// Barriers of the running block.
void lg_barriers_reset(lg_exec *x);
void lg_barrier_warp_done(lg_exec *x);
void lg_barrier_deadlock(lg_exec *x);

lg_mem_fn lg_access_slow; // loads and stores lane by lane, with all checks and findings

#endif
