// SPDX-License-Identifier: Apache-2.0
// Faults that could not fire on their batch, or whose keys contradict each other.
#include "scenario/internal.h"

#include <math.h>

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

static void check_rows(const lg_part *check) {
    const lg_fault_spec *fault = check->fault;
    int64_t n_rows = lg_scenario_rows(check->reader);
    bool all_known = lg_part_knows(check, "rows count fraction");
    if (all_known &&
        lg_part_has(check, "rows") + lg_part_has(check, "count") + lg_part_has(check, "fraction") >
            1) {
        const char *second = lg_part_has(check, "fraction") ? "fraction" : "count";
        lg_part_error(check, second, "%s gives more than one of rows, count and fraction",
                      lg_cause_name(fault->kind));
    }
    bool listed = lg_part_knows(check, "rows");
    if (listed && lg_part_has(check, "rows") && fault->rows.n == 0) {
        lg_part_key_error(check, "rows", "is empty: the fault could not fire");
    }
    for (int64_t i = 0; listed && i < fault->rows.n; i++) {
        const char *item = lg_arena_printf(check->reader->binder.scratch, "%s.%lld",
                                           lg_part_key(check, "rows"), (long long)i);
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
    if (lg_part_has(check, "count") && lg_part_knows(check, "count") && n_rows >= 0 &&
        fault->count > n_rows) {
        lg_part_key_error(check, "count", "is %lld, but the batch has %lld rows",
                          (long long)fault->count, (long long)n_rows);
    }
    if (lg_part_has(check, "fraction") && lg_part_knows(check, "fraction") &&
        fault->fraction == 0) {
        lg_part_key_error(check, "fraction", "is 0: the fault could not fire");
    }
}

static void check_values(const lg_part *check) {
    const lg_fault_spec *fault = check->fault;
    int64_t ignored = check->reader->scenario->loss.ignore_index;
    bool has_ignored = lg_scenario_knows(check->reader, "loss.ignore_index");
    if (!lg_part_knows(check, "values")) {
        return;
    }
    for (int64_t i = 0; i < fault->values.n; i++) {
        const char *item = lg_arena_printf(check->reader->binder.scratch, "%s.%lld",
                                           lg_part_key(check, "values"), (long long)i);
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
    if (lg_part_has(check, "values") && fault->values.n == 0) {
        lg_part_key_error(check, "values", "is empty");
    }
}

static void check_head_width(const lg_part *check) {
    int64_t width = check->fault->head_width;
    int64_t classes = check->reader->scenario->batch.classes;
    if (lg_part_knows(check, "head_width") && lg_scenario_knows_sizes(check->reader) &&
        width >= classes) {
        lg_part_error(check, "head_width",
                      "the head width %lld is not below the %lld classes of the data; are the "
                      "two swapped?",
                      (long long)width, (long long)classes);
    }
    if (lg_scenario_knows(check->reader, "batch.logits") &&
        check->reader->scenario->batch.logits.source != LG_ARRAY_GENERATED) {
        lg_part_error(check, "kind",
                      "wrong_head_width is injected into generated logits; with listed ones, "
                      "give batch.classes");
    }
}

static void check_float_targets(const lg_part *check) {
    const lg_fault_spec *fault = check->fault;
    if (!lg_part_knows(check, "form")) {
        return;
    }
    bool has_bits = fault->dtype == LG_FLOAT32 || fault->dtype == LG_FLOAT64;
    bool typed = lg_part_knows(check, "dtype");
    if (typed &&
        (!lg_dtype_is_float(fault->dtype) || (fault->form == LG_FLOAT_BITS && !has_bits))) {
        lg_part_key_error(check, "dtype", "is %s; want %s", lg_dtype_name(fault->dtype),
                          fault->form == LG_FLOAT_BITS ? "float32 or float64 for form bits"
                                                       : "a floating dtype");
    }
    if (lg_part_has(check, "number") && lg_part_knows(check, "number") &&
        !(fault->number > 0 && fault->number < 1)) {
        lg_part_key_error(check, "number", "is %g; the fraction of a label lies between 0 and 1",
                          fault->number);
    }
    bool some_rows = fault->form == LG_FLOAT_TRUNCATED ||
                     (fault->form == LG_FLOAT_REFUSED && lg_part_has(check, "number"));
    static const char *const sizes[] = {"rows", "count", "fraction"};
    for (int i = 0; i < 3; i++) {
        if (!some_rows && lg_part_has(check, sizes[i])) {
            lg_part_key_error(check, sizes[i], "has no meaning: form %s concerns every row",
                              lg_float_form_name(fault->form));
        }
    }
}

static void check_target_dtype(const lg_part *check) {
    if (!lg_part_knows(check, "where")) {
        return;
    }
    bool wraps = check->fault->where == LG_FORM_INT32_WRAP;
    static const char *const keys[] = {"rows", "count", "fraction", "values"};
    for (int i = 0; i < 4; i++) {
        if (!wraps && lg_part_has(check, keys[i])) {
            lg_part_key_error(check, keys[i],
                              "has no meaning: only where: int32_wrap writes single labels");
        }
    }
    bool refused = check->fault->where == LG_FORM_REFUSED;
    if (!refused && lg_part_has(check, "dtype")) {
        lg_part_key_error(check, "dtype", "has no meaning: only where: refused takes it");
    }
}

// A number of 0 is how the generator sees that none is given, and 0 is no fault of these kinds.
static void check_number(const lg_part *check) {
    const lg_fault_spec *fault = check->fault;
    if (!lg_part_has(check, "number") || !lg_part_knows(check, "number")) {
        return;
    }
    bool finite = isfinite(fault->number);
    if (fault->kind == LG_CAUSE_NONFINITE_LOGITS && finite) {
        lg_part_key_error(check, "number", "is %g; want .nan, .inf or -.inf", fault->number);
    } else if (fault->kind == LG_CAUSE_BCE_RANGE && fault->number >= 0 && fault->number <= 1) {
        lg_part_key_error(check, "number", "is %g, which is within [0, 1]", fault->number);
    } else if (fault->kind == LG_CAUSE_WEIGHT_VECTOR && finite && fault->number >= 0) {
        lg_part_key_error(check, "number",
                          "is %g, a valid weight; want a negative or non-finite one",
                          fault->number);
    } else if (fault->kind == LG_CAUSE_VALUE_DOMAIN && fault->number == 0) {
        lg_part_key_error(check, "number", "is 0: the fault could not fire");
    }
}

static void check_weight_vector(const lg_part *check) {
    int given =
        lg_part_has(check, "length") + lg_part_has(check, "dtype") + lg_part_has(check, "number");
    if (given != 1) {
        lg_part_error(check, "kind",
                      "weight_vector takes one of length, dtype and number, not %d of them", given);
    }
    if (lg_part_has(check, "length") && lg_part_knows(check, "length") &&
        lg_scenario_knows_sizes(check->reader) &&
        check->fault->length == check->reader->scenario->batch.classes) {
        lg_part_key_error(check, "length", "is %lld, which is right for %lld classes",
                          (long long)check->fault->length,
                          (long long)check->reader->scenario->batch.classes);
    }
    if (lg_part_has(check, "dtype") && lg_part_knows(check, "dtype") &&
        lg_scenario_knows(check->reader, "batch.logits.dtype") &&
        check->fault->dtype == check->reader->scenario->batch.logits.dtype) {
        lg_part_key_error(check, "dtype", "is %s, which is right: that of the logits",
                          lg_dtype_name(check->fault->dtype));
    }
}

static void check_shape_layout(const lg_part *check) {
    if (!lg_part_knows(check, "where")) {
        return;
    }
    bool given = check->fault->where == LG_FORM_GIVEN;
    if (given != lg_part_has(check, "shape")) {
        lg_part_error(check, given ? "where" : "shape",
                      given ? "shape_layout with where: given needs a shape"
                            : "shape_layout takes a shape only with where: given");
    }
    if (check->fault->where == LG_FORM_SPATIAL && lg_scenario_knows_sizes(check->reader) &&
        check->reader->scenario->batch.extent.n == 0) {
        lg_part_key_error(check, "where", "is spatial, but batch.extent has no dimension");
    }
    if (lg_part_knows(check, "shape") && check->fault->shape.n > LG_MAX_RANK) {
        lg_part_key_error(check, "shape", "has %lld dimensions; at most %d",
                          (long long)check->fault->shape.n, LG_MAX_RANK);
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

static const need needs[LG_N_CAUSES] = {
    [LG_CAUSE_ONE_BASED_LABELS] = LABELS,
    [LG_CAUSE_OVER_SHIFTED_LABELS] = LABELS,
    [LG_CAUSE_LABEL_EQUALS_WIDTH] = LABELS,
    [LG_CAUSE_NEGATIVE_LABELS] = LABELS,
    [LG_CAUSE_SENTINEL_MISMATCH] = LABELS,
    [LG_CAUSE_FLOAT_TARGETS] = LABELS,
    [LG_CAUSE_CORRUPT_LABELS] = LABELS,
    [LG_CAUSE_WRONG_HEAD_WIDTH] = LABELS,
    [LG_CAUSE_TARGET_DTYPE] = LABELS_UNLESS_REFUSED,
    [LG_CAUSE_NO_SUPERVISED_ROW] = CLASSES,
    [LG_CAUSE_BCE_RANGE] = BINARY,
    [LG_CAUSE_NONFINITE_LOGITS] = INPUT_OR_PROBABILITIES,
    [LG_CAUSE_VALUE_DOMAIN] = LOG_OR_PROBABILITIES,
};

static const char *missing_need(const lg_part *check) {
    bool binary = lg_loss_is_binary(check->reader->scenario->loss.kind);
    bool probabilities = check->reader->scenario->batch.targets.probabilities;
    lg_fault_form form = check->fault->where;
    bool on_target = form == LG_FORM_TARGET_OUTSIDE || form == LG_FORM_TARGET_NONFINITE;
    bool of_input = form == LG_FORM_PROBABILITIES || form == LG_FORM_RAW_LOGITS;
    switch (needs[check->fault->kind]) {
    case ANY:
        return NULL;
    case LABELS:
        return binary || probabilities ? "needs class labels as targets" : NULL;
    case LABELS_UNLESS_REFUSED:
        if (form == LG_FORM_REFUSED) {
            return NULL;
        }
        return binary || probabilities ? "needs class labels as targets in this form" : NULL;
    case CLASSES:
        return binary ? "needs a loss over classes" : NULL;
    case BINARY:
        if (!on_target && check->reader->scenario->loss.kind != LG_BCE) {
            return "needs binary_cross_entropy in this form";
        }
        return binary ? NULL : "needs a binary cross-entropy";
    case INPUT_OR_PROBABILITIES:
        return on_target && !probabilities ? "needs probabilities as targets" : NULL;
    case LOG_OR_PROBABILITIES:
        if (of_input) {
            return check->reader->scenario->loss.kind != LG_NLL_LOSS ? "needs nll_loss in this form"
                                                                     : NULL;
        }
        return binary || !probabilities ? "needs class probabilities as targets in this form"
                                        : NULL;
    }
    return NULL;
}

static void check_fault(const lg_part *check) {
    bool known = lg_part_knows(check, "where") &&
                 lg_scenario_knows(check->reader, "loss.kind batch.targets.kind "
                                                  "batch.targets.distribution");
    const char *missing = known ? missing_need(check) : NULL;
    if (missing) {
        lg_part_error(check, "kind", "%s %s", lg_cause_name(check->fault->kind), missing);
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
        const lg_part check = {.reader = reader,
                               .path = lg_arena_printf(reader->binder.scratch, "faults.%d", i),
                               .fault = &reader->scenario->faults[i]};
        if (check.fault->kind != LG_CAUSE_NONE) {
            check_fault(&check);
        }
    }
    lg_scenario_check_contradictions(reader);
}
