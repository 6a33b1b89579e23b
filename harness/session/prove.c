// SPDX-License-Identifier: Apache-2.0
#include "session/internal.h"

typedef struct prover {
    lg_device_session *device;
    const lg_kernel *kernel;
    lg_mode mode;
    // The backward pass is launched without the forward one and given its total weight: an assert
    // of the forward pass would hide a guard that is gone behind it.
    bool backward_alone;
    lg_arena *arena;
    lg_diags *diags;
} prover;

// Judges against a reference made wrong on purpose: what must then not pass.
static void tamper(lg_reference *reference, int64_t n_gradients) {
    for (int64_t i = 0; i < reference->n_loss; i++) {
        reference->loss[i] = reference->loss[i] * 1.5 + 1;
    }
    for (int64_t i = 0; reference->grad_input && i < n_gradients; i++) {
        reference->grad_input[i] = reference->grad_input[i] * 1.5 + 1;
    }
}

static void keep_evidence(const prover *p, const lg_observation *seen, lg_trial *t) {
    const lg_memory_finding *memory = &seen->memory;
    t->status = seen->status;
    t->signalled = seen->status == LG_STATUS_ASSERT || seen->status == LG_STATUS_TRAP ||
                   seen->n_asserts > 0 || seen->n_records > 0 || seen->n_records_dropped > 0;
    if (seen->n_asserts_kept > 0) {
        const lg_assert_line *line = &seen->asserts[0];
        t->guard =
            lg_arena_printf(p->arena, "`%s` at %s:%d", line->expression, line->file, line->line);
    }
    if (memory->present && memory->file) {
        t->load =
            lg_arena_printf(p->arena, "`%s` at %s:%d", memory->buffer ? memory->buffer : "a buffer",
                            memory->file, memory->line);
    }
}

static void judge_trial(const prover *p, const lg_batch *batch, lg_reference *reference,
                        lg_trial *t) {
    lg_run_request request = {.kernel = p->kernel,
                              .batch = batch,
                              .mode = p->mode,
                              .total_weight = p->backward_alone ? &reference->total_weight : NULL,
                              .skip_host_checks = true};
    lg_observation seen;
    t->ran = lg_device_run(p->device, &request, &seen, p->diags);
    t->invalid = reference->n_invalid > 0;
    if (t->ran) {
        lg_run_facts run = {
            .batch = batch, .reference = reference, .kernel = p->kernel, .observation = &seen};
        t->judgement = lg_judge_run(&run, p->arena);
        keep_evidence(p, &seen, t);
        if (t->judgement.verdict == LG_PASS) {
            tamper(reference, lg_tensor_numel(&batch->input));
            lg_judgement lie = lg_judge_run(&run, p->arena);
            t->lie_accepted = lie.verdict != LG_WRONG_RESULT;
        }
    }
    lg_observation_free(&seen);
}

static lg_trial run_trial(const prover *p, lg_proof_fault fault, lg_direction direction) {
    lg_trial t = {0};
    lg_batch batch;
    if (!lg_proof_applies(p->kernel, fault) ||
        !lg_proof_batch(p->kernel, fault, direction, &batch)) {
        return t;
    }
    t.unsuited = lg_device_unsuitable(p->kernel, &batch, p->mode, p->arena);
    lg_reference reference = {0};
    bool backward = batch.loss.direction & LG_BACKWARD;
    if (!t.unsuited && lg_reference_compute(&batch, backward, &reference)) {
        judge_trial(p, &batch, &reference, &t);
    }
    lg_reference_free(&reference);
    lg_batch_free(&batch);
    return t;
}

static bool is_caught(lg_policy policy, const lg_judgement *judgement) {
    if (policy != LG_POLICY_NONE) {
        return judgement->verdict == LG_DETECTED;
    }
    // Unchecked: the harness itself must see what got through.
    return judgement->verdict == LG_SILENT_CORRUPTION || judgement->verdict == LG_MEMORY_FAULT ||
           (judgement->verdict == LG_DETECTED && judgement->detected_by == LG_DETECTOR_NAN);
}

// The output at which a trial failed: without one of its own, the first that the direction writes.
static lg_arg_id output_of(const lg_trial *t, lg_direction direction) {
    lg_arg_id first = direction == LG_BACKWARD ? LG_ARG_GRAD_INPUT : LG_ARG_OUTPUT;
    return t->judgement.output != LG_N_ARGS ? t->judgement.output : first;
}

static bool is_clean(const prover *p, lg_direction direction, const lg_trial *t,
                     lg_column_failure *why) {
    if (!t->ran) {
        why->text = "the built-in clean batch could not be run";
    } else if (t->judgement.verdict != LG_PASS) {
        const char *reason = t->judgement.text;
        why->text = lg_arena_printf(p->arena, "the built-in clean batch%s gave %s%s%s",
                                    direction == LG_BACKWARD ? " (backward)" : "",
                                    lg_verdict_name(t->judgement.verdict), reason ? ": " : "",
                                    reason ? reason : "");
        why->output = output_of(t, direction);
    } else if (t->lie_accepted) {
        why->text = "a reference made wrong on purpose was accepted";
    }
    return why->text == NULL;
}

// Which value a guard misses does not hang on how the work is submitted: one bad batch of each kind
// is run in the mode itself, the others where a run costs least.
static lg_trial run_bad(const prover *p, lg_proof_fault fault, lg_direction direction) {
    static const bool in_mode[LG_N_PROOF_FAULTS] = {[LG_PROOF_AT_WIDTH] = true,
                                                    [LG_PROOF_SEVERAL] = true,
                                                    [LG_PROOF_TARGET_ABOVE] = true,
                                                    [LG_PROOF_INPUT_ABOVE] = true};
    prover cheap = *p;
    cheap.mode = in_mode[fault] ? p->mode : LG_MODE_BLOCKING;
    return run_trial(&cheap, fault, direction);
}

static bool prove_bad(const prover *p, lg_direction direction, lg_column_failure *why) {
    lg_trials trials = {.kernel = p->kernel, .direction = direction};
    lg_proof_fault missed = LG_PROOF_CLEAN;
    for (int f = LG_PROOF_CLEAN + 1; f < LG_N_PROOF_FAULTS; f++) {
        if (!lg_proof_applies(p->kernel, (lg_proof_fault)f)) {
            continue;
        }
        lg_trial *t = &trials.of[f];
        *t = run_bad(p, (lg_proof_fault)f, direction);
        t->caught = t->ran && is_caught(p->kernel->policy, &t->judgement);
        if (!t->ran) {
            why->text = "a built-in bad batch could not be run";
        } else if (t->invalid && !t->caught && missed == LG_PROOF_CLEAN) {
            missed = (lg_proof_fault)f;
        }
    }
    if (missed != LG_PROOF_CLEAN) {
        why->text = lg_proof_failure_text(&trials, missed, p->arena);
        why->output = output_of(&trials.of[missed], direction);
    }
    return why->text == NULL;
}

// Each direction has a guard of its own, and is proved by itself.
static bool prove_direction(const prover *asked, lg_direction direction, lg_column_failure *why) {
    prover p = *asked;
    p.backward_alone = direction == LG_BACKWARD;
    lg_trial clean = run_trial(&p, LG_PROOF_CLEAN, direction);
    if (clean.unsuited) { // one direction may have nothing that the mode could vary
        p.mode = LG_MODE_BLOCKING;
        clean = run_trial(&p, LG_PROOF_CLEAN, direction);
    }
    if (p.backward_alone && clean.ran && clean.judgement.verdict != LG_PASS) {
        // It reads more of the forward pass than the total weight.
        p.backward_alone = false;
        clean = run_trial(&p, LG_PROOF_CLEAN, direction);
    }
    return is_clean(&p, direction, &clean, why) && prove_bad(&p, direction, why);
}

lg_proof lg_prove_column(lg_device_session *device, const lg_kernel *kernel, lg_mode mode,
                         lg_arena *arena, lg_column_failure *why, lg_diags *diags) {
    prover p = {.device = device, .kernel = kernel, .mode = mode, .arena = arena, .diags = diags};
    *why = (lg_column_failure){.output = LG_N_ARGS};
    if (mode == LG_MODE_POISONED) {
        p.mode = LG_MODE_ASYNC; // the batch that ends the context must do so, unwaited for
    }
    lg_direction directions = lg_kernel_directions(kernel);
    lg_trial clean = run_trial(&p, LG_PROOF_CLEAN, directions);
    if (clean.unsuited) {
        why->text = clean.unsuited;
        return LG_PROOF_INAPPLICABLE;
    }
    bool proven = is_clean(&p, directions, &clean, why);
    for (int d = LG_FORWARD; d <= LG_BACKWARD && proven; d++) {
        proven = !(directions & d) || prove_direction(&p, (lg_direction)d, why);
    }
    return proven ? LG_PROOF_PROVEN : LG_PROOF_FAILED;
}
