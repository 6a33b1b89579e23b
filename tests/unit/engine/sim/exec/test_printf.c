// SPDX-License-Identifier: Apache-2.0
// vprintf: each conversion against the host's printf, in lane order, and what a bad argument does.
#include "unit/engine/sim/rig.h"

// `args` stores the arguments at [%rd5 + …] (local memory, generic in %rd6).
static const struct {
    const char *name, *format, *args, *want;
} rows[] = {
    {"plain", "hello", "", "hello"},
    {"percent", "100%%|", "", "100%|"},
    {"d", "%d", "st.local.u32 [%rd5], -7;", "-7"},
    {"i with width", "[%6i]", "st.local.u32 [%rd5], 42;", "[    42]"},
    {"left", "[%-6d]", "st.local.u32 [%rd5], 42;", "[42    ]"},
    {"zeros and sign", "[%+06d]", "st.local.u32 [%rd5], 42;", "[+00042]"},
    {"u", "%u", "st.local.u32 [%rd5], 4294967295;", "4294967295"},
    {"x", "%x %X %#x",
     "st.local.u32 [%rd5], 255;\n st.local.u32 [%rd5+4], 171;\n"
     "st.local.u32 [%rd5+8], 16;",
     "ff AB 0x10"},
    {"o", "%o", "st.local.u32 [%rd5], 8;", "10"},
    {"c", "%c%c", "st.local.u32 [%rd5], 65;\n st.local.u32 [%rd5+4], 66;", "AB"},
    {"hd", "%hd", "st.local.u32 [%rd5], 65535;", "-1"},
    {"hhu", "%hhu", "st.local.u32 [%rd5], 511;", "255"},
    {"lld after d", "%d %lld",
     "st.local.u32 [%rd5], 1;\n mov.u64 %rd7, -5000000000;\n st.local.u64 [%rd5+8], %rd7;",
     "1 -5000000000"},
    {"ld", "%ld", "mov.u64 %rd7, 5000000000;\n st.local.u64 [%rd5], %rd7;", "5000000000"},
    {"llu", "%llu", "mov.u64 %rd7, -1;\n st.local.u64 [%rd5], %rd7;", "18446744073709551615"},
    {"zu", "%zu", "mov.u64 %rd7, 123;\n st.local.u64 [%rd5], %rd7;", "123"},
    {"f", "%f", "mov.f64 %fd1, 0d3FF8000000000000;\n st.local.f64 [%rd5], %fd1;", "1.500000"},
    {"precision", "%.2f|%8.3f",
     "mov.f64 %fd1, 0d400921FB54442D18;\n st.local.f64 [%rd5], %fd1;\n"
     "st.local.f64 [%rd5+8], %fd1;",
     "3.14|   3.142"},
    {"e", "%e", "mov.f64 %fd1, 0d40C3880000000000;\n st.local.f64 [%rd5], %fd1;", "1.000000e+04"},
    {"g", "%g", "mov.f64 %fd1, 0d3FB999999999999A;\n st.local.f64 [%rd5], %fd1;", "0.1"},
    {"a", "%a", "mov.f64 %fd1, 0d3FF8000000000000;\n st.local.f64 [%rd5], %fd1;", "0x1.8p+0"},
    {"inf and nan", "%f %f",
     "mov.f64 %fd1, 0d7FF0000000000000;\n st.local.f64 [%rd5], %fd1;\n"
     "mov.f64 %fd1, 0d7FF8000000000000;\n st.local.f64 [%rd5+8], %fd1;",
     "inf nan"},
    {"star", "[%*d]", "st.local.u32 [%rd5], 5;\n st.local.u32 [%rd5+4], 42;", "[   42]"},
    {"star, left and precision", "[%*.*f]",
     "st.local.u32 [%rd5], -8;\n st.local.u32 [%rd5+4], 1;\n mov.f64 %fd1, 0d3FF8000000000000;\n"
     "st.local.f64 [%rd5+8], %fd1;",
     "[1.5     ]"},
    {"s", "<%s>", "mov.u64 %rd7, word;\n cvta.global.u64 %rd7, %rd7;\n st.local.u64 [%rd5], %rd7;",
     "<word>"},
    {"s with precision", "<%.2s>",
     "mov.u64 %rd7, word;\n cvta.global.u64 %rd7, %rd7;\n st.local.u64 [%rd5], %rd7;", "<wo>"},
    {"p", "%p", "mov.u64 %rd7, 4096;\n st.local.u64 [%rd5], %rd7;", "0x1000"},
    {"unknown conversion", "%y %d", "st.local.u32 [%rd5], 3;", "%y 3"},
    {"ends in percent", "50%", "", "50%"},
};

static rig open_print(const char *format, const char *args, const char *tail) {
    lg_str globals = {0}, body = {0};
    lg_str_add(&globals, ".extern .func (.param .b32 r) vprintf (.param .b64 a, .param .b64 b);\n"
                         ".global .align 1 .b8 word[5] = {119, 111, 114, 100, 0};\n"
                         ".global .align 1 .b8 format[] = {");
    for (const char *c = format; *c; c++) {
        lg_str_printf(&globals, "%d, ", *c);
    }
    lg_str_add(&globals, "0};\n");
    lg_str_printf(
        &body,
        ".local .align 8 .b8 l[32];\n mov.u64 %%rd5, l;\n cvta.local.u64 %%rd6, %%rd5;\n%s\n"
        "mov.u64 %%rd1, format;\n cvta.global.u64 %%rd2, %%rd1;\n"
        "{\n .param .b64 a;\n st.param.b64 [a], %%rd2;\n .param .b64 b;\n"
        "st.param.b64 [b], %%rd6;\n .param .b32 r;\n call.uni (r), vprintf, (a, b);\n"
        "ld.param.b32 %%r9, [r];\n }\n%s ret;",
        args, tail);
    rig r = rig_kernel(lg_str_text(&globals), ".param .u64 p", lg_str_text(&body));
    lg_str_free(&globals);
    lg_str_free(&body);
    return r;
}

static void test_conversions(void) {
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rig r = open_print(rows[i].format, rows[i].args, "");
        uint64_t zero = 0;
        lg_sim_launch launch = rig_launch(1, 1, &zero, 8);
        lg_sim_result result = rig_run(&r, "k", &launch);
        LG_CHECK_ROW(rows[i].name, result.status == LG_SIM_OK);
        if (strcmp(result.log, rows[i].want) != 0) {
            fprintf(stderr, "\n    printed '%s'", result.log);
        }
        LG_CHECK_ROW(rows[i].name, strcmp(result.log, rows[i].want) == 0);
        lg_sim_result_free(&result);
        rig_close(&r);
    }
}

static void test_order_and_result(void) {
    rig r = open_print("%d %d\n",
                       "mov.u32 %r1, %tid.x;\n mov.u32 %r2, %ctaid.x;\n"
                       "st.local.v2.u32 [%rd5], {%r2, %r1};",
                       "ld.param.u64 %rd3, [p];\n st.global.u32 [%rd3], %r9;\n");
    uint64_t address = rig_buffer(&r, NULL, 4);
    lg_sim_launch launch = rig_launch(2, 35, &address, 8);
    lg_sim_result result = rig_run(&r, "k", &launch);
    lg_str want = {0};
    for (int block = 0; block < 2; block++) {
        for (int t = 0; t < 35; t++) {
            lg_str_printf(&want, "%d %d\n", block, t);
        }
    }
    CU_ASSERT_STRING_EQUAL(result.log, lg_str_text(&want));
    uint32_t n;
    rig_read(&r, address, &n, 4);
    CU_ASSERT_EQUAL(n, 2); // arguments
    lg_str_free(&want);
    lg_sim_result_free(&result);
    rig_close(&r);
}

static void test_bad_string(void) {
    rig r = open_print("<%s>", "mov.u64 %rd7, 64;\n st.local.u64 [%rd5], %rd7;", "");
    uint64_t zero = 0;
    lg_sim_launch launch = rig_launch(1, 1, &zero, 8);
    lg_sim_result result = rig_run(&r, "k", &launch);
    CU_ASSERT_EQUAL(result.status, LG_SIM_ILLEGAL_ADDRESS);
    CU_ASSERT_EQUAL(result.fault.address, 64);
    lg_sim_result_free(&result);
    rig_close(&r);
}

// A kernel that prints for ever fills the log up to its limit, and says so.
static void test_log_has_a_limit(void) {
    rig r = open_print("0123456789012345678901234567890123456789\n", "", "");
    uint64_t zero = 0;
    lg_sim_launch launch = rig_launch(300, 1024, &zero, 8);
    lg_sim_result result = rig_run(&r, "k", &launch);
    CU_ASSERT_EQUAL(result.status, LG_SIM_OK);
    CU_ASSERT_TRUE(strlen(result.log) < 9 << 20);
    CU_ASSERT_PTR_NOT_NULL(strstr(result.log + strlen(result.log) - 100, "was dropped"));
    lg_sim_result_free(&result);
    rig_close(&r);
}

int main(void) {
    static const lg_test tests[] = {
        {"conversions", test_conversions},
        {"order and result", test_order_and_result},
        {"bad string", test_bad_string},
        {"the log has a limit", test_log_has_a_limit},
    };
    return lg_run_tests(LG_SUITE, tests, sizeof tests / sizeof *tests);
}
