// SPDX-License-Identifier: Apache-2.0
// Divergence: whatever path a lane takes, it computes what it would compute alone.
#include "unit/engine/sim/rig.h"

enum { N = 32 };

#define BEGIN                                                                                      \
    "ld.param.u64 %rd1, [p];\n mov.u32 %r1, %tid.x;\n mul.wide.u32 %rd2, %r1, 4;\n"                \
    "add.s64 %rd3, %rd1, %rd2;\n mov.u32 %r9, 0;\n"
#define END "st.global.u32 [%rd3], %r9;\n ret;\n"

static uint32_t if_else(uint32_t t) {
    return t < 10 ? t + 100 : t * 2;
}
static uint32_t nested(uint32_t t) {
    return t & 1 ? (t & 2 ? 3 : t & 4 ? 5 : 7) + 1000 : (t < 16 ? 11 : 13) + 1000;
}
static uint32_t loop(uint32_t t) {
    uint32_t sum = 0;
    for (uint32_t i = 0; i < t; i++) {
        sum += i * i;
    }
    return sum;
}
static uint32_t loop_break(uint32_t t) {
    uint32_t i = 0, sum = 0;
    for (;;) {
        if (i * 3 > t) {
            break;
        }
        if (i == t) {
            sum += 1000;
            break;
        }
        sum += t;
        i++;
    }
    return sum + 5;
}
static uint32_t early_return(uint32_t t) {
    return t % 3 == 0 ? 0xffffffff : t;
}
static uint32_t guarded_exit(uint32_t t) {
    return t > 20 ? 0xffffffff : t + 1;
}
static uint32_t switched(uint32_t t) {
    static const uint32_t values[4] = {10, 20, 30, 40};
    return values[t % 4] + 1;
}
static uint32_t inner_exit(uint32_t t) {
    return t < 8 ? 0xffffffff : t < 16 ? 3 : 4;
}
static uint32_t nested_loops(uint32_t t) {
    uint32_t sum = 0;
    for (uint32_t i = 0; i < t % 5; i++) {
        for (uint32_t k = 0; k < t % 7; k++) {
            sum += i + k;
        }
    }
    return sum;
}
static uint32_t predicated(uint32_t t) {
    return t & 1 ? t + 7 : t;
}

static const struct {
    const char *name;
    const char *body;
    uint32_t (*expected)(uint32_t);
} rows[] = {
    {"if and else",
     BEGIN "setp.lt.u32 %p1, %r1, 10;\n @%p1 bra A;\n mul.lo.u32 %r9, %r1, 2;\n bra.uni B;\n"
           "A: add.u32 %r9, %r1, 100;\nB: " END,
     if_else},
    {"nested",
     BEGIN "and.b32 %r2, %r1, 1;\n setp.eq.u32 %p1, %r2, 0;\n @%p1 bra EVEN;\n"
           "and.b32 %r2, %r1, 2;\n setp.ne.u32 %p2, %r2, 0;\n @!%p2 bra NOT2;\n mov.u32 %r9, 3;\n"
           "bra.uni JOIN;\nNOT2: and.b32 %r2, %r1, 4;\n setp.ne.u32 %p2, %r2, 0;\n @%p2 bra IS4;\n"
           "mov.u32 %r9, 7;\n bra.uni JOIN;\nIS4: mov.u32 %r9, 5;\n bra.uni JOIN;\n"
           "EVEN: mov.u32 %r9, 11;\n setp.lt.u32 %p3, %r1, 16;\n @%p3 bra JOIN;\n"
           "mov.u32 %r9, 13;\nJOIN: add.u32 %r9, %r9, 1000;\n" END,
     nested},
    {"loop of another length a lane",
     BEGIN "mov.u32 %r2, 0;\nTOP: setp.ge.u32 %p1, %r2, %r1;\n @%p1 bra OUT;\n"
           "mad.lo.u32 %r9, %r2, %r2, %r9;\n add.u32 %r2, %r2, 1;\n bra.uni TOP;\nOUT: " END,
     loop},
    {"loop with two ways out",
     BEGIN "mov.u32 %r2, 0;\nTOP: mul.lo.u32 %r3, %r2, 3;\n setp.gt.u32 %p1, %r3, %r1;\n"
           "@%p1 bra OUT;\n setp.eq.u32 %p2, %r2, %r1;\n @%p2 bra HIT;\n"
           "add.u32 %r9, %r9, %r1;\n add.u32 %r2, %r2, 1;\n bra.uni TOP;\n"
           "HIT: add.u32 %r9, %r9, 1000;\nOUT: add.u32 %r9, %r9, 5;\n" END,
     loop_break},
    {"early return",
     BEGIN "rem.u32 %r2, %r1, 3;\n setp.eq.u32 %p1, %r2, 0;\n @%p1 ret;\n mov.u32 %r9, %r1;\n" END,
     early_return},
    {"guarded exit", BEGIN "setp.gt.u32 %p1, %r1, 20;\n @%p1 exit;\n add.u32 %r9, %r1, 1;\n" END,
     guarded_exit},
    {"indexed branch",
     BEGIN "rem.u32 %r2, %r1, 4;\n ts: .branchtargets L0, L1, L2, L3;\n brx.idx %r2, ts;\n"
           "L0: mov.u32 %r9, 10;\n bra.uni J;\nL1: mov.u32 %r9, 20;\n bra.uni J;\n"
           "L2: mov.u32 %r9, 30;\n bra.uni J;\nL3: mov.u32 %r9, 40;\nJ: add.u32 %r9, %r9, 1;\n" END,
     switched},
    {"exit inside a branch",
     BEGIN "setp.lt.u32 %p1, %r1, 16;\n @!%p1 bra HIGH;\n setp.lt.u32 %p2, %r1, 8;\n"
           "@!%p2 bra KEEP;\n exit;\nKEEP: mov.u32 %r9, 3;\n bra.uni J;\n"
           "HIGH: mov.u32 %r9, 4;\nJ: " END,
     inner_exit},
    {"nested loops",
     BEGIN "rem.u32 %r4, %r1, 5;\n rem.u32 %r5, %r1, 7;\n mov.u32 %r2, 0;\n"
           "TI: setp.ge.u32 %p1, %r2, %r4;\n @%p1 bra OI;\n mov.u32 %r3, 0;\n"
           "TK: setp.ge.u32 %p2, %r3, %r5;\n @%p2 bra OK;\n add.u32 %r9, %r9, %r2;\n"
           "add.u32 %r9, %r9, %r3;\n add.u32 %r3, %r3, 1;\n bra.uni TK;\n"
           "OK: add.u32 %r2, %r2, 1;\n bra.uni TI;\nOI: " END,
     nested_loops},
    {"guarded instruction",
     BEGIN "and.b32 %r2, %r1, 1;\n setp.ne.u32 %p1, %r2, 0;\n mov.u32 %r9, %r1;\n"
           "@%p1 add.u32 %r9, %r9, 7;\n" END,
     predicated},
};

static void test_divergence(void) {
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rig r = rig_kernel("", ".param .u64 p", rows[i].body);
        uint32_t got[N], poison = 0xffffffff;
        uint64_t address = rig_buffer(&r, NULL, sizeof got);
        for (uint32_t threads = 1; threads <= N; threads += threads == 1 ? 16 : 15) {
            lg_sim_fill(r.sim, address, &poison, 4, N);
            lg_sim_launch launch = rig_launch(1, threads, &address, 8);
            rig_ok(&r, &launch);
            rig_read(&r, address, got, sizeof got);
            for (uint32_t t = 0; t < N; t++) {
                uint32_t want = t < threads ? rows[i].expected(t) : 0xffffffff;
                if (got[t] != want) {
                    fprintf(stderr, "\n    lane %u: got %u, want %u", t, got[t], want);
                }
                LG_CHECK_ROW(rows[i].name, got[t] == want);
            }
        }
        rig_close(&r);
    }
}

// After a divergent branch the lanes meet again: a vote sees all of them.
static void test_lanes_meet_again(void) {
    rig r = rig_kernel("", ".param .u64 p",
                       BEGIN "setp.lt.u32 %p1, %r1, 5;\n @%p1 bra A;\n mov.u32 %r3, 1;\n"
                             "bra.uni B;\nA: mov.u32 %r3, 2;\nB: activemask.b32 %r9;\n" END);
    uint32_t got[N];
    uint64_t address = rig_buffer(&r, NULL, sizeof got);
    lg_sim_launch launch = rig_launch(1, N, &address, 8);
    rig_ok(&r, &launch);
    rig_read(&r, address, got, sizeof got);
    for (int t = 0; t < N; t++) {
        CU_ASSERT_EQUAL(got[t], 0xffffffff);
    }
    rig_close(&r);
}

static void test_counts(void) {
    rig r = rig_kernel("", "",
                       "mov.u32 %r1, %tid.x;\n setp.lt.u32 %p1, %r1, 8;\n @!%p1 bra OUT;\n"
                       "add.u32 %r2, %r1, 1;\n @%p1 add.u32 %r2, %r1, 1;\n"
                       "@!%p1 add.u32 %r2, %r1, 1;\nOUT: ret;");
    lg_sim_launch launch = rig_launch(3, 32, NULL, 0);
    lg_sim_result result = rig_run(&r, "k", &launch);
    CU_ASSERT_EQUAL(result.status, LG_SIM_OK);
    CU_ASSERT_EQUAL(result.warp_instructions, 3 * 7);
    // mov, setp, the branch and ret by 32 lanes; two adds by 8, one by none
    CU_ASSERT_EQUAL(result.lane_instructions, 3 * (4 * 32 + 2 * 8));
    lg_sim_result_free(&result);
    rig_close(&r);
}

static void test_hang_ends(void) {
    rig r = rig_kernel("", "", "TOP: add.u32 %r1, %r1, 1;\n bra.uni TOP;\n");
    lg_sim_launch launch = rig_launch(1, 32, NULL, 0);
    launch.budget = 1000;
    lg_sim_result result = rig_run(&r, "k", &launch);
    CU_ASSERT_EQUAL(result.status, LG_SIM_TIMEOUT);
    CU_ASSERT_EQUAL(result.fault.kind, LG_DEVICE_FAULT_TIMEOUT);
    CU_ASSERT_TRUE(result.warp_instructions >= 1000 && result.warp_instructions < 1010);
    lg_sim_result_free(&result);
    rig_close(&r);
}

// Neither branches back: a function that calls itself twice at each level, and a grid without end.
static void test_hang_without_a_loop(void) {
    rig r = rig_open(
        PTX_HEADER
        ".func f(.param .b32 a) { .reg .b32 %r<3>; .reg .pred %p<2>; ld.param.u32 %r1, [a];\n"
        " setp.eq.u32 %p1, %r1, 0; @%p1 bra END; sub.u32 %r2, %r1, 1;\n"
        " { .param .b32 b; st.param.b32 [b], %r2; call.uni f, (b); call.uni f, (b); }\n"
        "END: ret; }\n"
        ".entry k() { { .param .b32 b; st.param.b32 [b], 60; call.uni f, (b); } ret; }\n"
        ".entry empty() { ret; }\n");
    static const struct {
        const char *name;
        uint32_t grid;
    } hangs[] = {{"k", 1}, {"empty", INT32_MAX}};
    for (size_t i = 0; i < 2; i++) {
        lg_sim_launch launch = rig_launch(hangs[i].grid, 1, NULL, 0);
        launch.budget = 5000;
        lg_sim_result result = rig_run(&r, hangs[i].name, &launch);
        LG_CHECK_ROW(hangs[i].name, result.status == LG_SIM_TIMEOUT);
        LG_CHECK_ROW(hangs[i].name, result.warp_instructions < 5100);
        lg_sim_result_free(&result);
    }
    rig_close(&r);
}

static void test_trap_and_bad_index(void) {
    static const struct {
        const char *name, *body;
        lg_device_fault_kind kind;
        lg_sim_status status;
    } bad[] = {
        {"trap", "mov.u32 %r1, %tid.x;\n setp.eq.u32 %p1, %r1, 9;\n @%p1 trap;\n ret;",
         LG_DEVICE_FAULT_TRAP, LG_SIM_TRAP},
        {"index",
         "mov.u32 %r1, %tid.x;\n setp.eq.u32 %p1, %r1, 9;\n selp.b32 %r2, 7, 1, %p1;\n"
         "ts: .branchtargets A, B;\n brx.idx %r2, ts;\nA: B: ret;",
         LG_DEVICE_FAULT_BRANCH_INDEX, LG_SIM_ILLEGAL_INSTRUCTION},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        rig r = rig_kernel("", "", bad[i].body);
        lg_sim_launch launch = rig_launch(2, 32, NULL, 0);
        lg_sim_result result = rig_run(&r, "k", &launch);
        LG_CHECK_ROW(bad[i].name, result.status == bad[i].status);
        LG_CHECK_ROW(bad[i].name, result.fault.kind == bad[i].kind);
        LG_CHECK_ROW(bad[i].name, result.fault.thread[0] == 9 && result.fault.block[0] == 0);
        lg_sim_result_free(&result);
        rig_close(&r);
    }
}

int main(void) {
    static const lg_test tests[] = {
        {"divergence", test_divergence},
        {"lanes meet again", test_lanes_meet_again},
        {"counts", test_counts},
        {"a hang ends", test_hang_ends},
        {"a hang without a loop ends", test_hang_without_a_loop},
        {"trap and bad index", test_trap_and_bad_index},
    };
    return lg_run_tests(LG_SUITE, tests, sizeof tests / sizeof *tests);
}
