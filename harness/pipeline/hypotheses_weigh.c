// SPDX-License-Identifier: Apache-2.0
// The likelihood of one structure: a remap, a set of stray faults, and where values are split
// between them.
#include "pipeline/hypotheses_parts.h"
#include "pipeline/priors.h"

#include <math.h>
#include <string.h>

double lg_log_add(double a, double b) {
    double high = a > b ? a : b;
    double low = a > b ? b : a;
    return high == -INFINITY ? high : high + log1p(exp(low - high));
}

static double log_choose(double n, double k) {
    int sign;
    return lgamma_r(n + 1, &sign) - lgamma_r(k + 1, &sign) - lgamma_r(n - k + 1, &sign);
}

void lg_weighing_begin(weighing *w) {
    const lg_label_table *t = w->table;
    memset(w->in_range, 0, sizeof w->in_range);
    if (!t->counts) {
        for (int i = 0; i < 3; i++) {
            w->in_range[i].n = t->evidence.n_in_range;
            w->in_range[i].uniform_only = true;
        }
        return;
    }
    lg_clean_sums *as_is = &w->in_range[0];
    double minus = 0;
    double plus = 0;
    for (int64_t k = 0; k < w->width; k++) {
        int64_t count = t->counts[k];
        if (count > 0) {
            lg_clean_add(as_is, (double)k, count);
            minus += (double)count * log((double)(k > 0 ? k : 1));
            plus += (double)count * log((double)k + 2);
        }
    }
    w->in_range[1] = w->in_range[2] = *as_is;
    w->in_range[1].log_rank = minus;
    w->in_range[2].log_rank = plus;
}

static int64_t count_of_class(const weighing *w, int64_t k) {
    return w->table->counts && k >= 0 && k < w->width ? w->table->counts[k] : 0;
}

// --- the stray part -----------------------------------------------------------------------------

// Whether a label of [0, C) can be there under the remap: a shift leaves one end empty.
static bool can_be_label(const weighing *w, remap map, int64_t label) {
    switch (map) {
    case REMAP_PLUS_ONE:
    case REMAP_MORE_CLASSES_EMPTY_0:
        return label >= 1 && label < w->width;
    case REMAP_MINUS_ONE:
        return label >= 0 && label < w->width - 1;
    case REMAP_NONE:
    case REMAP_MORE_CLASSES:
        return label >= 0 && label < w->width;
    case N_REMAPS:
        break;
    }
    return false;
}

// Nearly always one wrap too much, for all rows alike; any other high word is as good as another.
static double log_wide_value(const weighing *w, remap map, int64_t value) {
    if (value < INT64_C(1) << 32 || !can_be_label(w, map, value & INT64_C(0xffffffff))) {
        return -INFINITY;
    }
    return value >> 32 == 1 ? 0 : log(0.1 * 0x1p-31);
}

static double log_stray_value(const weighing *w, const structure *how, stray s, int64_t value) {
    switch (s) {
    case STRAY_WIDTH:
        return value == w->width ? 0 : -INFINITY;
    case STRAY_NEGATIVE:
        if (value < how->floor || (how->one_negative && value != how->floor)) {
            return -INFINITY;
        }
        return log(lg_prior_of_negative(value));
    case STRAY_SENTINEL:
        return value == how->sentinel ? 0 : -INFINITY;
    case STRAY_CORRUPT:
        return log(lg_prior_of_corrupt(value, w->width));
    case STRAY_WIDE:
        return log_wide_value(w, how->map, value);
    case N_STRAYS:
        break;
    }
    return -INFINITY;
}

// Gives an out-of-range value to the stray fault of the set that explains it best; a sentinel and C
// itself go to the fault that is made of them. false: none explains it.
static bool assign(const weighing *w, const structure *how, lg_value_count out, stray_part *part,
                   lg_clean_sums *sums) {
    int best = -1;
    double best_value = -INFINITY;
    for (int s = 0; s < N_STRAYS; s++) {
        if (!(how->strays & 1u << s)) {
            continue;
        }
        double value = log_stray_value(w, how, (stray)s, out.value);
        // Within its floor a negative value is the negative fault's: q alone forgets what picking
        // the rows of a second fault costs.
        bool claimed = best == STRAY_NEGATIVE && s == STRAY_CORRUPT;
        if (value > best_value && !claimed) {
            best = s;
            best_value = value;
        }
    }
    if (best < 0) {
        return false;
    }
    part->one_value[best] = part->rows[best] == 0;
    part->first_value[best] = part->rows[best] == 0 ? out.value : part->first_value[best];
    part->rows[best] += out.count;
    if (best == STRAY_WIDE) {
        // Below the high word the row still has the class it always had.
        int64_t k = out.value & INT64_C(0xffffffff);
        lg_clean_add_more(sums, (double)k, count_of_class(w, k), out.count);
    }
    part->log_values[best] += best_value * (double)out.count;
    return true;
}

// ln P(these rows, these values) of one stray fault that picks its rows among `among`.
static double log_stray(const weighing *w, stray s, const stray_part *part, int64_t among) {
    int64_t m = part->rows[s];
    double values = part->log_values[s];
    double count = lg_prior_of_stray_rows(m, among);
    if (s == STRAY_SENTINEL) {
        count = lg_prior_of_sentinel_rows(m, among);
        values = log(lg_prior_of_sentinel(part->first_value[s], w->width));
    } else if (s == STRAY_NEGATIVE) {
        double each = log(1 - LG_PRIOR_ONE_NEGATIVE) + values;
        double one = log(LG_PRIOR_ONE_NEGATIVE) + log(lg_prior_of_negative(part->first_value[s]));
        values = part->one_value[s] ? lg_log_add(each, one) : each;
    } else if (s == STRAY_WIDE) {
        values += log(LG_PRIOR_DTYPE_WIDE);
    }
    return log(count) - log_choose((double)among, (double)m) + values;
}

// --- the clean part -----------------------------------------------------------------------------

// ln Σ over spreads of P(spread) P(labels | spread, classes).
double lg_log_clean(const lg_clean_sums *sums, const lg_hidden_labels *hidden, double classes) {
    double total = -INFINITY;
    for (int f = 0; f < LG_N_SPREADS; f++) {
        lg_spread spread = (lg_spread)f;
        total = lg_log_add(total, log(lg_prior_of_spread(spread)) +
                                      lg_clean_log_probability(sums, spread, classes) +
                                      lg_hidden_log_probability(sums, hidden, spread, classes));
    }
    return total;
}

// A class that is ignored has no live label: it is not there to be missing. The labels of K classes
// run from `lowest`.
static int64_t ignored_classes(const weighing *w, int64_t lowest, int64_t classes) {
    int64_t ignored = w->table->evidence.ignore_index;
    return ignored >= lowest && ignored < lowest + classes;
}

// The data set has K classes for some K above every label: summed over K in bins that widen, each
// weighed at its lower middle. `empty` classes (an empty class 0) have no labels.
static double log_clean_over_k(const weighing *w, const lg_clean_sums *sums,
                               const lg_hidden_labels *hidden, int64_t least, int64_t empty) {
    int64_t declared = w->table->evidence.classes;
    int64_t ignored = w->table->evidence.ignore_index;
    if (declared > w->width && declared >= least) {
        int64_t live = declared - empty - ignored_classes(w, empty, declared - empty);
        return log(1 - LG_PRIOR_DECLARED_COPIES_HEAD) + lg_log_clean(sums, hidden, (double)live);
    }
    double scale = declared == w->width ? log(LG_PRIOR_DECLARED_COPIES_HEAD) : 0;
    if (declared > w->width) {
        scale = log(LG_PRIOR_DECLARED_WRONG);
    }
    double total = -INFINITY;
    double from = (double)(least - w->width);
    for (int bin = 0; bin < 200; bin++) {
        double to = bin < 8 ? from + 1 : ceil(from * 1.2 + 1);
        double middle = to - from <= 1 ? from : sqrt(from * to);
        double classes = (double)w->width + middle;
        bool ignores_one = ignored >= empty && (double)ignored < classes;
        double part = log(lg_prior_of_missing_classes(from, to)) +
                      lg_log_clean(sums, hidden, classes - (double)(empty + ignores_one));
        total = lg_log_add(total, part);
        // No head is wider than LG_MOST_CLASSES; what lies beyond is a tail of a tail.
        if (part < total - 40 || to > 16.0 * (double)LG_MOST_CLASSES) {
            break;
        }
        from = to;
    }
    return scale + total;
}

// --- one structure: a remap, a set of strays, a sentinel -----------------------------------------

static bool is_mapped(const weighing *w, const structure *s, int64_t value) {
    if (s->strays & 1u << STRAY_SENTINEL && value == s->sentinel) {
        return false;
    }
    switch (s->map) {
    case REMAP_PLUS_ONE:
        return value == w->width;
    case REMAP_MINUS_ONE:
        return value == -1;
    case REMAP_MORE_CLASSES:
    case REMAP_MORE_CLASSES_EMPTY_0:
        return value >= w->width && value < s->cut;
    case REMAP_NONE:
    case N_REMAPS:
        break;
    }
    return false;
}

// What the remap leaves for a class that the labels do show; the shift puts it out of the way.
bool lg_remap_is_possible(const weighing *w, remap map) {
    bool no_zero = w->table->evidence.n_zero == 0;
    switch (map) {
    case REMAP_PLUS_ONE:
    case REMAP_MORE_CLASSES_EMPTY_0:
        return no_zero;
    case REMAP_MINUS_ONE:
        return w->width > 0 && count_of_class(w, w->width - 1) == 0 &&
               w->table->evidence.max != w->width - 1;
    case REMAP_NONE:
    case REMAP_MORE_CLASSES:
    case N_REMAPS:
        break;
    }
    return true;
}

static double rank_of(remap map, int64_t value) {
    bool down = map == REMAP_PLUS_ONE || map == REMAP_MORE_CLASSES_EMPTY_0;
    return (double)(value + (map == REMAP_MINUS_ONE) - down);
}

static double log_mapped(const weighing *w, const structure *s, const lg_clean_sums *sums,
                         const lg_hidden_labels *hidden, int64_t largest) {
    switch (s->map) {
    case REMAP_MORE_CLASSES:
        return log(1 - LG_PRIOR_EMPTY_CLASS_0) + log_clean_over_k(w, sums, hidden, largest + 1, 0);
    case REMAP_MORE_CLASSES_EMPTY_0:
        return log(LG_PRIOR_EMPTY_CLASS_0) + log_clean_over_k(w, sums, hidden, largest + 1, 1);
    case REMAP_NONE:
    case REMAP_PLUS_ONE:
    case REMAP_MINUS_ONE:
    case N_REMAPS:
        break;
    }
    bool declared_more = w->table->evidence.classes > w->width;
    int64_t lowest = s->map == REMAP_PLUS_ONE ? 1 : s->map == REMAP_MINUS_ONE ? -1 : 0;
    double classes = (double)(w->width - ignored_classes(w, lowest, w->width));
    return lg_log_clean(sums, hidden, classes) + (declared_more ? log(LG_PRIOR_DECLARED_WRONG) : 0);
}

// What is known of the overwritten labels when a remap puts some labels out of range: these were
// not among them.
static lg_hidden_labels hidden_labels(const weighing *w, remap map, int64_t n_stray,
                                      int64_t n_wide) {
    if (map == REMAP_NONE) {
        return (lg_hidden_labels){0};
    }
    int64_t lowest = map == REMAP_PLUS_ONE || map == REMAP_MORE_CLASSES_EMPTY_0 ? 1 : 0;
    int64_t classes = w->width - (map != REMAP_MORE_CLASSES);
    return (lg_hidden_labels){.n = n_stray - n_wide,
                              .classes = (double)(classes - ignored_classes(w, lowest, classes)),
                              .seen = (double)(w->table->evidence.n_in_range + n_wide),
                              .first_rank = map == REMAP_MINUS_ONE ? 1 : 0};
}

bool lg_weigh_structure(const weighing *w, const structure *s, weighed *out) {
    const lg_label_table *t = w->table;
    stray_part part = {0};
    int view = s->map == REMAP_PLUS_ONE || s->map == REMAP_MORE_CLASSES_EMPTY_0 ? 1
               : s->map == REMAP_MINUS_ONE                                      ? 2
                                                                                : 0;
    lg_clean_sums sums = w->in_range[view];
    int64_t mapped = 0;
    int64_t largest = -1;
    for (int64_t i = 0; i < t->n_out; i++) {
        lg_value_count seen = t->out[i];
        if (is_mapped(w, s, seen.value)) {
            mapped += seen.count;
            largest = seen.value;
            lg_clean_add(&sums, rank_of(s->map, seen.value), seen.count);
        } else if (!assign(w, s, seen, &part, &sums)) {
            return false;
        }
    }
    if (s->map != REMAP_NONE && mapped == 0) {
        return false;
    }
    int64_t n_stray = 0;
    for (int i = 0; i < N_STRAYS; i++) {
        if ((s->strays & 1u << i) && part.rows[i] == 0) {
            return false; // The structure without this fault says the same with less.
        }
        n_stray += part.rows[i];
    }
    lg_hidden_labels hidden = hidden_labels(w, s->map, n_stray, part.rows[STRAY_WIDE]);
    double total = log_mapped(w, s, &sums, &hidden, largest);
    // A stray fault picks its rows among those that are still in range.
    int64_t among = w->n - mapped;
    for (int i = 0; i < N_STRAYS; i++) {
        if (s->strays & 1u << i) {
            total += log_stray(w, (stray)i, &part, among);
            among -= part.rows[i];
        }
    }
    *out = (weighed){.log_likelihood = total, .part = part, .mapped = mapped, .largest = largest};
    return true;
}
