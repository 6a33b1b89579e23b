// SPDX-License-Identifier: Apache-2.0
// Which launches are refused, how much shared memory a launch may have, and that results repeat.
#include "unit/engine/sim/rig.h"

static const struct {
    const char *name;
    uint32_t grid[3], block[3];
    uint32_t shared, limit;
    size_t param_bytes;
    const char *entry;
    lg_sim_status status;
    const char *text;
} rows[] = {
    {"small", {1, 1, 1}, {1, 1, 1}, 0, 0, 8, "k", LG_SIM_OK, NULL},
    {"largest block", {1, 1, 1}, {1024, 1, 1}, 0, 0, 8, "k", LG_SIM_OK, NULL},
    {"three dimensions", {2, 2, 2}, {4, 4, 64}, 0, 0, 8, "k", LG_SIM_OK, NULL},
    {"no blocks", {0, 1, 1}, {32, 1, 1}, 0, 0, 8, "k", LG_SIM_LAUNCH_REFUSED, "grid size 0"},
    {"no threads", {1, 1, 1}, {32, 0, 1}, 0, 0, 8, "k", LG_SIM_LAUNCH_REFUSED, "block size 0"},
    {"too many threads",
     {1, 1, 1},
     {1025, 1, 1},
     0,
     0,
     8,
     "k",
     LG_SIM_LAUNCH_REFUSED,
     "block size 1025"},
    {"too many threads in all",
     {1, 1, 1},
     {32, 33, 1},
     0,
     0,
     8,
     "k",
     LG_SIM_LAUNCH_REFUSED,
     "1056 threads"},
    {"block too deep", {1, 1, 1}, {1, 1, 65}, 0, 0, 8, "k", LG_SIM_LAUNCH_REFUSED, "block size 65"},
    {"grid too high",
     {1, 65536, 1},
     {1, 1, 1},
     0,
     0,
     8,
     "k",
     LG_SIM_LAUNCH_REFUSED,
     "grid size 65536"},
    {"48 KiB in all", {1, 1, 1}, {32, 1, 1}, 48 * 1024 - 1000, 0, 8, "k", LG_SIM_OK, NULL},
    {"one byte more",
     {1, 1, 1},
     {32, 1, 1},
     48 * 1024 - 999,
     0,
     8,
     "k",
     LG_SIM_LAUNCH_REFUSED,
     "49153 bytes of shared memory, at most 49152"},
    {"raised", {1, 1, 1}, {32, 1, 1}, 64 * 1024, 100 * 1024, 8, "k", LG_SIM_OK, NULL},
    {"raised beyond what exists",
     {1, 1, 1},
     {32, 1, 1},
     227 * 1024,
     1 << 20,
     8,
     "k",
     LG_SIM_LAUNCH_REFUSED,
     "at most 232448"},
    {"parameters missing",
     {1, 1, 1},
     {32, 1, 1},
     0,
     0,
     4,
     "k",
     LG_SIM_LAUNCH_REFUSED,
     "4 bytes of parameters, the kernel takes 8"},
    {"not a kernel", {1, 1, 1}, {32, 1, 1}, 0, 0, 0, "f", LG_SIM_LAUNCH_REFUSED, "not a kernel"},
    {"maxntid kept", {1, 1, 1}, {64, 1, 1}, 0, 0, 0, "limited", LG_SIM_OK, NULL},
    {"maxntid exceeded",
     {1, 1, 1},
     {65, 1, 1},
     0,
     0,
     0,
     "limited",
     LG_SIM_LAUNCH_REFUSED,
     "65 threads"},
    {"reqntid kept", {1, 1, 1}, {32, 2, 1}, 0, 0, 0, "fixed", LG_SIM_OK, NULL},
    {"reqntid not kept",
     {1, 1, 1},
     {64, 1, 1},
     0,
     0,
     0,
     "fixed",
     LG_SIM_LAUNCH_REFUSED,
     "requires 32"},
};

static const char module[] =
    PTX_HEADER ".extern .shared .align 16 .b8 dyn[];\n"
               ".entry k(.param .u64 p) { .shared .align 4 .b8 s[1000]; .reg .b32 %r<2>;\n"
               " ld.shared.u32 %r1, [s]; ret; }\n"
               ".func f() { ret; }\n"
               ".entry limited() .maxntid 64, 1, 1 { ret; }\n"
               ".entry fixed() .reqntid 32, 2, 1 { ret; }\n";

static void test_geometry(void) {
    rig r = rig_open(module);
    uint64_t params = 0;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        lg_sim_launch launch = {.shared_bytes = rows[i].shared,
                                .shared_limit = rows[i].limit,
                                .params = &params,
                                .param_bytes = rows[i].param_bytes};
        memcpy(launch.grid, rows[i].grid, sizeof launch.grid);
        memcpy(launch.block, rows[i].block, sizeof launch.block);
        lg_sim_result result = rig_run(&r, rows[i].entry, &launch);
        LG_CHECK_ROW(rows[i].name, result.status == rows[i].status);
        LG_CHECK_ROW(rows[i].name, (result.warp_instructions > 0) == (rows[i].status == LG_SIM_OK));
        if (rows[i].text) {
            LG_CHECK_ROW(rows[i].name,
                         result.has_fault && strstr(result.fault.text, rows[i].text) != NULL);
            LG_CHECK_ROW(rows[i].name,
                         result.has_fault && result.fault.kind == LG_DEVICE_FAULT_LAUNCH_REFUSED);
        }
        lg_sim_result_free(&result);
    }
    rig_close(&r);
}

// The order in which blocks append to a list is the schedule's, the same for the same seed.
static void test_schedules(void) {
    rig r = rig_kernel("", ".param .u64 p",
                       "ld.param.u64 %rd1, [p];\n mov.u32 %r1, %ctaid.x;\n mov.u32 %r3, %tid.x;\n"
                       "setp.ne.u32 %p1, %r3, 0;\n @%p1 ret;\n"
                       "atom.global.add.u32 %r2, [%rd1], 1;\n add.u32 %r2, %r2, 1;\n"
                       "mad.wide.u32 %rd2, %r2, 4, %rd1;\n st.global.u32 [%rd2], %r1;\n ret;");
    enum { BLOCKS = 97 };
    uint32_t orders[4][BLOCKS + 1];
    static const uint64_t seeds[4] = {0, 1, 1, 2};
    for (int i = 0; i < 4; i++) {
        uint64_t address = rig_buffer(&r, NULL, sizeof orders[i]);
        lg_sim_launch launch = rig_launch(BLOCKS, 64, &address, 8);
        launch.schedule = seeds[i];
        rig_ok(&r, &launch);
        rig_read(&r, address, orders[i], sizeof orders[i]);
        bool seen[BLOCKS] = {false};
        for (int k = 1; k <= BLOCKS; k++) {
            CU_ASSERT_TRUE_FATAL(orders[i][k] < BLOCKS);
            CU_ASSERT_FALSE(seen[orders[i][k]]);
            seen[orders[i][k]] = true;
            CU_ASSERT_TRUE(seeds[i] || orders[i][k] == (uint32_t)k - 1);
        }
    }
    CU_ASSERT_EQUAL(memcmp(orders[1], orders[2], sizeof orders[1]), 0);
    CU_ASSERT_NOT_EQUAL(memcmp(orders[0], orders[1], sizeof orders[0]), 0);
    CU_ASSERT_NOT_EQUAL(memcmp(orders[1], orders[3], sizeof orders[1]), 0);
    rig_close(&r);
}

// A warp that spins for another one's store ends under a schedule that takes turns.
static void test_turns(void) {
    rig r = rig_kernel("", "",
                       ".shared .align 4 .b8 flag[4];\n mov.u32 %r1, %tid.x;\n"
                       "setp.eq.u32 %p3, %r1, 0;\n @%p3 st.shared.u32 [flag], 0;\n bar.sync 0;\n"
                       "setp.ge.u32 %p1, %r1, 32;\n @%p1 bra SET;\n"
                       "SPIN: ld.volatile.shared.u32 %r2, [flag];\n setp.ne.u32 %p2, %r2, 1;\n"
                       "@%p2 bra SPIN;\n ret;\nSET: st.volatile.shared.u32 [flag], 1;\n ret;");
    lg_sim_launch launch = rig_launch(1, 64, NULL, 0);
    launch.budget = 100000;
    launch.schedule = 7;
    rig_ok(&r, &launch);
    launch.schedule = 0; // in order the first warp spins for ever: a hang that the budget ends
    lg_sim_result result = rig_run(&r, "k", &launch);
    CU_ASSERT_EQUAL(result.status, LG_SIM_TIMEOUT);
    lg_sim_result_free(&result);
    rig_close(&r);
}

// Registers and shared memory start the same in every block and launch.
static void test_nothing_is_left_over(void) {
    rig r = rig_kernel("", ".param .u64 p",
                       ".shared .align 4 .b8 s[4];\n.local .align 4 .b8 l[4];\n"
                       "ld.param.u64 %rd1, [p];\n mov.u32 %r1, %ctaid.x;\n"
                       "mad.wide.u32 %rd2, %r1, 12, %rd1;\n st.global.u32 [%rd2], %r9;\n"
                       "ld.shared.u32 %r2, [s];\n st.global.u32 [%rd2+4], %r2;\n"
                       "mov.u64 %rd3, l;\n ld.local.u32 %r3, [%rd3];\n"
                       "st.global.u32 [%rd2+8], %r3;\n mov.u32 %r9, 5;\n st.shared.u32 [s], %r9;\n"
                       "st.local.u32 [%rd3], %r9;\n ret;");
    uint32_t got[2][6];
    for (int i = 0; i < 2; i++) {
        uint64_t address = rig_buffer(&r, NULL, sizeof got[i]);
        lg_sim_launch launch = rig_launch(2, 32, &address, 8);
        rig_ok(&r, &launch);
        rig_read(&r, address, got[i], sizeof got[i]);
        CU_ASSERT_EQUAL(got[i][0], 0);
        CU_ASSERT_EQUAL(got[i][3], 0);
        CU_ASSERT_EQUAL(got[i][1], got[i][4]);
        CU_ASSERT_EQUAL(got[i][2], got[i][5]);
    }
    CU_ASSERT_EQUAL(memcmp(got[0], got[1], sizeof got[0]), 0);
    rig_close(&r);
}

int main(void) {
    static const lg_test tests[] = {
        {"geometry", test_geometry},
        {"schedules", test_schedules},
        {"turns", test_turns},
        {"nothing is left over", test_nothing_is_left_over},
    };
    return lg_run_tests(LG_SUITE, tests, sizeof tests / sizeof *tests);
}
