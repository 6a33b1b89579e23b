// SPDX-License-Identifier: Apache-2.0
// The race check of LG_SIM_CHECK_RACE: the launch tells it of blocks, barriers and fences, and lets
// accesses go through its table; what races is a finding, and the launch goes on.
//
// Two accesses to one byte race when they come from different threads, one of them writes, not both
// are strong (atom, red, .volatile, .relaxed, …, of a scope that reaches the other thread), and
// nothing orders one before the other. Order comes from
//   - a barrier of the block: each warp counts what it does between barriers and fences, and a
//     barrier tells all that wait at it the counts of all that arrived;
//   - bar.warp.sync, between the lanes of a warp;
//   - a fence (membar, fence, .release) and then a strong write of a word, on one side, a strong
//     read of that word on the other: `the last block adds up what the others left`. Between
//     blocks all three must have a scope that reaches the other block, and the word must be one of
//     global memory; between the warps of a block any scope does, and shared memory too. There are
//     no clusters: .cluster reaches as far as .cta. The fence of the reading side is not asked
//     for, as the guides' own examples leave it out.
// A write that leaves the bits that were there (every block stores the same flag) is no race, and
// neither are lanes that store the same value in one instruction.
#ifndef LG_ENGINE_SIM_RACE_RACE_H
#define LG_ENGINE_SIM_RACE_RACE_H

#include "engine/sim/state/state.h"

// Makes x->race, and puts its table in place of x->memory.
void lg_race_begin(lg_exec *x);
void lg_race_end(lg_exec *x);
void lg_race_block(lg_exec *x); // a new block starts
// All warps of the block wait: what they did to shared memory is past.
void lg_race_meet(lg_exec *x);
void lg_race_arrive(lg_exec *x, lg_warp *warp, lg_barrier *barrier);
void lg_race_release(lg_exec *x, lg_warp *warp, const lg_barrier *barrier);
void lg_race_fence(lg_exec *x, lg_warp *warp, bool narrow); // narrow: of the block
void lg_race_atomic(lg_exec *x, const lg_insn *insn, uint32_t lane, lg_alloc *alloc,
                    uint64_t offset);
void lg_race_free(struct lg_race *race); // a device's, or NULL

#endif
