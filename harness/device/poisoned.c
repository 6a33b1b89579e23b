// SPDX-License-Identifier: Apache-2.0
// Mode poisoned: the context is dead before the case's batch comes, of a batch that is not its own.
#include "batch/batch.h"
#include "device/internal.h"

bool lg_run_poisoned(lg_device_session *session, const lg_run_request *request, lg_observation *out,
                     lg_diags *diags) {
    lg_batch bad;
    if (!lg_proof_batch(request->kernel, LG_PROOF_AT_WIDTH, lg_kernel_directions(request->kernel),
                        &bad)) {
        return lg_error(diags, request->kernel->loc, "%s: there is no bad batch to end a context",
                        request->kernel->name);
    }
    lg_once_options options = {.before = &bad};
    bool ok = lg_run_once(session, request, &options, out, diags);
    lg_batch_free(&bad);
    return ok;
}
