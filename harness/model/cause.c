// SPDX-License-Identifier: Apache-2.0
#include "model/cause.h"

#include <string.h>

typedef struct row {
    lg_cause_phase phase;
    const char *help;
} row;

static const char *const names[] = {
    "none",
#define LG_CAUSE(id, name, phase, help) name,
#include "model/cause.def"
#undef LG_CAUSE
};

static const row rows[] = {
    {LG_PHASE_NONE, "nothing is wrong"},
#define LG_CAUSE(id, name, phase, help) {LG_PHASE_##phase, help},
#include "model/cause.def"
#undef LG_CAUSE
};

// The data faults come first in the table, so that name i is cause i + 1.
#define PICK_DATA(name) name,
#define PICK_KERNEL(name)
static const char *const data_names[] = {
#define LG_CAUSE(id, name, phase, help) PICK_##phase(name)
#include "model/cause.def"
#undef LG_CAUSE
};
_Static_assert(sizeof data_names / sizeof *data_names == LG_CAUSE_MISSING_CHECK - 1,
               "data faults come before kernel faults");

const char *lg_cause_name(lg_cause cause) {
    return (unsigned)cause < LG_N_CAUSES ? names[cause] : "invalid";
}

const char *lg_cause_help(lg_cause cause) {
    return (unsigned)cause < LG_N_CAUSES ? rows[cause].help : "";
}

lg_cause_phase lg_cause_phase_of(lg_cause cause) {
    return (unsigned)cause < LG_N_CAUSES ? rows[cause].phase : LG_PHASE_NONE;
}

bool lg_cause_parse(const char *name, lg_cause *cause) {
    for (int i = 0; i < LG_N_CAUSES; i++) {
        if (strcmp(name, names[i]) == 0) {
            *cause = (lg_cause)i;
            return true;
        }
    }
    return false;
}

const char *const *lg_cause_names(size_t *n) {
    *n = LG_N_CAUSES - 1;
    return names + 1;
}

const char *const *lg_cause_names_from_none(size_t *n) {
    *n = LG_N_CAUSES;
    return names;
}

const char *const *lg_fault_names(size_t *n) {
    *n = sizeof data_names / sizeof *data_names;
    return data_names;
}
