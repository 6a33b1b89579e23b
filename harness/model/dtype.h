// SPDX-License-Identifier: Apache-2.0
// Element types, and reading or writing one element of any of them.
#ifndef LG_MODEL_DTYPE_H
#define LG_MODEL_DTYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum lg_dtype {
    LG_DTYPE_NONE = 0, // "not given"
#define LG_DTYPE(id, name, bytes, kind) LG_##id,
#include "model/dtype.def"
#undef LG_DTYPE
    LG_N_DTYPES
} lg_dtype;

const char *lg_dtype_name(lg_dtype dtype); // "float32"; "none" for LG_DTYPE_NONE
size_t lg_dtype_bytes(lg_dtype dtype);
bool lg_dtype_is_float(lg_dtype dtype);
bool lg_dtype_parse(const char *name, lg_dtype *dtype);
// NULL-free list of the names, for "did you mean" and help; *n gets the count.
const char *const *lg_dtype_names(size_t *n);
// Whether an integer type can hold the value; true for the floating types.
bool lg_dtype_holds(lg_dtype dtype, int64_t value);

// Element `index` of a packed array, widened. Floats are exact; integers beyond 2^53 are rounded by
// lg_dtype_get_f64, and lg_dtype_get_i64 truncates floats toward zero (NaN, out of range:
// INT64_MIN).
double lg_dtype_get_f64(lg_dtype dtype, const void *data, int64_t index);
int64_t lg_dtype_get_i64(lg_dtype dtype, const void *data, int64_t index);
// Stores rounded to nearest even (floats) or wrapped (integers), as a C cast on the device would.
void lg_dtype_set_f64(lg_dtype dtype, void *data, int64_t index, double value);
void lg_dtype_set_i64(lg_dtype dtype, void *data, int64_t index, int64_t value);

#endif
