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
