// SPDX-License-Identifier: Apache-2.0
// A growing string. A zeroed lg_str is empty; `text` is NULL until something is added.
#ifndef LG_SUPPORT_STR_H
#define LG_SUPPORT_STR_H

#include <stdbool.h>
#include <stddef.h>

typedef struct lg_str {
    char *text; // NUL-terminated when not NULL
    size_t n;   // bytes without the NUL
    size_t capacity;
} lg_str;

void lg_str_add(lg_str *str, const char *text);
void lg_str_add_n(lg_str *str, const char *bytes, size_t n);
void lg_str_printf(lg_str *str, const char *format, ...) __attribute__((format(printf, 2, 3)));
void lg_str_clear(lg_str *str); // keeps the memory
void lg_str_free(lg_str *str);
const char *lg_str_text(const lg_str *str); // "" when empty
char *lg_str_take(lg_str *str);             // the caller frees; the lg_str is empty after it

bool lg_glob_match(const char *pattern, const char *text); // fnmatch, '*' also matches '/'
// Edit distance (insert, delete, replace, swap of neighbours), for "did you mean".
size_t lg_edit_distance(const char *a, const char *b);
// The nearest of n names, or NULL when none is close (distance > 1 + length/3).
const char *lg_nearest(const char *word, const char *const names[], size_t n);

// Reads a whole file; NULL with errno set on failure. `*n` gets the bytes; a NUL is appended.
char *lg_read_file(const char *path, size_t *n);

#endif
