// SPDX-License-Identifier: Apache-2.0
// What the writers share: texts of a case, safe texts, places as URIs, what a run does not show,
// the table.
#ifndef LG_REPORT_INTERNAL_H
#define LG_REPORT_INTERNAL_H

#include "result/observer.h"
#include "support/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

// --- Texts of a case.

// lg_finding_text as a string, malloc'd; "" when memory is out.
char *lg_finding_string(const lg_case_result *result, bool color);
// Appends the injected faults: "wrong_head_width+negative_labels"; nothing without a fault.
void lg_add_injected(lg_str *out, const lg_case_result *result);

// --- Text of users, kernels and device logs made safe for JSON and XML.

// Appends `text` as valid UTF-8: bytes that are none become U+FFFD.
void lg_add_utf8(lg_str *out, const char *text);
// Appends `text` for XML content or a quoted attribute: markup escaped, characters XML 1.0 does not
// allow (control characters, bad UTF-8, surrogates) become U+FFFD.
void lg_add_xml(lg_str *out, const char *text);

// --- A list of texts, each once, in order of first appearance. A zeroed list is empty.

typedef struct lg_names {
    char **items;
    size_t n;
} lg_names;

bool lg_names_has(const lg_names *list, const char *name);
void lg_names_add(lg_names *list, const char *name);
void lg_names_free(lg_names *list);

// --- Places as tools on a repository name them: a path relative to its root, as a URI.

// The folder that paths are relative to: the nearest one from the current folder upward that holds
// `.git`, else the current one. Absolute, malloc'd.
char *lg_repository_root(void);

// The file of a place of a kernel: the compiler was started in the parent of the source's folder
// (device/compile.h). Absolute where the source is known; malloc'd.
char *lg_kernel_file(const lg_kernel *kernel, const char *file);

// `path` (relative ones: to the current folder) as a URI: relative to `root` when it lies in it,
// else "file:///...". `*relative` says which. malloc'd.
char *lg_path_uri(const char *path, const char *root, bool *relative);
// An absolute path as "file:///...", malloc'd.
char *lg_file_uri(const char *path);

// --- What a run does not show: kernels and cases that were not run, and why.

// Calls `add` for each thing that must not look green beside the cases: a chosen kernel of which
// nothing was proven, a run that was interrupted or proved nothing. `name`: the kernel, or "run".
typedef void lg_add_unproven(void *context, const char *name, const char *text);
void lg_each_unproven(const lg_run_summary *summary, lg_add_unproven *add, void *context);

// Why cases were skipped, and for which kernels.

typedef struct lg_skip_reason {
    char *text;
    lg_names kernels;
    int64_t n_cases;
} lg_skip_reason;

// A zeroed tally is empty.
typedef struct lg_skips {
    lg_skip_reason *reasons;
    size_t n;
} lg_skips;

void lg_skips_add(lg_skips *skips, const lg_case_result *result);
// "  skipped 12: it takes no int64 targets (my_loss/forward)", a line a reason; `word` is
// "skipped".
void lg_skips_print(const lg_skips *skips, const char *word, FILE *out);
void lg_skips_free(lg_skips *skips);

// --- The few colours of the text report; empty strings without a terminal or with NO_COLOR.

typedef enum lg_ink { LG_INK_PLAIN, LG_INK_GOOD, LG_INK_BAD, LG_INK_UNSURE, LG_INK_DIM } lg_ink;

static inline const char *lg_paint(bool color, lg_ink ink) {
    static const char *const codes[] = {
        [LG_INK_PLAIN] = "\x1b[0m",   [LG_INK_GOOD] = "\x1b[32m", [LG_INK_BAD] = "\x1b[31m",
        [LG_INK_UNSURE] = "\x1b[33m", [LG_INK_DIM] = "\x1b[2m",
    };
    return color ? codes[ink] : "";
}

// --- The matrix scenario × kernel × (policy, mode) in text: one mark a cell over all matrix
// points.

typedef struct lg_table_cell {
    int64_t n;
    int64_t n_not_expected; // without the untested
    int64_t by_verdict[LG_N_VERDICTS];
} lg_table_cell;

typedef struct lg_table_row {
    char *scenario;
    char *kernel; // its base name
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
