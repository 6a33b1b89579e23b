// SPDX-License-Identifier: Apache-2.0
// mov and call, whose operands do not fit into slots.
#include "engine/ptx/parser.h"

#include <string.h>

static bool fail_mov(lg_ptx_parser *parser, const lg_ptx_insn *insn, const lg_ptx_operand *operand,
                     int line, int column) {
    char buffer[96];
    return lg_ptx_fail(parser, line, column, "'%s' cannot take %s as %s", insn->text,
                       lg_ptx_describe(parser, operand, buffer, sizeof buffer),
                       column == insn->column ? "an operand" : "this operand");
}

// {a, b} packs or unpacks registers whose widths add up to the type.
static bool check_pack(lg_ptx_parser *parser, const lg_ptx_insn *insn, lg_ptx_operand *vector,
                       bool is_dest, int line, int column) {
    lg_ptx_type type = insn->types[0];
    uint32_t whole = lg_ptx_type_bytes(type);
    uint32_t n = (uint32_t)vector->n_elements;
    if (lg_ptx_type_class(type) != LG_CLASS_BITS) {
        return lg_ptx_fail(parser, line, column, "'%s': packing needs a type of bits (.b32, .b64)",
                           insn->text);
    }
    if ((n != 2 && n != 4) || whole % n) {
        return lg_ptx_fail(parser, line, column, "'%s': %u elements do not pack into %u bits",
                           insn->text, n, 8 * whole);
    }
    static const lg_ptx_type parts[] = {[1] = LG_PTX_B8, [2] = LG_PTX_B16, [4] = LG_PTX_B32};
    lg_ptx_type part = parts[whole / n];
    bool ok = true;
    for (uint32_t i = 0; i < n; i++) {
        const lg_ptx_operand *element = &vector->elements[i];
        bool fits = element->kind == LG_OPERAND_SINK && is_dest;
        if (element->kind == LG_OPERAND_REG && !element->negated) {
            fits = lg_ptx_type_fits(parser->regs.items[element->reg].type, part, false);
        } else if (element->kind == LG_OPERAND_INT || element->kind == LG_OPERAND_F32) {
            fits = !is_dest && (element->kind == LG_OPERAND_INT || whole / n == 4);
        }
        ok &= fits || fail_mov(parser, insn, element, line, column);
    }
    return ok;
}

static bool check_mov_address(lg_ptx_parser *parser, const lg_ptx_insn *insn,
                              const lg_ptx_operand *source, int line, int column) {
    lg_ptx_class class = lg_ptx_type_class(insn->types[0]);
    uint32_t bytes = lg_ptx_type_bytes(insn->types[0]);
    bool small = false; // spaces whose addresses fit 32 bits
    if (source->kind == LG_OPERAND_SYMBOL) {
        lg_ptx_space space = source->symbol_is_local ? parser->locals.items[source->symbol].space
                                                     : parser->symbols.items[source->symbol].space;
        small = space != LG_SPACE_GLOBAL && space != LG_SPACE_CONST;
    }
    if ((class == LG_CLASS_INT || class == LG_CLASS_BITS) &&
        (bytes == 8 || (small && bytes == 4))) {
        return true;
    }
    return fail_mov(parser, insn, source, line, column);
}

bool lg_ptx_check_mov(lg_ptx_parser *parser, lg_ptx_insn *insn, lg_ptx_operand *operands,
                      const lg_ptx_operand_places *places) {
    if (insn->n_operands != 2) {
        return lg_ptx_fail(parser, insn->line, insn->column, "'%s' takes 2 operands, not %d",
                           insn->text, insn->n_operands);
    }
    lg_ptx_operand *dest = &operands[0];
    lg_ptx_operand *source = &operands[1];
    lg_ptx_type type = insn->types[0];
    bool unpacks = dest->kind == LG_OPERAND_VECTOR;
    if (unpacks) {
        if (!check_pack(parser, insn, dest, true, places->line[0], places->column[0])) {
            return false;
        }
    } else if (dest->kind != LG_OPERAND_REG || dest->negated ||
               !lg_ptx_type_fits(parser->regs.items[dest->reg].type, type, false)) {
        return fail_mov(parser, insn, dest, places->line[0], places->column[0]);
    }
    int line = places->line[1];
    int column = places->column[1];
    if (source->kind == LG_OPERAND_VECTOR && !unpacks) {
        return check_pack(parser, insn, source, false, line, column);
    }
    if (source->kind == LG_OPERAND_SYMBOL || source->kind == LG_OPERAND_FUNC) {
        return check_mov_address(parser, insn, source, line, column);
    }
    if (source->kind == LG_OPERAND_INT && type == LG_PTX_PRED) {
        return true;
    }
    lg_ptx_slot slot = {.role = LG_SLOT_SOURCE, .type = type, .sreg = !unpacks};
    return lg_ptx_check_source(parser, insn, source, &slot, line, column);
}

static uint64_t argument_bytes(const lg_ptx_parser *parser, const lg_ptx_operand *operand,
                               uint64_t wanted) {
    if (operand->kind == LG_OPERAND_SYMBOL && operand->symbol_is_local && operand->offset == 0) {
        const lg_ptx_symbol *symbol = &parser->locals.items[operand->symbol];
        return symbol->space == LG_SPACE_PARAM ? symbol->bytes : 0;
    }
    if (operand->kind == LG_OPERAND_REG && !operand->negated) {
        return lg_ptx_type_bytes(parser->regs.items[operand->reg].type);
    }
    bool literal = operand->kind == LG_OPERAND_INT || operand->kind == LG_OPERAND_F32 ||
                   operand->kind == LG_OPERAND_F64;
    return literal ? wanted : 0;
}

// What a call takes, or returns: `n` symbols of the callee from `first` on, or sizes of a
// prototype.
typedef struct wanted_list {
    const char *what;              // for messages
    const lg_ptx_function *callee; // NULL: the prototype
    const lg_ptx_signature *proto;
    int first, n;
} wanted_list;

static bool check_list(lg_ptx_parser *parser, const lg_ptx_insn *insn, const lg_ptx_operand *list,
                       const wanted_list *wanted, int line, int column) {
    int given = list ? list->n_elements : 0;
    if (given != wanted->n) {
        return lg_ptx_fail(parser, line, column, "'%s': %d %s%s, not %d", insn->text, wanted->n,
                           wanted->what, wanted->n == 1 ? " is wanted" : "s are wanted", given);
    }
    bool ok = true;
    for (int i = 0; i < given; i++) {
        int at = wanted->first + i;
        uint64_t bytes =
            wanted->callee ? wanted->callee->symbols[at].bytes : wanted->proto->bytes[at];
        if (argument_bytes(parser, &list->elements[i], bytes) != bytes) {
            ok = lg_ptx_fail(parser, line, column, "'%s': %s %d does not have %llu bytes",
                             insn->text, wanted->what, i + 1, (unsigned long long)bytes);
        }
    }
    return ok;
}

// The shape of a call and its target: at `operands[*target]`.
static bool find_target(lg_ptx_parser *parser, const lg_ptx_insn *insn,
                        const lg_ptx_operand *operands, int *target) {
    *target = insn->n_operands > 0 && operands[0].kind == LG_OPERAND_LIST ? 1 : 0;
    int rest = insn->n_operands - *target - 1; // behind the target
    bool ok = rest >= 0 && rest <= 1;
    if (ok && rest == 1) {
        ok = operands[*target + 1].kind == LG_OPERAND_LIST;
    }
    lg_ptx_operand_kind kind = ok ? operands[*target].kind : LG_OPERAND_NONE;
    if (kind == LG_OPERAND_FUNC) {
        return true;
    }
    if (kind == LG_OPERAND_REG && !operands[*target].negated &&
        lg_ptx_type_fits(parser->regs.items[operands[*target].reg].type, LG_PTX_U64, false)) {
        return true;
    }
    return lg_ptx_fail(parser, insn->line, insn->column,
                       "'%s' wants [(returns),] function or 64-bit register [, (arguments)]",
                       insn->text);
}

bool lg_ptx_check_call(lg_ptx_parser *parser, lg_ptx_insn *insn, lg_ptx_operand *operands,
                       const lg_ptx_signature *proto, const lg_ptx_operand_places *places) {
    int target;
    if (!find_target(parser, insn, operands, &target)) {
        return false;
    }
    const lg_ptx_function *callee = NULL;
    if (operands[target].kind == LG_OPERAND_FUNC) {
        callee = &parser->functions.items[operands[target].imm_bits];
        if (callee->is_entry) {
            return lg_ptx_fail(parser, places->line[target], places->column[target],
                               "'%s' is a kernel and cannot be called", callee->name);
        }
    } else if (!proto) {
        return lg_ptx_fail(parser, insn->line, insn->column,
                           "'%s': an indirect call needs a .callprototype", insn->text);
    }
    int n_returns = callee ? callee->n_returns : proto->n_returns;
    int n_params = callee ? callee->n_params : proto->n_params;
    wanted_list results = {"return value", callee, proto, 0, n_returns};
    wanted_list parameters = {"argument", callee, proto, n_returns, n_params};
    const lg_ptx_operand *returns = target == 1 ? &operands[0] : NULL;
    const lg_ptx_operand *arguments = target + 1 < insn->n_operands ? &operands[target + 1] : NULL;
    int args_at = arguments ? target + 1 : target;
    bool returns_fit =
        check_list(parser, insn, returns, &results, places->line[0], places->column[0]);
    bool arguments_fit = check_list(parser, insn, arguments, &parameters, places->line[args_at],
                                    places->column[args_at]);
    return returns_fit && arguments_fit;
}
