// SPDX-License-Identifier: Apache-2.0
// Does a wrong result depend on the order in which blocks and warps run?
#ifndef LG_DEVICE_ORDER_H
#define LG_DEVICE_ORDER_H

#include "device/device.h"

// Runs the request again in a few seeded orders and compares with `seen`, the run in order. The
// text that tells the first difference beyond rounding, in `arena`; NULL when there is none, or no
// run could be made. Only a device that can choose the order tells anything (the embedded one).
const char *lg_find_order_dependence(lg_device_session *device, const lg_run_request *request,
                                     const lg_observation *seen, lg_arena *arena);

#endif
