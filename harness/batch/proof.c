// SPDX-License-Identifier: Apache-2.0
#include "batch/batch.h"

#include "model/rng.h"

#include <math.h>

enum { PROOF_SAMPLES = 37, PROOF_CLASSES = 5, PROOF_EXTENT = 7, PROOF_SEED = 20 };

static bool takes(uint32_t set, lg_dtype dtype) {
    return set & (1u << dtype);
}

static lg_dtype pick(uint32_t set, const lg_dtype *preferred, int n) {
    for (int i = 0; i < n; i++) {
        if (takes(set, preferred[i])) {
            return preferred[i];
        }
    }
    return LG_DTYPE_NONE;
}

static lg_loss_options pick_options(const lg_kernel *kernel) {
    lg_loss_options options = {.kind = kernel->family, .ignore_index = -100};
    const lg_reduction order[] = {LG_REDUCTION_MEAN, LG_REDUCTION_SUM, LG_REDUCTION_NONE};
    for (int i = 0; i < 3; i++) {
        options.reduction = order[i];
        if (kernel->reductions & (1u << order[i])) {
            break;
        }
    }
    return options;
}

static bool is_binary(const lg_kernel *kernel) {
    return kernel->family == LG_BCE || kernel->family == LG_BCE_WITH_LOGITS;
}

static int pick_shape(const lg_kernel *kernel, int64_t shape[LG_MAX_RANK]) {
    if (is_binary(kernel)) {
        shape[0] = PROOF_SAMPLES;
        shape[1] = PROOF_EXTENT;
        return kernel->spatial || kernel->batched ? 2 : 1;
    }
    if (!kernel->batched && !kernel->spatial) {
        shape[0] = PROOF_CLASSES;
        return 1;
    }
    shape[0] = PROOF_SAMPLES;
    shape[1] = PROOF_CLASSES;
    shape[2] = PROOF_EXTENT;
    return kernel->batched ? 2 : 3;
}

static void fill_input(const lg_kernel *kernel, lg_tensor *input) {
    int64_t n = lg_tensor_numel(input);
    for (int64_t i = 0; i < n; i++) {
        double value = lg_rng_normal(PROOF_SEED, LG_STREAM_LOGITS, (uint64_t)i);
        switch (kernel->family) {
        case LG_NLL_LOSS: // log-probabilities are at most 0
            value = -0.1 - fabs(value);
            break;
        case LG_BCE:
            value = 0.05 + 0.9 * lg_rng_uniform(PROOF_SEED, LG_STREAM_LOGITS, (uint64_t)i);
            break;
        case LG_CROSS_ENTROPY:
        case LG_BCE_WITH_LOGITS:
            break;
        }
        lg_tensor_set_f64(input, i, value);
    }
}

// Probabilities of each class for every row; they sum to 1 over the class axis.
static bool make_probabilities(const lg_batch *batch, const lg_tensor *input, lg_tensor *target) {
    if (!lg_tensor_init(target, input->dtype, input->rank, input->shape)) {
        return false;
    }
    int64_t width = lg_batch_head_width(batch);
    int64_t spatial = lg_batch_spatial(batch);
    int64_t n = lg_tensor_numel(target);
    for (int64_t i = 0; i < n; i++) {
        int64_t class = i / spatial % width;
        double triangle = (double)(width * (width + 1)) / 2;
        lg_tensor_set_f64(target, i, (double)(class + 1) / triangle);
    }
    return true;
}

static bool make_binary_target(const lg_tensor *input, lg_tensor *target) {
    if (!lg_tensor_init(target, input->dtype, input->rank, input->shape)) {
        return false;
    }
    int64_t n = lg_tensor_numel(target);
    for (int64_t i = 0; i < n; i++) {
        lg_tensor_set_f64(target, i, (double)(i % 2));
    }
    return true;
}

static lg_dtype label_dtype(const lg_kernel *kernel) {
    const lg_dtype order[] = {LG_INT64, LG_INT32, LG_UINT8, LG_INT16, LG_INT8};
    return pick(kernel->target_dtypes, order, 5);
}

static bool make_labels(const lg_kernel *kernel, lg_batch *batch) {
    lg_dtype dtype = label_dtype(kernel);
    if (dtype == LG_DTYPE_NONE) {
        return false;
    }
    int64_t shape[LG_MAX_RANK] = {0};
    int rank = 0;
    for (int i = 0; i < batch->input.rank; i++) {
        if (batch->input.rank > 1 && i != 1) { // all axes but the class axis
            shape[rank++] = batch->input.shape[i];
        }
    }
    if (!lg_tensor_init(&batch->target, dtype, rank, shape)) {
        return false;
    }
    int64_t n = lg_tensor_numel(&batch->target);
    for (int64_t i = 0; i < n; i++) {
        lg_tensor_set_i64(&batch->target, i,
                          (int64_t)lg_rng_below(PROOF_SEED, LG_STREAM_TARGETS, (uint64_t)i,
                                                (uint64_t)lg_batch_head_width(batch)));
    }
    return true;
}

static const char *const fault_texts[LG_N_PROOF_FAULTS] = {
    [LG_PROOF_CLEAN] = "clean",
    [LG_PROOF_AT_WIDTH] = "label C in one row",
    [LG_PROOF_AT_WIDTH_LAST] = "label C in the last row",
    [LG_PROOF_NEGATIVE] = "label -1 in one row",
    [LG_PROOF_FAR] = "label C+100 in one row",
    [LG_PROOF_LEAST] = "the least label of its type in one row",
    [LG_PROOF_SEVERAL] = "bad labels in three rows",
    [LG_PROOF_TARGET_ABOVE] = "target 1.5 in one row",
    [LG_PROOF_TARGET_BELOW] = "target -0.5 in one row",
    [LG_PROOF_TARGET_NAN] = "target NaN in one row",
    [LG_PROOF_INPUT_ABOVE] = "probability 1.5 in one row",
    [LG_PROOF_INPUT_BELOW] = "probability -0.5 in one row",
    [LG_PROOF_INPUT_NAN] = "probability NaN in one row",
};

const char *lg_proof_fault_text(lg_proof_fault fault) {
    return fault < LG_N_PROOF_FAULTS ? fault_texts[fault] : "";
}

bool lg_proof_applies(const lg_kernel *kernel, lg_proof_fault fault) {
    bool numbers = is_binary(kernel) || kernel->probability_targets;
    switch (fault) {
    case LG_PROOF_CLEAN:
        return true;
    case LG_PROOF_AT_WIDTH:
    case LG_PROOF_AT_WIDTH_LAST:
    case LG_PROOF_FAR:
    case LG_PROOF_SEVERAL:
        return !numbers;
    case LG_PROOF_NEGATIVE:
    case LG_PROOF_LEAST:
        return !numbers && label_dtype(kernel) != LG_UINT8;
    case LG_PROOF_TARGET_ABOVE:
    case LG_PROOF_TARGET_BELOW:
    case LG_PROOF_TARGET_NAN:
        return numbers;
    case LG_PROOF_INPUT_ABOVE:
    case LG_PROOF_INPUT_BELOW:
    case LG_PROOF_INPUT_NAN:
        return kernel->family == LG_BCE;
    case LG_N_PROOF_FAULTS:
        break;
    }
    return false;
}

static int64_t least_label(lg_dtype dtype) {
    size_t bits = 8 * lg_dtype_bytes(dtype);
    return bits == 64 ? INT64_MIN : -(INT64_C(1) << (bits - 1));
}

static void spoil_labels(lg_proof_fault fault, lg_batch *batch) {
    int64_t n_rows = lg_batch_rows(batch);
    int64_t width = lg_batch_head_width(batch);
    lg_tensor *target = &batch->target;
    int64_t below = target->dtype == LG_UINT8 ? width : -1;
    if (fault == LG_PROOF_SEVERAL && n_rows > 4) {
        lg_tensor_set_i64(target, 2, width);
        lg_tensor_set_i64(target, 3, below);
        lg_tensor_set_i64(target, n_rows - 2, width + 100);
        return;
    }
    int64_t row = fault == LG_PROOF_AT_WIDTH_LAST ? n_rows - 1 : n_rows / 3;
    int64_t label = fault == LG_PROOF_NEGATIVE ? -1
                    : fault == LG_PROOF_LEAST  ? least_label(target->dtype)
                    : fault == LG_PROOF_FAR    ? width + 100
                                               : width;
    lg_tensor_set_i64(target, row, label);
}

static void spoil(lg_proof_fault fault, lg_batch *batch) {
    if (fault == LG_PROOF_CLEAN) {
        return;
    }
    if (batch->target_is_probability && fault < LG_PROOF_TARGET_ABOVE) {
        fault = LG_PROOF_TARGET_ABOVE;
    }
    if (fault < LG_PROOF_TARGET_ABOVE) {
        spoil_labels(fault, batch);
        return;
    }
    lg_tensor *spoiled = fault < LG_PROOF_INPUT_ABOVE ? &batch->target : &batch->input;
    bool above = fault == LG_PROOF_TARGET_ABOVE || fault == LG_PROOF_INPUT_ABOVE;
    bool below = fault == LG_PROOF_TARGET_BELOW || fault == LG_PROOF_INPUT_BELOW;
    lg_tensor_set_f64(spoiled, lg_tensor_numel(spoiled) / 3, above ? 1.5 : below ? -0.5 : NAN);
}

bool lg_proof_batch(const lg_kernel *kernel, lg_proof_fault fault, lg_direction direction,
                    lg_batch *batch) {
    *batch = (lg_batch){.loss = pick_options(kernel)};
    batch->loss.direction = direction;
    const lg_dtype order[] = {LG_FLOAT32, LG_FLOAT64, LG_FLOAT16, LG_BFLOAT16};
    lg_dtype dtype = pick(kernel->input_dtypes, order, 4);
    int64_t shape[LG_MAX_RANK] = {0};
    int rank = pick_shape(kernel, shape);
    bool ok = dtype != LG_DTYPE_NONE && lg_tensor_init(&batch->input, dtype, rank, shape);
    if (ok) {
        fill_input(kernel, &batch->input);
        batch->classes = is_binary(kernel) ? 0 : PROOF_CLASSES;
        batch->target_is_probability = is_binary(kernel) || kernel->probability_targets;
        ok = is_binary(kernel) ? make_binary_target(&batch->input, &batch->target)
             : kernel->probability_targets
                 ? make_probabilities(batch, &batch->input, &batch->target)
                 : make_labels(kernel, batch);
    }
    if (ok) {
        spoil(fault, batch);
    } else {
        lg_batch_free(batch);
    }
    return ok;
}
