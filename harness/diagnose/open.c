// SPDX-License-Identifier: Apache-2.0
// Opens the arrays of a diagnosis and describes the batch that they make.
#include "diagnose/internal.h"
#include "support/alloc.h"

#include <stdlib.h>

// A .csv says its length and type only at its end.
static bool count_csv(const char *place, lg_array_file *source, lg_diags *diags) {
    lg_array_file counted;
    bool ok = lg_source_open(place, &counted, diags);
    int64_t got = ok ? 1 : -1;
    int64_t *labels = lg_xmalloc(LG_SOURCE_BLOCK * sizeof *labels);
    double *reals = lg_xmalloc(LG_SOURCE_BLOCK * sizeof *reals);
    while (got > 0) {
        got = lg_source_labels(&counted, labels, reals, LG_SOURCE_BLOCK, diags);
    }
    source->n = counted.n;
    source->dtype = counted.dtype;
    source->shape[0] = counted.n;
    free(labels);
    free(reals);
    lg_source_close(&counted);
    return got == 0;
}

void lg_diagnose_describe(lg_tensor *tensor, lg_dtype dtype, int rank, const int64_t *shape) {
    *tensor = (lg_tensor){.dtype = dtype, .rank = rank};
    int64_t stride = 1;
    for (int i = rank - 1; i >= 0; i--) {
        tensor->shape[i] = shape[i];
        tensor->stride[i] = stride;
        stride *= shape[i] > 0 ? shape[i] : 1;
    }
}

// The input that --head-width stands for: the targets' shape with a class axis.
static bool describe_input(lg_diagnose_pass *p, lg_diags *diags) {
    const lg_array_file *t = &p->targets;
    int64_t shape[LG_MAX_RANK];
    int rank = 0;
    int64_t n;
    if (t->rank >= LG_MAX_RANK || __builtin_mul_overflow(t->n, p->options->head_width, &n)) {
        return lg_error(diags, (lg_loc){.file = t->place},
                        "has too many dimensions or elements for a loss");
    }
    for (int i = 0; i < (t->rank ? t->rank : 1); i++) {
        if (i == (t->rank ? 1 : 0)) {
            shape[rank++] = p->options->head_width;
        }
        if (t->rank) {
            shape[rank++] = t->shape[i];
        }
    }
    if (t->rank == 1) {
        shape[rank++] = p->options->head_width;
    }
    lg_dtype dtype = p->batch.weight.dtype;
    lg_diagnose_describe(&p->batch.input, lg_dtype_is_float(dtype) ? dtype : LG_FLOAT32, rank,
                         shape);
    return true;
}

static bool open_logits(lg_diagnose_pass *p, lg_diags *diags) {
    const lg_diagnose_options *o = p->options;
    p->has_logits = true;
    if (!lg_source_open(o->logits, &p->logits, diags)) {
        return false;
    }
    if (p->logits.csv) {
        return lg_error(diags, (lg_loc){.file = o->logits},
                        "is a .csv file: logits are read from .npy and .npz files");
    }
    if (p->targets.csv && !count_csv(o->targets, &p->targets, diags)) {
        return false;
    }
    lg_diagnose_describe(&p->batch.input, p->logits.dtype, p->logits.rank, p->logits.shape);
    return true;
}

// Weights from a text have no type of their own: they take the input's.
static bool retype_weight(lg_diagnose_pass *p) {
    lg_tensor typed;
    lg_tensor *weight = &p->batch.weight;
    bool text = p->options->weight && lg_source_is_csv(p->options->weight);
    if (!text || !lg_dtype_is_float(p->batch.input.dtype)) {
        return true;
    }
    if (!lg_tensor_init(&typed, p->batch.input.dtype, weight->rank, weight->shape)) {
        return false;
    }
    for (int64_t i = 0; i < lg_tensor_numel(weight); i++) {
        lg_tensor_set_f64(&typed, i, lg_tensor_get_f64(weight, i));
    }
    lg_tensor_free(weight);
    *weight = typed;
    return true;
}

bool lg_diagnose_open(lg_diagnose_pass *p, lg_diags *diags) {
    const lg_diagnose_options *o = p->options;
    p->batch.loss = (lg_loss_options){.kind = o->loss ? o->loss : LG_CROSS_ENTROPY,
                                      .reduction = LG_REDUCTION_MEAN,
                                      .ignore_index = o->ignore_index,
                                      .direction = LG_FORWARD};
    p->batch.classes = o->classes;
    bool ok = lg_source_open(o->targets, &p->targets, diags);
    ok = (!o->weight || lg_source_tensor(o->weight, &p->batch.weight, diags)) && ok;
    ok = (!o->logits || open_logits(p, diags)) && ok;
    ok = ok && (o->logits || describe_input(p, diags));
    return ok && retype_weight(p);
}
