// SPDX-License-Identifier: Apache-2.0
#include "pipeline/clean_labels.h"

#include <math.h>

// lgamma writes a global sign; its arguments here are positive, and lgamma_r keeps threads apart.
static double log_gamma(double x) {
    int sign;
    return lgamma_r(x, &sign);
}

void lg_clean_add(lg_clean_sums *sums, double rank, int64_t count) {
    sums->n += count;
    sums->log_rank += (double)count * log1p(rank);
    for (int f = 0; f < LG_N_SPREADS; f++) {
        double alpha = lg_spread_alpha((lg_spread)f);
        if (alpha > 0) {
            sums->log_gamma[f] +=
                count == 1 ? log(alpha) : log_gamma(alpha + (double)count) - log_gamma(alpha);
        }
    }
}

// 1 + 1/2 + … + 1/n, by the Euler-Maclaurin series beyond the first terms.
static double harmonic(double n) {
    if (n < 32) {
        double sum = 0;
        for (double k = 1; k <= n; k++) {
            sum += 1 / k;
        }
        return sum;
    }
    return log(n) + 0.57721566490153286061 + 1 / (2 * n) - 1 / (12 * n * n);
}

double lg_clean_log_probability(const lg_clean_sums *sums, lg_spread spread, double classes) {
    double n = (double)sums->n;
    if (n == 0) {
        return 0;
    }
    if (classes < 1 || (sums->uniform_only && spread != LG_SPREAD_UNIFORM)) {
        return -INFINITY;
    }
    switch (spread) {
    case LG_SPREAD_UNIFORM:
        return -n * log(classes);
    case LG_SPREAD_ZIPF:
        return -sums->log_rank - n * log(harmonic(classes));
    case LG_SPREAD_FLAT:
    case LG_SPREAD_SKEWED:
    case LG_SPREAD_EXTREME: {
        // Labels drawn from frequencies that are Dirichlet(α) themselves (the Pólya urn).
        double total = lg_spread_alpha(spread) * classes;
        return log_gamma(total) - log_gamma(total + n) + sums->log_gamma[spread];
    }
    case LG_N_SPREADS:
        break;
    }
    return -INFINITY;
}
