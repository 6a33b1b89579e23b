// SPDX-License-Identifier: Apache-2.0
#include "engine/sim/lane/lane.h"

#include <stdlib.h>
#include <string.h>

extern const lg_lane_table lg_lane_isa_baseline;
extern const lg_lane_table lg_lane_isa_avx2;
extern const lg_lane_table lg_lane_isa_avx512;

const lg_lane_table *lg_lane_table_baseline(void) {
    return &lg_lane_isa_baseline;
}

// The features are those isa.cmake compiles for.
const lg_lane_table *lg_lane_table_avx2(void) {
    bool runs = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") &&
                __builtin_cpu_supports("popcnt");
    return runs ? &lg_lane_isa_avx2 : NULL;
}

const lg_lane_table *lg_lane_table_avx512(void) {
    bool runs = lg_lane_table_avx2() && __builtin_cpu_supports("avx512f") &&
                __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
                __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512cd");
    return runs ? &lg_lane_isa_avx512 : NULL;
}

const char *lg_isa_name(lg_isa isa) {
    static const char *const names[] = {"baseline", "avx2", "avx512"};
    return names[isa];
}

const lg_lane_table *lg_lane_table_best(void) {
    const lg_lane_table *tables[LG_N_ISAS] = {lg_lane_table_baseline(), lg_lane_table_avx2(),
                                              lg_lane_table_avx512()};
    const char *wanted = getenv("LOSSGATE_ISA");
    const lg_lane_table *best = NULL;
    for (int isa = 0; isa < LG_N_ISAS; isa++) {
        best = tables[isa] ? tables[isa] : best;
        if (wanted && tables[isa] && strcmp(wanted, lg_isa_name((lg_isa)isa)) == 0) {
            return tables[isa];
        }
    }
    return best;
}

static int type_bytes(lg_ptx_type type) {
    uint32_t bytes = lg_ptx_type_bytes(type);
    return type == LG_PTX_PRED ? 0 : bytes < 2 ? 2 : (int)bytes;
}

// The last source of a warp exchange is its member mask; lanes and segments are 32 bits too.
static int warp_source_bytes(const lg_ptx_insn *insn, int index, int first) {
    if (insn->op == LG_OP_VOTE) {
        return index == 0 ? 0 : 4;
    }
    return index == 0 ? first : 4;
}

int lg_lane_immediate_bytes(const lg_ptx_insn *insn, int index) {
    int first = insn->n_types > 0 ? type_bytes(insn->types[0]) : 4;
    int second = insn->n_types > 1 ? type_bytes(insn->types[1]) : first;
    lg_ptx_op op = insn->op;
    if (op == LG_OP_SHL || op == LG_OP_SHR || op == LG_OP_BFE) {
        return index == 0 ? first : 4;
    }
    if (op == LG_OP_BFI) {
        return index < 2 ? first : 4;
    }
    if (op == LG_OP_MAD || op == LG_OP_MADC) {
        return index == 2 && insn->mods.sub == LG_SUB_WIDE ? 2 * first : first;
    }
    if (op == LG_OP_LOP3) {
        return index == 4 ? 0 : 4;
    }
    if (op == LG_OP_SETP || op == LG_OP_SELP) {
        return index == 2 ? 0 : first;
    }
    if (op == LG_OP_SET) {
        return index == 2 ? 0 : second;
    }
    if (op == LG_OP_SLCT) {
        return index == 2 ? second : first;
    }
    if (op == LG_OP_CVT) {
        return second;
    }
    if (op == LG_OP_MOV) {
        const lg_ptx_operand *from = &insn->operands[1];
        bool packs =
            insn->n_operands > 1 && from->kind == LG_OPERAND_VECTOR && from->n_elements > 0;
        return packs ? first / from->n_elements : first;
    }
    if (op == LG_OP_SHFL || op == LG_OP_VOTE || op == LG_OP_MATCH || op == LG_OP_REDUX ||
        op == LG_OP_ELECT) {
        return warp_source_bytes(insn, index, first);
    }
    return first;
}

int lg_lane_result_bytes(const lg_ptx_insn *insn, int index) {
    int first = insn->n_types > 0 ? type_bytes(insn->types[0]) : 4;
    lg_ptx_op op = insn->op;
    if (op == LG_OP_SETP || op == LG_OP_TESTP) {
        return 0;
    }
    if (index == 1 &&
        (op == LG_OP_LOP3 || op == LG_OP_SHFL || op == LG_OP_MATCH || op == LG_OP_ELECT)) {
        return 0;
    }
    if (op == LG_OP_POPC || op == LG_OP_CLZ || op == LG_OP_BFIND || op == LG_OP_MATCH) {
        return 4;
    }
    bool wide = (op == LG_OP_MUL || op == LG_OP_MAD) && insn->mods.sub == LG_SUB_WIDE;
    return wide ? 2 * first : first;
}
