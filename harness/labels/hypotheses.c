// SPDX-License-Identifier: Apache-2.0
#include "labels/labels.h"

#include "labels/internal.h"

#include <math.h>
#include <stdlib.h>

static const lg_cause remap_causes[N_REMAPS] = {LG_CAUSE_NONE, LG_CAUSE_ONE_BASED_LABELS,
                                                LG_CAUSE_OVER_SHIFTED_LABELS,
                                                LG_CAUSE_WRONG_HEAD_WIDTH};
static const lg_cause stray_causes[N_STRAYS] = {
    LG_CAUSE_LABEL_EQUALS_WIDTH, LG_CAUSE_NEGATIVE_LABELS, LG_CAUSE_SENTINEL_MISMATCH,
    LG_CAUSE_CORRUPT_LABELS, LG_CAUSE_TARGET_DTYPE};

// How many places to split values between two faults are tried, from either end.
enum { few_cuts = 12, few_floors = 12 };

// A label C beside a head that is too narrow, or beside labels 1..C, is one of their classes.
static bool is_redundant(remap map, unsigned strays) {
    return (strays & 1u << STRAY_WIDTH) && map != REMAP_NONE && map != REMAP_MINUS_ONE;
}

// The causes that can come together: not two remaps, and no misreading of every label.
static double pair_mass(void) {
    double mass = 0;
    for (int map = 0; map < N_REMAPS; map++) {
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
            w->log_weight[i] = lg_log_add(w->log_weight[i], log_weight);
            return;
        }
    }
    if (w->n_out < LG_MAX_EXPLANATIONS) {
        w->out[w->n_out] = (lg_explanation){
            .cause = cause, .with = with, .head_width = head_width, .sentinel = sentinel};
        w->log_weight[w->n_out++] = log_weight;
    }
}

// Weighs a structure and adds it to the explanation it belongs to.
static void weigh(weighing *w, const structure *s) {
    weighed got;
    if (!lg_weigh_structure(w, s, &got)) {
        return;
    }
    double log_weight = got.log_likelihood;
    lg_cause causes[3];
    int64_t rows[3];
    int n = 0;
    if (s->map != REMAP_NONE) {
        causes[n] = remap_causes[s->map];
        rows[n++] = got.mapped;
    }
    for (int i = 0; i < N_STRAYS; i++) {
        if (s->strays & 1u << i) {
            causes[n] = stray_causes[i];
            rows[n++] = got.part.rows[i];
        }
    }
    lg_cause with = n > 1 ? causes[1] : LG_CAUSE_NONE;
    log_weight += log_prior(causes[0], with);
    if (n > 1 && rows[1] > rows[0]) {
        with = causes[0];
        causes[0] = causes[1];
    }
    add_weight(w, causes[0], with, log_weight, got.largest + 1, s->sentinel);
}

// --- all structures -----------------------------------------------------------------------------

// Where the classes of a too narrow head may end: above every label, or, where another fault can
// take what lies above, below any of the first or last few values.
static void weigh_cuts(weighing *w, structure s) {
    bool more = s.map == REMAP_MORE_CLASSES;
    s.cut = LG_MOST_CLASSES;
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
        end += t->out[i].value < LG_MOST_CLASSES;
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
    lg_clean_sums values = w->in_range[1];
    for (int64_t i = 0; i < t->n_out; i++) {
        lg_clean_add(&values, fabs((double)t->out[i].value), t->out[i].count);
    }
    if (t->n_all_float64 == w->n) {
        add_weight(w, LG_CAUSE_FLOAT_TARGETS, LG_CAUSE_NONE,
                   float_prior + log(1 - LG_PRIOR_FLOAT32_BITS) +
                       lg_log_clean(&values, &none, width),
                   0, 0);
    }
    // Two labels a value: as many kinds of values as there are pairs of classes.
    double pairs = lg_log_clean(&values, &none, width * width);
    if (t->n_all_float32 == w->n) {
        add_weight(w, LG_CAUSE_FLOAT_TARGETS, LG_CAUSE_NONE,
                   float_prior + log(LG_PRIOR_FLOAT32_BITS) + pairs, 0, 0);
    }
    if (t->n_all_int32_pair == w->n) {
        add_weight(w, LG_CAUSE_TARGET_DTYPE, LG_CAUSE_NONE,
                   dtype_prior + log(LG_PRIOR_DTYPE_PAIRS) + pairs, 0, 0);
    }
    lg_clean_sums sums = w->in_range[1];
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
                       lg_log_clean(&sums, &none, (double)w->width),
                   0, 0);
    }
}

static int by_probability(const void *a, const void *b) {
    double left = ((const lg_explanation *)a)->probability;
    double right = ((const lg_explanation *)b)->probability;
    return (left < right) - (left > right);
}

int lg_labels_explain(const lg_label_table *table, lg_explanation *out) {
    const lg_label_evidence *e = &table->evidence;
    weighing w = {.table = table, .n = e->n - e->n_ignored, .width = e->head_width, .out = out};
    if (table->n_out == 0 || w.width < 1) {
        return 0;
    }
    lg_weighing_begin(&w);
    weigh_all(&w);
    weigh_misread(&w);
    double total = -INFINITY;
    for (int i = 0; i < w.n_out; i++) {
        total = lg_log_add(total, w.log_weight[i]);
    }
    for (int i = 0; i < w.n_out; i++) {
        out[i].probability = exp(w.log_weight[i] - total);
    }
    qsort(out, (size_t)w.n_out, sizeof *out, by_probability);
    return w.n_out;
}
