// SPDX-License-Identifier: Apache-2.0
// Where in the kernel's source to look, for a case that was not as expected.
#include "device/device.h"
#include "session/internal.h"

static const lg_stage *last_that_takes(const lg_kernel *kernel, lg_arg_id arg, int directions) {
    for (int i = kernel->n_stages; i-- > 0;) {
        const lg_stage *stage = &kernel->stages[i];
        if ((stage->direction & directions) && lg_stage_takes(stage, arg)) {
            return stage;
        }
    }
    return NULL;
}

// The stage that wrote what is wrong: the last one of the output's own direction that is given it,
// as the other direction may only read it. Where no output is named, it is the first one asked for.
static const lg_stage *stage_that_wrote(const lg_case_result *result, const lg_batch *passed) {
    const lg_kernel *kernel = result->what->kernel;
    lg_arg_id output = result->judged.output;
    if (output == LG_N_ARGS) {
        bool forward = passed->loss.direction & LG_FORWARD;
        output = forward ? LG_ARG_OUTPUT : LG_ARG_GRAD_INPUT;
    }
    const lg_stage *stage =
        last_that_takes(kernel, output, output == LG_ARG_GRAD_INPUT ? LG_BACKWARD : LG_FORWARD);
    stage = stage ? stage : last_that_takes(kernel, output, LG_BOTH);
    return stage || kernel->n_stages == 0 ? stage : &kernel->stages[kernel->n_stages - 1];
}

// The line that the run itself names: of the guard that fired, of a bad access, of a barrier.
static lg_source_place line_of(const lg_observation *seen) {
    if (seen->n_asserts_kept > 0 && seen->asserts[0].file) {
        return (lg_source_place){.kind = LG_PLACE_GUARD,
                                 .file = seen->asserts[0].file,
                                 .line = seen->asserts[0].line,
                                 .what = "the guard that fired"};
    }
    if (seen->memory.present && seen->memory.file) {
        return (lg_source_place){.kind = LG_PLACE_ACCESS,
                                 .file = seen->memory.file,
                                 .line = seen->memory.line,
                                 .what = "the bad access"};
    }
    if (seen->barrier.text && seen->barrier.file) {
        return (lg_source_place){.kind = LG_PLACE_BARRIER,
                                 .file = seen->barrier.file,
                                 .line = seen->barrier.line,
                                 .what = "the barrier"};
    }
    return (lg_source_place){0};
}

void lg_case_place(lg_device_session *device, const lg_observation *seen, const lg_batch *passed,
                   lg_case_result *result, lg_arena *arena) {
    if (result->as_expected || !passed || result->judged.verdict == LG_SKIPPED ||
        seen->refused_on_host) {
        return; // no line of the kernel has a part in it
    }
    const lg_kernel *kernel = result->what->kernel;
    const lg_stage *failed = NULL;
    // A late signal is right where it came; what is missing is the one of the stage before.
    if (result->judged.reason != LG_REASON_LATE_SIGNAL) {
        result->place = line_of(seen);
        failed = lg_observation_failed_stage(seen, kernel);
    }
    const lg_stage *stage = failed ? failed : stage_that_wrote(result, passed);
    if (result->place.kind != LG_PLACE_UNKNOWN || !stage) {
        return;
    }
    bool found =
        lg_device_entry_place(device, kernel, stage, passed->input.dtype,
                              lg_batch_device_target(passed)->dtype, arena, &result->place);
    result->place.kind = found ? LG_PLACE_ENTRY : LG_PLACE_UNKNOWN;
}
