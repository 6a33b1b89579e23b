// SPDX-License-Identifier: Apache-2.0
// What LG_SIM_CHECK_RACE finds between the lanes of one warp on global memory.
#include "unit/engine/sim/rig.h"

// %rd1: the buffer, %r1: lane, %rd2: its word, %rd4: a counter behind the words; %r9: 32.
#define G                                                                                          \
    "ld.param.u64 %rd1, [p];\n mov.u32 %r1, %tid.x;\n mov.u32 %r9, %ntid.x;\n"                     \
    "mad.wide.u32 %rd2, %r1, 4, %rd1;\n add.s64 %rd4, %rd1, 4096;\n"
// %rd5: its neighbour's word.
#define OTHER "xor.b32 %r5, %r1, 1;\nmad.wide.u32 %rd5, %r5, 4, %rd1;\n"
#define LANE(n) "setp.eq.u32 %p2, %r1, " #n ";\n@%p2 "
// Adds one to the word at `at` and goes on by `step` bytes, n times.
#define ADD_ONE(at, step, n)                                                                       \
    "mov.u32 %r6, 0;\nL: ld.global.u32 %r4, [" at "];\nadd.u32 %r4, %r4, 1;\n"                     \
    "st.global.u32 [" at "], %r4;\nadd.s64 " at ", " at ", " step ";\n"                            \
    "add.u32 %r6, %r6, 1;\nsetp.lt.u32 %p4, %r6, " n ";\n@%p4 bra L;\nret;"

static const struct {
    const char *name, *body;
    const char *text; // part of the finding; NULL: there is none
} lanes[] = {
    {"all write their number to one word", G "st.global.u32 [%rd1], %r1;\nret;",
     "lanes of one warp write different values to the same global address"},
    {"two by two to one word",
     G "shr.u32 %r5, %r1, 1;\nmad.wide.u32 %rd5, %r5, 4, %rd1;\nst.global.u32 [%rd5], %r1;\nret;",
     "lanes of one warp write different values to the same global address"},
    {"two by two the same to one word",
     G "shr.u32 %r5, %r1, 1;\nmad.wide.u32 %rd5, %r5, 4, %rd1;\nst.global.u32 [%rd5], %r5;\nret;",
     NULL},
    {"bytes to one place", G "st.global.u8 [%rd1+5], %r1;\nret;", "write different values"},
    {"a byte that is the same, of words that are not",
     G "shl.b32 %r5, %r1, 8;\nst.global.u8 [%rd1+5], %r5;\nret;", NULL},
    {"pairs of words that differ in the second", G "st.global.v2.u32 [%rd1], {%r9, %r1};\nret;",
     "write different values"},
    {"all write the same to one word", G "st.global.u32 [%rd1], %r9;\nret;", NULL},
    {"all write the same and read it",
     G "st.global.u32 [%rd1], %r9;\nld.global.u32 %r4, [%rd1];\nret;", NULL},
    {"one after the other writes the same",
     G LANE(3) "st.global.u32 [%rd1], 9;\n" LANE(5) "st.global.u32 [%rd1], 9;\nret;", NULL},
    {"one after the other writes its own",
     G LANE(3) "st.global.u32 [%rd1], 8;\n" LANE(5) "st.global.u32 [%rd1], 9;\nret;",
     "race: write of 4 bytes of global memory, and the write by lane 3 of the warp at PTX line"},
    {"reads what it wrote itself",
     G "st.global.u32 [%rd2], %r1;\nld.global.u32 %r4, [%rd2];\nst.global.u32 [%rd2], %r4;\nret;",
     NULL},
    {"reads what its neighbour wrote",
     G OTHER "st.global.u32 [%rd2], %r1;\nld.global.u32 %r4, [%rd5];\nret;",
     "race: read of 4 bytes of global memory, and the write by lane 1 of the warp at PTX line"},
    {"with bar.warp.sync between",
     G OTHER "st.global.u32 [%rd2], %r1;\nbar.warp.sync -1;\nld.global.u32 %r4, [%rd5];\nret;",
     NULL},
    {"with a barrier between",
     G OTHER "st.global.u32 [%rd2], %r1;\nbar.sync 0;\nld.global.u32 %r4, [%rd5];\nret;", NULL},
    {"with only a fence between",
     G OTHER "st.global.u32 [%rd2], %r1;\nmembar.gl;\nld.global.u32 %r4, [%rd5];\nret;",
     "race: read"},
    {"through a shuffle",
     G "st.global.u32 [%rd2], %r1;\nshfl.sync.bfly.b32 %r4, %r1, 1, 31, -1;\n"
       "st.global.u32 [%rd2+128], %r4;\nret;",
     NULL},
    {"a shuffle orders no memory",
     G OTHER "st.global.u32 [%rd2], %r1;\nshfl.sync.bfly.b32 %r4, %r1, 1, 31, -1;\n"
             "ld.global.u32 %r4, [%rd5];\nret;",
     "race: read"},
    {"volatile accesses",
     G OTHER "st.volatile.global.u32 [%rd2], %r1;\nld.volatile.global.u32 %r4, [%rd5];\nret;",
     NULL},
    {"moves all one place down",
     G "ld.global.u32 %r4, [%rd2+4];\nadd.u32 %r4, %r4, %r1;\nst.global.u32 [%rd2], %r4;\nret;",
     "race: write of 4 bytes of global memory, and the read by lane 0 of the warp"},
    {"moves all one place down, ordered",
     G "ld.global.u32 %r4, [%rd2+4];\nbar.warp.sync -1;\nadd.u32 %r4, %r4, %r1;\n"
       "st.global.u32 [%rd2], %r4;\nret;",
     NULL},
    {"all read a word, one writes it",
     G "ld.global.u32 %r4, [%rd1];\n" LANE(7) "st.global.u32 [%rd1], 3;\nret;",
     "and the read by lane 0 of the warp"},
    {"one reads and writes a word",
     G LANE(7) "ld.global.u32 %r4, [%rd1];\n@%p2 st.global.u32 [%rd1], 3;\nret;", NULL},
    {"half of them write, the others read",
     G "setp.lt.u32 %p3, %r1, 16;\n@%p3 st.global.u32 [%rd2], %r1;\n"
       "@!%p3 ld.global.u32 %r4, [%rd2+-64];\nret;",
     "and the write by lane 0 of the warp"},
    {"half of them write, the others read elsewhere",
     G "setp.lt.u32 %p3, %r1, 16;\n@%p3 st.global.u32 [%rd2], %r1;\n"
       "@!%p3 ld.global.u32 %r4, [%rd2];\nret;",
     NULL},
    {"ten of them in place, row after row",
     G "setp.lt.u32 %p3, %r1, 10;\n@!%p3 ret;\n" ADD_ONE("%rd2", "40", "20"), NULL},
    {"rows that overlap by a word",
     G "setp.lt.u32 %p3, %r1, 10;\n@!%p3 ret;\n" ADD_ONE("%rd2", "36", "20"),
     "by lane 9 of the warp"},
    {"a row of seven words each, in place",
     G "mad.wide.u32 %rd5, %r1, 28, %rd1;\n" ADD_ONE("%rd5", "4", "7"), NULL},
    {"a row of seven words each, and one more",
     G "mad.wide.u32 %rd5, %r1, 28, %rd1;\n" ADD_ONE("%rd5", "4", "8"), "race: "},
    {"words in reverse, in place",
     G "sub.u32 %r5, 31, %r1;\nmad.wide.u32 %rd5, %r5, 4, %rd1;\n" ADD_ONE("%rd5", "128", "3"),
     NULL},
    {"words in reverse, then in order",
     G "sub.u32 %r5, 31, %r1;\nmad.wide.u32 %rd5, %r5, 4, %rd1;\nst.global.u32 [%rd5], %r1;\n"
       "ld.global.u32 %r4, [%rd2];\nret;",
     "and the write by lane 31 of the warp"},
    {"vectors of its own",
     G "mad.wide.u32 %rd5, %r1, 16, %rd1;\nst.global.v4.u32 [%rd5], {%r1, %r9, %r1, %r1};\n"
       "ld.global.v2.u32 {%r4, %r5}, [%rd5+8];\nld.global.u32 %r4, [%rd5+4];\nret;",
     NULL},
    {"vectors, and the half of another one's",
     G "mad.wide.u32 %rd5, %r1, 16, %rd1;\nst.global.v4.u32 [%rd5], {%r1, %r9, %r1, %r1};\n"
       "ld.global.v2.u32 {%r4, %r5}, [%rd5+24];\nret;",
     "by lane 1 of the warp"},
    {"bytes side by side",
     G "cvt.u64.u32 %rd5, %r1;\nadd.s64 %rd5, %rd1, %rd5;\nst.global.u8 [%rd5], %r1;\n"
       "ld.global.u8 %r4, [%rd5];\nret;",
     NULL},
    {"its own word, then its bytes",
     G "st.global.u32 [%rd2], %r1;\nst.global.u8 [%rd2+1], 7;\nld.global.u32 %r4, [%rd2];\nret;",
     NULL},
    {"its own word, then its neighbour's bytes",
     G OTHER "st.global.u32 [%rd2], %r1;\nst.global.u8 [%rd5+1], 7;\nret;",
     "and the write by lane 1 of the warp"},
    {"atomics to one word", G "atom.global.add.u32 %r4, [%rd1], 1;\nret;", NULL},
    {"atomics, then a plain read",
     G "red.global.add.u32 [%rd1], 1;\nld.global.u32 %r4, [%rd1];\nret;",
     "and the atomic update by lane 1 of the warp"},
    {"atomics, an order, then a plain read",
     G "red.global.add.u32 [%rd1], 1;\nbar.warp.sync -1;\nld.global.u32 %r4, [%rd1];\nret;", NULL},
    {"the last lane done",
     G "st.global.u32 [%rd2], %r1;\nmembar.gl;\natom.global.inc.u32 %r4, [%rd4], 31;\n"
       "setp.eq.u32 %p2, %r4, 31;\n@%p2 ld.global.u32 %r5, [%rd1];\nret;",
     NULL},
    {"the last lane done, a fence of the block",
     G "st.global.u32 [%rd2], %r1;\nmembar.cta;\natom.global.inc.u32 %r4, [%rd4], 31;\n"
       "setp.eq.u32 %p2, %r4, 31;\n@%p2 ld.global.u32 %r5, [%rd1];\nret;",
     NULL},
    {"the last lane done, by atom.acq_rel",
     G "st.global.u32 [%rd2], %r1;\natom.acq_rel.gpu.global.inc.u32 %r4, [%rd4], 31;\n"
       "setp.eq.u32 %p2, %r4, 31;\n@%p2 ld.global.u32 %r5, [%rd1];\nret;",
     NULL},
    {"the last lane done, no fence",
     G "st.global.u32 [%rd2], %r1;\natom.global.inc.u32 %r4, [%rd4], 31;\n"
       "setp.eq.u32 %p2, %r4, 31;\n@%p2 ld.global.u32 %r5, [%rd1];\nret;",
     "and the write by lane 0 of the warp"},
};

static lg_sim_result run(rig *r, const char *name, uint64_t address) {
    lg_sim_launch launch = rig_launch(1, 32, &address, 8);
    launch.checks = LG_SIM_CHECK_RACE;
    return rig_run(r, name, &launch);
}

static void test_lanes(void) {
    for (size_t i = 0; i < sizeof lanes / sizeof *lanes; i++) {
        rig r = rig_kernel("", ".param .u64 p", lanes[i].body);
        lg_sim_result result = run(&r, "k", rig_buffer(&r, NULL, 8192));
        LG_CHECK_ROW(lanes[i].name, result.status == LG_SIM_OK);
        LG_CHECK_ROW(lanes[i].name, result.has_fault == (lanes[i].text != NULL));
        if (result.has_fault) {
            bool ok = lanes[i].text && strstr(result.fault.text, lanes[i].text);
            LG_CHECK_ROW(lanes[i].name, ok);
            LG_CHECK_ROW(lanes[i].name, result.fault.kind == LG_DEVICE_FAULT_RACE);
            LG_CHECK_ROW(lanes[i].name, result.fault.space == LG_SPACE_GLOBAL);
            if (!ok) {
                fprintf(stderr, "\n    %s\n", result.fault.text);
            }
        }
        lg_sim_result_free(&result);
        rig_close(&r);
    }
}

// As people write them: a warp that works in global memory.
static const char *const source =
    "template <bool SYNC> __device__ void tree(float *x) {\n"
    "    for (int h = 16; h > 0; h /= 2) {\n"
    "        if (threadIdx.x < h) x[threadIdx.x] += x[threadIdx.x + h];\n" // line 3
    "        if (SYNC) __syncwarp();\n"
    "    }\n"
    "}\n"
    "extern \"C\" __global__ void synced(float *x) { tree<true>(x); }\n"
    "extern \"C\" __global__ void bare(float *x) { tree<false>(x); }\n"
    "extern \"C\" __global__ void block_tree(float *x) {\n"
    "    for (int h = 16; h > 0; h /= 2) {\n"
    "        if (threadIdx.x < h) x[threadIdx.x] += x[threadIdx.x + h];\n"
    "        __syncthreads();\n"
    "    }\n"
    "}\n"
    "extern \"C\" __global__ void shuffled(float *x) {\n"
    "    float sum = x[threadIdx.x];\n"
    "    for (int h = 16; h > 0; h /= 2) sum += __shfl_xor_sync(~0u, sum, h);\n"
    "    x[threadIdx.x] /= sum;\n"
    "}\n"
    "extern \"C\" __global__ void row_of_a_lane(float *x) {\n"
    "    float *row = x + 7 * threadIdx.x, sum = 0;\n"
    "    for (int i = 0; i < 7; i++) sum += row[i];\n"
    "    for (int i = 0; i < 7; i++) row[i] /= sum;\n"
    "}\n"
    "extern \"C\" __global__ void histogram(float *x) {\n"
    "    x[64 + threadIdx.x % 5] += threadIdx.x;\n" // line 26
    "}\n"
    "extern \"C\" __global__ void histogram_of_atomics(float *x) {\n"
    "    atomicAdd(&x[64 + threadIdx.x % 5], 1);\n"
    "}\n"
    "extern \"C\" __global__ void flag(float *x) {\n"
    "    if (x[threadIdx.x] >= 0) x[64] = 1;\n"
    "}\n"
    "extern \"C\" __global__ void first_bad(float *x) {\n"
    "    if (x[threadIdx.x] >= 0) x[64] = threadIdx.x;\n" // line 35
    "}\n"
    "extern \"C\" __global__ void one_for_all(float *x) {\n"
    "    if (threadIdx.x == 0) x[64] = x[0] * 2;\n" // line 38: the other lanes go on first
    "    x[threadIdx.x] *= x[64];\n"
    "}\n"
    "extern \"C\" __global__ void one_for_all_synced(float *x) {\n"
    "    if (threadIdx.x == 0) x[64] = x[0] * 2;\n"
    "    __syncwarp();\n"
    "    x[threadIdx.x] *= x[64];\n"
    "}\n";

static const struct {
    const char *name;
    int line; // of the finding; 0: there is none
} kernels[] = {
    {"synced", 0},        {"bare", 3},         {"block_tree", 0},           {"shuffled", 0},
    {"row_of_a_lane", 0}, {"histogram", 26},   {"histogram_of_atomics", 0}, {"flag", 0},
    {"first_bad", 35},    {"one_for_all", 38}, {"one_for_all_synced", 0},
};

static void test_kernels(void) {
    enum { N = 256 };
    rig r = rig_compile(source);
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
        float x[N];
        for (int k = 0; k < N; k++) {
            x[k] = 1 + (float)(k % 7) * 0.25f;
        }
        lg_sim_result result = run(&r, kernels[i].name, rig_buffer(&r, x, sizeof x));
        LG_CHECK_ROW(kernels[i].name, result.status == LG_SIM_OK);
        LG_CHECK_ROW(kernels[i].name, result.has_fault == (kernels[i].line != 0));
        if (result.has_fault) {
            bool ok =
                result.fault.line == kernels[i].line && result.fault.kind == LG_DEVICE_FAULT_RACE;
            LG_CHECK_ROW(kernels[i].name, ok);
            if (!ok) {
                fprintf(stderr, "\n    %s\n", result.fault.text);
            }
        }
        lg_sim_result_free(&result);
    }
    rig_close(&r);
}

int main(void) {
    static const lg_test tests[] = {
        {"lanes of a warp on global memory", test_lanes},
        {"a warp at work in global memory", test_kernels},
    };
    return lg_run_tests(LG_SUITE, tests, sizeof tests / sizeof *tests);
}
