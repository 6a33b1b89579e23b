// SPDX-License-Identifier: Apache-2.0
// Covering arrays of strength 2 over the options of a loss: every pair of values that can go
// together is in some point. Greedy and without chance: the next point is the first of those that
// cover most of what is left, among all points there are.
#ifndef LG_TESTS_PIPELINE_PAIRWISE_H
#define LG_TESTS_PIPELINE_PAIRWISE_H

#include "model/batch.h"
#include "support/str.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { PW_MAX_LEVELS = 4, PW_MAX_POINTS = 64 };

typedef enum pw_factor {
    PW_REDUCTION,
    PW_WEIGHT,
    PW_IGNORE,
    PW_SMOOTHING,
    PW_INPUT,
    PW_TARGET,
    PW_RANK,
    PW_LAYOUT,
    PW_DIRECTION,
    PW_POSITIVE,
    PW_N_FACTORS,
} pw_factor;

enum { PW_REDUCTION_NONE };
enum { PW_IGNORE_NONE, PW_IGNORE_INSIDE, PW_IGNORE_OUTSIDE, PW_IGNORE_255 };
enum { PW_SMOOTHING_NONE };
enum { PW_TARGET_INT64, PW_TARGET_INT32, PW_TARGET_UINT8, PW_TARGET_PROBABILITIES };
enum { PW_RANK_C, PW_RANK_NC, PW_RANK_NCL, PW_RANK_NCHW };
enum { PW_LAYOUT_CONTIGUOUS, PW_LAYOUT_STRIDED, PW_LAYOUT_EXPANDED };
enum { PW_DIRECTION_FORWARD };
enum { PW_POSITIVE_NONE };

typedef struct pw_factor_row {
    const char *name;
    int n;
    const char *levels[PW_MAX_LEVELS]; // as scenarios say them, where they say them in one word
} pw_factor_row;

static const pw_factor_row pw_factors[PW_N_FACTORS] = {
    [PW_REDUCTION] = {"reduction", 3, {"none", "mean", "sum"}},
    [PW_WEIGHT] = {"weight", 2, {"none", "{uniform: [0.25, 2.0]}"}},
    [PW_IGNORE] = {"ignore", 4, {"none", "inside", "outside", "255"}},
    [PW_SMOOTHING] = {"smoothing", 2, {"0", "0.1"}},
    [PW_INPUT] = {"input", 4, {"float64", "float32", "float16", "bfloat16"}},
    [PW_TARGET] = {"target", 4, {"int64", "int32", "uint8", "probabilities"}},
    [PW_RANK] = {"rank", 4, {"C", "N×C", "N×C×L", "N×C×H×W"}},
    [PW_LAYOUT] = {"layout", 3, {"contiguous", "strided", "expanded"}},
    [PW_DIRECTION] = {"direction", 3, {"forward", "backward", "both"}},
    [PW_POSITIVE] = {"positive", 2, {"none", "{uniform: [0.5, 3.0]}"}},
};

typedef struct pw_point {
    uint8_t level[PW_N_FACTORS];
} pw_point;

static inline bool pw_is_binary(lg_loss_kind loss) {
    return loss == LG_BCE || loss == LG_BCE_WITH_LOGITS;
}

// What cannot go together.
static inline bool pw_is_possible(lg_loss_kind loss, const pw_point *p) {
    bool probabilities = p->level[PW_TARGET] == PW_TARGET_PROBABILITIES;
    bool binary = pw_is_binary(loss);
    // Smoothing and class probabilities belong to cross_entropy, and a binary target is always one.
    if (loss != LG_CROSS_ENTROPY && p->level[PW_SMOOTHING] != PW_SMOOTHING_NONE) {
        return false;
    }
    if (loss != LG_CROSS_ENTROPY && probabilities != binary) {
        return false;
    }
    if (loss != LG_BCE_WITH_LOGITS && p->level[PW_POSITIVE] != PW_POSITIVE_NONE) {
        return false;
    }
    // Probabilities ignore nothing, and uint8 cannot hold -100.
    if (probabilities && p->level[PW_IGNORE] != PW_IGNORE_NONE) {
        return false;
    }
    if (p->level[PW_TARGET] == PW_TARGET_UINT8 && p->level[PW_IGNORE] == PW_IGNORE_OUTSIDE) {
        return false;
    }
    // Samples are what is expanded; a lone sample has no such axis.
    return !(p->level[PW_RANK] == PW_RANK_C && p->level[PW_LAYOUT] == PW_LAYOUT_EXPANDED);
}

// covered[f][l][g][m]: a bit matrix of pairs, f < g.
typedef struct pw_pairs {
    bool has[PW_N_FACTORS][PW_MAX_LEVELS][PW_N_FACTORS][PW_MAX_LEVELS];
} pw_pairs;

static inline int pw_add_pairs(pw_pairs *pairs, const pw_point *p, bool keep) {
    int n = 0;
    for (int f = 0; f < PW_N_FACTORS; f++) {
        for (int g = f + 1; g < PW_N_FACTORS; g++) {
            bool *has = &pairs->has[f][p->level[f]][g][p->level[g]];
            n += !*has;
            *has = *has || keep;
        }
    }
    return n;
}

// The next point in counting order; false after the last.
static inline bool pw_next(pw_point *p) {
    for (int f = PW_N_FACTORS - 1; f >= 0; f--) {
        if (++p->level[f] < pw_factors[f].n) {
            return true;
        }
        p->level[f] = 0;
    }
    return false;
}

// Every pair that is in some possible point.
static inline void pw_feasible(lg_loss_kind loss, pw_pairs *pairs) {
    pw_point p = {0};
    memset(pairs, 0, sizeof *pairs);
    do {
        if (pw_is_possible(loss, &p)) {
            pw_add_pairs(pairs, &p, true);
        }
    } while (pw_next(&p));
}

static inline int pw_cover(lg_loss_kind loss, pw_point points[PW_MAX_POINTS]) {
    pw_pairs covered = {0};
    for (int n = 0; n < PW_MAX_POINTS; n++) {
        int best = 0;
        pw_point p = {0};
        do {
            int news = pw_is_possible(loss, &p) ? pw_add_pairs(&covered, &p, false) : 0;
            if (news > best) {
                best = news;
                points[n] = p;
            }
        } while (pw_next(&p));
        if (best == 0) {
            return n;
        }
        pw_add_pairs(&covered, &points[n], true);
    }
    return PW_MAX_POINTS;
}

// --- as a scenario

// Strides for 9 samples, 6 classes and the extents below: gaps or the class axis last, and one
// sample that stands for all.
typedef struct pw_view {
    const char *samples, *extent;
    const char *strided, *labels_strided, *expanded;
} pw_view;

static const pw_view pw_views[] = {
    [PW_RANK_C] = {"1\n  unbatched: true", "", "[2]", NULL, NULL},
    [PW_RANK_NC] = {"9", "", "[1, 9]", "[2]", "[0, 1]"},
    [PW_RANK_NCL] = {"9", "\n  extent: [5]", "[30, 1, 6]", "[10, 2]", "[0, 5, 1]"},
    [PW_RANK_NCHW] = {"9", "\n  extent: [3, 4]", "[72, 1, 24, 6]", "[24, 8, 2]", "[0, 12, 4, 1]"},
};

// Binary losses have no class axis: a lone dimension is the samples, and all but the first are
// walked with one stride.
static const pw_view pw_binary_views[] = {
    [PW_RANK_C] = {"9", "", "[2]", "[3]", NULL},
    [PW_RANK_NC] = {"9", "", "[1, 9]", "[14, 2]", "[0, 1]"},
    [PW_RANK_NCL] = {"9", "\n  extent: [5]", "[61, 10, 2]", "[1, 45, 9]", "[0, 5, 1]"},
    [PW_RANK_NCHW] = {"9", "\n  extent: [3, 4]", "[150, 24, 8, 2]", "[75, 12, 4, 1]",
                      "[0, 12, 4, 1]"},
};

static inline void pw_write_loss(lg_loss_kind loss, const pw_point *p, lg_str *out) {
    static const char *const ignore_index[] = {
        [PW_IGNORE_NONE] = "-100",
        [PW_IGNORE_INSIDE] = "2",
        [PW_IGNORE_OUTSIDE] = "-100",
        [PW_IGNORE_255] = "255",
    };
    lg_str_printf(out, "loss:\n  kind: %s\n  reduction: %s\n  direction: %s\n",
                  lg_loss_kind_name(loss), pw_factors[PW_REDUCTION].levels[p->level[PW_REDUCTION]],
                  pw_factors[PW_DIRECTION].levels[p->level[PW_DIRECTION]]);
    lg_str_printf(out, "  weight: %s\n", pw_factors[PW_WEIGHT].levels[p->level[PW_WEIGHT]]);
    if (!pw_is_binary(loss)) {
        lg_str_printf(out, "  ignore_index: %s\n", ignore_index[p->level[PW_IGNORE]]);
    }
    if (p->level[PW_POSITIVE] != PW_POSITIVE_NONE) {
        lg_str_printf(out, "  pos_weight: %s\n",
                      pw_factors[PW_POSITIVE].levels[p->level[PW_POSITIVE]]);
    }
    if (p->level[PW_SMOOTHING] != PW_SMOOTHING_NONE) {
        lg_str_printf(out, "  label_smoothing: %s\n",
                      pw_factors[PW_SMOOTHING].levels[p->level[PW_SMOOTHING]]);
    }
    if (p->level[PW_DIRECTION] != PW_DIRECTION_FORWARD) {
        lg_str_add(out, "  grad_output: {uniform: [0.5, 2.0]}\n");
    }
}

static inline void pw_write_batch(lg_loss_kind loss, const pw_point *p, int seed, lg_str *out) {
    bool binary = pw_is_binary(loss);
    const pw_view *view = &(binary ? pw_binary_views : pw_views)[p->level[PW_RANK]];
    bool strided = p->level[PW_LAYOUT] == PW_LAYOUT_STRIDED;
    bool expanded = p->level[PW_LAYOUT] == PW_LAYOUT_EXPANDED;
    bool probabilities = p->level[PW_TARGET] == PW_TARGET_PROBABILITIES;
    const char *input = pw_factors[PW_INPUT].levels[p->level[PW_INPUT]];
    lg_str_printf(out, "batch:\n  seed: %d\n  samples: %s%s\n", seed, view->samples, view->extent);
    if (!binary || p->level[PW_RANK] != PW_RANK_C) {
        lg_str_add(out, "  classes: 6\n");
    }
    if (p->level[PW_IGNORE] != PW_IGNORE_NONE && p->level[PW_RANK] != PW_RANK_C) {
        lg_str_add(out, "  ignored_fraction: 0.25\n");
    }
    lg_str_printf(out, "  logits: {dtype: %s", input);
    if (loss != LG_BCE) { // which draws probabilities
        lg_str_add(out, ", distribution: normal, scale: 2.0");
    }
    const char *stride = strided ? view->strided : expanded ? view->expanded : NULL;
    if (stride) {
        lg_str_printf(out, ", stride: %s", stride);
    }
    lg_str_add(out, "}\n  targets: ");
    if (probabilities) {
        lg_str_printf(out, "{kind: probabilities, dtype: %s, distribution: %s", input,
                      binary ? "uniform" : "simplex");
    } else {
        lg_str_printf(out, "{dtype: %s, distribution: uniform",
                      pw_factors[PW_TARGET].levels[p->level[PW_TARGET]]);
    }
    stride = !strided ? NULL : probabilities && !binary ? view->strided : view->labels_strided;
    if (stride) {
        lg_str_printf(out, ", stride: %s", stride);
    }
    lg_str_add(out, "}\n");
}

static inline void pw_write(lg_loss_kind loss, const pw_point *p, int seed, lg_str *out) {
    lg_str_add(out, "# Generated by `test_pipeline_pairwise --write`, which also checks it.\n"
                    "title: Options in pairs");
    for (int f = 0; f < PW_N_FACTORS; f++) {
        bool weighted = (f == PW_WEIGHT || f == PW_POSITIVE) && p->level[f] != 0;
        if (f == PW_POSITIVE && loss != LG_BCE_WITH_LOGITS) {
            continue;
        }
        lg_str_printf(out, ", %s %s", pw_factors[f].name,
                      weighted ? "given" : pw_factors[f].levels[p->level[f]]);
    }
    lg_str_add(out, "\n");
    pw_write_loss(loss, p, out);
    pw_write_batch(loss, p, seed, out);
    lg_str_add(out, "run: {modes: [blocking]}\n");
}

#endif
