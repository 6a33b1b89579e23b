// SPDX-License-Identifier: Apache-2.0
// The driver calls of one run, counted, with the first error: what surfaced where, and how late.
#ifndef LG_DEVICE_CALLS_H
#define LG_DEVICE_CALLS_H

#include "engine/driver.h"
#include "result/observation.h"

#include <stdbool.h>
#include <stdint.h>

enum { LG_MAX_LAUNCHES = 32 }; // of one run; a manifest with more stages is refused

typedef struct lg_launch_note {
    lg_launch what; // its entry lives in the run's arena
    int64_t call;   // its number among the calls
} lg_launch_note;

typedef struct lg_calls {
    int64_t n_calls;
    CUresult error;          // the first
    const char *surfaced_at; // name of the call that returned it
    int64_t surfaced_call;
    int n_launches;
    lg_launch_note launches[LG_MAX_LAUNCHES];
} lg_calls;

// Counts a call and keeps its error when it is the first. True on success.
bool lg_note_call(lg_calls *calls, const char *name, CUresult result);

// LG_CALL(calls, driver, cuMemFree, address): calls through the table and notes it.
#define LG_CALL(calls, table, function, ...)                                                       \
    lg_note_call((calls), #function, (table)->function(__VA_ARGS__))

#endif
