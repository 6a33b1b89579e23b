// SPDX-License-Identifier: Apache-2.0
// Which moves of a function nobody needs. nvcc loads each constant into a register of its own
// before it uses it and renames registers of one width freely: half of a loop may be moves. Where
// every read of a move's destination can read what was moved instead, the move is dropped: the
// decoder gives the reader the other slot, and execution steps over the move.
#ifndef LG_ENGINE_SIM_DECODE_FOLD_H
#define LG_ENGINE_SIM_DECODE_FOLD_H

#include "engine/ptx/ast.h"

#include <stdbool.h>

typedef struct lg_fold {
    // By register: the immediate that every read of it gives, or NULL.
    const lg_ptx_operand **constants;
    // By register: the one to read instead, itself where there is none. Of the same width.
    int32_t *copies;
    // By register: how often the function writes it, and reads it, also in place of another one. A
    // register whose uses are not understood has many of both.
    uint16_t *n_writes, *n_reads;
    bool *dropped; // by instruction
    bool *starts;  // by instruction: some branch leads there, or diverged paths meet there
} lg_fold;

// `may_drop` must be false when the function may read a register before it writes it (liveness.h):
// then nothing is dropped, and the counts and starts are still right. Free with lg_fold_free.
void lg_fold_find(const lg_ptx_function *function, bool may_drop, lg_fold *fold);
void lg_fold_free(lg_fold *fold);

#endif
