// SPDX-License-Identifier: Apache-2.0
// Loads, stores, atomics and address conversions.
#include "engine/sim/decode/internal.h"

#include <string.h>

static uint32_t form_word(lg_mem_form form) {
    union {
        uint32_t word;
        lg_mem_form form;
    } u = {.form = form};
    return u.word;
}

// The address operand: a slot and an offset. A variable's own address is a constant slot.
static bool decode_address(lg_decoder *d, const lg_ptx_insn *insn, const lg_ptx_operand *operand,
                           lg_insn *out, lg_mem_form *form) {
    if (operand->kind != LG_OPERAND_MEM) {
        return lg_decode_refuse(d, insn, "an address that is not in brackets");
    }
    form->space = insn->mods.space;
    if (operand->reg >= 0) {
        uint8_t bytes = lg_reg_bytes(d->ptx->regs[operand->reg].type);
        if (bytes != 4 && bytes != 8) {
            return lg_decode_refuse(d, insn, "an address register of 32 or 64 bits is needed");
        }
        form->address_32 = bytes == 4;
        out->src[0] = lg_decode_read(d, operand->reg);
        out->imm = (uint64_t)operand->offset;
        return true;
    }
    if (operand->symbol >= 0) {
        if (form->space == LG_SPACE_PARAM) {
            return true; // decode_param reads the operand itself
        }
        return lg_decode_symbol(d, insn, operand, 8, &out->src[0]);
    }
    out->src[0] = lg_decode_fill(d, LG_FILL_BITS, 8, operand->imm_bits);
    out->imm = (uint64_t)operand->offset;
    return true;
}

static void take_site(lg_decoder *d, lg_insn *out) {
    out->aux[1] = d->module->n_sites++;
}

// The value operands of a load (destinations) or store (sources), one or a vector.
static bool decode_values(lg_decoder *d, const lg_ptx_insn *insn, const lg_ptx_operand *operand,
                          bool load, lg_insn *out, lg_mem_form *form) {
    bool many = operand->kind == LG_OPERAND_VECTOR;
    int n = many ? operand->n_elements : 1;
    const lg_ptx_operand *elements = many ? operand->elements : operand;
    uint8_t type_bytes = (uint8_t)(form->bytes < 2 ? 2 : form->bytes);
    if (n != 1 && n != 2 && n != 4) {
        return lg_decode_refuse(d, insn, "a vector of another length than 1, 2 or 4");
    }
    form->vec = n & 7;
    form->reg_bytes = 0;
    for (int i = 0; i < n; i++) {
        uint8_t bytes = form->reg_bytes ? form->reg_bytes : type_bytes;
        if (load) {
            if (elements[i].kind == LG_OPERAND_SINK) {
                continue;
            }
            if (elements[i].kind != LG_OPERAND_REG) {
                return lg_decode_refuse(d, insn, "a destination that is not a register");
            }
            bytes = lg_reg_bytes(d->ptx->regs[elements[i].reg].type);
            out->dst[i] = d->reg_slots[elements[i].reg];
        } else if (!lg_decode_source(d, insn, &elements[i], i + 1, out, &bytes)) {
            return false;
        }
        if (bytes < 2 || bytes > 8 || bytes < form->bytes) {
            return lg_decode_refuse(d, insn, "a register too narrow for the access");
        }
        if (form->reg_bytes && form->reg_bytes != bytes) {
            return lg_decode_refuse(d, insn, "registers of different widths in a vector");
        }
        if (elements[i].kind == LG_OPERAND_REG || !many) {
            form->reg_bytes = bytes;
        }
    }
    if (!form->reg_bytes) {
        form->reg_bytes = type_bytes;
    }
    return true;
}

static uint16_t memory_kind(bool load, const lg_mem_form *form) {
    int first = load ? LG_KIND_LD_2 : LG_KIND_ST_2;
    if (form->vec == 1 && form->bytes == form->reg_bytes) {
        return (uint16_t)(form->bytes == 2 ? first : form->bytes == 4 ? first + 1 : first + 2);
    }
    return (uint16_t)(first + 3);
}

// A scalar parameter of the launch is the same for all lanes of it: a constant slot, and a move.
static void decode_constant_param(lg_decoder *d, lg_insn *out, const lg_mem_form *form) {
    lg_ptx_insn move = {.op = LG_OP_MOV, .text = "mov", .n_types = 1, .n_operands = 2, .guard = -1};
    move.types[0] = form->reg_bytes == 2   ? LG_PTX_B16
                    : form->reg_bytes == 4 ? LG_PTX_B32
                                           : LG_PTX_B64;
    move.operands[0].kind = LG_OPERAND_REG;
    move.operands[1].kind = LG_OPERAND_REG;
    lg_lane_form lane = {.insn = &move,
                         .n_dst = 1,
                         .n_src = 1,
                         .dst_bytes = {form->reg_bytes},
                         .src_bytes = {form->reg_bytes}};
    out->lane = d->lanes->select(&lane);
    if (out->lane) {
        uint64_t what = out->imm | (uint64_t)form->bytes << 32 | (uint64_t)form->sign << 40;
        out->src[0] = lg_decode_fill(d, LG_FILL_PARAM, form->reg_bytes, what);
    }
}

// Parameters: of the launch (one value for all lanes), or of a call (a value a lane, in rows).
static bool decode_param(lg_decoder *d, const lg_ptx_insn *insn, const lg_ptx_operand *address,
                         bool load, lg_insn *out, const lg_mem_form *form) {
    const lg_ptx_symbol *symbol = address->symbol >= 0 ? lg_decode_find_symbol(d, address) : NULL;
    bool of_launch = d->ptx->is_entry && (!symbol || symbol->offset < d->ptx->param_bytes);
    if (of_launch && !load) {
        return lg_decode_refuse(d, insn, "a store to the launch's parameters");
    }
    if (of_launch && !symbol) { // through a register
        out->kind = memory_kind(load, form);
        take_site(d, out);
        return true;
    }
    uint64_t bytes = (uint64_t)form->bytes * form->vec;
    if (symbol) {
        uint64_t offset = symbol->offset + (uint64_t)address->offset;
        uint64_t end =
            of_launch ? d->ptx->param_bytes : d->ptx->param_bytes + d->ptx->call_param_bytes;
        if (address->offset < 0 || offset > end || bytes > end - offset || offset % bytes) {
            return lg_decode_refuse(d, insn, "an access outside its parameter");
        }
        out->imm = offset;
        out->aux[2] = 1; // the offset is static
    }
    out->kind = of_launch ? LG_KIND_LD_PARAM : load ? LG_KIND_LD_ROWS : LG_KIND_ST_ROWS;
    if (of_launch && form->vec == 1) {
        decode_constant_param(d, out, form);
    }
    return true;
}

// What the race check wants to know.
static void set_strength(const lg_ptx_insn *insn, lg_mem_form *form) {
    lg_ptx_mem_order order = insn->mods.order;
    form->strong = insn->op == LG_OP_ATOM || insn->op == LG_OP_RED || order >= LG_ORDER_VOLATILE;
    form->narrow = lg_decode_is_narrow(insn);
    form->fences = order == LG_ORDER_RELEASE || order == LG_ORDER_ACQ_REL;
}

static bool is_signed(lg_ptx_type type) {
    return type == LG_PTX_S8 || type == LG_PTX_S16 || type == LG_PTX_S32;
}

bool lg_decode_memory(lg_decoder *d, const lg_ptx_insn *insn, lg_insn *out) {
    bool load = insn->op != LG_OP_ST;
    if (insn->n_operands != 2 || insn->n_types < 1) {
        return lg_decode_refuse(d, insn, NULL);
    }
    lg_ptx_type type = insn->types[insn->n_types - 1];
    lg_mem_form form = {.bytes = (uint8_t)lg_ptx_type_bytes(type), .sign = is_signed(type)};
    if (form.bytes < 1 || form.bytes > 8) {
        return lg_decode_refuse(d, insn, "an element of this size");
    }
    const lg_ptx_operand *address = &insn->operands[load ? 1 : 0];
    if (!decode_address(d, insn, address, out, &form) ||
        !decode_values(d, insn, &insn->operands[load ? 0 : 1], load, out, &form)) {
        return false;
    }
    set_strength(insn, &form);
    out->aux[0] = form_word(form);
    if (form.space == LG_SPACE_PARAM) {
        return decode_param(d, insn, address, load, out, &form);
    }
    if (form.space == LG_SPACE_LOCAL) {
        out->kind = load ? LG_KIND_LD_ROWS : LG_KIND_ST_ROWS;
        return true;
    }
    out->kind = memory_kind(load, &form);
    take_site(d, out);
    return true;
}

static bool atomic_exists(lg_ptx_sub sub, lg_ptx_type type) {
    switch (sub) {
    case LG_SUB_ADD:
        return type != LG_PTX_B32 && type != LG_PTX_B64 && type != LG_PTX_B16;
    case LG_SUB_MIN:
    case LG_SUB_MAX:
        return type == LG_PTX_U32 || type == LG_PTX_S32 || type == LG_PTX_U64 ||
               type == LG_PTX_S64 || type == LG_PTX_F16 || type == LG_PTX_F16X2 ||
               type == LG_PTX_BF16 || type == LG_PTX_BF16X2;
    case LG_SUB_INC:
    case LG_SUB_DEC:
        return type == LG_PTX_U32;
    case LG_SUB_AND:
    case LG_SUB_OR:
    case LG_SUB_XOR:
    case LG_SUB_EXCH:
        return type == LG_PTX_B32 || type == LG_PTX_B64;
    case LG_SUB_CAS:
        return type == LG_PTX_B16 || type == LG_PTX_B32 || type == LG_PTX_B64;
    default: // the sub-operations of other opcodes
        return false;
    }
}

bool lg_decode_atomic(lg_decoder *d, const lg_ptx_insn *insn, lg_insn *out) {
    bool returns = insn->op == LG_OP_ATOM;
    int first = returns ? 1 : 0;
    lg_ptx_type type = insn->n_types ? insn->types[insn->n_types - 1] : LG_PTX_NO_TYPE;
    int n_values = insn->mods.sub == LG_SUB_CAS ? 2 : 1;
    lg_mem_form form = {.bytes = (uint8_t)lg_ptx_type_bytes(type), .vec = 1};
    if (insn->n_operands != first + 1 + n_values || insn->mods.vec > 1 || form.bytes < 2 ||
        form.bytes > 8 || !atomic_exists(insn->mods.sub, type)) {
        return lg_decode_refuse(d, insn, NULL);
    }
    form.reg_bytes = form.bytes;
    if (!decode_address(d, insn, &insn->operands[first], out, &form)) {
        return false;
    }
    for (int i = 0; i < n_values; i++) {
        uint8_t bytes = form.bytes;
        if (!lg_decode_source(d, insn, &insn->operands[first + 1 + i], i + 1, out, &bytes)) {
            return false;
        }
        if (bytes != form.bytes) {
            return lg_decode_refuse(d, insn, "a register of another width than the type");
        }
    }
    if (returns && insn->operands[0].kind != LG_OPERAND_SINK) {
        const lg_ptx_operand *to = &insn->operands[0];
        if (to->kind != LG_OPERAND_REG || lg_reg_bytes(d->ptx->regs[to->reg].type) != form.bytes) {
            return lg_decode_refuse(d, insn, "a register of another width than the type");
        }
        out->dst[0] = d->reg_slots[to->reg];
    }
    set_strength(insn, &form);
    out->kind = LG_KIND_ATOMIC;
    out->aux[0] = form_word(form);
    out->aux[2] = insn->mods.sub;
    out->aux[3] = type;
    take_site(d, out);
    return true;
}

// Zero for the spaces whose addresses are the generic ones.
static const uint64_t windows[] = {
    [LG_SPACE_SHARED] = LG_SHARED_WINDOW,
    [LG_SPACE_LOCAL] = LG_LOCAL_WINDOW,
    [LG_SPACE_PARAM] = LG_PARAM_WINDOW,
};

// An address in a window is its offset plus the window's base: an addition of a constant.
bool lg_decode_cvta(lg_decoder *d, const lg_ptx_insn *insn, lg_insn *out) {
    uint64_t window = windows[insn->mods.space];
    lg_ptx_insn add = *insn;
    add.op = window ? LG_OP_ADD : LG_OP_MOV;
    add.n_types = 1;
    add.types[0] = window ? LG_PTX_U64 : LG_PTX_B64;
    add.mods = (lg_ptx_mods){0};
    add.text = window ? "add.u64" : "mov.b64";
    if (insn->n_types < 1 || lg_ptx_type_bytes(insn->types[0]) != 8 || insn->n_operands != 2) {
        return lg_decode_refuse(d, insn, "only 64-bit addresses exist here");
    }
    if (window) {
        add.n_operands = 3;
        add.operands[2] = (lg_ptx_operand){.kind = LG_OPERAND_INT,
                                           .reg = -1,
                                           .symbol = -1,
                                           .imm_bits = insn->mods.to ? 0 - window : window};
    }
    return lg_decode_lane(d, &add, out);
}

bool lg_decode_isspacep(lg_decoder *d, const lg_ptx_insn *insn, lg_insn *out) {
    uint8_t bytes = 8;
    if (insn->n_operands != 2 || insn->operands[0].kind != LG_OPERAND_REG ||
        !lg_decode_source(d, insn, &insn->operands[1], 0, out, &bytes) || bytes != 8) {
        return lg_decode_refuse(d, insn, NULL);
    }
    out->kind = LG_KIND_ISSPACEP;
    out->dst[0] = d->reg_slots[insn->operands[0].reg];
    out->aux[0] = insn->mods.space;
    return true;
}
