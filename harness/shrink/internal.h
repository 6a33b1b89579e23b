// SPDX-License-Identifier: Apache-2.0
// What the files of shrinking share: the state, and the parts of a batch that can be taken away.
#ifndef LG_SHRINK_INTERNAL_H
#define LG_SHRINK_INTERNAL_H

#include "shrink/shrink.h"

typedef struct lg_shrinker {
    const lg_shrink_options *options;
    lg_arena *arena; // of the result
    int64_t n_runs;
    int64_t max_runs;
    bool by_size;
    lg_shrink_seen wanted;
    lg_shrink_seen seen; // of the last batch that was kept
    // What is kept so far. With `literal` the batch is `batch` and `base` has its loss, kernel,
    // mode and relations; without, `base` generates it.
    lg_scenario base;
    bool literal;
    lg_batch batch;
} lg_shrinker;

// Runs a scenario. false: it could not be run (the reason is in `reason`, in the shrinker's arena).
bool lg_shrink_look(lg_shrinker *s, const lg_scenario *scenario, lg_shrink_seen *seen,
                    const char **reason);
// Whether the scenario still shows what is wanted; then `seen` is its. false when out of runs.
bool lg_shrink_try_scenario(lg_shrinker *s, const lg_scenario *candidate);
// The same for a batch, which becomes the kept one or is freed.
bool lg_shrink_try_batch(lg_shrinker *s, lg_batch *candidate);
bool lg_shrink_is_out_of_runs(const lg_shrinker *s);

// The batch as lists of values, with the loss options of the batch and the rest of `base`; faults
// are none. Lists live in `arena`.
void lg_shrink_literal(const lg_batch *batch, const lg_scenario *base, lg_arena *arena,
                       lg_scenario *out);
// Listed numbers with the fewest decimal digits that round to the same element.
void lg_shrink_short_decimals(lg_scenario *scenario);
// Files of the scenario as seen from the folder of `out_path` (NULL: the current one): relative if
// they lie in it, else absolute. Returns the folder of one that lies outside, or NULL.
const char *lg_shrink_rebase_files(lg_scenario *scenario, const char *out_path, lg_arena *arena);
bool lg_shrink_copy_batch(const lg_batch *batch, lg_batch *out); // false: no memory

// The part of a batch at `keep` (ascending) of one axis of the input, in every array that has the
// axis. The class axis has a function of its own.
bool lg_shrink_take(const lg_batch *batch, int axis, const int64_t *keep, int64_t n, lg_batch *out);
// The classes at `keep`; labels follow their class. A label at or above the width keeps its
// distance from it with `shift`, else its value. Every class that a label has must be kept.
bool lg_shrink_take_classes(const lg_batch *batch, const int64_t *keep, int64_t n, bool shift,
                            lg_batch *out);
// The first `n` of the target alone: of one whose shape does not fit the input.
bool lg_shrink_cut_target(const lg_batch *batch, int64_t n, lg_batch *out);
int lg_shrink_class_axis(const lg_batch *batch); // of the input; -1: it has none

// Where a row of the finding lies on an axis of the input.
int64_t lg_shrink_coordinate(const lg_batch *batch, int64_t row, int axis);

// Makes the batch of `base` one of values, if that shows what is wanted: all of it, or of large
// arrays of files a part of the samples.
void lg_shrink_become_literal(lg_shrinker *s);

// The stages; each returns whether anything became smaller.
bool lg_shrink_sizes(lg_shrinker *s);   // a generated batch: samples, extents, classes
bool lg_shrink_axes(lg_shrinker *s);    // rows
bool lg_shrink_classes(lg_shrinker *s); // columns that no label has
bool lg_shrink_options_away(lg_shrinker *s);
bool lg_shrink_values(lg_shrinker *s); // labels, weights, logits: small round numbers

#endif
