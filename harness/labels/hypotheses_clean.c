// SPDX-License-Identifier: Apache-2.0
// The probability of the clean labels behind a structure, summed over what data sets are like: the
// spread of the classes, a first class without rows, outputs that no class uses, classes far rarer
// than the rest, and how many classes a too narrow head misses.
#include "labels/internal.h"
#include "labels/labels.h"

#include <math.h>

double lg_log_add(double a, double b) {
    double high = a > b ? a : b;
    double low = a > b ? b : a;
    return high == -INFINITY ? high : high + log1p(exp(low - high));
}

double lg_log_choose(double n, double k) {
    int sign;
    return lgamma_r(n + 1, &sign) - lgamma_r(k + 1, &sign) - lgamma_r(n - k + 1, &sign);
}

double lg_log_clean(const lg_clean_sums *sums, const lg_hidden_labels *hidden, double classes) {
    double total = -INFINITY;
    for (int f = 0; f < LG_N_SPREADS; f++) {
        lg_spread spread = (lg_spread)f;
        total = lg_log_add(total, log(lg_prior_of_spread(spread)) +
                                      lg_clean_log_probability(sums, hidden, spread, classes));
    }
    return total;
}

// A class that is ignored has no supervised label: it is not there to be missing. The labels of K
// classes run from `lowest`.
static int64_t ignored_classes(const weighing *w, int64_t lowest, int64_t classes) {
    int64_t ignored = w->table->evidence.ignore_index;
    return ignored >= lowest && ignored < lowest + classes;
}

// The labels that the remap puts out of range, as a group with a frequency and a spread of its own.
// `outside`: how many classes lie there.
static double log_rare(const weighing *w, const clean_part *part, double inside, double outside) {
    const lg_hidden_labels none = {0};
    if (inside < 1 || outside < 1 || part->mapped == w->n) {
        return -INFINITY;
    }
    lg_clean_sums others = part->inside;
    if (part->map == REMAP_MINUS_ONE) {
        // The rare class was the first: without it, ranks count from the second.
        others.log_rank += w->in_range[1].log_rank - w->in_range[0].log_rank;
        others.least_rank--;
        others.largest_rank--;
    }
    return log(lg_prior_of_stray_rows(part->mapped, w->n)) -
           lg_log_choose((double)w->n, (double)part->mapped) +
           lg_log_clean(&part->outside, &none, outside) + lg_log_clean(&others, &none, inside);
}

// ln Σ over what the labels that the remap moved are like; `inside` and `outside` are supervised
// classes.
static double log_mixed(const weighing *w, const clean_part *part, double inside, double outside,
                        const lg_hidden_labels *hidden) {
    double regular =
        log(1 - LG_PRIOR_RARE_CLASSES) + lg_log_clean(&part->all, hidden, inside + outside);
    return lg_log_add(regular, log(LG_PRIOR_RARE_CLASSES) + log_rare(w, part, inside, outside));
}

// The data set has K classes for some K above every label: summed over K in bins that widen, each
// weighed at its lower middle.
static double log_more_classes(const weighing *w, const clean_part *part) {
    int64_t declared = w->table->evidence.classes;
    int64_t ignored = w->table->evidence.ignore_index;
    int64_t least = part->largest + 1;
    double inside =
        (double)(w->width - part->empty - ignored_classes(w, part->empty, w->width - part->empty));
    if (declared > w->width && declared >= least) {
        int64_t outside = declared - w->width;
        outside -= ignored_classes(w, w->width, outside);
        return log(1 - LG_PRIOR_DECLARED_COPIES_HEAD) +
               log_mixed(w, part, inside, (double)outside, &part->hidden);
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
        bool ignores_one =
            ignored >= w->width && (double)ignored < (double)w->width + middle && middle > 1;
        double weight = log(lg_prior_of_missing_classes(from, to)) +
                        log_mixed(w, part, inside, middle - ignores_one, &part->hidden);
        total = lg_log_add(total, weight);
        // No head is wider than LG_MOST_CLASSES; what lies beyond is a tail of a tail.
        if (weight < total - 40 || to > 16.0 * (double)LG_MOST_CLASSES) {
            break;
        }
        from = to;
    }
    return scale + total;
}

// One number of classes, counted from `lowest`, of which `outside` (0 or 1) lie out of range.
static double log_classes(const weighing *w, const clean_part *part, int64_t lowest,
                          int64_t classes, int64_t outside, double unused) {
    double live = (double)(classes - ignored_classes(w, lowest, classes));
    lg_hidden_labels hidden = part->hidden;
    hidden.classes = fmax(hidden.classes - unused, 0);
    if (outside > 0) {
        return log_mixed(w, part, live - (double)outside, (double)outside, &hidden);
    }
    return lg_log_clean(&part->all, &hidden, live);
}

// The classes fill the head, or leave its last outputs unused: summed over how many, in bins.
static double log_head_classes(const weighing *w, const clean_part *part) {
    int64_t lowest = part->shift;
    int64_t classes = w->width - part->empty;
    int64_t outside = part->map == REMAP_NONE ? 0 : 1;
    double total =
        log(1 - LG_PRIOR_UNUSED_OUTPUTS) + log_classes(w, part, lowest, classes, outside, 0);
    int64_t most = lowest + classes - 1 - part->largest;
    double scale = log(LG_PRIOR_UNUSED_OUTPUTS) - log1p(-1 / (double)classes);
    most = most < classes - 1 ? most : classes - 1;
    for (double from = 1; from <= (double)most;) {
        double to = from < 8 ? from + 1 : fmin(ceil(from * 1.3 + 1), (double)most + 1);
        double middle = to - from <= 1 ? from : floor(sqrt(from * to));
        double weight = scale + log(lg_prior_of_missing_classes(from, to)) +
                        log_classes(w, part, lowest, classes - (int64_t)middle, outside, middle);
        total = lg_log_add(total, weight);
        from = to;
    }
    return total;
}

double lg_log_clean_part(const weighing *w, const clean_part *part) {
    double empty = log(part->empty ? LG_PRIOR_EMPTY_CLASS_0 : 1 - LG_PRIOR_EMPTY_CLASS_0);
    if (part->map == REMAP_MORE_CLASSES) {
        return empty + log_more_classes(w, part);
    }
    bool declared_more = w->table->evidence.classes > w->width;
    return empty + log_head_classes(w, part) + (declared_more ? log(LG_PRIOR_DECLARED_WRONG) : 0);
}
