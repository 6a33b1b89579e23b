// SPDX-License-Identifier: Apache-2.0
// One instruction: guard, mnemonic, operands.
#include "engine/ptx/parser.h"
#include "support/alloc.h"

#include <stdlib.h>
#include <string.h>

static bool parse_guard(lg_ptx_parser *parser, lg_ptx_insn *insn) {
    lg_ptx_advance(parser); // '@'
    insn->guard_negated = lg_ptx_accept(parser, '!');
    if (parser->tok.kind != LG_TOKEN_WORD) {
        return lg_ptx_expected(parser, "a predicate register");
    }
    lg_ptx_name *name = lg_ptx_intern(parser, parser->tok.start, parser->tok.n);
    const lg_ptx_binding *binding = lg_ptx_lookup(parser, name);
    if (!binding || binding->kind != LG_BIND_REG ||
        parser->regs.items[binding->index].type != LG_PTX_PRED) {
        return lg_ptx_fail_here(parser,
                                binding ? "'%s' is not a predicate register"
                                        : "unknown predicate register '%s'",
                                name->text);
    }
    insn->guard = binding->index;
    lg_ptx_advance(parser);
    return true;
}

// The word and the dotted words behind it, as one interned text.
static lg_ptx_name *parse_mnemonic_text(lg_ptx_parser *parser) {
    char text[LG_PTX_MAX_MNEMONIC + 1];
    size_t n = 0;
    lg_token at = parser->tok;
    do {
        if (parser->tok.n > LG_PTX_MAX_MNEMONIC - n) {
            lg_ptx_fail(parser, at.line, at.column, "the mnemonic is longer than %d characters",
                        LG_PTX_MAX_MNEMONIC);
            return NULL;
        }
        memcpy(text + n, parser->tok.start, parser->tok.n);
        n += parser->tok.n;
        lg_ptx_advance(parser);
    } while (parser->tok.kind == LG_TOKEN_DOT);
    return lg_ptx_intern(parser, text, n);
}

static bool push_operand(lg_ptx_parser *parser, lg_ptx_insn *insn, lg_ptx_operand *operands,
                         lg_ptx_operand_places *places, const lg_ptx_operand *operand,
                         const lg_token *at) {
    int n = insn->n_operands;
    if (n > LG_PTX_MAX_OPERANDS) {
        return lg_ptx_fail(parser, at->line, at->column, "'%s' has too many operands", insn->text);
    }
    operands[n] = *operand;
    places->line[n] = at->line;
    places->column[n] = at->column;
    insn->n_operands++;
    return true;
}

// A label that may stand further down.
static bool parse_label_use(lg_ptx_parser *parser, lg_ptx_insn *insn, lg_ptx_operand *out) {
    if (parser->tok.kind != LG_TOKEN_WORD) {
        return lg_ptx_expected(parser, "a label");
    }
    lg_ptx_fixup fixup = {.name = lg_ptx_intern(parser, parser->tok.start, parser->tok.n),
                          .insn = (int32_t)parser->insns.n,
                          .operand = insn->n_operands,
                          .line = parser->tok.line,
                          .column = parser->tok.column};
    LG_PTX_PUSH(parser->fixups, fixup);
    out->kind = insn->op == LG_OP_BRX ? LG_OPERAND_LIST : LG_OPERAND_LABEL;
    lg_ptx_advance(parser);
    return true;
}

static bool parse_operands(lg_ptx_parser *parser, lg_ptx_insn *insn, lg_ptx_operand *operands,
                           lg_ptx_operand_places *places) {
    if (lg_ptx_is_punct(parser, ';')) {
        return true;
    }
    do {
        lg_token at = parser->tok;
        lg_ptx_operand operand = {.reg = -1, .symbol = -1};
        bool is_label = (insn->op == LG_OP_BRA && insn->n_operands == 0) ||
                        (insn->op == LG_OP_BRX && insn->n_operands == 1);
        bool ok = is_label ? parse_label_use(parser, insn, &operand)
                           : lg_ptx_parse_operand(parser, &operand);
        if (!ok || !push_operand(parser, insn, operands, places, &operand, &at)) {
            return false;
        }
    } while (lg_ptx_accept(parser, ','));
    return true;
}

static bool parse_list(lg_ptx_parser *parser, lg_ptx_operand *out) {
    LG_PTX_VEC(lg_ptx_operand) elements = {0};
    bool ok = true;
    out->kind = LG_OPERAND_LIST;
    lg_ptx_advance(parser); // '('
    while (ok && !lg_ptx_is_punct(parser, ')')) {
        lg_ptx_operand element = {.reg = -1, .symbol = -1};
        ok = lg_ptx_parse_operand(parser, &element);
        LG_PTX_PUSH(elements, element);
        if (ok && elements.n > LG_PTX_MAX_LIST) {
            ok = lg_ptx_fail_here(parser, "more than %d call arguments", LG_PTX_MAX_LIST);
        }
        if (ok && !lg_ptx_accept(parser, ',') && !lg_ptx_is_punct(parser, ')')) {
            ok = lg_ptx_expected(parser, "',' or ')'");
        }
    }
    if (ok) {
        lg_ptx_advance(parser);
        out->n_elements = (int)elements.n;
        out->elements =
            lg_arena_array(parser->arena, elements.n ? elements.n : 1, sizeof *out->elements);
        if (elements.n) {
            memcpy(out->elements, elements.items, elements.n * sizeof *out->elements);
        }
    }
    free(elements.items);
    return ok;
}

// call [(returns),] function [, (arguments)] [, prototype]
static bool parse_call(lg_ptx_parser *parser, lg_ptx_insn *insn, lg_ptx_operand *operands,
                       lg_ptx_operand_places *places, const lg_ptx_signature **proto) {
    bool has_target = false;
    do {
        lg_token at = parser->tok;
        lg_ptx_operand operand = {.reg = -1, .symbol = -1};
        if (lg_ptx_is_punct(parser, '(')) {
            if (!parse_list(parser, &operand)) {
                return false;
            }
        } else if (has_target && at.kind == LG_TOKEN_WORD) {
            const lg_ptx_binding *binding =
                lg_ptx_lookup(parser, lg_ptx_intern(parser, at.start, at.n));
            if (!binding || binding->kind != LG_BIND_PROTO) {
                return lg_ptx_expected(parser, "the name of a .callprototype");
            }
            *proto = &parser->protos.items[binding->index];
            lg_ptx_advance(parser);
            continue;
        } else if (!lg_ptx_parse_operand(parser, &operand)) {
            return false;
        } else {
            has_target = true;
        }
        if (!push_operand(parser, insn, operands, places, &operand, &at)) {
            return false;
        }
    } while (lg_ptx_accept(parser, ','));
    return true;
}

bool lg_ptx_parse_insn(lg_ptx_parser *parser) {
    lg_ptx_insn insn = {.guard = -1, .src = parser->src};
    lg_ptx_operand operands[LG_PTX_MAX_OPERANDS + 1];
    lg_ptx_operand_places places;
    const lg_ptx_signature *proto = NULL;
    if (lg_ptx_is_punct(parser, '@') && !parse_guard(parser, &insn)) {
        return false;
    }
    if (parser->tok.kind != LG_TOKEN_WORD) {
        return lg_ptx_expected(parser, "an instruction");
    }
    insn.line = parser->tok.line;
    insn.column = parser->tok.column;
    lg_ptx_name *name = parse_mnemonic_text(parser);
    if (!name) {
        return false;
    }
    if (!name->mnemonic) {
        name->mnemonic = lg_ptx_read_mnemonic(parser->arena, name->text, name->n);
    }
    const lg_ptx_mnemonic *mnemonic = name->mnemonic;
    insn.op = mnemonic->op;
    insn.text = mnemonic->text;
    insn.mods = mnemonic->mods;
    insn.n_types = mnemonic->n_types;
    memcpy(insn.types, mnemonic->types, sizeof insn.types);
    if (mnemonic->problem) {
        lg_ptx_fail(parser, insn.line, insn.column, "%s", mnemonic->problem);
        LG_PTX_PUSH(parser->insns, insn);
        return false;
    }
    bool is_call = insn.op == LG_OP_CALL;
    bool ok = is_call ? parse_call(parser, &insn, operands, &places, &proto)
                      : parse_operands(parser, &insn, operands, &places);
    // Operands that run into something odd are reported once, as that.
    bool complete = ok && lg_ptx_is_punct(parser, ';');
    ok = ok && lg_ptx_finish_statement(parser);
    if (complete) {
        if (is_call) {
            lg_ptx_check_call(parser, &insn, operands, proto, &places);
        } else {
            lg_ptx_check_insn(parser, &insn, operands, mnemonic, &places);
        }
    } else {
        insn.n_operands = 0;
    }
    if (insn.n_operands > LG_PTX_MAX_OPERANDS) {
        insn.n_operands = 0; // reported: no form has as many
    }
    memcpy(insn.operands, operands, (size_t)insn.n_operands * sizeof *operands);
    LG_PTX_PUSH(parser->insns, insn);
    return ok;
}
