// SPDX-License-Identifier: Apache-2.0
#include "support/arena.h"

#include "support/alloc.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 64, MIN_BLOCK = 16384 };

struct lg_arena_block {
    lg_arena_block *next;
    size_t capacity;
    _Alignas(ALIGNMENT) char bytes[];
};

void *lg_arena_alloc(lg_arena *arena, size_t bytes) {
    size_t align = bytes >= ALIGNMENT ? ALIGNMENT : 16;
    size_t start = (arena->used + align - 1) & ~(align - 1);
    if (!arena->head || start > arena->head->capacity || bytes > arena->head->capacity - start) {
        size_t capacity = bytes > MIN_BLOCK ? bytes : MIN_BLOCK;
        if (capacity > SIZE_MAX / 2) {
            capacity = SIZE_MAX / 2; // lg_buffer_alloc will refuse it
        }
        lg_arena_block *block = lg_buffer_alloc(sizeof *block + capacity);
        if (!block) {
            block = lg_xmalloc(SIZE_MAX / 2); // says "out of memory" and ends
        }
        *block = (lg_arena_block){.next = arena->head, .capacity = capacity};
        arena->head = block;
        start = 0;
    }
    arena->used = start + bytes;
    void *memory = arena->head->bytes + start;
    memset(memory, 0, bytes);
    return memory;
}

void *lg_arena_array(lg_arena *arena, size_t n, size_t item_bytes) {
    size_t bytes;
    if (__builtin_mul_overflow(n, item_bytes, &bytes)) {
        bytes = SIZE_MAX / 2;
    }
    return lg_arena_alloc(arena, bytes);
}

char *lg_arena_strndup(lg_arena *arena, const char *text, size_t n) {
    size_t length = strnlen(text, n);
    char *copy = lg_arena_alloc(arena, length + 1);
    memcpy(copy, text, length);
    return copy;
}

char *lg_arena_strdup(lg_arena *arena, const char *text) {
    return lg_arena_strndup(arena, text, strlen(text));
}

char *lg_arena_printf(lg_arena *arena, const char *format, ...) {
    va_list args;
    va_start(args, format);
    char *text = lg_xvasprintf(format, args);
    va_end(args);
    char *copy = lg_arena_strdup(arena, text);
    free(text);
    return copy;
}

void lg_arena_free(lg_arena *arena) {
    while (arena->head) {
        lg_arena_block *next = arena->head->next;
        free(arena->head);
        arena->head = next;
    }
    arena->used = 0;
}
