// SPDX-License-Identifier: Apache-2.0
// Barriers of the block: order between warps, counts, reductions, and those that can never
// complete.
#include "unit/engine/sim/rig.h"

// Each thread stores its number to shared memory and reads the one of the mirrored thread.
static void test_block_barrier_orders_warps(void) {
    rig r = rig_kernel("", ".param .u64 p",
                       ".shared .align 4 .b8 s[4096];\n"
                       "ld.param.u64 %rd1, [p];\n mov.u32 %r1, %tid.x;\n mov.u32 %r2, %ntid.x;\n"
                       "mov.u32 %r3, s;\n shl.b32 %r4, %r1, 2;\n add.u32 %r5, %r3, %r4;\n"
                       "st.shared.u32 [%r5], %r1;\n bar.sync 0;\n"
                       "sub.u32 %r6, %r2, %r1;\n sub.u32 %r6, %r6, 1;\n shl.b32 %r6, %r6, 2;\n"
                       "add.u32 %r6, %r3, %r6;\n ld.shared.u32 %r7, [%r6];\n"
                       "mul.wide.u32 %rd2, %r1, 4;\n add.s64 %rd3, %rd1, %rd2;\n"
                       "st.global.u32 [%rd3], %r7;\n ret;");
    uint32_t got[1024];
    uint64_t address = rig_buffer(&r, NULL, sizeof got);
    static const uint32_t sizes[] = {1, 32, 33, 64, 100, 512, 1000, 1024};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        for (uint64_t schedule = 0; schedule < 4; schedule++) {
            lg_sim_launch launch = rig_launch(1, sizes[i], &address, 8);
            launch.schedule = schedule;
            rig_ok(&r, &launch);
            rig_read(&r, address, got, sizeof got);
            for (uint32_t t = 0; t < sizes[i]; t++) {
                CU_ASSERT_EQUAL(got[t], sizes[i] - 1 - t);
            }
        }
    }
    rig_close(&r);
}

// bar.red over the threads whose number is below `n`.
static void test_reductions(void) {
    rig r = rig_kernel("", ".param .u64 p, .param .u32 n",
                       "ld.param.u64 %rd1, [p];\n ld.param.u32 %r2, [n];\n mov.u32 %r1, %tid.x;\n"
                       "setp.lt.u32 %p1, %r1, %r2;\n bar.red.popc.u32 %r3, 0, %p1;\n"
                       "bar.red.and.pred %p2, 0, %p1;\n bar.red.or.pred %p3, 0, %p1;\n"
                       "bar.red.popc.u32 %r4, 1, !%p1;\n"
                       "selp.u32 %r5, 1000, 0, %p2;\n selp.u32 %r6, 10000, 0, %p3;\n"
                       "add.u32 %r3, %r3, %r5;\n add.u32 %r3, %r3, %r6;\n"
                       "mad.lo.u32 %r3, %r4, 100000, %r3;\n"
                       "mul.wide.u32 %rd2, %r1, 4;\n add.s64 %rd3, %rd1, %rd2;\n"
                       "st.global.u32 [%rd3], %r3;\n ret;");
    uint32_t got[100];
    struct {
        uint64_t p;
        uint32_t n;
    } params = {rig_buffer(&r, NULL, sizeof got), 0};
    static const uint32_t counts[] = {0, 1, 40, 99, 100};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        params.n = counts[i];
        lg_sim_launch launch = rig_launch(1, 100, &params, 12);
        rig_ok(&r, &launch);
        rig_read(&r, params.p, got, sizeof got);
        uint32_t want = counts[i] + (counts[i] == 100 ? 1000 : 0) + (counts[i] ? 10000 : 0) +
                        (100 - counts[i]) * 100000;
        for (int t = 0; t < 100; t++) {
            CU_ASSERT_EQUAL(got[t], want);
        }
    }
    rig_close(&r);
}

// A producer warp arrives, a consumer warp waits, for a barrier of 64 threads; a third one is not
// in it.
static void test_named_barrier_with_count(void) {
    rig r = rig_kernel(
        "", ".param .u64 p",
        ".shared .align 4 .b8 s[4];\n ld.param.u64 %rd1, [p];\n mov.u32 %r1, %tid.x;\n"
        "shr.u32 %r2, %r1, 5;\n setp.eq.u32 %p1, %r2, 0;\n @%p1 bra CONSUME;\n"
        "setp.eq.u32 %p2, %r2, 1;\n @%p2 bra PRODUCE;\n ret;\n"
        "PRODUCE: mov.u32 %r3, 42;\n st.shared.u32 [s], %r3;\n bar.arrive 5, 64;\n ret;\n"
        "CONSUME: bar.sync 5, 64;\n ld.shared.u32 %r4, [s];\n st.global.u32 [%rd1], %r4;\n ret;");
    uint32_t got;
    uint64_t address = rig_buffer(&r, NULL, 4);
    lg_sim_launch launch = rig_launch(1, 96, &address, 8);
    rig_ok(&r, &launch);
    rig_read(&r, address, &got, 4);
    CU_ASSERT_EQUAL(got, 42);
    rig_close(&r);
}

static const struct {
    const char *name;
    const char *body;
    uint32_t threads;
    lg_sim_status status;
    lg_device_fault_kind kind;
    int ptx_line; // within the body, from 1; 0: any
} rows[] = {
    {"threads that have ended count as arrived",
     "setp.gt.u32 %p1, %r1, 40;\n@%p1 ret;\nbar.sync 0;\nret;", 128, LG_SIM_OK,
     LG_DEVICE_FAULT_NONE, 0},
    {"a whole warp has ended", "setp.lt.u32 %p1, %r1, 32;\n@%p1 ret;\nbar.sync 0;\nret;", 64,
     LG_SIM_OK, LG_DEVICE_FAULT_NONE, 0},
    {"half a warp at the barrier",
     "setp.lt.u32 %p1, %r1, 16;\n@%p1 bra A;\nbra.uni B;\nA:\nbar.sync 0;\nB:\nret;", 32,
     LG_SIM_BARRIER, LG_DEVICE_FAULT_DIVERGENT_BARRIER, 5},
    {"an endless loop whose if stands last",
     "bra.uni L;\nB:\nbar.sync 0;\nL:\nsetp.lt.u32 %p1, %r1, 16;\n@!%p1 bra B;\n"
     "add.u32 %r2, %r2, 1;\nbra.uni B;",
     32, LG_SIM_TIMEOUT, LG_DEVICE_FAULT_TIMEOUT, 0},
    {"half a block at the barrier, the rest at another",
     "setp.lt.u32 %p1, %r1, 32;\n@%p1 bra A;\nbar.sync 1;\nbra.uni B;\nA:\nbar.sync 0;\nB:\nret;",
     64, LG_SIM_BARRIER, LG_DEVICE_FAULT_BARRIER_DEADLOCK, 6},
    {"more threads wanted than there are", "bar.sync 3, 128;\nret;", 64, LG_SIM_BARRIER,
     LG_DEVICE_FAULT_BARRIER_DEADLOCK, 1},
    {"no such barrier", "mov.u32 %r2, 16;\nbar.sync %r2;\nret;", 32, LG_SIM_ILLEGAL_INSTRUCTION,
     LG_DEVICE_FAULT_NO_SUCH_BARRIER, 2},
    {"a count that is no multiple of 32", "mov.u32 %r2, 40;\nbar.sync 0, %r2;\nret;", 64,
     LG_SIM_ILLEGAL_INSTRUCTION, LG_DEVICE_FAULT_BARRIER_COUNT, 2},
    {"barrier.sync", "barrier.sync 0;\nbarrier.sync 0;\nret;", 64, LG_SIM_OK, LG_DEVICE_FAULT_NONE,
     0},
    {"bar.warp.sync", "bar.warp.sync -1;\nret;", 64, LG_SIM_OK, LG_DEVICE_FAULT_NONE, 0},
};

static void test_ends(void) {
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        lg_str body = {0};
        lg_str_printf(&body, "mov.u32 %%r1, %%tid.x;\n%s", rows[i].body);
        rig r = rig_kernel("", "", lg_str_text(&body));
        lg_str_free(&body);
        lg_sim_launch launch = rig_launch(1, rows[i].threads, NULL, 0);
        launch.budget = 10000;
        lg_sim_result result = rig_run(&r, "k", &launch);
        LG_CHECK_ROW(rows[i].name, result.status == rows[i].status);
        LG_CHECK_ROW(rows[i].name, result.has_fault == (rows[i].kind != LG_DEVICE_FAULT_NONE));
        if (result.has_fault && rows[i].kind) {
            LG_CHECK_ROW(rows[i].name, result.fault.kind == rows[i].kind);
            int first = r.ptx->functions[0].insns[0].line; // the mov
            LG_CHECK_ROW(rows[i].name, rows[i].ptx_line == 0 ||
                                           result.fault.ptx_line == first + rows[i].ptx_line);
        }
        lg_sim_result_free(&result);
        rig_close(&r);
    }
}

int main(void) {
    static const lg_test tests[] = {
        {"a barrier orders warps", test_block_barrier_orders_warps},
        {"reductions", test_reductions},
        {"named barrier with a count", test_named_barrier_with_count},
        {"how barriers end", test_ends},
    };
    return lg_run_tests(LG_SUITE, tests, sizeof tests / sizeof *tests);
}
