// SPDX-License-Identifier: Apache-2.0
// atom and red: every operation and type on one place that all lanes of several warps update.
#include "unit/engine/sim/rig.h"

#include <math.h>

static uint64_t f32_bits(float value) {
    uint32_t bits;
    memcpy(&bits, &value, 4);
    return bits;
}
static uint64_t f64_bits(double value) {
    uint64_t bits;
    memcpy(&bits, &value, 8);
    return bits;
}

// 64 threads; thread t applies the operation with operand `operand` (PTX that sets %rd5 from t in
// %rd4).
static const struct {
    const char *name;
    const char *op;      // after "atom.<space>."
    const char *operand; // sets %rd5
    int bytes;
    uint64_t before;
    uint64_t after;
    uint64_t old_of_thread_1;
} rows[] = {
    {"add.u32", "add.u32", "mov.b64 %rd5, %rd4;", 4, 5, 5 + 2016, 5},
    {"add.s32", "add.s32", "neg.s64 %rd5, %rd4;", 4, 5, (uint32_t)(5 - 2016), 5},
    {"add.u64", "add.u64", "shl.b64 %rd5, %rd4, 32;", 8, 7, 7 + (UINT64_C(2016) << 32), 7},
    {"min.s32", "min.s32", "sub.s64 %rd5, 20, %rd4;", 4, 10, (uint32_t)-43, 10},
    {"max.s32", "max.s32", "sub.s64 %rd5, %rd4, 100;", 4, (uint32_t)-50, (uint32_t)-37,
     (uint32_t)-50},
    {"min.u32", "min.u32", "add.s64 %rd5, %rd4, 3;", 4, 0xffffffff, 3, 3},
    {"max.u32", "max.u32", "mov.b64 %rd5, %rd4;", 4, 5, 63, 5},
    {"min.s64", "min.s64", "neg.s64 %rd5, %rd4;", 8, 0, (uint64_t)-63, 0},
    {"max.s64", "max.s64", "neg.s64 %rd5, %rd4;", 8, (uint64_t)-5, 0, 0},
    {"max.u64", "max.u64", "shl.b64 %rd5, %rd4, 40;", 8, 1, UINT64_C(63) << 40, 1},
    {"min.u64", "min.u64", "add.s64 %rd5, %rd4, 9;", 8, UINT64_MAX, 9, 9},
    {"inc.u32", "inc.u32", "mov.b64 %rd5, 9;", 4, 0, 4, 1},
    {"dec.u32", "dec.u32", "mov.b64 %rd5, 9;", 4, 0, 6, 9},
    {"and.b32", "and.b32", "mov.b64 %rd5, 0xff0f;", 4, 0xfffff, 0xff0f, 0xff0f},
    {"or.b32", "or.b32", "mov.b64 %rd5, %rd4;", 4, 0x80, 0xbf, 0x80},
    {"xor.b64", "xor.b64", "shl.b64 %rd5, 1, 35;\n add.s64 %rd5, %rd5, %rd4;", 8, 1, 1,
     1 | UINT64_C(1) << 35},
    {"and.b64", "and.b64", "not.b64 %rd5, 1;", 8, 0xff, 0xfe, 0xfe},
    {"or.b64", "or.b64", "shl.b64 %rd5, %rd4, 33;", 8, 1, (UINT64_C(63) << 33) | 1, 1},
    {"xor.b32", "xor.b32", "mov.b64 %rd5, 3;", 4, 1, 1, 2},
    {"exch.b32", "exch.b32", "mov.b64 %rd5, %rd4;", 4, 77, 63, 0},
    {"exch.b64", "exch.b64", "shl.b64 %rd5, %rd4, 32;", 8, 77, UINT64_C(63) << 32, 0},
};

static void run_row(size_t i, const char *space, bool shared, bool reduce) {
    lg_str body = {0};
    char width = rows[i].bytes == 8 ? 'd' : ' ';
    const char *reg = width == 'd' ? "%rd6" : "%r6", *from = width == 'd' ? "%rd5" : "%r5";
    const char *bits = width == 'd' ? "b64" : "b32";
    lg_str_printf(
        &body,
        ".shared .align 8 .b8 s[8];\n ld.param.u64 %%rd1, [p];\n ld.param.u64 %%rd2, [q];\n"
        "mov.u32 %%r1, %%tid.x;\n cvt.u64.u32 %%rd4, %%r1;\n%s\n cvt.u32.u64 %%r5, %%rd5;\n"
        "setp.eq.u32 %%p1, %%r1, 0;\n mov.b64 %%rd7, %%rd1;\n",
        rows[i].operand);
    if (shared) {
        lg_str_printf(&body,
                      "mov.u64 %%rd7, s;\n%s"
                      "ld.global.u64 %%rd8, [%%rd1];\n @%%p1 st.shared.u64 [s], %%rd8;\n"
                      "bar.sync 0;\n",
                      space[0] ? "" : "cvta.shared.u64 %rd7, %rd7;\n");
    }
    if (reduce) {
        lg_str_printf(&body, "red%s.%s [%%rd7], %s;\n", space, rows[i].op, from);
    } else {
        lg_str_printf(&body, "atom%s.%s %s, [%%rd7], %s;\n", space, rows[i].op, reg, from);
    }
    lg_str_printf(&body,
                  "mad.wide.u32 %%rd2, %%r1, 8, %%rd2;\n st.global.%s [%%rd2], %s;\n bar.sync 0;\n",
                  bits, reg);
    if (shared) {
        lg_str_add(&body, "ld.shared.u64 %rd8, [s];\n @%p1 st.global.u64 [%rd1], %rd8;\n");
    }
    lg_str_add(&body, "ret;");
    rig r = rig_kernel("", ".param .u64 p, .param .u64 q", lg_str_text(&body));
    lg_str_free(&body);
    uint64_t olds[64];
    uint64_t params[2] = {rig_buffer(&r, &rows[i].before, 8), rig_buffer(&r, NULL, sizeof olds)};
    lg_sim_launch launch = rig_launch(1, 64, params, sizeof params);
    rig_ok(&r, &launch);
    uint64_t after;
    rig_read(&r, params[0], &after, 8);
    rig_read(&r, params[1], olds, sizeof olds);
    LG_CHECK_ROW(rows[i].name, after == rows[i].after);
    if (!reduce) {
        LG_CHECK_ROW(rows[i].name, olds[0] == rows[i].before);
        LG_CHECK_ROW(rows[i].name, olds[1] == rows[i].old_of_thread_1);
    }
    rig_close(&r);
}

static void test_integers(void) {
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        run_row(i, ".global", false, false);
        run_row(i, "", false, false);
        run_row(i, ".shared", true, false);
        run_row(i, "", true, false);
        if (strncmp(rows[i].op, "exch", 4) != 0) {
            run_row(i, ".global", false, true);
            run_row(i, ".shared", true, true);
        }
    }
}

// One thread, one update: floating-point results bit by bit.
static const struct {
    const char *name;
    const char *op;
    const char *type; // of the register: h, r or rd
    const char *bits;
    int bytes;
    uint64_t place, operand, after;
} float_rows[] = {
    {"f32", "atom.global.add.f32", "r", "b32", 4, 0x3fc00000, 0x40100000, 0x40700000},
    {"f32 rounds to even", "atom.global.add.f32", "r", "b32", 4, 0x4b800000, 0x3f800000,
     0x4b800000},
    {"f32 global flushes", "atom.global.add.f32", "r", "b32", 4, 0x00000001, 0x00000001, 0},
    {"f64", "atom.global.add.f64", "rd", "b64", 8, 0x3ff8000000000000, 0x4002000000000000,
     0x400e000000000000},
    {"f64 subnormal", "atom.global.add.f64", "rd", "b64", 8, 1, 2, 3},
    {"f16", "atom.global.add.noftz.f16", "h", "b16", 2, 0x3e00, 0x4080, 0x4380},
    {"f16 rounds to even", "atom.global.add.noftz.f16", "h", "b16", 2, 0x6800, 0x3c00, 0x6800},
    {"f16 subnormal", "atom.global.add.noftz.f16", "h", "b16", 2, 1, 1, 2},
    {"f16x2", "atom.global.add.noftz.f16x2", "r", "b32", 4, 0x3c003e00, 0xbc004080, 0x00004380},
    {"bf16", "atom.global.add.noftz.bf16", "h", "b16", 2, 0x3fc0, 0x4010, 0x4070},
    {"bf16x2", "atom.global.add.noftz.bf16x2", "r", "b32", 4, 0x3f803fc0, 0x3f804010, 0x40004070},
    {"red f32", "red.global.add.f32", "r", "b32", 4, 0x3fc00000, 0x40100000, 0x40700000},
    {"red f64", "red.global.add.f64", "rd", "b64", 8, 0x3ff8000000000000, 0x4002000000000000,
     0x400e000000000000},
};

static void test_floats(void) {
    for (size_t i = 0; i < sizeof float_rows / sizeof *float_rows; i++) {
        const char *t = float_rows[i].type, *bits = float_rows[i].bits;
        lg_str body = {0};
        lg_str_printf(&body,
                      "ld.param.u64 %%rd1, [p];\n ld.param.u64 %%rd2, [q];\n"
                      "ld.global.%s %%%s5, [%%rd2];\n%s ",
                      bits, t, float_rows[i].op);
        if (strncmp(float_rows[i].op, "red", 3) == 0) {
            lg_str_printf(&body, "[%%rd1], %%%s5;\nret;", t);
        } else {
            lg_str_printf(&body, "%%%s6, [%%rd1], %%%s5;\n st.global.%s [%%rd2], %%%s6;\nret;", t,
                          t, bits, t);
        }
        rig r = rig_kernel("", ".param .u64 p, .param .u64 q", lg_str_text(&body));
        lg_str_free(&body);
        uint64_t params[2] = {rig_buffer(&r, &float_rows[i].place, 8),
                              rig_buffer(&r, &float_rows[i].operand, 8)};
        lg_sim_launch launch = rig_launch(1, 1, params, sizeof params);
        rig_ok(&r, &launch);
        uint64_t after, old;
        rig_read(&r, params[0], &after, 8);
        rig_read(&r, params[1], &old, 8);
        LG_CHECK_ROW(float_rows[i].name, after == float_rows[i].after);
        if (strncmp(float_rows[i].op, "atom", 4) == 0) {
            LG_CHECK_ROW(float_rows[i].name, old == float_rows[i].place);
        }
        rig_close(&r);
    }
    CU_ASSERT_EQUAL(f32_bits(3.75f), 0x40700000); // what the rows mean
    CU_ASSERT_EQUAL(f64_bits(3.75), 0x400e000000000000);
}

// f32 in shared memory keeps subnormal values.
static void test_shared_f32_keeps_subnormals(void) {
    rig r = rig_kernel("", ".param .u64 p",
                       ".shared .align 4 .b8 s[4];\n ld.param.u64 %rd1, [p];\n"
                       "st.shared.b32 [s], 1;\n mov.b32 %f1, 2;\n"
                       "atom.shared.add.f32 %f2, [s], %f1;\n ld.shared.b32 %r1, [s];\n"
                       "st.global.b32 [%rd1], %r1;\n ret;");
    uint32_t got;
    uint64_t address = rig_buffer(&r, NULL, 4);
    lg_sim_launch launch = rig_launch(1, 1, &address, 8);
    rig_ok(&r, &launch);
    rig_read(&r, address, &got, 4);
    CU_ASSERT_EQUAL(got, 3);
    rig_close(&r);
}

// A lock-free maximum by cas, many threads, in every width.
static void test_cas(void) {
    static const struct {
        const char *name, *ptx_type, *reg, *convert;
        int bytes;
    } widths[] = {
        {"b32", "b32", "r", "mov.b32 %r5, %r1;", 4},
        {"b64", "b64", "rd", "cvt.u64.u32 %rd5, %r1;", 8},
        {"b16", "b16", "h", "cvt.u16.u32 %h5, %r1;", 2},
    };
    for (size_t i = 0; i < sizeof widths / sizeof *widths; i++) {
        const char *g = widths[i].reg, *t = widths[i].ptx_type;
        lg_str body = {0};
        lg_str_printf(
            &body,
            "ld.param.u64 %%rd1, [p];\n mov.u32 %%r1, %%tid.x;\n add.u32 %%r1, %%r1, 1;\n%s\n"
            "ld.global.%s %%%s6, [%%rd1];\n"
            "TOP: add.u%d %%%s7, %%%s6, %%%s5;\n"
            "atom.global.cas.%s %%%s8, [%%rd1], %%%s6, %%%s7;\n"
            "setp.eq.u%d %%p1, %%%s8, %%%s6;\n mov.%s %%%s6, %%%s8;\n @!%%p1 bra TOP;\n"
            "ret;",
            widths[i].convert, t, g, widths[i].bytes * 8, g, g, g, t, g, g, g, widths[i].bytes * 8,
            g, g, t, g, g);
        rig r = rig_kernel("", ".param .u64 p", lg_str_text(&body));
        lg_str_free(&body);
        uint64_t address = rig_buffer(&r, NULL, 8), after;
        lg_sim_launch launch = rig_launch(1, 64, &address, 8);
        rig_ok(&r, &launch);
        rig_read(&r, address, &after, 8);
        LG_CHECK_ROW(widths[i].name, after == 64 * 65 / 2);
        rig_close(&r);
    }
}

static void test_half_min_max(void) {
    static const struct {
        const char *name, *op;
        uint16_t place, operand, after;
    } half_rows[] = {
        {"min", "min.noftz.f16", 0x3c00, 0xbc00, 0xbc00},
        {"max", "max.noftz.f16", 0x3c00, 0xbc00, 0x3c00},
        {"max of NaN", "max.noftz.f16", 0x7e00, 0x3c00, 0x3c00},
        {"min of zeros", "min.noftz.f16", 0x0000, 0x8000, 0x8000},
        {"max of zeros", "max.noftz.f16", 0x8000, 0x0000, 0x0000},
    };
    for (size_t i = 0; i < sizeof half_rows / sizeof *half_rows; i++) {
        lg_str body = {0};
        lg_str_printf(&body,
                      "ld.param.u64 %%rd1, [p];\n mov.b16 %%h1, 0x%x;\n"
                      "atom.global.%s %%h2, [%%rd1], %%h1;\n ret;",
                      half_rows[i].operand, half_rows[i].op);
        rig r = rig_load("");
        rig_close(&r);
        lg_str text = {0};
        lg_str_printf(&text,
                      PTX_HEADER ".entry k(.param .u64 p) { .reg .b16 %%h<4>; .reg .b64 %%rd<2>;"
                                 "%s }",
                      lg_str_text(&body));
        r = rig_load(lg_str_text(&text));
        lg_str_free(&body);
        lg_str_free(&text);
        if (!r.module) { // the checker may hold this form to a newer target: then it must say so
            CU_ASSERT_TRUE(r.diags.n_errors > 0);
            rig_close(&r);
            continue;
        }
        uint16_t after;
        uint64_t address = rig_buffer(&r, &half_rows[i].place, 2);
        lg_sim_launch launch = rig_launch(1, 1, &address, 8);
        rig_ok(&r, &launch);
        rig_read(&r, address, &after, 2);
        LG_CHECK_ROW(half_rows[i].name, after == half_rows[i].after);
        rig_close(&r);
    }
}

int main(void) {
    static const lg_test tests[] = {
        {"integers", test_integers},
        {"floats", test_floats},
        {"shared f32 keeps subnormals", test_shared_f32_keeps_subnormals},
        {"cas", test_cas},
        {"half min and max", test_half_min_max},
    };
    return lg_run_tests(LG_SUITE, tests, sizeof tests / sizeof *tests);
}
