// SPDX-License-Identifier: Apache-2.0
// Memory, copies and memsets. What waits for work in flight, and so tells its errors: the plain
// copies from and to the host, and the frees. Copies within the device, memsets and everything
// …Async do not.
#include "engine/driver/internal.h"

#include "support/alloc.h"

#include <stdlib.h>
#include <string.h>

CUresult lg_simdrv_cuMemAlloc(CUdeviceptr *address, size_t bytes) {
    LG_ENTER(context);
    if (!address || bytes == 0) {
        return lg_simdrv_leave(context, CUDA_ERROR_INVALID_VALUE);
    }
    uint64_t base = 0;
    if (bytes <= LG_SIMDRV_TOTAL_MEMORY &&
        lg_sim_bytes_in_use(context->sim) <= LG_SIMDRV_TOTAL_MEMORY - bytes) {
        base = lg_sim_alloc(context->sim, bytes);
    }
    if (!base) {
        return lg_simdrv_leave(context, CUDA_ERROR_OUT_OF_MEMORY);
    }
    lg_simdrv_object *buffer = lg_simdrv_add(context, LG_SIMDRV_BUFFER);
    buffer->memory.address = base;
    buffer->memory.bytes = bytes;
    *address = base;
    return lg_simdrv_leave(context, CUDA_SUCCESS);
}

CUresult lg_simdrv_cuMemFree(CUdeviceptr address) {
    LG_ENTER(context);
    CUresult error = CUDA_SUCCESS;
    lg_simdrv_object *object = context->objects;
    while (object && !(object->kind == LG_SIMDRV_BUFFER && object->memory.address == address)) {
        object = object->next;
    }
    if (!object) {
        return lg_simdrv_leave(context, CUDA_ERROR_INVALID_VALUE);
    }
    error = lg_simdrv_wait(context, context->n_submitted);
    if (!error) {
        lg_simdrv_remove(context, object);
    }
    return lg_simdrv_leave(context, error);
}

CUresult lg_simdrv_cuMemGetInfo(size_t *free_bytes, size_t *total_bytes) {
    LG_ENTER(context);
    if (!free_bytes || !total_bytes) {
        return lg_simdrv_leave(context, CUDA_ERROR_INVALID_VALUE);
    }
    size_t used = lg_sim_bytes_in_use(context->sim);
    *total_bytes = LG_SIMDRV_TOTAL_MEMORY;
    *free_bytes = used < LG_SIMDRV_TOTAL_MEMORY ? LG_SIMDRV_TOTAL_MEMORY - used : 0;
    return lg_simdrv_leave(context, CUDA_SUCCESS);
}

// Is [address, address+bytes) in device memory, as far as its two ends tell?
static bool is_mapped(lg_simdrv_context *context, CUdeviceptr address, size_t bytes) {
    char byte;
    return address + bytes >= address && lg_sim_read(context->sim, address, &byte, 1) &&
           lg_sim_read(context->sim, address + bytes - 1, &byte, 1);
}

static CUresult copy_now(lg_simdrv_context *context, CUdeviceptr device, void *to, const void *from,
                         size_t bytes) {
    CUresult error = lg_simdrv_wait(context, context->n_submitted);
    if (error || bytes == 0) {
        return error;
    }
    bool ok = to ? lg_sim_read(context->sim, device, to, bytes)
                 : lg_sim_write(context->sim, device, from, bytes);
    return ok ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult lg_simdrv_cuMemcpyHtoD(CUdeviceptr to, const void *from, size_t bytes) {
    LG_ENTER(context);
    CUresult error = CUDA_SUCCESS;
    error = !from && bytes ? CUDA_ERROR_INVALID_VALUE : copy_now(context, to, NULL, from, bytes);
    return lg_simdrv_leave(context, error);
}

CUresult lg_simdrv_cuMemcpyDtoH(void *to, CUdeviceptr from, size_t bytes) {
    LG_ENTER(context);
    CUresult error = CUDA_SUCCESS;
    error = !to && bytes ? CUDA_ERROR_INVALID_VALUE : copy_now(context, from, to, NULL, bytes);
    return lg_simdrv_leave(context, error);
}

// Work before it runs first, but what that failed with is not told here. True: the context still
// works.
static bool catch_up(lg_simdrv_context *context) {
    lg_simdrv_run_to(context, context->n_submitted);
    return context->pending == CUDA_SUCCESS;
}

CUresult lg_simdrv_cuMemcpyDtoD(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
    LG_ENTER(context);
    CUresult error = CUDA_SUCCESS;
    if (bytes == 0) {
        return lg_simdrv_leave(context, CUDA_SUCCESS);
    }
    if (!is_mapped(context, to, bytes) || !is_mapped(context, from, bytes)) {
        return lg_simdrv_leave(context, CUDA_ERROR_INVALID_VALUE);
    }
    if (catch_up(context)) {
        void *middle = lg_buffer_alloc(bytes);
        if (!middle) {
            error = CUDA_ERROR_OUT_OF_MEMORY;
        } else if (!lg_sim_read(context->sim, from, middle, bytes) ||
                   !lg_sim_write(context->sim, to, middle, bytes)) {
            error = CUDA_ERROR_INVALID_VALUE;
        }
        free(middle);
    }
    return lg_simdrv_leave(context, error);
}

static CUresult submit_copy(CUdeviceptr device, void *to, const void *from, size_t bytes,
                            CUstream handle) {
    LG_ENTER(context);
    CUresult error = CUDA_SUCCESS;
    lg_simdrv_object *stream;
    error = lg_simdrv_find_stream(context, handle, &stream);
    if (!error && bytes && ((!to && !from) || !is_mapped(context, device, bytes))) {
        error = CUDA_ERROR_INVALID_VALUE;
    }
    if (error || bytes == 0) {
        return lg_simdrv_leave(context, error);
    }
    lg_simdrv_work *work = lg_xcalloc(1, sizeof *work);
    work->kind = to ? LG_SIMDRV_READ : LG_SIMDRV_WRITE;
    work->address = device;
    work->bytes = bytes;
    work->to = to;
    if (from) { // the source may change as soon as the call returns, as with pageable memory
        work->data = lg_buffer_alloc(bytes);
        if (!work->data) {
            free(work);
            return lg_simdrv_leave(context, CUDA_ERROR_OUT_OF_MEMORY);
        }
        memcpy(work->data, from, bytes);
    }
    lg_simdrv_submit(context, stream, work);
    return lg_simdrv_leave(context, CUDA_SUCCESS);
}

CUresult lg_simdrv_cuMemcpyHtoDAsync(CUdeviceptr to, const void *from, size_t bytes,
                                     CUstream stream) {
    return submit_copy(to, NULL, from, bytes, stream);
}

CUresult lg_simdrv_cuMemcpyDtoHAsync(void *to, CUdeviceptr from, size_t bytes, CUstream stream) {
    return submit_copy(from, to, NULL, bytes, stream);
}

CUresult lg_simdrv_cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t bytes,
                                   CUstream handle) {
    LG_ENTER(context);
    CUresult error = CUDA_SUCCESS;
    lg_simdrv_object *stream;
    error = lg_simdrv_find_stream(context, handle, &stream);
    if (!error && bytes && !is_mapped(context, to, bytes)) {
        error = CUDA_ERROR_INVALID_VALUE;
    }
    if (error || bytes == 0) {
        return lg_simdrv_leave(context, error);
    }
    lg_simdrv_work *work = lg_xcalloc(1, sizeof *work);
    work->kind = LG_SIMDRV_FILL;
    work->address = to;
    work->bytes = bytes;
    work->value = value;
    lg_simdrv_submit(context, stream, work);
    return lg_simdrv_leave(context, CUDA_SUCCESS);
}

static CUresult memset_now(CUdeviceptr to, const void *pattern, size_t pattern_bytes, size_t n) {
    LG_ENTER(context);
    CUresult error = CUDA_SUCCESS;
    size_t bytes;
    if (to % pattern_bytes != 0 || __builtin_mul_overflow(n, pattern_bytes, &bytes) ||
        (bytes && !is_mapped(context, to, bytes))) {
        return lg_simdrv_leave(context, CUDA_ERROR_INVALID_VALUE);
    }
    if (bytes && catch_up(context) && !lg_sim_fill(context->sim, to, pattern, pattern_bytes, n)) {
        error = CUDA_ERROR_INVALID_VALUE;
    }
    return lg_simdrv_leave(context, error);
}

CUresult lg_simdrv_cuMemsetD8(CUdeviceptr to, unsigned char value, size_t bytes) {
    return memset_now(to, &value, 1, bytes);
}

CUresult lg_simdrv_cuMemsetD32(CUdeviceptr to, unsigned int value, size_t n) {
    return memset_now(to, &value, 4, n);
}

CUresult lg_simdrv_cuMemHostAlloc(void **memory, size_t bytes, unsigned int flags) {
    const unsigned known =
        CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_WRITECOMBINED;
    LG_ENTER(context);
    if (!memory || bytes == 0 || (flags & ~known)) {
        return lg_simdrv_leave(context, CUDA_ERROR_INVALID_VALUE);
    }
    void *host = lg_buffer_alloc(bytes);
    uint64_t address = 0;
    if (host) {
        memset(host, 0xCD, bytes); // undefined in the driver; here at least always the same
        address = lg_sim_map(context->sim, host, bytes);
    }
    if (!address) {
        free(host);
        return lg_simdrv_leave(context, CUDA_ERROR_OUT_OF_MEMORY);
    }
    lg_simdrv_object *object = lg_simdrv_add(context, LG_SIMDRV_HOST);
    object->memory.host = host;
    object->memory.bytes = bytes;
    object->memory.address = address;
    *memory = host;
    return lg_simdrv_leave(context, CUDA_SUCCESS);
}

// The host allocation `memory` points into; NULL when there is none.
static lg_simdrv_object *find_host(lg_simdrv_context *context, const void *memory) {
    uintptr_t at = (uintptr_t)memory;
    for (lg_simdrv_object *object = context->objects; object; object = object->next) {
        if (object->kind == LG_SIMDRV_HOST && at >= (uintptr_t)object->memory.host &&
            at - (uintptr_t)object->memory.host < object->memory.bytes) {
            return object;
        }
    }
    return NULL;
}

CUresult lg_simdrv_cuMemFreeHost(void *memory) {
    LG_ENTER(context);
    CUresult error = CUDA_SUCCESS;
    lg_simdrv_object *object = find_host(context, memory);
    if (!object || object->memory.host != memory) {
        return lg_simdrv_leave(context, CUDA_ERROR_INVALID_VALUE);
    }
    error = lg_simdrv_wait(context, context->n_submitted);
    if (!error) {
        lg_simdrv_remove(context, object);
    }
    return lg_simdrv_leave(context, error);
}

CUresult lg_simdrv_cuMemHostGetDevicePointer(CUdeviceptr *address, void *memory,
                                             unsigned int flags) {
    LG_ENTER(context);
    const lg_simdrv_object *object = find_host(context, memory);
    if (!address || flags != 0 || !object) {
        return lg_simdrv_leave(context, CUDA_ERROR_INVALID_VALUE);
    }
    *address = object->memory.address + ((uintptr_t)memory - (uintptr_t)object->memory.host);
    return lg_simdrv_leave(context, CUDA_SUCCESS);
}
