// SPDX-License-Identifier: Apache-2.0
// What the inputs of a kernel hold when it differs from the bytes of a tensor of the batch.
#ifndef LG_DEVICE_BUFFERS_CONTENTS_H
#define LG_DEVICE_BUFFERS_CONTENTS_H

#include "model/batch.h"
#include "device/buffers.h"

// Type and number of elements of a buffer of the vocabulary.
void lg_buffer_describe(const lg_kernel *kernel, const lg_batch *batch, lg_arg_id arg,
                        lg_device_buffer *buffer);
// The far view that the argument is given as, or NULL.
const lg_tensor *lg_buffer_far_view(const lg_batch *batch, lg_arg_id arg);
// Bytes to copy into an input buffer: borrowed from the batch, or made into *owned (free()). NULL
// and *owned NULL: the argument is absent, a null pointer, or memory is out (*failed).
const void *lg_buffer_contents(const lg_batch *batch, lg_arg_id arg, const lg_device_buffer *buffer,
                               void **owned, bool *failed);
// Elements [first, first + n) of the same bytes: a pointer into the batch, or `room`, which holds n
// elements and is filled. NULL: the argument is absent.
const void *lg_buffer_part(const lg_batch *batch, lg_arg_id arg, const lg_device_buffer *buffer,
                           int64_t first, int64_t n, void *room);
// Where element `index` of the buffer is, as people write it: "[3, 5]", or "17 of the storage" for
// one that no index of a strided view reaches. In the arena.
const char *lg_buffer_index_text(const lg_batch *batch, lg_arg_id arg, int64_t index,
                                 lg_arena *arena);

#endif
