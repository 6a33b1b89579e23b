// SPDX-License-Identifier: Apache-2.0
// The header of a .npy file: a magic, a version, and a Python dictionary literal with exactly the
// keys descr, fortran_order and shape. Format: numpy/lib/format, versions 1.0 to 3.0.
#include "support/npy_header.h"

#include <string.h>

typedef struct dtype_row {
    const char *descr; // without the byte order
    const char *name;
    size_t bytes;
} dtype_row;

static const dtype_row rows[] = {
    [LG_NPY_FLOAT64] = {"f8", "float64", 8}, [LG_NPY_FLOAT32] = {"f4", "float32", 4},
    [LG_NPY_FLOAT16] = {"f2", "float16", 2}, [LG_NPY_INT64] = {"i8", "int64", 8},
    [LG_NPY_INT32] = {"i4", "int32", 4},     [LG_NPY_INT16] = {"i2", "int16", 2},
    [LG_NPY_INT8] = {"i1", "int8", 1},       [LG_NPY_UINT8] = {"u1", "uint8", 1},
    [LG_NPY_BOOL] = {"b1", "bool", 1},
};

static const int FIRST = LG_NPY_FLOAT64;
static const int END = LG_NPY_BOOL + 1;

const char *lg_npy_type_name(lg_npy_type type) {
    return (int)type >= FIRST && (int)type < END ? rows[type].name : "invalid";
}

bool lg_npy_type_parse(const char *name, lg_npy_type *type) {
    for (int i = FIRST; i < END; i++) {
        if (strcmp(name, rows[i].name) == 0) {
            *type = (lg_npy_type)i;
            return true;
        }
    }
    return false;
}

const char *lg_npy_descr(lg_npy_type type) {
    return rows[type].descr;
}

// The dictionary's text while it is read. The text is not NUL-terminated.
typedef struct cursor {
    const char *at;
    const char *end;
    const char *name;
    lg_diags *diags;
} cursor;

static void skip_blanks(cursor *c) {
    while (c->at < c->end && (*c->at == ' ' || *c->at == '\t' || *c->at == '\n')) {
        c->at++;
    }
}

static bool take(cursor *c, char wanted) {
    skip_blanks(c);
    if (c->at < c->end && *c->at == wanted) {
        c->at++;
        return true;
    }
    return false;
}

static bool fail(const cursor *c, const char *problem) {
    return lg_error(c->diags, (lg_loc){.file = c->name}, "is not a valid .npy file: %s", problem);
}

static bool take_string(cursor *c, char *out, size_t size) {
    skip_blanks(c);
    if (c->at == c->end || (*c->at != '\'' && *c->at != '"')) {
        return false;
    }
    char quote = *c->at++;
    size_t n = 0;
    while (c->at < c->end && *c->at != quote) {
        if (n + 1 == size || *c->at == '\\' || (unsigned char)*c->at < ' ') {
            return false;
        }
        out[n++] = *c->at++;
    }
    out[n] = '\0';
    return take(c, quote);
}

static bool take_word(cursor *c, const char *word) {
    skip_blanks(c);
    size_t n = strlen(word);
    if ((size_t)(c->end - c->at) < n || memcmp(c->at, word, n) != 0) {
        return false;
    }
    c->at += n;
    return true;
}

static bool read_descr(cursor *c, lg_npy_header *header) {
    char descr[32] = "";
    skip_blanks(c);
    if (c->at < c->end && *c->at == '[') {
        return lg_error(c->diags, (lg_loc){.file = c->name},
                        "holds records (a structured dtype); save one field as a plain array");
    }
    if (!take_string(c, descr, sizeof descr) || strlen(descr) < 2) {
        return fail(c, "descr is no type text");
    }
    const char *type = descr + (strchr("<>=|", descr[0]) != NULL);
    if (*type == 'O') {
        return lg_error(c->diags, (lg_loc){.file = c->name},
                        "holds pickled Python objects (dtype object), which are never loaded; "
                        "save numbers");
    }
    if (descr[0] == '>') {
        return lg_error(c->diags, (lg_loc){.file = c->name},
                        "is big-endian (dtype %s); save it with .astype('<%s')", descr, type);
    }
    for (int i = FIRST; i < END; i++) {
        if (strcmp(type, rows[i].descr) == 0) {
            header->type = (lg_npy_type)i;
            header->item_bytes = rows[i].bytes;
            return true;
        }
    }
    return lg_error(c->diags, (lg_loc){.file = c->name},
                    "has dtype %s, which is not read; want float64, float32, float16, int64, "
                    "int32, int16, int8, uint8 or bool",
                    descr);
}

static bool read_order(cursor *c) {
    if (take_word(c, "False")) {
        return true;
    }
    if (!take_word(c, "True")) {
        return fail(c, "fortran_order is neither True nor False");
    }
    return lg_error(c->diags, (lg_loc){.file = c->name},
                    "is in Fortran order; save it with numpy.ascontiguousarray");
}

static bool read_size(cursor *c, int64_t *size) {
    skip_blanks(c);
    if (c->at < c->end && *c->at == '-') {
        return fail(c, "a size in its shape is negative");
    }
    const char *begin = c->at;
    int64_t value = 0;
    while (c->at < c->end && *c->at >= '0' && *c->at <= '9') {
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, *c->at - '0', &value)) {
            return fail(c, "a size in its shape does not fit 63 bits");
        }
        c->at++;
    }
    if (c->at == begin) {
        return fail(c, "its shape is not a tuple of sizes");
    }
    if (c->at < c->end && *c->at == 'L') {
        c->at++; // Python 2 wrote long integers so
    }
    *size = value;
    return true;
}

static bool read_shape(cursor *c, lg_npy_header *header) {
    if (!take(c, '(')) {
        return fail(c, "its shape is not a tuple of sizes");
    }
    header->rank = 0;
    while (!take(c, ')')) {
        if (header->rank == LG_NPY_MAX_RANK) {
            return fail(c, "its shape has more than 32 dimensions");
        }
        if (!read_size(c, &header->shape[header->rank])) {
            return false;
        }
        header->rank++;
        bool comma = take(c, ',');
        skip_blanks(c);
        bool closes = c->at < c->end && *c->at == ')';
        if ((!comma && !closes) || (!comma && header->rank == 1)) {
            return fail(c, "its shape is not a tuple of sizes");
        }
    }
    return true;
}

static bool count_elements(const cursor *c, lg_npy_header *header) {
    int64_t n = 1;
    bool empty = false;
    for (int i = 0; i < header->rank; i++) {
        int64_t size = header->shape[i] ? header->shape[i] : 1;
        empty |= header->shape[i] == 0;
        if (__builtin_mul_overflow(n, size, &n)) {
            return fail(c, "the product of its shape does not fit 63 bits");
        }
    }
    int64_t bytes;
    if (__builtin_mul_overflow(n, (int64_t)header->item_bytes, &bytes)) {
        return fail(c, "the product of its shape does not fit 63 bits");
    }
    header->n = empty ? 0 : n;
    return true;
}

static bool read_entry(cursor *c, const char *key, unsigned *seen, lg_npy_header *header) {
    static const char *const keys[] = {"descr", "fortran_order", "shape"};
    int k = 0;
    while (k < 3 && strcmp(key, keys[k]) != 0) {
        k++;
    }
    if (k == 3) {
        return fail(c, "its header has a key besides descr, fortran_order and shape");
    }
    if (*seen & 1u << k) {
        return fail(c, "its header has a key twice");
    }
    *seen |= 1u << k;
    return k == 0 ? read_descr(c, header) : k == 1 ? read_order(c) : read_shape(c, header);
}

bool lg_npy_read_dictionary(const char *name, const char *text, size_t n, lg_npy_header *header,
                            lg_diags *diags) {
    cursor c = {text, text + n, name, diags};
    unsigned seen = 0;
    if (!take(&c, '{')) {
        return fail(&c, "its header is no dictionary");
    }
    while (!take(&c, '}')) {
        char key[32];
        if (!take_string(&c, key, sizeof key) || !take(&c, ':')) {
            return fail(&c, "its header is no dictionary");
        }
        if (!read_entry(&c, key, &seen, header)) {
            return false;
        }
        skip_blanks(&c);
        if (!take(&c, ',') && (c.at == c.end || *c.at != '}')) {
            return fail(&c, "its header is no dictionary");
        }
    }
    skip_blanks(&c);
    if (c.at != c.end) {
        return fail(&c, "there is more after the dictionary of its header");
    }
    if (seen != 7) {
        return fail(&c, "its header lacks descr, fortran_order or shape");
    }
    return count_elements(&c, header);
}

bool lg_npy_read_preamble(const char *name, const unsigned char *bytes, size_t n,
                          size_t *preamble_bytes, size_t *dictionary_bytes, lg_diags *diags) {
    cursor c = {NULL, NULL, name, diags};
    if (n < 10 || memcmp(bytes, "\x93NUMPY", 6) != 0) {
        return fail(&c, n < 10 ? "it is too short" : "it does not begin with \\x93NUMPY");
    }
    if (bytes[6] < 1 || bytes[6] > 3 || bytes[7] != 0) {
        return lg_error(diags, (lg_loc){.file = name},
                        "has .npy format version %d.%d; versions 1.0 to 3.0 are read", bytes[6],
                        bytes[7]);
    }
    *dictionary_bytes = (size_t)bytes[8] | (size_t)bytes[9] << 8;
    *preamble_bytes = 10;
    if (bytes[6] > 1) {
        if (n < 12) {
            return fail(&c, "it is too short");
        }
        *dictionary_bytes |= (size_t)bytes[10] << 16 | (size_t)bytes[11] << 24;
        *preamble_bytes = 12;
    }
    if (*dictionary_bytes > LG_NPY_MAX_DICTIONARY) {
        return fail(&c, "its header claims more than a mebibyte");
    }
    return true;
}
