// SPDX-License-Identifier: Apache-2.0
// The smallest batch that shows what a case shows: the same verdict, signalled in the same way, the
// same causes named and no others, and of a wrong number the same output wrong in the same way. A
// batch that shows something else is not kept: one without a supervised row, a loss that has no
// right value, a single class where there were several, logits that are all alike.
//
// The scenario's batch becomes a list of literal values without faults, from which rows, extra
// dimensions, classes, options and digits are taken away by delta debugging (Zeller and
// Hildebrandt, "Simplifying and isolating failure-inducing input") as long as the case stays what
// it was. A fault that cannot be written as values (labels that were cut on their way to the
// device), or a batch of too many elements, stays generated and is made smaller through its sizes.
// Of large arrays in files, samples that the finding names and others spread evenly are tried, few
// first. Rows that show nothing apart are cut by their number; then the result says that it was
// shrunk by size.
//
// Deterministic: the same scenario, kernel and mode give the same result after the same runs.
#ifndef LG_SHRINK_SHRINK_H
#define LG_SHRINK_SHRINK_H

#include "device/device.h"
#include "manifest/manifest.h"
#include "result/case.h"
#include "scenario/scenario.h"
#include "session/session.h"
#include "support/arena.h"
#include "support/error.h"

enum {
    LG_SHRINK_RUNS = 500,       // how often a batch is run at most, unless asked otherwise
    LG_SHRINK_ELEMENTS = 16384, // of the input: more are not written as values
    LG_SHRINK_READ = 1 << 22,   // of the input read from a file: of more, only a part is tried
    LG_SHRINK_MAX_NAMED = 16,
};

// What one run showed; strings and rows live in the arena of the shrinking.
typedef struct lg_shrink_seen {
    lg_judgement judged; // its text is not kept
    lg_cause cause;      // the finding's first
    bool certain;
    bool supervised;      // a label that is not ignored
    bool has_right_value; // the reference loss is finite
    bool as_expected;     // by the scenario that was run
    int n_named;
    lg_cause named[LG_SHRINK_MAX_NAMED];
    int64_t n_rows; // that the finding names
    int64_t *rows;
    int64_t batch_rows, head_width; // of the batch
} lg_shrink_seen;

typedef struct lg_shrink_options {
    lg_device_session *device; // `kernel` is prepared in it
    const lg_kernel *kernel;
    lg_mode mode;
    const char *device_name; // "sim"
    const char *out_path;    // the file it will be written to: arrays that stay in their files are
                             // named as seen from its folder. NULL: the current one
    lg_str_list allow_paths; // as of lg_read_options
    int64_t max_runs;        // 0: LG_SHRINK_RUNS
} lg_shrink_options;

typedef struct lg_shrink_result {
    lg_arena arena;       // owns everything below
    lg_scenario scenario; // to be written: one kernel, one mode, and what must be seen
    bool nothing;         // the case passes and nothing is found: there is nothing to shrink
    bool literal;         // the batch is written as values; false: generated, through its sizes
    bool by_size;         // no part of the rows shows it
    bool out_of_runs;     // it could perhaps be smaller
    const char *outside;  // a folder that --allow-path has to name for the result, or NULL
    int64_t n_runs;
    lg_shrink_seen before, after;
} lg_shrink_result;

// `scenario` is one point. false with errors in `diags` when the case cannot be run at all. Free
// `out` in either case.
bool lg_shrink(const lg_scenario *scenario, const lg_shrink_options *options, lg_shrink_result *out,
               lg_diags *diags);

// Which case of a plan to shrink: the first that is not as expected, else the first that shows
// anything. Runs at most LG_SHRINK_LOOKS of them. NULL: none shows anything; `*n_run` is how many
// were run.
enum { LG_SHRINK_LOOKS = 32 };
const lg_plan_case *lg_shrink_choose(lg_device_session *device, const lg_plan *plan, int64_t *n_run,
                                     lg_diags *diags);
void lg_shrink_free(lg_shrink_result *result);

#endif
