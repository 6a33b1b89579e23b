// SPDX-License-Identifier: Apache-2.0
// Strides that no device can be given, or that need more memory than anybody has.
#include "model/far_view.h"
#include "scenario/internal.h"

// The shape of an array of that rank.
static void shape_of(const lg_scenario_reader *reader, const lg_array_spec *spec, int64_t rank,
                     int64_t *shape) {
    const lg_batch_spec *batch = &reader->scenario->batch;
    int n = 0;
    if (spec->source != LG_ARRAY_GENERATED) {
        for (; n < rank; n++) {
            shape[n] = spec->shape.n ? spec->shape.items[n] : spec->values.n;
        }
        return;
    }
    if (!batch->unbatched) {
        shape[n++] = batch->samples;
    }
    if (rank == n + 1 + batch->extent.n) {
        shape[n++] = batch->classes;
    }
    for (int64_t i = 0; i < batch->extent.n; i++) {
        shape[n++] = batch->extent.items[i];
    }
}

void lg_scenario_check_reach(const lg_part *array, int64_t rank) {
    const lg_array_spec *spec = array->spec;
    int64_t shape[LG_MAX_RANK], bytes, n;
    if (rank > LG_MAX_RANK) {
        return; // reported with the shape
    }
    shape_of(array->reader, spec, rank, shape);
    size_t size = spec->dtype != LG_DTYPE_NONE ? lg_dtype_bytes(spec->dtype) : 8;
    switch (lg_view_reach_of(size, (int)rank, shape, spec->stride.items, &bytes, &n)) {
    case LG_VIEW_NEAR:
    case LG_VIEW_FAR:
        return;
    case LG_VIEW_BEYOND:
        lg_part_key_error(array, "stride",
                          "spreads the array over more than %lld GiB; want at most that from its "
                          "first element to its last",
                          (long long)(LG_REACH_BYTES >> 30));
        return;
    case LG_VIEW_CROWDED:
        lg_part_key_error(array, "stride",
                          "spreads %lld elements over %.3g GiB; want at most %d elements in a "
                          "view of more than %lld GiB",
                          (long long)n, (double)bytes / 0x1p30, LG_MAX_FAR_ELEMENTS,
                          (long long)(LG_WHOLE_BYTES >> 30));
        return;
    case LG_VIEW_OVERLAPS:
        lg_part_key_error(array, "stride",
                          "lets dimensions interleave over %.3g GiB; in a view of more than "
                          "%lld MiB want each stride beyond all that the smaller ones span",
                          (double)bytes / 0x1p30, (long long)(LG_FAR_BYTES >> 20));
        return;
    }
}

void lg_scenario_check_weight_reach(const lg_part *array) {
    const int64_t most = LG_FAR_BYTES / 8;
    for (int64_t i = 0; i < array->spec->stride.n; i++) {
        if (array->spec->stride.items[i] > most) {
            const char *item =
                lg_arena_printf(array->reader->binder.scratch, "stride.%lld", (long long)i);
            lg_part_error(array, item,
                          "%s.stride has %lld; want at most %lld: only batch.logits and "
                          "batch.targets can lie further apart",
                          array->path, (long long)array->spec->stride.items[i], (long long)most);
        }
    }
}
