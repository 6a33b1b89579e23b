// SPDX-License-Identifier: Apache-2.0
// CUDA kernels through nvcc and the engine, against the same computation on the host.
#include "unit/engine/sim/rig.h"

#include <math.h>

static const char source[] =
    "#include <cassert>\n#include <cstdio>\n"
    "extern \"C\" __global__ void block_sum(const float *in, float *out, int n) {\n"
    "    __shared__ float s[256];\n"
    "    float sum = 0;\n"
    "    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)\n"
    "        sum += in[i];\n"
    "    s[threadIdx.x] = sum;\n    __syncthreads();\n"
    "    for (int step = blockDim.x / 2; step > 0; step /= 2) {\n"
    "        if (threadIdx.x < step) s[threadIdx.x] += s[threadIdx.x + step];\n"
    "        __syncthreads();\n    }\n"
    "    if (threadIdx.x == 0) out[blockIdx.x] = s[0];\n}\n"
    "extern \"C\" __global__ void warp_sum(const int *in, int *out, int n) {\n"
    "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "    int v = i < n ? in[i] : 0;\n"
    "    for (int d = 16; d > 0; d /= 2) v += __shfl_down_sync(0xffffffffu, v, d);\n"
    "    if ((threadIdx.x & 31) == 0) atomicAdd(out, v);\n}\n"
    "extern \"C\" __global__ void histogram(const unsigned char *in, unsigned *out, int n) {\n"
    "    __shared__ unsigned h[256];\n"
    "    for (int i = threadIdx.x; i < 256; i += blockDim.x) h[i] = 0;\n    __syncthreads();\n"
    "    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)\n"
    "        atomicAdd(&h[in[i]], 1u);\n    __syncthreads();\n"
    "    for (int i = threadIdx.x; i < 256; i += blockDim.x) atomicAdd(&out[i], h[i]);\n}\n"
    "extern \"C\" __global__ void transpose(const double *in, double *out, int n) {\n"
    "    extern __shared__ double tile[];\n"
    "    int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;\n"
    "    if (x < n && y < n) tile[threadIdx.y * 17 + threadIdx.x] = in[y * n + x];\n"
    "    __syncthreads();\n"
    "    x = blockIdx.y * 16 + threadIdx.x; y = blockIdx.x * 16 + threadIdx.y;\n"
    "    if (x < n && y < n) out[y * n + x] = tile[threadIdx.x * 17 + threadIdx.y];\n}\n"
    "__device__ __noinline__ unsigned ackermann(unsigned m, unsigned n) {\n"
    "    if (m == 0) return n + 1;\n    if (n == 0) return ackermann(m - 1, 1);\n"
    "    return ackermann(m - 1, ackermann(m, n - 1));\n}\n"
    "extern \"C\" __global__ void recursion(unsigned *out) {\n"
    "    out[threadIdx.x] = ackermann(threadIdx.x % 3, threadIdx.x % 5);\n}\n"
    "typedef float (*function)(float);\n"
    "__device__ float half_of(float x) { return x * 0.5f; }\n"
    "__device__ float square(float x) { return x * x; }\n"
    "__device__ function functions[2] = {half_of, square};\n"
    "extern \"C\" __global__ void pointers(const float *in, float *out, int n) {\n"
    "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "    if (i < n) out[i] = functions[i % 2](in[i]);\n}\n"
    "extern \"C\" __global__ void sort_local(const int *in, int *out) {\n"
    "    int a[8];\n    for (int i = 0; i < 8; i++) a[i] = in[threadIdx.x * 8 + i];\n"
    "    for (int i = 1; i < 8; i++)\n"
    "        for (int k = i; k > 0 && a[k - 1] > a[k]; k--) {\n"
    "            int t = a[k]; a[k] = a[k - 1]; a[k - 1] = t; }\n"
    "    for (int i = 0; i < 8; i++) out[threadIdx.x * 8 + i] = a[i];\n}\n"
    "extern \"C\" __global__ void lookup(const float *x, const long long *labels, float *out, int "
    "c,\n"
    "                                    int n) {\n"
    "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    if (i >= n) return;\n"
    "    long long t = labels[i];\n    assert(t >= 0 && t < c);\n"
    "    out[i] = -x[i * c + t];\n}\n"
    "extern \"C\" __global__ void print(int n) {\n"
    "    if (threadIdx.x < n) printf(\"%d: %s %.3f\\n\", threadIdx.x, n > 1 ? \"many\" : \"one\", "
    "0.5f);\n}\n";

static uint64_t state = 1;

static uint32_t next(void) {
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(state >> 33);
}

static void run(rig *r, const char *name, lg_sim_launch launch) {
    lg_sim_result result = rig_run(r, name, &launch);
    if (result.status != LG_SIM_OK) {
        fprintf(stderr, "\n    %s: %s\n", name, result.fault.text);
    }
    CU_ASSERT_EQUAL(result.status, LG_SIM_OK);
    lg_sim_result_free(&result);
}

static void test_block_sum(void) {
    rig r = rig_compile(source);
    enum { N = 10000, BLOCKS = 4 };
    float *in = malloc(N * sizeof *in), got[BLOCKS];
    for (int i = 0; i < N; i++) {
        in[i] = (float)(next() % 1000) * 0.001f;
    }
    struct {
        uint64_t in, out;
        int n;
    } params = {rig_buffer(&r, in, N * sizeof *in), rig_buffer(&r, NULL, sizeof got), N};
    for (uint64_t schedule = 0; schedule < 3; schedule++) {
        lg_sim_launch launch = rig_launch(BLOCKS, 256, &params, 20);
        launch.schedule = schedule;
        launch.checks = schedule == 2 ? LG_SIM_CHECK_RACE | LG_SIM_CHECK_INIT : 0;
        run(&r, "block_sum", launch);
        rig_read(&r, params.out, got, sizeof got);
        for (int block = 0; block < BLOCKS; block++) {
            float s[256];
            for (int t = 0; t < 256; t++) {
                s[t] = 0;
                for (int i = block * 256 + t; i < N; i += BLOCKS * 256) {
                    s[t] += in[i];
                }
            }
            for (int step = 128; step > 0; step /= 2) {
                for (int t = 0; t < step; t++) {
                    s[t] += s[t + step];
                }
            }
            CU_ASSERT_EQUAL(got[block], s[0]); // bit for bit: the order is the kernel's
        }
    }
    free(in);
    rig_close(&r);
}

static void test_warp_sum_and_histogram(void) {
    rig r = rig_compile(source);
    enum { N = 5000 };
    int in[N], sum = 0, got_sum;
    uint8_t bytes[N];
    uint32_t want[256] = {0}, got[256];
    for (int i = 0; i < N; i++) {
        in[i] = (int)next() % 1000;
        sum += in[i];
        bytes[i] = (uint8_t)(next() % 7 ? next() : 3);
        want[bytes[i]]++;
    }
    struct {
        uint64_t in, out;
        int n;
    } params = {rig_buffer(&r, in, sizeof in), rig_buffer(&r, NULL, 4), N};
    run(&r, "warp_sum", rig_launch(20, 256, &params, 20));
    rig_read(&r, params.out, &got_sum, 4);
    CU_ASSERT_EQUAL(got_sum, sum);
    params.in = rig_buffer(&r, bytes, sizeof bytes);
    params.out = rig_buffer(&r, NULL, sizeof got);
    run(&r, "histogram", rig_launch(3, 192, &params, 20));
    rig_read(&r, params.out, got, sizeof got);
    CU_ASSERT_EQUAL(memcmp(got, want, sizeof got), 0);
    rig_close(&r);
}

static void test_transpose(void) {
    rig r = rig_compile(source);
    enum { N = 37 };
    double in[N * N], got[N * N];
    for (int i = 0; i < N * N; i++) {
        in[i] = i * 0.25;
    }
    struct {
        uint64_t in, out;
        int n;
    } params = {rig_buffer(&r, in, sizeof in), rig_buffer(&r, NULL, sizeof got), N};
    lg_sim_launch launch = {.grid = {3, 3, 1},
                            .block = {16, 16, 1},
                            .params = &params,
                            .param_bytes = 20,
                            .shared_bytes = 16 * 17 * 8};
    run(&r, "transpose", launch);
    rig_read(&r, params.out, got, sizeof got);
    for (int y = 0; y < N; y++) {
        for (int x = 0; x < N; x++) {
            CU_ASSERT_EQUAL(got[x * N + y], in[y * N + x]);
        }
    }
    rig_close(&r);
}

static uint32_t ackermann(uint32_t m, uint32_t n) {
    return m == 0 ? n + 1 : n == 0 ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1));
}

static void test_calls(void) {
    rig r = rig_compile(source);
    uint32_t got[60];
    uint64_t address = rig_buffer(&r, NULL, sizeof got);
    run(&r, "recursion", rig_launch(1, 60, &address, 8));
    rig_read(&r, address, got, sizeof got);
    for (uint32_t i = 0; i < 60; i++) {
        CU_ASSERT_EQUAL(got[i], ackermann(i % 3, i % 5));
    }
    float in[100], out[100];
    for (int i = 0; i < 100; i++) {
        in[i] = (float)i * 1.25f;
    }
    struct {
        uint64_t in, out;
        int n;
    } params = {rig_buffer(&r, in, sizeof in), rig_buffer(&r, NULL, sizeof out), 100};
    run(&r, "pointers", rig_launch(2, 64, &params, 20));
    rig_read(&r, params.out, out, sizeof out);
    for (int i = 0; i < 100; i++) {
        CU_ASSERT_EQUAL(out[i], i % 2 ? in[i] * in[i] : in[i] * 0.5f);
    }
    rig_close(&r);
}

static int compare_ints(const void *a, const void *b) {
    return (*(const int *)a > *(const int *)b) - (*(const int *)a < *(const int *)b);
}

static void test_local_arrays(void) {
    rig r = rig_compile(source);
    int in[64 * 8], got[64 * 8];
    for (int i = 0; i < 64 * 8; i++) {
        in[i] = (int)next() % 100 - 50;
    }
    uint64_t params[2] = {rig_buffer(&r, in, sizeof in), rig_buffer(&r, NULL, sizeof got)};
    run(&r, "sort_local", rig_launch(1, 64, params, 16));
    rig_read(&r, params[1], got, sizeof got);
    for (int i = 0; i < 64; i++) {
        qsort(in + i * 8, 8, sizeof *in, compare_ints);
    }
    CU_ASSERT_EQUAL(memcmp(in, got, sizeof in), 0);
    rig_close(&r);
}

// What the project is about: a label one too large, in a kernel with and one without an assert.
static void test_label_out_of_range(void) {
    rig r = rig_compile(source);
    enum { N = 40, C = 10 };
    float x[N * C], out[N];
    int64_t labels[N];
    for (int i = 0; i < N * C; i++) {
        x[i] = (float)i;
    }
    for (int i = 0; i < N; i++) {
        labels[i] = i % C;
    }
    struct {
        uint64_t x, labels, out;
        int c, n;
    } params = {rig_buffer(&r, x, sizeof x), rig_buffer(&r, labels, sizeof labels),
                rig_buffer(&r, NULL, sizeof out), C, N};
    run(&r, "lookup", rig_launch(2, 32, &params, 32));
    rig_read(&r, params.out, out, sizeof out);
    for (int i = 0; i < N; i++) {
        CU_ASSERT_EQUAL(out[i], -x[i * C + i % C]);
    }
    labels[35] = C;
    CU_ASSERT_TRUE(lg_sim_write(r.sim, params.labels, labels, sizeof labels));
    lg_sim_launch launch = rig_launch(2, 32, &params, 32);
    lg_sim_result result = rig_run(&r, "lookup", &launch);
    CU_ASSERT_EQUAL(result.status, LG_SIM_ASSERT);
    CU_ASSERT_PTR_NOT_NULL(strstr(result.log, "block: [1,0,0], thread: [3,0,0] Assertion "
                                              "`t >= 0 && t < c` failed.\n"));
    CU_ASSERT_PTR_NOT_NULL(strstr(result.log, "void lookup(const float *, const long long *, "
                                              "float *, int, int)"));
    CU_ASSERT_PTR_NOT_NULL_FATAL(result.fault.file);
    CU_ASSERT_PTR_NOT_NULL(strstr(result.fault.file, "k.cu"));
    CU_ASSERT_TRUE(result.fault.line > 0);
    lg_sim_result_free(&result);
    rig_close(&r);
}

static void test_printing(void) {
    rig r = rig_compile(source);
    int n = 2;
    lg_sim_launch launch = rig_launch(1, 32, &n, 4);
    lg_sim_result result = rig_run(&r, "print", &launch);
    CU_ASSERT_STRING_EQUAL(result.log, "0: many 0.500\n1: many 0.500\n");
    lg_sim_result_free(&result);
    rig_close(&r);
}

int main(void) {
    static const lg_test tests[] = {
        {"block sum", test_block_sum},
        {"warp sum and histogram", test_warp_sum_and_histogram},
        {"transpose", test_transpose},
        {"calls", test_calls},
        {"local arrays", test_local_arrays},
        {"label out of range", test_label_out_of_range},
        {"printing", test_printing},
    };
    return lg_run_tests(LG_SUITE, tests, sizeof tests / sizeof *tests);
}
