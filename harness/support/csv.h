// SPDX-License-Identifier: Apache-2.0
// One column of numbers in a text file, read in order in bounded memory.
//
// Each line is one number, whole: `7`, `-100`, `2.5`, `1e3`, `nan`, `inf`, plain or in double
// quotes. The first line may be a name instead. Lines end in LF or CRLF; a UTF-8 byte order mark is
// skipped; empty lines are allowed at the end only. A second column, a blank, an integer beyond 64
// bits or a line longer than LG_CSV_MAX_LINE is an error with line and column.
#ifndef LG_SUPPORT_CSV_H
#define LG_SUPPORT_CSV_H

#include "support/error.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum {
    LG_CSV_MAX_LINE = 256, // bytes; no number needs as many
    LG_CSV_MAX_ERRORS = 20,
};

typedef struct lg_csv_value {
    bool is_integer;
    int64_t integer; // only if is_integer
    double real;     // always; rounded beyond 2^53
} lg_csv_value;

typedef struct lg_csv_reader lg_csv_reader;

// NULL with an error added. One thread a reader.
lg_csv_reader *lg_csv_open(const char *path, lg_diags *diags);
// The same for an open stream, which the reader closes.
lg_csv_reader *lg_csv_open_stream(FILE *stream, const char *name);
// The next up to n values; the number read, 0 at the end, -1 when a line was no number: the errors,
// at most LG_CSV_MAX_ERRORS of them, are then in `diags`, and nothing more can be read.
int64_t lg_csv_read(lg_csv_reader *reader, lg_csv_value *out, int64_t n, lg_diags *diags);
void lg_csv_close(lg_csv_reader *reader); // NULL is allowed

#endif
