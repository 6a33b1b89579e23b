// SPDX-License-Identifier: Apache-2.0
// Operands as slots of the frame: registers, constants, addresses.
#include "engine/sim/decode/internal.h"

#include "support/alloc.h"

#include <string.h>

bool lg_decode_refuse(lg_decoder *d, const lg_ptx_insn *insn, const char *why) {
    const lg_ptx_module *ptx = d->module->ptx;
    const char *line =
        insn->line > 0 && insn->line <= ptx->n_lines ? ptx->lines[insn->line - 1] : NULL;
    lg_diags_add(d->diags, LG_ERROR, (lg_loc){ptx->name, insn->line, insn->column}, line,
                 "the engine cannot execute '%s'%s%s", insn->text, why ? ": " : "", why ? why : "");
    d->ok = false;
    return false;
}

uint8_t lg_reg_bytes(lg_ptx_type type) {
    uint32_t bytes = lg_ptx_type_bytes(type);
    if (type == LG_PTX_PRED) {
        return 0;
    }
    return bytes == 0 || bytes > 8 ? 255 : bytes == 1 ? 2 : (uint8_t)bytes;
}

static uint32_t take_slot(lg_decoder *d, uint8_t bytes) {
    uint32_t slot = lg_align_64(d->next_slot);
    uint32_t size = bytes == 0 ? 4 : bytes * LG_LANES;
    d->next_slot = slot + size;
    return slot;
}

uint32_t lg_decode_fill(lg_decoder *d, lg_fill_what what, uint8_t bytes, uint64_t value) {
    if (bytes < 8 && what == LG_FILL_BITS) {
        value &= (UINT64_C(1) << 8 * bytes) - 1;
    }
    for (int i = 0; i < d->n_fills; i++) {
        const lg_fill *fill = &d->fills[i];
        if (fill->what == what && fill->bytes == bytes && fill->value == value) {
            return fill->slot;
        }
    }
    if (d->n_fills == d->fill_capacity) {
        d->fill_capacity = d->fill_capacity ? 2 * d->fill_capacity : 32;
        d->fills = lg_xrealloc(d->fills, (size_t)d->fill_capacity * sizeof(lg_fill));
    }
    uint32_t slot = take_slot(d, bytes);
    d->fills[d->n_fills++] = (lg_fill){what, slot, bytes, value};
    return slot;
}

void lg_decode_note(int **list, int *n, int *capacity, int value, lg_arena *arena) {
    if (*n > 0 && (*list)[*n - 1] == value) {
        return;
    }
    if (*n == *capacity) {
        *capacity = *capacity ? 2 * *capacity : 8;
        int *grown = lg_arena_array(arena, (size_t)*capacity, sizeof(int));
        if (*n) {
            memcpy(grown, *list, (size_t)*n * sizeof(int));
        }
        *list = grown;
    }
    (*list)[(*n)++] = value;
}

const lg_ptx_symbol *lg_decode_find_symbol(const lg_decoder *d, const lg_ptx_operand *operand) {
    const lg_ptx_symbol *symbols =
        operand->symbol_is_local ? d->ptx->symbols : d->module->ptx->symbols;
    int n = operand->symbol_is_local ? d->ptx->n_symbols : d->module->ptx->n_symbols;
    return operand->symbol >= 0 && operand->symbol < n ? &symbols[operand->symbol] : NULL;
}

bool lg_decode_symbol(lg_decoder *d, const lg_ptx_insn *insn, const lg_ptx_operand *operand,
                      uint8_t bytes, uint32_t *slot) {
    const lg_ptx_symbol *symbol = lg_decode_find_symbol(d, operand);
    if (!symbol) {
        return lg_decode_refuse(d, insn, "a variable is not defined");
    }
    uint64_t offset = (uint64_t)operand->offset;
    lg_fill_what what = LG_FILL_BITS;
    switch (symbol->space) {
    case LG_SPACE_GENERIC:
        return lg_decode_refuse(d, insn, "a variable without a state space");
    case LG_SPACE_GLOBAL:
    case LG_SPACE_CONST:
        if (operand->symbol_is_local) {
            return lg_decode_refuse(d, insn, "a global variable inside a function");
        }
        offset += d->module->addresses[operand->symbol];
        break;
    case LG_SPACE_SHARED:
        if (symbol->is_extern) {
            what = LG_FILL_DYNAMIC;
        } else if (operand->symbol_is_local) {
            what = LG_FILL_SHARED;
            offset = (uint32_t)(offset + symbol->offset);
            offset |= (uint64_t)d->code->shared_object << 32;
        } else {
            what = LG_FILL_SHARED;
            offset = (uint32_t)offset | d->module->addresses[operand->symbol] << 32;
            lg_decode_note(&d->code->objects, &d->code->n_objects, &d->code->object_capacity,
                           (int)d->module->addresses[operand->symbol], &d->module->arena);
        }
        break;
    case LG_SPACE_LOCAL:
        what = LG_FILL_LOCAL;
        offset += symbol->offset;
        break;
    case LG_SPACE_PARAM:
        offset += symbol->offset;
        break;
    }
    *slot = lg_decode_fill(d, what, bytes, offset);
    return true;
}

static uint64_t float_bits(const lg_ptx_operand *operand, uint8_t bytes) {
    if (operand->kind == LG_OPERAND_F64 && bytes == 4) {
        double value;
        memcpy(&value, &operand->imm_bits, 8);
        float narrow = (float)value;
        uint32_t bits;
        memcpy(&bits, &narrow, 4);
        return bits;
    }
    if (operand->kind == LG_OPERAND_F32 && bytes == 8) {
        uint32_t low = (uint32_t)operand->imm_bits;
        float value;
        memcpy(&value, &low, 4);
        double wide = value;
        uint64_t bits;
        memcpy(&bits, &wide, 8);
        return bits;
    }
    return operand->imm_bits;
}

uint32_t lg_decode_read(lg_decoder *d, int32_t reg) {
    int32_t source = d->fold.copies[reg];
    const lg_ptx_operand *constant = d->fold.constants[source];
    if (constant) {
        uint8_t bytes = lg_reg_bytes(d->ptx->regs[source].type);
        return lg_decode_fill(d, LG_FILL_BITS, bytes, float_bits(constant, bytes));
    }
    return d->reg_slots[source];
}

bool lg_decode_source(lg_decoder *d, const lg_ptx_insn *insn, const lg_ptx_operand *operand,
                      int index, lg_insn *out, uint8_t *bytes) {
    uint32_t *slot = &out->src[index];
    switch (operand->kind) {
    case LG_OPERAND_REG:
        *bytes = lg_reg_bytes(d->ptx->regs[operand->reg].type);
        if (*bytes > 8) {
            return lg_decode_refuse(d, insn, "a register of a type without arithmetic");
        }
        if (operand->negated) {
            if (*bytes) {
                return lg_decode_refuse(d, insn, "a negated register");
            }
            out->src_inverted |= (uint8_t)(1u << index);
        }
        *slot = lg_decode_read(d, operand->reg);
        return true;
    case LG_OPERAND_INT:
    case LG_OPERAND_F32:
    case LG_OPERAND_F64:
        if (*bytes == 0) {
            *slot = lg_decode_fill(d, LG_FILL_PREDICATE, 0, operand->imm_bits != 0);
        } else {
            *slot = lg_decode_fill(d, LG_FILL_BITS, *bytes, float_bits(operand, *bytes));
        }
        return true;
    case LG_OPERAND_SREG:
        *slot = lg_decode_fill(d, LG_FILL_SREG, *bytes, operand->sreg);
        return true;
    case LG_OPERAND_SYMBOL:
        return lg_decode_symbol(d, insn, operand, *bytes, slot);
    case LG_OPERAND_FUNC:
        *slot = lg_decode_fill(d, LG_FILL_BITS, *bytes,
                               lg_function_address(d->module, (int)operand->imm_bits));
        return true;
    case LG_OPERAND_SINK:
        *slot = d->code->scratch;
        return true;
    case LG_OPERAND_NONE:
    case LG_OPERAND_MEM:
    case LG_OPERAND_LABEL:
    case LG_OPERAND_VECTOR:
    case LG_OPERAND_PAIR:
    case LG_OPERAND_LIST:
        break;
    }
    return lg_decode_refuse(d, insn, "an operand of a kind it does not take here");
}
