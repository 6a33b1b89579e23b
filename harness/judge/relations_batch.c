// SPDX-License-Identifier: Apache-2.0
#include "judge/internal.h"

#include "model/rng.h"
#include "reference/reference.h"
#include "support/alloc.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// A power of two, so that taking it off again is exact; beyond 88, where exp leaves float.
static const double shift = 128;

// Which rows make the other batch, and its input's shape.
typedef struct plan {
    int rank;
    int64_t shape[LG_MAX_RANK];
    int64_t n_rows;
    int64_t *source;
} plan;

static bool plan_begin(const lg_batch *batch, int64_t samples, plan *p) {
    *p = (plan){.rank = batch->input.rank};
    memcpy(p->shape, batch->input.shape, sizeof p->shape);
    int64_t rows = lg_batch_rows(batch);
    if (samples >= 0) {
        rows = p->shape[0] > 0 ? rows / p->shape[0] * samples : 0;
        p->shape[0] = samples;
    }
    p->n_rows = rows;
    p->source = lg_buffer_alloc((size_t)(rows > 0 ? rows : 1) * sizeof *p->source);
    return p->source != NULL;
}

// Rows from `first` on, beginning again at the end of the batch.
static bool plan_range(const lg_batch *batch, int64_t samples, int64_t first, plan *p) {
    if (!plan_begin(batch, samples, p)) {
        return false;
    }
    int64_t all = lg_batch_rows(batch);
    for (int64_t row = 0; row < p->n_rows; row++) {
        p->source[row] = (first + row) % all;
    }
    return true;
}

// Any order that is not the one it was. Elements of a binary loss move with their sample, as
// pos_weight belongs to columns.
static bool plan_permuted(const lg_batch *batch, uint64_t seed, plan *p) {
    if (!plan_begin(batch, -1, p)) {
        return false;
    }
    int64_t samples = p->rank > 0 ? p->shape[0] : 1;
    int64_t together = lg_batch_is_binary(batch) && samples > 0 ? p->n_rows / samples : 1;
    int64_t n = p->n_rows / (together > 0 ? together : 1);
    int64_t *order = lg_buffer_alloc((size_t)(n > 0 ? n : 1) * sizeof *order);
    if (!order) {
        return false;
    }
    for (int64_t i = 0; i < n; i++) {
        order[i] = i;
    }
    bool moved = false;
    for (int64_t i = n - 1; i > 0; i--) {
        int64_t k = (int64_t)lg_rng_below(seed, LG_STREAM_RELATION, (uint64_t)i, (uint64_t)i + 1);
        int64_t swapped = order[i];
        order[i] = order[k];
        order[k] = swapped;
        moved = moved || k != i;
    }
    for (int64_t row = 0; row < p->n_rows; row++) {
        int64_t from = order[(row / together + !moved) % n];
        p->source[row] = from * together + row % together;
    }
    free(order);
    return true;
}

static bool plan_flat(const lg_batch *batch, plan *p) {
    if (!plan_range(batch, -1, 0, p)) {
        return false;
    }
    p->rank = 2;
    p->shape[0] = p->n_rows;
    return true;
}

// --- gathering

// Elements of a row side by side, for an array in the input's shape.
static bool gather_input(const lg_batch *batch, const lg_tensor *from, const plan *p,
                         lg_tensor *to) {
    if (!lg_tensor_init(to, from->dtype, p->rank, p->shape)) {
        return false;
    }
    int64_t width = lg_batch_is_binary(batch) ? 1 : lg_batch_head_width(batch);
    int64_t spatial = 1;
    for (int i = 2; !lg_batch_is_binary(batch) && i < p->rank; i++) {
        spatial *= p->shape[i];
    }
    for (int64_t row = 0; row < p->n_rows; row++) {
        for (int64_t c = 0; c < width; c++) {
            double value = lg_batch_is_binary(batch) ? lg_tensor_get_f64(from, p->source[row])
                                                     : lg_row_read_class(from, p->source[row], c);
            int64_t at = lg_batch_is_binary(batch)
                             ? row
                             : (row / spatial * width + c) * spatial + row % spatial;
            lg_dtype_set_f64(to->dtype, to->data, at, value);
        }
    }
    return true;
}

// One element a row. `like_input`: in the input's shape (binary losses), else without a class axis.
static bool gather_rows(const lg_tensor *from, const plan *p, bool like_input, lg_tensor *to) {
    int64_t shape[LG_MAX_RANK];
    int rank = 0;
    for (int i = 0; i < p->rank; i++) {
        if (like_input || (i != 1 && p->rank > 1)) {
            shape[rank++] = p->shape[i];
        }
    }
    if (!lg_tensor_init(to, from->dtype, rank, shape)) {
        return false;
    }
    for (int64_t row = 0; row < p->n_rows; row++) {
        if (lg_dtype_is_float(from->dtype)) {
            lg_tensor_set_f64(to, row, lg_tensor_get_f64(from, p->source[row]));
        } else {
            lg_tensor_set_i64(to, row, lg_tensor_get_i64(from, p->source[row]));
        }
    }
    return true;
}

// A weight of a binary loss, one for each element.
static bool gather_weight(const lg_batch *batch, const plan *p, lg_tensor *to) {
    if (!lg_tensor_init(to, batch->weight.dtype, p->rank, p->shape)) {
        return false;
    }
    for (int64_t row = 0; row < p->n_rows; row++) {
        lg_tensor_set_f64(to, row, lg_broadcast_get(&batch->weight, &batch->input, p->source[row]));
    }
    return true;
}

static bool gather(const lg_batch *batch, const plan *p, lg_batch *out) {
    *out = (lg_batch){.loss = batch->loss,
                      .classes = batch->classes,
                      .target_is_probability = batch->target_is_probability};
    bool binary = lg_batch_is_binary(batch);
    bool probabilities = !binary && batch->target_is_probability;
    bool ok = gather_input(batch, &batch->input, p, &out->input);
    ok = ok && (probabilities ? gather_input(batch, &batch->target, p, &out->target)
                              : gather_rows(&batch->target, p, binary, &out->target));
    if (ok && lg_tensor_exists(&batch->weight)) {
        ok = binary ? gather_weight(batch, p, &out->weight)
                    : lg_tensor_copy(&out->weight, &batch->weight);
    }
    ok = ok && lg_tensor_copy(&out->pos_weight, &batch->pos_weight);
    if (ok && lg_tensor_exists(&batch->grad_output)) {
        bool per_row = batch->loss.reduction == LG_REDUCTION_NONE &&
                       lg_tensor_numel(&batch->grad_output) == lg_batch_rows(batch);
        ok = per_row ? gather_rows(&batch->grad_output, p, binary, &out->grad_output)
                     : lg_tensor_copy(&out->grad_output, &batch->grad_output);
    }
    if (!ok) {
        lg_batch_free(out);
    }
    return ok;
}

// --- the relations

static void related_batch_free(lg_related_batch *part) {
    lg_batch_free(&part->batch);
    lg_reference_free(&part->reference);
    free(part->source);
    *part = (lg_related_batch){0};
}

void lg_related_free(lg_related *related) {
    related_batch_free(&related->first);
    related_batch_free(&related->others[0]);
    related_batch_free(&related->others[1]);
    *related = (lg_related){0};
}

static bool add_reference(lg_related_batch *part) {
    return lg_reference_compute(&part->batch, lg_reference_keeps_gradient(&part->batch),
                                &part->reference);
}

// Takes the plan's rows over.
static bool add_part(const lg_batch *batch, bool planned, plan *p, lg_related_batch *part) {
    part->source = p->source;
    return planned && gather(batch, p, &part->batch);
}

static bool add_other(const lg_batch *batch, bool planned, plan *p, lg_related *out) {
    lg_related_batch *part = &out->others[out->n_others++];
    return add_part(batch, planned, p, part) && add_reference(part);
}

static bool make_shifted(const lg_batch *batch, uint64_t seed, lg_related *out) {
    plan p;
    out->has_first = true;
    bool ok = add_part(batch, plan_range(batch, -1, 0, &p), &p, &out->first);
    lg_related_batch *other = &out->others[out->n_others++];
    ok = ok && add_part(batch, plan_range(batch, -1, 0, &p), &p, other);
    if (!ok) {
        return false;
    }
    int64_t width = lg_batch_head_width(batch);
    int64_t spatial = lg_batch_spatial(batch);
    lg_tensor *high = &other->batch.input;
    lg_tensor *low = &out->first.batch.input;
    int64_t n = lg_tensor_numel(high);
    for (int64_t i = 0; i < n; i++) {
        int64_t row = i / (width * spatial) * spatial + i % spatial;
        bool up = lg_rng_below(seed, LG_STREAM_RELATION, (uint64_t)row, 2) == 0;
        double constant = up ? shift : -shift;
        lg_tensor_set_f64(high, i, lg_tensor_get_f64(high, i) + constant);
        lg_tensor_set_f64(low, i, lg_tensor_get_f64(high, i) - constant);
    }
    return add_reference(&out->first) && add_reference(other);
}

static bool make(const lg_batch *batch, uint64_t seed, lg_related *out) {
    plan p = {0};
    int64_t samples = lg_batch_samples(batch);
    int64_t rows = lg_batch_rows(batch);
    int64_t half = samples / 2;
    switch (out->relation) {
    case LG_RELATION_PERMUTE_ROWS:
        return add_other(batch, plan_permuted(batch, seed, &p), &p, out);
    case LG_RELATION_SPLIT_BATCH:
        return add_other(batch, plan_range(batch, half, 0, &p), &p, out) &&
               add_other(batch, plan_range(batch, samples - half, rows / samples * half, &p), &p,
                         out);
    case LG_RELATION_DOUBLE_BATCH:
        out->copies = 2;
        return add_other(batch, plan_range(batch, 2 * samples, 0, &p), &p, out);
    case LG_RELATION_FLATTEN_SPATIAL:
        return add_other(batch, plan_flat(batch, &p), &p, out);
    case LG_RELATION_SHIFT_LOGITS:
        return make_shifted(batch, seed, out);
    case LG_RELATION_CONTIGUOUS_COPY:
        return add_other(batch, plan_range(batch, -1, 0, &p), &p, out);
    case LG_RELATION_UNSET:
    case LG_N_RELATIONS:
        break;
    }
    return false;
}

bool lg_related_make(const lg_batch *batch, lg_relation relation, uint64_t seed, lg_related *out) {
    *out = (lg_related){.relation = relation, .copies = 1};
    if (lg_batch_rows(batch) == 0 || !make(batch, seed, out)) {
        lg_related_free(out);
        return false;
    }
    return true;
}
