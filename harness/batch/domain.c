// SPDX-License-Identifier: Apache-2.0
#include "batch/batch.h"

#include <math.h>

// A sum of rounded probabilities is off by at most the unit roundoff of bfloat16 times the sum,
// 2^-8; twice that leaves no right row outside.
static const double sum_slack = 0x1p-7;
// A log-probability of a dominating class may round above 0 only where it was computed in a narrow
// type: log(1 + 2^-8).
static const double log_slack = 0x1p-8;

bool lg_could_be_log_probability(double value) {
    return !(value > log_slack);
}

bool lg_could_be_log_probability_sum(double exp_sum, double entropy) {
    return fabs(exp_sum - 1) <= sum_slack * (1 + entropy);
}

bool lg_could_be_log_probabilities(const double *row, int64_t width) {
    for (int64_t c = 0; c < width; c++) {
        if (!lg_could_be_log_probability(row[c])) {
            return false;
        }
    }
    return true;
}

bool lg_could_be_probability(double value) {
    return value >= 0 && value <= 1 + sum_slack;
}

bool lg_could_be_probability_sum(double sum) {
    return fabs(sum - 1) <= sum_slack;
}

bool lg_could_be_probabilities(const double *row, int64_t width) {
    double sum = 0;
    for (int64_t c = 0; c < width; c++) {
        if (!lg_could_be_probability(row[c])) {
            return false;
        }
        sum += row[c];
    }
    return lg_could_be_probability_sum(sum);
}
