// SPDX-License-Identifier: Apache-2.0
// What a checked call refuses before any launch: shapes, dtypes, weights, options (SEMANTICS 1.5), and
// class indices that are not integers. Label *ranges* are the kernel's business and not looked at.
#ifndef LG_PIPELINE_HOSTCHECK_H
#define LG_PIPELINE_HOSTCHECK_H

#include "model/batch.h"
#include "model/cause.h"
#include "support/arena.h"

typedef struct lg_refusal {
    lg_cause cause;   // LG_CAUSE_NONE: accepted
    const char *text; // lossgate's own words: what is wrong, and what would be right
    int64_t n_rows;   // rows concerned, when the check is about rows (fractional labels); else 0
    int64_t *rows;
} lg_refusal;

// The first refusal in PyTorch's order of checks; strings and rows live in `arena`.
lg_refusal lg_hostcheck(const lg_batch *batch, lg_arena *arena);

#endif
