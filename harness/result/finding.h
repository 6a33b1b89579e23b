// SPDX-License-Identifier: Apache-2.0
// The diagnosis of one batch or case.
#ifndef LG_RESULT_FINDING_H
#define LG_RESULT_FINDING_H

#include "model/cause.h"
#include "support/arena.h"
#include "support/str.h"

#include <stdbool.h>
#include <stdint.h>

enum { LG_MAX_COMPANIONS = 9 };

typedef struct lg_hypothesis {
    lg_cause cause;
    int n_with; // further causes present at the same time; 0: it is alone
    lg_cause with[LG_MAX_COMPANIONS];
    double probability;   // posterior; the list sums to 1
    const char *evidence; // one line: why
    const char *advice;   // one line: what to do, or NULL
} lg_hypothesis;

// A value among the bad rows and how often it occurs.
typedef struct lg_value_count {
    int64_t value;
    int64_t count;
} lg_value_count;

typedef struct lg_finding {
    lg_arena arena;
    lg_cause cause; // the most probable, LG_CAUSE_NONE when nothing is wrong
    // How sure: `certain`, one cause explains the data and no other one can; neither, the data
    // identify it (labels/priors.h has the bound) and the others are only not excluded;
    // `ambiguous`, the data cannot tell and `hypotheses[0..n_named)` are all named.
    bool certain;
    bool ambiguous;
    bool warning; // worth saying, but the kernel may run (no_supervised_row)
    int n_hypotheses;
    lg_hypothesis *hypotheses; // ranked, most probable first
    int n_named;               // how many of them the finding names (1 when not ambiguous)
    int n_possible;            // how many cannot be excluded, the named ones among them
    int64_t n_rows;            // rows the loss cannot take, ascending
    int64_t *rows;
    int64_t n_values; // the values in those rows, most frequent first, at most 16
    lg_value_count *values;
    const char *headline; // one line: "labels fill 0..4, the head has 3 outputs"
} lg_finding;

// Whether it states the cause, as its own or with it.
bool lg_hypothesis_states(const lg_hypothesis *h, lg_cause cause);
// Adds a companion unless it is stated already, is LG_CAUSE_NONE, or there are as many as fit.
void lg_hypothesis_add(lg_hypothesis *h, lg_cause cause);
// "weight_vector with shape_layout and negative_labels".
void lg_hypothesis_print(const lg_hypothesis *h, lg_str *out);

void lg_finding_free(lg_finding *finding);
// Among those that cannot be excluded (a kernel's fault: among the named ones), alone or with
// others.
bool lg_finding_names(const lg_finding *finding, lg_cause cause);

// "certain", "likely" or "ambiguous"; NULL when nothing is concluded.
const char *lg_finding_certainty(const lg_finding *finding);

enum { LG_PERCENT_BYTES = 16 };
// A probability as people read it: "62 %", "99.6 %", ">99.9 %", "<0.1 %". Returns `out`.
const char *lg_percent_text(double probability, char out[LG_PERCENT_BYTES]);

// "negative_labels (0.4 %), corrupt_labels (<0.1 %) cannot be excluded": beside what is named;
// NULL when there is nothing. In `arena`.
const char *lg_finding_not_excluded(const lg_finding *finding, lg_arena *arena);

#endif
