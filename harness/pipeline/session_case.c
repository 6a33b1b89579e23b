// SPDX-License-Identifier: Apache-2.0
#include "pipeline/session_case.h"

#include "pipeline/attribute.h"
#include "pipeline/fit_input.h"
#include "pipeline/fit_labels.h"
#include "pipeline/generate.h"
#include "pipeline/judge.h"
#include "pipeline/order_check.h"
#include "pipeline/plan.h"
#include "pipeline/session_expect.h"
#include "pipeline/session_histogram.h"
#include "pipeline/tolerance.h"
#include "support/alloc.h"
#include "support/plain.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static const char *last_error(lg_arena *arena, const lg_diags *diags, size_t from,
                              const char *otherwise) {
    for (size_t i = from; i < diags->n; i++) {
        if (diags->items[i].severity == LG_ERROR) {
            return lg_arena_strdup(arena, diags->items[i].message);
        }
    }
    return otherwise;
}

void lg_point_prepare(const lg_scenario *scenario, lg_point_data *data, lg_diags *diags) {
    *data = (lg_point_data){0};
    size_t first = diags->n;
    if (!lg_generate(scenario, true, &data->batch, diags)) {
        data->failure = last_error(&data->arena, diags, first, "the batch could not be generated");
        return;
    }
    data->view = data->batch;
    data->view.target = *lg_batch_device_target(&data->batch);
    data->view.device_target = (lg_tensor){0};
    data->n_labels = lg_label_histogram(&data->batch, data->labels);
    data->refusal = lg_hostcheck(&data->batch, &data->arena);
    // The reference needs shapes and types that agree; a refused batch may have neither.
    if (data->refusal.cause != LG_CAUSE_NONE) {
        return;
    }
    data->has_reference = lg_reference_compute(
        &data->view, lg_reference_keeps_gradient(&data->view), &data->reference);
    bool other_labels = lg_tensor_exists(&data->batch.device_target);
    data->has_meant = other_labels && lg_reference_compute(&data->batch, false, &data->meant);
    if (!data->has_reference || data->has_meant != other_labels) {
        data->failure = "no memory for the reference";
    } else if (!lg_relations_make(scenario, &data->view, &data->relations)) {
        data->failure = "no memory for the relations";
    }
}

void lg_point_free(lg_point_data *data) {
    lg_batch_free(&data->batch);
    if (data->has_reference) {
        lg_reference_free(&data->reference);
    }
    if (data->has_meant) {
        lg_reference_free(&data->meant);
    }
    lg_relations_free(&data->relations);
    lg_arena_free(&data->arena);
    *data = (lg_point_data){0};
}

static double *copy_doubles(const double *values, int64_t n) {
    double *copy = lg_xmalloc((size_t)(n ? n : 1) * sizeof(*copy));
    if (n) {
        memcpy(copy, values, (size_t)n * sizeof(*copy));
    }
    return copy;
}

static void copy_truth(const lg_point_data *data, lg_case_result *result) {
    const lg_batch *batch = &data->batch;
    result->n_rows = lg_batch_rows(batch);
    result->head_width = lg_batch_head_width(batch);
    result->n_labels = data->n_labels;
    result->labels = lg_xmalloc(sizeof(data->labels));
    memcpy(result->labels, data->labels, sizeof(data->labels));
    for (int i = 0; i < batch->n_injections; i++) {
        const lg_injection *from = &batch->injections[i];
        lg_injection *to = &result->injected[result->n_injected++];
        *to = *from;
        to->rows = lg_xmalloc((size_t)(from->n_rows ? from->n_rows : 1) * sizeof(*to->rows));
        if (from->n_rows) {
            memcpy(to->rows, from->rows, (size_t)from->n_rows * sizeof(*to->rows));
        }
    }
    if (data->has_reference) {
        result->n_reference_loss = data->reference.n_loss;
        result->reference_loss = copy_doubles(data->reference.loss, data->reference.n_loss);
    }
}

static void copy_loss(lg_case_result *result) {
    const lg_output *output = lg_observation_output(&result->observation, "output");
    if (output && output->values) {
        result->n_loss = output->n;
        result->loss = copy_doubles(output->values, output->n);
    }
}

// A kernel may be right for labels that were misread on their way: every label is in range, the
// loss is plausible, and it is not the loss of the data.
static void check_meaning(const lg_point_data *data, lg_case_run *run) {
    lg_case_result *result = &run->result;
    if (result->verdict != LG_PASS || !data->has_meant || result->n_loss != data->meant.n_loss) {
        return;
    }
    lg_quantity quantity = data->meant.scalar ? LG_Q_LOSS : LG_Q_ROW_LOSS;
    for (int64_t i = 0; i < result->n_loss; i++) {
        double want = data->meant.loss[i];
        double bound = lg_tolerance(&data->batch, &data->meant, quantity, i, want);
        if (!(lg_compare(result->loss[i], want, bound, data->batch.input.dtype) <= 1)) {
            result->verdict = LG_SILENT_CORRUPTION;
            result->reason = lg_arena_printf(
                &run->arena,
                "no signal, and the labels are not those meant: the loss is %.9g, right is %.9g",
                lg_plain(result->loss[i]), lg_plain(want));
            return;
        }
    }
}

// A batch that breaks a contract of the caller makes a kernel's wrong number no fault of the
// kernel.
static bool is_kernel_fault(const lg_point_data *data, lg_verdict verdict) {
    bool valid = data->has_reference && data->reference.n_invalid == 0;
    return valid && verdict != LG_PASS && verdict != LG_UNTESTED && verdict != LG_SKIPPED;
}

// Every number is right for what was handed over, and says nothing: probabilities where their
// logarithms are meant, target probabilities that do not add up to 1, a softmax over one class. No
// kernel can signal that.
static void check_sense(lg_case_run *run) {
    lg_case_result *result = &run->result;
    const lg_finding *finding = &result->finding;
    bool senseless =
        finding->cause == LG_CAUSE_VALUE_DOMAIN || finding->cause == LG_CAUSE_WRONG_HEAD_WIDTH;
    if (result->verdict == LG_PASS && finding->certain && senseless) {
        result->verdict = LG_SILENT_CORRUPTION;
        result->reason = lg_arena_printf(&run->arena, "no signal, and a loss that is none: %s",
                                         finding->headline);
    }
}

// A wrong number of a valid batch that other orders of blocks and warps change is a race.
static void check_order(lg_device_session *device, const lg_run_request *request,
                        lg_case_run *run) {
    lg_observation *seen = &run->result.observation;
    if (seen->status == LG_STATUS_OK && !seen->race) {
        seen->race = lg_find_order_dependence(device, request, seen, &seen->arena);
    }
}

// Where nothing was injected and the scenario says what is wrong with what it lists, that is the
// truth.
static lg_attribution grade(const lg_point_data *data, const lg_case_result *result) {
    const lg_expect *expect = &result->what->scenario->expect;
    const lg_finding *finding = &result->finding;
    bool told = expect->has_cause && expect->cause != LG_CAUSE_NONE;
    if (data->batch.n_injections > 0 || !told) {
        return lg_attribution_grade(&data->batch, finding);
    }
    if (finding->cause != expect->cause && !lg_finding_names(finding, expect->cause)) {
        return LG_ATTRIBUTION_WRONG;
    }
    return finding->ambiguous ? LG_ATTRIBUTION_AMBIGUOUS : LG_ATTRIBUTION_EXACT;
}

// `device` and `request`: what was run, or NULL when the batch was refused.
static void judge_and_attribute(lg_device_session *device, const lg_run_request *request,
                                const lg_point_data *data, lg_case_run *run) {
    lg_case_result *result = &run->result;
    const lg_reference *reference = data->has_reference ? &data->reference : NULL;
    const lg_refusal *refusal = data->refusal.cause != LG_CAUSE_NONE ? &data->refusal : NULL;
    lg_judgement judgement = lg_judge(&data->view, reference, refusal, result->what->kernel,
                                      &result->observation, &run->arena);
    result->verdict = judgement.verdict;
    result->detected_by = judgement.detected_by;
    result->reason = judgement.reason;
    result->max_error_share = judgement.max_error_share;
    copy_loss(result);
    bool kernel_fault = is_kernel_fault(data, result->verdict);
    if (kernel_fault && result->verdict == LG_WRONG_RESULT && request) {
        check_order(device, request, run);
    }
    check_meaning(data, run);
    lg_attribute_input input = {.batch = &data->batch,
                                .reference = reference,
                                .refusal = refusal,
                                .kernel = result->what->kernel,
                                .observation = &result->observation,
                                .result_wrong = kernel_fault};
    lg_attribute(&input, &result->finding);
    check_sense(run);
    result->attribution = grade(data, result);
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
    judge_and_attribute(NULL, NULL, data, run);
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
            if (strncmp(stage->args[k], "scratch_", 8) == 0) {
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
        result->reason = last_error(&run->arena, diags, first, "the device could not run the case");
        return;
    }
    if (result->observation.earlier_launch) {
        leave_to_earlier(run);
        return;
    }
    judge_and_attribute(device, &request, data, run);
    note_square(data, run);
    if (result->verdict == LG_PASS && request.mode == LG_MODE_BLOCKING &&
        !lg_relations_check(device, &data->relations, &data->view, &data->reference, result,
                            &run->arena, diags)) {
        result->reason = last_error(&run->arena, diags, first, result->reason);
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
        result->reason = unsuited;
        out->absent = true;
        if (named) {
            lg_case_run_skip(out);
        }
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
    copy_truth(data, result);
    lg_batch fitted;
    bool fits = lg_fit_labels(what->scenario, what->kernel, &data->batch, &fitted);
    run_handed(device, fits ? &fitted : &data->batch, named, data, column_failure, out, diags);
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
