// SPDX-License-Identifier: Apache-2.0
// One point's shared data, and one case run on it.
#ifndef LG_PIPELINE_SESSION_CASE_H
#define LG_PIPELINE_SESSION_CASE_H

#include "model/case.h"
#include "model/loss.h"
#include "pipeline/devrun.h"
#include "pipeline/hostcheck.h"
#include "pipeline/relations.h"
#include "pipeline/session_histogram.h"
#include "pipeline/tried.h"

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

// A case's result with the memory of its strings. `absent`: the kernel cannot take this batch, and
// nobody asked for it by name, so it is no case; `result.reason` says why.
typedef struct lg_case_run {
    lg_arena arena;
    lg_case_result result;
    lg_tried tried; // what the batch put to the kernel
    bool absent;
} lg_case_run;

// `column_failure`: why the column is not proven, or NULL. Such a case is untested, unless its
// scenario expects the kernel to be broken. Fills verdict, finding, expectation.
void lg_case_run_one(lg_device_session *device, const lg_case *what, bool named,
                     const lg_point_data *data, const char *column_failure,
                     const char *repro_prefix, lg_case_run *out, lg_diags *diags);
// Turns an absent case into a `skipped` one.
void lg_case_run_skip(lg_case_run *run);
void lg_case_run_free(lg_case_run *run);

#endif
