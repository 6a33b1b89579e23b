// SPDX-License-Identifier: Apache-2.0
// What a case must show: the scenario's `expect`, or what its faults and the kernel's policy imply.
//
// Defaults: no fault → pass and no diagnosis. A fault on a guarded kernel → detected, the diagnosis
// exact or ambiguous. On an unchecked kernel → silent_corruption, memory_fault, or NaN by the
// arithmetic alone. A batch without a supervised row is valid (its mean is NaN): pass, with the
// warning.
#ifndef LG_SESSION_EXPECT_H
#define LG_SESSION_EXPECT_H

#include "result/case.h"

// Sets `as_expected` and `expectation` of a result whose verdict, attribution and finding stand.
// The text lives in `arena`.
void lg_expect_check(lg_case_result *result, lg_arena *arena);

#endif
