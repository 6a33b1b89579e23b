// SPDX-License-Identifier: Apache-2.0
// The two worlds that batches for measuring attribution are drawn from: how often what happens.
#ifndef LG_BENCH_ATTRIBUTION_WORLD_H
#define LG_BENCH_ATTRIBUTION_WORLD_H

#include "labels/labels.h"
#include "model/rng.h"
#include "scenario/scenario.h"

#include <math.h>

enum { DRAW_MAX_ROWS = 10000, DRAW_MAX_CLASSES = 50000, DRAW_MAX_URN = 2000 };

typedef enum world {
    WORLD_PRIORS, // the beliefs of labels/priors.h
    WORLD_OTHER,  // deliberately different ones
} world;

// How WORLD_OTHER spreads classes: none of it is a spread of the priors.
typedef enum other_spread {
    OTHER_FLAT_POWER,  // p(k) ~ 1/(k+1)^0.2, flatter than any of the priors
    OTHER_STEEP_POWER, // Mandelbrot's law 1/(k+6)^2: no power law at its head
    OTHER_REVERSED,    // 1/(k+1)^1.7, the last class first
    OTHER_TWO_LEVELS,  // every second class ten times as frequent as its neighbour
    OTHER_WINDOW,      // two windows of neighbouring classes
    N_OTHER_SPREADS,
} other_spread;

typedef struct draw {
    world world;
    uint64_t seed;
    uint64_t stream; // one a batch
    uint64_t at;     // next index of it
    lg_scenario scenario;
    lg_spread spread;
    other_spread other;
    int64_t n_live;
    bool ignored[DRAW_MAX_ROWS];
    int64_t drawn[DRAW_MAX_ROWS];
    int64_t labels[DRAW_MAX_ROWS];
    int64_t values[DRAW_MAX_ROWS];
    int64_t more_values[DRAW_MAX_ROWS];
    lg_batch batch;
} draw;

static inline void draw_begin(draw *d, world in, uint64_t seed, int64_t index) {
    d->world = in;
    d->seed = seed;
    d->stream = LG_STREAM_TEST + 1 + (uint64_t)index;
    d->at = 0;
    d->scenario = (lg_scenario){.path = "draw"};
    d->batch = (lg_batch){0};
}

static inline double draw_uniform(draw *d) {
    return lg_rng_uniform(d->seed, d->stream, d->at++);
}

static inline int64_t draw_below(draw *d, int64_t n) {
    return (int64_t)lg_rng_below(d->seed, d->stream, d->at++, (uint64_t)n);
}

// Log-uniform over 1..most.
static inline int64_t draw_size(draw *d, int64_t most) {
    int64_t n = (int64_t)exp(draw_uniform(d) * log((double)most + 1));
    return n < 1 ? 1 : n > most ? most : n;
}

static inline lg_cause draw_cause(draw *d) {
    double u = draw_uniform(d);
    int n = 0;
    for (int cause = LG_CAUSE_NONE + 1; cause < LG_N_CAUSES; cause++) {
        n += lg_prior_of_cause((lg_cause)cause) > 0;
    }
    for (int cause = LG_CAUSE_NONE + 1; cause < LG_N_CAUSES; cause++) {
        double p = lg_prior_of_cause((lg_cause)cause);
        u -= d->world == WORLD_OTHER ? (p > 0) / (double)n : p;
        if (u < 0) {
            return (lg_cause)cause;
        }
    }
    return LG_CAUSE_WRONG_HEAD_WIDTH;
}

static inline lg_spread draw_spread(draw *d) {
    double u = draw_uniform(d);
    d->other = (other_spread)draw_below(d, N_OTHER_SPREADS);
    for (int f = 0; f < LG_N_SPREADS; f++) {
        u -= lg_prior_of_spread((lg_spread)f);
        if (u < 0) {
            return (lg_spread)f;
        }
    }
    return LG_SPREAD_UNIFORM;
}

// A class under p(k) ~ 1/(k+1)^s, by the inverse of the continuous law.
static inline int64_t draw_power(draw *d, int64_t classes, double s) {
    double most = pow((double)classes + 1, 1 - s);
    int64_t k = (int64_t)pow((most - 1) * draw_uniform(d) + 1, 1 / (1 - s)) - 1;
    return k < 0 ? 0 : k >= classes ? classes - 1 : k;
}

// A class under p(k) ~ 1/(k+6)^2.
static inline int64_t draw_mandelbrot(draw *d, int64_t classes) {
    double far = 1 / ((double)classes + 6);
    int64_t k = (int64_t)(1 / (1.0 / 6 - draw_uniform(d) * (1.0 / 6 - far)) - 6);
    return k < 0 ? 0 : k >= classes ? classes - 1 : k;
}

static inline int64_t draw_other_label(draw *d, int64_t classes, int64_t window) {
    switch (d->other) {
    case OTHER_FLAT_POWER:
        return draw_power(d, classes, 0.2);
    case OTHER_STEEP_POWER:
        return draw_mandelbrot(d, classes);
    case OTHER_REVERSED:
        return classes - 1 - draw_power(d, classes, 1.7);
    case OTHER_TWO_LEVELS: {
        int64_t k = draw_below(d, classes);
        return k % 2 == 1 && draw_uniform(d) < 0.9 ? k - 1 : k;
    }
    case OTHER_WINDOW: {
        int64_t width = 1 + classes / 10;
        int64_t at = draw_uniform(d) < 0.3 ? 1000 - window : window;
        return at * (classes - width) / 1000 + draw_below(d, width);
    }
    case N_OTHER_SPREADS:
        break;
    }
    return 0;
}

// A rank under p(k) ~ 1/(k+1)^s exactly: rejection from the continuous law around it.
static inline int64_t draw_zipf(draw *d, int64_t classes, double s) {
    double low = (pow(1.5, 1 - s) - 1) / (1 - s) - 1;
    double high = (pow((double)classes + 0.5, 1 - s) - 1) / (1 - s);
    for (;;) {
        double u = low + (high - low) * draw_uniform(d);
        double k = floor(pow(u * (1 - s) + 1, 1 / (1 - s)) + 0.5);
        k = k < 1 ? 1 : k > (double)classes ? (double)classes : k;
        if (u >= (pow(k + 0.5, 1 - s) - 1) / (1 - s) - pow(k, -s)) {
            return (int64_t)k - 1;
        }
    }
}

// Which of i earlier draws the next one of an urn repeats; -1: none, it is new. `first` are the n
// earlier draws that were new.
static inline int64_t draw_urn(draw *d, int64_t i, int64_t n, const int64_t *first, double discount,
                               double strength) {
    double u = draw_uniform(d) * (strength + (double)i);
    if (n < DRAW_MAX_URN && u < strength + discount * (double)n) {
        return -1;
    }
    for (;;) {
        // Each value seen has the weight of its count less the discount.
        int64_t j = draw_below(d, i);
        bool opened = false;
        for (int64_t c = 0; c < n && !opened; c++) {
            opened = first[c] == j;
        }
        if (!opened || draw_uniform(d) < 1 - discount) {
            return j;
        }
    }
}

// A power law over classes in no order.
static inline void draw_clustered(draw *d, int64_t n, int64_t classes, int64_t *labels) {
    int64_t k = 0;
    int64_t first[DRAW_MAX_URN];
    for (int64_t i = 0; i < n; i++) {
        int64_t j = draw_urn(d, i, k, first, LG_CLUSTER_DISCOUNT, LG_CLUSTER_STRENGTH);
        if (j >= 0) {
            labels[i] = labels[j];
            continue;
        }
        bool taken = true;
        while (taken) { // No class is opened twice.
            labels[i] = draw_below(d, classes);
            taken = false;
            for (int64_t c = 0; c < k && !taken; c++) {
                taken = labels[first[c]] == labels[i];
            }
        }
        first[k++] = i;
    }
}

static inline void draw_window(draw *d, int64_t n, int64_t classes, int64_t *labels) {
    int64_t width;
    do { // log-uniform: 1/width
        width = 1 + draw_zipf(d, classes, 1.0000001);
    } while (width > classes);
    int64_t from = draw_below(d, classes - width + 1);
    for (int64_t i = 0; i < n; i++) {
        labels[i] = from + draw_below(d, width);
    }
}

// n labels of `classes` classes under the batch's spread; Dirichlet ones by the Pólya urn.
static inline void draw_labels(draw *d, int64_t n, int64_t classes, int64_t *labels) {
    if (d->world == WORLD_OTHER) {
        int64_t window = draw_below(d, 1001);
        for (int64_t i = 0; i < n; i++) {
            labels[i] = draw_other_label(d, classes, window);
        }
        return;
    }
    double exponent = LG_ZIPF_LEAST + (LG_ZIPF_MOST - LG_ZIPF_LEAST) * draw_uniform(d);
    bool few = classes < LG_CLUSTER_MIN_CLASSES;
    if (d->spread == LG_SPREAD_ZIPF) {
        for (int64_t i = 0; i < n; i++) {
            labels[i] = draw_zipf(d, classes, exponent);
        }
        return;
    }
    if (d->spread == LG_SPREAD_WINDOW) {
        draw_window(d, n, classes, labels);
        return;
    }
    if (d->spread == LG_SPREAD_CLUSTERED && !few) {
        draw_clustered(d, n, classes, labels);
        return;
    }
    lg_spread urn = d->spread == LG_SPREAD_CLUSTERED ? LG_SPREAD_EXTREME : d->spread;
    double mass = lg_spread_alpha(urn) * (double)classes;
    for (int64_t i = 0; i < n; i++) {
        bool fresh = mass == 0 || draw_uniform(d) * (mass + (double)i) < mass;
        labels[i] = fresh ? draw_below(d, classes) : labels[draw_below(d, i)];
    }
}

static inline double draw_share_empty(const draw *d) {
    return d->world == WORLD_OTHER ? 0.15 : LG_PRIOR_EMPTY_CLASS_0;
}

static inline double draw_share_unused(const draw *d) {
    return d->world == WORLD_OTHER ? 0.2 : LG_PRIOR_UNUSED_OUTPUTS;
}

static inline double draw_share_rare(const draw *d) {
    return d->world == WORLD_OTHER ? 0.1 : LG_PRIOR_RARE_CLASSES;
}

// 1/(j(j+1)) over j >= 1.
static inline double draw_falling(draw *d) {
    return floor(1 / (1 - draw_uniform(d)));
}

// Classes that a too narrow head misses.
static inline int64_t draw_missing(draw *d, int64_t width) {
    if (d->world == WORLD_OTHER) {
        return 1 + draw_below(d, width > 2 ? width / 2 : 1);
    }
    double missing = draw_falling(d);
    return missing < 1e6 ? (int64_t)missing : 1;
}

// Outputs without a class, fewer than `classes`.
static inline int64_t draw_unused(draw *d, int64_t classes) {
    if (d->world == WORLD_OTHER) {
        return 1 + draw_below(d, classes < 65 ? classes - 1 : 64);
    }
    double unused = draw_falling(d);
    while (unused >= (double)classes) {
        unused = draw_falling(d);
    }
    return (int64_t)unused;
}

static inline int64_t draw_stray_rows(draw *d, int64_t n) {
    if (d->world == WORLD_OTHER) {
        static const double shares[] = {0.001, 0.01, 0.03, 0.3};
        double share = shares[draw_below(d, 4)] * 2 * draw_uniform(d);
        int64_t m = (int64_t)(share * (double)n);
        return m < 1 ? 1 : m > n ? n : m;
    }
    if (draw_uniform(d) >= LG_PRIOR_STRAY_HANDFUL) {
        return 1 + draw_below(d, n);
    }
    return draw_size(d, n / 10 > 1 ? n / 10 : 1);
}

static inline int64_t draw_sentinel_rows(draw *d, int64_t n) {
    int64_t least = lg_sentinel_min_rows(n);
    int64_t most = d->world == WORLD_OTHER ? least + (n - least) / 2 : n;
    return least + draw_below(d, most - least + 1);
}

static inline int64_t draw_negative(draw *d, int64_t width) {
    if (d->world == WORLD_OTHER) {
        // Small ones alike, or labels that wrap around as a Python index does.
        return draw_uniform(d) < 0.5 ? -1 - draw_below(d, 20) : -1 - draw_below(d, width);
    }
    double u = draw_uniform(d);
    double v = 1 - draw_uniform(d);
    if (u < 0.5) {
        return -1;
    }
    if (u < 0.85) {
        double a = ceil(1 / v); // P(a) = 1/(a(a-1)) for a >= 2
        return a < 2 ? -2 : a > 1e15 ? -2 : -(int64_t)a;
    }
    return -draw_size(d, INT64_C(1) << 31);
}

static inline int64_t draw_sentinel(draw *d, int64_t width) {
    if (d->world == WORLD_OTHER) {
        const int64_t values[] = {-1, 255, -2, 77, -7, 2048, 60, 300, width + 2, -5};
        return values[draw_below(d, 10)];
    }
    double u = draw_uniform(d);
    u -= LG_PRIOR_SENTINEL_IS_WIDTH;
    if (u < 0) {
        return width;
    }
    u -= LG_PRIOR_SENTINEL_ABOVE_WIDTH;
    if (u < 0) {
        double above = draw_falling(d);
        return width + (above < 1e15 ? (int64_t)above : 1);
    }
    for (int i = 0; i < lg_n_sentinel_conventions; i++) {
        u -= lg_sentinel_conventions[i].weight;
        if (u < 0) {
            return lg_sentinel_conventions[i].value;
        }
    }
    double a = draw_falling(d);
    a = a > 1e15 ? 1 : a;
    return draw_uniform(d) < 0.5 ? -(int64_t)a : (int64_t)a;
}

static inline int64_t draw_corrupt(draw *d, int64_t width) {
    double u = draw_uniform(d);
    uint64_t bits = lg_rng_u64(d->seed, d->stream, d->at++);
    if (d->world == WORLD_OTHER) {
        // Freed memory's fill, half of a word, any word, a NaN cast by saturation.
        return u < 0.2   ? INT64_C(0x6b6b6b6b6b6b6b6b)
               : u < 0.5 ? (int64_t)(int32_t)bits
               : u < 0.8 ? (int64_t)bits
                         : INT64_MIN;
    }
    if (u < LG_PRIOR_CORRUPT_INT32_MIN) {
        return INT32_MIN;
    }
    u -= LG_PRIOR_CORRUPT_INT32_MIN + LG_PRIOR_CORRUPT_INT64_MIN;
    if (u < 0) {
        return INT64_MIN;
    }
    u -= LG_PRIOR_CORRUPT_POINTER;
    if (u < 0) {
        return (INT64_C(1) << 44) + draw_below(d, (INT64_C(1) << 47) - (INT64_C(1) << 44));
    }
    u -= LG_PRIOR_CORRUPT_BLEND;
    if (u < 0) {
        return width < 253 ? width + 1 + draw_below(d, 254 - width) : INT32_MIN;
    }
    u -= LG_PRIOR_CORRUPT_BITS32;
    return u < 0 ? (int64_t)(int32_t)bits : (int64_t)bits;
}

#endif
