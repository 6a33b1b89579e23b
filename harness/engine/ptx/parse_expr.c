// SPDX-License-Identifier: Apache-2.0
// Constant expressions: 64-bit integers that wrap around, with C's operators and precedence.
#include "engine/ptx/parser.h"

#include <string.h>

static bool parse_binary(lg_ptx_parser *parser, int64_t *value, int least, int depth);

static bool too_deep(lg_ptx_parser *parser, int depth) {
    if (depth <= LG_PTX_MAX_DEPTH) {
        return false;
    }
    lg_ptx_fail_here(parser, "expressions are nested deeper than %d", LG_PTX_MAX_DEPTH);
    return true;
}

static bool parse_ternary(lg_ptx_parser *parser, int64_t *value, int depth) {
    if (too_deep(parser, depth) || !parse_binary(parser, value, 1, depth)) {
        return false;
    }
    if (!lg_ptx_accept(parser, '?')) {
        return true;
    }
    int64_t yes = 0;
    int64_t no = 0;
    if (!parse_ternary(parser, &yes, depth + 1) || !lg_ptx_expect(parser, ':') ||
        !parse_ternary(parser, &no, depth + 1)) {
        return false;
    }
    *value = *value ? yes : no;
    return true;
}

static bool parse_unary(lg_ptx_parser *parser, int64_t *value, int depth) {
    if (too_deep(parser, depth)) {
        return false;
    }
    const lg_token tok = parser->tok;
    if (tok.kind == LG_TOKEN_INT) {
        *value = (int64_t)tok.bits;
        lg_ptx_advance(parser);
        return true;
    }
    if (tok.kind == LG_TOKEN_WORD && tok.n == 7 && memcmp(tok.start, "WARP_SZ", 7) == 0) {
        *value = 32;
        lg_ptx_advance(parser);
        return true;
    }
    if (lg_ptx_accept(parser, '(')) {
        if (lg_ptx_accept_dot(parser, ".s64") || lg_ptx_accept_dot(parser, ".u64")) {
            return lg_ptx_expect(parser, ')') && parse_unary(parser, value, depth + 1);
        }
        return parse_ternary(parser, value, depth + 1) && lg_ptx_expect(parser, ')');
    }
    if (tok.kind != LG_TOKEN_PUNCT || !strchr("-+~!", tok.punct)) {
        return lg_ptx_expected(parser, "an integer");
    }
    lg_ptx_advance(parser);
    if (!parse_unary(parser, value, depth + 1)) {
        return false;
    }
    if (tok.punct == '-') {
        *value = (int64_t)(0 - (uint64_t)*value);
    } else if (tok.punct == '~') {
        *value = ~*value;
    } else if (tok.punct == '!') {
        *value = !*value;
    }
    return true;
}

// Zero for what is not a binary operator.
static int precedence(const lg_token *tok) {
    static const struct {
        int level, punct[4];
    } table[] = {
        {10, {'*', '/', '%'}},
        {9, {'+', '-'}},
        {8, {LG_PUNCT2('<', '<'), LG_PUNCT2('>', '>')}},
        {7, {'<', '>', LG_PUNCT2('<', '='), LG_PUNCT2('>', '=')}},
        {6, {LG_PUNCT2('=', '='), LG_PUNCT2('!', '=')}},
        {5, {'&'}},
        {4, {'^'}},
        {3, {'|'}},
        {2, {LG_PUNCT2('&', '&')}},
        {1, {LG_PUNCT2('|', '|')}},
    };
    for (size_t i = 0; tok->kind == LG_TOKEN_PUNCT && i < sizeof table / sizeof table[0]; i++) {
        for (int k = 0; k < 4 && table[i].punct[k]; k++) {
            if (table[i].punct[k] == tok->punct) {
                return table[i].level;
            }
        }
    }
    return 0;
}

static int64_t shift(int64_t a, int64_t b, bool left) {
    if (b < 0 || b > 63) {
        return !left && a < 0 ? -1 : 0;
    }
    return left ? (int64_t)((uint64_t)a << b) : a >> b;
}

static bool divide(lg_ptx_parser *parser, const lg_token *op, int64_t a, int64_t b, int64_t *out) {
    if (b == 0) {
        return lg_ptx_fail(parser, op->line, op->column, "division by zero");
    }
    bool overflow = b == -1; // INT64_MIN / -1
    if (op->punct == '/') {
        *out = overflow ? (int64_t)(0 - (uint64_t)a) : a / b;
    } else {
        *out = overflow ? 0 : a % b;
    }
    return true;
}

static bool apply_binary(lg_ptx_parser *parser, const lg_token *op, int64_t a, int64_t b,
                         int64_t *out) {
    switch (op->punct) {
    case '*':
        *out = (int64_t)((uint64_t)a * (uint64_t)b);
        return true;
    case '/':
    case '%':
        return divide(parser, op, a, b, out);
    case '+':
        *out = (int64_t)((uint64_t)a + (uint64_t)b);
        return true;
    case '-':
        *out = (int64_t)((uint64_t)a - (uint64_t)b);
        return true;
    case LG_PUNCT2('<', '<'):
    case LG_PUNCT2('>', '>'):
        *out = shift(a, b, op->punct == LG_PUNCT2('<', '<'));
        return true;
    case '<':
        *out = a < b;
        return true;
    case '>':
        *out = a > b;
        return true;
    case LG_PUNCT2('<', '='):
        *out = a <= b;
        return true;
    case LG_PUNCT2('>', '='):
        *out = a >= b;
        return true;
    case LG_PUNCT2('=', '='):
        *out = a == b;
        return true;
    case LG_PUNCT2('!', '='):
        *out = a != b;
        return true;
    case '&':
        *out = a & b;
        return true;
    case '^':
        *out = a ^ b;
        return true;
    case '|':
        *out = a | b;
        return true;
    case LG_PUNCT2('&', '&'):
        *out = a && b;
        return true;
    default:
        *out = a || b;
        return true;
    }
}

static bool parse_binary(lg_ptx_parser *parser, int64_t *value, int least, int depth) {
    if (too_deep(parser, depth) || !parse_unary(parser, value, depth + 1)) {
        return false;
    }
    while (precedence(&parser->tok) >= least) {
        lg_token op = parser->tok;
        int64_t right = 0;
        lg_ptx_advance(parser);
        if (!parse_binary(parser, &right, precedence(&op) + 1, depth + 1) ||
            !apply_binary(parser, &op, *value, right, value)) {
            return false;
        }
    }
    return true;
}

bool lg_ptx_parse_int(lg_ptx_parser *parser, int64_t *value) {
    return parse_ternary(parser, value, 0);
}

static bool is_float(const lg_token *tok) {
    return tok->kind == LG_TOKEN_F32 || tok->kind == LG_TOKEN_F64;
}

bool lg_ptx_at_literal(const lg_ptx_parser *parser) {
    const lg_token *tok = &parser->tok;
    if (tok->kind == LG_TOKEN_INT || is_float(tok) || lg_ptx_is_punct(parser, '(')) {
        return true;
    }
    if (tok->kind == LG_TOKEN_WORD) {
        return tok->n == 7 && memcmp(tok->start, "WARP_SZ", 7) == 0;
    }
    bool has_sign = tok->kind == LG_TOKEN_PUNCT && strchr("-+~", tok->punct);
    return has_sign && parser->next.kind != LG_TOKEN_WORD;
}

bool lg_ptx_parse_literal(lg_ptx_parser *parser, lg_ptx_operand *out) {
    bool negative = lg_ptx_is_punct(parser, '-');
    if ((negative || lg_ptx_is_punct(parser, '+')) && is_float(&parser->next)) {
        lg_ptx_advance(parser);
    }
    if (is_float(&parser->tok)) {
        bool single = parser->tok.kind == LG_TOKEN_F32;
        out->kind = single ? LG_OPERAND_F32 : LG_OPERAND_F64;
        out->imm_bits = parser->tok.bits;
        if (negative) {
            out->imm_bits ^= single ? 1ULL << 31 : 1ULL << 63;
        }
        lg_ptx_advance(parser);
        return true;
    }
    int64_t value = 0;
    if (!lg_ptx_parse_int(parser, &value)) {
        return false;
    }
    out->kind = LG_OPERAND_INT;
    out->imm_bits = (uint64_t)value;
    return true;
}
