// SPDX-License-Identifier: Apache-2.0
// Inside of decode: AST of one function → lg_code. Every PTX instruction becomes exactly one
// lg_insn; a `reconverge` stands before each instruction where diverged paths meet.
#ifndef LG_ENGINE_SIM_DECODE_INTERNAL_H
#define LG_ENGINE_SIM_DECODE_INTERNAL_H

#include "engine/sim/decode/decode.h"
#include "engine/sim/decode/fold.h"

enum { LG_NO_INSN = -1, LG_MAX_FRAME_BYTES = 8 << 20 };

typedef struct lg_decoder {
    lg_sim_module *module;
    const lg_ptx_function *ptx;
    lg_code *code;
    lg_diags *diags;
    const lg_lane_table *lanes;
    uint32_t *reg_slots;
    uint32_t *index_of; // decoded index of each PTX instruction, n_insns: the end
    lg_fill *fills;     // malloc'd while growing
    int n_fills, fill_capacity;
    lg_fold fold;
    uint32_t next_slot;
    bool ok;
} lg_decoder;

// Of a scope that ends with the block: there are no clusters here, so each block is its own.
static inline bool lg_decode_is_narrow(const lg_ptx_insn *insn) {
    return insn->mods.scope == LG_SCOPE_CTA || insn->mods.scope == LG_SCOPE_CLUSTER;
}

// Reports an instruction the engine cannot execute; returns false.
bool lg_decode_refuse(lg_decoder *d, const lg_ptx_insn *insn, const char *why);

// Appends to a list in the arena, unless it is the last entry already.
void lg_decode_note(int **list, int *n, int *capacity, int value, lg_arena *arena);
static inline uint32_t lg_align_64(uint32_t at) {
    return (at + 63) & ~63u;
}

uint8_t lg_reg_bytes(lg_ptx_type type); // of a slot's element: 2, 4, 8; 0 predicate; 255 none
uint32_t lg_decode_fill(lg_decoder *d, lg_fill_what what, uint8_t bytes, uint64_t value);
// Slot that holds the address of a variable (8 or 4 bytes an element) in its own space.
bool lg_decode_symbol(lg_decoder *d, const lg_ptx_insn *insn, const lg_ptx_operand *operand,
                      uint8_t bytes, uint32_t *slot);
// Where a read of the register finds its value: what was moved into it where the move is dropped.
uint32_t lg_decode_read(lg_decoder *d, int32_t reg);
const lg_ptx_symbol *lg_decode_find_symbol(const lg_decoder *d, const lg_ptx_operand *operand);
// Any source but memory and labels as a slot with elements of `*bytes`: in, what an immediate is to
// have; out, what the slot has. Sets bit `index` of src_inverted for a negated predicate.
bool lg_decode_source(lg_decoder *d, const lg_ptx_insn *insn, const lg_ptx_operand *operand,
                      int index, lg_insn *out, uint8_t *bytes);

// Each fills `out` and returns true, or reports and returns false.
bool lg_decode_lane(lg_decoder *d, const lg_ptx_insn *insn, lg_insn *out);
bool lg_decode_memory(lg_decoder *d, const lg_ptx_insn *insn, lg_insn *out);
bool lg_decode_atomic(lg_decoder *d, const lg_ptx_insn *insn, lg_insn *out);
bool lg_decode_cvta(lg_decoder *d, const lg_ptx_insn *insn, lg_insn *out);
bool lg_decode_isspacep(lg_decoder *d, const lg_ptx_insn *insn, lg_insn *out);
bool lg_decode_branch(lg_decoder *d, const lg_ptx_insn *insn, int at, lg_insn *out);
bool lg_decode_call(lg_decoder *d, const lg_ptx_insn *insn, lg_insn *out);
bool lg_decode_barrier(lg_decoder *d, const lg_ptx_insn *insn, lg_insn *out);

#endif
