// SPDX-License-Identifier: Apache-2.0
#include "device/internal.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_LINE = 4096 };

static const char *skip_blanks(const char *at, const char *end) {
    while (at < end && (*at == ' ' || *at == '\t')) {
        at++;
    }
    return at;
}

// The rest of the first line from `at` on that begins with this directive and a blank, as a text of
// its own; returns where it begins, NULL: there is none. The text need not end in NUL.
static const char *find_directive(const char *at, const char *end, const char *name,
                                  char line[MAX_LINE]) {
    size_t n = strlen(name);
    while (at < end) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        const char *stop = newline ? newline : end;
        at = skip_blanks(at, stop);
        if ((size_t)(stop - at) > n && memcmp(at, name, n) == 0 &&
            skip_blanks(at + n, stop) > at + n) {
            snprintf(line, MAX_LINE, "%.*s",
                     (int)(stop - at - (ptrdiff_t)n < MAX_LINE ? stop - at - (ptrdiff_t)n
                                                               : MAX_LINE - 1),
                     at + n);
            return at + n;
        }
        at = stop + 1;
    }
    return NULL;
}

// `.file 1 "kernels/a.cu"`, with a time and a size behind it or without.
static const char *file_in(const char *at, const char *end, long long number, lg_arena *arena) {
    char line[MAX_LINE];
    while ((at = find_directive(at, end, ".file", line)) != NULL) {
        long long got = 0;
        char name[MAX_LINE];
        if (sscanf(line, "%lld \"%4095[^\"]", &got, name) == 2 && got == number) {
            return lg_arena_strdup(arena, name);
        }
    }
    return NULL;
}

// Looks between the pieces only, from behind: there nvcc puts them.
static const char *file_of(const char *text, size_t n, const lg_ptx_index *index, long long number,
                           lg_arena *arena) {
    const char *found = NULL;
    size_t end = n;
    for (size_t i = index->n_pieces + 1; i-- > 0 && !found;) {
        size_t start = i > 0 ? index->pieces[i - 1].end : 0;
        found = file_in(text + start, text + end, number, arena);
        end = i > 0 ? index->pieces[i - 1].start : 0;
    }
    return found;
}

bool lg_ptx_entry_place(const char *text, size_t n, const lg_ptx_index *index, const char *entry,
                        lg_arena *arena, const char **file, int *line) {
    const lg_ptx_piece *piece = lg_ptx_index_find(text, index, entry);
    char rest[MAX_LINE];
    long long number = 0;
    long long found = 0;
    bool ok = piece &&
              find_directive(text + piece->start, text + piece->end, ".loc", rest) != NULL &&
              sscanf(rest, "%lld %lld", &number, &found) == 2 && found >= 1 && found <= INT_MAX;
    *file = ok ? file_of(text, n, index, number, arena) : NULL;
    *line = (int)(ok ? found : 0);
    return *file != NULL;
}

bool lg_device_entry_place(lg_device_session *session, const lg_kernel *kernel,
                           const lg_stage *stage, lg_dtype input, lg_dtype target, lg_arena *arena,
                           lg_source_place *out) {
    lg_diags dropped = {0};
    const lg_prepared_kernel *prepared = lg_device_find(session, kernel, &dropped);
    const lg_ptx_program *ptx = prepared ? &session->ptx[prepared->ptx] : NULL;
    char *entry = lg_entry_name(kernel, stage->entry, input, target);
    bool found = ptx && ptx->file.ptx &&
                 lg_ptx_entry_place(ptx->file.ptx, ptx->file.n_bytes, &ptx->index, entry, arena,
                                    &out->file, &out->line);
    out->what = found ? lg_arena_printf(arena, "the entry %s", entry) : NULL;
    free(entry);
    lg_diags_free(&dropped);
    return found;
}
