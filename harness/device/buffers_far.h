// SPDX-License-Identifier: Apache-2.0
// A far view (model/far_view.h) in device memory: a range of addresses of which only the places of
// elements are backed.
//
// The device backs whole granules, at least the one that an element lies in; what a granule has
// besides elements holds the fence word and is looked at after the run. Everything between the
// granules has no memory: an access there is a fault of the device itself. The range begins and
// ends 2^31 elements away from the view, so that an offset that overflowed 32 bits stays in it,
// whatever its sign, and never meets another buffer.
#ifndef LG_DEVICE_BUFFERS_FAR_H
#define LG_DEVICE_BUFFERS_FAR_H

#include "model/far_view.h"
#include "device/buffers.h"

typedef struct lg_far_piece {
    CUdeviceptr address;
    size_t bytes;
    int64_t first, n; // elements of the walk
} lg_far_piece;

typedef struct lg_far_memory {
    CUdeviceptr range;
    size_t range_bytes;
    size_t n_pieces;
    lg_far_piece *pieces; // by address; the first n_mapped are backed
    size_t n_mapped;
    lg_far_walk walk;
    lg_tensor tensor; // borrowed contents
} lg_far_memory;

// Reserves, backs and fills; buffer->address, reach and far are set. False with the failed call
// noted; what was made is still to be freed. CUDA_ERROR_NOT_SUPPORTED and
// CUDA_ERROR_OUT_OF_MEMORY: the device has no such memory, or not enough.
bool lg_far_make(const lg_driver *driver, const lg_tensor *tensor, lg_device_buffer *buffer,
                 lg_arena *arena, lg_calls *calls);
// Compares each piece with what was put there: an element that changed is told as an input that was
// written, a byte beside the elements as a write out of bounds.
void lg_far_check(const lg_buffers *buffers, const lg_batch *batch, lg_arg_id arg,
                  lg_observation *out, lg_calls *calls);
// Whether the address lies in the buffer's range, where nothing else can be meant.
bool lg_far_owns(const lg_device_buffer *buffer, CUdeviceptr address);
// Notes no call: its context may be past caring.
void lg_far_free(const lg_driver *driver, lg_device_buffer *buffer);

#endif
