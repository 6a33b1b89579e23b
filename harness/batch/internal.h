// SPDX-License-Identifier: Apache-2.0
// One array of a scenario: listed, read from a file, or drawn from (seed, stream, index).
#ifndef LG_BATCH_INTERNAL_H
#define LG_BATCH_INTERNAL_H

#include "batch/batch.h"
#include "model/batch.h"
#include "model/rng.h"
#include "scenario/scenario.h"
#include "support/error.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct lg_array_shape {
    int rank;
    int64_t size[LG_MAX_RANK];
} lg_array_shape;

// Listed values or an .npy file. `place` ("batch.logits") begins the error texts; `dtype` is used
// where the spec names none (LG_DTYPE_NONE: the file's own, int64 or float32 for a list).
bool lg_array_load(const lg_array_spec *spec, lg_loc loc, const char *place, lg_dtype dtype,
                   lg_tensor *out, lg_diags *diags);

// An undefined array of that shape with the spec's strides (contiguous when it has none).
bool lg_array_allocate(const lg_array_spec *spec, lg_loc loc, const char *place, lg_dtype dtype,
                       const lg_array_shape *shape, lg_tensor *out, lg_diags *diags);

// One value of the spec's distribution, at its address.
double lg_array_draw(const lg_array_spec *spec, uint64_t seed, lg_stream stream, int64_t index);

// Load, or allocate and draw every element; an absent spec leaves `out` absent.
bool lg_array_make(const lg_array_spec *spec, lg_loc loc, const char *place, lg_dtype dtype,
                   const lg_array_shape *shape, uint64_t seed, lg_stream stream, lg_tensor *out,
                   lg_diags *diags);

// Draws a whole input: log-probabilities for nll_loss (log-softmax over the class axis, in double,
// before rounding), probabilities in (0, 1) for binary_cross_entropy, plain values otherwise.
// `class_axis` < 0: none.
bool lg_array_draw_input(const lg_array_spec *spec, lg_loss_kind kind, int class_axis,
                         uint64_t seed, lg_tensor *out);

// Draws class probabilities over axis `class_axis`: positive, summing to 1 before rounding.
bool lg_array_draw_simplex(const lg_array_spec *spec, int class_axis, uint64_t seed,
                           lg_tensor *out);

// --- What the parts of generating one batch share.

typedef struct lg_generation {
    const lg_scenario *scenario;
    const lg_batch_spec *spec;
    bool with_faults;
    bool input_values; // false: the input keeps its shape only
    lg_loc loc;
    lg_batch *batch;
    lg_diags *diags;
    int64_t n_rows;
    lg_array_shape rows; // shape of one value a row: N, d1, … (empty for an unbatched input)
    int class_axis;      // of the input; -1: none
} lg_generation;

// Makes the target of a batch whose input is there, and injects the faults of labels and targets.
// Errors are in the generation's diags.
bool lg_generate_target(lg_generation *g);

// --- Faults put into a clean batch, each leaving behind the exact rows it spoiled: the ground
// truth.
//
// The parameters of each kind of data fault (keys of one entry of `faults:`). Any kind may list
// only these; [..] is the default (of `where`:
// the first form named; fault_form.def says what each is). `rows | count | fraction` exclude each
// other: exact rows, a number of rows, or a share of the supervised rows (at least one row); the
// rows are drawn from LG_STREAM_FAULT among the rows that are neither ignored nor already spoiled.
//
//   kind                 parameter    meaning
//   -------------------  -----------  ------------------------------------------------------------
//   wrong_head_width     head_width   columns of the input [max(1, classes - 1)]; 1..classes-1. One
//                                     drawn row gets class classes - 1 if no label is beyond C
//   one_based_labels     -            every supervised label + 1; one drawn row gets class C - 1
//   first if
//                                     none has it. Given labels are shifted as they are
//   over_shifted_labels  -            every supervised label - 1; the same with class 0
//   label_equals_width   rows | count [1] | fraction   rows that get the label C
//   negative_labels      rows | count [1] | fraction   rows that get a negative label
//                        values       the labels written, cycled [-1, or -2 when -1 is ignored]
//   sentinel_mismatch    rows | count | fraction [0.2] rows that get the sentinel
//                        values       one value outside [0, C) that is not ignore_index
//                                     [the first of -1, 255, -100 that is neither]
//   float_targets        form         refused | bits | truncated [refused]
//                        dtype        of the float labels: float32 | float64 [float32]
//                        rows | count [1] | fraction   truncated, refused: rows that get a fraction
//                        number       the fraction added there, in (0, 1) [truncated: 0.5;
//                                     refused: none, every label stays whole]
//   target_dtype         where        refused | int32_as_int64 | int32_wrap | uint8_wrap |
//   sign_bytes
//                        dtype        refused: what is passed [int16]; of probabilities and
//                                     binary targets an integer type keeps the largest class, 0 or
//                                     1
//                        rows | count [1] | fraction   int32_wrap: rows whose label is wide
//                        values       int32_wrap: the wide labels, cycled [label + 2^32]
//   corrupt_labels       rows | count [1] | fraction   rows that get a wild value
//                        values       the values, cycled [INT32_MIN, INT64_MIN and pointer-like
//                                     values, as far as the dtype holds them]
//   value_domain         where        probabilities | logits | negative | unnormalised
//                        rows | count [1] | fraction   negative, unnormalised: rows spoiled
//                        number       negative: the entry [-0.25]; unnormalised: the factor [1.5]
//   shape_layout         where        batch | spatial | rank | class_last | given | reshaped
//                        shape        given: the wrong shape of the target
//                                     (reshaped: the logits are viewed with half their classes)
//   bce_range            where        input | target
//                        rows | count [1] | fraction   elements spoiled
//                        number       the value [input: 1.5; target: 2]
//   weight_vector        number       overwrites class 0's weight: negative, .inf, .nan
//                        dtype        or: the weights get this type
//                        length       or: this many entries [C + 1]
//   nonfinite_logits     where        input | target (a target probability)
//                        rows | count [1] | fraction   rows spoiled
//                        number       the value written [.nan]
//   no_supervised_row    where        ignored | zero_weight
//
// `rows` of the injection (ground truth) are the rows the loss cannot take because of this fault:
//   labels out of [0, C) that are not ignored, as passed, for all label faults;
//   float_targets refused: rows with a fraction (none when every label is whole: the call as a
//   whole
//     is refused); truncated: rows that lost a fraction; bits: rows whose passed int64 is out
//     of range, the logically ignored ones among them;
//   target_dtype: wrong_dtype none; the others, rows whose label is read as something else and is
//   out
//     of range as passed, or was out of range before it was narrowed;
//   value_domain: rows with an entry no (log-)probability can have, or a sum that is not 1;
//   bce_range, nonfinite_logits: the rows written to; shape_layout, weight_vector and
//     no_supervised_row single out no row.

// The index labels of a batch while they are still plain numbers. Generation draws `n_drawn` of
// them (more than rows where a fault packs two labels in one), faults rewrite the first n_rows.
typedef struct lg_label_draft {
    int64_t n_rows;
    int64_t n_drawn;
    int64_t *labels;    // n_drawn
    int64_t head_width; // C
    int64_t classes;    // K
    int64_t ignore_index;
    lg_dtype dtype; // of the target as the scenario asks for it
    uint64_t seed;
    bool given; // listed or from a file: no label is changed but by the fault itself
} lg_label_draft;

// The widest head_width a scenario's faults leave: C of the input (K without wrong_head_width).
int64_t lg_inject_head_width(const lg_scenario *scenario, int64_t classes);
// How many labels a row of the passed target takes up: 2 where int64 is read over 32-bit
// labels.
int64_t lg_inject_labels_per_row(const lg_scenario *scenario);

// Rewrites the draft's labels for fault `index` of the scenario and fills injections[index].
bool lg_inject_labels(const lg_scenario *scenario, int index, lg_label_draft *draft,
                      lg_batch *batch, lg_diags *diags);
// Faults of how the labels are passed (float_targets, target_dtype): after the target exists.
bool lg_inject_target(const lg_scenario *scenario, int index, lg_label_draft *draft,
                      lg_batch *batch, lg_diags *diags);
// Faults of the input, the probabilities, the weights and the shapes.
bool lg_inject_values(const lg_scenario *scenario, int index, lg_batch *batch, lg_diags *diags);

// Of these, target_dtype: class probabilities or binary targets passed in another type.
bool lg_inject_dense_dtype(const lg_fault_spec *fault, lg_batch *batch, lg_injection *injection,
                           lg_diags *diags);

// And the ones that change a shape.
bool lg_inject_shape_layout(const lg_fault_spec *fault, lg_batch *batch, lg_injection *injection,
                            lg_diags *diags);

// The rows a fault writes to, ascending: `rows`, or `count`/`fraction` of the usable ones drawn
// from LG_STREAM_FAULT. `usable[row]` false: ignored or already spoiled; listing such a row is an
// error. *rows is malloc'ed and the caller's also on failure. `default_count` and
// `default_fraction` stand in for absent parameters (fraction 0: use the count).
bool lg_inject_choose_rows(const lg_fault_spec *fault, int index, uint64_t seed, int64_t n_rows,
                           const bool *usable, int64_t default_count, double default_fraction,
                           int64_t **rows, int64_t *n, lg_diags *diags);

// Appends a row to the ground truth; rows arrive in ascending order.
void lg_injection_add_row(lg_injection *injection, int64_t row);

// A draw in [0, n) that belongs to fault `index` alone. n > 0.
uint64_t lg_inject_draw_below(int index, uint64_t seed, lg_stream stream, int64_t at, uint64_t n);

// --- Between the files of the host checks. Not for use outside them.

typedef struct lg_check {
    const lg_batch *batch;
    lg_arena *arena;
    lg_refusal refusal;
} lg_check;

// Notes the refusal; returns false, so that a check can `return lg_refuse(...)`: true is "go on".
bool lg_refuse(lg_check *check, lg_cause cause, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
// "[4, 3]"; "[]" for a scalar. In the arena.
const char *lg_shape_text(const lg_check *check, int rank, const int64_t *shape);
const char *lg_tensor_shape_text(const lg_check *check, const lg_tensor *tensor);
// The number for a text: printf shows the sign of a NaN, which says nothing and differs by machine.
double lg_unsigned_nan(double value);
bool lg_shapes_equal(const lg_tensor *a, const lg_tensor *b);

// hostcheck_weight.c
bool lg_check_class_weight_shape(lg_check *check);
bool lg_check_binary_weight_shapes(lg_check *check);
bool lg_check_weight_dtypes(lg_check *check);
bool lg_check_weight_values(lg_check *check);

// hostcheck_target.c: class indices only
bool lg_check_index_shape(lg_check *check);
bool lg_check_index_dtype(lg_check *check);
bool lg_check_index_fractions(lg_check *check); // lost on the way to the device

#endif
