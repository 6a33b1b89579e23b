// SPDX-License-Identifier: Apache-2.0
// The parts of an explanation of labels: how clean labels are moved, how some rows are overwritten.
#ifndef LG_LABELS_INTERNAL_H
#define LG_LABELS_INTERNAL_H

#include "labels/labels.h"

#include <stdbool.h>
#include <stdint.h>

// --- The probability of clean labels under each spread of the classes.

// What a spread needs to know of a label sequence: sums over its classes, so that classes can be
// added without a pass over the labels. Ranks count the classes that have rows from 0.
typedef struct lg_clean_sums {
    int64_t n;                      // labels
    int64_t n_distinct;             // classes among them
    double log_gamma[LG_N_SPREADS]; // Dirichlet: sum over classes of ln Γ(α + count) - ln Γ(α);
                                    // clustered: of ln Γ(count - d) - ln Γ(1 - d)
    double log_rank;                // sum over labels of ln(rank + 1)
    double least_rank, largest_rank;
    bool uniform_only; // counts are unknown: only the uniform spread can be computed
} lg_clean_sums;

// Adds `count` labels of a class whose rank is `rank` (>= 0).
void lg_clean_add(lg_clean_sums *sums, double rank, int64_t count);

// The same for a class that the sums hold `had` labels of already.
void lg_clean_add_more(lg_clean_sums *sums, double rank, int64_t had, int64_t count);

// Labels that were overwritten: all that is left of them is that they lay in range.
typedef struct lg_hidden_labels {
    int64_t n;
    double classes;    // that lie in range
    double seen;       // labels in `sums` that lie in range
    double first_rank; // the ranks in range: first_rank .. first_rank + classes - 1
} lg_hidden_labels;

// ln P(this sequence of labels, and that the hidden labels lie in range | spread, `classes`
// classes); -INFINITY when it is impossible.
double lg_clean_log_probability(const lg_clean_sums *sums, const lg_hidden_labels *hidden,
                                lg_spread spread, double classes);

// How all clean labels are moved.
typedef enum remap {
    REMAP_NONE,
    REMAP_PLUS_ONE,
    REMAP_MINUS_ONE,
    REMAP_MORE_CLASSES, // wrong_head_width
    N_REMAPS,
} remap;

// How some rows are overwritten; bits of a set.
typedef enum stray {
    STRAY_WIDTH,
    STRAY_NEGATIVE,
    STRAY_SENTINEL,
    STRAY_CORRUPT,
    STRAY_WIDE,
    N_STRAYS
} stray;

// Classes beyond this are no classes: no head is that wide.
#define LG_MOST_CLASSES LG_LARGEST_CLASS

// The labels of [0, C) as Zipf ranks: view v has the rank of label k at k - (v - 1).
enum { N_VIEWS = 4 };

typedef struct weighing {
    const lg_label_table *table;
    int64_t n; // supervised labels
    int64_t width;
    lg_clean_sums in_range[N_VIEWS];
    int64_t largest_in_range; // -1: none
    struct {
        bool set;
        double log_probability;
    } known[2]; // the clean labels without a remap, by `empty`
    int n_out;  // explanations collected
    lg_explanation *out;
    double log_weight[LG_MAX_EXPLANATIONS];
} weighing;

// One way to make the labels seen from clean ones.
typedef struct structure {
    remap map;
    unsigned strays;
    int64_t sentinel;
    int64_t floor;     // negative values below it are not STRAY_NEGATIVE's
    bool one_negative; // STRAY_NEGATIVE takes the value `floor` alone
    int64_t cut;       // REMAP_MORE_CLASSES: labels from C up to below this are classes
} structure;

// What the stray faults of a structure take.
typedef struct stray_part {
    int64_t rows[N_STRAYS];
    double log_values[N_STRAYS];   // drawn apart
    double log_distinct[N_STRAYS]; // each value once
    double log_few[N_STRAYS];      // sum of ln Γ(count - d)/Γ(1 - d), d the discount of the urn
    double log_many[N_STRAYS];
    int64_t n_distinct[N_STRAYS];
    double fill_gain[N_STRAYS]; // ln of what is won when one value is not drawn each time
    int64_t fill_count[N_STRAYS];
    int64_t first_value[N_STRAYS];
} stray_part;

// The labels that are classes, in range and out of it.
typedef struct clean_part {
    remap map;
    bool empty;    // class 0 has no rows at all
    int64_t shift; // the label of the first class that has rows
    lg_clean_sums inside;
    lg_clean_sums outside; // those the remap puts out of range; ranks count from the first of them
    lg_clean_sums all;     // with those that the remap puts out of range
    int64_t mapped;        // how many these are
    int64_t largest;       // largest label of a class; -1: none
    lg_hidden_labels hidden;
} clean_part;

// One structure weighed: ln P(labels | structure), without the prior of its causes.
typedef struct weighed {
    double log_likelihood;
    stray_part part;
    int64_t mapped;  // labels out of range by the remap
    int64_t largest; // of these; -1: none
} weighed;

double lg_log_add(double a, double b); // ln(e^a + e^b)
double lg_log_choose(double n, double k);

// Prepares the sums over the labels in range; n, width and table are set.
void lg_weighing_begin(weighing *w);
// ln Σ over spreads of P(spread) P(labels, hidden labels | spread, classes).
double lg_log_clean(const lg_clean_sums *sums, const lg_hidden_labels *hidden, double classes);
// The same, summed over what the classes of a data set are like as well (hypotheses_clean.c).
double lg_log_clean_part(const weighing *w, const clean_part *part);
// false: the structure cannot have made these labels, or a part of it has nothing to explain.
bool lg_weigh_structure(weighing *w, const structure *s, weighed *out);

#endif
