// SPDX-License-Identifier: Apache-2.0
// Ranges of addresses, and memory mapped into them piece by piece. Stricter than a GPU: a handle is
// mapped once and as a whole, an address range is backed once, and memory takes room only while it
// is mapped.
#include "engine/driver/internal.h"

static bool is_ours(const CUmemAllocationProp *prop) {
    return prop && prop->type == CU_MEM_ALLOCATION_TYPE_PINNED &&
           prop->location.type == CU_MEM_LOCATION_TYPE_DEVICE && prop->location.id == 0;
}

static bool is_whole(uint64_t bytes) {
    return bytes > 0 && bytes % LG_SIMDRV_GRANULARITY == 0;
}

CUresult lg_simdrv_cuMemGetAllocationGranularity(size_t *granularity,
                                                 const CUmemAllocationProp *prop,
                                                 CUmemAllocationGranularity_flags option) {
    if (!lg_simdrv_initialized()) {
        return CUDA_ERROR_NOT_INITIALIZED;
    }
    if (!granularity || !is_ours(prop) ||
        (option != CU_MEM_ALLOC_GRANULARITY_MINIMUM &&
         option != CU_MEM_ALLOC_GRANULARITY_RECOMMENDED)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    *granularity = LG_SIMDRV_GRANULARITY;
    return CUDA_SUCCESS;
}

CUresult lg_simdrv_cuMemAddressReserve(CUdeviceptr *address, size_t bytes, size_t alignment,
                                       CUdeviceptr fixed, unsigned long long flags) {
    LG_ENTER(context);
    // A wanted address is a hint; none of ours is more than granularity-aligned.
    (void)fixed;
    if (!address || !is_whole(bytes) || alignment > LG_SIMDRV_GRANULARITY || flags != 0) {
        return lg_simdrv_leave(context, CUDA_ERROR_INVALID_VALUE);
    }
    uint64_t base = lg_sim_reserve(context->sim, bytes);
    if (!base) {
        return lg_simdrv_leave(context, CUDA_ERROR_OUT_OF_MEMORY);
    }
    lg_simdrv_object *range = lg_simdrv_add(context, LG_SIMDRV_RANGE);
    range->memory.address = base;
    range->memory.bytes = bytes;
    *address = base;
    return lg_simdrv_leave(context, CUDA_SUCCESS);
}

static bool lies_in(const lg_simdrv_object *object, uint64_t address, uint64_t bytes) {
    uint64_t offset = address - object->memory.address;
    return address >= object->memory.address && offset <= object->memory.bytes &&
           bytes <= object->memory.bytes - offset;
}

// The first object of that kind at or after `from` that is mapped or reserved within the range.
static lg_simdrv_object *next_within(lg_simdrv_object *from, lg_simdrv_kind kind, uint64_t address,
                                     uint64_t bytes) {
    const lg_simdrv_object range = {.memory = {.address = address, .bytes = bytes}};
    while (from && !(from->kind == kind && from->memory.address &&
                     lies_in(&range, from->memory.address, from->memory.bytes))) {
        from = from->next;
    }
    return from;
}

CUresult lg_simdrv_cuMemAddressFree(CUdeviceptr address, size_t bytes) {
    LG_ENTER(context);
    lg_simdrv_object *range = next_within(context->objects, LG_SIMDRV_RANGE, address, bytes);
    if (!range || range->memory.address != address || range->memory.bytes != bytes ||
        next_within(context->objects, LG_SIMDRV_PIECE, address, bytes)) {
        return lg_simdrv_leave(context, CUDA_ERROR_INVALID_VALUE);
    }
    lg_simdrv_remove(context, range);
    return lg_simdrv_leave(context, CUDA_SUCCESS);
}

// What the context's pieces that are not mapped yet will take.
static size_t bytes_promised(const lg_simdrv_context *context) {
    size_t bytes = 0;
    for (const lg_simdrv_object *object = context->objects; object; object = object->next) {
        bool waits = object->kind == LG_SIMDRV_PIECE && !object->memory.address;
        bytes += waits ? object->memory.bytes : 0;
    }
    return bytes;
}

CUresult lg_simdrv_cuMemCreate(CUmemGenericAllocationHandle *handle, size_t bytes,
                               const CUmemAllocationProp *prop, unsigned long long flags) {
    LG_ENTER(context);
    if (!handle || !is_whole(bytes) || !is_ours(prop) || flags != 0) {
        return lg_simdrv_leave(context, CUDA_ERROR_INVALID_VALUE);
    }
    size_t used = lg_sim_bytes_in_use(context->sim) + bytes_promised(context);
    if (used > LG_SIMDRV_TOTAL_MEMORY || bytes > LG_SIMDRV_TOTAL_MEMORY - used) {
        return lg_simdrv_leave(context, CUDA_ERROR_OUT_OF_MEMORY);
    }
    lg_simdrv_object *piece = lg_simdrv_add(context, LG_SIMDRV_PIECE);
    piece->memory.bytes = bytes;
    *handle = piece->id;
    return lg_simdrv_leave(context, CUDA_SUCCESS);
}

static lg_simdrv_object *find_piece(lg_simdrv_context *context,
                                    CUmemGenericAllocationHandle handle) {
    lg_simdrv_object *piece =
        lg_simdrv_find(context, LG_SIMDRV_PIECE, (const void *)(uintptr_t)handle);
    return piece && !piece->memory.released ? piece : NULL;
}

// The memory stays as long as it is mapped.
CUresult lg_simdrv_cuMemRelease(CUmemGenericAllocationHandle handle) {
    LG_ENTER(context);
    lg_simdrv_object *piece = find_piece(context, handle);
    if (!piece) {
        return lg_simdrv_leave(context, CUDA_ERROR_INVALID_VALUE);
    }
    piece->memory.released = true;
    if (!piece->memory.address) {
        lg_simdrv_remove(context, piece);
    }
    return lg_simdrv_leave(context, CUDA_SUCCESS);
}

CUresult lg_simdrv_cuMemMap(CUdeviceptr address, size_t bytes, size_t offset,
                            CUmemGenericAllocationHandle handle, unsigned long long flags) {
    LG_ENTER(context);
    lg_simdrv_object *piece = find_piece(context, handle);
    lg_simdrv_object *range = context->objects;
    while (range && !(range->kind == LG_SIMDRV_RANGE && lies_in(range, address, bytes))) {
        range = range->next;
    }
    if (!piece || !range || piece->memory.address || bytes != piece->memory.bytes || offset != 0 ||
        flags != 0 || !lg_sim_back(context->sim, address, bytes)) {
        return lg_simdrv_leave(context, CUDA_ERROR_INVALID_VALUE);
    }
    piece->memory.address = address;
    return lg_simdrv_leave(context, CUDA_SUCCESS);
}

// Bytes of the pieces within a range, which cover it when they are as many as it has.
static size_t bytes_mapped(lg_simdrv_context *context, CUdeviceptr address, size_t bytes) {
    size_t mapped = 0;
    lg_simdrv_object *piece = next_within(context->objects, LG_SIMDRV_PIECE, address, bytes);
    while (piece) {
        mapped += piece->memory.bytes;
        piece = next_within(piece->next, LG_SIMDRV_PIECE, address, bytes);
    }
    return mapped;
}

CUresult lg_simdrv_cuMemUnmap(CUdeviceptr address, size_t bytes) {
    LG_ENTER(context);
    CUresult error = CUDA_SUCCESS;
    if (!is_whole(bytes) || bytes_mapped(context, address, bytes) != bytes) {
        return lg_simdrv_leave(context, CUDA_ERROR_INVALID_VALUE);
    }
    error = lg_simdrv_wait(context, context->n_submitted);
    lg_simdrv_object *piece;
    while (!error &&
           (piece = next_within(context->objects, LG_SIMDRV_PIECE, address, bytes)) != NULL) {
        lg_sim_free(context->sim, piece->memory.address);
        piece->memory.address = 0;
        if (piece->memory.released) {
            lg_simdrv_remove(context, piece);
        }
    }
    return lg_simdrv_leave(context, error);
}

CUresult lg_simdrv_cuMemSetAccess(CUdeviceptr address, size_t bytes, const CUmemAccessDesc *access,
                                  size_t n) {
    LG_ENTER(context);
    bool fine = access && n == 1 && access->location.type == CU_MEM_LOCATION_TYPE_DEVICE &&
                access->location.id == 0 && access->flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    if (!fine || !is_whole(bytes) || bytes_mapped(context, address, bytes) != bytes) {
        return lg_simdrv_leave(context, CUDA_ERROR_INVALID_VALUE);
    }
    lg_simdrv_object *piece = next_within(context->objects, LG_SIMDRV_PIECE, address, bytes);
    while (piece) {
        lg_sim_open(context->sim, piece->memory.address);
        piece = next_within(piece->next, LG_SIMDRV_PIECE, address, bytes);
    }
    return lg_simdrv_leave(context, CUDA_SUCCESS);
}
