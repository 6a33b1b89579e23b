// SPDX-License-Identifier: Apache-2.0
#include "support/error.h"

#include "support/alloc.h"

#include <stdlib.h>
#include <string.h>

static const char *const severity_names[] = {"note", "warning", "error"};

void lg_diags_free(lg_diags *diags) {
    for (size_t i = 0; i < diags->n; i++) {
        free(diags->items[i].file);
        free(diags->items[i].message);
        free(diags->items[i].source_line);
    }
    free(diags->items);
    *diags = (lg_diags){0};
}

void lg_diags_vadd(lg_diags *diags, lg_severity severity, lg_loc loc, const char *source_line,
                   const char *format, va_list args) {
    if (diags->n == diags->capacity) {
        diags->capacity = diags->capacity ? 2 * diags->capacity : 8;
        diags->items = lg_xrealloc(diags->items, diags->capacity * sizeof *diags->items);
    }
    diags->items[diags->n++] = (lg_diag){
        .severity = severity,
        .file = loc.file ? lg_xstrdup(loc.file) : NULL,
        .line = loc.line,
        .column = loc.column,
        .message = lg_xvasprintf(format, args),
        .source_line = source_line ? lg_xstrdup(source_line) : NULL,
    };
    diags->n_errors += severity == LG_ERROR;
}

void lg_diags_add(lg_diags *diags, lg_severity severity, lg_loc loc, const char *source_line,
                  const char *format, ...) {
    va_list args;
    va_start(args, format);
    lg_diags_vadd(diags, severity, loc, source_line, format, args);
    va_end(args);
}

bool(lg_error)(lg_diags *diags, lg_loc loc, const char *format, ...) {
    va_list args;
    va_start(args, format);
    lg_diags_vadd(diags, LG_ERROR, loc, NULL, format, args);
    va_end(args);
    return false;
}

static void print_one(const lg_diag *diag, FILE *out) {
    if (diag->file) {
        fprintf(out, "%s:", diag->file);
        if (diag->line > 0) {
            fprintf(out, "%d:", diag->line);
        }
        if (diag->column > 0) {
            fprintf(out, "%d:", diag->column);
        }
        fputc(' ', out);
    } else {
        fputs("lossgate: ", out);
    }
    fprintf(out, "%s: %s\n", severity_names[diag->severity], diag->message);
    if (!diag->source_line) {
        return;
    }
    fprintf(out, "  %s\n", diag->source_line);
    if (diag->column > 0 && (size_t)diag->column <= strlen(diag->source_line) + 1) {
        fputs("  ", out);
        for (int i = 1; i < diag->column; i++) {
            fputc(diag->source_line[i - 1] == '\t' ? '\t' : ' ', out);
        }
        fputs("^\n", out);
    }
}

void lg_diags_print(const lg_diags *diags, FILE *out) {
    for (size_t i = 0; i < diags->n; i++) {
        print_one(&diags->items[i], out);
    }
}
