// SPDX-License-Identifier: Apache-2.0
// A bump allocator: the small objects of one stage, freed together. One thread.
#ifndef LG_SUPPORT_ARENA_H
#define LG_SUPPORT_ARENA_H

#include "support/alloc.h"

#include <stdarg.h>
#include <stddef.h>

typedef struct lg_arena_block lg_arena_block;

// A zeroed lg_arena is empty and ready.
typedef struct lg_arena {
    lg_arena_block *head;
    size_t used;
} lg_arena;

// Zeroed, aligned for any type up to 64 bytes.
LG_NEVER_NULL void *lg_arena_alloc(lg_arena *arena, size_t bytes);
// n * item_bytes, checked.
LG_NEVER_NULL void *lg_arena_array(lg_arena *arena, size_t n, size_t item_bytes);
LG_NEVER_NULL char *lg_arena_strdup(lg_arena *arena, const char *text);
LG_NEVER_NULL char *lg_arena_strndup(lg_arena *arena, const char *text, size_t n);
LG_NEVER_NULL char *lg_arena_printf(lg_arena *arena, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void lg_arena_free(lg_arena *arena);

#endif
