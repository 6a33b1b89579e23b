// SPDX-License-Identifier: Apache-2.0
// After the run: whether the kernel left alone what it was only given to read.
#include "device/internal.h"

#include "support/alloc.h"
#include "support/plain.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK_BYTES = 1 << 20 }; // an input is compared in pieces: it is not held a third time

void lg_change_find(const void *was, const void *is, size_t size, int64_t n, int64_t first,
                    lg_change *found) {
    if (memcmp(was, is, (size_t)n * size) == 0) {
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        const unsigned char *a = (const unsigned char *)was + (size_t)i * size;
        const unsigned char *b = (const unsigned char *)is + (size_t)i * size;
        if (memcmp(a, b, size) != 0 && found->n++ == 0) {
            found->first = first + i;
            memcpy(found->was, a, size);
            memcpy(found->is, b, size);
        }
    }
}

static const char *value_text(lg_dtype dtype, const unsigned char *data, lg_arena *arena) {
    if (!lg_dtype_is_float(dtype)) {
        return lg_arena_printf(arena, "%" PRId64, lg_dtype_get_i64(dtype, data, 0));
    }
    return lg_arena_printf(arena, dtype == LG_FLOAT64 ? "%.17g" : "%.9g",
                           lg_plain(lg_dtype_get_f64(dtype, data, 0)));
}

void lg_change_report(const lg_device_buffer *buffer, const char *where, const lg_change *found,
                      lg_observation *out) {
    lg_arena *arena = &out->arena;
    const char *was = value_text(buffer->dtype, found->was, arena);
    const char *is = value_text(buffer->dtype, found->is, arena);
    const char *bits = strcmp(was, is) == 0 ? " with other bits" : "";
    const char *more = found->n > 1 ? lg_arena_printf(arena, "; %" PRId64 " of %" PRId64 " differ",
                                                      found->n, buffer->n)
                                    : "";
    out->input_written = lg_arena_printf(
        arena, "the kernel wrote to `%s`, which is read only: element %s was %s, is %s%s%s",
        buffer->name, where, was, is, bits, more);
}

void lg_buffers_check_input(const lg_buffers *buffers, const lg_batch *batch, lg_arg_id arg,
                            lg_observation *out, lg_calls *calls) {
    const lg_device_buffer *buffer = &buffers->args[arg];
    if (buffer->far) {
        lg_far_check(buffers, batch, arg, out, calls);
        return;
    }
    if (out->input_written || buffer->host_mapped || !buffer->address || buffer->n == 0) {
        return;
    }
    size_t size = lg_dtype_bytes(buffer->dtype);
    int64_t per_chunk = (int64_t)(CHUNK_BYTES / size);
    per_chunk = per_chunk < buffer->n ? per_chunk : buffer->n;
    unsigned char *is = lg_xmalloc((size_t)per_chunk * size * 2);
    lg_change found = {0};
    bool ok = true;
    for (int64_t done = 0; ok && done < buffer->n; done += per_chunk) {
        int64_t n = buffer->n - done < per_chunk ? buffer->n - done : per_chunk;
        const void *was =
            lg_buffer_part(batch, arg, buffer, done, n, is + (size_t)per_chunk * size);
        ok = was && LG_CALL(calls, buffers->driver, cuMemcpyDtoH, is,
                            buffer->address + (size_t)done * size, (size_t)n * size);
        if (ok) {
            lg_change_find(was, is, size, n, done, &found);
        }
    }
    free(is);
    if (found.n > 0) {
        lg_change_report(buffer, lg_buffer_index_text(batch, arg, found.first, &out->arena), &found,
                         out);
    }
}

static bool is_kept(const lg_device_buffer *buffer) {
    return buffer->used && buffer->address && buffer->n == 1;
}

void lg_buffers_keep_total_weight(lg_buffers *buffers) {
    const lg_device_buffer *buffer = &buffers->args[LG_ARG_TOTAL_WEIGHT];
    buffers->has_total_weight =
        is_kept(buffer) && buffers->driver->cuMemcpyDtoH(buffers->total_weight, buffer->address,
                                                         buffer->bytes) == CUDA_SUCCESS;
}

void lg_buffers_check_total_weight(const lg_buffers *buffers, lg_observation *out,
                                   lg_calls *calls) {
    const lg_device_buffer *buffer = &buffers->args[LG_ARG_TOTAL_WEIGHT];
    unsigned char is[8];
    if (out->input_written || !buffers->has_total_weight || !is_kept(buffer) ||
        !LG_CALL(calls, buffers->driver, cuMemcpyDtoH, is, buffer->address, buffer->bytes)) {
        return;
    }
    lg_change found = {0};
    lg_change_find(buffers->total_weight, is, buffer->bytes, 1, 0, &found);
    if (found.n > 0) {
        lg_change_report(buffer, "[0], an input of the backward pass,", &found, out);
    }
}

void lg_buffers_check_ring(const lg_buffers *buffers, lg_observation *out) {
    const lg_record_ring *ring = buffers->ring;
    if (ring && !out->input_written && ring->capacity != LG_RING_CAPACITY) {
        out->input_written =
            lg_arena_printf(&out->arena,
                            "the kernel wrote to the head of `fault_record`, of which it may only "
                            "count up `count`: the capacity was %d, is %" PRIu32,
                            LG_RING_CAPACITY, ring->capacity);
    }
}
