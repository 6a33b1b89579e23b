// SPDX-License-Identifier: Apache-2.0
// A case (scenario point × kernel × mode × device) and its result: one line of cases.jsonl.
#ifndef LG_RESULT_CASE_H
#define LG_RESULT_CASE_H

#include "manifest/manifest.h"
#include "result/finding.h"
#include "result/judgement.h"
#include "result/observation.h"
#include "scenario/scenario.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct lg_case {
    char id[17]; // 16 hex digits: hash of scenario name, point, seed, kernel, mode, device
    const lg_scenario *scenario; // a point: no matrix left
    const lg_kernel *kernel;
    lg_mode mode;
    const char *device; // "sim" | "cuda"
} lg_case;

// Labels from low to high (both included) and how many rows of the batch have one of them.
typedef struct lg_label_bin {
    int64_t low, high;
    int64_t count;
} lg_label_bin;

typedef enum lg_place_kind {
    LG_PLACE_UNKNOWN = 0,
    LG_PLACE_GUARD,   // the assert that fired
    LG_PLACE_ACCESS,  // the bad access
    LG_PLACE_BARRIER, // the barrier that was used wrongly
    LG_PLACE_ENTRY,   // the kernel that wrote the output, or whose launch failed
} lg_place_kind;

// A line of a kernel's source, its file as the compiler was given it ("kernels/nll_loss.cu").
typedef struct lg_source_place {
    const char *file; // NULL: not known
    int line;
    const char *what; // "the guard that fired", "the bad access", "the entry my_kernel"
    lg_place_kind kind;
} lg_source_place;

typedef struct lg_case_result {
    const lg_case *what;
    lg_judgement judged;
    lg_attribution attribution;
    bool as_expected;
    const char *expectation; // "detected, cause wrong_head_width" and what differed; never NULL
    lg_finding finding;
    lg_observation observation;
    double *loss; // what the kernel returned (n_loss values), NULL when none was readable
    int64_t n_loss;
    double *reference_loss;
    int64_t n_reference_loss;
    int64_t n_rows;                       // rows of the batch
    lg_injection injected[LG_MAX_FAULTS]; // ground truth; rows owned by this result
    int n_injected;
    int64_t head_width;    // C
    lg_label_bin *labels;  // histogram of the labels as the device gets them, ascending
    int64_t n_labels;      // bins; 0 for targets that are no class indices
    lg_source_place place; // where to look, of a case that was not as expected
    char *repro;           // the command that runs exactly this case again
    int64_t elapsed_ns;
} lg_case_result;

void lg_case_result_free(lg_case_result *result);

#endif
