// SPDX-License-Identifier: Apache-2.0
// A run: plan the cases, prove each column (kernel × mode), run each case, report to the observers.
//
//   plan.c      scenario points × kernels × modes → cases
//   prove*.c    does a column catch built-in bad batches? If not, its cases are untested
//   point.c     what the cases of a point share: batch, reference, relations
//   case.c      one case: prepare, observe, judge, attribute, expect, place
//   expect.c    what a case must show, and whether it did
//   coverage.c  which options that a manifest claims were run
//   tally.c     the counts of a run and its exit code
//   session.c   the workers, and the order in which observers hear of the cases
#ifndef LG_SESSION_SESSION_H
#define LG_SESSION_SESSION_H

#include "batch/batch.h"
#include "device/device.h"
#include "engine/driver/driver.h"
#include "judge/judge.h"
#include "manifest/manifest.h"
#include "model/batch.h"
#include "reference/reference.h"
#include "result/case.h"
#include "result/observer.h"
#include "scenario/scenario.h"
#include "support/arena.h"
#include "support/error.h"
#include "support/str.h"

#include <signal.h>

typedef struct lg_session_options {
    const lg_driver *driver;
    const char *nvcc;
    const char *cache_dir;
    const lg_scenario_set *sets; // one a file
    int64_t n_sets;
    const lg_kernel_set *kernels;
    lg_str_list kernel_globs; // --kernel; empty: all
    lg_str_list mode_globs;   // --mode; empty: all
    const char *only_case;    // a case id (replay), or NULL
    bool has_seed;            // --seed overrides batch.seed
    uint64_t seed;
    // The user named the manifests: a kernel of them that no case launches makes the run exit 3.
    bool kernels_chosen;
    // The kernels are not lossgate's own: each is given scenarios without a type in every type that
    // it offers (but mutants, which run as their scenarios say), and those that are for such
    // kernels only.
    bool foreign;
    // Not zero: no column and no case is begun any more (a signal came). NULL: never.
    const volatile sig_atomic_t *stop;
    int jobs;                 // worker threads, >= 1
    const char *repro_prefix; // how the command line of a repro begins: "lossgate run"
    lg_observer *observers;
    int n_observers;
} lg_session_options;

// Runs everything; false for a set-up error (in diags). The summary holds the exit code of the run.
bool lg_session_run(const lg_session_options *options, lg_run_summary *summary, lg_diags *diags);

// --- Scenario points × kernels × modes → the cases of a run, in a fixed order with stable ids.
//
// The plan is const once built and may be read by any thread. It borrows the scenario sets and
// kernels of the options and owns everything else (in its arena).

// One scenario point with the cases that share its batch: cases [first_case, first_case + n_cases).
typedef struct lg_plan_point {
    const lg_scenario *scenario; // with --seed applied
    int64_t first_case;
    int64_t n_cases;
    bool further; // in a further type that its kernels offer: it may vanish without a word
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
    // The scenario names this kernel without a wildcard: where it cannot take the batch, the case
    // is `skipped`. A kernel that a wildcard matched is then no case.
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
void lg_plan_free(lg_plan *plan);

// The id: 16 hex digits over scenario name, point, effective seed, kernel, mode and device.
void lg_case_id(const lg_scenario *scenario, const lg_kernel *kernel, lg_mode mode,
                const char *device, char id[17]);

// --- What the cases of a scenario point share; const once prepared.

enum { LG_MAX_LABEL_BINS = 64 };

typedef struct lg_point_data {
    lg_arena arena;
    lg_batch batch;
    lg_batch view; // of `batch`, as the kernel sees it: its target is the device's. Borrows from it
    lg_refusal refusal;     // cause NONE: accepted
    lg_reference reference; // of `view`; only when `has_reference`: a refused batch has none
    bool has_reference;
    // Of the labels as they are intended; only when the device is given others (a misread dtype).
    lg_reference intended;
    bool has_intended;
    lg_senseless senseless;
    lg_relations relations; // other ways to write the batch, when the scenario asks for them
    int64_t n_labels;
    lg_label_bin labels[LG_MAX_LABEL_BINS];
    const char *failure; // why there is no batch to run, or NULL
} lg_point_data;

// Generates the batch, checks it as a caller would, and computes the reference. Errors go to
// `diags` and to `failure`.
void lg_point_prepare(const lg_scenario *scenario, lg_point_data *data, lg_diags *diags);
void lg_point_free(lg_point_data *data);

// --- Which of the options that a manifest claims a case ran: a green run says nothing of the
// others.

// Bit sets; dtypes and reductions as in lg_kernel. Forward and backward apart: each direction has
// entries of its own.
typedef struct lg_coverage {
    uint32_t options; // of coverage.def
    struct lg_coverage_pass {
        uint32_t inputs, targets, reductions;
        uint32_t pairs[LG_N_DTYPES]; // by input type, the targets beside it: an entry each
    } forward, backward;
} lg_coverage;

// --- One case, run on its point's shared data.

// A case's result with the memory of its strings.
typedef struct lg_case_run {
    lg_arena arena;
    lg_case_result result;
    lg_coverage coverage; // of what was launched
    // Skipped, and nobody asked for this kernel by its name: not a case, unless no other one of its
    // point is.
    bool absent;
} lg_case_run;

// `named`: as in lg_plan_case. `column_failure`: why the column is not proven, or NULL. Such a case
// is untested, unless its scenario expects the kernel to be broken. Errors of lossgate itself go to
// `diags`, and the case is untested.
void lg_case_run_one(lg_device_session *device, const lg_case *what, bool named,
                     const lg_point_data *data, const char *column_failure,
                     const char *repro_prefix, lg_case_run *out, lg_diags *diags);
void lg_case_run_free(lg_case_run *run);

#endif
