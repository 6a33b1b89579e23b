// SPDX-License-Identifier: Apache-2.0
// Where an entry begins, from the line table of a PTX text.
#include "device/internal.h"

#include "unit/testing.h"

#include <string.h>

#define HEAD ".version 8.0\n.target sm_80\n.address_size 64\n"
#define ENTRY(name, body) ".visible .entry " name "(\n.param .u64 p\n)\n{\n" body "ret;\n}\n"
#define FILES ".file 1 \"kernels/a.cu\"\n.file\t2 \"b dir/b.cuh\", 17, 29\n"

typedef struct place_row {
    const char *name;
    const char *text;
    const char *file; // NULL: none is found
    int line;
} place_row;

static const place_row rows[] = {
    {"the first of its lines",
     HEAD ENTRY("other", ".loc 1 3 0\n") ENTRY("k", "\t.loc\t1 41 0\n.loc 1 42 5\n") FILES,
     "kernels/a.cu", 41},
    {"inlined code has another place behind it",
     HEAD ENTRY("k", ".loc 1 41 0, function_name $L_info0, inlined_at 1 4 2\n") FILES,
     "kernels/a.cu", 41},
    {"a file with a time and a size", HEAD ENTRY("k", ".loc 2 7 0\n") FILES, "b dir/b.cuh", 7},
    {"a file told between entries",
     HEAD ENTRY("other", "") FILES ENTRY("k", ".loc 1 5 0\n") ENTRY("last", ""), "kernels/a.cu", 5},
    {"a file told before all", HEAD FILES ENTRY("k", ".loc 2 5 0\n"), "b dir/b.cuh", 5},
    {"no line table", HEAD ENTRY("k", ""), NULL, 0},
    {"the line of another entry", HEAD ENTRY("k", "") ENTRY("other", ".loc 1 3 0\n") FILES, NULL,
     0},
    {"no such entry", HEAD ENTRY("kk", ".loc 1 3 0\n") FILES, NULL, 0},
    {"a file that is not told", HEAD ENTRY("k", ".loc 3 7 0\n") FILES, NULL, 0},
    {"line 0", HEAD ENTRY("k", ".loc 1 0 0\n") FILES, NULL, 0},
    {"a word that begins so", HEAD ENTRY("k", ".location 1 7 0\n") FILES, NULL, 0},
    {"no number", HEAD ENTRY("k", ".loc x 7 0\n") FILES, NULL, 0},
    {"it ends within the directive", HEAD ".visible .entry k(\n)\n{\n.loc", NULL, 0},
    {"nothing", "", NULL, 0},
};

static void test_places(void) {
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const place_row *row = &rows[i];
        size_t n = strlen(row->text);
        lg_ptx_index index = lg_ptx_index_make(row->text, n);
        lg_arena arena = {0};
        const char *file = NULL;
        int line = 0;
        bool found = lg_ptx_entry_place(row->text, n, &index, "k", &arena, &file, &line);
        LG_CHECK_ROW(row->name, found == (row->file != NULL));
        LG_CHECK_ROW(row->name, !found || (row->file && !strcmp(file, row->file)));
        LG_CHECK_ROW(row->name, !found || line == row->line);
        lg_arena_free(&arena);
        lg_ptx_index_free(&index);
    }
}

int main(void) {
    static const lg_test tests[] = {{"places", test_places}};
    return lg_run_tests(LG_SUITE, tests, sizeof tests / sizeof *tests);
}
