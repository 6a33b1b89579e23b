// SPDX-License-Identifier: Apache-2.0
// What LG_SIM_CHECK_INIT and LG_SIM_CHECK_RACE find, and what they must not find.
#include "unit/engine/sim/rig.h"

#define S                                                                                          \
    ".shared .align 4 .b8 s[1024];\n mov.u32 %r1, %tid.x;\n mov.u32 %r2, s;\n"                     \
    "mad.lo.u32 %r3, %r1, 4, %r2;\n"                                                               \
    "xor.b32 %r4, %r1, 63;\n mad.lo.u32 %r5, %r4, 4, %r2;\n"

static const struct {
    const char *name, *body;
    uint32_t threads;
    bool race;
    int line; // of the body after S, from 1: the later access, warps running in order
} races[] = {
    {"barrier between", S "st.shared.u32 [%r3], %r1;\nbar.sync 0;\nld.shared.u32 %r6, [%r5];\nret;",
     64, false, 0},
    {"no barrier", S "st.shared.u32 [%r3], %r1;\nld.shared.u32 %r6, [%r5];\nret;", 64, true, 1},
    {"within one warp, nothing between",
     S "st.shared.u32 [%r3], %r1;\nxor.b32 %r4, %r1, 31;\n"
       "mad.lo.u32 %r5, %r4, 4, %r2;\nld.shared.u32 %r6, [%r5];\nret;",
     32, true, 4},
    {"within one warp, bar.warp.sync between",
     S "st.shared.u32 [%r3], %r1;\nxor.b32 %r4, %r1, 31;\n"
       "mad.lo.u32 %r5, %r4, 4, %r2;\nbar.warp.sync -1;\nld.shared.u32 %r6, [%r5];\nret;",
     32, false, 0},
    {"within one warp, a barrier between",
     S "st.shared.u32 [%r3], %r1;\nxor.b32 %r4, %r1, 31;\n"
       "mad.lo.u32 %r5, %r4, 4, %r2;\nbar.sync 0;\nld.shared.u32 %r6, [%r5];\nret;",
     32, false, 0},
    {"within one warp, a shuffle orders no memory",
     S "st.shared.u32 [%r3], %r1;\nshfl.sync.bfly.b32 %r4, %r1, 31, 31, -1;\n"
       "mad.lo.u32 %r5, %r4, 4, %r2;\nld.shared.u32 %r6, [%r5];\nret;",
     32, true, 4},
    {"within one warp, write after read",
     S "xor.b32 %r4, %r1, 31;\nmad.lo.u32 %r5, %r4, 4, %r2;\nld.shared.u32 %r6, [%r5];\n"
       "st.shared.u32 [%r3], %r1;\nret;",
     32, true, 4},
    {"within one warp, all read one place, then one writes it",
     S "ld.shared.u32 %r6, [%r2];\nsetp.eq.u32 %p1, %r1, 31;\n"
       "@%p1 st.shared.u32 [%r2], %r1;\nret;",
     32, true, 3},
    {"within one warp, its own place",
     S "st.shared.u32 [%r3], %r1;\nld.shared.u32 %r6, [%r3];\nst.shared.u32 [%r3], %r6;\nret;", 32,
     false, 0},
    {"within one warp, volatile",
     S "st.volatile.shared.u32 [%r3], %r1;\nxor.b32 %r4, %r1, 31;\n"
       "mad.lo.u32 %r5, %r4, 4, %r2;\nld.volatile.shared.u32 %r6, [%r5];\nret;",
     32, false, 0},
    {"write after read",
     S "bar.sync 0;\nld.shared.u32 %r6, [%r5];\nst.shared.u32 [%r3], %r1;\nret;", 64, true, 2},
    {"read then barrier then write",
     S "ld.shared.u32 %r6, [%r5];\nbar.sync 0;\nst.shared.u32 [%r3], %r1;\nret;", 64, false, 0},
    {"two warps write one place", S "st.shared.u32 [%r2], %r1;\nret;", 64, true, 1},
    {"two warps write the same value",
     S "and.b32 %r7, %r1, 31;\nsetp.eq.u32 %p1, %r7, 0;\n@%p1 st.shared.u32 [%r2], 5;\nret;", 64,
     false, 0},
    {"lanes write different values", S "st.shared.u32 [%r2], %r1;\nret;", 32, true, 1},
    {"lanes write the same value", S "st.shared.u32 [%r2], 5;\nret;", 32, false, 0},
    {"lanes write different bytes", S "st.shared.u8 [%r2], %r1;\nret;", 32, true, 1},
    {"lanes write the same byte of different words",
     S "shl.b32 %r7, %r1, 8;\nst.shared.u8 [%r2], %r7;\nret;", 32, false, 0},
    {"atomics of two warps", S "atom.shared.add.u32 %r6, [%r2], 1;\nret;", 64, false, 0},
    {"atomic and plain read",
     S "atom.shared.add.u32 %r6, [%r2], 1;\nld.shared.u32 %r7, [%r2];\nret;", 64, true, 2},
    {"atomic, barrier, plain read",
     S "atom.shared.add.u32 %r6, [%r2], 1;\nbar.sync 0;\nld.shared.u32 %r7, [%r2];\nret;", 64,
     false, 0},
    {"neighbouring bytes", S "add.u32 %r3, %r2, %r1;\nst.shared.u8 [%r3], %r1;\nret;", 64, false,
     0},
    {"through a generic address",
     S "cvt.u64.u32 %rd1, %r3;\ncvta.shared.u64 %rd1, %rd1;\nst.u32 [%rd1], %r1;\n"
       "ld.shared.u32 %r6, [%r5];\nret;",
     64, true, 3},
    {"barrier that only some warps are at",
     S "st.shared.u32 [%r3], %r1;\nshr.u32 %r7, %r1, 5;\nadd.u32 %r7, %r7, 1;\nbar.sync %r7, 32;\n"
       "ld.shared.u32 %r6, [%r5];\nret;",
     64, true, 1},
    {"arrive and wait",
     S "setp.lt.u32 %p1, %r1, 32;\n@%p1 bra P;\nbar.sync 1, 64;\nld.shared.u32 %r6, [%r5];\nret;\n"
       "P:\nst.shared.u32 [%r3], %r1;\nbar.arrive 1, 64;\nret;",
     64, false, 0},
    {"write after arrive",
     S "setp.lt.u32 %p1, %r1, 32;\n@%p1 bra P;\nbar.sync 1, 64;\nld.shared.u32 %r6, [%r5];\nret;\n"
       "P:\nbar.arrive 1, 64;\nst.shared.u32 [%r3], %r1;\nret;",
     64, true, 4},
    {"blocks do not race",
     S "st.shared.u32 [%r3], %r1;\nbar.sync 0;\nld.shared.u32 %r6, [%r5];\nret;", 64, false, 0},
};

static void test_races(void) {
    for (size_t i = 0; i < sizeof races / sizeof *races; i++) {
        rig r = rig_kernel("", "", races[i].body);
        lg_sim_launch launch = rig_launch(3, races[i].threads, NULL, 0);
        launch.checks = LG_SIM_CHECK_RACE;
        lg_sim_result result = rig_run(&r, "k", &launch);
        LG_CHECK_ROW(races[i].name, result.status == LG_SIM_OK);
        LG_CHECK_ROW(races[i].name, result.has_fault == races[i].race);
        if (result.has_fault && races[i].race) {
            int first = 0; // line of the last instruction of S
            const lg_ptx_function *f = &r.ptx->functions[0];
            first = f->insns[4].line;
            LG_CHECK_ROW(races[i].name, result.fault.kind == LG_DEVICE_FAULT_RACE);
            LG_CHECK_ROW(races[i].name, result.fault.ptx_line == first + races[i].line);
            LG_CHECK_ROW(races[i].name, result.fault.space == LG_SPACE_SHARED);
        } else if (result.has_fault) {
            fprintf(stderr, "\n    %s", result.fault.text);
        }
        lg_sim_result_free(&result);
        // Without the check nothing is said, and what it remembers does not blind the next one.
        launch.checks = 0;
        rig_ok(&r, &launch);
        launch.checks = LG_SIM_CHECK_RACE;
        result = rig_run(&r, "k", &launch);
        LG_CHECK_ROW(races[i].name, result.has_fault == races[i].race);
        lg_sim_result_free(&result);
        rig_close(&r);
    }
}

static const struct {
    const char *name, *body;
    size_t n_written; // bytes the host wrote, of 128
    bool found;
    uint64_t offset;
} inits[] = {
    {"all written by the host", "ld.global.u32 %r2, [%rd2];", 128, false, 0},
    {"the last element is not", "ld.global.u32 %r2, [%rd2];", 124, true, 124},
    {"the last byte is not", "ld.global.u32 %r2, [%rd2];", 127, true, 124},
    {"nothing is", "ld.global.u32 %r2, [%rd2];", 0, true, 0},
    {"the kernel writes first", "st.global.u32 [%rd2], %r1;\nld.global.u32 %r2, [%rd2];", 0, false,
     0},
    {"it writes only half", "st.global.u16 [%rd2], %r1;\nld.global.u32 %r2, [%rd2];", 0, true, 0},
    {"atomic update", "red.global.add.u32 [%rd2], 1;", 64, true, 64},
    {"only inactive lanes", "setp.lt.u32 %p1, %r1, 16;\n@%p1 ld.global.u32 %r2, [%rd2];", 64, false,
     0},
    {"a vector",
     "and.b32 %r3, %r1, 7;\nmad.wide.u32 %rd2, %r3, 16, %rd1;\n"
     "ld.global.v4.u32 {%r4,%r5,%r6,%r7}, [%rd2];",
     100, true, 96},
    {"generic", "ld.u32 %r2, [%rd2];", 64, true, 64},
};

static void test_uninitialised_reads(void) {
    for (size_t i = 0; i < sizeof inits / sizeof *inits; i++) {
        lg_str body = {0};
        lg_str_printf(&body,
                      "ld.param.u64 %%rd1, [p];\n mov.u32 %%r1, %%tid.x;\n"
                      "mad.wide.u32 %%rd2, %%r1, 4, %%rd1;\n%s\nret;",
                      inits[i].body);
        rig r = rig_kernel("", ".param .u64 p", lg_str_text(&body));
        lg_str_free(&body);
        uint8_t zero = 0;
        uint64_t address = lg_sim_alloc(r.sim, 128);
        CU_ASSERT_TRUE(lg_sim_fill(r.sim, address, &zero, 1, inits[i].n_written));
        lg_sim_launch launch = rig_launch(1, 32, &address, 8);
        launch.checks = LG_SIM_CHECK_INIT;
        lg_sim_result result = rig_run(&r, "k", &launch);
        LG_CHECK_ROW(inits[i].name, result.status == LG_SIM_OK);
        LG_CHECK_ROW(inits[i].name, result.has_fault == inits[i].found);
        if (result.has_fault && inits[i].found) {
            LG_CHECK_ROW(inits[i].name, result.fault.kind == LG_DEVICE_FAULT_UNINITIALISED);
            LG_CHECK_ROW(inits[i].name, result.fault.address == address + inits[i].offset);
            LG_CHECK_ROW(inits[i].name, result.fault.nearest_base == address);
        }
        lg_sim_result_free(&result);
        rig_close(&r);
    }
}

// The same through launches that look for nothing or for races, on another buffer.
static void test_uninitialised_reads_after_others(void) {
    rig r = rig_kernel("", ".param .u64 p",
                       "ld.param.u64 %rd1, [p];\n mov.u32 %r1, %tid.x;\n"
                       "mad.wide.u32 %rd2, %r1, 4, %rd1;\n ld.global.u32 %r2, [%rd2];\n ret;");
    uint64_t address = lg_sim_alloc(r.sim, 128);
    static const struct {
        const char *name;
        unsigned checks;
        bool found;
    } launches[] = {
        {"none", 0, false},
        {"init", LG_SIM_CHECK_INIT, true},
        {"race", LG_SIM_CHECK_RACE, false},
        {"both", LG_SIM_CHECK_INIT | LG_SIM_CHECK_RACE, true},
        {"race again", LG_SIM_CHECK_RACE, false},
        {"init again", LG_SIM_CHECK_INIT, true},
    };
    for (size_t i = 0; i < sizeof launches / sizeof *launches; i++) {
        lg_sim_launch launch = rig_launch(1, 32, &address, 8);
        launch.checks = launches[i].checks;
        lg_sim_result result = rig_run(&r, "k", &launch);
        LG_CHECK_ROW(launches[i].name, result.status == LG_SIM_OK);
        LG_CHECK_ROW(launches[i].name, result.has_fault == launches[i].found);
        lg_sim_result_free(&result);
    }
    rig_close(&r);
}

// An error of the same launch is told rather than the finding before it.
static void test_error_wins(void) {
    rig r = rig_kernel("", ".param .u64 p",
                       "ld.param.u64 %rd1, [p];\n ld.global.u32 %r1, [%rd1];\n trap;\n ret;");
    uint64_t address = lg_sim_alloc(r.sim, 128);
    lg_sim_launch launch = rig_launch(1, 32, &address, 8);
    launch.checks = LG_SIM_CHECK_INIT | LG_SIM_CHECK_RACE;
    lg_sim_result result = rig_run(&r, "k", &launch);
    CU_ASSERT_EQUAL(result.status, LG_SIM_TRAP);
    CU_ASSERT_EQUAL(result.fault.kind, LG_DEVICE_FAULT_TRAP);
    lg_sim_result_free(&result);
    rig_close(&r);
}

// A buffer that an unchecked launch has written is not reported by a checked one.
static void test_unchecked_writes_are_believed(void) {
    rig r = rig_kernel("", ".param .u64 p, .param .u32 write",
                       "ld.param.u64 %rd1, [p];\n ld.param.u32 %r2, [write];\n"
                       "mov.u32 %r1, %tid.x;\n mad.wide.u32 %rd2, %r1, 4, %rd1;\n"
                       "setp.eq.u32 %p1, %r2, 0;\n @%p1 bra READ;\n st.global.u32 [%rd2], %r1;\n"
                       "ret;\nREAD: ld.global.u32 %r3, [%rd2];\n ret;");
    struct {
        uint64_t p;
        uint32_t write;
    } params = {lg_sim_alloc(r.sim, 128), 1};
    lg_sim_launch launch = rig_launch(1, 32, &params, 12);
    rig_ok(&r, &launch);
    params.write = 0;
    launch.checks = LG_SIM_CHECK_INIT;
    rig_ok(&r, &launch);
    rig_close(&r);
}

int main(void) {
    static const lg_test tests[] = {
        {"races", test_races},
        {"uninitialised reads", test_uninitialised_reads},
        {"uninitialised reads after other launches", test_uninitialised_reads_after_others},
        {"an error wins", test_error_wins},
        {"unchecked writes are believed", test_unchecked_writes_are_believed},
    };
    return lg_run_tests(LG_SUITE, tests, sizeof tests / sizeof *tests);
}
