// SPDX-License-Identifier: Apache-2.0
// Calls: arguments and results of every size, recursion, function pointers, divergence in callees,
// and what cannot be called.
#include "unit/engine/sim/rig.h"

static const char functions[] =
    ".func (.param .b32 r) twice(.param .b32 a) {\n .reg .b32 %r<3>;\n ld.param.u32 %r1, [a];\n"
    " shl.b32 %r2, %r1, 1;\n st.param.b32 [r], %r2;\n ret;\n}\n"
    ".func (.param .b32 r) plus_one(.param .b32 a) {\n .reg .b32 %r<3>;\n ld.param.u32 %r1, [a];\n"
    " add.u32 %r2, %r1, 1;\n st.param.b32 [r], %r2;\n ret;\n}\n"
    // Returns early for odd lanes.
    ".func (.param .b32 r) collatz(.param .b32 a) {\n .reg .b32 %r<6>;\n .reg .pred %p<3>;\n"
    " ld.param.u32 %r1, [a];\n and.b32 %r2, %r1, 1;\n setp.eq.u32 %p1, %r2, 0;\n"
    " @%p1 bra EVEN;\n mad.lo.u32 %r3, %r1, 3, 1;\n st.param.b32 [r], %r3;\n ret;\n"
    "EVEN: shr.u32 %r4, %r1, 1;\n st.param.b32 [r], %r4;\n ret;\n}\n"
    // The sum 1 + … + n by recursion, each level with its own local memory.
    ".func (.param .b32 r) sum_to(.param .b32 a) {\n .local .align 4 .b8 l[16];\n .reg .b32 "
    "%r<8>;\n"
    " .reg .pred %p<2>;\n .reg .b64 %rd<4>;\n ld.param.u32 %r1, [a];\n mov.u64 %rd1, l;\n"
    " st.local.u32 [%rd1+4], %r1;\n mov.u32 %r4, 0;\n setp.eq.u32 %p1, %r1, 0;\n"
    " @%p1 bra DONE;\n sub.u32 %r2, %r1, 1;\n"
    " {\n .param .b32 pa;\n st.param.b32 [pa], %r2;\n .param .b32 pr;\n"
    " call.uni (pr), sum_to, (pa);\n ld.param.b32 %r3, [pr];\n }\n"
    " ld.local.u32 %r5, [%rd1+4];\n add.u32 %r4, %r3, %r5;\nDONE: st.param.b32 [r], %r4;\n "
    "ret;\n}\n"
    // Two results through a struct, arguments of every width.
    ".func (.param .align 8 .b8 r[16]) mixed(.param .b64 a, .param .b32 b, .param .align 4 .b8 "
    "c[8],"
    " .param .b64 d) {\n .reg .b32 %r<8>;\n .reg .b64 %rd<8>;\n .reg .f64 %fd<4>;\n"
    " ld.param.u64 %rd1, [a];\n ld.param.u32 %r1, [b];\n ld.param.u32 %r2, [c];\n"
    " ld.param.u32 %r3, [c+4];\n ld.param.f64 %fd1, [d];\n add.f64 %fd2, %fd1, %fd1;\n"
    " add.u32 %r4, %r1, %r2;\n add.u32 %r4, %r4, %r3;\n cvt.u64.u32 %rd2, %r4;\n"
    " add.u64 %rd3, %rd1, %rd2;\n st.param.b64 [r], %rd3;\n st.param.f64 [r+8], %fd2;\n ret;\n}\n"
    ".func nothing() {\n ret;\n}\n"
    ".global .align 8 .u64 table[3] = {twice, plus_one, collatz};\n";

#define BEGIN "ld.param.u64 %rd1, [p];\n mov.u32 %r1, %tid.x;\n mad.wide.u32 %rd3, %r1, 4, %rd1;\n"
#define CALL(target)                                                                               \
    "{\n .param .b32 pa;\n st.param.b32 [pa], %r1;\n .param .b32 pr;\n call (pr), " target         \
    ", (pa);\n ld.param.b32 %r9, [pr];\n }\n"
#define CALL_POINTER                                                                               \
    "{\n .param .b32 pa;\n st.param.b32 [pa], %r1;\n .param .b32 pr;\n"                            \
    "proto: .callprototype (.param .b32 _) _ (.param .b32 _);\n"                                   \
    "call (pr), %rd6, (pa), proto;\n ld.param.b32 %r9, [pr];\n }\n"
#define END "st.global.u32 [%rd3], %r9;\n ret;"

static uint32_t twice(uint32_t t) {
    return 2 * t;
}
static uint32_t collatz(uint32_t t) {
    return t & 1 ? 3 * t + 1 : t / 2;
}
static uint32_t sum_to(uint32_t t) {
    return t * (t + 1) / 2;
}
static uint32_t by_table(uint32_t t) {
    return t % 3 == 0 ? 2 * t : t % 3 == 1 ? t + 1 : collatz(t);
}
static uint32_t some(uint32_t t) {
    return t < 7 ? 2 * t : 5;
}
static uint32_t some_by_table(uint32_t t) {
    return t & 4 ? by_table(t) : 5;
}

static const struct {
    const char *name, *body;
    uint32_t (*expected)(uint32_t);
} rows[] = {
    {"direct", BEGIN CALL("twice") END, twice},
    {"divergent returns", BEGIN CALL("collatz") END, collatz},
    {"recursion of another depth a lane", BEGIN CALL("sum_to") END, sum_to},
    {"by pointer", BEGIN "ld.global.u64 %rd6, [table];\n" CALL_POINTER END, twice},
    {"by pointer from mov", BEGIN "mov.u64 %rd6, collatz;\n" CALL_POINTER END, collatz},
    {"another pointer a lane",
     BEGIN "rem.u32 %r2, %r1, 3;\n mov.u64 %rd5, table;\n mad.wide.u32 %rd5, %r2, 8, %rd5;\n"
           "ld.global.u64 %rd6, [%rd5];\n" CALL_POINTER END,
     by_table},
    {"in a divergent branch",
     BEGIN "mov.u32 %r9, 5;\n setp.ge.u32 %p1, %r1, 7;\n @%p1 bra OUT;\n" CALL("twice") "OUT: " END,
     some},
    {"pointers in a divergent branch",
     BEGIN "mov.u32 %r9, 5;\n and.b32 %r4, %r1, 4;\n setp.eq.u32 %p1, %r4, 0;\n @%p1 bra OUT;\n"
           "rem.u32 %r2, %r1, 3;\n mov.u64 %rd5, table;\n mad.wide.u32 %rd5, %r2, 8, %rd5;\n"
           "ld.global.u64 %rd6, [%rd5];\n" CALL_POINTER "OUT: " END,
     some_by_table},
    {"without arguments",
     BEGIN "shl.b32 %r9, %r1, 1;\n call.uni nothing, ();\n call.uni nothing;\n" END, twice},
};

static void test_results(void) {
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rig r = rig_kernel(functions, ".param .u64 p", rows[i].body);
        uint32_t got[64];
        uint64_t address = rig_buffer(&r, NULL, sizeof got);
        lg_sim_launch launch = rig_launch(1, 64, &address, 8);
        rig_ok(&r, &launch);
        rig_read(&r, address, got, sizeof got);
        for (uint32_t t = 0; t < 64; t++) {
            LG_CHECK_ROW(rows[i].name, got[t] == rows[i].expected(t));
        }
        rig_close(&r);
    }
}

static void test_mixed_arguments(void) {
    rig r = rig_kernel(
        functions, ".param .u64 p",
        "ld.param.u64 %rd1, [p];\n mov.u32 %r1, %tid.x;\n mad.wide.u32 %rd3, %r1, 16, %rd1;\n"
        "cvt.u64.u32 %rd4, %r1;\n shl.b64 %rd4, %rd4, 33;\n cvt.rn.f64.u32 %fd1, %r1;\n"
        "{\n .param .b64 a;\n st.param.b64 [a], %rd4;\n .param .b32 b;\n st.param.b32 [b], 1000;\n"
        ".param .align 4 .b8 c[8];\n st.param.b32 [c], %r1;\n st.param.b32 [c+4], 7;\n"
        ".param .b64 d;\n st.param.f64 [d], %fd1;\n .param .align 8 .b8 r[16];\n"
        "call.uni (r), mixed, (a, b, c, d);\n ld.param.b64 %rd5, [r];\n"
        "ld.param.f64 %fd2, [r+8];\n }\n"
        "st.global.u64 [%rd3], %rd5;\n st.global.f64 [%rd3+8], %fd2;\n ret;");
    struct {
        uint64_t sum;
        double twice;
    } got[40];
    uint64_t address = rig_buffer(&r, NULL, sizeof got);
    lg_sim_launch launch = rig_launch(1, 40, &address, 8);
    rig_ok(&r, &launch);
    rig_read(&r, address, got, sizeof got);
    for (uint64_t t = 0; t < 40; t++) {
        CU_ASSERT_EQUAL(got[t].sum, (t << 33) + 1000 + t + 7);
        CU_ASSERT_EQUAL(got[t].twice, 2.0 * (double)t);
    }
    rig_close(&r);
}

static const struct {
    const char *name, *body;
    lg_device_fault_kind kind;
    lg_sim_status status;
} bad_rows[] = {
    {"endless recursion", "mov.u32 %r1, 0xffffffff;\n" CALL("sum_to") "ret;",
     LG_DEVICE_FAULT_STACK_OVERFLOW, LG_SIM_STACK_OVERFLOW},
    {"null pointer", "mov.u64 %rd6, 0;\n" CALL_POINTER "ret;", LG_DEVICE_FAULT_BAD_CALL,
     LG_SIM_ILLEGAL_INSTRUCTION},
    {"data as a function", "mov.u64 %rd6, table;\n" CALL_POINTER "ret;", LG_DEVICE_FAULT_BAD_CALL,
     LG_SIM_ILLEGAL_INSTRUCTION},
    {"another signature", "mov.u64 %rd6, mixed;\n" CALL_POINTER "ret;", LG_DEVICE_FAULT_BAD_CALL,
     LG_SIM_ILLEGAL_INSTRUCTION},
    {"an entry",
     "mov.u64 %rd6, table;\n ld.global.u64 %rd6, [%rd6];\n add.s64 %rd6, %rd6, 8;\n" CALL_POINTER
     "ret;",
     LG_DEVICE_FAULT_BAD_CALL, LG_SIM_ILLEGAL_INSTRUCTION},
};

static void test_bad_calls(void) {
    for (size_t i = 0; i < sizeof bad_rows / sizeof *bad_rows; i++) {
        rig r = rig_kernel(functions, "", bad_rows[i].body);
        lg_sim_launch launch = rig_launch(1, 32, NULL, 0);
        lg_sim_result result = rig_run(&r, "k", &launch);
        LG_CHECK_ROW(bad_rows[i].name, result.status == bad_rows[i].status);
        LG_CHECK_ROW(bad_rows[i].name, result.has_fault && result.fault.kind == bad_rows[i].kind);
        lg_sim_result_free(&result);
        rig_close(&r);
    }
}

int main(void) {
    static const lg_test tests[] = {
        {"results", test_results},
        {"mixed arguments", test_mixed_arguments},
        {"bad calls", test_bad_calls},
    };
    return lg_run_tests(LG_SUITE, tests, sizeof tests / sizeof *tests);
}
