// SPDX-License-Identifier: Apache-2.0
// Branches, calls and barriers.
#include "engine/sim/decode/internal.h"

#include <string.h>

// Branch targets are relative, so that the interpreter needs no base: insn + imm, insn + aux[0].
static int64_t relative(const lg_decoder *d, const lg_insn *out, uint64_t ptx_index) {
    return (int64_t)d->index_of[ptx_index] - (out - d->code->insns);
}

static bool is_label(const lg_decoder *d, const lg_ptx_operand *operand) {
    return operand->kind == LG_OPERAND_LABEL && operand->imm_bits <= (uint64_t)d->ptx->n_insns;
}

bool lg_decode_branch(lg_decoder *d, const lg_ptx_insn *insn, int at, lg_insn *out) {
    int32_t meets = d->ptx->reconverge ? d->ptx->reconverge[at] : -1;
    if (meets < 0 || meets > d->ptx->n_insns) {
        meets = d->ptx->n_insns;
    }
    out->aux[0] = (uint32_t)(int32_t)relative(d, out, (uint64_t)meets);
    if (insn->op == LG_OP_BRA) {
        if (insn->n_operands != 1 || !is_label(d, &insn->operands[0])) {
            return lg_decode_refuse(d, insn, "a branch without a label");
        }
        out->kind = LG_KIND_BRA;
        out->imm = (uint64_t)relative(d, out, insn->operands[0].imm_bits);
        return true;
    }
    const lg_ptx_operand *list = &insn->operands[1];
    uint8_t bytes = 4;
    if (insn->n_operands != 2 || list->kind != LG_OPERAND_LIST || list->n_elements < 1) {
        return lg_decode_refuse(d, insn, "an indexed branch without a list of labels");
    }
    if (!lg_decode_source(d, insn, &insn->operands[0], 0, out, &bytes) || bytes != 4) {
        return lg_decode_refuse(d, insn, "an index of 32 bits is needed");
    }
    lg_branch_table *table = &d->code->tables[d->code->n_tables];
    out->kind = LG_KIND_BRX;
    out->imm = (uint64_t)d->code->n_tables++;
    table->n = list->n_elements;
    table->targets = lg_arena_array(&d->module->arena, (size_t)list->n_elements, sizeof(uint32_t));
    for (int i = 0; i < list->n_elements; i++) {
        if (!is_label(d, &list->elements[i])) {
            return lg_decode_refuse(d, insn, "an indexed branch to something else than a label");
        }
        table->targets[i] = d->index_of[list->elements[i].imm_bits];
    }
    return true;
}

static bool decode_args(lg_decoder *d, const lg_ptx_insn *insn, const lg_ptx_operand *list,
                        bool returns, lg_insn *out, lg_call_arg *args) {
    for (int i = 0; i < list->n_elements; i++) {
        const lg_ptx_operand *element = &list->elements[i];
        if (element->kind == LG_OPERAND_SYMBOL || element->kind == LG_OPERAND_MEM) {
            const lg_ptx_symbol *symbol = lg_decode_find_symbol(d, element);
            if (!symbol || symbol->space != LG_SPACE_PARAM || symbol->offset < d->code->rows_base) {
                return lg_decode_refuse(d, insn, "an argument that is not a parameter variable");
            }
            args[i] =
                (lg_call_arg){.from = (uint32_t)symbol->offset, .bytes = (uint32_t)symbol->bytes};
            continue;
        }
        if (returns && element->kind != LG_OPERAND_REG) {
            return lg_decode_refuse(d, insn, "a result that is not a variable or register");
        }
        uint8_t bytes = 8; // of an immediate; the callee takes what it needs of it
        lg_insn scratch = *out;
        if (!lg_decode_source(d, insn, element, 0, &scratch, &bytes) || bytes == 0) {
            return lg_decode_refuse(d, insn, "a predicate as an argument");
        }
        args[i] = (lg_call_arg){
            .is_register = true, .reg_bytes = bytes, .from = scratch.src[0], .bytes = bytes};
    }
    return true;
}

// The functions of the device library that the engine provides.
static bool decode_intrinsic(lg_decoder *d, const lg_ptx_insn *insn, const char *name,
                             const lg_call *call, lg_insn *out) {
    if (strcmp(name, "__assertfail") == 0 && call->n_args == 5) {
        out->kind = LG_KIND_ASSERT_FAIL;
        return true;
    }
    if (strcmp(name, "vprintf") == 0 && call->n_args == 2 && call->n_returns <= 1) {
        out->kind = LG_KIND_VPRINTF;
        return true;
    }
    char why[256];
    snprintf(why, sizeof why, "function '%.160s' is declared, but neither defined nor provided",
             name);
    return lg_decode_refuse(d, insn, why);
}

static bool check_signature(lg_decoder *d, const lg_ptx_insn *insn, const lg_call *call,
                            const lg_ptx_function *callee) {
    if (callee->n_params != call->n_args || callee->n_returns != call->n_returns) {
        return lg_decode_refuse(d, insn, "other arguments than the function has");
    }
    for (int i = 0; i < call->n_args + call->n_returns; i++) {
        const lg_call_arg *arg =
            i < call->n_returns ? &call->returns[i] : &call->args[i - call->n_returns];
        if (!arg->is_register && arg->bytes != callee->symbols[i].bytes) {
            return lg_decode_refuse(d, insn, "an argument of another size than the function has");
        }
    }
    return true;
}

bool lg_decode_call(lg_decoder *d, const lg_ptx_insn *insn, lg_insn *out) {
    static const lg_ptx_operand empty = {.kind = LG_OPERAND_LIST};
    int at = insn->n_operands && insn->operands[0].kind == LG_OPERAND_LIST ? 1 : 0;
    const lg_ptx_operand *returns = at ? &insn->operands[0] : &empty;
    const lg_ptx_operand *args =
        at + 1 < insn->n_operands && insn->operands[at + 1].kind == LG_OPERAND_LIST
            ? &insn->operands[at + 1]
            : &empty;
    if (at >= insn->n_operands) {
        return lg_decode_refuse(d, insn, "a call without a target");
    }
    const lg_ptx_operand *target = &insn->operands[at];
    lg_call *call = &d->code->calls[d->code->n_calls];
    out->imm = (uint64_t)d->code->n_calls++;
    lg_arena *arena = &d->module->arena;
    call->function = -1;
    call->n_args = args->n_elements;
    call->n_returns = returns->n_elements;
    call->args = lg_arena_array(arena, (size_t)call->n_args + 1, sizeof(lg_call_arg));
    call->returns = lg_arena_array(arena, (size_t)call->n_returns + 1, sizeof(lg_call_arg));
    if (!decode_args(d, insn, args, false, out, call->args) ||
        !decode_args(d, insn, returns, true, out, call->returns)) {
        return false;
    }
    if (target->kind == LG_OPERAND_FUNC) {
        const lg_ptx_function *callee = &d->module->ptx->functions[target->imm_bits];
        if (callee->is_extern) {
            return decode_intrinsic(d, insn, callee->name, call, out);
        }
        call->function = (int)target->imm_bits;
        lg_decode_note(&d->code->callees, &d->code->n_callees, &d->code->callee_capacity,
                       call->function, arena);
        out->kind = LG_KIND_CALL;
        return check_signature(d, insn, call, callee);
    }
    uint8_t bytes = 8;
    if (!lg_decode_source(d, insn, target, 0, out, &bytes) || bytes != 8) {
        return lg_decode_refuse(d, insn, "a call through something else than a 64-bit register");
    }
    d->code->calls_indirectly = true;
    out->kind = LG_KIND_CALL_INDIRECT;
    return true;
}

// aux[0]: LG_SUB_SYNC, _ARRIVE or _RED; aux[1]: LG_SUB_POPC, _AND or _OR; aux[2]: has a count. src:
// the number, the count, the predicate.
bool lg_decode_barrier(lg_decoder *d, const lg_ptx_insn *insn, lg_insn *out) {
    if (insn->mods.sub == LG_SUB_WARP) {
        uint8_t bytes = 4;
        out->kind = LG_KIND_WARP_SYNC;
        return lg_decode_source(d, insn, &insn->operands[0], 0, out, &bytes) && bytes == 4
                   ? true
                   : lg_decode_refuse(d, insn, "a member mask of 32 bits is needed");
    }
    bool reduces = insn->mods.sub == LG_SUB_RED;
    int first = reduces ? 1 : 0;
    int last = insn->n_operands - (reduces ? 1 : 0); // first one that is not number or count
    if (last - first < 1 || last - first > 2) {
        return lg_decode_refuse(d, insn, NULL);
    }
    for (int i = first; i < last; i++) {
        uint8_t bytes = 4;
        if (!lg_decode_source(d, insn, &insn->operands[i], i - first, out, &bytes) || bytes != 4) {
            return lg_decode_refuse(d, insn, "a barrier number or count of 32 bits is needed");
        }
    }
    out->kind = LG_KIND_BARRIER;
    out->aux[0] = insn->mods.sub;
    out->aux[2] = last - first == 2;
    if (!reduces) {
        return true;
    }
    out->aux[1] = insn->mods.bool_op;
    uint8_t bytes = 0;
    if (insn->operands[0].kind != LG_OPERAND_REG ||
        !lg_decode_source(d, insn, &insn->operands[last], 2, out, &bytes) || bytes != 0) {
        return lg_decode_refuse(d, insn, "a predicate is needed");
    }
    const lg_ptx_operand *to = &insn->operands[0];
    uint8_t want = out->aux[1] == LG_SUB_POPC ? 4 : 0;
    if (lg_reg_bytes(d->ptx->regs[to->reg].type) != want) {
        return lg_decode_refuse(d, insn, "a destination of another type than the operation's");
    }
    out->dst[0] = d->reg_slots[to->reg];
    return true;
}
