// SPDX-License-Identifier: Apache-2.0
#include "device/internal.h"

#include "support/alloc.h"

#include <stdlib.h>
#include <string.h>

typedef struct scanner {
    const char *text;
    size_t n;
    size_t at;
    lg_ptx_index found;
    size_t capacity;
} scanner;

static void skip_to(scanner *in, const char *mark) {
    const char *end = memmem(in->text + in->at, in->n - in->at, mark, strlen(mark));
    in->at = end ? (size_t)(end - in->text) + strlen(mark) : in->n;
}

// Past a comment or a string that starts here; false when none does.
static bool skip_quoted(scanner *in) {
    const char *at = in->text + in->at;
    size_t rest = in->n - in->at;
    if (rest >= 2 && at[0] == '/' && (at[1] == '/' || at[1] == '*')) {
        in->at += 2;
        skip_to(in, at[1] == '/' ? "\n" : "*/");
        return true;
    }
    if (*at == '"') {
        in->at++;
        skip_to(in, "\"");
        return true;
    }
    return false;
}

// Past the block in braces that comes next.
static void skip_block(scanner *in) {
    int depth = 0;
    while (in->at < in->n) {
        if (skip_quoted(in)) {
            continue;
        }
        char c = in->text[in->at++];
        depth += c == '{';
        if (c == '}' && --depth <= 0) {
            return;
        }
    }
}

static bool is_name_byte(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '$' || c == '%';
}

static bool takes_word(scanner *in, const char *word) {
    size_t n = strlen(word);
    if (in->n - in->at <= n || memcmp(in->text + in->at, word, n) != 0 ||
        is_name_byte(in->text[in->at + n])) {
        return false;
    }
    in->at += n;
    return true;
}

static size_t line_start(const scanner *in, size_t at) {
    while (at > 0 && in->text[at - 1] != '\n') {
        at--;
    }
    return at;
}

static void add_piece(scanner *in, lg_ptx_piece piece) {
    if (in->found.n_pieces == in->capacity) {
        in->capacity = in->capacity ? 2 * in->capacity : 64;
        in->found.pieces = lg_xrealloc(in->found.pieces, in->capacity * sizeof *in->found.pieces);
    }
    in->found.pieces[in->found.n_pieces++] = piece;
}

static void take_piece(scanner *in, size_t word, bool is_entry) {
    lg_ptx_piece piece = {.start = line_start(in, word)};
    size_t n_before = in->found.n_pieces;
    if (n_before && piece.start < in->found.pieces[n_before - 1].end) {
        piece.start = in->found.pieces[n_before - 1].end; // two on one line
    }
    if (is_entry) {
        while (in->at < in->n && strchr(" \t\r\n", in->text[in->at])) {
            in->at++;
        }
        piece.name = in->at;
        while (in->at < in->n && is_name_byte(in->text[in->at])) {
            in->at++;
        }
        piece.n_name = in->at - piece.name;
    }
    skip_block(in);
    piece.end = in->at;
    if (!is_entry || piece.n_name) {
        add_piece(in, piece);
    }
}

lg_ptx_index lg_ptx_index_make(const char *text, size_t n) {
    scanner in = {.text = text, .n = n};
    while (in.at < in.n) {
        size_t word = in.at;
        if (skip_quoted(&in)) {
            continue;
        }
        if (takes_word(&in, ".entry")) {
            take_piece(&in, word, true);
        } else if (takes_word(&in, ".section")) {
            take_piece(&in, word, false);
        } else if (text[in.at] == '{') { // an initialiser, or the body of a function that is kept
            skip_block(&in);
        } else {
            in.at++;
        }
    }
    return in.found;
}

void lg_ptx_index_free(lg_ptx_index *index) {
    free(index->pieces);
    *index = (lg_ptx_index){0};
}

static bool is_named(const char *text, const lg_ptx_piece *piece, const char *name) {
    return piece->n_name && strlen(name) == piece->n_name &&
           memcmp(text + piece->name, name, piece->n_name) == 0;
}

const lg_ptx_piece *lg_ptx_index_find(const char *text, const lg_ptx_index *index,
                                      const char *name) {
    for (size_t i = 0; i < index->n_pieces; i++) {
        if (is_named(text, &index->pieces[i], name)) {
            return &index->pieces[i];
        }
    }
    return NULL;
}

static size_t find_name(const char *text, const lg_ptx_piece *piece, const char *const *names,
                        size_t n_names) {
    size_t i = 0;
    while (i < n_names && !is_named(text, piece, names[i])) {
        i++;
    }
    return i;
}

size_t lg_ptx_slice(const char *text, size_t n, const lg_ptx_index *index, const char *const *names,
                    size_t n_names, bool keep_debug, lg_str *out) {
    size_t copied = 0;
    size_t n_kept = 0;
    for (size_t i = 0; i < index->n_pieces; i++) {
        const lg_ptx_piece *piece = &index->pieces[i];
        bool wanted = piece->n_name ? find_name(text, piece, names, n_names) < n_names : keep_debug;
        n_kept += wanted && piece->n_name;
        lg_str_add_n(out, text + copied, piece->start - copied);
        if (wanted) {
            lg_str_add_n(out, text + piece->start, piece->end - piece->start);
        }
        copied = piece->end;
    }
    lg_str_add_n(out, text + copied, n - copied);
    return n_kept;
}
