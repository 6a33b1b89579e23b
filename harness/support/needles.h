// SPDX-License-Identifier: Apache-2.0
// Searches a text for many words at once, faster than memory for texts that hold none of them.
//
// The words share a window: their first LG_NEEDLE_MIN bytes. The text is read from the end of each
// window, four bytes at a time, and a table says how far it is safe to jump (Wu and Manber's
// shift).
#ifndef LG_SUPPORT_NEEDLES_H
#define LG_SUPPORT_NEEDLES_H

#include <stddef.h>

enum {
    LG_NEEDLE_MIN = 10, // bytes of the shortest word
    LG_NEEDLE_MAX = 256,
};

typedef struct lg_needles lg_needles;

// `words` are borrowed and must outlive the result; each has LG_NEEDLE_MIN to LG_NEEDLE_MAX bytes.
// Never NULL. Read-only after that: any number of threads may search.
lg_needles *lg_needles_new(const char *const *words, size_t n);
void lg_needles_free(lg_needles *needles); // NULL is allowed

// Where the first word starts that is found whole in text[from, n), n when there is none; `*which`
// gets its number. Of several words at one place, the one listed first.
size_t lg_needles_find(const lg_needles *needles, const char *text, size_t n, size_t from,
                       size_t *which);

#endif
