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

const char *const *lg_verdict_names(size_t *n) {
    *n = LG_N_VERDICTS;
    return names;
}

const char *lg_attribution_name(lg_attribution attribution) {
    return (unsigned)attribution <= LG_ATTRIBUTION_WRONG ? attributions[attribution] : "invalid";
}

const char *const *lg_attribution_names(size_t *n) {
    *n = LG_ATTRIBUTION_WRONG + 1;
    return attributions;
}
