// SPDX-License-Identifier: Apache-2.0
// .file and .loc: which line of which source an instruction comes from.
//
// nvcc writes the call sites of inlined code as `.loc f l c, function_name …, inlined_at f2 l2 c2`,
// outermost first; the call site is the latest position of this function with the same numbers.
#include "engine/ptx/parser.h"
#include "engine/ptx/ptx.h"
#include "support/alloc.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_SLOTS = 256 };

static size_t hash_src(const lg_ptx_src *src) {
    uint64_t hash = (uint64_t)(uint32_t)src->file * 0x9e3779b97f4a7c15ULL;
    hash = (hash ^ (uint32_t)src->line) * 0xbf58476d1ce4e5b9ULL;
    hash = (hash ^ (uint32_t)src->column) * 0x94d049bb133111ebULL;
    return (size_t)(hash ^ hash >> 29);
}

static bool same_place(const lg_ptx_src *a, const lg_ptx_src *b) {
    return a->file == b->file && a->line == b->line && a->column == b->column;
}

// The slot of the latest position with these numbers, or the free one where it belongs.
static int32_t *find_slot(lg_ptx_parser *parser, const lg_ptx_src *src) {
    lg_ptx_srcmap *map = &parser->srcmap;
    size_t at = hash_src(src) & (map->n_slots - 1);
    while (map->slots[at] >= 0 && !same_place(&parser->srcs.items[map->slots[at]], src)) {
        at = (at + 1) & (map->n_slots - 1);
    }
    return &map->slots[at];
}

static void grow(lg_ptx_parser *parser) {
    lg_ptx_srcmap *map = &parser->srcmap;
    size_t n_slots = map->n_slots ? 2 * map->n_slots : FIRST_SLOTS;
    free(map->slots);
    map->slots = lg_xmalloc(n_slots * sizeof *map->slots);
    map->n_slots = n_slots;
    memset(map->slots, 0xff, n_slots * sizeof *map->slots);
    for (size_t i = 0; i < parser->srcs.n; i++) {
        *find_slot(parser, &parser->srcs.items[i]) = (int32_t)i;
    }
}

static int32_t add_src(lg_ptx_parser *parser, const lg_ptx_src *src) {
    if (2 * (parser->srcs.n + 1) > parser->srcmap.n_slots) {
        grow(parser);
    }
    int32_t *slot = find_slot(parser, src);
    if (*slot >= 0 && parser->srcs.items[*slot].inlined_at == src->inlined_at) {
        return *slot;
    }
    LG_PTX_PUSH(parser->srcs, *src);
    *slot = (int32_t)parser->srcs.n - 1;
    return *slot;
}

static bool parse_position(lg_ptx_parser *parser, lg_ptx_src *src) {
    int32_t *const fields[] = {&src->file, &src->line, &src->column};
    for (size_t i = 0; i < 3; i++) {
        if (parser->tok.kind != LG_TOKEN_INT || parser->tok.bits > INT_MAX) {
            return lg_ptx_expected(parser, "file, line and column of .loc");
        }
        *fields[i] = (int32_t)parser->tok.bits;
        lg_ptx_advance(parser);
    }
    return true;
}

static bool is_word(const lg_ptx_parser *parser, const char *word) {
    const lg_token *tok = &parser->tok;
    return tok->kind == LG_TOKEN_WORD && tok->n == strlen(word) &&
           memcmp(tok->start, word, tok->n) == 0;
}

// The label of a name in .debug_str, with an offset: nothing here needs it.
static bool skip_function_name(lg_ptx_parser *parser) {
    lg_ptx_advance(parser);
    if (parser->tok.kind != LG_TOKEN_WORD) {
        return lg_ptx_expected(parser, "a label");
    }
    lg_ptx_advance(parser);
    int64_t offset;
    return !lg_ptx_accept(parser, '+') || lg_ptx_parse_int(parser, &offset);
}

bool lg_ptx_parse_loc(lg_ptx_parser *parser) {
    lg_ptx_src src = {.inlined_at = -1};
    lg_ptx_advance(parser); // .loc
    if (!parse_position(parser, &src)) {
        return false;
    }
    while (lg_ptx_accept(parser, ',')) {
        if (is_word(parser, "function_name")) {
            if (!skip_function_name(parser)) {
                return false;
            }
        } else if (is_word(parser, "inlined_at")) {
            lg_ptx_src site = {.inlined_at = -1};
            lg_ptx_advance(parser);
            if (!parse_position(parser, &site)) {
                return false;
            }
            if (parser->srcmap.n_slots) {
                int32_t slot = *find_slot(parser, &site);
                src.inlined_at = slot;
            }
            if (src.inlined_at < 0) {
                src.inlined_at = add_src(parser, &site);
            }
        } else {
            return lg_ptx_expected(parser, "'function_name' or 'inlined_at'");
        }
    }
    parser->src = add_src(parser, &src);
    return true;
}

bool lg_ptx_parse_file(lg_ptx_parser *parser) {
    lg_ptx_advance(parser); // .file
    const lg_token index = parser->tok;
    if (index.kind != LG_TOKEN_INT) {
        return lg_ptx_expected(parser, "the number of the file");
    }
    if (index.bits >= LG_PTX_MAX_FILE_INDEX) {
        return lg_ptx_fail_here(parser, "file numbers go up to %d", LG_PTX_MAX_FILE_INDEX - 1);
    }
    lg_ptx_advance(parser);
    if (parser->tok.kind != LG_TOKEN_STRING) {
        return lg_ptx_expected(parser, "the name of the file");
    }
    while (parser->files.n <= index.bits) {
        LG_PTX_PUSH(parser->files, NULL);
    }
    parser->files.items[index.bits] = lg_ptx_intern(parser, parser->tok.start, parser->tok.n)->text;
    lg_ptx_advance(parser);
    int64_t number; // time stamp and size
    while (lg_ptx_accept(parser, ',')) {
        if (!lg_ptx_parse_int(parser, &number)) {
            return false;
        }
    }
    return true;
}

// The position with that index in the function, or NULL.
static const lg_ptx_src *known_src(const lg_ptx_module *module, const lg_ptx_function *function,
                                   int32_t index) {
    if (index < 0 || index >= function->n_srcs) {
        return NULL;
    }
    const lg_ptx_src *src = &function->srcs[index];
    bool known =
        src->line > 0 && src->file >= 0 && src->file < module->n_files && module->files[src->file];
    return known ? src : NULL;
}

static const lg_ptx_src *src_of(const lg_ptx_module *module, const lg_ptx_function *function,
                                int insn) {
    bool exists = insn >= 0 && insn < function->n_insns;
    return exists ? known_src(module, function, function->insns[insn].src) : NULL;
}

static bool give_place(const lg_ptx_module *module, const lg_ptx_src *src, const char **file,
                       int *line, int *column) {
    if (!src) {
        return false;
    }
    *file = module->files[src->file];
    *line = src->line;
    *column = src->column;
    return true;
}

bool lg_ptx_source(const lg_ptx_module *module, const lg_ptx_function *function, int insn,
                   const char **file, int *line, int *column) {
    return give_place(module, src_of(module, function, insn), file, line, column);
}

bool lg_ptx_caller_source(const lg_ptx_module *module, const lg_ptx_function *function, int insn,
                          const char **file, int *line, int *column) {
    const lg_ptx_src *src = src_of(module, function, insn);
    for (int n = 0; src && n < function->n_srcs; n++) {
        const lg_ptx_src *site = known_src(module, function, src->inlined_at);
        if (!site || !strstr(module->files[src->file], "/include/")) {
            break;
        }
        src = site;
    }
    return give_place(module, src, file, line, column);
}
