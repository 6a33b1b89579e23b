// SPDX-License-Identifier: Apache-2.0
#include "judge/internal.h"

#include "support/alloc.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

// The row's place among the invalid ones, or -1.
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

static int compare_records(const void *left, const void *right) {
    const lg_fault_record *a = left;
    const lg_fault_record *b = right;
    if (a->row != b->row) {
        return a->row < b->row ? -1 : 1;
    }
    if (a->code != b->code) {
        return a->code < b->code ? -1 : 1;
    }
    return a->kernel < b->kernel ? -1 : a->kernel > b->kernel;
}

// The same operand recorded more than once by a launch (by all that could have written it, where
// records do not know their launch).
static const char *find_duplicate(const lg_record_check *c) {
    int64_t n = c->seen->n_records;
    lg_fault_record *sorted = lg_xmalloc((size_t)n * sizeof *sorted);
    memcpy(sorted, c->seen->records, (size_t)n * sizeof *sorted);
    qsort(sorted, (size_t)n, sizeof *sorted, compare_records);
    int allowed = c->numbered ? 1 : c->n_launches;
    const char *why = NULL;
    int same = 1;
    for (int64_t i = 1; i < n && !why; i++) {
        const lg_fault_record *a = &sorted[i - 1];
        const lg_fault_record *b = &sorted[i];
        bool again =
            a->row == b->row && a->code == b->code && (!c->numbered || a->kernel == b->kernel);
        same = again ? same + 1 : 1;
        if (same > allowed) {
            why = lg_arena_printf(c->arena,
                                  "launch %" PRIu32 " wrote %d fault records of row %" PRId64
                                  " with code %" PRIu32 ", one is right",
                                  b->kernel, same, b->row, b->code);
        }
    }
    free(sorted);
    return why;
}

// Marks the rows that records of one direction (0: any) name.
static int64_t mark_rows(const lg_record_check *c, lg_direction direction, char *marks) {
    int64_t n_marked = 0;
    memset(marks, 0, (size_t)c->reference->n_invalid);
    for (int64_t i = 0; i < c->seen->n_records; i++) {
        const lg_fault_record *record = &c->seen->records[i];
        const lg_stage *stage = lg_record_stage(c, record);
        if (direction && (!stage || stage->direction != direction)) {
            continue;
        }
        int64_t at = find_row(c->reference, record->row);
        n_marked += !marks[at];
        marks[at] = 1;
    }
    return n_marked;
}

// An invalid row that nobody recorded, or that one direction did not.
static lg_records_verdict find_missing(const lg_record_check *c, const char **why) {
    char *marks = lg_xmalloc((size_t)c->reference->n_invalid + 1);
    lg_records_verdict verdict = LG_RECORDS_EXACT;
    for (int d = 0; d <= LG_BACKWARD && verdict == LG_RECORDS_EXACT; d++) {
        bool asked = d == 0 || (c->numbered && (c->directions & d));
        int64_t n = asked ? mark_rows(c, (lg_direction)d, marks) : c->reference->n_invalid;
        if (n == c->reference->n_invalid) {
            continue;
        }
        const char *first = memchr(marks, 0, (size_t)c->reference->n_invalid);
        // Rows that the backward launch alone recorded came too late for whoever read the loss.
        verdict = d == LG_BACKWARD ? LG_RECORDS_WRONG : LG_RECORDS_MISSING;
        *why = lg_arena_printf(c->arena,
                               "%" PRId64 " of %" PRId64
                               " invalid rows have no fault record%s, the first is row %" PRId64,
                               c->reference->n_invalid - n, c->reference->n_invalid,
                               d == LG_FORWARD    ? " of a forward launch"
                               : d == LG_BACKWARD ? " of a backward launch"
                                                  : "",
                               c->reference->invalid_rows[first - marks]);
    }
    free(marks);
    return verdict;
}

// What overflowed cannot be looked at one by one, but it can be counted.
static const char *check_count(const lg_record_check *c) {
    int64_t total = c->seen->n_records + c->seen->n_records_dropped;
    int64_t n_directions =
        (c->directions & LG_FORWARD ? 1 : 0) + (c->directions & LG_BACKWARD ? 1 : 0);
    int64_t least = c->reference->n_invalid * n_directions;
    int64_t most = lg_record_operands(c) * c->n_launches;
    if (total >= least && total <= most) {
        return NULL;
    }
    return lg_arena_printf(c->arena,
                           "%" PRId64 " fault records were written (%" PRId64
                           " of them dropped), %s%" PRId64 " are right",
                           total, c->seen->n_records_dropped,
                           least == most   ? ""
                           : total < least ? "at least "
                                           : "at most ",
                           total < least ? least : most);
}

lg_records_verdict lg_records_check(const lg_batch *batch, const lg_reference *reference,
                                    const lg_kernel *kernel, const lg_observation *observation,
                                    lg_arena *arena, const char **why) {
    *why = NULL;
    if (observation->n_records == 0) {
        *why = observation->n_records_dropped > 0
                   ? lg_arena_printf(arena, "all %" PRId64 " fault records were dropped",
                                     observation->n_records_dropped)
                   : "no fault record was written";
        return LG_RECORDS_ABSENT;
    }
    lg_record_check c;
    lg_record_check_begin(&c, batch, reference, kernel, observation, arena);
    for (int64_t i = 0; i < observation->n_records; i++) {
        const lg_fault_record *record = &observation->records[i];
        if (record->row < 0 || record->row >= reference->n_rows) {
            *why = lg_arena_printf(arena,
                                   "a fault record names row %" PRId64 ", the batch has %" PRId64,
                                   record->row, reference->n_rows);
            return LG_RECORDS_WRONG;
        }
        if (find_row(reference, record->row) < 0) {
            *why = lg_arena_printf(
                arena, "a fault record accuses row %" PRId64 " (value %s), which is valid",
                record->row, lg_record_value_text(batch, record, arena));
            return LG_RECORDS_VALID_ROW;
        }
        *why = lg_record_wrong_field(&c, record);
        if (*why) {
            return LG_RECORDS_WRONG;
        }
    }
    *why = find_duplicate(&c);
    if (*why) {
        return LG_RECORDS_WRONG;
    }
    if (observation->n_records_dropped == 0) {
        lg_records_verdict missing = find_missing(&c, why);
        if (missing != LG_RECORDS_EXACT) {
            return missing;
        }
    }
    *why = check_count(&c);
    return *why ? LG_RECORDS_WRONG : LG_RECORDS_EXACT;
}
