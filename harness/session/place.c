// SPDX-License-Identifier: Apache-2.0
// Where in the kernel's source somebody should look who reads of a case.
#include "device/device.h"
#include "session/session.h"

// The stage that wrote what is wrong: the last one that is given the output. Where no output is
// named, the loss counts.
static const lg_stage *stage_to_blame(const lg_case_result *result) {
    const lg_kernel *kernel = result->what->kernel;
    lg_arg_id wanted = result->judged.output != LG_N_ARGS ? result->judged.output : LG_ARG_OUTPUT;
    for (int i = kernel->n_stages; i-- > 0;) {
        if (lg_stage_takes(&kernel->stages[i], wanted)) {
            return &kernel->stages[i];
        }
    }
    return kernel->n_stages > 0 ? &kernel->stages[kernel->n_stages - 1] : NULL;
}

void lg_case_place(lg_device_session *device, const lg_batch *passed, lg_case_run *run) {
    lg_case_result *result = &run->result;
    const lg_observation *seen = &result->observation;
    if (result->as_expected || !passed || result->judged.verdict == LG_SKIPPED ||
        seen->refused_on_host) {
        return; // no line of the kernel has a part in it
    }
    if (seen->n_asserts_kept > 0 && seen->asserts[0].file) {
        result->place = (lg_source_place){.file = seen->asserts[0].file,
                                          .line = seen->asserts[0].line,
                                          .what = "the guard that fired"};
        return;
    }
    if (seen->memory.present && seen->memory.file) {
        result->place = (lg_source_place){
            .file = seen->memory.file, .line = seen->memory.line, .what = "the bad access"};
        return;
    }
    if (seen->barrier.text && seen->barrier.file) {
        result->place = (lg_source_place){
            .file = seen->barrier.file, .line = seen->barrier.line, .what = "the barrier"};
        return;
    }
    const lg_stage *failed = lg_observation_failed_stage(seen, result->what->kernel);
    const lg_stage *stage = failed ? failed : stage_to_blame(result);
    if (stage && !lg_device_entry_place(device, result->what->kernel, stage, passed->input.dtype,
                                        lg_batch_device_target(passed)->dtype, &run->arena,
                                        &result->place)) {
        result->place = (lg_source_place){0};
    }
}
