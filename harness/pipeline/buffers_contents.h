// SPDX-License-Identifier: Apache-2.0
// What the inputs of a kernel hold when it differs from the bytes of a tensor of the batch.
#ifndef LG_PIPELINE_BUFFERS_CONTENTS_H
#define LG_PIPELINE_BUFFERS_CONTENTS_H

#include "model/batch.h"
#include "pipeline/buffers.h"

// Type and number of elements of a buffer of the vocabulary.
void lg_buffer_describe(const lg_kernel *kernel, const lg_batch *batch, lg_arg_id arg,
                        lg_device_buffer *buffer);
// Bytes to copy into an input buffer: borrowed from the batch, or made into *owned (free()). NULL
// and *owned NULL: the argument is absent, a null pointer, or memory is out (*failed).
const void *lg_buffer_contents(const lg_batch *batch, lg_arg_id arg, const lg_device_buffer *buffer,
                               void **owned, bool *failed);

#endif
