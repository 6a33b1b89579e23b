// SPDX-License-Identifier: Apache-2.0
#include "pipeline/clean_labels.h"

#include <math.h>

// lgamma writes a global sign; its arguments here are positive, and lgamma_r keeps threads apart.
static double log_gamma(double x) {
    int sign;
    return lgamma_r(x, &sign);
}

void lg_clean_add_more(lg_clean_sums *sums, double rank, int64_t had, int64_t count) {
    sums->n += count;
    sums->log_rank += (double)count * log1p(rank);
    for (int f = 0; f < LG_N_SPREADS; f++) {
        double alpha = lg_spread_alpha((lg_spread)f);
        if (alpha > 0) {
            double from = alpha + (double)had;
            sums->log_gamma[f] +=
                count == 1 ? log(from) : log_gamma(from + (double)count) - log_gamma(from);
        }
    }
}

void lg_clean_add(lg_clean_sums *sums, double rank, int64_t count) {
    lg_clean_add_more(sums, rank, 0, count);
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

// ln Γ(x + n)/Γ(x). For x far beyond n the difference of two huge logarithms would lose every
// digit: the product x(x+1)…(x+n-1) is then x^n exp(n(n-1)/2x) to better than n^3/x^2.
static double log_rising(double x, double n) {
    if (x > 1e5 * n) {
        return n * log(x) + n * (n - 1) / (2 * x);
    }
    return log_gamma(x + n) - log_gamma(x);
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
        return -log_rising(total, n) + sums->log_gamma[spread];
    }
    case LG_N_SPREADS:
        break;
    }
    return -INFINITY;
}

double lg_hidden_log_probability(const lg_clean_sums *sums, const lg_hidden_labels *hidden,
                                 lg_spread spread, double classes) {
    double m = (double)hidden->n;
    if (hidden->n == 0) {
        return 0;
    }
    if (hidden->classes < 1) {
        return -INFINITY;
    }
    switch (spread) {
    case LG_SPREAD_UNIFORM:
        return m * log(hidden->classes / classes);
    case LG_SPREAD_ZIPF: {
        double before = hidden->first_rank > 0 ? harmonic(hidden->first_rank) : 0;
        double mass = harmonic(hidden->first_rank + hidden->classes) - before;
        return m * log(mass / harmonic(classes));
    }
    case LG_SPREAD_FLAT:
    case LG_SPREAD_SKEWED:
    case LG_SPREAD_EXTREME: {
        // Of the urn's balls those of the classes in range, against all.
        double alpha = lg_spread_alpha(spread);
        return log_rising(alpha * hidden->classes + hidden->seen, m) -
               log_rising(alpha * classes + (double)sums->n, m);
    }
    case LG_N_SPREADS:
        break;
    }
    return -INFINITY;
}
