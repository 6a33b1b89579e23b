// SPDX-License-Identifier: Apache-2.0
// Inside of exec: what its files share.
#ifndef LG_ENGINE_SIM_EXEC_INTERNAL_H
#define LG_ENGINE_SIM_EXEC_INTERNAL_H

#include "engine/sim/exec/exec.h"
#include "engine/sim/exec/rows.h"

#include <string.h>

// --- warp.c, frame.c, call.c

// The running path is over (its mask is empty): goes on with the next one, returning from calls as
// needed. False when the warp has ended.
bool lg_warp_resume(lg_warp *warp);
// Splits the running path at `insn` in two (ip and mask of each; rpc is set here) that meet again
// at `meet`; `first` runs first. False after raising a fault.
bool lg_warp_split(lg_exec *x, lg_warp *warp, const lg_insn *insn, const lg_insn *meet,
                   lg_simt first, lg_simt second);

// Pushes a frame for `lanes` of the running mask; false after raising a fault.
bool lg_call_enter(lg_exec *x, lg_warp *warp, const lg_insn *insn, int function, uint32_t lanes);

static inline void lg_set_slot(char *slot, uint8_t bytes, uint32_t lane, uint64_t value) {
    memcpy(slot + lane * bytes, &value, bytes); // little-endian
}

// Makes frames[depth] one of `code`, constants and special registers filled. False after
// raising a fault.
bool lg_frame_open(lg_exec *x, lg_warp *warp, int depth, const lg_code *code);
// Returns from the top frame; the warp goes on behind the call.
void lg_call_leave(lg_warp *warp);

// --- barrier.c, exchange.c

lg_stop lg_barrier_arrive(lg_exec *x, lg_warp *warp, char *regs, const lg_insn *insn,
                          uint32_t active);
// shfl, vote, match, redux, elect and bar.warp.sync of the running warp. Lanes that the
// ISA leaves undefined are a finding; the launch goes on.
void lg_exchange(lg_exec *x, char *regs, const lg_insn *insn, uint32_t active);
void lg_warp_sync(lg_exec *x, char *regs, const lg_insn *insn, uint32_t active);

// --- intrinsics.c, printf.c

// Prints a line for each active lane and ends the warp; false when the launch is to end at once.
bool lg_assert_fail(lg_exec *x, char *regs, const lg_insn *insn, uint32_t active);
bool lg_vprintf(lg_exec *x, char *regs, const lg_insn *insn, uint32_t active);
// Formats one call as device printf does: arguments lie at `args` with natural alignment. Returns
// the number of conversions, -1 after raising a fault.
int lg_format_printf(lg_exec *x, const lg_insn *insn, int lane, uint64_t format, uint64_t args,
                     lg_str *out);
// Appends a NUL-terminated string of the lane's address space, at most LG_MAX_STRING bytes; false
// after raising a fault.
bool lg_read_string(lg_exec *x, const lg_insn *insn, int lane, uint64_t address, lg_str *out);

// --- access.c, address.c, rows.c, atomic.c

bool lg_rows_access(lg_exec *x, char *regs, const lg_insn *insn, uint32_t active);
void lg_load_param(lg_exec *x, char *regs, const lg_insn *insn, uint32_t active);

void lg_isspacep(char *regs, const lg_insn *insn, uint32_t active);
// Copies out of the address space of one lane (generic addresses); false when it cannot.
bool lg_read_generic(lg_exec *x, int lane, uint64_t address, void *to, uint32_t bytes);

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
