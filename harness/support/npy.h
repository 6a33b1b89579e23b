// SPDX-License-Identifier: Apache-2.0
// NumPy array files (.npy, format versions 1.0 to 3.0), whole, from memory, or in chunks of bounded
// memory; members of .npz archives through the same reader (support/npz.h).
//
// Read: little-endian float64/32/16, int64/32/16/8, uint8, bool, in C order. Refused by name, with
// a text that says what to do: pickled objects, structured types, big-endian data, Fortran order.
// A hostile header (truncated, negative or huge shapes, missing or doubled keys) is an error.
#ifndef LG_SUPPORT_NPY_H
#define LG_SUPPORT_NPY_H

#include "support/error.h"
#include "support/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LG_NPY_MAX_RANK = 32 };

typedef enum lg_npy_type {
    LG_NPY_FLOAT64 = 1,
    LG_NPY_FLOAT32,
    LG_NPY_FLOAT16,
    LG_NPY_INT64,
    LG_NPY_INT32,
    LG_NPY_INT16,
    LG_NPY_INT8,
    LG_NPY_UINT8,
    LG_NPY_BOOL,
} lg_npy_type;

const char *lg_npy_type_name(lg_npy_type type); // "float32": the names of model/dtype.def
bool lg_npy_type_parse(const char *name, lg_npy_type *type);

typedef struct lg_npy_header {
    lg_npy_type type;
    size_t item_bytes;
    int rank;
    int64_t shape[LG_NPY_MAX_RANK];
    int64_t n;          // elements: product of the shape; n * item_bytes fits int64
    size_t data_offset; // of the first element from the start of the file
} lg_npy_header;

// A whole file in memory; `name` is for diagnostics. The elements are the header's n at
// data_offset; fewer or more bytes than that are an error. Pure: no file is touched.
bool lg_npy_parse(const char *name, const void *bytes, size_t n, lg_npy_header *header,
                  lg_diags *diags);

// Opens an array for reading in order. `place` is "x.npy", "x.npz" (with a single array in it) or
// "x.npz:member". NULL with an error added when it cannot be read. One thread a reader.
typedef struct lg_npy_reader lg_npy_reader;
lg_npy_reader *lg_npy_open(const char *place, lg_npy_header *header, lg_diags *diags);
// The next up to n elements as they are stored; the number read, 0 at the end, -1 on an error
// (a file that ends early or goes on after its last element, a broken archive).
int64_t lg_npy_read(lg_npy_reader *reader, void *out, int64_t n, lg_diags *diags);
void lg_npy_close(lg_npy_reader *reader); // NULL is allowed

// The part of `place` that is a file: all of it, or up to the ":member" of an archive.
size_t lg_npy_path_length(const char *place);

// Appends a version 1.0 header whose data starts at a multiple of 64 bytes.
void lg_npy_write_header(lg_npy_type type, int rank, const int64_t *shape, lg_str *out);
// Writes a file with the product of `shape` elements of `data`.
bool lg_npy_write(const char *path, lg_npy_type type, int rank, const int64_t *shape,
                  const void *data, lg_diags *diags);

#endif
