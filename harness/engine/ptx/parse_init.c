// SPDX-License-Identifier: Apache-2.0
// Initial values: {1, 2}, nested braces, strings for bytes, floats, addresses of variables and
// functions, and addresses byte by byte as nvcc writes them: 0xFF(generic(x)), 0xFF00(generic(x)) …
#include "engine/ptx/parser.h"
#include "support/alloc.h"
#include "support/str.h"

#include <stdlib.h>
#include <string.h>

typedef struct init_state {
    lg_ptx_symbol *symbol;
    const uint64_t *dims;
    int n_dims;
    uint32_t unit;  // bytes of an element
    uint64_t total; // of the variable; UINT64_MAX while it is open
    uint64_t at;    // byte to write next
    lg_str data;
    LG_PTX_VEC(struct lg_ptx_reloc) relocs;
    LG_PTX_VEC(lg_ptx_pending_reloc) names; // of relocs
    // An address that is being written byte by byte.
    lg_ptx_name *part_name;
    struct lg_ptx_reloc part;
    unsigned n_parts;
} init_state;

static bool grow_to(lg_ptx_parser *parser, init_state *init, uint64_t end) {
    if (end > init->total) {
        return lg_ptx_fail_here(parser, "more initial values than '%s' has room for",
                                init->symbol->name);
    }
    if (end > LG_PTX_MAX_INIT_BYTES - parser->init_bytes) {
        return lg_ptx_fail_here(parser, "the module has more than %llu bytes of initial values",
                                (unsigned long long)LG_PTX_MAX_INIT_BYTES);
    }
    while (init->data.n < end) {
        static const char zeros[256];
        uint64_t missing = end - init->data.n;
        lg_str_add_n(&init->data, zeros, missing < sizeof zeros ? (size_t)missing : sizeof zeros);
    }
    return true;
}

static bool put(lg_ptx_parser *parser, init_state *init, uint64_t bits) {
    if (!grow_to(parser, init, init->at + init->unit)) {
        return false;
    }
    for (uint32_t i = 0; i < init->unit && i < 8; i++) {
        init->data.text[init->at + i] = (char)(bits >> 8 * i);
    }
    init->at += init->unit;
    return true;
}

static uint64_t float_bits(const lg_ptx_operand *literal, lg_ptx_type type) {
    double value = 0;
    float single;
    if (literal->kind == LG_OPERAND_F32) {
        uint32_t bits = (uint32_t)literal->imm_bits;
        memcpy(&single, &bits, sizeof single);
        value = (double)single;
    } else if (literal->kind == LG_OPERAND_F64) {
        memcpy(&value, &literal->imm_bits, sizeof value);
    } else {
        value = (double)(int64_t)literal->imm_bits;
    }
    uint64_t bits = 0;
    if (type == LG_PTX_F64) {
        memcpy(&bits, &value, sizeof value);
        return bits;
    }
    if (literal->kind == LG_OPERAND_F32) {
        return literal->imm_bits; // keeps the payload of a NaN
    }
    single = (float)value;
    memcpy(&bits, &single, sizeof single);
    return bits;
}

static bool parse_number(lg_ptx_parser *parser, init_state *init) {
    lg_token at = parser->tok;
    lg_ptx_operand literal = {0};
    if (!lg_ptx_parse_literal(parser, &literal)) {
        return false;
    }
    lg_ptx_type type = init->symbol->type;
    uint64_t bits = literal.imm_bits;
    uint32_t literal_bytes = literal.kind == LG_OPERAND_F32 ? 4 : 8;
    if (type == LG_PTX_F32 || type == LG_PTX_F64) {
        bits = float_bits(&literal, type);
    } else if (literal.kind != LG_OPERAND_INT && literal_bytes != init->unit) {
        return lg_ptx_fail(parser, at.line, at.column,
                           "a floating-point value does not fit an element of type .%s",
                           lg_ptx_type_name(type));
    }
    return put(parser, init, bits);
}

static void push_reloc(init_state *init, struct lg_ptx_reloc reloc, lg_ptx_name *name,
                       const lg_token *at) {
    lg_ptx_pending_reloc pending = {.name = name, .line = at->line, .column = at->column};
    LG_PTX_PUSH(init->relocs, reloc);
    LG_PTX_PUSH(init->names, pending);
}

// generic(name)+4, name+4, name
static bool parse_address(lg_ptx_parser *parser, struct lg_ptx_reloc *reloc, lg_ptx_name **name) {
    static const char generic[] = "generic";
    *reloc = (struct lg_ptx_reloc){.symbol = -1, .function = -1};
    if (parser->tok.kind == LG_TOKEN_WORD && parser->tok.n == sizeof generic - 1 &&
        memcmp(parser->tok.start, generic, sizeof generic - 1) == 0 &&
        parser->next.kind == LG_TOKEN_PUNCT && parser->next.punct == '(') {
        lg_ptx_advance(parser);
        lg_ptx_advance(parser);
        reloc->generic = true;
    }
    if (parser->tok.kind != LG_TOKEN_WORD) {
        return lg_ptx_expected(parser, "a name");
    }
    *name = lg_ptx_intern(parser, parser->tok.start, parser->tok.n);
    lg_ptx_advance(parser);
    if (reloc->generic && !lg_ptx_expect(parser, ')')) {
        return false;
    }
    bool has_addend = lg_ptx_is_punct(parser, '+') || lg_ptx_is_punct(parser, '-');
    return !has_addend || lg_ptx_parse_int(parser, &reloc->addend);
}

static bool parse_symbol(lg_ptx_parser *parser, init_state *init) {
    lg_token at = parser->tok;
    struct lg_ptx_reloc reloc;
    lg_ptx_name *name = NULL;
    if (!parse_address(parser, &reloc, &name)) {
        return false;
    }
    if (init->unit != 8) {
        return lg_ptx_fail(parser, at.line, at.column,
                           "an address does not fit an element of type .%s",
                           lg_ptx_type_name(init->symbol->type));
    }
    reloc.offset = init->at;
    if (!put(parser, init, 0)) {
        return false;
    }
    push_reloc(init, reloc, name, &at);
    return true;
}

// 0xFF00(generic(name)): byte 1 of an address. Eight of them in a row are one address.
static bool parse_part(lg_ptx_parser *parser, init_state *init, const lg_token *at, uint64_t mask) {
    struct lg_ptx_reloc reloc;
    lg_ptx_name *name = NULL;
    if (!lg_ptx_expect(parser, '(') || !parse_address(parser, &reloc, &name) ||
        !lg_ptx_expect(parser, ')')) {
        return false;
    }
    bool continues =
        init->n_parts == 0 || (name == init->part_name && reloc.addend == init->part.addend &&
                               reloc.generic == init->part.generic);
    if (init->unit != 1 || !continues || mask != (uint64_t)0xff << 8 * init->n_parts) {
        return lg_ptx_fail(parser, at->line, at->column,
                           "only whole addresses, byte by byte from the lowest, are supported");
    }
    if (init->n_parts == 0) {
        reloc.offset = init->at;
        init->part = reloc;
        init->part_name = name;
    }
    if (!put(parser, init, 0)) {
        return false;
    }
    if (++init->n_parts < 8) {
        return true;
    }
    init->n_parts = 0;
    push_reloc(init, init->part, name, at);
    return true;
}

static bool parse_string(lg_ptx_parser *parser, init_state *init) {
    const lg_token at = parser->tok;
    if (init->unit != 1) {
        return lg_ptx_fail_here(parser, "a string needs elements of one byte");
    }
    lg_ptx_advance(parser);
    for (size_t i = 0; i < at.n; i++) {
        char c = at.start[i];
        if (c == '\\' && i + 1 < at.n) {
            static const char from[] = "ntr0\\\"'";
            static const char to[] = "\n\t\r\0\\\"'";
            const char *escape = strchr(from, at.start[i + 1]);
            if (!escape || !*escape) {
                return lg_ptx_fail(parser, at.line, at.column, "unknown escape '\\%c'",
                                   at.start[i + 1]);
            }
            c = to[escape - from];
            i++;
        }
        if (!put(parser, init, (unsigned char)c)) {
            return false;
        }
    }
    return true;
}

static bool unfinished_part(lg_ptx_parser *parser, const init_state *init) {
    return init->n_parts > 0 &&
           !lg_ptx_fail_here(parser, "an address byte by byte ends after %u of 8 bytes",
                             init->n_parts);
}

static bool parse_element(lg_ptx_parser *parser, init_state *init) {
    const lg_token at = parser->tok;
    bool is_mask =
        at.kind == LG_TOKEN_INT && parser->next.kind == LG_TOKEN_PUNCT && parser->next.punct == '(';
    if (is_mask) {
        lg_ptx_advance(parser);
        return parse_part(parser, init, &at, at.bits);
    }
    if (unfinished_part(parser, init)) {
        return false;
    }
    if (at.kind == LG_TOKEN_STRING) {
        return parse_string(parser, init);
    }
    return lg_ptx_at_literal(parser) ? parse_number(parser, init) : parse_symbol(parser, init);
}

static bool parse_braces(lg_ptx_parser *parser, init_state *init, int level) {
    uint64_t size = init->unit; // of one element of this level
    for (int i = level + 1; i < init->n_dims; i++) {
        size *= init->dims[i];
    }
    lg_ptx_advance(parser); // '{'
    while (!lg_ptx_is_punct(parser, '}')) {
        if (lg_ptx_is_punct(parser, '{')) {
            if (level + 1 >= init->n_dims) {
                return lg_ptx_fail_here(parser, "more braces than '%s' has dimensions",
                                        init->symbol->name);
            }
            uint64_t start = init->at;
            uint64_t outer = init->total;
            if (start + size <= outer) {
                init->total = start + size;
            }
            bool ok = parse_braces(parser, init, level + 1);
            init->total = outer;
            init->at = start + size;
            if (!ok || !grow_to(parser, init, init->at)) {
                return false;
            }
        } else if (!parse_element(parser, init)) {
            return false;
        }
        if (!lg_ptx_accept(parser, ',') && !lg_ptx_is_punct(parser, '}')) {
            return lg_ptx_expected(parser, "',' or '}'");
        }
    }
    return !unfinished_part(parser, init) && lg_ptx_expect(parser, '}');
}

static bool finish(lg_ptx_parser *parser, init_state *init, bool open) {
    lg_ptx_symbol *symbol = init->symbol;
    if (open) {
        uint64_t row = init->unit;
        for (int i = 1; i < init->n_dims; i++) {
            row *= init->dims[i];
        }
        uint64_t end = init->at > init->data.n ? init->at : init->data.n;
        symbol->bytes = (end + row - 1) / row * row;
        if (symbol->bytes == 0) {
            return lg_ptx_fail_here(parser, "'%s' has no element", symbol->name);
        }
    }
    if (!grow_to(parser, init, symbol->bytes)) {
        return false;
    }
    uint8_t *data = lg_arena_alloc(parser->arena, init->data.n);
    memcpy(data, init->data.text, init->data.n);
    symbol->init = data;
    parser->init_bytes += init->data.n;
    symbol->n_relocs = (int)init->relocs.n;
    if (init->relocs.n) {
        symbol->relocs = lg_arena_array(parser->arena, init->relocs.n, sizeof *init->relocs.items);
        memcpy(symbol->relocs, init->relocs.items, init->relocs.n * sizeof *init->relocs.items);
    }
    for (size_t i = 0; i < init->relocs.n; i++) {
        init->names.items[i].reloc = &symbol->relocs[i];
        LG_PTX_PUSH(parser->pending_relocs, init->names.items[i]);
    }
    return true;
}

bool lg_ptx_parse_initialiser(lg_ptx_parser *parser, lg_ptx_symbol *symbol, const uint64_t *dims,
                              int n_dims) {
    bool open = symbol->bytes == 0;
    init_state init = {.symbol = symbol,
                       .dims = dims,
                       .n_dims = n_dims,
                       .unit = lg_ptx_type_bytes(symbol->type),
                       .total = open ? UINT64_MAX : symbol->bytes};
    bool ok = false;
    if (init.unit > 8) {
        lg_ptx_fail_here(parser, "initial values of type .%s are not supported",
                         lg_ptx_type_name(symbol->type));
    } else if (lg_ptx_is_punct(parser, '{')) {
        ok = parse_braces(parser, &init, 0);
    } else if (n_dims > 0 && parser->tok.kind != LG_TOKEN_STRING) {
        lg_ptx_expected(parser, "'{'");
    } else {
        ok = parse_element(parser, &init) && !unfinished_part(parser, &init);
    }
    ok = ok && finish(parser, &init, open);
    lg_str_free(&init.data);
    free(init.relocs.items);
    free(init.names.items);
    return ok;
}
