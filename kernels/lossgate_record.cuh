// SPDX-License-Identifier: Apache-2.0
// The ring of fault records that kernels of the `report` policy write and the host reads, also after the
// context has died. Host mirror: harness/result/observation.h (lg_fault_record), 64 bytes a record.
#pragma once
#include <cstdint>

struct lossgate_record {
    int64_t row;    // row of the batch, from 0, over samples and extra dimensions
    int64_t value;  // the label as the kernel read it (for a floating value: its float64 bits)
    int64_t lower;  // bounds it broke: lower <= value < upper
    int64_t upper;
    int32_t block[3];
    int32_t thread[3];
    uint32_t kernel; // launch_index argument
    uint32_t code;   // 1 label, 2 input, 3 target
};

// `count` counts every record that was to be written; those beyond `capacity` were dropped.
struct lossgate_record_ring {
    uint32_t capacity;
    uint32_t count;
    uint64_t reserved;
    // lossgate_record records[capacity] follows
};

__device__ inline void lossgate_write_record(lossgate_record_ring *ring, uint32_t kernel,
                                             uint32_t code, int64_t row, int64_t value,
                                             int64_t lower, int64_t upper) {
    uint32_t slot = atomicAdd(&ring->count, 1u);
    if (slot >= ring->capacity) {
        return;
    }
    lossgate_record *record = reinterpret_cast<lossgate_record *>(ring + 1) + slot;
    record->row = row;
    record->value = value;
    record->lower = lower;
    record->upper = upper;
    record->block[0] = static_cast<int32_t>(blockIdx.x);
    record->block[1] = static_cast<int32_t>(blockIdx.y);
    record->block[2] = static_cast<int32_t>(blockIdx.z);
    record->thread[0] = static_cast<int32_t>(threadIdx.x);
    record->thread[1] = static_cast<int32_t>(threadIdx.y);
    record->thread[2] = static_cast<int32_t>(threadIdx.z);
    record->kernel = kernel;
    record->code = code;
}
