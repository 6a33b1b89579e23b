// SPDX-License-Identifier: Apache-2.0
#include "judge/judge.h"

#include "judge/internal.h"
#include "support/plain.h"
#include "support/str.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct judging {
    const lg_batch *batch;
    const lg_reference *reference; // NULL: refused, there is none
    const lg_kernel *kernel;
    const lg_observation *seen;
    lg_arena *arena;
    lg_comparison compared;
} judging;

static lg_judgement conclude(const judging *j, lg_verdict verdict, lg_detector detected_by,
                             lg_reason reason, const char *text) {
    return (lg_judgement){.verdict = verdict,
                          .detected_by = detected_by,
                          .reason = reason,
                          .output = LG_N_ARGS,
                          .text = text,
                          .max_error_share = j->compared.max_share};
}

static lg_judgement conclude_on(const judging *j, lg_verdict verdict, lg_detector detected_by,
                                lg_reason reason, lg_arg_id output, const char *text) {
    lg_judgement judgement = conclude(j, verdict, detected_by, reason, text);
    judgement.output = output;
    return judgement;
}

// By the first example of a kind of deviation.
static lg_judgement conclude_off(const judging *j, lg_verdict verdict, lg_detector detected_by,
                                 lg_reason reason, const lg_deviation *deviation,
                                 const char *text) {
    lg_judgement judgement = conclude_on(j, verdict, detected_by, reason, deviation->output, text);
    judgement.got = deviation->got;
    judgement.want = deviation->want;
    return judgement;
}

// Of a check: it found nothing, and the next one decides.
static lg_judgement nothing_wrong(const judging *j) {
    return conclude(j, LG_UNTESTED, LG_DETECTOR_NONE, LG_REASON_NONE, NULL);
}

static const char *rows_text(const judging *j, const lg_deviation *deviation) {
    lg_str text = {0};
    for (int64_t i = 0; i < deviation->n_rows && i < 8; i++) {
        lg_str_printf(&text, " %" PRId64, deviation->rows[i]);
    }
    if (deviation->n_rows > 8) {
        lg_str_add(&text, " …");
    }
    const char *kept = lg_arena_strdup(j->arena, lg_str_text(&text));
    lg_str_free(&text);
    return kept;
}

// "output rows 3 7 …: got 0.52, not NaN"
static const char *deviation_text(const judging *j, const lg_deviation *d, const char *what) {
    if (d->n_rows > 0) {
        return lg_arena_printf(j->arena, "%s: %s row%s%s (got %.9g, right is %.9g)", what,
                               lg_arg_name(d->output), d->n_rows > 1 ? "s" : "", rows_text(j, d),
                               lg_plain(d->got), lg_plain(d->want));
    }
    return lg_arena_printf(j->arena, "%s: %s is %.9g, right is %.9g", what, lg_arg_name(d->output),
                           lg_plain(d->got), lg_plain(d->want));
}

static const char *assert_text(const judging *j) {
    const lg_observation *seen = j->seen;
    if (seen->n_asserts_kept == 0) {
        return "the device asserted and printed no line";
    }
    const lg_assert_line *line = &seen->asserts[0];
    return lg_arena_printf(j->arena, "device assert `%s` at %s:%d", line->expression, line->file,
                           line->line);
}

static const char *memory_text(const judging *j) {
    const lg_memory_finding *m = &j->seen->memory;
    const char *status = j->seen->status_text ? j->seen->status_text : "illegal address";
    if (!m->present) {
        return lg_arena_printf(j->arena, "the device reported %s", status);
    }
    lg_str text = {0};
    lg_str_printf(&text, "%s of %" PRId64 " bytes", lg_device_fault_name(m->kind, m->write),
                  m->bytes);
    if (m->buffer && m->distance != 0) {
        lg_str_printf(&text,
                      m->distance > 0 ? ", byte %" PRId64 " past the end of `%s`"
                                      : ", %" PRId64 " bytes before `%s`",
                      (int64_t)llabs(m->distance), m->buffer);
    }
    if (m->buffer && m->distance == 0 && m->kind == LG_DEVICE_FAULT_OUT_OF_BOUNDS) {
        lg_str_printf(&text, ", between the elements of `%s`", m->buffer);
    }
    if (m->null_arguments) {
        lg_str_printf(&text, ", byte %" PRIu64 " of %s, which the call leaves out", m->address,
                      m->null_arguments);
    }
    if (m->file) {
        lg_str_printf(&text, ", at %s:%d", m->file, m->line);
    }
    const char *kept = lg_arena_strdup(j->arena, lg_str_text(&text));
    lg_str_free(&text);
    return kept;
}

// What ends a run badly, of a valid batch and of an invalid one; nothing_wrong otherwise.
static lg_judgement judge_ending(const judging *j) {
    const lg_observation *seen = j->seen;
    if (seen->barrier.text && seen->status != LG_STATUS_OK) {
        return conclude(j, seen->status == LG_STATUS_TIMEOUT ? LG_HANG : LG_CRASH, LG_DETECTOR_NONE,
                        LG_REASON_BARRIER, lg_arena_strdup(j->arena, seen->barrier.text));
    }
    switch (seen->status) {
    case LG_STATUS_OK:
    case LG_STATUS_ASSERT:
        break;
    case LG_STATUS_ILLEGAL_ADDRESS:
    case LG_STATUS_MISALIGNED:
        return conclude(j, LG_MEMORY_FAULT, LG_DETECTOR_MEMORY_CHECK, LG_REASON_BAD_ACCESS,
                        memory_text(j));
    case LG_STATUS_TIMEOUT:
        return conclude(j, LG_HANG, LG_DETECTOR_NONE, LG_REASON_BUDGET_SPENT,
                        "the launch did not end within its instruction budget");
    case LG_STATUS_ILLEGAL_INSTRUCTION:
    case LG_STATUS_TRAP:
    case LG_STATUS_OTHER:
        return conclude(j, LG_CRASH, LG_DETECTOR_NONE, LG_REASON_DEVICE_ERROR,
                        lg_arena_printf(j->arena, "the device reported %s",
                                        seen->status_text ? seen->status_text : "an error"));
    }
    if (seen->status != LG_STATUS_ASSERT && seen->memory.present) {
        return conclude(j, LG_MEMORY_FAULT, LG_DETECTOR_MEMORY_CHECK, LG_REASON_BAD_ACCESS,
                        memory_text(j));
    }
    if (j->compared.broken_fence) {
        return conclude_on(j, LG_MEMORY_FAULT, LG_DETECTOR_MEMORY_CHECK, LG_REASON_BROKEN_FENCE,
                           j->compared.broken_fence->arg,
                           lg_arena_printf(j->arena, "the fence around `%s` was overwritten",
                                           lg_arg_name(j->compared.broken_fence->arg)));
    }
    return nothing_wrong(j);
}

// What a run that ended well may have wrong, whatever the batch; nothing_wrong otherwise.
static lg_judgement judge_outputs(const judging *j) {
    const lg_comparison *c = &j->compared;
    if (c->missing != LG_N_ARGS) {
        return conclude_on(
            j, LG_UNTESTED, LG_DETECTOR_NONE, LG_REASON_NO_OUTPUT, c->missing,
            lg_arena_printf(j->arena, "`%s` could not be read back", lg_arg_name(c->missing)));
    }
    if (c->wrong_length != LG_N_ARGS) {
        return conclude_on(
            j, LG_UNTESTED, LG_DETECTOR_NONE, LG_REASON_OUTPUT_LENGTH, c->wrong_length,
            lg_arena_printf(j->arena, "`%s` has not as many elements as the reference",
                            lg_arg_name(c->wrong_length)));
    }
    if (c->unwritten) {
        return conclude_on(
            j, LG_UNWRITTEN, LG_DETECTOR_REFERENCE, LG_REASON_UNWRITTEN, c->unwritten->arg,
            lg_arena_printf(j->arena,
                            "%" PRId64 " of %" PRId64
                            " elements of `%s` were never written, the first is %" PRId64,
                            c->unwritten->n_unwritten, c->unwritten->n,
                            lg_arg_name(c->unwritten->arg), c->unwritten->first_unwritten));
    }
    if (j->seen->input_written) {
        return conclude(j, LG_WRONG_RESULT, LG_DETECTOR_MEMORY_CHECK, LG_REASON_INPUT_WRITTEN,
                        lg_arena_strdup(j->arena, j->seen->input_written));
    }
    if (j->seen->mode_failure) {
        lg_verdict verdict = j->seen->mode_failure_is_hang ? LG_HANG : LG_WRONG_RESULT;
        return conclude(j, verdict, LG_DETECTOR_REFERENCE, LG_REASON_MODE_FAILURE,
                        lg_arena_strdup(j->arena, j->seen->mode_failure));
    }
    if (j->seen->barrier.text) {
        return conclude(j, LG_WRONG_RESULT, LG_DETECTOR_MEMORY_CHECK, LG_REASON_BARRIER,
                        lg_arena_strdup(j->arena, j->seen->barrier.text));
    }
    if (j->seen->race) {
        return conclude(j, LG_WRONG_RESULT, LG_DETECTOR_MEMORY_CHECK, LG_REASON_RACE,
                        lg_arena_strdup(j->arena, j->seen->race));
    }
    return nothing_wrong(j);
}

static lg_judgement judge_valid(const judging *j) {
    const lg_observation *seen = j->seen;
    const lg_comparison *c = &j->compared;
    if (seen->status == LG_STATUS_ASSERT || seen->n_asserts > 0) {
        return conclude(j, LG_FALSE_ALARM, LG_DETECTOR_DEVICE_ASSERT, LG_REASON_FALSE_ASSERT,
                        assert_text(j));
    }
    if (seen->n_records > 0 || seen->n_records_dropped > 0) {
        const char *text = "fault records were written and dropped";
        if (seen->n_records > 0) {
            text = lg_arena_printf(
                j->arena, "a fault record accuses row %" PRId64 " (value %s), which is valid",
                seen->records[0].row, lg_record_value_text(j->batch, &seen->records[0], j->arena));
        }
        return conclude(j, LG_FALSE_ALARM, LG_DETECTOR_FAULT_RECORD, LG_REASON_FALSE_RECORD, text);
    }
    lg_judgement outputs = judge_outputs(j);
    if (outputs.reason != LG_REASON_NONE) {
        return outputs;
    }
    if (c->lost.n > 0 && j->kernel->policy == LG_POLICY_NAN) {
        return conclude_off(j, LG_FALSE_ALARM, LG_DETECTOR_NAN, LG_REASON_LOST_NUMBER, &c->lost,
                            deviation_text(j, &c->lost, "NaN for a valid batch"));
    }
    if (c->lost.n > 0) {
        return conclude_off(j, LG_WRONG_RESULT, LG_DETECTOR_REFERENCE, LG_REASON_LOST_NUMBER,
                            &c->lost, deviation_text(j, &c->lost, "NaN"));
    }
    if (c->made_up.n > 0) {
        return conclude_off(j, LG_WRONG_RESULT, LG_DETECTOR_REFERENCE, LG_REASON_MADE_UP_NUMBER,
                            &c->made_up,
                            deviation_text(j, &c->made_up, "a number where NaN is right"));
    }
    lg_broken_invariant broken;
    if (lg_invariants_check(j->batch, j->reference, seen, j->arena, &broken)) {
        return conclude_on(j, LG_WRONG_RESULT, LG_DETECTOR_INVARIANT, LG_REASON_INVARIANT,
                           broken.output, broken.text);
    }
    if (c->off.n > 0) {
        return conclude_off(
            j, LG_WRONG_RESULT, LG_DETECTOR_REFERENCE, LG_REASON_WRONG_NUMBER, &c->off,
            lg_arena_printf(j->arena, "%s, bound %.3g", deviation_text(j, &c->off, "wrong number"),
                            c->off.bound));
    }
    if (c->n_compared == 0) {
        // An empty batch without a reduction has nothing to compare; anything else proves nothing.
        bool empty = j->reference && j->reference->n_loss == 0;
        return conclude(j, empty ? LG_PASS : LG_UNTESTED, LG_DETECTOR_NONE,
                        empty ? LG_REASON_NONE : LG_REASON_NOTHING_COMPARED,
                        empty ? NULL : "no output was compared");
    }
    return conclude(j, LG_PASS, LG_DETECTOR_NONE, LG_REASON_NONE, NULL);
}

// An invalid batch whose outputs came back: NaN in the invalid rows and only there is what the
// policies `report` and `nan` promise, and what an unchecked kernel may do by the arithmetic alone.
static lg_judgement judge_invalid_outputs(const judging *j, lg_detector signal) {
    const lg_comparison *c = &j->compared;
    if (c->made_up.n > 0) {
        return conclude_off(
            j, LG_SILENT_CORRUPTION, LG_DETECTOR_NONE, LG_REASON_MADE_UP_NUMBER, &c->made_up,
            deviation_text(j, &c->made_up,
                           signal != LG_DETECTOR_NONE ? "signalled, and yet a number"
                                                      : "no signal, and a number"));
    }
    lg_judgement outputs = judge_outputs(j);
    if (outputs.reason != LG_REASON_NONE) {
        return outputs;
    }
    if (c->lost.n > 0) {
        return conclude_off(j, LG_FALSE_ALARM, LG_DETECTOR_NAN, LG_REASON_LOST_NUMBER, &c->lost,
                            deviation_text(j, &c->lost, "NaN in a valid row beside invalid ones"));
    }
    if (c->off.n > 0) {
        return conclude_off(j, LG_WRONG_RESULT, LG_DETECTOR_REFERENCE, LG_REASON_WRONG_NUMBER,
                            &c->off, deviation_text(j, &c->off, "wrong number in a valid row"));
    }
    if (c->n_compared == 0) {
        return conclude(j, LG_UNTESTED, LG_DETECTOR_NONE, LG_REASON_NOTHING_COMPARED,
                        "no output was compared");
    }
    return conclude(j, LG_DETECTED, signal != LG_DETECTOR_NONE ? signal : LG_DETECTOR_NAN,
                    LG_REASON_NONE, NULL);
}

static lg_judgement judge_invalid_assert(const judging *j) {
    lg_judgement outputs = judge_invalid_outputs(j, LG_DETECTOR_NONE);
    if (outputs.verdict != LG_DETECTED) {
        return outputs;
    }
    // The number is NaN, but the promised assert never came.
    return conclude(j, LG_SILENT_CORRUPTION, LG_DETECTOR_NONE, LG_REASON_NO_ASSERT,
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
        return conclude(j, LG_SILENT_CORRUPTION, LG_DETECTOR_NONE, LG_REASON_NO_RECORD, why);
    }
    case LG_RECORDS_VALID_ROW:
        return conclude(j, LG_FALSE_ALARM, LG_DETECTOR_FAULT_RECORD, LG_REASON_FALSE_RECORD, why);
    case LG_RECORDS_WRONG:
        return conclude(j, LG_WRONG_RESULT, LG_DETECTOR_FAULT_RECORD, LG_REASON_WRONG_RECORD, why);
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
            return conclude_on(
                j, LG_SILENT_CORRUPTION, LG_DETECTOR_NONE, LG_REASON_LATE_SIGNAL, LG_ARG_OUTPUT,
                lg_arena_printf(j->arena,
                                "the forward launch gave no signal, only the backward "
                                "one: %s",
                                assert_text(j)));
        }
        if (seen->n_asserts_kept > 0 && as_promised) {
            return conclude(j, LG_DETECTED, LG_DETECTOR_DEVICE_ASSERT, LG_REASON_NONE, NULL);
        }
        return conclude(j, LG_CRASH, LG_DETECTOR_NONE, LG_REASON_OTHER_SIGNAL,
                        seen->n_asserts_kept > 0
                            ? lg_arena_printf(j->arena, "%s, where the policy promises %s",
                                              assert_text(j), lg_policy_name(j->kernel->policy))
                            : assert_text(j));
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
    return conclude(j, LG_UNTESTED, LG_DETECTOR_NONE, LG_REASON_NO_POLICY,
                    "the kernel has no policy");
}

static lg_judgement judge_run(judging *j, const lg_run_facts *run) {
    bool refused = run->refusal && run->refusal->cause != LG_CAUSE_NONE;
    bool invalid = refused || (run->reference && run->reference->n_invalid > 0);
    if (j->seen->refused_on_host && refused) {
        const char *text = run->refusal->text ? run->refusal->text : "refused";
        return conclude(j, LG_DETECTED, LG_DETECTOR_HOST_CHECK, LG_REASON_REFUSED,
                        lg_arena_strdup(j->arena, text));
    }
    if (j->seen->refused_on_host) {
        return conclude(j, LG_FALSE_ALARM, LG_DETECTOR_HOST_CHECK, LG_REASON_REFUSED,
                        "a host check refused a batch that is valid");
    }
    if (!invalid && !run->reference) {
        return conclude(j, LG_UNTESTED, LG_DETECTOR_NONE, LG_REASON_NO_REFERENCE,
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

// A kernel may be right for labels that were misread on their way: every label is in range, the
// loss is plausible, and it is not the loss of the data. `found` gets the first such number.
static bool is_misread(const lg_case_facts *facts, lg_arena *arena, lg_judgement *found) {
    const lg_run_facts *run = &facts->run;
    const lg_reference *intended = facts->intended;
    const lg_output *loss = lg_observation_output(run->observation, LG_ARG_OUTPUT);
    if (!intended || !loss || !loss->values || loss->n != intended->n_loss) {
        return false;
    }
    lg_quantity quantity = intended->scalar ? LG_Q_LOSS : LG_Q_ROW_LOSS;
    for (int64_t i = 0; i < loss->n; i++) {
        double got = loss->values[i];
        double want = intended->loss[i];
        double bound = lg_tolerance(facts->given, intended, quantity, i, want);
        if (!(lg_compare(got, want, bound, run->batch->input.dtype) <= 1)) {
            *found =
                (lg_judgement){.verdict = LG_SILENT_CORRUPTION,
                               .reason = LG_REASON_MISREAD_LABELS,
                               .output = LG_ARG_OUTPUT,
                               .got = got,
                               .want = want,
                               .text = lg_arena_printf(arena,
                                                       "no signal, and the labels are not those "
                                                       "meant: the loss is %.9g, right is %.9g",
                                                       lg_plain(got), lg_plain(want))};
            return true;
        }
    }
    return false;
}

// Nothing of a batch whose last axis is as long as its class axis shows which is which.
static bool is_square(const lg_batch *batch) {
    int last = batch->input.rank - 1;
    return !lg_batch_is_binary(batch) && last >= 2 &&
           batch->input.shape[1] == batch->input.shape[last];
}

// The verdict on a case whose own run passes.
static lg_judgement judge_beside_run(const lg_case_facts *facts, lg_arena *arena) {
    lg_judgement found = {.verdict = LG_PASS, .output = LG_N_ARGS};
    if (is_misread(facts, arena, &found)) {
        return found;
    }
    if (facts->senseless.cause != LG_CAUSE_NONE) {
        found.verdict = LG_SILENT_CORRUPTION;
        found.reason = LG_REASON_SENSELESS;
        found.text =
            lg_arena_printf(arena, "no signal, and a loss that is none: %s", facts->senseless.text);
        return found;
    }
    if (facts->relation.broken) {
        return facts->relation.judgement;
    }
    if (is_square(facts->given)) {
        found.reason = LG_REASON_SQUARE;
        found.text = lg_arena_printf(
            arena, "axis %d cannot be told from the class axis: both have %lld elements",
            facts->given->input.rank - 1, (long long)facts->given->input.shape[1]);
    }
    return found;
}

lg_judgement lg_judge(const lg_case_facts *facts, lg_arena *arena) {
    if (facts->run_shows.verdict != LG_PASS) {
        return facts->run_shows;
    }
    lg_judgement judgement = judge_beside_run(facts, arena);
    judgement.max_error_share = facts->run_shows.max_error_share; // of the case's own run
    return judgement;
}
