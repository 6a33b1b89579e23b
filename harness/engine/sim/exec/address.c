// SPDX-License-Identifier: Apache-2.0
// Generic addresses: what space one lies in, and what a lane reads there.
#include "engine/sim/exec/internal.h"

void lg_isspacep(char *regs, const lg_insn *insn, uint32_t active) {
    uint32_t result;
    memcpy(&result, regs + insn->dst[0], sizeof result);
    for (uint32_t lane = 0; lane < LG_LANES; lane++) {
        uint64_t address = lg_get_reg(regs, insn->src[0], 8, lane);
        bool shared = address - LG_SHARED_WINDOW < LG_WINDOW_BYTES;
        bool local = address - LG_LOCAL_WINDOW < LG_WINDOW_BYTES;
        bool param = address - LG_PARAM_WINDOW < LG_WINDOW_BYTES;
        bool is = insn->aux[0] == LG_SPACE_SHARED  ? shared
                  : insn->aux[0] == LG_SPACE_LOCAL ? local
                  : insn->aux[0] == LG_SPACE_PARAM ? param
                                                   : !shared && !local && !param;
        if (active >> lane & 1) {
            result = (result & ~(UINT32_C(1) << lane)) | (uint32_t)is << lane;
        }
    }
    memcpy(regs + insn->dst[0], &result, sizeof result);
}

bool lg_read_generic(lg_exec *x, int lane, uint64_t address, void *to, uint32_t bytes) {
    for (uint32_t i = 0; i < bytes; i++) {
        uint64_t at = address + i;
        char *out = (char *)to + i;
        if (lg_in_local_window(LG_SPACE_GENERIC, at)) {
            if (!lg_in_local(x->warp, at - LG_LOCAL_WINDOW, 1)) {
                return false;
            }
            *out = (char)lg_rows_get(x->warp->local, (uint32_t)lane, at - LG_LOCAL_WINDOW, 1);
            continue;
        }
        const lg_alloc *alloc = lg_resolve(x->sim, LG_SPACE_GENERIC, at, 1, false);
        if (!alloc) {
            return false;
        }
        *out = alloc->host[at - alloc->base];
    }
    return true;
}
