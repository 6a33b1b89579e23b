// SPDX-License-Identifier: Apache-2.0
#include "batch/batch.h"

#include "batch/internal.h"
#include "support/alloc.h"

#include <stdlib.h>
#include <string.h>

static bool is_given(const lg_array_spec *spec) {
    return spec->source == LG_ARRAY_VALUES || spec->source == LG_ARRAY_FILE;
}

static int64_t head_width(const lg_generation *g) {
    int64_t classes = g->spec->classes;
    return g->with_faults ? lg_inject_head_width(g->scenario, classes) : classes;
}

// The shape of one value a row, from whatever fixes it first: given targets, else the batch's
// sizes.
static bool plan_rows(lg_generation *g) {
    const lg_batch_spec *spec = g->spec;
    const lg_tensor *target = &g->batch->target;
    int n_extent = (int)spec->extent.n;
    g->rows = (lg_array_shape){0};
    if (lg_tensor_exists(target)) {
        int full = (spec->unbatched ? 1 : 2) + n_extent;
        bool probabilities = !lg_batch_is_binary(g->batch) && lg_dtype_is_float(target->dtype) &&
                             target->rank == full && !spec->unbatched;
        for (int i = 0; i < target->rank; i++) {
            if (!(probabilities && i == 1)) {
                g->rows.size[g->rows.rank++] = target->shape[i];
            }
        }
        if (spec->unbatched) {
            g->rows.rank = 0;
        }
        return true;
    }
    if (n_extent + 2 > LG_MAX_RANK) {
        return lg_error(g->diags, g->loc, "batch.extent has %d dimensions, at most %d are possible",
                        n_extent, LG_MAX_RANK - 2);
    }
    if (!spec->unbatched) {
        g->rows.size[g->rows.rank++] = spec->samples;
    }
    if (lg_batch_is_binary(g->batch) && spec->classes > 1) {
        g->rows.size[g->rows.rank++] = spec->classes;
    }
    for (int i = 0; i < n_extent; i++) {
        g->rows.size[g->rows.rank++] = spec->extent.items[i];
    }
    return true;
}

// The rows of a given input, so that the targets fit it.
static void rows_of_input(lg_generation *g) {
    const lg_tensor *input = &g->batch->input;
    g->rows = (lg_array_shape){0};
    bool binary = lg_batch_is_binary(g->batch);
    for (int i = 0; i < input->rank; i++) {
        bool is_class_axis = !binary && i == (input->rank == 1 ? 0 : 1);
        if (!is_class_axis) {
            g->rows.size[g->rows.rank++] = input->shape[i];
        }
    }
}

static bool make_input(lg_generation *g) {
    const lg_array_spec *spec = &g->spec->logits;
    lg_tensor *input = &g->batch->input;
    if (is_given(spec)) {
        // Present already: loaded before the rows were planned.
        return true;
    }
    lg_array_shape shape = g->rows;
    g->class_axis = -1;
    if (!lg_batch_is_binary(g->batch)) {
        if (g->spec->classes < 1) {
            return lg_error(g->diags, g->loc,
                            "batch.classes must be at least 1 to generate logits");
        }
        if (shape.rank == LG_MAX_RANK) {
            return lg_error(g->diags, g->loc, "the targets have too many dimensions (%d)",
                            shape.rank);
        }
        g->class_axis = shape.rank > 0 ? 1 : 0;
        memmove(&shape.size[g->class_axis + 1], &shape.size[g->class_axis],
                (size_t)(shape.rank - (shape.rank > 0)) * sizeof shape.size[0]);
        shape.size[g->class_axis] = head_width(g);
        shape.rank++;
    }
    lg_dtype dtype = spec->dtype != LG_DTYPE_NONE ? spec->dtype : LG_FLOAT32;
    if (!g->input_values) {
        int64_t step = 1;
        *input = (lg_tensor){.dtype = dtype, .rank = shape.rank};
        for (int i = shape.rank - 1; i >= 0; i--) {
            input->shape[i] = shape.size[i];
            input->stride[i] = step;
            step *= shape.size[i];
        }
        return true;
    }
    if (!lg_array_allocate(spec, g->loc, "batch.logits", dtype, &shape, input, g->diags)) {
        return false;
    }
    if (!lg_array_draw_input(spec, g->scenario->loss.kind, g->class_axis, g->spec->seed, input)) {
        return lg_error(g->diags, g->loc, "batch.logits do not fit in memory");
    }
    return true;
}

static bool load_given(lg_generation *g) {
    const lg_batch_spec *spec = g->spec;
    lg_batch *batch = g->batch;
    bool fine = true;
    if (is_given(&spec->logits)) {
        fine = lg_array_load(&spec->logits, g->loc, "batch.logits",
                             spec->logits.source == LG_ARRAY_VALUES ? LG_FLOAT32 : LG_DTYPE_NONE,
                             &batch->input, g->diags);
        for (int i = 0; fine && g->with_faults && i < g->scenario->n_faults; i++) {
            if (g->scenario->faults[i].kind == LG_CAUSE_WRONG_HEAD_WIDTH) {
                fine = lg_error(g->diags, g->scenario->faults[i].loc,
                                "wrong_head_width needs generated logits: these are given");
            }
        }
    }
    if (is_given(&spec->targets)) {
        lg_dtype dtype = lg_batch_is_binary(g->batch) ? LG_FLOAT32 : LG_DTYPE_NONE;
        fine = lg_array_load(&spec->targets, g->loc, "batch.targets", dtype, &batch->target,
                             g->diags) &&
               fine;
    }
    return fine;
}

static bool count_rows(lg_generation *g) {
    g->n_rows = 1;
    for (int i = 0; i < g->rows.rank; i++) {
        if (g->rows.size[i] < 0 || __builtin_mul_overflow(g->n_rows, g->rows.size[i], &g->n_rows)) {
            return lg_error(g->diags, g->loc, "the batch has an impossible number of rows");
        }
    }
    return true;
}

static bool make_weights(lg_generation *g) {
    const lg_scenario *scenario = g->scenario;
    lg_batch *batch = g->batch;
    bool binary = lg_batch_is_binary(g->batch);
    uint64_t seed = g->spec->seed;
    lg_dtype dtype = batch->input.dtype;
    lg_array_shape classes = {.rank = 1, .size = {lg_batch_head_width(batch)}};
    lg_array_shape elements = {.rank = batch->input.rank};
    memcpy(elements.size, batch->input.shape, sizeof elements.size);
    // pos_weight broadcasts over all but the columns of a multi-label input: [columns, 1, …].
    lg_array_shape columns = {.rank = 1, .size = {1}};
    for (int i = 1; i < batch->input.rank; i++) {
        columns.rank = i;
        columns.size[i - 1] = i == 1 ? batch->input.shape[1] : 1;
    }
    lg_array_shape upstream = {0};
    if (scenario->loss.reduction == LG_REDUCTION_NONE) {
        upstream = binary ? elements : g->rows;
    }
    bool fine = lg_array_make(&scenario->weight, g->loc, "loss.weight", dtype,
                              binary ? &elements : &classes, seed, LG_STREAM_WEIGHT, &batch->weight,
                              g->diags);
    fine = lg_array_make(&scenario->pos_weight, g->loc, "loss.pos_weight", dtype, &columns, seed,
                         LG_STREAM_POS_WEIGHT, &batch->pos_weight, g->diags) &&
           fine;
    return lg_array_make(&scenario->grad_output, g->loc, "loss.grad_output", dtype, &upstream, seed,
                         LG_STREAM_GRAD_OUTPUT, &batch->grad_output, g->diags) &&
           fine;
}

static bool generate(lg_generation *g) {
    if (!load_given(g) || !plan_rows(g)) {
        return false;
    }
    if (lg_tensor_exists(&g->batch->input)) {
        rows_of_input(g);
    }
    if (!count_rows(g) || !make_input(g) || !lg_generate_target(g) || !make_weights(g)) {
        return false;
    }
    bool fine = true;
    for (int i = 0; g->with_faults && i < g->scenario->n_faults; i++) {
        fine = lg_inject_values(g->scenario, i, g->batch, g->diags) && fine;
    }
    return fine;
}

static bool run(const lg_scenario *scenario, bool with_faults, bool input_values, lg_batch *batch,
                lg_diags *diags) {
    *batch = (lg_batch){.loss = scenario->loss, .classes = scenario->batch.classes};
    lg_generation g = {.scenario = scenario,
                       .spec = &scenario->batch,
                       .with_faults = with_faults,
                       .input_values = input_values,
                       .loc = {.file = scenario->path},
                       .batch = batch,
                       .diags = diags};
    if (with_faults) {
        batch->n_injections = scenario->n_faults;
        for (int i = 0; i < scenario->n_faults; i++) {
            batch->injections[i].cause = scenario->faults[i].kind;
        }
    }
    bool fine = generate(&g);
    if (!fine) {
        lg_batch_free(batch);
    }
    return fine;
}

bool lg_generate(const lg_scenario *scenario, bool with_faults, lg_batch *batch, lg_diags *diags) {
    return run(scenario, with_faults, true, batch, diags);
}

bool lg_generate_labels_only(const lg_scenario *scenario, bool with_faults, lg_batch *batch,
                             lg_diags *diags) {
    return run(scenario, with_faults, false, batch, diags);
}
