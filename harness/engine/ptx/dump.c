// SPDX-License-Identifier: Apache-2.0
#include "engine/ptx/ptx.h"

#include <string.h>

static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static void dump_header(const lg_ptx_function *function, lg_str *out) {
    lg_str_printf(out, "%s %s: %d registers, %d instructions, %llu bytes of parameters",
                  function->is_entry ? "entry" : "function", function->name, function->n_regs,
                  function->n_insns, (unsigned long long)function->param_bytes);
    if (function->shared_bytes) {
        lg_str_printf(out, ", %llu shared", (unsigned long long)function->shared_bytes);
    }
    if (function->local_bytes) {
        lg_str_printf(out, ", %llu local", (unsigned long long)function->local_bytes);
    }
    lg_str_add(out, "\n");
}

// The statement as the text has it, from its mnemonic to the ';', blanks made single. Calls of nvcc
// are spread over lines.
static void dump_text(const lg_ptx_module *module, const lg_ptx_insn *insn, lg_str *out) {
    enum { MAX_LINES = 64 };
    int n_left = insn->line >= 1 ? module->n_lines - insn->line + 1 : 0;
    const char *line = n_left > 0 ? module->lines[insn->line - 1] : "";
    size_t at = insn->column > 0 ? (size_t)insn->column - 1 : 0;
    if (at > strlen(line) || strncmp(line + at, insn->text, strlen(insn->text)) != 0) {
        lg_str_add(out, insn->text); // a return that the text does not have
        return;
    }
    bool blank = false;
    for (int i = 0; i < n_left && i < MAX_LINES; i++) {
        const char *text = module->lines[insn->line - 1 + i] + (i ? 0 : at);
        for (; *text && *text != ';' && strncmp(text, "//", 2) != 0; text++) {
            if (*text == ' ' || *text == '\t' || *text == '\r') {
                blank = true;
                continue;
            }
            lg_str_add(out, blank ? " " : "");
            lg_str_add_n(out, text, 1);
            blank = false;
        }
        if (*text == ';') {
            return;
        }
        blank = true;
    }
}

void lg_ptx_dump(const lg_ptx_module *module, const lg_ptx_function *function, lg_str *out) {
    dump_header(function, out);
    int32_t last_src = -1;
    for (int i = 0; i < function->n_insns; i++) {
        const lg_ptx_insn *insn = &function->insns[i];
        const char *file;
        int line;
        int column;
        if (insn->src != last_src && lg_ptx_source(module, function, i, &file, &line, &column)) {
            lg_str_printf(out, "; %s:%d\n", base_name(file), line);
        }
        last_src = insn->src;
        lg_str_printf(out, "%5d  ", i);
        if (insn->guard >= 0) {
            lg_str_printf(out, "@%s%s ", insn->guard_negated ? "!" : "",
                          function->regs[insn->guard].name);
        }
        dump_text(module, insn, out);
        for (int o = 0; o < insn->n_operands; o++) {
            if (insn->operands[o].kind == LG_OPERAND_LABEL) {
                lg_str_printf(out, " -> %llu", (unsigned long long)insn->operands[o].imm_bits);
            }
        }
        if (function->reconverge && function->reconverge[i] >= 0) {
            if (function->reconverge[i] == function->n_insns) {
                lg_str_add(out, ", meet at exit");
            } else {
                lg_str_printf(out, ", meet at %d", function->reconverge[i]);
            }
        }
        lg_str_printf(out, "  (line %d)\n", insn->line);
    }
}
