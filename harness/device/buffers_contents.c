// SPDX-License-Identifier: Apache-2.0
#include "device/internal.h"

#include "support/alloc.h"
#include "support/str.h"

#include <stdlib.h>
#include <string.h>

static lg_dtype total_weight_dtype(const lg_kernel *kernel, const lg_batch *batch) {
    lg_dtype dtype = batch->input.dtype;
    bool half = dtype == LG_FLOAT16 || dtype == LG_BFLOAT16;
    return kernel->total_weight_accumulates && half ? LG_FLOAT32 : dtype;
}

static void describe_tensor(const lg_tensor *tensor, lg_device_buffer *buffer) {
    buffer->dtype = tensor->dtype;
    buffer->n = lg_tensor_exists(tensor) ? (int64_t)tensor->n_stored : 0;
    buffer->bytes = lg_tensor_exists(tensor) ? lg_tensor_bytes(tensor) : 0;
}

// Can a tensor be expanded to the shape of another, dimensions aligned at the right?
static bool broadcasts(const lg_tensor *from, const lg_tensor *to) {
    if (from->rank > to->rank) {
        return false;
    }
    for (int i = 1; i <= from->rank; i++) {
        int64_t have = from->shape[from->rank - i];
        if (have != 1 && have != to->shape[to->rank - i]) {
            return false;
        }
    }
    return true;
}

// Elementwise weights of BCE are passed in the input's shape. Weights that do not fit it (a
// batch the host would refuse) go as they are.
static bool is_expanded(const lg_batch *batch, lg_arg_id arg, const lg_tensor *tensor) {
    return (arg == LG_ARG_POS_WEIGHT || (arg == LG_ARG_WEIGHT && lg_batch_is_binary(batch))) &&
           lg_tensor_exists(tensor) && broadcasts(tensor, &batch->input);
}

static int64_t n_losses(const lg_batch *batch) {
    return batch->loss.reduction == LG_REDUCTION_NONE ? lg_batch_rows(batch) : 1;
}

// NULL where the batch has no such tensor, never for the input.
__attribute__((nonnull)) static const lg_tensor *source_of(const lg_batch *batch, lg_arg_id arg) {
    return arg == LG_ARG_INPUT        ? &batch->input
           : arg == LG_ARG_TARGET     ? lg_batch_device_target(batch)
           : arg == LG_ARG_WEIGHT     ? &batch->weight
           : arg == LG_ARG_POS_WEIGHT ? &batch->pos_weight
                                      : NULL;
}

const lg_tensor *lg_buffer_far_view(const lg_batch *batch, lg_arg_id arg) {
    const lg_tensor *source = source_of(batch, arg);
    return source && lg_tensor_exists(source) && source->is_far ? source : NULL;
}

void lg_buffer_describe(const lg_kernel *kernel, const lg_batch *batch, lg_arg_id arg,
                        lg_device_buffer *buffer) {
    const lg_tensor *source = source_of(batch, arg);
    if (source && !is_expanded(batch, arg, source)) {
        describe_tensor(source, buffer);
        return;
    }
    if (source) {
        buffer->dtype = source->dtype;
        buffer->n = lg_tensor_numel(&batch->input);
    } else if (arg == LG_ARG_TOTAL_WEIGHT) {
        buffer->dtype = total_weight_dtype(kernel, batch);
        buffer->n = 1;
    } else if (arg == LG_ARG_GRAD_INPUT) {
        buffer->dtype = batch->input.dtype;
        buffer->n = lg_tensor_numel(&batch->input);
    } else { // output, grad_output
        buffer->dtype = batch->input.dtype;
        buffer->n = n_losses(batch);
    }
    buffer->bytes = (size_t)buffer->n * lg_dtype_bytes(buffer->dtype);
}

static void copy_element(const lg_tensor *from, int64_t offset, unsigned char *to, int64_t index) {
    size_t bytes = lg_dtype_bytes(from->dtype);
    memcpy(to + (size_t)index * bytes, (const unsigned char *)from->data + (size_t)offset * bytes,
           bytes);
}

// Elements [first, first + n) of `from` in the shape of another tensor.
static void expand(const lg_tensor *from, const lg_tensor *shape, int64_t first, int64_t n,
                   unsigned char *to) {
    for (int64_t i = 0; i < n; i++) {
        int64_t rest = first + i;
        int64_t offset = 0;
        for (int d = 1; d <= shape->rank; d++) {
            int64_t size = shape->shape[shape->rank - d];
            int64_t at = rest % size;
            rest /= size;
            if (d <= from->rank && from->shape[from->rank - d] != 1) {
                offset += at * from->stride[from->rank - d];
            }
        }
        copy_element(from, offset, to, i);
    }
}

// The upstream gradient in the input's type; 1 when the batch has none. A lone number stands for
// every row.
static void fill_grad_output(const lg_batch *batch, const lg_device_buffer *buffer, int64_t first,
                             int64_t n, void *to) {
    const lg_tensor *given = &batch->grad_output;
    int64_t n_given = lg_tensor_exists(given) ? lg_tensor_numel(given) : 0;
    for (int64_t i = 0; i < n; i++) {
        int64_t from = n_given == 1 ? 0 : n_given ? (first + i) % n_given : 0;
        double value = n_given == 0 ? 1 : lg_tensor_get_f64(given, from);
        lg_dtype_set_f64(buffer->dtype, to, i, value);
    }
}

const void *lg_buffer_contents(const lg_batch *batch, lg_arg_id arg, const lg_device_buffer *buffer,
                               void **owned, bool *failed) {
    const lg_tensor *source = source_of(batch, arg);
    *owned = NULL;
    if (source && !is_expanded(batch, arg, source)) {
        return lg_tensor_exists(source) ? source->data : NULL;
    }
    *owned = lg_buffer_alloc(buffer->bytes);
    if (!*owned) {
        *failed = buffer->bytes > 0;
        return NULL;
    }
    return lg_buffer_part(batch, arg, buffer, 0, buffer->n, *owned);
}

const void *lg_buffer_part(const lg_batch *batch, lg_arg_id arg, const lg_device_buffer *buffer,
                           int64_t first, int64_t n, void *room) {
    const lg_tensor *source = source_of(batch, arg);
    if (!source) {
        fill_grad_output(batch, buffer, first, n, room);
        return room;
    }
    if (!lg_tensor_exists(source)) {
        return NULL;
    }
    if (is_expanded(batch, arg, source)) {
        expand(source, &batch->input, first, n, room);
        return room;
    }
    return (const unsigned char *)source->data + (size_t)first * lg_dtype_bytes(buffer->dtype);
}

// Takes the largest steps first, as the storage of a view without overlap is laid out. False when
// the offset lies between the elements.
static bool find_index(const lg_tensor *tensor, int64_t offset, int64_t *index) {
    bool taken[LG_MAX_RANK] = {false};
    for (int i = 0; i < tensor->rank; i++) {
        int largest = -1;
        for (int d = 0; d < tensor->rank; d++) {
            if (!taken[d] && (largest < 0 || tensor->stride[d] > tensor->stride[largest])) {
                largest = d;
            }
        }
        taken[largest] = true;
        int64_t stride = tensor->stride[largest], last = tensor->shape[largest] - 1;
        int64_t at = stride > 0 ? offset / stride : 0;
        index[largest] = at < last ? at : last;
        offset -= index[largest] * stride;
    }
    return offset == 0;
}

const char *lg_buffer_index_text(const lg_batch *batch, lg_arg_id arg, int64_t index,
                                 lg_arena *arena) {
    const lg_tensor *source = source_of(batch, arg);
    lg_tensor packed = batch->input; // borrowed: its shape, without the strides
    if (!source) {
        return lg_arena_printf(arena, "[%lld]", (long long)index);
    }
    if (is_expanded(batch, arg, source)) {
        int64_t stride = 1;
        for (int d = packed.rank - 1; d >= 0; d--) {
            packed.stride[d] = stride;
            stride *= packed.shape[d];
        }
        source = &packed;
    }
    int64_t at[LG_MAX_RANK] = {0};
    if (!find_index(source, index, at)) {
        return lg_arena_printf(arena, "%lld of the storage", (long long)index);
    }
    lg_str text = {0};
    for (int d = 0; d < source->rank; d++) {
        lg_str_printf(&text, d ? ", %lld" : "%lld", (long long)at[d]);
    }
    const char *kept = lg_arena_printf(arena, "[%s]", lg_str_text(&text));
    lg_str_free(&text);
    return kept;
}
