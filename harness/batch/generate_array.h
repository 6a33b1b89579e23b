// SPDX-License-Identifier: Apache-2.0
// One array of a scenario: listed, read from a file, or drawn from (seed, stream, index).
#ifndef LG_BATCH_GENERATE_ARRAY_H
#define LG_BATCH_GENERATE_ARRAY_H

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

#endif
