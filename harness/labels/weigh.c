// SPDX-License-Identifier: Apache-2.0
// The likelihood of one structure: a remap, a set of stray faults, and where values are split
// between them. hypotheses_clean.c weighs the clean labels behind it.
#include "labels/internal.h"
#include "labels/labels.h"

#include <math.h>
#include <string.h>

// Zipf ranks of label k are k - shift; a shift that a label does not allow is never used.
static double log_rank(int64_t label, int64_t shift) {
    int64_t rank = label - shift;
    return log((double)(rank > 0 ? rank : 0) + 1);
}

void lg_weighing_begin(weighing *w) {
    const lg_label_table *t = w->table;
    memset(w->in_range, 0, sizeof w->in_range);
    memset(w->known, 0, sizeof w->known);
    w->largest_in_range = -1;
    if (!t->counts) {
        for (int view = 0; view < N_VIEWS; view++) {
            w->in_range[view].n = t->evidence.n_in_range;
            w->in_range[view].uniform_only = true;
        }
        w->largest_in_range = t->evidence.n_in_range > 0 ? w->width - 1 : -1;
        return;
    }
    double ranks[N_VIEWS] = {0};
    for (int64_t k = 0; k < w->width; k++) {
        int64_t count = t->counts[k];
        if (count > 0) {
            lg_clean_add(&w->in_range[0], (double)k, count);
            for (int view = 0; view < N_VIEWS; view++) {
                ranks[view] += (double)count * log_rank(k, view - 1);
            }
            w->largest_in_range = k;
        }
    }
    double least = w->in_range[0].least_rank;
    for (int view = N_VIEWS - 1; view >= 0; view--) {
        w->in_range[view] = w->in_range[0];
        w->in_range[view].log_rank = ranks[view];
        w->in_range[view].least_rank = least - (view - 1);
        w->in_range[view].largest_rank = (double)(w->largest_in_range - (view - 1));
    }
}

static int64_t count_of_class(const weighing *w, int64_t k) {
    return w->table->counts && k >= 0 && k < w->width ? w->table->counts[k] : 0;
}

// --- the stray part -----------------------------------------------------------------------------

// Whether a label of [0, C) can be there under the remap: a shift leaves one end empty.
static bool can_be_label(const weighing *w, const clean_part *part, int64_t label) {
    bool below_top = part->map != REMAP_MINUS_ONE || label < w->width - 1;
    return label >= 0 && label >= part->shift && label < w->width && below_top;
}

// Nearly always one wrap too much, for all rows alike; any other high word is as good as another.
static double log_wide_value(const weighing *w, const clean_part *part, int64_t value) {
    if (value < INT64_C(1) << 32 || !can_be_label(w, part, value & INT64_C(0xffffffff))) {
        return -INFINITY;
    }
    return value >> 32 == 1 ? 0 : log(0.1 * 0x1p-31);
}

static double log_stray_value(const weighing *w, const structure *how, const clean_part *clean,
                              stray s, int64_t value) {
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
        return log_wide_value(w, clean, value);
    case N_STRAYS:
        break;
    }
    return -INFINITY;
}

static double log_repeats(int64_t count, double discount) {
    int sign;
    return lgamma_r((double)count - discount, &sign) - lgamma_r(1 - discount, &sign);
}

// Gives an out-of-range value to the stray fault of the set that explains it best; a sentinel and C
// itself go to the fault that is made of them. false: none explains it.
static bool assign(const weighing *w, const structure *how, lg_value_count out, stray_part *part,
                   clean_part *clean) {
    int best = -1;
    double best_value = -INFINITY;
    for (int s = 0; s < N_STRAYS; s++) {
        if (!(how->strays & 1u << s)) {
            continue;
        }
        double value = log_stray_value(w, how, clean, (stray)s, out.value);
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
    part->first_value[best] = part->rows[best] == 0 ? out.value : part->first_value[best];
    part->rows[best] += out.count;
    if (best == STRAY_WIDE) {
        // Below the high word the row still has the class it always had.
        int64_t k = out.value & INT64_C(0xffffffff);
        lg_clean_add_more(&clean->inside, (double)(k - clean->shift), count_of_class(w, k),
                          out.count);
        clean->largest = k > clean->largest ? k : clean->largest;
    }
    part->log_values[best] += best_value * (double)out.count;
    part->log_distinct[best] += best_value;
    part->log_few[best] += log_repeats(out.count, LG_URN_DISCOUNT_FEW);
    part->log_many[best] += log_repeats(out.count, LG_URN_DISCOUNT_MANY);
    part->n_distinct[best]++;
    double gain = -best_value * (double)(out.count - 1);
    if (gain > part->fill_gain[best]) {
        part->fill_gain[best] = gain;
        part->fill_count[best] = out.count;
    }
    return true;
}

// ln P(which draws of an urn repeat which): k distinct values among m.
static double log_urn(double k, double m, double discount, double repeats) {
    int sign;
    double strength = LG_URN_STRENGTH;
    return (k - 1) * log(discount) + lgamma_r(strength / discount + k, &sign) -
           lgamma_r(strength / discount + 1, &sign) + repeats + lgamma_r(strength + 1, &sign) -
           lgamma_r(strength + m, &sign);
}

// ln P(values of a stray fault): drawn apart, from an urn that repeats them, or apart from one
// value that takes any share.
static double log_drawn_values(const stray_part *part, stray s) {
    double k = (double)part->n_distinct[s];
    double m = (double)part->rows[s];
    double c = (double)part->fill_count[s];
    double urn = lg_log_add(log_urn(k, m, LG_URN_DISCOUNT_FEW, part->log_few[s]),
                            log_urn(k, m, LG_URN_DISCOUNT_MANY, part->log_many[s]));
    double fill = part->log_values[s] + part->fill_gain[s] - log(m + 1) - lg_log_choose(m, c);
    double apart = log(1 - LG_PRIOR_URN - LG_PRIOR_FILL) + part->log_values[s];
    double together = lg_log_add(log(LG_PRIOR_URN / 2) + part->log_distinct[s] + urn,
                                 c > 1 ? log(LG_PRIOR_FILL) + fill : -INFINITY);
    return lg_log_add(apart, together);
}

// How well the places of the out-of-range labels in a map fit a fault that fills areas, or one that
// picks rows one by one; 0 without a map. Only stray faults know a place: classes fill areas too.
static double log_places(const weighing *w, stray s, const stray_part *part) {
    const lg_label_evidence *e = &w->table->evidence;
    double m = (double)(e->n_negative + e->n_at_width + e->n_above_width);
    if (e->row_length == 0 || m < 4 || part->rows[s] * 2 < (int64_t)m) {
        return 0;
    }
    double share = m / (double)(e->n > 0 ? e->n : 1);
    double chance = 1 - (1 - share) * (1 - share); // of a like one to the left or above
    double joined = (double)e->n_out_joined / m;
    if (s == STRAY_SENTINEL) {
        return joined > (1 + chance) / 2 ? 0 : log(LG_PRIOR_SCATTERED_SENTINEL);
    }
    if (joined <= chance) {
        return 0;
    }
    double surprise = joined * log(joined / chance);
    surprise += joined < 1 ? (1 - joined) * log((1 - joined) / (1 - chance)) : 0;
    return fmax(-m * surprise, log(LG_PRIOR_JOINED_STRAY));
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
        values = log(1 - LG_PRIOR_ONE_NEGATIVE) + log_drawn_values(part, s);
        if (part->n_distinct[s] == 1) {
            values = lg_log_add(values, log(LG_PRIOR_ONE_NEGATIVE) +
                                            log(lg_prior_of_negative(part->first_value[s])));
        }
    } else if (s == STRAY_CORRUPT) {
        values = log_drawn_values(part, s);
    } else if (s == STRAY_WIDE) {
        values += log(LG_PRIOR_DTYPE_WIDE);
    }
    return log(count) - lg_log_choose((double)among, (double)m) + values + log_places(w, s, part);
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
        return value >= w->width && value < s->cut;
    case REMAP_NONE:
    case N_REMAPS:
        break;
    }
    return false;
}

// What the remap leaves for a class that the labels do show; the shift puts it out of the way.
static bool is_possible(const weighing *w, remap map, bool empty) {
    bool no_zero = w->table->evidence.n_zero == 0;
    switch (map) {
    case REMAP_PLUS_ONE:
        return no_zero && (!empty || (w->table->counts && count_of_class(w, 1) == 0));
    case REMAP_MINUS_ONE:
        return !empty && count_of_class(w, w->width - 1) == 0 &&
               w->table->evidence.max != w->width - 1;
    case REMAP_NONE:
    case REMAP_MORE_CLASSES:
        return !empty || (no_zero && w->width > 1);
    case N_REMAPS:
        break;
    }
    return false;
}

// What is known of the overwritten labels when a remap puts some labels out of range: these were
// not among them.
static lg_hidden_labels hidden_labels(const weighing *w, const clean_part *part, int64_t n_stray,
                                      int64_t n_wide) {
    if (part->map == REMAP_NONE) {
        return (lg_hidden_labels){0};
    }
    int64_t lowest = part->shift > 0 ? part->shift : 0;
    int64_t classes = w->width - lowest - (part->map == REMAP_MINUS_ONE);
    int64_t ignored = w->table->evidence.ignore_index;
    classes -= ignored >= lowest && ignored < lowest + classes;
    return (lg_hidden_labels){.n = n_stray - n_wide,
                              .classes = (double)classes,
                              .seen = (double)(w->table->evidence.n_in_range + n_wide),
                              .first_rank = part->map == REMAP_MINUS_ONE ? 1 : 0};
}

// Parts the labels into clean ones, moved ones and overwritten ones. false: the structure cannot
// have made them, or a part of it has nothing to explain.
static bool part_labels(const weighing *w, const structure *s, clean_part *clean,
                        stray_part *part) {
    const lg_label_table *t = w->table;
    clean->inside = w->in_range[clean->shift + 1];
    clean->largest = w->largest_in_range;
    for (int64_t i = 0; i < t->n_out; i++) {
        bool mapped = is_mapped(w, s, t->out[i].value);
        clean->mapped += mapped ? t->out[i].count : 0;
        if (!mapped && !assign(w, s, t->out[i], part, clean)) {
            return false;
        }
    }
    clean->all = clean->inside;
    for (int64_t i = 0; i < t->n_out && clean->mapped > 0; i++) {
        int64_t value = t->out[i].value;
        if (is_mapped(w, s, value)) {
            int64_t first = s->map == REMAP_MINUS_ONE ? -1 : w->width;
            lg_clean_add(&clean->all, (double)(value - clean->shift), t->out[i].count);
            lg_clean_add(&clean->outside, (double)(value - first), t->out[i].count);
            clean->largest = value > clean->largest ? value : clean->largest;
        }
    }
    bool idle = s->map != REMAP_NONE && clean->mapped == 0;
    for (int i = 0; i < N_STRAYS; i++) {
        // The structure without this fault says the same with less.
        idle = idle || ((s->strays & 1u << i) && part->rows[i] == 0);
    }
    return !idle;
}

// The clean labels when no remap moves any are the same under every stray fault that leaves nothing
// of the overwritten ones.
static double log_clean_labels(weighing *w, const clean_part *clean, bool wide) {
    bool same = clean->map == REMAP_NONE && !wide;
    if (same && w->known[clean->empty].set) {
        return w->known[clean->empty].log_probability;
    }
    double value = lg_log_clean_part(w, clean);
    if (same) {
        w->known[clean->empty].set = true;
        w->known[clean->empty].log_probability = value;
    }
    return value;
}

static bool weigh_with(weighing *w, const structure *s, bool empty, weighed *out) {
    int64_t shift = s->map == REMAP_PLUS_ONE ? 1 : s->map == REMAP_MINUS_ONE ? -1 : 0;
    stray_part part = {0};
    clean_part clean = {.map = s->map, .empty = empty, .shift = shift + empty};
    if (!is_possible(w, s->map, empty) || !part_labels(w, s, &clean, &part)) {
        return false;
    }
    int64_t n_stray = 0;
    for (int i = 0; i < N_STRAYS; i++) {
        n_stray += part.rows[i];
    }
    clean.hidden = hidden_labels(w, &clean, n_stray, part.rows[STRAY_WIDE]);
    double total = log_clean_labels(w, &clean, part.rows[STRAY_WIDE] > 0);
    // A stray fault picks its rows among those that are still in range.
    int64_t among = w->n - clean.mapped;
    for (int i = 0; i < N_STRAYS; i++) {
        if (s->strays & 1u << i) {
            total += log_stray(w, (stray)i, &part, among);
            among -= part.rows[i];
        }
    }
    *out = (weighed){.log_likelihood = total,
                     .part = part,
                     .mapped = clean.mapped,
                     .largest = clean.mapped > 0 ? clean.largest : -1};
    return true;
}

bool lg_weigh_structure(weighing *w, const structure *s, weighed *out) {
    weighed with_first;
    weighed without;
    bool plain = weigh_with(w, s, false, &with_first);
    bool empty = weigh_with(w, s, true, &without);
    if (plain && empty) {
        *out = with_first;
        out->log_likelihood = lg_log_add(with_first.log_likelihood, without.log_likelihood);
    } else if (plain || empty) {
        *out = plain ? with_first : without;
    }
    return plain || empty;
}
