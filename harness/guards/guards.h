// SPDX-License-Identifier: Apache-2.0
// How well the protections work that people are advised to put in front of a loss (guards.def).
//
// Each is applied to batches with known faults and to the same batches without them. What the loss
// would have been afterwards is decided by the double-precision reference: of the clean batch (what
// is right) and of the batch that the guard let through or changed.
//
// What the guards do, where a guide leaves room:
//   labels_in_range, range_checking_wrapper, device_assert leave out labels that are ignore_index;
//     the first says the least and the largest label, the second every row, the third a thread:
//     that is a row while the batch fits one block of 32 threads;
//   n_distinct_equals_C, width_equals_max_plus_1 leave them out too, and say that the head is too
//     narrow when the labels reach beyond it;
//   dtype_is_int64 looks at what is passed to the loss, not at how it came about;
//   sampled_range_rows draws n/10 rows (at least one) with replacement; sampled_range_batches looks
//     at a batch with a chance of 0.1. Draws are addressed: (seed, stream, number of the batch);
//   clamp_into_range and subtract_one change every label, ignored ones too, as the one-line form
//     does; the new labels are stored in the type they came in;
//   label_smoothing applies where the loss has it (cross_entropy);
//   assert_compiled_out never says anything.
#ifndef LG_GUARDS_GUARDS_H
#define LG_GUARDS_GUARDS_H

#include "model/batch.h"
#include "scenario/scenario.h"
#include "support/error.h"

#include <stdbool.h>
#include <stdint.h>

typedef enum lg_guard {
#define LG_GUARD(id, name, help) LG_GUARD_##id,
#include "guards/guards.def"
#undef LG_GUARD
    LG_N_GUARDS
} lg_guard;

const char *lg_guard_name(lg_guard guard);
const char *lg_guard_help(lg_guard guard);

// --- one guard on one batch

// The labels as a check before the loss sees them: as they are passed, widened.
typedef struct lg_guard_view {
    int64_t n;
    const int64_t *labels;
    int64_t head_width;
    int64_t ignore_index;
    lg_dtype dtype;        // of what is passed
    uint64_t seed, number; // of the sampling guards: the batch's number in the run
} lg_guard_view;

typedef struct lg_guard_report {
    bool signalled;
    lg_cause cause;  // that its message names, or NONE
    bool names_rows; // the first n_rows of the caller's `rows`
    int64_t n_rows;
} lg_guard_report;

// `rows` has room for view->n; NULL: the rows are not wanted. A guard that only changes labels
// never signals.
lg_guard_report lg_guard_check(lg_guard guard, const lg_guard_view *view, int64_t *rows);
// Whether the guard changes labels; then `out` has the view's n new ones.
bool lg_guard_change(lg_guard guard, const lg_guard_view *view, int64_t *out);

// --- all guards over scenarios

typedef struct lg_guard_tally { // of batches with a fault
    int64_t n;
    int64_t detected;    // it signalled
    int64_t rows_exact;  // and named exactly the rows that the loss cannot take
    int64_t cause_right; // and named the injected cause
    int64_t cause_wrong; // and named another one
    // It did not signal:
    int64_t right;  // the loss is that of the clean batch: repaired, or the fault did no harm
    int64_t silent; // every row is valid, and the loss is a number, but not the right one
    int64_t left;   // rows that the loss cannot take are left to the call or the kernel
} lg_guard_tally;

typedef struct lg_guard_clean { // of batches without a fault
    int64_t n;
    int64_t false_alarms;
    int64_t silent; // the loss became another number
    int64_t broken; // rows became such that the loss cannot take them, or the loss NaN or infinite
} lg_guard_clean;

typedef struct lg_guard_score {
    lg_guard_tally by_cause[LG_N_CAUSES]; // of the first injected fault
    lg_guard_clean clean;
    double ns_per_label; // NaN: the guard makes no pass over the labels on the host
} lg_guard_score;

typedef struct lg_guard_study {
    uint64_t seed; // of the sampling guards; set by the caller before the first batch
    int64_t n_faulty, n_clean;
    // Points without class labels, whose fault did not fire, or whose values list the fault.
    int64_t n_inapplicable;
    double read_ns_per_label;
    lg_guard_score guards[LG_N_GUARDS];
} lg_guard_study;

// Of the faults that show in the labels, which a check of labels can be asked to find.
lg_guard_tally lg_guard_sum(const lg_guard_score *score, bool label_faults); // or the other faults

// Applies every guard to a point: with its faults (when it has any) and without. false with errors
// in `diags` when the batch cannot be made.
bool lg_guard_study_add(lg_guard_study *study, const lg_scenario *point, lg_diags *diags);
// Measures what each guard costs a label, on 2^20 labels of 1000 classes, in processor time; the
// least of several passes, beside a pass that only reads the labels.
void lg_guard_study_measure(lg_guard_study *study);

#endif
