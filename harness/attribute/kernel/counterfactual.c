// SPDX-License-Identifier: Apache-2.0
// What a right kernel would return on a wrong reading of the call: an option left out, strides
// taken for those of a packed array. The kernel whose numbers these are reads the call that way.
#include "attribute/kernel/internal.h"

#include "reference/reference.h"

#include <inttypes.h>
#include <math.h>

typedef struct reading {
    lg_cause cause;
    const char *what;
    // Changes a shallow copy of the batch; false: the reading is none on this batch. Tensors stay
    // the batch's own.
    bool (*apply)(lg_batch *batch);
} reading;

static bool pack(lg_tensor *tensor, int from, int to) {
    int64_t stride = 1;
    bool changed = false;
    int64_t last = 0;
    for (int i = tensor->rank - 1; i >= 0; i--) {
        bool here = i >= from && i < to;
        changed = changed || (here && tensor->stride[i] != stride && tensor->shape[i] > 1);
        tensor->stride[i] = here ? stride : tensor->stride[i];
        last += (tensor->shape[i] - 1) * tensor->stride[i];
        stride *= tensor->shape[i];
    }
    // What lies beyond the stored elements is nobody's number.
    return changed && tensor->data && lg_tensor_numel(tensor) > 0 &&
           last < (int64_t)tensor->n_stored;
}

static bool pack_input(lg_batch *batch) {
    return pack(&batch->input, 0, LG_MAX_RANK);
}

static bool pack_input_rows(lg_batch *batch) {
    return pack(&batch->input, 0, 1);
}

static bool pack_input_classes(lg_batch *batch) {
    return pack(&batch->input, 1, LG_MAX_RANK);
}

static bool pack_target(lg_batch *batch) {
    lg_tensor *given =
        lg_tensor_exists(&batch->device_target) ? &batch->device_target : &batch->target;
    return pack(given, 0, LG_MAX_RANK);
}

static bool pack_weight(lg_batch *batch) {
    return lg_tensor_exists(&batch->weight) && pack(&batch->weight, 0, LG_MAX_RANK);
}

static bool pack_everything(lg_batch *batch) {
    bool input = pack_input(batch);
    return pack_target(batch) && input;
}

static bool pack_upstream(lg_batch *batch) {
    return lg_tensor_exists(&batch->grad_output) && pack(&batch->grad_output, 0, LG_MAX_RANK);
}

static bool drop_upstream(lg_batch *batch) {
    bool had = lg_tensor_exists(&batch->grad_output);
    batch->grad_output = (lg_tensor){0};
    return had;
}

static bool drop_weight(lg_batch *batch) {
    bool had = lg_tensor_exists(&batch->weight);
    batch->weight = (lg_tensor){0};
    return had;
}

static bool first_of(lg_tensor *tensor) {
    bool several = lg_tensor_exists(tensor) && lg_tensor_numel(tensor) > 1;
    for (int i = 0; i < tensor->rank; i++) {
        tensor->stride[i] = 0;
    }
    return several;
}

static bool first_upstream(lg_batch *batch) {
    return first_of(&batch->grad_output);
}

static bool first_weight(lg_batch *batch) {
    return first_of(&batch->weight);
}

static bool drop_pos_weight(lg_batch *batch) {
    bool had = lg_tensor_exists(&batch->pos_weight);
    batch->pos_weight = (lg_tensor){0};
    return had;
}

static bool first_pos_weight(lg_batch *batch) {
    return first_of(&batch->pos_weight);
}

// uint8 as int8: labels from 128 on are negative.
static bool sign_bytes(lg_batch *batch) {
    lg_tensor *given =
        lg_tensor_exists(&batch->device_target) ? &batch->device_target : &batch->target;
    bool bytes = given->dtype == LG_UINT8 && !batch->target_is_probability;
    given->dtype = bytes ? LG_INT8 : given->dtype;
    return bytes;
}

static bool drop_smoothing(lg_batch *batch) {
    bool had = batch->loss.label_smoothing > 0;
    batch->loss.label_smoothing = 0;
    return had;
}

static bool complement_smoothing(lg_batch *batch) {
    double e = batch->loss.label_smoothing;
    batch->loss.label_smoothing = 1 - e;
    return e > 0 && e != 0.5;
}

static bool drop_ignore_index(lg_batch *batch) {
    int64_t ignored = batch->loss.ignore_index;
    batch->loss.ignore_index = INT64_MIN;
    return !batch->target_is_probability && ignored >= 0 && ignored < lg_batch_head_width(batch);
}

static bool negate_upstream_reduction(lg_batch *batch) {
    bool mean = batch->loss.reduction == LG_REDUCTION_MEAN;
    batch->loss.reduction = LG_REDUCTION_SUM;
    return mean;
}

static const reading readings[] = {
    {LG_CAUSE_INDEX_OVERFLOW, "the offsets of the input are cut to 32 bits",
     lg_read_input_in_32_bits},
    {LG_CAUSE_INDEX_OVERFLOW, "the offsets of the target are cut to 32 bits",
     lg_read_target_in_32_bits},
    {LG_CAUSE_STRIDES_IGNORED, "the input is read as if it were packed", pack_input},
    {LG_CAUSE_STRIDES_IGNORED, "the rows of the input are taken to be packed", pack_input_rows},
    {LG_CAUSE_STRIDES_IGNORED, "the classes of the input are taken to be packed",
     pack_input_classes},
    {LG_CAUSE_STRIDES_IGNORED, "the target is read as if it were packed", pack_target},
    {LG_CAUSE_STRIDES_IGNORED, "input and target are read as if they were packed", pack_everything},
    {LG_CAUSE_STRIDES_IGNORED, "the weights are read as if they were packed", pack_weight},
    {LG_CAUSE_STRIDES_IGNORED, "the upstream gradient is read as if it were packed", pack_upstream},
    {LG_CAUSE_GRADIENT_CONTRACT, "the upstream gradient is left out", drop_upstream},
    {LG_CAUSE_GRADIENT_CONTRACT, "every row gets the upstream gradient of the first",
     first_upstream},
    {LG_CAUSE_OPTION_INTERPLAY, "the class weights are left out", drop_weight},
    {LG_CAUSE_OPTION_INTERPLAY, "every class gets the weight of the first", first_weight},
    {LG_CAUSE_OPTION_INTERPLAY, "pos_weight is left out", drop_pos_weight},
    {LG_CAUSE_OPTION_INTERPLAY, "every element gets the pos_weight of the first", first_pos_weight},
    {LG_CAUSE_TARGET_DTYPE, "the uint8 labels are read as signed bytes", sign_bytes},
    {LG_CAUSE_OPTION_INTERPLAY, "label smoothing is left out", drop_smoothing},
    {LG_CAUSE_OPTION_INTERPLAY, "label and smoothing change places: 1 - e for e",
     complement_smoothing},
    {LG_CAUSE_OPTION_INTERPLAY, "rows with the ignored label count", drop_ignore_index},
    {LG_CAUSE_WRONG_NORMALISATION, "the sum stands where the mean should",
     negate_upstream_reduction},
};

// How two sets of numbers compare: elements of the wrong reading that the kernel returned where the
// right one differs, and whether all were.
typedef struct match {
    int64_t n_telling;
    bool all;
} match;

static void compare(match *m, double got, double right, double other, double bound) {
    bool telling = fabs(other - right) > 2 * bound;
    m->n_telling += telling;
    bool near = fabs(got - other) <= bound || (isnan(got) && isnan(other));
    m->all = m->all && near;
}

static void compare_loss(const lg_suspicion *s, const lg_reference *other, match *m) {
    const lg_output *loss = s->loss;
    if (!loss || !loss->values) {
        return;
    }
    m->all = m->all && loss->n == other->n_loss && loss->n == s->reference->n_loss;
    for (int64_t i = 0; m->all && i < loss->n; i++) {
        double bound = s->slack * fmax(1, fabs(other->loss[i]));
        compare(m, loss->values[i], s->reference->loss[i], other->loss[i], bound);
    }
}

static void compare_gradient(const lg_suspicion *s, const lg_batch *batch,
                             const lg_reference *other, match *m) {
    if (!lg_output_exists(s->gradient) || s->gradient->n != lg_tensor_numel(&s->batch->input)) {
        return;
    }
    lg_gradient_view right = lg_gradient_open(s->batch, s->reference);
    lg_gradient_view wrong = lg_gradient_open(batch, other);
    for (int64_t row = 0; m->all && row < right.n_rows; row++) {
        double scale = 0;
        for (int64_t c = 0; c < right.width; c++) {
            scale = fmax(scale, fabs(lg_gradient_at(&wrong, row, c)));
            scale = fmax(scale, fabs(lg_gradient_at(&right, row, c)));
        }
        for (int64_t c = 0; m->all && c < right.width; c++) {
            double got = lg_output_get(s->gradient, lg_gradient_index(&right, row, c));
            compare(m, got, lg_gradient_at(&right, row, c), lg_gradient_at(&wrong, row, c),
                    s->slack * scale);
        }
    }
    lg_gradient_close(&wrong);
    lg_gradient_close(&right);
}

// Elements that tell the reading from the right one, all of which the kernel returned; 0: it is not
// this reading.
static int64_t try_reading(const lg_suspicion *s, const reading *r) {
    lg_batch batch = *s->batch;
    lg_reference other;
    if (!r->apply(&batch)) {
        return 0;
    }
    // The reference judges `target`; what the device was given is what counts here.
    if (lg_tensor_exists(&batch.device_target)) {
        batch.target = batch.device_target;
        batch.device_target = (lg_tensor){0};
    }
    bool gradient = lg_output_exists(s->gradient);
    if (!lg_reference_compute(&batch, gradient, &other)) {
        return 0;
    }
    match m = {.all = true};
    compare_loss(s, &other, &m);
    if (m.all && gradient) {
        compare_gradient(s, &batch, &other, &m);
    }
    lg_reference_free(&other);
    return m.all ? m.n_telling : 0;
}

lg_cause lg_suspect_reading(const lg_suspicion *s, int64_t *n_telling, const char **why) {
    for (size_t i = 0; i < sizeof readings / sizeof *readings; i++) {
        *n_telling = try_reading(s, &readings[i]);
        if (*n_telling > 0) {
            *why = lg_arena_printf(
                s->arena, "%s: that gives all the numbers returned, %" PRId64 " of which are wrong",
                readings[i].what, *n_telling);
            return readings[i].cause;
        }
    }
    return LG_CAUSE_NONE;
}
