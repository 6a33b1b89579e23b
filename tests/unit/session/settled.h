// SPDX-License-Identifier: Apache-2.0
// The reasons of cases that get their verdict without a run. The judge can give every other one.
#ifndef LG_TESTS_SESSION_SETTLED_H
#define LG_TESTS_SESSION_SETTLED_H

#include "result/judgement.h"

static const lg_reason settled_reasons[] = {LG_REASON_NO_BATCH, LG_REASON_NOT_FIRED,
                                            LG_REASON_COLUMN_FAILED, LG_REASON_UNSUITABLE,
                                            LG_REASON_EARLIER_BATCH};

static inline bool is_settled_reason(lg_reason reason) {
    for (size_t i = 0; i < sizeof settled_reasons / sizeof *settled_reasons; i++) {
        if (settled_reasons[i] == reason) {
            return true;
        }
    }
    return false;
}

#endif
