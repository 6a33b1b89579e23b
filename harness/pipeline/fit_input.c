// SPDX-License-Identifier: Apache-2.0
#include "pipeline/fit_input.h"

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

lg_dtype lg_fit_input_dtype(const lg_scenario *scenario, const lg_kernel *kernel) {
    static const lg_dtype order[] = {LG_FLOAT64, LG_FLOAT16, LG_BFLOAT16};
    const lg_array_spec *logits = &scenario->batch.logits;
    if (!logits->default_dtype || kernel->input_dtypes & 1u << logits->dtype ||
        scenario->expect.loss.n > 0) {
        return logits->dtype;
    }
    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        if (kernel->input_dtypes & 1u << order[i] && array_fits(logits, order[i])) {
            return order[i];
        }
    }
    return logits->dtype;
}

const lg_scenario *lg_fit_input(const lg_scenario *scenario, lg_dtype dtype, lg_arena *arena) {
    if (dtype == scenario->batch.logits.dtype) {
        return scenario;
    }
    lg_scenario *copy = lg_arena_alloc(arena, sizeof(*copy));
    *copy = *scenario;
    lg_array_spec *arrays[] = {&copy->batch.logits, &copy->batch.targets, &copy->weight,
                               &copy->pos_weight, &copy->grad_output};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        arrays[i]->dtype = arrays[i]->default_dtype ? dtype : arrays[i]->dtype;
    }
    return copy;
}

bool lg_input_was_fitted(const lg_scenario *scenario) {
    const lg_array_spec *logits = &scenario->batch.logits;
    return logits->default_dtype && logits->dtype != LG_FLOAT32;
}
