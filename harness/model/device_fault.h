// SPDX-License-Identifier: Apache-2.0
// What a device says went wrong while a kernel ran, and which of its checks found it.
#ifndef LG_MODEL_DEVICE_FAULT_H
#define LG_MODEL_DEVICE_FAULT_H

#include <stdbool.h>

typedef enum lg_device_fault_kind {
    LG_DEVICE_FAULT_NONE = 0, // nothing is known
#define LG_DEVICE_FAULT(id, finder, name, name_of_write) LG_DEVICE_FAULT_##id,
#include "model/device_fault.def"
#undef LG_DEVICE_FAULT
    LG_N_DEVICE_FAULTS
} lg_device_fault_kind;

typedef enum lg_device_finder {
    LG_FINDER_NONE = 0,
    LG_FINDER_ACCESS,    // the check of every access and copy against its allocation
    LG_FINDER_INIT,      // the check for reads of memory never written
    LG_FINDER_RACE,      // the check for races
    LG_FINDER_BARRIER,   // who takes part in a barrier or a warp exchange
    LG_FINDER_EXECUTION, // the kernel ended itself, or cannot go on
    LG_FINDER_LAUNCH,    // nothing ran, or the host has no memory left for it
} lg_device_finder;

// For people, as "write out of bounds": `write` matters for accesses only. "bad access" of NONE.
const char *lg_device_fault_name(lg_device_fault_kind kind, bool write);
lg_device_finder lg_device_fault_finder(lg_device_fault_kind kind);

#endif
