// SPDX-License-Identifier: Apache-2.0
// What the cases of a scenario point share: its batch, what a host check says of it, the reference.
#ifndef LG_SESSION_POINT_H
#define LG_SESSION_POINT_H

#include "reference/reference.h"
#include "batch/hostcheck.h"
#include "judge/relations.h"
#include "session/histogram.h"

// What all cases of a point share; const once prepared.
typedef struct lg_point_data {
    lg_arena arena;
    lg_batch batch;
    // The batch as the kernel sees it: `target` is what is handed to the device. Borrows from
    // `batch`.
    lg_batch view;
    lg_refusal refusal;     // cause NONE: accepted
    lg_reference reference; // of `view`; only when `has_reference`: a refused batch has none
    bool has_reference;
    // Of the labels as they are meant; only when the device is handed others (a misread dtype).
    lg_reference meant;
    bool has_meant;
    lg_relations relations; // other ways to write the batch, when the scenario asks for them
    int64_t n_labels;
    lg_label_bin labels[LG_MAX_LABEL_BINS];
    const char *failure; // why there is no batch to run, or NULL
} lg_point_data;

// Generates the batch, checks it as a caller would, and computes the reference. Errors go to
// `diags` and to `failure`.
void lg_point_prepare(const lg_scenario *scenario, lg_point_data *data, lg_diags *diags);
void lg_point_free(lg_point_data *data);
// The first error since `from`, in `arena`; `otherwise` when there is none.
const char *lg_last_error(lg_arena *arena, const lg_diags *diags, size_t from,
                          const char *otherwise);

#endif
