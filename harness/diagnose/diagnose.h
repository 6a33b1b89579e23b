// SPDX-License-Identifier: Apache-2.0
// The finding of attribute.h for a user's own arrays, which are read in one pass.
//
// Memory does not grow with the number of labels: the table of evidence.h, a block of rows, and one
// sample's extra dimensions. The files are those of npy.h, and for labels and weights csv.h.
//
// Floating-point targets of the logits' shape are class probabilities, and so are, without logits,
// N×C targets of the head's width if any row could be. Integers of one 1 a row in such a shape are
// one-hot rows, which no loss takes: a fault, or a warning where so few rows may be so by chance.
//
// It is the finding that lg_attribute makes of the same batch under cross_entropy, except that it
// lists the first LG_DIAGNOSE_ROWS rows only, and among the values those out of range; that NaN and
// infinities among labels are reported as such; that labels from `classes` on are a fault; and that
// for nll_loss an input above 0 is one, where a run's finding only warns: here the array is judged.
#ifndef LG_DIAGNOSE_DIAGNOSE_H
#define LG_DIAGNOSE_DIAGNOSE_H

#include "attribute/attribute.h"
#include "result/finding.h"
#include "support/error.h"
#include "support/str.h"

#include <stdbool.h>
#include <stdint.h>

enum { LG_DIAGNOSE_ROWS = 20, LG_DIAGNOSE_NOTES = 4 };

typedef struct lg_diagnose_options {
    const char *targets; // class indices, one a row, or class probabilities of the logits' shape
    const char *logits;  // N×C or N×C×d1…, or NULL: then head_width counts
    const char *weight;  // class weights, or NULL
    int64_t head_width;
    int64_t classes; // K, 0: unknown
    int64_t ignore_index;
    lg_loss_kind loss; // 0: cross_entropy, or binary_cross_entropy for floats and one output
} lg_diagnose_options;

// Rows, counted, and the first of them.
typedef struct lg_row_list {
    int64_t n;
    int64_t first[LG_DIAGNOSE_ROWS];
} lg_row_list;

// Values that are no numbers.
typedef struct lg_nonfinite_count {
    int64_t n_nan, n_plus, n_minus; // NaN, infinities
    int64_t first;                  // row
} lg_nonfinite_count;

// What targets with a class axis hold, N×C or N×C×d1….
typedef struct lg_class_rows {
    int64_t n_rows, width;
    int64_t n_one_hot;              // rows of one 1 and zeros
    int64_t n_wrong, first_wrong;   // rows that are no probabilities
    int64_t n_nonfinite;            // rows
    lg_nonfinite_count nonfinite;   // entries
    int64_t n_broken, first_broken; // rows whose logits hold NaN or an infinity that counts
    bool integral;                  // every entry is an integer
    bool looks_soft;                // the logits could be probabilities
    lg_row_list bad;
} lg_class_rows;

typedef struct lg_diagnose_result {
    lg_finding finding; // its rows are the first of n_bad
    int64_t n_bad;      // rows the loss cannot take
    int64_t n_rows;     // of the batch
    bool has_evidence;  // false where shapes do not match, so that labels have no rows
    lg_label_evidence evidence;
    bool has_class_rows; // the targets were read as class probabilities
    lg_class_rows class_rows;
    lg_nonfinite_count nonfinite; // labels that are no numbers; they are not in `evidence`
    int n_notes;
    const char *notes[LG_DIAGNOSE_NOTES]; // beside the finding
} lg_diagnose_result;

// false with errors in `diags` when a file cannot be read.
bool lg_diagnose(const lg_diagnose_options *options, lg_diagnose_result *out, lg_diags *diags);
void lg_diagnose_free(lg_diagnose_result *result);

void lg_diagnose_text(const lg_diagnose_result *result, lg_str *out);

#endif
