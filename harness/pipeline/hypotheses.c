// SPDX-License-Identifier: Apache-2.0
#include "pipeline/hypotheses.h"

#include "pipeline/clean_labels.h"
#include "pipeline/priors.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// How all clean labels are moved.
typedef enum remap {
    REMAP_NONE,
    REMAP_PLUS_ONE,
    REMAP_MINUS_ONE,
    REMAP_MORE_CLASSES,         // wrong_head_width
    REMAP_MORE_CLASSES_EMPTY_0, // the same, and class 0 never occurs
    N_REMAPS,
} remap;

// How some rows are overwritten; bits of a set.
typedef enum stray {
    STRAY_WIDTH,
    STRAY_NEGATIVE,
    STRAY_SENTINEL,
    STRAY_CORRUPT,
    STRAY_WIDE,
    N_STRAYS
} stray;

static const lg_cause remap_causes[N_REMAPS] = {
    LG_CAUSE_NONE, LG_CAUSE_ONE_BASED_LABELS, LG_CAUSE_OVER_SHIFTED_LABELS,
    LG_CAUSE_WRONG_HEAD_WIDTH, LG_CAUSE_WRONG_HEAD_WIDTH};
static const lg_cause stray_causes[N_STRAYS] = {
    LG_CAUSE_LABEL_EQUALS_WIDTH, LG_CAUSE_NEGATIVE_LABELS, LG_CAUSE_SENTINEL_MISMATCH,
    LG_CAUSE_CORRUPT_LABELS, LG_CAUSE_TARGET_DTYPE};

// Classes beyond this are no classes: no head is that wide.
static const int64_t most_classes = INT64_C(1) << 26;
// How many places to split values between two faults are tried, from either end.
enum { few_cuts = 12, few_floors = 12 };

typedef struct weighing {
    const lg_label_table *table;
    int64_t n; // live labels
    int64_t width;
    lg_clean_sums in_range[3]; // the labels of [0, C) as they are, minus one, plus one
    int n_out;                 // explanations collected
    lg_explanation *out;
    double log_weight[LG_MAX_EXPLANATIONS];
} weighing;

static double log_add(double a, double b) {
    double high = a > b ? a : b;
    double low = a > b ? b : a;
    return high == -INFINITY ? high : high + log1p(exp(low - high));
}

static double log_choose(double n, double k) {
    int sign;
    return lgamma_r(n + 1, &sign) - lgamma_r(k + 1, &sign) - lgamma_r(n - k + 1, &sign);
}

static void sum_in_range(weighing *w) {
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

// One way to make the labels seen from clean ones.
typedef struct structure {
    remap map;
    unsigned strays;
    int64_t sentinel;
    int64_t floor;     // negative values below it are not STRAY_NEGATIVE's
    bool one_negative; // STRAY_NEGATIVE takes the value `floor` alone
    int64_t cut;       // REMAP_MORE_CLASSES: labels from C up to below this are classes
} structure;

// --- the stray part -----------------------------------------------------------------------------

typedef struct stray_part {
    int64_t rows[N_STRAYS];
    double log_values[N_STRAYS];
    int64_t first_value[N_STRAYS];
    bool one_value[N_STRAYS];
} stray_part;

// Nearly always one wrap too much, for all rows alike; any other high word is as good as another.
static double log_wide_value(const weighing *w, int64_t value) {
    if (value < INT64_C(1) << 32 || (value & INT64_C(0xffffffff)) >= w->width) {
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
        return log_wide_value(w, value);
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
        bool claimed = s == STRAY_NEGATIVE && value > -INFINITY && best != STRAY_SENTINEL;
        if (value > best_value || claimed) {
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
        values = part->one_value[s] ? log_add(each, one) : each;
    } else if (s == STRAY_WIDE) {
        values += log(LG_PRIOR_DTYPE_WIDE);
    }
    return log(count) - log_choose((double)among, (double)m) + values;
}

// --- the clean part -----------------------------------------------------------------------------

// ln Σ over spreads of P(spread) P(labels | spread, classes).
static double log_clean(const lg_clean_sums *sums, const lg_hidden_labels *hidden, double classes) {
    double total = -INFINITY;
    for (int f = 0; f < LG_N_SPREADS; f++) {
        lg_spread spread = (lg_spread)f;
        total = log_add(total, log(lg_prior_of_spread(spread)) +
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
    empty += ignored_classes(w, empty, least);
    if (declared > w->width && declared >= least) {
        return log(1 - LG_PRIOR_DECLARED_COPIES_HEAD) +
               log_clean(sums, hidden, (double)(declared - empty));
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
        double part = log(lg_prior_of_missing_classes(from, to)) +
                      log_clean(sums, hidden, (double)w->width + middle - (double)empty);
        total = log_add(total, part);
        // No head is wider than most_classes; what lies beyond is a tail of a tail.
        if (part < total - 40 || to > 16.0 * (double)most_classes) {
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
static bool map_is_possible(const weighing *w, remap map) {
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
    return log_clean(sums, hidden, classes) + (declared_more ? log(LG_PRIOR_DECLARED_WRONG) : 0);
}

static void collect(weighing *w, const structure *s, double log_weight, const stray_part *part,
                    int64_t mapped, int64_t largest);

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

// Adds the weight of one structure to the explanation it belongs to.
static void weigh(weighing *w, const structure *s) {
    const lg_label_table *t = w->table;
    stray_part part = {0};
    int view = s->map == REMAP_PLUS_ONE || s->map == REMAP_MORE_CLASSES_EMPTY_0 ? 1
               : s->map == REMAP_MINUS_ONE                                      ? 2
                                                                                : 0;
    lg_clean_sums sums = w->in_range[view];
    int64_t mapped = 0;
    int64_t largest = -1;
    for (int64_t i = 0; i < t->n_out; i++) {
        lg_value_count out = t->out[i];
        if (is_mapped(w, s, out.value)) {
            mapped += out.count;
            largest = out.value;
            lg_clean_add(&sums, rank_of(s->map, out.value), out.count);
        } else if (!assign(w, s, out, &part, &sums)) {
            return;
        }
    }
    if (s->map != REMAP_NONE && mapped == 0) {
        return;
    }
    int64_t n_stray = 0;
    for (int i = 0; i < N_STRAYS; i++) {
        if ((s->strays & 1u << i) && part.rows[i] == 0) {
            return; // The structure without this fault says the same with less.
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
    collect(w, s, total, &part, mapped, largest);
}

// A label C beside a head that is too narrow, or beside labels 1..C, is one of their classes.
static bool is_redundant(remap map, unsigned strays) {
    return (strays & 1u << STRAY_WIDTH) && map != REMAP_NONE && map != REMAP_MINUS_ONE;
}

// The causes that can come together: not two remaps, and no misreading of every label.
static double pair_mass(void) {
    double mass = 0;
    for (int map = 0; map <= REMAP_MORE_CLASSES; map++) {
        for (int i = 0; i < N_STRAYS; i++) {
            for (int k = 0; map == REMAP_NONE && k < i; k++) {
                mass += 2 * lg_prior_of_cause(stray_causes[i]) * lg_prior_of_cause(stray_causes[k]);
            }
            if (map != REMAP_NONE && !is_redundant((remap)map, 1u << i)) {
                mass +=
                    2 * lg_prior_of_cause(remap_causes[map]) * lg_prior_of_cause(stray_causes[i]);
            }
        }
    }
    return mass;
}

static double log_prior(lg_cause a, lg_cause b) {
    if (b == LG_CAUSE_NONE) {
        return log((1 - LG_PRIOR_TWO_FAULTS) * lg_prior_of_cause(a));
    }
    return log(LG_PRIOR_TWO_FAULTS * 2 * lg_prior_of_cause(a) * lg_prior_of_cause(b) / pair_mass());
}

static void add_weight(weighing *w, lg_cause cause, lg_cause with, double log_weight,
                       int64_t head_width, int64_t sentinel) {
    if (!(log_weight > -INFINITY)) {
        return;
    }
    for (int i = 0; i < w->n_out; i++) {
        lg_explanation *e = &w->out[i];
        bool same = (e->cause == cause && e->with == with) ||
                    (e->cause == with && e->with == cause && with != LG_CAUSE_NONE);
        if (same) {
            if (log_weight > w->log_weight[i]) {
                e->cause = cause;
                e->with = with;
                e->head_width = head_width;
                e->sentinel = sentinel;
            }
            w->log_weight[i] = log_add(w->log_weight[i], log_weight);
            return;
        }
    }
    if (w->n_out < LG_MAX_EXPLANATIONS) {
        w->out[w->n_out] = (lg_explanation){
            .cause = cause, .with = with, .head_width = head_width, .sentinel = sentinel};
        w->log_weight[w->n_out++] = log_weight;
    }
}

static void collect(weighing *w, const structure *s, double log_weight, const stray_part *part,
                    int64_t mapped, int64_t largest) {
    lg_cause causes[3];
    int64_t rows[3];
    int n = 0;
    if (s->map != REMAP_NONE) {
        causes[n] = remap_causes[s->map];
        rows[n++] = mapped;
    }
    for (int i = 0; i < N_STRAYS; i++) {
        if (s->strays & 1u << i) {
            causes[n] = stray_causes[i];
            rows[n++] = part->rows[i];
        }
    }
    lg_cause with = n > 1 ? causes[1] : LG_CAUSE_NONE;
    log_weight += log_prior(causes[0], with);
    if (n > 1 && rows[1] > rows[0]) {
        with = causes[0];
        causes[0] = causes[1];
    }
    add_weight(w, causes[0], with, log_weight, largest + 1, s->sentinel);
}

// --- all structures -----------------------------------------------------------------------------

// Where the classes of a too narrow head may end: above every label, or, where another fault can
// take what lies above, below any of the first or last few values.
static void weigh_cuts(weighing *w, structure s) {
    bool more = s.map == REMAP_MORE_CLASSES || s.map == REMAP_MORE_CLASSES_EMPTY_0;
    s.cut = most_classes;
    weigh(w, &s);
    bool others = s.strays & (1u << STRAY_CORRUPT | 1u << STRAY_WIDE);
    if (!more || !others) {
        return;
    }
    const lg_label_table *t = w->table;
    int64_t first = 0;
    int64_t end = 0;
    for (int64_t i = 0; i < t->n_out; i++) {
        first += t->out[i].value <= w->width;
        end += t->out[i].value < most_classes;
    }
    for (int64_t i = first; i < end; i++) {
        if (i - first < few_cuts || end - i <= few_cuts) {
            s.cut = t->out[i].value;
            weigh(w, &s);
        }
    }
}

// Which negative values are stray labels and which are corrupt, where both may be: those down to
// any of the first few, or any of these alone.
static void weigh_floors(weighing *w, structure s) {
    s.floor = INT64_MIN;
    if (!(s.strays & 1u << STRAY_NEGATIVE) || !(s.strays & 1u << STRAY_CORRUPT)) {
        weigh_cuts(w, s);
        return;
    }
    const lg_label_table *t = w->table;
    int64_t tried = 0;
    for (int64_t i = t->n_out - 1; i >= 0 && tried < few_floors; i--) {
        if (t->out[i].value < 0) {
            s.floor = t->out[i].value;
            for (int one = 0; one < (tried > 0 ? 2 : 1); one++) {
                s.one_negative = one;
                weigh_cuts(w, s);
            }
            tried++;
        }
    }
}

static void weigh_sentinels(weighing *w, structure s) {
    if (!(s.strays & 1u << STRAY_SENTINEL)) {
        weigh_floors(w, s);
        return;
    }
    const lg_label_table *t = w->table;
    int64_t least = lg_sentinel_min_rows(w->n);
    for (int64_t i = 0; i < t->n_out; i++) {
        bool taken = s.strays & 1u << STRAY_WIDTH && t->out[i].value == w->width;
        // The second of two faults picks among the rows the first one left.
        int64_t enough = (s.strays & (s.strays - 1)) ? 1 : least;
        if (t->out[i].count >= enough && t->out[i].count * 50 >= w->n && !taken) {
            s.sentinel = t->out[i].value;
            weigh_floors(w, s);
        }
    }
}

static void weigh_all(weighing *w) {
    for (int map = 0; map < N_REMAPS; map++) {
        if (!map_is_possible(w, (remap)map)) {
            continue;
        }
        for (unsigned strays = 0; strays < 1u << N_STRAYS; strays++) {
            int n = __builtin_popcount(strays) + (map != REMAP_NONE);
            if (n >= 1 && n <= 2 && !is_redundant((remap)map, strays)) {
                weigh_sentinels(w, (structure){.map = (remap)map, .strays = strays});
            }
        }
    }
}

// Misread bits concern every row: each label is two classes, the bits of a class, or a signed byte.
static void weigh_misread(weighing *w) {
    const lg_label_table *t = w->table;
    double float_prior = log_prior(LG_CAUSE_FLOAT_TARGETS, LG_CAUSE_NONE);
    double dtype_prior = log_prior(LG_CAUSE_TARGET_DTYPE, LG_CAUSE_NONE);
    double width = (double)w->width;
    const lg_hidden_labels none = {0};
    lg_clean_sums values = w->in_range[0];
    for (int64_t i = 0; i < t->n_out; i++) {
        lg_clean_add(&values, fabs((double)t->out[i].value), t->out[i].count);
    }
    if (t->n_all_float64 == w->n) {
        add_weight(w, LG_CAUSE_FLOAT_TARGETS, LG_CAUSE_NONE,
                   float_prior + log(1 - LG_PRIOR_FLOAT32_BITS) + log_clean(&values, &none, width),
                   0, 0);
    }
    // Two labels a value: as many kinds of values as there are pairs of classes.
    double pairs = log_clean(&values, &none, width * width);
    if (t->n_all_float32 == w->n) {
        add_weight(w, LG_CAUSE_FLOAT_TARGETS, LG_CAUSE_NONE,
                   float_prior + log(LG_PRIOR_FLOAT32_BITS) + pairs, 0, 0);
    }
    if (t->n_all_int32_pair == w->n) {
        add_weight(w, LG_CAUSE_TARGET_DTYPE, LG_CAUSE_NONE,
                   dtype_prior + log(LG_PRIOR_DTYPE_PAIRS) + pairs, 0, 0);
    }
    lg_clean_sums sums = w->in_range[0];
    bool bytes = w->width > 128 && t->counts != NULL;
    for (int64_t k = 128; bytes && k < w->width; k++) {
        bytes = t->counts[k] == 0;
    }
    for (int64_t i = 0; bytes && i < t->n_out; i++) {
        int64_t value = t->out[i].value;
        bytes = value >= -128 && value < 0 && value + 256 < w->width;
        if (bytes) {
            lg_clean_add(&sums, (double)(value + 256), t->out[i].count);
        }
    }
    if (bytes) {
        add_weight(w, LG_CAUSE_TARGET_DTYPE, LG_CAUSE_NONE,
                   dtype_prior + log(LG_PRIOR_DTYPE_SIGN_BYTES) +
                       log_clean(&sums, &none, (double)w->width),
                   0, 0);
    }
}

static int by_probability(const void *a, const void *b) {
    double left = ((const lg_explanation *)a)->probability;
    double right = ((const lg_explanation *)b)->probability;
    return (left < right) - (left > right);
}

int lg_explain_labels(const lg_label_table *table, lg_explanation *out) {
    const lg_label_evidence *e = &table->evidence;
    weighing w = {.table = table, .n = e->n - e->n_ignored, .width = e->head_width, .out = out};
    if (table->n_out == 0 || w.width < 1) {
        return 0;
    }
    sum_in_range(&w);
    weigh_all(&w);
    weigh_misread(&w);
    double total = -INFINITY;
    for (int i = 0; i < w.n_out; i++) {
        total = log_add(total, w.log_weight[i]);
    }
    for (int i = 0; i < w.n_out; i++) {
        out[i].probability = exp(w.log_weight[i] - total);
    }
    qsort(out, (size_t)w.n_out, sizeof *out, by_probability);
    return w.n_out;
}
