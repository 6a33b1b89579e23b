// SPDX-License-Identifier: Apache-2.0
// The parser's state, shared by parse_*.c and check*.c. Private to engine/ptx.
//
// One pass over the text. A name resolves through its stack of bindings, so that lookups do not
// depend on how deep scopes nest; labels, which may be used before they stand, wait in a list until
// their scope ends. Each instruction is checked as soon as it is read, while the columns of its
// operands are known.
#ifndef LG_ENGINE_PTX_PARSER_H
#define LG_ENGINE_PTX_PARSER_H

#include "engine/ptx/ast.h"
#include "engine/ptx/mnemonic.h"
#include "engine/ptx/token.h"
#include "engine/ptx/types.h"
#include "support/error.h"

enum {
    LG_PTX_MAX_ERRORS = 1000,        // of one module; then the parser stops and says so
    LG_PTX_MAX_DEPTH = 64,           // of { } scopes, ( ) expressions and { } initialisers
    LG_PTX_MAX_REG_RANGE = 1 << 20,  // %r<n>
    LG_PTX_MAX_FILE_INDEX = 1 << 16, // .file n
    LG_PTX_MAX_LIST = 4096,          // elements of an operand list, call arguments
    LG_PTX_MAX_TARGETS = 1 << 20,    // branch targets of all brx.idx of a function
    LG_PTX_MAX_PARAM_BYTES = 32764,  // of one function, as ptxas has it for sm_70 and later
    LG_PTX_MAX_SHARED_BYTES = 228 * 1024,
    LG_PTX_MAX_LOCAL_BYTES = 512 * 1024,
    LG_PTX_MAX_ALIGN = 4096,
    LG_PTX_MAX_SHOWN_LINE = 400, // longer lines are not copied into diagnostics
};
// Initialised data of one module, all variables together.
#define LG_PTX_MAX_INIT_BYTES ((uint64_t)256 << 20)

typedef enum lg_ptx_bind_kind {
    LG_BIND_REG,     // index into the function's registers
    LG_BIND_VECREG,  // first of `count` registers
    LG_BIND_LOCAL,   // index into the function's symbols
    LG_BIND_MODULE,  // index into the module's symbols
    LG_BIND_FUNC,    // index into the module's functions
    LG_BIND_LABEL,   // instruction index
    LG_BIND_TARGETS, // .branchtargets: index into parser->targets
    LG_BIND_PROTO,   // .callprototype: index into parser->protos
} lg_ptx_bind_kind;

typedef struct lg_ptx_name lg_ptx_name;

typedef struct lg_ptx_binding {
    lg_ptx_bind_kind kind;
    int32_t index;
    int count; // VECREG
    int depth; // of the scope: 0 module, 1 function …
    int line;
    lg_ptx_name *name;
    struct lg_ptx_binding *hidden;     // what it hides
    struct lg_ptx_binding *scope_next; // others of its scope
} lg_ptx_binding;

// `.reg .b32 %r<9>`: the registers are made when they are first used.
typedef struct lg_ptx_range {
    lg_ptx_type type;
    uint32_t count;
    int depth;
    lg_ptx_name *prefix;
    struct lg_ptx_range *hidden;
    struct lg_ptx_range *scope_next;
} lg_ptx_range;

// An interned string.
struct lg_ptx_name {
    const char *text;
    uint32_t n;
    uint32_t hash;
    lg_ptx_binding *binding;   // innermost
    lg_ptx_range *range;       // innermost with this prefix
    lg_ptx_mnemonic *mnemonic; // of this text as an instruction
    lg_ptx_name *chain;
};

typedef struct lg_ptx_names {
    lg_ptx_name **buckets;
    size_t n_buckets, n;
} lg_ptx_names;

// A place that wants a label (or a table of labels) once its scope has ended.
typedef struct lg_ptx_fixup {
    lg_ptx_name *name;
    int32_t insn; // operand of this instruction, or -1:
    int32_t operand;
    lg_ptx_operand *element; // element of a .branchtargets table
    int line, column;
} lg_ptx_fixup;

typedef struct lg_ptx_scope {
    lg_ptx_binding *bindings;
    lg_ptx_range *ranges;
    size_t first_fixup;
    uint64_t call_param_bytes; // at the start of the scope
} lg_ptx_scope;

// Parameter sizes of a call: of a function or of a .callprototype.
typedef struct lg_ptx_signature {
    int n_returns, n_params;
    uint64_t *bytes; // returns, then parameters
} lg_ptx_signature;

typedef struct lg_ptx_targets {
    int n;
    lg_ptx_operand *elements;
} lg_ptx_targets;

#define LG_PTX_VEC(type)                                                                           \
    struct {                                                                                       \
        type *items;                                                                               \
        size_t n, capacity;                                                                        \
    }

// An address in an initialiser whose name is looked up at the end of the module.
typedef struct lg_ptx_pending_reloc {
    struct lg_ptx_reloc *reloc;
    lg_ptx_name *name;
    int line, column;
} lg_ptx_pending_reloc;

typedef struct lg_ptx_alias {
    int32_t alias, target; // functions
} lg_ptx_alias;

typedef struct lg_ptx_srcmap {
    int32_t *slots; // open addressing, index into srcs, -1 free
    size_t n_slots;
} lg_ptx_srcmap;

typedef struct lg_ptx_parser {
    lg_lexer lexer;
    lg_token tok;  // current
    lg_token next; // one ahead
    int last_line; // of the token before tok
    // '{' taken and not yet closed, now and when the statement began: where an error lies inside
    // the braces of an operand or initialiser, their '}' does not end the function.
    int64_t braces, statement_braces;
    lg_ptx_module *module;
    lg_arena *arena;  // the module's
    lg_arena scratch; // freed when the parse ends
    lg_diags *diags;
    size_t first_error; // errors in diags before this parse
    bool stopped;       // too many errors
    bool has_version, has_target;
    lg_ptx_names names;
    lg_ptx_scope scopes[LG_PTX_MAX_DEPTH + 1];
    int depth;
    size_t ranges_at[LG_PTX_MAX_DEPTH + 2]; // ranges declared in scopes of this depth
    uint64_t init_bytes;

    // Growing tables of the module.
    LG_PTX_VEC(lg_ptx_symbol) symbols;
    LG_PTX_VEC(lg_ptx_function) functions;
    LG_PTX_VEC(const char *) files;
    LG_PTX_VEC(bool) has_body; // of functions
    LG_PTX_VEC(lg_ptx_pending_reloc) pending_relocs;
    LG_PTX_VEC(lg_ptx_alias) aliases;

    // Of the function being read.
    lg_ptx_function function; // stored into functions at its end
    bool in_function;
    LG_PTX_VEC(lg_ptx_reg) regs;
    LG_PTX_VEC(lg_ptx_symbol) locals;
    LG_PTX_VEC(lg_ptx_insn) insns;
    LG_PTX_VEC(lg_ptx_src) srcs;
    LG_PTX_VEC(lg_ptx_fixup) fixups;
    LG_PTX_VEC(lg_ptx_targets) targets;
    LG_PTX_VEC(lg_ptx_signature) protos;
    lg_ptx_srcmap srcmap;
    size_t n_targets;       // branch targets of all brx.idx
    int32_t last_label;     // instruction index of the last label
    int32_t src;            // of the next instruction
    uint64_t call_param_at; // end of the call-sequence variables of the open scopes
} lg_ptx_parser;

// Pushes one item; `vec` is a LG_PTX_VEC.
#define LG_PTX_PUSH(vec, item)                                                                     \
    do {                                                                                           \
        if ((vec).n == (vec).capacity) {                                                           \
            (vec).capacity = (vec).capacity ? 2 * (vec).capacity : 16;                             \
            (vec).items = lg_xrealloc((vec).items, (vec).capacity * sizeof *(vec).items);          \
        }                                                                                          \
        (vec).items[(vec).n++] = (item);                                                           \
    } while (0)

// parse.c: tokens and errors. All return false, or do nothing more, once the parser has stopped.
void lg_ptx_advance(lg_ptx_parser *parser);
bool lg_ptx_fail(lg_ptx_parser *parser, int line, int column, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
bool lg_ptx_fail_here(lg_ptx_parser *parser, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
bool lg_ptx_is_punct(const lg_ptx_parser *parser, int punct);
bool lg_ptx_is_dot(const lg_ptx_parser *parser, const char *text); // with its dot
bool lg_ptx_accept(lg_ptx_parser *parser, int punct);
bool lg_ptx_accept_dot(lg_ptx_parser *parser, const char *text);
// "expected ';'" at the current token, and false, when it is another.
bool lg_ptx_expect(lg_ptx_parser *parser, int punct);
bool lg_ptx_expected(lg_ptx_parser *parser, const char *what);
#ifdef __clang_analyzer__
#define lg_ptx_fail(...) LG_ALWAYS_FALSE(lg_ptx_fail(__VA_ARGS__))
#define lg_ptx_fail_here(...) LG_ALWAYS_FALSE(lg_ptx_fail_here(__VA_ARGS__))
#define lg_ptx_expected(...) LG_ALWAYS_FALSE(lg_ptx_expected(__VA_ARGS__))
#endif
// The ';' at the end. When it is missing at the end of a line, the next line is not lost: false
// only where the rest has to be skipped.
bool lg_ptx_finish_statement(lg_ptx_parser *parser);
// For directives that end with their line: moves behind the tokens that are still on it.
void lg_ptx_skip_line(lg_ptx_parser *parser);
void lg_ptx_begin_statement(lg_ptx_parser *parser);
// Moves behind the next ';' of the statement, or before the '}' that closes its scope, or to the
// end.
void lg_ptx_skip_statement(lg_ptx_parser *parser);
void lg_ptx_skip_braces(lg_ptx_parser *parser); // at '{': behind its '}'

// names.c
lg_ptx_name *lg_ptx_intern(lg_ptx_parser *parser, const char *text, size_t n);
bool lg_ptx_bind(lg_ptx_parser *parser, lg_ptx_name *name, lg_ptx_bind_kind kind, int32_t index,
                 int count, const lg_token *at);
bool lg_ptx_bind_range(lg_ptx_parser *parser, lg_ptx_name *prefix, lg_ptx_type type, uint32_t count,
                       const lg_token *at);
// What a name means here; makes the register of a range on first use. NULL: nothing.
const lg_ptx_binding *lg_ptx_lookup(lg_ptx_parser *parser, lg_ptx_name *name);
bool lg_ptx_scope_open(lg_ptx_parser *parser); // false, with an error, when too deep
void lg_ptx_scope_close(lg_ptx_parser *parser);
void lg_ptx_names_free(lg_ptx_names *names);

// parse_expr.c
bool lg_ptx_parse_int(lg_ptx_parser *parser, int64_t *value); // a constant expression
// A literal with an optional sign: an INT, F32 or F64 operand.
bool lg_ptx_parse_literal(lg_ptx_parser *parser, lg_ptx_operand *out);
bool lg_ptx_at_literal(const lg_ptx_parser *parser);

// parse_decl.c
bool lg_ptx_parse_variable(lg_ptx_parser *parser, bool is_extern); // at .global, .shared, …
bool lg_ptx_parse_reg(lg_ptx_parser *parser);                      // at .reg
// One parameter declaration, at .param; `name_token` may be "_" in prototypes.
bool lg_ptx_parse_param(lg_ptx_parser *parser, lg_ptx_symbol *symbol, lg_token *name_token);
uint64_t lg_ptx_place(uint64_t *bytes, const lg_ptx_symbol *symbol); // its offset in a frame

// parse_init.c
bool lg_ptx_parse_initialiser(lg_ptx_parser *parser, lg_ptx_symbol *symbol, const uint64_t *dims,
                              int n_dims);

// parse_func.c
bool lg_ptx_parse_function(lg_ptx_parser *parser, bool is_extern); // at .func, .entry
bool lg_ptx_parse_signature(lg_ptx_parser *parser, lg_ptx_signature *signature);
void lg_ptx_function_reset(lg_ptx_parser *parser);

// parse_body.c
// From behind '{' to behind the matching '}', which `end` gets.
void lg_ptx_parse_body(lg_ptx_parser *parser, lg_token *end);
// Fills in labels that the fixups from `first` wait for; the others wait on for an outer scope, and
// are errors in the function's own.
void lg_ptx_resolve_labels(lg_ptx_parser *parser, size_t first);

// parse_insn.c, parse_operand.c
typedef struct lg_ptx_operand_places {
    int line[LG_PTX_MAX_OPERANDS + 2];
    int column[LG_PTX_MAX_OPERANDS + 2];
} lg_ptx_operand_places;
bool lg_ptx_parse_insn(lg_ptx_parser *parser);
bool lg_ptx_parse_operand(lg_ptx_parser *parser, lg_ptx_operand *out);

// check*.c: false after reporting. check_insn may drop a trailing cache-policy operand, converts
// float literals to the type of the instruction, and fills in the space of a variable's address.
bool lg_ptx_check_insn(lg_ptx_parser *parser, lg_ptx_insn *insn, lg_ptx_operand *operands,
                       const lg_ptx_mnemonic *mnemonic, const lg_ptx_operand_places *places);
bool lg_ptx_check_call(lg_ptx_parser *parser, lg_ptx_insn *insn, lg_ptx_operand *operands,
                       const lg_ptx_signature *proto, const lg_ptx_operand_places *places);
bool lg_ptx_check_mov(lg_ptx_parser *parser, lg_ptx_insn *insn, lg_ptx_operand *operands,
                      const lg_ptx_operand_places *places);
// A source of a type: register, literal (converted to the type) or, with `sreg`, special register.
bool lg_ptx_check_source(lg_ptx_parser *parser, const lg_ptx_insn *insn, lg_ptx_operand *operand,
                         const lg_ptx_slot *slot, int line, int column);
// Whether a register of `have` may stand where `want` is meant; relaxed: ld, st, cvt.
bool lg_ptx_type_fits(lg_ptx_type have, lg_ptx_type want, bool relaxed);
// The type of a register, immediate … for messages: ".f32 register".
const char *lg_ptx_describe(const lg_ptx_parser *parser, const lg_ptx_operand *operand,
                            char *buffer, size_t n);

// srcmap.c
bool lg_ptx_parse_loc(lg_ptx_parser *parser);  // at .loc
bool lg_ptx_parse_file(lg_ptx_parser *parser); // at .file

#endif
