// SPDX-License-Identifier: Apache-2.0
#include "labels/labels.h"

#include "support/alloc.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool is_class(double value, int64_t head_width, int64_t ignore_index) {
    // Minus zero is no label: its bits are INT64_MIN, which means something else.
    if (!(value == floor(value)) || !(fabs(value) < 0x1p62) || (value == 0 && signbit(value))) {
        return false;
    }
    return (value >= 0 && value < (double)head_width) || (int64_t)value == ignore_index;
}

unsigned lg_label_patterns(int64_t label, int64_t head_width, int64_t ignore_index) {
    unsigned patterns = 0;
    double wide;
    float pair[2];
    int32_t halves[2];
    memcpy(&wide, &label, sizeof wide);
    memcpy(pair, &label, sizeof pair);
    memcpy(halves, &label, sizeof halves);
    if (is_class(wide, head_width, ignore_index)) {
        patterns |= LG_PATTERN_FLOAT64;
    }
    if (is_class((double)pair[0], head_width, ignore_index) &&
        is_class((double)pair[1], head_width, ignore_index)) {
        patterns |= LG_PATTERN_FLOAT32;
    }
    if (is_class(halves[0], head_width, ignore_index) &&
        is_class(halves[1], head_width, ignore_index)) {
        patterns |= LG_PATTERN_INT32_PAIR;
    }
    if ((label < 0 || label >= head_width) && label >= INT64_C(1) << 32 && halves[0] >= 0 &&
        halves[0] < head_width) {
        patterns |= LG_PATTERN_WIDE;
    }
    if (label >= -128 && label < 0) {
        patterns |= LG_PATTERN_SIGN_BYTE;
    }
    if (label == INT32_MIN || label == INT64_MIN) {
        patterns |= LG_PATTERN_INT_MIN;
    }
    // 47-bit user addresses from 2^44 up: where a 64-bit process keeps its heap, libraries and
    // stack.
    if (label >= INT64_C(1) << 44 && label < INT64_C(1) << 47) {
        patterns |= LG_PATTERN_POINTER;
    }
    return patterns;
}

bool lg_label_table_init(lg_label_table *table, int64_t head_width, int64_t classes,
                         int64_t ignore_index, lg_dtype dtype) {
    *table = (lg_label_table){.evidence = {.head_width = head_width,
                                           .classes = classes,
                                           .ignore_index = ignore_index,
                                           .dtype = dtype,
                                           .min = INT64_MAX,
                                           .max = INT64_MIN,
                                           .first_fractional_row = -1}};
    table->out_capacity = 64;
    table->out = calloc((size_t)table->out_capacity, sizeof *table->out);
    bool fine = table->out != NULL;
    if (head_width > 0 && head_width <= LG_COUNT_LIMIT) {
        table->counts = calloc((size_t)head_width, sizeof *table->counts);
        fine = fine && table->counts;
    } else if (head_width > 0 && head_width <= LG_BITMAP_LIMIT) {
        table->seen = calloc((size_t)(head_width + 63) / 64, sizeof *table->seen);
        fine = fine && table->seen;
    }
    if (!fine) {
        lg_label_table_free(table);
    }
    return fine;
}

bool lg_label_table_set_map(lg_label_table *table, int64_t row_length) {
    if (row_length > 1) {
        table->above = calloc((size_t)row_length, sizeof *table->above);
        table->evidence.row_length = table->above ? row_length : 0;
    }
    return row_length <= 1 || table->above;
}

void lg_label_table_free(lg_label_table *table) {
    free(table->counts);
    free(table->seen);
    free(table->out);
    free(table->above);
    table->above = NULL;
    table->counts = NULL;
    table->seen = NULL;
    table->out = NULL;
}

static uint64_t scatter(int64_t value) {
    uint64_t x = (uint64_t)value * UINT64_C(0x9e3779b97f4a7c15);
    return x ^ x >> 32;
}

static lg_value_count *find_slot(lg_value_count *slots, int64_t capacity, int64_t value) {
    uint64_t at = scatter(value) & (uint64_t)(capacity - 1);
    while (slots[at].count && slots[at].value != value) {
        at = (at + 1) & (uint64_t)(capacity - 1);
    }
    return &slots[at];
}

// Doubles the hash; when memory is out, the old one goes on with what it has.
static void grow(lg_label_table *table) {
    int64_t capacity = table->out_capacity * 2;
    lg_value_count *slots = calloc((size_t)capacity, sizeof *slots);
    if (!slots) {
        return;
    }
    for (int64_t i = 0; i < table->out_capacity; i++) {
        if (table->out[i].count) {
            *find_slot(slots, capacity, table->out[i].value) = table->out[i];
        }
    }
    free(table->out);
    table->out = slots;
    table->out_capacity = capacity;
}

static void count_out(lg_label_table *table, int64_t label) {
    lg_value_count *slot = find_slot(table->out, table->out_capacity, label);
    if (slot->count) {
        slot->count++;
        return;
    }
    if (table->n_out >= LG_OUT_LIMIT || table->n_out * 4 >= table->out_capacity * 3) {
        table->n_out_dropped++;
        return;
    }
    *slot = (lg_value_count){.value = label, .count = 1};
    table->n_out++;
    if (table->n_out * 2 > table->out_capacity) {
        grow(table);
    }
}

// Where the label lies: `at` is its place among all.
static void place_out_of_range(lg_label_table *table, int64_t label, int64_t at) {
    lg_label_evidence *e = &table->evidence;
    int64_t length = e->row_length;
    bool first_of_row = at == 0 || (length > 0 && at % length == 0);
    bool left = table->run > 0 && table->last == label;
    bool joined = left && !first_of_row;
    joined = joined || (length > 0 && at >= length && table->above[at % length] == label);
    e->n_out_joined += joined;
    e->n_out_runs += !left;
    table->run = left ? table->run + 1 : 1;
    if (table->run > e->longest_out_run) {
        e->longest_out_run = table->run;
        e->longest_out_run_value = label;
    }
}

static void add_out_of_range(lg_label_table *table, int64_t label, unsigned patterns) {
    lg_label_evidence *e = &table->evidence;
    e->n_negative += label < 0;
    e->n_at_width += label == e->head_width;
    e->n_above_width += label > e->head_width;
    e->n_float64_bits += (patterns & LG_PATTERN_FLOAT64) != 0;
    e->n_float32_bits += (patterns & LG_PATTERN_FLOAT32) != 0;
    e->n_int32_pairs += (patterns & LG_PATTERN_INT32_PAIR) != 0;
    e->n_sign_bytes += (patterns & LG_PATTERN_SIGN_BYTE) != 0;
    e->n_int_min += (patterns & LG_PATTERN_INT_MIN) != 0;
    e->n_pointers += (patterns & LG_PATTERN_POINTER) != 0;
    count_out(table, label);
}

void lg_label_table_add(lg_label_table *table, int64_t label) {
    lg_label_evidence *e = &table->evidence;
    int64_t at = e->n++;
    bool out = label != e->ignore_index && (label < 0 || label >= e->head_width);
    if (out) {
        place_out_of_range(table, label, at);
    } else {
        table->run = 0;
    }
    table->last = label;
    if (table->above) {
        table->above[at % e->row_length] = label;
    }
    if (label == e->ignore_index) {
        e->n_ignored++;
        return;
    }
    e->min = label < e->min ? label : e->min;
    e->max = label > e->max ? label : e->max;
    e->n_zero += label == 0;
    bool in_range = !out;
    // A nonzero class of int32 size is the low half of a pair whose high half is 0, and as float
    // bits a subnormal, which is no class: only the other labels need a closer look.
    unsigned patterns = LG_PATTERN_INT32_PAIR;
    if (!in_range || label == 0 || label > INT32_MAX) {
        patterns = lg_label_patterns(label, e->head_width, e->ignore_index);
    }
    table->n_all_float64 += (patterns & LG_PATTERN_FLOAT64) != 0;
    table->n_all_float32 += (patterns & LG_PATTERN_FLOAT32) != 0;
    table->n_all_int32_pair += (patterns & LG_PATTERN_INT32_PAIR) != 0;
    if (!in_range) {
        add_out_of_range(table, label, patterns);
        return;
    }
    e->n_in_range++;
    if (table->counts) {
        table->counts[label] += table->counts[label] < UINT32_MAX;
    } else if (table->seen) {
        table->seen[label / 64] |= UINT64_C(1) << (label % 64);
    }
}

static int by_value(const void *a, const void *b) {
    int64_t left = ((const lg_value_count *)a)->value;
    int64_t right = ((const lg_value_count *)b)->value;
    return (left > right) - (left < right);
}

void lg_label_table_finish(lg_label_table *table) {
    lg_label_evidence *e = &table->evidence;
    int64_t n = 0;
    for (int64_t i = 0; i < table->out_capacity; i++) {
        if (table->out[i].count) {
            table->out[n++] = table->out[i];
        }
    }
    table->n_out = n;
    qsort(table->out, (size_t)n, sizeof *table->out, by_value);
    for (int64_t i = 0; i < n; i++) {
        if (table->out[i].count > e->n_dominant_out) {
            e->dominant_out = table->out[i].value;
            e->n_dominant_out = table->out[i].count;
        }
    }
    for (int64_t k = 0; table->counts && k < e->head_width; k++) {
        e->n_distinct_in_range += table->counts[k] > 0;
    }
    for (int64_t i = 0; table->seen && i < (e->head_width + 63) / 64; i++) {
        e->n_distinct_in_range += __builtin_popcountll(table->seen[i]);
    }
    if (!table->counts && !table->seen) {
        // Too many classes to keep apart: every label may be a class of its own.
        e->n_distinct_in_range = e->n_in_range < e->head_width ? e->n_in_range : e->head_width;
    }
    e->n_distinct_out = n + (table->n_out_dropped > 0);
    e->n_distinct = e->n_distinct_in_range + e->n_distinct_out;
    if (e->n == e->n_ignored) {
        e->min = 0;
        e->max = -1;
    }
}

static void add_fraction(lg_label_evidence *e, double value, int64_t row) {
    if (value == floor(value)) {
        return;
    }
    if (e->n_fractional++ == 0) {
        e->first_fractional = value;
        e->first_fractional_row = row;
    }
}

bool lg_label_table_of_batch(const lg_batch *batch, int64_t head_width, lg_label_table *table) {
    const lg_tensor *given = lg_batch_device_target(batch);
    const lg_tensor *intended = &batch->target;
    if (!lg_label_table_init(table, head_width, batch->classes, batch->loss.ignore_index,
                             given->dtype)) {
        return false;
    }
    // The last dimension of a map is its row.
    bool map = given->rank >= 3;
    if (map && !lg_label_table_set_map(table, given->shape[given->rank - 1])) {
        lg_label_table_free(table);
        return false;
    }
    int64_t n = lg_tensor_numel(given);
    bool packed = lg_tensor_is_contiguous(given);
    for (int64_t i = 0; i < n; i++) {
        int64_t label =
            packed ? lg_dtype_get_i64(given->dtype, given->data, i) : lg_tensor_get_i64(given, i);
        lg_label_table_add(table, label);
    }
    if (lg_dtype_is_float(intended->dtype)) {
        int64_t n_intended = lg_tensor_numel(intended);
        for (int64_t i = 0; i < n_intended; i++) {
            add_fraction(&table->evidence, lg_tensor_get_f64(intended, i), i);
        }
    }
    lg_label_table_finish(table);
    return true;
}

void lg_evidence_collect(const lg_batch *batch, lg_label_evidence *out) {
    lg_label_table table;
    *out = (lg_label_evidence){.first_fractional_row = -1};
    if (!batch->target_is_probability &&
        lg_label_table_of_batch(batch, lg_batch_head_width(batch), &table)) {
        *out = table.evidence;
        lg_label_table_free(&table);
    }
}
