// SPDX-License-Identifier: Apache-2.0
// Device asserts: the line of every failing lane, what goes on after it and what does not.
#include "unit/engine/sim/rig.h"

#define GLOBALS                                                                                    \
    ".extern .func __assertfail(.param .b64 a, .param .b64 b, .param .b32 c, .param .b64 d,"       \
    " .param .b64 e);\n"                                                                           \
    ".global .align 1 .b8 expr[6] = {116, 32, 60, 32, 51, 0};\n"                                   \
    ".global .align 1 .b8 file[5] = {107, 46, 99, 117, 0};\n"                                      \
    ".global .align 1 .b8 func[9] = {118, 111, 105, 100, 32, 107, 40, 41, 0};\n"
#define FAIL                                                                                       \
    "mov.u64 %rd11, expr;\n cvta.global.u64 %rd11, %rd11;\n mov.u64 %rd12, file;\n"                \
    "cvta.global.u64 %rd12, %rd12;\n mov.u64 %rd13, func;\n cvta.global.u64 %rd13, %rd13;\n"       \
    "{\n .param .b64 a;\n st.param.b64 [a], %rd11;\n .param .b64 b;\n st.param.b64 [b], %rd12;\n"  \
    ".param .b32 c;\n st.param.b32 [c], 41;\n .param .b64 d;\n st.param.b64 [d], %rd13;\n"         \
    ".param .b64 e;\n st.param.b64 [e], 1;\n call.uni __assertfail, (a, b, c, d, e);\n }\n"
#define BEGIN                                                                                      \
    "ld.param.u64 %rd1, [p];\n mov.u32 %r1, %tid.x;\n mov.u32 %r2, %ctaid.x;\n"                    \
    "mov.u32 %r3, %ntid.x;\n mad.lo.u32 %r4, %r2, %r3, %r1;\n"                                     \
    "mad.wide.u32 %rd2, %r4, 4, %rd1;\n"

static void expect_line(const char **at, int block, int thread) {
    char line[160];
    snprintf(line, sizeof line,
             "k.cu:41: void k(): block: [%d,0,0], thread: [%d,0,0] Assertion `t < 3` failed.\n",
             block, thread);
    CU_ASSERT_EQUAL(strncmp(*at, line, strlen(line)), 0);
    *at += strlen(line);
}

static void test_every_failing_lane_prints(void) {
    rig r =
        rig_kernel(GLOBALS, ".param .u64 p",
                   BEGIN "rem.u32 %r5, %r4, 40;\n setp.ne.u32 %p1, %r5, 5;\n @%p1 bra OK;\n" FAIL
                         "OK: st.global.u32 [%rd2], 1;\n ret;");
    enum { THREADS = 64, BLOCKS = 3 };
    uint32_t got[THREADS * BLOCKS];
    uint64_t address = rig_buffer(&r, NULL, sizeof got);
    lg_sim_launch launch = rig_launch(BLOCKS, THREADS, &address, 8);
    lg_sim_result result = rig_run(&r, "k", &launch);
    CU_ASSERT_EQUAL(result.status, LG_SIM_ASSERT);
    CU_ASSERT_EQUAL(result.fault.kind, LG_DEVICE_FAULT_ASSERT);
    CU_ASSERT_PTR_NOT_NULL(strstr(result.fault.text, "assertion `t < 3` failed, in k (PTX line"));
    CU_ASSERT_TRUE(result.fault.thread[0] == 5 && result.fault.block[0] == 0);
    const char *at = result.log;
    expect_line(&at, 0, 5);
    expect_line(&at, 0, 45);
    expect_line(&at, 1, 21);
    expect_line(&at, 1, 61);
    expect_line(&at, 2, 37);
    CU_ASSERT_STRING_EQUAL(at, "");
    // The warps of those threads are gone, the others have run to their end.
    rig_read(&r, address, got, sizeof got);
    for (int i = 0; i < THREADS * BLOCKS; i++) {
        int warp = i / 32;
        bool failed = warp == 0 || warp == 1 || warp == 2 || warp == 3 || warp == 5;
        CU_ASSERT_EQUAL(got[i], failed ? 0 : 1);
    }
    lg_sim_result_free(&result);
    rig_close(&r);
}

static void test_whole_warp_prints_in_lane_order(void) {
    rig r = rig_kernel(GLOBALS, ".param .u64 p", BEGIN FAIL "ret;");
    uint64_t zero = 0;
    lg_sim_launch launch = rig_launch(1, 32, &zero, 8);
    lg_sim_result result = rig_run(&r, "k", &launch);
    CU_ASSERT_EQUAL(result.status, LG_SIM_ASSERT);
    const char *at = result.log;
    for (int t = 0; t < 32; t++) {
        expect_line(&at, 0, t);
    }
    CU_ASSERT_STRING_EQUAL(at, "");
    lg_sim_result_free(&result);
    rig_close(&r);
}

static void test_flood_is_bounded(void) {
    rig r = rig_kernel(GLOBALS, ".param .u64 p", BEGIN FAIL "ret;");
    uint64_t zero = 0;
    lg_sim_launch launch = rig_launch(1000, 256, &zero, 8);
    lg_sim_result result = rig_run(&r, "k", &launch);
    CU_ASSERT_EQUAL(result.status, LG_SIM_ASSERT);
    int n = 0;
    for (const char *c = result.log; *c; c++) {
        n += *c == '\n';
    }
    CU_ASSERT_EQUAL(n, 1024);
    lg_sim_result_free(&result);
    rig_close(&r);
}

// A warp that ended in an assert counts as arrived at the barrier the others wait at; what fails
// after it does not hide it.
static void test_what_comes_after(void) {
    static const struct {
        const char *name, *after;
    } rows[] = {
        {"barrier", "OK: bar.sync 0;\n ret;"},
        {"bad access", "OK: bar.sync 0;\n ld.global.u32 %r9, [%rd9];\n ret;"},
        {"hang", "OK: bra.uni OK;\n"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        lg_str body = {0};
        lg_str_printf(&body, "%ssetp.ne.u32 %%p1, %%r1, 40;\n @%%p1 bra OK;\n%s%s", BEGIN, FAIL,
                      rows[i].after);
        rig r = rig_kernel(GLOBALS, ".param .u64 p", lg_str_text(&body));
        lg_str_free(&body);
        uint64_t zero = 0;
        lg_sim_launch launch = rig_launch(1, 96, &zero, 8);
        launch.budget = 10000;
        launch.schedule = i == 2 ? 3 : 0;
        lg_sim_result result = rig_run(&r, "k", &launch);
        LG_CHECK_ROW(rows[i].name, result.status == LG_SIM_ASSERT);
        LG_CHECK_ROW(rows[i].name, result.fault.kind == LG_DEVICE_FAULT_ASSERT);
        LG_CHECK_ROW(rows[i].name, result.fault.thread[0] == 40);
        const char *at = result.log;
        expect_line(&at, 0, 40);
        LG_CHECK_ROW(rows[i].name, *at == '\0');
        lg_sim_result_free(&result);
        rig_close(&r);
    }
}

int main(void) {
    static const lg_test tests[] = {
        {"every failing lane prints", test_every_failing_lane_prints},
        {"a whole warp prints in lane order", test_whole_warp_prints_in_lane_order},
        {"a flood is bounded", test_flood_is_bounded},
        {"what comes after", test_what_comes_after},
    };
    return lg_run_tests(LG_SUITE, tests, sizeof tests / sizeof *tests);
}
