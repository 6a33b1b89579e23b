// SPDX-License-Identifier: Apache-2.0
// Between the files of the diagnosis of arrays. Not for use outside them.
#ifndef LG_DIAGNOSE_INTERNAL_H
#define LG_DIAGNOSE_INTERNAL_H

#include "attribute/attribute.h"
#include "diagnose/diagnose.h"
#include "model/tensor.h"
#include "support/csv.h"
#include "support/error.h"
#include "support/npy.h"

#include <stdbool.h>
#include <stdint.h>

// An array that is read in order: a .npy file, a member of an archive, or a column of a .csv file.
typedef struct lg_array_file {
    const char *place;
    lg_npy_reader *npy; // one of the two
    lg_csv_reader *csv;
    lg_dtype dtype; // of a .csv: int64, or float64 from the first real number on
    int rank;
    int64_t shape[LG_MAX_RANK]; // of a .csv: what has been read so far
    int64_t n;
    int64_t n_read; // of a .csv
    void *raw;      // a block as stored
} lg_array_file;

enum { LG_SOURCE_BLOCK = 1 << 16 }; // most elements a read

bool lg_source_is_csv(const char *place); // by its name
bool lg_source_open(const char *place, lg_array_file *source, lg_diags *diags);
void lg_source_close(lg_array_file *source);

// Labels: the next up to n of them as integers (cut toward zero, NaN: INT64_MIN) and, when
// source->dtype is a floating one, as they are. The number read, 0 at the end, -1 on an error.
int64_t lg_source_labels(lg_array_file *source, int64_t *labels, double *reals, int64_t n,
                         lg_diags *diags);
// The next up to n elements as stored, of a .npy file.
int64_t lg_source_raw(lg_array_file *source, int64_t n, lg_diags *diags);
// A whole small array as a tensor (float64 from a .csv).
bool lg_source_tensor(const char *place, lg_tensor *tensor, lg_diags *diags);

// A row of logits as its entries pass by.
typedef struct lg_logit_row {
    double sum;
    double exp_sum, entropy; // of the entries as logarithms; nll_loss only, as the next two
    bool above;              // an entry is no logarithm of a probability
    bool no_probability;     // an entry is no probability
    int64_t n_minus;         // entries that are -inf
    bool broken;             // holds what no masked row does
} lg_logit_row;

// The one pass over labels and logits.
typedef struct lg_diagnose_pass {
    const lg_diagnose_options *options;
    lg_array_file targets, logits;
    bool has_logits;
    lg_batch batch; // shapes and types; no data but the weights
    lg_label_table table;
    bool has_table;
    // A block of rows.
    int64_t n_block; // rows a block holds
    int64_t spatial; // positions a sample
    int64_t *labels;
    double *reals;
    bool *bad;
    lg_logit_row *logit_rows; // only with logits
    // What was seen.
    int64_t n_rows;
    lg_row_list bad_rows, any_rows;       // rows the loss cannot take; with those of `no_logs`
    int64_t n_nonfinite, first_nonfinite; // of the logits
    lg_nonfinite_count nonfinite;         // of floating-point labels
    lg_row_list beyond;                   // labels of the head, but beyond the classes stated
    bool looks_soft;                      // so far, the logits could be probabilities
    // For nll_loss: rows that count, that are no logarithms, and of those the probabilities.
    int64_t n_logs, n_soft;
    lg_row_list no_logs, unnormalised;
    double first_sum; // of the exponentials of the first of `unnormalised`
    lg_class_rows class_rows;
    bool one_hot, beyond_chance; // integers of one 1 a row
} lg_diagnose_pass;

// --- diagnose_open.c ----------------------------------------------------------------------------

bool lg_diagnose_open(lg_diagnose_pass *p, lg_diags *diags);
// A contiguous tensor without data.
void lg_diagnose_describe(lg_tensor *tensor, lg_dtype dtype, int rank, const int64_t *shape);

// --- diagnose_notes.c ---------------------------------------------------------------------------

void lg_diagnose_note(lg_diagnose_result *out, const char *note);
void lg_diagnose_add_notes(const lg_diagnose_pass *p, lg_diagnose_result *out);
const char *lg_shape_advice(const lg_diagnose_pass *p, lg_arena *arena);
void lg_nonfinite_add(lg_nonfinite_count *count, double value, int64_t row);
// "nan (2 times) and inf, the first at 3"; NULL when there is none.
const char *lg_nonfinite_text(const lg_nonfinite_count *count, lg_arena *arena);

void lg_row_list_add(lg_row_list *list, int64_t row);
const char *lg_row_list_text(const lg_row_list *list, lg_arena *arena); // "3 5 9 …"
// The list as the finding's rows.
void lg_row_list_tell(const lg_row_list *list, lg_diagnose_result *out);

// --- diagnose_logits.c --------------------------------------------------------------------------

// The logits of a block of rows whose labels are read, in pieces. false: an error.
bool lg_diagnose_take_logits(lg_diagnose_pass *p, int64_t n_rows, lg_diags *diags);
// After the facts about labels: rows that are no logarithms, as far as that is plain beside them.
void lg_diagnose_add_no_logs(lg_diagnose_pass *p, lg_diagnosis *d);
void lg_diagnose_note_logits(const lg_diagnose_pass *p, lg_diagnose_result *out);

// --- diagnose_binary.c --------------------------------------------------------------------------

bool lg_is_binary_diagnosis(const lg_diagnose_pass *p);
bool lg_diagnose_binary(lg_diagnose_pass *p, lg_diagnose_result *out, lg_diags *diags);

// --- diagnose_rows.c: targets with a class axis -------------------------------------------------

// Whether the targets have a class axis as the input has, of any length.
bool lg_has_class_axis(const lg_diagnose_pass *p);
// Reads the rows from files opened for it: what they are decides how the targets are read.
bool lg_read_class_rows(lg_diagnose_pass *p, lg_diags *diags);
bool lg_are_probabilities(const lg_diagnose_pass *p);
void lg_conclude_probabilities(lg_diagnose_pass *p, lg_diagnose_result *out);
// Whether all rows are one-hot, and whether so many cannot be so by chance.
bool lg_class_rows_are_one_hot(const lg_class_rows *rows, bool *beyond_chance);
void lg_add_one_hot(const lg_diagnose_pass *p, lg_diagnosis *d, lg_cause cause);

#endif
