// SPDX-License-Identifier: Apache-2.0
// The finding of a diagnosis as people read it.
#include "diagnose/internal.h"

#include <inttypes.h>
#include <string.h>

static void field(lg_str *out, const char *name) {
    lg_str_printf(out, "  %-9s ", name);
}

static void print_headline(const lg_finding *finding, lg_str *out) {
    lg_str_add(out, finding->warning ? "WARNING " : "FAULT ");
    for (int i = 0; i < finding->n_named; i++) {
        lg_str_add(out, i ? " or " : "");
        lg_hypothesis_print(&finding->hypotheses[i], out);
    }
    lg_str_printf(out, " — %s: %s\n", lg_finding_certainty(finding),
                  finding->headline ? finding->headline : "");
}

// Values that are no numbers, as the file holds them.
static void print_nonfinite(const lg_diagnose_result *result, lg_str *out) {
    lg_arena arena = {0};
    const char *text = lg_nonfinite_text(
        result->has_class_rows ? &result->class_rows.nonfinite : &result->nonfinite, &arena);
    if (text) {
        field(out, "values");
        lg_str_printf(out, "%s\n", text);
    }
    lg_arena_free(&arena);
}

static void print_rows(const lg_diagnose_result *result, lg_str *out) {
    const lg_finding *finding = &result->finding;
    if (result->n_bad == 0) {
        return;
    }
    field(out, "rows");
    lg_str_printf(out, "%" PRId64 " of %" PRId64 ":", result->n_bad, result->n_rows);
    for (int64_t i = 0; i < finding->n_rows; i++) {
        lg_str_printf(out, " %" PRId64, finding->rows[i]);
    }
    lg_str_add(out, result->n_bad > finding->n_rows ? " …\n" : "\n");
    print_nonfinite(result, out);
    if (finding->n_values == 0) {
        return;
    }
    field(out, "values");
    for (int64_t i = 0; i < finding->n_values; i++) {
        const lg_value_count *v = &finding->values[i];
        lg_str_printf(out, "%s%" PRId64, i ? ", " : "", v->value);
        if (v->count == 1) {
            lg_str_add(out, " (once)");
        } else {
            lg_str_printf(out, " (%" PRId64 " times)", v->count);
        }
    }
    lg_str_add(out, result->evidence.n_distinct_out > finding->n_values ? ", …\n" : "\n");
}

// The causes with their shares, when several are named; what cannot be excluded in one line.
static void print_causes(const lg_finding *finding, lg_str *out) {
    for (int i = 0; finding->n_named > 1 && i < finding->n_named; i++) {
        const lg_hypothesis *h = &finding->hypotheses[i];
        char percent[LG_PERCENT_BYTES];
        field(out, i ? "" : "causes");
        lg_str_printf(out, "%6s  ", lg_percent_text(h->probability, percent));
        lg_hypothesis_print(h, out);
        lg_str_printf(out, ": %s\n", h->evidence ? h->evidence : "");
    }
    lg_arena arena = {0};
    const char *rest = lg_finding_not_excluded(finding, &arena);
    if (rest) {
        field(out, "possible");
        lg_str_printf(out, "%s\n", rest);
    }
    lg_arena_free(&arena);
}

static void print_advice(const lg_finding *finding, lg_str *out) {
    for (int i = 0; i < finding->n_named; i++) {
        const lg_hypothesis *h = &finding->hypotheses[i];
        const char *last = i ? finding->hypotheses[i - 1].advice : NULL;
        if (h->advice && (!last || strcmp(h->advice, last) != 0)) {
            field(out, i ? "or" : "try");
            lg_str_printf(out, "%s\n", h->advice);
        }
    }
}

// The lines of lg_evidence_print, set in.
static void print_evidence(const lg_diagnose_result *result, lg_str *out) {
    lg_str lines = {0};
    if (!result->has_evidence) {
        return;
    }
    lg_evidence_print(&result->evidence, &lines);
    lg_str_add(out, "evidence\n  ");
    for (size_t i = 0; i < lines.n; i++) {
        lg_str_add_n(out, lines.text + i, 1);
        if (lines.text[i] == '\n' && i + 1 < lines.n) {
            lg_str_add(out, "  ");
        }
    }
    lg_str_free(&lines);
}

static void print_class_rows(const lg_diagnose_result *result, lg_str *out) {
    const lg_class_rows *rows = &result->class_rows;
    if (!result->has_class_rows) {
        return;
    }
    lg_str_printf(out,
                  "evidence\n  targets       class probabilities, %" PRId64 " rows of %" PRId64
                  " classes\n  one-hot       %" PRId64 " rows%s\n",
                  rows->n_rows, rows->width, rows->n_one_hot,
                  rows->n_rows > 0 && rows->n_one_hot == rows->n_rows
                      ? ": targets.argmax(axis=1) as class indices says the same"
                      : "");
}

void lg_diagnose_text(const lg_diagnose_result *result, lg_str *out) {
    const lg_finding *finding = &result->finding;
    if (finding->cause == LG_CAUSE_NONE && result->n_rows == 0) {
        lg_str_add(out, "there is no row: nothing is proven\n");
    } else if (finding->cause == LG_CAUSE_NONE) {
        lg_str_printf(out, "nothing wrong: %" PRId64 " rows\n", result->n_rows);
    } else {
        print_headline(finding, out);
        print_rows(result, out);
        print_causes(finding, out);
        print_advice(finding, out);
    }
    for (int i = 0; i < result->n_notes; i++) {
        field(out, "note");
        lg_str_printf(out, "%s\n", result->notes[i]);
    }
    print_evidence(result, out);
    print_class_rows(result, out);
}
