// SPDX-License-Identifier: Apache-2.0
#include "engine/ptx/token.h"

#include "support/strparse.h"

#include <limits.h>
#include <string.h>

enum { MAX_DECIMAL_FLOAT = 400 };

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static bool is_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '_' || c == '$';
}

static int hex_value(char c) {
    if (is_digit(c)) {
        return c - '0';
    }
    if (c >= 'a' && c <= 'f') {
        return c - 'a' + 10;
    }
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : 99;
}

void lg_lexer_init(lg_lexer *lexer, const char *text, size_t n) {
    *lexer = (lg_lexer){.at = text, .end = text + n, .line_start = text, .line = 1};
}

static char peek(const lg_lexer *lexer, size_t ahead) {
    return (size_t)(lexer->end - lexer->at) > ahead ? lexer->at[ahead] : '\0';
}

static void newline(lg_lexer *lexer) {
    lexer->at++;
    lexer->line_start = lexer->at;
    lexer->line += lexer->line < INT_MAX;
}

static void skip_line(lg_lexer *lexer) {
    const char *end = memchr(lexer->at, '\n', (size_t)(lexer->end - lexer->at));
    lexer->at = end ? end : lexer->end;
}

static lg_token here(const lg_lexer *lexer) {
    return (lg_token){.start = lexer->at,
                      .line = lexer->line,
                      .column = (int)(lexer->at - lexer->line_start) + 1};
}

// False for a block comment that nothing closes; the lexer is at the end then.
static bool skip_comment(lg_lexer *lexer) {
    lexer->at += 2;
    while (lexer->at < lexer->end) {
        if (*lexer->at == '*' && peek(lexer, 1) == '/') {
            lexer->at += 2;
            return true;
        }
        if (*lexer->at == '\n') {
            newline(lexer);
        } else {
            lexer->at++;
        }
    }
    return false;
}

static bool at_line_start(const lg_lexer *lexer) {
    for (const char *at = lexer->line_start; at < lexer->at; at++) {
        if (*at != ' ' && *at != '\t') {
            return false;
        }
    }
    return true;
}

// False when a comment is not closed; `comment` is where the last one began.
static bool skip_blank(lg_lexer *lexer, lg_token *comment) {
    while (lexer->at < lexer->end) {
        char c = *lexer->at;
        if (c == '\n') {
            newline(lexer);
        } else if (c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v') {
            lexer->at++;
        } else if ((c == '/' && peek(lexer, 1) == '/') ||
                   ((c == '#' || (c == '@' && peek(lexer, 1) == '@')) && at_line_start(lexer))) {
            skip_line(lexer);
        } else if (c == '/' && peek(lexer, 1) == '*') {
            *comment = here(lexer);
            if (!skip_comment(lexer)) {
                return false;
            }
        } else {
            return true;
        }
    }
    return true;
}

static void bad(lg_token *token, const char *message) {
    token->kind = LG_TOKEN_BAD;
    token->message = message;
}

static void lex_digits(lg_token *token, const char *digits, const char *end, unsigned base) {
    uint64_t value = 0;
    bool overflow = false;
    const char *at = digits;
    for (; at < end; at++) {
        int digit = hex_value(*at);
        if ((unsigned)digit >= base) {
            break;
        }
        overflow |= __builtin_mul_overflow(value, (uint64_t)base, &value);
        overflow |= __builtin_add_overflow(value, (uint64_t)digit, &value);
    }
    bool has_suffix = at < end && *at == 'U' && at + 1 == end;
    if (at == digits || (at != end && !has_suffix)) {
        bad(token, "bad number");
    } else if (overflow) {
        bad(token, "the number does not fit 64 bits");
    } else {
        token->kind = LG_TOKEN_INT;
        token->bits = value;
    }
}

static void lex_hex_float(lg_token *token, const char *digits, const char *end) {
    size_t wanted = (token->start[1] | 0x20) == 'f' ? 8 : 16;
    lex_digits(token, digits, end, 16);
    if (token->kind != LG_TOKEN_INT || (size_t)(end - digits) != wanted || end[-1] == 'U') {
        bad(token, wanted == 8 ? "0f must be followed by 8 hexadecimal digits"
                               : "0d must be followed by 16 hexadecimal digits");
        return;
    }
    token->kind = wanted == 8 ? LG_TOKEN_F32 : LG_TOKEN_F64;
}

static void lex_decimal_float(lg_token *token) {
    char text[MAX_DECIMAL_FLOAT + 1];
    double value;
    if (token->n > MAX_DECIMAL_FLOAT) {
        bad(token, "the number is too long");
        return;
    }
    memcpy(text, token->start, token->n);
    text[token->n] = '\0';
    if (!lg_parse_f64(text, &value)) {
        bad(token, "bad number");
        return;
    }
    token->kind = LG_TOKEN_F64;
    memcpy(&token->bits, &value, sizeof value);
}

static void lex_number(lg_lexer *lexer, lg_token *token) {
    const char *start = lexer->at;
    bool is_float = false;
    bool is_decimal = !(start[0] == '0' && strchr("xXbBfFdD", peek(lexer, 1)) && peek(lexer, 1));
    while (lexer->at < lexer->end) {
        char c = *lexer->at;
        bool exponent = is_decimal && (c == 'e' || c == 'E');
        if (is_decimal && c == '.') {
            is_float = true;
        } else if (exponent) {
            is_float = true;
            lexer->at += peek(lexer, 1) == '+' || peek(lexer, 1) == '-';
        } else if (!is_word(c)) {
            break;
        }
        lexer->at++;
    }
    const char *end = lexer->at;
    token->n = (size_t)(end - start);
    if (is_float) {
        lex_decimal_float(token);
    } else if (is_decimal) {
        bool octal = start[0] == '0' && token->n > 1 && start[1] != 'U';
        lex_digits(token, start, end, octal ? 8 : 10);
    } else {
        char letter = start[1] | 0x20;
        if (letter == 'f' || letter == 'd') {
            lex_hex_float(token, start + 2, end);
        } else {
            lex_digits(token, start + 2, end, letter == 'x' ? 16 : 2);
        }
    }
}

static void lex_string(lg_lexer *lexer, lg_token *token) {
    const char *at = lexer->at + 1;
    while (at < lexer->end && *at != '"' && *at != '\n') {
        at += *at == '\\' && at + 1 < lexer->end && at[1] != '\n' ? 2 : 1;
    }
    if (at >= lexer->end || *at != '"') {
        token->n = (size_t)(at - lexer->at);
        lexer->at = at < lexer->end ? at : lexer->end;
        bad(token, "the string is not closed on its line");
        return;
    }
    token->kind = LG_TOKEN_STRING;
    token->start = lexer->at + 1;
    token->n = (size_t)(at - token->start);
    lexer->at = at + 1;
}

static void lex_word(lg_lexer *lexer, lg_token *token, lg_token_kind kind) {
    const char *at = lexer->at + 1;
    while (at < lexer->end) {
        if (is_word(*at)) {
            at++;
        } else if (kind == LG_TOKEN_DOT && *at == ':' && lexer->end - at > 2 && at[1] == ':' &&
                   is_word(at[2])) {
            at += 2;
        } else {
            break;
        }
    }
    token->kind = kind;
    token->n = (size_t)(at - lexer->at);
    lexer->at = at;
}

static void lex_punct(lg_lexer *lexer, lg_token *token) {
    static const char pairs[][3] = {"<<", ">>", "<=", ">=", "==", "!=", "&&", "||"};
    char c = *lexer->at;
    token->kind = LG_TOKEN_PUNCT;
    token->punct = (unsigned char)c;
    token->n = 1;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        if (c == pairs[i][0] && peek(lexer, 1) == pairs[i][1]) {
            token->punct = LG_PUNCT2(pairs[i][0], pairs[i][1]);
            token->n = 2;
            break;
        }
    }
    lexer->at += token->n;
    if (token->n == 1 && !strchr("{}()[]<>,;:@!|&^~+-*/%=?", c)) {
        bad(token, "a character that PTX does not use");
    }
}

void lg_lexer_next(lg_lexer *lexer, lg_token *token) {
    lg_token comment = {0};
    if (!skip_blank(lexer, &comment)) {
        *token = comment;
        bad(token, "the comment is not closed");
        return;
    }
    *token = here(lexer);
    if (lexer->at >= lexer->end) {
        token->kind = LG_TOKEN_END;
        return;
    }
    char c = *lexer->at;
    char after = peek(lexer, 1);
    if (is_digit(c)) {
        lex_number(lexer, token);
    } else if (is_word(c) || (c == '%' && is_word(after) && !is_digit(after))) {
        lex_word(lexer, token, LG_TOKEN_WORD);
    } else if (c == '.' && is_word(after)) {
        lex_word(lexer, token, LG_TOKEN_DOT);
    } else if (c == '"') {
        lex_string(lexer, token);
    } else {
        lex_punct(lexer, token);
    }
}
