// SPDX-License-Identifier: Apache-2.0
// Whatever nvcc makes of ordinary CUDA code loads: compiled here, where there is an nvcc.
#include "unit/engine/ptx/ptx_text.h"
#include "unit/testing.h"

#include <stdlib.h>
#include <unistd.h>

static const char common[] =
    "#include <cassert>\n#include <cstdio>\n#include <cuda_bf16.h>\n#include <cuda_fp16.h>\n"
    "struct Node { int v; Node *next; const char *s; };\n"
    "__device__ int counter = 7;\n__device__ Node n1 = {1, nullptr, \"x\"};\n"
    "__device__ Node n2 = {2, &n1, \"y\"};\n"
    "struct __attribute__((packed)) Packed { char c; Node *p; };\n"
    "__device__ Packed packed = {1, &n1};\n"
    "__constant__ float table[4] = {1.f, 2.f, 3.f};\n"
    "template <class T> __device__ __noinline__ T square(T x) { return x * x; }\n"
    "__device__ __noinline__ int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }\n"
    "typedef float (*op)(float);\n"
    "__device__ float plus(float x) { return x + 1; }\n"
    "__device__ float twice(float x) { return x * 2; }\n"
    "__device__ op ops[2] = {plus, twice};\n"
    "struct Big { double a[5]; int n; };\n"
    "__device__ __noinline__ Big change(Big b, int k) { b.n += k; b.a[k] = 3; return b; }\n";

typedef struct snippet {
    const char *name;
    const char *code;
} snippet;

// One kernel each, named after the row.
static const snippet snippets[] = {
    {"asserts_and_printf",
     "__global__ void asserts_and_printf(const long long *t, int n) { int i = threadIdx.x;\n"
     "assert(t[i] >= 0 && t[i] < n);\nprintf(\"%d %f\\n\", i, 1.0 * n); if (n < 0) __trap(); }"},
    {"reduction",
     "__global__ void __launch_bounds__(256, 2) reduction(float *x, int n) {\n"
     "extern __shared__ float dyn[]; __shared__ double d[32]; __shared__ int s;\n"
     "int i = threadIdx.x; dyn[i] = x[i]; d[i & 31] = i; if (!i) s = 0; __syncthreads();\n"
     "float v = dyn[i ^ 1]; for (int o = 16; o; o >>= 1) v += __shfl_xor_sync(~0u, v, o);\n"
     "atomicAdd(x, v); atomicMax(&s, i); atomicCAS(&counter, 1, 2); atomicAdd(d, 1.0);\n"
     "x[i] = __ballot_sync(~0u, i & 1) + __any_sync(~0u, i) + __match_any_sync(~0u, i) + s;\n"
     "__threadfence(); __syncwarp(); x[0] += __syncthreads_count(i < n); }"},
    {"halves",
     "__global__ void halves(half *h, __nv_bfloat16 *b, float *x) { int i = threadIdx.x;\n"
     "half2 p = __half2half2(h[i]); p = __hfma2(p, p, p); h[i] = hexp(__low2half(p)) + h[i];\n"
     "__nv_bfloat162 q = __bfloat162bfloat162(b[i]); q = __hmul2(q, q); b[i] = __low2bfloat16(q);\n"
     "x[i] = __half2float(h[i]) + __bfloat162float(b[i]); b[i] = __float2bfloat16(x[i]);\n"
     "h[i] = __float2half_rn(x[i]); if (__hlt(h[i], h[0])) h[1] = __hmax(h[i], h[2]);\n"
     "atomicAdd((half2 *)h, p); }"},
    {"doubles",
     "__global__ void doubles(double *d, float *f) { int i = threadIdx.x;\n"
     "d[i] = exp(d[i]) + log(d[i]) + pow(d[i], 3.1) + sqrt(d[i]) / 3 + fma(d[i], 2.0, 1.0);\n"
     "f[i] = expf(f[i]) + logf(f[i]) + sinf(f[i]) + tanhf(f[i]) + rsqrtf(f[i]) + f[i] / 3;\n"
     "f[i] += __expf(f[i]) + __logf(f[i]) + floorf(f[i]) + truncf(f[i]) + fminf(f[i], 2); }"},
    {"calls",
     "__global__ void calls(float *x, int n) { int i = threadIdx.x; Big b; b.n = i;\n"
     "for (int q = 0; q < 5; q++) b.a[q] = q * x[i]; b = change(b, i % 5);\n"
     "x[i] = square(x[i]) + square((double)x[i]) + fib(n) + ops[i & 1](x[i]) + b.a[b.n % 5]; }"},
    {"memory", "__global__ void memory(float4 *x, const int4 *__restrict__ y, int n, int k) {\n"
               "int local[16]; for (int q = 0; q < 16; q++) local[q] = q * n;\n"
               "int i = threadIdx.x; float4 v = x[i]; v.x += table[i & 3] + local[k & 15];\n"
               "v.y += n2.next->v + packed.p->v + n1.s[0] + y[i].z; x[i] = v; }"},
    {"integers",
     "__global__ void integers(long long *t, unsigned *u, signed char *c, short *s, int n) {\n"
     "int i = threadIdx.x; unsigned long long w = (unsigned long long)i * t[0];\n"
     "t[i] = __umul64hi(w, w) / (t[1] | 1) + t[2] % 7 + (w >> n) + __popcll(w) + __clzll(w);\n"
     "unsigned __int128 z = (unsigned __int128)w * w + t[3]; t[i] += z >> 70;\n"
     "u[i] = __brev(u[i]) + __ffs(u[i]) + __funnelshift_l(u[i], u[1], n) + __byte_perm(u[0], "
     "u[1], n) + (u[i] << n); c[i] += c[0] * s[i]; s[i] = min(s[0], s[1]) - c[i];\n"
     "t[5] += clock64(); }"},
    {"control",
     "__global__ void control(int *x, int n, int k) { switch (n) {\n"
     "case 0: x[0] = k * 3; break; case 1: x[1] = k / 7; break; case 2: x[k] = 3; break;\n"
     "case 3: x[k + 1] = k; case 4: x[5] = 5; break; case 5: x[6] ^= k; break;\n"
     "case 6: x[2] *= k; break; case 7: x[9] |= k; break; default: x[k * k] = 1; }\n"
     "for (int i = 0; i < n; i++) { if (x[i] == 3) continue; if (x[i] == 4) break;\n"
     "while (x[i] > k) { x[i]--; if (x[i] == 100) return; } }\n"
     "asm volatile(\"{ .reg .pred p; setp.eq.s32 p, %0, 0; @p bra DONE; add.s32 %0, %0, 1;\"\n"
     "\" DONE: }\" : \"+r\"(n)); x[0] = n; }"},
};

static char *compile(const char *folder) {
    char path[512];
    char command[2048];
    snprintf(path, sizeof path, "%s/snippets.cu", folder);
    FILE *file = fopen(path, "w");
    if (!file) {
        return NULL;
    }
    fputs(common, file);
    for (size_t i = 0; i < sizeof snippets / sizeof *snippets; i++) {
        fprintf(file, "%s\n", snippets[i].code);
    }
    fclose(file);
    snprintf(command, sizeof command,
             "'%s' -ptx -lineinfo -arch=compute_75 -std=c++17 -o '%s/snippets.ptx' '%s' 2>&1",
             LG_DEFAULT_NVCC, folder, path);
    int status = system(command);
    CU_ASSERT_EQUAL(status, 0);
    snprintf(path, sizeof path, "%s/snippets.ptx", folder);
    size_t n;
    char *ptx = status == 0 ? lg_read_file(path, &n) : NULL;
    unlink(path);
    snprintf(path, sizeof path, "%s/snippets.cu", folder);
    unlink(path);
    return ptx;
}

// Mangled: _Z7control…
static const lg_ptx_function *find_kernel(const lg_ptx_module *module, const char *name) {
    for (int i = 0; i < module->n_functions; i++) {
        if (module->functions[i].is_entry && strstr(module->functions[i].name, name)) {
            return &module->functions[i];
        }
    }
    return NULL;
}

static bool has_line_of_snippet(const lg_ptx_module *module, const lg_ptx_function *function) {
    for (int i = 0; i < function->n_insns; i++) {
        const char *file;
        int line;
        int column;
        if (lg_ptx_source(module, function, i, &file, &line, &column) &&
            strstr(file, "snippets.cu")) {
            return true;
        }
    }
    return false;
}

static void test_snippets(void) {
    if (access(LG_DEFAULT_NVCC, X_OK) != 0) {
        CU_PASS("no nvcc");
        fprintf(stderr, "skipped, there is no nvcc: ");
        return;
    }
    char folder[] = "/tmp/lossgate-ptx-XXXXXX";
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
    char *ptx = compile(folder);
    rmdir(folder);
    CU_ASSERT_PTR_NOT_NULL_FATAL(ptx);
    lg_ptx_module *module = load_or_print(ptx);
    CU_ASSERT_PTR_NOT_NULL_FATAL(module);
    for (size_t i = 0; i < sizeof snippets / sizeof *snippets; i++) {
        const lg_ptx_function *kernel = find_kernel(module, snippets[i].name);
        LG_CHECK_ROW(snippets[i].name, kernel != NULL);
        if (!kernel) {
            continue;
        }
        lg_str listing = {0};
        LG_CHECK_ROW(snippets[i].name, kernel->n_insns > 10);
        LG_CHECK_ROW(snippets[i].name, has_line_of_snippet(module, kernel));
        lg_ptx_dump(module, kernel, &listing);
        LG_CHECK_ROW(snippets[i].name, listing.n > 100);
        lg_str_free(&listing);
    }
    int assert_fail = lg_ptx_find_function(module, "__assertfail");
    CU_ASSERT_TRUE(assert_fail >= 0 && module->functions[assert_fail].is_extern);
    lg_ptx_free(module);
    free(ptx);
}

int main(void) {
    static const lg_test tests[] = {{"snippets", test_snippets}};
    return lg_run_tests(LG_SUITE, tests, sizeof tests / sizeof *tests);
}
