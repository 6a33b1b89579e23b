// SPDX-License-Identifier: Apache-2.0
// The parts of judging a run, for run.c and relations.c.
#ifndef LG_JUDGE_INTERNAL_H
#define LG_JUDGE_INTERNAL_H

#include "judge/judge.h"
#include "manifest/manifest.h"
#include "model/batch.h"
#include "reference/reference.h"
#include "result/observation.h"
#include "support/arena.h"

// --- All outputs of a run against the reference: class first (NaN, infinities, finite), then the
// bound.

enum { LG_KEPT_ROWS = 12 };

// One kind of deviation: how often, in which rows (the first few, distinct), and an example.
typedef struct lg_deviation {
    int64_t n;
    int64_t n_rows; // of `rows`; 0 when the output has no rows (mean, sum)
    int64_t rows[LG_KEPT_ROWS];
    lg_arg_id output; // of the example
    int64_t index;
    double got, want, bound;
} lg_deviation;

typedef struct lg_comparison {
    int64_t n_compared;
    double max_share;       // largest |got-want| / bound; NaN: nothing compared
    lg_arg_id missing;      // an output that must be there and could not be read; LG_N_ARGS: none
    lg_arg_id wrong_length; // one with another number of elements than the reference
    const lg_output *unwritten;
    const lg_output *broken_fence;
    lg_deviation lost;      // the reference is a number, the kernel gave NaN
    lg_deviation made_up;   // the reference is NaN, the kernel gave a number
    lg_deviation off;       // both are numbers and too far apart, or an infinity is wrong
    double worst_off_share; // picks the example of `off`
} lg_comparison;

// `reference` NULL (the batch was refused, a reference cannot be had): every loss element should be
// NaN. `invalid`: the total weight is then not compared, a policy promises nothing about it.
void lg_compare_outputs(const lg_batch *batch, const lg_reference *reference,
                        const lg_kernel *kernel, const lg_observation *observation, bool invalid,
                        lg_comparison *out);

// --- What a run showed, in one line for people, in `arena`.

// "`what`: output rows 3 7 … (got 0.52, right is nan)"
const char *lg_deviation_text(const lg_deviation *d, const char *what, lg_arena *arena);
// The first assert.
const char *lg_assert_text(const lg_observation *seen, lg_arena *arena);
// The bad access.
const char *lg_memory_text(const lg_observation *seen, lg_arena *arena);

// --- The fault records of a `report` kernel against the rows that are really invalid.
//
// What a record must say: the row is invalid; its code names an operand of the row that breaks its
// bounds; value and bounds are that operand's; `kernel` is the index of a launch that was given the
// ring; block and thread lie inside that launch, and are those of the stage's `recorder` where the
// manifest tells it. Each launch records an operand once, and each direction that is given the ring
// records every invalid row. A ring that overflowed has dropped records: the number of those kept
// and dropped together must still be right.

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

// --- One fault record, field by field.

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
    bool numbered;  // each of them was given its number: `kernel` must be right
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

// --- Another way to write a batch.

// Writes `batch` (valid, without faults) in the relation's other way: contiguous arrays that hold
// the same numbers, and their references. The order of permuted rows and the signs of shifts come
// from `seed`. shift_logits makes a pair of its own, whose logits differ by exactly the constant: x
// + c is rounded, and x' = (x + c) - c is exact. False when memory is out; `out` is then empty.
bool lg_related_make(const lg_batch *batch, lg_relation relation, uint64_t seed, lg_related *out);
void lg_related_free(lg_related *related);

// --- Two runs of one kernel against each other, as a metamorphic relation says they must agree.
//
// With W what a mean divides by (1 for sum and none), k how often each row of the first batch is
// among the others, and r' the row that row r of another batch was:
//
//   loss          k·W·loss = Σ over the others of W'·loss'   (a half without weight adds nothing)
//   row losses    loss[r'] = loss'[r]
//   gradients     W·g[r'][c] = W'·g'[r][c]
//   total weight  k·total_weight = Σ total_weight'
//
// Each side may be off by its own derived tolerance, so the bound is the sum of both. The reference
// gives W and the tolerances; the numbers compared are the kernel's own.

typedef struct lg_relation_side {
    const lg_batch *batch;
    const lg_reference *reference;
    const lg_observation *seen; // a run that ended well
    const int64_t *source;      // see lg_related_batch; NULL for the first batch
} lg_relation_side;

typedef struct lg_relation_gap {
    bool differs;     // false: the relation holds in everything that both sides show
    const char *text; // one line, in the arena
    lg_arg_id output; // that differs
    double relative;  // |difference| as a share of the larger number; INFINITY: one is no number
} lg_relation_gap;

// The first gap: total weight, loss, row losses, then gradients. Texts live in `arena`.
lg_relation_gap lg_relation_compare(const lg_related *related, const lg_relation_side *first,
                                    const lg_relation_side *others, lg_arena *arena);

#endif
