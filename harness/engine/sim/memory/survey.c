// SPDX-License-Identifier: Apache-2.0
// Where the lanes of a load or store go, for the race check: which of them an allocation allows,
// and whether they are equally far apart.
#include "engine/sim/lane/impl.h"
#include "engine/sim/memory/device.h"

// Offsets from the allocation; lanes that are not active get that of one that is.
LANE_INLINE void find_offsets(const char *regs, const lg_insn *insn, uint32_t active,
                              const lg_alloc *alloc, uint64_t *offsets) {
    const char *slot = regs + insn->src[0];
    if (lg_mem_form_of(insn).address_32) {
        const uint32_t *narrow = (const uint32_t *)(const void *)slot;
        for (int lane = 0; lane < LG_LANES; lane++) {
            offsets[lane] = (uint32_t)(narrow[lane] + (uint32_t)insn->imm) - alloc->base;
        }
    } else {
        const uint64_t *wide = (const uint64_t *)(const void *)slot;
        for (int lane = 0; lane < LG_LANES; lane++) {
            offsets[lane] = wide[lane] + insn->imm - alloc->base;
        }
    }
    uint64_t first = offsets[__builtin_ctz(active)];
    for (int lane = 0; lane < LG_LANES && active != UINT32_MAX; lane++) {
        offsets[lane] = active >> lane & 1 ? offsets[lane] : first;
    }
}

LANE_INLINE uint32_t find_inside(uint64_t size, uint64_t step, uint32_t active,
                                 const uint64_t *offsets) {
    // An offset is inside when neither it nor its distance to the limit is negative.
    uint64_t limit = size - step, outside = 0, low = 0;
    for (int lane = 0; lane < LG_LANES; lane++) {
        outside |= offsets[lane] | (limit - offsets[lane]);
        low |= offsets[lane];
    }
    if (size < step) {
        return 0;
    }
    if (!(outside >> 63) && !(low & (step - 1))) {
        return active;
    }
    uint32_t inside = 0;
    for (uint32_t rest = active; rest; rest &= rest - 1) {
        uint64_t offset = offsets[__builtin_ctz(rest)];
        inside |= offset <= limit && !(offset & (step - 1)) ? rest & (0 - rest) : 0;
    }
    return inside;
}

// The bytes from each lane to the next; -1 when that varies.
LANE_INLINE int64_t find_stride(uint32_t lanes, const uint64_t *offsets) {
    uint32_t first = (uint32_t)__builtin_ctz(lanes), rest = lanes & (lanes - 1);
    if (!rest) {
        return 0;
    }
    uint32_t second = (uint32_t)__builtin_ctz(rest);
    int64_t stride = (int64_t)(offsets[second] - offsets[first]);
    stride = second - first == 1 ? stride : stride / (int64_t)(second - first);
    uint64_t differ = 0, origin = offsets[first] - first * (uint64_t)stride;
    for (int lane = 0; lane < LG_LANES && lanes == UINT32_MAX; lane++) {
        differ |= offsets[lane] ^ (origin + (uint64_t)lane * (uint64_t)stride);
    }
    for (int lane = 0; lane < LG_LANES && lanes != UINT32_MAX; lane++) {
        uint64_t on = 0 - (uint64_t)(lanes >> lane & 1);
        differ |= (offsets[lane] ^ (origin + (uint64_t)lane * (uint64_t)stride)) & on;
    }
    return differ == 0 && stride >= 0 ? stride : -1;
}

uint32_t LG_ISA_NAME(lg_survey)(const char *regs, const lg_insn *insn, uint32_t active,
                                const lg_alloc *alloc, uint64_t *offsets, int64_t *stride) {
    lg_mem_form form = lg_mem_form_of(insn);
    uint64_t step = (uint64_t)form.bytes * form.vec, size = alloc->bytes;
    find_offsets(regs, insn, active, alloc, offsets);
    *stride = find_stride(active, offsets);
    if (active == UINT32_MAX && *stride >= 0 && offsets[0] <= size && (uint64_t)*stride <= size &&
        offsets[LG_LANES - 1] <= size && step <= size - offsets[LG_LANES - 1] &&
        !((offsets[0] | (uint64_t)*stride) & (step - 1))) {
        return active; // as the first and the last lane, all of them
    }
    uint32_t inside = find_inside(size, step, active, offsets);
    *stride = inside && inside != active ? find_stride(inside, offsets) : *stride;
    return inside;
}
