// SPDX-License-Identifier: Apache-2.0
// Operands against the slots of the mnemonic's form.
#include "engine/ptx/parser.h"

#include <stdio.h>
#include <string.h>

bool lg_ptx_type_fits(lg_ptx_type have, lg_ptx_type want, bool relaxed) {
    lg_ptx_class have_class = lg_ptx_type_class(have);
    lg_ptx_class want_class = lg_ptx_type_class(want);
    uint32_t have_bytes = lg_ptx_type_bytes(have);
    uint32_t want_bytes = lg_ptx_type_bytes(want);
    if (have_class == LG_CLASS_PRED || want_class == LG_CLASS_PRED) {
        return have_class == want_class;
    }
    // Packed halves live in any 32-bit register of bits or of their own type.
    bool kinds_agree = have_class == LG_CLASS_BITS || want_class == LG_CLASS_BITS ||
                       (have_class == want_class && (have_class != LG_CLASS_PAIR || have == want));
    if (!kinds_agree) {
        return false;
    }
    bool both_float = have_class == LG_CLASS_FLOAT && want_class == LG_CLASS_FLOAT;
    return relaxed && !both_float ? have_bytes >= want_bytes : have_bytes == want_bytes;
}

const char *lg_ptx_describe(const lg_ptx_parser *parser, const lg_ptx_operand *operand,
                            char *buffer, size_t n) {
    switch (operand->kind) {
    case LG_OPERAND_REG: {
        const lg_ptx_reg *reg = &parser->regs.items[operand->reg];
        snprintf(buffer, n, "%s%.40s, a .%s register,", operand->negated ? "!" : "", reg->name,
                 lg_ptx_type_name(reg->type));
        return buffer;
    }
    case LG_OPERAND_SREG:
        snprintf(buffer, n, "special register %s", lg_ptx_sreg_name(operand->sreg));
        return buffer;
    case LG_OPERAND_INT:
        return "an integer";
    case LG_OPERAND_F32:
        return "an f32 literal";
    case LG_OPERAND_F64:
        return "an f64 literal";
    case LG_OPERAND_SYMBOL:
        return "the address of a variable";
    case LG_OPERAND_MEM:
        return "a memory operand";
    case LG_OPERAND_LABEL:
        return "a label";
    case LG_OPERAND_FUNC:
        return "a function";
    case LG_OPERAND_VECTOR:
        return "a vector";
    case LG_OPERAND_PAIR:
        return "a pair p|q";
    case LG_OPERAND_SINK:
        return "'_'";
    case LG_OPERAND_LIST:
        return "a list";
    case LG_OPERAND_NONE:
        break;
    }
    return "nothing";
}

typedef struct place {
    int line, column;
    int number; // of the operand, from 1
} place;

static bool mismatch(lg_ptx_parser *parser, const lg_ptx_insn *insn, const lg_ptx_operand *operand,
                     const char *wanted, place at) {
    char buffer[96];
    return lg_ptx_fail(parser, at.line, at.column, "'%s': %s cannot be operand %d, which is %s",
                       insn->text, lg_ptx_describe(parser, operand, buffer, sizeof buffer),
                       at.number, wanted);
}

static const char *wanted_text(const lg_ptx_slot *slot, char *buffer, size_t n) {
    const char *name = lg_ptx_type_name(slot->type);
    if (slot->immediate) {
        snprintf(buffer, n, "a literal");
    } else if (slot->type == LG_PTX_PRED) {
        snprintf(buffer, n, "a predicate");
    } else {
        snprintf(buffer, n, "a .%s %s", name,
                 slot->role == LG_SLOT_DEST ? "destination" : "source");
    }
    return buffer;
}

// Float literals take the width of the instruction, as ptxas does it.
static bool fit_literal(lg_ptx_operand *operand, lg_ptx_type type) {
    uint32_t bytes = lg_ptx_type_bytes(type);
    lg_ptx_class class = lg_ptx_type_class(type);
    if (operand->kind == LG_OPERAND_INT) {
        return class == LG_CLASS_INT || class == LG_CLASS_BITS;
    }
    if (class == LG_CLASS_BITS) {
        return bytes == (operand->kind == LG_OPERAND_F32 ? 4U : 8U);
    }
    if (operand->kind == LG_OPERAND_F64 && type == LG_PTX_F32) {
        double value;
        memcpy(&value, &operand->imm_bits, sizeof value);
        float single = (float)value;
        uint32_t bits;
        memcpy(&bits, &single, sizeof bits);
        operand->kind = LG_OPERAND_F32;
        operand->imm_bits = bits;
        return true;
    }
    if (operand->kind == LG_OPERAND_F32 && type == LG_PTX_F64) {
        uint32_t bits = (uint32_t)operand->imm_bits;
        float single;
        memcpy(&single, &bits, sizeof single);
        double value = (double)single;
        operand->kind = LG_OPERAND_F64;
        memcpy(&operand->imm_bits, &value, sizeof value);
        return true;
    }
    return type == (operand->kind == LG_OPERAND_F32 ? LG_PTX_F32 : LG_PTX_F64);
}

static bool is_literal(const lg_ptx_operand *operand) {
    return operand->kind == LG_OPERAND_INT || operand->kind == LG_OPERAND_F32 ||
           operand->kind == LG_OPERAND_F64;
}

static bool check_scalar_source(lg_ptx_parser *parser, const lg_ptx_insn *insn,
                                lg_ptx_operand *operand, const lg_ptx_slot *slot, place at) {
    bool ok = false;
    if (is_literal(operand)) {
        ok = fit_literal(operand, slot->type);
    } else if (operand->kind == LG_OPERAND_REG && !slot->immediate) {
        ok = lg_ptx_type_fits(parser->regs.items[operand->reg].type, slot->type, slot->relaxed) &&
             (!operand->negated || slot->type == LG_PTX_PRED);
    } else if (operand->kind == LG_OPERAND_SREG && slot->sreg) {
        // mov.u16 takes the low half of one; %gridid once had 32 bits.
        lg_ptx_type have = lg_ptx_sreg_type(operand->sreg);
        lg_ptx_class class = lg_ptx_type_class(slot->type);
        uint32_t bytes = lg_ptx_type_bytes(slot->type);
        ok = (class == LG_CLASS_INT || class == LG_CLASS_BITS) &&
             (bytes == lg_ptx_type_bytes(have) || (bytes == 2 && have == LG_PTX_U32) ||
              (bytes == 4 && operand->sreg == LG_SREG_GRIDID));
    }
    if (ok) {
        return true;
    }
    char wanted[48];
    return mismatch(parser, insn, operand, wanted_text(slot, wanted, sizeof wanted), at);
}

bool lg_ptx_check_source(lg_ptx_parser *parser, const lg_ptx_insn *insn, lg_ptx_operand *operand,
                         const lg_ptx_slot *slot, int line, int column) {
    return check_scalar_source(parser, insn, operand, slot,
                               (place){.line = line, .column = column, .number = 2});
}

static bool may_discard(lg_ptx_op op) {
    return op == LG_OP_ATOM || op == LG_OP_SETP || op == LG_OP_SHFL || op == LG_OP_MATCH ||
           op == LG_OP_ELECT || op == LG_OP_LOP3 || op == LG_OP_LD || op == LG_OP_LDU;
}

static bool check_scalar_dest(lg_ptx_parser *parser, const lg_ptx_insn *insn,
                              lg_ptx_operand *operand, const lg_ptx_slot *slot, place at) {
    bool ok = operand->kind == LG_OPERAND_SINK && may_discard(insn->op);
    if (operand->kind == LG_OPERAND_REG && !operand->negated) {
        ok = lg_ptx_type_fits(parser->regs.items[operand->reg].type, slot->type, slot->relaxed);
    }
    if (ok) {
        return true;
    }
    char wanted[48];
    return mismatch(parser, insn, operand, wanted_text(slot, wanted, sizeof wanted), at);
}

static bool check_scalar(lg_ptx_parser *parser, const lg_ptx_insn *insn, lg_ptx_operand *operand,
                         const lg_ptx_slot *slot, place at) {
    return slot->role == LG_SLOT_DEST ? check_scalar_dest(parser, insn, operand, slot, at)
                                      : check_scalar_source(parser, insn, operand, slot, at);
}

static bool check_vector(lg_ptx_parser *parser, const lg_ptx_insn *insn, lg_ptx_operand *operand,
                         const lg_ptx_slot *slot, place at) {
    if (operand->kind != LG_OPERAND_VECTOR || operand->n_elements != insn->mods.vec) {
        char wanted[48];
        snprintf(wanted, sizeof wanted, "a vector of %d elements", insn->mods.vec);
        return mismatch(parser, insn, operand, wanted, at);
    }
    bool ok = true;
    for (int i = 0; i < operand->n_elements; i++) {
        ok &= check_scalar(parser, insn, &operand->elements[i], slot, at);
    }
    return ok;
}

static bool check_pair(lg_ptx_parser *parser, const lg_ptx_insn *insn, lg_ptx_operand *operand,
                       const lg_ptx_slot *slot, place at) {
    static const lg_ptx_slot predicate = {.role = LG_SLOT_DEST, .type = LG_PTX_PRED};
    bool first = check_scalar_dest(parser, insn, &operand->elements[0], slot, at);
    bool second = check_scalar_dest(parser, insn, &operand->elements[1], &predicate, at);
    return first && second;
}

static const lg_ptx_symbol *symbol_of(const lg_ptx_parser *parser, const lg_ptx_operand *operand) {
    return operand->symbol_is_local ? &parser->locals.items[operand->symbol]
                                    : &parser->symbols.items[operand->symbol];
}

static bool is_address_reg(const lg_ptx_parser *parser, const lg_ptx_operand *operand) {
    lg_ptx_type type = parser->regs.items[operand->reg].type;
    lg_ptx_class class = lg_ptx_type_class(type);
    uint32_t bytes = lg_ptx_type_bytes(type);
    return !operand->negated && (class == LG_CLASS_INT || class == LG_CLASS_BITS) &&
           (bytes == 4 || bytes == 8);
}

static const char *space_name(lg_ptx_space space) {
    static const char *const names[] = {"generic", "global", "shared", "local", "const", "param"};
    return names[space];
}

// A 32-bit register may hold an address of a space that is small: shared, local, const, param.
static bool check_memory(lg_ptx_parser *parser, lg_ptx_insn *insn, lg_ptx_operand *operand,
                         place at) {
    if (operand->kind != LG_OPERAND_MEM) {
        return mismatch(parser, insn, operand, "an address in [ ]", at);
    }
    lg_ptx_space space = insn->mods.space;
    if (operand->reg >= 0) {
        const lg_ptx_reg *reg = &parser->regs.items[operand->reg];
        bool narrow = lg_ptx_type_bytes(reg->type) == 4;
        if (!is_address_reg(parser, operand)) {
            return lg_ptx_fail(parser, at.line, at.column,
                               "'%s': %.40s, a .%s register, cannot hold an address", insn->text,
                               reg->name, lg_ptx_type_name(reg->type));
        }
        if (narrow && (space == LG_SPACE_GENERIC || space == LG_SPACE_GLOBAL)) {
            return lg_ptx_fail(parser, at.line, at.column,
                               "'%s': a %s address needs a 64-bit register", insn->text,
                               space_name(space));
        }
    }
    if (operand->symbol < 0) {
        return true;
    }
    const lg_ptx_symbol *symbol = symbol_of(parser, operand);
    if (space == LG_SPACE_GENERIC) {
        insn->mods.space = symbol->space;
    } else if (space != symbol->space) {
        return lg_ptx_fail(parser, at.line, at.column, "'%s': '%.60s' is in .%s, not in .%s memory",
                           insn->text, symbol->name, space_name(symbol->space), space_name(space));
    }
    return true;
}

static bool check_address(lg_ptx_parser *parser, const lg_ptx_insn *insn,
                          const lg_ptx_operand *operand, place at) {
    if (operand->kind == LG_OPERAND_REG && is_address_reg(parser, operand)) {
        return true;
    }
    if (operand->kind != LG_OPERAND_SYMBOL) {
        return mismatch(parser, insn, operand, "an address register or a variable", at);
    }
    const lg_ptx_symbol *symbol = symbol_of(parser, operand);
    if (insn->mods.space != symbol->space) {
        return lg_ptx_fail(parser, at.line, at.column, "'%s': '%.60s' is in .%s, not in .%s memory",
                           insn->text, symbol->name, space_name(symbol->space),
                           space_name(insn->mods.space));
    }
    return true;
}

static bool check_slot(lg_ptx_parser *parser, lg_ptx_insn *insn, lg_ptx_operand *operand,
                       const lg_ptx_slot *slot, place at) {
    switch (slot->role) {
    case LG_SLOT_DEST:
    case LG_SLOT_SOURCE:
        if (slot->pair && operand->kind == LG_OPERAND_PAIR) {
            return check_pair(parser, insn, operand, slot, at);
        }
        if (slot->vector && insn->mods.vec) {
            return check_vector(parser, insn, operand, slot, at);
        }
        return check_scalar(parser, insn, operand, slot, at);
    case LG_SLOT_MEM:
        return check_memory(parser, insn, operand, at);
    case LG_SLOT_ADDRESS:
        return check_address(parser, insn, operand, at);
    case LG_SLOT_LABEL:
        return operand->kind == LG_OPERAND_LABEL || mismatch(parser, insn, operand, "a label", at);
    case LG_SLOT_TARGETS:
        return operand->kind == LG_OPERAND_LIST ||
               mismatch(parser, insn, operand, "a .branchtargets table", at);
    }
    return false;
}

// The .L2::cache_hint operand is checked and dropped.
static bool drop_cache_policy(lg_ptx_parser *parser, lg_ptx_insn *insn, lg_ptx_operand *operands,
                              const lg_ptx_operand_places *places) {
    static const lg_ptx_slot policy = {.role = LG_SLOT_SOURCE, .type = LG_PTX_B64};
    if (insn->n_operands == 0) {
        return lg_ptx_fail(parser, insn->line, insn->column, "'%s': the cache policy is missing",
                           insn->text);
    }
    int last = --insn->n_operands;
    place at = {places->line[last], places->column[last], last + 1};
    return check_scalar_source(parser, insn, &operands[last], &policy, at);
}

static bool check_vector_bytes(lg_ptx_parser *parser, const lg_ptx_insn *insn) {
    if (insn->mods.vec * lg_ptx_type_bytes(insn->types[0]) <= 16) {
        return true;
    }
    return lg_ptx_fail(parser, insn->line, insn->column,
                       "'%s': a vector access is at most 16 bytes wide", insn->text);
}

static bool wrong_count(lg_ptx_parser *parser, const lg_ptx_insn *insn, int least, int most) {
    char wanted[32];
    snprintf(wanted, sizeof wanted, least == most ? "%d" : "%d to %d", least, most);
    return lg_ptx_fail(parser, insn->line, insn->column, "'%s' takes %s operand%s, not %d",
                       insn->text, wanted, most == 1 ? "" : "s", insn->n_operands);
}

bool lg_ptx_check_insn(lg_ptx_parser *parser, lg_ptx_insn *insn, lg_ptx_operand *operands,
                       const lg_ptx_mnemonic *mnemonic, const lg_ptx_operand_places *places) {
    if (mnemonic->cache_hint && !drop_cache_policy(parser, insn, operands, places)) {
        return false;
    }
    if (mnemonic->special) {
        return lg_ptx_check_mov(parser, insn, operands, places);
    }
    int n_optional = 0;
    for (int i = 0; i < mnemonic->n_slots; i++) {
        n_optional += mnemonic->slots[i].optional;
    }
    int n_missing = mnemonic->n_slots - insn->n_operands;
    if (n_missing < 0 || n_missing > n_optional) {
        return wrong_count(parser, insn, mnemonic->n_slots - n_optional, mnemonic->n_slots);
    }
    bool ok = check_vector_bytes(parser, insn);
    int operand = 0;
    int n_present = n_optional - n_missing; // of the optional ones, the first are there
    for (int i = 0; i < mnemonic->n_slots; i++) {
        const lg_ptx_slot *slot = &mnemonic->slots[i];
        if (slot->optional && n_present-- <= 0) {
            continue;
        }
        place at = {places->line[operand], places->column[operand], operand + 1};
        ok &= check_slot(parser, insn, &operands[operand], slot, at);
        operand++;
    }
    return ok;
}
