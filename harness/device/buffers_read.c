// SPDX-License-Identifier: Apache-2.0
// After the run: fences, outputs, fault records, and whose memory an address is.
#include "device/internal.h"

#include "support/alloc.h"

#include <stdlib.h>
#include <string.h>

enum { CHUNK_BYTES = 1 << 20 }; // outputs come back in pieces: their bytes are not held twice

static const uint32_t fence_word = LG_FENCE_WORD;

// Offset of the first broken byte of a fence, or -1.
static int64_t broken_byte(lg_buffers *buffers, CUdeviceptr fence, lg_calls *calls) {
    uint32_t words[LG_FENCE_BYTES / 4];
    if (!LG_CALL(calls, buffers->driver, cuMemcpyDtoH, words, fence, sizeof words)) {
        return -1;
    }
    for (size_t i = 0; i < sizeof words; i++) {
        if (((unsigned char *)words)[i] != ((const unsigned char *)&fence_word)[i % 4]) {
            return (int64_t)i;
        }
    }
    return -1;
}

// A fence that was written to is a bad access like those a checking device finds; the first one is
// kept.
static bool check_fences(lg_buffers *buffers, const lg_device_buffer *buffer, lg_observation *out,
                         lg_calls *calls) {
    if (buffers->driver->checks_accesses || !buffer->allocation) {
        return false;
    }
    CUdeviceptr after = buffer->address + buffer->bytes;
    int64_t in_after = broken_byte(buffers, after, calls);
    int64_t in_before = broken_byte(buffers, buffer->allocation, calls);
    if (in_after < 0 && in_before < 0) {
        return false;
    }
    if (!out->memory.present) {
        bool past = in_after >= 0;
        out->memory = (lg_memory_finding){
            .present = true,
            .kind = LG_DEVICE_FAULT_OUT_OF_BOUNDS,
            .write = true,
            .address =
                past ? after + (CUdeviceptr)in_after : buffer->allocation + (CUdeviceptr)in_before,
            .bytes = 1,
            .buffer = lg_arena_strdup(&out->arena, buffer->name),
            .buffer_arg = buffer->arg,
            .distance = past ? in_after + 1 : in_before - LG_FENCE_BYTES,
        };
    }
    return true;
}

// A gradient is as large as the input and is kept in its type; what has an element a row is
// widened.
static void read_output(lg_buffers *buffers, const lg_device_buffer *buffer, bool poisoned,
                        bool widened, lg_output *output, lg_observation *out, lg_calls *calls) {
    size_t size = lg_dtype_bytes(buffer->dtype);
    int64_t per_chunk = (int64_t)(CHUNK_BYTES / size);
    void *kept = lg_arena_alloc(&out->arena, (size_t)(buffer->n ? buffer->n : 1) *
                                                 (widened ? sizeof(double) : size));
    double *values = widened ? kept : NULL;
    unsigned char *room = widened ? lg_xmalloc(CHUNK_BYTES) : NULL;
    bool ok = true;
    for (int64_t done = 0; ok && done < buffer->n; done += per_chunk) {
        int64_t n = buffer->n - done < per_chunk ? buffer->n - done : per_chunk;
        unsigned char *chunk = widened ? room : (unsigned char *)kept + (size_t)done * size;
        ok = LG_CALL(calls, buffers->driver, cuMemcpyDtoH, chunk,
                     buffer->address + (size_t)done * size, (size_t)n * size);
        int64_t first = 0;
        int64_t n_poison = ok && poisoned ? lg_count_poison(buffer->dtype, chunk, n, &first) : 0;
        if (n_poison && output->n_unwritten == 0) {
            output->first_unwritten = done + first;
        }
        output->n_unwritten += n_poison;
        for (int64_t i = 0; ok && widened && i < n; i++) {
            values[done + i] = lg_dtype_get_f64(buffer->dtype, chunk, i);
        }
    }
    output->values = ok ? values : NULL;
    output->data = ok && !widened ? kept : NULL;
    free(room);
}

void lg_buffers_read(lg_buffers *buffers, const lg_kernel *kernel, const lg_batch *batch,
                     bool context_dead, lg_observation *out, lg_calls *calls) {
    static const lg_arg_id outputs[] = {LG_ARG_OUTPUT, LG_ARG_TOTAL_WEIGHT, LG_ARG_GRAD_INPUT};
    for (int i = 0; !context_dead && i < LG_N_ARGS; i++) {
        lg_device_buffer *buffer = &buffers->args[i];
        bool is_output = i == LG_ARG_OUTPUT || i == LG_ARG_TOTAL_WEIGHT || i == LG_ARG_GRAD_INPUT;
        if (!is_output && buffer->far) {
            lg_buffers_check_input(buffers, batch, (lg_arg_id)i, out, calls);
            lg_far_free(buffers->driver, buffer);
        } else if (!is_output && buffer->allocation) {
            check_fences(buffers, buffer, out, calls);
            lg_buffers_check_input(buffers, batch, (lg_arg_id)i, out, calls);
            LG_CALL(calls, buffers->driver, cuMemFree, buffer->allocation);
            buffer->allocation = 0;
            buffer->address = 0;
        }
    }
    if (!context_dead) {
        lg_buffers_check_total_weight(buffers, out, calls);
        lg_buffers_check_ring(buffers, out);
    }
    for (size_t i = 0; i < sizeof outputs / sizeof *outputs; i++) {
        lg_device_buffer *buffer = &buffers->args[outputs[i]];
        if (!buffer->reported) {
            continue;
        }
        lg_output *output = &out->outputs[out->n_outputs++];
        *output = (lg_output){
            .arg = outputs[i], .dtype = (int)buffer->dtype, .n = buffer->n, .first_unwritten = -1};
        if (!context_dead) {
            bool gradient = outputs[i] == LG_ARG_GRAD_INPUT;
            bool zeroed = gradient && kernel->zero_grad_input;
            output->fence_broken = check_fences(buffers, buffer, out, calls);
            read_output(buffers, buffer, !zeroed, !gradient, output, out, calls);
        }
    }
    for (int i = 0; !context_dead && i < buffers->n_scratch; i++) {
        check_fences(buffers, &buffers->scratch[i], out, calls);
    }
}

void lg_buffers_read_ring(const lg_buffers *buffers, lg_observation *out) {
    if (!buffers->ring) {
        return;
    }
    const lg_record_ring *ring = buffers->ring;
    // The count is read as the kernel left it; a kernel that wrote wild values there must not make
    // the host read past the ring.
    uint32_t n = ring->count < LG_RING_CAPACITY ? ring->count : LG_RING_CAPACITY;
    out->n_records = n;
    out->n_records_dropped = (int64_t)ring->count - n;
    if (n) {
        out->records = lg_arena_array(&out->arena, n, sizeof *out->records);
        memcpy(out->records, ring + 1, n * sizeof *out->records);
    }
}

static int64_t distance_to(const lg_device_buffer *buffer, uint64_t address, int64_t bytes) {
    uint64_t end = buffer->address + (buffer->far ? buffer->reach : buffer->bytes);
    if (address < buffer->address) {
        return -(int64_t)(buffer->address - address);
    }
    uint64_t last = address + (uint64_t)(bytes > 0 ? bytes - 1 : 0);
    if (address >= end) {
        return (int64_t)(address - end) + 1;
    }
    return last >= end ? (int64_t)(last - end) + 1 : 0;
}

const lg_device_buffer *lg_buffers_nearest(const lg_buffers *buffers, uint64_t address,
                                           int64_t bytes, int64_t *distance) {
    const lg_device_buffer *nearest = NULL;
    for (int i = 0; i < LG_N_ARGS + buffers->n_scratch; i++) {
        const lg_device_buffer *buffer =
            i < LG_N_ARGS ? &buffers->args[i] : &buffers->scratch[i - LG_N_ARGS];
        if (!buffer->address) {
            continue;
        }
        int64_t each = distance_to(buffer, address, bytes);
        if (lg_far_owns(buffer, address)) {
            *distance = each;
            return buffer;
        }
        if (!nearest || llabs(each) < llabs(*distance)) {
            nearest = buffer;
            *distance = each;
        }
    }
    return nearest;
}

const char *lg_buffers_null(const lg_buffers *buffers, lg_arena *arena) {
    const char *text = NULL;
    for (int i = 0; i < LG_N_ARGS + buffers->n_scratch; i++) {
        bool scratch = i >= LG_N_ARGS;
        const lg_device_buffer *buffer =
            scratch ? &buffers->scratch[i - LG_N_ARGS] : &buffers->args[i];
        if (buffer->used && !buffer->address) {
            text = text ? lg_arena_printf(arena, "%s or `%s`", text, buffer->name)
                        : lg_arena_printf(arena, "`%s`", buffer->name);
        }
    }
    return text;
}
