// SPDX-License-Identifier: Apache-2.0
// The parts of an explanation of labels: how clean labels are moved, how some rows are overwritten.
#ifndef LG_PIPELINE_HYPOTHESES_PARTS_H
#define LG_PIPELINE_HYPOTHESES_PARTS_H

#include "pipeline/clean_labels.h"
#include "pipeline/hypotheses.h"

// How all clean labels are moved.
typedef enum remap {
    REMAP_NONE,
    REMAP_PLUS_ONE,
    REMAP_MINUS_ONE,
    REMAP_MORE_CLASSES,         // wrong_head_width
    REMAP_MORE_CLASSES_EMPTY_0, // the same, and class 0 never occurs
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
#define LG_MOST_CLASSES (INT64_C(1) << 26)

typedef struct weighing {
    const lg_label_table *table;
    int64_t n; // live labels
    int64_t width;
    lg_clean_sums in_range[3]; // the labels of [0, C) as they are, minus one, plus one
    int n_out;                 // explanations collected
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
    double log_values[N_STRAYS];
    int64_t first_value[N_STRAYS];
    bool one_value[N_STRAYS];
} stray_part;

// One structure weighed: ln P(labels | structure), without the prior of its causes.
typedef struct weighed {
    double log_likelihood;
    stray_part part;
    int64_t mapped;  // labels out of range by the remap
    int64_t largest; // of these; -1: none
} weighed;

double lg_log_add(double a, double b); // ln(e^a + e^b)

// Prepares the sums over the labels in range; n, width and table are set.
void lg_weighing_begin(weighing *w);
// Whether the labels allow the remap at all: what it leaves no room for does not occur.
bool lg_remap_is_possible(const weighing *w, remap map);
// ln Σ over spreads of P(spread) P(labels, hidden labels | spread, classes).
double lg_log_clean(const lg_clean_sums *sums, const lg_hidden_labels *hidden, double classes);
// false: the structure cannot have made these labels, or a part of it has nothing to explain.
bool lg_weigh_structure(const weighing *w, const structure *s, weighed *out);

#endif
