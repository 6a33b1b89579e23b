// SPDX-License-Identifier: Apache-2.0
#include "pipeline/tried.h"

#include "pipeline/buffers.h"

enum option {
#define LG_TRIED(id, text) OPTION_##id,
#include "pipeline/tried.def"
#undef LG_TRIED
    N_OPTIONS
};

static const char *const texts[] = {
#define LG_TRIED(id, text) text,
#include "pipeline/tried.def"
#undef LG_TRIED
};

static uint32_t bit_if(bool condition, enum option option) {
    return condition ? 1u << option : 0;
}

lg_tried lg_tried_claimed(const lg_kernel *kernel) {
    bool binary = kernel->family == LG_BCE || kernel->family == LG_BCE_WITH_LOGITS;
    bool labels = !binary && !kernel->probability_targets;
    uint32_t options =
        bit_if(lg_kernel_directions(kernel) & LG_BACKWARD, OPTION_BACKWARD) |
        bit_if(lg_kernel_takes(kernel, LG_ARG_GRAD_OUTPUT), OPTION_UPSTREAM) |
        bit_if(!binary && kernel->unbatched, OPTION_UNBATCHED) |
        bit_if(!binary && kernel->batched, OPTION_BATCHED) |
        bit_if(!binary && kernel->spatial, OPTION_SPATIAL) |
        bit_if(kernel->strided, OPTION_STRIDED) | bit_if(kernel->weights, OPTION_WEIGHTS) |
        bit_if(lg_kernel_takes(kernel, LG_ARG_POS_WEIGHT), OPTION_POS_WEIGHT) |
        bit_if(kernel->label_smoothing, OPTION_SMOOTHING) | bit_if(labels, OPTION_IGNORED) |
        bit_if(kernel->policy != LG_POLICY_NONE, OPTION_INVALID);
    // Float targets have the input's type.
    return (lg_tried){.options = options,
                      .inputs = kernel->input_dtypes,
                      .targets = labels ? kernel->target_dtypes : 0,
                      .reductions = kernel->reductions};
}

lg_tried lg_tried_by(const lg_kernel *kernel, const lg_batch *batch,
                     const lg_reference *reference) {
    bool binary = lg_batch_is_binary(batch);
    int rank = batch->input.rank;
    const lg_tensor *target = lg_batch_device_target(batch);
    bool backward =
        (batch->loss.direction & LG_BACKWARD) && (lg_kernel_directions(kernel) & LG_BACKWARD);
    bool strided = !lg_tensor_is_contiguous(&batch->input) || !lg_tensor_is_contiguous(target);
    uint32_t options =
        bit_if(backward, OPTION_BACKWARD) |
        bit_if(backward && lg_tensor_exists(&batch->grad_output), OPTION_UPSTREAM) |
        bit_if(!binary && rank <= 1, OPTION_UNBATCHED) |
        bit_if(!binary && rank == 2, OPTION_BATCHED) | bit_if(!binary && rank > 2, OPTION_SPATIAL) |
        bit_if(strided, OPTION_STRIDED) | bit_if(lg_tensor_exists(&batch->weight), OPTION_WEIGHTS) |
        bit_if(lg_tensor_exists(&batch->pos_weight), OPTION_POS_WEIGHT) |
        bit_if(batch->loss.label_smoothing != 0, OPTION_SMOOTHING) |
        bit_if(reference && reference->n_ignored > 0, OPTION_IGNORED) |
        bit_if(reference && reference->n_invalid > 0, OPTION_INVALID);
    return (lg_tried){.options = options,
                      .inputs = 1u << batch->input.dtype,
                      .targets = 1u << target->dtype,
                      .reductions = 1u << batch->loss.reduction};
}

void lg_tried_join(lg_tried *all, const lg_tried *more) {
    all->options |= more->options;
    all->inputs |= more->inputs;
    all->targets |= more->targets;
    all->reductions |= more->reductions;
}

static const char *comma(const lg_str *text) {
    return text->n > 0 ? ", " : "";
}

static void add_types(lg_str *out, uint32_t missing, const char *what) {
    for (int i = LG_DTYPE_NONE + 1; i < LG_N_DTYPES; i++) {
        if (missing & 1u << i) {
            lg_str_printf(out, "%s%s %s", comma(out), lg_dtype_name((lg_dtype)i), what);
        }
    }
}

char *lg_tried_missing(const lg_tried *claimed, const lg_tried *met) {
    lg_str out = {0};
    for (int i = 0; i < N_OPTIONS; i++) {
        if (claimed->options & ~met->options & 1u << i) {
            lg_str_printf(&out, "%s%s", comma(&out), texts[i]);
        }
    }
    for (int i = LG_REDUCTION_NONE; i <= LG_REDUCTION_SUM; i++) {
        if (claimed->reductions & ~met->reductions & 1u << i) {
            lg_str_printf(&out, "%sreduction %s", comma(&out), lg_reduction_name((lg_reduction)i));
        }
    }
    add_types(&out, claimed->inputs & ~met->inputs, "input");
    add_types(&out, claimed->targets & ~met->targets, "targets");
    return out.n > 0 ? lg_str_take(&out) : NULL;
}
