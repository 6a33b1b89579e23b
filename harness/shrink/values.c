// SPDX-License-Identifier: Apache-2.0
// Options to their defaults, numbers to small round ones.
#include "shrink/internal.h"

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

typedef double (*simplify)(double value, int64_t i); // the i-th number of its array

// Small numbers that differ: rows that are all alike have the same loss whatever the label, and
// hide what the label and the order of the rows do.
static double to_pattern(double value, int64_t i) {
    (void)value;
    return (double)(i % 3) - 1;
}

static double to_log_pattern(double value, int64_t i) { // log-probabilities
    (void)value;
    return -1 - (double)(i % 3);
}

static double to_share_pattern(double value, int64_t i) { // probabilities
    (void)value;
    return 0.25 * (double)(1 + i % 3);
}

static double to_one(double value, int64_t i) { // a weight
    (void)value;
    (void)i;
    return 1;
}

static double to_whole(double value, int64_t i) {
    (void)i;
    return rint(value);
}

static double to_tenths(double value, int64_t i) {
    (void)i;
    return rint(value * 10) / 10;
}

static double to_hundredths(double value, int64_t i) {
    (void)i;
    return rint(value * 100) / 100;
}

// NaN and infinities are never made round: they may be the fault. Numbers that differ do not become
// one.
static bool apply_to(lg_tensor *tensor, simplify simple) {
    bool changed = false;
    bool differed = false;
    bool differs = false;
    int64_t n = lg_tensor_numel(tensor);
    double first = n > 0 ? lg_tensor_get_f64(tensor, 0) : 0;
    for (int64_t i = 0; i < n; i++) {
        double value = lg_tensor_get_f64(tensor, i);
        double simpler = isfinite(value) ? simple(value, i) : value;
        lg_tensor_set_f64(tensor, i, simpler);
        changed = changed || (isfinite(value) && lg_tensor_get_f64(tensor, i) != value);
        differed = differed || value != first;
        differs = differs || lg_tensor_get_f64(tensor, i) != lg_tensor_get_f64(tensor, 0);
    }
    return changed && (differs || !differed || simple == to_one);
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
            continue; // it is as simple as this way makes it, or would be too simple
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

// Classes that differ stay two: rows of one class are alike but for their logits.
static bool labels_to_two(lg_batch *batch) {
    int64_t width = lg_batch_head_width(batch);
    int64_t ignored = batch->loss.ignore_index;
    bool changed = false;
    int64_t n = lg_tensor_numel(&batch->target);
    for (int64_t i = 0; i < n; i++) {
        int64_t label = lg_tensor_get_i64(&batch->target, i);
        if (label > 1 && label < width && label != ignored && label % 2 != ignored) {
            lg_tensor_set_i64(&batch->target, i, label % 2);
            changed = true;
        }
    }
    return changed;
}

// A label in range is a class that is kept; one outside comes as near as the finding allows.
static bool simplify_labels(lg_shrinker *s) {
    enum { MAX_LABELS = 32 };
    const lg_batch *batch = &s->batch;
    if (batch->target_is_probability || lg_shrink_class_axis(batch) < 0 ||
        lg_dtype_is_float(batch->target.dtype)) {
        return false;
    }
    int64_t n = lg_tensor_numel(&batch->target);
    int64_t width = lg_batch_head_width(batch);
    bool smaller = try_change(s, labels_to_two);
    for (int64_t i = 0; i < n && i < MAX_LABELS; i++) {
        int64_t label = lg_tensor_get_i64(&s->batch.target, i);
        if (label == s->batch.loss.ignore_index || label == 0 || label == -1 || label == width) {
            continue;
        }
        if (label > 0 && label < width) {
            continue;
        }
        if (label < 0) {
            smaller = try_label(s, i, -1) || smaller;
        } else {
            smaller = try_label(s, i, width) || (label > width + 1 && try_label(s, i, width + 1)) ||
                      smaller;
        }
    }
    return smaller;
}

bool lg_shrink_values(lg_shrinker *s) {
    static const simplify logits[] = {to_pattern, to_log_pattern, to_share_pattern,
                                      to_whole,   to_tenths,      to_hundredths};
    static const simplify weights[] = {to_one, to_whole, to_tenths, to_hundredths};
    static const simplify probabilities[] = {to_whole, to_share_pattern, to_tenths, to_hundredths};
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
