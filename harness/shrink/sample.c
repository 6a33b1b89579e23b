// SPDX-License-Identifier: Apache-2.0
// The batch of a scenario as values, whole or, where it is too large for that, a part of its
// samples.
#include "batch/batch.h"
#include "shrink/internal.h"
#include "support/alloc.h"

#include <stdlib.h>

enum {
    FIRST_SAMPLES = 16, // then four times as many, until they show it
    GROWTH = 4,
};

// A form that shows what is wanted is kept; `batch` is used up. Labels that are passed as
// something else than they are intended have two forms: what is passed, and what is intended.
static bool try_forms(lg_shrinker *s, lg_batch *batch) {
    lg_batch intended = {0};
    bool two_forms = lg_tensor_exists(&batch->device_target);
    bool ok = !two_forms || lg_shrink_copy_batch(batch, &intended);
    if (ok && two_forms) {
        lg_tensor_free(&batch->target);
        batch->target = batch->device_target;
        batch->device_target = (lg_tensor){0};
        lg_tensor_free(&intended.device_target);
        intended.device_target = (lg_tensor){0};
    }
    ok = ok && (lg_shrink_try_batch(s, batch) || (two_forms && lg_shrink_try_batch(s, &intended)));
    lg_batch_free(batch);
    lg_batch_free(&intended);
    return ok;
}

// Samples of the rows that the finding names, at most n / 2 of them, and others: spread evenly,
// because a data set may be sorted. Ascending; how many.
static int64_t choose(const lg_shrinker *s, const lg_batch *batch, int64_t n, int64_t *keep) {
    int64_t size = batch->input.shape[0];
    bool *chosen = lg_xcalloc((size_t)size, sizeof(*chosen));
    for (int64_t i = 0; i < n; i++) {
        chosen[(int64_t)((double)i / (double)n * (double)size)] = true;
    }
    int64_t named = s->seen.n_rows < n / 2 ? s->seen.n_rows : n / 2;
    for (int64_t i = 0; i < named; i++) {
        int64_t row = s->seen.rows[(int64_t)((double)i / (double)named * (double)s->seen.n_rows)];
        chosen[lg_shrink_coordinate(batch, row, 0)] = true;
    }
    int64_t n_kept = 0;
    for (int64_t i = 0; i < size; i++) {
        if (chosen[i]) {
            keep[n_kept++] = i;
        }
    }
    free(chosen);
    return n_kept;
}

static bool try_samples(lg_shrinker *s, const lg_batch *batch, int64_t n) {
    int64_t *keep = lg_xmalloc((size_t)(2 * n + 1) * sizeof(*keep));
    int64_t n_kept = choose(s, batch, n, keep);
    lg_batch part;
    bool kept = n_kept < batch->input.shape[0] && lg_shrink_take(batch, 0, keep, n_kept, &part) &&
                try_forms(s, &part);
    free(keep);
    return kept;
}

// Few samples first: a run costs as much as there are elements.
static bool sample(lg_shrinker *s, const lg_batch *batch) {
    int64_t numel = lg_tensor_numel(&batch->input);
    bool has_samples = batch->input.rank > 0 && lg_shrink_class_axis(batch) != 0;
    int64_t size = has_samples ? batch->input.shape[0] : 0;
    int64_t most = size > 0 ? LG_SHRINK_READ / (numel / size) : 0; // without the named ones
    most = most < size ? most : size - 1;
    for (int64_t n = FIRST_SAMPLES; n < most && !lg_shrink_is_out_of_runs(s); n *= GROWTH) {
        if (try_samples(s, batch, n)) {
            return true;
        }
    }
    return most > 0 && !lg_shrink_is_out_of_runs(s) && try_samples(s, batch, most);
}

void lg_shrink_become_literal(lg_shrinker *s) {
    lg_diags dropped = {0};
    lg_batch batch;
    if (!lg_generate(&s->base, true, &batch, &dropped)) {
        lg_diags_free(&dropped);
        return;
    }
    lg_diags_free(&dropped);
    // What was read from a file has no sizes that a generator could make smaller.
    bool read = s->base.batch.logits.source == LG_ARRAY_FILE ||
                s->base.batch.targets.source == LG_ARRAY_FILE;
    int64_t numel = lg_tensor_numel(&batch.input);
    s->literal = read && numel > LG_SHRINK_ELEMENTS && sample(s, &batch);
    if (!s->literal && numel <= (read ? LG_SHRINK_READ : LG_SHRINK_ELEMENTS)) {
        s->literal = try_forms(s, &batch);
    }
    lg_batch_free(&batch);
}
