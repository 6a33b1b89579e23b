// SPDX-License-Identifier: Apache-2.0
// Between the files of the diagnosis of arrays. Not for use outside them.
#ifndef LG_PIPELINE_DIAGNOSE_PARTS_H
#define LG_PIPELINE_DIAGNOSE_PARTS_H

#include "model/tensor.h"
#include "support/csv.h"
#include "support/error.h"
#include "support/npy.h"

#include <stdbool.h>
#include <stdint.h>

// An array that is read in order: a .npy file, a member of an archive, or a column of a .csv file.
typedef struct lg_array_source {
    const char *place;
    lg_npy_reader *npy; // one of the two
    lg_csv_reader *csv;
    lg_dtype dtype; // of a .csv: int64, or float64 from the first real number on
    int rank;
    int64_t shape[LG_MAX_RANK]; // of a .csv: what has been read so far
    int64_t n;
    int64_t n_read; // of a .csv
    void *raw;      // a block as stored
} lg_array_source;

enum { LG_SOURCE_BLOCK = 1 << 16 }; // most elements a read

bool lg_source_is_csv(const char *place); // by its name
bool lg_source_open(const char *place, lg_array_source *source, lg_diags *diags);
void lg_source_close(lg_array_source *source);

// Labels: the next up to n of them as integers (cut toward zero, NaN: INT64_MIN) and, when
// source->dtype is a floating one, as they are. The number read, 0 at the end, -1 on an error.
int64_t lg_source_labels(lg_array_source *source, int64_t *labels, double *reals, int64_t n,
                         lg_diags *diags);
// The next up to n elements as stored, of a .npy file.
int64_t lg_source_raw(lg_array_source *source, int64_t n, lg_diags *diags);
// A whole small array as a tensor (float64 from a .csv).
bool lg_source_tensor(const char *place, lg_tensor *tensor, lg_diags *diags);

#endif
