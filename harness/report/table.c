// SPDX-License-Identifier: Apache-2.0
#include "report/internal.h"

#include "support/alloc.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { CELL_WIDTH = 6, MAX_LABEL = 26 };

static lg_table_row *find_row(lg_table *table, const lg_case *what) {
    const char *kernel = what->kernel->base_name;
    // A scenario's cases come together, so its rows are the last ones.
    for (size_t i = table->n_rows; i > 0; i--) {
        lg_table_row *row = &table->rows[i - 1];
        if (strcmp(row->scenario, what->scenario->name) != 0) {
            break;
        }
        if (strcmp(row->kernel, kernel) == 0) {
            return row;
        }
    }
    if (table->n_rows == table->capacity) {
        table->capacity = table->capacity * 2 + 16;
        table->rows = lg_xrealloc(table->rows, table->capacity * sizeof(*table->rows));
    }
    lg_table_row *row = &table->rows[table->n_rows++];
    *row =
        (lg_table_row){.scenario = lg_xstrdup(what->scenario->name), .kernel = lg_xstrdup(kernel)};
    return row;
}

const lg_table_cell *lg_table_add(lg_table *table, const lg_case_result *result) {
    lg_policy policy = result->what->kernel->policy;
    lg_mode mode = result->what->mode;
    lg_table_cell *cell = &find_row(table, result->what)->cells[policy][mode];
    table->used[policy][mode] = true;
    cell->n++;
    cell->by_verdict[result->judged.verdict]++;
    cell->n_not_expected += !result->as_expected && result->judged.verdict != LG_UNTESTED;
    return cell;
}

static const char letters[LG_N_VERDICTS] = {
    [LG_UNTESTED] = '?',    [LG_PASS] = 'P',
    [LG_DETECTED] = 'D',    [LG_SILENT_CORRUPTION] = 'S',
    [LG_FALSE_ALARM] = 'A', [LG_WRONG_RESULT] = 'W',
    [LG_UNWRITTEN] = 'N',   [LG_MEMORY_FAULT] = 'M',
    [LG_HANG] = 'H',        [LG_CRASH] = 'C',
    [LG_SKIPPED] = '-',
};

static void print_cell(const lg_table_cell *cell, FILE *out, bool color) {
    if (cell->n == 0) {
        fprintf(out, "%*s", CELL_WIDTH, "");
        return;
    }
    const char *plain = lg_paint(color, LG_INK_PLAIN);
    if (cell->n_not_expected > 0) {
        fprintf(out, "%s %2s%3" PRId64 "%s", lg_paint(color, LG_INK_BAD), "!", cell->n_not_expected,
                plain);
        return;
    }
    if (cell->by_verdict[LG_UNTESTED] > 0) {
        fprintf(out, "%s %2s%3" PRId64 "%s", lg_paint(color, LG_INK_UNSURE), "?",
                cell->by_verdict[LG_UNTESTED], plain);
        return;
    }
    char marks[3] = "";
    size_t n = 0;
    for (int v = 0; v < LG_N_VERDICTS && n < 2; v++) {
        if (cell->by_verdict[v] > 0) {
            marks[n++] = letters[v];
        }
    }
    lg_ink ink = cell->by_verdict[LG_SKIPPED] == cell->n ? LG_INK_DIM : LG_INK_GOOD;
    fprintf(out, "%s %2s%3" PRId64 "%s", lg_paint(color, ink), marks, cell->n, plain);
}

// "blocking" → "block", "block_sizes" → "b_siz": five characters that stay apart.
static void mode_header(lg_mode mode, char text[6]) {
    const char *name = lg_mode_name(mode);
    const char *second = strchr(name, '_');
    if (second) {
        snprintf(text, 6, "%c%.4s", name[0], second);
    } else {
        snprintf(text, 6, "%.5s", name);
    }
}

typedef struct column {
    lg_policy policy;
    lg_mode mode;
} column;

static void print_header(FILE *out, int label_width, const column *columns, int n) {
    fprintf(out, "%*s", label_width, "");
    for (int i = 0; i < n; i++) {
        bool first = i == 0 || columns[i].policy != columns[i - 1].policy;
        fprintf(out, " %-*s", CELL_WIDTH - 1, first ? lg_policy_name(columns[i].policy) : "");
    }
    fprintf(out, "\n%*s", label_width, "");
    for (int i = 0; i < n; i++) {
        char text[6];
        mode_header(columns[i].mode, text);
        fprintf(out, " %5s", text);
    }
    fputs("\n", out);
}

static bool row_has(const lg_table_row *row, const column *columns, int n) {
    for (int i = 0; i < n; i++) {
        if (row->cells[columns[i].policy][columns[i].mode].n > 0) {
            return true;
        }
    }
    return false;
}

static void print_part(const lg_table *table, FILE *out, bool color, int label_width,
                       const column *columns, int n) {
    print_header(out, label_width, columns, n);
    const char *scenario = "";
    for (size_t r = 0; r < table->n_rows; r++) {
        const lg_table_row *row = &table->rows[r];
        if (!row_has(row, columns, n)) {
            continue;
        }
        if (strcmp(scenario, row->scenario) != 0) {
            scenario = row->scenario;
            fprintf(out, "%s\n", scenario);
        }
        // A long name keeps its end, which tells kernels of one family apart.
        int length = (int)strlen(row->kernel);
        int room = label_width - 2;
        if (length > room) {
            fprintf(out, "  …%s", row->kernel + length - room + 1);
        } else {
            fprintf(out, "  %-*s", room, row->kernel);
        }
        for (int i = 0; i < n; i++) {
            print_cell(&row->cells[columns[i].policy][columns[i].mode], out, color);
        }
        fputs("\n", out);
    }
}

static void print_legend(const lg_table *table, FILE *out) {
    bool seen[LG_N_VERDICTS] = {false};
    bool bad = false;
    for (size_t r = 0; r < table->n_rows; r++) {
        for (int p = 0; p < LG_N_POLICIES; p++) {
            for (int m = 0; m < LG_N_MODES; m++) {
                const lg_table_cell *cell = &table->rows[r].cells[p][m];
                bad = bad || cell->n_not_expected > 0;
                for (int v = 0; v < LG_N_VERDICTS; v++) {
                    seen[v] = seen[v] || cell->by_verdict[v] > 0;
                }
            }
        }
    }
    for (int v = 0; v < LG_N_VERDICTS; v++) {
        if (seen[v]) {
            fprintf(out, "%c %s  ", letters[v], lg_verdict_name((lg_verdict)v));
        }
    }
    fprintf(out, "%s\n", bad ? "! not as expected (how many)" : "with the number of cases");
}

void lg_table_print(const lg_table *table, FILE *out, bool color, int width) {
    if (table->n_rows == 0) {
        return;
    }
    int label_width = 0;
    for (size_t r = 0; r < table->n_rows; r++) {
        int n = (int)strlen(table->rows[r].kernel) + 2;
        label_width = n > label_width ? n : label_width;
    }
    label_width = label_width > MAX_LABEL + 2 ? MAX_LABEL + 2 : label_width;
    column columns[LG_N_POLICIES * LG_N_MODES];
    int n = 0;
    for (int p = 0; p < LG_N_POLICIES; p++) {
        for (int m = 0; m < LG_N_MODES; m++) {
            if (table->used[p][m]) {
                columns[n++] = (column){.policy = (lg_policy)p, .mode = (lg_mode)m};
            }
        }
    }
    int fit = (width - label_width) / CELL_WIDTH;
    fit = fit < 1 ? 1 : fit;
    for (int at = 0; at < n; at += fit) {
        fputs(at ? "\n" : "", out);
        print_part(table, out, color, label_width, columns + at, n - at < fit ? n - at : fit);
    }
    fputs("\n", out);
    print_legend(table, out);
}

void lg_table_free(lg_table *table) {
    for (size_t r = 0; r < table->n_rows; r++) {
        free(table->rows[r].scenario);
        free(table->rows[r].kernel);
    }
    free(table->rows);
    *table = (lg_table){0};
}
