// SPDX-License-Identifier: Apache-2.0
// Broken kernels for measuring attribution: what each would have returned on a drawn valid batch.
// Written from what such kernels do, apart from how the attribution recomputes them; five kinds
// (marked) leave numbers that it does not recompute.
#ifndef LG_BENCH_ATTRIBUTION_KERNELS_H
#define LG_BENCH_ATTRIBUTION_KERNELS_H

#include "attribution_values.h"
#include "reference/reference.h"
#include "result/observation.h"

typedef struct broken {
    draw *d;
    const lg_batch *batch;
    lg_reference reference;
    lg_observation seen;
    int64_t strides[2]; // of the scenario's logits
    double *loss;       // the output, to be broken
    double *gradient;   // the gradient, to be broken
    int64_t n_gradient;
} broken;

static inline double broken_noise(broken *b, double size) {
    return 1 + size * (2 * draw_uniform(b->d) - 1);
}

// Rounding after each of many steps, or in a narrower type.
static inline bool break_by_rounding(broken *b) {
    double size = b->batch->input.dtype == LG_FLOAT64 ? 1e-13 : 1e-5;
    for (int64_t i = 0; i < b->n_gradient; i++) {
        b->gradient[i] *= broken_noise(b, size);
    }
    for (int64_t i = 0; i < b->reference.n_loss; i++) {
        b->loss[i] *= broken_noise(b, size);
    }
    return true;
}

// A sum in a type with seven bits too few: not recomputed.
static inline bool break_by_narrow_sum(broken *b) {
    double keep = 0.002 + 0.01 * draw_uniform(b->d);
    b->loss[0] *= 1 - keep;
    return b->reference.scalar && b->reference.n_rows > 100 && fabs(b->loss[0]) > 0.5;
}

static inline bool break_by_row_count(broken *b) {
    const lg_reference *r = &b->reference;
    b->loss[0] *= r->total_weight / (double)r->n_rows;
    for (int64_t i = 0; i < b->n_gradient; i++) {
        b->gradient[i] *= r->total_weight / (double)r->n_rows;
    }
    return r->scalar && b->batch->loss.reduction == LG_REDUCTION_MEAN && r->n_ignored > 0;
}

static inline bool break_by_upstream(broken *b) {
    int64_t width = lg_batch_head_width(b->batch);
    bool has = lg_tensor_exists(&b->batch->grad_output);
    for (int64_t i = 0; has && i < b->n_gradient; i++) {
        int64_t n = lg_tensor_numel(&b->batch->grad_output);
        b->gradient[i] /= lg_tensor_get_f64(&b->batch->grad_output, n > 1 ? i / width : 0);
    }
    return has;
}

// The gradient of every row with the sign or the scale of another loss: not recomputed.
static inline bool break_by_gradient(broken *b) {
    double factor = draw_uniform(b->d) < 0.5 ? -1 : 0.5 + draw_uniform(b->d);
    for (int64_t i = 0; i < b->n_gradient; i++) {
        b->gradient[i] *= factor;
    }
    return fabs(factor - 1) > 0.06;
}

static inline bool break_by_strides(broken *b) {
    const lg_tensor *x = &b->batch->input;
    int64_t width = lg_batch_head_width(b->batch);
    bool fits = !lg_tensor_is_contiguous(x) && !b->reference.scalar &&
                b->batch->loss.kind == LG_NLL_LOSS && !lg_tensor_exists(&b->batch->weight);
    for (int64_t row = 0; fits && row < b->reference.n_rows; row++) {
        int64_t label = lg_tensor_get_i64(&b->batch->target, row);
        bool ignored = label == b->batch->loss.ignore_index;
        b->loss[row] = ignored ? 0 : -lg_dtype_get_f64(x->dtype, x->data, row * width + label);
    }
    return fits;
}

// 16-bit offsets: rows from there on hold another row's number.
static inline bool break_by_offsets(broken *b) {
    int64_t width = lg_batch_head_width(b->batch);
    bool fits = !b->reference.scalar && width * b->reference.n_rows > INT16_MAX && width > 1;
    for (int64_t row = 0; fits && row < b->reference.n_rows; row++) {
        if ((row + 1) * width > INT16_MAX) {
            b->loss[row] = b->reference.loss[draw_below(b->d, b->reference.n_rows)] + 0.7;
        }
    }
    return fits;
}

static inline bool break_by_grid(broken *b) {
    double sum = 0;
    bool fits = b->reference.scalar && b->batch->loss.reduction == LG_REDUCTION_SUM &&
                b->reference.n_rows > 70;
    for (int64_t row = 0; fits && row < 64; row++) {
        sum += b->reference.row_loss[row];
    }
    b->loss[0] = sum;
    return fits;
}

static inline double broken_mass(const broken *b, int64_t row) {
    int64_t width = lg_batch_head_width(b->batch);
    double sum = 0;
    for (int64_t c = 0; c < width; c++) {
        sum += exp(lg_tensor_get_f64(&b->batch->input, row * width + c));
    }
    return sum;
}

static inline bool break_by_padding(broken *b) {
    int64_t extra = 32 - lg_batch_head_width(b->batch) % 32;
    bool fits = b->batch->loss.kind == LG_CROSS_ENTROPY && !b->reference.scalar && extra < 32 &&
                b->batch->loss.label_smoothing == 0 && !lg_tensor_exists(&b->batch->weight);
    for (int64_t row = 0; fits && row < b->reference.n_rows; row++) {
        bool ignored = lg_tensor_get_i64(&b->batch->target, row) == b->batch->loss.ignore_index;
        double mass = broken_mass(b, row);
        b->loss[row] += ignored ? 0 : log((mass + (double)extra) / mass);
    }
    return fits;
}

static inline bool break_by_shards(broken *b) {
    bool fits = b->batch->loss.kind == LG_CROSS_ENTROPY && !b->reference.scalar &&
                !lg_tensor_exists(&b->batch->weight);
    for (int64_t row = 0; fits && row < b->reference.n_rows; row++) {
        bool ignored = lg_tensor_get_i64(&b->batch->target, row) == b->batch->loss.ignore_index;
        b->loss[row] += ignored ? 0 : log(4);
    }
    return fits;
}

// Weights left out of the loss and of the divisor.
static inline bool break_by_weights(broken *b) {
    lg_batch plain = *b->batch;
    lg_reference other;
    bool fits = lg_tensor_exists(&b->batch->weight);
    plain.weight = (lg_tensor){0};
    if (!fits || !lg_reference_compute(&plain, true, &other)) {
        return false;
    }
    memcpy(b->loss, other.loss, (size_t)other.n_loss * sizeof *b->loss);
    memcpy(b->gradient, other.grad_input, (size_t)b->n_gradient * sizeof *b->gradient);
    lg_reference_free(&other);
    return true;
}

// Two options that meet, in a way of the kernel's own: not recomputed.
static inline bool break_by_options(broken *b) {
    bool fits = b->batch->loss.label_smoothing > 0 || lg_tensor_exists(&b->batch->weight) ||
                b->reference.n_ignored > 0;
    double factor = 1.2 + draw_uniform(b->d);
    for (int64_t i = 0; i < b->reference.n_loss; i++) {
        b->loss[i] *= factor;
    }
    return fits && fabs(b->loss[0]) > 1;
}

static inline bool break_by_leaving_out(broken *b) {
    lg_output *out = &b->seen.outputs[draw_below(b->d, b->seen.n_outputs)];
    out->n_unwritten = 1 + draw_below(b->d, out->n);
    out->first_unwritten = draw_below(b->d, out->n);
    return true;
}

// Each row with the last class is signalled, by a record.
static inline bool break_by_guard(broken *b) {
    int64_t last = lg_batch_head_width(b->batch) - 1;
    int64_t n = b->reference.n_rows;
    b->seen.records = lg_arena_array(&b->seen.arena, (size_t)n, sizeof *b->seen.records);
    for (int64_t row = 0; row < n; row++) {
        int64_t label = lg_tensor_get_i64(&b->batch->target, row);
        if (label == last) {
            b->seen.records[b->seen.n_records++] =
                (lg_fault_record){.row = row, .value = label, .code = LG_RECORD_LABEL};
        }
    }
    return b->seen.n_records > 0;
}

// An access beyond the input because of its size: nothing is returned.
static inline bool break_by_far_access(broken *b) {
    b->seen.status = LG_STATUS_ILLEGAL_ADDRESS;
    b->seen.memory = (lg_memory_finding){.present = true, .buffer = "input"};
    b->seen.n_outputs = 0;
    return lg_tensor_numel(&b->batch->input) > INT16_MAX;
}

static inline bool break_by_order(broken *b) {
    b->seen.race = "another order of blocks gives another number";
    return b->reference.n_loss > 0;
}

static const struct broken_kind {
    const char *name;
    lg_cause cause;
    bool (*apply)(broken *b);
} broken_kinds[] = {
    {"rounding", LG_CAUSE_PRECISION, break_by_rounding},
    {"narrow sum", LG_CAUSE_PRECISION, break_by_narrow_sum},
    {"divided by the rows", LG_CAUSE_WRONG_NORMALISATION, break_by_row_count},
    {"upstream gradient left out", LG_CAUSE_GRADIENT_CONTRACT, break_by_upstream},
    {"gradient scaled", LG_CAUSE_GRADIENT_CONTRACT, break_by_gradient},
    {"strides not read", LG_CAUSE_STRIDES_IGNORED, break_by_strides},
    {"16-bit offsets", LG_CAUSE_INDEX_OVERFLOW, break_by_offsets},
    {"rows beyond the grid", LG_CAUSE_INDEX_OVERFLOW, break_by_grid},
    {"far access", LG_CAUSE_INDEX_OVERFLOW, break_by_far_access},
    {"lanes beyond C", LG_CAUSE_PADDED_LANES, break_by_padding},
    {"four shards of all classes", LG_CAUSE_SHARD_STATISTICS, break_by_shards},
    {"weights left out", LG_CAUSE_OPTION_INTERPLAY, break_by_weights},
    {"options that meet", LG_CAUSE_OPTION_INTERPLAY, break_by_options},
    {"elements left out", LG_CAUSE_UNWRITTEN_OUTPUT, break_by_leaving_out},
    {"class C-1 refused", LG_CAUSE_OFF_BY_ONE_CHECK, break_by_guard},
    {"order of blocks", LG_CAUSE_RACE, break_by_order},
};
enum { N_BROKEN_KINDS = sizeof broken_kinds / sizeof *broken_kinds };

static inline void broken_output(broken *b, lg_arg_id arg, int64_t n, const double *values) {
    lg_output *out = &b->seen.outputs[b->seen.n_outputs++];
    *out = (lg_output){.arg = arg, .dtype = (int)b->batch->input.dtype, .n = n};
    out->values = lg_arena_array(&b->seen.arena, (size_t)n + 1, sizeof(double));
    memcpy(out->values, values, (size_t)n * sizeof(double));
}

// Draws a valid batch and breaks a kernel of kind `kind` on it; false: the batch gives it no room.
// Free with broken_free, also then.
static inline bool draw_broken(broken *b, draw *d, uint64_t seed, int64_t index, int kind,
                               lg_diags *diags) {
    static const lg_reduction reductions[] = {LG_REDUCTION_NONE, LG_REDUCTION_NONE,
                                              LG_REDUCTION_MEAN, LG_REDUCTION_SUM};
    draw_begin(d, WORLD_PRIORS, seed, index);
    *b = (broken){.d = d, .batch = &d->batch};
    lg_scenario *s = &d->scenario;
    int64_t n = 2 + draw_size(d, 1000);
    int64_t classes = 1 + draw_size(d, 1 + 100000 / n);
    s->loss = (lg_loss_options){.kind = draw_uniform(d) < 0.5 ? LG_NLL_LOSS : LG_CROSS_ENTROPY,
                                .reduction = reductions[draw_below(d, 4)],
                                .ignore_index = -100,
                                .direction = LG_BOTH};
    s->batch = (lg_batch_spec){.seed = seed ^ (uint64_t)index * UINT64_C(0x9e3779b97f4a7c15),
                               .samples = n,
                               .classes = classes,
                               .logits = {.source = LG_ARRAY_GENERATED,
                                          .dtype = draw_uniform(d) < 0.3 ? LG_FLOAT64 : LG_FLOAT32,
                                          .scale = 2},
                               .targets = {.source = LG_ARRAY_GENERATED}};
    if (s->loss.kind == LG_CROSS_ENTROPY && draw_uniform(d) < 0.3) {
        s->loss.label_smoothing = 0.1;
    }
    s->batch.ignored_fraction = draw_uniform(d) < 0.4 ? 0.3 : 0;
    lg_array_spec some = {.source = LG_ARRAY_GENERATED, .lo = 0.5, .hi = 1.5};
    s->weight = draw_uniform(d) < 0.3 ? some : (lg_array_spec){0};
    s->grad_output = draw_uniform(d) < 0.4 ? some : (lg_array_spec){0};
    if (draw_uniform(d) < 0.3) {
        b->strides[0] = 1;
        b->strides[1] = n;
        s->batch.logits.stride = (lg_i64_list){.n = 2, .items = b->strides};
    }
    if (!lg_generate(s, false, &d->batch, diags) ||
        !lg_reference_compute(&d->batch, true, &b->reference)) {
        return false;
    }
    b->seen.failed_launch_index = -1;
    b->n_gradient = lg_tensor_numel(&d->batch.input);
    broken_output(b, LG_ARG_OUTPUT, b->reference.n_loss, b->reference.loss);
    broken_output(b, LG_ARG_GRAD_INPUT, b->n_gradient, b->reference.grad_input);
    b->loss = b->seen.outputs[0].values;
    b->gradient = b->seen.outputs[1].values;
    return isfinite(b->reference.loss[0]) && broken_kinds[kind].apply(b);
}

static inline void broken_free(broken *b) {
    lg_observation_free(&b->seen);
    lg_reference_free(&b->reference);
    lg_batch_free(&b->d->batch);
}

#endif
