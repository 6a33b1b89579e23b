// SPDX-License-Identifier: Apache-2.0
// From an address to the memory it lies in, and the vector code that goes there.
#include "engine/sim/memory/device.h"

#include <string.h>

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

lg_alloc *lg_resolve(lg_sim *sim, lg_ptx_space space, uint64_t address, uint32_t bytes,
                     bool write) {
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

const lg_mem_table *lg_mem_table_best(void) {
    static const lg_mem_table *const tables[] = {[LG_ISA_BASELINE] = &lg_mem_table_baseline,
                                                 [LG_ISA_AVX2] = &lg_mem_table_avx2,
                                                 [LG_ISA_AVX512] = &lg_mem_table_avx512};
    return tables[lg_lane_table_best()->isa];
}
