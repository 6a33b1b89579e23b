// SPDX-License-Identifier: Apache-2.0
// A kernel that writes where it may only read.
#include "attribute/kernel/internal.h"

lg_cause lg_suspect_overwritten(const lg_suspicion *s, const char **why) {
    if (!s->seen->input_written) {
        return LG_CAUSE_NONE;
    }
    *why = lg_arena_strdup(s->arena, s->seen->input_written);
    return LG_CAUSE_INPUT_OVERWRITTEN;
}
