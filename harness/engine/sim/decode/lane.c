// SPDX-License-Identifier: Apache-2.0
// Instructions that only move values between registers: the lane functions know them.
#include "engine/sim/decode/internal.h"

#include <string.h>

static bool is_clock(lg_ptx_sreg sreg) {
    return sreg == LG_SREG_CLOCK || sreg == LG_SREG_CLOCK_HI || sreg == LG_SREG_CLOCK64 ||
           sreg == LG_SREG_GLOBALTIMER;
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

static bool exchanges_lanes(const lg_ptx_insn *insn) {
    return insn->mods.sync &&
           (insn->op == LG_OP_SHFL || insn->op == LG_OP_VOTE || insn->op == LG_OP_MATCH ||
            insn->op == LG_OP_REDUX || insn->op == LG_OP_ELECT);
}

// Lanes that see each other: the interpreter looks at the member masks (exchange.c) and then calls
// the lane function in imm. aux[0]: the source that is the mask; aux[1]: 1 and the sub-operation
// where values move from one lane to another.
static void decode_exchange(const lg_lane_form *form, lg_insn *out) {
    out->kind = LG_KIND_EXCHANGE;
    out->imm = (uint64_t)(uintptr_t)out->lane;
    out->lane = NULL;
    out->aux[0] = (uint32_t)form->n_src - 1;
    out->aux[1] = form->insn->op == LG_OP_SHFL;
    out->aux[2] = form->insn->mods.sub;
}

static uint8_t float_bytes(lg_ptx_type type, uint8_t otherwise) {
    bool is_float =
        type == LG_PTX_F16 || type == LG_PTX_BF16 || type == LG_PTX_F32 || type == LG_PTX_F64;
    return is_float ? (uint8_t)lg_ptx_type_bytes(type) : otherwise;
}

enum { CHOPPED_SRC = 256, CHOPPED_DST = 512, CHOPPED_BYTES = 768 };

// cvt of a float in a wider register of bits: its low bits; a result is extended with zeros.
// (Integers the lane functions take in wider registers themselves.)
static void run_chopped(char *regs, const lg_insn *insn, uint32_t active) {
    char narrow[CHOPPED_BYTES] __attribute__((aligned(64))) = {0};
    for (uint32_t lane = 0; lane < LG_LANES; lane++) {
        memcpy(narrow + CHOPPED_SRC + lane * insn->aux[1],
               regs + insn->src[0] + lane * insn->aux[0], insn->aux[1]);
    }
    lg_insn inner = *insn;
    inner.src[0] = CHOPPED_SRC;
    inner.dst[0] = CHOPPED_DST;
    ((lg_lane_fn *)(uintptr_t)insn->imm)(narrow, &inner, active);
    for (uint32_t rest = active; rest; rest &= rest - 1) {
        uint32_t lane = (uint32_t)__builtin_ctz(rest);
        uint64_t value = 0;
        memcpy(&value, narrow + CHOPPED_DST + lane * insn->aux[3], insn->aux[3]);
        memcpy(regs + insn->dst[0] + lane * insn->aux[2], &value, insn->aux[2]);
    }
}

static bool decode_chopped(lg_decoder *d, const lg_lane_form *form, lg_insn *out) {
    const lg_ptx_insn *insn = form->insn;
    if (insn->op != LG_OP_CVT || insn->n_types != 2 || form->n_src != 1 || form->n_dst != 1) {
        return false;
    }
    lg_lane_form narrow = *form;
    narrow.dst_bytes[0] = float_bytes(insn->types[0], form->dst_bytes[0]);
    narrow.src_bytes[0] = float_bytes(insn->types[1], form->src_bytes[0]);
    lg_lane_fn *fn = d->lanes->select(&narrow);
    if (!fn) {
        return false;
    }
    out->lane = run_chopped;
    out->imm = (uint64_t)(uintptr_t)fn;
    out->aux[0] = form->src_bytes[0];
    out->aux[1] = narrow.src_bytes[0];
    out->aux[2] = form->dst_bytes[0];
    out->aux[3] = narrow.dst_bytes[0];
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
    if (out->lane && exchanges_lanes(insn)) {
        decode_exchange(&form, out);
    }
    bool done = out->lane || out->kind == LG_KIND_EXCHANGE || decode_chopped(d, &form, out);
    return done ? true : lg_decode_refuse(d, insn, NULL);
}
