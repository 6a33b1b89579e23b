// SPDX-License-Identifier: Apache-2.0
// Rows and columns away: delta debugging over the indices of one axis at a time.
#include "shrink/internal.h"

#include "support/alloc.h"

#include <stdlib.h>

// An axis longer than this whose halves and quarters show nothing is cut by its length alone.
enum { SHORT_AXIS = 16 };

static int64_t axis_size(const lg_shrinker *s, int axis) {
    return s->batch.input.shape[axis];
}

static bool try_keep(lg_shrinker *s, int axis, const int64_t *keep, int64_t n) {
    lg_batch candidate;
    return n > 0 && n < axis_size(s, axis) && !lg_shrink_is_out_of_runs(s) &&
           lg_shrink_take(&s->batch, axis, keep, n, &candidate) &&
           lg_shrink_try_batch(s, &candidate);
}

// Chunk `i` of `g` chunks of the axis, or everything but it.
static bool try_chunk(lg_shrinker *s, int axis, int64_t g, int64_t i, bool complement) {
    int64_t size = axis_size(s, axis);
    int64_t begin = size * i / g;
    int64_t end = size * (i + 1) / g;
    int64_t *keep = lg_xmalloc((size_t)size * sizeof(*keep));
    int64_t n = 0;
    for (int64_t k = 0; k < size; k++) {
        if ((k >= begin && k < end) != complement) {
            keep[n++] = k;
        }
    }
    bool kept = try_keep(s, axis, keep, n);
    free(keep);
    return kept;
}

static bool try_chunks(lg_shrinker *s, int axis, int64_t g, bool complement) {
    for (int64_t i = 0; i < g; i++) {
        if (try_chunk(s, axis, g, i, complement)) {
            return true;
        }
    }
    return false;
}

static bool try_first(lg_shrinker *s, int axis, int64_t n) {
    int64_t *keep = lg_xmalloc((size_t)(n + 1) * sizeof(*keep));
    for (int64_t i = 0; i < n; i++) {
        keep[i] = i;
    }
    bool kept = try_keep(s, axis, keep, n);
    free(keep);
    return kept;
}

// The shortest beginning of the axis that still shows it, by halving the interval.
static bool cut_length(lg_shrinker *s, int axis) {
    bool smaller = false;
    int64_t too_short = 1;
    while (axis_size(s, axis) - too_short > 1 && !lg_shrink_is_out_of_runs(s)) {
        int64_t middle = too_short + (axis_size(s, axis) - too_short) / 2;
        if (try_first(s, axis, middle)) {
            smaller = true;
        } else {
            too_short = middle;
        }
    }
    return smaller;
}

static bool debug_axis(lg_shrinker *s, int axis) {
    bool smaller = false;
    int64_t g = 2;
    while (axis_size(s, axis) > 1 && !lg_shrink_is_out_of_runs(s)) {
        int64_t size = axis_size(s, axis);
        g = g < size ? g : size;
        if (try_chunks(s, axis, g, false)) {
            smaller = true;
            g = 2;
        } else if (g > 2 && try_chunks(s, axis, g, true)) {
            smaller = true;
            g = g > 3 ? g - 1 : 2;
        } else if (g >= size) {
            s->by_size = s->by_size || size > 1;
            break;
        } else if (g >= 4 && size > SHORT_AXIS) {
            smaller = cut_length(s, axis) || smaller;
            if (axis_size(s, axis) > SHORT_AXIS) {
                s->by_size = true;
                break;
            }
            g = 2;
        } else {
            g *= 2;
        }
    }
    return smaller;
}

int64_t lg_shrink_coordinate(const lg_batch *batch, int64_t row, int axis) {
    int class_axis = lg_shrink_class_axis(batch);
    int64_t inner = 1;
    for (int i = axis + 1; i < batch->input.rank; i++) {
        inner *= i == class_axis ? 1 : batch->input.shape[i];
    }
    int64_t size = batch->input.shape[axis];
    return inner > 0 && size > 0 ? row / inner % size : 0;
}

// One of the rows that the finding names is most often enough.
static bool try_named_rows(lg_shrinker *s, int axis) {
    enum { MAX_TRIED = 4 };
    for (int64_t i = 0; i < s->seen.n_rows && i < MAX_TRIED; i++) {
        int64_t at = lg_shrink_coordinate(&s->batch, s->seen.rows[i], axis);
        if (try_keep(s, axis, &at, 1)) {
            return true;
        }
    }
    return false;
}

// Extra dimensions that are down to one element.
static bool drop_extents(lg_shrinker *s) {
    const lg_tensor *input = &s->batch.input;
    int first = lg_shrink_class_axis(&s->batch) < 0 ? 1 : 2;
    if (input->rank <= first) {
        return false;
    }
    for (int i = first; i < input->rank; i++) {
        if (input->shape[i] != 1) {
            return false;
        }
    }
    lg_batch flat;
    if (!lg_shrink_copy_batch(&s->batch, &flat)) {
        return false;
    }
    int cut = flat.input.rank - first;
    lg_tensor *const arrays[] = {&flat.input, &flat.target, &flat.device_target, &flat.grad_output};
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++) {
        bool has_extents = lg_tensor_exists(arrays[i]) && arrays[i]->rank >= cut;
        arrays[i]->rank -= has_extents ? cut : 0;
    }
    return lg_shrink_try_batch(s, &flat);
}

// A target of another length than the input's keeps being one, but a short one.
static bool cut_unmatched_target(lg_shrinker *s) {
    const lg_batch *batch = &s->batch;
    for (int64_t n = 2; n <= 3; n++) {
        bool matched = batch->target.rank == 0 || batch->input.rank == 0 ||
                       batch->target.shape[0] == batch->input.shape[0];
        lg_batch candidate;
        if (!matched && n < batch->target.shape[0] && n != batch->input.shape[0] &&
            lg_shrink_cut_target(batch, n, &candidate) && lg_shrink_try_batch(s, &candidate)) {
            return true;
        }
    }
    return false;
}

bool lg_shrink_axes(lg_shrinker *s) {
    bool smaller = false;
    s->by_size = false;
    if (s->batch.input.rank == 0 || s->batch.input.rank == 1) {
        bool is_rows = lg_shrink_class_axis(&s->batch) < 0 && s->batch.input.rank == 1;
        smaller = is_rows && try_named_rows(s, 0);
        return (is_rows && debug_axis(s, 0)) || smaller;
    }
    for (int axis = 0; axis < s->batch.input.rank; axis++) {
        if (axis == lg_shrink_class_axis(&s->batch)) {
            continue;
        }
        smaller = (axis_size(s, axis) > 1 && try_named_rows(s, axis)) || smaller;
        smaller = debug_axis(s, axis) || smaller;
    }
    smaller = cut_unmatched_target(s) || smaller;
    return drop_extents(s) || smaller;
}

// --- classes

static void mark_used(const lg_batch *batch, bool *used, int64_t width) {
    const lg_tensor *target = &batch->target;
    int64_t n = lg_tensor_numel(target);
    if (batch->target_is_probability) {
        for (int64_t c = 0; c < width; c++) {
            used[c] = c == 0;
        }
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        int64_t label = lg_tensor_get_i64(target, i);
        if (label >= 0 && label < width) {
            used[label] = true;
        }
    }
}

static bool try_classes(lg_shrinker *s, const int64_t *keep, int64_t n) {
    for (int shift = 1; shift >= 0 && !lg_shrink_is_out_of_runs(s); shift--) {
        lg_batch candidate;
        if (lg_shrink_take_classes(&s->batch, keep, n, shift != 0, &candidate) &&
            lg_shrink_try_batch(s, &candidate)) {
            return true;
        }
    }
    return false;
}

// The used classes and the first `n_free` of the others, at least two in all; true when that was
// kept.
static bool try_free_classes(lg_shrinker *s, int64_t n_free) {
    int64_t width = s->batch.input.shape[lg_shrink_class_axis(&s->batch)];
    bool *used = lg_xcalloc((size_t)width + 1, sizeof(*used));
    int64_t *keep = lg_xmalloc((size_t)(width + 1) * sizeof(*keep));
    mark_used(&s->batch, used, width);
    int64_t n_used = 0;
    for (int64_t c = 0; c < width; c++) {
        n_used += used[c];
    }
    n_free = n_free < 2 - n_used ? 2 - n_used : n_free;
    int64_t n = 0;
    for (int64_t c = 0; c < width; c++) {
        if (used[c] || n_free > 0) {
            n_free -= !used[c];
            keep[n++] = c;
        }
    }
    bool kept = n < width && try_classes(s, keep, n);
    free(keep);
    free(used);
    return kept;
}

static int64_t count_free(const lg_shrinker *s) {
    int64_t width = s->batch.input.shape[lg_shrink_class_axis(&s->batch)];
    bool *used = lg_xcalloc((size_t)width + 1, sizeof(*used));
    mark_used(&s->batch, used, width);
    int64_t n = 0;
    for (int64_t c = 0; c < width; c++) {
        n += !used[c];
    }
    free(used);
    return n;
}

bool lg_shrink_classes(lg_shrinker *s) {
    if (lg_shrink_class_axis(&s->batch) < 0 || s->batch.input.rank == 0) {
        return false;
    }
    if (count_free(s) == 0) {
        return false;
    }
    if (try_free_classes(s, 0)) {
        return true;
    }
    bool smaller = false;
    int64_t too_few = 0;
    while (count_free(s) - too_few > 1 && !lg_shrink_is_out_of_runs(s)) {
        int64_t middle = too_few + (count_free(s) - too_few) / 2;
        if (try_free_classes(s, middle)) {
            smaller = true;
        } else {
            too_few = middle;
        }
    }
    return smaller;
}
