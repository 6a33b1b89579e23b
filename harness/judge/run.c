// SPDX-License-Identifier: Apache-2.0
// The verdict on one run, by itself.
#include "judge/internal.h"
#include "support/alloc.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>

typedef struct judging {
    const lg_batch *batch;
    const lg_reference *reference; // NULL: refused, there is none
    const lg_kernel *kernel;
    const lg_observation *seen;
    lg_arena *arena;
    lg_comparison compared;
} judging;

static lg_judgement conclude(const judging *j, lg_verdict verdict, lg_detector detected_by,
                             lg_reason reason, lg_arg_id output, const char *format, ...)
    __attribute__((format(printf, 6, 7)));

// `output`: that the reason concerns, or LG_N_ARGS. `format` NULL: no text.
static lg_judgement conclude(const judging *j, lg_verdict verdict, lg_detector detected_by,
                             lg_reason reason, lg_arg_id output, const char *format, ...) {
    lg_judgement judgement = {.verdict = verdict,
                              .detected_by = detected_by,
                              .reason = reason,
                              .output = output,
                              .max_error_share = j->compared.max_share};
    if (format) {
        va_list args;
        va_start(args, format);
        char *text = lg_xvasprintf(format, args);
        va_end(args);
        judgement.text = lg_arena_strdup(j->arena, text);
        free(text);
    }
    return judgement;
}

// By the first example of a kind of deviation.
static lg_judgement conclude_off(const judging *j, lg_verdict verdict, lg_detector detected_by,
                                 lg_reason reason, const lg_deviation *deviation,
                                 const char *text) {
    lg_judgement judgement =
        conclude(j, verdict, detected_by, reason, deviation->output, "%s", text);
    judgement.got = deviation->got;
    judgement.want = deviation->want;
    return judgement;
}

// Of a check: it found nothing, and the next one decides.
static lg_judgement nothing_wrong(const judging *j) {
    return conclude(j, LG_UNTESTED, LG_DETECTOR_NONE, LG_REASON_NONE, LG_N_ARGS, NULL);
}

// What ends a run badly, of a valid batch and of an invalid one; nothing_wrong otherwise.
static lg_judgement judge_ending(const judging *j) {
    const lg_observation *seen = j->seen;
    if (seen->barrier.text && seen->status != LG_STATUS_OK) {
        return conclude(j, seen->status == LG_STATUS_TIMEOUT ? LG_HANG : LG_CRASH, LG_DETECTOR_NONE,
                        LG_REASON_BARRIER, LG_N_ARGS, "%s", seen->barrier.text);
    }
    switch (seen->status) {
    case LG_STATUS_OK:
    case LG_STATUS_ASSERT:
        break;
    case LG_STATUS_ILLEGAL_ADDRESS:
    case LG_STATUS_MISALIGNED:
        return conclude(j, LG_MEMORY_FAULT, LG_DETECTOR_MEMORY_CHECK, LG_REASON_BAD_ACCESS,
                        LG_N_ARGS, "%s", lg_memory_text(j->seen, j->arena));
    case LG_STATUS_TIMEOUT:
        return conclude(j, LG_HANG, LG_DETECTOR_NONE, LG_REASON_BUDGET_SPENT, LG_N_ARGS,
                        "the launch did not end within its instruction budget");
    case LG_STATUS_ILLEGAL_INSTRUCTION:
    case LG_STATUS_TRAP:
    case LG_STATUS_OTHER:
        return conclude(j, LG_CRASH, LG_DETECTOR_NONE, LG_REASON_DEVICE_ERROR, LG_N_ARGS,
                        "the device reported %s",
                        seen->status_text ? seen->status_text : "an error");
    }
    if (seen->status != LG_STATUS_ASSERT && seen->memory.present) {
        return conclude(j, LG_MEMORY_FAULT, LG_DETECTOR_MEMORY_CHECK, LG_REASON_BAD_ACCESS,
                        LG_N_ARGS, "%s", lg_memory_text(j->seen, j->arena));
    }
    if (j->compared.broken_fence) {
        return conclude(j, LG_MEMORY_FAULT, LG_DETECTOR_MEMORY_CHECK, LG_REASON_BROKEN_FENCE,
                        j->compared.broken_fence->arg, "the fence around `%s` was overwritten",
                        lg_arg_name(j->compared.broken_fence->arg));
    }
    return nothing_wrong(j);
}

// What a run that ended well may have wrong, whatever the batch; nothing_wrong otherwise.
static lg_judgement judge_outputs(const judging *j) {
    const lg_comparison *c = &j->compared;
    if (c->missing != LG_N_ARGS) {
        return conclude(j, LG_UNTESTED, LG_DETECTOR_NONE, LG_REASON_NO_OUTPUT, c->missing,
                        "`%s` could not be read back", lg_arg_name(c->missing));
    }
    if (c->wrong_length != LG_N_ARGS) {
        return conclude(j, LG_UNTESTED, LG_DETECTOR_NONE, LG_REASON_OUTPUT_LENGTH, c->wrong_length,
                        "`%s` has not as many elements as the reference",
                        lg_arg_name(c->wrong_length));
    }
    if (c->unwritten) {
        return conclude(
            j, LG_UNWRITTEN, LG_DETECTOR_REFERENCE, LG_REASON_UNWRITTEN, c->unwritten->arg,
            "%" PRId64 " of %" PRId64 " elements of `%s` were never written, the first is %" PRId64,
            c->unwritten->n_unwritten, c->unwritten->n, lg_arg_name(c->unwritten->arg),
            c->unwritten->first_unwritten);
    }
    if (j->seen->input_written) {
        return conclude(j, LG_WRONG_RESULT, LG_DETECTOR_MEMORY_CHECK, LG_REASON_INPUT_WRITTEN,
                        LG_N_ARGS, "%s", j->seen->input_written);
    }
    if (j->seen->mode_failure) {
        lg_verdict verdict = j->seen->mode_failure_is_hang ? LG_HANG : LG_WRONG_RESULT;
        return conclude(j, verdict, LG_DETECTOR_REFERENCE, LG_REASON_MODE_FAILURE, LG_N_ARGS, "%s",
                        j->seen->mode_failure);
    }
    if (j->seen->barrier.text) {
        return conclude(j, LG_WRONG_RESULT, LG_DETECTOR_MEMORY_CHECK, LG_REASON_BARRIER, LG_N_ARGS,
                        "%s", j->seen->barrier.text);
    }
    if (j->seen->race) {
        return conclude(j, LG_WRONG_RESULT, LG_DETECTOR_MEMORY_CHECK, LG_REASON_RACE, LG_N_ARGS,
                        "%s", j->seen->race);
    }
    return nothing_wrong(j);
}

static lg_judgement judge_valid(const judging *j) {
    const lg_observation *seen = j->seen;
    const lg_comparison *c = &j->compared;
    if (seen->status == LG_STATUS_ASSERT || seen->n_asserts > 0) {
        return conclude(j, LG_FALSE_ALARM, LG_DETECTOR_DEVICE_ASSERT, LG_REASON_FALSE_ASSERT,
                        LG_N_ARGS, "%s", lg_assert_text(j->seen, j->arena));
    }
    if (seen->n_records > 0 || seen->n_records_dropped > 0) {
        const char *text = "fault records were written and dropped";
        if (seen->n_records > 0) {
            text = lg_arena_printf(
                j->arena, "a fault record accuses row %" PRId64 " (value %s), which is valid",
                seen->records[0].row, lg_record_value_text(j->batch, &seen->records[0], j->arena));
        }
        return conclude(j, LG_FALSE_ALARM, LG_DETECTOR_FAULT_RECORD, LG_REASON_FALSE_RECORD,
                        LG_N_ARGS, "%s", text);
    }
    lg_judgement outputs = judge_outputs(j);
    if (outputs.reason != LG_REASON_NONE) {
        return outputs;
    }
    if (c->lost.n > 0 && j->kernel->policy == LG_POLICY_NAN) {
        return conclude_off(j, LG_FALSE_ALARM, LG_DETECTOR_NAN, LG_REASON_LOST_NUMBER, &c->lost,
                            lg_deviation_text(&c->lost, "NaN for a valid batch", j->arena));
    }
    if (c->lost.n > 0) {
        return conclude_off(j, LG_WRONG_RESULT, LG_DETECTOR_REFERENCE, LG_REASON_LOST_NUMBER,
                            &c->lost, lg_deviation_text(&c->lost, "NaN", j->arena));
    }
    if (c->made_up.n > 0) {
        return conclude_off(
            j, LG_WRONG_RESULT, LG_DETECTOR_REFERENCE, LG_REASON_MADE_UP_NUMBER, &c->made_up,
            lg_deviation_text(&c->made_up, "a number where NaN is right", j->arena));
    }
    lg_broken_invariant broken;
    if (lg_invariants_check(j->batch, j->reference, seen, j->arena, &broken)) {
        return conclude(j, LG_WRONG_RESULT, LG_DETECTOR_INVARIANT, LG_REASON_INVARIANT,
                        broken.output, "%s", broken.text);
    }
    if (c->off.n > 0) {
        return conclude_off(
            j, LG_WRONG_RESULT, LG_DETECTOR_REFERENCE, LG_REASON_WRONG_NUMBER, &c->off,
            lg_arena_printf(j->arena, "%s, bound %.3g",
                            lg_deviation_text(&c->off, "wrong number", j->arena), c->off.bound));
    }
    if (c->n_compared == 0) {
        // An empty batch without a reduction has nothing to compare; anything else proves nothing.
        bool empty = j->reference && j->reference->n_loss == 0;
        return conclude(j, empty ? LG_PASS : LG_UNTESTED, LG_DETECTOR_NONE,
                        empty ? LG_REASON_NONE : LG_REASON_NOTHING_COMPARED, LG_N_ARGS,
                        empty ? NULL : "no output was compared");
    }
    return conclude(j, LG_PASS, LG_DETECTOR_NONE, LG_REASON_NONE, LG_N_ARGS, NULL);
}

// An invalid batch whose outputs came back: NaN in the invalid rows and only there is what the
// policies `report` and `nan` promise, and what an unchecked kernel may do by the arithmetic alone.
static lg_judgement judge_invalid_outputs(const judging *j, lg_detector signal) {
    const lg_comparison *c = &j->compared;
    if (c->made_up.n > 0) {
        return conclude_off(
            j, LG_SILENT_CORRUPTION, LG_DETECTOR_NONE, LG_REASON_MADE_UP_NUMBER, &c->made_up,
            lg_deviation_text(&c->made_up,
                              signal != LG_DETECTOR_NONE ? "signalled, and yet a number"
                                                         : "no signal, and a number",
                              j->arena));
    }
    lg_judgement outputs = judge_outputs(j);
    if (outputs.reason != LG_REASON_NONE) {
        return outputs;
    }
    if (c->lost.n > 0) {
        return conclude_off(
            j, LG_FALSE_ALARM, LG_DETECTOR_NAN, LG_REASON_LOST_NUMBER, &c->lost,
            lg_deviation_text(&c->lost, "NaN in a valid row beside invalid ones", j->arena));
    }
    if (c->off.n > 0) {
        return conclude_off(j, LG_WRONG_RESULT, LG_DETECTOR_REFERENCE, LG_REASON_WRONG_NUMBER,
                            &c->off,
                            lg_deviation_text(&c->off, "wrong number in a valid row", j->arena));
    }
    if (c->n_compared == 0) {
        return conclude(j, LG_UNTESTED, LG_DETECTOR_NONE, LG_REASON_NOTHING_COMPARED, LG_N_ARGS,
                        "no output was compared");
    }
    return conclude(j, LG_DETECTED, signal != LG_DETECTOR_NONE ? signal : LG_DETECTOR_NAN,
                    LG_REASON_NONE, LG_N_ARGS, NULL);
}

static lg_judgement judge_invalid_assert(const judging *j) {
    lg_judgement outputs = judge_invalid_outputs(j, LG_DETECTOR_NONE);
    if (outputs.verdict != LG_DETECTED) {
        return outputs;
    }
    // The number is NaN, but the promised assert never came.
    return conclude(j, LG_SILENT_CORRUPTION, LG_DETECTOR_NONE, LG_REASON_NO_ASSERT, LG_N_ARGS,
                    "no device assert; the loss is NaN, which this policy does not promise");
}

static lg_judgement judge_invalid_report(const judging *j) {
    if (!j->reference) {
        return judge_invalid_outputs(j, LG_DETECTOR_NONE);
    }
    const char *why = NULL;
    switch (lg_records_check(j->batch, j->reference, j->kernel, j->seen, j->arena, &why)) {
    case LG_RECORDS_EXACT:
        return judge_invalid_outputs(j, LG_DETECTOR_FAULT_RECORD);
    case LG_RECORDS_ABSENT:
    case LG_RECORDS_MISSING: {
        lg_judgement outputs = judge_invalid_outputs(j, LG_DETECTOR_NONE);
        if (outputs.verdict != LG_DETECTED) {
            return outputs;
        }
        return conclude(j, LG_SILENT_CORRUPTION, LG_DETECTOR_NONE, LG_REASON_NO_RECORD, LG_N_ARGS,
                        "%s", why);
    }
    case LG_RECORDS_VALID_ROW:
        return conclude(j, LG_FALSE_ALARM, LG_DETECTOR_FAULT_RECORD, LG_REASON_FALSE_RECORD,
                        LG_N_ARGS, "%s", why);
    case LG_RECORDS_WRONG:
        return conclude(j, LG_WRONG_RESULT, LG_DETECTOR_FAULT_RECORD, LG_REASON_WRONG_RECORD,
                        LG_N_ARGS, "%s", why);
    }
    return nothing_wrong(j);
}

// The forward launch returned its loss, and only the gradient's launch signalled: too late for
// whoever read the loss.
static bool is_late(const judging *j) {
    const lg_stage *failed = lg_observation_failed_stage(j->seen, j->kernel);
    return failed && failed->direction == LG_BACKWARD && (j->batch->loss.direction & LG_FORWARD);
}

static lg_judgement judge_invalid(const judging *j) {
    const lg_observation *seen = j->seen;
    if (seen->status == LG_STATUS_ASSERT) {
        bool as_promised =
            j->kernel->policy == LG_POLICY_ASSERT || j->kernel->policy == LG_POLICY_NONE;
        if (seen->n_asserts_kept > 0 && as_promised && is_late(j)) {
            return conclude(j, LG_SILENT_CORRUPTION, LG_DETECTOR_NONE, LG_REASON_LATE_SIGNAL,
                            LG_ARG_OUTPUT,
                            "the forward launch gave no signal, only the backward "
                            "one: %s",
                            lg_assert_text(j->seen, j->arena));
        }
        if (seen->n_asserts_kept > 0 && as_promised) {
            return conclude(j, LG_DETECTED, LG_DETECTOR_DEVICE_ASSERT, LG_REASON_NONE, LG_N_ARGS,
                            NULL);
        }
        return conclude(j, LG_CRASH, LG_DETECTOR_NONE, LG_REASON_OTHER_SIGNAL, LG_N_ARGS, "%s",
                        seen->n_asserts_kept > 0
                            ? lg_arena_printf(j->arena, "%s, where the policy promises %s",
                                              lg_assert_text(j->seen, j->arena),
                                              lg_policy_name(j->kernel->policy))
                            : lg_assert_text(j->seen, j->arena));
    }
    switch (j->kernel->policy) {
    case LG_POLICY_ASSERT:
        return judge_invalid_assert(j);
    case LG_POLICY_REPORT:
        return judge_invalid_report(j);
    case LG_POLICY_NAN:
    case LG_POLICY_NONE:
        return judge_invalid_outputs(j, LG_DETECTOR_NONE);
    case LG_POLICY_UNSET:
    case LG_N_POLICIES:
        break;
    }
    return conclude(j, LG_UNTESTED, LG_DETECTOR_NONE, LG_REASON_NO_POLICY, LG_N_ARGS,
                    "the kernel has no policy");
}

static lg_judgement judge_run(judging *j, const lg_run_facts *run) {
    bool refused = run->refusal && run->refusal->cause != LG_CAUSE_NONE;
    bool invalid = refused || (run->reference && run->reference->n_invalid > 0);
    if (j->seen->refused_on_host && refused) {
        const char *text = run->refusal->text ? run->refusal->text : "refused";
        return conclude(j, LG_DETECTED, LG_DETECTOR_HOST_CHECK, LG_REASON_REFUSED, LG_N_ARGS, "%s",
                        text);
    }
    if (j->seen->refused_on_host) {
        return conclude(j, LG_FALSE_ALARM, LG_DETECTOR_HOST_CHECK, LG_REASON_REFUSED, LG_N_ARGS,
                        "a host check refused a batch that is valid");
    }
    if (!invalid && !run->reference) {
        return conclude(j, LG_UNTESTED, LG_DETECTOR_NONE, LG_REASON_NO_REFERENCE, LG_N_ARGS,
                        "there is no reference to compare with");
    }
    if (j->seen->status == LG_STATUS_OK) {
        lg_compare_outputs(j->batch, j->reference, j->kernel, j->seen, invalid, &j->compared);
    }
    lg_judgement ending = judge_ending(j);
    if (ending.reason != LG_REASON_NONE) {
        return ending;
    }
    return invalid ? judge_invalid(j) : judge_valid(j);
}

lg_judgement lg_judge_run(const lg_run_facts *run, lg_arena *arena) {
    judging j = {.batch = run->batch,
                 .reference = run->reference,
                 .kernel = run->kernel,
                 .seen = run->observation,
                 .arena = arena,
                 .compared = {.max_share = NAN}};
    lg_judgement judgement = judge_run(&j, run);
    // A batch that breaks a contract of the caller makes a wrong number no fault of the kernel, and
    // what a host check refuses never comes to the kernel.
    bool valid = run->reference && run->reference->n_invalid == 0 && !j.seen->refused_on_host;
    judgement.kernel_fault =
        valid && judgement.verdict != LG_PASS && judgement.verdict != LG_UNTESTED;
    return judgement;
}
