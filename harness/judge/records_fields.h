// SPDX-License-Identifier: Apache-2.0
// One fault record, field by field.
#ifndef LG_JUDGE_RECORDS_FIELDS_H
#define LG_JUDGE_RECORDS_FIELDS_H

#include "device/internal.h"
#include "judge/records.h"

// What the records of one run are held against.
typedef struct lg_record_check {
    const lg_batch *batch;
    const lg_reference *reference;
    const lg_kernel *kernel;
    const lg_observation *seen;
    lg_arena *arena;
    lg_size_values sizes;
    int n_launches; // that were given the ring
    int directions; // of those launches, lg_direction bits
    bool numbered;  // each of them was told its number: `kernel` must be right
} lg_record_check;

void lg_record_check_begin(lg_record_check *c, const lg_batch *batch, const lg_reference *reference,
                           const lg_kernel *kernel, const lg_observation *seen, lg_arena *arena);

// The stage whose launch the record names; NULL when it names none that was given the ring.
const lg_stage *lg_record_stage(const lg_record_check *c, const lg_fault_record *record);

// The first field that is not what it must be, in the check's arena, or NULL. The record's row is
// an invalid one.
const char *lg_record_wrong_field(const lg_record_check *c, const lg_fault_record *record);

// How many operands of the invalid rows break their bounds: what one launch can record at most.
int64_t lg_record_operands(const lg_record_check *c);

#endif
