// SPDX-License-Identifier: Apache-2.0
// One case, in six steps: prepare, observe, judge, attribute, expect, place. Each fills its own
// part of the result, once. A case that cannot run gets its verdict from the first two steps, which
// settle it; judge and attribute then have nothing to do.
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
    bool named;                              // the scenario names this kernel without a wildcard
    const lg_column_failure *column_failure; // or NULL
    const lg_point_data *data;
    lg_refusal refusal;     // by the call, before any launch; cause NONE: it launches
    bool refused_type;      // the refusal is of the labels' type
    bool has_own_reference; // by a rule that the kernel declares
    lg_batch own_batch;
    lg_batch own_view;
    lg_reference own_reference;
    bool is_fitted; // the labels are passed in the kernel's own integer type
    lg_batch fitted;
    const lg_batch *given;  // with the labels as they are intended
    const lg_batch *passed; // as the kernel gets it
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

// --- prepare: what the kernel gets, or why it gets nothing ---------------------------------------

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

// The first injected fault that changed nothing a kernel could see; NONE: all did.
static lg_cause unfired(const lg_batch *batch) {
    for (int i = 0; i < batch->n_injections; i++) {
        if (!batch->injections[i].fired) {
            return batch->injections[i].cause;
        }
    }
    return LG_CAUSE_NONE;
}

// A self-proof is needed to believe that a kernel is right. A scenario that says how its kernel is
// broken asks for no belief: the case shows the fault or it does not.
static bool expects_broken(const lg_scenario *scenario) {
    static const bool broken[LG_N_VERDICTS] = {[LG_SILENT_CORRUPTION] = true,
                                               [LG_FALSE_ALARM] = true,
                                               [LG_WRONG_RESULT] = true,
                                               [LG_UNWRITTEN] = true,
                                               [LG_MEMORY_FAULT] = true,
                                               [LG_HANG] = true,
                                               [LG_CRASH] = true};
    return scenario->expect.has_verdict && broken[scenario->expect.verdict];
}

// The kernel cannot take the batch, or not in this type. Where the scenario does not name the
// kernel, that is no case at all.
static void leave_out(running_case *c, lg_reason reason, const char *text) {
    settle(c, LG_SKIPPED, reason, text);
    c->run->absent = !c->named;
}

// A kernel that the scenario names and that does not take the type of the labels refuses the call.
static bool refuses_type(running_case *c) {
    const lg_case *what = c->what;
    if (c->named) {
        c->refusal = lg_device_refusal(what->kernel, c->given, what->mode, c->arena);
        c->refused_type = c->refusal.cause != LG_CAUSE_NONE;
    }
    return c->refused_type;
}

static const char *why_unsuitable(const running_case *c) {
    const lg_case *what = c->what;
    const char *why = lg_device_unsuitable(what->kernel, c->passed, what->mode, c->arena);
    if (!why && what->mode == LG_MODE_BLOCKING) {
        why = lg_relations_unsuitable(&c->data->relations, what->scenario, what->kernel, c->arena);
    }
    return why;
}

// The batch and what is right for it: all that is known before the run.
static void gather(running_case *c) {
    const lg_point_data *data = c->data;
    take_own_rule(c);
    c->given = c->has_own_reference ? &c->own_batch : &data->batch;
    c->facts = (lg_case_facts){.run = {.batch = c->has_own_reference ? &c->own_view : &data->view,
                                       .reference = c->has_own_reference  ? &c->own_reference
                                                    : data->has_reference ? &data->reference
                                                                          : NULL,
                                       .kernel = c->what->kernel,
                                       .observation = &c->result->observation},
                               .given = c->given,
                               .intended = data->has_intended ? &data->intended : NULL,
                               .senseless = data->senseless};
    c->is_fitted = lg_fit_labels(c->what->scenario, c->what->kernel, c->given, &c->fitted);
    c->passed = c->is_fitted ? &c->fitted : c->given;
    copy_truth(c);
}

static void prepare(running_case *c) {
    const lg_point_data *data = c->data;
    const lg_case *what = c->what;
    if (data->failure) {
        settle(c, LG_UNTESTED, LG_REASON_NO_BATCH, lg_arena_strdup(c->arena, data->failure));
        return;
    }
    gather(c);
    const char *unsuitable = why_unsuitable(c);
    if (unsuitable) {
        if (!refuses_type(c)) {
            leave_out(c, LG_REASON_UNSUITABLE, unsuitable);
        }
        return;
    }
    lg_cause idle = unfired(&data->batch);
    if (idle != LG_CAUSE_NONE && !c->named && lg_input_was_fitted(what->scenario)) {
        leave_out(c, LG_REASON_NOT_FIRED,
                  lg_arena_printf(c->arena, "the fault changes nothing in %s input",
                                  lg_dtype_name(c->passed->input.dtype)));
    } else if (idle != LG_CAUSE_NONE) {
        settle(c, LG_UNTESTED, LG_REASON_NOT_FIRED,
               lg_arena_printf(c->arena, "the fault %s changed nothing in this batch",
                               lg_cause_name(idle)));
    } else if (c->column_failure && !expects_broken(what->scenario)) {
        settle(c, LG_UNTESTED, LG_REASON_COLUMN_FAILED,
               lg_arena_strdup(c->arena, c->column_failure->text));
        c->result->judged.output = c->column_failure->output;
    } else if (what->kernel->policy != LG_POLICY_NONE) {
        c->refusal = data->refusal;
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

// A checked call refuses the batch: nothing is launched.
static void refuse(running_case *c) {
    c->result->observation.refused_on_host = true;
    c->result->observation.failed_launch_index = -1;
    c->facts.run.refusal = &c->refusal;
    if (c->refused_type) {
        c->facts.run.reference = NULL; // of a batch that no loss was asked of
    }
}

// The run itself. A case that did not come to run is settled.
static void launch(running_case *c, const lg_run_request *request) {
    lg_observation *seen = &c->result->observation;
    size_t first = c->diags->n;
    if (!lg_device_run(c->device, request, seen, c->diags)) {
        settle(c, LG_UNTESTED, LG_REASON_DEVICE_FAILED,
               lg_last_error(c->arena, c->diags, first, "the device could not run the case"));
    } else if (seen->not_run) {
        leave_out(c, LG_REASON_UNSUITABLE, seen->not_run);
    } else if (seen->earlier_launch) { // its error is no verdict on this batch
        settle(c, LG_SKIPPED, LG_REASON_EARLIER_BATCH,
               lg_arena_printf(
                   c->arena, "not run: %s of a batch before had ended the context; %s at %s",
                   seen->earlier_launch, seen->status_text ? seen->status_text : "no error",
                   seen->surfaced_at ? seen->surfaced_at : "no call"));
    } else {
        c->run->coverage = lg_coverage_of(c->what->kernel, c->passed, c->facts.run.reference);
        // A call without checks lets through what others refuse.
        c->facts.run.refusal = c->data->refusal.cause != LG_CAUSE_NONE ? &c->data->refusal : NULL;
    }
}

// Further runs, where the first one leaves a question: does a wrong result depend on the order of
// blocks and warps, do right results keep the relations?
static void observe_further(running_case *c, const lg_run_request *request) {
    lg_observation *seen = &c->result->observation;
    const lg_judgement *shows = &c->facts.run_shows;
    if (shows->kernel_fault && shows->verdict == LG_WRONG_RESULT && seen->status == LG_STATUS_OK &&
        !seen->race && !seen->barrier.text) {
        seen->order = lg_find_order_dependence(c->device, request, seen, &seen->arena);
    }
    if (shows->verdict == LG_PASS && request->mode == LG_MODE_BLOCKING) {
        lg_relations_observe(c->device, &c->data->relations, c->what, &c->facts, c->arena,
                             c->diags);
    }
}

static void observe(running_case *c) {
    if (c->settled) {
        return;
    }
    const lg_kernel *kernel = c->what->kernel;
    lg_run_request request = {.kernel = kernel,
                              .batch = c->passed,
                              .mode = c->what->mode,
                              .total_weight = total_weight_given(c),
                              .skip_host_checks = kernel->policy == LG_POLICY_NONE};
    if (c->refusal.cause != LG_CAUSE_NONE) {
        refuse(c);
    } else {
        launch(c, &request);
    }
    if (!c->settled) {
        c->facts.run_shows = lg_judge_run(&c->facts.run, c->arena);
        observe_further(c, &request);
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

// --- expect, place ------------------------------------------------------------------------------

static void expect(running_case *c) {
    lg_expect_check(c->result, c->arena);
}

// The run that the verdict rests on: the case's own, or one of a relation.
static void place(running_case *c) {
    const lg_relation_fact *relation = &c->facts.relation;
    bool other = relation->broken && relation->run.observation;
    lg_case_place(c->device, other ? relation->run.observation : &c->result->observation, c->passed,
                  c->result, c->arena);
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
                     const lg_point_data *data, const lg_column_failure *column_failure,
                     const char *repro_prefix, lg_case_run *out, lg_diags *diags) {
    int64_t begun = now_ns();
    *out = (lg_case_run){.result = {.what = what, .repro = lg_case_repro(what, repro_prefix)}};
    running_case c = {.device = device,
                      .what = what,
                      .named = named,
                      .column_failure = column_failure,
                      .data = data,
                      .arena = &out->arena,
                      .run = out,
                      .result = &out->result,
                      .diags = diags};
    prepare(&c);
    observe(&c);
    judge(&c);
    attribute(&c);
    expect(&c);
    place(&c);
    release(&c);
    out->result.elapsed_ns = now_ns() - begun;
}

void lg_case_run_free(lg_case_run *run) {
    lg_case_result_free(&run->result);
    lg_arena_free(&run->arena);
    *run = (lg_case_run){0};
}
