// SPDX-License-Identifier: Apache-2.0
// Faults that rewrite class indices: shifts move every valid label, the others overwrite a few
// rows.
#include "batch/internal.h"
#include "labels/labels.h"
#include "support/alloc.h"

#include <math.h>
#include <stdlib.h>

static bool in_range(const lg_label_draft *draft, int64_t label) {
    return label >= 0 && label < draft->head_width;
}

// Rows a fault may write to: live, and not spoiled before.
static bool *usable_rows(const lg_label_draft *draft) {
    bool *usable = lg_buffer_alloc((size_t)(draft->n_rows > 0 ? draft->n_rows : 1));
    for (int64_t row = 0; usable && row < draft->n_rows; row++) {
        int64_t label = draft->labels[row];
        usable[row] = label != draft->ignore_index && in_range(draft, label);
    }
    return usable;
}

static bool no_memory(const lg_fault_spec *fault, lg_diags *diags) {
    return lg_error(diags, fault->loc, "%s: the rows do not fit in memory",
                    lg_cause_name(fault->kind));
}

// One supervised row must carry the class that the fault puts over the edge, or it cannot be seen:
// a drawn row gets it when none has it. false: there is no supervised row, or the class is the
// ignored one.
static bool ensure_edge_class(const lg_label_draft *draft, int index, int64_t edge) {
    int64_t n_usable = 0;
    for (int64_t row = 0; row < draft->n_rows; row++) {
        int64_t label = draft->labels[row];
        if (label == edge && label != draft->ignore_index) {
            return true;
        }
        n_usable += label != draft->ignore_index && in_range(draft, label);
    }
    if (n_usable == 0 || edge == draft->ignore_index) {
        return false;
    }
    int64_t chosen =
        (int64_t)lg_inject_draw_below(index, draft->seed, LG_STREAM_FAULT, 0, (uint64_t)n_usable);
    for (int64_t row = 0; row < draft->n_rows; row++) {
        int64_t label = draft->labels[row];
        if (label != draft->ignore_index && in_range(draft, label) && chosen-- == 0) {
            draft->labels[row] = edge;
            return true;
        }
    }
    return false;
}

static bool has_live_label_from(const lg_label_draft *draft, int64_t least) {
    for (int64_t row = 0; row < draft->n_rows; row++) {
        if (draft->labels[row] != draft->ignore_index && draft->labels[row] >= least) {
            return true;
        }
    }
    return false;
}

// The labels are what they always were: it is the input that has too few columns.
static bool inject_head_width(const lg_fault_spec *fault, int index, lg_label_draft *draft,
                              lg_injection *injection, lg_diags *diags) {
    if (fault->head_width < 0 || fault->head_width >= draft->classes) {
        if (draft->classes <= 1 && fault->head_width == 0) {
            return true; // One class: there is no narrower head, the fault cannot fire.
        }
        return lg_error(diags, fault->loc,
                        "wrong_head_width: head_width %lld must lie in 1..%lld, below the classes",
                        (long long)fault->head_width, (long long)draft->classes - 1);
    }
    if (!draft->given && draft->head_width > 1 && !has_live_label_from(draft, draft->head_width)) {
        ensure_edge_class(draft, index, draft->classes - 1);
    }
    for (int64_t row = 0; row < draft->n_rows; row++) {
        int64_t label = draft->labels[row];
        if (label != draft->ignore_index && label >= draft->head_width) {
            lg_injection_add_row(injection, row);
        }
    }
    injection->n_changed = injection->n_rows;
    // A head of one output is a fault without a bad row: softmax over it is 1 whatever is learnt.
    injection->fired = injection->n_rows > 0 || (draft->head_width == 1 && draft->n_rows > 0);
    return true;
}

// A class a label may be moved to so that `shift` neither ignores nor skips it; -1: none.
static int64_t spare_class(const lg_label_draft *draft, int64_t shift) {
    for (int64_t k = 0; k < draft->head_width; k++) {
        if (k != draft->ignore_index && k + shift != draft->ignore_index &&
            in_range(draft, k + shift)) {
            return k;
        }
    }
    return -1;
}

static bool has_live_label(const lg_label_draft *draft, int64_t wanted) {
    for (int64_t row = 0; row < draft->n_rows; row++) {
        if (draft->labels[row] == wanted && wanted != draft->ignore_index) {
            return true;
        }
    }
    return false;
}

static bool inject_shift(int index, int64_t shift, lg_label_draft *draft, lg_injection *injection) {
    int64_t edge = shift > 0 ? draft->head_width - 1 : 0;
    // The edge row's new value must stay visible: not ignored, and a value the dtype holds.
    if (draft->ignore_index == edge + shift || !lg_dtype_holds(draft->dtype, edge + shift)) {
        return true;
    }
    int64_t spare = spare_class(draft, shift);
    // Given labels are shifted as they are; where none leaves the range, nothing shows the shift.
    if (draft->given ? !has_live_label(draft, edge) : !ensure_edge_class(draft, index, edge)) {
        return true;
    }
    for (int64_t row = 0; row < draft->n_rows; row++) {
        int64_t label = draft->labels[row];
        if (label == draft->ignore_index || !in_range(draft, label)) {
            continue;
        }
        if (label + shift == draft->ignore_index && !draft->given) {
            // The shift must not turn a label into the ignored one: the row gets another class.
            if (spare < 0) {
                continue;
            }
            label = spare;
        }
        draft->labels[row] = label + shift;
        injection->n_changed++;
        if (!in_range(draft, label + shift)) {
            lg_injection_add_row(injection, row);
        }
    }
    injection->fired = injection->n_rows > 0;
    return true;
}

// The values a fault writes, cycled: those of the scenario, or the kind's own.
typedef struct value_cycle {
    const int64_t *items;
    int64_t n;
} value_cycle;

// Every value must do what its fault says: be out of range, not ignored, and fit the dtype.
static bool check_values(const lg_fault_spec *fault, const lg_label_draft *draft, value_cycle cycle,
                         bool negative, lg_diags *diags) {
    bool fine = true;
    const char *name = lg_cause_name(fault->kind);
    for (int64_t i = 0; i < cycle.n; i++) {
        int64_t value = cycle.items[i];
        if (value == draft->ignore_index) {
            fine =
                lg_error(diags, fault->loc, "%s: %lld is the ignore_index", name, (long long)value);
        } else if (in_range(draft, value) || (negative && value >= 0)) {
            fine = lg_error(diags, fault->loc, "%s: %lld is not %s", name, (long long)value,
                            negative ? "negative" : "outside the classes");
        } else if (!lg_dtype_holds(draft->dtype, value)) {
            fine = lg_error(diags, fault->loc, "%s: %s cannot hold %lld", name,
                            lg_dtype_name(draft->dtype), (long long)value);
        }
    }
    return fine;
}

// A value that does not dominate is a stray one, and no evidence could call it a sentinel.
static bool check_dominance(const lg_fault_spec *fault, const lg_label_draft *draft, int64_t n,
                            lg_diags *diags) {
    int64_t n_live = 0;
    for (int64_t row = 0; row < draft->n_rows; row++) {
        n_live += draft->labels[row] != draft->ignore_index;
    }
    int64_t least = lg_sentinel_min_rows(n_live);
    return n == 0 || n >= least ||
           lg_error(
               diags, fault->loc,
               "sentinel_mismatch: a sentinel takes at least %g %% of the supervised rows: %lld of "
               "%lld, not %lld",
               100 * LG_SENTINEL_MIN_SHARE, (long long)least, (long long)n_live, (long long)n);
}

static bool overwrite_rows(const lg_fault_spec *fault, int index, lg_label_draft *draft,
                           value_cycle cycle, double default_fraction, lg_injection *injection,
                           lg_diags *diags) {
    bool *usable = usable_rows(draft);
    if (!usable) {
        return no_memory(fault, diags);
    }
    int64_t *rows;
    int64_t n;
    bool fine = lg_inject_choose_rows(fault, index, draft->seed, draft->n_rows, usable, 1,
                                      default_fraction, &rows, &n, diags);
    if (fine && fault->kind == LG_CAUSE_SENTINEL_MISMATCH) {
        fine = check_dominance(fault, draft, n, diags);
    }
    for (int64_t i = 0; fine && i < n; i++) {
        draft->labels[rows[i]] = cycle.items[i % cycle.n];
        lg_injection_add_row(injection, rows[i]);
    }
    injection->n_changed = injection->n_rows;
    injection->fired = injection->n_rows > 0;
    free(rows);
    free(usable);
    return fine;
}

// The first of the candidates that is out of range, not ignored, and fits the dtype.
static bool pick_value(const lg_label_draft *draft, const int64_t *candidates, int64_t n,
                       int64_t *value) {
    for (int64_t i = 0; i < n; i++) {
        if (candidates[i] != draft->ignore_index && !in_range(draft, candidates[i]) &&
            lg_dtype_holds(draft->dtype, candidates[i])) {
            *value = candidates[i];
            return true;
        }
    }
    return false;
}

static bool inject_values(const lg_fault_spec *fault, int index, lg_label_draft *draft,
                          const int64_t *defaults, int64_t n_defaults, double default_fraction,
                          lg_injection *injection, lg_diags *diags) {
    int64_t chosen = 0;
    value_cycle cycle = {.items = fault->values.items, .n = fault->values.n};
    if (cycle.n == 0) {
        if (!pick_value(draft, defaults, n_defaults, &chosen)) {
            return true; // Nothing this dtype holds is out of range: the fault cannot fire.
        }
        cycle = (value_cycle){.items = &chosen, .n = 1};
    }
    bool negative = fault->kind == LG_CAUSE_NEGATIVE_LABELS;
    if (fault->kind == LG_CAUSE_SENTINEL_MISMATCH && cycle.n != 1) {
        return lg_error(diags, fault->loc, "sentinel_mismatch: one value is a sentinel, not %lld",
                        (long long)cycle.n);
    }
    return check_values(fault, draft, cycle, negative, diags) &&
           overwrite_rows(fault, index, draft, cycle, default_fraction, injection, diags);
}

static bool inject_corrupt(const lg_fault_spec *fault, int index, lg_label_draft *draft,
                           lg_injection *injection, lg_diags *diags) {
    // A NaN cast to either integer, and values that look like user-space addresses.
    static const int64_t wild[] = {INT32_MIN, INT64_MIN, 0x00007f3a1c40e2d0, 0x00007ffd9b1c7f60,
                                   0x0000564b0a9d1230};
    int64_t held[sizeof wild / sizeof *wild];
    int64_t n = 0;
    for (size_t i = 0; i < sizeof wild / sizeof *wild; i++) {
        if (lg_dtype_holds(draft->dtype, wild[i]) && wild[i] != draft->ignore_index) {
            held[n++] = wild[i];
        }
    }
    if (fault->values.n == 0 && n > 0) {
        return overwrite_rows(fault, index, draft, (value_cycle){.items = held, .n = n}, 0,
                              injection, diags);
    }
    // Narrow types hold no wild value: the nearest is the middle of a blend towards 255.
    static const int64_t blends[] = {191, 254, 127, -128};
    return inject_values(fault, index, draft, blends, sizeof blends / sizeof *blends, 0, injection,
                         diags);
}

bool lg_inject_labels(const lg_scenario *scenario, int index, lg_label_draft *draft,
                      lg_batch *batch, lg_diags *diags) {
    static const int64_t negatives[] = {-1, -2};
    static const int64_t sentinels[] = {-1, 255, -100, 254};
    const lg_fault_spec *fault = &scenario->faults[index];
    lg_injection *injection = &batch->injections[index];
    int64_t width = draft->head_width;
    // Only the label faults are handled here; the rest have functions of their own.
    if (fault->kind == LG_CAUSE_WRONG_HEAD_WIDTH) {
        return inject_head_width(fault, index, draft, injection, diags);
    }
    if (fault->kind == LG_CAUSE_ONE_BASED_LABELS) {
        return inject_shift(index, 1, draft, injection);
    }
    if (fault->kind == LG_CAUSE_OVER_SHIFTED_LABELS) {
        return inject_shift(index, -1, draft, injection);
    }
    if (fault->kind == LG_CAUSE_LABEL_EQUALS_WIDTH) {
        if (fault->values.n > 0) {
            return lg_error(diags, fault->loc, "label_equals_width takes no values: it writes C");
        }
        return inject_values(fault, index, draft, &width, 1, 0, injection, diags);
    }
    if (fault->kind == LG_CAUSE_NEGATIVE_LABELS) {
        return inject_values(fault, index, draft, negatives, 2, 0, injection, diags);
    }
    if (fault->kind == LG_CAUSE_SENTINEL_MISMATCH) {
        return inject_values(fault, index, draft, sentinels, 4, LG_SENTINEL_DEFAULT_SHARE,
                             injection, diags);
    }
    if (fault->kind == LG_CAUSE_CORRUPT_LABELS) {
        return inject_corrupt(fault, index, draft, injection, diags);
    }
    return true;
}
