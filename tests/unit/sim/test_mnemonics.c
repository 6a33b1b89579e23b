// SPDX-License-Identifier: Apache-2.0
// Every instruction that nvcc 13 emits for ordinary programs (emitted.def) runs in a program of its
// own, from PTX text to a checked number. A mnemonic of the list without a program fails.
#include "engine/ptx/mnemonic.h"
#include "unit/sim/rig.h"

#include <inttypes.h>

enum { OUT = 64, AREA = 16, MAX_SOURCES = 5 };

static const struct {
    const char *name;
} emitted[] = {
#define LG_EMITTED(name, n_programs, count) {name},
#include "unit/sim/emitted.def"
#undef LG_EMITTED
};
enum { N_EMITTED = sizeof emitted / sizeof *emitted };

// --- running a program

typedef struct program {
    lg_str globals, params, body;
    uint8_t before[128], after[128]; // the buffer at %rd1
    uint8_t area[AREA];              // second parameter where `params` declares one
    uint32_t threads;
    lg_sim_status status;
} program;

static bool has_insn(const lg_ptx_module *ptx, const char *name) {
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
static bool run(program *p, const char *name) {
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

static uint64_t word(const program *p, int at) {
    uint64_t value;
    memcpy(&value, p->after + at, sizeof value);
    return value;
}

// --- registers

static const struct {
    const char *name;
    uint64_t sources[MAX_SOURCES];
    uint64_t result, slack;
    const char *before;
    int carry;
} lane_rows[] = {
#define LG_SOURCES(...)                                                                            \
    { __VA_ARGS__ }
#define LG_MNEMONIC_ROW(name, sources, result, slack, before, carry)                               \
    {name, sources, result, slack, before, carry},
#include "unit/sim/mnemonic_rows.def"
#undef LG_MNEMONIC_ROW
#undef LG_SOURCES
};

static int register_bits(lg_ptx_type type) {
    int bytes = (int)lg_ptx_type_bytes(type);
    return type == LG_PTX_PRED ? 0 : bytes < 2 ? 16 : bytes * 8;
}

static void put_source(program *p, int i, int bits, uint64_t value) {
    if (bits == 0) {
        lg_str_printf(&p->body, ".reg .pred %%s%d;\nsetp.ne.u64 %%s%d, %" PRIu64 ", 0;\n", i, i,
                      value);
    } else {
        lg_str_printf(&p->body, ".reg .b%d %%s%d;\nmov.b%d %%s%d, 0x%" PRIx64 ";\n", bits, i, bits,
                      i, value);
    }
}

static bool check_lane_row(size_t row) {
    lg_arena arena = {0};
    const char *name = lane_rows[row].name;
    const lg_ptx_mnemonic *m = lg_ptx_read_mnemonic(&arena, name, strlen(name));
    bool is_mov = m->op == LG_OP_MOV;
    program p = {0};
    lg_str operands = {0};
    lg_ptx_type to = m->types[0];
    int n = 0;
    for (int i = 0; i < m->n_slots; i++) {
        if (m->slots[i].role == LG_SLOT_DEST) {
            to = m->slots[i].type;
        } else if (m->slots[i].immediate) {
            lg_str_printf(&operands, ", %" PRIu64, lane_rows[row].sources[n++]);
        } else {
            put_source(&p, n, register_bits(m->slots[i].type), lane_rows[row].sources[n]);
            lg_str_printf(&operands, ", %%s%d", n++);
        }
    }
    if (is_mov) {
        put_source(&p, 0, register_bits(to), lane_rows[row].sources[0]);
        lg_str_add(&operands, ", %s0");
    }
    int bits = register_bits(to);
    lg_str_printf(&p.body, ".reg .b32 %%x, %%c;\n%s\n", lane_rows[row].before);
    if (bits == 0) {
        lg_str_printf(&p.body, ".reg .pred %%d;\n%s %%d%s;\nselp.b32 %%x, 1, 0, %%d;\n", name,
                      lg_str_text(&operands));
        lg_str_printf(&p.body, "st.global.b32 [%%rd1+%d], %%x;\n", OUT);
    } else {
        lg_str_printf(&p.body, ".reg .b%d %%d;\n%s %%d%s;\naddc.u32 %%c, 0, 0;\n", bits, name,
                      lg_str_text(&operands));
        lg_str_printf(&p.body, "st.global.b%d [%%rd1+%d], %%d;\nst.global.b32 [%%rd1+%d], %%c;\n",
                      bits, OUT, OUT + 8);
    }
    bool ok = run(&p, name);
    uint64_t got = word(&p, OUT), want = lane_rows[row].result;
    uint64_t off = got > want ? got - want : want - got;
    int carry = lane_rows[row].carry;
    ok = ok && off <= lane_rows[row].slack && (carry < 0 || word(&p, OUT + 8) == (uint64_t)carry);
    if (!ok) {
        fprintf(stderr, "\n    %s gives %" PRIx64 ", not %" PRIx64 "\n", name, got, want);
    }
    lg_str_free(&operands);
    lg_arena_free(&arena);
    return ok;
}

// --- loads and stores: 16 bytes of every space, as the mnemonic says

static const char *const areas[] = {
    [LG_SPACE_GENERIC] = "%rd1", [LG_SPACE_GLOBAL] = "%rd1", [LG_SPACE_SHARED] = "s",
    [LG_SPACE_LOCAL] = "l",      [LG_SPACE_CONST] = "c",     [LG_SPACE_PARAM] = "q",
};

static void fill_pattern(uint8_t *to) {
    for (int i = 0; i < AREA; i++) {
        to[i] = (uint8_t)(0x81 + 37 * i);
    }
}

static void copy_area(program *p, const char *from, const char *from_space, const char *to,
                      const char *to_space) {
    for (int i = 0; i < AREA; i += 4) {
        lg_str_printf(&p->body, "ld%s.b32 %%r1, [%s+%d];\nst%s.b32 [%s+%d], %%r1;\n", from_space,
                      from, i, to_space, to, i);
    }
}

// Declares the area of a space; true when it is a copy of what %rd1 points to.
static bool declare_area(program *p, lg_ptx_space space) {
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

static void list_registers(program *p, char letter, int n, int bits) {
    lg_str_add(&p->body, n > 1 ? "{" : "");
    for (int i = 0; i < n; i++) {
        lg_str_printf(&p->body, "%s%%%c%d_%d", i ? ", " : "", letter, bits, i);
    }
    lg_str_add(&p->body, n > 1 ? "}" : "");
}

static bool check_load(const lg_ptx_mnemonic *m) {
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

static bool check_store(const lg_ptx_mnemonic *m) {
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
static bool check_argument(const lg_ptx_mnemonic *m) {
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

static bool check_access(const char *name) {
    lg_arena arena = {0};
    const lg_ptx_mnemonic *m = lg_ptx_read_mnemonic(&arena, name, strlen(name));
    bool ok = !m->problem && (m->op == LG_OP_LD                 ? check_load(m)
                              : m->mods.space == LG_SPACE_PARAM ? check_argument(m)
                                                                : check_store(m));
    lg_arena_free(&arena);
    return ok;
}

// --- atomics: one thread, what was there and what is there then

static const struct {
    const char *name;
    uint64_t old, b, c, after; // c: the third operand of cas
} atomic_rows[] = {
    {"atom.global.add.u32", 0xfffffff0, 0x21, 0, 0x11},
    {"atom.global.add.u64", 0xfffffffffffffff0, 0x21, 0, 0x11},
    {"atom.global.add.f32", 0x3fc00000, 0x40100000, 0, 0x40700000}, // 1.5 + 2.25
    {"atom.global.add.f64", 0x3ff8000000000000, 0x4002000000000000, 0, 0x400e000000000000},
    {"atom.shared.add.u32", 7, 8, 0, 15},
    {"atom.shared.add.f32", 0x3fc00000, 0x40100000, 0, 0x40700000},
    {"atom.shared.add.f64", 0x3ff8000000000000, 0x4002000000000000, 0, 0x400e000000000000},
    {"atom.global.max.s32", 0xfffffff0, 5, 0, 5},
    {"atom.global.min.s32", 0xfffffff0, 5, 0, 0xfffffff0},
    {"atom.global.max.u32", 0xfffffff0, 5, 0, 0xfffffff0},
    {"atom.global.min.u32", 0xfffffff0, 5, 0, 5},
    {"atom.global.max.u64", 0xfffffffff0, 0x1fffffffff0, 0, 0x1fffffffff0},
    {"atom.global.and.b32", 0xff00ff00, 0x0ff00ff0, 0, 0x0f000f00},
    {"atom.global.or.b32", 0xff00ff00, 0x0ff00ff0, 0, 0xfff0fff0},
    {"atom.global.xor.b32", 0xff00ff00, 0x0ff00ff0, 0, 0xf0f0f0f0},
    {"atom.global.xor.b64", 0xff00000000000001, 0x0f, 0, 0xff0000000000000e},
    {"atom.global.exch.b32", 5, 9, 0, 9},
    {"atom.global.inc.u32", 5, 5, 0, 0},
    {"atom.global.inc.u32", 4, 5, 0, 5},
    {"atom.global.dec.u32", 0, 5, 0, 5},
    {"atom.global.dec.u32", 3, 5, 0, 2},
    {"atom.global.cas.b32", 5, 5, 8, 8},
    {"atom.global.cas.b32", 6, 5, 8, 6},
    {"atom.global.cas.b64", 0x500000001, 0x500000001, 0x800000002, 0x800000002},
    {"atom.cas.b32", 5, 5, 8, 8},
};

static bool check_atomic(size_t row) {
    lg_arena arena = {0};
    const char *name = atomic_rows[row].name;
    const lg_ptx_mnemonic *m = lg_ptx_read_mnemonic(&arena, name, strlen(name));
    program p = {0};
    int bits = (int)lg_ptx_type_bytes(m->types[0]) * 8;
    const char *area = areas[m->mods.space];
    memcpy(p.before, &atomic_rows[row].old, 8);
    bool copied = declare_area(&p, m->mods.space);
    if (copied) {
        copy_area(&p, "%rd1", ".global", area, ".shared");
    }
    put_source(&p, 0, bits, atomic_rows[row].b);
    put_source(&p, 1, bits, atomic_rows[row].c);
    lg_str_printf(&p.body,
                  ".reg .b%d %%d;\n%s %%d, [%s], %%s0%s;\nst.global.b%d [%%rd1+%d], %%d;\n", bits,
                  name, area, m->mods.sub == LG_SUB_CAS ? ", %s1" : "", bits, OUT);
    if (copied) {
        copy_area(&p, area, ".shared", "%rd1", ".global");
    }
    bool ok = run(&p, name) && word(&p, 0) == atomic_rows[row].after &&
              word(&p, OUT) == atomic_rows[row].old;
    lg_arena_free(&arena);
    return ok;
}

// --- control and exchanges between threads: thread 0 writes one number

#define TID "mov.u32 %r1, %tid.x;\nsetp.eq.u32 %p1, %r1, 0;\n"
#define PUT "@%p1 st.global.u32 [%rd1+64], %r9;\n"
// Each thread leaves its number in shared memory, thread 0 reads that of thread 63.
#define MEET(barrier)                                                                              \
    TID ".shared .align 4 .b8 t[256];\nmov.u32 %r2, t;\nmad.lo.s32 %r3, %r1, 4, %r2;\n"            \
        "st.shared.u32 [%r3], %r1;\n" barrier "\nld.shared.u32 %r9, [t+252];\n" PUT

static const struct {
    const char *name;
    const char *globals, *body;
    uint32_t threads;
    uint64_t want;
    lg_sim_status status;
} control_rows[] = {
    {"bra", "", TID "mov.u32 %r9, 1;\n@%p1 bra L;\nmov.u32 %r9, 2;\nL:\n" PUT, 32, 1, 0},
    {"bra", "", // a loop, and lanes that leave it at different times
     TID "mov.u32 %r9, 0;\nmov.u32 %r2, %r1;\nT: add.s32 %r9, %r9, 3;\nadd.s32 %r2, %r2, 1;\n"
         "setp.lt.s32 %p2, %r2, 10;\n@%p2 bra T;\n" PUT,
     32, 30, 0},
    {"bra.uni", "", TID "mov.u32 %r9, 1;\nbra.uni L;\nmov.u32 %r9, 2;\nL:\n" PUT, 32, 1, 0},
    {"ret", "", TID "mov.u32 %r9, 4;\n" PUT "ret;\nst.global.u32 [%rd1+64], %r1;\n", 32, 4, 0},
    {"call.uni",
     ".func (.param .b32 d) twice(.param .b32 a)\n{\n.reg .b32 %v;\nld.param.b32 %v, [a];\n"
     "add.s32 %v, %v, %v;\nst.param.b32 [d], %v;\nret;\n}\n",
     TID "{\n.param .b32 a;\n.param .b32 d;\nst.param.b32 [a], 21;\n"
         "call.uni (d), twice, (a);\nld.param.b32 %r9, [d];\n}\n" PUT,
     32, 42, 0},
    {"trap", "", "mov.u32 %r9, 1;\nst.global.u32 [%rd1+64], %r9;\ntrap;\n", 1, 1, LG_SIM_TRAP},
    {"bar.sync", "", MEET("bar.sync 0;"), 64, 63, 0},
    {"barrier.sync", "", MEET("barrier.sync 3;"), 64, 63, 0},
    {"bar.warp.sync", "", MEET("bar.sync 0;\nbar.warp.sync 0xffffffff;"), 64, 63, 0},
    {"membar.gl", "", MEET("membar.gl;\nbar.sync 0;"), 64, 63, 0},
    {"cvta.to.global.u64", "",
     TID "cvta.to.global.u64 %rd2, %rd1;\nld.global.u32 %r9, [%rd2];\n" PUT, 1, 0x03020100, 0},
    {"cvta.global.u64", ".global .align 4 .u32 g = 77;\n",
     TID "mov.u64 %rd2, g;\ncvta.global.u64 %rd2, %rd2;\nld.u32 %r9, [%rd2];\n" PUT, 1, 77, 0},
    {"cvta.shared.u64", "",
     TID ".shared .align 4 .b8 t[8];\nst.shared.u32 [t+4], 99;\nmov.u64 %rd2, t;\n"
         "cvta.shared.u64 %rd2, %rd2;\nld.u32 %r9, [%rd2+4];\n" PUT,
     1, 99, 0},
    {"shfl.sync.bfly.b32", "", TID "shfl.sync.bfly.b32 %r9, %r1, 5, 31, -1;\n" PUT, 32, 5, 0},
    {"shfl.sync.down.b32", "", TID "shfl.sync.down.b32 %r9, %r1, 7, 31, -1;\n" PUT, 32, 7, 0},
    {"shfl.sync.idx.b32", "", TID "shfl.sync.idx.b32 %r9, %r1, 19, 31, -1;\n" PUT, 32, 19, 0},
    {"shfl.sync.up.b32", "", // lane 0 gets lane 6's number through lane 9's
     TID "shfl.sync.up.b32 %r2, %r1, 3, 0, -1;\nshfl.sync.idx.b32 %r9, %r2, 9, 31, -1;\n" PUT, 32,
     6, 0},
    {"vote.sync.ballot.b32", "",
     TID "setp.gt.u32 %p2, %r1, 27;\nvote.sync.ballot.b32 %r9, %p2, -1;\n" PUT, 32, 0xf0000000, 0},
    {"match.any.sync.b64", "",
     TID "and.b32 %r2, %r1, 3;\ncvt.u64.u32 %rd2, %r2;\nshl.b64 %rd2, %rd2, 40;\n"
         "match.any.sync.b64 %r9, %rd2, -1;\n" PUT,
     32, 0x11111111, 0},
};

static bool check_control(size_t row) {
    program p = {.threads = control_rows[row].threads, .status = control_rows[row].status};
    for (size_t i = 0; i < OUT; i++) {
        p.before[i] = (uint8_t)i;
    }
    lg_str_add(&p.globals, control_rows[row].globals);
    lg_str_add(&p.body, control_rows[row].body);
    return run(&p, control_rows[row].name) && word(&p, OUT) == control_rows[row].want;
}

// --- the list

// Runs every program of the mnemonic; how many there were.
static int run_programs(const char *name) {
    int n = 0;
    for (size_t i = 0; i < sizeof lane_rows / sizeof *lane_rows; i++) {
        if (strcmp(lane_rows[i].name, name) == 0) {
            LG_CHECK_ROW(name, check_lane_row(i));
            n++;
        }
    }
    for (size_t i = 0; i < sizeof atomic_rows / sizeof *atomic_rows; i++) {
        if (strcmp(atomic_rows[i].name, name) == 0) {
            LG_CHECK_ROW(name, check_atomic(i));
            n++;
        }
    }
    for (size_t i = 0; i < sizeof control_rows / sizeof *control_rows; i++) {
        if (strcmp(control_rows[i].name, name) == 0) {
            LG_CHECK_ROW(name, check_control(i));
            n++;
        }
    }
    if (strncmp(name, "ld.", 3) == 0 || strncmp(name, "st.", 3) == 0) {
        LG_CHECK_ROW(name, check_access(name));
        n++;
    }
    return n;
}

static void test_emitted(void) {
    CU_ASSERT_TRUE(N_EMITTED > 380);
    for (size_t i = 0; i < N_EMITTED; i++) {
        LG_CHECK_ROW(emitted[i].name, run_programs(emitted[i].name) > 0);
    }
    CU_ASSERT_EQUAL(run_programs("tex.2d.v4.f32.s32"), 0); // one without a program is seen
}

int main(void) {
    static const lg_test tests[] = {
        {"what nvcc emits runs", test_emitted},
    };
    return lg_run_tests("sim mnemonics", tests, sizeof tests / sizeof *tests);
}
