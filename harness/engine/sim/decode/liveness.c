// SPDX-License-Identifier: Apache-2.0
// Which registers a function may read before it writes them: liveness at the entry, by the usual
// backward data flow over the control-flow graph as each thread walks it. Whatever is not surely a
// plain write counts as a read.
#include "engine/sim/decode/liveness.h"

#include "support/alloc.h"

#include <stdlib.h>
#include <string.h>

// Beyond this many words of state the answer is "may": the caller then clears, which is only
// slower.
enum { MAX_WORDS = 4 * 1024 * 1024 };

typedef struct liveness {
    const lg_ptx_function *function;
    size_t words;   // of one set
    uint64_t *live; // n_insns + 1 sets: live before the instruction; the last is empty
    uint64_t *now;
} liveness;

static void read_operand(liveness *l, const lg_ptx_operand *operand) {
    if (operand->reg >= 0 && (operand->kind == LG_OPERAND_REG || operand->kind == LG_OPERAND_MEM)) {
        l->now[operand->reg / 64] |= UINT64_C(1) << operand->reg % 64;
    }
    for (int i = 0; i < operand->n_elements; i++) {
        read_operand(l, &operand->elements[i]);
    }
}

static void write_operand(liveness *l, const lg_ptx_operand *operand) {
    if (operand->kind == LG_OPERAND_REG && operand->reg >= 0) {
        l->now[operand->reg / 64] &= ~(UINT64_C(1) << operand->reg % 64);
    }
    for (int i = 0; i < operand->n_elements; i++) {
        write_operand(l, &operand->elements[i]);
    }
}

bool lg_writes_first_operand(const lg_ptx_insn *insn) {
    switch ((int)insn->op) {
    case LG_OP_BAR:
    case LG_OP_BARRIER:
        return insn->mods.sub == LG_SUB_RED;
    case LG_OP_ST:
    case LG_OP_RED:
    case LG_OP_BRA:
    case LG_OP_BRX:
    case LG_OP_CALL:
    case LG_OP_RET:
    case LG_OP_EXIT:
    case LG_OP_TRAP:
    case LG_OP_MEMBAR:
    case LG_OP_FENCE:
    case LG_OP_PREFETCH:
    case LG_OP_NANOSLEEP:
    case LG_OP_UNKNOWN:
        return false;
    }
    return true;
}

static void join(liveness *l, uint64_t target) {
    const uint64_t *other = l->live + target * l->words;
    for (size_t w = 0; w < l->words; w++) {
        l->now[w] |= other[w];
    }
}

static void join_labels(liveness *l, const lg_ptx_operand *operand) {
    if (operand->kind == LG_OPERAND_LABEL) {
        join(l, operand->imm_bits);
    }
    for (int i = 0; i < operand->n_elements; i++) {
        join_labels(l, &operand->elements[i]);
    }
}

// now = what is live before instruction `at`.
static void step_back(liveness *l, int at) {
    const lg_ptx_insn *insn = &l->function->insns[at];
    bool guarded = insn->guard >= 0;
    bool ends = insn->op == LG_OP_BRA || insn->op == LG_OP_BRX || insn->op == LG_OP_RET ||
                insn->op == LG_OP_EXIT;
    memset(l->now, 0, l->words * sizeof *l->now);
    if (guarded || !ends) {
        join(l, (uint64_t)at + 1);
    }
    for (int i = 0; i < insn->n_operands; i++) {
        join_labels(l, &insn->operands[i]);
    }
    int first_read = 0;
    if (lg_writes_first_operand(insn) && insn->n_operands > 0 &&
        insn->operands[0].kind != LG_OPERAND_MEM) {
        if (!guarded) {
            write_operand(l, &insn->operands[0]);
        }
        first_read = 1;
    }
    for (int i = first_read; i < insn->n_operands; i++) {
        read_operand(l, &insn->operands[i]);
    }
    if (guarded) {
        l->now[insn->guard / 64] |= UINT64_C(1) << insn->guard % 64;
    }
}

bool lg_reads_before_write(const lg_ptx_function *function) {
    liveness l = {.function = function, .words = (size_t)function->n_regs / 64 + 1};
    size_t n_sets = (size_t)function->n_insns + 1;
    if (n_sets > MAX_WORDS / l.words) {
        return true;
    }
    l.live = lg_xcalloc(n_sets * l.words, sizeof *l.live);
    l.now = lg_xcalloc(l.words, sizeof *l.now);
    for (bool changed = true; changed;) {
        changed = false;
        for (int at = function->n_insns - 1; at >= 0; at--) {
            step_back(&l, at);
            uint64_t *set = l.live + (size_t)at * l.words;
            if (memcmp(set, l.now, l.words * sizeof *set) != 0) {
                memcpy(set, l.now, l.words * sizeof *set);
                changed = true;
            }
        }
    }
    bool any = false;
    for (size_t w = 0; w < l.words && function->n_insns > 0; w++) {
        any |= l.live[w] != 0;
    }
    free(l.live);
    free(l.now);
    return any;
}
