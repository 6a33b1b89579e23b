// SPDX-License-Identifier: Apache-2.0
// Cuts a PTX text down to the entries a run needs. The kernels of one source are hundreds of
// entries, and a context that died has to load its modules again: the two entries of a case load a
// hundred times faster than all.
#ifndef LG_DEVICE_PTX_SLICE_H
#define LG_DEVICE_PTX_SLICE_H

#include "support/str.h"

#include <stdbool.h>
#include <stddef.h>

// A piece of the text: an entry function, or a debug section.
typedef struct lg_ptx_piece {
    size_t start, end; // bytes [start, end), whole lines where the text allows it
    size_t name;       // where an entry's name starts
    size_t n_name;     // 0: a debug section
} lg_ptx_piece;

typedef struct lg_ptx_index {
    lg_ptx_piece *pieces; // in order of the text; free()
    size_t n_pieces;
} lg_ptx_index;

// Finds the pieces. Looks at braces, comments and strings only, never fails; a text it misreads
// gives a slice that does not load, and the caller falls back to the whole.
lg_ptx_index lg_ptx_index_make(const char *text, size_t n);
void lg_ptx_index_free(lg_ptx_index *index);

// The piece with the entry of this name, NULL when there is none.
const lg_ptx_piece *lg_ptx_index_find(const char *text, const lg_ptx_index *index,
                                      const char *name);

// Everything but the entries that are not in `names`; without the debug sections unless
// `keep_debug` (a GPU's compiler resolves names in them). Returns the number of
// entries kept; names may be missing.
size_t lg_ptx_slice(const char *text, size_t n, const lg_ptx_index *index, const char *const *names,
                    size_t n_names, bool keep_debug, lg_str *out);

#endif
