// SPDX-License-Identifier: Apache-2.0
// What stands between the { } of a function: declarations, labels, instructions, inner scopes.
#include "engine/ptx/parser.h"
#include "support/alloc.h"

#include <stdlib.h>
#include <string.h>

// A list of names for labels; the elements are filled in when their scope ends.
static bool parse_targets(lg_ptx_parser *parser, lg_ptx_targets *targets) {
    LG_PTX_VEC(lg_token) names = {0};
    bool ok = true;
    do {
        if (parser->tok.kind != LG_TOKEN_WORD) {
            ok = lg_ptx_expected(parser, "a label");
            break;
        }
        LG_PTX_PUSH(names, parser->tok);
        lg_ptx_advance(parser);
    } while (lg_ptx_accept(parser, ','));
    targets->n = (int)names.n;
    targets->elements =
        lg_arena_array(parser->arena, names.n ? names.n : 1, sizeof *targets->elements);
    for (size_t i = 0; ok && i < names.n; i++) {
        const lg_token *at = &names.items[i];
        lg_ptx_fixup fixup = {.name = lg_ptx_intern(parser, at->start, at->n),
                              .insn = -1,
                              .element = &targets->elements[i],
                              .line = at->line,
                              .column = at->column};
        LG_PTX_PUSH(parser->fixups, fixup);
    }
    free(names.items);
    return ok && lg_ptx_finish_statement(parser);
}

static bool parse_label(lg_ptx_parser *parser) {
    const lg_token at = parser->tok;
    lg_ptx_name *name = lg_ptx_intern(parser, at.start, at.n);
    lg_ptx_advance(parser);
    lg_ptx_advance(parser); // ':'
    if (lg_ptx_accept_dot(parser, ".branchtargets")) {
        lg_ptx_targets targets = {0};
        if (!parse_targets(parser, &targets)) {
            return false;
        }
        LG_PTX_PUSH(parser->targets, targets);
        lg_ptx_bind(parser, name, LG_BIND_TARGETS, (int32_t)parser->targets.n - 1, 0, &at);
        return true;
    }
    if (lg_ptx_accept_dot(parser, ".callprototype")) {
        lg_ptx_signature proto = {0};
        if (!lg_ptx_parse_signature(parser, &proto)) {
            return false;
        }
        LG_PTX_PUSH(parser->protos, proto);
        lg_ptx_bind(parser, name, LG_BIND_PROTO, (int32_t)parser->protos.n - 1, 0, &at);
        return lg_ptx_finish_statement(parser);
    }
    if (lg_ptx_is_dot(parser, ".calltargets")) {
        return lg_ptx_fail_here(parser, ".calltargets is not supported; use .callprototype");
    }
    parser->last_label = (int32_t)parser->insns.n;
    lg_ptx_bind(parser, name, LG_BIND_LABEL, (int32_t)parser->insns.n, 0, &at);
    return true; // what follows the label is a statement of its own
}

static bool parse_directive(lg_ptx_parser *parser) {
    static const char *const variables[] = {".local", ".shared", ".param", ".global", ".const"};
    if (lg_ptx_is_dot(parser, ".reg")) {
        return lg_ptx_parse_reg(parser);
    }
    if (lg_ptx_is_dot(parser, ".loc")) {
        if (!lg_ptx_parse_loc(parser)) {
            lg_ptx_skip_line(parser);
        }
        return true;
    }
    if (lg_ptx_is_dot(parser, ".file")) {
        if (!lg_ptx_parse_file(parser)) {
            lg_ptx_skip_line(parser);
        }
        return true;
    }
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        if (lg_ptx_is_dot(parser, variables[i])) {
            return lg_ptx_parse_variable(parser, false);
        }
    }
    if (lg_ptx_accept_dot(parser, ".extern")) {
        return lg_ptx_parse_variable(parser, true);
    }
    if (lg_ptx_accept_dot(parser, ".pragma")) {
        while (!lg_ptx_is_punct(parser, ';') && parser->tok.kind == LG_TOKEN_STRING) {
            lg_ptx_advance(parser);
            lg_ptx_accept(parser, ',');
        }
        return lg_ptx_expect(parser, ';');
    }
    return lg_ptx_fail_here(parser, "unknown directive '%.*s' in a function",
                            parser->tok.n < 60 ? (int)parser->tok.n : 60, parser->tok.start);
}

static bool resolve(lg_ptx_parser *parser, const lg_ptx_fixup *fixup) {
    const lg_ptx_binding *binding = fixup->name->binding;
    lg_ptx_operand *operand = fixup->element;
    if (fixup->insn >= 0) {
        operand = &parser->insns.items[fixup->insn].operands[fixup->operand];
    }
    bool wants_table = fixup->insn >= 0 && parser->insns.items[fixup->insn].op == LG_OP_BRX;
    if (!binding || binding->kind != (wants_table ? LG_BIND_TARGETS : LG_BIND_LABEL)) {
        return false;
    }
    *operand = (lg_ptx_operand){.kind = LG_OPERAND_LABEL, .reg = -1, .symbol = -1};
    if (wants_table) {
        const lg_ptx_targets *targets = &parser->targets.items[binding->index];
        operand->kind = LG_OPERAND_LIST;
        parser->n_targets += (size_t)targets->n;
        if (parser->n_targets > LG_PTX_MAX_TARGETS) {
            lg_ptx_fail(parser, fixup->line, fixup->column,
                        "more than %d branch targets in one function", LG_PTX_MAX_TARGETS);
            return true;
        }
        operand->n_elements = targets->n;
        operand->elements = targets->elements;
    } else {
        operand->imm_bits = (uint64_t)binding->index;
    }
    return true;
}

void lg_ptx_resolve_labels(lg_ptx_parser *parser, size_t first) {
    size_t kept = first;
    bool last_chance = parser->depth <= 1;
    for (size_t i = first; i < parser->fixups.n; i++) {
        const lg_ptx_fixup fixup = parser->fixups.items[i];
        if (resolve(parser, &fixup)) {
            continue;
        }
        if (last_chance) {
            lg_ptx_fail(parser, fixup.line, fixup.column, "label '%s' is not in this function",
                        fixup.name->text);
        } else {
            parser->fixups.items[kept++] = fixup;
        }
    }
    parser->fixups.n = kept;
}

static bool parse_statement(lg_ptx_parser *parser) {
    const lg_token *next = &parser->next;
    if (parser->tok.kind == LG_TOKEN_DOT) {
        return parse_directive(parser);
    }
    if (parser->tok.kind == LG_TOKEN_WORD && next->kind == LG_TOKEN_PUNCT && next->punct == ':') {
        return parse_label(parser);
    }
    if (parser->tok.kind == LG_TOKEN_WORD || lg_ptx_is_punct(parser, '@')) {
        return lg_ptx_parse_insn(parser);
    }
    return lg_ptx_expected(parser, "an instruction");
}

void lg_ptx_parse_body(lg_ptx_parser *parser, lg_token *end) {
    int first_depth = parser->depth;
    while (parser->tok.kind != LG_TOKEN_END) {
        *end = parser->tok;
        lg_ptx_begin_statement(parser);
        if (lg_ptx_is_punct(parser, '}')) {
            lg_ptx_advance(parser);
            if (parser->depth == first_depth) {
                return;
            }
            lg_ptx_resolve_labels(parser, parser->scopes[parser->depth].first_fixup);
            lg_ptx_scope_close(parser);
        } else if (lg_ptx_is_punct(parser, '{')) {
            if (lg_ptx_scope_open(parser)) {
                lg_ptx_advance(parser);
            } else {
                lg_ptx_skip_braces(parser);
            }
        } else if (!lg_ptx_accept(parser, ';') && !parse_statement(parser)) {
            lg_ptx_skip_statement(parser);
        }
    }
    if (!parser->stopped) {
        lg_ptx_expected(parser, "'}'");
    }
    while (parser->depth > first_depth) {
        lg_ptx_scope_close(parser);
    }
}
