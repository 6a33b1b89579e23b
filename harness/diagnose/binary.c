// SPDX-License-Identifier: Apache-2.0
// Targets of binary_cross_entropy: numbers of [0, 1], one an element of the input.
#include "batch/batch.h"
#include "diagnose/internal.h"
#include "model/tensor_file.h"
#include "support/alloc.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool is_one_wide(const lg_array_file *source) {
    return source->rank < 2 || (source->rank == 2 && source->shape[1] == 1);
}

bool lg_is_binary_diagnosis(const lg_diagnose_pass *p) {
    lg_loss_kind kind = p->options->loss;
    if (kind != 0) {
        return kind == LG_BCE || kind == LG_BCE_WITH_LOGITS;
    }
    int64_t width = p->has_logits ? lg_batch_head_width(&p->batch) : p->options->head_width;
    bool wide_input = p->has_logits && !is_one_wide(&p->logits);
    return lg_dtype_is_float(p->targets.dtype) && width == 1 && is_one_wide(&p->targets) &&
           !wide_input;
}

typedef struct range_scan {
    int64_t n, n_outside, first_outside;
    double outside; // the first
    lg_nonfinite_count nonfinite;
} range_scan;

static void scan_value(range_scan *s, double value, bool unit) {
    if (!isfinite(value)) {
        lg_nonfinite_add(&s->nonfinite, value, s->n);
    } else if (unit && (value < 0 || value > 1) && s->n_outside++ == 0) {
        s->first_outside = s->n;
        s->outside = value;
    }
    s->n++;
}

static void note_row(lg_diagnose_pass *p, double value, int64_t row, bool unit) {
    if (!isfinite(value) || (unit && !(value >= 0 && value <= 1))) {
        lg_row_list_add(&p->bad_rows, row);
    }
}

static bool scan_targets(lg_diagnose_pass *p, range_scan *s, lg_diags *diags) {
    int64_t *labels = lg_xmalloc(LG_SOURCE_BLOCK * sizeof *labels);
    double *reals = lg_xmalloc(LG_SOURCE_BLOCK * sizeof *reals);
    int64_t got;
    while ((got = lg_source_labels(&p->targets, labels, reals, LG_SOURCE_BLOCK, diags)) > 0) {
        bool floats = lg_dtype_is_float(p->targets.dtype);
        for (int64_t i = 0; i < got; i++) {
            double value = floats ? reals[i] : (double)labels[i];
            note_row(p, value, s->n, true);
            scan_value(s, value, true);
        }
    }
    free(labels);
    free(reals);
    return got == 0;
}

static bool scan_logits(lg_diagnose_pass *p, range_scan *s, lg_diags *diags) {
    int64_t got;
    while ((got = lg_source_raw(&p->logits, LG_SOURCE_BLOCK, diags)) > 0) {
        for (int64_t i = 0; i < got; i++) {
            scan_value(s, lg_dtype_get_f64(p->logits.dtype, p->logits.raw, i),
                       p->options->loss == LG_BCE);
        }
    }
    return got == 0;
}

static void add_range(lg_diagnosis *d, const range_scan *s, const char *what, const char *advice) {
    if (s->n_outside > 0) {
        lg_fact_add(d, LG_CAUSE_BCE_RANGE,
                    lg_arena_printf(
                        &d->finding->arena,
                        "%" PRId64 " %s outside [0, 1], the first is %g at %" PRId64, s->n_outside,
                        s->n_outside == 1 ? lg_arena_printf(&d->finding->arena, "%s is", what)
                                          : lg_arena_printf(&d->finding->arena, "%ss are", what),
                        s->outside, s->first_outside),
                    advice);
    }
}

static void add_facts(lg_diagnosis *d, const range_scan *targets, const range_scan *inputs) {
    lg_arena *arena = &d->finding->arena;
    const char *text = lg_nonfinite_text(&targets->nonfinite, arena);
    if (text) {
        lg_fact_add(d, LG_CAUSE_BCE_RANGE, lg_arena_printf(arena, "the targets hold %s", text),
                    "look at how the targets are made");
    }
    add_range(d, targets, "target", "targets are 0, 1 or a probability between them");
    text = lg_nonfinite_text(&inputs->nonfinite, arena);
    if (text) {
        lg_fact_add(d, LG_CAUSE_NONFINITE_LOGITS,
                    lg_arena_printf(arena, "the input holds %s", text),
                    "look for an overflow or a division by zero before the loss");
    }
    add_range(d, inputs, "input",
              "hand over sigmoid(input), or use binary_cross_entropy_with_logits");
}

// The host's own checks of shapes and types. Without logits the input has the targets' shape.
static void add_refusal(lg_diagnose_pass *p, lg_diagnosis *d) {
    const lg_array_file *t = &p->targets;
    lg_batch *batch = &p->batch;
    batch->loss.kind = p->options->loss == LG_BCE ? LG_BCE : LG_BCE_WITH_LOGITS;
    lg_diagnose_describe(&batch->target, t->dtype, t->rank, t->shape);
    if (!p->has_logits) {
        lg_dtype dtype = lg_dtype_is_float(t->dtype) ? t->dtype : LG_FLOAT32;
        lg_diagnose_describe(&batch->input, dtype, t->rank, t->shape);
    }
    lg_refusal refusal = lg_hostcheck(batch, &d->finding->arena);
    if (refusal.cause != LG_CAUSE_NONE) {
        lg_fact_add(d, refusal.cause, refusal.text,
                    refusal.cause == LG_CAUSE_TARGET_DTYPE ? "cast the targets to the input's type"
                    : refusal.cause == LG_CAUSE_SHAPE_LAYOUT
                        ? "give the targets the input's shape: targets.reshape(input.shape)"
                        : NULL);
    }
}

bool lg_diagnose_binary(lg_diagnose_pass *p, lg_diagnose_result *out, lg_diags *diags) {
    range_scan targets = {0};
    range_scan inputs = {0};
    if (!scan_targets(p, &targets, diags) || (p->has_logits && !scan_logits(p, &inputs, diags))) {
        return false;
    }
    lg_diagnosis d = {.batch = &p->batch, .finding = &out->finding, .n_rows = targets.n};
    add_facts(&d, &targets, &inputs);
    if (targets.n > 0 || p->has_logits) {
        add_refusal(p, &d);
    }
    lg_attribute_conclude(&d);
    out->n_rows = targets.n;
    lg_row_list_tell(&p->bad_rows, out);
    out->nonfinite = targets.nonfinite;
    lg_diagnose_note(out, p->options->loss != 0
                              ? "read as targets of binary_cross_entropy"
                              : "read as targets of binary_cross_entropy: the head has one output, "
                                "and cross_entropy over one class is always 0");
    return true;
}
