// SPDX-License-Identifier: Apache-2.0
#include "model/dtype.h"

#include "model/half.h"

#include <math.h>
#include <string.h>

typedef enum kind { NONE, FLOAT, INT, UINT, BOOL } kind;

static const char *const names[] = {
    "none",
#define LG_DTYPE(id, name, bytes, kind) name,
#include "model/dtype.def"
#undef LG_DTYPE
};

static const size_t sizes[] = {
    0,
#define LG_DTYPE(id, name, bytes, kind) bytes,
#include "model/dtype.def"
#undef LG_DTYPE
};

static const kind kinds[] = {
    NONE,
#define LG_DTYPE(id, name, bytes, kind) kind,
#include "model/dtype.def"
#undef LG_DTYPE
};

const char *lg_dtype_name(lg_dtype dtype) {
    return (unsigned)dtype < LG_N_DTYPES ? names[dtype] : "invalid";
}

size_t lg_dtype_bytes(lg_dtype dtype) {
    return (unsigned)dtype < LG_N_DTYPES ? sizes[dtype] : 0;
}

bool lg_dtype_is_float(lg_dtype dtype) {
    return (unsigned)dtype < LG_N_DTYPES && kinds[dtype] == FLOAT;
}

bool lg_dtype_parse(const char *name, lg_dtype *dtype) {
    for (int i = LG_DTYPE_NONE + 1; i < LG_N_DTYPES; i++) {
        if (strcmp(name, names[i]) == 0) {
            *dtype = (lg_dtype)i;
            return true;
        }
    }
    return false;
}

const char *const *lg_dtype_names(size_t *n) {
    *n = LG_N_DTYPES - 1;
    return names + 1;
}

bool lg_dtype_holds(lg_dtype dtype, int64_t value) {
    switch (dtype) {
    case LG_INT32:
        return value == (int32_t)value;
    case LG_INT16:
        return value == (int16_t)value;
    case LG_INT8:
        return value == (int8_t)value;
    case LG_UINT8:
        return value == (uint8_t)value;
    case LG_BOOL:
        return value == 0 || value == 1;
    case LG_INT64:
    case LG_FLOAT64:
    case LG_FLOAT32:
    case LG_FLOAT16:
    case LG_BFLOAT16:
        return true;
    case LG_DTYPE_NONE:
    case LG_N_DTYPES:
        break;
    }
    return false;
}

static int64_t truncate_f64(double value) {
    // 2^63 itself is out of range; -2^63 is INT64_MIN, which is also the answer for what does not
    // fit.
    return value >= -0x1p63 && value < 0x1p63 ? (int64_t)value : INT64_MIN;
}

// The double nearest to `value` with ties and inexact low bits kept visible ("round to odd"), so
// that rounding it once more to a narrower type gives what rounding `value` directly would.
static double sticky_f64(int64_t value) {
    uint64_t magnitude = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    if (magnitude >> 53) {
        uint64_t lost = magnitude & 0x7ff;
        magnitude &= ~(uint64_t)0x7ff;
        if (lost) {
            magnitude |= 0x800;
        }
    }
    return value < 0 ? -(double)magnitude : (double)magnitude;
}

// Elements may lie at any address.
#define LOAD(name, type)                                                                           \
    static type load_##name(const void *data, int64_t index) {                                     \
        type value;                                                                                \
        memcpy(&value, (const char *)data + index * (int64_t)sizeof value, sizeof value);          \
        return value;                                                                              \
    }
LOAD(u16, uint16_t)
LOAD(f32, float)
LOAD(f64, double)
LOAD(i32, int32_t)
LOAD(i64, int64_t)
#undef LOAD

double lg_dtype_get_f64(lg_dtype dtype, const void *data, int64_t index) {
    switch (dtype) {
    case LG_FLOAT64:
        return load_f64(data, index);
    case LG_FLOAT32:
        return (double)load_f32(data, index);
    case LG_FLOAT16:
        return (double)lg_f16_to_f32(load_u16(data, index));
    case LG_BFLOAT16:
        return (double)lg_bf16_to_f32(load_u16(data, index));
    case LG_INT64:
        return (double)load_i64(data, index);
    case LG_INT32:
    case LG_INT16:
    case LG_INT8:
    case LG_UINT8:
    case LG_BOOL:
        return (double)lg_dtype_get_i64(dtype, data, index);
    case LG_DTYPE_NONE:
    case LG_N_DTYPES:
        break;
    }
    return NAN;
}

int64_t lg_dtype_get_i64(lg_dtype dtype, const void *data, int64_t index) {
    switch (dtype) {
    case LG_FLOAT64:
    case LG_FLOAT32:
    case LG_FLOAT16:
    case LG_BFLOAT16:
        return truncate_f64(lg_dtype_get_f64(dtype, data, index));
    case LG_INT64:
        return load_i64(data, index);
    case LG_INT32:
        return load_i32(data, index);
    case LG_INT16:
        return (int16_t)load_u16(data, index);
    case LG_INT8:
        return ((const int8_t *)data)[index];
    case LG_UINT8:
        return ((const uint8_t *)data)[index];
    case LG_BOOL:
        return ((const uint8_t *)data)[index] != 0;
    case LG_DTYPE_NONE:
    case LG_N_DTYPES:
        break;
    }
    return INT64_MIN;
}

static void store(void *data, int64_t index, const void *value, int64_t bytes) {
    memcpy((char *)data + index * bytes, value, (size_t)bytes);
}

static void store_int(lg_dtype dtype, void *data, int64_t index, int64_t value) {
    int64_t bytes = (int64_t)sizes[dtype];
    uint8_t low[8];
    for (int64_t i = 0; i < bytes; i++) {
        low[i] = (uint8_t)((uint64_t)value >> (8 * i));
    }
    store(data, index, low, bytes);
}

void lg_dtype_set_f64(lg_dtype dtype, void *data, int64_t index, double value) {
    switch (dtype) {
    case LG_FLOAT64:
        store(data, index, &value, sizeof value);
        return;
    case LG_FLOAT32: {
        float narrow = (float)value;
        store(data, index, &narrow, sizeof narrow);
        return;
    }
    case LG_FLOAT16: {
        uint16_t bits = lg_f64_to_f16(value);
        store(data, index, &bits, sizeof bits);
        return;
    }
    case LG_BFLOAT16: {
        uint16_t bits = lg_f64_to_bf16(value);
        store(data, index, &bits, sizeof bits);
        return;
    }
    case LG_BOOL:
        store_int(dtype, data, index, value != 0); // NaN is true, as in C
        return;
    case LG_INT64:
    case LG_INT32:
    case LG_INT16:
    case LG_INT8:
    case LG_UINT8:
        store_int(dtype, data, index, truncate_f64(value));
        return;
    case LG_DTYPE_NONE:
    case LG_N_DTYPES:
        return;
    }
}

void lg_dtype_set_i64(lg_dtype dtype, void *data, int64_t index, int64_t value) {
    switch (dtype) {
    case LG_FLOAT64:
        lg_dtype_set_f64(dtype, data, index, (double)value);
        return;
    case LG_FLOAT32:
    case LG_FLOAT16:
    case LG_BFLOAT16:
        lg_dtype_set_f64(dtype, data, index, sticky_f64(value));
        return;
    case LG_BOOL:
        store_int(dtype, data, index, value != 0);
        return;
    case LG_INT64:
    case LG_INT32:
    case LG_INT16:
    case LG_INT8:
    case LG_UINT8:
        store_int(dtype, data, index, value);
        return;
    case LG_DTYPE_NONE:
    case LG_N_DTYPES:
        return;
    }
}
