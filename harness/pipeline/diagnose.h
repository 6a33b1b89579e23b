// SPDX-License-Identifier: Apache-2.0
// The finding of attribute.h for a user's own arrays, which are read in one pass.
//
// Memory does not grow with the number of labels: the table of evidence.h, a block of rows, and one
// sample's extra dimensions. The files are those of npy.h, and for labels and weights csv.h.
//
// It is the finding that lg_attribute makes of the same batch under cross_entropy, except that it
// lists the first LG_DIAGNOSE_ROWS rows only, and among the values those out of range.
#ifndef LG_PIPELINE_DIAGNOSE_H
#define LG_PIPELINE_DIAGNOSE_H

#include "model/finding.h"
#include "pipeline/attribute.h"
#include "support/error.h"
#include "support/str.h"

#include <stdbool.h>
#include <stdint.h>

enum { LG_DIAGNOSE_ROWS = 20 };

typedef struct lg_diagnose_options {
    const char *targets; // class indices, one a row
    const char *logits;  // N×C or N×C×d1…, or NULL: then head_width counts
    const char *weight;  // class weights, or NULL
    int64_t head_width;
    int64_t classes; // K, 0: unknown
    int64_t ignore_index;
} lg_diagnose_options;

typedef struct lg_diagnose_result {
    lg_finding finding; // its rows are the first of n_bad
    int64_t n_bad;      // rows the loss cannot take
    int64_t n_rows;     // of the batch
    bool has_evidence;  // false where shapes do not match, so that labels have no rows
    lg_label_evidence evidence;
} lg_diagnose_result;

// false with errors in `diags` when a file cannot be read, or holds no class indices.
bool lg_diagnose(const lg_diagnose_options *options, lg_diagnose_result *out, lg_diags *diags);
void lg_diagnose_free(lg_diagnose_result *result);

void lg_diagnose_text(const lg_diagnose_result *result, lg_str *out);

#endif
