// SPDX-License-Identifier: Apache-2.0
// Two runs of one kernel against each other, as a metamorphic relation says they must agree.
//
// With W what a mean divides by (1 for sum and none), k how often each row of the first batch is
// among the others, and r' the row that row r of another batch was:
//
//   loss          k·W·loss = Σ over the others of W'·loss'   (a half without weight adds nothing)
//   row losses    loss[r'] = loss'[r]
//   gradients     W·g[r'][c] = W'·g'[r][c]
//   total weight  k·total_weight = Σ total_weight'
//
// Each side may be off by its own derived tolerance, so the bound is the sum of both. The reference
// gives W and the tolerances; the numbers compared are the kernel's own.
#ifndef LG_JUDGE_RELATIONS_COMPARE_H
#define LG_JUDGE_RELATIONS_COMPARE_H

#include "model/batch.h"
#include "reference/reference.h"
#include "result/observation.h"
#include "judge/relations_batch.h"
#include "support/arena.h"

typedef struct lg_relation_side {
    const lg_batch *batch;
    const lg_reference *reference;
    const lg_observation *seen; // a run that ended well
    const int64_t *source;      // see lg_related_batch; NULL for the first batch
} lg_relation_side;

typedef struct lg_relation_gap {
    const char *reason; // NULL: the relation holds in everything that both sides show
    bool in_loss;       // the gap is in a loss or total weight, else in a gradient
    double relative;    // |difference| as a share of the larger number; INFINITY: one is no number
} lg_relation_gap;

// The first gap: total weight, loss, row losses, then gradients. `reason` lives in `arena`.
lg_relation_gap lg_relation_compare(const lg_related *related, const lg_relation_side *first,
                                    const lg_relation_side *others, lg_arena *arena);

#endif
