// SPDX-License-Identifier: Apache-2.0
#include "model/batch.h"

#include <stdlib.h>
#include <string.h>

static const char *const loss_kinds[] = {
    [LG_NLL_LOSS] = "nll_loss",
    [LG_CROSS_ENTROPY] = "cross_entropy",
    [LG_BCE] = "binary_cross_entropy",
    [LG_BCE_WITH_LOGITS] = "binary_cross_entropy_with_logits",
};

static const char *const reductions[] = {
    [LG_REDUCTION_NONE] = "none",
    [LG_REDUCTION_MEAN] = "mean",
    [LG_REDUCTION_SUM] = "sum",
};

static const char *const directions[] = {
    [LG_FORWARD] = "forward",
    [LG_BACKWARD] = "backward",
    [LG_BOTH] = "both",
};

const char *lg_loss_kind_name(lg_loss_kind kind) {
    return kind >= LG_NLL_LOSS && kind <= LG_BCE_WITH_LOGITS ? loss_kinds[kind] : "invalid";
}

const char *lg_reduction_name(lg_reduction reduction) {
    return (unsigned)reduction <= LG_REDUCTION_SUM ? reductions[reduction] : "invalid";
}

bool lg_loss_kind_parse(const char *name, lg_loss_kind *kind) {
    for (int i = LG_NLL_LOSS; i <= LG_BCE_WITH_LOGITS; i++) {
        if (strcmp(name, loss_kinds[i]) == 0) {
            *kind = (lg_loss_kind)i;
            return true;
        }
    }
    return false;
}

const char *lg_direction_name(lg_direction direction) {
    return direction >= LG_FORWARD && direction <= LG_BOTH ? directions[direction] : "invalid";
}

const char *const *lg_loss_kind_names(size_t *n) {
    *n = LG_BCE_WITH_LOGITS;
    return loss_kinds + LG_NLL_LOSS;
}

const char *const *lg_reduction_names(size_t *n) {
    *n = LG_REDUCTION_SUM + 1;
    return reductions;
}

const char *const *lg_direction_names(size_t *n) {
    *n = LG_BOTH;
    return directions + LG_FORWARD;
}

void lg_batch_free(lg_batch *batch) {
    lg_tensor_free(&batch->input);
    lg_tensor_free(&batch->target);
    lg_tensor_free(&batch->device_target);
    lg_tensor_free(&batch->weight);
    lg_tensor_free(&batch->pos_weight);
    lg_tensor_free(&batch->grad_output);
    for (int i = 0; i < batch->n_injections; i++) {
        free(batch->injections[i].rows);
    }
    *batch = (lg_batch){0};
}

bool lg_batch_is_binary(const lg_batch *batch) {
    return batch->loss.kind == LG_BCE || batch->loss.kind == LG_BCE_WITH_LOGITS;
}

int64_t lg_batch_samples(const lg_batch *batch) {
    const lg_tensor *input = &batch->input;
    // A class-index loss takes a lone dimension as the classes of one sample; BCE as the samples.
    if (input->rank == 0 || (input->rank == 1 && !lg_batch_is_binary(batch))) {
        return 1;
    }
    return input->shape[0];
}

int64_t lg_batch_head_width(const lg_batch *batch) {
    const lg_tensor *input = &batch->input;
    if (lg_batch_is_binary(batch) || input->rank == 0) {
        return 1;
    }
    return input->rank == 1 ? input->shape[0] : input->shape[1];
}

int64_t lg_batch_spatial(const lg_batch *batch) {
    int64_t product = 1;
    for (int i = lg_batch_is_binary(batch) ? 1 : 2; i < batch->input.rank; i++) {
        product *= batch->input.shape[i];
    }
    return product;
}

int64_t lg_batch_rows(const lg_batch *batch) {
    return lg_batch_samples(batch) * lg_batch_spatial(batch);
}

const lg_tensor *lg_batch_device_target(const lg_batch *batch) {
    return lg_tensor_exists(&batch->device_target) ? &batch->device_target : &batch->target;
}
