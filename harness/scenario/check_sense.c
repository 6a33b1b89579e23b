// SPDX-License-Identifier: Apache-2.0
// What no run could show: faults that undo each other, and expectations that cannot come true.
#include "scenario/internal.h"

static bool shifts(lg_cause kind) {
    return kind == LG_CAUSE_ONE_BASED_LABELS || kind == LG_CAUSE_OVER_SHIFTED_LABELS;
}

// Faults that concern the whole batch: a second one of the same kind adds nothing or another fault.
static bool is_whole(lg_cause kind) {
    return shifts(kind) || kind == LG_CAUSE_WRONG_HEAD_WIDTH || kind == LG_CAUSE_NO_SUPERVISED_ROW;
}

static bool writes_labels(lg_cause kind) {
    return shifts(kind) || kind == LG_CAUSE_LABEL_EQUALS_WIDTH ||
           kind == LG_CAUSE_NEGATIVE_LABELS || kind == LG_CAUSE_SENTINEL_MISMATCH ||
           kind == LG_CAUSE_CORRUPT_LABELS;
}

static bool ignores_all(const lg_fault_spec *fault) {
    return fault->where == LG_FORM_IGNORED;
}

static const char *contradiction(const lg_fault_spec *a, const lg_fault_spec *b) {
    if (a->kind == b->kind && is_whole(a->kind)) {
        return "concerns the whole batch and is listed twice";
    }
    if (shifts(a->kind) && shifts(b->kind)) {
        return "shifts the labels back";
    }
    if ((ignores_all(a) && writes_labels(b->kind)) || (ignores_all(b) && writes_labels(a->kind))) {
        return "contradicts it: of an ignored row the label is not seen";
    }
    return NULL;
}

void lg_scenario_check_contradictions(lg_scenario_reader *reader) {
    const lg_scenario *scenario = reader->scenario;
    for (int i = 1; i < scenario->n_faults; i++) {
        const lg_fault_spec *fault = &scenario->faults[i];
        const char *path = lg_arena_printf(reader->binder.scratch, "faults.%d.kind", i);
        for (int k = 0; k < i && fault->kind != LG_CAUSE_NONE; k++) {
            const char *why = contradiction(&scenario->faults[k], fault);
            if (why) {
                lg_scenario_error(reader, path, "faults.%d is %s: beside faults.%d (%s) it %s", i,
                                  lg_cause_name(fault->kind), k,
                                  lg_cause_name(scenario->faults[k].kind), why);
                break;
            }
        }
    }
}

static bool is_drawn(const lg_array_spec *spec) {
    return spec->source == LG_ARRAY_GENERATED && spec->stride.n == 0 &&
           spec->distribution != LG_DIST_CONSTANT;
}

// Whether nothing of the batch can be wrong: all is drawn as it should be.
static bool is_clean(lg_scenario_reader *reader) {
    const lg_scenario *scenario = reader->scenario;
    const lg_batch_spec *batch = &scenario->batch;
    bool known = lg_scenario_knows(reader, "loss batch faults") && lg_scenario_knows_sizes(reader);
    bool plain = batch->logits.distribution == LG_DIST_NORMAL && batch->logits.scale <= 100;
    bool in_domain = batch->targets.distribution != LG_DIST_UNIFORM ||
                     (batch->targets.lo >= 0 && batch->targets.hi <= 1);
    return known && scenario->n_faults == 0 && batch->samples > 0 && batch->ignored_fraction == 0 &&
           batch->extent.n == 0 && scenario->loss.label_smoothing >= 0 &&
           scenario->loss.label_smoothing <= 1 && plain && in_domain && is_drawn(&batch->logits) &&
           is_drawn(&batch->targets) && scenario->weight.source == LG_ARRAY_ABSENT &&
           scenario->pos_weight.source == LG_ARRAY_ABSENT &&
           scenario->grad_output.source == LG_ARRAY_ABSENT &&
           !lg_scenario_has(reader, "loss.ignore_index");
}

static void check_cause(lg_scenario_reader *reader, const char *path, lg_cause cause) {
    lg_loss_kind loss = reader->scenario->loss.kind;
    bool is_data = cause != LG_CAUSE_NONE && lg_cause_phase_of(cause) == LG_PHASE_DATA;
    if (is_data && is_clean(reader)) {
        lg_scenario_error(reader, path,
                          "%s names %s, but there are no faults: the batch is drawn without any",
                          path, lg_cause_name(cause));
    } else if (cause == LG_CAUSE_BCE_RANGE && lg_scenario_knows(reader, "loss.kind") &&
               !lg_loss_is_binary(loss)) {
        lg_scenario_error(reader, path, "%s names %s, but %s is no binary cross-entropy", path,
                          lg_cause_name(cause), lg_loss_kind_name(loss));
    } else if (writes_labels(cause) && lg_scenario_knows(reader, "loss.kind") &&
               lg_loss_is_binary(loss)) {
        lg_scenario_error(reader, path, "%s names %s, but %s has no class labels", path,
                          lg_cause_name(cause), lg_loss_kind_name(loss));
    }
}

static void check_rows(lg_scenario_reader *reader) {
    const lg_scenario *scenario = reader->scenario;
    int64_t n_rows = lg_scenario_rows(reader);
    bool reshaped = !lg_scenario_knows(reader, "faults");
    for (int i = 0; i < scenario->n_faults; i++) {
        reshaped = reshaped || scenario->faults[i].kind == LG_CAUSE_SHAPE_LAYOUT;
    }
    for (int64_t i = 0; n_rows >= 0 && !reshaped && i < scenario->expect.rows.n; i++) {
        if (scenario->expect.rows.items[i] >= n_rows) {
            const char *item =
                lg_arena_printf(reader->binder.scratch, "expect.rows.%lld", (long long)i);
            lg_scenario_error(reader, item, "row %lld is not in the batch, which has %lld",
                              (long long)scenario->expect.rows.items[i], (long long)n_rows);
        }
    }
}

// Whether the fault, where it is injected at all, makes a batch that a checked call refuses or
// whose loss is undefined: no kernel passes it. The others may leave a batch that is valid: labels
// that were shifted and stay in range, a NaN among the logits, every row ignored.
static bool is_never_passed(const lg_scenario *scenario, const lg_fault_spec *fault) {
    switch (fault->kind) {
    case LG_CAUSE_LABEL_EQUALS_WIDTH:
    case LG_CAUSE_NEGATIVE_LABELS:
    case LG_CAUSE_SENTINEL_MISMATCH:
        return true;
    case LG_CAUSE_FLOAT_TARGETS:
        return fault->form == LG_FLOAT_REFUSED;
    case LG_CAUSE_SHAPE_LAYOUT:
        return fault->where == LG_FORM_BATCH || fault->where == LG_FORM_SPATIAL;
    case LG_CAUSE_BCE_RANGE:
        return fault->number == 0 || fault->number < 0 || fault->number > 1;
    case LG_CAUSE_VALUE_DOMAIN:
        return fault->where == LG_FORM_NEGATIVE;
    case LG_CAUSE_NONFINITE_LOGITS:
        return fault->where == LG_FORM_TARGET_NONFINITE;
    case LG_CAUSE_WEIGHT_VECTOR:
        return fault->length > 0 && !lg_loss_is_binary(scenario->loss.kind);
    default:
        return false;
    }
}

// A verdict that the faults rule out, whatever kernel runs.
static void check_verdict(lg_scenario_reader *reader) {
    const lg_scenario *scenario = reader->scenario;
    lg_verdict verdict = scenario->expect.verdict;
    bool known = lg_scenario_knows(reader, "loss.kind faults");
    for (int i = 0; known && verdict == LG_PASS && i < scenario->n_faults; i++) {
        if (is_never_passed(scenario, &scenario->faults[i])) {
            lg_scenario_error(reader, "expect.verdict",
                              "expect.verdict is pass, but no kernel passes faults.%d (%s): one "
                              "with a guard detects it; leave the verdict out, or say detected",
                              i, lg_cause_name(scenario->faults[i].kind));
            return;
        }
    }
    if (verdict == LG_DETECTED && is_clean(reader)) {
        lg_scenario_error(reader, "expect.verdict",
                          "expect.verdict is detected, but there are no faults: an alarm about a "
                          "valid batch is a false_alarm");
    }
}

void lg_scenario_check_prospects(lg_scenario_reader *reader) {
    const lg_scenario *scenario = reader->scenario;
    const lg_expect *expect = &scenario->expect;
    if (expect->has_cause) {
        check_cause(reader, "expect.cause", expect->cause);
    }
    for (int i = LG_CAUSE_NONE + 1; i < LG_N_CAUSES; i++) {
        if (expect->causes & LG_CAUSE_BIT(i)) {
            check_cause(reader, "expect.causes", (lg_cause)i);
        }
    }
    if (expect->has_rows) {
        check_rows(reader);
    }
    if (expect->has_verdict) {
        check_verdict(reader);
    }
    bool not_run = expect->verdict == LG_UNTESTED || expect->verdict == LG_SKIPPED;
    if (expect->has_verdict && not_run && !lg_scenario_has(reader, "run.kernels")) {
        lg_scenario_error(
            reader, "expect.verdict",
            "expect.verdict is %s, which no rule gives every kernel of the loss; name "
            "the kernels in run.kernels",
            lg_verdict_name(expect->verdict));
    }
}
