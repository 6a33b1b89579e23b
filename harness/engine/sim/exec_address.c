// SPDX-License-Identifier: Apache-2.0
// From an address to the memory it lies in.
#include "engine/sim/exec_memory.h"

uint64_t lg_lane_address(const char *regs, const lg_insn *insn, bool address_32, uint32_t lane) {
    if (address_32) {
        uint32_t low;
        memcpy(&low, regs + insn->src[0] + lane * 4, sizeof low);
        return (uint32_t)(low + (uint32_t)insn->imm);
    }
    uint64_t address;
    memcpy(&address, regs + insn->src[0] + lane * 8, sizeof address);
    return address + insn->imm;
}

static lg_alloc *holds(lg_alloc *alloc, uint64_t address, uint32_t bytes, bool write) {
    uint64_t size = write ? alloc->write_bytes : alloc->bytes;
    uint64_t offset = address - alloc->base;
    return offset <= size && bytes <= size - offset ? alloc : NULL;
}

lg_alloc *lg_resolve(lg_exec *x, lg_ptx_space space, uint64_t address, uint32_t bytes, bool write) {
    lg_sim *sim = x->sim;
    lg_alloc *alloc = NULL;
    switch (space) {
    case LG_SPACE_SHARED:
        return holds(&sim->shared_flat, address, bytes, write);
    case LG_SPACE_PARAM:
        return holds(&sim->params_flat, address, bytes, write);
    case LG_SPACE_LOCAL:
        return NULL;
    case LG_SPACE_GENERIC:
        if (address - LG_SHARED_WINDOW < LG_WINDOW_BYTES) {
            return holds(&sim->shared, address, bytes, write);
        }
        if (address - LG_PARAM_WINDOW < LG_WINDOW_BYTES) {
            return holds(&sim->params, address, bytes, write);
        }
        break;
    case LG_SPACE_GLOBAL:
    case LG_SPACE_CONST:
        break;
    }
    alloc = lg_memory_find(sim, address);
    return alloc ? holds(alloc, address, bytes, write) : NULL;
}

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
        const lg_alloc *alloc = lg_resolve(x, LG_SPACE_GENERIC, at, 1, false);
        if (!alloc) {
            return false;
        }
        *out = alloc->host[at - alloc->base];
    }
    return true;
}
