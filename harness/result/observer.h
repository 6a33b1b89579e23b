// SPDX-License-Identifier: Apache-2.0
// How reports and progress listen to a session without knowing the pipeline.
//
// The session calls the functions one at a time (under its lock), in plan order for case_done, so
// an observer needs no lock and its output does not depend on --jobs. Pointers live for the call
// only.
#ifndef LG_RESULT_OBSERVER_H
#define LG_RESULT_OBSERVER_H

#include "result/case.h"

typedef struct lg_column_proof {
    const lg_kernel *kernel;
    lg_mode mode;
    bool proven;
    const char *why; // what the known-bad batch did when not proven
} lg_column_proof;

typedef struct lg_run_info {
    const char *device;
    int64_t n_cases;
    int64_t n_scenarios; // points
    int64_t n_kernels;
    const char *command; // the command line, for reports
} lg_run_info;

// What a run says nothing about, of a kernel that was chosen.
typedef struct lg_kernel_gap {
    const lg_kernel *kernel;
    const char *why_none;     // no case of it was launched and judged, and why; NULL: one was
    const char *never_tested; // what its manifest claims and no such case had; NULL: nothing
} lg_kernel_gap;

typedef struct lg_run_summary {
    int64_t n_cases;
    int64_t n_as_expected;
    int64_t n_not_expected;
    int64_t n_untested;
    int64_t n_skipped;
    int64_t n_untaken; // scenario points that none of the kernels and modes of a filter could take
    int64_t by_verdict[LG_N_VERDICTS];
    int64_t n_unproven; // kernels chosen by their manifest of which no case was launched and judged
    int64_t n_gaps;     // those and the ones with options never tested
    const lg_kernel_gap *gaps; // only while run_ended is called
    bool interrupted;          // options->stop was set before every case was run
    int64_t n_planned;         // cases of the plan, and how many of them were done
    int64_t n_done;
    int exit_code; // 0 as expected, 1 something was not, 3 nothing proven
} lg_run_summary;

typedef struct lg_observer {
    void *context;
    void (*run_begun)(void *context, const lg_run_info *info);
    // The CUDA compiler starts on a source, which may take many seconds; before any column.
    void (*compiling)(void *context, const char *source);
    void (*column_proven)(void *context, const lg_column_proof *proof);
    void (*case_done)(void *context, const lg_case_result *result);
    // A point that none of the kernels and modes of a filter could take; `reason` is the last
    // one's.
    void (*point_left_out)(void *context, const lg_case_result *result);
    void (*run_ended)(void *context, const lg_run_summary *summary);
} lg_observer;

#endif
