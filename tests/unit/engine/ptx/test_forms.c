// SPDX-License-Identifier: Apache-2.0
// Mnemonics that must be forms of their instruction, and those that must not be.
#include "engine/ptx/mnemonic.h"
#include "unit/testing.h"

#include <string.h>

// What nvcc 13 emits for a broad set of ordinary CUDA programs.
static const char *const from_nvcc[] = {
#define LG_EMITTED(name, n_programs, count) name,
#include "unit/emitted.def"
#undef LG_EMITTED
};

// Forms that the reference has and ordinary programs seldom use.
static const char *const others[] = {
    "add.cc.s64",
    "sub.sat.s32",
    "subc.cc.u64",
    "mad.hi.sat.s32",
    "mad.rz.f64",
    "mul24.hi.u32",
    "mad24.lo.s32",
    "sad.u16",
    "abs.bf16x2",
    "neg.ftz.f16x2",
    "min.NaN.xorsign.abs.bf16",
    "max.relu.s32",
    "fma.rn.relu.bf16x2",
    "fma.rp.ftz.sat.f32",
    "div.rm.f64",
    "div.full.f32",
    "sqrt.approx.ftz.f32",
    "rsqrt.approx.f64",
    "tanh.approx.bf16x2",
    "ex2.approx.f16x2",
    "ex2.approx.ftz.bf16",
    "szext.wrap.s32",
    "bmsk.clamp.b32",
    "fns.b32",
    "dp2a.lo.u32.s32",
    "bfe.s64",
    "lop3.or.b32",
    "shf.r.clamp.b32",
    "prmt.rc16.b32",
    "cnot.b64",
    "setp.hs.xor.u16",
    "setp.equ.and.ftz.f16x2",
    "setp.ne.bf16",
    "set.lt.f16.f16",
    "set.num.bf16x2.bf16x2",
    "slct.ftz.u64.f32",
    "cvt.rn.bf16.f64",
    "cvt.rzi.u8.f16",
    "cvt.sat.u8.s32",
    "cvt.rp.f16.f64",
    "cvt.rz.relu.bf16x2.f32",
    "cvt.rn.satfinite.f16.f32",
    "cvta.to.param::entry.u64",
    "isspacep.shared::cta",
    "ld.weak.shared.v2.b64",
    "ld.acquire.cluster.global.u32",
    "ld.mmio.relaxed.sys.global.u32",
    "ld.global.L1::no_allocate.L2::256B.v4.f32",
    "ld.global.cs.L2::cache_hint.nc.u8",
    "ldu.global.v4.f32",
    "st.release.gpu.shared::cta.u64",
    "st.param::func.b8",
    "atom.acquire.cta.shared::cta.exch.b64",
    "atom.add.noftz.bf16x2",
    "atom.sys.global.max.s64",
    "atom.cas.b16",
    "red.relaxed.gpu.global.or.b64",
    "red.shared.inc.u32",
    "prefetchu.L1",
    "discard.global.L2",
    "alloca.u64",
    "stacksave.u64",
    "bar.cta.arrive",
    "bar.red.or.pred",
    "barrier.cta.red.popc.aligned.u32",
    "fence.sc.cluster",
    "membar.sys",
    "cvt.pack.sat.u16.s32",
    "cvt.pack.sat.s8.s32.b32",
    "vote.sync.all.pred",
    "match.all.sync.b32",
    "redux.sync.max.s32",
    "elect.sync",
    "brx.idx.uni",
    "pmevent.mask",
    "call",
    "ret.uni",
    "exit",
    "brkpt",
};

// Each is refused by ptxas too.
static const char *const refused[] = {
    "add",
    "add.b32",
    "add.rn.s32",
    "add.f32.f32",
    "add.ftz.f64",
    "add.sat.s64",
    "add.cc.f32",
    "sub.u8",
    "cvt.pack.u16.s32",
    "cvt.ftz.f16.f16",
    "cvt.rni.ftz.f16.f16",
    "cvt.rzi.ftz.s16.f16",
    "cvt.pack.sat.u8.s32",
    "cvt.pack.sat.u32.s32",
    "add.pack.s32",
    "mul.wide.s64",
    "mul.lo.f32",
    "mad.f32",
    "mad.wide.u64",
    "fma.f32",
    "fma.rn.ftz.f64",
    "div.approx.f64",
    "rem.f32",
    "abs.u32",
    "neg.u32",
    "min.b32",
    "max.ftz.f64",
    "min.xorsign.f32",
    "rcp.f32",
    "rcp.approx.f64",
    "sqrt.f64",
    "rsqrt.f32",
    "sin.f32",
    "sin.approx.f64",
    "lg2.approx.f16",
    "tanh.f32",
    "ex2.approx.bf16",
    "popc.s32",
    "clz.u32",
    "brev.s32",
    "bfi.s32",
    "bfe.b32",
    "shl.s32",
    "shf.l.b32",
    "and.s32",
    "not.u32",
    "lop3.u32",
    "prmt.u32",
    "setp.s32",
    "setp.lt.b32",
    "setp.lo.s32",
    "setp.equ.s32",
    "setp.num.u32",
    "setp.lt.ftz.f64",
    "set.lt.s32",
    "selp.pred",
    "slct.u32",
    "cvt.f32",
    "cvt.f32.f64",
    "cvt.rn.f64.f32",
    "cvt.rn.s32.f32",
    "cvt.rni.f32.f64",
    "cvt.s32.f32",
    "cvt.rzi.ftz.s32.f64",
    "cvt.b32.s32",
    "cvt.bf16.f32",
    "cvt.rn.bf16x2.bf16",
    "mov.b8",
    "mov.f16",
    "mov.s8",
    "ld.nc.u32",
    "ld.shared.nc.f32",
    "ld.f16",
    "ld.relaxed.u32",
    "ld.gpu.u32",
    "ld.volatile.const.u32",
    "ld.global.wb.u32",
    "st.const.u32",
    "st.global.nc.u32",
    "st.relaxed.gpu.cs.u32",
    "atom.add.s64",
    "atom.global.inc.s32",
    "atom.exch.f32",
    "atom.add.f16",
    "atom.local.add.u32",
    "red.cas.b32",
    "red.exch.b32",
    "bar",
    "bar.sync.u32",
    "bar.red.and.u32",
    "barrier.cluster.sync",
    "membar",
    "fence",
    "shfl.bfly.b32",
    "shfl.sync.b32",
    "shfl.sync.up.b64",
    "vote.sync.ballot.pred",
    "vote.ballot.b32",
    "match.any.b32",
    "redux.sync.add.b32",
    "redux.sync.and.u32",
    "activemask.u32",
    "bra.lo",
    "brx",
    "exit.uni",
    "trap.s32",
    "testp.finite.f16",
    "copysign.f16",
};

static const char *problem_of(lg_arena *arena, const char *text) {
    return lg_ptx_read_mnemonic(arena, text, strlen(text))->problem;
}

static void test_accepted(void) {
    lg_arena arena = {0};
    for (size_t i = 0; i < sizeof from_nvcc / sizeof *from_nvcc; i++) {
        LG_CHECK_ROW(from_nvcc[i], problem_of(&arena, from_nvcc[i]) == NULL);
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        LG_CHECK_ROW(others[i], problem_of(&arena, others[i]) == NULL);
    }
    lg_arena_free(&arena);
}

static void test_refused(void) {
    lg_arena arena = {0};
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        LG_CHECK_ROW(refused[i], problem_of(&arena, refused[i]) != NULL);
    }
    lg_arena_free(&arena);
}

// Every opcode that the checker knows by name but has no form for says so.
static void test_opcodes_without_forms(void) {
    lg_arena arena = {0};
    int n_without = 0;
    for (int op = LG_OP_UNKNOWN + 1; op < LG_N_OPS; op++) {
        const char *name = lg_ptx_op_name((lg_ptx_op)op);
        const lg_ptx_mnemonic *mnemonic = lg_ptx_read_mnemonic(&arena, name, strlen(name));
        LG_CHECK_ROW(name, mnemonic->op == (lg_ptx_op)op);
        if (!lg_ptx_op_has_forms((lg_ptx_op)op)) {
            n_without++;
            LG_CHECK_ROW(name, mnemonic->problem && strstr(mnemonic->problem, "is not supported"));
        }
    }
    CU_ASSERT_TRUE(n_without > 20 && n_without < LG_N_OPS / 2);
    lg_arena_free(&arena);
}

int main(void) {
    static const lg_test tests[] = {
        {"accepted", test_accepted},
        {"refused", test_refused},
        {"opcodes without forms", test_opcodes_without_forms},
    };
    return lg_run_tests(LG_SUITE, tests, sizeof tests / sizeof *tests);
}
