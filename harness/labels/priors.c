// SPDX-License-Identifier: Apache-2.0
#include "labels/labels.h"

#include <math.h>

// Counted over the public reports this project reproduces, rounded: a head or a base that does not
// fit the labels is the daily case, misread bits are seldom.
static const double label_causes[LG_N_CAUSES] = {
    [LG_CAUSE_WRONG_HEAD_WIDTH] = 0.25,    [LG_CAUSE_ONE_BASED_LABELS] = 0.17,
    [LG_CAUSE_LABEL_EQUALS_WIDTH] = 0.14,  [LG_CAUSE_SENTINEL_MISMATCH] = 0.14,
    [LG_CAUSE_NEGATIVE_LABELS] = 0.12,     [LG_CAUSE_CORRUPT_LABELS] = 0.05,
    [LG_CAUSE_OVER_SHIFTED_LABELS] = 0.05, [LG_CAUSE_FLOAT_TARGETS] = 0.04,
    [LG_CAUSE_TARGET_DTYPE] = 0.04,
};

double lg_prior_of_cause(lg_cause cause) {
    return label_causes[cause];
}

double lg_prior_of_kernel_cause(lg_cause cause) {
    static const double weights[LG_N_CAUSES] = {[LG_CAUSE_PRECISION] = 0.2,
                                                [LG_CAUSE_OPTION_INTERPLAY] = 0.15,
                                                [LG_CAUSE_GRADIENT_CONTRACT] = 0.12,
                                                [LG_CAUSE_WRONG_NORMALISATION] = 0.1,
                                                [LG_CAUSE_INDEX_OVERFLOW] = 0.1,
                                                [LG_CAUSE_STRIDES_IGNORED] = 0.08,
                                                [LG_CAUSE_PADDED_LANES] = 0.07,
                                                [LG_CAUSE_RACE] = 0.06,
                                                [LG_CAUSE_UNWRITTEN_OUTPUT] = 0.05,
                                                [LG_CAUSE_OFF_BY_ONE_CHECK] = 0.04,
                                                [LG_CAUSE_NUMERICAL_STABILITY] = 0.08,
                                                [LG_CAUSE_SHARD_STATISTICS] = 0.03,
                                                [LG_CAUSE_INPUT_OVERWRITTEN] = 0.02,
                                                [LG_CAUSE_TARGET_DTYPE] = 0.02};
    return weights[cause];
}

// One row a spread: its weight, and the α of the Dirichlet ones.
static const struct {
    double weight;
    double alpha;
} spreads[LG_N_SPREADS] = {
    [LG_SPREAD_UNIFORM] = {0.3, 0},     [LG_SPREAD_ZIPF] = {0.26, 0},
    [LG_SPREAD_FLAT] = {0.14, 1},       [LG_SPREAD_SKEWED] = {0.12, 0.3},
    [LG_SPREAD_EXTREME] = {0.08, 0.05}, [LG_SPREAD_CLUSTERED] = {0.06, 0},
    [LG_SPREAD_WINDOW] = {0.04, 0},
};

double lg_prior_of_spread(lg_spread spread) {
    return spreads[spread].weight;
}

double lg_spread_alpha(lg_spread spread) {
    return spreads[spread].alpha;
}

double lg_prior_of_missing_classes(double at_least, double below) {
    return 1 / at_least - 1 / below;
}

double lg_prior_of_stray_rows(int64_t m, int64_t n) {
    if (m < 1 || m > n) {
        return 0;
    }
    int64_t most = n / 10 > 1 ? n / 10 : 1;
    double any = (1 - LG_PRIOR_STRAY_HANDFUL) / (double)n;
    if (m > most) {
        return any;
    }
    return any + LG_PRIOR_STRAY_HANDFUL * log1p(1 / (double)m) / log1p((double)most);
}

int64_t lg_sentinel_min_rows(int64_t n) {
    int64_t least = (int64_t)ceil(LG_SENTINEL_MIN_SHARE * (double)n);
    return least > 1 ? least : 1;
}

double lg_prior_of_sentinel_rows(int64_t m, int64_t n) {
    int64_t least = lg_sentinel_min_rows(n);
    return m < least || m > n ? 0 : 1 / (double)(n - least + 1);
}

// Of segmentation and text first, then the no-data values of rasters, tables and fixed-width types.
const struct lg_sentinel_convention lg_sentinel_conventions[] = {
    {-1, 0.3},     {255, 0.24},  {-100, 0.14},  {254, 0.03},        {250, 0.02},   {-2, 0.01},
    {-255, 0.005}, {-999, 0.01}, {-9999, 0.01}, {65535, 0.01},      {999, 0.01},   {9999, 0.01},
    {128, 0.005},  {100, 0.005}, {127, 0.005},  {-128, 0.005},      {32767, 0.01}, {-32768, 0.01},
    {99, 0.005},   {-99, 0.01},  {1000, 0.005}, {INT32_MAX, 0.005}, {-10, 0.005},  {65536, 0.005},
};
const int lg_n_sentinel_conventions =
    sizeof lg_sentinel_conventions / sizeof *lg_sentinel_conventions;

// What is left of the weight goes to any other value: by 1/(a(a+1)) in its distance from 0, both
// signs.
static double other_sentinel(int64_t value) {
    double left = 1 - LG_PRIOR_SENTINEL_IS_WIDTH - LG_PRIOR_SENTINEL_ABOVE_WIDTH;
    for (int i = 0; i < lg_n_sentinel_conventions; i++) {
        left -= lg_sentinel_conventions[i].weight;
    }
    double a = fabs((double)value);
    return a < 1 ? 0 : left * 0.5 / (a * (a + 1));
}

double lg_prior_of_sentinel(int64_t value, int64_t head_width) {
    double p = other_sentinel(value);
    for (int i = 0; i < lg_n_sentinel_conventions; i++) {
        p += lg_sentinel_conventions[i].value == value ? lg_sentinel_conventions[i].weight : 0;
    }
    if (value > head_width) {
        double above = (double)value - (double)head_width;
        p += LG_PRIOR_SENTINEL_ABOVE_WIDTH / (above * (above + 1));
    }
    return p + (value == head_width ? LG_PRIOR_SENTINEL_IS_WIDTH : 0);
}

double lg_prior_of_negative(int64_t value) {
    if (value >= 0) {
        return 0;
    }
    double a = -(double)value;
    double wide = a <= 0x1p31 ? 0.15 * log1p(1 / a) / (31 * M_LN2) : 0;
    return a == 1 ? 0.5 + wide : 0.35 / (a * (a - 1)) + wide;
}

double lg_prior_of_corrupt(int64_t value, int64_t head_width) {
    double p = LG_PRIOR_CORRUPT_BITS64 * 0x1p-64;
    if (value >= INT32_MIN && value <= INT32_MAX) {
        p += LG_PRIOR_CORRUPT_BITS32 * 0x1p-32;
    }
    p += value == INT32_MIN ? LG_PRIOR_CORRUPT_INT32_MIN : 0;
    p += value == INT64_MIN ? LG_PRIOR_CORRUPT_INT64_MIN : 0;
    if (value >= INT64_C(1) << 44 && value < INT64_C(1) << 47) {
        p += LG_PRIOR_CORRUPT_POINTER / (0x1p47 - 0x1p44);
    }
    if (value > head_width && value < 255) {
        p += LG_PRIOR_CORRUPT_BLEND / (double)(255 - head_width - 1);
    }
    return p;
}
