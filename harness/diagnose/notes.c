// SPDX-License-Identifier: Apache-2.0
// What is said beside a finding: shapes that want a squeeze, values that are no numbers, rows.
#include "diagnose/internal.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

void lg_diagnose_note(lg_diagnose_result *out, const char *note) {
    if (out->n_notes < LG_DIAGNOSE_NOTES) {
        out->notes[out->n_notes++] = note;
    }
}

void lg_row_list_add(lg_row_list *list, int64_t row) {
    if (list->n < LG_DIAGNOSE_ROWS) {
        list->first[list->n] = row;
    }
    list->n++;
}

static int64_t listed(const lg_row_list *list) {
    return list->n < LG_DIAGNOSE_ROWS ? list->n : LG_DIAGNOSE_ROWS;
}

const char *lg_row_list_text(const lg_row_list *list, lg_arena *arena) {
    lg_str text = {0};
    for (int64_t i = 0; i < listed(list); i++) {
        lg_str_printf(&text, "%s%" PRId64, i ? " " : "", list->first[i]);
    }
    lg_str_add(&text, list->n > LG_DIAGNOSE_ROWS ? " …" : "");
    const char *kept = lg_arena_strdup(arena, lg_str_text(&text));
    lg_str_free(&text);
    return kept;
}

void lg_row_list_tell(const lg_row_list *list, lg_diagnose_result *out) {
    lg_finding *finding = &out->finding;
    out->n_bad = list->n;
    finding->n_rows = listed(list);
    finding->rows = lg_arena_array(&finding->arena, LG_DIAGNOSE_ROWS, sizeof *finding->rows);
    memcpy(finding->rows, list->first, (size_t)finding->n_rows * sizeof *finding->rows);
}

void lg_nonfinite_add(lg_nonfinite_count *count, double value, int64_t row) {
    if (count->n_nan + count->n_plus + count->n_minus == 0) {
        count->first = row;
    }
    count->n_nan += isnan(value);
    count->n_plus += value == INFINITY;
    count->n_minus += value == -INFINITY;
}

const char *lg_nonfinite_text(const lg_nonfinite_count *count, lg_arena *arena) {
    const struct {
        const char *name;
        int64_t n;
    } kinds[] = {{"nan", count->n_nan}, {"inf", count->n_plus}, {"-inf", count->n_minus}};
    const char *text = NULL;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (kinds[i].n > 0) {
            text = lg_arena_printf(arena, "%s%s%s", text ? text : "", text ? " and " : "",
                                   kinds[i].name);
            if (kinds[i].n > 1) {
                text = lg_arena_printf(arena, "%s (%" PRId64 " times)", text, kinds[i].n);
            }
        }
    }
    return text ? lg_arena_printf(arena, "%s, the first at %" PRId64, text, count->first) : NULL;
}

// Labels of one row or one column.
static const char *squeeze_of(const lg_array_file *t) {
    bool column = t->rank == 2 && t->shape[1] == 1;
    bool row = t->rank == 2 && t->shape[0] == 1 && t->shape[1] > 1;
    return column ? "targets.squeeze(1)" : row ? "targets.squeeze(0)" : NULL;
}

const char *lg_shape_advice(const lg_diagnose_pass *p, lg_arena *arena) {
    const char *squeeze = squeeze_of(&p->targets);
    if (squeeze && p->has_logits && p->logits.rank == 2) {
        return lg_arena_printf(arena, "hand over %s", squeeze);
    }
    if (p->has_logits && p->targets.rank == 1 && p->logits.rank == 2) {
        return lg_arena_printf(arena,
                               "give the loss as many labels as logits have rows: %" PRId64
                               " and %" PRId64 " are there",
                               p->targets.n, p->logits.shape[0]);
    }
    return "give the targets the logits' shape without its class axis, which is the second";
}

static void note_squeeze(const lg_diagnose_pass *p, lg_diagnose_result *out) {
    const lg_array_file *t = &p->targets;
    const char *squeeze = squeeze_of(t);
    if (squeeze && !p->has_logits) {
        lg_diagnose_note(out, lg_arena_printf(&out->finding.arena,
                                              "the targets have shape [%" PRId64 ", %" PRId64
                                              "]: logits of N x C want [N]: %s",
                                              t->shape[0], t->shape[1], squeeze));
    }
}

// Labels of 8 bits that fill them may be longer ones that wrapped, so that no width is certain.
static void doubt_bytes(const lg_diagnose_pass *p, lg_diagnose_result *out) {
    lg_finding *finding = &out->finding;
    bool filled = p->has_table && p->targets.dtype == LG_UINT8 && out->evidence.max == UINT8_MAX;
    if (filled && finding->cause == LG_CAUSE_WRONG_HEAD_WIDTH) {
        finding->certain = false;
        lg_diagnose_note(out, "uint8 ends at 255: labels beyond it wrap, so that there may be more "
                              "classes; look at the labels before they were cast");
    }
}

void lg_diagnose_add_notes(const lg_diagnose_pass *p, lg_diagnose_result *out) {
    note_squeeze(p, out);
    lg_diagnose_note_logits(p, out);
    doubt_bytes(p, out);
    if (p->beyond.n > 0 && out->finding.cause == LG_CAUSE_CORRUPT_LABELS) {
        out->finding.certain = false; // the number may be what is wrong
    }
}
