// SPDX-License-Identifier: Apache-2.0
// Batches as values, and parts of batches.
#include "shrink/internal.h"

#include "support/alloc.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_binary(const lg_batch *batch) {
    return batch->loss.kind == LG_BCE || batch->loss.kind == LG_BCE_WITH_LOGITS;
}

int lg_shrink_class_axis(const lg_batch *batch) {
    return is_binary(batch) ? -1 : batch->input.rank > 1 ? 1 : 0;
}

static lg_i64_list list_of(lg_arena *arena, const int64_t *items, int64_t n) {
    lg_i64_list list = {.n = n};
    if (n) {
        list.items = lg_arena_array(arena, (size_t)n, sizeof(*list.items));
        memcpy(list.items, items, (size_t)n * sizeof(*list.items));
    }
    return list;
}

static lg_array_spec spec_of(const lg_tensor *tensor, bool probabilities, lg_arena *arena) {
    lg_array_spec spec = {.probabilities = probabilities};
    if (!lg_tensor_exists(tensor)) {
        return spec;
    }
    int64_t n = lg_tensor_numel(tensor);
    spec.source = LG_ARRAY_VALUES;
    spec.dtype = tensor->dtype;
    spec.values_are_integers = !lg_dtype_is_float(tensor->dtype);
    spec.values.items = lg_arena_array(arena, (size_t)n + 1, sizeof(*spec.values.items));
    spec.values.n = n;
    if (spec.values_are_integers) {
        spec.int_values.items =
            lg_arena_array(arena, (size_t)n + 1, sizeof(*spec.int_values.items));
        spec.int_values.n = n;
    }
    for (int64_t i = 0; i < n; i++) {
        spec.values.items[i] = lg_tensor_get_f64(tensor, i);
        if (spec.values_are_integers) {
            spec.int_values.items[i] = lg_tensor_get_i64(tensor, i);
        }
    }
    spec.shape = list_of(arena, tensor->shape, tensor->rank);
    spec.scalar = tensor->rank == 0;
    if (!lg_tensor_is_contiguous(tensor)) {
        spec.stride = list_of(arena, lg_tensor_given_stride(tensor), tensor->rank);
    }
    return spec;
}

// The sizes a reader wants beside listed arrays: those of the input.
static void set_sizes(const lg_batch *batch, lg_arena *arena, lg_batch_spec *spec) {
    const lg_tensor *input = &batch->input;
    bool binary = is_binary(batch);
    spec->unbatched = !binary && input->rank == 1;
    spec->samples = spec->unbatched || input->rank == 0 ? 1 : input->shape[0];
    bool has_columns = binary && input->rank > 1 && input->shape[1] > 1;
    if (binary) {
        spec->classes = has_columns ? input->shape[1] : 1;
    } else {
        spec->classes = batch->classes > 0 ? batch->classes : lg_batch_head_width(batch);
    }
    int first = spec->unbatched || (binary && !has_columns) ? 1 : 2;
    int64_t n_extent = input->rank > first ? input->rank - first : 0;
    spec->extent = list_of(arena, input->shape + first, n_extent);
    spec->ignored_fraction = 0;
    spec->seed = 0;
}

void lg_shrink_literal(const lg_batch *batch, const lg_scenario *base, lg_arena *arena,
                       lg_scenario *out) {
    *out = *base;
    out->loss = batch->loss;
    out->n_faults = 0;
    out->weight = spec_of(&batch->weight, false, arena);
    out->pos_weight = spec_of(&batch->pos_weight, false, arena);
    out->grad_output = spec_of(&batch->grad_output, false, arena);
    set_sizes(batch, arena, &out->batch);
    out->batch.logits = spec_of(&batch->input, false, arena);
    out->batch.targets =
        spec_of(lg_batch_device_target(batch), batch->target_is_probability, arena);
}

static double short_decimal(lg_dtype dtype, double value) {
    for (int digits = 1; digits < 17 && isfinite(value); digits++) {
        char text[40];
        snprintf(text, sizeof(text), "%.*g", digits, value);
        double shorter = strtod(text, NULL);
        double stored = 0; // room for an element of any type
        lg_dtype_set_f64(dtype, &stored, 0, shorter);
        if (lg_dtype_get_f64(dtype, &stored, 0) == value) {
            return shorter;
        }
    }
    return value;
}

void lg_shrink_short_decimals(lg_scenario *scenario) {
    lg_array_spec *const specs[] = {&scenario->batch.logits, &scenario->batch.targets,
                                    &scenario->weight, &scenario->pos_weight,
                                    &scenario->grad_output};
    for (size_t i = 0; i < sizeof specs / sizeof specs[0]; i++) {
        bool listed = specs[i]->source == LG_ARRAY_VALUES && lg_dtype_is_float(specs[i]->dtype);
        for (int64_t k = 0; listed && k < specs[i]->values.n; k++) {
            specs[i]->values.items[k] = short_decimal(specs[i]->dtype, specs[i]->values.items[k]);
        }
    }
}

static bool copy_tensor(const lg_tensor *in, lg_tensor *out) {
    return !lg_tensor_exists(in) || lg_tensor_copy(out, in);
}

bool lg_shrink_copy_batch(const lg_batch *batch, lg_batch *out) {
    *out = (lg_batch){.loss = batch->loss,
                      .classes = batch->classes,
                      .target_is_probability = batch->target_is_probability};
    bool ok = copy_tensor(&batch->input, &out->input) &&
              copy_tensor(&batch->target, &out->target) &&
              copy_tensor(&batch->device_target, &out->device_target) &&
              copy_tensor(&batch->weight, &out->weight) &&
              copy_tensor(&batch->pos_weight, &out->pos_weight) &&
              copy_tensor(&batch->grad_output, &out->grad_output);
    if (!ok) {
        lg_batch_free(out);
    }
    return ok;
}

static void copy_element(const lg_tensor *in, int64_t from, lg_tensor *out, int64_t to) {
    if (lg_dtype_is_float(in->dtype)) {
        lg_tensor_set_f64(out, to, lg_tensor_get_f64(in, from));
    } else {
        lg_tensor_set_i64(out, to, lg_tensor_get_i64(in, from));
    }
}

// Of contiguous arrays, whole runs of elements.
static void copy_runs(const lg_tensor *in, int axis, const int64_t *keep, int64_t n,
                      lg_tensor *out) {
    int64_t outer = 1;
    int64_t inner = 1;
    for (int i = 0; i < in->rank; i++) {
        outer *= i < axis ? in->shape[i] : 1;
        inner *= i > axis ? in->shape[i] : 1;
    }
    size_t run = (size_t)inner * lg_dtype_bytes(in->dtype);
    bool plain = lg_tensor_is_contiguous(in) && lg_tensor_is_contiguous(out);
    for (int64_t o = 0; o < outer; o++) {
        for (int64_t k = 0; k < n; k++) {
            int64_t from = o * in->shape[axis] + keep[k];
            int64_t to = o * n + k;
            if (plain && run) {
                memcpy((char *)out->data + (size_t)to * run, (char *)in->data + (size_t)from * run,
                       run);
            }
            for (int64_t i = 0; !plain && i < inner; i++) {
                copy_element(in, from * inner + i, out, to * inner + i);
            }
        }
    }
}

// A strided view stays one: with the same strides over the part.
static bool take_from(const lg_tensor *in, int axis, const int64_t *keep, int64_t n,
                      lg_tensor *out) {
    int64_t shape[LG_MAX_RANK];
    memcpy(shape, in->shape, sizeof shape);
    shape[axis] = n;
    bool ok = lg_tensor_is_contiguous(in) ? lg_tensor_init(out, in->dtype, in->rank, shape)
                                          : lg_tensor_init_like(out, in->dtype, shape, in);
    if (ok) {
        copy_runs(in, axis, keep, n, out);
    }
    return ok;
}

static bool take(lg_tensor *tensor, int axis, const int64_t *keep, int64_t n) {
    lg_tensor part = {0};
    if (!take_from(tensor, axis, keep, n, &part)) {
        return false;
    }
    lg_tensor_free(tensor);
    *tensor = part;
    return true;
}

static bool has_axis(const lg_tensor *tensor, int axis, int64_t size) {
    return lg_tensor_exists(tensor) && axis >= 0 && axis < tensor->rank &&
           tensor->shape[axis] == size;
}

// Takes the part where the tensor has that axis with the same size; a shape that does not match is
// a fault that stays.
static bool take_if(lg_tensor *tensor, int axis, int64_t size, const int64_t *keep, int64_t n) {
    return !has_axis(tensor, axis, size) || take(tensor, axis, keep, n);
}

// The same into another tensor.
static bool part_of(const lg_tensor *in, int axis, int64_t size, const int64_t *keep, int64_t n,
                    lg_tensor *out) {
    return has_axis(in, axis, size) ? take_from(in, axis, keep, n, out) : copy_tensor(in, out);
}

static bool has_shape_of_input(const lg_batch *batch) {
    return is_binary(batch) || batch->target_is_probability;
}

bool lg_shrink_take(const lg_batch *batch, int axis, const int64_t *keep, int64_t n,
                    lg_batch *out) {
    *out = (lg_batch){.loss = batch->loss,
                      .classes = batch->classes,
                      .target_is_probability = batch->target_is_probability};
    int64_t size = batch->input.shape[axis];
    // An array with one value a row has no class axis.
    int row_axis = is_binary(batch) || axis == 0 ? axis : axis - 1;
    int target_axis = has_shape_of_input(batch) ? axis : row_axis;
    // Weights of binary losses broadcast from the last axis on; others have no such axis.
    int none = -1;
    int weight_axis = is_binary(batch) ? axis - (batch->input.rank - batch->weight.rank) : none;
    int pos_axis = is_binary(batch) ? axis - (batch->input.rank - batch->pos_weight.rank) : none;
    bool ok = part_of(&batch->input, axis, size, keep, n, &out->input) &&
              part_of(&batch->target, target_axis, size, keep, n, &out->target) &&
              part_of(&batch->device_target, target_axis, size, keep, n, &out->device_target) &&
              part_of(&batch->grad_output, row_axis, size, keep, n, &out->grad_output) &&
              part_of(&batch->weight, weight_axis, size, keep, n, &out->weight) &&
              part_of(&batch->pos_weight, pos_axis, size, keep, n, &out->pos_weight);
    if (!ok) {
        lg_batch_free(out);
    }
    return ok;
}

bool lg_shrink_cut_target(const lg_batch *batch, int64_t n, lg_batch *out) {
    if (batch->target.rank == 0 || n > batch->target.shape[0] ||
        !lg_shrink_copy_batch(batch, out)) {
        return false;
    }
    int64_t *first = lg_xmalloc((size_t)(n + 1) * sizeof(*first));
    for (int64_t i = 0; i < n; i++) {
        first[i] = i;
    }
    bool ok = take(&out->target, 0, first, n);
    free(first);
    if (!ok) {
        lg_batch_free(out);
    }
    return ok;
}

static int64_t moved_label(int64_t label, int64_t width, const int64_t *keep, int64_t n,
                           bool shift) {
    if (label < 0) {
        return label;
    }
    if (label >= width) {
        return shift ? label - (width - n) : label;
    }
    for (int64_t k = 0; k < n; k++) {
        if (keep[k] == label) {
            return k;
        }
    }
    return label; // an ignored class without a row: any value will do
}

static void move_labels(lg_tensor *target, int64_t ignored, int64_t width, const int64_t *keep,
                        int64_t n, bool shift, int64_t new_ignored) {
    int64_t n_labels = lg_tensor_numel(target);
    for (int64_t i = 0; i < n_labels; i++) {
        if (lg_dtype_is_float(target->dtype)) {
            double label = lg_tensor_get_f64(target, i);
            double whole = (double)(int64_t)label;
            if (label >= 0 && label < (double)width) {
                lg_tensor_set_f64(target, i,
                                  (double)moved_label((int64_t)label, width, keep, n, shift) +
                                      (label - whole));
            }
        } else {
            int64_t label = lg_tensor_get_i64(target, i);
            lg_tensor_set_i64(target, i,
                              label == ignored ? new_ignored
                                               : moved_label(label, width, keep, n, shift));
        }
    }
}

bool lg_shrink_take_classes(const lg_batch *batch, const int64_t *keep, int64_t n, bool shift,
                            lg_batch *out) {
    int axis = lg_shrink_class_axis(batch);
    if (axis < 0 || !lg_shrink_copy_batch(batch, out)) {
        return false;
    }
    int64_t width = batch->input.shape[axis];
    bool ok = take(&out->input, axis, keep, n);
    if (ok && batch->target_is_probability) {
        ok = take_if(&out->target, axis, width, keep, n);
    } else if (ok) {
        int64_t ignored = batch->loss.ignore_index;
        out->loss.ignore_index = moved_label(ignored, width, keep, n, shift);
        move_labels(&out->target, ignored, width, keep, n, shift, out->loss.ignore_index);
    }
    int64_t dropped = width - n;
    if (ok && lg_tensor_exists(&out->weight) && out->weight.rank == 1) {
        int64_t length = out->weight.shape[0];
        if (length == width) {
            ok = take(&out->weight, 0, keep, n);
        } else if (length > dropped) {
            // A wrong length stays as wrong as it was.
            int64_t *first = lg_xmalloc((size_t)length * sizeof(*first));
            for (int64_t i = 0; i < length - dropped; i++) {
                first[i] = i;
            }
            ok = take(&out->weight, 0, first, length - dropped);
            free(first);
        }
    }
    if (ok) {
        out->classes = batch->classes > dropped ? batch->classes - dropped : 0;
    } else {
        lg_batch_free(out);
    }
    return ok;
}
