// SPDX-License-Identifier: Apache-2.0
// Function headers: .func and .entry, their parameters and directives; call prototypes.
#include "engine/ptx/cfg.h"
#include "engine/ptx/parser.h"
#include "support/alloc.h"

#include <stdlib.h>
#include <string.h>

void lg_ptx_function_reset(lg_ptx_parser *parser) {
    parser->function = (lg_ptx_function){0};
    parser->in_function = false;
    parser->regs.n = parser->locals.n = parser->insns.n = parser->srcs.n = 0;
    parser->fixups.n = parser->targets.n = parser->protos.n = 0;
    parser->call_param_at = 0;
    parser->src = -1;
    parser->n_targets = 0;
    parser->last_label = -1;
    // A map that a huge function left behind would cost every small one after it.
    free(parser->srcmap.slots);
    parser->srcmap = (lg_ptx_srcmap){0};
}

// '(' … ')' of parameters, pushed to locals and bound in the current scope.
static bool parse_params(lg_ptx_parser *parser, int *n) {
    if (!lg_ptx_expect(parser, '(')) {
        return false;
    }
    while (!lg_ptx_is_punct(parser, ')')) {
        lg_ptx_symbol symbol = {0};
        lg_token at;
        if (!lg_ptx_parse_param(parser, &symbol, &at)) {
            return false;
        }
        symbol.offset = lg_ptx_place(&parser->function.param_bytes, &symbol);
        if (parser->function.param_bytes > LG_PTX_MAX_PARAM_BYTES) {
            return lg_ptx_fail(parser, at.line, at.column, "more than %d bytes of parameters",
                               LG_PTX_MAX_PARAM_BYTES);
        }
        LG_PTX_PUSH(parser->locals, symbol);
        ++*n;
        lg_ptx_name *name = lg_ptx_intern(parser, at.start, at.n);
        bool unnamed = name->n == 1 && name->text[0] == '_';
        if (!unnamed &&
            !lg_ptx_bind(parser, name, LG_BIND_LOCAL, (int32_t)parser->locals.n - 1, 0, &at)) {
            return false;
        }
        if (!lg_ptx_accept(parser, ',') && !lg_ptx_is_punct(parser, ')')) {
            return lg_ptx_expected(parser, "',' or ')'");
        }
    }
    return lg_ptx_expect(parser, ')');
}

static bool parse_dims(lg_ptx_parser *parser, uint32_t dims[3]) {
    for (int i = 0; i < 3; i++) {
        int64_t value = 0;
        lg_token at = parser->tok;
        if (!lg_ptx_parse_int(parser, &value)) {
            return false;
        }
        if (value < 1 || value > UINT16_MAX) {
            return lg_ptx_fail(parser, at.line, at.column, "a block size is from 1 to %d",
                               UINT16_MAX);
        }
        dims[i] = (uint32_t)value;
        if (!lg_ptx_accept(parser, ',')) {
            for (int rest = i + 1; rest < 3; rest++) {
                dims[rest] = 1;
            }
            return true;
        }
    }
    return lg_ptx_expected(parser, "a directive or '{'");
}

// Directives without effect here that are followed by numbers.
static bool skip_numbers(lg_ptx_parser *parser) {
    int64_t value;
    while (lg_ptx_at_literal(parser)) {
        if (!lg_ptx_parse_int(parser, &value)) {
            return false;
        }
        lg_ptx_accept(parser, ',');
    }
    return true;
}

static bool skip_pragma(lg_ptx_parser *parser) {
    do {
        if (parser->tok.kind != LG_TOKEN_STRING) {
            return lg_ptx_expected(parser, "a string");
        }
        lg_ptx_advance(parser);
    } while (lg_ptx_accept(parser, ','));
    return lg_ptx_expect(parser, ';');
}

static bool parse_directives(lg_ptx_parser *parser) {
    static const char *const numbered[] = {
        ".minnctapersm",         ".maxnctapersm",   ".maxnreg",
        ".reqnctapercluster",    ".maxclusterrank", ".abi_preserve",
        ".abi_preserve_control",
    };
    static const char *const plain[] = {".noreturn", ".explicitcluster", ".blocksareclusters"};
    while (parser->tok.kind == LG_TOKEN_DOT) {
        bool known = false;
        if (lg_ptx_accept_dot(parser, ".maxntid")) {
            if (!parse_dims(parser, parser->function.max_threads)) {
                return false;
            }
            continue;
        }
        if (lg_ptx_accept_dot(parser, ".reqntid")) {
            if (!parse_dims(parser, parser->function.req_threads)) {
                return false;
            }
            continue;
        }
        if (lg_ptx_accept_dot(parser, ".pragma")) {
            if (!skip_pragma(parser)) {
                return false;
            }
            continue;
        }
        for (size_t i = 0; !known && i < sizeof numbered / sizeof *numbered; i++) {
            known = lg_ptx_accept_dot(parser, numbered[i]);
        }
        if (known) {
            if (!skip_numbers(parser)) {
                return false;
            }
            continue;
        }
        for (size_t i = 0; !known && i < sizeof plain / sizeof *plain; i++) {
            known = lg_ptx_accept_dot(parser, plain[i]);
        }
        if (!known) {
            return lg_ptx_fail_here(parser, "unknown directive '%.*s'",
                                    parser->tok.n < 60 ? (int)parser->tok.n : 60,
                                    parser->tok.start);
        }
    }
    return true;
}

static void *copy(lg_arena *arena, const void *items, size_t n, size_t item_bytes) {
    void *out = lg_arena_array(arena, n ? n : 1, item_bytes);
    if (n) {
        memcpy(out, items, n * item_bytes);
    }
    return out;
}

static bool same_signature(const lg_ptx_function *a, const lg_ptx_function *b) {
    if (a->is_entry != b->is_entry || a->n_returns != b->n_returns || a->n_params != b->n_params) {
        return false;
    }
    for (int i = 0; i < a->n_returns + a->n_params; i++) {
        if (a->symbols[i].bytes != b->symbols[i].bytes) {
            return false;
        }
    }
    return true;
}

// The function's index, with its signature stored, so that its body can call it.
static int32_t declare(lg_ptx_parser *parser, const lg_token *at, bool has_body) {
    lg_ptx_function *function = &parser->function;
    function->symbols =
        copy(parser->arena, parser->locals.items, parser->locals.n, sizeof *parser->locals.items);
    function->n_symbols = (int)parser->locals.n;
    lg_ptx_name *name = lg_ptx_intern(parser, at->start, at->n);
    function->name = name->text;
    function->line = at->line;
    // The header's own scope is open; the function belongs to the module.
    lg_ptx_binding *binding = name->binding;
    while (binding && binding->depth > 0) {
        binding = binding->hidden;
    }
    if (!binding) {
        int depth = parser->depth;
        parser->depth = 0;
        int32_t index = (int32_t)parser->functions.n;
        function->is_extern = true;
        LG_PTX_PUSH(parser->functions, *function);
        LG_PTX_PUSH(parser->has_body, has_body);
        lg_ptx_bind(parser, name, LG_BIND_FUNC, index, 0, at);
        parser->depth = depth;
        return index;
    }
    if (binding->kind != LG_BIND_FUNC) {
        lg_ptx_fail(parser, at->line, at->column, "'%s' is already declared on line %d", name->text,
                    binding->line);
        return -1;
    }
    const lg_ptx_function *before = &parser->functions.items[binding->index];
    if (!same_signature(before, function)) {
        lg_ptx_fail(parser, at->line, at->column,
                    "'%s' is declared with other parameters on line %d", name->text, before->line);
        return -1;
    }
    if (has_body && parser->has_body.items[binding->index]) {
        lg_ptx_fail(parser, at->line, at->column, "'%s' is already defined on line %d", name->text,
                    before->line);
        return -1;
    }
    parser->has_body.items[binding->index] |= has_body;
    return binding->index;
}

// Every function ends in an instruction that does not fall through.
static void add_last_return(lg_ptx_parser *parser, int line, int column) {
    bool ends = false;
    if (parser->insns.n > 0) {
        const lg_ptx_insn *last = &parser->insns.items[parser->insns.n - 1];
        ends = last->guard < 0 && (last->op == LG_OP_RET || last->op == LG_OP_EXIT ||
                                   last->op == LG_OP_BRA || last->op == LG_OP_BRX);
    }
    // A label may stand behind the last instruction.
    if (ends && parser->last_label != (int32_t)parser->insns.n) {
        return;
    }
    lg_ptx_insn insn = {.op = LG_OP_RET,
                        .text = "ret",
                        .line = line,
                        .column = column,
                        .guard = -1,
                        .src = parser->src};
    LG_PTX_PUSH(parser->insns, insn);
}

static void store(lg_ptx_parser *parser, int32_t index) {
    lg_ptx_function *function = &parser->function;
    lg_arena *arena = parser->arena;
    function->is_extern = false;
    function->n_symbols = (int)parser->locals.n;
    function->symbols =
        copy(arena, parser->locals.items, parser->locals.n, sizeof *parser->locals.items);
    function->n_regs = (int)parser->regs.n;
    function->regs = copy(arena, parser->regs.items, parser->regs.n, sizeof *parser->regs.items);
    function->n_insns = (int)parser->insns.n;
    function->insns =
        copy(arena, parser->insns.items, parser->insns.n, sizeof *parser->insns.items);
    function->n_srcs = (int)parser->srcs.n;
    function->srcs = copy(arena, parser->srcs.items, parser->srcs.n, sizeof *parser->srcs.items);
    parser->functions.items[index] = *function;
}

static bool parse_header(lg_ptx_parser *parser, lg_token *name) {
    lg_ptx_function *function = &parser->function;
    bool has_returns = lg_ptx_is_punct(parser, '(');
    if (has_returns && function->is_entry) {
        return lg_ptx_fail_here(parser, "a kernel returns nothing");
    }
    if (has_returns && !parse_params(parser, &function->n_returns)) {
        return false;
    }
    *name = parser->tok;
    if (name->kind != LG_TOKEN_WORD) {
        return lg_ptx_expected(parser, "a function name");
    }
    lg_ptx_advance(parser);
    if (lg_ptx_is_punct(parser, '(') && !parse_params(parser, &function->n_params)) {
        return false;
    }
    return parse_directives(parser);
}

bool lg_ptx_parse_function(lg_ptx_parser *parser, bool is_extern) {
    lg_ptx_function_reset(parser);
    parser->function.is_entry = lg_ptx_is_dot(parser, ".entry");
    lg_ptx_advance(parser);
    parser->in_function = true;
    lg_ptx_scope_open(parser);
    lg_token name;
    bool ok = parse_directives(parser) && parse_header(parser, &name);
    if (ok && !lg_ptx_is_punct(parser, '{')) {
        ok = lg_ptx_finish_statement(parser);
        declare(parser, &name, false);
    } else if (ok && is_extern) {
        ok = lg_ptx_fail_here(parser, "an .extern function has no body");
    } else if (ok) {
        int32_t index = declare(parser, &name, true);
        lg_token end = parser->tok;
        size_t errors = parser->diags->n_errors;
        lg_ptx_advance(parser); // '{'
        lg_ptx_parse_body(parser, &end);
        add_last_return(parser, end.line, end.column);
        lg_ptx_resolve_labels(parser, 0);
        if (index >= 0) {
            // The graph needs every label; with errors the module is dropped anyway.
            if (parser->diags->n_errors == errors) {
                store(parser, index);
                lg_ptx_reconverge(parser->arena, &parser->functions.items[index]);
            }
        }
    }
    lg_ptx_scope_close(parser);
    lg_ptx_function_reset(parser);
    return ok;
}

bool lg_ptx_parse_signature(lg_ptx_parser *parser, lg_ptx_signature *signature) {
    // The parameters of a prototype are measured in the place of a function's, then forgotten.
    lg_ptx_function saved = parser->function;
    size_t first = parser->locals.n;
    parser->function = (lg_ptx_function){0};
    bool ok = lg_ptx_scope_open(parser);
    if (ok) {
        lg_token name;
        ok = parse_header(parser, &name);
        lg_ptx_scope_close(parser);
    }
    signature->n_returns = parser->function.n_returns;
    signature->n_params = parser->function.n_params;
    size_t n = parser->locals.n - first;
    signature->bytes = lg_arena_array(&parser->scratch, n ? n : 1, sizeof *signature->bytes);
    for (size_t i = 0; i < n; i++) {
        signature->bytes[i] = parser->locals.items[first + i].bytes;
    }
    parser->locals.n = first;
    parser->function = saved;
    return ok;
}
