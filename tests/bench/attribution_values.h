// SPDX-License-Identifier: Apache-2.0
// Batches with values for measuring attribution: faults of inputs, probabilities, weights, shapes
// and types, alone or with a label fault, on all losses.
#ifndef LG_BENCH_ATTRIBUTION_VALUES_H
#define LG_BENCH_ATTRIBUTION_VALUES_H

#include "attribution_world.h"
#include "batch/batch.h"

#include <string.h>

enum { DRAW_MAX_ENTRIES = 1 << 15 };

static inline double draw_number(draw *d, int n, const double *numbers) {
    return numbers[draw_below(d, n)];
}

static inline lg_dtype draw_float_dtype(draw *d) {
    const lg_dtype types[] = {LG_FLOAT64, LG_FLOAT32, LG_FLOAT32, LG_FLOAT16, LG_BFLOAT16};
    return types[draw_below(d, 5)];
}

// One fault of the values, with the loss it belongs to.
static inline void draw_value_fault(draw *d, lg_fault_spec *fault) {
    static const lg_cause kinds[] = {LG_CAUSE_VALUE_DOMAIN,     LG_CAUSE_SHAPE_LAYOUT,
                                     LG_CAUSE_BCE_RANGE,        LG_CAUSE_WEIGHT_VECTOR,
                                     LG_CAUSE_NONFINITE_LOGITS, LG_CAUSE_NO_SUPERVISED_ROW,
                                     LG_CAUSE_TARGET_DTYPE};
    lg_loss_options *loss = &d->scenario.loss;
    lg_array_spec *targets = &d->scenario.batch.targets;
    *fault = (lg_fault_spec){.kind = kinds[draw_below(d, 7)]};
    fault->count = draw_size(d, 8);
    loss->kind = draw_uniform(d) < 0.5 ? LG_NLL_LOSS : LG_CROSS_ENTROPY;
    if (fault->kind == LG_CAUSE_VALUE_DOMAIN) {
        static const lg_fault_form forms[] = {LG_FORM_PROBABILITIES, LG_FORM_RAW_LOGITS,
                                              LG_FORM_NEGATIVE, LG_FORM_UNNORMALISED};
        fault->where = forms[draw_below(d, 4)];
        targets->probabilities =
            fault->where == LG_FORM_NEGATIVE || fault->where == LG_FORM_UNNORMALISED;
        loss->kind = targets->probabilities ? LG_CROSS_ENTROPY : LG_NLL_LOSS;
    } else if (fault->kind == LG_CAUSE_SHAPE_LAYOUT) {
        static const lg_fault_form forms[] = {LG_FORM_BATCH, LG_FORM_RANK, LG_FORM_CLASS_LAST};
        fault->where = forms[draw_below(d, 3)];
    } else if (fault->kind == LG_CAUSE_BCE_RANGE) {
        static const lg_fault_form forms[] = {LG_FORM_INPUT_OUTSIDE, LG_FORM_TARGET_OUTSIDE};
        static const double numbers[] = {1.5, -0.25, 2, 1.0078125, 255, -1};
        fault->where = forms[draw_below(d, 2)];
        fault->number = draw_number(d, 6, numbers);
        bool target = fault->where == LG_FORM_TARGET_OUTSIDE;
        loss->kind = target && draw_uniform(d) < 0.5 ? LG_BCE_WITH_LOGITS : LG_BCE;
    } else if (fault->kind == LG_CAUSE_WEIGHT_VECTOR) {
        static const double numbers[] = {-1, INFINITY, NAN, 0, 0};
        fault->number = draw_number(d, 5, numbers);
        fault->length = fault->number == 0 ? 1 + draw_below(d, 64) : 0;
    } else if (fault->kind == LG_CAUSE_NONFINITE_LOGITS) {
        static const double numbers[] = {NAN, INFINITY, -INFINITY};
        fault->number = draw_number(d, 3, numbers);
        if (draw_uniform(d) < 0.3) {
            loss->kind = draw_uniform(d) < 0.5 ? LG_BCE : LG_BCE_WITH_LOGITS;
        }
    } else if (fault->kind == LG_CAUSE_NO_SUPERVISED_ROW) {
        static const lg_fault_form forms[] = {LG_FORM_IGNORED, LG_FORM_ZERO_WEIGHT};
        fault->where = forms[draw_below(d, 2)];
    } else {
        static const lg_dtype types[] = {LG_INT16, LG_INT8, LG_BOOL};
        fault->where = LG_FORM_REFUSED;
        fault->dtype = types[draw_below(d, 3)];
    }
    targets->probabilities =
        targets->probabilities || loss->kind == LG_BCE || loss->kind == LG_BCE_WITH_LOGITS;
}

// A label fault beside it, where the loss takes labels and the labels are there to be read.
static inline void draw_label_fault_beside(draw *d) {
    lg_scenario *s = &d->scenario;
    static const lg_cause kinds[] = {LG_CAUSE_LABEL_EQUALS_WIDTH, LG_CAUSE_NEGATIVE_LABELS,
                                     LG_CAUSE_CORRUPT_LABELS};
    lg_cause first = s->faults[0].kind;
    bool possible = !s->batch.targets.probabilities && first != LG_CAUSE_SHAPE_LAYOUT &&
                    first != LG_CAUSE_NO_SUPERVISED_ROW && first != LG_CAUSE_TARGET_DTYPE &&
                    first != LG_CAUSE_VALUE_DOMAIN;
    double share = d->world == WORLD_OTHER ? 0.3 : LG_PRIOR_TWO_FAULTS;
    if (!possible || draw_uniform(d) >= share) {
        return;
    }
    // Labels first: what spoils values keeps off the rows that are spoiled already.
    s->faults[1] = s->faults[0];
    s->faults[0] = (lg_fault_spec){.kind = kinds[draw_below(d, 3)], .count = draw_size(d, 4)};
    s->n_faults = 2;
}

// Draws batch `index`; false: this draw makes no batch with its faults in it. lg_batch_free.
static inline bool draw_values_batch(draw *d, world in, uint64_t seed, int64_t index,
                                     lg_diags *diags) {
    draw_begin(d, in, seed, index);
    lg_scenario *s = &d->scenario;
    int64_t n = draw_size(d, DRAW_MAX_ROWS);
    int64_t most = DRAW_MAX_ENTRIES / n;
    int64_t classes = draw_size(d, most < DRAW_MAX_CLASSES ? most : DRAW_MAX_CLASSES);
    static const lg_reduction reductions[] = {LG_REDUCTION_NONE, LG_REDUCTION_MEAN,
                                              LG_REDUCTION_SUM};
    static const lg_distribution spreads[] = {LG_DIST_UNIFORM, LG_DIST_ZIPF, LG_DIST_ROUND_ROBIN};
    s->loss = (lg_loss_options){
        .reduction = reductions[draw_below(d, 3)], .ignore_index = -100, .direction = LG_FORWARD};
    s->batch = (lg_batch_spec){
        .seed = seed ^ (uint64_t)index * UINT64_C(0x9e3779b97f4a7c15),
        .samples = n,
        .classes = classes,
        .logits = {.source = LG_ARRAY_GENERATED,
                   .dtype = draw_float_dtype(d),
                   .scale = in == WORLD_OTHER ? 5 : 2},
        .targets = {.source = LG_ARRAY_GENERATED, .distribution = spreads[draw_below(d, 3)]}};
    draw_value_fault(d, &s->faults[0]);
    s->n_faults = 1;
    if (s->batch.targets.probabilities) {
        s->batch.targets.distribution = LG_DIST_DEFAULT;
        s->batch.targets.dtype = s->batch.logits.dtype;
    } else if (draw_uniform(d) < 0.3) {
        s->batch.ignored_fraction = 0.5 * draw_uniform(d);
    }
    draw_label_fault_beside(d);
    if (!lg_generate(s, true, &d->batch, diags)) {
        return false;
    }
    bool fired = true;
    for (int i = 0; i < d->batch.n_injections; i++) {
        fired = fired && d->batch.injections[i].fired;
    }
    if (!fired) {
        lg_batch_free(&d->batch);
    }
    d->n_live = n;
    return fired;
}

#endif
