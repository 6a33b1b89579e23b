// SPDX-License-Identifier: Apache-2.0
// What LG_SIM_CHECK_RACE finds on global memory: between blocks, and between the warps of a block.
#include "unit/engine/sim/race/grid.h"

static const race_row rows[] = {
    {"each thread its own word", G "st.global.u32 [%rd2], %r3;\nld.global.u32 %r4, [%rd2];\nret;",
     64, false, NULL},
    {"all blocks read", G "ld.global.u32 %r4, [%rd1];\nret;", 64, false, NULL},
    {"blocks write one word", G "@%p1 st.global.u32 [%rd1], %r2;\nret;", 32, true,
     "race: write of 4 bytes of global memory, and the write by block [0,0,0] at PTX line"},
    {"blocks write the same value", G "@%p1 st.global.u32 [%rd1], 5;\nret;", 32, false, NULL},
    {"a block reads what another wrote",
     G "@%p1 st.global.u32 [%rd3], %r9;\nbar.warp.sync -1;\nld.global.u32 %r4, [%rd1];\nret;", 32,
     true, "race: read of 4 bytes of global memory, and the write by block [0,0,0]"},
    {"a block writes what another read",
     G "add.s32 %r5, %r2, 1;\nmad.wide.u32 %rd5, %r5, 4, %rd1;\nadd.s32 %r6, %r2, 7;\n"
       "ld.global.u32 %r4, [%rd5];\n@%p1 st.global.u32 [%rd3], %r6;\nret;",
     32, true, "and the read by block [0,0,0]"},
    {"atomics of all blocks", G "atom.global.add.u32 %r4, [%rd1], 1;\nret;", 64, false, NULL},
    {"reductions of all blocks", G "red.global.add.u32 [%rd1], 1;\nret;", 64, false, NULL},
    {"each block sets to zero before it adds",
     G "@%p1 st.global.u32 [%rd1], 0;\nbar.sync 0;\nred.global.add.u32 [%rd1], 1;\nret;", 32, true,
     "race: write"},
    {"a block reads what others add to",
     G "red.global.add.u32 [%rd1], 1;\nld.global.u32 %r4, [%rd1];\nret;", 32, true, "race: "},
    {"a volatile read beside atomics",
     G "red.global.add.u32 [%rd1], 1;\nld.volatile.global.u32 %r4, [%rd1];\nret;", 32, false, NULL},
    {"atomics of the block's scope", G "red.cta.global.add.u32 [%rd1], 1;\nret;", 32, true,
     "the atomic update by block [0,0,0]"},
    {"neighbouring bytes of two blocks",
     G "cvt.u64.u32 %rd5, %r2;\nadd.s64 %rd5, %rd1, %rd5;\n@%p1 st.global.u8 [%rd5], %r2;\n"
       "bar.warp.sync -1;\nld.global.u8 %r4, [%rd5];\nret;",
     32, false, NULL},
    {"words first, then bytes of them",
     G "@%p1 st.global.u32 [%rd1+64], 9;\ncvt.u64.u32 %rd5, %r2;\nadd.s64 %rd5, %rd1, %rd5;\n"
       "@%p1 st.global.u8 [%rd5+64], %r2;\nret;",
     32, true, "race: write"},
    {"rows that share a line", // 10 words a block
     G "mad.lo.u32 %r5, %r2, 10, %r1;\nmad.wide.u32 %rd5, %r5, 4, %rd1;\n"
       "setp.lt.u32 %p2, %r1, 10;\n@%p2 st.global.u32 [%rd5], %r1;\n"
       "@%p2 ld.global.u32 %r6, [%rd5];\nret;",
     32, false, NULL},
    {"rows that overlap by one word",
     G "mad.lo.u32 %r5, %r2, 9, %r1;\nmad.wide.u32 %rd5, %r5, 4, %rd1;\n"
       "setp.lt.u32 %p2, %r1, 10;\n@%p2 st.global.u32 [%rd5], %r1;\nret;",
     32, true, "race: write"},
    {"vectors of two blocks side by side",
     G "mad.wide.u32 %rd5, %r3, 16, %rd1;\nst.global.v4.u32 [%rd5], {%r1, %r2, %r3, %r1};\n"
       "ld.global.v2.u32 {%r4, %r5}, [%rd5+8];\nret;",
     32, false, NULL},
    {"through a generic address", G "@%p1 st.u32 [%rd1], %r2;\nret;", 32, true, "race: write"},
    {"a warp reads what another of its block wrote",
     G "st.global.u32 [%rd2], %r3;\nxor.b32 %r5, %r3, 32;\nmad.wide.u32 %rd5, %r5, 4, %rd1;\n"
       "ld.global.u32 %r4, [%rd5];\nret;",
     64, true, "by warp 0 of the block"},
    {"with a barrier between",
     G "st.global.u32 [%rd2], %r3;\nxor.b32 %r5, %r3, 32;\nmad.wide.u32 %rd5, %r5, 4, %rd1;\n"
       "bar.sync 0;\nld.global.u32 %r4, [%rd5];\nret;",
     64, false, NULL},
    {"a warp writes what others of its block have read",
     G "ld.global.u32 %r4, [%rd1];\nsetp.eq.u32 %p2, %r3, 70;\nbar.warp.sync -1;\n@%p2 "
       "st.global.u32 [%rd1], %r3;\n"
       "ret;",
     96, true, "the read by warp"},
    // 64 words a block: a whole line, of which a number is left when the block has ended.
    {"a block writes into a line that another has read",
     G "ld.global.u32 %r4, [%rd2];\nsetp.eq.u32 %p2, %r3, 191;\n@%p2 st.global.u32 [%rd1+8], 3;\n"
       "ret;",
     64, true, "and the read by block [0,0,0]"},
    {"a block reads from a line that another has written",
     G "st.global.u32 [%rd2], %r3;\nsetp.eq.u32 %p2, %r3, 191;\n@%p2 ld.global.u32 %r4, [%rd1+8];\n"
       "ret;",
     64, true, "and the write by block [0,0,0]"},
    {"a line read, then written by one block, read by another",
     G "ld.global.u32 %r4, [%rd2];\nst.global.u32 [%rd2], %r3;\nsetp.eq.u32 %p2, %r3, 191;\n"
       "@%p2 ld.global.u32 %r4, [%rd1+8];\nret;",
     64, true, "and the write by block [0,0,0]"},
    {"a line of all blocks, written by none",
     G "ld.global.u32 %r4, [%rd1];\n"
       "mad.wide.u32 %rd5, %r1, 4, %rd1;\nld.global.u32 %r4, [%rd5];\nret;",
     64, false, NULL},
    {"a line of all blocks, written by the last",
     G "mad.wide.u32 %rd5, %r1, 4, %rd1;\nld.global.u32 %r4, [%rd5];\nbar.sync 0;\n"
       "setp.eq.u32 %p2, %r2, 2;\n@%p2 st.global.u32 [%rd5], %r3;\nret;",
     64, true, "race: write of 4 bytes of global memory, and the read by block"},
    {"bytes written into a line that a block has read as words",
     G "ld.global.u32 %r4, [%rd2];\nsetp.eq.u32 %p2, %r3, 191;\n@%p2 st.global.u8 [%rd1+9], 3;\n"
       "ret;",
     64, true, "and the read by block [0,0,0]"},
    {"bytes written into the block's own line",
     G "ld.global.u32 %r4, [%rd2];\nst.global.u8 [%rd2+1], 3;\nret;", 64, false, NULL},
    {"bytes read, words written, bytes read of one line",
     G "ld.global.u8 %r4, [%rd2+3];\nst.global.u32 [%rd2], %r3;\nld.global.u8 %r4, [%rd2+2];\n"
       "ret;",
     64, false, NULL},
};

static void test_rows(void) {
    check_rows(rows, sizeof rows / sizeof *rows);
}

static void test_any_order(void) {
    check_any_order(rows, sizeof rows / sizeof *rows);
}

// What an earlier launch did is ordered before, and a freed buffer takes its past along.
static void test_launches_do_not_race(void) {
    rig r = rig_kernel("", ".param .u64 p",
                       G "add.s32 %r5, %r3, 1;\nld.global.u32 %r4, [%rd2];\n"
                         "add.u32 %r5, %r4, %r5;\nst.global.u32 [%rd2], %r5;\nret;");
    for (int i = 0; i < 3; i++) {
        uint64_t address = rig_buffer(&r, NULL, 8192);
        for (uint64_t schedule = 0; schedule < 4; schedule++) {
            lg_sim_result result = run_grid(&r, 32, schedule, address);
            CU_ASSERT_FALSE(result.has_fault);
            lg_sim_result_free(&result);
        }
        CU_ASSERT_TRUE(lg_sim_free(r.sim, address));
    }
    rig_close(&r);
}

// The reductions people write, as nvcc compiles them.
static const char *const source =
    "__device__ unsigned counter;\n"
    "__device__ float block_sum(float x) {\n"
    "    __shared__ float s[128];\n"
    "    s[threadIdx.x] = x;\n"
    "    __syncthreads();\n"
    "    for (int h = 64; h > 0; h /= 2) {\n"
    "        if (threadIdx.x < h) s[threadIdx.x] += s[threadIdx.x + h];\n"
    "        __syncthreads();\n"
    "    }\n"
    "    return s[0];\n"
    "}\n"
    "template <bool FENCE> __device__ void last_block(const float *in, float *out, int n) {\n"
    "    float *parts = out + 1;\n"
    "    __shared__ bool last;\n"
    "    float x = 0;\n"
    "    for (int i = blockIdx.x * 128 + threadIdx.x; i < n; i += 128 * gridDim.x) x += in[i];\n"
    "    x = block_sum(x);\n"
    "    if (threadIdx.x == 0) {\n"
    "        parts[blockIdx.x] = x;\n"
    "        if (FENCE) __threadfence();\n"
    "        last = atomicInc(&counter, gridDim.x - 1) == gridDim.x - 1;\n"
    "    }\n"
    "    __syncthreads();\n"
    "    if (last) {\n"
    "        x = threadIdx.x < gridDim.x ? parts[threadIdx.x] : 0;\n"
    "        x = block_sum(x);\n"
    "        if (threadIdx.x == 0) out[0] = x;\n"
    "    }\n"
    "}\n"
    "extern \"C\" __global__ void fenced(const float *in, float *out, int n) {\n"
    "    last_block<true>(in, out, n);\n"
    "}\n"
    "extern \"C\" __global__ void unfenced(const float *in, float *out, int n) {\n"
    "    last_block<false>(in, out, n);\n" // line 36
    "}\n"
    "extern \"C\" __global__ void atomics(const float *in, float *out, int n) {\n"
    "    float x = 0;\n"
    "    for (int i = blockIdx.x * 128 + threadIdx.x; i < n; i += 128 * gridDim.x) x += in[i];\n"
    "    x = block_sum(x);\n"
    "    if (threadIdx.x == 0) atomicAdd(out, x);\n"
    "}\n"
    "extern \"C\" __global__ void plain(const float *in, float *out, int n) {\n"
    "    float x = 0;\n"
    "    for (int i = blockIdx.x * 128 + threadIdx.x; i < n; i += 128 * gridDim.x) x += in[i];\n"
    "    x = block_sum(x);\n"
    "    if (threadIdx.x == 0) *out += x;\n" // line 48
    "}\n"
    "extern \"C\" __global__ void no_tail(const float *in, float *out, int n) {\n"
    "    __shared__ float s[128];\n"
    "    s[threadIdx.x] = in[threadIdx.x];\n"
    "    __syncthreads();\n"
    "    for (int h = 64; h > 32; h /= 2) {\n"
    "        if (threadIdx.x < h) s[threadIdx.x] += s[threadIdx.x + h];\n"
    "    }\n"
    "    if (threadIdx.x < 32) {\n"
    "        float x = s[threadIdx.x] + s[threadIdx.x + 32];\n" // line 58
    "        for (int h = 16; h > 0; h /= 2) x += __shfl_down_sync(~0u, x, h);\n"
    "        if (threadIdx.x == 0) out[blockIdx.x] = x;\n"
    "    }\n"
    "}\n"
    "template <bool SYNC> __device__ void warp_tail(const float *in, float *out) {\n"
    "    __shared__ float s[64];\n"
    "    unsigned i = threadIdx.x;\n"
    "    s[i] = in[i];\n"
    "    __syncthreads();\n"
    "    if (i < 32) {\n"
    "        for (int h = 32; h > 0; h /= 2) {\n"
    "            float x = i < h ? s[i] + s[i + h] : s[i];\n" // line 70
    "            if (SYNC) __syncwarp();\n"
    "            s[i] = x;\n"
    "            if (SYNC) __syncwarp();\n"
    "        }\n"
    "        if (i == 0) out[blockIdx.x] = s[0];\n"
    "    }\n"
    "}\n"
    "extern \"C\" __global__ void synced_tail(const float *in, float *out, int n) {\n"
    "    warp_tail<true>(in, out);\n"
    "}\n"
    "extern \"C\" __global__ void bare_tail(const float *in, float *out, int n) {\n"
    "    warp_tail<false>(in, out);\n"
    "}\n"
    "extern \"C\" __global__ void volatile_tail(const float *in, float *out, int n) {\n"
    "    __shared__ float t[64];\n"
    "    volatile float *s = t;\n"
    "    unsigned i = threadIdx.x;\n"
    "    s[i] = in[i];\n"
    "    __syncthreads();\n"
    "    if (i < 32) {\n"
    "        for (int h = 32; h > 0; h /= 2) s[i] += s[i + h & 63];\n"
    "        if (i == 0) out[blockIdx.x] = s[0];\n"
    "    }\n"
    "}\n"
    "extern \"C\" __global__ void reused(const float *in, float *out, int n) {\n"
    "    __shared__ float s[4];\n"
    "    float sum = 0;\n"
    "    for (int k = 0; k < 2; k++) {\n"
    "        if (threadIdx.x % 32 == 0) s[threadIdx.x / 32] = in[threadIdx.x] * (k + 1);\n"
    "        __syncthreads();\n"
    "        sum += s[0] + s[1] + s[2] + s[3];\n"
    "    }\n"
    "    if (threadIdx.x == 0) out[blockIdx.x] = sum;\n"
    "}\n";

static const struct {
    const char *name;
    uint32_t threads;
    bool race;
    lg_ptx_space space;
} kernels[] = {
    {"fenced", 128, false, 0},
    {"unfenced", 128, true, LG_SPACE_GLOBAL},
    {"atomics", 128, false, 0},
    {"plain", 128, true, LG_SPACE_GLOBAL},
    {"no_tail", 128, true, LG_SPACE_SHARED},
    {"synced_tail", 64, false, 0},
    {"bare_tail", 64, true, LG_SPACE_SHARED},
    {"volatile_tail", 64, false, 0},
    {"reused", 128, true, LG_SPACE_SHARED},
};

static void test_reductions(void) {
    enum { N = 1000 };
    rig r = rig_compile(source);
    float in[N];
    for (int i = 0; i < N; i++) {
        in[i] = (float)(i % 7) * 0.25f;
    }
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
        struct {
            uint64_t in, out;
            int32_t n;
        } params = {rig_buffer(&r, in, sizeof in), rig_buffer(&r, NULL, 64), N};
        lg_sim_launch launch = rig_launch(4, kernels[i].threads, &params, 20);
        launch.checks = LG_SIM_CHECK_RACE;
        lg_sim_result result = rig_run(&r, kernels[i].name, &launch);
        LG_CHECK_ROW(kernels[i].name, result.status == LG_SIM_OK);
        LG_CHECK_ROW(kernels[i].name, result.has_fault == kernels[i].race);
        if (result.has_fault) {
            LG_CHECK_ROW(kernels[i].name, kernels[i].race);
            LG_CHECK_ROW(kernels[i].name, result.fault.space == kernels[i].space);
            LG_CHECK_ROW(kernels[i].name, result.fault.kind == LG_DEVICE_FAULT_RACE);
            LG_CHECK_ROW(kernels[i].name, result.fault.line > 0 && result.fault.file);
            bool names_both =
                kernels[i].space == LG_SPACE_SHARED ||
                (strstr(result.fault.text, "at k.cu:") && strstr(result.fault.text, "(k.cu:"));
            LG_CHECK_ROW(kernels[i].name, names_both);
            if (!kernels[i].race || !names_both) {
                fprintf(stderr, "\n    %s\n", result.fault.text);
            }
        }
        lg_sim_result_free(&result);
    }
    rig_close(&r);
}

int main(void) {
    static const lg_test tests[] = {
        {"races on global memory", test_rows},
        {"in any order of blocks", test_any_order},
        {"launches do not race", test_launches_do_not_race},
        {"reductions people write", test_reductions},
    };
    return lg_run_tests(LG_SUITE, tests, sizeof tests / sizeof *tests);
}
