// SPDX-License-Identifier: Apache-2.0
// Class indices: how they are passed, and which rows hold a label the loss cannot take. Where
// the target has another shape than the input asks for, a row is an element of the target.
#include "labels/labels.h"
#include "attribute/internal.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

void lg_fact_add(lg_diagnosis *d, lg_cause cause, const char *evidence, const char *advice) {
    for (int i = 0; i < d->n_facts; i++) {
        if (d->facts[i].cause == cause) {
            return;
        }
    }
    if (d->n_facts < LG_MAX_FACTS) {
        d->facts[d->n_facts++] = (lg_fact){.cause = cause, .evidence = evidence, .advice = advice};
    }
}

static bool out_of_range(int64_t head_width, int64_t ignore_index, int64_t label) {
    return label != ignore_index && (label < 0 || label >= head_width);
}

// A floating-point label that is no class: a fraction, NaN, or a whole number out of range.
bool lg_float_label_is_bad(int64_t head_width, int64_t ignore_index, double value) {
    if (!(fabs(value) < 0x1p62) || value != floor(value)) {
        return true;
    }
    return out_of_range(head_width, ignore_index, (int64_t)value);
}

static bool given_is_out_of_range(const lg_diagnosis *d, int64_t row) {
    return out_of_range(d->label_width, d->batch->loss.ignore_index,
                        lg_tensor_get_i64(lg_batch_device_target(d->batch), row));
}

static void mark(lg_diagnosis *d, int64_t row, bool bad) {
    d->bad[row] = d->bad[row] || bad;
    d->bad_label[row] = d->bad_label[row] || bad;
}

// Whether the target has the input's shape without its last axis: then that one holds the classes.
static bool classes_are_last(const lg_tensor *input, const lg_tensor *target) {
    bool last = input->rank == target->rank + 1;
    for (int i = 0; last && i < target->rank; i++) {
        last = input->shape[i] == target->shape[i];
    }
    return last;
}

static int64_t width_of_labels(const lg_diagnosis *d) {
    const lg_tensor *input = &d->batch->input;
    int64_t width = lg_batch_head_width(d->batch);
    int64_t n_elements = lg_tensor_numel(input);
    if (d->targets_fit) {
        return width;
    }
    if (classes_are_last(input, lg_batch_device_target(d->batch))) {
        return input->shape[input->rank - 1];
    }
    // Logits that were reshaped still have so many elements for each label.
    int64_t share = n_elements % d->n_labels == 0 ? n_elements / d->n_labels : 0;
    return share > width ? share : width;
}

void lg_attribute_label_shape(lg_diagnosis *d) {
    const lg_batch *batch = d->batch;
    const lg_tensor *target = &batch->target;
    if (lg_batch_is_binary(batch) || batch->target_is_probability || !target->data) {
        return;
    }
    const lg_tensor *given = lg_batch_device_target(batch);
    d->n_labels = lg_tensor_numel(given);
    d->targets_fit = d->n_labels == d->n_rows && lg_tensor_numel(target) == d->n_rows;
    d->label_width = d->n_labels > 0 ? width_of_labels(d) : lg_batch_head_width(batch);
}

void lg_fact_add_floats(lg_diagnosis *d, lg_dtype dtype, int64_t n_fractional, int64_t first,
                        double first_value) {
    lg_arena *arena = &d->finding->arena;
    const char *name = lg_dtype_name(dtype);
    const char *text = lg_arena_printf(arena, "the class indices are %s, all whole numbers", name);
    if (n_fractional > 0) {
        text = lg_arena_printf(arena,
                               "the class indices are %s and %" PRId64
                               " %s a fraction, the first is %g in row %" PRId64,
                               name, n_fractional, n_fractional == 1 ? "has" : "have", first_value,
                               first);
    }
    lg_fact_add(d, LG_CAUSE_FLOAT_TARGETS, text,
                n_fractional > 0 ? "round or repair these labels, then cast them to int64"
                                 : "cast the labels to int64");
}

static void diagnose_plain_floats(lg_diagnosis *d) {
    const lg_tensor *target = &d->batch->target;
    int64_t n_fractional = 0;
    int64_t first = -1;
    int64_t ignored = d->batch->loss.ignore_index;
    for (int64_t row = 0; row < d->n_labels; row++) {
        double value = lg_tensor_get_f64(target, row);
        mark(d, row, lg_float_label_is_bad(d->label_width, ignored, value));
        if (value != floor(value)) {
            first = first < 0 ? row : first;
            n_fractional++;
        }
    }
    lg_fact_add_floats(d, target->dtype, n_fractional, first,
                       first < 0 ? 0 : lg_tensor_get_f64(target, first));
}

// Whether the passed word is the bits of the intended floating-point label (or starts with them).
static bool is_bits_of(const lg_tensor *intended, int64_t row, int64_t word) {
    double value = lg_tensor_get_f64(intended, row);
    if (intended->dtype == LG_FLOAT64) {
        int64_t bits;
        memcpy(&bits, &value, sizeof bits);
        return bits == word;
    }
    if (intended->dtype == LG_FLOAT32) {
        return lg_label_patterns(word, INT64_MAX, INT64_MIN) & LG_PATTERN_FLOAT32;
    }
    return false;
}

static void diagnose_float_handover(lg_diagnosis *d) {
    const lg_tensor *intended = &d->batch->target;
    const lg_tensor *given = &d->batch->device_target;
    lg_arena *arena = &d->finding->arena;
    int64_t n_cut = 0;
    int64_t n_bits = 0;
    for (int64_t row = 0; row < d->n_labels; row++) {
        double value = lg_tensor_get_f64(intended, row);
        int64_t word = lg_tensor_get_i64(given, row);
        bool same = (double)word == trunc(value);
        n_bits += !same && is_bits_of(intended, row, word);
        n_cut += same && value != trunc(value);
    }
    d->misread = n_bits > 0;
    for (int64_t row = 0; row < d->n_labels; row++) {
        double value = lg_tensor_get_f64(intended, row);
        bool cut = !d->misread && value != trunc(value);
        mark(d, row, cut || given_is_out_of_range(d, row));
    }
    const char *dtype = lg_dtype_name(intended->dtype);
    if (d->misread) {
        lg_fact_add(d, LG_CAUSE_FLOAT_TARGETS,
                    lg_arena_printf(arena, "the bits of %s labels are read as %s", dtype,
                                    lg_dtype_name(given->dtype)),
                    "convert the labels to int64 by value, not by view");
    } else {
        lg_fact_add(d, LG_CAUSE_FLOAT_TARGETS,
                    lg_arena_printf(
                        arena, "%s labels were cut down to integers: %" PRId64 " had a fraction",
                        dtype, n_cut),
                    "find out why labels have fractions; a cast hides it");
    }
}

static void diagnose_int_handover(lg_diagnosis *d) {
    const lg_tensor *intended = &d->batch->target;
    const lg_tensor *given = &d->batch->device_target;
    int64_t n_lost = 0;
    int64_t n_other = 0;
    for (int64_t row = 0; row < d->n_labels; row++) {
        int64_t want = lg_tensor_get_i64(intended, row);
        int64_t got = lg_tensor_get_i64(given, row);
        if (want == got) {
            continue;
        }
        bool lost = !lg_dtype_holds(given->dtype, want);
        n_lost += lost;
        n_other += !lost;
        mark(d, row, lost);
    }
    if (n_lost + n_other == 0) {
        return;
    }
    d->misread = n_other > 0;
    lg_arena *arena = &d->finding->arena;
    const char *text = lg_arena_printf(arena, "%" PRId64 " %s label%s not fit %s and became %s",
                                       n_lost, lg_dtype_name(intended->dtype),
                                       n_lost == 1 ? " does" : "s do", lg_dtype_name(given->dtype),
                                       n_lost == 1 ? "another class" : "other classes");
    if (n_lost == 0) {
        text = lg_arena_printf(arena, "%s labels are read as %s: %" PRId64 " %s another value",
                               lg_dtype_name(intended->dtype), lg_dtype_name(given->dtype), n_other,
                               n_other == 1 ? "has" : "have");
    }
    lg_fact_add(d, LG_CAUSE_TARGET_DTYPE, text,
                "hand over the labels in the type the kernel reads: int64");
}

void lg_attribute_handover(lg_diagnosis *d) {
    const lg_batch *batch = d->batch;
    bool floats = lg_dtype_is_float(batch->target.dtype);
    bool other = lg_tensor_exists(&batch->device_target);
    bool comparable = d->n_labels > 0 && lg_tensor_numel(&batch->target) == d->n_labels;
    if (batch->target_is_probability || !lg_tensor_exists(&batch->target)) {
        return;
    }
    if (floats && !other) {
        diagnose_plain_floats(d);
    } else if (floats && comparable) {
        diagnose_float_handover(d);
    } else if (other && comparable) {
        diagnose_int_handover(d);
    }
}

// A type that no loss takes and that cannot hold the classes: its values are what a cast left of
// the labels. The refused type is the finding.
static bool is_no_label_type(lg_dtype dtype, int64_t head_width) {
    return dtype == LG_BOOL ||
           ((dtype == LG_INT8 || dtype == LG_INT16) && !lg_dtype_holds(dtype, head_width - 1));
}

// Labels are weighed as passed. Misread ones say nothing of their own: the misreading does.
void lg_attribute_label_rows(lg_diagnosis *d) {
    if (d->n_labels == 0 && !d->targets_fit) { // without a row there is a table without a label
        return;
    }
    const lg_tensor *given = lg_batch_device_target(d->batch);
    if (is_no_label_type(given->dtype, d->label_width)) {
        return;
    }
    bool floats = lg_dtype_is_float(given->dtype);
    for (int64_t row = 0; !floats && row < d->n_labels; row++) {
        mark(d, row, given_is_out_of_range(d, row));
    }
    d->has_table = lg_label_table_of_batch(d->batch, d->label_width, &d->table);
    if (!d->has_table || d->misread) {
        return;
    }
    d->n_explanations = lg_labels_explain(&d->table, d->explanations);
    if (d->n_explanations == 0 && d->table.n_out > 0) {
        lg_fact_add(d, LG_CAUSE_WRONG_HEAD_WIDTH, "the head has no output at all",
                    "give the head one output a class");
    }
}
