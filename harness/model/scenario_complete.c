// SPDX-License-Identifier: Apache-2.0
// What follows from the keys that were given: dtypes, sizes of listed arrays, the faults' defaults.
#include "model/scenario_tables.h"

#include <string.h>

bool lg_loss_is_binary(lg_loss_kind kind) {
    return kind == LG_BCE || kind == LG_BCE_WITH_LOGITS;
}

static bool is_listed(const lg_array_spec *spec) {
    return spec->source == LG_ARRAY_VALUES || spec->source == LG_ARRAY_FILE;
}

// The shape of a listed array; `values` without a shape are one dimension.
static lg_i64_list listed_shape(const lg_array_spec *spec, int64_t *length) {
    if (spec->source == LG_ARRAY_VALUES && spec->shape.n == 0) {
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

// Sizes that the file does not give are those of an array in it. `class_axis`: the array has one.
static void take_sizes(lg_scenario_reader *reader, lg_i64_list shape, bool class_axis) {
    lg_batch_spec *batch = &reader->scenario->batch;
    lg_arena *arena = reader->binder.arena;
    bool unbatched = class_axis ? shape.n == 1 : shape.n == 0;
    if (unbatched && !lg_scenario_has(reader, "batch.unbatched") &&
        !lg_scenario_has(reader, "batch.samples") && class_axis) {
        batch->unbatched = true;
    }
    int64_t class_index = batch->unbatched ? 0 : 1;
    if (!lg_scenario_has(reader, "batch.samples")) {
        batch->samples = batch->unbatched || shape.n == 0 ? 1 : shape.items[0];
    }
    if (class_axis && !lg_scenario_has(reader, "batch.classes") && shape.n > class_index &&
        shape.items[class_index] > 0) {
        batch->classes = shape.items[class_index];
    }
    if (!lg_scenario_has(reader, "batch.extent")) {
        batch->extent = tail(arena, shape, class_axis ? class_index + 1 : 1);
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
    int64_t length;
    if (is_listed(&batch->logits)) {
        take_sizes(reader, listed_shape(&batch->logits, &length), !binary);
    } else if (is_listed(&batch->targets)) {
        take_sizes(reader, listed_shape(&batch->targets, &length),
                   !binary && batch->targets.probabilities);
    }
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
    if (generated && targets->distribution == LG_DIST_DEFAULT) {
        targets->distribution =
            targets->probabilities && !binary ? LG_DIST_SIMPLEX : LG_DIST_UNIFORM;
    }
    complete_generated(reader, targets, LG_PLACE_TARGETS);
    if (targets->dtype == LG_DTYPE_NONE) {
        targets->dtype = targets->probabilities ? scenario->batch.logits.dtype : LG_INT64;
    }
}

static void complete_fault(lg_scenario_reader *reader, lg_fault_spec *fault, int index) {
    const lg_batch_spec *batch = &reader->scenario->batch;
    lg_arena *arena = reader->binder.scratch;
    size_t n_forms;
    const char *const *forms = lg_fault_forms(fault->kind, &n_forms);
    if (!fault->where && n_forms) {
        fault->where = forms[0];
    }
    const char *rows = lg_arena_printf(arena, "faults.%d.rows", index);
    const char *fraction = lg_arena_printf(arena, "faults.%d.fraction", index);
    bool sized = lg_scenario_has(reader, rows) || lg_scenario_has(reader, fraction);
    if (fault->count == 0 && !sized) {
        fault->count = 1;
    }
    if (fault->kind == LG_CAUSE_WRONG_HEAD_WIDTH && fault->head_width == 0) {
        fault->head_width = batch->classes > 1 ? batch->classes - 1 : 1;
    }
    if (fault->dtype == LG_DTYPE_NONE && fault->kind == LG_CAUSE_FLOAT_TARGETS) {
        fault->dtype = LG_FLOAT32;
    }
    if (fault->dtype == LG_DTYPE_NONE && fault->kind == LG_CAUSE_TARGET_DTYPE) {
        fault->dtype = LG_INT32;
    }
    const char *number = lg_arena_printf(arena, "faults.%d.number", index);
    if (!lg_scenario_has(reader, number)) {
        bool range = fault->kind == LG_CAUSE_BCE_RANGE || fault->kind == LG_CAUSE_VALUE_DOMAIN;
        bool negative = fault->where && strcmp(fault->where, "negative") == 0;
        fault->number = negative ? -0.25 : range ? 1.5 : __builtin_nan("");
    }
}

void lg_scenario_complete(lg_scenario_reader *reader) {
    lg_scenario *scenario = reader->scenario;
    lg_array_spec *logits = &scenario->batch.logits;
    bool generated = logits->source == LG_ARRAY_ABSENT || logits->source == LG_ARRAY_GENERATED;
    if (generated && logits->distribution == LG_DIST_DEFAULT) {
        logits->distribution = LG_DIST_NORMAL;
    }
    complete_generated(reader, logits, LG_PLACE_LOGITS);
    if (logits->dtype == LG_DTYPE_NONE) {
        logits->dtype = LG_FLOAT32;
    }
    complete_targets(reader);
    complete_sizes(reader);
    lg_array_spec *vectors[] = {&scenario->weight, &scenario->pos_weight, &scenario->grad_output};
    for (int i = 0; i < 3; i++) {
        if (vectors[i]->source != LG_ARRAY_ABSENT && vectors[i]->dtype == LG_DTYPE_NONE) {
            vectors[i]->dtype = logits->dtype;
        }
    }
    for (int i = 0; i < scenario->n_faults; i++) {
        complete_fault(reader, &scenario->faults[i], i);
    }
    scenario->expect.has_cause = lg_scenario_has(reader, "expect.cause");
    scenario->expect.has_verdict = lg_scenario_has(reader, "expect.verdict");
    scenario->expect.has_rows = lg_scenario_has(reader, "expect.rows");
    scenario->expect.has_attribution = lg_scenario_has(reader, "expect.attribution");
}
