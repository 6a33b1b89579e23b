// SPDX-License-Identifier: Apache-2.0
// The fault records of a `report` kernel against the rows that are really invalid.
#ifndef LG_PIPELINE_JUDGE_RECORDS_H
#define LG_PIPELINE_JUDGE_RECORDS_H

#include "model/batch.h"
#include "model/loss.h"
#include "model/observation.h"
#include "support/arena.h"

typedef enum lg_records_verdict {
    LG_RECORDS_EXACT,     // exactly the invalid rows with their values (up to those dropped)
    LG_RECORDS_ABSENT,    // none at all
    LG_RECORDS_MISSING,   // an invalid row has no record though none was dropped
    LG_RECORDS_VALID_ROW, // a record accuses a valid row
    LG_RECORDS_WRONG,     // a record has another value or other bounds than the row
} lg_records_verdict;

// `*why` gets one line for everything but EXACT; it lives in `arena`. A row may be recorded several
// times: forward and backward, or one launch a block size.
lg_records_verdict lg_records_check(const lg_batch *batch, const lg_reference *reference,
                                    const lg_observation *observation, lg_arena *arena,
                                    const char **why);

#endif
