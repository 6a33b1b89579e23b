// SPDX-License-Identifier: Apache-2.0
// What the tests of a broken kernel share: what was observed of it, on which batch.
#ifndef LG_ATTRIBUTE_KERNEL_INTERNAL_H
#define LG_ATTRIBUTE_KERNEL_INTERNAL_H

#include "attribute/kernel/kernel.h"
#include "judge/judge.h"

typedef struct lg_suspicion {
    const lg_kernel_run *run;
    const lg_kernel *kernel;
    int64_t n_rows;
    bool targets_fit; // class indices, one a row
    const lg_batch *batch;
    const lg_reference *reference;
    const lg_observation *seen;
    lg_arena *arena;
    const lg_output *loss;
    const lg_output *gradient;
    const lg_output *total_weight;
    double slack; // relative: what rounding alone may do to a loss of this dtype
} lg_suspicion;

// What is wrong with the numbers, whatever made them.
typedef struct lg_pattern {
    double loss_off;     // largest relative deviation
    double gradient_off; // of an element, relative to the largest of its row
    bool gradient_alone; // the loss is right, or was not asked for
    bool rows_scale;     // lg_gradient_rows_scale
    bool rounding;       // all of it is as small as rounding can make it
} lg_pattern;

bool lg_is_near(const lg_suspicion *s, double got, double want);
int64_t lg_label_of(const lg_suspicion *s, int64_t row); // as passed to the device
// The row counts: its target is a probability, or a label that is not ignored.
bool lg_row_is_supervised(const lg_suspicion *s, int64_t row);
bool lg_is_strided(const lg_batch *batch);
// Offsets into the input do not fit 16 bits with a sign, the narrowest anybody uses.
bool lg_overflows_narrow_offsets(const lg_batch *batch);

// offsets.c: a view of the batch has offsets beyond 32 bits. Guesses of what a bad access
// to it was, by its address; 0: nothing fits. The batch as a kernel reads it that cuts offsets to
// 32 bits and stays among the elements: false where none does (see reading in
// counterfactual.c).
bool lg_reaches_beyond_32_bits(const lg_batch *batch);
int lg_guess_cut_offset(const lg_suspicion *s, lg_guess *out);
bool lg_read_input_in_32_bits(lg_batch *batch);
bool lg_read_target_in_32_bits(lg_batch *batch);

// alarm.c: whether anything was signalled; on a valid batch, which of its values the
// guard refuses: at most LG_MAX_GUESSES, 0 when no value that stands where a signal came from is
// special.
bool lg_is_alarm(const lg_suspicion *s);
int lg_guess_alarm(const lg_suspicion *s, lg_guess *out);

// numbers.c: the kind of broken kernel that would have returned the numbers seen, by
// recomputing them. `*n_telling`: how many numbers say so. NONE: no kind would.
lg_cause lg_suspect_numbers(const lg_suspicion *s, const lg_pattern *pattern, int64_t *n_telling,
                            const char **why);
// A NaN or infinity where a number is right, or a number where NaN is right, carries nothing of the
// number that was meant: no kind of broken kernel can be told by it.
bool lg_loss_is_of_another_class(const lg_suspicion *s);

// formula_binary.c, formula_softmax.c: another formula than the contract's that
// gives the numbers returned, and breaks at the ends of its range. `*n_telling` as above.
lg_cause lg_suspect_binary_formula(const lg_suspicion *s, int64_t *n_telling, const char **why);
lg_cause lg_suspect_softmax_formula(const lg_suspicion *s, int64_t *n_telling, const char **why);

// counterfactual.c: a wrong reading of the call under which all numbers are right.
lg_cause lg_suspect_reading(const lg_suspicion *s, int64_t *n_telling, const char **why);

// pattern.c: the pattern, and a guess for each kind that the batch gives room for. At
// most LG_MAX_GUESSES. `*unlikely`: none of them would leave such a pattern.
lg_pattern lg_pattern_of(const lg_suspicion *s);
int lg_guess_by_pattern(const lg_suspicion *s, const lg_pattern *pattern, lg_guess *out,
                        bool *unlikely);

// softmax.c: what a broken softmax or smoothing would have returned; sums.c:
// what a broken sum or mean would have. NONE: no such number was seen.
lg_cause lg_suspect_softmax(const lg_suspicion *s, const char **why);
lg_cause lg_suspect_left_out_warp(const lg_suspicion *s, const char **why);
lg_cause lg_suspect_count(const lg_suspicion *s, const char **why); // by the total weight itself
lg_cause lg_suspect_normalisation(const lg_suspicion *s, const char **why);
lg_cause lg_suspect_narrow_sum(const lg_suspicion *s, const char **why);
lg_cause lg_suspect_missing_rows(const lg_suspicion *s, const char **why);

// gradient.c: a gradient whose softmax has lanes beyond the classes.
lg_cause lg_suspect_padded_gradient(const lg_suspicion *s, const char **why);
// Whether each row of the gradient is a multiple of the right one, which is what a wrong divisor
// leaves of it. True also where there is none.
bool lg_gradient_rows_scale(const lg_suspicion *s);

// inputs.c: an input that is no longer what was uploaded.
lg_cause lg_suspect_overwritten(const lg_suspicion *s, const char **why);

#endif
