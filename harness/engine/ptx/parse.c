// SPDX-License-Identifier: Apache-2.0
#include "engine/ptx/parser.h"

#include <stdarg.h>
#include <string.h>

enum { MAX_MESSAGE = 400 };

static void stop(lg_ptx_parser *parser) {
    parser->stopped = true;
    parser->lexer.at = parser->lexer.end;
    parser->tok.kind = LG_TOKEN_END;
    parser->next.kind = LG_TOKEN_END;
}

bool(lg_ptx_fail)(lg_ptx_parser *parser, int line, int column, const char *format, ...) {
    if (parser->stopped) {
        return false;
    }
    const lg_ptx_module *module = parser->module;
    lg_loc loc = {.file = module->name, .line = line, .column = column};
    const char *source = line > 0 && line <= module->n_lines ? module->lines[line - 1] : NULL;
    if (source && strnlen(source, LG_PTX_MAX_SHOWN_LINE + 1) > LG_PTX_MAX_SHOWN_LINE) {
        source = NULL;
    }
    char message[MAX_MESSAGE]; // a name may be as long as the file
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    lg_diags_add(parser->diags, LG_ERROR, loc, source, "%s", message);
    if (parser->diags->n_errors - parser->first_error >= LG_PTX_MAX_ERRORS) {
        lg_diags_add(parser->diags, LG_ERROR, (lg_loc){.file = module->name}, NULL,
                     "%d errors; the rest of the file was not read", LG_PTX_MAX_ERRORS);
        stop(parser);
    }
    return false;
}

bool(lg_ptx_fail_here)(lg_ptx_parser *parser, const char *format, ...) {
    va_list args;
    va_start(args, format);
    char message[MAX_MESSAGE];
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    return lg_ptx_fail(parser, parser->tok.line, parser->tok.column, "%s", message);
}

void lg_ptx_advance(lg_ptx_parser *parser) {
    if (parser->stopped) {
        return;
    }
    parser->last_line = parser->tok.line;
    parser->braces += lg_ptx_is_punct(parser, '{');
    parser->braces -= lg_ptx_is_punct(parser, '}');
    parser->tok = parser->next;
    lg_lexer_next(&parser->lexer, &parser->next);
    while (parser->next.kind == LG_TOKEN_BAD && !parser->stopped) {
        lg_ptx_fail(parser, parser->next.line, parser->next.column, "%s", parser->next.message);
        if (!parser->stopped) {
            lg_lexer_next(&parser->lexer, &parser->next);
        }
    }
}

bool lg_ptx_is_punct(const lg_ptx_parser *parser, int punct) {
    return parser->tok.kind == LG_TOKEN_PUNCT && parser->tok.punct == punct;
}

bool lg_ptx_is_dot(const lg_ptx_parser *parser, const char *text) {
    const lg_token *tok = &parser->tok;
    return tok->kind == LG_TOKEN_DOT && tok->n == strlen(text) &&
           memcmp(tok->start, text, tok->n) == 0;
}

bool lg_ptx_accept(lg_ptx_parser *parser, int punct) {
    bool found = lg_ptx_is_punct(parser, punct);
    if (found) {
        lg_ptx_advance(parser);
    }
    return found;
}

bool lg_ptx_accept_dot(lg_ptx_parser *parser, const char *text) {
    bool found = lg_ptx_is_dot(parser, text);
    if (found) {
        lg_ptx_advance(parser);
    }
    return found;
}

bool(lg_ptx_expected)(lg_ptx_parser *parser, const char *what) {
    const lg_token *tok = &parser->tok;
    if (tok->kind == LG_TOKEN_END) {
        return lg_ptx_fail_here(parser, "expected %s, but the file ends", what);
    }
    int n = tok->n < 60 ? (int)tok->n : 60;
    return lg_ptx_fail_here(parser, "expected %s before '%.*s'", what, n, tok->start);
}

bool lg_ptx_expect(lg_ptx_parser *parser, int punct) {
    if (lg_ptx_accept(parser, punct)) {
        return true;
    }
    char what[] = {'\'', (char)punct, '\'', '\0'};
    return lg_ptx_expected(parser, what);
}

void lg_ptx_skip_braces(lg_ptx_parser *parser) {
    size_t depth = 0;
    while (parser->tok.kind != LG_TOKEN_END) {
        depth += lg_ptx_is_punct(parser, '{');
        bool closes = lg_ptx_is_punct(parser, '}');
        lg_ptx_advance(parser);
        if (closes && --depth == 0) {
            return;
        }
    }
}

bool lg_ptx_finish_statement(lg_ptx_parser *parser) {
    if (lg_ptx_accept(parser, ';')) {
        return true;
    }
    bool new_line = parser->tok.line > parser->last_line;
    lg_ptx_expect(parser, ';');
    return new_line;
}

void lg_ptx_skip_line(lg_ptx_parser *parser) {
    int line = parser->last_line;
    while (parser->tok.kind != LG_TOKEN_END && parser->tok.line == line &&
           !lg_ptx_is_punct(parser, '}')) {
        lg_ptx_advance(parser);
    }
}

void lg_ptx_begin_statement(lg_ptx_parser *parser) {
    parser->statement_braces = parser->braces;
}

void lg_ptx_skip_statement(lg_ptx_parser *parser) {
    while (parser->tok.kind != LG_TOKEN_END) {
        bool inside = parser->braces > parser->statement_braces;
        if (lg_ptx_accept(parser, ';')) {
            return;
        }
        if (lg_ptx_is_punct(parser, '}') && !inside) {
            if (parser->depth == 0) {
                lg_ptx_advance(parser);
            }
            return;
        }
        if (lg_ptx_is_punct(parser, '{')) {
            lg_ptx_skip_braces(parser);
            if (parser->depth == 0 && !inside && !lg_ptx_is_punct(parser, ';')) {
                return;
            }
        } else {
            lg_ptx_advance(parser);
        }
    }
}
