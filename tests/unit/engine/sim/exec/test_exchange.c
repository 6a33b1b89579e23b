// SPDX-License-Identifier: Apache-2.0
// Member masks of exchanges between lanes: what PTX leaves undefined is a finding of any launch.
#include "unit/engine/sim/rig.h"

// %r1: lane, %p1: lane < 16, %p2: lane < 31.
#define W "mov.u32 %r1, %tid.x;\nsetp.lt.u32 %p1, %r1, 16;\nsetp.lt.u32 %p2, %r1, 31;\n"
#define OWN LG_DEVICE_FAULT_OWN_LANE_LEFT_OUT
#define ABSENT LG_DEVICE_FAULT_ABSENT_LANE
#define NONE LG_DEVICE_FAULT_NONE

static const struct {
    const char *name, *body;
    uint32_t threads;
    lg_device_fault_kind kind; // NONE: nothing is found
    const char *text;
} rows[] = {
    {"shfl of all", W "shfl.sync.bfly.b32 %r2, %r1, 1, 31, -1;\nret;", 32, NONE, NULL},
    {"shfl of half a warp", W "@%p1 shfl.sync.bfly.b32 %r2, %r1, 1, 31, 0xffff;\nret;", 32, NONE,
     NULL},
    {"shfl of all lanes of which half are there",
     W "@%p1 shfl.sync.bfly.b32 %r2, %r1, 1, 31, -1;\nret;", 32, ABSENT,
     "shfl.sync.bfly.b32 with member mask 0xffffffff, but lane 16 is not there"},
    {"shfl of the other half", W "@%p1 shfl.sync.idx.b32 %r2, %r1, 1, 31, 0xffff0000;\nret;", 32,
     OWN, "shfl.sync.idx.b32 by lane 0, which its own member mask 0xffff0000 leaves out"},
    {"shfl where the last lane has left the mask",
     W "shfl.sync.down.b32 %r2, %r1, 1, 31, 0x7fffffff;\nret;", 32, OWN, "by lane 31"},
    {"shfl where a lane has ended", W "@!%p2 ret;\nshfl.sync.up.b32 %r2, %r1, 1, 0, -1;\nret;", 32,
     NONE, NULL},
    {"shfl that reads from a lane that has ended",
     W "@!%p2 ret;\nshfl.sync.down.b32 %r2, %r1, 1, 31, -1;\nret;", 32, NONE, NULL},
    {"shfl that reads from a lane the block never had",
     W "shfl.sync.bfly.b32 %r2, %r1, 8, 31, -1;\nret;", 24, NONE, NULL},
    {"shfl within what a small block has", W "shfl.sync.bfly.b32 %r2, %r1, 1, 31, -1;\nret;", 24,
     NONE, NULL},
    {"two halves, each its own mask",
     W "selp.b32 %r3, 0xffff, 0xffff0000, %p1;\nshfl.sync.bfly.b32 %r2, %r1, 1, 31, %r3;\nret;", 32,
     NONE, NULL},
    {"two halves, one reads from the other",
     W "selp.b32 %r3, 0xffff, 0xffff0000, %p1;\nshfl.sync.bfly.b32 %r2, %r1, 16, 31, %r3;\nret;",
     32, NONE, NULL},
    {"masks that overlap",
     W "selp.b32 %r3, 0x1ffff, 0xffff0000, %p1;\nshfl.sync.bfly.b32 %r2, %r1, 1, 31, %r3;\nret;",
     32, ABSENT, "but lane 16 names another mask"},
    {"the other lanes on another path",
     W "@%p1 bra A;\nshfl.sync.bfly.b32 %r2, %r1, 1, 31, -1;\nbra B;\n"
       "A: shfl.sync.bfly.b32 %r2, %r1, 1, 31, -1;\nB: ret;",
     32, ABSENT, "is not there"},
    {"vote of all", W "vote.sync.ballot.b32 %r2, %p1, -1;\nret;", 32, NONE, NULL},
    {"vote of a small block", W "vote.sync.all.pred %p3, %p1, -1;\nret;", 20, NONE, NULL},
    {"vote without its own lane", W "vote.sync.any.pred %p3, %p1, 0xfffffffe;\nret;", 32, OWN,
     "vote.sync.any.pred by lane 0"},
    {"vote of lanes that are elsewhere", W "@%p1 vote.sync.uni.pred %p3, %p2, -1;\nret;", 32,
     ABSENT, "vote.sync.uni.pred with member mask 0xffffffff, but lane 16"},
    {"match of all", W "match.any.sync.b32 %r2, %r1, -1;\nret;", 32, NONE, NULL},
    {"match without its own lane", W "match.any.sync.b32 %r2, %r1, 0x7fffffff;\nret;", 32, OWN,
     "match.any.sync.b32 by lane 31"},
    {"match of lanes that are elsewhere", W "@!%p1 match.all.sync.b32 %r2|%p3, %r1, -1;\nret;", 32,
     ABSENT, "match.all.sync.b32 with member mask 0xffffffff, but lane 0 is not there"},
    {"redux of the groups that match made",
     W "shr.u32 %r3, %r1, 2;\nmatch.any.sync.b32 %r2, %r3, -1;\n"
       "redux.sync.add.u32 %r4, %r1, %r2;\nret;",
     32, NONE, NULL},
    {"redux without its own lane", W "redux.sync.min.s32 %r2, %r1, 1;\nret;", 32, OWN,
     "redux.sync.min.s32 by lane 1,"},
    {"redux of lanes that are elsewhere", W "@%p2 redux.sync.xor.b32 %r2, %r1, -1;\nret;", 32,
     ABSENT, "but lane 31 is not there"},
    {"elect of the lanes that are there", W "@%p1 elect.sync %r2|%p3, 0xffff;\nret;", 32, NONE,
     NULL},
    {"elect of lanes that are elsewhere", W "@%p1 elect.sync %r2|%p3, -1;\nret;", 32, ABSENT,
     "elect.sync with member mask"},
    {"bar.warp.sync of all", W "bar.warp.sync -1;\nret;", 32, NONE, NULL},
    {"bar.warp.sync after some have ended", W "@%p1 ret;\nbar.warp.sync -1;\nret;", 32, NONE, NULL},
    {"bar.warp.sync without its own lane", W "bar.warp.sync 1;\nret;", 32, OWN,
     "bar.warp.sync by lane 1"},
    {"bar.warp.sync of lanes that are elsewhere", W "@%p1 bar.warp.sync -1;\nret;", 32, ABSENT,
     "bar.warp.sync with member mask 0xffffffff, but lane 16 is not there"},
};

static void test_masks(void) {
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rig r = rig_kernel("", "", rows[i].body);
        lg_sim_launch launch = rig_launch(1, rows[i].threads, NULL, 0);
        lg_sim_result result = rig_run(&r, "k", &launch);
        LG_CHECK_ROW(rows[i].name, result.status == LG_SIM_OK);
        LG_CHECK_ROW(rows[i].name, result.has_fault == (rows[i].kind != NONE));
        if (result.has_fault) {
            bool ok = result.fault.kind == rows[i].kind &&
                      strstr(result.fault.text, rows[i].text) && result.fault.ptx_line > 0;
            LG_CHECK_ROW(rows[i].name, ok);
            if (!ok) {
                fprintf(stderr, "\n    %s\n", result.fault.text);
            }
        }
        lg_sim_result_free(&result);
        rig_close(&r);
    }
}

// What is read from a lane that takes no part is 0x7F7FFFFF, which nobody who uses it overlooks.
#define POISON 0x7F7FFFFF
#define STORE                                                                                      \
    "ld.param.u64 %rd1, [out];\nmul.wide.u32 %rd2, %r1, 4;\nadd.s64 %rd1, %rd1, %rd2;\n"           \
    "st.global.u32 [%rd1], %r2;\nret;"

static const struct {
    const char *name, *body;
    uint32_t threads, lane, value;
} values[] = {
    {"a lane that takes part", W "@!%p2 ret;\nshfl.sync.down.b32 %r2, %r1, 1, 31, -1;\n" STORE, 32,
     29, 30},
    {"a lane that has ended", W "@!%p2 ret;\nshfl.sync.down.b32 %r2, %r1, 1, 31, -1;\n" STORE, 32,
     30, POISON},
    {"a lane beyond its segment", W "@!%p2 ret;\nshfl.sync.down.b32 %r2, %r1, 40, 31, -1;\n" STORE,
     32, 27, 27},
    {"a lane the block never had", W "shfl.sync.bfly.b32 %r2, %r1, 8, 31, -1;\n" STORE, 24, 16,
     POISON},
    {"a lane of the other half",
     W "selp.b32 %r3, 0xffff, 0xffff0000, %p1;\nshfl.sync.bfly.b32 %r2, %r1, 16, 31, %r3;\n" STORE,
     32, 0, POISON},
    {"the result goes where the distance was",
     W "@!%p2 ret;\nmov.u32 %r2, 1;\nshfl.sync.down.b32 %r2, %r1, %r2, 31, -1;\n" STORE, 32, 30,
     POISON},
};

static void test_values(void) {
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        rig r = rig_kernel("", ".param .u64 out", values[i].body);
        uint64_t address = rig_buffer(&r, NULL, 128);
        lg_sim_launch launch = rig_launch(1, values[i].threads, &address, 8);
        lg_sim_result result = rig_run(&r, "k", &launch);
        LG_CHECK_ROW(values[i].name, result.status == LG_SIM_OK && !result.has_fault);
        uint32_t got[32];
        rig_read(&r, address, got, sizeof got);
        LG_CHECK_ROW(values[i].name, got[values[i].lane] == values[i].value);
        lg_sim_result_free(&result);
        rig_close(&r);
    }
}

// The same as people write it: found at the source line.
static const char *const source =
    "extern \"C\" __global__ void good_shfl(int *o) {\n"
    "    o[threadIdx.x] = __shfl_down_sync(~0u, (int)threadIdx.x, 1);\n"
    "}\n"
    "extern \"C\" __global__ void bad_shfl(int *o) {\n"
    "    if (threadIdx.x < 20)\n"
    "        o[threadIdx.x] = __shfl_down_sync(~0u, (int)threadIdx.x, 1);\n" // 6
    "}\n"
    "extern \"C\" __global__ void bad_vote(int *o) {\n"
    "    if (threadIdx.x % 2)\n"
    "        o[threadIdx.x] = __ballot_sync(0x55555555, o[threadIdx.x] > 0);\n" // 10
    "}\n"
    "extern \"C\" __global__ void bad_syncwarp(int *o) {\n"
    "    if (threadIdx.x < 16) {\n"
    "        o[threadIdx.x] = 1;\n"
    "        __syncwarp();\n" // 15
    "        o[threadIdx.x ^ 1] += 1;\n"
    "    }\n"
    "}\n"
    "extern \"C\" __global__ void bad_match(int *o) {\n"
    "    if (threadIdx.x > 3) o[threadIdx.x] = __match_any_sync(~0u, o[threadIdx.x]);\n" // 20
    "}\n"
    "extern \"C\" __global__ void active(int *o) {\n"
    "    if (threadIdx.x % 3) o[threadIdx.x] = __ballot_sync(__activemask(), threadIdx.x > 9);\n"
    "}\n";

static void test_source_lines(void) {
    static const struct {
        const char *name;
        lg_device_fault_kind kind;
        int line;
    } kernels[] = {
        {"good_shfl", NONE, 0},       {"bad_shfl", ABSENT, 6},   {"bad_vote", OWN, 10},
        {"bad_syncwarp", ABSENT, 15}, {"bad_match", ABSENT, 20}, {"active", NONE, 0},
    };
    rig r = rig_compile(source);
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
        uint64_t address = rig_buffer(&r, NULL, 256);
        lg_sim_launch launch = rig_launch(1, 32, &address, 8);
        lg_sim_result result = rig_run(&r, kernels[i].name, &launch);
        LG_CHECK_ROW(kernels[i].name, result.status == LG_SIM_OK);
        LG_CHECK_ROW(kernels[i].name, result.has_fault == (kernels[i].kind != NONE));
        if (result.has_fault && kernels[i].kind) {
            LG_CHECK_ROW(kernels[i].name, result.fault.kind == kernels[i].kind);
            LG_CHECK_ROW(kernels[i].name, result.fault.line == kernels[i].line);
            LG_CHECK_ROW(kernels[i].name, strstr(result.fault.file, "k.cu") != NULL);
        } else if (result.has_fault) {
            fprintf(stderr, "\n    %s\n", result.fault.text);
        }
        lg_sim_result_free(&result);
    }
    rig_close(&r);
}

int main(void) {
    static const lg_test tests[] = {
        {"member masks", test_masks},
        {"what is read from who takes no part", test_values},
        {"source lines", test_source_lines},
    };
    return lg_run_tests(LG_SUITE, tests, sizeof tests / sizeof *tests);
}
