// SPDX-License-Identifier: Apache-2.0
// Batches with label faults for measuring attribution: a cause (or two), a spread of the classes, a
// size, a dtype, ignored rows. Draw i of a seed and world is always the same batch.
//
// Two worlds. `priors` draws from the beliefs of labels/priors.h: what attribution states as 90 %
// must then be right in 90 %. `other` shares the meaning of the faults with it and nothing else:
// its frequencies, spreads, counts and values are others (attribution_world.h), so that it shows
// what the statements are worth where the beliefs are off.
#ifndef LG_BENCH_ATTRIBUTION_DRAW_H
#define LG_BENCH_ATTRIBUTION_DRAW_H

#include "attribution_world.h"
#include "batch/batch.h"

#include <stdlib.h>

// Whether a value written by a fault would be a class, ignored, or none at all.
static inline bool draw_is_usable(const draw *d, int64_t value, int64_t width) {
    return (value < 0 || value >= width) && value != d->scenario.loss.ignore_index;
}

// Fills the parameters of one fault; false: it cannot be on this batch.
static inline bool draw_fault(draw *d, lg_cause cause, int64_t width, lg_fault_spec *fault,
                              int64_t *values) {
    *fault = (lg_fault_spec){.kind = cause};
    int64_t n = d->n_live;
    if (cause == LG_CAUSE_WRONG_HEAD_WIDTH) {
        fault->head_width = width;
        return true;
    }
    if (cause == LG_CAUSE_TARGET_DTYPE) {
        double u = draw_uniform(d);
        fault->where = u < LG_PRIOR_DTYPE_PAIRS                         ? LG_FORM_INT32_AS_INT64
                       : u < LG_PRIOR_DTYPE_PAIRS + LG_PRIOR_DTYPE_WIDE ? LG_FORM_INT32_WRAP
                                                                        : LG_FORM_SIGN_BYTES;
        fault->count = draw_stray_rows(d, n);
        return fault->where != LG_FORM_SIGN_BYTES || (width > 128 && width <= 256);
    }
    if (cause == LG_CAUSE_FLOAT_TARGETS) {
        double u = draw_uniform(d);
        fault->form = u < 0.6 ? LG_FLOAT_BITS : u < 0.8 ? LG_FLOAT_REFUSED : LG_FLOAT_TRUNCATED;
        fault->dtype = draw_uniform(d) < LG_PRIOR_FLOAT32_BITS ? LG_FLOAT32 : LG_FLOAT64;
        fault->count = draw_stray_rows(d, n);
        fault->number = fault->form == LG_FLOAT_REFUSED && draw_uniform(d) < 0.5 ? 0 : 0.25;
        return true;
    }
    fault->values.items = values;
    if (cause == LG_CAUSE_SENTINEL_MISMATCH) {
        fault->count = draw_sentinel_rows(d, n);
        fault->values.n = 1;
        values[0] = draw_sentinel(d, width);
        return draw_is_usable(d, values[0], width);
    }
    fault->count = draw_stray_rows(d, n);
    if (cause == LG_CAUSE_NEGATIVE_LABELS || cause == LG_CAUSE_CORRUPT_LABELS) {
        bool negative = cause == LG_CAUSE_NEGATIVE_LABELS;
        bool one =
            negative && draw_uniform(d) < (d->world == WORLD_OTHER ? 0.2 : LG_PRIOR_ONE_NEGATIVE);
        fault->values.n = one ? 1 : fault->count;
        double how = one || d->world == WORLD_OTHER ? 1 : draw_uniform(d);
        bool urn = how < LG_PRIOR_URN;
        bool fill = !urn && how < LG_PRIOR_URN + LG_PRIOR_FILL;
        int64_t filler = !fill ? 0 : negative ? draw_negative(d, width) : draw_corrupt(d, width);
        double share = draw_uniform(d);
        int64_t first[DRAW_MAX_URN];
        int64_t n_new = 0;
        double discount = draw_uniform(d) < 0.5 ? LG_URN_DISCOUNT_FEW : LG_URN_DISCOUNT_MANY;
        for (int64_t i = 0; i < fault->values.n; i++) {
            int64_t j = urn ? draw_urn(d, i, n_new, first, discount, LG_URN_STRENGTH) : -1;
            if (j >= 0) {
                values[i] = values[j];
                continue;
            }
            if (urn) {
                first[n_new++] = i;
            }
            values[i] = fill && draw_uniform(d) < share ? filler
                        : negative                      ? draw_negative(d, width)
                                                        : draw_corrupt(d, width);
            if (!draw_is_usable(d, values[i], width)) {
                return false;
            }
        }
    }
    return true;
}

// Two faults that write the same value are one fault to whoever sees the labels.
static inline bool draw_faults_coincide(const draw *d, int64_t width, int64_t classes) {
    const lg_scenario *s = &d->scenario;
    int64_t first = INT64_MIN + 1; // a value no fault here writes
    lg_cause kind = s->faults[0].kind;
    if (kind == LG_CAUSE_OVER_SHIFTED_LABELS) {
        first = -1;
    } else if (kind == LG_CAUSE_ONE_BASED_LABELS || kind == LG_CAUSE_LABEL_EQUALS_WIDTH) {
        first = width;
    }
    const lg_fault_spec *second = &s->faults[1];
    for (int64_t i = 0; i < second->values.n; i++) {
        int64_t value = second->values.items[i];
        if (value == first || (value >= width && value < classes)) {
            return true;
        }
        for (int64_t k = 0; k < s->faults[0].values.n; k++) {
            if (s->faults[0].values.items[k] == second->values.items[i]) {
                return true;
            }
        }
    }
    for (int64_t k = 0; k < s->faults[0].values.n; k++) {
        if (second->kind == LG_CAUSE_LABEL_EQUALS_WIDTH && s->faults[0].values.items[k] == width) {
            return true;
        }
    }
    return false;
}

static inline bool draw_is_remap(lg_cause cause) {
    return cause == LG_CAUSE_WRONG_HEAD_WIDTH || cause == LG_CAUSE_ONE_BASED_LABELS ||
           cause == LG_CAUSE_OVER_SHIFTED_LABELS;
}

static inline bool draw_pair_is_possible(lg_cause a, lg_cause b) {
    bool hides = (a == LG_CAUSE_WRONG_HEAD_WIDTH || a == LG_CAUSE_ONE_BASED_LABELS) &&
                 b == LG_CAUSE_LABEL_EQUALS_WIDTH;
    return a != b && !draw_is_remap(b) && a != LG_CAUSE_FLOAT_TARGETS &&
           b != LG_CAUSE_FLOAT_TARGETS && !hides;
}

static inline void draw_ignored(draw *d, int64_t n) {
    bool other = d->world == WORLD_OTHER;
    double fraction =
        draw_uniform(d) < (other ? 0.6 : 0.3) ? (other ? 0.95 : 0.6) * draw_uniform(d) : 0;
    double u = draw_uniform(d);
    d->scenario.loss.ignore_index = u < 0.7 ? -100 : u < 0.85 ? 255 : -1;
    for (int64_t i = 0; i < n; i++) {
        d->ignored[i] = fraction > 0 && draw_uniform(d) < fraction;
    }
}

// Labels of the rows that count, over what the data set has for classes; -1 stands for none.
static inline void draw_clean_labels(draw *d, int64_t n, int64_t width, int64_t classes,
                                     lg_cause first) {
    bool more = first == LG_CAUSE_WRONG_HEAD_WIDTH;
    bool empty = width + more > 1 && draw_uniform(d) < draw_share_empty(d);
    int64_t unused = !more && classes - empty > 1 && draw_uniform(d) < draw_share_unused(d)
                         ? draw_unused(d, classes - empty)
                         : 0;
    int64_t live = 0;
    for (int64_t i = 0; i < n; i++) {
        live += !d->ignored[i];
    }
    int64_t kept = classes - empty - unused;
    draw_labels(d, live, kept, d->drawn);
    // The classes that the fault puts out of range, and the others when these are rare.
    int64_t begin = more ? width - empty : first == LG_CAUSE_ONE_BASED_LABELS ? kept - 1 : 0;
    int64_t end = first == LG_CAUSE_OVER_SHIFTED_LABELS ? 1 : kept;
    bool remap =
        more || first == LG_CAUSE_ONE_BASED_LABELS || first == LG_CAUSE_OVER_SHIFTED_LABELS;
    int64_t others = kept - (end - begin);
    if (remap && others > 0 && live > 0 && draw_uniform(d) < draw_share_rare(d)) {
        int64_t m = draw_stray_rows(d, live);
        draw_labels(d, live, others, d->drawn);
        d->spread = draw_spread(d); // the group's own
        draw_labels(d, m, end - begin, d->values);
        for (int64_t i = 0; i < live; i++) {
            d->drawn[i] += first == LG_CAUSE_OVER_SHIFTED_LABELS;
            // Selection sampling: exactly m of the rows, each as likely as any other.
            if ((double)(live - i) * draw_uniform(d) < (double)m) {
                d->drawn[i] = begin + d->values[--m];
            }
        }
    }
    int64_t at = 0;
    d->n_live = 0;
    for (int64_t i = 0; i < n; i++) {
        d->labels[i] = d->ignored[i] ? d->scenario.loss.ignore_index : d->drawn[at++] + empty;
        d->n_live += d->labels[i] != d->scenario.loss.ignore_index;
    }
}

static inline bool draw_has_label(const draw *d, int64_t n, int64_t label) {
    for (int64_t i = 0; i < n; i++) {
        if (d->labels[i] == label) {
            return true;
        }
    }
    return false;
}

static inline lg_dtype draw_dtype(draw *d, int64_t classes) {
    double u = draw_uniform(d);
    for (int i = 0; i < d->scenario.n_faults; i++) {
        lg_cause kind = d->scenario.faults[i].kind;
        // Values that only 64 bits hold, and faults that hand over a type of their own.
        if (kind == LG_CAUSE_CORRUPT_LABELS || kind == LG_CAUSE_TARGET_DTYPE ||
            kind == LG_CAUSE_FLOAT_TARGETS || kind == LG_CAUSE_NEGATIVE_LABELS ||
            kind == LG_CAUSE_SENTINEL_MISMATCH) {
            return LG_INT64;
        }
    }
    bool bytes = classes < 255 && d->scenario.loss.ignore_index == 255;
    return u < 0.7 ? LG_INT64 : u < 0.85 || !bytes ? LG_INT32 : LG_UINT8;
}

// What a user without the loader's secrets has: the labels as passed.
static inline void draw_forget_meaning(draw *d) {
    lg_batch *batch = &d->batch;
    bool narrowed = batch->device_target.dtype == LG_INT32;
    if (!lg_tensor_exists(&batch->device_target) || draw_uniform(d) < 0.3) {
        return;
    }
    for (int i = 0; i < batch->n_injections; i++) {
        if (batch->injections[i].cause == LG_CAUSE_FLOAT_TARGETS &&
            d->scenario.faults[i].form == LG_FLOAT_TRUNCATED) {
            return; // Nothing is left of it in the labels handed over.
        }
    }
    if (narrowed) {
        lg_tensor_free(&batch->device_target);
        return;
    }
    lg_tensor_free(&batch->target);
    batch->target = batch->device_target;
    batch->device_target = (lg_tensor){0};
}

static inline void draw_plan_faults(draw *d, double clean_share) {
    d->scenario.n_faults = 0;
    if (draw_uniform(d) < clean_share) {
        return;
    }
    lg_cause first = draw_cause(d);
    d->scenario.faults[0].kind = first;
    d->scenario.n_faults = 1;
    if (draw_uniform(d) >= (d->world == WORLD_OTHER ? 0.3 : LG_PRIOR_TWO_FAULTS)) {
        return;
    }
    lg_cause second = draw_cause(d);
    while (!draw_pair_is_possible(first, second) && !draw_pair_is_possible(second, first)) {
        first = draw_cause(d);
        second = draw_cause(d);
    }
    bool ordered = draw_pair_is_possible(first, second);
    d->scenario.faults[0].kind = ordered ? first : second;
    d->scenario.faults[1].kind = ordered ? second : first;
    d->scenario.n_faults = 2;
}

// Draws batch `index`; false: this draw makes no batch with its faults in it (a shift that pushes
// no label over the edge, a value the dtype cannot hold), and is skipped. Free with lg_batch_free.
static inline bool draw_batch(draw *d, world in, uint64_t seed, int64_t index, double clean_share,
                              lg_diags *diags) {
    draw_begin(d, in, seed, index);
    int64_t n = draw_size(d, DRAW_MAX_ROWS);
    int64_t width = draw_size(d, DRAW_MAX_CLASSES);
    lg_scenario *s = &d->scenario;
    s->path = "draw";
    s->loss.kind = LG_CROSS_ENTROPY;
    s->loss.reduction = LG_REDUCTION_MEAN;
    draw_plan_faults(d, clean_share);
    lg_cause first = s->n_faults > 0 ? s->faults[0].kind : LG_CAUSE_NONE;
    int64_t classes = width;
    if (first == LG_CAUSE_WRONG_HEAD_WIDTH) {
        classes += draw_missing(d, width);
    }
    d->spread = draw_spread(d);
    draw_ignored(d, n);
    draw_clean_labels(d, n, width, classes, first);
    bool possible = d->n_live > 0;
    possible = possible && (first != LG_CAUSE_ONE_BASED_LABELS || draw_has_label(d, n, width - 1));
    possible = possible && (first != LG_CAUSE_OVER_SHIFTED_LABELS || draw_has_label(d, n, 0));
    bool packed = false;
    for (int i = 0; possible && i < s->n_faults; i++) {
        lg_cause kind = s->faults[i].kind;
        possible = draw_fault(d, kind, width, &s->faults[i], i ? d->more_values : d->values);
        bool wrap = s->faults[i].where == LG_FORM_INT32_WRAP;
        packed =
            packed || kind == LG_CAUSE_FLOAT_TARGETS || (kind == LG_CAUSE_TARGET_DTYPE && !wrap);
    }
    if (!possible || (packed && s->n_faults > 1) ||
        (s->n_faults > 1 && draw_faults_coincide(d, width, classes))) {
        return false;
    }
    s->batch = (lg_batch_spec){.seed = seed ^ (uint64_t)index * UINT64_C(0x9e3779b97f4a7c15),
                               .samples = n,
                               .classes = classes,
                               .logits = {.source = LG_ARRAY_GENERATED}};
    lg_array_spec *targets = &s->batch.targets;
    targets->source = packed ? LG_ARRAY_GENERATED : LG_ARRAY_VALUES;
    targets->distribution = LG_DIST_UNIFORM;
    targets->dtype = draw_dtype(d, classes);
    targets->values_are_integers = true;
    targets->int_values = (lg_i64_list){.n = n, .items = d->labels};
    if (!lg_generate_labels_only(s, true, &d->batch, diags)) {
        return false;
    }
    bool fired = true;
    for (int i = 0; i < d->batch.n_injections; i++) {
        const lg_injection *one = &d->batch.injections[i];
        int64_t wanted = s->faults[i].values.n > 0 ? s->faults[i].count : one->n_rows;
        // A fault without a bad row shows nothing in labels; one that found too few rows is
        // another.
        fired = fired && one->fired && one->n_rows == wanted &&
                (one->n_rows > 0 || one->cause != LG_CAUSE_WRONG_HEAD_WIDTH);
    }
    if (!fired) {
        lg_batch_free(&d->batch);
        return false;
    }
    draw_forget_meaning(d);
    // The declared number of classes: unknown, the data set's, or a copy of the head's.
    d->batch.classes = draw_uniform(d) < 0.5                             ? 0
                       : draw_uniform(d) < LG_PRIOR_DECLARED_COPIES_HEAD ? width
                                                                         : classes;
    return true;
}

#endif
