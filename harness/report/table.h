// SPDX-License-Identifier: Apache-2.0
// The matrix scenario × kernel × (policy, mode) in text: one mark a cell over all matrix points.
#ifndef LG_REPORT_TABLE_H
#define LG_REPORT_TABLE_H

#include "result/case.h"

#include <stdio.h>

typedef struct lg_table_cell {
    int64_t n;
    int64_t n_not_expected; // without the untested
    int64_t by_verdict[LG_N_VERDICTS];
} lg_table_cell;

typedef struct lg_table_row {
    char *scenario;
    char *kernel; // without its policy
    lg_table_cell cells[LG_N_POLICIES][LG_N_MODES];
} lg_table_row;

typedef struct lg_table {
    lg_table_row *rows; // in order of first appearance
    size_t n_rows;
    size_t capacity;
    bool used[LG_N_POLICIES][LG_N_MODES];
} lg_table;

// Returns the cell the result was counted in; valid until the next add.
const lg_table_cell *lg_table_add(lg_table *table, const lg_case_result *result);
// At most `width` columns of text; a table that is wider is printed in several parts.
void lg_table_print(const lg_table *table, FILE *out, bool color, int width);
void lg_table_free(lg_table *table);

#endif
