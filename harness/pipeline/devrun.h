// SPDX-License-Identifier: Apache-2.0
// Runs one kernel on one batch under one launch mode and says what was seen.
//
// Buffers get poison and fences before the launch; every output is copied back unless the context died.
// A `lg_device_session` belongs to one thread; it creates a fresh context after a sticky error.
#ifndef LG_PIPELINE_DEVRUN_H
#define LG_PIPELINE_DEVRUN_H

#include "engine/driver.h"
#include "model/batch.h"
#include "model/kernel_spec.h"
#include "model/observation.h"
#include "support/error.h"

typedef struct lg_device_session lg_device_session;

// `cache_dir`: where compiled PTX is kept (by hash of source, headers, flags and compiler); `nvcc`: the
// compiler, or NULL to refuse sources. Driver stays borrowed.
lg_device_session *lg_device_open(const lg_driver *driver, const char *nvcc, const char *cache_dir,
                                  lg_diags *diags);
void lg_device_close(lg_device_session *session);

// Compiles (or finds in the cache) and loads the kernel's module, and checks every stage's arguments
// against the entry's parameters (number, sizes) for each dtype it names. All errors.
bool lg_device_prepare(lg_device_session *session, const lg_kernel *kernel, lg_diags *diags);

// Why this kernel cannot take this batch (dtype, shape, option …), or NULL when it can. The text is
// static or lives in `arena`.
const char *lg_device_unsuitable(const lg_kernel *kernel, const lg_batch *batch, lg_mode mode,
                                 lg_arena *arena);

typedef struct lg_run_request {
    const lg_kernel *kernel;
    const lg_batch *batch;
    lg_mode mode;
    uint64_t budget;       // warp instructions; 0: default
    bool skip_host_checks; // policy none: nothing stands between the caller and the kernel
} lg_run_request;

// Host checks are the caller's (lg_hostcheck). Fills `out` (free with lg_observation_free). false only
// for faults of lossgate itself or of the set-up; a failing kernel is an observation.
bool lg_device_run(lg_device_session *session, const lg_run_request *request, lg_observation *out,
                   lg_diags *diags);

#endif
