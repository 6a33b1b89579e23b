// SPDX-License-Identifier: Apache-2.0
// Facts about inputs, probabilities and weights, and what deserves a warning on a valid batch.
#include "pipeline/attribute_parts.h"
#include "pipeline/domain.h"
#include "pipeline/hostcheck_parts.h"
#include "support/alloc.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool is_binary(const lg_batch *batch) {
    return batch->loss.kind == LG_BCE || batch->loss.kind == LG_BCE_WITH_LOGITS;
}

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

static int64_t entry_of(const lg_batch *batch, int64_t row, int64_t c) {
    if (is_binary(batch)) {
        return row;
    }
    int64_t spatial = lg_batch_spatial(batch);
    return (row / spatial * lg_batch_head_width(batch) + c) * spatial + row % spatial;
}

// The class of a row when its target is an index in range; -1 otherwise, -2 when it is ignored.
static int64_t class_of_row(const lg_diagnosis *d, int64_t row) {
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
    bool binary = is_binary(batch);
    int64_t width = binary ? 1 : lg_batch_head_width(batch);
    int64_t n_minus = 0;
    for (int64_t c = 0; c < width; c++) {
        double value = lg_tensor_get_f64(&batch->input, entry_of(batch, row, c));
        bool minus = value == -INFINITY;
        if (isnan(value) || value == INFINITY || (minus && (binary || c == label))) {
            return true;
        }
        if (minus && batch->target_is_probability && !binary &&
            lg_tensor_get_f64(&batch->target, entry_of(batch, row, c)) > 0) {
            return true;
        }
        n_minus += minus;
    }
    return width > 0 && n_minus == width;
}

// "class 3 holds -inf": the first entry of a row that is no number and harms.
static const char *nonfinite_text(const lg_diagnosis *d, int64_t row) {
    const lg_batch *batch = d->batch;
    int64_t label = class_of_row(d, row);
    bool binary = is_binary(batch);
    int64_t width = binary ? 1 : lg_batch_head_width(batch);
    int64_t at = -1;
    for (int64_t c = 0; c < width; c++) {
        double value = lg_tensor_get_f64(&batch->input, entry_of(batch, row, c));
        bool harms = isnan(value) || value == INFINITY || c == label;
        at = !isfinite(value) && (at < 0 || harms) ? c : at;
        if (at == c && harms) {
            break;
        }
    }
    double value = at < 0 ? 0 : lg_tensor_get_f64(&batch->input, entry_of(batch, row, at));
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

static void diagnose_nonfinite(lg_diagnosis *d) {
    const lg_batch *batch = d->batch;
    int64_t n = 0;
    int64_t first = -1;
    bool wide = lg_tensor_numel(&batch->input) ==
                d->n_rows * (is_binary(batch) ? 1 : lg_batch_head_width(batch));
    if (!any_nonfinite(&batch->input) || !wide) {
        return;
    }
    for (int64_t row = 0; row < d->n_rows; row++) {
        int64_t label = class_of_row(d, row);
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

void lg_fact_add_target_nonfinite(lg_diagnosis *d, int64_t n_rows, int64_t first) {
    lg_fact_add(d, LG_CAUSE_NONFINITE_LOGITS,
                lg_arena_printf(&d->finding->arena,
                                "%" PRId64 " target rows hold NaN or infinity, the first is "
                                "row %" PRId64,
                                n_rows, first),
                "look at how the soft labels are made");
}

void lg_fact_add_not_probabilities(lg_diagnosis *d, int64_t n_rows, int64_t first) {
    lg_fact_add(d, LG_CAUSE_VALUE_DOMAIN,
                lg_arena_printf(&d->finding->arena,
                                "%" PRId64 " target rows are no probabilities (an entry outside "
                                "[0, 1] or a sum other than 1), the first is row %" PRId64,
                                n_rows, first),
                "normalise the target rows: entries in [0, 1] that sum to 1");
}

static void diagnose_probability_targets(lg_diagnosis *d) {
    const lg_batch *batch = d->batch;
    const lg_tensor *target = &batch->target;
    int64_t width = lg_batch_head_width(batch);
    if (!target->data || width < 1 || lg_tensor_numel(target) != d->n_rows * width) {
        return;
    }
    double *row_values = lg_xmalloc((size_t)width * sizeof *row_values);
    int64_t n_wrong = 0;
    int64_t n_nan = 0;
    int64_t first_wrong = -1;
    int64_t first_nan = -1;
    for (int64_t row = 0; row < d->n_rows; row++) {
        bool finite = true;
        for (int64_t c = 0; c < width; c++) {
            row_values[c] = lg_tensor_get_f64(target, entry_of(batch, row, c));
            finite = finite && isfinite(row_values[c]);
        }
        bool wrong = finite && !lg_could_be_probabilities(row_values, width);
        n_nan += !finite;
        n_wrong += wrong;
        d->bad[row] = d->bad[row] || wrong || !finite;
        first_wrong = wrong && first_wrong < 0 ? row : first_wrong;
        first_nan = !finite && first_nan < 0 ? row : first_nan;
    }
    free(row_values);
    if (n_nan > 0) {
        lg_fact_add_target_nonfinite(d, n_nan, first_nan);
    }
    if (n_wrong > 0) {
        lg_fact_add_not_probabilities(d, n_wrong, first_wrong);
    }
}

static bool outside_unit(double value) {
    return value < 0 || value > 1;
}

static void diagnose_binary(lg_diagnosis *d) {
    const lg_batch *batch = d->batch;
    lg_arena *arena = &d->finding->arena;
    bool check_input = batch->loss.kind == LG_BCE && batch->input.data;
    bool check_target = batch->target.data && lg_tensor_numel(&batch->target) == d->n_rows;
    int64_t n_input = 0;
    int64_t n_target = 0;
    int64_t first = -1;
    double value = 0;
    for (int64_t row = 0; row < d->n_rows; row++) {
        double x = check_input ? lg_tensor_get_f64(&batch->input, row) : 0;
        double t = check_target ? lg_tensor_get_f64(&batch->target, row) : 0;
        bool bad_input = check_input && isfinite(x) && outside_unit(x);
        bool bad_target = outside_unit(t) || isnan(t);
        if ((bad_input || bad_target) && first < 0) {
            first = row;
            value = bad_input ? x : t;
        }
        n_input += bad_input;
        n_target += bad_target;
        d->bad[row] = d->bad[row] || bad_input || bad_target;
    }
    if (n_input + n_target == 0) {
        return;
    }
    const char *what = n_input > 0 ? "input" : "target";
    double distance = value > 1 ? value - 1 : -value;
    lg_fact_add(d, LG_CAUSE_BCE_RANGE,
                lg_arena_printf(arena,
                                "%" PRId64 " %s values lie outside [0, 1], the first is %.9g in "
                                "element %" PRId64 ", off by %.3g",
                                n_input > 0 ? n_input : n_target, what, value, first, distance),
                n_input > 0 ? "apply a sigmoid first, or use binary_cross_entropy_with_logits"
                            : "scale the targets to [0, 1]");
}

static void diagnose_weights(lg_diagnosis *d) {
    const lg_batch *batch = d->batch;
    const lg_tensor *weight = &batch->weight;
    lg_arena *arena = &d->finding->arena;
    if (!lg_tensor_exists(weight) || !weight->data) {
        return;
    }
    if (weight->dtype != batch->input.dtype) {
        lg_fact_add(d, LG_CAUSE_WEIGHT_VECTOR,
                    lg_arena_printf(arena, "the weights are %s, the input is %s",
                                    lg_dtype_name(weight->dtype),
                                    lg_dtype_name(batch->input.dtype)),
                    "cast the weights to the input's type");
        return;
    }
    int64_t n = lg_tensor_numel(weight);
    if (!is_binary(batch) && (weight->rank != 1 || n != lg_batch_head_width(batch))) {
        const char *in =
            weight->rank == 1 ? "" : lg_arena_printf(arena, " in %d dimensions", weight->rank);
        lg_fact_add(d, LG_CAUSE_WEIGHT_VECTOR,
                    lg_arena_printf(arena, "%" PRId64 " weights%s for %" PRId64 " classes", n, in,
                                    lg_batch_head_width(batch)),
                    "give one weight a class");
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        double value = lg_tensor_get_f64(weight, i);
        if (!(value >= 0) || isinf(value)) {
            lg_fact_add(d, LG_CAUSE_WEIGHT_VECTOR,
                        lg_arena_printf(arena, "weight %" PRId64 " is %g", i, value),
                        "weights are finite and not negative; look for a class that never occurs");
            return;
        }
    }
}

void lg_diagnose_values(lg_diagnosis *d) {
    const lg_batch *batch = d->batch;
    diagnose_weights(d);
    if (batch->input.data) {
        diagnose_nonfinite(d);
    }
    if (is_binary(batch)) {
        diagnose_binary(d);
    } else if (batch->target_is_probability) {
        diagnose_probability_targets(d);
    }
}

void lg_fact_add_no_logs(lg_diagnosis *d, int64_t n_rows) {
    bool softmax = n_rows == 0;
    lg_fact_add(d, LG_CAUSE_VALUE_DOMAIN,
                softmax ? "every input row lies in [0, 1] and sums to 1: probabilities, not their "
                          "logarithms"
                        : lg_arena_printf(&d->finding->arena,
                                          "%" PRId64 " input rows have entries above 0, which no "
                                          "log-probability is",
                                          n_rows),
                softmax ? "take the logarithm (log_softmax instead of softmax)"
                        : "apply log_softmax first, or use cross_entropy");
    d->facts[d->n_facts - 1].doubtful = !softmax;
}

// Rows that cannot be log-probabilities. A few rows are looked at first: the rest only if they show
// something, because the input may be large and is right nearly always. `sure`: only when every row
// is class probabilities, which nothing else looks like.
static void note_value_domain(lg_diagnosis *d, bool sure) {
    const lg_batch *batch = d->batch;
    int64_t width = lg_batch_head_width(batch);
    if (batch->loss.kind != LG_NLL_LOSS || !batch->input.data || width < 1 ||
        lg_tensor_numel(&batch->input) != d->n_rows * width) {
        return;
    }
    double *values = lg_xmalloc((size_t)width * sizeof *values);
    bool *wrong = lg_xcalloc((size_t)d->n_rows + 1, sizeof *wrong);
    int64_t n = 0;
    int64_t n_live = 0;
    int64_t n_probabilities = 0;
    for (int64_t row = 0; row < d->n_rows && (row < 256 || n > 0); row++) {
        if (class_of_row(d, row) == -2) {
            continue;
        }
        for (int64_t c = 0; c < width; c++) {
            values[c] = lg_tensor_get_f64(&batch->input, entry_of(batch, row, c));
        }
        wrong[row] = !lg_could_be_log_probabilities(values, width);
        n_live++;
        n += wrong[row];
        n_probabilities += wrong[row] && lg_could_be_probabilities(values, width);
    }
    bool told = n > 0 && (!sure || n_probabilities == n_live);
    for (int64_t row = 0; told && row < d->n_rows; row++) {
        d->bad[row] = d->bad[row] || wrong[row];
    }
    free(wrong);
    free(values);
    if (!told) {
        return;
    }
    lg_fact_add_no_logs(d, n_probabilities == n_live ? 0 : n);
}

static void warn_no_supervision(lg_diagnosis *d) {
    const lg_batch *batch = d->batch;
    if (!d->has_table || d->n_rows == 0) {
        return;
    }
    const lg_label_evidence *e = &d->table.evidence;
    lg_arena *arena = &d->finding->arena;
    if (e->n_ignored == e->n) {
        lg_fact_add(d, LG_CAUSE_NO_SUPERVISED_ROW,
                    lg_arena_printf(arena,
                                    "all %" PRId64 " labels are ignore_index %" PRId64
                                    ": the mean is 0/0",
                                    e->n, e->ignore_index),
                    "skip batches without a label, or look at what sets the labels");
        return;
    }
    const lg_tensor *weight = &batch->weight;
    if (!lg_tensor_exists(weight) || !d->table.counts || lg_tensor_numel(weight) != e->head_width) {
        return;
    }
    for (int64_t k = 0; k < e->head_width; k++) {
        if (d->table.counts[k] > 0 && lg_tensor_get_f64(weight, k) != 0) {
            return;
        }
    }
    lg_fact_add(d, LG_CAUSE_NO_SUPERVISED_ROW,
                "every class that occurs has weight 0: the mean is 0/0",
                "give the classes that occur a weight");
}

void lg_diagnose_warnings(lg_diagnosis *d) {
    const lg_batch *batch = d->batch;
    if (is_binary(batch)) {
        return;
    }
    warn_no_supervision(d);
    if (d->n_facts == 0) {
        note_value_domain(d, false);
    }
    if (d->n_facts == 0 && d->n_rows > 0 && lg_batch_head_width(batch) == 1 &&
        !batch->target_is_probability) {
        lg_fact_add(d, LG_CAUSE_WRONG_HEAD_WIDTH,
                    "the head has one output: softmax over it is 1 whatever is learnt, loss and "
                    "gradient are 0",
                    "one output a class (two for a yes/no question), or a binary loss");
    }
}

void lg_diagnose_companions(lg_diagnosis *d) {
    const lg_batch *batch = d->batch;
    if (is_binary(batch) || batch->target_is_probability) {
        return;
    }
    lg_check check = {.batch = batch, .arena = &d->finding->arena};
    if (d->n_facts == 1 && lg_tensor_exists(&batch->target) && !lg_check_index_dtype(&check)) {
        lg_fact_add(d, check.refusal.cause, check.refusal.text, NULL);
    }
    if (d->n_facts + (d->n_explanations > 0) == 1) {
        note_value_domain(d, true);
    }
}
