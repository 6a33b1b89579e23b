// SPDX-License-Identifier: Apache-2.0
// Which batches a kernel can be given at all. What the host would refuse anyway is no reason: that
// a guarded kernel never sees such a batch is a result, not a gap.
#include "device/internal.h"

#include "batch/batch.h"

static bool has_bit(uint32_t set, int bit) {
    return set & 1u << bit;
}

static bool host_refuses(const lg_kernel *kernel, const lg_batch *batch, lg_arena *arena) {
    return kernel->policy != LG_POLICY_NONE && lg_hostcheck(batch, arena).cause != LG_CAUSE_NONE;
}

static bool entries_name_target(const lg_kernel *kernel) {
    for (int i = 0; i < kernel->n_stages; i++) {
        if (kernel->stages[i].entry_by_target) {
            return true;
        }
    }
    return false;
}

// An unchecked kernel is given the bytes of labels whose type a checked call refuses, as a caller
// that casts a pointer would: it reads them as labels of its own type.
static bool reads_raw_labels(const lg_kernel *kernel, const lg_batch *batch, lg_arena *arena) {
    return kernel->policy == LG_POLICY_NONE && !lg_batch_is_binary(batch) &&
           !batch->target_is_probability && lg_hostcheck(batch, arena).cause != LG_CAUSE_NONE;
}

static const char *types_reason(const lg_kernel *kernel, const lg_batch *batch, lg_arena *arena) {
    lg_dtype input = batch->input.dtype;
    lg_dtype target = lg_batch_device_target(batch)->dtype;
    if (!has_bit(kernel->input_dtypes, input)) {
        return lg_arena_printf(arena, "it takes no %s input", lg_dtype_name(input));
    }
    if (!has_bit(kernel->target_dtypes, target)) {
        if (reads_raw_labels(kernel, batch, arena)) {
            return NULL;
        }
        return lg_arena_printf(arena, "it takes no %s targets", lg_dtype_name(target));
    }
    // Float targets go with an input of the same type, unless there is an entry for each pair.
    if (lg_dtype_is_float(target) && target != input && !entries_name_target(kernel)) {
        return lg_arena_printf(arena, "it takes targets of the input's type, not %s beside %s",
                               lg_dtype_name(target), lg_dtype_name(input));
    }
    return NULL;
}

static const char *shape_reason(const lg_kernel *kernel, const lg_batch *batch) {
    if (lg_batch_is_binary(batch)) {
        return NULL; // elementwise: every shape is the same to it
    }
    if (batch->input.rank <= 1) {
        return kernel->unbatched ? NULL : "it takes no unbatched input";
    }
    if (batch->input.rank == 2) {
        return kernel->batched ? NULL : "it takes no N×C input";
    }
    return kernel->spatial ? NULL : "it takes no input with extra dimensions";
}

static const char *options_reason(const lg_kernel *kernel, const lg_batch *batch) {
    if (batch->loss.label_smoothing != 0 && !kernel->label_smoothing) {
        return "it has no label smoothing";
    }
    if (lg_tensor_exists(&batch->weight) && !kernel->weights) {
        return "it takes no weights";
    }
    if (lg_tensor_exists(&batch->pos_weight) && !lg_kernel_takes(kernel, LG_ARG_POS_WEIGHT)) {
        return "it takes no pos_weight";
    }
    return NULL;
}

static const char *strides_reason(const lg_kernel *kernel, const lg_batch *batch) {
    const lg_tensor *input = &batch->input;
    const lg_tensor *target = lg_batch_device_target(batch);
    if (lg_tensor_is_contiguous(input) && lg_tensor_is_contiguous(target)) {
        return NULL;
    }
    if (!kernel->strided) {
        return "it takes contiguous arrays only";
    }
    int64_t stride;
    int input_from = lg_batch_is_binary(batch) ? 1 : 2;
    int target_from = !lg_batch_is_binary(batch) && batch->target_is_probability ? 2 : 1;
    if (!lg_collapse(input, input_from, &stride) || !lg_collapse(target, target_from, &stride)) {
        return "the extra dimensions have no common stride";
    }
    return NULL;
}

static const char *direction_reason(const lg_kernel *kernel, const lg_batch *batch) {
    lg_direction directions = lg_kernel_directions(kernel);
    if ((batch->loss.direction & LG_FORWARD) && !(directions & LG_FORWARD)) {
        return "it has no forward pass";
    }
    // Where both are asked for, a kernel without a backward pass is judged by its forward pass
    // alone.
    if (batch->loss.direction == LG_BACKWARD && !(directions & LG_BACKWARD)) {
        return "it has no backward pass";
    }
    return NULL;
}

static const char *mode_reason(const lg_kernel *kernel, const lg_batch *batch, lg_mode mode) {
    if (mode == LG_MODE_BLOCK_SIZES && lg_count_block_sizes(kernel, batch->loss.direction) < 2) {
        return "it has one legal block size";
    }
    if (mode == LG_MODE_POISONED && kernel->policy != LG_POLICY_ASSERT) {
        return "only an assert ends the context";
    }
    return NULL;
}

const char *lg_device_unsuitable(const lg_kernel *kernel, const lg_batch *batch, lg_mode mode,
                                 lg_arena *arena) {
    if (kernel->family != batch->loss.kind) {
        return lg_arena_printf(arena, "it computes %s, the batch asks for %s",
                               lg_loss_kind_name(kernel->family),
                               lg_loss_kind_name(batch->loss.kind));
    }
    if (!has_bit(kernel->reductions, batch->loss.reduction)) {
        return lg_arena_printf(arena, "it has no reduction %s",
                               lg_reduction_name(batch->loss.reduction));
    }
    if (!lg_batch_is_binary(batch) && batch->target_is_probability != kernel->probability_targets) {
        return kernel->probability_targets ? "it takes class probabilities only"
                                           : "it takes class indices only";
    }
    const char *reason = shape_reason(kernel, batch);
    reason = reason ? reason : options_reason(kernel, batch);
    reason = reason ? reason : direction_reason(kernel, batch);
    if (!reason) {
        reason = types_reason(kernel, batch, arena);
        reason = reason ? reason : strides_reason(kernel, batch);
        reason = reason && host_refuses(kernel, batch, arena) ? NULL : reason;
    }
    // What the batch is to the kernel comes first: it holds in every mode.
    return reason ? reason : mode_reason(kernel, batch, mode);
}

// The types as the manifest lists them: "int64 or int32".
static const char *targets_text(const lg_kernel *kernel, lg_arena *arena) {
    const char *text = "";
    for (int i = LG_DTYPE_NONE + 1; i < LG_N_DTYPES; i++) {
        if (has_bit(kernel->target_dtypes, i)) {
            text = lg_arena_printf(arena, "%s%s%s", text, *text ? " or " : "",
                                   lg_dtype_name((lg_dtype)i));
        }
    }
    return text;
}

lg_refusal lg_device_refusal(const lg_kernel *kernel, const lg_batch *batch, lg_mode mode,
                             lg_arena *arena) {
    lg_refusal none = {.cause = LG_CAUSE_NONE};
    lg_dtype type = lg_batch_device_target(batch)->dtype;
    bool labels = !lg_batch_is_binary(batch) && !batch->target_is_probability &&
                  !lg_dtype_is_float(type) && kernel->policy != LG_POLICY_NONE;
    if (!labels || has_bit(kernel->target_dtypes, type)) {
        return none;
    }
    // As it would be with labels of a type that it takes; none are read for that.
    lg_batch typed = *batch;
    lg_tensor *target =
        lg_tensor_exists(&typed.device_target) ? &typed.device_target : &typed.target;
    for (int i = LG_DTYPE_NONE + 1; i < LG_N_DTYPES; i++) {
        target->dtype = has_bit(kernel->target_dtypes, i) ? (lg_dtype)i : target->dtype;
    }
    if (lg_device_unsuitable(kernel, &typed, mode, arena)) {
        return none;
    }
    return (lg_refusal){.cause = LG_CAUSE_TARGET_DTYPE,
                        .text = lg_arena_printf(arena, "class indices are %s: %s takes %s",
                                                lg_dtype_name(type), kernel->name,
                                                targets_text(kernel, arena))};
}
