// SPDX-License-Identifier: Apache-2.0
// Helpers of the PTX tests: load a text, and print what the AST says about an instruction.
#ifndef LG_TESTS_ENGINE_PTX_PTX_TEXT_H
#define LG_TESTS_ENGINE_PTX_PTX_TEXT_H

#include "engine/ptx/ptx.h"

#include <stdio.h>
#include <string.h>

// Lines 1 to 3 of every test module.
#define PTX_HEADER ".version 9.0\n.target sm_75\n.address_size 64\n"

// Registers of every width for bodies of one statement, on lines 4 to 7.
#define PTX_KERNEL                                                                                 \
    PTX_HEADER                                                                                     \
    ".global .align 16 .b8 g[64]; .shared .b8 sh[64]; .const .f32 cc; .extern .shared .b8 "        \
    "dyn[];\n"                                                                                     \
    ".func (.param .b32 r) f(.param .b32 a, .param .b64 b);\n"                                     \
    ".visible .entry k(.param .u64 p0, .param .f32 p1) {\n"                                        \
    ".reg .pred %p<5>; .reg .b16 %h<5>; .reg .b32 %r<5>; .reg .b64 %rd<5>; .reg .f32 %f<5>;"       \
    " .reg .f64 %fd<5>; .reg .s32 %s<5>; .local .align 8 .b8 lo[16];\n"

static inline lg_ptx_module *load_text(const char *text, lg_diags *diags) {
    return lg_ptx_load("t.ptx", text, strlen(text), diags);
}

// Says why on stderr when it does not load.
static inline lg_ptx_module *load_or_print(const char *text) {
    lg_diags diags = {0};
    lg_ptx_module *module = load_text(text, &diags);
    if (!module) {
        fputc('\n', stderr);
        lg_diags_print(&diags, stderr);
    }
    lg_diags_free(&diags);
    return module;
}

static inline void print_operand(const lg_ptx_module *module, const lg_ptx_function *function,
                                 const lg_ptx_operand *operand, lg_str *out);

static inline void print_elements(const lg_ptx_module *module, const lg_ptx_function *function,
                                  const lg_ptx_operand *operand, const char *between, lg_str *out) {
    for (int i = 0; i < operand->n_elements; i++) {
        lg_str_add(out, i ? between : "");
        print_operand(module, function, &operand->elements[i], out);
    }
}

static inline const lg_ptx_symbol *symbol_at(const lg_ptx_module *module,
                                             const lg_ptx_function *function,
                                             const lg_ptx_operand *operand) {
    return operand->symbol_is_local ? &function->symbols[operand->symbol]
                                    : &module->symbols[operand->symbol];
}

// reg:%r1  int:5  f32:3f800000  f64:…  sym:g+4  mem[%rd1+4]  label:7  func:f  sreg:%tid.x  {…} (…)
// p|q _
static inline void print_operand(const lg_ptx_module *module, const lg_ptx_function *function,
                                 const lg_ptx_operand *operand, lg_str *out) {
    lg_str_add(out, operand->negated ? "!" : "");
    switch (operand->kind) {
    case LG_OPERAND_NONE:
        lg_str_add(out, "none");
        break;
    case LG_OPERAND_REG:
        lg_str_add(out, function->regs[operand->reg].name);
        break;
    case LG_OPERAND_INT:
        lg_str_printf(out, "int:%lld", (long long)operand->imm_bits);
        break;
    case LG_OPERAND_F32:
        lg_str_printf(out, "f32:%08llx", (unsigned long long)operand->imm_bits);
        break;
    case LG_OPERAND_F64:
        lg_str_printf(out, "f64:%016llx", (unsigned long long)operand->imm_bits);
        break;
    case LG_OPERAND_SYMBOL:
        lg_str_printf(out, "sym:%s%s%+lld", operand->symbol_is_local ? "local:" : "",
                      symbol_at(module, function, operand)->name, (long long)operand->offset);
        break;
    case LG_OPERAND_MEM:
        lg_str_add(out, "[");
        if (operand->reg >= 0) {
            lg_str_add(out, function->regs[operand->reg].name);
        }
        if (operand->symbol >= 0) {
            lg_str_add(out, symbol_at(module, function, operand)->name);
        }
        lg_str_printf(out, "%+lld]", (long long)operand->offset);
        break;
    case LG_OPERAND_LABEL:
        lg_str_printf(out, "label:%llu", (unsigned long long)operand->imm_bits);
        break;
    case LG_OPERAND_FUNC:
        lg_str_printf(out, "func:%s", module->functions[operand->imm_bits].name);
        break;
    case LG_OPERAND_SREG:
        lg_str_printf(out, "sreg:%s", lg_ptx_sreg_name(operand->sreg));
        break;
    case LG_OPERAND_VECTOR:
        lg_str_add(out, "{");
        print_elements(module, function, operand, ", ", out);
        lg_str_add(out, "}");
        break;
    case LG_OPERAND_PAIR:
        print_elements(module, function, operand, "|", out);
        break;
    case LG_OPERAND_SINK:
        lg_str_add(out, "_");
        break;
    case LG_OPERAND_LIST:
        lg_str_add(out, "(");
        print_elements(module, function, operand, ", ", out);
        lg_str_add(out, ")");
        break;
    }
}

static inline void print_mods(const lg_ptx_mods *mods, lg_str *out) {
    static const char *const subs[] = {
        "",       "lo",        "hi",   "wide",   "add",      "min",    "max",
        "inc",    "dec",       "and",  "or",     "xor",      "exch",   "cas",
        "popc",   "up",        "down", "bfly",   "idx",      "all",    "any",
        "uni",    "ballot",    "l",    "r",      "f4e",      "b4e",    "rc8",
        "ecl",    "ecr",       "rc16", "finite", "infinite", "number", "notanumber",
        "normal", "subnormal", "sync", "arrive", "red",      "warp"};
    static const char *const cmps[] = {"",    "eq",  "ne",  "lt",  "le",  "gt",  "ge",
                                       "lo",  "ls",  "hi",  "hs",  "equ", "neu", "ltu",
                                       "leu", "gtu", "geu", "num", "nan"};
    static const char *const rounds[] = {"",    "rn",  "rz",  "rm",  "rp",
                                         "rni", "rzi", "rmi", "rpi", "rna"};
    static const char *const spaces[] = {"", "global", "shared", "local", "const", "param"};
    static const char *const orders[] = {"",        "weak",    "volatile", "relaxed",
                                         "acquire", "release", "acq_rel",  "sc"};
    static const char *const scopes[] = {"", "cta", "cluster", "gpu", "sys"};
    const struct {
        bool set;
        const char *name;
    } flags[] = {
        {mods->ftz, "ftz"},       {mods->sat, "sat"},
        {mods->approx, "approx"}, {mods->full, "full"},
        {mods->to, "to"},         {mods->uni, "uni"},
        {mods->sync, "sync"},     {mods->aligned, "aligned"},
        {mods->cc, "cc"},         {mods->wrap, "wrap"},
        {mods->clamp, "clamp"},   {mods->shiftamt, "shiftamt"},
        {mods->nc, "nc"},         {mods->noftz, "noftz"},
        {mods->nan, "NaN"},       {mods->xorsign, "xorsign"},
        {mods->relu, "relu"},     {mods->satfinite, "satfinite"},
        {mods->pack, "pack"},     {mods->entry_param, "entry"},
    };
    const struct {
        const char *what;
        const char *value;
    } fields[] = {{"sub", subs[mods->sub]},       {"cmp", cmps[mods->cmp]},
                  {"bool", subs[mods->bool_op]},  {"round", rounds[mods->round]},
                  {"space", spaces[mods->space]}, {"order", orders[mods->order]},
                  {"scope", scopes[mods->scope]}};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        if (fields[i].value[0]) {
            lg_str_printf(out, " %s=%s", fields[i].what, fields[i].value);
        }
    }
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        if (flags[i].set) {
            lg_str_printf(out, " %s", flags[i].name);
        }
    }
    if (mods->vec) {
        lg_str_printf(out, " v%d", mods->vec);
    }
}

// "@!%p1 setp s32 cmp=lt: %p1, %r1, int:5"
static inline void print_insn(const lg_ptx_module *module, const lg_ptx_function *function,
                              int index, lg_str *out) {
    const lg_ptx_insn *insn = &function->insns[index];
    if (insn->guard >= 0) {
        lg_str_printf(out, "@%s%s ", insn->guard_negated ? "!" : "",
                      function->regs[insn->guard].name);
    }
    lg_str_add(out, lg_ptx_op_name(insn->op));
    for (int i = 0; i < insn->n_types; i++) {
        lg_str_printf(out, " %s", lg_ptx_type_name(insn->types[i]));
    }
    print_mods(&insn->mods, out);
    lg_str_add(out, ":");
    for (int i = 0; i < insn->n_operands; i++) {
        lg_str_add(out, i ? ", " : " ");
        print_operand(module, function, &insn->operands[i], out);
    }
}

#endif
