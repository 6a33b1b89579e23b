// SPDX-License-Identifier: Apache-2.0
// Faults that could not fire on their batch, or whose keys contradict each other.
#include "scenario/internal.h"

#include <math.h>
#include <string.h>

typedef struct fault_check {
    lg_scenario_reader *reader;
    const lg_scenario *scenario;
    const lg_fault_spec *fault;
    int index;
} fault_check;

static const char *key(const fault_check *check, const char *name) {
    return lg_arena_printf(check->reader->binder.scratch, "faults.%d.%s", check->index, name);
}

static bool has(const fault_check *check, const char *name) {
    return lg_scenario_has(check->reader, key(check, name));
}

static bool knows(const fault_check *check, const char *name) {
    return lg_scenario_knows(check->reader, key(check, name));
}

static bool knows_data(const fault_check *check, const char *paths) {
    return lg_scenario_knows(check->reader, paths);
}

int64_t lg_scenario_rows(lg_scenario_reader *reader) {
    const lg_scenario *scenario = reader->scenario;
    if (!lg_scenario_knows_sizes(reader)) {
        return -1;
    }
    int64_t rows = scenario->batch.samples;
    if (lg_loss_is_binary(scenario->loss.kind) &&
        __builtin_mul_overflow(rows, scenario->batch.classes, &rows)) {
        return -1;
    }
    for (int64_t i = 0; i < scenario->batch.extent.n; i++) {
        if (__builtin_mul_overflow(rows, scenario->batch.extent.items[i], &rows)) {
            return -1;
        }
    }
    return rows;
}

static void check_rows(const fault_check *check) {
    const lg_fault_spec *fault = check->fault;
    int64_t n_rows = lg_scenario_rows(check->reader);
    bool all_known = knows(check, "rows") && knows(check, "count") && knows(check, "fraction");
    if (all_known && has(check, "rows") + has(check, "count") + has(check, "fraction") > 1) {
        const char *second = has(check, "fraction") ? "fraction" : "count";
        lg_scenario_error(check->reader, key(check, second),
                          "%s gives more than one of rows, count and fraction",
                          lg_cause_name(fault->kind));
    }
    bool listed = knows(check, "rows");
    if (listed && has(check, "rows") && fault->rows.n == 0) {
        lg_scenario_error(check->reader, key(check, "rows"),
                          "%s is empty: the fault could not fire", key(check, "rows"));
    }
    for (int64_t i = 0; listed && i < fault->rows.n; i++) {
        const char *item = lg_arena_printf(check->reader->binder.scratch, "%s.%lld",
                                           key(check, "rows"), (long long)i);
        if (n_rows >= 0 && fault->rows.items[i] >= n_rows) {
            lg_scenario_error(check->reader, item, "row %lld is not in the batch, which has %lld",
                              (long long)fault->rows.items[i], (long long)n_rows);
        }
        for (int64_t k = 0; i < 1000 && k < i; k++) {
            if (fault->rows.items[k] == fault->rows.items[i]) {
                lg_scenario_error(check->reader, item, "row %lld is listed twice",
                                  (long long)fault->rows.items[i]);
                break;
            }
        }
    }
    if (has(check, "count") && knows(check, "count") && n_rows >= 0 && fault->count > n_rows) {
        lg_scenario_error(check->reader, key(check, "count"),
                          "%s is %lld, but the batch has %lld rows", key(check, "count"),
                          (long long)fault->count, (long long)n_rows);
    }
    if (has(check, "fraction") && knows(check, "fraction") && fault->fraction == 0) {
        lg_scenario_error(check->reader, key(check, "fraction"),
                          "%s is 0: the fault could not fire", key(check, "fraction"));
    }
}

static void check_values(const fault_check *check) {
    const lg_fault_spec *fault = check->fault;
    int64_t ignored = check->scenario->loss.ignore_index;
    bool has_ignored = knows_data(check, "loss.ignore_index");
    if (!knows(check, "values")) {
        return;
    }
    for (int64_t i = 0; i < fault->values.n; i++) {
        const char *item = lg_arena_printf(check->reader->binder.scratch, "%s.%lld",
                                           key(check, "values"), (long long)i);
        int64_t value = fault->values.items[i];
        if (has_ignored && value == ignored) {
            lg_scenario_error(check->reader, item,
                              "%lld is loss.ignore_index: such a row is ignored, not faulty",
                              (long long)value);
        } else if (fault->kind == LG_CAUSE_NEGATIVE_LABELS && value >= 0) {
            lg_scenario_error(check->reader, item, "%lld is not a negative label",
                              (long long)value);
        }
    }
    if (has(check, "values") && fault->values.n == 0) {
        lg_scenario_error(check->reader, key(check, "values"), "%s is empty", key(check, "values"));
    }
}

static void check_head_width(const fault_check *check) {
    int64_t width = check->fault->head_width;
    int64_t classes = check->scenario->batch.classes;
    if (knows(check, "head_width") && lg_scenario_knows_sizes(check->reader) && width >= classes) {
        lg_scenario_error(check->reader, key(check, "head_width"),
                          "the head width %lld is not below the %lld classes of the data; are the "
                          "two swapped?",
                          (long long)width, (long long)classes);
    }
    if (knows_data(check, "batch.logits") &&
        check->scenario->batch.logits.source != LG_ARRAY_GENERATED) {
        lg_scenario_error(check->reader, key(check, "kind"),
                          "wrong_head_width is injected into generated logits; with listed ones, "
                          "give batch.classes");
    }
}

static void check_float_targets(const fault_check *check) {
    const lg_fault_spec *fault = check->fault;
    if (!knows(check, "form")) {
        return;
    }
    bool has_bits = fault->dtype == LG_FLOAT32 || fault->dtype == LG_FLOAT64;
    bool typed = knows(check, "dtype");
    if (typed &&
        (!lg_dtype_is_float(fault->dtype) || (fault->form == LG_FLOAT_BITS && !has_bits))) {
        lg_scenario_error(check->reader, key(check, "dtype"), "%s is %s; want %s",
                          key(check, "dtype"), lg_dtype_name(fault->dtype),
                          fault->form == LG_FLOAT_BITS ? "float32 or float64 for form bits"
                                                       : "a floating dtype");
    }
    if (has(check, "number") && knows(check, "number") &&
        !(fault->number > 0 && fault->number < 1)) {
        lg_scenario_error(check->reader, key(check, "number"),
                          "%s is %g; the fraction of a label lies between 0 and 1",
                          key(check, "number"), fault->number);
    }
    bool some_rows = fault->form == LG_FLOAT_TRUNCATED ||
                     (fault->form == LG_FLOAT_REFUSED && has(check, "number"));
    static const char *const sizes[] = {"rows", "count", "fraction"};
    for (int i = 0; i < 3; i++) {
        if (!some_rows && has(check, sizes[i])) {
            lg_scenario_error(check->reader, key(check, sizes[i]),
                              "%s has no meaning: form %s concerns every row", key(check, sizes[i]),
                              lg_float_form_name(fault->form));
        }
    }
}

static void check_target_dtype(const fault_check *check) {
    if (!knows(check, "where")) {
        return;
    }
    bool wraps = strcmp(check->fault->where, "int32_wrap") == 0;
    static const char *const keys[] = {"rows", "count", "fraction", "values"};
    for (int i = 0; i < 4; i++) {
        if (!wraps && has(check, keys[i])) {
            lg_scenario_error(check->reader, key(check, keys[i]),
                              "%s has no meaning: only where: int32_wrap writes single labels",
                              key(check, keys[i]));
        }
    }
    bool refused = strcmp(check->fault->where, "refused") == 0;
    if (!refused && has(check, "dtype")) {
        lg_scenario_error(check->reader, key(check, "dtype"),
                          "%s has no meaning: only where: refused takes it", key(check, "dtype"));
    }
}

// A number of 0 is how the generator sees that none is given, and 0 is no fault of these kinds.
static void check_number(const fault_check *check) {
    const lg_fault_spec *fault = check->fault;
    if (!has(check, "number") || !knows(check, "number")) {
        return;
    }
    bool finite = isfinite(fault->number);
    if (fault->kind == LG_CAUSE_NONFINITE_LOGITS && finite) {
        lg_scenario_error(check->reader, key(check, "number"), "%s is %g; want .nan, .inf or -.inf",
                          key(check, "number"), fault->number);
    } else if (fault->kind == LG_CAUSE_BCE_RANGE && fault->number >= 0 && fault->number <= 1) {
        lg_scenario_error(check->reader, key(check, "number"), "%s is %g, which is within [0, 1]",
                          key(check, "number"), fault->number);
    } else if (fault->kind == LG_CAUSE_WEIGHT_VECTOR && finite && fault->number >= 0) {
        lg_scenario_error(check->reader, key(check, "number"),
                          "%s is %g, a valid weight; want a negative or non-finite one",
                          key(check, "number"), fault->number);
    } else if (fault->kind == LG_CAUSE_VALUE_DOMAIN && fault->number == 0) {
        lg_scenario_error(check->reader, key(check, "number"), "%s is 0: the fault could not fire",
                          key(check, "number"));
    }
}

static void check_weight_vector(const fault_check *check) {
    int given = has(check, "length") + has(check, "dtype") + has(check, "number");
    if (given != 1) {
        lg_scenario_error(check->reader, key(check, "kind"),
                          "weight_vector takes one of length, dtype and number, not %d of them",
                          given);
    }
    if (has(check, "length") && knows(check, "length") && lg_scenario_knows_sizes(check->reader) &&
        check->fault->length == check->scenario->batch.classes) {
        lg_scenario_error(check->reader, key(check, "length"),
                          "%s is %lld, which is right for %lld classes", key(check, "length"),
                          (long long)check->fault->length,
                          (long long)check->scenario->batch.classes);
    }
    if (has(check, "dtype") && knows(check, "dtype") && knows_data(check, "batch.logits.dtype") &&
        check->fault->dtype == check->scenario->batch.logits.dtype) {
        lg_scenario_error(check->reader, key(check, "dtype"),
                          "%s is %s, which is right: that of the logits", key(check, "dtype"),
                          lg_dtype_name(check->fault->dtype));
    }
}

static void check_shape_layout(const fault_check *check) {
    if (!knows(check, "where")) {
        return;
    }
    bool given = strcmp(check->fault->where, "given") == 0;
    if (given != has(check, "shape")) {
        lg_scenario_error(check->reader, key(check, given ? "where" : "shape"),
                          given ? "shape_layout with where: given needs a shape"
                                : "shape_layout takes a shape only with where: given");
    }
    if (strcmp(check->fault->where, "spatial") == 0 && lg_scenario_knows_sizes(check->reader) &&
        check->scenario->batch.extent.n == 0) {
        lg_scenario_error(check->reader, key(check, "where"),
                          "%s is spatial, but batch.extent has no dimension", key(check, "where"));
    }
    if (knows(check, "shape") && check->fault->shape.n > LG_MAX_RANK) {
        lg_scenario_error(check->reader, key(check, "shape"), "%s has %lld dimensions; at most %d",
                          key(check, "shape"), (long long)check->fault->shape.n, LG_MAX_RANK);
    }
}

// What a fault needs of the loss it is injected into.
typedef enum need {
    ANY,
    LABELS,
    LABELS_UNLESS_REFUSED,
    CLASSES,
    BINARY,
    INPUT_OR_PROBABILITIES,
    LOG_OR_PROBABILITIES
} need;

static need need_of(lg_cause kind) {
    switch (kind) {
    case LG_CAUSE_ONE_BASED_LABELS:
    case LG_CAUSE_OVER_SHIFTED_LABELS:
    case LG_CAUSE_LABEL_EQUALS_WIDTH:
    case LG_CAUSE_NEGATIVE_LABELS:
    case LG_CAUSE_SENTINEL_MISMATCH:
    case LG_CAUSE_FLOAT_TARGETS:
    case LG_CAUSE_CORRUPT_LABELS:
    case LG_CAUSE_WRONG_HEAD_WIDTH:
        return LABELS;
    case LG_CAUSE_TARGET_DTYPE:
        return LABELS_UNLESS_REFUSED;
    case LG_CAUSE_NO_SUPERVISED_ROW:
        return CLASSES;
    case LG_CAUSE_BCE_RANGE:
        return BINARY;
    case LG_CAUSE_NONFINITE_LOGITS:
        return INPUT_OR_PROBABILITIES;
    case LG_CAUSE_VALUE_DOMAIN:
        return LOG_OR_PROBABILITIES;
    case LG_CAUSE_SHAPE_LAYOUT:
    case LG_CAUSE_WEIGHT_VECTOR:
    case LG_CAUSE_NONE:
    case LG_CAUSE_MISSING_CHECK:
    case LG_CAUSE_OFF_BY_ONE_CHECK:
    case LG_CAUSE_INDEX_OVERFLOW:
    case LG_CAUSE_STRIDES_IGNORED:
    case LG_CAUSE_OPTION_INTERPLAY:
    case LG_CAUSE_PRECISION:
    case LG_CAUSE_NUMERICAL_STABILITY:
    case LG_CAUSE_PADDED_LANES:
    case LG_CAUSE_GRADIENT_CONTRACT:
    case LG_CAUSE_SHARD_STATISTICS:
    case LG_CAUSE_RACE:
    case LG_CAUSE_BAD_BARRIER:
    case LG_CAUSE_UNWRITTEN_OUTPUT:
    case LG_CAUSE_INPUT_OVERWRITTEN:
    case LG_CAUSE_WRONG_NORMALISATION:
    case LG_N_CAUSES:
        break;
    }
    return ANY;
}

static bool is_at(const lg_fault_spec *fault, const char *where) {
    return fault->where && strcmp(fault->where, where) == 0;
}

static const char *missing_need(const fault_check *check) {
    bool binary = lg_loss_is_binary(check->scenario->loss.kind);
    bool probabilities = check->scenario->batch.targets.probabilities;
    bool on_target = is_at(check->fault, "target");
    bool of_input = is_at(check->fault, "probabilities") || is_at(check->fault, "logits");
    switch (need_of(check->fault->kind)) {
    case ANY:
        return NULL;
    case LABELS:
        return binary || probabilities ? "needs class labels as targets" : NULL;
    case LABELS_UNLESS_REFUSED:
        if (is_at(check->fault, "refused")) {
            return NULL;
        }
        return binary || probabilities ? "needs class labels as targets in this form" : NULL;
    case CLASSES:
        return binary ? "needs a loss over classes" : NULL;
    case BINARY:
        if (!on_target && check->scenario->loss.kind != LG_BCE) {
            return "needs binary_cross_entropy in this form";
        }
        return binary ? NULL : "needs a binary cross-entropy";
    case INPUT_OR_PROBABILITIES:
        return on_target && !probabilities ? "needs probabilities as targets" : NULL;
    case LOG_OR_PROBABILITIES:
        if (of_input) {
            return check->scenario->loss.kind != LG_NLL_LOSS ? "needs nll_loss in this form" : NULL;
        }
        return binary || !probabilities ? "needs class probabilities as targets in this form"
                                        : NULL;
    }
    return NULL;
}

static void check_fault(const fault_check *check) {
    bool known = knows(check, "where") && knows_data(check, "loss.kind batch.targets.kind "
                                                            "batch.targets.distribution");
    const char *missing = known ? missing_need(check) : NULL;
    if (missing) {
        lg_scenario_error(check->reader, key(check, "kind"), "%s %s",
                          lg_cause_name(check->fault->kind), missing);
    }
    check_rows(check);
    check_values(check);
    check_number(check);
    if (check->fault->kind == LG_CAUSE_WRONG_HEAD_WIDTH) {
        check_head_width(check);
    } else if (check->fault->kind == LG_CAUSE_FLOAT_TARGETS) {
        check_float_targets(check);
    } else if (check->fault->kind == LG_CAUSE_WEIGHT_VECTOR) {
        check_weight_vector(check);
    } else if (check->fault->kind == LG_CAUSE_TARGET_DTYPE) {
        check_target_dtype(check);
    } else if (check->fault->kind == LG_CAUSE_SHAPE_LAYOUT) {
        check_shape_layout(check);
    }
}

void lg_scenario_check_faults(lg_scenario_reader *reader) {
    for (int i = 0; i < reader->scenario->n_faults; i++) {
        const fault_check check = {reader, reader->scenario, &reader->scenario->faults[i], i};
        if (check.fault->kind != LG_CAUSE_NONE) {
            check_fault(&check);
        }
    }
    lg_scenario_check_contradictions(reader);
}
