// SPDX-License-Identifier: Apache-2.0
// A run: plan the cases, prove the columns, run, judge and attribute each case, tell the observers.
#ifndef LG_SESSION_SESSION_H
#define LG_SESSION_SESSION_H

#include "engine/driver.h"
#include "manifest/manifest.h"
#include "result/observer.h"
#include "scenario/scenario.h"
#include "support/error.h"

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

#endif
