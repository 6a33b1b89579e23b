// SPDX-License-Identifier: Apache-2.0
// Any bytes as PTX: the loader returns a module or diagnostics, and a module can be listed.
#include "engine/ptx/ptx.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void check_function(const lg_ptx_module *module, const lg_ptx_function *function) {
    for (int i = 0; i < function->n_insns; i++) {
        const lg_ptx_insn *insn = &function->insns[i];
        int32_t meet = function->reconverge[i];
        if (meet < -1 || meet > function->n_insns || insn->op == LG_OP_UNKNOWN ||
            insn->guard >= function->n_regs || insn->n_operands > LG_PTX_MAX_OPERANDS) {
            abort();
        }
        for (int o = 0; o < insn->n_operands; o++) {
            const lg_ptx_operand *operand = &insn->operands[o];
            int n_symbols = operand->symbol_is_local ? function->n_symbols : module->n_symbols;
            if (operand->reg >= function->n_regs || operand->symbol >= n_symbols ||
                (operand->kind == LG_OPERAND_LABEL &&
                 operand->imm_bits >= (uint64_t)function->n_insns)) {
                abort();
            }
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    lg_diags diags = {0};
    lg_ptx_module *module = lg_ptx_load("fuzz.ptx", n ? (const char *)data : "", n, &diags);
    if ((module == NULL) != (diags.n_errors > 0)) {
        abort();
    }
    for (int i = 0; module && i < module->n_functions; i++) {
        lg_str listing = {0};
        check_function(module, &module->functions[i]);
        lg_ptx_dump(module, &module->functions[i], &listing);
        lg_str_free(&listing);
    }
    lg_ptx_free(module);
    lg_diags_free(&diags);
    return 0;
}
