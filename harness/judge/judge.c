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
    const lg_refusal *refusal;     // NULL: accepted
    const lg_kernel *kernel;
    const lg_observation *seen;
    lg_arena *arena;
    lg_comparison compared;
} judging;

static lg_judgement conclude(const judging *j, lg_verdict verdict, const char *detected_by,
                             const char *reason) {
    return (lg_judgement){.verdict = verdict,
                          .detected_by = detected_by,
                          .reason = reason,
                          .max_error_share = j->compared.max_share};
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
                               d->output, d->n_rows > 1 ? "s" : "", rows_text(j, d),
                               lg_plain(d->got), lg_plain(d->want));
    }
    return lg_arena_printf(j->arena, "%s: %s is %.9g, right is %.9g", what, d->output,
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
    lg_str_printf(&text, "%s of %" PRId64 " bytes", m->kind ? m->kind : "bad access", m->bytes);
    if (m->buffer && m->distance != 0) {
        lg_str_printf(&text,
                      m->distance > 0 ? ", byte %" PRId64 " past the end of `%s`"
                                      : ", %" PRId64 " bytes before `%s`",
                      (int64_t)llabs(m->distance), m->buffer);
    }
    if (m->buffer && m->distance == 0 && strstr(text.text, "out of bounds")) {
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

// What ends a run the same way for a valid and an invalid batch; UNTESTED when nothing did.
static lg_judgement judge_death(const judging *j) {
    const lg_observation *seen = j->seen;
    switch (seen->status) {
    case LG_STATUS_OK:
    case LG_STATUS_ASSERT:
        break;
    case LG_STATUS_ILLEGAL_ADDRESS:
    case LG_STATUS_MISALIGNED:
        return conclude(j, LG_MEMORY_FAULT, "memory_check", memory_text(j));
    case LG_STATUS_TIMEOUT:
        return conclude(j, LG_HANG, NULL, "the launch did not end within its instruction budget");
    case LG_STATUS_ILLEGAL_INSTRUCTION:
    case LG_STATUS_TRAP:
    case LG_STATUS_OTHER:
        return conclude(j, LG_CRASH, NULL,
                        lg_arena_printf(j->arena, "the device reported %s",
                                        seen->status_text ? seen->status_text : "an error"));
    }
    if (seen->status != LG_STATUS_ASSERT && seen->memory.present) {
        return conclude(j, LG_MEMORY_FAULT, "memory_check", memory_text(j));
    }
    if (j->compared.broken_fence) {
        return conclude(j, LG_MEMORY_FAULT, "memory_check",
                        lg_arena_printf(j->arena, "the fence around `%s` was overwritten",
                                        j->compared.broken_fence->name));
    }
    return conclude(j, LG_UNTESTED, NULL, NULL);
}

// What a run without a signal may still have wrong whatever the batch: UNTESTED without a reason
// when nothing is.
static lg_judgement judge_outputs(const judging *j) {
    const lg_comparison *c = &j->compared;
    if (c->missing) {
        return conclude(j, LG_UNTESTED, NULL,
                        lg_arena_printf(j->arena, "`%s` could not be read back", c->missing));
    }
    if (c->wrong_length) {
        return conclude(j, LG_UNTESTED, NULL,
                        lg_arena_printf(j->arena, "`%s` has not as many elements as the reference",
                                        c->wrong_length));
    }
    if (c->unwritten) {
        return conclude(
            j, LG_UNWRITTEN, "reference",
            lg_arena_printf(j->arena,
                            "%" PRId64 " of %" PRId64
                            " elements of `%s` were never written, the first is %" PRId64,
                            c->unwritten->n_unwritten, c->unwritten->n, c->unwritten->name,
                            c->unwritten->first_unwritten));
    }
    if (j->seen->input_written) {
        return conclude(j, LG_WRONG_RESULT, "memory_check",
                        lg_arena_strdup(j->arena, j->seen->input_written));
    }
    if (j->seen->mode_failure) {
        lg_verdict verdict = j->seen->mode_failure_is_hang ? LG_HANG : LG_WRONG_RESULT;
        return conclude(j, verdict, "reference", lg_arena_strdup(j->arena, j->seen->mode_failure));
    }
    if (j->seen->race) {
        return conclude(j, LG_WRONG_RESULT, "memory_check",
                        lg_arena_strdup(j->arena, j->seen->race));
    }
    return conclude(j, LG_UNTESTED, NULL, NULL);
}

static lg_judgement judge_valid(const judging *j) {
    const lg_observation *seen = j->seen;
    const lg_comparison *c = &j->compared;
    if (seen->status == LG_STATUS_ASSERT || seen->n_asserts > 0) {
        return conclude(j, LG_FALSE_ALARM, "device_assert", assert_text(j));
    }
    if (seen->n_records > 0 || seen->n_records_dropped > 0) {
        const char *text = "fault records were written and dropped";
        if (seen->n_records > 0) {
            text = lg_arena_printf(
                j->arena, "a fault record accuses row %" PRId64 " (value %s), which is valid",
                seen->records[0].row, lg_record_value_text(j->batch, &seen->records[0], j->arena));
        }
        return conclude(j, LG_FALSE_ALARM, "fault_record", text);
    }
    lg_judgement outputs = judge_outputs(j);
    if (outputs.reason) {
        return outputs;
    }
    if (c->lost.n > 0 && j->kernel->policy == LG_POLICY_NAN) {
        return conclude(j, LG_FALSE_ALARM, "nan",
                        deviation_text(j, &c->lost, "NaN for a valid batch"));
    }
    if (c->lost.n > 0) {
        return conclude(j, LG_WRONG_RESULT, "reference", deviation_text(j, &c->lost, "NaN"));
    }
    if (c->made_up.n > 0) {
        return conclude(j, LG_WRONG_RESULT, "reference",
                        deviation_text(j, &c->made_up, "a number where NaN is right"));
    }
    const char *broken = lg_invariants_check(j->batch, j->reference, seen, j->arena);
    if (broken) {
        return conclude(j, LG_WRONG_RESULT, "invariant", broken);
    }
    if (c->off.n > 0) {
        return conclude(j, LG_WRONG_RESULT, "reference",
                        lg_arena_printf(j->arena, "%s, bound %.3g",
                                        deviation_text(j, &c->off, "wrong number"), c->off.bound));
    }
    if (c->n_compared == 0) {
        // An empty batch without a reduction has nothing to compare; anything else proves nothing.
        bool empty = j->reference && j->reference->n_loss == 0;
        return conclude(j, empty ? LG_PASS : LG_UNTESTED, NULL,
                        empty ? NULL : "no output was compared");
    }
    return conclude(j, LG_PASS, NULL, NULL);
}

// An invalid batch whose outputs came back: NaN in the invalid rows and only there is what the
// policies `report` and `nan` promise, and what an unchecked kernel may do by the arithmetic alone.
static lg_judgement judge_invalid_outputs(const judging *j, const char *signal) {
    const lg_comparison *c = &j->compared;
    if (c->made_up.n > 0) {
        return conclude(
            j, LG_SILENT_CORRUPTION, NULL,
            deviation_text(j, &c->made_up,
                           signal ? "signalled, and yet a number" : "no signal, and a number"));
    }
    lg_judgement outputs = judge_outputs(j);
    if (outputs.reason) {
        return outputs;
    }
    if (c->lost.n > 0) {
        return conclude(j, LG_FALSE_ALARM, "nan",
                        deviation_text(j, &c->lost, "NaN in a valid row beside invalid ones"));
    }
    if (c->off.n > 0) {
        return conclude(j, LG_WRONG_RESULT, "reference",
                        deviation_text(j, &c->off, "wrong number in a valid row"));
    }
    if (c->n_compared == 0) {
        return conclude(j, LG_UNTESTED, NULL, "no output was compared");
    }
    return conclude(j, LG_DETECTED, signal ? signal : "nan", NULL);
}

static lg_judgement judge_invalid_assert(const judging *j) {
    lg_judgement outputs = judge_invalid_outputs(j, NULL);
    if (outputs.verdict != LG_DETECTED) {
        return outputs;
    }
    // The number is NaN, but the promised assert never came.
    return conclude(j, LG_SILENT_CORRUPTION, NULL,
                    "no device assert; the loss is NaN, which this policy does not promise");
}

static lg_judgement judge_invalid_report(const judging *j) {
    if (!j->reference) {
        return judge_invalid_outputs(j, NULL);
    }
    const char *why = NULL;
    switch (lg_records_check(j->batch, j->reference, j->kernel, j->seen, j->arena, &why)) {
    case LG_RECORDS_EXACT:
        return judge_invalid_outputs(j, "fault_record");
    case LG_RECORDS_ABSENT:
    case LG_RECORDS_MISSING: {
        lg_judgement outputs = judge_invalid_outputs(j, NULL);
        if (outputs.verdict != LG_DETECTED) {
            return outputs;
        }
        return conclude(j, LG_SILENT_CORRUPTION, NULL, why);
    }
    case LG_RECORDS_VALID_ROW:
        return conclude(j, LG_FALSE_ALARM, "fault_record", why);
    case LG_RECORDS_WRONG:
        return conclude(j, LG_WRONG_RESULT, "fault_record", why);
    }
    return conclude(j, LG_UNTESTED, NULL, "the fault records could not be judged");
}

// Whether an entry's name in the manifest ("nll_{dtype}") stands for this one ("nll_float32").
static bool is_entry(const char *pattern, const char *entry) {
    lg_str glob = {0};
    for (const char *p = pattern; *p; p++) {
        if (*p == '{' && strchr(p, '}')) {
            p = strchr(p, '}');
            lg_str_add(&glob, "*");
        } else {
            lg_str_add_n(&glob, p, 1);
        }
    }
    bool matches = lg_glob_match(lg_str_text(&glob), entry);
    lg_str_free(&glob);
    return matches;
}

// The forward launch returned its loss, and only the gradient's launch signalled: too late for
// whoever read the loss.
static bool is_late(const judging *j) {
    const char *failed = j->seen->failed_launch;
    if (!failed || !(j->batch->loss.direction & LG_FORWARD)) {
        return false;
    }
    for (int i = 0; i < j->kernel->n_stages; i++) {
        const lg_stage *stage = &j->kernel->stages[i];
        if (stage->direction == LG_BACKWARD && stage->entry && is_entry(stage->entry, failed)) {
            return true;
        }
    }
    return false;
}

static lg_judgement judge_invalid(const judging *j) {
    const lg_observation *seen = j->seen;
    if (seen->status == LG_STATUS_ASSERT) {
        bool as_promised =
            j->kernel->policy == LG_POLICY_ASSERT || j->kernel->policy == LG_POLICY_NONE;
        if (seen->n_asserts_kept > 0 && as_promised && is_late(j)) {
            return conclude(j, LG_SILENT_CORRUPTION, NULL,
                            lg_arena_printf(j->arena,
                                            "the forward launch gave no signal, only the backward "
                                            "one: %s",
                                            assert_text(j)));
        }
        if (seen->n_asserts_kept > 0 && as_promised) {
            return conclude(j, LG_DETECTED, "device_assert", NULL);
        }
        return conclude(j, LG_CRASH, NULL,
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
        return judge_invalid_outputs(j, NULL);
    case LG_POLICY_UNSET:
    case LG_N_POLICIES:
        break;
    }
    return conclude(j, LG_UNTESTED, NULL, "the kernel has no policy");
}

lg_judgement lg_judge(const lg_batch *batch, const lg_reference *reference,
                      const lg_refusal *refusal, const lg_kernel *kernel,
                      const lg_observation *observation, lg_arena *arena) {
    bool refused = refusal && refusal->cause != LG_CAUSE_NONE;
    bool invalid = refused || (reference && reference->n_invalid > 0);
    judging j = {.batch = batch,
                 .reference = reference,
                 .refusal = refused ? refusal : NULL,
                 .kernel = kernel,
                 .seen = observation,
                 .arena = arena,
                 .compared = {.max_share = NAN}};
    if (observation->refused_on_host) {
        return refused ? conclude(&j, LG_DETECTED, "host_check",
                                  lg_arena_strdup(arena, refusal->text ? refusal->text : "refused"))
                       : conclude(&j, LG_FALSE_ALARM, "host_check",
                                  "a host check refused a batch that is valid");
    }
    if (!invalid && !reference) {
        return conclude(&j, LG_UNTESTED, NULL, "there is no reference to compare with");
    }
    bool alive = observation->status == LG_STATUS_OK;
    if (alive) {
        lg_compare_outputs(batch, reference, kernel, observation, invalid, &j.compared);
    }
    lg_judgement death = judge_death(&j);
    if (death.verdict != LG_UNTESTED) {
        return death;
    }
    return invalid ? judge_invalid(&j) : judge_valid(&j);
}
