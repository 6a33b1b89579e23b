// SPDX-License-Identifier: Apache-2.0
#include "pipeline/prove.h"

#include "pipeline/judge.h"
#include "pipeline/prove_batch.h"

#include <string.h>

typedef struct prover {
    lg_device_session *device;
    const lg_kernel *kernel;
    lg_mode mode;
    lg_arena *arena;
    lg_diags *diags;
} prover;

// One proof batch run and judged. The observation is the caller's to free.
typedef struct trial {
    bool ran;             // false: there is no such batch, or lossgate failed (diags)
    bool invalid;         // the reference says the batch is invalid
    const char *unsuited; // the kernel or mode cannot take it
    lg_judgement judgement;
    lg_observation seen;
} trial;

static void trial_free(trial *t) {
    lg_observation_free(&t->seen);
}

// Judges against a reference made wrong on purpose: what must then not pass.
static void tamper(lg_reference *reference, int64_t n_gradients) {
    for (int64_t i = 0; i < reference->n_loss; i++) {
        reference->loss[i] = reference->loss[i] * 1.5 + 1;
    }
    for (int64_t i = 0; reference->grad_input && i < n_gradients; i++) {
        reference->grad_input[i] = reference->grad_input[i] * 1.5 + 1;
    }
}

static trial run_trial(const prover *p, lg_proof_fault fault, lg_direction direction,
                       bool tampered) {
    trial t = {0};
    lg_batch batch;
    if (!lg_proof_batch(p->kernel, fault, direction, &batch)) {
        return t;
    }
    t.unsuited = lg_device_unsuitable(p->kernel, &batch, p->mode, p->arena);
    lg_reference reference = {0};
    bool backward = batch.loss.direction & LG_BACKWARD;
    if (!t.unsuited && lg_reference_compute(&batch, backward, &reference)) {
        if (tampered) {
            tamper(&reference, lg_tensor_numel(&batch.input));
        }
        lg_run_request request = {
            .kernel = p->kernel, .batch = &batch, .mode = p->mode, .skip_host_checks = true};
        t.ran = lg_device_run(p->device, &request, &t.seen, p->diags);
        t.invalid = reference.n_invalid > 0;
        if (t.ran) {
            t.judgement = lg_judge(&batch, &reference, NULL, p->kernel, &t.seen, p->arena);
        }
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
           (judgement->verdict == LG_DETECTED && judgement->detected_by &&
            strcmp(judgement->detected_by, "nan") == 0);
}

static const char *told(const prover *p, const trial *t) {
    const char *reason = t->judgement.reason;
    return lg_arena_printf(p->arena, "%s%s%s", lg_verdict_name(t->judgement.verdict),
                           reason ? ": " : "", reason ? reason : "");
}

// Where a broken guard stands: a label it still catches shows its assert line; a label that reads
// past the buffer shows the line of the unguarded load.
static const char *locate_guard(const prover *p, lg_direction direction) {
    const lg_proof_fault probes[] = {LG_PROOF_NEGATIVE, LG_PROOF_FAR, LG_PROOF_AT_WIDTH_LAST};
    const char *const labels[] = {"-1", "C+100", "C in the last row"};
    const char *guard = NULL;
    const char *load = NULL;
    bool all_silent = true;
    for (int i = 0; i < 3 && !guard; i++) {
        trial t = run_trial(p, probes[i], direction, false);
        const lg_memory_finding *memory = &t.seen.memory;
        if (t.ran && t.judgement.verdict == LG_DETECTED) {
            all_silent = false;
            if (t.seen.n_asserts_kept > 0) {
                const lg_assert_line *line = &t.seen.asserts[0];
                guard = lg_arena_printf(p->arena, "the guard `%s` at %s:%d does catch label %s",
                                        line->expression, line->file, line->line, labels[i]);
            }
        }
        if (t.ran && !load && memory->present && memory->file) {
            load = lg_arena_printf(p->arena, "label %s reads past `%s` at %s:%d", labels[i],
                                   memory->buffer ? memory->buffer : "a buffer", memory->file,
                                   memory->line);
        }
        trial_free(&t);
    }
    if (all_silent) {
        return lg_arena_printf(
            p->arena, "%s%s%s",
            p->kernel->policy == LG_POLICY_ASSERT
                ? "this build detects nothing: its asserts are compiled out or never reached"
                : "this build detects nothing: no bad label is signalled",
            load ? "; " : "", load ? load : "");
    }
    return guard ? guard : load ? load : "other bad labels are caught: its bound is off by one";
}

static lg_proof prove_bad(const prover *asked, lg_direction direction, const char **why) {
    trial bad = run_trial(asked, LG_PROOF_AT_WIDTH, direction, false);
    prover plain = *asked;
    if (bad.unsuited) { // one direction of a kernel may have nothing that the mode could vary
        trial_free(&bad);
        plain.mode = LG_MODE_BLOCKING;
        bad = run_trial(&plain, LG_PROOF_AT_WIDTH, direction, false);
    }
    const prover *p = &plain;
    lg_proof proof = LG_PROOF_FAILED;
    if (bad.unsuited) {
        proof = LG_PROOF_INAPPLICABLE; // the mode has nothing to vary in this direction alone
    } else if (!bad.ran) {
        *why = "the built-in bad batch could not be run";
    } else if (!bad.invalid) {
        // This family refuses no value on the device; then the comparison itself must catch a lie.
        trial lie = run_trial(p, LG_PROOF_CLEAN, direction, true);
        bool caught = lie.ran && lie.judgement.verdict == LG_WRONG_RESULT;
        *why = caught ? NULL : "a reference made wrong on purpose was accepted";
        proof = caught ? LG_PROOF_PROVEN : LG_PROOF_FAILED;
        trial_free(&lie);
    } else if (is_caught(p->kernel->policy, &bad.judgement)) {
        proof = LG_PROOF_PROVEN;
    } else {
        const char *what = p->kernel->family == LG_BCE ? "probability 1.5" : "label C";
        *why = lg_arena_printf(p->arena, "the built-in bad batch (%s in one row, %s) gave %s; %s",
                               what, direction == LG_BACKWARD ? "backward" : "forward",
                               told(p, &bad), locate_guard(p, direction));
    }
    trial_free(&bad);
    return proof;
}

lg_proof lg_prove_column(lg_device_session *device, const lg_kernel *kernel, lg_mode mode,
                         lg_arena *arena, const char **why, lg_diags *diags) {
    prover p = {.device = device, .kernel = kernel, .mode = mode, .arena = arena, .diags = diags};
    *why = NULL;
    if (mode == LG_MODE_POISONED) {
        p.mode = LG_MODE_ASYNC; // the batch that ends the context must do so, unwaited for
    }
    lg_direction directions = lg_proof_directions(kernel);
    trial clean = run_trial(&p, LG_PROOF_CLEAN, directions, false);
    lg_proof proof = LG_PROOF_FAILED;
    if (clean.unsuited) {
        *why = clean.unsuited;
        proof = LG_PROOF_INAPPLICABLE;
    } else if (!clean.ran) {
        *why = "the built-in clean batch could not be run";
    } else if (clean.judgement.verdict != LG_PASS) {
        *why = lg_arena_printf(arena, "the built-in clean batch gave %s", told(&p, &clean));
    } else {
        // Each direction has a guard of its own, and the first assert would hide the second.
        proof = LG_PROOF_INAPPLICABLE;
        for (int d = LG_FORWARD; d <= LG_BACKWARD && proof != LG_PROOF_FAILED; d++) {
            lg_proof one =
                directions & d ? prove_bad(&p, (lg_direction)d, why) : LG_PROOF_INAPPLICABLE;
            proof = one == LG_PROOF_INAPPLICABLE ? proof : one;
        }
        if (proof == LG_PROOF_INAPPLICABLE) {
            proof = prove_bad(&p, directions, why);
        }
    }
    trial_free(&clean);
    return proof;
}
