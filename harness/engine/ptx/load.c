// SPDX-License-Identifier: Apache-2.0
// The module: its directives, and the entrance of the layer.
#include "engine/ptx/parser.h"
#include "engine/ptx/ptx.h"
#include "support/alloc.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

// Larger texts are refused before they are read: line numbers and indices are 32 bits wide.
#define MAX_TEXT_BYTES ((size_t)256 << 20)

static bool parse_version(lg_ptx_parser *parser) {
    parser->has_version = true;
    lg_ptx_advance(parser);
    const lg_token tok = parser->tok;
    int major = 0;
    int minor = 0;
    char text[16] = {0};
    if (tok.kind == LG_TOKEN_F64 && tok.n < sizeof text) {
        memcpy(text, tok.start, tok.n);
    }
    char rest;
    if (sscanf(text, "%d.%d%c", &major, &minor, &rest) != 2) {
        return lg_ptx_expected(parser, "a version such as 9.0");
    }
    lg_ptx_advance(parser);
    if (major > 9) {
        return lg_ptx_fail(parser, tok.line, tok.column, "PTX version %s is newer than 9", text);
    }
    parser->module->version_major = major;
    parser->module->version_minor = minor;
    return true;
}

// sm_75, sm_90a, with further words behind commas: debug, texmode_independent …
static bool parse_target(lg_ptx_parser *parser) {
    parser->has_target = true;
    lg_ptx_advance(parser);
    lg_token first = parser->tok;
    do {
        const lg_token tok = parser->tok;
        if (tok.kind != LG_TOKEN_WORD) {
            return lg_ptx_expected(parser, "a target such as sm_75");
        }
        if (tok.n > 3 && tok.n < 12 && memcmp(tok.start, "sm_", 3) == 0) {
            parser->module->sm = atoi(tok.start + 3); // the lexer ended the word
        }
        lg_ptx_advance(parser);
    } while (lg_ptx_accept(parser, ','));
    return parser->module->sm > 0 ||
           lg_ptx_fail(parser, first.line, first.column, "expected a target such as sm_75");
}

static bool parse_address_size(lg_ptx_parser *parser) {
    int64_t size = 0;
    lg_ptx_advance(parser);
    lg_token at = parser->tok;
    if (!lg_ptx_parse_int(parser, &size)) {
        return false;
    }
    return size == 64 ||
           lg_ptx_fail(parser, at.line, at.column, "only .address_size 64 is supported");
}

static bool skip_section(lg_ptx_parser *parser) {
    while (parser->tok.kind != LG_TOKEN_END && !lg_ptx_is_punct(parser, '{')) {
        lg_ptx_advance(parser);
    }
    lg_ptx_skip_braces(parser);
    return true;
}

// .alias name, function;
static bool parse_alias(lg_ptx_parser *parser) {
    lg_token words[2];
    lg_ptx_advance(parser);
    for (int i = 0; i < 2; i++) {
        words[i] = parser->tok;
        if (words[i].kind != LG_TOKEN_WORD) {
            return lg_ptx_expected(parser, "a function name");
        }
        lg_ptx_advance(parser);
        if (i == 0 && !lg_ptx_expect(parser, ',')) {
            return false;
        }
    }
    if (!lg_ptx_finish_statement(parser)) {
        return false;
    }
    lg_ptx_name *alias = lg_ptx_intern(parser, words[0].start, words[0].n);
    lg_ptx_name *target = lg_ptx_intern(parser, words[1].start, words[1].n);
    const lg_ptx_binding *binding = target->binding;
    if (!binding || binding->kind != LG_BIND_FUNC) {
        lg_ptx_fail(parser, words[1].line, words[1].column, "'%s' is not a function", target->text);
        return true;
    }
    // The alias is declared before as a function without a body: its index gets the same code.
    if (!alias->binding || alias->binding->kind != LG_BIND_FUNC) {
        lg_ptx_fail(parser, words[0].line, words[0].column,
                    "'%s' must be declared as a function before its .alias", alias->text);
    } else if (parser->has_body.items[alias->binding->index]) {
        lg_ptx_fail(parser, words[0].line, words[0].column, "'%s' is already defined", alias->text);
    } else {
        lg_ptx_alias entry = {.alias = alias->binding->index, .target = binding->index};
        LG_PTX_PUSH(parser->aliases, entry);
    }
    return true;
}

static bool parse_linkage(lg_ptx_parser *parser) {
    bool is_extern = lg_ptx_is_dot(parser, ".extern");
    lg_ptx_advance(parser);
    if (lg_ptx_is_dot(parser, ".func") || lg_ptx_is_dot(parser, ".entry")) {
        return lg_ptx_parse_function(parser, is_extern);
    }
    return lg_ptx_parse_variable(parser, is_extern);
}

static bool parse_directive(lg_ptx_parser *parser) {
    static const struct {
        const char *text;
        bool (*parse)(lg_ptx_parser *parser);
        bool one_line; // ends with its line, not with ';'
    } directives[] = {
        {".version", parse_version, true},
        {".target", parse_target, true},
        {".address_size", parse_address_size, true},
        {".section", skip_section, false},
        {".alias", parse_alias, false},
        {".extern", parse_linkage, false},
        {".visible", parse_linkage, false},
        {".weak", parse_linkage, false},
        {".common", parse_linkage, false},
        {".file", lg_ptx_parse_file, true},
        {".loc", lg_ptx_parse_loc, true},
        {".reg", lg_ptx_parse_reg, false},
    };
    for (size_t i = 0; i < sizeof directives / sizeof *directives; i++) {
        if (lg_ptx_is_dot(parser, directives[i].text)) {
            bool ok = directives[i].parse(parser);
            if (!ok && directives[i].one_line) {
                lg_ptx_skip_line(parser);
            }
            return ok || directives[i].one_line;
        }
    }
    if (lg_ptx_is_dot(parser, ".func") || lg_ptx_is_dot(parser, ".entry")) {
        return lg_ptx_parse_function(parser, false);
    }
    static const char *const spaces[] = {".global", ".shared", ".const", ".local", ".param"};
    for (size_t i = 0; i < sizeof spaces / sizeof *spaces; i++) {
        if (lg_ptx_is_dot(parser, spaces[i])) {
            return lg_ptx_parse_variable(parser, false);
        }
    }
    if (lg_ptx_is_dot(parser, ".pragma")) {
        lg_ptx_skip_statement(parser);
        return true;
    }
    return lg_ptx_fail_here(parser, "unknown directive '%.*s'",
                            parser->tok.n < 60 ? (int)parser->tok.n : 60, parser->tok.start);
}

static void parse_module(lg_ptx_parser *parser) {
    while (parser->tok.kind != LG_TOKEN_END) {
        if (lg_ptx_accept(parser, ';')) {
            continue;
        }
        lg_ptx_begin_statement(parser);
        bool ok = parser->tok.kind == LG_TOKEN_DOT ? parse_directive(parser)
                                                   : lg_ptx_expected(parser, "a directive");
        if (!ok) {
            lg_ptx_skip_statement(parser);
        }
    }
    if (!parser->has_version) {
        lg_ptx_fail(parser, 0, 0, "the module has no .version");
    }
    if (!parser->has_target) {
        lg_ptx_fail(parser, 0, 0, "the module has no .target");
    }
}

// Addresses in initialisers may name what stands further down.
static void resolve_relocs(lg_ptx_parser *parser) {
    for (size_t i = 0; i < parser->pending_relocs.n; i++) {
        const lg_ptx_pending_reloc *pending = &parser->pending_relocs.items[i];
        const lg_ptx_binding *binding = pending->name->binding;
        if (binding && binding->kind == LG_BIND_MODULE) {
            pending->reloc->symbol = binding->index;
        } else if (binding && binding->kind == LG_BIND_FUNC) {
            pending->reloc->function = binding->index;
        } else {
            lg_ptx_fail(parser, pending->line, pending->column, "unknown name '%.60s'",
                        pending->name->text);
        }
    }
}

static void resolve_aliases(lg_ptx_parser *parser) {
    for (size_t i = 0; i < parser->aliases.n; i++) {
        const lg_ptx_alias *entry = &parser->aliases.items[i];
        lg_ptx_function *alias = &parser->functions.items[entry->alias];
        const char *name = alias->name;
        *alias = parser->functions.items[entry->target];
        alias->name = name;
    }
}

static void split_lines(lg_ptx_module *module, const char *text, size_t n) {
    size_t n_lines = 1;
    for (size_t i = 0; i < n; i++) {
        n_lines += text[i] == '\n';
    }
    char *copy = lg_arena_strndup(&module->arena, text, n);
    module->n_lines = (int)n_lines;
    module->lines = lg_arena_array(&module->arena, n_lines, sizeof *module->lines);
    for (size_t i = 0; i < n_lines; i++) {
        module->lines[i] = copy;
        char *end = strchrnul(copy, '\n');
        copy = *end ? end + 1 : end;
        *end = '\0';
        if (end > module->lines[i] && end[-1] == '\r') {
            end[-1] = '\0';
        }
    }
}

static void *keep(lg_arena *arena, const void *items, size_t n, size_t item_bytes) {
    void *copy = lg_arena_array(arena, n ? n : 1, item_bytes);
    if (n) {
        memcpy(copy, items, n * item_bytes);
    }
    return copy;
}

static void free_parser(lg_ptx_parser *parser) {
    lg_ptx_names_free(&parser->names);
    free(parser->symbols.items);
    free(parser->functions.items);
    free(parser->files.items);
    free(parser->has_body.items);
    free(parser->pending_relocs.items);
    free(parser->aliases.items);
    free(parser->regs.items);
    free(parser->locals.items);
    free(parser->insns.items);
    free(parser->srcs.items);
    free(parser->fixups.items);
    free(parser->targets.items);
    free(parser->protos.items);
    free(parser->srcmap.slots);
    lg_arena_free(&parser->scratch);
}

typedef struct ordered_diag {
    lg_diag diag;
    size_t index;
} ordered_diag;

static int compare_diags(const void *left, const void *right) {
    const ordered_diag *a = left;
    const ordered_diag *b = right;
    bool a_whole = a->diag.line == 0; // what concerns the file as a whole comes last
    bool b_whole = b->diag.line == 0;
    if (a_whole != b_whole) {
        return a_whole - b_whole;
    }
    if (a->diag.line != b->diag.line) {
        return a->diag.line < b->diag.line ? -1 : 1;
    }
    if (a->diag.column != b->diag.column) {
        return a->diag.column < b->diag.column ? -1 : 1;
    }
    return a->index < b->index ? -1 : 1;
}

// Labels are known missing only when their scope ends; people read from top to bottom.
static void sort_diags(lg_diags *diags, size_t first) {
    size_t n = diags->n - first;
    if (n < 2) {
        return;
    }
    ordered_diag *order = lg_xcalloc(n, sizeof *order);
    for (size_t i = 0; i < n; i++) {
        order[i] = (ordered_diag){diags->items[first + i], i};
    }
    qsort(order, n, sizeof *order, compare_diags);
    for (size_t i = 0; i < n; i++) {
        diags->items[first + i] = order[i].diag;
    }
    free(order);
}

lg_ptx_module *lg_ptx_load(const char *name, const char *text, size_t n, lg_diags *diags) {
    n = strnlen(text, n);
    if (n > MAX_TEXT_BYTES) {
        lg_error(diags, (lg_loc){.file = name}, "the PTX text is larger than %zu bytes",
                 MAX_TEXT_BYTES);
        return NULL;
    }
    lg_ptx_module *module = lg_xcalloc(1, sizeof *module);
    lg_ptx_parser *parser = lg_xcalloc(1, sizeof *parser);
    size_t first_diag = diags->n;
    module->name = lg_arena_strdup(&module->arena, name);
    split_lines(module, text, n);
    parser->module = module;
    parser->arena = &module->arena;
    parser->diags = diags;
    parser->first_error = diags->n_errors;
    lg_ptx_function_reset(parser);
    lg_lexer_init(&parser->lexer, text, n);
    lg_ptx_advance(parser);
    lg_ptx_advance(parser);
    parse_module(parser);
    resolve_relocs(parser);
    resolve_aliases(parser);
    lg_arena *arena = &module->arena;
    module->n_files = (int)parser->files.n;
    module->files = keep(arena, parser->files.items, parser->files.n, sizeof *module->files);
    module->n_symbols = (int)parser->symbols.n;
    module->symbols =
        keep(arena, parser->symbols.items, parser->symbols.n, sizeof *module->symbols);
    module->n_functions = (int)parser->functions.n;
    module->functions =
        keep(arena, parser->functions.items, parser->functions.n, sizeof *module->functions);
    bool ok = diags->n_errors == parser->first_error;
    sort_diags(diags, first_diag);
    free_parser(parser);
    free(parser);
    if (!ok) {
        lg_ptx_free(module);
        return NULL;
    }
    return module;
}

void lg_ptx_free(lg_ptx_module *module) {
    if (module) {
        lg_arena_free(&module->arena);
        free(module);
    }
}

int lg_ptx_find_function(const lg_ptx_module *module, const char *name) {
    for (int i = 0; i < module->n_functions; i++) {
        if (strcmp(module->functions[i].name, name) == 0) {
            return i;
        }
    }
    return -1;
}
