// SPDX-License-Identifier: Apache-2.0
// The guards themselves.
#include "guards/guards.h"

#include "model/rng.h"
#include "support/alloc.h"

#include <stdlib.h>
#include <string.h>

enum { BLOCK = 32, SAMPLED_ONE_IN = 10 };

static const char *const names[] = {
#define LG_GUARD(id, name, help) name,
#include "guards/guards.def"
#undef LG_GUARD
};

static const char *const helps[] = {
#define LG_GUARD(id, name, help) help,
#include "guards/guards.def"
#undef LG_GUARD
};

const char *lg_guard_name(lg_guard guard) {
    return (unsigned)guard < LG_N_GUARDS ? names[guard] : "invalid";
}

const char *lg_guard_help(lg_guard guard) {
    return (unsigned)guard < LG_N_GUARDS ? helps[guard] : "";
}

static bool is_bad(const lg_guard_view *view, int64_t label) {
    return label != view->ignore_index && (label < 0 || label >= view->head_width);
}

static bool any_bad(const lg_guard_view *view) {
    // Without a branch a label, as an array library reduces it.
    int64_t bad = 0;
    for (int64_t i = 0; i < view->n; i++) {
        bad |= is_bad(view, view->labels[i]);
    }
    return bad != 0;
}

static int64_t bad_rows(const lg_guard_view *view, int64_t *rows) {
    int64_t n = 0;
    for (int64_t i = 0; i < view->n; i++) {
        if (is_bad(view, view->labels[i])) {
            if (rows) {
                rows[n] = i;
            }
            n++;
        }
    }
    return n;
}

static int by_value(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a;
    int64_t y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

// Distinct labels that are not ignored. Those in range are marked, the others sorted.
static int64_t count_distinct(const lg_guard_view *view) {
    enum { MAX_MARKS = 1 << 26 };
    int64_t n_marks = view->head_width > 0 && view->head_width <= MAX_MARKS ? view->head_width : 0;
    bool *seen = lg_xcalloc((size_t)n_marks + 1, sizeof(*seen));
    int64_t *others = NULL;
    int64_t n_others = 0;
    int64_t capacity = 0;
    int64_t n = 0;
    for (int64_t i = 0; i < view->n; i++) {
        int64_t label = view->labels[i];
        if (label == view->ignore_index) {
            continue;
        }
        if (label >= 0 && label < n_marks) {
            n += !seen[label];
            seen[label] = true;
            continue;
        }
        if (n_others == capacity) {
            capacity = capacity * 2 + 64;
            others = lg_xrealloc(others, (size_t)capacity * sizeof(*others));
        }
        others[n_others++] = label;
    }
    if (n_others > 0) {
        qsort(others, (size_t)n_others, sizeof(*others), by_value);
    }
    for (int64_t i = 0; i < n_others; i++) {
        n += i == 0 || others[i] != others[i - 1];
    }
    free(others);
    free(seen);
    return n;
}

// The largest label that is not ignored; -1 when there is none.
static int64_t largest(const lg_guard_view *view) {
    int64_t max = INT64_MIN;
    bool any = false;
    for (int64_t i = 0; i < view->n; i++) {
        int64_t label = view->labels[i];
        if (label != view->ignore_index) {
            any = true;
            max = label > max ? label : max;
        }
    }
    return any ? max : -1;
}

static bool sampled_rows_bad(const lg_guard_view *view) {
    int64_t n_drawn = (view->n + SAMPLED_ONE_IN - 1) / SAMPLED_ONE_IN;
    bool bad = false;
    for (int64_t i = 0; i < n_drawn; i++) {
        uint64_t at = (view->number << 40) + (uint64_t)i;
        uint64_t row = lg_rng_below(view->seed, LG_STREAM_GUARD_ROW, at, (uint64_t)view->n);
        bad = bad || is_bad(view, view->labels[row]);
    }
    return bad;
}

static lg_guard_report check_distinct(const lg_guard_view *view) {
    int64_t n = count_distinct(view);
    return (lg_guard_report){.signalled = n != view->head_width,
                             .cause =
                                 n > view->head_width ? LG_CAUSE_WRONG_HEAD_WIDTH : LG_CAUSE_NONE};
}

static lg_guard_report check_width(const lg_guard_view *view) {
    int64_t max = largest(view);
    return (lg_guard_report){.signalled = max != view->head_width - 1,
                             .cause = max >= view->head_width ? LG_CAUSE_WRONG_HEAD_WIDTH
                                                              : LG_CAUSE_NONE};
}

static lg_guard_report check_dtype(const lg_guard_view *view) {
    bool wrong = view->dtype != LG_INT64;
    bool floating = lg_dtype_is_float(view->dtype);
    return (lg_guard_report){.signalled = wrong,
                             .cause = !wrong     ? LG_CAUSE_NONE
                                      : floating ? LG_CAUSE_FLOAT_TARGETS
                                                 : LG_CAUSE_TARGET_DTYPE};
}

lg_guard_report lg_guard_check(lg_guard guard, const lg_guard_view *view, int64_t *rows) {
    lg_guard_report report = {0};
    switch (guard) {
    case LG_GUARD_LABELS_IN_RANGE:
        report.signalled = any_bad(view);
        break;
    case LG_GUARD_N_DISTINCT_EQUALS_C:
        return check_distinct(view);
    case LG_GUARD_WIDTH_EQUALS_MAX_PLUS_1:
        return check_width(view);
    case LG_GUARD_DTYPE_IS_INT64:
        return check_dtype(view);
    case LG_GUARD_SAMPLED_BATCHES:
        report.signalled =
            lg_rng_below(view->seed, LG_STREAM_GUARD_BATCH, view->number, SAMPLED_ONE_IN) == 0 &&
            any_bad(view);
        break;
    case LG_GUARD_SAMPLED_ROWS:
        report.signalled = view->n > 0 && sampled_rows_bad(view);
        break;
    case LG_GUARD_WRAPPER:
    case LG_GUARD_DEVICE_ASSERT:
        report.n_rows = bad_rows(view, rows);
        report.signalled = report.n_rows > 0;
        report.names_rows =
            report.signalled && rows && (guard == LG_GUARD_WRAPPER || view->n <= BLOCK);
        break;
    case LG_GUARD_CLAMP:
    case LG_GUARD_SUBTRACT_ONE:
    case LG_GUARD_LABEL_SMOOTHING:
    case LG_GUARD_COMPILED_OUT:
    case LG_N_GUARDS:
        break;
    }
    return report;
}

bool lg_guard_change(lg_guard guard, const lg_guard_view *view, int64_t *out) {
    if (guard == LG_GUARD_CLAMP) {
        int64_t last = view->head_width - 1;
        for (int64_t i = 0; i < view->n; i++) {
            int64_t low = view->labels[i] < 0 ? 0 : view->labels[i];
            out[i] = low > last ? last : low;
        }
        return true;
    }
    if (guard == LG_GUARD_SUBTRACT_ONE) {
        for (int64_t i = 0; i < view->n; i++) {
            out[i] = (int64_t)((uint64_t)view->labels[i] - 1); // wraps, as the array library does
        }
        return true;
    }
    return false;
}
