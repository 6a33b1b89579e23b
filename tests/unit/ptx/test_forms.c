// SPDX-License-Identifier: Apache-2.0
// Mnemonics that must be forms of their instruction, and those that must not be.
#include "engine/ptx/mnemonic.h"
#include "unit/testing.h"

#include <string.h>

// What nvcc 13 emits for a broad set of ordinary CUDA programs.
static const char *const from_nvcc[] = {
    // clang-format off
    "abs.f16", "abs.f32", "abs.f64", "abs.s32", "add.cc.u32", "add.f16", "add.f16x2", "add.f32",
    "add.f64", "add.rn.f32", "add.rn.f64", "add.s16", "add.s32", "add.s64", "add.u64",
    "addc.cc.u32", "addc.u32", "and.b16", "and.b32", "and.b64", "and.pred", "atom.cas.b32",
    "atom.global.add.f32", "atom.global.add.f64", "atom.global.add.u32", "atom.global.add.u64",
    "atom.global.and.b32", "atom.global.cas.b32", "atom.global.cas.b64", "atom.global.dec.u32",
    "atom.global.exch.b32", "atom.global.inc.u32", "atom.global.max.s32", "atom.global.max.u32",
    "atom.global.max.u64", "atom.global.min.s32", "atom.global.min.u32", "atom.global.or.b32",
    "atom.global.xor.b32", "atom.global.xor.b64", "atom.shared.add.f32", "atom.shared.add.f64",
    "atom.shared.add.u32", "bar.sync", "bar.warp.sync", "barrier.sync", "bfi.b32", "bfi.b64",
    "bfind.shiftamt.u32", "bra", "bra.uni", "brev.b32", "call.uni", "clz.b32", "clz.b64",
    "copysign.f32", "cvt.f32.f16", "cvt.f64.f32", "cvt.rm.f32.s32", "cvt.rmi.f16.f16",
    "cvt.rmi.f32.f32", "cvt.rn.bf16.f32", "cvt.rn.f16.f32", "cvt.rn.f16.s32", "cvt.rn.f32.f64",
    "cvt.rn.f32.s16", "cvt.rn.f32.s32", "cvt.rn.f32.u16", "cvt.rn.f32.u32", "cvt.rn.f64.s32",
    "cvt.rn.f64.s64", "cvt.rn.f64.u16", "cvt.rn.f64.u32", "cvt.rn.f64.u64", "cvt.rni.f32.f32",
    "cvt.rni.f64.f64", "cvt.rni.s32.f16", "cvt.rni.s32.f32", "cvt.rni.s32.f64", "cvt.rp.f32.s32",
    "cvt.rpi.f32.f32", "cvt.rz.f32.s32", "cvt.rzi.f32.f32", "cvt.rzi.f64.f64", "cvt.rzi.s32.f32",
    "cvt.rzi.s32.f64", "cvt.rzi.u32.f32", "cvt.rzi.u32.f64", "cvt.s16.s8", "cvt.s32.s16",
    "cvt.s32.s8", "cvt.s64.s32", "cvt.s64.s8", "cvt.sat.f32.f32", "cvt.u16.u32", "cvt.u16.u64",
    "cvt.u32.u16", "cvt.u32.u64", "cvt.u64.u16", "cvt.u64.u32", "cvta.global.u64",
    "cvta.shared.u64", "cvta.to.global.u64", "div.approx.f32", "div.approx.ftz.f32", "div.rn.f32",
    "div.rn.f64", "div.s32", "div.s64", "div.u32", "div.u64", "ex2.approx.f32",
    "ex2.approx.ftz.f32", "fma.rm.f32", "fma.rn.bf16x2", "fma.rn.f16", "fma.rn.f16x2",
    "fma.rn.f32", "fma.rn.f64", "fma.rz.f32", "ld.const.f32", "ld.const.f64", "ld.const.u16",
    "ld.const.u32", "ld.global.cg.b32", "ld.global.cs.b16", "ld.global.cs.f32", "ld.global.f32",
    "ld.global.f64", "ld.global.nc.f32", "ld.global.nc.f64", "ld.global.nc.u16",
    "ld.global.nc.u32", "ld.global.nc.u64", "ld.global.nc.u8", "ld.global.s32", "ld.global.u16",
    "ld.global.u32", "ld.global.u64", "ld.global.u8", "ld.local.f32", "ld.local.f64",
    "ld.local.s8", "ld.local.u32", "ld.local.u64", "ld.local.u8", "ld.param.b32", "ld.param.f32",
    "ld.param.f64", "ld.param.s32", "ld.param.s8", "ld.param.u32", "ld.param.u64", "ld.param.u8",
    "ld.relaxed.sys.b32", "ld.relaxed.sys.b64", "ld.shared.f32", "ld.shared.f64", "ld.shared.u16",
    "ld.shared.u32", "ld.shared.u64", "ld.shared.u8", "ld.u32", "ld.volatile.global.f32",
    "ld.volatile.shared.u32", "lg2.approx.f32", "lg2.approx.ftz.f32", "lop3.b32", "mad.lo.cc.u32",
    "mad.lo.s32", "mad.wide.u32", "madc.hi.cc.u32", "madc.hi.u32", "madc.lo.cc.u32",
    "match.any.sync.b64", "max.f32", "max.f64", "max.s32", "max.s64", "max.u16", "max.u32",
    "membar.gl", "min.f32", "min.f64", "min.s32", "min.s64", "min.u32", "min.u64", "mov.b16",
    "mov.b32", "mov.b64", "mov.f32", "mov.f64", "mov.pred", "mov.u16", "mov.u32", "mov.u64",
    "mul.f16", "mul.f16x2", "mul.f32", "mul.f64", "mul.hi.s32", "mul.hi.u32", "mul.lo.s16",
    "mul.lo.s32", "mul.lo.s64", "mul.lo.u32", "mul.rn.f32", "mul.rn.f64", "mul.wide.s16",
    "mul.wide.s32", "mul.wide.u16", "mul.wide.u32", "neg.f16", "neg.f32", "neg.f64", "neg.s32",
    "neg.s64", "not.b16", "not.b32", "not.b64", "not.pred", "or.b16", "or.b32", "or.b64",
    "or.pred", "popc.b32", "prmt.b32", "rcp.approx.ftz.f32", "rcp.approx.ftz.f64", "rcp.rn.f32",
    "rcp.rn.f64", "rem.s32", "rem.s64", "rem.u32", "rem.u64", "ret", "rsqrt.approx.f32",
    "rsqrt.approx.ftz.f32", "selp.b16", "selp.b32", "selp.b64", "selp.f32", "selp.f64",
    "selp.s32", "selp.u16", "selp.u32", "selp.u64", "set.eq.f16.f16", "set.eq.f32.f32",
    "set.ge.f32.f32", "set.gt.f16x2.f16x2", "set.nan.f32.f32", "setp.eq.b16", "setp.eq.b32",
    "setp.eq.b64", "setp.eq.f32", "setp.eq.f64", "setp.eq.s16", "setp.eq.s32", "setp.eq.s64",
    "setp.ge.f32", "setp.ge.s32", "setp.ge.s64", "setp.ge.u32", "setp.ge.u64", "setp.geu.f32",
    "setp.geu.f64", "setp.gt.f32", "setp.gt.f64", "setp.gt.s16", "setp.gt.s32", "setp.gt.s64",
    "setp.gt.u16", "setp.gt.u32", "setp.gt.u64", "setp.gtu.f32", "setp.gtu.f64", "setp.le.f32",
    "setp.le.f64", "setp.le.s32", "setp.le.s64", "setp.le.u32", "setp.le.u64", "setp.leu.f32",
    "setp.leu.f64", "setp.lt.f16", "setp.lt.f32", "setp.lt.f64", "setp.lt.s16", "setp.lt.s32",
    "setp.lt.s64", "setp.lt.u16", "setp.lt.u32", "setp.lt.u64", "setp.ltu.f32", "setp.ltu.f64",
    "setp.nan.f64", "setp.ne.s16", "setp.ne.s32", "setp.ne.s64", "setp.neu.f32", "setp.neu.f64",
    "setp.num.f64", "shf.l.wrap.b32", "shfl.sync.bfly.b32", "shfl.sync.down.b32",
    "shfl.sync.idx.b32", "shfl.sync.up.b32", "shl.b16", "shl.b32", "shl.b64", "shr.s16",
    "shr.s32", "shr.s64", "shr.u16", "shr.u32", "shr.u64", "sqrt.rn.f32", "sqrt.rn.f64",
    "st.global.cg.v4.s32", "st.global.cs.b16", "st.global.cs.f32", "st.global.cs.v4.s32",
    "st.global.f32", "st.global.f64", "st.global.u16", "st.global.u32", "st.global.u64",
    "st.global.u8", "st.global.v2.f32", "st.global.v2.f64", "st.global.v2.u16",
    "st.global.v2.u32", "st.global.v2.u8", "st.global.v4.f32", "st.global.v4.u16",
    "st.global.v4.u32", "st.global.v4.u8", "st.local.f32", "st.local.f64", "st.local.u32",
    "st.local.u64", "st.local.u8", "st.local.v2.f64", "st.local.v2.u32", "st.local.v2.u8",
    "st.local.v4.f32", "st.local.v4.u16", "st.local.v4.u32", "st.param.b32", "st.param.b64",
    "st.param.f64", "st.shared.f32", "st.shared.f64", "st.shared.u16", "st.shared.u32",
    "st.shared.u64", "st.shared.u8", "st.shared.v2.f32", "st.shared.v2.u32", "st.shared.v4.f32",
    "st.shared.v4.u32", "st.volatile.global.f32", "st.volatile.global.u32",
    "st.volatile.shared.u32", "sub.cc.u32", "sub.f16", "sub.f16x2", "sub.f32", "sub.f64",
    "sub.s16", "sub.s32", "sub.s64", "subc.cc.u32", "subc.u32", "trap", "vote.sync.ballot.b32",
    "xor.b16", "xor.b32", "xor.b64", "xor.pred",
    // clang-format on
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
    return lg_run_tests("ptx forms", tests, sizeof tests / sizeof *tests);
}
