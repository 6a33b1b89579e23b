// SPDX-License-Identifier: Apache-2.0
// Targets of a generated batch: numbers of binary losses, class probabilities, class indices with
// the faults of labels.
#include "batch/internal.h"

#include "labels/labels.h"
#include "model/rng.h"
#include "support/alloc.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool shapes_equal(const lg_tensor *a, const lg_tensor *b) {
    return a->rank == b->rank &&
           memcmp(a->shape, b->shape, (size_t)a->rank * sizeof a->shape[0]) == 0;
}

static bool make_binary_target(lg_generation *g) {
    const lg_array_spec *spec = &g->spec->targets;
    lg_tensor *target = &g->batch->target;
    g->batch->target_is_probability = true;
    if (lg_tensor_exists(target)) {
        return true;
    }
    lg_dtype dtype = spec->dtype != LG_DTYPE_NONE ? spec->dtype : g->batch->input.dtype;
    lg_array_shape shape = {.rank = g->batch->input.rank};
    memcpy(shape.size, g->batch->input.shape, sizeof shape.size);
    if (!lg_array_allocate(spec, g->loc, "batch.targets", dtype, &shape, target, g->diags)) {
        return false;
    }
    int64_t n = lg_tensor_numel(target);
    for (int64_t i = 0; i < n; i++) {
        double u = lg_rng_uniform(g->spec->seed, LG_STREAM_TARGETS, (uint64_t)i);
        bool soft = spec->distribution == LG_DIST_UNIFORM;
        double value = soft ? u : (u < 0.5 ? 0 : 1);
        if (soft && spec->hi > spec->lo) {
            value = spec->lo + (spec->hi - spec->lo) * u;
        }
        lg_tensor_set_f64(target, i, spec->distribution == LG_DIST_CONSTANT ? spec->lo : value);
    }
    return true;
}

static bool make_simplex(lg_generation *g) {
    const lg_array_spec *spec = &g->spec->targets;
    const lg_tensor *input = &g->batch->input;
    g->batch->target_is_probability = true;
    lg_array_shape shape = {.rank = input->rank};
    memcpy(shape.size, input->shape, sizeof shape.size);
    lg_dtype dtype = spec->dtype != LG_DTYPE_NONE ? spec->dtype : input->dtype;
    if (!lg_array_allocate(spec, g->loc, "batch.targets", dtype, &shape, &g->batch->target,
                           g->diags)) {
        return false;
    }
    int axis = input->rank > 1 ? 1 : 0;
    return lg_array_draw_simplex(spec, axis, g->spec->seed, &g->batch->target) ||
           lg_error(g->diags, g->loc, "batch.targets do not fit in memory");
}

static bool draw_labels(lg_generation *g, lg_label_draft *draft) {
    const lg_array_spec *spec = &g->spec->targets;
    int64_t classes = draft->classes;
    if (classes < 1) {
        return lg_error(g->diags, g->loc, "batch.classes must be at least 1 to generate targets");
    }
    if (spec->distribution == LG_DIST_CONSTANT &&
        !(spec->lo >= 0 && spec->lo < (double)classes && spec->lo == floor(spec->lo))) {
        return lg_error(g->diags, g->loc, "batch.targets: a constant class must lie in 0..%lld",
                        (long long)classes - 1);
    }
    if (!lg_dtype_holds(draft->dtype, classes - 1)) {
        return lg_error(g->diags, g->loc, "batch.targets: %s cannot hold class %lld",
                        lg_dtype_name(draft->dtype), (long long)classes - 1);
    }
    if (g->spec->ignored_fraction > 0 && !lg_dtype_holds(draft->dtype, draft->ignore_index)) {
        return lg_error(g->diags, g->loc, "batch.targets: %s cannot hold ignore_index %lld",
                        lg_dtype_name(draft->dtype), (long long)draft->ignore_index);
    }
    if (!lg_labels_draw(spec, g->spec->seed, classes, draft->n_drawn, draft->labels)) {
        return lg_error(g->diags, g->loc, "batch.targets do not fit in memory");
    }
    lg_labels_ignore(g->spec->ignored_fraction, g->spec->seed, draft->ignore_index, draft->n_drawn,
                     draft->labels);
    return true;
}

static bool has_overlap(const lg_tensor *tensor) {
    for (int i = 0; i < tensor->rank; i++) {
        if (tensor->stride[i] == 0 && tensor->shape[i] > 1) {
            return true;
        }
    }
    return false;
}

// Fills the draft from the given target, or allocates the target and draws the labels.
static bool start_draft(lg_generation *g, lg_label_draft *draft) {
    const lg_array_spec *spec = &g->spec->targets;
    lg_tensor *target = &g->batch->target;
    bool given = lg_tensor_exists(target);
    if (given) {
        g->n_rows = lg_tensor_numel(target);
    }
    int64_t per_row = g->with_faults ? lg_inject_labels_per_row(g->scenario) : 1;
    draft->given = given;
    draft->n_rows = g->n_rows;
    draft->n_drawn = g->n_rows * (given ? 1 : per_row);
    draft->dtype = given ? target->dtype : spec->dtype != LG_DTYPE_NONE ? spec->dtype : LG_INT64;
    draft->labels =
        lg_buffer_alloc((size_t)(draft->n_drawn > 0 ? draft->n_drawn : 1) * sizeof *draft->labels);
    if (!draft->labels) {
        return lg_error(g->diags, g->loc, "batch.targets do not fit in memory");
    }
    if (!given) {
        return lg_array_allocate(spec, g->loc, "batch.targets", draft->dtype, &g->rows, target,
                                 g->diags) &&
               draw_labels(g, draft);
    }
    for (int64_t i = 0; i < g->n_rows; i++) {
        draft->labels[i] = lg_tensor_get_i64(target, i);
    }
    return true;
}

static bool fault_needs_whole_labels(lg_cause kind) {
    return kind == LG_CAUSE_WRONG_HEAD_WIDTH || kind == LG_CAUSE_ONE_BASED_LABELS ||
           kind == LG_CAUSE_OVER_SHIFTED_LABELS || kind == LG_CAUSE_LABEL_EQUALS_WIDTH ||
           kind == LG_CAUSE_NEGATIVE_LABELS || kind == LG_CAUSE_SENTINEL_MISMATCH ||
           kind == LG_CAUSE_CORRUPT_LABELS || kind == LG_CAUSE_TARGET_DTYPE ||
           kind == LG_CAUSE_FLOAT_TARGETS;
}

static bool inject_into_labels(lg_generation *g, lg_label_draft *draft) {
    const lg_scenario *scenario = g->scenario;
    bool as_floats = lg_dtype_is_float(draft->dtype);
    bool fine = true;
    for (int i = 0; i < scenario->n_faults; i++) {
        const lg_fault_spec *fault = &scenario->faults[i];
        if (!fault_needs_whole_labels(fault->kind)) {
            continue;
        }
        if (as_floats || has_overlap(&g->batch->target)) {
            fine = lg_error(g->diags, fault->loc, "%s needs %s", lg_cause_name(fault->kind),
                            as_floats ? "integer targets: these are floating point"
                                      : "a target without expanded dimensions");
            continue;
        }
        fine = lg_inject_labels(scenario, i, draft, g->batch, g->diags) && fine;
    }
    return fine;
}

static bool make_index_target(lg_generation *g) {
    lg_label_draft draft = {.head_width = lg_batch_head_width(g->batch),
                            .classes = g->spec->classes,
                            .ignore_index = g->scenario->loss.ignore_index,
                            .seed = g->spec->seed};
    if (draft.classes < 1) {
        draft.classes = draft.head_width;
    }
    bool given_floats =
        lg_tensor_exists(&g->batch->target) && lg_dtype_is_float(g->batch->target.dtype);
    bool fine = start_draft(g, &draft);
    if (fine && g->with_faults) {
        fine = inject_into_labels(g, &draft);
    }
    for (int64_t i = 0; fine && !given_floats && i < draft.n_rows; i++) {
        lg_tensor_set_i64(&g->batch->target, i, draft.labels[i]);
    }
    for (int i = 0; fine && g->with_faults && i < g->scenario->n_faults; i++) {
        fine = lg_inject_target(g->scenario, i, &draft, g->batch, g->diags);
    }
    free(draft.labels);
    return fine;
}

bool lg_generate_target(lg_generation *g) {
    const lg_array_spec *spec = &g->spec->targets;
    lg_tensor *target = &g->batch->target;
    if (lg_batch_is_binary(g->batch)) {
        return make_binary_target(g);
    }
    if (!lg_tensor_exists(target) && spec->distribution == LG_DIST_SIMPLEX) {
        return make_simplex(g);
    }
    if (lg_tensor_exists(target) && lg_dtype_is_float(target->dtype) &&
        shapes_equal(target, &g->batch->input)) {
        g->batch->target_is_probability = true;
        return true;
    }
    return make_index_target(g);
}
