// SPDX-License-Identifier: Apache-2.0
// NaN and infinity in the input: which rows they harm.
#include "attribute/internal.h"

#include <inttypes.h>
#include <math.h>

// Whether any stored element has an all-ones exponent: a pass at memory speed that lets a finite
// array, the usual case, go without a look at its rows.
bool lg_any_nonfinite(lg_dtype dtype, const void *data, size_t n) {
    bool found = false;
    switch (dtype) {
    case LG_FLOAT64: {
        const uint64_t *words = data;
        for (size_t i = 0; i < n; i++) {
            found |= (words[i] & UINT64_C(0x7ff0000000000000)) == UINT64_C(0x7ff0000000000000);
        }
        return found;
    }
    case LG_FLOAT32: {
        const uint32_t *words = data;
        for (size_t i = 0; i < n; i++) {
            found |= (words[i] & 0x7f800000u) == 0x7f800000u;
        }
        return found;
    }
    case LG_FLOAT16:
    case LG_BFLOAT16: {
        const uint16_t *words = data;
        uint16_t exponent = dtype == LG_FLOAT16 ? 0x7c00 : 0x7f80;
        for (size_t i = 0; i < n; i++) {
            found |= (words[i] & exponent) == exponent;
        }
        return found;
    }
    case LG_DTYPE_NONE:
    case LG_INT64:
    case LG_INT32:
    case LG_INT16:
    case LG_INT8:
    case LG_UINT8:
    case LG_BOOL:
    case LG_N_DTYPES:
        break;
    }
    return false;
}

static bool any_nonfinite(const lg_tensor *tensor) {
    return tensor->data && lg_any_nonfinite(tensor->dtype, tensor->data, tensor->n_stored);
}

int64_t lg_class_of_row(const lg_diagnosis *d, int64_t row) {
    const lg_batch *batch = d->batch;
    if (batch->target_is_probability || !d->targets_fit) {
        return -1;
    }
    int64_t label = lg_tensor_get_i64(&batch->target, row);
    if (label == batch->loss.ignore_index) {
        return -2;
    }
    return label >= 0 && label < lg_batch_head_width(batch) ? label : -1;
}

// NaN and +inf break a row; -inf only where its class counts, or where nothing else is left: it is
// how classes are masked.
static bool row_is_nonfinite(const lg_diagnosis *d, int64_t row, int64_t label) {
    const lg_batch *batch = d->batch;
    bool binary = lg_batch_is_binary(batch);
    int64_t width = binary ? 1 : lg_batch_head_width(batch);
    int64_t n_minus = 0;
    for (int64_t c = 0; c < width; c++) {
        double value = lg_tensor_get_f64(&batch->input, lg_entry_of(batch, row, c));
        bool minus = value == -INFINITY;
        if (isnan(value) || value == INFINITY || (minus && (binary || c == label))) {
            return true;
        }
        if (minus && batch->target_is_probability && !binary &&
            lg_tensor_get_f64(&batch->target, lg_entry_of(batch, row, c)) > 0) {
            return true;
        }
        n_minus += minus;
    }
    return width > 0 && n_minus == width;
}

// "class 3 holds -inf": the first entry of a row that is no number and harms.
static const char *nonfinite_text(const lg_diagnosis *d, int64_t row) {
    const lg_batch *batch = d->batch;
    int64_t label = lg_class_of_row(d, row);
    bool binary = lg_batch_is_binary(batch);
    int64_t width = binary ? 1 : lg_batch_head_width(batch);
    int64_t at = -1;
    for (int64_t c = 0; c < width; c++) {
        double value = lg_tensor_get_f64(&batch->input, lg_entry_of(batch, row, c));
        bool harms = isnan(value) || value == INFINITY || c == label;
        at = !isfinite(value) && (at < 0 || harms) ? c : at;
        if (at == c && harms) {
            break;
        }
    }
    double value = at < 0 ? 0 : lg_tensor_get_f64(&batch->input, lg_entry_of(batch, row, at));
    const char *number = isnan(value) ? "NaN" : value > 0 ? "inf" : "-inf";
    const char *what = binary ? "element" : "class";
    return lg_arena_printf(&d->finding->arena, "%s %" PRId64 " holds %s%s", what, binary ? row : at,
                           number, !binary && at == label ? ", and it is the label's" : "");
}

void lg_fact_add_nonfinite(lg_diagnosis *d, int64_t n_rows, int64_t first) {
    lg_fact_add(d, LG_CAUSE_NONFINITE_LOGITS,
                lg_arena_printf(&d->finding->arena,
                                "%" PRId64 " rows of the input hold NaN or infinity, the first is "
                                "row %" PRId64,
                                n_rows, first),
                "look for an overflow or a division by zero before the loss");
}

void lg_attribute_nonfinite(lg_diagnosis *d) {
    const lg_batch *batch = d->batch;
    int64_t n = 0;
    int64_t first = -1;
    bool wide = lg_tensor_numel(&batch->input) ==
                d->n_rows * (lg_batch_is_binary(batch) ? 1 : lg_batch_head_width(batch));
    if (!any_nonfinite(&batch->input) || !wide) {
        return;
    }
    for (int64_t row = 0; row < d->n_rows; row++) {
        int64_t label = lg_class_of_row(d, row);
        if (label != -2 && row_is_nonfinite(d, row, label)) {
            d->bad[row] = true;
            first = first < 0 ? row : first;
            n++;
        }
    }
    if (n > 0) {
        const char *entry = nonfinite_text(d, first);
        lg_fact_add_nonfinite(d, n, first);
        lg_fact *fact = &d->facts[d->n_facts - 1];
        if (d->input && d->input->observation && fact->cause == LG_CAUSE_NONFINITE_LOGITS) {
            fact->evidence = lg_arena_printf(&d->finding->arena, "%s: %s", fact->evidence, entry);
        }
    }
}
