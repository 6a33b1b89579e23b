// SPDX-License-Identifier: Apache-2.0
// Which forms the lane tables have: every register instruction that nvcc 13 emits for ordinary
// programs, every one of the checker's forms that the lanes are to execute, and none that is
// malformed.
#include "unit/sim/lane_testing.h"

#define N(rows) (sizeof(rows) / sizeof((rows)[0]))

// Collected from 180 ordinary CUDA programs (658 kernels), by frequency.
static const char *const emitted[] = {"add.s64",
                                      "mov.u32",
                                      "add.s32",
                                      "mad.lo.s32",
                                      "mul.wide.s32",
                                      "shl.b32",
                                      "setp.ge.s32",
                                      "and.b32",
                                      "setp.ne.s32",
                                      "sub.s32",
                                      "shl.b64",
                                      "setp.eq.s32",
                                      "mul.lo.s32",
                                      "setp.lt.s32",
                                      "cvt.s64.s32",
                                      "add.f32",
                                      "mov.f32",
                                      "setp.lt.u32",
                                      "mul.f32",
                                      "fma.rn.f32",
                                      "shr.u32",
                                      "setp.gt.s32",
                                      "or.pred",
                                      "mov.b32",
                                      "sub.f32",
                                      "cvt.u64.u32",
                                      "mov.u64",
                                      "mul.wide.u32",
                                      "or.b32",
                                      "selp.f32",
                                      "cvt.u32.u64",
                                      "shr.s32",
                                      "div.rn.f32",
                                      "not.b32",
                                      "selp.b32",
                                      "cvt.rn.f32.s32",
                                      "setp.gt.u32",
                                      "neg.f32",
                                      "setp.lt.f32",
                                      "mul.lo.s64",
                                      "setp.eq.s64",
                                      "and.pred",
                                      "abs.f32",
                                      "div.s32",
                                      "and.b64",
                                      "setp.gt.f32",
                                      "mul.f64",
                                      "setp.eq.f32",
                                      "setp.ge.u32",
                                      "shr.u64",
                                      "max.s32",
                                      "div.u32",
                                      "add.u64",
                                      "not.pred",
                                      "xor.b32",
                                      "sub.s64",
                                      "mov.u16",
                                      "rcp.rn.f32",
                                      "sqrt.rn.f32",
                                      "add.f64",
                                      "ex2.approx.ftz.f32",
                                      "setp.ne.s64",
                                      "neg.s32",
                                      "fma.rn.f64",
                                      "mov.f64",
                                      "cvt.u16.u32",
                                      "selp.u32",
                                      "setp.lt.u64",
                                      "setp.ge.u64",
                                      "sub.f64",
                                      "rem.s32",
                                      "setp.geu.f32",
                                      "setp.eq.s16",
                                      "shfl.sync.bfly.b32",
                                      "and.b16",
                                      "cvt.sat.f32.f32",
                                      "fma.rm.f32",
                                      "or.b64",
                                      "cvt.rzi.s32.f32",
                                      "max.f32",
                                      "selp.f64",
                                      "cvt.u32.u16",
                                      "setp.eq.b32",
                                      "min.s32",
                                      "rcp.approx.ftz.f32",
                                      "mov.b64",
                                      "div.rn.f64",
                                      "mov.pred",
                                      "add.s16",
                                      "setp.ge.f32",
                                      "cvt.rn.f32.u32",
                                      "cvt.rn.f32.f64",
                                      "selp.b64",
                                      "setp.le.s32",
                                      "setp.gtu.f32",
                                      "copysign.f32",
                                      "setp.ge.s64",
                                      "mul.rn.f32",
                                      "cvt.rn.f64.s32",
                                      "neg.f64",
                                      "setp.lt.s64",
                                      "setp.neu.f32",
                                      "neg.s64",
                                      "setp.ne.s16",
                                      "cvt.f32.f16",
                                      "cvt.rn.f16.f32",
                                      "abs.f64",
                                      "setp.ltu.f32",
                                      "shfl.sync.down.b32",
                                      "cvt.rn.bf16.f32",
                                      "xor.pred",
                                      "setp.lt.f64",
                                      "cvt.f64.f32",
                                      "setp.eq.f64",
                                      "div.approx.f32",
                                      "setp.leu.f32",
                                      "selp.b16",
                                      "ex2.approx.f32",
                                      "shfl.sync.idx.b32",
                                      "setp.gt.f64",
                                      "selp.u16",
                                      "abs.s32",
                                      "cvt.rmi.f32.f32",
                                      "cvt.rzi.f32.f32",
                                      "cvt.rni.f32.f32",
                                      "setp.gt.s64",
                                      "setp.eq.b16",
                                      "add.f16",
                                      "div.s64",
                                      "add.rn.f64",
                                      "or.b16",
                                      "rem.u32",
                                      "add.rn.f32",
                                      "shr.u16",
                                      "max.u32",
                                      "setp.le.f32",
                                      "mul.rn.f64",
                                      "setp.gt.u64",
                                      "setp.ltu.f64",
                                      "cvt.u64.u16",
                                      "min.u32",
                                      "rcp.rn.f64",
                                      "bfi.b64",
                                      "cvt.rni.s32.f32",
                                      "setp.le.u32",
                                      "mul.f16",
                                      "popc.b32",
                                      "setp.gtu.f64",
                                      "shr.s64",
                                      "mul.lo.s16",
                                      "setp.neu.f64",
                                      "sub.s16",
                                      "setp.geu.f64",
                                      "cvt.rn.f64.s64",
                                      "mad.wide.u32",
                                      "cvt.rzi.u32.f32",
                                      "setp.gt.s16",
                                      "shf.l.wrap.b32",
                                      "prmt.b32",
                                      "cvt.rni.s32.f64",
                                      "mul.wide.u16",
                                      "xor.b16",
                                      "cvt.rn.f16.s32",
                                      "add.f16x2",
                                      "mul.hi.s32",
                                      "shfl.sync.up.b32",
                                      "not.b64",
                                      "shl.b16",
                                      "lg2.approx.f32",
                                      "rsqrt.approx.f32",
                                      "mad.lo.cc.u32",
                                      "sqrt.rn.f64",
                                      "madc.hi.u32",
                                      "brev.b32",
                                      "div.u64",
                                      "addc.u32",
                                      "bfi.b32",
                                      "madc.hi.cc.u32",
                                      "addc.cc.u32",
                                      "cvt.u16.u64",
                                      "subc.cc.u32",
                                      "cvt.s32.s16",
                                      "cvt.s32.s8",
                                      "rcp.approx.ftz.f64",
                                      "setp.le.s64",
                                      "add.cc.u32",
                                      "clz.b64",
                                      "madc.lo.cc.u32",
                                      "min.f32",
                                      "mul.hi.u32",
                                      "mul.lo.u32",
                                      "selp.u64",
                                      "setp.lt.s16",
                                      "sub.cc.u32",
                                      "subc.u32",
                                      "mov.b16",
                                      "fma.rn.f16",
                                      "set.eq.f16.f16",
                                      "xor.b64",
                                      "cvt.s64.s8",
                                      "rem.u64",
                                      "cvt.rzi.s32.f64",
                                      "max.f64",
                                      "cvt.rz.f32.s32",
                                      "cvt.rm.f32.s32",
                                      "cvt.rp.f32.s32",
                                      "min.f64",
                                      "cvt.rzi.f64.f64",
                                      "mul.f16x2",
                                      "setp.gt.u16",
                                      "setp.lt.f16",
                                      "sub.f16",
                                      "vote.sync.ballot.b32",
                                      "setp.le.f64",
                                      "abs.f16",
                                      "bfind.shiftamt.u32",
                                      "setp.leu.f64",
                                      "cvt.rn.f64.u32",
                                      "min.s64",
                                      "setp.eq.b64",
                                      "sub.f16x2",
                                      "max.s64",
                                      "setp.lt.u16",
                                      "min.u64",
                                      "setp.le.u64",
                                      "fma.rn.f16x2",
                                      "cvt.s16.s8",
                                      "cvt.rn.f32.s16",
                                      "cvt.rn.f64.u64",
                                      "rem.s64",
                                      "setp.num.f64",
                                      "setp.nan.f64",
                                      "mul.wide.s16",
                                      "set.nan.f32.f32",
                                      "div.approx.ftz.f32",
                                      "cvt.rpi.f32.f32",
                                      "shr.s16",
                                      "clz.b32",
                                      "cvt.rn.f64.u16",
                                      "fma.rn.bf16x2",
                                      "set.eq.f32.f32",
                                      "set.ge.f32.f32",
                                      "set.gt.f16x2.f16x2",
                                      "cvt.rn.f32.u16",
                                      "rsqrt.approx.ftz.f32",
                                      "cvt.rzi.u32.f64",
                                      "max.u16",
                                      "neg.f16",
                                      "not.b16",
                                      "cvt.rmi.f16.f16",
                                      "cvt.rni.f64.f64",
                                      "cvt.rni.s32.f16",
                                      "fma.rz.f32",
                                      "lg2.approx.ftz.f32",
                                      "lop3.b32",
                                      "match.any.sync.b64",
                                      "selp.s32"};

// mov has no form of its own in the checker's table.
static bool open_any(lane_test *t, lg_arena *arena, const char *name) {
    if (strncmp(name, "mov.", 4) != 0) {
        return lane_open(t, arena, name);
    }
    const lg_ptx_mnemonic *m = lg_ptx_read_mnemonic(arena, name, strlen(name));
    memset(t, 0, sizeof *t);
    t->name = m->text;
    t->insn = (lg_ptx_insn){.op = m->op, .text = m->text, .n_types = m->n_types, .mods = m->mods};
    memcpy(t->insn.types, m->types, sizeof t->insn.types);
    t->form = (lg_lane_form){.insn = &t->insn, .n_dst = 1, .n_src = 1};
    t->form.dst_bytes[0] = t->form.src_bytes[0] = lane_width(m->types[0]);
    return !m->problem;
}

static bool selects(const lane_test *t) {
    const lg_lane_table *tables[3];
    int n_isas = lane_isas(tables);
    for (int isa = 0; isa < n_isas; isa++) {
        if (!tables[isa]->select(&t->form)) {
            fprintf(stderr, "\n    %s has no %s\n", tables[isa]->isa, t->name);
            return false;
        }
    }
    return true;
}

static void test_emitted(void) {
    lg_arena arena = {0};
    for (size_t i = 0; i < N(emitted); i++) {
        lane_test t;
        LG_CHECK_ROW(emitted[i], open_any(&t, &arena, emitted[i]) && selects(&t));
    }
    lg_arena_free(&arena);
}

// The slots that the decoder makes for immediates have the widths of the checker's forms.
static void test_immediate_widths(void) {
    lg_arena arena = {0};
    for (size_t i = 0; i < N(emitted); i++) {
        lane_test t;
        bool ok = open_any(&t, &arena, emitted[i]);
        for (int s = 0; s < t.form.n_src; s++) {
            ok = ok && lg_lane_immediate_bytes(&t.insn, s) == t.form.src_bytes[s];
        }
        for (int d = 0; d < t.form.n_dst; d++) {
            ok = ok && lg_lane_result_bytes(&t.insn, d) == t.form.dst_bytes[d];
        }
        LG_CHECK_ROW(emitted[i], ok);
    }
    lg_ptx_operand elements[2] = {{.kind = LG_OPERAND_REG}, {.kind = LG_OPERAND_INT}};
    lg_ptx_insn pack = {.op = LG_OP_MOV, .n_types = 1, .types = {LG_PTX_B64}, .n_operands = 2};
    pack.operands[1] =
        (lg_ptx_operand){.kind = LG_OPERAND_VECTOR, .n_elements = 2, .elements = elements};
    CU_ASSERT_EQUAL(lg_lane_immediate_bytes(&pack, 1), 4);
    lg_arena_free(&arena);
}

// A form spoilt in one way: it must not be selected.
typedef struct broken_row {
    const char *what;
    const char *name; // sound
    void (*spoil)(lane_test *t);
} broken_row;

static void wide_destination(lane_test *t) {
    t->form.dst_bytes[0] = 8;
}
static void narrow_source(lane_test *t) {
    t->form.src_bytes[1] = 2;
}
static void predicate_source(lane_test *t) {
    t->form.src_bytes[0] = 0;
}
static void more_sources(lane_test *t) {
    t->form.src_bytes[t->form.n_src] = t->form.src_bytes[0];
    t->form.n_src++;
}
static void fewer_sources(lane_test *t) {
    t->form.n_src--;
}
static void no_destination(lane_test *t) {
    t->form.n_dst = 0;
}
static void too_many(lane_test *t) {
    t->form.n_src = LG_MAX_SRC + 1;
}
static void no_type(lane_test *t) {
    t->insn.n_types = 0;
    t->insn.types[0] = LG_PTX_NO_TYPE;
}
static void saturate(lane_test *t) {
    t->insn.mods.sat = true;
}
static void flush(lane_test *t) {
    t->insn.mods.ftz = true;
}
static void relu(lane_test *t) {
    t->insn.mods.relu = true;
}
static void carry(lane_test *t) {
    t->insn.mods.cc = true;
}
static void approximate(lane_test *t) {
    t->insn.mods.approx = true;
}
static void boolean_min(lane_test *t) {
    t->insn.mods.bool_op = LG_SUB_MIN;
}
static void nearest_away(lane_test *t) {
    t->insn.mods.round = LG_ROUND_RNA;
}
static void no_rounding(lane_test *t) {
    t->insn.mods.round = LG_ROUND_DEFAULT;
}
static void no_comparison(lane_test *t) {
    t->insn.mods.cmp = LG_CMP_NONE;
}
static void unordered(lane_test *t) {
    t->insn.mods.cmp = LG_CMP_LTU;
}
static void both_wrap_and_clamp(lane_test *t) {
    t->insn.mods.wrap = t->insn.mods.clamp = true;
}
static void a_load(lane_test *t) {
    t->insn.op = LG_OP_LD;
}
static void unknown(lane_test *t) {
    t->insn.op = LG_OP_UNKNOWN;
}
static void no_opcode(lane_test *t) {
    t->insn.op = LG_N_OPS;
}
static void as_b32(lane_test *t) {
    t->insn.types[0] = LG_PTX_B32;
}

static const broken_row broken[] = {
    {"a wide destination", "add.s32", wide_destination},
    {"a narrow source", "add.s32", narrow_source},
    {"a predicate as a number", "add.s32", predicate_source},
    {"one source too many", "add.s32", more_sources},
    {"a source missing", "mad.lo.s32", fewer_sources},
    {"no destination", "add.f32", no_destination},
    {"more sources than there are", "add.s32", too_many},
    {"no type", "add.s32", no_type},
    {"an untyped sum", "add.s32", as_b32},
    {".sat on u32", "add.u32", saturate},
    {".sat on mul.lo", "mul.lo.s32", saturate},
    {".sat on f64", "add.f64", saturate},
    {".sat on bf16", "add.bf16", saturate},
    {".ftz on an integer", "add.s32", flush},
    {".ftz on bf16", "fma.rn.bf16", flush},
    {".ftz on f64", "setp.lt.f64", flush},
    {".ftz on cvt of f64", "cvt.rzi.s32.f64", flush},
    {".relu on f32", "fma.rn.f32", relu},
    {".relu on u32", "min.u32", relu},
    {"a carry of 16 bits", "add.s16", carry},
    {".approx on a sum", "add.f32", approximate},
    {".approx on f64", "sqrt.rn.f64", approximate},
    {"setp.lt.min", "setp.lt.and.s32", boolean_min},
    {".rna on fma", "fma.rn.f32", nearest_away},
    {".rna on cvt", "cvt.rn.f16.f32", nearest_away},
    {"narrowing without a rounding", "cvt.rn.f32.f64", no_rounding},
    {"cvt to an integer without a rounding", "cvt.rzi.s32.f32", no_rounding},
    {"setp without a comparison", "setp.lt.s32", no_comparison},
    {"an unordered comparison of integers", "setp.lt.s32", unordered},
    {"shf.wrap.clamp", "shf.l.wrap.b32", both_wrap_and_clamp},
    {"mov with a modifier", "mov.b32", flush},
    {"shfl without its mask", "shfl.sync.idx.b32", fewer_sources},
    {"a load", "add.s32", a_load},
    {"no known opcode", "add.s32", unknown},
    {"an opcode out of range", "add.s32", no_opcode},
};

static void test_broken(void) {
    const lg_lane_table *tables[3];
    int n_isas = lane_isas(tables);
    lg_arena arena = {0};
    for (size_t i = 0; i < N(broken); i++) {
        lane_test t;
        LG_CHECK_ROW(broken[i].what, open_any(&t, &arena, broken[i].name) && selects(&t));
        broken[i].spoil(&t);
        for (int isa = 0; isa < n_isas; isa++) {
            LG_CHECK_ROW(broken[i].what, tables[isa]->select(&t.form) == NULL);
        }
    }
    lg_arena_free(&arena);
}

static void test_choice_of_table(void) {
    CU_ASSERT_STRING_EQUAL(lg_lane_table_baseline()->isa, "baseline");
    setenv("LOSSGATE_ISA", "baseline", 1);
    CU_ASSERT_STRING_EQUAL(lg_lane_table_best()->isa, "baseline");
    setenv("LOSSGATE_ISA", "avx2", 1);
    const lg_lane_table *avx2 = lg_lane_table_avx2();
    CU_ASSERT_TRUE(!avx2 || lg_lane_table_best() == avx2);
    unsetenv("LOSSGATE_ISA");
    const lg_lane_table *avx512 = lg_lane_table_avx512();
    CU_ASSERT_TRUE(lg_lane_table_best() == (avx512 ? avx512
                                            : avx2 ? avx2
                                                   : lg_lane_table_baseline()));
}

int main(void) {
    static const lg_test tests[] = {
        {"what nvcc emits is there", test_emitted},
        {"widths agree with the checker's forms", test_immediate_widths},
        {"malformed instructions are refused", test_broken},
        {"the table follows the CPU and LOSSGATE_ISA", test_choice_of_table},
    };
    return lg_run_tests("lane_forms", tests, N(tests));
}
