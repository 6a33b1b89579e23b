// SPDX-License-Identifier: Apache-2.0
#include "engine/sim/decode/fold.h"

#include "engine/sim/decode/internal.h"
#include "engine/sim/decode/liveness.h"
#include "support/alloc.h"

#include <stdlib.h>

// How far behind a copy its last use is looked for.
enum { WINDOW = 256, MANY = UINT16_MAX };

static void count(uint16_t *n) {
    *n = *n < MANY ? (uint16_t)(*n + 1) : *n;
}

// Reads and writes of one operand and its elements; `as_write`: it is a plain destination.
static void count_operand(lg_fold *fold, const lg_ptx_operand *operand, bool as_write,
                          bool unknown) {
    bool names =
        operand->reg >= 0 && (operand->kind == LG_OPERAND_REG || operand->kind == LG_OPERAND_MEM);
    if (names && unknown) {
        fold->n_writes[operand->reg] = fold->n_reads[operand->reg] = MANY;
    } else if (names) {
        bool write = as_write && operand->kind == LG_OPERAND_REG;
        count(write ? &fold->n_writes[operand->reg] : &fold->n_reads[operand->reg]);
    }
    for (int i = 0; i < operand->n_elements; i++) {
        count_operand(fold, &operand->elements[i], as_write, unknown);
    }
}

// Operations that may write a register in other places than their first operand.
static bool is_unclear(lg_ptx_op op) {
    return op == LG_OP_CALL || op == LG_OP_UNKNOWN;
}

static void count_all(const lg_ptx_function *f, lg_fold *fold) {
    for (int i = 0; i < f->n_insns; i++) {
        const lg_ptx_insn *insn = &f->insns[i];
        for (int k = 0; k < insn->n_operands; k++) {
            bool write = k == 0 && lg_writes_first_operand(insn);
            count_operand(fold, &insn->operands[k], write, is_unclear(insn->op));
        }
        if (insn->guard >= 0) {
            count(&fold->n_reads[insn->guard]);
        }
    }
}

static void mark_labels(const lg_ptx_function *f, const lg_ptx_operand *operand, lg_fold *fold) {
    if (operand->kind == LG_OPERAND_LABEL && operand->imm_bits < (uint64_t)f->n_insns) {
        fold->starts[operand->imm_bits] = true;
    }
    for (int i = 0; i < operand->n_elements; i++) {
        mark_labels(f, &operand->elements[i], fold);
    }
}

static void mark_starts(const lg_ptx_function *f, lg_fold *fold) {
    for (int i = 0; i < f->n_insns; i++) {
        for (int k = 0; k < f->insns[i].n_operands; k++) {
            mark_labels(f, &f->insns[i].operands[k], fold);
        }
        if (f->reconverge && f->reconverge[i] >= 0 && f->reconverge[i] < f->n_insns) {
            fold->starts[f->reconverge[i]] = true;
        }
    }
}

// How often `reg` occurs in the operand, and in its elements.
static int occurrences(const lg_ptx_operand *operand, int32_t reg) {
    int n =
        operand->reg == reg && (operand->kind == LG_OPERAND_REG || operand->kind == LG_OPERAND_MEM);
    for (int i = 0; i < operand->n_elements; i++) {
        n += occurrences(&operand->elements[i], reg);
    }
    return n;
}

static bool may_write(const lg_ptx_insn *insn, int32_t reg) {
    bool all = is_unclear(insn->op);
    int n = all ? insn->n_operands : lg_writes_first_operand(insn) ? 1 : 0;
    for (int k = 0; k < n && k < insn->n_operands; k++) {
        if (occurrences(&insn->operands[k], reg)) {
            return true;
        }
    }
    return false;
}

// Are all reads of `to`, which the move at `at` wrote, in straight code behind it, where `from`
// still holds what was moved? Lanes that leave on the way read nothing here, and what they write
// elsewhere is their own.
static bool reads_follow(const lg_ptx_function *f, const lg_fold *fold, int at, int32_t to,
                         int32_t from) {
    int left = fold->n_reads[to];
    for (int i = at + 1; left > 0 && i < f->n_insns && i < at + WINDOW; i++) {
        const lg_ptx_insn *insn = &f->insns[i];
        if (fold->starts[i]) {
            return false;
        }
        int first = lg_writes_first_operand(insn) && insn->n_operands > 0 &&
                            insn->operands[0].kind != LG_OPERAND_MEM
                        ? 1
                        : 0;
        for (int k = first; k < insn->n_operands; k++) {
            left -= occurrences(&insn->operands[k], to);
        }
        if (may_write(insn, from)) {
            return left == 0;
        }
        if (insn->guard < 0 && (insn->op == LG_OP_BRA || insn->op == LG_OP_BRX ||
                                insn->op == LG_OP_RET || insn->op == LG_OP_EXIT)) {
            break;
        }
    }
    return left == 0;
}

// A move of a whole register's width whose destination is written nowhere else.
static bool is_plain_move(const lg_ptx_function *f, const lg_fold *fold, const lg_ptx_insn *insn) {
    if (insn->op != LG_OP_MOV || insn->guard >= 0 || insn->n_operands != 2 || insn->n_types != 1 ||
        insn->operands[0].kind != LG_OPERAND_REG) {
        return false;
    }
    int32_t to = insn->operands[0].reg;
    uint8_t bytes = lg_reg_bytes(f->regs[to].type);
    return fold->n_writes[to] == 1 && bytes >= 2 && bytes <= 8 &&
           bytes == lg_reg_bytes(insn->types[0]);
}

static void find_moves(const lg_ptx_function *f, lg_fold *fold) {
    for (int i = 0; i < f->n_insns; i++) {
        const lg_ptx_insn *insn = &f->insns[i];
        if (!is_plain_move(f, fold, insn)) {
            continue;
        }
        int32_t to = insn->operands[0].reg;
        const lg_ptx_operand *from = &insn->operands[1];
        if (from->kind == LG_OPERAND_INT || from->kind == LG_OPERAND_F32 ||
            from->kind == LG_OPERAND_F64) {
            fold->constants[to] = from;
            fold->dropped[i] = true;
            continue;
        }
        if (from->kind != LG_OPERAND_REG || from->negated ||
            lg_reg_bytes(f->regs[from->reg].type) != lg_reg_bytes(f->regs[to].type)) {
            continue;
        }
        int32_t source = fold->copies[from->reg];
        if (fold->constants[source]) {
            fold->constants[to] = fold->constants[source];
            fold->dropped[i] = true;
        } else if (reads_follow(f, fold, i, to, source)) {
            fold->copies[to] = source;
            fold->dropped[i] = true;
            unsigned reads = fold->n_reads[source] + fold->n_reads[to] - 1u; // the move's own goes
            fold->n_reads[source] = (uint16_t)(reads < MANY ? reads : MANY);
        }
    }
}

void lg_fold_find(const lg_ptx_function *f, bool may_drop, lg_fold *fold) {
    size_t n_regs = (size_t)f->n_regs + 1, n = (size_t)f->n_insns + 1;
    *fold = (lg_fold){.constants = lg_xcalloc(n_regs, sizeof(lg_ptx_operand *)),
                      .copies = lg_xcalloc(n_regs, sizeof(int32_t)),
                      .n_writes = lg_xcalloc(n_regs, sizeof(uint16_t)),
                      .n_reads = lg_xcalloc(n_regs, sizeof(uint16_t)),
                      .dropped = lg_xcalloc(n, sizeof(bool)),
                      .starts = lg_xcalloc(n, sizeof(bool))};
    for (int32_t i = 0; i < f->n_regs; i++) {
        fold->copies[i] = i;
    }
    count_all(f, fold);
    mark_starts(f, fold);
    if (may_drop) {
        find_moves(f, fold);
    }
}

void lg_fold_free(lg_fold *fold) {
    free(fold->constants);
    free(fold->copies);
    free(fold->n_writes);
    free(fold->n_reads);
    free(fold->dropped);
    free(fold->starts);
    *fold = (lg_fold){0};
}
