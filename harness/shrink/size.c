// SPDX-License-Identifier: Apache-2.0
// A generated batch made smaller through its sizes: the generator and its faults stay.
#include "shrink/internal.h"

#include <string.h>

typedef enum size_kind { SIZE_SAMPLES, SIZE_CLASSES, SIZE_EXTENT } size_kind;

static int64_t *size_of(lg_scenario *scenario, size_kind kind, int64_t index) {
    switch (kind) {
    case SIZE_SAMPLES:
        return &scenario->batch.samples;
    case SIZE_CLASSES:
        return &scenario->batch.classes;
    case SIZE_EXTENT:
        break;
    }
    return &scenario->batch.extent.items[index];
}

static int64_t rows_of(const lg_scenario *scenario) {
    int64_t rows = scenario->batch.samples;
    for (int64_t i = 0; i < scenario->batch.extent.n; i++) {
        if (__builtin_mul_overflow(rows, scenario->batch.extent.items[i], &rows)) {
            return INT64_MAX;
        }
    }
    return rows;
}

// Parameters of a fault that belong to the old sizes.
static void fit_fault(lg_fault_spec *fault, int64_t rows, int64_t dropped_classes,
                      lg_arena *arena) {
    int64_t n = 0;
    int64_t *kept = lg_arena_array(arena, (size_t)fault->rows.n + 1, sizeof(*kept));
    for (int64_t i = 0; i < fault->rows.n; i++) {
        if (fault->rows.items[i] < rows) {
            kept[n++] = fault->rows.items[i];
        }
    }
    if (fault->rows.n > 0 && n == 0) {
        kept[n++] = rows - 1;
    }
    fault->rows = (lg_i64_list){.n = n, .items = kept};
    if (fault->count > rows) {
        fault->count = rows;
    }
    if (fault->head_width > dropped_classes) {
        fault->head_width -= dropped_classes;
    }
    if (fault->length > dropped_classes) {
        fault->length -= dropped_classes;
    }
}

static bool try_size(lg_shrinker *s, size_kind kind, int64_t index, int64_t size) {
    lg_scenario candidate = s->base;
    lg_i64_list *extent = &candidate.batch.extent;
    int64_t *items = lg_arena_array(s->arena, (size_t)extent->n + 1, sizeof(*items));
    if (extent->n) {
        memcpy(items, extent->items, (size_t)extent->n * sizeof(*items));
    }
    extent->items = items;
    int64_t old = *size_of(&s->base, kind, index);
    *size_of(&candidate, kind, index) = size;
    for (int i = 0; i < candidate.n_faults; i++) {
        fit_fault(&candidate.faults[i], rows_of(&candidate), kind == SIZE_CLASSES ? old - size : 0,
                  s->arena);
    }
    if (!lg_shrink_try_scenario(s, &candidate)) {
        return false;
    }
    s->base = candidate;
    return true;
}

// The least size that shows it, by halving the interval; a fault that comes and goes with the size
// ends at one of its sizes.
static bool shrink_size(lg_shrinker *s, size_kind kind, int64_t index) {
    int64_t too_small = 0;
    bool smaller = false;
    int64_t first = *size_of(&s->base, kind, index);
    // The most frequent ends first.
    for (int64_t size = 1; size <= 2 && size < first; size++) {
        if (try_size(s, kind, index, size)) {
            return true;
        }
        too_small = size;
    }
    while (*size_of(&s->base, kind, index) - too_small > 1 && !lg_shrink_is_out_of_runs(s)) {
        int64_t middle = too_small + (*size_of(&s->base, kind, index) - too_small) / 2;
        if (try_size(s, kind, index, middle)) {
            smaller = true;
        } else {
            too_small = middle;
        }
    }
    return smaller;
}

static bool is_generated(const lg_array_spec *spec) {
    return spec->source != LG_ARRAY_VALUES && spec->source != LG_ARRAY_FILE;
}

bool lg_shrink_sizes(lg_shrinker *s) {
    const lg_batch_spec *batch = &s->base.batch;
    if (!is_generated(&batch->logits) || !is_generated(&batch->targets)) {
        return false;
    }
    bool smaller = !batch->unbatched && shrink_size(s, SIZE_SAMPLES, 0);
    for (int64_t i = 0; i < s->base.batch.extent.n; i++) {
        smaller = shrink_size(s, SIZE_EXTENT, i) || smaller;
    }
    return shrink_size(s, SIZE_CLASSES, 0) || smaller;
}
