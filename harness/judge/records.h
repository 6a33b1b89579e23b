// SPDX-License-Identifier: Apache-2.0
// The fault records of a `report` kernel against the rows that are really invalid.
//
// What a record must say: the row is invalid; its code names an operand of the row that breaks its
// bounds; value and bounds are that operand's; `kernel` is the index of a launch that was given the
// ring; block and thread lie inside that launch, and are those of the stage's `recorder` where the
// manifest tells it. Each launch records an operand once, and each direction that is given the ring
// records every invalid row. A ring that overflowed has dropped records: the number of those kept
// and dropped together must still be right.
#ifndef LG_JUDGE_RECORDS_H
#define LG_JUDGE_RECORDS_H

#include "model/batch.h"
#include "manifest/manifest.h"
#include "reference/reference.h"
#include "result/observation.h"
#include "support/arena.h"

typedef enum lg_records_verdict {
    LG_RECORDS_EXACT,     // exactly the invalid rows, every field right (up to those dropped)
    LG_RECORDS_ABSENT,    // none at all
    LG_RECORDS_MISSING,   // an invalid row has no record though none was dropped
    LG_RECORDS_VALID_ROW, // a record accuses a valid row
    LG_RECORDS_WRONG,     // a field of a record is wrong, or there are too few or too many
} lg_records_verdict;

// `*why` gets one line for everything but EXACT: which field of which record, what it should be and
// what it is. It lives in `arena`.
lg_records_verdict lg_records_check(const lg_batch *batch, const lg_reference *reference,
                                    const lg_kernel *kernel, const lg_observation *observation,
                                    lg_arena *arena, const char **why);

// The value of a record as the loss knows it: an integer label, or the number behind the bits of a
// binary loss's operand.
const char *lg_record_value_text(const lg_batch *batch, const lg_fault_record *record,
                                 lg_arena *arena);

#endif
