// SPDX-License-Identifier: Apache-2.0
#include "support/alloc.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *or_die(void *memory) {
    if (!memory) {
        fputs("lossgate: error: out of memory\n", stderr);
        _Exit(4);
    }
    return memory;
}

void *lg_xmalloc(size_t bytes) {
    return or_die(malloc(bytes ? bytes : 1));
}

void *lg_xcalloc(size_t n, size_t bytes) {
    return or_die(calloc(n ? n : 1, bytes ? bytes : 1));
}

void *lg_xrealloc(void *old, size_t bytes) {
    return or_die(realloc(old, bytes ? bytes : 1));
}

char *lg_xstrdup(const char *text) {
    return or_die(strdup(text));
}

char *lg_xstrndup(const char *text, size_t n) {
    return or_die(strndup(text, n));
}

char *lg_xvasprintf(const char *format, va_list args) {
    char *text = NULL;
    if (vasprintf(&text, format, args) < 0) {
        text = NULL;
    }
    return or_die(text);
}

char *lg_xasprintf(const char *format, ...) {
    va_list args;
    va_start(args, format);
    char *text = lg_xvasprintf(format, args);
    va_end(args);
    return text;
}

void *lg_buffer_alloc(size_t bytes) {
    if (bytes > SIZE_MAX - 64) {
        return NULL;
    }
    size_t rounded = (bytes + 63) & ~(size_t)63;
    return aligned_alloc(64, rounded ? rounded : 64);
}
