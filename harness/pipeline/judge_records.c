// SPDX-License-Identifier: Apache-2.0
#include "pipeline/judge_records.h"

#include "support/alloc.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static int64_t find_row(const lg_reference *reference, int64_t row) {
    int64_t low = 0;
    int64_t high = reference->n_invalid;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (reference->invalid_rows[middle] < row) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < reference->n_invalid && reference->invalid_rows[low] == row ? low : -1;
}

static int64_t bits_of(double value) {
    int64_t bits;
    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

// The value a record of this row has to show: the label, or the float64 bits of a BCE operand.
static bool record_is_right(const lg_batch *batch, const lg_fault_record *record) {
    switch ((lg_record_code)record->code) {
    case LG_RECORD_LABEL:
        return record->value == lg_tensor_get_i64(lg_batch_device_target(batch), record->row) &&
               record->lower == 0 && record->upper == lg_batch_head_width(batch);
    case LG_RECORD_INPUT:
        return record->value == bits_of(lg_tensor_get_f64(&batch->input, record->row)) &&
               record->lower == 0 && record->upper == 1;
    case LG_RECORD_TARGET:
        return record->value ==
                   bits_of(lg_tensor_get_f64(lg_batch_device_target(batch), record->row)) &&
               record->lower == 0 && record->upper == 1;
    }
    return false;
}

lg_records_verdict lg_records_check(const lg_batch *batch, const lg_reference *reference,
                                    const lg_observation *observation, lg_arena *arena,
                                    const char **why) {
    *why = NULL;
    if (observation->n_records == 0) {
        *why = observation->n_records_dropped > 0
                   ? lg_arena_printf(arena, "all %" PRId64 " fault records were dropped",
                                     observation->n_records_dropped)
                   : "no fault record was written";
        return LG_RECORDS_ABSENT;
    }
    char *seen = lg_xcalloc((size_t)reference->n_invalid + 1, 1);
    int64_t n_seen = 0;
    lg_records_verdict verdict = LG_RECORDS_EXACT;
    for (int64_t i = 0; i < observation->n_records && verdict == LG_RECORDS_EXACT; i++) {
        const lg_fault_record *record = &observation->records[i];
        int64_t at = find_row(reference, record->row);
        if (at < 0) {
            *why = lg_arena_printf(
                arena, "a fault record accuses row %" PRId64 " (value %" PRId64 "), which is valid",
                record->row, record->value);
            verdict = LG_RECORDS_VALID_ROW;
        } else if (!record_is_right(batch, record)) {
            *why = lg_arena_printf(arena,
                                   "the fault record of row %" PRId64 " says value %" PRId64
                                   ", bounds %" PRId64 " <= value < %" PRId64
                                   ", which is not what the row holds",
                                   record->row, record->value, record->lower, record->upper);
            verdict = LG_RECORDS_WRONG;
        } else {
            n_seen += !seen[at];
            seen[at] = 1;
        }
    }
    if (verdict == LG_RECORDS_EXACT && n_seen < reference->n_invalid &&
        observation->n_records_dropped == 0) {
        int64_t first = 0;
        while (seen[first]) {
            first++;
        }
        *why = lg_arena_printf(arena,
                               "%" PRId64 " of %" PRId64
                               " invalid rows have no fault record, the first is row %" PRId64,
                               reference->n_invalid - n_seen, reference->n_invalid,
                               reference->invalid_rows[first]);
        verdict = LG_RECORDS_MISSING;
    }
    free(seen);
    return verdict;
}
