// SPDX-License-Identifier: Apache-2.0
#include "model/device_fault.h"

static const struct {
    lg_device_finder finder;
    const char *names[2]; // of a read, of a write
} rows[] = {
    {LG_FINDER_NONE, {"bad access", "bad access"}},
#define LG_DEVICE_FAULT(id, finder, name, name_of_write)                                           \
    {LG_FINDER_##finder, {name, name_of_write}},
#include "model/device_fault.def"
#undef LG_DEVICE_FAULT
};

const char *lg_device_fault_name(lg_device_fault_kind kind, bool write) {
    return rows[(unsigned)kind < LG_N_DEVICE_FAULTS ? kind : 0].names[write];
}

lg_device_finder lg_device_fault_finder(lg_device_fault_kind kind) {
    return rows[(unsigned)kind < LG_N_DEVICE_FAULTS ? kind : 0].finder;
}
