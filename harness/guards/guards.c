// SPDX-License-Identifier: Apache-2.0
#include "guards/guards.h"

#include "batch/batch.h"
#include "reference/reference.h"
#include "support/alloc.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// A batch as it is passed to the loss, with what the loss is then.
typedef struct side {
    lg_batch batch;         // what is generated
    lg_batch view;          // borrows from it: the target is what is passed
    bool refused;           // the call itself refuses it, knowing what it is given
    lg_reference reference; // only when not refused
    int64_t *labels;
    lg_guard_view guard_view;
} side;

static bool open_view(side *s) {
    s->view = s->batch;
    s->view.target = *lg_batch_device_target(&s->batch);
    s->view.device_target = (lg_tensor){0};
    lg_arena arena = {0};
    s->refused = lg_hostcheck(&s->view, &arena).cause != LG_CAUSE_NONE;
    lg_arena_free(&arena);
    if (!s->refused && !lg_reference_compute(&s->view, false, &s->reference)) {
        return false;
    }
    const lg_tensor *target = &s->view.target;
    int64_t n = lg_tensor_numel(target);
    s->labels = lg_xmalloc((size_t)(n + 1) * sizeof(*s->labels));
    for (int64_t i = 0; i < n; i++) {
        s->labels[i] = lg_tensor_get_i64(target, i);
    }
    s->guard_view = (lg_guard_view){.n = n,
                                    .labels = s->labels,
                                    .head_width = lg_batch_head_width(&s->batch),
                                    .ignore_index = s->batch.loss.ignore_index,
                                    .dtype = target->dtype};
    return true;
}

static void close_side(side *s) {
    if (!s->refused && s->reference.row_loss) {
        lg_reference_free(&s->reference);
    }
    free(s->labels);
    lg_batch_free(&s->batch);
    *s = (side){0};
}

// What becomes of a batch that a guard lets through.
typedef enum fate { FATE_RIGHT, FATE_SILENT, FATE_LEFT } fate;

static bool same_number(double got, double want) {
    return (isnan(got) && isnan(want)) || got == want || fabs(got - want) <= 1e-12 * fabs(want);
}

static fate fate_of(const lg_reference *got, bool refused, const side *right) {
    if (refused || got->n_invalid > 0) {
        return FATE_LEFT;
    }
    bool same = !right->refused && got->n_loss == right->reference.n_loss;
    bool finite = true;
    for (int64_t i = 0; i < got->n_loss; i++) {
        same = same && same_number(got->loss[i], right->reference.loss[i]);
        finite = finite && isfinite(got->loss[i]);
    }
    // A NaN says that something is wrong: it is left to be seen, not silent.
    return same ? FATE_RIGHT : finite ? FATE_SILENT : FATE_LEFT;
}

// The batch as the guard hands it on. false: no memory.
static bool fate_after(lg_guard guard, const side *s, const side *right, fate *out) {
    lg_batch changed = s->view;
    changed.n_injections = 0;
    int64_t *labels = lg_xmalloc((size_t)(s->guard_view.n + 1) * sizeof(*labels));
    bool relabelled = lg_guard_change(guard, &s->guard_view, labels);
    bool smoothed = guard == LG_GUARD_LABEL_SMOOTHING;
    if (!relabelled && !smoothed) {
        free(labels);
        *out = fate_of(&s->reference, s->refused, right);
        return true;
    }
    bool ok = lg_tensor_copy(&changed.target, &s->view.target);
    for (int64_t i = 0; ok && relabelled && i < s->guard_view.n; i++) {
        lg_tensor_set_i64(&changed.target, i, labels[i]);
    }
    changed.loss.label_smoothing = smoothed ? 0.1 : changed.loss.label_smoothing;
    free(labels);
    lg_arena arena = {0};
    bool refused = s->refused || (ok && lg_hostcheck(&changed, &arena).cause != LG_CAUSE_NONE);
    lg_arena_free(&arena);
    lg_reference reference = {0};
    ok = ok && (refused || lg_reference_compute(&changed, false, &reference));
    if (ok) {
        *out = fate_of(&reference, refused, right);
    }
    if (ok && !refused) {
        lg_reference_free(&reference);
    }
    lg_tensor_free(&changed.target);
    return ok;
}

static bool rows_are_truth(const side *s, const int64_t *rows, const lg_guard_report *report) {
    return report->names_rows && !s->refused && report->n_rows == s->reference.n_invalid &&
           (report->n_rows == 0 ||
            memcmp(rows, s->reference.invalid_rows, (size_t)report->n_rows * sizeof(*rows)) == 0);
}

static bool applies(lg_guard guard, const side *s) {
    return guard != LG_GUARD_LABEL_SMOOTHING || s->batch.loss.kind == LG_CROSS_ENTROPY;
}

static bool add_faulty(lg_guard guard, const side *s, const side *clean, lg_guard_score *score) {
    lg_cause cause = s->batch.injections[0].cause;
    lg_guard_tally *tally = &score->by_cause[cause];
    int64_t *rows = lg_xmalloc((size_t)(s->guard_view.n + 1) * sizeof(*rows));
    lg_guard_report report = lg_guard_check(guard, &s->guard_view, rows);
    tally->n++;
    tally->detected += report.signalled;
    if (report.signalled) {
        bool right = false;
        for (int i = 0; i < s->batch.n_injections; i++) {
            right = right || s->batch.injections[i].cause == report.cause;
        }
        tally->rows_exact += rows_are_truth(s, rows, &report);
        tally->cause_right += right;
        tally->cause_wrong += report.cause != LG_CAUSE_NONE && !right;
    }
    free(rows);
    fate after = FATE_LEFT;
    if (!report.signalled && !fate_after(guard, s, clean, &after)) {
        return false;
    }
    tally->right += !report.signalled && after == FATE_RIGHT;
    tally->silent += !report.signalled && after == FATE_SILENT;
    tally->left += !report.signalled && after == FATE_LEFT;
    return true;
}

static bool add_clean(lg_guard guard, const side *s, lg_guard_score *score) {
    lg_guard_report report = lg_guard_check(guard, &s->guard_view, NULL);
    score->clean.n++;
    score->clean.false_alarms += report.signalled;
    fate after = FATE_RIGHT;
    if (!report.signalled && !fate_after(guard, s, s, &after)) {
        return false;
    }
    score->clean.silent += after == FATE_SILENT;
    score->clean.broken += after == FATE_LEFT;
    return true;
}

static bool has_labels(const lg_batch *batch) {
    return batch->loss.kind != LG_BCE && batch->loss.kind != LG_BCE_WITH_LOGITS &&
           !batch->target_is_probability;
}

// Values that are listed with the fault in them have no clean batch beside them.
static bool lists_a_fault(const lg_scenario *point) {
    return point->n_faults == 0 && point->expect.has_cause &&
           lg_cause_phase_of(point->expect.cause) == LG_PHASE_DATA;
}

static bool all_fired(const lg_batch *batch) {
    for (int i = 0; i < batch->n_injections; i++) {
        if (!batch->injections[i].fired) {
            return false;
        }
    }
    return true;
}

static bool add_sides(lg_guard_study *study, side *clean, side *faulty) {
    bool ok = true;
    // A scenario without faults that its own call refuses is no clean batch.
    bool use_clean = !clean->refused && clean->reference.n_invalid == 0;
    bool use_faulty = faulty->batch.n_injections > 0;
    clean->guard_view.seed = faulty->guard_view.seed = study->seed;
    clean->guard_view.number = (uint64_t)(study->n_clean + study->n_faulty);
    faulty->guard_view.number = clean->guard_view.number + 1;
    for (int g = 0; g < LG_N_GUARDS && ok; g++) {
        if (!applies((lg_guard)g, clean)) {
            continue;
        }
        ok = (!use_clean || add_clean((lg_guard)g, clean, &study->guards[g])) &&
             (!use_faulty || add_faulty((lg_guard)g, faulty, clean, &study->guards[g]));
    }
    study->n_clean += use_clean;
    study->n_faulty += use_faulty;
    return ok;
}

bool lg_guard_study_add(lg_guard_study *study, const lg_scenario *point, lg_diags *diags) {
    side clean = {0};
    side faulty = {0};
    lg_loc loc = {.file = point->path};
    bool made = lg_generate(point, false, &clean.batch, diags) &&
                (point->n_faults == 0 || lg_generate(point, true, &faulty.batch, diags));
    bool ok = made;
    if (made && (!has_labels(&clean.batch) || lists_a_fault(point) || !all_fired(&faulty.batch))) {
        study->n_inapplicable++;
    } else if (made) {
        ok = open_view(&clean) && (point->n_faults == 0 || open_view(&faulty)) &&
             add_sides(study, &clean, &faulty);
        if (!ok) {
            lg_error(diags, loc, "no memory for the reference");
        }
    }
    close_side(&clean);
    close_side(&faulty);
    return ok;
}

// Whether a fault shows in the labels: what a check of labels can be asked to find.
static bool is_label_fault(lg_cause cause) {
    return cause >= LG_CAUSE_WRONG_HEAD_WIDTH && cause <= LG_CAUSE_CORRUPT_LABELS;
}

lg_guard_tally lg_guard_sum(const lg_guard_score *score, bool label_faults) {
    lg_guard_tally sum = {0};
    for (int c = LG_CAUSE_NONE + 1; c < LG_N_CAUSES; c++) {
        const lg_guard_tally *t = &score->by_cause[c];
        if (is_label_fault((lg_cause)c) == label_faults) {
            sum.n += t->n;
            sum.detected += t->detected;
            sum.rows_exact += t->rows_exact;
            sum.cause_right += t->cause_right;
            sum.cause_wrong += t->cause_wrong;
            sum.right += t->right;
            sum.silent += t->silent;
            sum.left += t->left;
        }
    }
    return sum;
}
