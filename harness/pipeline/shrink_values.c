// SPDX-License-Identifier: Apache-2.0
// Options to their defaults, numbers to small round ones.
#include "pipeline/shrink_parts.h"

#include <math.h>

typedef bool (*change)(lg_batch *batch); // false: there is nothing to change

static bool try_change(lg_shrinker *s, change apply) {
    lg_batch candidate;
    if (lg_shrink_is_out_of_runs(s) || !lg_shrink_copy_batch(&s->batch, &candidate)) {
        return false;
    }
    if (!apply(&candidate)) {
        lg_batch_free(&candidate);
        return false;
    }
    return lg_shrink_try_batch(s, &candidate);
}

static bool remove_tensor(lg_tensor *tensor) {
    bool there = lg_tensor_exists(tensor);
    lg_tensor_free(tensor);
    *tensor = (lg_tensor){0};
    return there;
}

static bool no_weight(lg_batch *batch) {
    return remove_tensor(&batch->weight);
}

static bool no_pos_weight(lg_batch *batch) {
    return remove_tensor(&batch->pos_weight);
}

static bool no_grad_output(lg_batch *batch) {
    return remove_tensor(&batch->grad_output);
}

static bool no_smoothing(lg_batch *batch) {
    bool changed = batch->loss.label_smoothing != 0;
    batch->loss.label_smoothing = 0;
    return changed;
}

static bool forward_only(lg_batch *batch) {
    bool changed = batch->loss.direction == LG_BOTH;
    batch->loss.direction = LG_FORWARD;
    remove_tensor(&batch->grad_output);
    return changed;
}

// A label that was ignored so far is a fault then; the run says whether that matters.
static bool plain_ignore_index(lg_batch *batch) {
    enum { PLAIN = -100 };
    bool changed = batch->loss.ignore_index != PLAIN;
    batch->loss.ignore_index = PLAIN;
    return changed;
}

static bool to_mean(lg_batch *batch) {
    bool changed = batch->loss.reduction == LG_REDUCTION_SUM;
    batch->loss.reduction = LG_REDUCTION_MEAN;
    return changed;
}

static bool make_contiguous(lg_tensor *tensor) {
    lg_tensor plain = {0};
    if (!lg_tensor_exists(tensor) || lg_tensor_is_contiguous(tensor) ||
        !lg_tensor_init(&plain, tensor->dtype, tensor->rank, tensor->shape)) {
        return false;
    }
    int64_t n = lg_tensor_numel(tensor);
    for (int64_t i = 0; i < n; i++) {
        if (lg_dtype_is_float(tensor->dtype)) {
            lg_tensor_set_f64(&plain, i, lg_tensor_get_f64(tensor, i));
        } else {
            lg_tensor_set_i64(&plain, i, lg_tensor_get_i64(tensor, i));
        }
    }
    lg_tensor_free(tensor);
    *tensor = plain;
    return true;
}

static bool contiguous(lg_batch *batch) {
    bool changed = make_contiguous(&batch->input);
    changed = make_contiguous(&batch->target) || changed;
    return make_contiguous(&batch->weight) || changed;
}

bool lg_shrink_options_away(lg_shrinker *s) {
    static const change changes[] = {no_weight,    no_pos_weight,      no_grad_output, no_smoothing,
                                     forward_only, plain_ignore_index, to_mean,        contiguous};
    bool smaller = false;
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        smaller = try_change(s, changes[i]) || smaller;
    }
    if (s->base.relations && !lg_shrink_is_out_of_runs(s)) {
        uint32_t relations = s->base.relations;
        lg_batch same;
        s->base.relations = 0;
        if (lg_shrink_copy_batch(&s->batch, &same) && lg_shrink_try_batch(s, &same)) {
            smaller = true;
        } else {
            s->base.relations = relations;
        }
    }
    return smaller;
}

// --- numbers

typedef double (*simplify)(double value);

static double to_zero(double value) {
    (void)value;
    return 0;
}

static double to_minus_one(double value) { // a log-probability
    (void)value;
    return -1;
}

static double to_half(double value) { // a probability
    (void)value;
    return 0.5;
}

static double to_one(double value) { // a weight
    (void)value;
    return 1;
}

static double to_whole(double value) {
    return rint(value);
}

static double to_tenths(double value) {
    return rint(value * 10) / 10;
}

static double to_hundredths(double value) {
    return rint(value * 100) / 100;
}

// NaN and infinities are never made round: they may be the fault.
static bool apply_to(lg_tensor *tensor, simplify simple) {
    bool changed = false;
    int64_t n = lg_tensor_numel(tensor);
    for (int64_t i = 0; i < n; i++) {
        double value = lg_tensor_get_f64(tensor, i);
        double simpler = isfinite(value) ? simple(value) : value;
        lg_tensor_set_f64(tensor, i, simpler);
        changed = changed || (isfinite(value) && lg_tensor_get_f64(tensor, i) != value);
    }
    return changed;
}

typedef lg_tensor *(*part)(lg_batch *batch); // NULL: the batch has no such part

static lg_tensor *input_of(lg_batch *batch) {
    return &batch->input;
}

static lg_tensor *weight_of(lg_batch *batch) {
    return &batch->weight;
}

static lg_tensor *pos_weight_of(lg_batch *batch) {
    return &batch->pos_weight;
}

static lg_tensor *grad_output_of(lg_batch *batch) {
    return &batch->grad_output;
}

static lg_tensor *probabilities_of(lg_batch *batch) {
    return batch->target_is_probability ? &batch->target : NULL;
}

// The first of the ways, simplest first, that keeps the fault.
static bool simplify_part(lg_shrinker *s, part which, const simplify *ways, size_t n) {
    const lg_tensor *tensor = which(&s->batch);
    if (!tensor || !lg_tensor_exists(tensor) || !lg_dtype_is_float(tensor->dtype)) {
        return false;
    }
    for (size_t i = 0; i < n && !lg_shrink_is_out_of_runs(s); i++) {
        lg_batch candidate;
        if (!lg_shrink_copy_batch(&s->batch, &candidate)) {
            return false;
        }
        if (!apply_to(which(&candidate), ways[i])) {
            lg_batch_free(&candidate);
            return false; // it is as simple as this way makes it
        }
        if (lg_shrink_try_batch(s, &candidate)) {
            return true;
        }
    }
    return false;
}

static bool try_label(lg_shrinker *s, int64_t at, int64_t label) {
    lg_batch candidate;
    if (lg_shrink_is_out_of_runs(s) || lg_tensor_get_i64(&s->batch.target, at) == label ||
        !lg_dtype_holds(s->batch.target.dtype, label) ||
        !lg_shrink_copy_batch(&s->batch, &candidate)) {
        return false;
    }
    lg_tensor_set_i64(&candidate.target, at, label);
    return lg_shrink_try_batch(s, &candidate);
}

static bool labels_to_zero(lg_batch *batch) {
    int64_t width = lg_batch_head_width(batch);
    bool changed = false;
    int64_t n = lg_tensor_numel(&batch->target);
    for (int64_t i = 0; i < n; i++) {
        int64_t label = lg_tensor_get_i64(&batch->target, i);
        if (label > 0 && label < width && label != batch->loss.ignore_index) {
            lg_tensor_set_i64(&batch->target, i, 0);
            changed = true;
        }
    }
    return changed;
}

// A label in range becomes 0 (all of them at once where that goes), one outside comes as near as
// the finding allows.
static bool simplify_labels(lg_shrinker *s) {
    enum { MAX_LABELS = 32 };
    const lg_batch *batch = &s->batch;
    if (batch->target_is_probability || lg_shrink_class_axis(batch) < 0 ||
        lg_dtype_is_float(batch->target.dtype)) {
        return false;
    }
    int64_t n = lg_tensor_numel(&batch->target);
    int64_t width = lg_batch_head_width(batch);
    bool smaller = try_change(s, labels_to_zero);
    for (int64_t i = 0; i < n && i < MAX_LABELS; i++) {
        int64_t label = lg_tensor_get_i64(&s->batch.target, i);
        if (label == s->batch.loss.ignore_index || label == 0 || label == -1 || label == width) {
            continue;
        }
        if (label > 0 && label < width) {
            smaller = try_label(s, i, 0) || smaller;
        } else if (label < 0) {
            smaller = try_label(s, i, -1) || smaller;
        } else {
            smaller = try_label(s, i, width) || (label > width + 1 && try_label(s, i, width + 1)) ||
                      smaller;
        }
    }
    return smaller;
}

bool lg_shrink_values(lg_shrinker *s) {
    static const simplify logits[] = {to_zero,  to_minus_one, to_half,
                                      to_whole, to_tenths,    to_hundredths};
    static const simplify weights[] = {to_one, to_whole, to_tenths, to_hundredths};
    static const simplify probabilities[] = {to_whole, to_half, to_tenths, to_hundredths};
    static const struct {
        part which;
        const simplify *ways;
        size_t n;
    } parts[] = {
        {input_of, logits, 6},
        {weight_of, weights, 4},
        {pos_weight_of, weights, 4},
        {grad_output_of, weights, 4},
        {probabilities_of, probabilities, 4},
    };
    bool smaller = simplify_labels(s);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        smaller = simplify_part(s, parts[i].which, parts[i].ways, parts[i].n) || smaller;
    }
    return smaller;
}
