// SPDX-License-Identifier: Apache-2.0
// Host checks of weight and pos_weight.
#include "batch/internal.h"

#include <math.h>

bool lg_check_class_weight_shape(lg_check *check) {
    const lg_tensor *weight = &check->batch->weight;
    int64_t classes = lg_batch_head_width(check->batch);
    if (!lg_tensor_exists(weight) || (weight->rank == 1 && weight->shape[0] == classes)) {
        return true;
    }
    return lg_refuse(check, LG_CAUSE_WEIGHT_VECTOR,
                     "weight has shape %s and there are %lld classes: give one weight a class, "
                     "shape [%lld]",
                     lg_tensor_shape_text(check, weight), (long long)classes, (long long)classes);
}

static bool broadcasts(const lg_tensor *from, const lg_tensor *to) {
    bool fits = from->rank <= to->rank;
    for (int i = 1; fits && i <= from->rank; i++) {
        int64_t size = from->shape[from->rank - i];
        fits = size == 1 || size == to->shape[to->rank - i];
    }
    return fits;
}

static bool check_broadcast(lg_check *check, const char *name, const lg_tensor *weight) {
    const lg_tensor *input = &check->batch->input;
    if (!lg_tensor_exists(weight) || broadcasts(weight, input)) {
        return true;
    }
    return lg_refuse(check, LG_CAUSE_WEIGHT_VECTOR,
                     "%s has shape %s, which does not broadcast to the input's %s", name,
                     lg_tensor_shape_text(check, weight), lg_tensor_shape_text(check, input));
}

bool lg_check_binary_weight_shapes(lg_check *check) {
    return check_broadcast(check, "weight", &check->batch->weight) &&
           check_broadcast(check, "pos_weight", &check->batch->pos_weight);
}

static bool check_dtype(lg_check *check, const char *name, const lg_tensor *weight) {
    lg_dtype input = check->batch->input.dtype;
    if (!lg_tensor_exists(weight) || weight->dtype == input) {
        return true;
    }
    return lg_refuse(check, LG_CAUSE_WEIGHT_VECTOR,
                     "%s is %s and the input %s: they must be of one type", name,
                     lg_dtype_name(weight->dtype), lg_dtype_name(input));
}

bool lg_check_weight_dtypes(lg_check *check) {
    return check_dtype(check, "weight", &check->batch->weight) &&
           check_dtype(check, "pos_weight", &check->batch->pos_weight);
}

static bool check_values(lg_check *check, const char *name, const char *what,
                         const lg_tensor *weight) {
    int64_t n = lg_tensor_exists(weight) ? lg_tensor_numel(weight) : 0;
    for (int64_t i = 0; i < n; i++) {
        double value = lg_tensor_get_f64(weight, i);
        // NaN is neither, so it must be asked whether the value is right.
        if (!(value >= 0 && value < INFINITY)) {
            return lg_refuse(check, LG_CAUSE_WEIGHT_VECTOR,
                             "%s of %s %lld is %g: a weight must be finite and not negative", name,
                             what, (long long)i, lg_unsigned_nan(value));
        }
    }
    return true;
}

bool lg_check_weight_values(lg_check *check) {
    const lg_batch *batch = check->batch;
    bool binary = batch->loss.kind == LG_BCE || batch->loss.kind == LG_BCE_WITH_LOGITS;
    return check_values(check, "weight", binary ? "element" : "class", &batch->weight) &&
           check_values(check, "pos_weight", "element", &batch->pos_weight);
}
