// SPDX-License-Identifier: Apache-2.0
// Arrays that are read in order, whatever file they are in.
#include "diagnose/internal.h"

#include "model/tensor_file.h"
#include "support/alloc.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { ITEM_BYTES = 8 }; // of the widest element

bool lg_source_is_csv(const char *place) {
    size_t n = strlen(place);
    return n >= 4 && strcasecmp(place + n - 4, ".csv") == 0;
}

static bool take_header(lg_array_file *source, const lg_npy_header *header, lg_diags *diags) {
    if (header->rank > LG_MAX_RANK) {
        return lg_error(diags, (lg_loc){.file = source->place},
                        "has %d dimensions; at most %d can be read", header->rank, LG_MAX_RANK);
    }
    source->dtype = lg_dtype_of_npy(header->type);
    source->rank = header->rank;
    source->n = header->n;
    memcpy(source->shape, header->shape, (size_t)header->rank * sizeof *source->shape);
    return true;
}

bool lg_source_open(const char *place, lg_array_file *source, lg_diags *diags) {
    *source = (lg_array_file){.place = place};
    source->raw = lg_xmalloc((size_t)LG_SOURCE_BLOCK * sizeof(lg_csv_value));
    if (lg_source_is_csv(place)) {
        source->csv = lg_csv_open(place, diags);
        source->dtype = LG_INT64;
        source->rank = 1;
        return source->csv != NULL;
    }
    lg_npy_header header;
    source->npy = lg_npy_open(place, &header, diags);
    return source->npy && take_header(source, &header, diags);
}

void lg_source_close(lg_array_file *source) {
    lg_npy_close(source->npy);
    lg_csv_close(source->csv);
    free(source->raw);
    *source = (lg_array_file){0};
}

static int64_t csv_labels(lg_array_file *source, int64_t *labels, double *reals, int64_t n,
                          lg_diags *diags) {
    lg_csv_value *values = source->raw;
    int64_t got = lg_csv_read(source->csv, values, n, diags);
    for (int64_t i = 0; i < got; i++) {
        reals[i] = values[i].real;
        labels[i] = values[i].is_integer ? values[i].integer
                                         : lg_dtype_get_i64(LG_FLOAT64, &values[i].real, 0);
        source->dtype = values[i].is_integer ? source->dtype : LG_FLOAT64;
    }
    source->n_read += got > 0 ? got : 0;
    source->n = source->n_read;
    source->shape[0] = source->n_read;
    return got;
}

int64_t lg_source_raw(lg_array_file *source, int64_t n, lg_diags *diags) {
    return lg_npy_read(source->npy, source->raw, n < LG_SOURCE_BLOCK ? n : LG_SOURCE_BLOCK, diags);
}

int64_t lg_source_labels(lg_array_file *source, int64_t *labels, double *reals, int64_t n,
                         lg_diags *diags) {
    n = n < LG_SOURCE_BLOCK ? n : LG_SOURCE_BLOCK;
    if (source->csv) {
        return csv_labels(source, labels, reals, n, diags);
    }
    if (source->dtype == LG_INT64) {
        return lg_npy_read(source->npy, labels, n, diags);
    }
    int64_t got = lg_npy_read(source->npy, source->raw, n, diags);
    for (int64_t i = 0; i < got; i++) {
        labels[i] = lg_dtype_get_i64(source->dtype, source->raw, i);
    }
    for (int64_t i = 0; lg_dtype_is_float(source->dtype) && i < got; i++) {
        reals[i] = lg_dtype_get_f64(source->dtype, source->raw, i);
    }
    return got;
}

static bool csv_tensor(const char *place, lg_tensor *tensor, lg_diags *diags) {
    lg_csv_reader *csv = lg_csv_open(place, diags);
    lg_csv_value *values = NULL;
    int64_t n = 0;
    int64_t got = csv ? 1 : -1;
    while (got > 0) {
        values = lg_xrealloc(values, (size_t)(n + LG_SOURCE_BLOCK) * sizeof *values);
        got = lg_csv_read(csv, values + n, LG_SOURCE_BLOCK, diags);
        n += got > 0 ? got : 0;
    }
    bool ok = got == 0 && lg_tensor_init(tensor, LG_FLOAT64, 1, &n);
    for (int64_t i = 0; ok && i < n; i++) {
        lg_tensor_set_f64(tensor, i, values[i].real);
    }
    free(values);
    lg_csv_close(csv);
    return ok;
}

bool lg_source_tensor(const char *place, lg_tensor *tensor, lg_diags *diags) {
    return lg_source_is_csv(place) ? csv_tensor(place, tensor, diags)
                                   : lg_tensor_read(place, tensor, diags);
}
