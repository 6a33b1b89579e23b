// SPDX-License-Identifier: Apache-2.0
// What the parts of generating one batch share.
#ifndef LG_BATCH_GENERATE_PARTS_H
#define LG_BATCH_GENERATE_PARTS_H

#include "model/batch.h"
#include "scenario/scenario.h"
#include "batch/generate_array.h"
#include "support/error.h"

typedef struct lg_generation {
    const lg_scenario *scenario;
    const lg_batch_spec *spec;
    bool with_faults;
    bool input_values; // false: the input keeps its shape only
    lg_loc loc;
    lg_batch *batch;
    lg_diags *diags;
    int64_t n_rows;
    lg_array_shape rows; // shape of one value a row: N, d1, … (empty for an unbatched input)
    int class_axis;      // of the input; -1: none
} lg_generation;

// Makes the target of a batch whose input is there, and injects the faults of labels and targets.
// Errors are in the generation's diags.
bool lg_generate_target(lg_generation *g);

#endif
