// SPDX-License-Identifier: Apache-2.0
#include "engine/ptx/parser.h"

#include <string.h>

enum { MAX_VECTOR = 8 };

static lg_ptx_operand *new_elements(lg_ptx_parser *parser, lg_ptx_operand *out, int n) {
    out->elements = lg_arena_array(parser->arena, (size_t)n, sizeof *out->elements);
    out->n_elements = n;
    for (int i = 0; i < n; i++) {
        out->elements[i].reg = out->elements[i].symbol = -1;
    }
    return out->elements;
}

// %tid.x, %laneid …
static bool parse_sreg(lg_ptx_parser *parser, lg_ptx_operand *out) {
    const lg_token at = parser->tok;
    size_t n = at.n;
    const lg_token *next = &parser->next;
    bool dotted = next->kind == LG_TOKEN_DOT && next->start == at.start + at.n;
    n += dotted ? next->n : 0;
    bool known;
    int sreg = lg_ptx_sreg_from_text(at.start, n, &known);
    int shown = n < 60 ? (int)n : 60;
    if (sreg < 0 && known) {
        return lg_ptx_fail_here(parser, "special register '%.*s' is not supported", shown,
                                at.start);
    }
    if (sreg < 0) {
        return lg_ptx_fail_here(parser, "unknown name '%.*s'", shown, at.start);
    }
    out->kind = LG_OPERAND_SREG;
    out->sreg = (lg_ptx_sreg)sreg;
    lg_ptx_advance(parser);
    if (dotted) {
        lg_ptx_advance(parser);
    }
    return true;
}

// v or v.x of `.reg .v4 .f32 v`
static bool parse_vector_reg(lg_ptx_parser *parser, const lg_ptx_binding *binding,
                             lg_ptx_operand *out) {
    static const char parts[] = "xyzwrgba";
    int32_t first = binding->index;
    int n = binding->count;
    lg_ptx_advance(parser);
    if (parser->tok.kind == LG_TOKEN_DOT) {
        const char *part = parser->tok.n == 2 ? strchr(parts, parser->tok.start[1]) : NULL;
        int index = part ? (int)((part - parts) & 3) : n;
        if (index >= n) {
            return lg_ptx_fail_here(parser, "no such part of a vector register");
        }
        out->kind = LG_OPERAND_REG;
        out->reg = first + index;
        lg_ptx_advance(parser);
        return true;
    }
    out->kind = LG_OPERAND_VECTOR;
    lg_ptx_operand *elements = new_elements(parser, out, n);
    for (int i = 0; i < n; i++) {
        elements[i].kind = LG_OPERAND_REG;
        elements[i].reg = first + i;
    }
    return true;
}

static bool parse_offset(lg_ptx_parser *parser, int64_t *offset) {
    bool minus = lg_ptx_is_punct(parser, '-');
    if (!minus && !lg_ptx_is_punct(parser, '+')) {
        return true;
    }
    if (!minus) {
        lg_ptx_advance(parser);
    }
    return lg_ptx_parse_int(parser, offset);
}

static bool parse_named(lg_ptx_parser *parser, lg_ptx_operand *out) {
    const lg_token at = parser->tok;
    if (at.n == 1 && at.start[0] == '_') {
        out->kind = LG_OPERAND_SINK;
        lg_ptx_advance(parser);
        return true;
    }
    lg_ptx_name *name = lg_ptx_intern(parser, at.start, at.n);
    const lg_ptx_binding *binding = lg_ptx_lookup(parser, name);
    if (!binding) {
        return parse_sreg(parser, out);
    }
    switch (binding->kind) {
    case LG_BIND_REG:
        out->kind = LG_OPERAND_REG;
        out->reg = binding->index;
        lg_ptx_advance(parser);
        return true;
    case LG_BIND_VECREG:
        return parse_vector_reg(parser, binding, out);
    case LG_BIND_LOCAL:
    case LG_BIND_MODULE:
        out->kind = LG_OPERAND_SYMBOL;
        out->symbol = binding->index;
        out->symbol_is_local = binding->kind == LG_BIND_LOCAL;
        lg_ptx_advance(parser);
        return parse_offset(parser, &out->offset);
    case LG_BIND_FUNC:
        out->kind = LG_OPERAND_FUNC;
        out->imm_bits = (uint64_t)binding->index;
        lg_ptx_advance(parser);
        return true;
    case LG_BIND_LABEL:
    case LG_BIND_TARGETS:
    case LG_BIND_PROTO:
        break;
    }
    return lg_ptx_fail_here(parser, "'%s' is a label, not a value", name->text);
}

// [reg+4], [name-8], [0]
static bool parse_memory(lg_ptx_parser *parser, lg_ptx_operand *out) {
    lg_ptx_advance(parser); // '['
    if (parser->tok.kind == LG_TOKEN_WORD && !lg_ptx_at_literal(parser)) {
        const lg_token at = parser->tok;
        if (!parse_named(parser, out)) {
            return false;
        }
        bool is_base = out->kind == LG_OPERAND_REG || out->kind == LG_OPERAND_SYMBOL;
        if (!is_base) {
            return lg_ptx_fail(parser, at.line, at.column,
                               "an address needs a register, a variable "
                               "or a number");
        }
        if (out->kind == LG_OPERAND_REG && !parse_offset(parser, &out->offset)) {
            return false;
        }
    } else if (!lg_ptx_parse_int(parser, &out->offset)) {
        return false;
    }
    out->kind = LG_OPERAND_MEM;
    return lg_ptx_expect(parser, ']');
}

static bool parse_vector(lg_ptx_parser *parser, lg_ptx_operand *out) {
    lg_ptx_operand elements[MAX_VECTOR];
    int n = 0;
    lg_ptx_advance(parser); // '{'
    do {
        if (n == MAX_VECTOR) {
            return lg_ptx_fail_here(parser, "a vector has more than %d elements", MAX_VECTOR);
        }
        elements[n] = (lg_ptx_operand){.reg = -1, .symbol = -1};
        if (lg_ptx_is_punct(parser, '{') || lg_ptx_is_punct(parser, '[')) {
            return lg_ptx_expected(parser, "a register or a number");
        }
        if (!lg_ptx_parse_operand(parser, &elements[n++])) {
            return false;
        }
    } while (lg_ptx_accept(parser, ','));
    out->kind = LG_OPERAND_VECTOR;
    memcpy(new_elements(parser, out, n), elements, (size_t)n * sizeof *elements);
    return lg_ptx_expect(parser, '}');
}

static bool parse_primary(lg_ptx_parser *parser, lg_ptx_operand *out) {
    if (lg_ptx_is_punct(parser, '[')) {
        return parse_memory(parser, out);
    }
    if (lg_ptx_is_punct(parser, '{')) {
        return parse_vector(parser, out);
    }
    bool is_not = lg_ptx_is_punct(parser, '!') && parser->next.kind == LG_TOKEN_WORD;
    bool is_minus = lg_ptx_is_punct(parser, '-') && parser->next.kind == LG_TOKEN_WORD;
    if (is_not || is_minus) {
        lg_ptx_advance(parser);
        if (!parse_named(parser, out)) {
            return false;
        }
        out->negated = true;
        return true;
    }
    if (lg_ptx_at_literal(parser) || lg_ptx_is_punct(parser, '!')) {
        return lg_ptx_parse_literal(parser, out);
    }
    if (parser->tok.kind == LG_TOKEN_WORD) {
        return parse_named(parser, out);
    }
    return lg_ptx_expected(parser, "an operand");
}

bool lg_ptx_parse_operand(lg_ptx_parser *parser, lg_ptx_operand *out) {
    if (!parse_primary(parser, out)) {
        return false;
    }
    bool may_pair = out->kind == LG_OPERAND_REG || out->kind == LG_OPERAND_SINK;
    if (!may_pair || !lg_ptx_is_punct(parser, '|')) {
        return true;
    }
    lg_ptx_operand first = *out;
    lg_ptx_operand second = {.reg = -1, .symbol = -1};
    lg_ptx_advance(parser);
    if (parser->tok.kind != LG_TOKEN_WORD || !parse_named(parser, &second)) {
        return parser->tok.kind != LG_TOKEN_WORD && lg_ptx_expected(parser, "a predicate register");
    }
    *out = (lg_ptx_operand){.kind = LG_OPERAND_PAIR, .reg = -1, .symbol = -1};
    lg_ptx_operand *elements = new_elements(parser, out, 2);
    elements[0] = first;
    elements[1] = second;
    return true;
}
