// SPDX-License-Identifier: Apache-2.0
// One case, run on its point's shared data.
#ifndef LG_SESSION_CASE_H
#define LG_SESSION_CASE_H

#include "result/case.h"
#include "device/device.h"
#include "session/point.h"
#include "session/tried.h"

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
// Fills the result's place, as far as it is known; `handed`: the batch as the kernel was given it.
void lg_case_place(lg_device_session *device, const lg_batch *handed, lg_case_run *run);
// Turns an absent case into a `skipped` one.
void lg_case_run_skip(lg_case_run *run);
void lg_case_run_free(lg_case_run *run);

#endif
