// SPDX-License-Identifier: Apache-2.0
// Loads, stores and atomics lane by lane, and what addresses mean.
#ifndef LG_ENGINE_SIM_EXEC_MEMORY_H
#define LG_ENGINE_SIM_EXEC_MEMORY_H

#include "engine/sim/exec.h"
#include "engine/sim/rows.h"

#include <string.h>

// exec_memory.c
// Performs a load or store lane by lane, with all checks and findings; false after raising a fault.
bool lg_access_slow(lg_exec *x, char *regs, const lg_insn *insn, uint32_t active);

// exec_rows.c
bool lg_rows_access(lg_exec *x, char *regs, const lg_insn *insn, uint32_t active);
void lg_load_param(lg_exec *x, char *regs, const lg_insn *insn, uint32_t active);

// exec_address.c
// The address of one lane's access: 32-bit ones wrap.
uint64_t lg_lane_address(const char *regs, const lg_insn *insn, bool address_32, uint32_t lane);
void lg_isspacep(char *regs, const lg_insn *insn, uint32_t active);
// The allocation an access of `bytes` at a (generic or global or shared) address lies in, or NULL.
// `flat` gets the address relative to that allocation's base.
lg_alloc *lg_resolve(lg_exec *x, lg_ptx_space space, uint64_t address, uint32_t bytes, bool write);
// Copies out of the address space of one lane (generic addresses); false when it cannot.
bool lg_read_generic(lg_exec *x, int lane, uint64_t address, void *to, uint32_t bytes);

// exec_atomic.c
bool lg_atomic(lg_exec *x, char *regs, const lg_insn *insn, uint32_t active);

// --- what those files share

static inline bool lg_is_store(const lg_insn *insn) {
    return insn->kind >= LG_KIND_ST_2 || insn->kind == LG_KIND_ST_ROWS;
}

// A loaded value as the register holds it.
static inline uint64_t lg_extend(uint64_t value, lg_mem_form form) {
    if (form.sign && form.bytes < 8) {
        int shift = 64 - 8 * form.bytes;
        return (uint64_t)((int64_t)(value << shift) >> shift);
    }
    return value;
}

static inline void lg_put_reg(char *regs, uint32_t slot, uint8_t bytes, uint32_t lane,
                              uint64_t value) {
    memcpy(regs + slot + lane * bytes, &value, bytes);
}

static inline uint64_t lg_get_reg(const char *regs, uint32_t slot, uint8_t bytes, uint32_t lane) {
    uint64_t value = 0;
    memcpy(&value, regs + slot + lane * bytes, bytes);
    return value;
}

// Whether a generic address is one of the lane's local memory.
static inline bool lg_in_local_window(lg_ptx_space space, uint64_t address) {
    return space == LG_SPACE_GENERIC && address - LG_LOCAL_WINDOW < LG_WINDOW_BYTES;
}

static inline bool lg_in_local(const lg_warp *warp, uint64_t offset, uint32_t bytes) {
    return offset <= warp->local_top && bytes <= warp->local_top - offset;
}

#endif
