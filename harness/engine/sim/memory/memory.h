// SPDX-License-Identifier: Apache-2.0
// The memory of a device: allocations at addresses of one 64-bit space, apart from each other, and
// what the host does with them.
//
// A device is one address space, as a CUDA context has. It is not locked: one thread at a time uses
// a device; different devices are independent.
#ifndef LG_ENGINE_SIM_MEMORY_MEMORY_H
#define LG_ENGINE_SIM_MEMORY_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct lg_sim lg_sim; // a device

// Device memory. Addresses are 256-byte aligned; allocations sit apart with unmapped gaps of at
// least 4 KiB and at least their own size up to 1 MiB, so that an index one row off is caught.
// Freed ranges are remembered (not reused while addresses last). bytes 0 fails, as cuMemAlloc.
uint64_t lg_sim_alloc(lg_sim *sim, size_t bytes); // 0 when it cannot
// Maps caller-owned host memory (host-mapped allocations). The caller keeps it until unmapped.
uint64_t lg_sim_map(lg_sim *sim, void *host, size_t bytes);
// A range of addresses with nothing behind it, and memory behind a part of one: at most 256-byte
// aligned, apart from every other, freed or not. It is out of bounds until lg_sim_open makes it
// readable and writable; lg_sim_free takes it away. Addresses are never handed out again.
uint64_t lg_sim_reserve(lg_sim *sim, uint64_t bytes); // 0 when it cannot
bool lg_sim_back(lg_sim *sim, uint64_t base, size_t bytes);
bool lg_sim_open(lg_sim *sim, uint64_t base);
bool lg_sim_free(lg_sim *sim, uint64_t base); // alloc'd or mapped; false when base is not one
bool lg_sim_set_read_only(lg_sim *sim, uint64_t base, bool read_only);
// Host access to [address, address+bytes): false unless it lies inside one live allocation.
bool lg_sim_write(lg_sim *sim, uint64_t address, const void *from, size_t bytes);
bool lg_sim_read(lg_sim *sim, uint64_t address, void *to, size_t bytes);
bool lg_sim_fill(lg_sim *sim, uint64_t address, const void *pattern, size_t pattern_bytes,
                 size_t n);
size_t lg_sim_bytes_in_use(const lg_sim *sim);

#endif
