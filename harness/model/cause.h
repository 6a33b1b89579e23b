// SPDX-License-Identifier: Apache-2.0
// The vocabulary of faults (what a scenario injects) and causes (what attribution concludes).
#ifndef LG_MODEL_CAUSE_H
#define LG_MODEL_CAUSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum lg_cause {
    LG_CAUSE_NONE = 0, // no fault injected / nothing concluded; its name is "none"
#define LG_CAUSE(id, name, phase, help) LG_CAUSE_##id,
#include "model/cause.def"
#undef LG_CAUSE
    LG_N_CAUSES
} lg_cause;

typedef uint64_t lg_cause_set; // of bits
#define LG_CAUSE_BIT(cause) (UINT64_C(1) << (cause))
_Static_assert(LG_N_CAUSES <= 64, "a set of causes has a bit for each");

typedef enum lg_cause_phase { LG_PHASE_NONE, LG_PHASE_DATA, LG_PHASE_KERNEL } lg_cause_phase;

const char *lg_cause_name(lg_cause cause);
const char *lg_cause_help(lg_cause cause);
lg_cause_phase lg_cause_phase_of(lg_cause cause);
bool lg_cause_parse(const char *name, lg_cause *cause); // "none" parses too
const char *const *lg_cause_names(size_t *n);           // without "none"
const char *const *lg_cause_names_from_none(size_t *n); // in the order of the enum
const char *const *
lg_fault_names(size_t *n); // what a scenario can inject: phase DATA, from value 1

#endif
