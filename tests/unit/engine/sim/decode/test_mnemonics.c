// SPDX-License-Identifier: Apache-2.0
// Every instruction that nvcc 13 emits for ordinary programs (emitted.def) runs in a program of its
// own, from PTX text to a checked number. A mnemonic of the list without a program fails.
#include "unit/engine/sim/program.h"

static const struct {
    const char *name;
} emitted[] = {
#define LG_EMITTED(name, n_programs, count) {name},
#include "unit/emitted.def"
#undef LG_EMITTED
};
enum { N_EMITTED = sizeof emitted / sizeof *emitted };

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
#include "unit/engine/sim/decode/mnemonic_rows.def"
#undef LG_MNEMONIC_ROW
#undef LG_SOURCES
};

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
    // What the list does not have.
    {"match.all.sync.b32", "",
     TID "match.all.sync.b32 %r2|%p2, 7, 0xffffffff;\nselp.b32 %r9, %r2, 1, %p2;\n" PUT, 32,
     0xffffffff, 0},
    {"redux.sync.add.s32", "", TID "redux.sync.add.s32 %r9, %r1, -1;\n" PUT, 32, 496, 0},
    {"redux.sync.max.u32", "", TID "redux.sync.max.u32 %r9, %r1, -1;\n" PUT, 32, 31, 0},
    {"redux.sync.xor.b32", "", TID "shl.b32 %r2, 1, %r1;\nredux.sync.xor.b32 %r9, %r2, -1;\n" PUT,
     32, 0xffffffff, 0},
    {"vote.sync.all.pred", "",
     TID "setp.lt.u32 %p2, %r1, 31;\nvote.sync.all.pred %p3, %p2, -1;\n"
         "selp.b32 %r9, 1, 2, %p3;\n" PUT,
     32, 2, 0},
    {"vote.sync.any.pred", "",
     TID "setp.eq.u32 %p2, %r1, 31;\nvote.sync.any.pred %p3, %p2, -1;\n"
         "selp.b32 %r9, 1, 2, %p3;\n" PUT,
     32, 1, 0},
    {"activemask.b32", "", TID "activemask.b32 %r9;\n" PUT, 20, 0xfffff, 0},
    {"elect.sync", "", TID "elect.sync %r9|%p2, 0xffffffff;\n" PUT, 32, 0, 0},
    {"bar.red.popc.u32", "", TID "setp.gt.u32 %p2, %r1, 10;\nbar.red.popc.u32 %r9, 0, %p2;\n" PUT,
     64, 53, 0},
    {"bar.red.and.pred", "",
     TID "setp.gt.u32 %p2, %r1, 10;\nbar.red.and.pred %p3, 0, %p2;\nselp.b32 %r9, 1, 2, %p3;\n" PUT,
     64, 2, 0},
    {"red.global.add.noftz.f16x2", "",
     "mov.b32 %r2, 0x3c004000;\nmov.b32 %r3, 0x40003c00;\nst.global.b32 [%rd1+64], %r2;\n"
     "red.global.add.noftz.f16x2 [%rd1+64], %r3;\n",
     1, 0x42004200, 0},
    {"red.shared.max.u64", "",
     TID ".shared .align 8 .b8 t[8];\ncvt.u64.u32 %rd2, %r1;\n@%p1 st.shared.u64 [t], 0;\n"
         "bar.sync 0;\nred.shared.max.u64 [t], %rd2;\nbar.sync 0;\nld.shared.u32 %r9, [t];\n" PUT,
     64, 63, 0},
    {"atom.shared.exch.b64", "",
     ".shared .align 8 .b8 t[8];\nst.shared.u64 [t], 5;\n"
     "atom.shared.exch.b64 %rd2, [t], 9;\nld.shared.u64 %rd3, [t];\nshl.b64 %rd3, %rd3, 8;\n"
     "or.b64 %rd2, %rd2, %rd3;\nst.global.u64 [%rd1+64], %rd2;\n",
     1, 0x905, 0},
};

// What the list does not have, or not in this way: registers wider than the type, packing.
static const struct {
    const char *name;
    const char *body; // puts its result into %r9, or %rd9 for all 64 bits
    uint64_t want;
} other_rows[] = {
    {"cvt.f32.f16", "mov.b32 %r2, 0xdead3c00;\ncvt.f32.f16 %r9, %r2;", 0x3f800000},
    {"cvt.f32.f16", "mov.b64 %rd2, 0x1234567890abc000;\ncvt.f32.f16 %rd9, %rd2;", 0xc0000000},
    {"cvt.f32.bf16", "mov.b32 %r2, 0x12344049;\ncvt.f32.bf16 %r9, %r2;", 0x40490000},
    {"cvt.rn.f16.f32", "mov.b32 %r9, -1;\ncvt.rn.f16.f32 %r9, 0f3FC00000;", 0x3e00},
    {"cvt.rn.f16.f64", "mov.b64 %rd9, -1;\ncvt.rn.f16.f64 %rd9, 0d3FF8000000000000;", 0x3e00},
    {"cvt.rzi.s32.f16", "mov.b32 %r2, 0xffffc580;\ncvt.rzi.s32.f16 %r9, %r2;", 0xfffffffb},
    {"cvt.rzi.s16.f32", "mov.b64 %rd2, 0x55555555c0b00000;\ncvt.rzi.s16.f32 %r9, %rd2;",
     0xfffffffb},
    {"cvt.rn.f16.s32", "mov.b32 %r2, -5;\nmov.b32 %r9, -1;\ncvt.rn.f16.s32 %r9, %r2;", 0xc500},
    {"cvt.rn.f32.s8", "mov.b64 %rd2, 0xabcdeffe;\ncvt.rn.f32.s8 %rd9, %rd2;", 0xc0000000},
    {"cvt.sat.f32.f32", "mov.b64 %rd2, 0x40000000;\ncvt.sat.f32.f32 %rd9, %rd2;", 0x3f800000},
    {"cvt.pack.sat.u16.s32",
     "mov.b32 %r2, 70000;\nmov.b32 %r3, -9;\ncvt.pack.sat.u16.s32 %r9, %r2, %r3;", 0xffff0000},
    {"cvt.pack.sat.s16.s32",
     "mov.b32 %r2, -40000;\nmov.b32 %r3, -9;\ncvt.pack.sat.s16.s32 %r9, %r2, %r3;", 0x8000fff7},
    {"cvt.pack.sat.u8.s32.b32",
     "mov.b32 %r2, 300;\nmov.b32 %r3, 7;\nmov.b32 %r4, 0x1234abcd;\n"
     "cvt.pack.sat.u8.s32.b32 %r9, %r2, %r3, %r4;",
     0xabcdff07},
    {"cvt.pack.sat.s8.s32.b32",
     "mov.b32 %r2, -300;\nmov.b32 %r3, -1;\n"
     "cvt.pack.sat.s8.s32.b32 %r9, %r2, %r3, 0x5678;",
     0x567880ff},
};

static bool check_other(size_t row) {
    program p = {0};
    lg_str_printf(&p.body, "mov.b64 %%rd9, 0;\nmov.b32 %%r9, 0;\n%s\n", other_rows[row].body);
    bool wide = strstr(other_rows[row].body, "%rd9");
    lg_str_add(&p.body,
               wide ? "st.global.b64 [%rd1+64], %rd9;\n" : "st.global.b32 [%rd1+64], %r9;\n");
    return run(&p, other_rows[row].name) && word(&p, OUT) == other_rows[row].want;
}

static bool check_control(size_t row) {
    program p = {.threads = control_rows[row].threads, .status = control_rows[row].status};
    for (size_t i = 0; i < OUT; i++) {
        p.before[i] = (uint8_t)i;
    }
    lg_str_add(&p.globals, control_rows[row].globals);
    lg_str_add(&p.body, control_rows[row].body);
    return run(&p, control_rows[row].name) && word(&p, OUT) == control_rows[row].want;
}

static void test_others(void) {
    for (size_t i = 0; i < sizeof other_rows / sizeof *other_rows; i++) {
        LG_CHECK_ROW(other_rows[i].name, check_other(i));
    }
    for (size_t i = 0; i < sizeof control_rows / sizeof *control_rows; i++) {
        LG_CHECK_ROW(control_rows[i].name, check_control(i));
    }
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
        {"what the list does not have", test_others},
    };
    return lg_run_tests(LG_SUITE, tests, sizeof tests / sizeof *tests);
}
