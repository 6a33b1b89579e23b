// SPDX-License-Identifier: Apache-2.0
// Where in the source an entry of a PTX text begins, by its line table.
#ifndef LG_DEVICE_PTX_PLACE_H
#define LG_DEVICE_PTX_PLACE_H

#include "device/ptx_slice.h"
#include "support/arena.h"

// The first `.loc` in the entry's body, with the name of its `.file`, in `arena`. false: the text
// has no such entry, or no line for it.
bool lg_ptx_entry_place(const char *text, size_t n, const lg_ptx_index *index, const char *entry,
                        lg_arena *arena, const char **file, int *line);

#endif
