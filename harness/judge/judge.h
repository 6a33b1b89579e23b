// SPDX-License-Identifier: Apache-2.0
// From what was observed to a verdict. A pass is proved: every number compared, every output
// written, every fence whole, every invariant and relation kept.
//
//   judge.c        the verdict on a case
//   run.c, text.c  the verdict on a run, and its reason in words
//   compare.c      all outputs of a run against the reference
//   tolerance.c    how far a right number may be from the reference
//   invariants.c   what every gradient and row loss must keep
//   records*.c     the fault records of a `report` kernel
//   relations*.c   the same batch written in another way
#ifndef LG_JUDGE_JUDGE_H
#define LG_JUDGE_JUDGE_H

#include "batch/batch.h"
#include "device/device.h"
#include "manifest/manifest.h"
#include "model/batch.h"
#include "reference/reference.h"
#include "result/case.h"
#include "result/observation.h"
#include "scenario/scenario.h"
#include "support/arena.h"

// One run of a kernel: the batch as the kernel is given it, what is right for it, what was seen.
typedef struct lg_run_facts {
    const lg_batch *batch;
    const lg_reference *reference; // NULL: refused, there is none
    const lg_refusal *refusal;     // NULL: accepted
    const lg_kernel *kernel;
    const lg_observation *observation;
} lg_run_facts;

// What a run by itself shows: how it ended, what it signalled, each number against the reference.
// Strings live in `arena`.
lg_judgement lg_judge_run(const lg_run_facts *run, lg_arena *arena);

// The first metamorphic relation of a case that does not hold, and the run to look at.
typedef struct lg_relation_fact {
    bool broken;
    lg_relation relation;
    double relative_gap; // of the two results; INFINITY: the run fails by itself
    lg_run_facts run;
    lg_observation observation; // of `run`, where it is not the case's own
    lg_judgement judgement;     // what the case is when nothing else is wrong with it
} lg_relation_fact;

// Why a right loss of a batch means nothing, whatever the kernel: probabilities where their
// logarithms are expected, target probabilities that do not add up to 1, a softmax over one class.
// No kernel can signal that.
typedef struct lg_senseless {
    lg_cause cause;   // LG_CAUSE_NONE: the loss means something
    const char *text; // one line
} lg_senseless;

// All that was observed of a case.
typedef struct lg_case_facts {
    lg_run_facts run;
    lg_judgement run_shows;       // lg_judge_run of it
    const lg_batch *given;        // the batch with its labels as they are intended
    const lg_reference *intended; // of `given`; NULL: the kernel was given the labels intended
    lg_senseless senseless;
    lg_relation_fact relation;
} lg_case_facts;

// The verdict on a case, once. Strings live in `arena`.
lg_judgement lg_judge(const lg_case_facts *facts, lg_arena *arena);

// --- The metamorphic relations of a scenario (run.relations), checked inside the cases of the mode
// `blocking`: the kernel runs once more on the batch written in another way, and its two results
// must agree.

// A batch made of rows of another one, with its reference.
typedef struct lg_related_batch {
    lg_batch batch;
    lg_reference reference;
    int64_t *source; // [rows] the row of the first batch that each row was; NULL: the same one
} lg_related_batch;

// What a relation compares: the first batch, and what it is written as.
typedef struct lg_related {
    lg_relation relation;
    double copies;  // how often each row of the first is among the others
    bool has_first; // `first` stands in the place of the case's own batch
    lg_related_batch first;
    int n_others; // 2 for the halves of a split
    lg_related_batch others[2];
} lg_related;

// The other batches of a point; const once made, shared by its cases.
typedef struct lg_relations {
    int n;
    lg_related items[LG_N_RELATIONS];
} lg_relations;

// Makes what the scenario asks for; nothing for a scenario without relations. False when memory is
// out.
bool lg_relations_make(const lg_scenario *scenario, const lg_batch *batch, lg_relations *out);
void lg_relations_free(lg_relations *relations);

// Why the kernel cannot take one of the other batches, or NULL; as lg_device_unsuitable. Labels
// without a type in the scenario are passed as those of the case are (lg_fit_labels).
const char *lg_relations_unsuitable(const lg_relations *relations, const lg_scenario *scenario,
                                    const lg_kernel *kernel, lg_arena *arena);

// Runs the kernel of a case on the other batches, one relation after the other until one does not
// hold, which `facts->relation` gets (free with lg_relation_fact_free). A relation that lossgate
// could not run (errors in diags) counts as broken with the verdict `untested`.
void lg_relations_observe(lg_device_session *device, const lg_relations *relations,
                          const lg_case *what, lg_case_facts *facts, lg_arena *arena,
                          lg_diags *diags);
void lg_relation_fact_free(lg_relation_fact *fact);

// --- How far a right kernel may be from the double-precision reference, derived from dtype, number
// of terms and order of summation; the derivation stands beside the table in tolerance.c.

typedef enum lg_quantity { LG_Q_LOSS, LG_Q_ROW_LOSS, LG_Q_TOTAL_WEIGHT, LG_Q_GRADIENT } lg_quantity;

// The bound |got - want| must not exceed, for element `index` of the quantity with reference value
// `want` (finite). Always > 0 and finite unless the quantity must be exact (then 0): a gradient
// that is zero by definition, the loss of an ignored row, a total weight that is a count. `index`:
// the row of a row loss; the flat, row-major index into the input's shape of a gradient. The total
// weight is expected in the accumulator's type, float for a half: one kept in a half is too narrow.
// LG_Q_LOSS takes time proportional to the rows, the others constant time.
double lg_tolerance(const lg_batch *batch, const lg_reference *reference, lg_quantity quantity,
                    int64_t index, double want);

// The bound the sum of the gradient over the classes of `row` must stay within; 0 is what it is
// without rounding. cross_entropy only, rows whose gradient is finite.
double lg_tolerance_row_sum(const lg_batch *batch, const lg_reference *reference, int64_t row);

// Class first (NaN, +inf, -inf, finite), then |got-want| <= bound. A finite `want` whose rounding
// to the output dtype overflows, with the bound added, accepts that infinity. Returns the error as
// a share of the bound: <= 1 passes; INFINITY when the classes differ, or when the bound is 0 and
// not met.
double lg_compare(double got, double want, double bound, lg_dtype out_dtype);

// --- What every gradient and row loss must keep, whatever its numbers are: checked on every run of
// a valid batch, with the formula's own structure in the place of a reference.
//
// clang-format off
//   - an ignored row contributes exactly nothing: its loss (reduction none) and every element of
//     its gradient are 0;
//   - nll_loss reads one element a row: only the label's element of the gradient may differ from 0,
//     and does where the row's weight and upstream gradient do;
//   - the gradient of a row of cross_entropy adds up to 0: its loss does not change when a constant
//     is added to the logits. It is coefficient·(softmax - target), so that this is the same as:
//     the softmax in it adds up to 1.
// clang-format on
// Rows whose gradient is not finite by the formula are left out.

typedef struct lg_broken_invariant {
    lg_arg_id output;
    const char *text; // one line, in the arena
} lg_broken_invariant;

// True when one is broken; `out` has the first. The batch must be valid. An output that was not
// observed, or whose length is not the batch's, breaks nothing here: that is the judge's.
bool lg_invariants_check(const lg_batch *batch, const lg_reference *reference,
                         const lg_observation *observation, lg_arena *arena,
                         lg_broken_invariant *out);

#endif
