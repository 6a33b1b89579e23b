// SPDX-License-Identifier: Apache-2.0
// Memory that each lane has its own copy of (local memory, call parameters): rows of 32 words, word
// k of lane l is rows[k * 32 + l], so that one offset for all lanes is one contiguous row.
#ifndef LG_ENGINE_SIM_EXEC_ROWS_H
#define LG_ENGINE_SIM_EXEC_ROWS_H

#include "engine/sim/lane/lane.h"

#include <string.h>

// `bytes` is 1, 2, 4 or 8 and divides `offset`.
static inline uint64_t lg_rows_get(const uint32_t *rows, uint32_t lane, uint64_t offset,
                                   uint32_t bytes) {
    const uint32_t *word = rows + offset / 4 * LG_LANES + lane;
    if (bytes == 8) {
        return word[0] | (uint64_t)word[LG_LANES] << 32;
    }
    uint32_t value = *word >> 8 * (offset % 4);
    return bytes == 4 ? value : value & ((UINT32_C(1) << 8 * bytes) - 1);
}

static inline void lg_rows_put(uint32_t *rows, uint32_t lane, uint64_t offset, uint32_t bytes,
                               uint64_t value) {
    uint32_t *word = rows + offset / 4 * LG_LANES + lane;
    if (bytes == 8) {
        word[0] = (uint32_t)value;
        word[LG_LANES] = (uint32_t)(value >> 32);
    } else {
        memcpy((char *)word + offset % 4, &value, bytes);
    }
}

#endif
