// SPDX-License-Identifier: Apache-2.0
#include "engine/sim/exec.h"

#include <string.h>

static const char *kind_name(uint16_t kind) {
    static const char *const names[] = {
        "lane",
#define LG_SIM_KIND(id, name) name,
#include "engine/sim/kinds.def"
#undef LG_SIM_KIND
    };
    return kind < LG_N_KINDS ? names[kind] : "?";
}

static const char *constant_at(const lg_fill *fills, int n, uint32_t slot, char *text,
                               size_t size) {
    for (int i = 0; i < n; i++) {
        if (fills[i].slot != slot) {
            continue;
        }
        switch (fills[i].what) {
        case LG_FILL_BITS:
        case LG_FILL_PREDICATE:
            snprintf(text, size, "0x%llx", (unsigned long long)fills[i].value);
            break;
        case LG_FILL_SREG:
            snprintf(text, size, "%s", lg_ptx_sreg_name((lg_ptx_sreg)fills[i].value));
            break;
        case LG_FILL_SHARED:
            snprintf(text, size, "shared%d+%u", (int)(fills[i].value >> 32),
                     (unsigned)fills[i].value);
            break;
        case LG_FILL_DYNAMIC:
            snprintf(text, size, "dynamic+%u", (unsigned)fills[i].value);
            break;
        case LG_FILL_PARAM:
            snprintf(text, size, "param+%u", (unsigned)fills[i].value);
            break;
        case LG_FILL_LOCAL:
            snprintf(text, size, "local+%u", (unsigned)fills[i].value);
            break;
        }
        return text;
    }
    return NULL;
}

static void dump_slot(const lg_code *code, uint32_t slot, lg_str *out) {
    char text[64];
    const char *constant = constant_at(code->fixed, code->n_fixed, slot, text, sizeof text);
    if (!constant) {
        constant = constant_at(code->moving, code->n_moving, slot, text, sizeof text);
    }
    if (constant) {
        lg_str_add(out, constant);
    } else {
        lg_str_printf(out, "@%u", slot);
    }
}

static void dump_slots(const lg_code *code, const uint32_t *slots, int n, lg_str *out) {
    while (n > 0 && slots[n - 1] == code->scratch) {
        n--;
    }
    for (int i = 0; i < n; i++) {
        lg_str_add(out, i ? ", " : " ");
        if (slots[i] == code->scratch) {
            lg_str_add(out, "_");
        } else {
            dump_slot(code, slots[i], out);
        }
    }
}

static void dump_place(const lg_code *code, const lg_insn *insn, const char **file, int *line,
                       lg_str *out) {
    const char *new_file = NULL;
    int new_line = 0, column;
    if (!lg_ptx_source(code->module->ptx, code->ptx, (int)insn->index, &new_file, &new_line,
                       &column) ||
        (*file == new_file && *line == new_line)) {
        return;
    }
    *file = new_file;
    *line = new_line;
    lg_str_printf(out, "%s:%d\n", new_file, new_line);
}

static void dump_insn(const lg_code *code, int i, lg_str *out) {
    const lg_insn *insn = &code->insns[i];
    lg_str_printf(out, "%6d  ", i);
    if (insn->kind == LG_KIND_RECONVERGE || insn->kind == LG_KIND_END) {
        lg_str_printf(out, "%s\n", kind_name(insn->kind));
        return;
    }
    if (insn->guard) {
        lg_str_printf(out, "@%s%u ", insn->guard_invert ? "!" : "", insn->guard);
    }
    lg_str_add(out, code->ptx->insns[insn->index].text);
    dump_slots(code, insn->dst, LG_MAX_DST, out);
    lg_str_add(out, " <-");
    dump_slots(code, insn->src, LG_MAX_SRC, out);
    if (insn->kind == LG_KIND_BRA) {
        lg_str_printf(out, " to %lld", (long long)i + (int64_t)insn->imm);
    } else if (insn->kind >= LG_KIND_LD_PARAM && insn->imm) {
        lg_str_printf(out, " %+lld", (long long)insn->imm);
    }
    if ((insn->kind == LG_KIND_BRA && insn->guard) || insn->kind == LG_KIND_BRX) {
        lg_str_printf(out, ", meets at %d", i + (int32_t)insn->aux[0]);
    }
    lg_str_printf(out, "  ; %s, PTX line %d\n", kind_name(insn->kind),
                  code->ptx->insns[insn->index].line);
}

void lg_sim_dump(lg_sim_module *module, int function, lg_str *out) {
    const lg_code *code = &module->codes[function];
    lg_diags diags = {0};
    bool ok = lg_module_prepare(module, function, &diags);
    lg_diags_free(&diags);
    if (!ok) {
        lg_str_printf(out, "%s is declared only\n", module->ptx->functions[function].name);
        return;
    }
    lg_str_printf(out,
                  "%s: %d instructions, %u bytes of registers and constants a warp, %llu bytes of "
                  "static shared memory, %llu bytes of local memory a thread, %s\n",
                  code->ptx->name, code->n_insns, code->frame_bytes,
                  (unsigned long long)code->shared_end, (unsigned long long)code->ptx->local_bytes,
                  lg_sim_isa());
    const char *file = NULL;
    int line = 0;
    for (int i = 0; i < code->n_insns; i++) {
        dump_place(code, &code->insns[i], &file, &line, out);
        dump_insn(code, i, out);
    }
}
