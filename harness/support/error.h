// SPDX-License-Identifier: Apache-2.0
// Errors as values: a list of diagnostics that point into the user's file.
//
// A function that reads user input takes an `lg_diags *`, reports *all* it finds, and returns false
// when it added an error. Only cli/ prints them. Not thread-safe: one list a thread.
#ifndef LG_SUPPORT_ERROR_H
#define LG_SUPPORT_ERROR_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

typedef enum lg_severity { LG_NOTE, LG_WARNING, LG_ERROR } lg_severity;

// A place in a user's file. line and column count from 1; 0 means "the file as a whole".
typedef struct lg_loc {
    const char *file; // borrowed; lg_diags_add copies it. NULL: no file (a command line, say)
    int line;
    int column;
} lg_loc;

typedef struct lg_diag {
    lg_severity severity;
    char *file; // NULL when there is none
    int line;
    int column;
    char *message;     // one line: what is wrong, and what would be right
    char *source_line; // the offending line of the file without its newline, or NULL
} lg_diag;

typedef struct lg_diags {
    lg_diag *items;
    size_t n;
    size_t capacity;
    size_t n_errors; // how many of the items are errors
} lg_diags;

// A zeroed lg_diags is empty and ready.
void lg_diags_free(lg_diags *diags);

// Appends a diagnostic; `source_line` may be NULL. All strings are copied.
void lg_diags_add(lg_diags *diags, lg_severity severity, lg_loc loc, const char *source_line,
                  const char *format, ...) __attribute__((format(printf, 5, 6)));
void lg_diags_vadd(lg_diags *diags, lg_severity severity, lg_loc loc, const char *source_line,
                   const char *format, va_list args) __attribute__((format(printf, 5, 0)));

// Shorthand for an error; returns false so that `return lg_error(...)` reads well.
bool lg_error(lg_diags *diags, lg_loc loc, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

// clang's analyzer looks at one file at a time and does not know what these functions return.
#ifdef __clang_analyzer__
static inline bool lg_false(bool error) {
    (void)error;
    return false;
}
#define LG_ALWAYS_FALSE(call) lg_false(call)
#define lg_error(...) LG_ALWAYS_FALSE(lg_error(__VA_ARGS__))
#endif

// Prints `file:line:column: error: message`, then the source line and a caret below the column.
void lg_diags_print(const lg_diags *diags, FILE *out);

#endif
