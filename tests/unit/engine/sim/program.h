// SPDX-License-Identifier: Apache-2.0
// Programs of one instruction: PTX text made around a mnemonic, run, and what it left in memory.
#ifndef LG_TESTS_ENGINE_SIM_PROGRAM_H
#define LG_TESTS_ENGINE_SIM_PROGRAM_H

#include "engine/ptx/mnemonic.h"
#include "unit/engine/sim/rig.h"

#include <inttypes.h>

enum { OUT = 64, AREA = 16, MAX_SOURCES = 5 };

// --- running a program

typedef struct program {
    lg_str globals, params, body;
    uint8_t before[128], after[128]; // the buffer at %rd1
    uint8_t area[AREA];              // second parameter where `params` declares one
    uint32_t threads;
    lg_sim_status status;
} program;

static inline bool has_insn(const lg_ptx_module *ptx, const char *name) {
    for (int f = 0; f < ptx->n_functions; f++) {
        for (int i = 0; i < ptx->functions[f].n_insns; i++) {
            if (strcmp(ptx->functions[f].insns[i].text, name) == 0) {
                return true;
            }
        }
    }
    return false;
}

// Runs it, and says whether it loaded, has the instruction and ended as it should.
static inline bool run(program *p, const char *name) {
    lg_str text = {0}, params = {0};
    lg_str_printf(&text, "ld.param.u64 %%rd1, [p];\n%s\nret;", lg_str_text(&p->body));
    lg_str_printf(&params, ".param .u64 p%s", lg_str_text(&p->params));
    const char *globals = p->globals.text ? lg_str_text(&p->globals) : "";
    rig r = rig_kernel(globals, lg_str_text(&params), lg_str_text(&text));
    lg_str_free(&text);
    lg_str_free(&params);
    struct {
        uint64_t address, unused;
        uint8_t area[AREA];
    } block = {.address = rig_buffer(&r, p->before, sizeof p->before)};
    memcpy(block.area, p->area, AREA);
    bool more = p->params.text != NULL;
    lg_sim_launch launch = rig_launch(1, p->threads ? p->threads : 1, &block, more ? 32 : 8);
    lg_sim_result result = rig_run(&r, "k", &launch);
    bool ok = result.status == p->status && has_insn(r.ptx, name);
    if (result.status != p->status) {
        fprintf(stderr, "\n    %s\n", result.fault.text ? result.fault.text : "no fault");
    }
    rig_read(&r, block.address, p->after, sizeof p->after);
    lg_sim_result_free(&result);
    rig_close(&r);
    lg_str_free(&p->globals);
    lg_str_free(&p->params);
    lg_str_free(&p->body);
    return ok;
}

static inline uint64_t word(const program *p, int at) {
    uint64_t value;
    memcpy(&value, p->after + at, sizeof value);
    return value;
}

static inline int register_bits(lg_ptx_type type) {
    int bytes = (int)lg_ptx_type_bytes(type);
    return type == LG_PTX_PRED ? 0 : bytes < 2 ? 16 : bytes * 8;
}

static inline void put_source(program *p, int i, int bits, uint64_t value) {
    if (bits == 0) {
        lg_str_printf(&p->body, ".reg .pred %%s%d;\nsetp.ne.u64 %%s%d, %" PRIu64 ", 0;\n", i, i,
                      value);
    } else {
        lg_str_printf(&p->body, ".reg .b%d %%s%d;\nmov.b%d %%s%d, 0x%" PRIx64 ";\n", bits, i, bits,
                      i, value);
    }
}

// --- loads and stores: 16 bytes of every space, as the mnemonic says

static const char *const areas[] = {
    [LG_SPACE_GENERIC] = "%rd1", [LG_SPACE_GLOBAL] = "%rd1", [LG_SPACE_SHARED] = "s",
    [LG_SPACE_LOCAL] = "l",      [LG_SPACE_CONST] = "c",     [LG_SPACE_PARAM] = "q",
};

static inline void fill_pattern(uint8_t *to) {
    for (int i = 0; i < AREA; i++) {
        to[i] = (uint8_t)(0x81 + 37 * i);
    }
}

static inline void copy_area(program *p, const char *from, const char *from_space, const char *to,
                             const char *to_space) {
    for (int i = 0; i < AREA; i += 4) {
        lg_str_printf(&p->body, "ld%s.b32 %%r1, [%s+%d];\nst%s.b32 [%s+%d], %%r1;\n", from_space,
                      from, i, to_space, to, i);
    }
}

// Declares the area of a space; true when it is a copy of what %rd1 points to.
static inline bool declare_area(program *p, lg_ptx_space space) {
    if (space == LG_SPACE_SHARED || space == LG_SPACE_LOCAL) {
        const char *name = space == LG_SPACE_SHARED ? ".shared" : ".local";
        lg_str_printf(&p->body, "%s .align 16 .b8 %s[16];\n", name, areas[space]);
        return true;
    }
    if (space == LG_SPACE_PARAM) {
        lg_str_add(&p->params, ", .param .align 16 .b8 q[16]");
    } else if (space == LG_SPACE_CONST) {
        lg_str_add(&p->globals, ".const .align 16 .b8 c[16] = {");
        for (int i = 0; i < AREA; i++) {
            lg_str_printf(&p->globals, "%s%d", i ? ", " : "", p->area[i]);
        }
        lg_str_add(&p->globals, "};");
    }
    return false;
}

static inline void list_registers(program *p, char letter, int n, int bits) {
    lg_str_add(&p->body, n > 1 ? "{" : "");
    for (int i = 0; i < n; i++) {
        lg_str_printf(&p->body, "%s%%%c%d_%d", i ? ", " : "", letter, bits, i);
    }
    lg_str_add(&p->body, n > 1 ? "}" : "");
}

static inline bool check_load(const lg_ptx_mnemonic *m) {
    program p = {0};
    int n = m->mods.vec ? m->mods.vec : 1, bytes = (int)lg_ptx_type_bytes(m->types[0]);
    int bits = bytes > 4 ? 64 : 32; // registers wider than the type show how it is extended
    bool sign = m->types[0] == LG_PTX_S8 || m->types[0] == LG_PTX_S16 || m->types[0] == LG_PTX_S32;
    fill_pattern(p.before);
    fill_pattern(p.area);
    const char *area = areas[m->mods.space];
    if (declare_area(&p, m->mods.space)) {
        copy_area(&p, "%rd1", ".global", area, area[0] == 's' ? ".shared" : ".local");
    }
    lg_str_printf(&p.body, ".reg .b%d %%v%d_<4>;\n%s ", bits, bits, m->text);
    list_registers(&p, 'v', n, bits);
    lg_str_printf(&p.body, ", [%s];\n", area);
    for (int i = 0; i < n; i++) {
        lg_str_printf(&p.body, "st.global.b%d [%%rd1+%d], %%v%d_%d;\n", bits, OUT + 8 * i, bits, i);
    }
    bool ok = run(&p, m->text);
    for (int i = 0; i < n; i++) {
        uint64_t want = 0;
        memcpy(&want, p.area + i * bytes, (size_t)bytes);
        if (sign && want >> (8 * bytes - 1)) {
            want |= ~UINT64_C(0) << (8 * bytes);
        }
        ok = ok && word(&p, OUT + 8 * i) == (bits == 32 ? (uint32_t)want : want);
    }
    return ok;
}

static inline bool check_store(const lg_ptx_mnemonic *m) {
    program p = {0};
    int n = m->mods.vec ? m->mods.vec : 1, bytes = (int)lg_ptx_type_bytes(m->types[0]);
    int bits = bytes > 4 ? 64 : 32;
    const char *area = areas[m->mods.space];
    uint8_t want[AREA];
    fill_pattern(p.before);
    fill_pattern(want);
    bool copied = declare_area(&p, m->mods.space);
    const char *space = area[0] == 's' ? ".shared" : ".local";
    if (copied) {
        copy_area(&p, "%rd1", ".global", area, space);
    }
    lg_str_printf(&p.body, ".reg .b%d %%v%d_<4>;\n", bits, bits);
    for (int i = 0; i < n; i++) {
        uint64_t value = UINT64_C(0xf1e2d3c4b5a69788) * (uint64_t)(2 * i + 1);
        value = bits == 32 ? (uint32_t)value : value;
        memcpy(want + i * bytes, &value, (size_t)bytes);
        lg_str_printf(&p.body, "mov.b%d %%v%d_%d, 0x%" PRIx64 ";\n", bits, bits, i, value);
    }
    lg_str_printf(&p.body, "%s [%s], ", m->text, area);
    list_registers(&p, 'v', n, bits);
    lg_str_add(&p.body, ";\n");
    if (copied) {
        copy_area(&p, area, space, "%rd1", ".global");
    }
    return run(&p, m->text) && memcmp(p.after, want, AREA) == 0;
}

// st.param hands a value to a function, which hands it back.
static inline bool check_argument(const lg_ptx_mnemonic *m) {
    program p = {0};
    const char *type = lg_ptx_type_name(m->types[0]);
    int bits = (int)lg_ptx_type_bytes(m->types[0]) * 8;
    uint64_t value = bits == 64 ? UINT64_C(0xf1e2d3c4b5a69788) : 0xf1e2d3c4u;
    lg_str_printf(
        &p.globals,
        ".func (.param .%s r) f(.param .%s a)\n{\n.reg .b%d %%v;\nld.param.b%d %%v, [a];\n"
        "xor.b%d %%v, %%v, 1;\nst.param.b%d [r], %%v;\nret;\n}\n",
        type, type, bits, bits, bits, bits);
    lg_str_printf(&p.body, ".reg .b%d %%v, %%w;\nmov.b%d %%v, 0x%" PRIx64 ";\n{\n", bits, bits,
                  value);
    lg_str_printf(&p.body,
                  ".param .%s q;\n.param .%s z;\n%s [q], %%v;\ncall.uni (z), f, (q);\n"
                  "ld.param.b%d %%w, [z];\n}\nst.global.b%d [%%rd1+%d], %%w;\n",
                  type, type, m->text, bits, bits, OUT);
    return run(&p, m->text) && word(&p, OUT) == (value ^ 1);
}

static inline bool check_access(const char *name) {
    lg_arena arena = {0};
    const lg_ptx_mnemonic *m = lg_ptx_read_mnemonic(&arena, name, strlen(name));
    bool ok = !m->problem && (m->op == LG_OP_LD                 ? check_load(m)
                              : m->mods.space == LG_SPACE_PARAM ? check_argument(m)
                                                                : check_store(m));
    lg_arena_free(&arena);
    return ok;
}

#endif
