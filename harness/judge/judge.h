// SPDX-License-Identifier: Apache-2.0
// From reference and observation to a verdict. Passing is proved: every number compared, every
// output written, every fence whole.
#ifndef LG_JUDGE_JUDGE_H
#define LG_JUDGE_JUDGE_H

#include "model/batch.h"
#include "manifest/manifest.h"
#include "reference/reference.h"
#include "result/observation.h"
#include "model/verdict.h"
#include "batch/hostcheck.h"
#include "support/arena.h"

typedef struct lg_judgement {
    lg_verdict verdict;
    const char *detected_by; // see lg_case_result
    const char *reason;      // one line, or NULL
    double max_error_share;  // NaN: nothing compared
} lg_judgement;

// `invalid`: the batch is invalid on the host's own view (invalid rows, or a refusal). Strings live
// in `arena`.
lg_judgement lg_judge(const lg_batch *batch, const lg_reference *reference,
                      const lg_refusal *refusal, const lg_kernel *kernel,
                      const lg_observation *observation, lg_arena *arena);

#endif
