// SPDX-License-Identifier: Apache-2.0
#include "batch/batch.h"

#include "batch/internal.h"
#include "support/str.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

bool lg_refuse(lg_check *check, lg_cause cause, const char *format, ...) {
    va_list args;
    va_list again;
    va_start(args, format);
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, format, args);
    char *text = lg_arena_alloc(check->arena, (size_t)(n < 0 ? 0 : n) + 1);
    vsnprintf(text, (size_t)(n < 0 ? 0 : n) + 1, format, again);
    va_end(again);
    va_end(args);
    check->refusal.cause = cause;
    check->refusal.text = text;
    return false;
}

const char *lg_shape_text(const lg_check *check, int rank, const int64_t *shape) {
    lg_str text = {0};
    lg_str_add(&text, "[");
    for (int i = 0; i < rank; i++) {
        lg_str_printf(&text, "%s%lld", i ? ", " : "", (long long)shape[i]);
    }
    lg_str_add(&text, "]");
    char *copy = lg_arena_strdup(check->arena, lg_str_text(&text));
    lg_str_free(&text);
    return copy;
}

const char *lg_tensor_shape_text(const lg_check *check, const lg_tensor *tensor) {
    return lg_shape_text(check, tensor->rank, tensor->shape);
}

double lg_unsigned_nan(double value) {
    return isnan(value) ? (double)NAN : value;
}

bool lg_shapes_equal(const lg_tensor *a, const lg_tensor *b) {
    bool equal = a->rank == b->rank;
    for (int i = 0; equal && i < a->rank; i++) {
        equal = a->shape[i] == b->shape[i];
    }
    return equal;
}

static bool is_binary(const lg_batch *batch) {
    return batch->loss.kind == LG_BCE || batch->loss.kind == LG_BCE_WITH_LOGITS;
}

static bool check_presence(lg_check *check) {
    if (!lg_tensor_exists(&check->batch->input)) {
        return lg_refuse(check, LG_CAUSE_SHAPE_LAYOUT, "there is no input");
    }
    if (!lg_tensor_exists(&check->batch->target)) {
        return lg_refuse(check, LG_CAUSE_SHAPE_LAYOUT, "there is no target");
    }
    return true;
}

static bool check_rank(lg_check *check) {
    if (check->batch->input.rank > 0) {
        return true;
    }
    return lg_refuse(check, LG_CAUSE_SHAPE_LAYOUT,
                     "the input is a single number: %s needs a class axis, [classes] or "
                     "[samples, classes, ...]",
                     lg_loss_kind_name(check->batch->loss.kind));
}

static bool check_input_dtype(lg_check *check) {
    lg_dtype dtype = check->batch->input.dtype;
    if (lg_dtype_is_float(dtype)) {
        return true;
    }
    return lg_refuse(check, LG_CAUSE_VALUE_DOMAIN,
                     "the input is %s: %s needs float64, float32, float16 or bfloat16",
                     lg_dtype_name(dtype), lg_loss_kind_name(check->batch->loss.kind));
}

static bool check_smoothing(lg_check *check) {
    const lg_loss_options *loss = &check->batch->loss;
    if (loss->label_smoothing == 0) {
        return true;
    }
    if (loss->kind != LG_CROSS_ENTROPY) {
        return lg_refuse(check, LG_CAUSE_VALUE_DOMAIN,
                         "label_smoothing is %g: %s has none, only cross_entropy has",
                         loss->label_smoothing, lg_loss_kind_name(loss->kind));
    }
    if (loss->label_smoothing > 0 && loss->label_smoothing <= 1) {
        return true;
    }
    return lg_refuse(check, LG_CAUSE_VALUE_DOMAIN,
                     "label_smoothing is %g: it must lie between 0 and 1",
                     lg_unsigned_nan(loss->label_smoothing));
}

static bool check_probabilities(lg_check *check) {
    const lg_batch *batch = check->batch;
    const lg_tensor *target = &batch->target;
    if (batch->loss.kind == LG_NLL_LOSS) {
        return lg_refuse(
            check, LG_CAUSE_SHAPE_LAYOUT,
            "nll_loss takes class indices, not class probabilities: use cross_entropy");
    }
    if (!lg_shapes_equal(&batch->input, target)) {
        return lg_refuse(check, LG_CAUSE_SHAPE_LAYOUT,
                         "class probabilities have shape %s and the input %s: they must be equal",
                         lg_tensor_shape_text(check, target),
                         lg_tensor_shape_text(check, &batch->input));
    }
    if (!lg_dtype_is_float(target->dtype)) {
        return lg_refuse(check, LG_CAUSE_TARGET_DTYPE,
                         "a target of the input's shape is class probabilities, and these are %s: "
                         "give %s, or class indices of shape [samples, ...]",
                         lg_dtype_name(target->dtype), lg_dtype_name(batch->input.dtype));
    }
    if (batch->loss.ignore_index >= 0) {
        return lg_refuse(check, LG_CAUSE_VALUE_DOMAIN,
                         "ignore_index is %lld: class probabilities have no index to ignore; leave "
                         "it negative",
                         (long long)batch->loss.ignore_index);
    }
    return true;
}

static bool check_float_target_dtype(lg_check *check) {
    const lg_batch *batch = check->batch;
    if (batch->target.dtype == batch->input.dtype) {
        return true;
    }
    return lg_refuse(check, LG_CAUSE_TARGET_DTYPE,
                     "the target is %s and the input %s: %s reads both as one type",
                     lg_dtype_name(batch->target.dtype), lg_dtype_name(batch->input.dtype),
                     lg_loss_kind_name(batch->loss.kind));
}

static bool check_grad_output(lg_check *check) {
    const lg_batch *batch = check->batch;
    const lg_tensor *grad = &batch->grad_output;
    if (!lg_tensor_exists(grad) || !(batch->loss.direction & LG_BACKWARD)) {
        return true;
    }
    const bool none = batch->loss.reduction == LG_REDUCTION_NONE;
    int64_t want = none ? lg_batch_rows(batch) : 1;
    if (lg_tensor_numel(grad) != want) {
        return lg_refuse(check, LG_CAUSE_SHAPE_LAYOUT,
                         "grad_output has shape %s: reduction %s needs %lld element%s, one %s",
                         lg_tensor_shape_text(check, grad),
                         lg_reduction_name(batch->loss.reduction), (long long)want,
                         want == 1 ? "" : "s", none ? "a row" : "for the loss");
    }
    if (grad->dtype != batch->input.dtype) {
        return lg_refuse(check, LG_CAUSE_VALUE_DOMAIN,
                         "grad_output is %s and the input %s: they must be of one type",
                         lg_dtype_name(grad->dtype), lg_dtype_name(batch->input.dtype));
    }
    return true;
}

static bool check_no_pos_weight(lg_check *check) {
    const lg_batch *batch = check->batch;
    if (batch->loss.kind == LG_BCE_WITH_LOGITS || !lg_tensor_exists(&batch->pos_weight)) {
        return true;
    }
    return lg_refuse(check, LG_CAUSE_WEIGHT_VECTOR,
                     "%s has no pos_weight: only binary_cross_entropy_with_logits has",
                     lg_loss_kind_name(batch->loss.kind));
}

static bool check_binary_shape(lg_check *check) {
    const lg_batch *batch = check->batch;
    if (lg_shapes_equal(&batch->input, &batch->target)) {
        return true;
    }
    return lg_refuse(check, LG_CAUSE_SHAPE_LAYOUT,
                     "the target has shape %s and the input %s: they must be equal",
                     lg_tensor_shape_text(check, &batch->target),
                     lg_tensor_shape_text(check, &batch->input));
}

// Each list stops at the first check that refuses.
static void check_binary(lg_check *check) {
    (void)(check_binary_shape(check) && check_smoothing(check) && check_input_dtype(check) &&
           check_float_target_dtype(check) && check_no_pos_weight(check) &&
           lg_check_binary_weight_shapes(check) && lg_check_weight_dtypes(check) &&
           lg_check_weight_values(check) && check_grad_output(check));
}

static void check_with_probabilities(lg_check *check) {
    (void)(check_rank(check) && check_probabilities(check) && check_smoothing(check) &&
           check_input_dtype(check) && check_no_pos_weight(check) &&
           lg_check_class_weight_shape(check) && lg_check_weight_dtypes(check) &&
           check_float_target_dtype(check) && lg_check_weight_values(check) &&
           check_grad_output(check));
}

static void check_with_indices(lg_check *check) {
    const bool log_softmax_first = check->batch->loss.kind == LG_CROSS_ENTROPY;
    (void)(check_rank(check) && check_smoothing(check) &&
           (!log_softmax_first || check_input_dtype(check)) && lg_check_index_shape(check) &&
           check_no_pos_weight(check) && lg_check_class_weight_shape(check) &&
           check_input_dtype(check) && lg_check_weight_dtypes(check) &&
           lg_check_index_dtype(check) && lg_check_index_fractions(check) &&
           lg_check_weight_values(check) && check_grad_output(check));
}

lg_refusal lg_hostcheck(const lg_batch *batch, lg_arena *arena) {
    lg_check check = {.batch = batch, .arena = arena};
    if (!check_presence(&check)) {
        return check.refusal;
    }
    if (is_binary(batch)) {
        check_binary(&check);
    } else if (batch->target_is_probability) {
        check_with_probabilities(&check);
    } else {
        check_with_indices(&check);
    }
    return check.refusal;
}
