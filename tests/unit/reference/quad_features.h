// SPDX-License-Identifier: Apache-2.0
// What the random batches of the comparison in __float128 have met, so that none of it is missing.
#ifndef LG_TESTS_QUAD_FEATURES_H
#define LG_TESTS_QUAD_FEATURES_H

#include "reference/reference.h"
#include "unit/testing.h"

#include <math.h>

// How often each loss, with labels or probabilities, met each of these.
typedef enum feature {
    SMOOTHED,
    WEIGHTED,
    POSITIVE_WEIGHT,
    UPSTREAM,
    IGNORED,
    INVALID,
    NAN_INPUT,
    PLUS_INFINITE,
    MINUS_INFINITE,
    STRIDED,
    REDUCED_NONE,
    REDUCED_MEAN,
    REDUCED_SUM,
    TYPE_FLOAT64,
    TYPE_FLOAT32,
    TYPE_FLOAT16,
    TYPE_BFLOAT16,
    N_FEATURES,
} feature;
static const char *const feature_names[N_FEATURES] = {
    "smoothing", "weight",  "pos_weight", "upstream", "ignored",  "invalid",
    "NaN",       "+inf",    "-inf",       "strides",  "none",     "mean",
    "sum",       "float64", "float32",    "float16",  "bfloat16",
};
enum { N_KINDS = 5 };
static const char *const kind_names[N_KINDS] = {"nll_loss", "cross_entropy", "probabilities", "bce",
                                                "bce_with_logits"};
static int met[N_KINDS][N_FEATURES];

static inline int kind_index(const lg_batch *b) {
    switch (b->loss.kind) {
    case LG_NLL_LOSS:
        return 0;
    case LG_CROSS_ENTROPY:
        return b->target_is_probability ? 2 : 1;
    case LG_BCE:
        return 3;
    case LG_BCE_WITH_LOGITS:
        return 4;
    }
    return 0;
}

static inline void quad_count_features(const lg_batch *b, const lg_reference *r) {
    int *counts = met[kind_index(b)];
    bool has[3] = {false, false, false};
    for (int64_t i = 0; i < lg_tensor_numel(&b->input); i++) {
        double x = lg_tensor_get_f64(&b->input, i);
        has[0] = has[0] || isnan(x);
        has[1] = has[1] || x == INFINITY;
        has[2] = has[2] || x == -INFINITY;
    }
    counts[SMOOTHED] += b->loss.label_smoothing > 0;
    counts[WEIGHTED] += lg_tensor_exists(&b->weight);
    counts[POSITIVE_WEIGHT] += lg_tensor_exists(&b->pos_weight);
    counts[UPSTREAM] += lg_tensor_exists(&b->grad_output);
    counts[IGNORED] += r->n_ignored > 0;
    counts[INVALID] += r->n_invalid > 0;
    counts[NAN_INPUT] += has[0];
    counts[PLUS_INFINITE] += has[1];
    counts[MINUS_INFINITE] += has[2];
    counts[STRIDED] += !lg_tensor_is_contiguous(&b->input);
    counts[REDUCED_NONE + (int)b->loss.reduction]++;
    counts[TYPE_FLOAT64] += b->input.dtype == LG_FLOAT64;
    counts[TYPE_FLOAT32] += b->input.dtype == LG_FLOAT32;
    counts[TYPE_FLOAT16] += b->input.dtype == LG_FLOAT16;
    counts[TYPE_BFLOAT16] += b->input.dtype == LG_BFLOAT16;
}

// What a loss does not have.
static inline bool has_feature(int kind, feature what) {
    switch (what) {
    case SMOOTHED:
        return kind == 1 || kind == 2;
    case POSITIVE_WEIGHT:
        return kind == 4;
    case IGNORED:
        return kind < 2;
    case WEIGHTED:
    case UPSTREAM:
    case INVALID:
    case NAN_INPUT:
    case PLUS_INFINITE:
    case MINUS_INFINITE:
    case STRIDED:
    case REDUCED_NONE:
    case REDUCED_MEAN:
    case REDUCED_SUM:
    case TYPE_FLOAT64:
    case TYPE_FLOAT32:
    case TYPE_FLOAT16:
    case TYPE_BFLOAT16:
    case N_FEATURES:
        break;
    }
    return true;
}

// Each loss met each option and each kind of input at least 10 times.
static inline void quad_check_features(void) {
    for (int kind = 0; kind < N_KINDS; kind++) {
        for (int what = 0; what < N_FEATURES; what++) {
            int n = met[kind][what];
            bool enough = has_feature(kind, (feature)what) ? n >= 10 : n == 0;
            if (!enough) {
                fprintf(stderr, "\n    %s met %s %d times", kind_names[kind], feature_names[what],
                        n);
            }
            CU_ASSERT_TRUE(enough);
        }
    }
}

#endif
