// SPDX-License-Identifier: Apache-2.0
#include "batch/batch.h"

#include <float.h>
#include <math.h>

// Beyond this many standard deviations no generated number lies (it would take 2^80 draws).
enum { NORMAL_REACH = 11 };

static const double half_max = 65504;

static double largest(lg_dtype dtype) {
    return dtype == LG_FLOAT16 ? half_max : FLT_MAX / 2;
}

static bool number_fits(double number, double limit) {
    return !isfinite(number) || fabs(number) <= limit;
}

static bool array_fits(const lg_array_spec *spec, lg_dtype dtype) {
    double limit = largest(dtype);
    for (int64_t i = 0; i < spec->values.n; i++) {
        if (!number_fits(spec->values.items[i], limit)) {
            return false;
        }
    }
    return spec->source != LG_ARRAY_FILE && number_fits(spec->scale * NORMAL_REACH, limit) &&
           number_fits(spec->lo, limit) && number_fits(spec->hi, limit);
}

// The first one is what the kernel is given anyway.
static int input_types(const lg_scenario *scenario, const lg_kernel *kernel, bool every_type,
                       lg_dtype types[LG_N_DTYPES]) {
    static const lg_dtype order[] = {LG_FLOAT32, LG_FLOAT64, LG_FLOAT16, LG_BFLOAT16};
    const lg_array_spec *logits = &scenario->batch.logits;
    bool open = logits->default_dtype && scenario->expect.loss.n == 0;
    bool taken = kernel->input_dtypes & 1u << logits->dtype;
    int n = 0;
    if (!open || taken) {
        types[n++] = logits->dtype;
    }
    for (size_t i = 0; open && i < sizeof order / sizeof *order && (every_type || n == 0); i++) {
        if (order[i] != logits->dtype && kernel->input_dtypes & 1u << order[i] &&
            array_fits(logits, order[i])) {
            types[n++] = order[i];
        }
    }
    if (n == 0) {
        types[n++] = logits->dtype;
    }
    return n;
}

static bool all_fit(lg_i64_list labels, lg_dtype dtype) {
    for (int64_t i = 0; i < labels.n; i++) {
        if (!lg_dtype_holds(dtype, labels.items[i])) {
            return false;
        }
    }
    return true;
}

static bool fault_fits(const lg_scenario *scenario, const lg_fault_spec *fault, lg_dtype dtype) {
    switch (fault->kind) {
    case LG_CAUSE_OVER_SHIFTED_LABELS:
    case LG_CAUSE_NEGATIVE_LABELS:
        return lg_dtype_holds(dtype, -1) && all_fit(fault->values, dtype);
    case LG_CAUSE_NO_SUPERVISED_ROW:
        return lg_dtype_holds(dtype, scenario->loss.ignore_index);
    case LG_CAUSE_SENTINEL_MISMATCH:
    case LG_CAUSE_FLOAT_TARGETS:
    case LG_CAUSE_TARGET_DTYPE:
    case LG_CAUSE_CORRUPT_LABELS:
        return false; // it is about a type, or its values are those of a wide one
    default:
        return true;
    }
}

// Whether labels of the type can be what the scenario says: the classes and one more, which a fault
// may write, the ignored label, and what is listed.
static bool labels_fit(const lg_scenario *scenario, lg_dtype dtype) {
    const lg_batch_spec *batch = &scenario->batch;
    bool fits =
        lg_dtype_holds(dtype, batch->classes) && all_fit(batch->targets.int_values, dtype) &&
        (batch->ignored_fraction == 0 || lg_dtype_holds(dtype, scenario->loss.ignore_index));
    for (int i = 0; fits && i < scenario->n_faults; i++) {
        fits = fault_fits(scenario, &scenario->faults[i], dtype);
    }
    return fits;
}

// NONE, what the kernel is given anyway, and the further ones.
static int label_types(const lg_scenario *scenario, const lg_kernel *kernel, bool every_type,
                       lg_dtype types[LG_N_DTYPES]) {
    static const lg_dtype order[] = {LG_INT64, LG_INT32, LG_INT16, LG_UINT8, LG_INT8};
    int n = 0;
    types[n++] = LG_DTYPE_NONE;
    bool open = every_type && scenario->batch.targets.open_dtype &&
                scenario->batch.targets.source != LG_ARRAY_FILE;
    bool first = true; // that is the one NONE stands for
    for (size_t i = 0; open && i < sizeof order / sizeof *order; i++) {
        if (!(kernel->target_dtypes & 1u << order[i])) {
            continue;
        }
        if (!first && labels_fit(scenario, order[i])) {
            types[n++] = order[i];
        }
        first = false;
    }
    return n;
}

int lg_fits(const lg_scenario *scenario, const lg_kernel *kernel, bool every_type, int64_t turn,
            lg_fit fits[LG_MAX_FITS]) {
    lg_dtype inputs[LG_N_DTYPES];
    lg_dtype labels[LG_N_DTYPES];
    int n_inputs = input_types(scenario, kernel, every_type, inputs);
    int n_labels = label_types(scenario, kernel, every_type, labels);
    int longest = n_inputs > n_labels ? n_inputs : n_labels;
    int n = 0;
    fits[n++] = (lg_fit){.input = inputs[0]};
    for (int i = 0; i < longest; i++) {
        int64_t turned = i + turn;
        int64_t input = n_inputs == longest ? i : turned % n_inputs;
        int64_t label = n_inputs == longest ? turned % n_labels : i;
        if (input != 0 || label != 0) {
            fits[n++] = (lg_fit){.input = inputs[input], .labels = labels[label], .further = true};
        }
    }
    return n;
}

static const char *further_point(const lg_scenario *scenario, const lg_fit *fit, lg_arena *arena) {
    const char *point = scenario->point ? scenario->point : "";
    point = lg_arena_printf(arena, "%s%sbatch.logits.dtype=%s", point, *point ? " " : "",
                            lg_dtype_name(fit->input));
    return fit->labels ? lg_arena_printf(arena, "%s batch.targets.dtype=%s", point,
                                         lg_dtype_name(fit->labels))
                       : point;
}

const lg_scenario *lg_fit_input(const lg_scenario *scenario, const lg_fit *fit, lg_arena *arena) {
    if (fit->input == scenario->batch.logits.dtype && !fit->further) {
        return scenario;
    }
    lg_scenario *copy = lg_arena_alloc(arena, sizeof(*copy));
    *copy = *scenario;
    lg_array_spec *arrays[] = {&copy->batch.logits, &copy->batch.targets, &copy->weight,
                               &copy->pos_weight, &copy->grad_output};
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++) {
        arrays[i]->dtype = arrays[i]->default_dtype ? fit->input : arrays[i]->dtype;
    }
    if (fit->labels) {
        copy->batch.targets.dtype = fit->labels;
        copy->batch.targets.open_dtype = false;
    }
    copy->point = fit->further ? further_point(scenario, fit, arena) : scenario->point;
    return copy;
}

bool lg_input_was_fitted(const lg_scenario *scenario) {
    const lg_array_spec *logits = &scenario->batch.logits;
    return logits->default_dtype && logits->dtype != LG_FLOAT32;
}
