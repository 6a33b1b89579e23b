// SPDX-License-Identifier: Apache-2.0
// Declarations of variables, parameters and registers.
#include "engine/ptx/parser.h"
#include "support/alloc.h"

#include <string.h>

enum { MAX_DIMS = 8 };
// A variable may be larger than any initialiser; this only keeps sums of sizes from wrapping.
#define MAX_VARIABLE_BYTES ((uint64_t)1 << 40)

typedef struct declaration {
    lg_ptx_space space;
    uint32_t align; // 0: not given
    lg_ptx_type type;
    unsigned vec; // 0, 2, 4
} declaration;

typedef struct array_shape {
    uint64_t dims[MAX_DIMS];
    int n;
    bool open; // the first one is []
} array_shape;

static bool parse_align(lg_ptx_parser *parser, uint32_t *align) {
    lg_token at = parser->tok;
    int64_t value = 0;
    if (!lg_ptx_parse_int(parser, &value)) {
        return false;
    }
    if (value < 1 || value > LG_PTX_MAX_ALIGN || (value & (value - 1))) {
        return lg_ptx_fail(parser, at.line, at.column,
                           "an alignment is a power of two from 1 to %d", LG_PTX_MAX_ALIGN);
    }
    *align = (uint32_t)value;
    return true;
}

static bool parse_type(lg_ptx_parser *parser, lg_ptx_type *type) {
    const lg_token *tok = &parser->tok;
    if (tok->kind != LG_TOKEN_DOT) {
        return lg_ptx_expected(parser, "a type");
    }
    *type = lg_ptx_type_from_text(tok->start + 1, tok->n - 1);
    if (*type == LG_PTX_NO_TYPE) {
        return lg_ptx_fail_here(parser, "type '%.*s' is not supported here",
                                tok->n < 40 ? (int)tok->n : 40, tok->start);
    }
    lg_ptx_advance(parser);
    return true;
}

// `.attribute(.managed)`, `.attribute(.unified(1, 2))`: no effect here.
static bool skip_attribute(lg_ptx_parser *parser) {
    if (!lg_ptx_expect(parser, '(')) {
        return false;
    }
    for (int depth = 1; depth > 0;) {
        if (parser->tok.kind == LG_TOKEN_END || lg_ptx_is_punct(parser, ';')) {
            return lg_ptx_expected(parser, "')'");
        }
        depth += lg_ptx_is_punct(parser, '(');
        depth -= lg_ptx_is_punct(parser, ')');
        lg_ptx_advance(parser);
    }
    return true;
}

// [.attribute(…)] [.align n] [.v2|.v4] .type, and .ptr [.space] [.align n] behind a parameter's
// type.
static bool parse_qualifiers(lg_ptx_parser *parser, declaration *out) {
    for (;;) {
        if (lg_ptx_accept_dot(parser, ".align")) {
            if (!parse_align(parser, &out->align)) {
                return false;
            }
        } else if (lg_ptx_accept_dot(parser, ".attribute")) {
            if (!skip_attribute(parser)) {
                return false;
            }
        } else if (lg_ptx_accept_dot(parser, ".v2")) {
            out->vec = 2;
        } else if (lg_ptx_accept_dot(parser, ".v4")) {
            out->vec = 4;
        } else {
            break;
        }
    }
    if (!parse_type(parser, &out->type)) {
        return false;
    }
    if (!lg_ptx_accept_dot(parser, ".ptr")) {
        return true;
    }
    static const char *const spaces[] = {".global", ".shared", ".const", ".local", ".generic"};
    for (size_t i = 0; i < sizeof spaces / sizeof *spaces; i++) {
        lg_ptx_accept_dot(parser, spaces[i]);
    }
    uint32_t pointee = 0; // alignment of what it points to
    return !lg_ptx_accept_dot(parser, ".align") || parse_align(parser, &pointee);
}

static bool parse_shape(lg_ptx_parser *parser, array_shape *shape) {
    while (lg_ptx_accept(parser, '[')) {
        if (shape->n == MAX_DIMS) {
            return lg_ptx_fail_here(parser, "an array has more than %d dimensions", MAX_DIMS);
        }
        int64_t size = 0;
        lg_token at = parser->tok;
        if (lg_ptx_is_punct(parser, ']')) {
            if (shape->n > 0) {
                return lg_ptx_fail_here(parser, "only the first dimension may be left open");
            }
            shape->open = true;
        } else if (!lg_ptx_parse_int(parser, &size)) {
            return false;
        } else if (size < 1) {
            return lg_ptx_fail(parser, at.line, at.column, "an array needs at least one element");
        }
        if (!lg_ptx_expect(parser, ']')) {
            return false;
        }
        shape->dims[shape->n++] = (uint64_t)size;
    }
    return true;
}

// Fills the size, alignment and type of a symbol. An open array has 0 bytes.
static bool size_symbol(lg_ptx_parser *parser, const declaration *decl, const array_shape *shape,
                        const lg_token *at, lg_ptx_symbol *symbol) {
    if (decl->type == LG_PTX_PRED) {
        return lg_ptx_fail(parser, at->line, at->column, "a variable cannot have the type .pred");
    }
    uint64_t bytes = lg_ptx_type_bytes(decl->type) * (decl->vec ? decl->vec : 1);
    symbol->align = decl->align ? decl->align : (uint32_t)bytes;
    for (int i = 0; i < shape->n; i++) {
        if (__builtin_mul_overflow(bytes, shape->dims[i], &bytes)) {
            bytes = UINT64_MAX;
        }
        bytes = bytes > MAX_VARIABLE_BYTES ? MAX_VARIABLE_BYTES + 1 : bytes;
    }
    if (bytes > MAX_VARIABLE_BYTES) {
        return lg_ptx_fail(parser, at->line, at->column, "'%s' is too large", symbol->name);
    }
    symbol->type = decl->type;
    symbol->space = decl->space;
    symbol->bytes = bytes;
    symbol->line = at->line;
    return true;
}

uint64_t lg_ptx_place(uint64_t *bytes, const lg_ptx_symbol *symbol) {
    uint64_t align = symbol->align ? symbol->align : 1;
    uint64_t offset = (*bytes + align - 1) / align * align;
    *bytes = offset + symbol->bytes;
    return offset;
}

// A frame of the function grows by the variable; refused when it gets larger than a GPU allows.
static bool place(lg_ptx_parser *parser, uint64_t *bytes, uint64_t limit, const char *what,
                  lg_ptx_symbol *symbol, const lg_token *at) {
    symbol->offset = lg_ptx_place(bytes, symbol);
    if (*bytes <= limit) {
        return true;
    }
    lg_ptx_fail(parser, at->line, at->column, "'%s' takes the function's %s over %llu bytes",
                symbol->name, what, (unsigned long long)limit);
    *bytes = symbol->offset; // so that the next one is not refused too
    return false;
}

static bool add_local(lg_ptx_parser *parser, lg_ptx_symbol *symbol, const lg_token *at) {
    lg_ptx_function *function = &parser->function;
    bool fits = true;
    if (symbol->space == LG_SPACE_SHARED) {
        fits = place(parser, &function->shared_bytes, LG_PTX_MAX_SHARED_BYTES, "shared memory",
                     symbol, at);
    } else if (symbol->space == LG_SPACE_LOCAL) {
        fits = place(parser, &function->local_bytes, LG_PTX_MAX_LOCAL_BYTES, "local memory", symbol,
                     at);
    } else {
        uint64_t end = function->param_bytes + parser->call_param_at;
        fits = place(parser, &end, function->param_bytes + 2 * LG_PTX_MAX_PARAM_BYTES,
                     "call parameters", symbol, at);
        parser->call_param_at = end - function->param_bytes;
        if (parser->call_param_at > function->call_param_bytes) {
            function->call_param_bytes = parser->call_param_at;
        }
    }
    LG_PTX_PUSH(parser->locals, *symbol);
    lg_ptx_name *name = lg_ptx_intern(parser, symbol->name, strlen(symbol->name));
    return lg_ptx_bind(parser, name, LG_BIND_LOCAL, (int32_t)parser->locals.n - 1, 0, at) && fits;
}

// `extern` may be followed by the definition; the index stays.
static bool add_module_symbol(lg_ptx_parser *parser, lg_ptx_symbol *symbol, const lg_token *at) {
    lg_ptx_name *name = lg_ptx_intern(parser, symbol->name, strlen(symbol->name));
    lg_ptx_binding *before = name->binding;
    if (before && before->depth == parser->depth && before->kind == LG_BIND_MODULE) {
        lg_ptx_symbol *old = &parser->symbols.items[before->index];
        bool same = old->space == symbol->space && old->type == symbol->type;
        if (same && symbol->is_extern) {
            return true;
        }
        if (same && old->is_extern) {
            *old = *symbol;
            return true;
        }
    }
    LG_PTX_PUSH(parser->symbols, *symbol);
    return lg_ptx_bind(parser, name, LG_BIND_MODULE, (int32_t)parser->symbols.n - 1, 0, at);
}

static bool parse_name(lg_ptx_parser *parser, lg_token *name) {
    if (parser->tok.kind != LG_TOKEN_WORD) {
        return lg_ptx_expected(parser, "a name");
    }
    *name = parser->tok;
    lg_ptx_advance(parser);
    return true;
}

static bool parse_declarator(lg_ptx_parser *parser, const declaration *decl, bool is_extern) {
    lg_token at;
    array_shape shape = {0};
    lg_ptx_symbol symbol = {.is_extern = is_extern};
    if (!parse_name(parser, &at) || !parse_shape(parser, &shape)) {
        return false;
    }
    symbol.name = lg_ptx_intern(parser, at.start, at.n)->text;
    if (!size_symbol(parser, decl, &shape, &at, &symbol)) {
        return false;
    }
    if (lg_ptx_is_punct(parser, '=')) {
        if (decl->space != LG_SPACE_GLOBAL && decl->space != LG_SPACE_CONST) {
            return lg_ptx_fail_here(parser,
                                    "only .global and .const variables take initial values");
        }
        lg_ptx_advance(parser);
        shape.dims[0] = shape.n ? shape.dims[0] : 1;
        if (!lg_ptx_parse_initialiser(parser, &symbol, shape.dims, shape.n)) {
            return false;
        }
    } else if (shape.open && !is_extern) {
        return lg_ptx_fail(parser, at.line, at.column,
                           "'%s' needs a size, an initial value or .extern", symbol.name);
    }
    bool is_local = decl->space == LG_SPACE_SHARED || decl->space == LG_SPACE_LOCAL ||
                    decl->space == LG_SPACE_PARAM;
    return parser->in_function && is_local && !is_extern ? add_local(parser, &symbol, &at)
                                                         : add_module_symbol(parser, &symbol, &at);
}

static bool parse_space(lg_ptx_parser *parser, lg_ptx_space *space) {
    static const struct {
        const char *text;
        lg_ptx_space space;
    } spaces[] = {
        {".global", LG_SPACE_GLOBAL}, {".shared", LG_SPACE_SHARED}, {".const", LG_SPACE_CONST},
        {".local", LG_SPACE_LOCAL},   {".param", LG_SPACE_PARAM},
    };
    for (size_t i = 0; i < sizeof spaces / sizeof *spaces; i++) {
        if (lg_ptx_is_dot(parser, spaces[i].text)) {
            *space = spaces[i].space;
            if (!parser->in_function && (*space == LG_SPACE_LOCAL || *space == LG_SPACE_PARAM)) {
                return lg_ptx_fail_here(parser, "%s variables belong into a function",
                                        spaces[i].text);
            }
            lg_ptx_advance(parser);
            return true;
        }
    }
    return lg_ptx_expected(parser, "a state space");
}

bool lg_ptx_parse_variable(lg_ptx_parser *parser, bool is_extern) {
    declaration decl = {0};
    if (!parse_space(parser, &decl.space) || !parse_qualifiers(parser, &decl)) {
        return false;
    }
    do {
        if (!parse_declarator(parser, &decl, is_extern)) {
            return false;
        }
    } while (lg_ptx_accept(parser, ','));
    return lg_ptx_finish_statement(parser);
}

bool lg_ptx_parse_param(lg_ptx_parser *parser, lg_ptx_symbol *symbol, lg_token *name_token) {
    declaration decl = {.space = LG_SPACE_PARAM};
    array_shape shape = {0};
    if (lg_ptx_is_dot(parser, ".reg")) {
        return lg_ptx_fail_here(parser, "parameters in registers are not supported; use .param");
    }
    if (!lg_ptx_accept_dot(parser, ".param")) {
        return lg_ptx_expected(parser, "'.param'");
    }
    if (!parse_qualifiers(parser, &decl) || !parse_name(parser, name_token) ||
        !parse_shape(parser, &shape)) {
        return false;
    }
    symbol->name = lg_ptx_intern(parser, name_token->start, name_token->n)->text;
    if (shape.open) {
        return lg_ptx_fail(parser, name_token->line, name_token->column,
                           "a parameter of open size is not supported");
    }
    return size_symbol(parser, &decl, &shape, name_token, symbol);
}

static bool add_reg(lg_ptx_parser *parser, const declaration *decl, const lg_token *at) {
    static const char *const parts[] = {".x", ".y", ".z", ".w"};
    lg_ptx_name *name = lg_ptx_intern(parser, at->start, at->n);
    int32_t first = (int32_t)parser->regs.n;
    for (unsigned i = 0; i < (decl->vec ? decl->vec : 1); i++) {
        lg_ptx_reg reg = {.name = name->text, .type = decl->type};
        if (decl->vec) {
            reg.name = lg_arena_printf(parser->arena, "%s%s", name->text, parts[i]);
        }
        LG_PTX_PUSH(parser->regs, reg);
    }
    return lg_ptx_bind(parser, name, decl->vec ? LG_BIND_VECREG : LG_BIND_REG, first,
                       (int)decl->vec, at);
}

static bool parse_reg_declarator(lg_ptx_parser *parser, const declaration *decl) {
    lg_token at;
    if (!parse_name(parser, &at)) {
        return false;
    }
    if (!lg_ptx_is_punct(parser, '<')) {
        return add_reg(parser, decl, &at);
    }
    lg_ptx_advance(parser);
    lg_token count = parser->tok;
    if (count.kind != LG_TOKEN_INT) {
        return lg_ptx_expected(parser, "a number of registers");
    }
    lg_ptx_advance(parser);
    if (count.bits > LG_PTX_MAX_REG_RANGE) {
        return lg_ptx_fail(parser, count.line, count.column,
                           "more than %d registers in one declaration", LG_PTX_MAX_REG_RANGE);
    }
    if (decl->vec) {
        return lg_ptx_fail(parser, at.line, at.column,
                           "a range of vector registers is not supported");
    }
    lg_ptx_name *prefix = lg_ptx_intern(parser, at.start, at.n);
    return lg_ptx_expect(parser, '>') &&
           lg_ptx_bind_range(parser, prefix, decl->type, (uint32_t)count.bits, &at);
}

bool lg_ptx_parse_reg(lg_ptx_parser *parser) {
    lg_token at = parser->tok;
    declaration decl = {0};
    lg_ptx_advance(parser);
    if (!parser->in_function) {
        return lg_ptx_fail(parser, at.line, at.column, "registers belong into a function");
    }
    if (!parse_qualifiers(parser, &decl)) {
        return false;
    }
    if (decl.type == LG_PTX_B128) {
        return lg_ptx_fail(parser, at.line, at.column, "128-bit registers are not supported");
    }
    do {
        if (!parse_reg_declarator(parser, &decl)) {
            return false;
        }
    } while (lg_ptx_accept(parser, ','));
    return lg_ptx_finish_statement(parser);
}
