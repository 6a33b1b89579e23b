// SPDX-License-Identifier: Apache-2.0
// Labels as evidence: one pass, memory that does not grow with the number of rows.
//
// Owner: lg_label_table_free. One thread a table. Labels are read as they are handed to the kernel.
#ifndef LG_LABELS_EVIDENCE_H
#define LG_LABELS_EVIDENCE_H

#include "result/finding.h"
#include "attribute/attribute.h"

#include <stdbool.h>
#include <stdint.h>

// What one label's bits could be if they are not an int64 class index.
typedef enum lg_label_pattern {
    LG_PATTERN_FLOAT64 = 1,    // the bits of a whole float64 class
    LG_PATTERN_FLOAT32 = 2,    // two whole float32 classes side by side
    LG_PATTERN_INT32_PAIR = 4, // two int32 classes side by side
    LG_PATTERN_WIDE = 8,       // a class plus a multiple of 2^32
    LG_PATTERN_SIGN_BYTE = 16, // -128..-1: a byte of 128..255 read as signed
    LG_PATTERN_INT_MIN = 32,   // INT32_MIN or INT64_MIN: a NaN cast to an integer
    LG_PATTERN_POINTER = 64,   // a user-space address of a 64-bit process
} lg_label_pattern;

// A bit set; a plain in-range label may have bits too (0 is also the bits of 0.0).
unsigned lg_label_patterns(int64_t label, int64_t head_width, int64_t ignore_index);

typedef struct lg_label_table {
    lg_label_evidence evidence;
    uint32_t *counts;      // a count for each class of [0, C); NULL when C is beyond LG_COUNT_LIMIT
    uint64_t *seen;        // one bit a class instead, up to LG_BITMAP_LIMIT
    lg_value_count *out;   // out-of-range values; after finish: the first n_out, by value
    int64_t n_out;         // distinct out-of-range values counted
    int64_t out_capacity;  // slots of the hash while collecting: a power of two
    int64_t *above;        // the last row_length labels of a map, as a ring; NULL: no map
    int64_t last;          // the label before
    int64_t run;           // its run, when it is out of range
    int64_t n_out_dropped; // labels whose value found no slot: more than LG_OUT_LIMIT distinct ones
    // Live labels that have the pattern, in range or not: a misread concerns every row.
    int64_t n_all_float64;
    int64_t n_all_float32;
    int64_t n_all_int32_pair;
} lg_label_table;

enum {
    LG_COUNT_LIMIT = 1 << 22,  // classes with a count each: 16 MiB
    LG_BITMAP_LIMIT = 1 << 26, // classes with a bit each: 8 MiB
    LG_OUT_LIMIT = 1 << 16,    // distinct out-of-range values with a count each
};

// false when memory is out.
bool lg_label_table_init(lg_label_table *table, int64_t head_width, int64_t classes,
                         int64_t ignore_index, lg_dtype dtype);
// Labels come in rows of this many: a map. Before the first label; false when memory is out.
bool lg_label_table_set_map(lg_label_table *table, int64_t row_length);
void lg_label_table_add(lg_label_table *table, int64_t label);
void lg_label_table_finish(lg_label_table *table);
void lg_label_table_free(lg_label_table *table);

// Fills a table from the index targets that the batch hands over, held against a head of that
// width. false when memory is out.
bool lg_label_table_of_batch(const lg_batch *batch, int64_t head_width, lg_label_table *table);

#endif
