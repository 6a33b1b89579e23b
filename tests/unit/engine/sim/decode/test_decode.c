// SPDX-License-Identifier: Apache-2.0
// What the engine cannot execute is listed at load, all of it; coverage.
#include "unit/engine/sim/rig.h"

// Every line marked BAD must be reported, and nothing else. (Forms that no engine of this target
// could execute are the checker's; these are well-formed.)
static void test_unsupported_is_listed(void) {
    static const char text[] = PTX_HEADER ".extern .func (.param .b64 r) malloc(.param .b64 n);\n"
                                          ".extern .func elsewhere();\n"
                                          ".entry k(.param .u64 p)\n{\n"
                                          ".reg .b32 %r<4>;\n.reg .b64 %rd<4>;\n"
                                          "{ .param .b64 n;\nst.param.b64 [n], 8;\n.param .b64 r;\n"
                                          "call.uni (r), malloc, (n); // BAD\n}\n"
                                          "add.u32 %r1, %r1, 1;\n"
                                          "call.uni elsewhere; // BAD\n"
                                          "ret;\n}\n"
                                          ".entry other()\n{\n"
                                          "call.uni elsewhere; // BAD\n"
                                          "ret;\n}\n";
    rig r = rig_load(text);
    CU_ASSERT_PTR_NULL(r.module);
    int line = 1, n_bad = 0;
    for (const char *at = text; *at; line++) {
        const char *end = strchr(at, '\n');
        bool bad = memmem(at, (size_t)(end - at), "// BAD", 6) != NULL, told = false;
        for (size_t i = 0; i < r.diags.n; i++) {
            told |= r.diags.items[i].line == line;
        }
        n_bad += bad;
        if (bad != told) {
            fprintf(stderr, "\n    line %d: %.*s", line, (int)(end - at), at);
        }
        CU_ASSERT_EQUAL(bad, told);
        at = end + 1;
    }
    CU_ASSERT_EQUAL(r.diags.n_errors, (size_t)n_bad);
    rig_close(&r);
}

static void test_unresolved_variable(void) {
    rig r = rig_load(PTX_HEADER ".extern .global .u32 elsewhere;\n.entry k() { ret; }\n");
    CU_ASSERT_PTR_NULL(r.module);
    CU_ASSERT_TRUE(r.diags.n_errors >= 1);
    CU_ASSERT_PTR_NOT_NULL(strstr(r.diags.items[0].message, "elsewhere"));
    rig_close(&r);
}

// One parsed module on two devices: results and shared memory are the same.
static void test_two_devices(void) {
    rig r = rig_open(
        PTX_HEADER
        ".shared .align 4 .b8 s[512];\n"
        ".func (.param .b32 r) f(.param .b32 a) { .reg .b32 %r<4>; ld.param.u32 %r1, [a];\n"
        " st.shared.u32 [s+4], %r1; ld.shared.u32 %r2, [s+4]; add.u32 %r2, %r2, 3;\n"
        " st.param.b32 [r], %r2; ret; }\n"
        ".global .align 8 .u64 table[1] = {f};\n"
        ".entry k(.param .u64 p) { .reg .b32 %r<4>; .reg .b64 %rd<4>;\n"
        " ld.param.u64 %rd1, [p]; ld.global.u64 %rd2, [table];\n"
        " { .param .b32 a; st.param.b32 [a], 4; .param .b32 o;\n"
        " proto: .callprototype (.param .b32 _) _ (.param .b32 _);\n"
        " call (o), %rd2, (a), proto; ld.param.b32 %r1, [o]; }\n"
        " st.global.u32 [%rd1], %r1; ret; }\n"
        ".entry unused() { ret; }\n");
    lg_sim *other = lg_sim_create();
    lg_sim_module *again = lg_sim_load(other, r.ptx, &r.diags);
    CU_ASSERT_PTR_NOT_NULL_FATAL(again);
    int k = lg_ptx_find_function(r.ptx, "k");
    CU_ASSERT_EQUAL(lg_sim_static_shared(again, k), 512);
    CU_ASSERT_EQUAL(lg_sim_static_shared(r.module, k), 512);
    uint64_t address = lg_sim_alloc(other, 4);
    uint32_t got = 0;
    lg_sim_launch launch = rig_launch(1, 1, &address, 8);
    lg_sim_result result;
    lg_sim_launch_kernel(other, again, k, &launch, &result);
    CU_ASSERT_EQUAL(result.status, LG_SIM_OK);
    CU_ASSERT_TRUE(lg_sim_read(other, address, &got, 4));
    CU_ASSERT_EQUAL(got, 7);
    lg_sim_result_free(&result);
    lg_sim_unload(other, again);
    lg_sim_destroy(other);
    rig_close(&r);
}

static void test_coverage(void) {
    rig r = rig_compile("__global__ void k(int *out, int n) {\n"    // 1
                        "    int t = threadIdx.x;\n"                // 2
                        "    if (t < n) {\n"                        // 3
                        "        out[t] += 7;\n"                    // 4
                        "        __threadfence();\n"                // 5
                        "    }\n"                                   // 6
                        "    if (n > 1000) {\n"                     // 7
                        "        out[0] = atomicAdd(out + 1, 5);\n" // 8
                        "    }\n"                                   // 9
                        "}\n");
    const char *name = r.ptx->functions[0].name;
    uint32_t zeros[96] = {0};
    struct {
        uint64_t p;
        int n;
    } params = {rig_buffer(&r, zeros, sizeof zeros), 40};
    lg_sim_set_coverage(r.module, true);
    lg_sim_launch launch = rig_launch(1, 96, &params, 12);
    lg_sim_result result = rig_run(&r, name, &launch);
    CU_ASSERT_EQUAL(result.status, LG_SIM_OK);
    lg_sim_result_free(&result);
    lg_sim_set_coverage(r.module, false);
    result = rig_run(&r, name, &launch); // not counted
    lg_sim_result_free(&result);
    lg_sim_line_count lines[64];
    size_t n = lg_sim_coverage(r.module, lines, 64);
    CU_ASSERT_TRUE_FATAL(n > 0 && n <= 64);
    uint64_t executed[16] = {0}, taken = 0, not_taken = 0, divergent = 0;
    for (size_t i = 0; i < n; i++) {
        int files = i ? strcmp(lines[i - 1].file, lines[i].file) : -1;
        CU_ASSERT_TRUE(files < 0 || (files == 0 && lines[i - 1].line < lines[i].line));
        if (!strstr(lines[i].file, "k.cu")) {
            continue; // a header's inline function
        }
        if (lines[i].line < 16) {
            executed[lines[i].line] += lines[i].executed;
        }
        if (lines[i].line == 3) {
            taken += lines[i].taken;
            not_taken += lines[i].not_taken;
            divergent += lines[i].divergent;
        }
    }
    CU_ASSERT_TRUE(executed[3] > 0 && executed[4] > 0 && executed[7] > 0);
    CU_ASSERT_EQUAL(executed[8], 0);
    // Warp 0 has all of its lanes below 40, warp 1 some, warp 2 none.
    CU_ASSERT_TRUE(taken == 1 && not_taken == 1 && divergent == 1);
    CU_ASSERT_EQUAL(lg_sim_coverage(r.module, lines, 1), n);
    rig_close(&r);
}

int main(void) {
    static const lg_test tests[] = {
        {"unsupported is listed", test_unsupported_is_listed},
        {"unresolved variable", test_unresolved_variable},
        {"two devices", test_two_devices},
        {"coverage", test_coverage},
    };
    return lg_run_tests(LG_SUITE, tests, sizeof tests / sizeof *tests);
}
