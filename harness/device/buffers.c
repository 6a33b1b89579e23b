// SPDX-License-Identifier: Apache-2.0
#include "device/internal.h"

#include "support/alloc.h"

#include <stdlib.h>
#include <string.h>

_Static_assert(sizeof(lg_record_ring) == 16, "as in kernels/lossgate_record.cuh");
_Static_assert(sizeof(lg_fault_record) == 64, "as in kernels/lossgate_record.cuh");

bool lg_note_call(lg_calls *calls, const char *name, CUresult result) {
    if (result != CUDA_SUCCESS && calls->error == CUDA_SUCCESS) {
        calls->error = result;
        calls->surfaced_at = name;
        calls->surfaced_call = calls->n_calls;
    }
    calls->n_calls++;
    return result == CUDA_SUCCESS;
}

void lg_buffers_use(lg_buffers *buffers, const lg_arg *arg) {
    if (arg->id == LG_N_ARGS) {
        buffers->scratch[arg->scratch].used = true;
    } else {
        buffers->args[arg->id].used |= lg_arg_kind_of(arg->id) == LG_ARG_BUFFER;
    }
}

uint32_t lg_poison_word(lg_dtype dtype) {
    switch (dtype) {
    case LG_FLOAT64: // 7FF5A5C37FF5A5C3
        return 0x7FF5A5C3;
    case LG_FLOAT16: // twice 7D5A
        return 0x7D5A7D5A;
    case LG_BFLOAT16: // twice 7FA5
        return 0x7FA57FA5;
    case LG_FLOAT32:
    case LG_DTYPE_NONE:
    case LG_INT64:
    case LG_INT32:
    case LG_INT16:
    case LG_INT8:
    case LG_UINT8:
    case LG_BOOL:
    case LG_N_DTYPES:
        break;
    }
    return 0x7F9A5C3E;
}

int64_t lg_count_poison(lg_dtype dtype, const void *data, int64_t n, int64_t *first) {
    size_t bytes = lg_dtype_bytes(dtype);
    uint32_t word = lg_poison_word(dtype);
    unsigned char pattern[8];
    memcpy(pattern, &word, 4);
    memcpy(pattern + 4, &word, 4);
    int64_t count = 0;
    for (int64_t i = 0; i < n; i++) {
        if (memcmp((const unsigned char *)data + (size_t)i * bytes, pattern, bytes) == 0) {
            *first = count++ ? *first : i;
        }
    }
    return count;
}

// Fills bytes with a word; what is left of the last word goes as a copy.
static bool fill(const lg_driver *driver, lg_calls *calls, CUdeviceptr to, uint32_t word,
                 size_t bytes) {
    size_t tail = bytes % 4;
    return (bytes < 4 || LG_CALL(calls, driver, cuMemsetD32, to, word, bytes / 4)) &&
           (tail == 0 || LG_CALL(calls, driver, cuMemcpyHtoD, to + bytes - tail, &word, tail));
}

static bool allocate(lg_buffers *buffers, lg_device_buffer *buffer, lg_calls *calls) {
    const lg_driver *driver = buffers->driver;
    if (buffer->bytes == 0) {
        return true; // no allocation of nothing: kernels get a null pointer, as from PyTorch
    }
    size_t fence = driver->checks_accesses ? 0 : LG_FENCE_BYTES;
    if (buffer->bytes > SIZE_MAX - 2 * fence ||
        !LG_CALL(calls, driver, cuMemAlloc, &buffer->allocation, buffer->bytes + 2 * fence)) {
        buffer->allocation = 0;
        return false;
    }
    buffer->address = buffer->allocation + fence;
    return !fence || (fill(driver, calls, buffer->allocation, LG_FENCE_WORD, fence) &&
                      fill(driver, calls, buffer->address + buffer->bytes, LG_FENCE_WORD, fence));
}

static bool make_ring(lg_buffers *buffers, lg_device_buffer *buffer, lg_calls *calls) {
    const lg_driver *driver = buffers->driver;
    buffer->bytes = sizeof(lg_record_ring) + LG_RING_CAPACITY * sizeof(lg_fault_record);
    buffer->host_mapped = true;
    if (!LG_CALL(calls, driver, cuMemHostAlloc, &buffers->ring, buffer->bytes,
                 CU_MEMHOSTALLOC_DEVICEMAP)) {
        buffers->ring = NULL;
        return false;
    }
    memset(buffers->ring, 0, buffer->bytes);
    ((lg_record_ring *)buffers->ring)->capacity = LG_RING_CAPACITY;
    return LG_CALL(calls, driver, cuMemHostGetDevicePointer, &buffer->address, buffers->ring, 0);
}

static bool copy_in(lg_buffers *buffers, const lg_batch *batch, lg_arg_id arg, lg_calls *calls) {
    lg_device_buffer *buffer = &buffers->args[arg];
    void *owned;
    bool failed = false;
    const void *contents = lg_buffer_contents(batch, arg, buffer, &owned, &failed);
    bool ok = !failed && (!contents || buffer->bytes == 0 ||
                          LG_CALL(calls, buffers->driver, cuMemcpyHtoD, buffer->address, contents,
                                  buffer->bytes));
    free(owned);
    return ok;
}

static bool is_output(lg_arg_id arg) {
    return arg == LG_ARG_OUTPUT || arg == LG_ARG_TOTAL_WEIGHT || arg == LG_ARG_GRAD_INPUT;
}

static bool make_one(lg_buffers *buffers, const lg_kernel *kernel, const lg_batch *batch,
                     lg_arg_id arg, lg_calls *calls) {
    lg_device_buffer *buffer = &buffers->args[arg];
    size_t n_names;
    buffer->name = lg_arg_names(&n_names)[arg];
    buffer->arg = arg;
    if (arg == LG_ARG_FAULT_RECORD) {
        return make_ring(buffers, buffer, calls);
    }
    lg_buffer_describe(kernel, batch, arg, buffer);
    const lg_tensor *far = lg_buffer_far_view(batch, arg);
    if (far) {
        return buffer->n == 0 || lg_far_make(buffers->driver, far, buffer, buffers->arena, calls);
    }
    if (!allocate(buffers, buffer, calls)) {
        return false;
    }
    if (!is_output(arg)) {
        return copy_in(buffers, batch, arg, calls);
    }
    bool zeroed = arg == LG_ARG_GRAD_INPUT && kernel->zero_grad_input;
    return buffer->bytes == 0 || fill(buffers->driver, calls, buffer->address,
                                      zeroed ? 0 : lg_poison_word(buffer->dtype), buffer->bytes);
}

// A device need not have memory for addresses that lie far apart.
static bool report_failure(lg_buffers *buffers, const lg_kernel *kernel,
                           const lg_device_buffer *buffer, const lg_calls *calls, lg_diags *diags) {
    if (buffer->far &&
        (calls->error == CUDA_ERROR_OUT_OF_MEMORY || calls->error == CUDA_ERROR_NOT_SUPPORTED)) {
        buffers->not_made = lg_arena_printf(
            buffers->arena, "the device has no room for `%s`, which spans %.3g GiB: %s (%d)",
            buffer->name, (double)buffer->far->range_bytes / 0x1p30, calls->surfaced_at,
            (int)calls->error);
        return false;
    }
    return lg_error(diags, kernel->loc, "%s: no room for '%s', %zu bytes (error %d of %s)",
                    kernel->name, buffer->name, buffer->bytes, (int)calls->error,
                    calls->surfaced_at ? calls->surfaced_at : "the host");
}

bool lg_buffers_make(lg_buffers *buffers, const lg_kernel *kernel, const lg_batch *batch,
                     const int64_t *scratch_bytes, lg_calls *calls, lg_diags *diags) {
    for (int i = 0; i < LG_N_ARGS; i++) {
        lg_device_buffer *buffer = &buffers->args[i];
        if (buffer->used && !make_one(buffers, kernel, batch, (lg_arg_id)i, calls)) {
            return report_failure(buffers, kernel, buffer, calls, diags);
        }
    }
    for (int i = 0; i < buffers->n_scratch; i++) {
        lg_device_buffer *buffer = &buffers->scratch[i];
        buffer->name = kernel->scratch[i].name;
        buffer->arg = LG_N_ARGS;
        buffer->bytes = (size_t)scratch_bytes[i];
        // Scratch holds NaNs, so that a kernel that counts on zeros there shows it.
        if (buffer->used && (!allocate(buffers, buffer, calls) ||
                             (buffer->bytes && !fill(buffers->driver, calls, buffer->address,
                                                     lg_poison_word(LG_FLOAT32), buffer->bytes)))) {
            return report_failure(buffers, kernel, buffer, calls, diags);
        }
    }
    return true;
}

CUdeviceptr lg_buffers_address(const lg_buffers *buffers, const lg_arg *arg) {
    return arg->id == LG_N_ARGS ? buffers->scratch[arg->scratch].address
                                : buffers->args[arg->id].address;
}

static void release(lg_buffers *buffers, lg_device_buffer *buffer) {
    if (buffer->host_mapped && buffers->ring) {
        buffers->driver->cuMemFreeHost(buffers->ring);
        buffers->ring = NULL;
    } else if (buffer->far) {
        lg_far_free(buffers->driver, buffer);
    } else if (buffer->allocation) {
        buffers->driver->cuMemFree(buffer->allocation);
    }
    buffer->allocation = 0;
    buffer->address = 0;
}

void lg_buffers_free(lg_buffers *buffers) {
    for (int i = 0; i < LG_N_ARGS; i++) {
        release(buffers, &buffers->args[i]);
    }
    for (int i = 0; i < buffers->n_scratch; i++) {
        release(buffers, &buffers->scratch[i]);
    }
}

bool lg_buffers_are_far(const lg_buffers *buffers) {
    return buffers->args[LG_ARG_INPUT].reach || buffers->args[LG_ARG_TARGET].reach;
}

void lg_buffers_free_far(lg_buffers *buffers) {
    for (int i = 0; i < LG_N_ARGS; i++) {
        if (buffers->args[i].far) {
            lg_far_free(buffers->driver, &buffers->args[i]);
        }
    }
}
