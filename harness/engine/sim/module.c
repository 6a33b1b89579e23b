// SPDX-License-Identifier: Apache-2.0
#include "engine/sim/internal.h"
#include "support/alloc.h"

#include <stdlib.h>
#include <string.h>

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

// Shared memory is laid out for each entry from what it can reach, as ptxas does: a module with
// many kernels may hold more static shared memory than one block can have.
static void lay_out_shared(lg_sim_module *module, lg_code *code, const bool *reached) {
    size_t n_objects = (size_t)module->n_objects;
    bool *used = lg_xcalloc(n_objects + 1, sizeof *used);
    uint64_t *bytes = lg_xcalloc(n_objects + 1, sizeof *bytes);
    uint64_t *aligns = lg_xcalloc(n_objects + 1, sizeof *aligns);
    size_objects(module, bytes, aligns);
    for (int i = 0; i < module->ptx->n_functions; i++) {
        const lg_code *part = &module->codes[i];
        for (int k = 0; k < part->n_objects && reached[i]; k++) {
            used[part->objects[k]] = true;
        }
        if (reached[i] && part->shared_object >= 0) {
            used[part->shared_object] = true;
        }
    }
    code->shared_at = lg_arena_array(&module->arena, n_objects + 1, sizeof(uint32_t));
    for (size_t k = 0; k < n_objects; k++) {
        if (used[k] && code->shared_end < UINT32_MAX && bytes[k] < UINT32_MAX) {
            uint64_t at = (code->shared_end + aligns[k] - 1) / aligns[k] * aligns[k];
            code->shared_at[k] = (uint32_t)at;
            code->shared_end = at + bytes[k];
        } else if (used[k]) {
            code->shared_end = UINT64_C(1) << 40; // every launch is refused
        }
    }
    free(used);
    free(bytes);
    free(aligns);
}

typedef struct reach {
    const lg_ptx_module *ptx;
    bool *seen; // by function
    int *stack;
    int n_stack;
} reach;

static void reach_function(reach *r, int function) {
    if (!r->seen[function] && !r->ptx->functions[function].is_extern) {
        r->seen[function] = true;
        r->stack[r->n_stack++] = function;
    }
}

static void reach_callees(reach *r, const lg_code *code) {
    for (int i = 0; i < code->n_callees; i++) {
        reach_function(r, code->callees[i]);
    }
    for (int i = 0; i < r->ptx->n_functions && code->calls_indirectly; i++) {
        if (!r->ptx->functions[i].is_entry) {
            reach_function(r, i);
        }
    }
}

static void grow_sites(lg_sim_module *module) {
    if (module->n_sites > module->site_capacity) {
        uint32_t capacity = module->n_sites + module->n_sites / 2;
        module->sites = lg_xrealloc(module->sites, capacity * sizeof(lg_alloc *));
        module->last = lg_xrealloc(module->last, capacity * sizeof(uint64_t));
        for (uint32_t i = module->site_capacity; i < capacity; i++) {
            module->sites[i] = &module->sim->nothing;
            module->last[i] = 0;
        }
        module->site_capacity = capacity;
    }
}

void lg_module_forget_sites(lg_sim_module *module) {
    for (uint32_t i = 0; i < module->site_capacity; i++) {
        module->sites[i] = &module->sim->nothing;
    }
}

bool lg_module_prepare(lg_sim_module *module, int function, lg_diags *diags) {
    lg_code *code = &module->codes[function];
    const lg_ptx_module *ptx = module->ptx;
    if (code->prepared || ptx->functions[function].is_extern) {
        return code->prepared;
    }
    size_t n = (size_t)ptx->n_functions;
    reach r = {.ptx = ptx,
               .seen = lg_xcalloc(n + 1, sizeof(bool)),
               .stack = lg_xcalloc(n + 1, sizeof(int))};
    bool ok = true;
    reach_function(&r, function);
    while (r.n_stack) {
        int next = r.stack[--r.n_stack];
        lg_code *part = &module->codes[next];
        if (!part->insns) {
            ok &= lg_decode(module, next, diags);
            if (module->coverage) {
                lg_coverage_begin(module, part);
            }
        }
        reach_callees(&r, part);
    }
    if (ok) {
        lay_out_shared(module, code, r.seen);
        grow_sites(module);
        code->prepared = true;
    }
    free(r.seen);
    free(r.stack);
    return ok;
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

static lg_sim_module *create(lg_sim *sim, const lg_ptx_module *ptx) {
    lg_sim_module *module = lg_xcalloc(1, sizeof *module);
    module->sim = sim;
    module->ptx = ptx;
    module->number = ++sim->n_modules;
    module->addresses =
        lg_arena_array(&module->arena, (size_t)ptx->n_symbols + 1, sizeof(uint64_t));
    module->codes = lg_arena_array(&module->arena, (size_t)ptx->n_functions + 1, sizeof(lg_code));
    for (int i = 0; i < ptx->n_functions; i++) {
        module->codes[i].module = module;
        module->codes[i].ptx = &ptx->functions[i];
        module->codes[i].function = i;
    }
    number_objects(module);
    return module;
}

lg_sim_module *lg_sim_load(lg_sim *sim, const lg_ptx_module *ptx, lg_diags *diags) {
    lg_sim_module *module = create(sim, ptx);
    bool ok = place_symbols(module, diags);
    ok &= relocate_symbols(module, diags);
    for (int i = 0; i < ptx->n_functions; i++) {
        if (!ptx->functions[i].is_extern && !module->codes[i].insns) {
            ok &= lg_decode(module, i, diags);
        }
    }
    if (!ok) {
        lg_sim_unload(sim, module);
        return NULL;
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
    free(module->sites);
    free(module->last);
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

uint64_t lg_sim_static_shared(lg_sim_module *module, int function) {
    lg_diags diags = {0};
    lg_module_prepare(module, function, &diags);
    lg_diags_free(&diags);
    return module->codes[function].shared_end;
}

const char *lg_sim_isa(void) {
    return lg_isa_name(lg_lane_table_best()->isa);
}
