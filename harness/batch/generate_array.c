// SPDX-License-Identifier: Apache-2.0
#include "batch/internal.h"

#include "model/far_view.h"
#include "model/tensor_file.h"
#include "support/alloc.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool wrong_strides(const lg_array_spec *spec, int rank) {
    return spec->stride.n != 0 && spec->stride.n != rank;
}

bool lg_array_allocate(const lg_array_spec *spec, lg_loc loc, const char *place, lg_dtype dtype,
                       const lg_array_shape *shape, lg_tensor *out, lg_diags *diags) {
    if (wrong_strides(spec, shape->rank)) {
        return lg_error(diags, loc, "%s has %d dimensions and %lld strides", place, shape->rank,
                        (long long)spec->stride.n);
    }
    int64_t bytes, n;
    lg_view_reach reach = spec->stride.n
                              ? lg_view_reach_of(lg_dtype_bytes(dtype), shape->rank, shape->size,
                                                 spec->stride.items, &bytes, &n)
                              : LG_VIEW_NEAR;
    if (reach > LG_VIEW_FAR) {
        return lg_error(diags, loc, "%s.stride: no such view can be laid out", place);
    }
    bool done =
        spec->stride.n == 0 ? lg_tensor_init(out, dtype, shape->rank, shape->size)
        : reach == LG_VIEW_FAR
            ? lg_tensor_init_far(out, dtype, shape->rank, shape->size, spec->stride.items)
            : lg_tensor_init_strided(out, dtype, shape->rank, shape->size, spec->stride.items);
    if (!done) {
        return lg_error(diags, loc, "%s does not fit in memory", place);
    }
    // Gaps between strided elements are never read by a right kernel; they hold something definite.
    if (spec->stride.n && out->n_stored) {
        memset(out->data, 0, lg_tensor_bytes(out));
    }
    return true;
}

static bool shape_of_list(const lg_array_spec *spec, lg_loc loc, const char *place, int64_t n,
                          lg_array_shape *shape, lg_diags *diags) {
    if (spec->shape.n > LG_MAX_RANK) {
        return lg_error(diags, loc, "%s has %lld dimensions, at most %d are possible", place,
                        (long long)spec->shape.n, LG_MAX_RANK);
    }
    if (spec->shape.n == 0 && !spec->scalar) {
        *shape = (lg_array_shape){.rank = 1, .size = {n}};
        return true;
    }
    int64_t product = 1;
    shape->rank = (int)spec->shape.n;
    for (int i = 0; i < shape->rank; i++) {
        shape->size[i] = spec->shape.items[i];
        if (shape->size[i] < 0 || __builtin_mul_overflow(product, shape->size[i], &product)) {
            return lg_error(diags, loc, "%s has an impossible shape", place);
        }
    }
    if (product != n) {
        return lg_error(diags, loc, "%s lists %lld values for a shape of %lld elements", place,
                        (long long)n, (long long)product);
    }
    return true;
}

static bool load_list(const lg_array_spec *spec, lg_loc loc, const char *place, lg_dtype dtype,
                      lg_tensor *out, lg_diags *diags) {
    int64_t n = spec->values_are_integers ? spec->int_values.n : spec->values.n;
    lg_array_shape shape = {0};
    if (!shape_of_list(spec, loc, place, n, &shape, diags) ||
        !lg_array_allocate(spec, loc, place, dtype, &shape, out, diags)) {
        return false;
    }
    bool whole = spec->values_are_integers && !lg_dtype_is_float(dtype);
    for (int64_t i = 0; i < n; i++) {
        if (whole) {
            lg_tensor_set_i64(out, i, spec->int_values.items[i]);
        } else {
            lg_tensor_set_f64(out, i,
                              spec->values_are_integers && i >= spec->values.n
                                  ? (double)spec->int_values.items[i]
                                  : spec->values.items[i]);
        }
    }
    return true;
}

// Gives a tensor another dtype or other strides, keeping its values.
static bool convert(const lg_array_spec *spec, lg_loc loc, const char *place, lg_dtype dtype,
                    lg_tensor *tensor, lg_diags *diags) {
    if (tensor->dtype == dtype && spec->stride.n == 0) {
        return true;
    }
    lg_array_shape shape = {.rank = tensor->rank};
    memcpy(shape.size, tensor->shape, sizeof shape.size);
    lg_tensor converted = {0};
    if (!lg_array_allocate(spec, loc, place, dtype, &shape, &converted, diags)) {
        return false;
    }
    bool exact = !lg_dtype_is_float(tensor->dtype) && !lg_dtype_is_float(dtype);
    int64_t n = lg_tensor_numel(tensor);
    for (int64_t i = 0; i < n; i++) {
        if (exact) {
            lg_tensor_set_i64(&converted, i, lg_tensor_get_i64(tensor, i));
        } else {
            lg_tensor_set_f64(&converted, i, lg_tensor_get_f64(tensor, i));
        }
    }
    lg_tensor_free(tensor);
    *tensor = converted;
    return true;
}

bool lg_array_load(const lg_array_spec *spec, lg_loc loc, const char *place, lg_dtype dtype,
                   lg_tensor *out, lg_diags *diags) {
    *out = (lg_tensor){0};
    lg_dtype wanted = spec->dtype != LG_DTYPE_NONE ? spec->dtype : dtype;
    if (spec->source == LG_ARRAY_VALUES) {
        if (wanted == LG_DTYPE_NONE) {
            wanted = spec->values_are_integers ? LG_INT64 : LG_FLOAT32;
        }
        return load_list(spec, loc, place, wanted, out, diags);
    }
    if (!lg_tensor_read(spec->file, out, diags)) {
        return false;
    }
    if (!convert(spec, loc, place, wanted != LG_DTYPE_NONE ? wanted : out->dtype, out, diags)) {
        lg_tensor_free(out);
        return false;
    }
    return true;
}

double lg_array_draw(const lg_array_spec *spec, uint64_t seed, lg_stream stream, int64_t index) {
    uint64_t at = (uint64_t)index;
    switch (spec->distribution) {
    case LG_DIST_CONSTANT:
        return spec->lo;
    case LG_DIST_UNIFORM:
        return spec->lo + (spec->hi - spec->lo) * lg_rng_uniform(seed, stream, at);
    case LG_DIST_DEFAULT:
        if (spec->hi > spec->lo) {
            return spec->lo + (spec->hi - spec->lo) * lg_rng_uniform(seed, stream, at);
        }
        break;
    case LG_DIST_NORMAL:
    case LG_DIST_ROUND_ROBIN:
    case LG_DIST_ZIPF:
    case LG_DIST_SIMPLEX:
        break;
    }
    double scale = spec->scale > 0 ? spec->scale : 1;
    return scale * lg_rng_normal(seed, stream, at);
}

bool lg_array_make(const lg_array_spec *spec, lg_loc loc, const char *place, lg_dtype dtype,
                   const lg_array_shape *shape, uint64_t seed, lg_stream stream, lg_tensor *out,
                   lg_diags *diags) {
    *out = (lg_tensor){0};
    if (spec->source == LG_ARRAY_ABSENT) {
        return true;
    }
    if (spec->source != LG_ARRAY_GENERATED) {
        return lg_array_load(spec, loc, place, dtype, out, diags);
    }
    lg_dtype wanted = spec->dtype != LG_DTYPE_NONE ? spec->dtype : dtype;
    if (!lg_array_allocate(spec, loc, place, wanted, shape, out, diags)) {
        return false;
    }
    int64_t n = lg_tensor_numel(out);
    for (int64_t i = 0; i < n; i++) {
        lg_tensor_set_f64(out, i, lg_array_draw(spec, seed, stream, i));
    }
    return true;
}

// The flat index of class c in the row (outer, inner) of an array whose class axis has `width`
// entries.
static int64_t flat_index(int64_t outer, int64_t c, int64_t inner, int64_t width, int64_t n_inner) {
    return (outer * width + c) * n_inner + inner;
}

typedef void (*finish_row)(double *row, int64_t width);

static void to_log_probabilities(double *row, int64_t width) {
    double top = row[0];
    for (int64_t c = 1; c < width; c++) {
        top = row[c] > top ? row[c] : top;
    }
    double sum = 0;
    for (int64_t c = 0; c < width; c++) {
        sum += exp(row[c] - top);
    }
    double shift = top + log(sum);
    for (int64_t c = 0; c < width; c++) {
        row[c] -= shift;
    }
}

static void to_probabilities(double *row, int64_t width) {
    to_log_probabilities(row, width);
    for (int64_t c = 0; c < width; c++) {
        row[c] = exp(row[c]);
    }
}

static bool draw_rows(const lg_array_spec *spec, int class_axis, uint64_t seed, lg_stream stream,
                      finish_row finish, lg_tensor *out) {
    int64_t outer = 1;
    int64_t inner = 1;
    for (int i = 0; i < out->rank; i++) {
        outer *= i < class_axis ? out->shape[i] : 1;
        inner *= i > class_axis ? out->shape[i] : 1;
    }
    int64_t width = out->shape[class_axis];
    double *row = width > 0 ? lg_buffer_alloc((size_t)width * sizeof *row) : NULL;
    if (width > 0 && !row) {
        return false;
    }
    for (int64_t o = 0; width > 0 && o < outer; o++) {
        for (int64_t i = 0; i < inner; i++) {
            for (int64_t c = 0; c < width; c++) {
                row[c] = lg_array_draw(spec, seed, stream, flat_index(o, c, i, width, inner));
            }
            finish(row, width);
            for (int64_t c = 0; c < width; c++) {
                lg_tensor_set_f64(out, flat_index(o, c, i, width, inner), row[c]);
            }
        }
    }
    free(row);
    return true;
}

static void draw_sigmoid(const lg_array_spec *spec, uint64_t seed, lg_tensor *out) {
    bool direct = spec->distribution == LG_DIST_UNIFORM || spec->distribution == LG_DIST_CONSTANT;
    lg_array_spec plain = *spec;
    if (spec->distribution == LG_DIST_UNIFORM && !(spec->hi > spec->lo)) {
        plain.lo = 0;
        plain.hi = 1;
    }
    int64_t n = lg_tensor_numel(out);
    for (int64_t i = 0; i < n; i++) {
        double value = lg_array_draw(&plain, seed, LG_STREAM_LOGITS, i);
        lg_tensor_set_f64(out, i, direct ? value : 1 / (1 + exp(-value)));
    }
}

bool lg_array_draw_input(const lg_array_spec *spec, lg_loss_kind kind, int class_axis,
                         uint64_t seed, lg_tensor *out) {
    if (kind == LG_NLL_LOSS && class_axis >= 0) {
        return draw_rows(spec, class_axis, seed, LG_STREAM_LOGITS, to_log_probabilities, out);
    }
    if (kind == LG_BCE) {
        draw_sigmoid(spec, seed, out);
        return true;
    }
    int64_t n = lg_tensor_numel(out);
    for (int64_t i = 0; i < n; i++) {
        lg_tensor_set_f64(out, i, lg_array_draw(spec, seed, LG_STREAM_LOGITS, i));
    }
    return true;
}

bool lg_array_draw_simplex(const lg_array_spec *spec, int class_axis, uint64_t seed,
                           lg_tensor *out) {
    return draw_rows(spec, class_axis, seed, LG_STREAM_TARGETS, to_probabilities, out);
}
