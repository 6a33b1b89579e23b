// SPDX-License-Identifier: Apache-2.0
#include "batch/internal.h"

#include "model/rng.h"
#include "support/alloc.h"

#include <math.h>
#include <stdlib.h>

// Draws of one fault never meet those of another: each has 2^40 indices of the stream to itself.
static uint64_t fault_address(int index, int64_t at) {
    return ((uint64_t)index << 40) + (uint64_t)at;
}

uint64_t lg_inject_draw_below(int index, uint64_t seed, lg_stream stream, int64_t at, uint64_t n) {
    return lg_rng_below(seed, stream, fault_address(index, at), n);
}

int64_t lg_inject_head_width(const lg_scenario *scenario, int64_t classes) {
    for (int i = 0; i < scenario->n_faults; i++) {
        const lg_fault_spec *fault = &scenario->faults[i];
        if (fault->kind == LG_CAUSE_WRONG_HEAD_WIDTH) {
            if (fault->head_width > 0) {
                return fault->head_width;
            }
            return classes > 2 ? classes - 1 : 1;
        }
    }
    return classes;
}

int64_t lg_inject_labels_per_row(const lg_scenario *scenario) {
    for (int i = 0; i < scenario->n_faults; i++) {
        const lg_fault_spec *fault = &scenario->faults[i];
        bool float_pair = fault->kind == LG_CAUSE_FLOAT_TARGETS && fault->form == LG_FLOAT_BITS &&
                          fault->dtype != LG_FLOAT64;
        bool int_pair = lg_fault_form_of(fault) == LG_FORM_INT32_AS_INT64;
        if (float_pair || int_pair) {
            return 2;
        }
    }
    return 1;
}

static int64_t wanted_rows(const lg_fault_spec *fault, int64_t n_usable, int64_t default_count,
                           double default_fraction) {
    double fraction = fault->fraction;
    if (fraction == 0 && fault->count == 0) {
        fraction = default_fraction;
    }
    int64_t n = fault->count > 0 ? fault->count : default_count;
    if (fraction > 0) {
        n = llround(fraction * (double)n_usable);
        n = n < 1 ? 1 : n;
    }
    return n < n_usable ? n : n_usable;
}

static int compare_rows(const void *a, const void *b) {
    int64_t left = *(const int64_t *)a;
    int64_t right = *(const int64_t *)b;
    return (left > right) - (left < right);
}

static bool take_listed(const lg_fault_spec *fault, int64_t n_rows, const bool *usable,
                        int64_t *rows, int64_t *n, lg_diags *diags) {
    bool fine = true;
    *n = 0;
    for (int64_t i = 0; i < fault->rows.n; i++) {
        int64_t row = fault->rows.items[i];
        if (row < 0 || row >= n_rows) {
            fine = lg_error(diags, fault->loc, "%s: row %lld is outside 0..%lld",
                            lg_cause_name(fault->kind), (long long)row, (long long)n_rows - 1);
        } else if (!usable[row]) {
            fine = lg_error(diags, fault->loc,
                            "%s: row %lld is ignored or already spoiled by an earlier fault",
                            lg_cause_name(fault->kind), (long long)row);
        } else {
            rows[(*n)++] = row;
        }
    }
    qsort(rows, (size_t)*n, sizeof *rows, compare_rows);
    int64_t kept = 0;
    for (int64_t i = 0; i < *n; i++) {
        if (i == 0 || rows[i] != rows[i - 1]) {
            rows[kept++] = rows[i];
        }
    }
    *n = kept;
    return fine;
}

bool lg_inject_choose_rows(const lg_fault_spec *fault, int index, uint64_t seed, int64_t n_rows,
                           const bool *usable, int64_t default_count, double default_fraction,
                           int64_t **rows, int64_t *n, lg_diags *diags) {
    *rows = NULL;
    *n = 0;
    int64_t capacity = n_rows > fault->rows.n ? n_rows : fault->rows.n;
    int64_t *pool = lg_buffer_alloc((size_t)(capacity > 0 ? capacity : 1) * sizeof *pool);
    if (!pool) {
        return lg_error(diags, fault->loc, "%s: the rows do not fit in memory",
                        lg_cause_name(fault->kind));
    }
    *rows = pool;
    if (fault->rows.n > 0) {
        return take_listed(fault, n_rows, usable, pool, n, diags);
    }
    int64_t n_usable = 0;
    for (int64_t row = 0; row < n_rows; row++) {
        if (usable[row]) {
            pool[n_usable++] = row;
        }
    }
    *n = wanted_rows(fault, n_usable, default_count, default_fraction);
    // The first *n steps of a Fisher-Yates shuffle: each draw has its own address.
    for (int64_t i = 0; i < *n; i++) {
        int64_t other = i + (int64_t)lg_inject_draw_below(index, seed, LG_STREAM_FAULT, i,
                                                          (uint64_t)(n_usable - i));
        int64_t taken = pool[other];
        pool[other] = pool[i];
        pool[i] = taken;
    }
    qsort(pool, (size_t)*n, sizeof *pool, compare_rows);
    return true;
}

void lg_injection_add_row(lg_injection *injection, int64_t row) {
    // Doubles at powers of two, so that a list of any length costs linear time.
    int64_t n = injection->n_rows;
    if ((n & (n - 1)) == 0) {
        size_t capacity = n == 0 ? 1 : (size_t)n * 2;
        injection->rows = lg_xrealloc(injection->rows, capacity * sizeof *injection->rows);
    }
    injection->rows[injection->n_rows++] = row;
}
