// SPDX-License-Identifier: Apache-2.0
// The report for people. Cases arrive one at a time and only for the call, so the table counts them
// and findings are kept as text until the run has ended.
#include "report/report.h"

#include "report/internal.h"
#include "support/alloc.h"
#include "support/plain.h"
#include "support/str.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

// A broken kernel fails every point of a matrix in the same way: so many findings a cell are shown.
enum { MAX_FINDINGS_A_CELL = 3 };

// A column (kernel × mode) whose self-proof failed, with the scenarios that are untested for it.
typedef struct failed_column {
    char *kernel;
    lg_mode mode;
    char *why;
    char *source, *repro; // of its first case
    lg_names scenarios;
    int64_t n_cases;
} failed_column;

typedef struct text_report {
    lg_text_options options;
    lg_table table;
    failed_column *failed;
    size_t n_failed;
    lg_str findings; // not as expected (verbose: all)
    int64_t n_findings_left_out;
    lg_str examples; // one as expected for each fault
    lg_names example_faults;
    lg_skips skips, left_out;
    lg_run_info info;
} text_report;

static void begin_run(void *context, const lg_run_info *info) {
    text_report *report = context;
    report->info = *info;
}

static void add_column(void *context, const lg_column_proof *proof) {
    text_report *report = context;
    if (proof->proven) {
        return;
    }
    report->failed = lg_xrealloc(report->failed, (report->n_failed + 1) * sizeof(*report->failed));
    report->failed[report->n_failed++] = (failed_column){
        .kernel = lg_xstrdup(proof->kernel->name),
        .mode = proof->mode,
        .why = lg_xstrdup(proof->why ? proof->why : "the self-proof failed"),
    };
}

static failed_column *failed_column_of(text_report *report, const lg_case *what) {
    for (size_t i = 0; i < report->n_failed; i++) {
        failed_column *column = &report->failed[i];
        if (column->mode == what->mode && strcmp(column->kernel, what->kernel->name) == 0) {
            return column;
        }
    }
    return NULL;
}

static void add_finding(lg_str *out, const lg_case_result *result, bool color) {
    char *text = NULL;
    size_t n = 0;
    FILE *memory = open_memstream(&text, &n);
    if (!memory) {
        return;
    }
    lg_finding_text(result, memory, color);
    fclose(memory);
    lg_str_add(out, "\n");
    lg_str_add_n(out, text, n);
    free(text);
}

static void fault_name(const lg_case_result *result, lg_str *out) {
    for (int i = 0; i < result->n_injected; i++) {
        lg_str_printf(out, "%s%s", i ? "+" : "", lg_cause_name(result->injected[i].cause));
    }
}

// The first case of each fault that a kernel (not only a host check) caught and that was diagnosed.
static void add_example(text_report *report, const lg_case_result *result) {
    if (!result->as_expected || result->n_injected == 0 || result->judged.verdict != LG_DETECTED) {
        return;
    }
    lg_str name = {0};
    fault_name(result, &name);
    if (!lg_names_has(&report->example_faults, lg_str_text(&name))) {
        lg_names_add(&report->example_faults, lg_str_text(&name));
        add_finding(&report->examples, result, report->options.color);
    }
    lg_str_free(&name);
}

static void note_first(failed_column *column, const lg_case_result *result) {
    const lg_source_place *place = &result->place;
    column->repro = lg_xstrdup(result->repro ? result->repro : "");
    if (place->file) {
        column->source = lg_xasprintf("%s:%d, %s", place->file, place->line, place->what);
    }
}

static void add_case(void *context, const lg_case_result *result) {
    text_report *report = context;
    const lg_table_cell *cell = lg_table_add(&report->table, result);
    const lg_expect *expect = &result->what->scenario->expect;
    bool meant = expect->has_verdict && expect->verdict == LG_SKIPPED;
    if (result->judged.verdict == LG_SKIPPED && !meant) {
        lg_skips_add(&report->skips, result);
    }
    failed_column *column =
        result->judged.verdict == LG_UNTESTED ? failed_column_of(report, result->what) : NULL;
    if (column && result->judged.text && strcmp(result->judged.text, column->why) == 0) {
        if (column->n_cases++ == 0) {
            note_first(column, result);
        }
        lg_names_add(&column->scenarios, result->what->scenario->name);
        return;
    }
    if (report->options.verbose) {
        add_finding(&report->findings, result, report->options.color);
    } else if (!result->as_expected) {
        if (cell->n_not_expected + cell->by_verdict[LG_UNTESTED] <= MAX_FINDINGS_A_CELL) {
            add_finding(&report->findings, result, report->options.color);
        } else {
            report->n_findings_left_out++;
        }
    } else {
        add_example(report, result);
    }
}

static void leave_out(void *context, const lg_case_result *result) {
    text_report *report = context;
    lg_skips_add(&report->left_out, result);
}

static void print_failed(const text_report *report, FILE *out) {
    for (size_t i = 0; i < report->n_failed; i++) {
        const failed_column *column = &report->failed[i];
        if (column->n_cases == 0) {
            continue; // its scenarios say how it is broken, and their cases show it
        }
        fprintf(out, "\n%sUNTESTED%s %s, %s: %" PRId64 " case%s\n",
                lg_paint(report->options.color, LG_INK_UNSURE),
                lg_paint(report->options.color, LG_INK_PLAIN), column->kernel,
                lg_mode_name(column->mode), column->n_cases, lg_s(column->n_cases));
        fprintf(out, "  %-10s %s\n", "why", column->why);
        if (column->source) {
            fprintf(out, "  %-10s %s\n", "source", column->source);
        }
        for (size_t s = 0; s < column->scenarios.n; s++) {
            fprintf(out, "  %-10s %s\n", s ? "" : "scenarios", column->scenarios.items[s]);
        }
        fprintf(out, "  %-10s %s\n", "replay", column->repro);
    }
}

// A line for the kernels that miss the same.
static void print_never_tested(const lg_run_summary *summary, FILE *out) {
    bool *told = lg_xcalloc((size_t)summary->n_gaps + 1, sizeof(*told));
    for (int64_t i = 0; i < summary->n_gaps; i++) {
        const char *text = summary->gaps[i].never_tested;
        if (!text || told[i]) {
            continue;
        }
        fprintf(out, "never tested: %s", text);
        const char *separator = " (";
        for (int64_t k = i; k < summary->n_gaps; k++) {
            const lg_kernel_gap *gap = &summary->gaps[k];
            if (gap->never_tested && strcmp(gap->never_tested, text) == 0) {
                fprintf(out, "%s%s", separator, gap->kernel->name);
                separator = ", ";
                told[k] = true;
            }
        }
        fputs(")\n", out);
    }
    free(told);
}

static void print_gaps(const lg_run_summary *summary, FILE *out) {
    print_never_tested(summary, out);
    for (int64_t i = 0; i < summary->n_gaps; i++) {
        const lg_kernel_gap *gap = &summary->gaps[i];
        if (gap->why_none) {
            fprintf(out, "nothing was proven of %s: no case was launched and judged: %s\n",
                    gap->kernel->name, gap->why_none);
        }
    }
    if (summary->interrupted) {
        fprintf(out, "interrupted after %" PRId64 " of %" PRId64 " case%s\n", summary->n_done,
                summary->n_planned, lg_s(summary->n_planned));
    }
}

static void print_summary(const text_report *report, const lg_run_summary *summary, FILE *out) {
    const char *plain = lg_paint(report->options.color, LG_INK_PLAIN);
    lg_ink ink = summary->exit_code == 0   ? LG_INK_GOOD
                 : summary->exit_code == 3 ? LG_INK_UNSURE
                                           : LG_INK_BAD;
    fprintf(out, "\n%" PRId64 " case%s on %s: ", summary->n_cases, lg_s(summary->n_cases),
            report->info.device);
    fprintf(out, "%s%" PRId64 " as expected%s", lg_paint(report->options.color, ink),
            summary->n_as_expected, plain);
    fprintf(out, ", %" PRId64 " not, %" PRId64 " untested, %" PRId64 " skipped\n",
            summary->n_not_expected, summary->n_untested, summary->n_skipped);
    const char *separator = "";
    for (int v = 0; v < LG_N_VERDICTS; v++) {
        if (summary->by_verdict[v] > 0) {
            fprintf(out, "%s%s %" PRId64, separator, lg_verdict_name((lg_verdict)v),
                    summary->by_verdict[v]);
            separator = ", ";
        }
    }
    fputs(*separator ? "\n" : "", out);
    lg_skips_print(&report->skips, "skipped", out);
    if (summary->n_untaken > 0) {
        fprintf(out, "%" PRId64 " scenario point%s taken by none of the kernels and modes chosen\n",
                summary->n_untaken, summary->n_untaken == 1 ? " is" : "s are");
        lg_skips_print(&report->left_out, "left out", out);
    }
    print_gaps(summary, out);
    if (summary->exit_code == 3 && (summary->n_as_expected == 0 || summary->n_unproven == 0)) {
        fputs("nothing was proven\n", out);
    }
}

static void end_run(void *context, const lg_run_summary *summary) {
    text_report *report = context;
    FILE *out = report->options.out;
    int width = report->options.width > 0 ? report->options.width : 100;
    lg_table_print(&report->table, out, report->options.color, width);
    print_failed(report, out);
    fputs(lg_str_text(&report->findings), out);
    if (report->n_findings_left_out > 0) {
        fprintf(out, "\n… and %" PRId64 " more like these; every case is in cases.jsonl\n",
                report->n_findings_left_out);
    }
    fputs(lg_str_text(&report->examples), out);
    print_summary(report, summary, out);
}

lg_observer lg_report_text(const lg_text_options *options) {
    text_report *report = lg_xcalloc(1, sizeof(*report));
    report->options = *options;
    return (lg_observer){.context = report,
                         .run_begun = begin_run,
                         .column_proven = add_column,
                         .case_done = add_case,
                         .point_left_out = leave_out,
                         .run_ended = end_run};
}

void lg_report_text_free(lg_observer *observer) {
    text_report *report = observer->context;
    if (report) {
        lg_table_free(&report->table);
        for (size_t i = 0; i < report->n_failed; i++) {
            free(report->failed[i].kernel);
            free(report->failed[i].why);
            free(report->failed[i].source);
            free(report->failed[i].repro);
            lg_names_free(&report->failed[i].scenarios);
        }
        free(report->failed);
        lg_skips_free(&report->skips);
        lg_skips_free(&report->left_out);
        lg_names_free(&report->example_faults);
        lg_str_free(&report->findings);
        lg_str_free(&report->examples);
        free(report);
    }
    *observer = (lg_observer){0};
}
