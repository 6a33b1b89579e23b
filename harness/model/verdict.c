// SPDX-License-Identifier: Apache-2.0
#include "model/verdict.h"

#include <string.h>

static const char *const names[] = {
    "untested",
#define LG_VERDICT(id, name, help) name,
#include "model/verdict.def"
#undef LG_VERDICT
};

static const char *const helps[] = {
    "nothing was shown; counts as a failure",
#define LG_VERDICT(id, name, help) help,
#include "model/verdict.def"
#undef LG_VERDICT
};

static const char *const attributions[] = {
    [LG_ATTRIBUTION_NONE] = "none",
    [LG_ATTRIBUTION_EXACT] = "exact",
    [LG_ATTRIBUTION_AMBIGUOUS] = "ambiguous",
    [LG_ATTRIBUTION_WRONG] = "wrong",
};

const char *lg_verdict_name(lg_verdict verdict) {
    return (unsigned)verdict < LG_N_VERDICTS ? names[verdict] : "invalid";
}

const char *lg_verdict_help(lg_verdict verdict) {
    return (unsigned)verdict < LG_N_VERDICTS ? helps[verdict] : "";
}

bool lg_verdict_parse(const char *name, lg_verdict *verdict) {
    for (int i = 0; i < LG_N_VERDICTS; i++) {
        if (strcmp(name, names[i]) == 0) {
            *verdict = (lg_verdict)i;
            return true;
        }
    }
    return false;
}

const char *const *lg_verdict_names(size_t *n) {
    *n = LG_N_VERDICTS;
    return names;
}

const char *lg_attribution_name(lg_attribution attribution) {
    return (unsigned)attribution <= LG_ATTRIBUTION_WRONG ? attributions[attribution] : "invalid";
}

bool lg_attribution_parse(const char *name, lg_attribution *attribution) {
    for (int i = 0; i <= LG_ATTRIBUTION_WRONG; i++) {
        if (strcmp(name, attributions[i]) == 0) {
            *attribution = (lg_attribution)i;
            return true;
        }
    }
    return false;
}

const char *const *lg_attribution_names(size_t *n) {
    *n = LG_ATTRIBUTION_WRONG + 1;
    return attributions;
}
