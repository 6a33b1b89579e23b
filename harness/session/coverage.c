// SPDX-License-Identifier: Apache-2.0
// Which of the options that a manifest claims a case ran.
#include "session/internal.h"

enum option {
#define LG_OPTION(id, text) OPTION_##id,
#include "session/coverage.def"
#undef LG_OPTION
    N_OPTIONS
};

static const char *const texts[] = {
#define LG_OPTION(id, text) text,
#include "session/coverage.def"
#undef LG_OPTION
};

static uint32_t bit_if(bool condition, enum option option) {
    return condition ? 1u << option : 0;
}

static lg_coverage by_direction(lg_direction directions, uint32_t options,
                                struct lg_coverage_pass pass) {
    lg_coverage covered = {.options = options};
    covered.forward = directions & LG_FORWARD ? pass : covered.forward;
    covered.backward = directions & LG_BACKWARD ? pass : covered.backward;
    return covered;
}

static bool has_entry_per_pair(const lg_kernel *kernel) {
    for (int i = 0; i < kernel->n_stages; i++) {
        if (kernel->stages[i].entry_by_dtype && kernel->stages[i].entry_by_target) {
            return true;
        }
    }
    return false;
}

lg_coverage lg_coverage_claimed(const lg_kernel *kernel) {
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
    struct lg_coverage_pass pass = {.inputs = kernel->input_dtypes,
                                    .targets = labels ? kernel->target_dtypes : 0,
                                    .reductions = kernel->reductions};
    for (int i = LG_DTYPE_NONE + 1; labels && has_entry_per_pair(kernel) && i < LG_N_DTYPES; i++) {
        pass.pairs[i] = pass.inputs & 1u << i ? pass.targets : 0;
    }
    return by_direction(lg_kernel_directions(kernel), options, pass);
}

lg_coverage lg_coverage_of(const lg_kernel *kernel, const lg_batch *batch,
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
    struct lg_coverage_pass pass = {.inputs = 1u << batch->input.dtype,
                                    .targets = 1u << target->dtype,
                                    .reductions = 1u << batch->loss.reduction};
    pass.pairs[batch->input.dtype] = pass.targets;
    return by_direction(batch->loss.direction & lg_kernel_directions(kernel), options, pass);
}

static void join(struct lg_coverage_pass *all, const struct lg_coverage_pass *more) {
    all->inputs |= more->inputs;
    all->targets |= more->targets;
    all->reductions |= more->reductions;
    for (int i = 0; i < LG_N_DTYPES; i++) {
        all->pairs[i] |= more->pairs[i];
    }
}

void lg_coverage_add(lg_coverage *all, const lg_coverage *more) {
    all->options |= more->options;
    join(&all->forward, &more->forward);
    join(&all->backward, &more->backward);
}

static struct lg_coverage_pass without(const struct lg_coverage_pass *all,
                                       const struct lg_coverage_pass *some) {
    struct lg_coverage_pass rest = {.inputs = all->inputs & ~some->inputs,
                                    .targets = all->targets & ~some->targets,
                                    .reductions = all->reductions & ~some->reductions};
    for (int i = 0; i < LG_N_DTYPES; i++) {
        rest.pairs[i] = all->pairs[i] & ~some->pairs[i];
    }
    return rest;
}

static const char *comma(const lg_str *text) {
    return text->n > 0 ? ", " : "";
}

static void add_types(lg_str *out, uint32_t missing, const char *what, const char *direction) {
    for (int i = LG_DTYPE_NONE + 1; i < LG_N_DTYPES; i++) {
        if (missing & 1u << i) {
            lg_str_printf(out, "%s%s %s%s", comma(out), lg_dtype_name((lg_dtype)i), what,
                          direction);
        }
    }
}

// What its input or its targets alone say already is left out.
static void add_pairs(lg_str *out, const struct lg_coverage_pass *missing, const char *direction) {
    for (int i = LG_DTYPE_NONE + 1; i < LG_N_DTYPES; i++) {
        uint32_t targets = missing->inputs & 1u << i ? 0 : missing->pairs[i] & ~missing->targets;
        for (int k = LG_DTYPE_NONE + 1; k < LG_N_DTYPES; k++) {
            if (targets & 1u << k) {
                lg_str_printf(out, "%s%s input with %s targets%s", comma(out),
                              lg_dtype_name((lg_dtype)i), lg_dtype_name((lg_dtype)k), direction);
            }
        }
    }
}

static void add_pass(lg_str *out, const struct lg_coverage_pass *missing, const char *direction) {
    for (int i = LG_REDUCTION_NONE; i <= LG_REDUCTION_SUM; i++) {
        if (missing->reductions & 1u << i) {
            lg_str_printf(out, "%sreduction %s%s", comma(out), lg_reduction_name((lg_reduction)i),
                          direction);
        }
    }
    add_types(out, missing->inputs, "input", direction);
    add_types(out, missing->targets, "targets", direction);
    add_pairs(out, missing, direction);
}

char *lg_coverage_missing(const lg_coverage *claimed, const lg_coverage *run) {
    lg_str out = {0};
    for (int i = 0; i < N_OPTIONS; i++) {
        if (claimed->options & ~run->options & 1u << i) {
            lg_str_printf(&out, "%s%s", comma(&out), texts[i]);
        }
    }
    struct lg_coverage_pass forward = without(&claimed->forward, &run->forward);
    struct lg_coverage_pass backward = without(&claimed->backward, &run->backward);
    add_pass(&out, &forward, "");
    if (run->backward.inputs) { // else that there was no backward pass says it all
        backward = without(&backward, &forward);
        add_pass(&out, &backward, " backward");
    }
    return out.n > 0 ? lg_str_take(&out) : NULL;
}
