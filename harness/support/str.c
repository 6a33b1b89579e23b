// SPDX-License-Identifier: Apache-2.0
#include "support/str.h"

#include "support/alloc.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static void reserve(lg_str *str, size_t extra) {
    size_t wanted = str->n + extra + 1;
    if (wanted <= str->capacity) {
        return;
    }
    str->capacity = wanted > 2 * str->capacity ? wanted : 2 * str->capacity;
    str->text = lg_xrealloc(str->text, str->capacity);
}

void lg_str_add_n(lg_str *str, const char *bytes, size_t n) {
    reserve(str, n);
    memcpy(str->text + str->n, bytes, n);
    str->n += n;
    str->text[str->n] = '\0';
}

void lg_str_add(lg_str *str, const char *text) {
    lg_str_add_n(str, text, strlen(text));
}

void lg_str_printf(lg_str *str, const char *format, ...) {
    va_list args;
    va_start(args, format);
    char *text = lg_xvasprintf(format, args);
    va_end(args);
    lg_str_add(str, text);
    free(text);
}

void lg_str_clear(lg_str *str) {
    str->n = 0;
    if (str->text) {
        str->text[0] = '\0';
    }
}

void lg_str_free(lg_str *str) {
    free(str->text);
    *str = (lg_str){0};
}

const char *lg_str_text(const lg_str *str) {
    return str->text ? str->text : "";
}

char *lg_str_take(lg_str *str) {
    char *text = str->text ? str->text : lg_xstrdup("");
    *str = (lg_str){0};
    return text;
}

bool lg_glob_match(const char *pattern, const char *text) {
    return fnmatch(pattern, text, 0) == 0;
}

static size_t min3(size_t a, size_t b, size_t c) {
    size_t least = a < b ? a : b;
    return least < c ? least : c;
}

size_t lg_edit_distance(const char *a, const char *b) {
    size_t n_a = strlen(a);
    size_t n_b = strlen(b);
    size_t width = n_b + 1;
    size_t *rows = lg_xcalloc(3 * width, sizeof *rows); // the last three rows of the matrix
    size_t *before = rows;
    size_t *last = rows + width;
    size_t *now = rows + 2 * width;
    for (size_t j = 0; j <= n_b; j++) {
        last[j] = j;
    }
    for (size_t i = 1; i <= n_a; i++) {
        now[0] = i;
        for (size_t j = 1; j <= n_b; j++) {
            size_t cost = a[i - 1] != b[j - 1];
            now[j] = min3(last[j] + 1, now[j - 1] + 1, last[j - 1] + cost);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
                before[j - 2] + 1 < now[j]) {
                now[j] = before[j - 2] + 1;
            }
        }
        size_t *oldest = before;
        before = last;
        last = now;
        now = oldest;
    }
    size_t distance = last[n_b];
    free(rows);
    return distance;
}

const char *lg_nearest(const char *word, const char *const names[], size_t n) {
    const char *best = NULL;
    size_t limit = 1 + strlen(word) / 3;
    for (size_t i = 0; i < n; i++) {
        size_t distance = lg_edit_distance(word, names[i]);
        if (distance <= limit) {
            best = names[i];
            limit = distance ? distance - 1 : 0;
            if (distance == 0) {
                break;
            }
        }
    }
    return best;
}

char *lg_read_file(const char *path, size_t *n) {
    FILE *file = fopen(path, "rb");
    if (!file) {
        return NULL;
    }
    struct stat status;
    if (fstat(fileno(file), &status) == 0 && S_ISDIR(status.st_mode)) {
        fclose(file);
        errno = EISDIR;
        return NULL;
    }
    lg_str content = {0};
    char chunk[65536];
    size_t got;
    while ((got = fread(chunk, 1, sizeof chunk, file)) > 0) {
        lg_str_add_n(&content, chunk, got);
    }
    int failed = ferror(file) ? (errno ? errno : EIO) : 0;
    fclose(file);
    if (failed) {
        lg_str_free(&content);
        errno = failed;
        return NULL;
    }
    *n = content.n;
    return lg_str_take(&content);
}
