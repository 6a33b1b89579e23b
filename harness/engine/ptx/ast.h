// SPDX-License-Identifier: Apache-2.0
// A PTX module as parsed: what the text says, with names resolved to indices, nothing executed yet.
//
// Everything lives in the module's arena; the module is const once built and may be shared by
// threads. PTX ISA 9.0 is the reference for every form.
#ifndef LG_ENGINE_PTX_AST_H
#define LG_ENGINE_PTX_AST_H

#include "support/arena.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// LG_PTX_TYPE(id, suffix, bytes)
#define LG_PTX_TYPES(LG_PTX_TYPE)                                                                  \
    LG_PTX_TYPE(B8, "b8", 1, BITS, NO_TYPE)                                                        \
    LG_PTX_TYPE(B16, "b16", 2, BITS, B32)                                                          \
    LG_PTX_TYPE(B32, "b32", 4, BITS, B64)                                                          \
    LG_PTX_TYPE(B64, "b64", 8, BITS, NO_TYPE)                                                      \
    LG_PTX_TYPE(B128, "b128", 16, BITS, NO_TYPE)                                                   \
    LG_PTX_TYPE(U8, "u8", 1, INT, NO_TYPE)                                                         \
    LG_PTX_TYPE(U16, "u16", 2, INT, U32)                                                           \
    LG_PTX_TYPE(U32, "u32", 4, INT, U64)                                                           \
    LG_PTX_TYPE(U64, "u64", 8, INT, NO_TYPE)                                                       \
    LG_PTX_TYPE(S8, "s8", 1, INT, NO_TYPE)                                                         \
    LG_PTX_TYPE(S16, "s16", 2, INT, S32)                                                           \
    LG_PTX_TYPE(S32, "s32", 4, INT, S64)                                                           \
    LG_PTX_TYPE(S64, "s64", 8, INT, NO_TYPE)                                                       \
    LG_PTX_TYPE(F16, "f16", 2, FLOAT, NO_TYPE)                                                     \
    LG_PTX_TYPE(F16X2, "f16x2", 4, PAIR, NO_TYPE)                                                  \
    LG_PTX_TYPE(BF16, "bf16", 2, FLOAT, NO_TYPE)                                                   \
    LG_PTX_TYPE(BF16X2, "bf16x2", 4, PAIR, NO_TYPE)                                                \
    LG_PTX_TYPE(F32, "f32", 4, FLOAT, NO_TYPE)                                                     \
    LG_PTX_TYPE(F64, "f64", 8, FLOAT, NO_TYPE)                                                     \
    LG_PTX_TYPE(PRED, "pred", 0, PRED, NO_TYPE)

typedef enum lg_ptx_type {
    LG_PTX_NO_TYPE = 0,
#define LG_PTX_TYPE(id, suffix, bytes, class, wide) LG_PTX_##id,
    LG_PTX_TYPES(LG_PTX_TYPE)
#undef LG_PTX_TYPE
        LG_PTX_N_TYPES
} lg_ptx_type;

typedef enum lg_ptx_space {
    LG_SPACE_GENERIC = 0,
    LG_SPACE_GLOBAL,
    LG_SPACE_SHARED,
    LG_SPACE_LOCAL,
    LG_SPACE_CONST,
    LG_SPACE_PARAM,
} lg_ptx_space;

// Base opcodes (before the first dot): LG_OP_ADD, LG_OP_LD, … from ptx/opcodes.def, one row an
// opcode: LG_PTX_OPCODE(id, "name", help).
typedef enum lg_ptx_op {
    LG_OP_UNKNOWN = 0, // kept with its text, so that checking can list it
#define LG_PTX_OPCODE(id, name, help) LG_OP_##id,
#include "engine/ptx/opcodes.def"
#undef LG_PTX_OPCODE
    LG_N_OPS
} lg_ptx_op;

typedef enum lg_ptx_round { // .rn and .rni are both RN, …
    LG_ROUND_DEFAULT = 0,
    LG_ROUND_RN,
    LG_ROUND_RZ,
    LG_ROUND_RM,
    LG_ROUND_RP,
    LG_ROUND_RNI,
    LG_ROUND_RZI,
    LG_ROUND_RMI,
    LG_ROUND_RPI,
    LG_ROUND_RNA,
} lg_ptx_round;

typedef enum lg_ptx_cmp {
    LG_CMP_NONE = 0,
    LG_CMP_EQ,
    LG_CMP_NE,
    LG_CMP_LT,
    LG_CMP_LE,
    LG_CMP_GT,
    LG_CMP_GE,
    LG_CMP_LO,
    LG_CMP_LS,
    LG_CMP_HI,
    LG_CMP_HS,
    LG_CMP_EQU,
    LG_CMP_NEU,
    LG_CMP_LTU,
    LG_CMP_LEU,
    LG_CMP_GTU,
    LG_CMP_GEU,
    LG_CMP_NUM,
    LG_CMP_NAN,
} lg_ptx_cmp;

// The second word of an opcode that selects what it does: mul.lo, atom.add, shfl.bfly, vote.ballot
// …
typedef enum lg_ptx_sub {
    LG_SUB_NONE = 0,
    LG_SUB_LO,
    LG_SUB_HI,
    LG_SUB_WIDE,
    LG_SUB_ADD,
    LG_SUB_MIN,
    LG_SUB_MAX,
    LG_SUB_INC,
    LG_SUB_DEC,
    LG_SUB_AND,
    LG_SUB_OR,
    LG_SUB_XOR,
    LG_SUB_EXCH,
    LG_SUB_CAS,
    LG_SUB_POPC,
    LG_SUB_UP,
    LG_SUB_DOWN,
    LG_SUB_BFLY,
    LG_SUB_IDX,
    LG_SUB_ALL,
    LG_SUB_ANY,
    LG_SUB_UNI,
    LG_SUB_BALLOT,
    LG_SUB_L,
    LG_SUB_R, // shf
    LG_SUB_F4E,
    LG_SUB_B4E,
    LG_SUB_RC8,
    LG_SUB_ECL,
    LG_SUB_ECR,
    LG_SUB_RC16, // prmt modes
    LG_SUB_FINITE,
    LG_SUB_INFINITE,
    LG_SUB_NUMBER,
    LG_SUB_NOTANUMBER,
    LG_SUB_NORMAL,
    LG_SUB_SUBNORMAL, // testp
    LG_SUB_SYNC,
    LG_SUB_ARRIVE,
    LG_SUB_RED,
    LG_SUB_WARP, // bar, barrier
} lg_ptx_sub;

typedef enum lg_ptx_mem_order { // of ld, st, atom, red, fence; how strong the access is
    LG_ORDER_NONE = 0,
    LG_ORDER_WEAK,
    LG_ORDER_VOLATILE,
    LG_ORDER_RELAXED,
    LG_ORDER_ACQUIRE,
    LG_ORDER_RELEASE,
    LG_ORDER_ACQ_REL,
    LG_ORDER_SC,
} lg_ptx_mem_order;

typedef enum lg_ptx_mem_scope { // whom an access or fence reaches
    LG_SCOPE_NONE = 0,          // not said: the whole device
    LG_SCOPE_CTA,
    LG_SCOPE_CLUSTER,
    LG_SCOPE_GPU,
    LG_SCOPE_SYS,
} lg_ptx_mem_scope;

typedef struct lg_ptx_mods {
    lg_ptx_sub sub;
    lg_ptx_cmp cmp;
    lg_ptx_sub bool_op; // setp.lt.and…: LG_SUB_AND, OR, XOR; bar.red: LG_SUB_AND, OR, POPC
    lg_ptx_round round;
    lg_ptx_space space; // ld, st, atom, red, cvta, isspacep
    lg_ptx_mem_order order;
    lg_ptx_mem_scope scope;
    bool ftz, sat, approx, full, to, uni, sync, aligned, cc, wrap, clamp, shiftamt, nc, noftz, nan,
        xorsign, relu, satfinite, pack, entry_param;
    uint8_t vec; // 0, 2, 4
    // Cache operators and eviction hints do not change what one warp at a time sees; the parser
    // accepts and drops them.
} lg_ptx_mods;

typedef enum lg_ptx_operand_kind {
    LG_OPERAND_NONE = 0,
    LG_OPERAND_REG,    // reg
    LG_OPERAND_INT,    // imm_bits as a 64-bit two's complement integer (also 0U suffix, enums)
    LG_OPERAND_F32,    // imm_bits low 32: 0f3F800000
    LG_OPERAND_F64,    // imm_bits: 0d…, or a decimal float literal
    LG_OPERAND_SYMBOL, // address of a variable, + offset (mov.u64 %rd, name+4)
    LG_OPERAND_MEM,    // [reg + offset] or [symbol + offset] or [imm]
    LG_OPERAND_LABEL,  // branch target: insn index in imm_bits
    LG_OPERAND_FUNC,   // call target: index into module->functions
    LG_OPERAND_SREG,   // special register: sreg
    LG_OPERAND_VECTOR, // {a, b, …}: elements
    LG_OPERAND_PAIR,   // p|q of setp, shfl, match
    LG_OPERAND_SINK,   // _
    LG_OPERAND_LIST,   // (a, b) of call: elements
} lg_ptx_operand_kind;

typedef enum lg_ptx_sreg {
#define LG_PTX_SREG(id, name, type) LG_SREG_##id,
#include "engine/ptx/sregs.def"
#undef LG_PTX_SREG
    LG_N_SREGS
} lg_ptx_sreg;

typedef struct lg_ptx_operand lg_ptx_operand;
struct lg_ptx_operand {
    lg_ptx_operand_kind kind;
    bool negated;         // !p on a predicate source; -x on a register in old forms
    bool symbol_is_local; // of the function rather than the module
    int32_t reg;          // REG, MEM with a register base; -1 otherwise
    int32_t symbol; // SYMBOL, MEM: index into the function's or module's symbols (see below); -1
    int64_t offset;
    uint64_t imm_bits;
    lg_ptx_sreg sreg;
    int n_elements; // VECTOR, PAIR, LIST
    lg_ptx_operand *elements;
};

typedef struct lg_ptx_src { // from .loc
    int32_t file;           // index into module->files, -1 unknown
    int32_t line;
    int32_t column;
    int32_t inlined_at; // index into function->srcs of the call site, -1 none
} lg_ptx_src;

enum { LG_PTX_MAX_OPERANDS = 6 };

typedef struct lg_ptx_insn {
    lg_ptx_op op;
    int32_t line, column; // in the PTX text
    int32_t guard;        // predicate register of @p, -1 none
    bool guard_negated;   // @!p
    const char *text;     // mnemonic with all modifiers: "setp.lt.s64"
    int n_types;          // .f32.s32 → {F32, S32}, in the order written
    lg_ptx_type types[4];
    lg_ptx_mods mods;
    // As written, destination first. call: [LIST ret] FUNC|REG [LIST args], the prototype of an
    // indirect call is checked and dropped. brx.idx: REG LIST, the elements are LABELs. A
    // cache-policy operand (.L2::cache_hint) is dropped.
    int n_operands;
    lg_ptx_operand operands[LG_PTX_MAX_OPERANDS];
    int32_t src; // index into function->srcs, -1 none
} lg_ptx_insn;

typedef struct lg_ptx_reg {
    const char *name; // "%r7"
    lg_ptx_type type;
} lg_ptx_reg;

// A variable: parameter, .shared, .local, .global or .const.
typedef struct lg_ptx_symbol {
    const char *name;
    lg_ptx_space space;
    lg_ptx_type type;
    uint32_t align;
    uint64_t bytes; // whole size; 0 for `extern .shared x[]` (dynamic shared memory)
    // PARAM of an entry: offset in the parameter block. PARAM of a .func: offset in its parameter
    // frame, which holds the returns, then the parameters, in [0, param_bytes), and the
    // call-sequence variables after them (sibling { } blocks share their bytes). SHARED, LOCAL:
    // offset in the function's frame (module-level .shared: 0, placed at load). GLOBAL, CONST: 0
    // (placed at load).
    uint64_t offset;
    bool is_extern;
    const uint8_t *init; // `bytes` initial bytes, or NULL for zero
    int n_relocs;        // addresses of other symbols inside the initialiser
    struct lg_ptx_reloc {
        uint64_t offset;
        int32_t symbol; // module symbol, or -1 with `function` set
        int32_t function;
        int64_t addend;
        bool generic; // generic(name)
    } * relocs;
    int32_t line;
} lg_ptx_symbol;

typedef struct lg_ptx_function {
    const char *name;
    bool is_entry;
    bool is_extern; // declared only: __assertfail, vprintf, malloc …
    int32_t line;
    int n_returns;          // .func return parameters: symbols[0..n_returns)
    int n_params;           // then symbols[n_returns..n_returns+n_params); PARAM space
    uint64_t param_bytes;   // size of the entry's parameter block; .func: returns and parameters
    int n_symbols;          // params, then shared, local and call-sequence .param variables
    lg_ptx_symbol *symbols; // call-sequence .param: PARAM space, offset >= param_bytes
    // The call-sequence variables lie in [param_bytes, param_bytes + call_param_bytes), of entries
    // too (there they are not part of what the launch passes).
    uint64_t call_param_bytes;
    uint64_t local_bytes;
    uint64_t shared_bytes; // static shared memory, without the module-level .shared variables
    int n_regs;
    // Only the registers that are used; scoped redeclarations inside { } get registers of their
    // own.
    lg_ptx_reg *regs;
    // The last instruction never falls off the end: a `ret` is added where the text has none, so
    // that every label is the index of an instruction.
    int n_insns;
    lg_ptx_insn *insns;
    int n_srcs;
    lg_ptx_src *srcs;
    uint32_t max_threads[3]; // .maxntid, 0 none
    uint32_t req_threads[3]; // .reqntid
    // From cfg.h: for each instruction that can diverge (guarded bra, brx), the index of the
    // instruction where its paths meet again (immediate post-dominator), n_insns for "at exit"; -1
    // for the others. A guarded ret or exit has n_insns: the threads that took it are gone, and
    // the post-dominators of other branches do not count it as a path.
    int32_t *reconverge;
} lg_ptx_function;

typedef struct lg_ptx_module {
    lg_arena arena;
    const char *name; // for diagnostics: path of the PTX
    int version_major, version_minor;
    int sm; // target sm_75 → 75
    int n_files;
    const char **files; // .file table, by position; NULL holes
    int n_symbols;
    lg_ptx_symbol *symbols; // module-level .global, .const, .shared
    int n_functions;
    lg_ptx_function *functions;
    char **lines; // the PTX text, line by line, for diagnostics and asm; n_lines
    int n_lines;
} lg_ptx_module;

const char *lg_ptx_type_name(lg_ptx_type type);
uint32_t lg_ptx_type_bytes(lg_ptx_type type);
const char *lg_ptx_op_name(lg_ptx_op op);
const char *lg_ptx_sreg_name(lg_ptx_sreg sreg);

#endif
