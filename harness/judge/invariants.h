// SPDX-License-Identifier: Apache-2.0
// What every gradient and row loss must keep, whatever its numbers are: checked on every run of a
// valid batch, with the formula's own structure in the place of a reference.
//
//   - an ignored row contributes exactly nothing: its loss (reduction none) and every element of
//   its
//     gradient are 0;
//   - nll_loss reads one element a row: only the label's element of the gradient may differ from 0,
//     and does where the row's weight and upstream gradient do;
//   - the gradient of a row of cross_entropy adds up to 0: its loss does not change when a constant
//     is added to the logits. It is coefficient·(softmax - target), so that this is the same as:
//     the softmax in it adds up to 1.
// Rows whose gradient is not finite by the formula are left out.
#ifndef LG_JUDGE_INVARIANTS_H
#define LG_JUDGE_INVARIANTS_H

#include "model/batch.h"
#include "reference/reference.h"
#include "result/observation.h"
#include "support/arena.h"

// What is broken first, in one line (in `arena`), or NULL. The batch must be valid. An output that
// was not observed, or whose length is not the batch's, breaks nothing here: that is the judge's.
const char *lg_invariants_check(const lg_batch *batch, const lg_reference *reference,
                                const lg_observation *observation, lg_arena *arena);

#endif
