// SPDX-License-Identifier: Apache-2.0
// What a checked call refuses before any launch: shapes, dtypes, weights, options (SEMANTICS 1.5),
// and class indices that are not integers. Label *ranges* are the kernel's business and not looked
// at, nor are the values of inputs, probabilities and binary targets.
//
// The order is PyTorch's: the input's rank; whether the target is probabilities, and what they
// need; label_smoothing; a cross_entropy's input type; the shape of class indices; the weights'
// shapes; the types of input, weight and target. What PyTorch does not check on the host comes
// last: the values of weights, and fractions lost on the way to the device. Decisions where PyTorch
// is laxer or stricter:
//   - a negative label_smoothing is refused, not taken for 0; so is smoothing with another loss;
//   - uint8 and int32 class indices are taken with every shape;
//   - class probabilities have the input's dtype: a kernel reads both through one type;
//   - weights are finite and not negative; zero is legal.
// Floating-point class indices whose raw bits were handed to the device are *not* refused: a call
// that receives int64 cannot know. Values that were cut to integers are, because here both are at
// hand.
#ifndef LG_BATCH_HOSTCHECK_H
#define LG_BATCH_HOSTCHECK_H

#include "model/batch.h"
#include "model/cause.h"
#include "support/arena.h"

typedef struct lg_refusal {
    lg_cause cause;   // LG_CAUSE_NONE: accepted
    const char *text; // lossgate's own words: what is wrong, and what would be right
    int64_t n_rows;   // rows concerned, when the check is about rows (fractional labels); else 0
    int64_t *rows;    // ascending
} lg_refusal;

// The first refusal in PyTorch's order of checks; strings and rows live in `arena`. Reads no more
// of the tensors than the values of weights and of floating-point class indices.
lg_refusal lg_hostcheck(const lg_batch *batch, lg_arena *arena);

#endif
