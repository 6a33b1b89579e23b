// SPDX-License-Identifier: Apache-2.0
#include "device/internal.h"

#include "support/alloc.h"

#include <stdlib.h>
#include <string.h>

static const uint32_t fence_word = LG_FENCE_WORD;

static uint64_t round_up(uint64_t n, uint64_t to) {
    return (n + to - 1) / to * to;
}

// The granules that hold elements, neighbours joined.
static void plan_pieces(lg_far_memory *far, size_t size, size_t granule, lg_arena *arena) {
    far->pieces = lg_arena_array(arena, (size_t)far->walk.n + 1, sizeof *far->pieces);
    for (int64_t i = 0; i < far->walk.n; i++) {
        int64_t offset, stored;
        lg_far_walk_at(&far->walk, i, &offset, &stored);
        uint64_t from = (uint64_t)offset * size / granule * granule;
        uint64_t end = round_up(((uint64_t)offset + 1) * size, granule);
        lg_far_piece *last = far->n_pieces ? &far->pieces[far->n_pieces - 1] : NULL;
        if (!last || last->address + last->bytes < from) {
            last = &far->pieces[far->n_pieces++];
            *last = (lg_far_piece){.address = from, .first = i};
        }
        last->bytes = end - last->address;
        last->n++;
    }
}

// What a piece holds: its elements, and fences beside them.
static void render(const lg_far_memory *far, CUdeviceptr base, const lg_far_piece *piece,
                   unsigned char *to) {
    size_t size = lg_dtype_bytes(far->tensor.dtype);
    for (size_t i = 0; i < piece->bytes; i += sizeof fence_word) {
        memcpy(to + i, &fence_word, sizeof fence_word);
    }
    for (int64_t i = piece->first; i < piece->first + piece->n; i++) {
        int64_t offset, stored;
        lg_far_walk_at(&far->walk, i, &offset, &stored);
        memcpy(to + (base + (uint64_t)offset * size - piece->address),
               (const unsigned char *)far->tensor.data + (size_t)stored * size, size);
    }
}

static CUmemAllocationProp place_of(CUdevice device) {
    return (CUmemAllocationProp){
        .type = CU_MEM_ALLOCATION_TYPE_PINNED,
        .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device},
    };
}

// Backs a piece and opens it. The handle goes at once: what is mapped stays.
static bool back(const lg_driver *driver, const CUmemAllocationProp *place,
                 const lg_far_piece *piece, bool *mapped, lg_calls *calls) {
    const CUmemAccessDesc access = {.location = place->location,
                                    .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CUmemGenericAllocationHandle handle;
    if (!LG_CALL(calls, driver, cuMemCreate, &handle, piece->bytes, place, 0)) {
        return false;
    }
    *mapped = LG_CALL(calls, driver, cuMemMap, piece->address, piece->bytes, 0, handle, 0);
    driver->cuMemRelease(handle);
    return *mapped &&
           LG_CALL(calls, driver, cuMemSetAccess, piece->address, piece->bytes, &access, 1);
}

static bool fill_piece(const lg_driver *driver, const lg_far_memory *far, CUdeviceptr base,
                       const lg_far_piece *piece, lg_calls *calls) {
    unsigned char *image = lg_xmalloc(piece->bytes);
    render(far, base, piece, image);
    bool ok = LG_CALL(calls, driver, cuMemcpyHtoD, piece->address, image, piece->bytes);
    free(image);
    return ok;
}

bool lg_far_make(const lg_driver *driver, const lg_tensor *tensor, lg_device_buffer *buffer,
                 lg_arena *arena, lg_calls *calls) {
    const CUmemAllocationProp place = place_of(0);
    size_t granule, size = lg_dtype_bytes(tensor->dtype);
    lg_far_memory *far = lg_arena_alloc(arena, sizeof *far);
    *far = (lg_far_memory){.tensor = *tensor};
    buffer->far = far;
    far->walk = lg_far_walk_of(&far->tensor);
    if (!LG_CALL(calls, driver, cuMemGetAllocationGranularity, &granule, &place,
                 CU_MEM_ALLOC_GRANULARITY_MINIMUM)) {
        return false;
    }
    plan_pieces(far, size, granule, arena);
    const lg_far_piece *last = &far->pieces[far->n_pieces - 1];
    uint64_t guard = round_up((UINT64_C(1) << 31) * size, granule);
    far->range_bytes = guard + last->address + last->bytes + guard;
    if (!LG_CALL(calls, driver, cuMemAddressReserve, &far->range, far->range_bytes, 0, 0, 0)) {
        far->range = 0;
        return false;
    }
    buffer->address = far->range + guard;
    buffer->reach = last->address + last->bytes;
    bool ok = true;
    for (size_t i = 0; ok && i < far->n_pieces; i++) {
        bool mapped = false;
        far->pieces[i].address += buffer->address;
        ok = back(driver, &place, &far->pieces[i], &mapped, calls);
        far->n_mapped += mapped;
        ok = ok && fill_piece(driver, far, buffer->address, &far->pieces[i], calls);
    }
    return ok;
}

// Compares the elements, and lays what they are now over what they were: what differs then lies
// beside them.
static void compare_elements(const lg_far_memory *far, CUdeviceptr base, const lg_far_piece *piece,
                             unsigned char *was, const unsigned char *is, lg_change *found) {
    size_t size = lg_dtype_bytes(far->tensor.dtype);
    for (int64_t i = piece->first; i < piece->first + piece->n; i++) {
        int64_t offset, stored;
        lg_far_walk_at(&far->walk, i, &offset, &stored);
        size_t at = base + (uint64_t)offset * size - piece->address;
        lg_change_find(was + at, is + at, size, 1, stored, found);
        memcpy(was + at, is + at, size);
    }
}

static void check_beside(const lg_device_buffer *buffer, const lg_far_piece *piece,
                         const unsigned char *was, const unsigned char *is, lg_observation *out) {
    size_t at = 0;
    while (at < piece->bytes && was[at] == is[at]) {
        at++;
    }
    if (at < piece->bytes && !out->memory.present) {
        out->memory = (lg_memory_finding){
            .present = true,
            .kind = LG_DEVICE_FAULT_OUT_OF_BOUNDS,
            .write = true,
            .address = piece->address + at,
            .bytes = 1,
            .buffer = lg_arena_strdup(&out->arena, buffer->name),
            .buffer_arg = buffer->arg,
            .offset = (int64_t)(piece->address + at - buffer->address),
        };
    }
}

void lg_far_check(const lg_buffers *buffers, const lg_batch *batch, lg_arg_id arg,
                  lg_observation *out, lg_calls *calls) {
    const lg_device_buffer *buffer = &buffers->args[arg];
    const lg_far_memory *far = buffer->far;
    lg_change found = {0};
    for (size_t i = 0; i < far->n_mapped; i++) {
        const lg_far_piece *piece = &far->pieces[i];
        unsigned char *was = lg_xmalloc(piece->bytes * 2), *is = was + piece->bytes;
        if (LG_CALL(calls, buffers->driver, cuMemcpyDtoH, is, piece->address, piece->bytes)) {
            render(far, buffer->address, piece, was);
            compare_elements(far, buffer->address, piece, was, is, &found);
            check_beside(buffer, piece, was, is, out);
        }
        free(was);
    }
    if (found.n > 0 && !out->input_written) {
        lg_change_report(buffer, lg_buffer_index_text(batch, arg, found.first, &out->arena), &found,
                         out);
    }
}

bool lg_far_owns(const lg_device_buffer *buffer, CUdeviceptr address) {
    const lg_far_memory *far = buffer->far;
    return far && far->range && address - far->range < far->range_bytes;
}

void lg_far_free(const lg_driver *driver, lg_device_buffer *buffer) {
    lg_far_memory *far = buffer->far;
    for (size_t i = 0; i < far->n_mapped; i++) {
        driver->cuMemUnmap(far->pieces[i].address, far->pieces[i].bytes);
    }
    if (far->range) {
        driver->cuMemAddressFree(far->range, far->range_bytes);
    }
    buffer->far = NULL;
    buffer->address = 0;
}
