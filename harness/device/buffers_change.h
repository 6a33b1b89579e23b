// SPDX-License-Identifier: Apache-2.0
// Elements of an input that a kernel changed: found, counted and told.
#ifndef LG_DEVICE_BUFFERS_CHANGE_H
#define LG_DEVICE_BUFFERS_CHANGE_H

#include "device/buffers.h"

typedef struct lg_change {
    int64_t n, first; // elements that differ, and the first of them
    unsigned char was[8], is[8];
} lg_change;

// Compares n elements of `size` bytes; they are numbered from `first`.
void lg_change_find(const void *was, const void *is, size_t size, int64_t n, int64_t first,
                    lg_change *found);
// Says so in out->input_written. `where`: the first element, "[3, 5]".
void lg_change_report(const lg_device_buffer *buffer, const char *where, const lg_change *found,
                      lg_observation *out);

#endif
