// SPDX-License-Identifier: Apache-2.0
// What a case turned out to be. Zero is `untested` and counts as a failure.
#ifndef LG_MODEL_VERDICT_H
#define LG_MODEL_VERDICT_H

#include <stdbool.h>
#include <stddef.h>

typedef enum lg_verdict {
    LG_UNTESTED = 0,
#define LG_VERDICT(id, name, help) LG_##id,
#include "model/verdict.def"
#undef LG_VERDICT
    LG_N_VERDICTS
} lg_verdict;

// How good the diagnosis was, measured against what was injected.
typedef enum lg_attribution {
    LG_ATTRIBUTION_NONE = 0,  // nothing injected and nothing concluded, or no finding
    LG_ATTRIBUTION_EXACT,     // the right cause, sure, and exactly the right rows
    LG_ATTRIBUTION_AMBIGUOUS, // the right cause is among those named; the data cannot tell
    LG_ATTRIBUTION_WRONG,
} lg_attribution;

const char *lg_verdict_name(lg_verdict verdict);
const char *lg_verdict_help(lg_verdict verdict);
const char *const *lg_verdict_names(size_t *n); // with "untested" first
const char *lg_attribution_name(lg_attribution attribution);
const char *const *lg_attribution_names(size_t *n); // in the order of the enum

#endif
