// SPDX-License-Identifier: Apache-2.0
// Instructions that only move values between registers: the vector heart of the engine.
//
// A warp's register file is one 64-byte aligned block. A register is a *slot* in it, by its
// declared width: .b16 → uint16_t[32], .b32 → uint32_t[32], .b64 → uint64_t[32] (lane l is element
// l, slots 64-byte aligned), .pred → one uint32_t, bit l is lane l. Immediates, special registers
// and symbol addresses are slots too, filled once by the decoder or at launch, so every operand is
// an offset.
//
// A lane function executes one instruction for all 32 lanes and writes the lanes of `active` only.
// It has a fast path for active == all ones, written as plain loops over 32 lanes that the compiler
// turns into vector code; lane/*.c is compiled once per instruction set (isa.cmake).
#ifndef LG_ENGINE_SIM_LANE_LANE_H
#define LG_ENGINE_SIM_LANE_LANE_H

#include "engine/ptx/ast.h"

#include <stdbool.h>
#include <stdint.h>

enum { LG_LANES = 32 };

typedef struct lg_insn lg_insn;
typedef void lg_lane_fn(char *regs, const lg_insn *insn, uint32_t active);

enum { LG_MAX_DST = 4, LG_MAX_SRC = 5 };

// A decoded instruction. Offsets are bytes from `regs`. The order of src is that of the PTX
// operands after the destination(s); vector operands {a, b} take one entry an element. A
// destination that is
// `_`, or absent (q of setp), points at a scratch slot that nothing reads.
struct lg_insn {
    lg_lane_fn *lane;         // NULL: handled by the interpreter (memory, control flow)
    uint32_t dst[LG_MAX_DST]; // dst[0] = d, or p of p|q; dst[1] = q; unpacking mov: the elements
    uint32_t src[LG_MAX_SRC];
    uint32_t cc;          // slot (like .pred) of the carry flag of add.cc, addc, mad.cc, …
    uint32_t guard;       // slot of the guard predicate; 0: none (slot 0 is all ones)
    uint8_t guard_invert; // 1: @!p
    uint8_t src_inverted; // bit s: src[s] is a negated predicate (!p)
    uint16_t kind;        // interpreter's own dispatch when lane is NULL
    uint32_t index;       // of the PTX instruction in its function
    uint16_t step;        // instructions to the next one to execute: 1 and the needless ones
    uint64_t imm;         // interpreter's own: branch target, offset, …
    uint32_t aux[4];      // interpreter's own
};

// What a lane function is chosen by.
typedef struct lg_lane_form {
    const lg_ptx_insn *insn;
    int n_dst, n_src;
    uint8_t dst_bytes[LG_MAX_DST]; // element bytes of the slot: 2, 4, 8; 0 for a predicate
    uint8_t src_bytes[LG_MAX_SRC]; // may exceed the instruction type's (cvt.s32.s8 from a .b32)
} lg_lane_form;

// Runs of instructions that one lane function executes, with the same bits (fuse.h finds them).
typedef enum lg_fused_kind {
    LG_FUSED_EXP,             // nvcc's expf: dst[0] = exp(src[0])
    LG_FUSED_EXP_OF_SUB,      // dst[0] = exp(src[0] - src[1])
    LG_FUSED_EXP_PLUS,        // dst[0] = src[1] + exp(src[0]), its last product unrounded
    LG_FUSED_EXP_OF_SUB_PLUS, // dst[0] = src[2] + exp(src[0] - src[1]), the same
    LG_FUSED_INDEX,           // 64 bits: dst[0] = src[2] + ((src[0] + src[1]) << src[3])
    LG_FUSED_INDEX_KEPT,      // the same, and dst[1] = (src[0] + src[1]) << src[3]
    LG_N_FUSED
} lg_fused_kind;

typedef enum lg_isa { LG_ISA_BASELINE, LG_ISA_AVX2, LG_ISA_AVX512, LG_N_ISAS } lg_isa;
const char *lg_isa_name(lg_isa isa); // "baseline", "avx2", "avx512"

// One table an instruction set. `select` returns the function for a register-only instruction: mov
// of registers/immediates/special registers and packing, integer, logic, shift, compare, select,
// float, double, half, bfloat16 (scalar and packed), conversions, carry chains, bit fields, prmt,
// testp, copysign, .approx functions, shfl, vote, match, redux, activemask; NULL when it has none
// (the decoder then lists the instruction as unsupported). For shfl/vote/match/redux the member
// mask is the last source; lanes read are those of `active`.
typedef struct lg_lane_table {
    lg_isa isa;
    lg_lane_fn *(*select)(const lg_lane_form *form);
    lg_lane_fn *(*fused)(lg_fused_kind kind);
} lg_lane_table;

const lg_lane_table *lg_lane_table_baseline(void);
const lg_lane_table *lg_lane_table_avx2(void);   // NULL when the build or the CPU has none
const lg_lane_table *lg_lane_table_avx512(void); // NULL when the build or the CPU has none
// The best the CPU can run; LOSSGATE_ISA=baseline|avx2|avx512 overrides it.
const lg_lane_table *lg_lane_table_best(void);

// Width in bytes (2, 4, 8; 0 predicate) that the slot of an *immediate* must have as source `index`
// of this instruction, so that decoder and lane functions agree.
int lg_lane_immediate_bytes(const lg_ptx_insn *insn, int index);
// The same of destination `index`. Except for cvt and mov, `select` refuses other widths than these
// two.
int lg_lane_result_bytes(const lg_ptx_insn *insn, int index);

#endif
