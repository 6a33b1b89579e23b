// SPDX-License-Identifier: Apache-2.0
// One case, in six steps: prepare, observe, judge, attribute, expect, place. Each fills its part of
// the result once; a case that ends without a run (skipped, untested) has its verdict from prepare
// or observe, and the steps after pass over it.
#include "session/internal.h"

#include "attribute/attribute.h"
#include "support/alloc.h"

#include <math.h>
#include <string.h>
#include <time.h>

// What the steps share.
typedef struct running_case {
    lg_device_session *device;
    const lg_case *what;
    bool named; // the scenario names this kernel without a wildcard
    const lg_point_data *data;
    lg_refusal refusal; // of the call for this batch; cause NONE: it goes through
    bool is_refused_type;
    bool has_own_reference; // by a rule that the kernel declares
    lg_batch own_batch;
    lg_batch own_view;
    lg_reference own_reference;
    bool is_fitted; // the labels are given in the kernel's own integer type
    lg_batch fitted;
    const lg_batch *given;  // with the labels as they are intended
    const lg_batch *passed; // as the kernel is given it
    lg_case_facts facts;
    bool settled; // it has its verdict, without a run
    lg_arena *arena;
    lg_case_run *run;
    lg_case_result *result;
    lg_diags *diags;
} running_case;

static int64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void settle(running_case *c, lg_verdict verdict, lg_reason reason, const char *text) {
    c->result->judged = (lg_judgement){.verdict = verdict,
                                       .reason = reason,
                                       .output = LG_N_ARGS,
                                       .text = text,
                                       .max_error_share = NAN};
    c->settled = true;
}

// --- prepare: what the kernel is given, or why it is given nothing ------------------------------

static double *copy_doubles(const double *values, int64_t n) {
    double *copy = lg_xmalloc((size_t)(n ? n : 1) * sizeof(*copy));
    if (n) {
        memcpy(copy, values, (size_t)n * sizeof(*copy));
    }
    return copy;
}

// The batch's size, labels, injected faults and right loss, for reports.
static void copy_truth(const running_case *c) {
    const lg_point_data *data = c->data;
    lg_case_result *result = c->result;
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
    const lg_reference *reference = c->facts.run.reference;
    if (reference) {
        result->n_reference_loss = reference->n_loss;
        result->reference_loss = copy_doubles(reference->loss, reference->n_loss);
    }
}

// A kernel that declares a rule of its own is held to that: the reference is made again with it.
static void take_own_rule(running_case *c) {
    const lg_point_data *data = c->data;
    if (!c->what->kernel->zero_log_zero || !data->has_reference ||
        !data->batch.target_is_probability) {
        return;
    }
    c->own_batch = data->batch;
    c->own_view = data->view;
    c->own_batch.loss.zero_log_zero = true;
    c->own_view.loss.zero_log_zero = true;
    bool backward = c->own_batch.loss.direction & LG_BACKWARD;
    c->has_own_reference = lg_reference_compute(&c->own_view, backward, &c->own_reference);
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

// Nothing of the case can run. One whose kernel the scenario names is skipped; any other is no
// case.
static void leave_out(running_case *c, const char *text) {
    settle(c, c->named ? LG_SKIPPED : LG_UNTESTED, LG_REASON_UNSUITABLE, text);
    c->run->tried = (lg_tried){0};
    c->run->absent = !c->named;
}

// A kernel that a scenario names and that does not take the type of its labels refuses them. True
// when it does.
static bool is_refused_type(running_case *c) {
    const lg_case *what = c->what;
    if (c->named) {
        c->refusal = lg_device_refusal(what->kernel, c->given, what->mode, c->arena);
        c->is_refused_type = c->refusal.cause != LG_CAUSE_NONE;
    }
    return c->is_refused_type;
}

static const char *why_unsuitable(running_case *c) {
    const lg_case *what = c->what;
    const char *why = lg_device_unsuitable(what->kernel, c->passed, what->mode, c->arena);
    if (!why && what->mode == LG_MODE_BLOCKING) {
        why = lg_relations_unsuitable(&c->data->relations, what->scenario, what->kernel, c->arena);
    }
    return why;
}

static void prepare(running_case *c, const char *column_failure) {
    const lg_point_data *data = c->data;
    const lg_case *what = c->what;
    if (data->failure) {
        settle(c, LG_UNTESTED, LG_REASON_NO_BATCH, lg_arena_strdup(c->arena, data->failure));
        return;
    }
    take_own_rule(c);
    c->given = c->has_own_reference ? &c->own_batch : &data->batch;
    c->facts = (lg_case_facts){.run = {.batch = c->has_own_reference ? &c->own_view : &data->view,
                                       .reference = c->has_own_reference  ? &c->own_reference
                                                    : data->has_reference ? &data->reference
                                                                          : NULL,
                                       .kernel = what->kernel,
                                       .observation = &c->result->observation},
                               .given = c->given,
                               .intended = data->has_intended ? &data->intended : NULL,
                               .senseless = data->senseless};
    copy_truth(c);
    c->is_fitted = lg_fit_labels(what->scenario, what->kernel, c->given, &c->fitted);
    c->passed = c->is_fitted ? &c->fitted : c->given;
    const char *unsuitable = why_unsuitable(c);
    if (unsuitable) {
        if (!is_refused_type(c)) {
            leave_out(c, unsuitable);
        }
        return;
    }
    const char *idle = unfired(&data->batch);
    if (idle && !c->named && lg_input_was_fitted(what->scenario)) {
        settle(c, LG_UNTESTED, LG_REASON_NOT_FIRED,
               lg_arena_printf(c->arena, "the fault is none in %s input",
                               lg_dtype_name(c->passed->input.dtype)));
        c->run->absent = true;
    } else if (idle) {
        settle(c, LG_UNTESTED, LG_REASON_NOT_FIRED,
               lg_arena_printf(c->arena, "the fault did not fire: %s", idle));
    } else if (column_failure && !expects_broken(what->scenario)) {
        settle(c, LG_UNTESTED, LG_REASON_COLUMN_FAILED, lg_arena_strdup(c->arena, column_failure));
    } else {
        c->run->tried = lg_tried_by(what->kernel, c->passed, c->facts.run.reference);
        c->refusal = what->kernel->policy != LG_POLICY_NONE ? data->refusal : (lg_refusal){0};
    }
}

// --- observe: the run, and further runs where the first one asks for them -----------------------

// A backward pass that was asked for alone finds the total weight that it reads instead of a
// forward pass that leaves it, where that would meet the invalid rows first: its signal would hide
// whether the backward pass has a guard. One that also reads what forward left in scratch needs it
// launched.
static const double *total_weight_given(const running_case *c) {
    const lg_reference *reference = c->facts.run.reference;
    const lg_kernel *kernel = c->what->kernel;
    if (c->given->loss.direction != LG_BACKWARD || !reference || reference->n_invalid == 0) {
        return NULL;
    }
    for (int i = 0; i < kernel->n_stages; i++) {
        const lg_stage *stage = &kernel->stages[i];
        for (int k = 0; k < stage->n_args && stage->direction == LG_BACKWARD; k++) {
            if (stage->args[k].id == LG_N_ARGS) { // scratch
                return NULL;
            }
        }
    }
    return &reference->total_weight;
}

// The call refuses the batch before any launch, as a checked call does.
static void observe_refusal(running_case *c) {
    c->result->observation.refused_on_host = true;
    c->result->observation.failed_launch_index = -1;
    c->facts.run.refusal = &c->refusal;
    if (c->is_refused_type) {
        c->facts.run.reference = NULL; // of a batch that no loss was asked of
    }
    c->facts.run_shows = lg_judge_run(&c->facts.run, c->arena);
}

static void observe(running_case *c) {
    if (c->settled) {
        return;
    }
    if (c->refusal.cause != LG_CAUSE_NONE) {
        observe_refusal(c);
        return;
    }
    const lg_case *what = c->what;
    lg_observation *seen = &c->result->observation;
    lg_run_request request = {.kernel = what->kernel,
                              .batch = c->passed,
                              .mode = what->mode,
                              .total_weight = total_weight_given(c),
                              .skip_host_checks = what->kernel->policy == LG_POLICY_NONE};
    size_t first = c->diags->n;
    if (!lg_device_run(c->device, &request, seen, c->diags)) {
        settle(c, LG_UNTESTED, LG_REASON_DEVICE_FAILED,
               lg_last_error(c->arena, c->diags, first, "the device could not run the case"));
        return;
    }
    if (seen->not_run) {
        leave_out(c, seen->not_run);
        return;
    }
    if (seen->earlier_launch) { // its error is no verdict on this batch, of which nothing ran
        settle(c, LG_SKIPPED, LG_REASON_EARLIER_BATCH,
               lg_arena_printf(
                   c->arena, "not run: %s of a batch before had ended the context; %s at %s",
                   seen->earlier_launch, seen->status_text ? seen->status_text : "no error",
                   seen->surfaced_at ? seen->surfaced_at : "no call"));
        return;
    }
    if (c->data->refusal.cause != LG_CAUSE_NONE) { // nothing guards this kernel
        c->facts.run.refusal = &c->data->refusal;
    }
    lg_judgement shows = lg_judge_run(&c->facts.run, c->arena);
    c->facts.run_shows = shows;
    if (shows.kernel_fault && shows.verdict == LG_WRONG_RESULT && seen->status == LG_STATUS_OK &&
        !seen->race && !seen->barrier.text) {
        seen->order = lg_find_order_dependence(c->device, &request, seen, &seen->arena);
    }
    if (shows.verdict == LG_PASS && what->mode == LG_MODE_BLOCKING) {
        lg_relations_observe(c->device, &c->data->relations, what, &c->facts, c->arena, c->diags);
    }
}

// --- judge, attribute ---------------------------------------------------------------------------

static void judge(running_case *c) {
    if (c->settled) {
        return;
    }
    c->result->judged = lg_judge(&c->facts, c->arena);
    const lg_output *loss = lg_observation_output(&c->result->observation, LG_ARG_OUTPUT);
    if (loss && loss->values) {
        c->result->n_loss = loss->n;
        c->result->loss = copy_doubles(loss->values, loss->n);
    }
}

// Where nothing was injected and the scenario says what is wrong with what it lists, that is the
// truth.
static lg_attribution grade(const running_case *c) {
    const lg_expect *expect = &c->what->scenario->expect;
    const lg_finding *finding = &c->result->finding;
    bool stated = expect->has_cause && expect->cause != LG_CAUSE_NONE;
    if (c->given->n_injections > 0 || !stated) {
        return lg_attribution_grade(c->given, finding);
    }
    if (finding->cause != expect->cause && !lg_finding_names(finding, expect->cause)) {
        return LG_ATTRIBUTION_WRONG;
    }
    return finding->ambiguous ? LG_ATTRIBUTION_AMBIGUOUS : LG_ATTRIBUTION_EXACT;
}

static void attribute(running_case *c) {
    if (c->settled) {
        return;
    }
    const lg_run_facts *run = &c->facts.run;
    const lg_relation_fact *relation = &c->facts.relation;
    if (relation->broken && relation->judgement.kernel_fault) {
        lg_attribute_relation(relation, &c->result->finding);
    } else {
        lg_attribute_input input = {.batch = c->given,
                                    .reference = run->reference,
                                    .refusal = run->refusal,
                                    .kernel = run->kernel,
                                    .observation = run->observation,
                                    .result_wrong = c->result->judged.kernel_fault};
        lg_attribute(&input, &c->result->finding);
    }
    c->result->attribution = grade(c);
}

// --- the whole ----------------------------------------------------------------------------------

static void release(running_case *c) {
    lg_relation_fact_free(&c->facts.relation);
    if (c->is_fitted) {
        lg_tensor_free(&c->fitted.target);
    }
    if (c->has_own_reference) {
        lg_reference_free(&c->own_reference);
    }
}

void lg_case_run_one(lg_device_session *device, const lg_case *what, bool named,
                     const lg_point_data *data, const char *column_failure,
                     const char *repro_prefix, lg_case_run *out, lg_diags *diags) {
    int64_t begun = now_ns();
    *out = (lg_case_run){.result = {.what = what}};
    out->result.repro = lg_case_repro(what, repro_prefix);
    running_case c = {.device = device,
                      .what = what,
                      .named = named,
                      .data = data,
                      .arena = &out->arena,
                      .run = out,
                      .result = &out->result,
                      .diags = diags};
    prepare(&c, column_failure);
    observe(&c);
    judge(&c);
    attribute(&c);
    if (!out->absent) {
        lg_expect_check(&out->result, &out->arena);
        lg_case_place(device, c.passed, out);
    }
    release(&c);
    out->result.elapsed_ns = now_ns() - begun;
}

void lg_case_run_skip(lg_case_run *run) {
    run->absent = false;
    run->result.judged.verdict = LG_SKIPPED;
    lg_expect_check(&run->result, &run->arena);
}

void lg_case_run_free(lg_case_run *run) {
    lg_case_result_free(&run->result);
    lg_arena_free(&run->arena);
    *run = (lg_case_run){0};
}
