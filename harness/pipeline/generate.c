// SPDX-License-Identifier: Apache-2.0
#include "pipeline/generate.h"

#include "pipeline/generate_array.h"
#include "pipeline/generate_labels.h"
#include "pipeline/inject.h"
#include "support/alloc.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct generation {
    const lg_scenario *scenario;
    const lg_batch_spec *spec;
    bool with_faults;
    bool input_values; // false: the input keeps its shape only
    lg_loc loc;
    lg_batch *batch;
    lg_diags *diags;
    int64_t n_rows;
    lg_array_shape rows; // shape of one value a row: N, d1, … (empty for an unbatched input)
    int class_axis;      // of the input; -1: none
} generation;

static bool is_binary(const generation *g) {
    return g->scenario->loss.kind == LG_BCE || g->scenario->loss.kind == LG_BCE_WITH_LOGITS;
}

static bool is_given(const lg_array_spec *spec) {
    return spec->source == LG_ARRAY_VALUES || spec->source == LG_ARRAY_FILE;
}

static int64_t head_width(const generation *g) {
    int64_t classes = g->spec->classes;
    return g->with_faults ? lg_inject_head_width(g->scenario, classes) : classes;
}

// The shape of one value a row, from whatever fixes it first: given targets, else the batch's
// sizes.
static bool plan_rows(generation *g) {
    const lg_batch_spec *spec = g->spec;
    const lg_tensor *target = &g->batch->target;
    int n_extent = (int)spec->extent.n;
    g->rows = (lg_array_shape){0};
    if (lg_tensor_exists(target)) {
        int full = (spec->unbatched ? 1 : 2) + n_extent;
        bool probabilities = !is_binary(g) && lg_dtype_is_float(target->dtype) &&
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
    if (is_binary(g) && spec->classes > 1) {
        g->rows.size[g->rows.rank++] = spec->classes;
    }
    for (int i = 0; i < n_extent; i++) {
        g->rows.size[g->rows.rank++] = spec->extent.items[i];
    }
    return true;
}

// The rows of a given input, so that the targets fit it.
static void rows_of_input(generation *g) {
    const lg_tensor *input = &g->batch->input;
    g->rows = (lg_array_shape){0};
    bool binary = is_binary(g);
    for (int i = 0; i < input->rank; i++) {
        bool is_class_axis = !binary && i == (input->rank == 1 ? 0 : 1);
        if (!is_class_axis) {
            g->rows.size[g->rows.rank++] = input->shape[i];
        }
    }
}

static bool make_input(generation *g) {
    const lg_array_spec *spec = &g->spec->logits;
    lg_tensor *input = &g->batch->input;
    if (is_given(spec)) {
        // Present already: loaded before the rows were planned.
        return true;
    }
    lg_array_shape shape = g->rows;
    g->class_axis = -1;
    if (!is_binary(g)) {
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

static bool load_given(generation *g) {
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
        lg_dtype dtype = is_binary(g) ? LG_FLOAT32 : LG_DTYPE_NONE;
        fine = lg_array_load(&spec->targets, g->loc, "batch.targets", dtype, &batch->target,
                             g->diags) &&
               fine;
    }
    return fine;
}

static bool count_rows(generation *g) {
    g->n_rows = 1;
    for (int i = 0; i < g->rows.rank; i++) {
        if (g->rows.size[i] < 0 || __builtin_mul_overflow(g->n_rows, g->rows.size[i], &g->n_rows)) {
            return lg_error(g->diags, g->loc, "the batch has an impossible number of rows");
        }
    }
    return true;
}

static bool shapes_equal(const lg_tensor *a, const lg_tensor *b) {
    return a->rank == b->rank &&
           memcmp(a->shape, b->shape, (size_t)a->rank * sizeof a->shape[0]) == 0;
}

static bool make_binary_target(generation *g) {
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

static bool make_simplex(generation *g) {
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

static bool draw_labels(generation *g, lg_label_draft *draft) {
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
static bool start_draft(generation *g, lg_label_draft *draft) {
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

static bool inject_into_labels(generation *g, lg_label_draft *draft) {
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

static bool make_index_target(generation *g) {
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

static bool make_target(generation *g) {
    const lg_array_spec *spec = &g->spec->targets;
    lg_tensor *target = &g->batch->target;
    if (is_binary(g)) {
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

static bool make_weights(generation *g) {
    const lg_scenario *scenario = g->scenario;
    lg_batch *batch = g->batch;
    bool binary = is_binary(g);
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

static bool generate(generation *g) {
    if (!load_given(g) || !plan_rows(g)) {
        return false;
    }
    if (lg_tensor_exists(&g->batch->input)) {
        rows_of_input(g);
    }
    if (!count_rows(g) || !make_input(g) || !make_target(g) || !make_weights(g)) {
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
    generation g = {.scenario = scenario,
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
