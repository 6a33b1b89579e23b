// SPDX-License-Identifier: Apache-2.0
#include "labels/internal.h"

#include <math.h>

// lgamma writes a global sign; its arguments here are positive, and lgamma_r keeps threads apart.
static double log_gamma(double x) {
    int sign;
    return lgamma_r(x, &sign);
}

void lg_clean_add_more(lg_clean_sums *sums, double rank, int64_t had, int64_t count) {
    if (count == 0) {
        return;
    }
    sums->least_rank = sums->n == 0 ? rank : fmin(sums->least_rank, rank);
    sums->largest_rank = sums->n == 0 ? rank : fmax(sums->largest_rank, rank);
    sums->n += count;
    sums->n_distinct += had == 0;
    sums->log_rank += (double)count * log1p(rank);
    for (int f = 0; f < LG_N_SPREADS; f++) {
        double alpha = lg_spread_alpha((lg_spread)f);
        double from = alpha + (double)had;
        if (f == LG_SPREAD_CLUSTERED) {
            from = (double)(had > 0 ? had : 1) - LG_CLUSTER_DISCOUNT;
            double to = (double)(had + count) - LG_CLUSTER_DISCOUNT;
            sums->log_gamma[f] += log_gamma(to) - log_gamma(from);
        } else if (alpha > 0) {
            sums->log_gamma[f] +=
                count == 1 ? log(from) : log_gamma(from + (double)count) - log_gamma(from);
        }
    }
}

void lg_clean_add(lg_clean_sums *sums, double rank, int64_t count) {
    lg_clean_add_more(sums, rank, 0, count);
}

enum { first_terms = 12 };

// The first terms k^-s. Five of them cost an exponential; the others are products of these. Powers
// here were an eighth of the gate's time.
static void fill_first(double terms[first_terms + 1], double s) {
    terms[1] = 1;
    terms[2] = exp(-s * 0.69314718055994531); // ln 2
    terms[3] = exp(-s * 1.0986122886681098);  // ln 3
    terms[5] = exp(-s * 1.6094379124341003);  // ln 5
    terms[7] = exp(-s * 1.9459101490553132);  // ln 7
    terms[11] = exp(-s * 2.3978952727983707); // ln 11
    terms[4] = terms[2] * terms[2];
    terms[6] = terms[2] * terms[3];
    terms[8] = terms[4] * terms[2];
    terms[9] = terms[3] * terms[3];
    terms[10] = terms[2] * terms[5];
    terms[12] = terms[6] * terms[2];
}

// 1 + 2^-s + … + n^-s: the first terms, and the rest by its integral between the midpoints.
static double harmonic(double n, double s) {
    double terms[first_terms + 1];
    fill_first(terms, s);
    double sum = 0;
    for (int k = 1; k <= n && k <= first_terms; k++) {
        sum += terms[k];
    }
    if (n > first_terms) {
        const double from = first_terms + 0.5;
        const double log_from = 2.5257286443082556; // ln 12.5
        double to = n + 0.5;
        double log_to = log(to);
        double from_power = exp((1 - s) * log_from);
        double to_power = exp((1 - s) * log_to);
        sum += fabs(s - 1) < 1e-6 ? log_to - log_from : (to_power - from_power) / (1 - s);
        sum += s / 24 * (to_power / (to * to) - from_power / (from * from));
    }
    return sum;
}

// ln P(labels and hidden labels | Zipf's law with exponent s).
static double log_zipf(const lg_clean_sums *sums, const lg_hidden_labels *hidden, double classes,
                       double s) {
    double all = harmonic(classes, s);
    double value = -s * sums->log_rank - (double)sums->n * log(all);
    if (hidden->n > 0) {
        double before = hidden->first_rank > 0 ? harmonic(hidden->first_rank, s) : 0;
        double mass = harmonic(hidden->first_rank + hidden->classes, s) - before;
        value += (double)hidden->n * log(mass / all);
    }
    return value;
}

// The same over all exponents. With many labels the integrand is a narrow peak, and a normal
// distribution stands in for it; with few it is flat enough for a sum.
static double log_any_zipf(const lg_clean_sums *sums, const lg_hidden_labels *hidden,
                           double classes) {
    const double low = LG_ZIPF_LEAST;
    const double high = LG_ZIPF_MOST;
    const double h = 1e-3;
    double s = 1;
    double middle = 0;
    double slope = 0;
    double bend = 0;
    for (int i = 0; i < 12; i++) {
        middle = log_zipf(sums, hidden, classes, s);
        double left = log_zipf(sums, hidden, classes, s - h);
        double right = log_zipf(sums, hidden, classes, s + h);
        slope = (right - left) / (2 * h);
        bend = (left + right - 2 * middle) / (h * h);
        double step = bend < -1e-6 ? -slope / bend : 0;
        step = fmax(fmin(step, 0.5), -0.5);
        double next = fmax(fmin(s + step, high), low);
        if (!(bend < -60) || fabs(next - s) < 1e-5) {
            break;
        }
        s = next;
    }
    if (bend < -60) {
        double sigma = 1 / sqrt(-bend);
        double outside = fabs(slope) * sigma;
        if (outside > 2) {
            return middle - log(fabs(slope)) - log(high - low); // the peak lies beyond the end
        }
        double mass =
            0.5 * (erf((high - s) / (sigma * M_SQRT2)) - erf((low - s) / (sigma * M_SQRT2)));
        return middle + log(sigma * sqrt(2 * M_PI) * mass / (high - low));
    }
    enum { steps = 24 };
    double values[steps];
    double top = -INFINITY;
    for (int i = 0; i < steps; i++) {
        values[i] = log_zipf(sums, hidden, classes, low + (high - low) * (i + 0.5) / steps);
        top = fmax(top, values[i]);
    }
    double sum = 0;
    for (int i = 0; i < steps; i++) {
        sum += exp(values[i] - top);
    }
    return top + log(sum / steps);
}

// ln Γ(x + n)/Γ(x). For x far beyond n the difference of two huge logarithms would lose every
// digit: the product x(x+1)…(x+n-1) is then x^n exp(n(n-1)/2x) to better than n^3/x^2.
static double log_rising(double x, double n) {
    if (x > 1e5 * n) {
        return n * log(x) + n * (n - 1) / (2 * x);
    }
    return log_gamma(x + n) - log_gamma(x);
}

// The two-parameter urn of Pitman and Yor over unnamed classes, whose names are then any of all.
static double log_clustered(const lg_clean_sums *sums, double classes) {
    const double d = LG_CLUSTER_DISCOUNT;
    const double theta = LG_CLUSTER_STRENGTH;
    double k = (double)sums->n_distinct;
    double names = k < classes ? log_rising(classes - k + 1, k) : log_gamma(classes + 1);
    double opened = (k - 1) * log(d) + log_rising(theta / d + 1, k - 1);
    return opened - log_rising(theta + 1, (double)sums->n - 1) +
           sums->log_gamma[LG_SPREAD_CLUSTERED] - names;
}

// Neighbouring classes alone, equally frequent: summed over the width of the window, log-uniform
// over 1 .. classes, and over where it can lie.
static double log_window(const lg_clean_sums *sums, double classes) {
    double range = sums->largest_rank - sums->least_rank + 1;
    double n = (double)sums->n;
    double sum = 0;
    double scale = log(classes) + 0.5772 + 0.5 / classes;
    for (double from = range; from <= classes;) {
        double to =
            from - range < 8 ? from + 1 : fmin(ceil(range + (from - range) * 1.3), classes + 1);
        double middle = to - from <= 1 ? from : floor((from + to - 1) / 2);
        double below = fmin(sums->least_rank, middle - range);
        double above = fmin(classes - 1 - sums->largest_rank, middle - range);
        double places = fmin(below + above - (middle - range) + 1, below + 1);
        double term = (to - from) * fmax(places, 0) / (classes - middle + 1) / (middle * scale) *
                      exp(n * log(range / middle));
        sum += term;
        if (term < 1e-9 * sum) {
            break;
        }
        from = to;
    }
    return log(sum) - n * log(range);
}

// With few classes the clustered urn would run out of new ones.
static lg_spread effective(lg_spread spread, double classes) {
    return spread == LG_SPREAD_CLUSTERED && classes < LG_CLUSTER_MIN_CLASSES ? LG_SPREAD_EXTREME
                                                                             : spread;
}

static double log_clean(const lg_clean_sums *sums, const lg_hidden_labels *hidden, lg_spread spread,
                        double classes) {
    double n = (double)sums->n;
    if (n == 0 && hidden->n == 0) {
        return 0;
    }
    if (classes < 1 || (sums->uniform_only && spread != LG_SPREAD_UNIFORM)) {
        return -INFINITY;
    }
    switch (spread) {
    case LG_SPREAD_UNIFORM:
        return -n * log(classes);
    case LG_SPREAD_ZIPF:
        return log_any_zipf(sums, hidden, classes);
    case LG_SPREAD_FLAT:
    case LG_SPREAD_SKEWED:
    case LG_SPREAD_EXTREME: {
        // Labels drawn from frequencies that are Dirichlet(α) themselves (the Pólya urn).
        double total = lg_spread_alpha(spread) * classes;
        return -log_rising(total, n) + sums->log_gamma[spread];
    }
    case LG_SPREAD_CLUSTERED:
        return (double)sums->n_distinct > classes ? -INFINITY
               : n > 0                            ? log_clustered(sums, classes)
                                                  : 0;
    case LG_SPREAD_WINDOW:
        return sums->largest_rank >= classes ? -INFINITY : n > 0 ? log_window(sums, classes) : 0;
    case LG_N_SPREADS:
        break;
    }
    return -INFINITY;
}

static double log_hidden(const lg_clean_sums *sums, const lg_hidden_labels *hidden,
                         lg_spread spread, double classes) {
    double m = (double)hidden->n;
    double n = (double)sums->n;
    if (hidden->classes < 1) {
        return -INFINITY;
    }
    switch (spread) {
    case LG_SPREAD_UNIFORM:
        return m * log(hidden->classes / classes);
    case LG_SPREAD_ZIPF:
        return 0; // log_clean weighs both for each exponent
    case LG_SPREAD_FLAT:
    case LG_SPREAD_SKEWED:
    case LG_SPREAD_EXTREME: {
        // Of the urn's balls those of the classes in range, against all.
        double alpha = lg_spread_alpha(spread);
        return log_rising(alpha * hidden->classes + hidden->seen, m) -
               log_rising(alpha * classes + n, m);
    }
    case LG_SPREAD_CLUSTERED: {
        // As many of the classes seen lie in range as of the labels seen, give or take.
        double k = (double)sums->n_distinct;
        double open = LG_CLUSTER_STRENGTH + LG_CLUSTER_DISCOUNT * k;
        double share = n > 0 ? hidden->seen / n : 0;
        double in_range = hidden->seen - LG_CLUSTER_DISCOUNT * k * share +
                          open * fmin(hidden->classes / classes, 1);
        return log_rising(in_range, m) - log_rising(LG_CLUSTER_STRENGTH + n, m);
    }
    case LG_SPREAD_WINDOW: {
        double first = fmax(sums->least_rank, hidden->first_rank);
        double last = fmin(sums->largest_rank, hidden->first_rank + hidden->classes - 1);
        double range = sums->largest_rank - sums->least_rank + 1;
        return n > 0 && last >= first ? m * log((last - first + 1) / range) : -INFINITY;
    }
    case LG_N_SPREADS:
        break;
    }
    return -INFINITY;
}

double lg_clean_log_probability(const lg_clean_sums *sums, const lg_hidden_labels *hidden,
                                lg_spread spread, double classes) {
    spread = effective(spread, classes);
    double value = log_clean(sums, hidden, spread, classes);
    return hidden->n > 0 ? value + log_hidden(sums, hidden, spread, classes) : value;
}
