// SPDX-License-Identifier: Apache-2.0
// What follows from the keys that were given: dtypes, sizes of listed arrays, the faults' defaults.
#include "scenario/internal.h"

#include <string.h>

bool lg_loss_is_binary(lg_loss_kind kind) {
    return kind == LG_BCE || kind == LG_BCE_WITH_LOGITS;
}

static bool is_listed(const lg_array_spec *spec) {
    return spec->source == LG_ARRAY_VALUES || spec->source == LG_ARRAY_FILE;
}

// The shape of a listed array; `values` without a shape are one dimension.
static lg_i64_list listed_shape(const lg_array_spec *spec, int64_t *length) {
    if (spec->source == LG_ARRAY_VALUES && spec->shape.n == 0 && !spec->scalar) {
        *length = spec->values.n;
        return (lg_i64_list){1, length};
    }
    return spec->shape;
}

static lg_i64_list tail(lg_arena *arena, lg_i64_list shape, int64_t from) {
    lg_i64_list rest = {0};
    if (shape.n > from) {
        rest.n = shape.n - from;
        rest.items = lg_arena_array(arena, (size_t)rest.n, sizeof(int64_t));
        memcpy(rest.items, shape.items + from, (size_t)rest.n * sizeof(int64_t));
    }
    return rest;
}

// Sizes that the file does not give are those of an array in it, whose class axis is the first or
// second one (-1: it has none).
static void take_sizes(lg_scenario_reader *reader, lg_i64_list shape, int class_axis) {
    lg_batch_spec *batch = &reader->scenario->batch;
    if (!lg_scenario_has(reader, "batch.samples")) {
        batch->samples = batch->unbatched || shape.n == 0 ? 1 : shape.items[0];
    }
    if (class_axis >= 0 && !lg_scenario_has(reader, "batch.classes") && shape.n > class_axis &&
        shape.items[class_axis] > 0) {
        batch->classes = shape.items[class_axis];
    }
    if (!lg_scenario_has(reader, "batch.extent")) {
        batch->extent = tail(reader->binder.arena, shape, class_axis >= 0 ? class_axis + 1 : 1);
    }
}

static void complete_sizes(lg_scenario_reader *reader) {
    lg_scenario *scenario = reader->scenario;
    lg_batch_spec *batch = &scenario->batch;
    bool binary = lg_loss_is_binary(scenario->loss.kind);
    batch->samples = lg_scenario_has(reader, "batch.samples") ? batch->samples
                     : batch->unbatched                       ? 1
                                                              : 64;
    if (!lg_scenario_has(reader, "batch.classes")) {
        batch->classes = binary ? 1 : 10;
    }
    bool logits = is_listed(&batch->logits);
    if (!logits && !is_listed(&batch->targets)) {
        return;
    }
    int64_t length;
    lg_i64_list shape = listed_shape(logits ? &batch->logits : &batch->targets, &length);
    bool class_axis = binary ? batch->classes > 1 : logits || batch->targets.probabilities;
    bool chosen =
        lg_scenario_has(reader, "batch.unbatched") || lg_scenario_has(reader, "batch.samples");
    if (class_axis && !binary && shape.n == 1 && !chosen) {
        batch->unbatched = true;
        batch->samples = 1;
    }
    take_sizes(reader, shape, !class_axis ? -1 : batch->unbatched ? 0 : 1);
}

static void complete_generated(lg_scenario_reader *reader, lg_array_spec *spec, lg_place place) {
    if (spec->source == LG_ARRAY_ABSENT) {
        lg_yaml_node nothing = {.kind = LG_YAML_MAP};
        lg_bind_tagged(&reader->binder, &nothing, &lg_array_table, spec, (uint32_t)place, "");
        spec->source = LG_ARRAY_GENERATED;
    }
    const char *path = place == LG_PLACE_LOGITS ? "batch.logits.hi" : "batch.targets.hi";
    if (spec->distribution == LG_DIST_UNIFORM && !lg_scenario_has(reader, path)) {
        spec->hi = spec->lo < 1 ? 1 : spec->lo + 1;
    }
}

static void complete_targets(lg_scenario_reader *reader) {
    lg_scenario *scenario = reader->scenario;
    lg_array_spec *targets = &scenario->batch.targets;
    bool binary = lg_loss_is_binary(scenario->loss.kind);
    if (!lg_scenario_has(reader, "batch.targets.kind")) {
        targets->probabilities = binary || targets->distribution == LG_DIST_SIMPLEX;
    }
    bool generated = targets->source == LG_ARRAY_ABSENT || targets->source == LG_ARRAY_GENERATED;
    // Binary targets keep the default: hard ones, 0 or 1.
    if (generated && targets->distribution == LG_DIST_DEFAULT && !binary) {
        targets->distribution = targets->probabilities ? LG_DIST_SIMPLEX : LG_DIST_UNIFORM;
    }
    complete_generated(reader, targets, LG_PLACE_TARGETS);
    targets->open_dtype =
        !targets->probabilities && !lg_scenario_has(reader, "batch.targets.dtype");
    if (targets->dtype == LG_DTYPE_NONE) {
        targets->default_dtype = targets->probabilities;
        targets->dtype = targets->probabilities ? scenario->batch.logits.dtype : LG_INT64;
    }
}

// What is left zero (count, number, other dtypes) has a default that depends on the batch; the
// generator knows it.
static void complete_fault(const lg_scenario_reader *reader, lg_fault_spec *fault) {
    const lg_batch_spec *batch = &reader->scenario->batch;
    fault->where = lg_fault_form_of(fault);
    if (fault->kind == LG_CAUSE_WRONG_HEAD_WIDTH && fault->head_width == 0) {
        fault->head_width = batch->classes > 1 ? batch->classes - 1 : 1;
    }
    if (fault->dtype == LG_DTYPE_NONE && fault->kind == LG_CAUSE_FLOAT_TARGETS) {
        fault->dtype = LG_FLOAT32;
    }
}

static bool given(lg_scenario_reader *reader, const char *path) {
    return lg_scenario_has(reader, path) && lg_scenario_knows(reader, path);
}

static void note_scalars(lg_scenario_reader *reader) {
    lg_scenario *scenario = reader->scenario;
    const struct {
        const char *path;
        lg_array_spec *spec;
    } arrays[] = {
        {"batch.logits.shape", &scenario->batch.logits},
        {"batch.targets.shape", &scenario->batch.targets},
        {"loss.weight.shape", &scenario->weight},
        {"loss.pos_weight.shape", &scenario->pos_weight},
        {"loss.grad_output.shape", &scenario->grad_output},
    };
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        arrays[i].spec->scalar = arrays[i].spec->source == LG_ARRAY_VALUES &&
                                 arrays[i].spec->shape.n == 0 && given(reader, arrays[i].path);
    }
}

void lg_scenario_complete(lg_scenario_reader *reader) {
    lg_scenario *scenario = reader->scenario;
    note_scalars(reader);
    lg_array_spec *logits = &scenario->batch.logits;
    bool generated = logits->source == LG_ARRAY_ABSENT || logits->source == LG_ARRAY_GENERATED;
    if (generated && logits->distribution == LG_DIST_DEFAULT) {
        logits->distribution = LG_DIST_NORMAL;
    }
    complete_generated(reader, logits, LG_PLACE_LOGITS);
    if (logits->dtype == LG_DTYPE_NONE) {
        logits->default_dtype = true;
        logits->dtype = LG_FLOAT32;
    }
    complete_targets(reader);
    complete_sizes(reader);
    lg_array_spec *vectors[] = {&scenario->weight, &scenario->pos_weight, &scenario->grad_output};
    for (int i = 0; i < 3; i++) {
        if (vectors[i]->source != LG_ARRAY_ABSENT && vectors[i]->dtype == LG_DTYPE_NONE) {
            vectors[i]->default_dtype = true;
            vectors[i]->dtype = logits->dtype;
        }
    }
    for (int i = 0; i < scenario->n_faults; i++) {
        complete_fault(reader, &scenario->faults[i]);
    }
    scenario->expect.has_cause = given(reader, "expect.cause");
    scenario->expect.has_verdict = given(reader, "expect.verdict");
    scenario->expect.has_rows = given(reader, "expect.rows");
    scenario->expect.has_attribution = given(reader, "expect.attribution");
}
