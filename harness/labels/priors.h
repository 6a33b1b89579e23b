// SPDX-License-Identifier: Apache-2.0
// What attribution believes before it sees a batch: one table of numbers, each with its reason. The
// measurement in tests/bench draws its batches from the same table, so that a posterior of 90 % can
// be held to its word.
#ifndef LG_LABELS_PRIORS_H
#define LG_LABELS_PRIORS_H

#include "model/cause.h"

#include <stdint.h>

// Relative frequency of a label fault among faulty batches; 0 for causes that labels do not show.
double lg_prior_of_cause(lg_cause cause);

// Relative frequency of a fault among broken kernels; 0 for data causes, but for target_dtype: a
// kernel can read labels in another type too. From the mutants and the
// public reports about kernels: sums that are too narrow and options that meet lead.
double lg_prior_of_kernel_cause(lg_cause cause);
// A fault of a loss leaves the loss right and shows in the gradient alone.
#define LG_PRIOR_LOSS_SPARED 0.2
// Recomputed numbers are taken for chance with this per number that tells them from the right ones,
// times the slack of the comparison, and at most so many numbers count: they are not independent.
#define LG_CHANCE_MATCHES 3

// Two faults at once: public reports with two independent label faults in one batch are rare, about
// one in ten of those collected.
#define LG_PRIOR_TWO_FAULTS 0.1

// How a data set's classes are spread. Weights of the components; each is a way to draw labels.
// Many, because a spread that none of them resembles would make chance look impossible.
typedef enum lg_spread {
    LG_SPREAD_UNIFORM,   // balanced benchmarks
    LG_SPREAD_ZIPF,      // classes sorted by frequency, as vocabularies are: p(k) ~ 1/(k+1)^s, s
                         // anything from LG_ZIPF_LEAST to LG_ZIPF_MOST
    LG_SPREAD_FLAT,      // frequencies themselves uniform on the simplex: Dirichlet(1)
    LG_SPREAD_SKEWED,    // Dirichlet(0.3): a few classes have most rows
    LG_SPREAD_EXTREME,   // Dirichlet(0.05): most classes are missing from any batch
    LG_SPREAD_CLUSTERED, // a power law over classes in no order: the urn of Pitman and Yor
    LG_SPREAD_WINDOW,    // a data set sorted by class: neighbouring classes alone
    LG_N_SPREADS,
} lg_spread;

double lg_prior_of_spread(lg_spread spread);
double lg_spread_alpha(lg_spread spread); // of the Dirichlet ones; 0 for the others
#define LG_ZIPF_LEAST 0.3
#define LG_ZIPF_MOST 2.5
#define LG_CLUSTER_DISCOUNT 0.5
#define LG_CLUSTER_STRENGTH 1.0
#define LG_CLUSTER_MIN_CLASSES 1000 // below, clustered is extreme: the urn would run out of classes

// A declared number of classes is copied from the head as often as it is taken from the data set,
// so K == C alone acquits nobody.
#define LG_PRIOR_DECLARED_COPIES_HEAD 0.5
// The declared K exceeds C although the head is right: a typing error in a config. Small enough
// that nothing is left of the other causes when K > C.
#define LG_PRIOR_DECLARED_WRONG 1e-12

// A class list that begins with an empty class (a hidden folder, a reserved background), whatever
// the fault: a head that is one too narrow then looks like 1-based labels, and a few labels C too,
// whatever N.
#define LG_PRIOR_EMPTY_CLASS_0 0.05

// A head with outputs that no class uses (padded to a multiple of 8, spare classes): the last J
// outputs, P(J = j) ~ 1/(j(j+1)). A stray -1 then looks like labels that were shifted twice.
#define LG_PRIOR_UNUSED_OUTPUTS 0.05

// Classes out of range that have a frequency and a spread of their own, often far rarer than the
// others (an "other" class, classes added late): one data set in a hundred. It keeps a single label
// C among 10^8 from proving anything: it may be the one row of a class that the head does not have.
// How many rows they take is lg_prior_of_stray_rows's.
#define LG_PRIOR_RARE_CLASSES 0.01

// wrong_head_width: the head misses J = K - C classes with P(J = j) = 1/(j(j+1)): one missing is by
// far the most common, and there is no largest miss.
double lg_prior_of_missing_classes(double at_least, double below); // P(at_least <= J < below)

// Rows that a stray value takes (label_equals_width, negative_labels, corrupt_labels, narrowed wide
// labels): most often a handful, log-uniform up to a tenth of the rows; with the rest of the weight
// any number, because a broken shard spoils more.
#define LG_PRIOR_STRAY_HANDFUL 0.9
double lg_prior_of_stray_rows(int64_t m, int64_t n);

// A sentinel marks what must not count, so it dominates: by definition at least this share of the
// live rows (a rarer value is a stray one, whatever it was meant to be). The injection holds to it
// too.
#define LG_SENTINEL_MIN_SHARE 0.05
#define LG_SENTINEL_DEFAULT_SHARE 0.2
int64_t lg_sentinel_min_rows(int64_t n);
double lg_prior_of_sentinel_rows(int64_t m, int64_t n);

// In a map a sentinel fills areas; scattered over it, it is one in five (thin borders, noise). A
// stray fault picks its rows one by one: labels that touch their like far more often than chance
// has it are none of its, down to the least factor.
#define LG_PRIOR_SCATTERED_SENTINEL 0.2
#define LG_PRIOR_JOINED_STRAY 1e-6

// Which value a sentinel is: the conventions in use, then anything. `head_width` itself counts as
// one (the void class numbered after the real ones).
double lg_prior_of_sentinel(int64_t value, int64_t head_width);
extern const struct lg_sentinel_convention {
    int64_t value;
    double weight;
} lg_sentinel_conventions[];
extern const int lg_n_sentinel_conventions;
#define LG_PRIOR_SENTINEL_IS_WIDTH 0.05
#define LG_PRIOR_SENTINEL_ABOVE_WIDTH 0.02 // C + j, by 1/(j(j+1))

// Which value a stray negative label is: -1 in half of the cases, small ones by 1/(a(a-1)), then
// log-uniform down to -2^31. Every row the same value with LG_PRIOR_ONE_NEGATIVE.
double lg_prior_of_negative(int64_t value);
#define LG_PRIOR_ONE_NEGATIVE 0.7

// Values of negative or corrupt labels are drawn apart, or from an urn that repeats them: with k
// distinct values among i, the next one is new with (strength + discount k)/(strength + i). Or all
// but one are drawn apart, and that one fills any share of the rows, as freed memory is filled.
#define LG_PRIOR_FILL 0.05
#define LG_PRIOR_URN 0.05
#define LG_URN_DISCOUNT_FEW 0.5  // in half of the urns
#define LG_URN_DISCOUNT_MANY 0.9 // in the others
#define LG_URN_STRENGTH 1.0

// Which value a corrupt label is: the integer minima (NaN casts), user-space addresses, 32 and 64
// random bits, blends of an interpolated mask between the last class and 255.
double lg_prior_of_corrupt(int64_t value, int64_t head_width);
#define LG_PRIOR_CORRUPT_INT32_MIN 0.25
#define LG_PRIOR_CORRUPT_INT64_MIN 0.25
#define LG_PRIOR_CORRUPT_POINTER 0.25
#define LG_PRIOR_CORRUPT_BLEND 0.1
#define LG_PRIOR_CORRUPT_BITS32 0.1
#define LG_PRIOR_CORRUPT_BITS64 0.05

// target_dtype and float_targets by how the labels are misread.
#define LG_PRIOR_DTYPE_PAIRS 0.5
#define LG_PRIOR_DTYPE_WIDE 0.3
#define LG_PRIOR_DTYPE_SIGN_BYTES 0.2
#define LG_PRIOR_FLOAT32_BITS 0.5

// `certain`: all other causes together are less likely than this. At one batch a second it would be
// wrong once in thirty years if the model is right, and leaves room for the model to be off. What
// only the frequencies of classes tell apart is never certain, however small the rest: when all
// labels out of range are the one value next to the classes, -1 or C, a shift and a stray label
// differ in nothing else (attribute_rank.c has the other such cases).
#define LG_CERTAIN_REST 1e-9
#define LG_LARGEST_CLASS (INT64_C(1) << 26) // no head is wider
// The batch identifies a cause when all others together are less likely than this; else the finding
// is ambiguous and names the fewest causes that leave no more than this out.
#define LG_IDENTIFIED_REST 0.02
// Beside the named ones, causes are listed as not excluded until the rest together is below this:
// with 100,000 batches a year the true cause is left out once in ten years.
#define LG_EXCLUDED_REST 1e-6

#endif
