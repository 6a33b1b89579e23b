// SPDX-License-Identifier: Apache-2.0
#include "support/alloc.h"
#include "support/npy.h"
#include "support/str.h"
#include "unit/testing.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zip.h>

// A file from its dictionary text and a number of data bytes (0, 1, 2, …).
static lg_str make_file(int version, const char *dictionary, size_t n_data) {
    lg_str file = {0};
    size_t n = strlen(dictionary);
    const char preamble[] = {(char)0x93,      'N',           'U', 'M', 'P', 'Y', (char)version, 0,
                             (char)(n & 255), (char)(n >> 8)};
    lg_str_add_n(&file, preamble, sizeof preamble);
    if (version > 1) {
        lg_str_add_n(&file, "\0\0", 2);
    }
    lg_str_add_n(&file, dictionary, n);
    for (size_t i = 0; i < n_data; i++) {
        char byte = (char)i;
        lg_str_add_n(&file, &byte, 1);
    }
    return file;
}

typedef struct good_row {
    const char *name;
    int version;
    const char *dictionary;
    lg_npy_type type;
    int rank;
    int64_t shape[3];
    size_t n_data;
} good_row;

static const good_row good[] = {
    {"v1 int64",
     1,
     "{'descr': '<i8', 'fortran_order': False, 'shape': (3,), }",
     LG_NPY_INT64,
     1,
     {3},
     24},
    {"v2 float32",
     2,
     "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }",
     LG_NPY_FLOAT32,
     2,
     {2, 3},
     24},
    {"v3 float64",
     3,
     "{'descr': '<f8', 'fortran_order': False, 'shape': (1, 2, 1)}  \n",
     LG_NPY_FLOAT64,
     3,
     {1, 2, 1},
     16},
    {"float16",
     1,
     "{'descr': '<f2', 'fortran_order': False, 'shape': (4,)}",
     LG_NPY_FLOAT16,
     1,
     {4},
     8},
    {"int32",
     1,
     "{'descr': '<i4', 'fortran_order': False, 'shape': (2,)}",
     LG_NPY_INT32,
     1,
     {2},
     8},
    {"int16",
     1,
     "{'descr': '<i2', 'fortran_order': False, 'shape': (2,)}",
     LG_NPY_INT16,
     1,
     {2},
     4},
    {"int8", 1, "{'descr': '|i1', 'fortran_order': False, 'shape': (2,)}", LG_NPY_INT8, 1, {2}, 2},
    {"uint8",
     1,
     "{'descr': '|u1', 'fortran_order': False, 'shape': (2,)}",
     LG_NPY_UINT8,
     1,
     {2},
     2},
    {"bool", 1, "{'descr': '|b1', 'fortran_order': False, 'shape': (2,)}", LG_NPY_BOOL, 1, {2}, 2},
    {"scalar", 1, "{'descr': '<i8', 'fortran_order': False, 'shape': ()}", LG_NPY_INT64, 0, {0}, 8},
    {"empty",
     1,
     "{'descr': '<i8', 'fortran_order': False, 'shape': (0, 5)}",
     LG_NPY_INT64,
     2,
     {0, 5},
     0},
    {"other order, quotes and suffixes",
     1,
     "{ \"shape\" : (2L,) , \"descr\":\"<i8\", \"fortran_order\":False }",
     LG_NPY_INT64,
     1,
     {2},
     16},
};

static void test_good(void) {
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        const good_row *row = &good[i];
        lg_str file = make_file(row->version, row->dictionary, row->n_data);
        lg_npy_header header;
        lg_diags diags = {0};
        LG_CHECK_ROW(row->name, lg_npy_parse("x.npy", file.text, file.n, &header, &diags));
        LG_CHECK_ROW(row->name, header.type == row->type && header.rank == row->rank);
        for (int d = 0; d < row->rank; d++) {
            LG_CHECK_ROW(row->name, header.shape[d] == row->shape[d]);
        }
        LG_CHECK_ROW(row->name, (size_t)header.n * header.item_bytes == row->n_data);
        LG_CHECK_ROW(row->name, header.data_offset + row->n_data == file.n);
        lg_diags_free(&diags);
        lg_str_free(&file);
    }
}

typedef struct bad_row {
    const char *name;
    int version;
    const char *dictionary;
    size_t n_data;
    const char *message;
} bad_row;

static const bad_row bad[] = {
    {"objects", 1, "{'descr': '|O', 'fortran_order': False, 'shape': (1,)}", 8,
     "pickled Python objects"},
    {"records", 1, "{'descr': [('a', '<i8')], 'fortran_order': False, 'shape': (1,)}", 8,
     "structured dtype"},
    {"big-endian", 1, "{'descr': '>i8', 'fortran_order': False, 'shape': (1,)}", 8, "big-endian"},
    {"Fortran order", 1, "{'descr': '<i8', 'fortran_order': True, 'shape': (1, 2)}", 16,
     "Fortran order"},
    {"complex", 1, "{'descr': '<c16', 'fortran_order': False, 'shape': (1,)}", 16, "dtype <c16"},
    {"uint16", 1, "{'descr': '<u2', 'fortran_order': False, 'shape': (1,)}", 2, "dtype <u2"},
    {"text", 1, "{'descr': '<U5', 'fortran_order': False, 'shape': (1,)}", 20, "dtype <U5"},
    {"version 4", 4, "{'descr': '<i8', 'fortran_order': False, 'shape': (1,)}", 8, "version 4.0"},
    {"version 0", 0, "{'descr': '<i8', 'fortran_order': False, 'shape': (1,)}", 8, "version 0.0"},
    {"no descr", 1, "{'fortran_order': False, 'shape': (1,)}", 8, "lacks"},
    {"no shape", 1, "{'descr': '<i8', 'fortran_order': False}", 8, "lacks"},
    {"no order", 1, "{'descr': '<i8', 'shape': (1,)}", 8, "lacks"},
    {"a further key", 1, "{'descr': '<i8', 'fortran_order': False, 'shape': (1,), 'x': 1}", 8,
     "besides"},
    {"a doubled key", 1, "{'descr': '<i8', 'descr': '<i8', 'fortran_order': False, 'shape': (1,)}",
     8, "twice"},
    {"negative size", 1, "{'descr': '<i8', 'fortran_order': False, 'shape': (-1,)}", 0, "negative"},
    {"size of 2^63", 1, "{'descr': '<i8', 'fortran_order': False, 'shape': (9223372036854775808,)}",
     0, "63 bits"},
    {"product beyond 2^63", 1,
     "{'descr': '<i8', 'fortran_order': False, 'shape': (4294967296, 4294967296)}", 0, "63 bits"},
    {"bytes beyond 2^63", 1,
     "{'descr': '<i8', 'fortran_order': False, 'shape': (2305843009213693952,)}", 0, "63 bits"},
    {"product hidden behind a zero", 1,
     "{'descr': '<i8', 'fortran_order': False, 'shape': (0, 4294967296, 4294967296)}", 0,
     "63 bits"},
    {"a shape that is no tuple", 1, "{'descr': '<i8', 'fortran_order': False, 'shape': (3)}", 24,
     "tuple"},
    {"a shape of words", 1, "{'descr': '<i8', 'fortran_order': False, 'shape': (x,)}", 24, "tuple"},
    {"a shape without end", 1, "{'descr': '<i8', 'fortran_order': False, 'shape': (1, 2", 24,
     "tuple"},
    {"order is a number", 1, "{'descr': '<i8', 'fortran_order': 0, 'shape': (1,)}", 8, "neither"},
    {"no dictionary", 1, "garbage", 0, "no dictionary"},
    {"empty dictionary text", 1, "", 0, "no dictionary"},
    {"text after it", 1, "{'descr': '<i8', 'fortran_order': False, 'shape': (1,)} x", 8,
     "more after"},
    {"too few elements", 1, "{'descr': '<i8', 'fortran_order': False, 'shape': (3,)}", 23,
     "23 bytes of elements, but its shape needs 24"},
    {"too many elements", 1, "{'descr': '<i8', 'fortran_order': False, 'shape': (3,)}", 25,
     "25 bytes of elements, but its shape needs 24"},
    {"33 dimensions", 1,
     "{'descr': '<i8', 'fortran_order': False, 'shape': "
     "(1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,"
     "1,1,1,1,1,1,1,1,1,1,1)}",
     8, "32 dimensions"},
};

static void test_bad(void) {
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const bad_row *row = &bad[i];
        lg_str file = make_file(row->version, row->dictionary, row->n_data);
        lg_npy_header header;
        lg_diags diags = {0};
        LG_CHECK_ROW(row->name, !lg_npy_parse("x.npy", file.text, file.n, &header, &diags));
        LG_CHECK_ROW(row->name, diags.n == 1 && strstr(diags.items[0].message, row->message));
        lg_diags_free(&diags);
        lg_str_free(&file);
    }
}

// Every cut of a good file, and every single byte changed, gives an answer and no crash.
static void test_hostile(void) {
    lg_str file = make_file(2, good[1].dictionary, 24);
    for (size_t n = 0; n < file.n; n++) {
        lg_npy_header header;
        lg_diags diags = {0};
        char *exact = malloc(n + 1); // so that a read past the end is seen
        memcpy(exact, file.text, n);
        CU_ASSERT_FALSE(lg_npy_parse("x.npy", exact, n, &header, &diags));
        CU_ASSERT_EQUAL(diags.n_errors, 1);
        free(exact);
        lg_diags_free(&diags);
    }
    for (size_t at = 0; at < file.n - 24; at++) {
        for (int byte = 0; byte < 256; byte++) {
            char old = file.text[at];
            file.text[at] = (char)byte;
            lg_npy_header header;
            lg_diags diags = {0};
            bool ok = lg_npy_parse("x.npy", file.text, file.n, &header, &diags);
            CU_ASSERT_EQUAL(ok, diags.n_errors == 0);
            lg_diags_free(&diags);
            file.text[at] = old;
        }
    }
    lg_str_free(&file);
}

static char *temp_path(const char *suffix) {
    char *path = lg_xasprintf("/tmp/lossgate_npy_XXXXXX%s", suffix);
    int fd = mkstemps(path, (int)strlen(suffix));
    CU_ASSERT_FATAL(fd >= 0);
    close(fd);
    return path;
}

static void test_round_trip_in_chunks(void) {
    int64_t values[100];
    for (int i = 0; i < 100; i++) {
        values[i] = (int64_t)i * INT64_C(0x0123456789abcd) - 7;
    }
    char *path = temp_path(".npy");
    lg_diags diags = {0};
    int64_t shape[2] = {20, 5};
    CU_ASSERT_TRUE(lg_npy_write(path, LG_NPY_INT64, 2, shape, values, &diags));
    lg_npy_header header;
    lg_npy_reader *reader = lg_npy_open(path, &header, &diags);
    CU_ASSERT_PTR_NOT_NULL_FATAL(reader);
    CU_ASSERT_EQUAL(header.data_offset % 64, 0);
    CU_ASSERT_TRUE(header.rank == 2 && header.shape[0] == 20 && header.shape[1] == 5);
    int64_t got[7];
    int64_t total = 0;
    int64_t n;
    while ((n = lg_npy_read(reader, got, 7, &diags)) > 0) {
        CU_ASSERT_EQUAL(memcmp(got, values + total, (size_t)n * sizeof *got), 0);
        total += n;
    }
    CU_ASSERT_EQUAL(n, 0);
    CU_ASSERT_EQUAL(total, 100);
    CU_ASSERT_EQUAL(diags.n, 0);
    lg_npy_close(reader);
    unlink(path);
    free(path);
}

// A header that claims an exbibyte is refused when the file is opened, before memory is asked for.
static void test_files_that_lie(void) {
    char *path = temp_path(".npy");
    lg_str file = make_file(
        1, "{'descr': '<i8', 'fortran_order': False, 'shape': (144115188075855872,)}", 16);
    FILE *out = fopen(path, "wb");
    fwrite(file.text, 1, file.n, out);
    fclose(out);
    lg_npy_header header;
    lg_diags diags = {0};
    CU_ASSERT_PTR_NULL(lg_npy_open(path, &header, &diags));
    CU_ASSERT_PTR_NOT_NULL_FATAL(strstr(diags.items[0].message, "needs 1152921504606846976"));
    CU_ASSERT_PTR_NULL(lg_npy_open("/nonexistent/x.npy", &header, &diags));
    CU_ASSERT_PTR_NULL(lg_npy_open("/tmp", &header, &diags));
    CU_ASSERT_PTR_NULL(lg_npy_open(path, NULL, &diags));
    CU_ASSERT_EQUAL(diags.n_errors, 4);
    lg_diags_free(&diags);
    lg_str_free(&file);
    unlink(path);
    free(path);
}

static void add_member(zip_t *archive, const char *name, const lg_str *file) {
    zip_source_t *source = zip_source_buffer(archive, file->text, file->n, 0);
    CU_ASSERT_TRUE(zip_file_add(archive, name, source, 0) >= 0);
}

static void test_npz(void) {
    char *path = temp_path(".npz");
    unlink(path);
    int code;
    zip_t *archive = zip_open(path, ZIP_CREATE | ZIP_EXCL, &code);
    CU_ASSERT_PTR_NOT_NULL_FATAL(archive);
    lg_str labels = make_file(1, good[0].dictionary, 24);
    lg_str logits = make_file(2, good[1].dictionary, 24);
    add_member(archive, "labels.npy", &labels);
    add_member(archive, "logits.npy", &logits);
    CU_ASSERT_EQUAL_FATAL(zip_close(archive), 0);

    lg_diags diags = {0};
    lg_npy_header header;
    char *place = lg_xasprintf("%s:labels", path);
    CU_ASSERT_EQUAL(lg_npy_path_length(place), strlen(path));
    lg_npy_reader *reader = lg_npy_open(place, &header, &diags);
    CU_ASSERT_PTR_NOT_NULL_FATAL(reader);
    unsigned char bytes[24];
    CU_ASSERT_EQUAL(lg_npy_read(reader, bytes, 3, &diags), 3);
    CU_ASSERT_TRUE(bytes[0] == 0 && bytes[23] == 23);
    CU_ASSERT_EQUAL(lg_npy_read(reader, bytes, 3, &diags), 0);
    lg_npy_close(reader);
    free(place);

    CU_ASSERT_PTR_NULL(lg_npy_open(path, &header, &diags)); // which of the two?
    CU_ASSERT_PTR_NOT_NULL(strstr(diags.items[0].message, "labels, logits"));
    place = lg_xasprintf("%s:lables", path);
    CU_ASSERT_PTR_NULL(lg_npy_open(place, &header, &diags));
    CU_ASSERT_PTR_NOT_NULL(strstr(diags.items[1].message, "no array 'lables'"));
    free(place);
    lg_diags_free(&diags);
    lg_str_free(&labels);
    lg_str_free(&logits);
    unlink(path);
    free(path);
}

int main(void) {
    static const lg_test tests[] = {
        {"good headers", test_good},
        {"refused headers", test_bad},
        {"cut and changed bytes", test_hostile},
        {"round trip in chunks", test_round_trip_in_chunks},
        {"files that lie about their size", test_files_that_lie},
        {"members of archives", test_npz},
    };
    return lg_run_tests("npy", tests, sizeof tests / sizeof *tests);
}
