// SPDX-License-Identifier: Apache-2.0
#include "session/session.h"

#include "batch/batch.h"
#include "session/internal.h"

#include <math.h>
#include <time.h>

static int64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

// The injected fault that changed nothing a kernel could see, or NULL.
static const char *unfired(const lg_batch *batch) {
    for (int i = 0; i < batch->n_injections; i++) {
        if (!batch->injections[i].fired) {
            return lg_cause_name(batch->injections[i].cause);
        }
    }
    return NULL;
}

// An error of a batch before is no verdict on this one, of which nothing ran.
static void leave_to_earlier(lg_case_run *run) {
    const lg_observation *seen = &run->result.observation;
    run->result.verdict = LG_SKIPPED;
    run->result.reason = lg_arena_printf(
        &run->arena, "not run: %s of a batch before had ended the context; %s at %s",
        seen->earlier_launch, seen->status_text ? seen->status_text : "no error",
        seen->surfaced_at ? seen->surfaced_at : "no call");
}

// Nothing of a batch whose last axis is as long as its class axis shows which is which.
static void note_square(const lg_point_data *data, lg_case_run *run) {
    const lg_tensor *input = &data->batch.input;
    int last = input->rank - 1;
    if (run->result.verdict == LG_PASS && !run->result.reason &&
        !lg_batch_is_binary(&data->batch) && last >= 2 && input->shape[1] == input->shape[last]) {
        run->result.reason = lg_arena_printf(
            &run->arena, "axis %d cannot be told from the class axis: both have %lld elements",
            last, (long long)input->shape[last]);
    }
}

// The call refuses the batch before any launch, as a checked call does.
static void refuse(const lg_point_data *data, lg_case_run *run) {
    run->result.observation.refused_on_host = true;
    run->result.observation.failed_launch_index = -1;
    lg_case_judge(NULL, NULL, data, run);
}

// A kernel that a scenario names and that does not take the type of its labels refuses them. True
// when it did.
static bool refuse_type(const lg_point_data *data, lg_case_run *run) {
    const lg_case *what = run->result.what;
    lg_refusal refusal = lg_device_refusal(what->kernel, &data->batch, what->mode, &run->arena);
    if (refusal.cause == LG_CAUSE_NONE) {
        return false;
    }
    lg_point_data refused = *data;
    refused.refusal = refusal;
    refused.has_reference = false; // of a batch that no loss was asked of
    refuse(&refused, run);
    return true;
}

// A backward pass that was asked for alone finds the total weight that it reads instead of a
// forward pass that leaves it, where that would meet the invalid rows first: its signal would hide
// whether the backward pass has a guard. One that also reads what forward left in scratch needs it
// launched.
static const double *total_weight_given(const lg_kernel *kernel, const lg_point_data *data) {
    if (data->batch.loss.direction != LG_BACKWARD || !data->has_reference ||
        data->reference.n_invalid == 0) {
        return NULL;
    }
    for (int i = 0; i < kernel->n_stages; i++) {
        const lg_stage *stage = &kernel->stages[i];
        for (int k = 0; k < stage->n_args && stage->direction == LG_BACKWARD; k++) {
            if (stage->args[k].id == LG_N_ARGS) {
                return NULL;
            }
        }
    }
    return &data->reference.total_weight;
}

// `handed`: the point's batch as this kernel is given it.
static void run_on_device(lg_device_session *device, const lg_batch *handed,
                          const lg_point_data *data, lg_case_run *run, lg_diags *diags) {
    lg_case_result *result = &run->result;
    const lg_kernel *kernel = result->what->kernel;
    bool guarded = kernel->policy != LG_POLICY_NONE;
    if (guarded && data->refusal.cause != LG_CAUSE_NONE) {
        refuse(data, run);
        return;
    }
    lg_run_request request = {.kernel = kernel,
                              .batch = handed,
                              .mode = result->what->mode,
                              .total_weight = total_weight_given(kernel, data),
                              .skip_host_checks = !guarded};
    size_t first = diags->n;
    if (!lg_device_run(device, &request, &result->observation, diags)) {
        result->reason =
            lg_last_error(&run->arena, diags, first, "the device could not run the case");
        return;
    }
    if (result->observation.not_run) {
        return;
    }
    if (result->observation.earlier_launch) {
        leave_to_earlier(run);
        return;
    }
    lg_case_judge(device, &request, data, run);
    note_square(data, run);
    if (result->verdict == LG_PASS && request.mode == LG_MODE_BLOCKING &&
        !lg_relations_check(device, &data->relations, &data->view, &data->reference, result,
                            &run->arena, diags)) {
        result->reason = lg_last_error(&run->arena, diags, first, result->reason);
    }
}

// A self-proof is needed to believe that a kernel is right. A scenario that says how its kernel is
// broken asks for no belief: the case shows the fault or it does not.
static bool expects_broken(const lg_scenario *scenario) {
    switch (scenario->expect.has_verdict ? scenario->expect.verdict : LG_UNTESTED) {
    case LG_SILENT_CORRUPTION:
    case LG_FALSE_ALARM:
    case LG_WRONG_RESULT:
    case LG_UNWRITTEN:
    case LG_MEMORY_FAULT:
    case LG_HANG:
    case LG_CRASH:
        return true;
    case LG_UNTESTED:
    case LG_PASS:
    case LG_DETECTED:
    case LG_SKIPPED:
    case LG_N_VERDICTS:
        break;
    }
    return false;
}

// Nothing of the case can run, for a reason that lives as long as it.
static void leave_out(const char *reason, bool named, lg_case_run *run) {
    run->result.reason = reason;
    run->tried = (lg_tried){0};
    run->absent = true;
    if (named) {
        lg_case_run_skip(run);
    }
}

static void run_handed(lg_device_session *device, const lg_batch *handed, bool named,
                       const lg_point_data *data, const char *column_failure, lg_case_run *out,
                       lg_diags *diags) {
    lg_case_result *result = &out->result;
    const lg_case *what = result->what;
    const char *unsuited = lg_device_unsuitable(what->kernel, handed, what->mode, &out->arena);
    if (!unsuited && what->mode == LG_MODE_BLOCKING) {
        unsuited =
            lg_relations_unsuitable(&data->relations, what->scenario, what->kernel, &out->arena);
    }
    if (unsuited && named && refuse_type(data, out)) {
        lg_expect_check(result, &out->arena);
        return;
    }
    if (unsuited) {
        leave_out(unsuited, named, out);
        return;
    }
    const char *idle = unfired(&data->batch);
    if (idle && !named && lg_input_was_fitted(what->scenario)) {
        result->reason = lg_arena_printf(&out->arena, "the fault is none in %s input",
                                         lg_dtype_name(handed->input.dtype));
        out->absent = true;
        return;
    }
    if (idle) {
        result->reason = lg_arena_printf(&out->arena, "the fault did not fire: %s", idle);
    } else if (column_failure && !expects_broken(what->scenario)) {
        result->reason = lg_arena_strdup(&out->arena, column_failure);
        result->column_failed = true;
    } else {
        out->tried =
            lg_tried_by(what->kernel, handed, data->has_reference ? &data->reference : NULL);
        run_on_device(device, handed, data, out, diags);
    }
    if (result->observation.not_run) {
        leave_out(result->observation.not_run, named, out);
        return;
    }
    lg_expect_check(result, &out->arena);
}

// A kernel that declares a rule of its own is held to that: the reference is made again with it.
// Everything else of `own` is borrowed.
static bool take_own_rule(const lg_kernel *kernel, const lg_point_data *data, lg_point_data *own) {
    if (!kernel->zero_log_zero || !data->has_reference || !data->batch.target_is_probability) {
        return false;
    }
    *own = *data;
    own->batch.loss.zero_log_zero = true;
    own->view.loss.zero_log_zero = true;
    bool backward = own->batch.loss.direction & LG_BACKWARD;
    return lg_reference_compute(&own->view, backward, &own->reference);
}

void lg_case_run_one(lg_device_session *device, const lg_case *what, bool named,
                     const lg_point_data *data, const char *column_failure,
                     const char *repro_prefix, lg_case_run *out, lg_diags *diags) {
    *out = (lg_case_run){.result = {.what = what, .max_error_share = NAN}};
    lg_case_result *result = &out->result;
    int64_t begun = now_ns();
    result->repro = lg_case_repro(what, repro_prefix);
    if (data->failure) {
        result->reason = lg_arena_strdup(&out->arena, data->failure);
        lg_expect_check(result, &out->arena);
        return;
    }
    lg_point_data own;
    bool has_own = take_own_rule(what->kernel, data, &own);
    data = has_own ? &own : data;
    lg_case_copy_truth(data, result);
    lg_batch fitted;
    bool fits = lg_fit_labels(what->scenario, what->kernel, &data->batch, &fitted);
    const lg_batch *handed = fits ? &fitted : &data->batch;
    run_handed(device, handed, named, data, column_failure, out, diags);
    if (!result->as_expected && !out->absent) {
        lg_case_place(device, handed, out);
    }
    if (fits) {
        lg_tensor_free(&fitted.target);
    }
    if (has_own) {
        lg_reference_free(&own.reference);
    }
    result->elapsed_ns = now_ns() - begun;
}

void lg_case_run_skip(lg_case_run *run) {
    run->absent = false;
    run->result.verdict = LG_SKIPPED;
    lg_expect_check(&run->result, &run->arena);
}

void lg_case_run_free(lg_case_run *run) {
    lg_case_result_free(&run->result);
    lg_arena_free(&run->arena);
    *run = (lg_case_run){0};
}
