// SPDX-License-Identifier: Apache-2.0
#include "engine/sim/exec.h"
#include "support/alloc.h"

#include <stdlib.h>
#include <string.h>

// Shared memory is laid out for each entry from what it can reach, as ptxas does: a module with
// many kernels may hold more static shared memory than one block can have.
typedef struct reach {
    const lg_ptx_module *ptx;
    const lg_sim_module *module;
    bool *functions; // seen
    bool *objects;
    int *stack;
    int n_stack;
} reach;

static void reach_function(reach *r, int function) {
    const lg_ptx_function *f = &r->ptx->functions[function];
    if (!r->functions[function] && !f->is_extern) {
        r->functions[function] = true;
        r->stack[r->n_stack++] = function;
    }
}

static void reach_operand(reach *r, const lg_ptx_operand *operand) {
    if (operand->kind == LG_OPERAND_FUNC) {
        reach_function(r, (int)operand->imm_bits);
    } else if (operand->symbol >= 0 && !operand->symbol_is_local &&
               operand->symbol < r->ptx->n_symbols &&
               r->ptx->symbols[operand->symbol].space == LG_SPACE_SHARED &&
               !r->ptx->symbols[operand->symbol].is_extern) {
        r->objects[r->module->addresses[operand->symbol]] = true;
    }
    for (int i = 0; i < operand->n_elements; i++) {
        reach_operand(r, &operand->elements[i]);
    }
}

static bool calls_indirectly(const lg_ptx_insn *insn) {
    int at = insn->n_operands && insn->operands[0].kind == LG_OPERAND_LIST ? 1 : 0;
    return insn->op == LG_OP_CALL && at < insn->n_operands &&
           insn->operands[at].kind != LG_OPERAND_FUNC;
}

static void walk_function(reach *r, int function) {
    const lg_ptx_function *f = &r->ptx->functions[function];
    int object = r->module->codes[function].shared_object;
    if (object >= 0) {
        r->objects[object] = true;
    }
    for (int i = 0; i < f->n_insns; i++) {
        const lg_ptx_insn *insn = &f->insns[i];
        for (int k = 0; k < insn->n_operands; k++) {
            reach_operand(r, &insn->operands[k]);
        }
        if (calls_indirectly(insn)) { // any function that is not an entry
            for (int k = 0; k < r->ptx->n_functions; k++) {
                if (!r->ptx->functions[k].is_entry) {
                    reach_function(r, k);
                }
            }
        }
    }
}

// The size and alignment of a shared object: a module variable or a function's frame.
static void size_objects(const lg_sim_module *module, uint64_t *bytes, uint64_t *aligns) {
    for (int i = 0; i < module->ptx->n_symbols; i++) {
        const lg_ptx_symbol *symbol = &module->ptx->symbols[i];
        if (symbol->space == LG_SPACE_SHARED && !symbol->is_extern) {
            bytes[module->addresses[i]] = symbol->bytes;
            aligns[module->addresses[i]] = symbol->align ? symbol->align : 1;
        }
    }
    for (int i = 0; i < module->ptx->n_functions; i++) {
        int object = module->codes[i].shared_object;
        if (object >= 0) {
            bytes[object] = module->ptx->functions[i].shared_bytes;
            aligns[object] = 128;
        }
    }
}

static void lay_out_shared(lg_sim_module *module) {
    const lg_ptx_module *ptx = module->ptx;
    size_t n_functions = (size_t)ptx->n_functions, n_objects = (size_t)module->n_objects;
    reach r = {.ptx = ptx,
               .module = module,
               .functions = lg_xcalloc(n_functions + 1, sizeof(bool)),
               .objects = lg_xcalloc(n_objects + 1, sizeof(bool)),
               .stack = lg_xcalloc(n_functions + 1, sizeof(int))};
    uint64_t *bytes = lg_xcalloc(n_objects + 1, sizeof *bytes);
    uint64_t *aligns = lg_xcalloc(n_objects + 1, sizeof *aligns);
    size_objects(module, bytes, aligns);
    for (int i = 0; i < ptx->n_functions && n_objects; i++) {
        lg_code *code = &module->codes[i];
        if (!ptx->functions[i].is_entry || ptx->functions[i].is_extern) {
            continue;
        }
        memset(r.functions, 0, n_functions * sizeof(bool));
        memset(r.objects, 0, n_objects * sizeof(bool));
        reach_function(&r, i);
        while (r.n_stack) {
            walk_function(&r, r.stack[--r.n_stack]);
        }
        code->shared_at = lg_arena_array(&module->arena, n_objects, sizeof(uint32_t));
        for (size_t k = 0; k < n_objects; k++) {
            if (r.objects[k] && code->shared_end < UINT32_MAX && bytes[k] < UINT32_MAX) {
                uint64_t at = (code->shared_end + aligns[k] - 1) / aligns[k] * aligns[k];
                code->shared_at[k] = (uint32_t)at;
                code->shared_end = at + bytes[k];
            } else if (r.objects[k]) {
                code->shared_end = UINT64_C(1) << 40; // every launch is refused
            }
        }
    }
    free(r.functions);
    free(r.objects);
    free(r.stack);
    free(bytes);
    free(aligns);
}

static void number_objects(lg_sim_module *module) {
    for (int i = 0; i < module->ptx->n_symbols; i++) {
        const lg_ptx_symbol *symbol = &module->ptx->symbols[i];
        if (symbol->space == LG_SPACE_SHARED && !symbol->is_extern) {
            module->addresses[i] = (uint64_t)module->n_objects++;
        }
    }
    for (int i = 0; i < module->ptx->n_functions; i++) {
        module->codes[i].shared_object =
            module->ptx->functions[i].shared_bytes ? module->n_objects++ : -1;
    }
}

static bool refuse_symbol(lg_sim_module *module, const lg_ptx_symbol *symbol, lg_diags *diags,
                          const char *why) {
    return lg_error(diags, (lg_loc){module->ptx->name, symbol->line, 1},
                    "the engine cannot place variable '%s': %s", symbol->name, why);
}

static bool place_symbols(lg_sim_module *module, lg_diags *diags) {
    bool ok = true;
    for (int i = 0; i < module->ptx->n_symbols; i++) {
        const lg_ptx_symbol *symbol = &module->ptx->symbols[i];
        if (symbol->space != LG_SPACE_GLOBAL && symbol->space != LG_SPACE_CONST) {
            continue;
        }
        if (symbol->is_extern) {
            ok = refuse_symbol(module, symbol, diags, "it is defined in another module");
            continue;
        }
        uint64_t address = symbol->bytes ? lg_sim_alloc(module->sim, symbol->bytes) : 0;
        if (!address && symbol->bytes) {
            ok = refuse_symbol(module, symbol, diags, "device memory is out");
            continue;
        }
        module->addresses[i] = address;
        if (!address) {
            continue;
        }
        uint8_t zero = 0;
        lg_sim_fill(module->sim, address, &zero, 1, symbol->bytes);
        if (symbol->init) {
            lg_sim_write(module->sim, address, symbol->init, symbol->bytes);
        }
    }
    return ok;
}

// Addresses inside initialisers, once every variable has its place; then constants become
// read-only.
static bool relocate_symbols(lg_sim_module *module, lg_diags *diags) {
    bool ok = true;
    const lg_ptx_module *ptx = module->ptx;
    for (int i = 0; i < ptx->n_symbols; i++) {
        const lg_ptx_symbol *symbol = &ptx->symbols[i];
        for (int k = 0; k < symbol->n_relocs && module->addresses[i]; k++) {
            const struct lg_ptx_reloc *reloc = &symbol->relocs[k];
            uint64_t value = (uint64_t)reloc->addend;
            if (reloc->symbol >= 0 && ptx->symbols[reloc->symbol].space == LG_SPACE_SHARED) {
                ok = refuse_symbol(module, symbol, diags,
                                   "its initialiser has the address of shared memory");
                continue;
            }
            value += reloc->symbol >= 0 ? module->addresses[reloc->symbol]
                                        : lg_function_address(module, reloc->function);
            if (!lg_sim_write(module->sim, module->addresses[i] + reloc->offset, &value,
                              sizeof value)) {
                ok = refuse_symbol(module, symbol, diags, "an address outside its initialiser");
            }
        }
        if (symbol->space == LG_SPACE_CONST && module->addresses[i]) {
            lg_sim_set_read_only(module->sim, module->addresses[i], true);
        }
    }
    return ok;
}

lg_sim_module *lg_sim_load(lg_sim *sim, const lg_ptx_module *ptx, lg_diags *diags) {
    lg_sim_module *module = lg_xcalloc(1, sizeof *module);
    module->sim = sim;
    module->ptx = ptx;
    module->number = ++sim->n_modules;
    module->addresses =
        lg_arena_array(&module->arena, (size_t)ptx->n_symbols + 1, sizeof(uint64_t));
    module->codes = lg_arena_array(&module->arena, (size_t)ptx->n_functions + 1, sizeof(lg_code));
    number_objects(module);
    bool ok = place_symbols(module, diags);
    ok &= relocate_symbols(module, diags);
    for (int i = 0; i < ptx->n_functions; i++) {
        module->codes[i].module = module;
        module->codes[i].ptx = &ptx->functions[i];
        module->codes[i].function = i;
        if (!ptx->functions[i].is_extern) {
            ok &= lg_decode(module, i, diags);
        }
    }
    if (!ok) {
        lg_sim_unload(sim, module);
        return NULL;
    }
    lay_out_shared(module);
    module->sites = lg_arena_array(&module->arena, module->n_sites + 1, sizeof(lg_alloc *));
    for (uint32_t i = 0; i < module->n_sites; i++) {
        module->sites[i] = &sim->nothing;
    }
    return module;
}

void lg_sim_unload(lg_sim *sim, lg_sim_module *module) {
    if (!module) {
        return;
    }
    for (int i = 0; i < module->ptx->n_symbols; i++) {
        lg_ptx_space space = module->ptx->symbols[i].space;
        if ((space == LG_SPACE_GLOBAL || space == LG_SPACE_CONST) && module->addresses[i]) {
            lg_sim_free(sim, module->addresses[i]);
        }
    }
    lg_arena_free(&module->arena);
    free(module);
}

bool lg_sim_global(const lg_sim_module *module, const char *name, uint64_t *address,
                   uint64_t *bytes) {
    for (int i = 0; i < module->ptx->n_symbols; i++) {
        const lg_ptx_symbol *symbol = &module->ptx->symbols[i];
        if ((symbol->space == LG_SPACE_GLOBAL || symbol->space == LG_SPACE_CONST) &&
            strcmp(symbol->name, name) == 0) {
            *address = module->addresses[i];
            *bytes = symbol->bytes;
            return true;
        }
    }
    return false;
}

uint64_t lg_sim_static_shared(const lg_sim_module *module, int function) {
    return module->codes[function].shared_end;
}

const char *lg_sim_isa(void) {
    return lg_lane_table_best()->isa;
}
