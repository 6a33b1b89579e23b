// SPDX-License-Identifier: Apache-2.0
// Scenario points × kernels × modes → the cases of a run, in a fixed order with stable ids.
//
// The plan is const once built and may be read by any thread. It borrows the scenario sets and
// kernels of the options and owns everything else (in its arena).
#ifndef LG_SESSION_PLAN_H
#define LG_SESSION_PLAN_H

#include "result/case.h"
#include "session/session.h"
#include "support/arena.h"

// One scenario point with the cases that share its batch: cases [first_case, first_case + n_cases).
typedef struct lg_plan_point {
    const lg_scenario *scenario; // with --seed applied
    int64_t first_case;
    int64_t n_cases;
    bool further; // in a further type that its kernels offer: to be left out is nothing to tell
} lg_plan_point;

// One kernel × mode: what has to prove itself before its cases count.
typedef struct lg_plan_column {
    const lg_kernel *kernel;
    lg_mode mode;
} lg_plan_column;

typedef struct lg_plan_case {
    lg_case what;
    int64_t point;
    int64_t column;
    // The scenario names this kernel without a wildcard: when it cannot take the batch that is said
    // as `skipped`; a kernel that a pattern happened to catch is no case then.
    bool named;
} lg_plan_case;

typedef struct lg_plan {
    lg_arena arena;
    int64_t n_points;
    lg_plan_point *points;
    int64_t n_columns;
    lg_plan_column *columns; // sorted by first use
    int64_t n_cases;
    lg_plan_case *cases;
    int64_t n_kernels; // distinct kernels of the columns
    const lg_kernel **kernels;
} lg_plan;

void lg_plan_build(const lg_session_options *options, lg_plan *plan);
// Whether the command line lets a kernel through: all but mutants, which a pattern of it or of the
// scenario (NULL: none) has to name.
bool lg_plan_is_chosen(const lg_session_options *options, const lg_scenario *scenario,
                       const lg_kernel *kernel);
void lg_plan_free(lg_plan *plan);

// The id: 16 hex digits over scenario name, point, effective seed, kernel, mode and device.
void lg_case_id(const lg_scenario *scenario, const lg_kernel *kernel, lg_mode mode,
                const char *device, char id[17]);

// The command that runs exactly this case again, malloc'd; words a shell would change are quoted.
char *lg_case_repro(const lg_case *what, const char *prefix);

#endif
