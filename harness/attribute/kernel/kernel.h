// SPDX-License-Identifier: Apache-2.0
// The kernel's own fault, from what was observed on a batch that gave it no excuse: what would a
// kernel have returned that is broken in this way or that? Each test recomputes the numbers of one
// kind of broken kernel; where none fits, the pattern of what is off is all there is to say.
//
// Nothing here knows of facts about the labels: that is attribute/attribute.h, which calls this.
#ifndef LG_ATTRIBUTE_KERNEL_KERNEL_H
#define LG_ATTRIBUTE_KERNEL_KERNEL_H

#include "batch/batch.h"
#include "manifest/manifest.h"
#include "model/batch.h"
#include "model/cause.h"
#include "reference/reference.h"
#include "result/observation.h"
#include "support/arena.h"

// What was run and seen. Everything is borrowed.
typedef struct lg_kernel_run {
    const lg_batch *batch;
    const lg_reference *reference;     // or NULL
    const lg_refusal *refusal;         // the host check's, or NULL
    const lg_kernel *kernel;           // or NULL
    const lg_observation *observation; // or NULL
    int64_t n_rows;
    bool targets_fit; // class indices, one a row
    bool is_misread;  // the labels passed are another reading of those intended
    lg_arena *arena;  // owns the texts
} lg_kernel_run;

// One kind of broken kernel with its weight: prior × likelihood, up to a factor.
typedef struct lg_guess {
    lg_cause cause;
    double weight;
    const char *why; // in the arena
} lg_guess;

enum { LG_MAX_GUESSES = 12 };

// What the kernel's fault may be: at most LG_MAX_GUESSES; 0 when it kept its promise, or nothing
// can be said.
int lg_kernel_guess(const lg_kernel_run *run, lg_guess *out);
// On an invalid batch: did the guard let rows through that it promised to signal?
lg_cause lg_kernel_missed_rows(const lg_kernel_run *run, const char **evidence);

#endif
