// SPDX-License-Identifier: Apache-2.0
// What attribution believes before it sees a batch: one table of numbers, each with its reason. The
// measurement in tests/bench draws its batches from the same table, so that a posterior of 90 % can
// be held to its word.
#ifndef LG_LABELS_LABELS_H
#define LG_LABELS_LABELS_H

#include "model/batch.h"
#include "model/cause.h"
#include "model/dtype.h"
#include "result/finding.h"
#include "scenario/scenario.h"
#include "support/str.h"

#include <stdbool.h>
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
// supervised rows (a rarer value is a stray one, whatever it was meant to be). The injection holds
// to it too.
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

// --- Clean class indices, drawn from (seed, stream, index).

// Writes n labels of [0, classes): UNIFORM (default), ROUND_ROBIN, ZIPF (class k in proportion to
// 1/(k+1)), CONSTANT (class `lo`). false when memory is out.
bool lg_labels_draw(const lg_array_spec *spec, uint64_t seed, int64_t classes, int64_t n,
                    int64_t *labels);

// Sets about `fraction` of the labels to ignore_index (a row each at its own address).
void lg_labels_ignore(double fraction, uint64_t seed, int64_t ignore_index, int64_t n,
                      int64_t *labels);

// --- Labels as evidence: one pass, memory that does not grow with the number of rows.
//
// Owner: lg_label_table_free. One thread a table. Labels are read as they are passed to the kernel.

// The labels as evidence, collected in one pass; also for `lossgate diagnose` on a stream of
// labels.
typedef struct lg_label_evidence {
    int64_t n; // labels seen
    int64_t n_ignored;
    int64_t head_width; // C
    int64_t classes;    // K, 0 unknown
    int64_t ignore_index;
    lg_dtype dtype;     // of the target
    int64_t min, max;   // over the labels that are not ignored
    int64_t n_in_range; // 0 <= label < C
    int64_t n_negative;
    int64_t n_at_width;    // label == C
    int64_t n_above_width; // label > C
    int64_t n_zero;        // label == 0
    int64_t n_distinct;    // distinct supervised labels (exact up to a bound, see attribute.c)
    int64_t n_distinct_in_range;
    int64_t n_distinct_out; // distinct out-of-range values
    int64_t dominant_out;   // the most frequent out-of-range value and its count
    int64_t n_dominant_out;
    int64_t n_float32_bits; // out-of-range labels that look like one or two packed float32
    int64_t n_float64_bits;
    int64_t n_int32_pairs; // look like two int32 labels side by side
    int64_t n_sign_bytes;  // values -128..-1 in a signed reading of uint8
    int64_t n_int_min;     // INT32_MIN or INT64_MIN
    int64_t n_pointers;    // look like user-space addresses
    int64_t n_fractional;  // float targets with a fractional part
    double first_fractional;
    int64_t first_fractional_row;
    // Out-of-range labels by their place, in the order of the labels. A run is a stretch of one
    // value; one that is joined has its own value to the left or, in a map, above it.
    int64_t row_length; // labels in a row of a map; 0: the labels have no second dimension
    int64_t n_out_runs;
    int64_t longest_out_run;
    int64_t longest_out_run_value;
    int64_t n_out_joined;
} lg_label_evidence;

// What one label's bits could be if they are not an int64 class index.
typedef enum lg_label_pattern {
    LG_PATTERN_FLOAT64 = 1,    // the bits of a whole float64 class
    LG_PATTERN_FLOAT32 = 2,    // two whole float32 classes side by side
    LG_PATTERN_INT32_PAIR = 4, // two int32 classes side by side
    LG_PATTERN_WIDE = 8,       // a class plus a multiple of 2^32
    LG_PATTERN_SIGN_BYTE = 16, // -128..-1: a byte of 128..255 read as signed
    LG_PATTERN_INT_MIN = 32,   // INT32_MIN or INT64_MIN: a NaN cast to an integer
    LG_PATTERN_POINTER = 64,   // a user-space address of a 64-bit process
} lg_label_pattern;

// A bit set; a plain in-range label may have bits too (0 is also the bits of 0.0).
unsigned lg_label_patterns(int64_t label, int64_t head_width, int64_t ignore_index);

typedef struct lg_label_table {
    lg_label_evidence evidence;
    uint32_t *counts;      // a count for each class of [0, C); NULL when C is beyond LG_COUNT_LIMIT
    uint64_t *seen;        // one bit a class instead, up to LG_BITMAP_LIMIT
    lg_value_count *out;   // out-of-range values; after finish: the first n_out, by value
    int64_t n_out;         // distinct out-of-range values counted
    int64_t out_capacity;  // slots of the hash while collecting: a power of two
    int64_t *above;        // the last row_length labels of a map, as a ring; NULL: no map
    int64_t last;          // the label before
    int64_t run;           // its run, when it is out of range
    int64_t n_out_dropped; // labels whose value found no slot: more than LG_OUT_LIMIT distinct ones
    // Live labels that have the pattern, in range or not: a misread concerns every row.
    int64_t n_all_float64;
    int64_t n_all_float32;
    int64_t n_all_int32_pair;
} lg_label_table;

enum {
    LG_COUNT_LIMIT = 1 << 22,  // classes with a count each: 16 MiB
    LG_BITMAP_LIMIT = 1 << 26, // classes with a bit each: 8 MiB
    LG_OUT_LIMIT = 1 << 16,    // distinct out-of-range values with a count each
};

// false when memory is out.
bool lg_label_table_init(lg_label_table *table, int64_t head_width, int64_t classes,
                         int64_t ignore_index, lg_dtype dtype);
// Labels come in rows of this many: a map. Before the first label; false when memory is out.
bool lg_label_table_set_map(lg_label_table *table, int64_t row_length);
void lg_label_table_add(lg_label_table *table, int64_t label);
void lg_label_table_finish(lg_label_table *table);
void lg_label_table_free(lg_label_table *table);

// Fills a table from the index targets that the batch hands over, held against a head of that
// width. false when memory is out.
bool lg_label_table_of_batch(const lg_batch *batch, int64_t head_width, lg_label_table *table);

void lg_evidence_collect(const lg_batch *batch, lg_label_evidence *out);
void lg_evidence_print(const lg_label_evidence *evidence, lg_str *out);

// --- Every way the label faults can explain a batch's labels, weighed by Bayes' rule.
//
// An explanation is one cause, or two at once. Each says how clean labels became the labels seen: a
// remap moves all of them (shifts, a head that is too narrow, misread bits), a stray fault
// overwrites some rows. Its weight is prior × P(clean part | spread of the classes) × P(which rows,
// which values); the spreads of priors.h are summed over, so skewed frequencies and classes missing
// by chance are in.

typedef struct lg_explanation {
    lg_cause cause; // explains more of the bad rows than `with`
    lg_cause with;  // a second fault at the same time, or LG_CAUSE_NONE
    double probability;
    int64_t head_width; // wrong_head_width: the least K that the labels need; else 0
    int64_t sentinel;   // sentinel_mismatch: the value
} lg_explanation;

enum { LG_MAX_EXPLANATIONS = 40 };

// Ranked explanations of the out-of-range labels of a finished table; probabilities sum to 1.
// Returns their number: 0 when no label is out of range, or none of the faults explains them.
int lg_labels_explain(const lg_label_table *table, lg_explanation *out);

#endif
