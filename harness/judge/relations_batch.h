// SPDX-License-Identifier: Apache-2.0
// The second way to write a batch, for each metamorphic relation.
#ifndef LG_JUDGE_RELATIONS_BATCH_H
#define LG_JUDGE_RELATIONS_BATCH_H

#include "model/batch.h"
#include "reference/reference.h"
#include "scenario/relation.h"

// A batch made of rows of another one, with its reference.
typedef struct lg_related_batch {
    lg_batch batch;
    lg_reference reference;
    int64_t *source; // [rows] the row of the first batch that each row was; NULL: the same one
} lg_related_batch;

// What a relation compares: the first batch, and what it is written as.
typedef struct lg_related {
    lg_relation relation;
    double copies;  // how often each row of the first is among the others
    bool has_first; // `first` stands in the place of the case's own batch
    lg_related_batch first;
    int n_others; // 2 for the halves of a split
    lg_related_batch others[2];
} lg_related;

// Writes `batch` (valid, without faults) in the relation's other way: contiguous arrays that hold
// the same numbers, and their references. The order of permuted rows and the signs of shifts come
// from `seed`. shift_logits makes a pair of its own, whose logits differ by exactly the constant: x
// + c is rounded, and x' = (x + c) - c is exact. False when memory is out; `out` is then empty.
bool lg_related_make(const lg_batch *batch, lg_relation relation, uint64_t seed, lg_related *out);
void lg_related_free(lg_related *related);

#endif
