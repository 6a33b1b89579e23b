// SPDX-License-Identifier: Apache-2.0
#include "report/report.h"

#include "report/internal.h"
#include "support/plain.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void field(FILE *out, const char *name) {
    fprintf(out, "  %-10s ", name);
}

static void print_headline(const lg_case_result *result, FILE *out, bool color) {
    const lg_finding *finding = &result->finding;
    const char *paint = lg_paint(color, result->as_expected ? LG_INK_GOOD : LG_INK_BAD);
    const char *plain = lg_paint(color, LG_INK_PLAIN);
    if (finding->cause == LG_CAUSE_NONE) {
        fprintf(out, "%s%s%s — no cause found in the batch\n", paint,
                lg_verdict_name(result->judged.verdict), plain);
        return;
    }
    fprintf(out, "%s%s%s ", paint, finding->warning ? "WARNING" : "FAULT", plain);
    int n_named =
        finding->n_named < finding->n_hypotheses ? finding->n_named : finding->n_hypotheses;
    if (n_named < 1) {
        fputs(lg_cause_name(finding->cause), out);
    }
    lg_str named = {0};
    for (int i = 0; i < n_named; i++) {
        lg_str_add(&named, i ? " or " : "");
        lg_hypothesis_print(&finding->hypotheses[i], &named);
    }
    fputs(lg_str_text(&named), out);
    lg_str_free(&named);
    fprintf(out, " — %s%s%s\n", lg_finding_certainty(finding), finding->headline ? ": " : "",
            finding->headline ? finding->headline : "");
}

static void print_case(const lg_case_result *result, FILE *out) {
    const lg_case *what = result->what;
    const char *point = what->scenario->point;
    field(out, "case");
    fprintf(out, "%s, %s, %s\n", what->scenario->name, what->kernel->name,
            lg_mode_name(what->mode));
    if (point && *point) {
        field(out, "point");
        fprintf(out, "%s\n", point);
    }
    field(out, "verdict");
    fprintf(out, "%s%s%s\n", lg_verdict_name(result->judged.verdict),
            result->judged.text ? ": " : "", result->judged.text ? result->judged.text : "");
    if (!result->as_expected) {
        field(out, "differs");
        fprintf(out, "%s\n", result->expectation);
    }
}

static void print_rows(const lg_case_result *result, FILE *out) {
    const lg_finding *finding = &result->finding;
    if (finding->n_rows == 0) {
        return;
    }
    field(out, "rows");
    fprintf(out, "%" PRId64 " of %" PRId64 ":", finding->n_rows, result->n_rows);
    for (int64_t i = 0; i < finding->n_rows && i < 8; i++) {
        fprintf(out, " %" PRId64, finding->rows[i]);
    }
    fputs(finding->n_rows > 8 ? " …" : "", out);
    if (finding->n_values > 0) {
        fputs("   values", out);
    }
    for (int64_t i = 0; i < finding->n_values && i < 4; i++) {
        const lg_value_count *v = &finding->values[i];
        fprintf(out, "%s %" PRId64, i ? "," : "", v->value);
        if (v->count == 1) {
            fputs(" (once)", out);
        } else {
            fprintf(out, " (%" PRId64 " times)", v->count);
        }
    }
    fputs(finding->n_values > 4 ? ", …\n" : "\n", out);
}

static void print_xyz(FILE *out, const int64_t xyz[3]) {
    if (xyz[1] == 0 && xyz[2] == 0) {
        fprintf(out, "%" PRId64, xyz[0]);
    } else {
        fprintf(out, "[%" PRId64 ",%" PRId64 ",%" PRId64 "]", xyz[0], xyz[1], xyz[2]);
    }
}

// The value is a label, or the bits of the number that a loss on numbers refused.
static void print_record_value(const lg_case_result *result, int64_t bits, FILE *out) {
    const lg_kernel *kernel = result->what->kernel;
    if (kernel->family == LG_BCE || kernel->family == LG_BCE_WITH_LOGITS ||
        kernel->probability_targets) {
        double value;
        memcpy(&value, &bits, sizeof value);
        fprintf(out, "%.9g", lg_plain(value));
    } else {
        fprintf(out, "%" PRId64, bits);
    }
}

static void print_records(const lg_case_result *result, FILE *out) {
    const lg_observation *seen = &result->observation;
    const lg_fault_record *r = &seen->records[0];
    field(out, "detected");
    fprintf(out, "%" PRId64 " fault record%s", seen->n_records, lg_s(seen->n_records));
    if (seen->n_records_dropped > 0) {
        fprintf(out, " (the ring was full: %" PRId64 " more dropped)", seen->n_records_dropped);
    }
    fprintf(out, ", the first: row %" PRId64 " value ", r->row);
    print_record_value(result, r->value, out);
    fprintf(out, ", block %d thread %d\n", r->block[0], r->thread[0]);
}

static void print_detected(const lg_case_result *result, FILE *out) {
    const lg_observation *seen = &result->observation;
    if (seen->n_asserts_kept > 0) {
        const lg_assert_line *line = &seen->asserts[0];
        field(out, "detected");
        fprintf(out, "device assert `%s`, %s:%d, block ", line->expression, line->file, line->line);
        print_xyz(out, line->block);
        fputs(" thread ", out);
        print_xyz(out, line->thread);
        fputs("\n", out);
        return;
    }
    if (seen->memory.present) {
        const lg_memory_finding *m = &seen->memory;
        field(out, "memory");
        fprintf(out, "%s of %" PRId64 " bytes", lg_device_fault_name(m->kind, m->write), m->bytes);
        if (m->file) {
            fprintf(out, ", %s:%d", m->file, m->line);
        }
        fputs(", block ", out);
        print_xyz(out, m->block);
        fputs(" thread ", out);
        print_xyz(out, m->thread);
        fputs("\n", out);
        return;
    }
    if (seen->n_records > 0) {
        print_records(result, out);
        return;
    }
    if (result->judged.detected_by != LG_DETECTOR_NONE && result->judged.verdict == LG_DETECTED) {
        field(out, "detected");
        fprintf(out, "%s\n", lg_detector_help(result->judged.detected_by));
    }
}

// Where to look: the lines of the guard and of the bad access have been printed already.
static void print_place(const lg_case_result *result, FILE *out) {
    const lg_source_place *place = &result->place;
    if (place->file && place->kind != LG_PLACE_GUARD && place->kind != LG_PLACE_ACCESS) {
        field(out, "source");
        fprintf(out, "%s:%d, %s\n", place->file, place->line, place->what);
    }
}

static void print_launch(const lg_case_result *result, FILE *out) {
    const lg_observation *seen = &result->observation;
    if (seen->failed_launch) {
        field(out, "failed");
        fprintf(out, "launch %d of %d (%s)\n", seen->failed_launch_index, seen->n_launches,
                seen->failed_launch);
    }
    if (seen->surfaced_at) {
        field(out, "surfaced");
        fputs(seen->surfaced_at, out);
        if (seen->calls_later > 0) {
            fprintf(out, ", %d call%s later", seen->calls_later, seen->calls_later > 1 ? "s" : "");
        }
        fputs("\n", out);
    }
}

static void print_loss(const lg_case_result *result, FILE *out) {
    if (result->n_loss != 1 || result->n_reference_loss > 1) {
        return;
    }
    field(out, "loss");
    fprintf(out, "%.9g", lg_plain(result->loss[0]));
    if (result->n_reference_loss == 1) {
        fprintf(out, ", the reference is %.9g", lg_plain(result->reference_loss[0]));
    }
    fputs("\n", out);
}

static void print_advice(const lg_finding *finding, FILE *out) {
    int n_named =
        finding->n_named < finding->n_hypotheses ? finding->n_named : finding->n_hypotheses;
    for (int i = 0; n_named >= 2 && i < n_named; i++) {
        const lg_hypothesis *h = &finding->hypotheses[i];
        field(out, "either");
        char percent[LG_PERCENT_BYTES];
        lg_str stated = {0};
        lg_hypothesis_print(h, &stated);
        fprintf(out, "%s (%s)%s%s\n", lg_str_text(&stated),
                lg_percent_text(h->probability, percent), h->evidence ? ": " : "",
                h->evidence ? h->evidence : "");
        lg_str_free(&stated);
    }
    lg_arena arena = {0};
    const char *rest = lg_finding_not_excluded(finding, &arena);
    if (rest) {
        field(out, "not out");
        fprintf(out, "%s\n", rest);
    }
    lg_arena_free(&arena);
    if (n_named > 0 && finding->hypotheses[0].advice) {
        field(out, "try");
        fprintf(out, "%s\n", finding->hypotheses[0].advice);
    }
}

void lg_finding_text(const lg_case_result *result, FILE *out, bool color) {
    print_headline(result, out, color);
    print_case(result, out);
    print_rows(result, out);
    print_detected(result, out);
    print_place(result, out);
    print_launch(result, out);
    print_loss(result, out);
    print_advice(&result->finding, out);
    field(out, "replay");
    fprintf(out, "%s\n", result->repro ? result->repro : "");
}
