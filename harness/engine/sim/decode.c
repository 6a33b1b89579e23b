// SPDX-License-Identifier: Apache-2.0
#include "engine/sim/decode.h"

#include "support/alloc.h"

#include <stdlib.h>
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
    switch (type) {
    case LG_PTX_PRED:
        return 0;
    case LG_PTX_B8:
    case LG_PTX_U8:
    case LG_PTX_S8:
    case LG_PTX_B16:
    case LG_PTX_U16:
    case LG_PTX_S16:
    case LG_PTX_F16:
    case LG_PTX_BF16:
        return 2;
    case LG_PTX_B32:
    case LG_PTX_U32:
    case LG_PTX_S32:
    case LG_PTX_F32:
    case LG_PTX_F16X2:
    case LG_PTX_BF16X2:
        return 4;
    case LG_PTX_B64:
    case LG_PTX_U64:
    case LG_PTX_S64:
    case LG_PTX_F64:
        return 8;
    case LG_PTX_B128:
    case LG_PTX_NO_TYPE:
    case LG_PTX_N_TYPES:
        break;
    }
    return 255;
}

static uint32_t align_64(uint32_t at) {
    return (at + 63) & ~63u;
}

static uint32_t take_slot(lg_decoder *d, uint8_t bytes) {
    uint32_t slot = align_64(d->next_slot);
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
        *slot = d->reg_slots[operand->reg];
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

static bool is_clock(lg_ptx_sreg sreg) {
    return sreg == LG_SREG_CLOCK || sreg == LG_SREG_CLOCK_HI || sreg == LG_SREG_CLOCK64 ||
           sreg == LG_SREG_GLOBALTIMER;
}

static bool decode_one(lg_decoder *d, int at, lg_insn *out) {
    const lg_ptx_insn *insn = &d->ptx->insns[at];
    switch (insn->op) {
    case LG_OP_LD:
    case LG_OP_LDU:
    case LG_OP_ST:
        return lg_decode_memory(d, insn, out);
    case LG_OP_ATOM:
    case LG_OP_RED:
        return lg_decode_atomic(d, insn, out);
    case LG_OP_CVTA:
        return lg_decode_cvta(d, insn, out);
    case LG_OP_ISSPACEP:
        return lg_decode_isspacep(d, insn, out);
    case LG_OP_BRA:
    case LG_OP_BRX:
        return lg_decode_branch(d, insn, at, out);
    case LG_OP_CALL:
        return lg_decode_call(d, insn, out);
    case LG_OP_BAR:
    case LG_OP_BARRIER:
        return lg_decode_barrier(d, insn, out);
    case LG_OP_RET:
        out->kind = LG_KIND_RET;
        return true;
    case LG_OP_EXIT:
        out->kind = LG_KIND_EXIT;
        return true;
    case LG_OP_TRAP:
    case LG_OP_BRKPT:
        out->kind = LG_KIND_TRAP;
        return true;
    case LG_OP_MEMBAR: // one warp instruction at a time is sequentially consistent
    case LG_OP_FENCE:
    case LG_OP_PREFETCH:
    case LG_OP_PREFETCHU:
    case LG_OP_APPLYPRIORITY:
    case LG_OP_PMEVENT:
    case LG_OP_NANOSLEEP:
    case LG_OP_GRIDDEPCONTROL:
        out->kind = LG_KIND_NOP;
        return true;
    default: // every other opcode moves values between registers, or is refused there
        return lg_decode_lane(d, insn, out);
    }
}

// Registers: predicates side by side, then the others, 64-byte aligned; then the parameter rows.
static bool lay_out_frame(lg_decoder *d) {
    const lg_ptx_function *ptx = d->ptx;
    uint64_t at = 64;
    d->reg_slots = lg_arena_array(&d->module->arena, (size_t)ptx->n_regs + 1, sizeof(uint32_t));
    for (int i = 0; i < ptx->n_regs; i++) {
        if (lg_reg_bytes(ptx->regs[i].type) == 0) {
            d->reg_slots[i] = (uint32_t)at;
            at += 4;
        }
    }
    for (int i = 0; i < ptx->n_regs; i++) {
        uint8_t bytes = lg_reg_bytes(ptx->regs[i].type);
        if (bytes != 0) {
            at = (at + 63) & ~UINT64_C(63);
            d->reg_slots[i] = (uint32_t)at;
            at += bytes > 8 ? 0 : (uint64_t)bytes * LG_LANES; // use of another type is refused
        }
        if (at > LG_MAX_FRAME_BYTES) {
            break;
        }
    }
    lg_code *code = d->code;
    uint64_t rows_from = ptx->is_entry ? ptx->param_bytes & ~UINT64_C(15) : 0;
    uint64_t rows_bytes = ptx->param_bytes + ptx->call_param_bytes - rows_from;
    code->rows_base = (uint32_t)rows_from;
    code->n_rows = (uint32_t)((rows_bytes + 7) / 8 * 2);
    at = (at + 63) & ~UINT64_C(63);
    if (at + rows_bytes * LG_LANES + 512 > LG_MAX_FRAME_BYTES) {
        lg_diags_add(d->diags, LG_ERROR, (lg_loc){d->module->ptx->name, ptx->line, 1}, NULL,
                     "function '%s' has more registers than the engine holds", ptx->name);
        return false;
    }
    code->rows = (uint32_t)at;
    code->zeroed_end = align_64(code->rows + code->n_rows * 4 * LG_LANES);
    code->scratch = code->zeroed_end;
    d->next_slot = code->scratch + 256;
    return true;
}

// Where each PTX instruction begins in the decoded code: one place later for each reconvergence.
static void index_insns(lg_decoder *d, bool *meets) {
    const lg_ptx_function *ptx = d->ptx;
    for (int i = 0; i < ptx->n_insns; i++) {
        int32_t at = ptx->reconverge ? ptx->reconverge[i] : -1;
        if (at >= 0 && at < ptx->n_insns) {
            meets[at] = true;
        }
    }
    uint32_t at = 0;
    for (int i = 0; i < ptx->n_insns; i++) {
        d->index_of[i] = at;
        at += meets[i] ? 2 : 1;
    }
    d->index_of[ptx->n_insns] = at;
    d->code->n_insns = (int)at + 1;
}

static void decode_insns(lg_decoder *d, const bool *meets) {
    lg_code *code = d->code;
    for (int i = 0; i < d->ptx->n_insns; i++) {
        const lg_ptx_insn *insn = &d->ptx->insns[i];
        lg_insn *out = &code->insns[d->index_of[i]];
        if (meets[i]) {
            *out++ = (lg_insn){.kind = LG_KIND_RECONVERGE, .index = (uint32_t)i};
        }
        *out = (lg_insn){.index = (uint32_t)i};
        for (int k = 0; k < LG_MAX_DST; k++) {
            out->dst[k] = code->scratch;
        }
        for (int k = 0; k < LG_MAX_SRC; k++) {
            out->src[k] = code->scratch;
        }
        if (insn->guard >= 0) {
            out->guard = d->reg_slots[insn->guard];
            out->guard_invert = insn->guard_negated;
        }
        decode_one(d, i, out);
    }
    code->insns[code->n_insns - 1] =
        (lg_insn){.kind = LG_KIND_END, .index = (uint32_t)(d->ptx->n_insns - 1)};
}

// Fills that change within a launch are apart, so that a frame used again only redoes those.
static void split_fills(lg_decoder *d) {
    lg_code *code = d->code;
    code->fixed = lg_arena_array(&d->module->arena, (size_t)d->n_fills + 1, sizeof(lg_fill));
    code->moving = lg_arena_array(&d->module->arena, (size_t)d->n_fills + 1, sizeof(lg_fill));
    for (int i = 0; i < d->n_fills; i++) {
        const lg_fill *fill = &d->fills[i];
        bool moves = fill->what == LG_FILL_LOCAL ||
                     (fill->what == LG_FILL_SREG &&
                      (fill->value == LG_SREG_CTAID_X || fill->value == LG_SREG_CTAID_Y ||
                       fill->value == LG_SREG_CTAID_Z));
        if (moves) {
            code->moving[code->n_moving++] = *fill;
        } else {
            code->fixed[code->n_fixed++] = *fill;
        }
    }
}

bool lg_decode(lg_sim_module *module, int function, lg_diags *diags) {
    const lg_ptx_function *ptx = &module->ptx->functions[function];
    lg_code *code = &module->codes[function];
    lg_decoder d = {.module = module,
                    .ptx = ptx,
                    .code = code,
                    .diags = diags,
                    .lanes = lg_lane_table_best(),
                    .ok = true};
    if (!lay_out_frame(&d)) {
        return false;
    }
    size_t n = (size_t)ptx->n_insns;
    d.index_of = lg_arena_array(&module->arena, n + 1, sizeof(uint32_t));
    bool *meets = lg_xcalloc(n + 1, sizeof *meets);
    index_insns(&d, meets);
    code->insns = lg_arena_array(&module->arena, (size_t)code->n_insns, sizeof(lg_insn));
    code->calls = lg_arena_array(&module->arena, n, sizeof(lg_call));
    code->tables = lg_arena_array(&module->arena, n, sizeof(lg_branch_table));
    decode_insns(&d, meets);
    split_fills(&d);
    code->frame_bytes = align_64(d.next_slot);
    if (code->frame_bytes > LG_MAX_FRAME_BYTES) {
        lg_diags_add(diags, LG_ERROR, (lg_loc){module->ptx->name, ptx->line, 1}, NULL,
                     "function '%s' has more constants than the engine holds", ptx->name);
        d.ok = false;
    }
    free(meets);
    free(d.fills);
    return d.ok;
}

static bool decode_destinations(lg_decoder *d, const lg_ptx_insn *insn, lg_insn *out,
                                lg_lane_form *form) {
    const lg_ptx_operand *operand = &insn->operands[0];
    bool many = operand->kind == LG_OPERAND_PAIR || operand->kind == LG_OPERAND_VECTOR;
    const lg_ptx_operand *elements = many ? operand->elements : operand;
    form->n_dst = many ? operand->n_elements : 1;
    if (form->n_dst > LG_MAX_DST) {
        return lg_decode_refuse(d, insn, "too many destinations");
    }
    uint32_t whole = insn->n_types ? lg_ptx_type_bytes(insn->types[0]) : 0;
    for (int i = 0; i < form->n_dst; i++) {
        if (elements[i].kind == LG_OPERAND_SINK) {
            bool pair = operand->kind == LG_OPERAND_PAIR && (i == 1 || insn->op == LG_OP_SETP);
            form->dst_bytes[i] = pair ? 0 : (uint8_t)(whole / (unsigned)(pair ? 1 : form->n_dst));
            continue;
        }
        if (elements[i].kind != LG_OPERAND_REG) {
            return lg_decode_refuse(d, insn, "a destination that is not a register");
        }
        form->dst_bytes[i] = lg_reg_bytes(d->ptx->regs[elements[i].reg].type);
        if (form->dst_bytes[i] > 8) {
            return lg_decode_refuse(d, insn, "a register of a type without arithmetic");
        }
        out->dst[i] = d->reg_slots[elements[i].reg];
    }
    return true;
}

static bool decode_sources(lg_decoder *d, const lg_ptx_insn *insn, lg_insn *out,
                           lg_lane_form *form) {
    for (int i = 1; i < insn->n_operands; i++) {
        const lg_ptx_operand *operand = &insn->operands[i];
        bool many = operand->kind == LG_OPERAND_VECTOR;
        int n = many ? operand->n_elements : 1;
        for (int k = 0; k < n; k++) {
            int index = form->n_src++;
            if (index >= LG_MAX_SRC) {
                return lg_decode_refuse(d, insn, "too many sources");
            }
            uint8_t *bytes = &form->src_bytes[index];
            *bytes = (uint8_t)lg_lane_immediate_bytes(insn, index);
            if (!lg_decode_source(d, insn, many ? &operand->elements[k] : operand, index, out,
                                  bytes)) {
                return false;
            }
        }
    }
    return true;
}

bool lg_decode_lane(lg_decoder *d, const lg_ptx_insn *insn, lg_insn *out) {
    lg_lane_form form = {.insn = insn};
    if (insn->n_operands < 1 || !decode_destinations(d, insn, out, &form)) {
        return insn->n_operands < 1 ? lg_decode_refuse(d, insn, NULL) : false;
    }
    if (insn->op == LG_OP_MOV && insn->n_operands == 2 &&
        insn->operands[1].kind == LG_OPERAND_SREG && is_clock(insn->operands[1].sreg)) {
        out->kind = LG_KIND_CLOCK;
        out->aux[0] = form.dst_bytes[0];
        out->aux[1] = insn->operands[1].sreg;
        return true;
    }
    if (!decode_sources(d, insn, out, &form)) {
        return false;
    }
    out->cc = LG_CARRY_SLOT;
    out->lane = d->lanes->select(&form);
    return out->lane ? true : lg_decode_refuse(d, insn, NULL);
}
