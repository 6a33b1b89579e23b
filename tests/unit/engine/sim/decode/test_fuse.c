// SPDX-License-Identifier: Apache-2.0
// Dropped moves and fused runs: the same bits and the same counts as the single instructions, which
// a module with coverage executes; and nothing is dropped or fused that somebody still needs.
#include "engine/sim/decode/decode.h"
#include "engine/sim/decode/fold.h"
#include "support/alloc.h"
#include "unit/engine/sim/lane/specials.h"
#include "unit/engine/sim/rig.h"

enum { N = 4000, BLOCK = 250 }; // the last warp of a block is not full

#define EXP_HEAD(scale)                                                                            \
    "mov.f32 %f3, 0f3F000000;\nmov.f32 %f4, 0f" scale ";\n"                                        \
    "fma.rn.f32 %f5, %f19, %f4, %f3;\ncvt.sat.f32.f32 %f6, %f5;\n"                                 \
    "mov.f32 %f7, 0f4B400001;\nmov.f32 %f8, 0f437C0000;\nfma.rm.f32 %f9, %f6, %f8, %f7;\n"         \
    "add.f32 %f11, %f9, 0fCB40007F;\nneg.f32 %f12, %f11;\nmov.f32 %f13, 0f3FB8AA3B;\n"             \
    "fma.rn.f32 %f14, %f19, %f13, %f12;\nmov.f32 %f15, 0f32A57060;\n"                              \
    "fma.rn.f32 %f16, %f19, %f15, %f14;\nmov.b32 %r4, %f9;\nshl.b32 %r5, %r4, 23;\n"               \
    "mov.b32 %f17, %r5;\nex2.approx.ftz.f32 %f18, %f16;\n"
#define MUL "mul.f32 %f10, %f18, %f17;\n"
#define EXP EXP_HEAD("3BBB989D") MUL
#define EXP_PLUS(c) EXP_HEAD("3BBB989D") "fma.rn.f32 %f10, %f18, %f17, " c ";\n"
#define SUB "sub.f32 %f19, %f1, %f2;\n"

static const struct row {
    const char *name;
    const char *body; // f1, f2: inputs; f10: the result; rd4, rd5: addresses; rd6: the index
    int n_dropped, n_fused;
} rows[] = {
    {"exp of a difference", SUB EXP, 8, 1},
    {"exp", "abs.f32 %f19, %f1;\n" EXP, 8, 1},
    {"exp in some lanes",
     "mov.f32 %f10, 0f3F800000;\nsetp.lt.f32 %p1, %f1, %f2;\n@%p1 bra L1;\n" SUB EXP "L1:\n", 8, 1},
    {"exp of a difference, added", SUB EXP_PLUS("%f2"), 8, 1},
    {"exp, added", "abs.f32 %f19, %f1;\n" EXP_PLUS("%f2"), 8, 1},
    {"exp, added to a constant", "neg.f32 %f19, %f1;\n" EXP_PLUS("0f00000001"), 8, 1},
    {"exp, added in some lanes",
     "mov.f32 %f10, 0f3F800000;\nsetp.lt.f32 %p1, %f1, %f2;\n@%p1 bra L1;\n" SUB EXP_PLUS(
         "%f10") "L1:\n",
     8, 1},
    {"exp, subtracted from", SUB EXP_HEAD("3BBB989D") "fma.rn.f32 %f10, %f17, %f2, %f18;\n", 8, 0},
    {"exp, squared", SUB EXP_HEAD("3BBB989D") "mul.f32 %f10, %f18, %f18;\n", 8, 0},
    {"the difference is read again", SUB EXP "add.f32 %f10, %f10, %f19;\n", 8, 1},
    {"the scaled argument is read again", SUB EXP "add.f32 %f10, %f10, %f5;\n", 8, 0},
    {"the shifted one is read again", SUB EXP "add.f32 %f10, %f10, %f9;\n", 8, 0},
    {"a copy of the shifted one is read again",
     SUB EXP "and.b32 %r6, %r4, 7;\ncvt.rn.f32.u32 %f0, %r6;\nadd.f32 %f10, %f10, %f0;\n", 8, 0},
    {"another constant", SUB EXP_HEAD("3BBB989E") MUL, 8, 0},
    {"a way into the middle",
     SUB "setp.lt.f32 %p1, %f1, %f2;\nmov.f32 %f5, 0f3E000000;\n@%p1 bra L1;\n"
         "fma.rn.f32 %f5, %f19, 0f3BBB989D, 0f3F000000;\nL1:\ncvt.sat.f32.f32 %f6, %f5;\n"
         "fma.rm.f32 %f10, %f6, 0f437C0000, 0f4B400001;\n",
     0, 0},
    {"constants through copies",
     "mov.u32 %r4, 1077936128;\nmov.b32 %f3, %r4;\nmov.f32 %f4, %f3;\nmul.f32 %f10, %f1, %f4;\n", 3,
     0},
    {"a copy of what changes",
     "mov.f32 %f3, %f1;\nadd.f32 %f1, %f1, %f2;\nsub.f32 %f10, %f1, %f3;\n", 0, 0},
    {"a copy read before the change",
     "mov.f32 %f3, %f1;\nmul.f32 %f4, %f3, %f2;\nadd.f32 %f1, %f3, %f2;\nmul.f32 %f10, %f1, %f4;\n",
     1, 0},
    {"a copy that a loop carries",
     "mov.u32 %r4, 0;\nmov.f32 %f3, %f2;\nL1:\nmov.f32 %f4, %f3;\nmul.f32 %f3, %f4, %f1;\n"
     "add.f32 %f10, %f3, %f4;\nadd.u32 %r4, %r4, 1;\nsetp.lt.u32 %p1, %r4, 5;\n@%p1 bra L1;\n",
     0, 0},
    {"a copy in some lanes",
     "mov.f32 %f3, %f2;\nsetp.lt.f32 %p1, %f1, %f2;\n@%p1 bra L1;\nmov.f32 %f3, %f1;\nL1:\n"
     "add.f32 %f10, %f3, %f2;\n",
     0, 0},
    {"a guarded move", "setp.lt.f32 %p1, %f1, %f2;\nmov.f32 %f10, %f2;\n@%p1 mov.f32 %f10, %f1;\n",
     0, 0},
    {"an element's address", // f2 lies 16000 bytes behind f1
     "add.s64 %rd7, %rd6, 4000;\nshl.b64 %rd8, %rd7, 2;\nadd.s64 %rd9, %rd1, %rd8;\n"
     "ld.global.f32 %f10, [%rd9];\n",
     0, 1},
    {"an element's address, the offset read again",
     "add.s64 %rd7, %rd6, 4000;\nshl.b64 %rd8, %rd7, 2;\nadd.s64 %rd9, %rd8, %rd1;\n"
     "ld.global.f32 %f10, [%rd9];\ncvt.rn.f32.s64 %f3, %rd8;\nadd.f32 %f10, %f10, %f3;\n",
     0, 1},
    {"the index read again",
     "add.s64 %rd7, %rd6, 4000;\nshl.b64 %rd8, %rd7, 2;\nadd.s64 %rd9, %rd1, %rd8;\n"
     "ld.global.f32 %f10, [%rd9];\ncvt.rn.f32.s64 %f3, %rd7;\nadd.f32 %f10, %f10, %f3;\n",
     0, 0},
    {"an address over itself",
     "add.s64 %rd7, %rd6, 4000;\nshl.b64 %rd8, %rd7, 2;\nadd.s64 %rd8, %rd1, %rd8;\n"
     "ld.global.f32 %f10, [%rd8];\n",
     0, 0},
    {"an address in some lanes",
     "setp.lt.f32 %p1, %f1, %f2;\nmov.f32 %f10, %f1;\n@%p1 bra L1;\nadd.s64 %rd7, %rd6, 4000;\n"
     "shl.b64 %rd8, %rd7, 2;\nadd.s64 %rd9, %rd1, %rd8;\nld.global.f32 %f10, [%rd9];\nL1:\n",
     0, 1},
    {"a short branch",
     "mov.f32 %f10, %f1;\nsetp.lt.f32 %p1, %f1, %f2;\n@%p1 bra L1;\n"
     "mul.f32 %f10, %f1, %f2;\nadd.f32 %f10, %f10, 0f3F800000;\nL1:\n",
     0, 0},
    {"a short branch around a constant",
     "mov.f32 %f10, %f1;\nsetp.lt.f32 %p1, %f1, %f2;\n@!%p1 bra L1;\nmov.f32 %f3, 0f40000000;\n"
     "mul.f32 %f10, %f1, %f3;\nL1:\nadd.f32 %f10, %f10, %f2;\n",
     1, 0},
    {"short branches in each other",
     "mov.f32 %f10, %f1;\nsetp.lt.f32 %p1, %f1, %f2;\nsetp.lt.f32 %p2, %f2, 0f00000000;\n"
     "@%p1 bra L2;\nmul.f32 %f10, %f1, %f2;\n@%p2 bra L1;\nadd.f32 %f10, %f10, %f1;\nL1:\n"
     "sub.f32 %f10, %f10, %f2;\nL2:\nadd.f32 %f10, %f10, %f10;\n",
     0, 0},
};

static char *text_of(const struct row *row) {
    lg_str text = {0};
    lg_str_add(&text, PTX_HEADER ".visible .entry k(.param .u64 in, .param .u64 out)\n{\n"
                                 ".reg .pred %p<4>;\n.reg .b32 %r<8>;\n.reg .f32 %f<20>;\n"
                                 ".reg .b64 %rd<10>;\nld.param.u64 %rd1, [in];\n"
                                 "ld.param.u64 %rd2, [out];\nmov.u32 %r1, %tid.x;\n"
                                 "mov.u32 %r2, %ctaid.x;\nmov.u32 %r0, %ntid.x;\n"
                                 "mad.lo.u32 %r3, %r2, %r0, %r1;\ncvt.s64.s32 %rd6, %r3;\n"
                                 "mul.wide.u32 %rd3, %r3, 4;\nadd.s64 %rd4, %rd1, %rd3;\n"
                                 "add.s64 %rd5, %rd2, %rd3;\nld.global.f32 %f1, [%rd4];\n"
                                 "ld.global.f32 %f2, [%rd4+16000];\n");
    lg_str_add(&text, row->body);
    lg_str_add(&text, "st.global.f32 [%rd5], %f10;\nret;\n}\n");
    return lg_str_take(&text);
}

// Every kind of number, and arguments around where exp leaves the normal range.
static void fill_inputs(float *in) {
    uint64_t state = 7;
    for (int i = 0; i < 2 * N; i++) {
        state = state * UINT64_C(6364136223846793005) + 1442695040888963407u;
        uint32_t special = (uint32_t)lane_special(LG_PTX_F32, state >> 20);
        double wide = (double)(int32_t)(state >> 32) * 0x1p-31;
        if (i % 3 == 0) {
            memcpy(&in[i], &special, sizeof in[i]);
        } else {
            in[i] = (float)(wide * (i % 3 == 1 ? 4 : 110));
        }
    }
}

typedef struct outcome {
    uint32_t bits[N];
    uint64_t warp_instructions, lane_instructions;
    int n_fused;
} outcome;

static void run_row(const char *text, bool single, const float *in, outcome *out) {
    rig r = rig_open(text);
    lg_sim_set_coverage(r.module, single);
    uint64_t params[2] = {rig_buffer(&r, in, 2 * N * sizeof *in),
                          rig_buffer(&r, NULL, sizeof out->bits)};
    lg_sim_launch launch = rig_launch(N / BLOCK, BLOCK, params, sizeof params);
    lg_sim_result result = rig_run(&r, "k", &launch);
    CU_ASSERT_EQUAL(result.status, LG_SIM_OK);
    rig_read(&r, params[1], out->bits, sizeof out->bits);
    out->warp_instructions = result.warp_instructions;
    out->lane_instructions = result.lane_instructions;
    out->n_fused = r.module->codes[lg_ptx_find_function(r.ptx, "k")].n_fused;
    lg_sim_result_free(&result);
    rig_close(&r);
}

static int count_dropped(const char *text) {
    lg_diags diags = {0};
    lg_ptx_module *module = lg_ptx_load("test.ptx", text, strlen(text), &diags);
    CU_ASSERT_PTR_NOT_NULL_FATAL(module);
    const lg_ptx_function *f = &module->functions[0];
    lg_fold fold;
    lg_fold_find(f, true, &fold);
    int n = 0;
    for (int i = 0; i < f->n_insns; i++) {
        n += fold.dropped[i];
    }
    lg_fold_free(&fold);
    lg_ptx_free(module);
    return n;
}

static void check_row(const struct row *row, const char *isa, const float *in) {
    static outcome single, fused;
    char *text = text_of(row);
    char *name = lg_xasprintf("%s, %s", row->name, isa);
    run_row(text, true, in, &single);
    run_row(text, false, in, &fused);
    LG_CHECK_ROW(name, memcmp(single.bits, fused.bits, sizeof single.bits) == 0);
    LG_CHECK_ROW(name, single.warp_instructions == fused.warp_instructions);
    LG_CHECK_ROW(name, single.lane_instructions == fused.lane_instructions);
    LG_CHECK_ROW(name, single.n_fused == 0 && fused.n_fused == row->n_fused);
    LG_CHECK_ROW(name, count_dropped(text) == row->n_dropped);
    free(name);
    free(text);
}

// For each instruction set that the machine has.
static void test_rows(void) {
    static float in[2 * N];
    fill_inputs(in);
    const char *const isas[] = {"avx512", "avx2", "baseline"};
    char *wanted = getenv("LOSSGATE_ISA");
    wanted = wanted ? lg_xstrdup(wanted) : NULL;
    for (size_t k = 0; k < sizeof isas / sizeof *isas; k++) {
        setenv("LOSSGATE_ISA", isas[k], 1);
        for (size_t i = 0; i < sizeof rows / sizeof rows[0] && !strcmp(lg_sim_isa(), isas[k]);
             i++) {
            check_row(&rows[i], isas[k], in);
        }
    }
    if (wanted) {
        setenv("LOSSGATE_ISA", wanted, 1);
    } else {
        unsetenv("LOSSGATE_ISA");
    }
    free(wanted);
}

// What nvcc writes today for expf is what is fused: a compiler that writes it in another way would
// only be slower, and this says so.
static void test_compiler(void) {
    rig r = rig_compile("extern \"C\" __global__ void k(float *x, float y) {\n"
                        "    x[threadIdx.x] = expf(x[threadIdx.x] - y);\n}\n");
    float x[32], y = 0.5f;
    for (int i = 0; i < 32; i++) {
        x[i] = (float)i / 8 - 2;
    }
    struct {
        uint64_t x;
        float y;
    } params = {rig_buffer(&r, x, sizeof x), y};
    lg_sim_launch launch = rig_launch(1, 32, &params, sizeof(uint64_t) + sizeof(float));
    rig_ok(&r, &launch);
    CU_ASSERT_EQUAL(r.module->codes[lg_ptx_find_function(r.ptx, "k")].n_fused, 1);
    rig_close(&r);
}

// Where a register may be read unwritten, it is zero: moves are no longer what every read gives.
static void test_unwritten(void) {
    rig r = rig_kernel("", ".param .u64 out",
                       "ld.param.u64 %rd1, [out];\nmov.u32 %r1, %tid.x;\n"
                       "setp.lt.u32 %p1, %r1, 16;\n@%p1 bra L1;\nmov.u32 %r2, 7;\nL1:\n"
                       "mul.wide.u32 %rd2, %r1, 4;\nadd.s64 %rd3, %rd1, %rd2;\n"
                       "st.global.u32 [%rd3], %r2;\nret;");
    uint32_t got[32];
    uint64_t out = rig_buffer(&r, NULL, sizeof got);
    lg_sim_launch launch = rig_launch(1, 32, &out, sizeof out);
    rig_ok(&r, &launch);
    rig_read(&r, out, got, sizeof got);
    for (int i = 0; i < 32; i++) {
        CU_ASSERT_EQUAL(got[i], i < 16 ? 0u : 7u);
    }
    rig_close(&r);
}

int main(void) {
    const lg_test tests[] = {
        {"rows", test_rows}, {"compiler", test_compiler}, {"unwritten", test_unwritten}};
    return lg_run_tests(LG_SUITE, tests, sizeof tests / sizeof tests[0]);
}
