// SPDX-License-Identifier: Apache-2.0
// All outputs of a run against the reference: class first (NaN, infinities, finite), then the
// bound.
#ifndef LG_JUDGE_COMPARE_H
#define LG_JUDGE_COMPARE_H

#include "model/batch.h"
#include "manifest/manifest.h"
#include "reference/reference.h"
#include "result/observation.h"

enum { LG_KEPT_ROWS = 12 };

// One kind of deviation: how often, in which rows (the first few, distinct), and an example.
typedef struct lg_deviation {
    int64_t n;
    int64_t n_rows; // of `rows`; 0 when the output has no rows (mean, sum)
    int64_t rows[LG_KEPT_ROWS];
    const char *output; // of the example
    int64_t index;
    double got, want, bound;
} lg_deviation;

typedef struct lg_comparison {
    int64_t n_compared;
    double max_share;         // largest |got-want| / bound; NaN: nothing compared
    const char *missing;      // an output that must be there and could not be read, or NULL
    const char *wrong_length; // an output with another number of elements than the reference
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

#endif
