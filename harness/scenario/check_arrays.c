// SPDX-License-Identifier: Apache-2.0
// Arrays whose keys contradict each other. What a checked call would refuse (a target of another
// shape, a weight for other than all classes) is the experiment and passes here.
#include "scenario/internal.h"

#include <math.h>
#include <stdio.h>

// Whether it is known what the elements are: of targets, indices or probabilities.
static bool knows_meaning(const lg_part *array) {
    return lg_scenario_knows(array->reader, "loss.kind") &&
           (array->place != LG_PLACE_TARGETS || lg_part_knows(array, "kind distribution"));
}

static void check_source(const lg_part *array) {
    static const char *const sources[] = {"values", "file", "distribution", "uniform"};
    const char *first = NULL;
    for (int i = 0; i < 4; i++) {
        if (lg_part_has(array, sources[i]) && first) {
            lg_part_error(array, sources[i], "%s has both %s and %s; want one of them", array->path,
                          first, sources[i]);
        } else if (lg_part_has(array, sources[i])) {
            first = sources[i];
        }
    }
    bool listed = lg_part_has(array, "values") || lg_part_has(array, "file");
    static const char *const drawn[] = {"scale", "lo", "hi", "value"};
    for (int i = 0; listed && i < 4; i++) {
        if (lg_part_has(array, drawn[i])) {
            lg_part_error(array, drawn[i],
                          "%s.%s belongs to a generated array, but the elements are listed",
                          array->path, drawn[i]);
        }
    }
    if (array->place == LG_PLACE_WEIGHT && !first && array->spec->source == LG_ARRAY_GENERATED) {
        lg_scenario_error(array->reader, array->path,
                          "%s says no numbers; want uniform, values or file", array->path);
    }
    if (lg_part_has(array, "shape") && !lg_part_has(array, "values")) {
        lg_part_key_error(array, "shape", "belongs to values; %s",
                          lg_part_has(array, "file") ? "a file has its own"
                                                     : "a generated array has that of the batch");
    }
}

static void check_shape(const lg_part *array) {
    const lg_array_spec *spec = array->spec;
    if (!lg_part_has(array, "shape") || spec->source != LG_ARRAY_VALUES ||
        !lg_part_knows(array, "shape values")) {
        return;
    }
    if (spec->shape.n > LG_MAX_RANK) {
        lg_part_key_error(array, "shape", "has %lld dimensions; at most %d",
                          (long long)spec->shape.n, LG_MAX_RANK);
        return;
    }
    int64_t product = 1;
    bool overflow = false;
    for (int64_t i = 0; i < spec->shape.n; i++) {
        overflow |= __builtin_mul_overflow(product, spec->shape.items[i], &product);
    }
    if (overflow || product != spec->values.n) {
        lg_str shape = {0};
        lg_yaml_flow(lg_yaml_at(array->reader->root, lg_part_key(array, "shape")), &shape);
        lg_part_key_error(array, "shape", "%.80s does not hold the %lld numbers of values",
                          lg_str_text(&shape), (long long)spec->values.n);
        lg_str_free(&shape);
    }
}

enum { MAX_WRONG_VALUES = 20 };

// Numbers that the element type cannot hold would silently become others.
static void check_values(const lg_part *array) {
    const lg_array_spec *spec = array->spec;
    if (spec->source != LG_ARRAY_VALUES || lg_dtype_is_float(spec->dtype) ||
        !knows_meaning(array) || !lg_part_knows(array, "dtype values") ||
        !lg_scenario_knows(array->reader, "batch.logits.dtype")) {
        return;
    }
    const char *values = lg_yaml_at(array->reader->root, lg_part_key(array, "values"))
                             ? lg_part_key(array, "values")
                             : array->path;
    int n_wrong = 0;
    for (int64_t i = 0; i < spec->values.n && n_wrong < MAX_WRONG_VALUES; i++) {
        double value = spec->values.items[i];
        const char *item =
            lg_arena_printf(array->reader->binder.scratch, "%s.%lld", values, (long long)i);
        if (!spec->values_are_integers && !(value == trunc(value) && fabs(value) < 0x1p63)) {
            lg_scenario_error(array->reader, item,
                              "%s: %g is no %s; floating-point class indices need a floating dtype",
                              values, value, lg_dtype_name(spec->dtype));
            n_wrong++;
            continue;
        }
        int64_t whole = spec->values_are_integers ? spec->int_values.items[i] : (int64_t)value;
        if (!lg_dtype_holds(spec->dtype, whole)) {
            lg_scenario_error(array->reader, item, "%s: %lld does not fit %s", values,
                              (long long)whole, lg_dtype_name(spec->dtype));
            n_wrong++;
        }
    }
}

static int64_t rank_of(const lg_part *array) {
    const lg_scenario *scenario = array->reader->scenario;
    const lg_batch_spec *batch = &scenario->batch;
    const lg_array_spec *spec = array->spec;
    if (spec->source != LG_ARRAY_GENERATED) {
        bool flat = spec->source == LG_ARRAY_VALUES && spec->shape.n == 0 && !spec->scalar;
        return flat ? 1 : spec->shape.n;
    }
    if (array->place == LG_PLACE_WEIGHT) {
        return -1; // follows the input in ways that the generator knows
    }
    bool binary = lg_loss_is_binary(scenario->loss.kind);
    bool class_axis =
        binary ? batch->classes > 1 : array->place == LG_PLACE_LOGITS || spec->probabilities;
    return !batch->unbatched + class_axis + batch->extent.n;
}

static void check_stride(const lg_part *array) {
    bool known = knows_meaning(array) && lg_part_knows(array, "stride shape values file") &&
                 lg_scenario_knows_sizes(array->reader);
    int64_t rank = known ? rank_of(array) : -1;
    if (lg_part_has(array, "stride") && rank >= 0 && array->spec->stride.n != rank) {
        lg_part_key_error(array, "stride", "has %lld numbers, but the array has %lld dimensions",
                          (long long)array->spec->stride.n, (long long)rank);
    } else if (lg_part_has(array, "stride") && rank >= 0) {
        lg_scenario_check_reach(array, rank);
    } else if (array->place == LG_PLACE_WEIGHT && lg_part_knows(array, "stride")) {
        lg_scenario_check_weight_reach(array);
    }
}

static bool distribution_fits(const lg_part *array) {
    const lg_array_spec *spec = array->spec;
    bool binary = lg_loss_is_binary(array->reader->scenario->loss.kind);
    bool logits = array->place == LG_PLACE_LOGITS;
    bool labels = !logits && !spec->probabilities;
    switch (spec->distribution) {
    case LG_DIST_NORMAL:
        return logits;
    case LG_DIST_UNIFORM:
    case LG_DIST_CONSTANT:
        return logits || labels || binary;
    case LG_DIST_DEFAULT:
        return true;
    case LG_DIST_ROUND_ROBIN:
    case LG_DIST_ZIPF:
        return labels;
    case LG_DIST_SIMPLEX:
        return !logits && !labels && !binary;
    }
    return false;
}

static void check_parameter(const lg_part *array, const char *name, lg_distribution owner,
                            bool meaningful) {
    if (lg_part_has(array, name) && (array->spec->distribution != owner || !meaningful)) {
        lg_part_error(array, name, "%s.%s has no meaning here: %s is %s", array->path, name,
                      meaningful ? "the distribution" : "what is drawn",
                      meaningful ? lg_distribution_name(array->spec->distribution)
                                 : "a class of the batch");
    }
}

static void check_distribution(const lg_part *array) {
    const lg_array_spec *spec = array->spec;
    if (spec->source != LG_ARRAY_GENERATED || array->place == LG_PLACE_WEIGHT ||
        !knows_meaning(array) || !lg_part_knows(array, "distribution")) {
        return;
    }
    bool labels = array->place == LG_PLACE_TARGETS && !spec->probabilities;
    if (!distribution_fits(array)) {
        lg_part_key_error(array, "distribution", "is %s, which does not give %s",
                          lg_distribution_name(spec->distribution),
                          labels                             ? "class indices"
                          : array->place == LG_PLACE_TARGETS ? "such probabilities"
                                                             : "logits");
    }
    check_parameter(array, "scale", LG_DIST_NORMAL, true);
    check_parameter(array, "lo", LG_DIST_UNIFORM, !labels);
    check_parameter(array, "hi", LG_DIST_UNIFORM, !labels);
    check_parameter(array, "value", LG_DIST_CONSTANT, true);
    if (spec->distribution == LG_DIST_UNIFORM && !labels && lg_part_knows(array, "lo hi") &&
        !(spec->lo < spec->hi)) {
        lg_part_error(array, lg_part_has(array, "hi") ? "hi" : "lo",
                      "%s: lo is %g and hi is %g; want lo below hi", array->path, spec->lo,
                      spec->hi);
    }
    if (spec->distribution == LG_DIST_CONSTANT && labels && lg_part_knows(array, "value") &&
        !(spec->lo == trunc(spec->lo) && fabs(spec->lo) < 0x1p63)) {
        lg_part_key_error(array, "value", "is %g; want a class index", spec->lo);
    }
}

static void check_dtype(const lg_part *array) {
    const lg_array_spec *spec = array->spec;
    const lg_loss_options *loss = &array->reader->scenario->loss;
    bool floating = lg_dtype_is_float(spec->dtype);
    bool typed = lg_part_knows(array, "dtype file") &&
                 lg_scenario_knows(array->reader, "batch.logits.dtype");
    bool meaning = knows_meaning(array);
    if (array->place == LG_PLACE_TARGETS && meaning && typed && spec->probabilities && !floating) {
        lg_part_error(array, "dtype",
                      "%s are probabilities, but their dtype is %s; want a floating one",
                      array->path, lg_dtype_name(spec->dtype));
    }
    bool drawn = spec->source == LG_ARRAY_GENERATED;
    if (array->place != LG_PLACE_TARGETS && typed && drawn && !floating) {
        lg_part_key_error(array, "dtype", "is %s; want a floating one", lg_dtype_name(spec->dtype));
    }
    if (array->place != LG_PLACE_TARGETS || !meaning) {
        return;
    }
    if (spec->probabilities && loss->kind == LG_NLL_LOSS) {
        lg_part_error(array, lg_part_has(array, "kind") ? "kind" : "distribution",
                      "%s are probabilities, but nll_loss takes class indices", array->path);
    }
    if (!spec->probabilities && lg_loss_is_binary(loss->kind)) {
        lg_part_key_error(array, "kind", "is indices, but %s takes probabilities",
                          lg_loss_kind_name(loss->kind));
    }
}

// Sizes given beside listed arrays must be theirs; a mismatch that is meant is written as a shape.
static void check_listed_sizes(lg_scenario_reader *reader) {
    const lg_batch_spec *batch = &reader->scenario->batch;
    const lg_array_spec *logits = &batch->logits;
    const lg_array_spec *targets = &batch->targets;
    bool binary = lg_loss_is_binary(reader->scenario->loss.kind);
    if (!lg_scenario_knows_sizes(reader) ||
        !lg_scenario_knows(reader, "batch.logits.values batch.logits.file batch.logits.shape "
                                   "batch.targets.values batch.targets.kind "
                                   "batch.targets.distribution")) {
        return;
    }
    if (logits->source == LG_ARRAY_VALUES || logits->source == LG_ARRAY_FILE) {
        int64_t n = logits->shape.n  ? logits->shape.items[0]
                    : logits->scalar ? 1
                                     : logits->values.n;
        bool has_samples = !batch->unbatched && (binary || logits->shape.n > 1);
        if (has_samples && n != batch->samples) {
            lg_scenario_error(reader, "batch.samples",
                              "batch.samples is %lld, but the listed logits have %lld",
                              (long long)batch->samples, (long long)n);
        }
        int64_t first = batch->unbatched || (binary && batch->classes == 1) ? 1 : 2;
        bool same = batch->extent.n == (logits->shape.n > first ? logits->shape.n - first : 0);
        for (int64_t i = 0; same && i < batch->extent.n; i++) {
            same = batch->extent.items[i] == logits->shape.items[first + i];
        }
        if (!same) {
            lg_scenario_error(reader, "batch.extent",
                              "batch.extent is not that of the listed logits");
        }
    }
    int64_t rows = batch->samples;
    for (int64_t i = 0; i < batch->extent.n; i++) {
        if (__builtin_mul_overflow(rows, batch->extent.items[i], &rows)) {
            return; // reported by the size check
        }
    }
    bool flat = targets->source == LG_ARRAY_VALUES && targets->shape.n == 0 && !targets->scalar;
    if (flat && !targets->probabilities && targets->values.n != rows) {
        lg_scenario_error(reader, "batch.targets.values",
                          "batch.targets.values has %lld labels for %lld rows; give the shape too "
                          "if that is meant",
                          (long long)targets->values.n, (long long)rows);
    }
}

void lg_scenario_check_arrays(lg_scenario_reader *reader) {
    lg_scenario *scenario = reader->scenario;
    const lg_part arrays[] = {
        {reader, "batch.logits", &scenario->batch.logits, LG_PLACE_LOGITS, NULL},
        {reader, "batch.targets", &scenario->batch.targets, LG_PLACE_TARGETS, NULL},
        {reader, "loss.weight", &scenario->weight, LG_PLACE_WEIGHT, NULL},
        {reader, "loss.pos_weight", &scenario->pos_weight, LG_PLACE_WEIGHT, NULL},
        {reader, "loss.grad_output", &scenario->grad_output, LG_PLACE_WEIGHT, NULL},
    };
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        if (arrays[i].spec->source == LG_ARRAY_ABSENT) {
            continue;
        }
        check_source(&arrays[i]);
        check_shape(&arrays[i]);
        check_values(&arrays[i]);
        check_stride(&arrays[i]);
        check_distribution(&arrays[i]);
        check_dtype(&arrays[i]);
    }
    check_listed_sizes(reader);
}
