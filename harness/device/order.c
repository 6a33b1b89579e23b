// SPDX-License-Identifier: Apache-2.0
#include "device/device.h"

#include "support/plain.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

// A race shows in some orders only; more than these few rarely add anything, and each costs a run.
static const uint64_t schedules[] = {1, 2, 3};

// What another order of a right sum may change is rounding: these are many ulp of the stored type.
static double rounding_of(int dtype) {
    return dtype == LG_BFLOAT16 ? 0x1p-4 : dtype == LG_FLOAT16 ? 0x1p-7 : 0x1p-12;
}

static bool differs(double a, double b, double rounding) {
    bool both_nan = isnan(a) && isnan(b);
    return !both_nan && a != b && !(fabs(a - b) <= rounding * fmax(fabs(a), fabs(b)));
}

static const char *first_difference(const lg_observation *in_order, const lg_observation *other,
                                    lg_arena *arena) {
    for (int i = 0; i < in_order->n_outputs; i++) {
        const lg_output *a = &in_order->outputs[i];
        const lg_output *b = lg_observation_output(other, a->arg);
        bool both = lg_output_exists(a) && lg_output_exists(b);
        for (int64_t k = 0; both && k < a->n && k < b->n; k++) {
            double x = lg_output_get(a, k), y = lg_output_get(b, k);
            if (differs(x, y, rounding_of(a->dtype))) {
                return lg_arena_printf(arena,
                                       "%s[%" PRId64 "] depends on the order in which blocks and "
                                       "warps run: %.9g in one, %.9g in another",
                                       lg_arg_name(a->arg), k, lg_plain(x), lg_plain(y));
            }
        }
    }
    return NULL;
}

const char *lg_find_order_dependence(lg_device_session *device, const lg_run_request *request,
                                     const lg_observation *seen, lg_arena *arena) {
    const char *found = NULL;
    for (size_t i = 0; i < sizeof schedules / sizeof *schedules && !found; i++) {
        lg_run_request again = *request;
        again.schedule = schedules[i];
        lg_observation other;
        lg_diags diags = {0}; // what could not be run again tells nothing
        if (lg_device_run(device, &again, &other, &diags)) {
            found = first_difference(seen, &other, arena);
        }
        lg_observation_free(&other);
        lg_diags_free(&diags);
    }
    return found;
}
