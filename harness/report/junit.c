// SPDX-License-Identifier: Apache-2.0
// JUnit XML: one test case a case; not as expected is a failure, untested an error, skipped
// skipped.
#include "report/report.h"

#include "report/internal.h"
#include "support/alloc.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct junit {
    char *path;
    lg_diags *diags;
    lg_str cases;
    int64_t n, n_failures, n_errors, n_skipped;
    int64_t elapsed_ns;
} junit;

static void add_attribute(lg_str *out, const char *name, const char *value) {
    lg_str_printf(out, " %s=\"", name);
    lg_add_xml(out, value);
    lg_str_add(out, "\"");
}

static void add_outcome(junit *j, const lg_case_result *result, const char *element) {
    char *text = lg_finding_string(result, false);
    lg_str_printf(&j->cases, "    <%s", element);
    char *message = lg_xasprintf("%s%s%s", result->expectation, result->judged.text ? ": " : "",
                                 result->judged.text ? result->judged.text : "");
    add_attribute(&j->cases, "message", message);
    free(message);
    add_attribute(&j->cases, "type", lg_verdict_name(result->judged.verdict));
    lg_str_add(&j->cases, ">");
    lg_add_xml(&j->cases, text);
    lg_str_printf(&j->cases, "</%s>\n", element);
    free(text);
}

static void add_case(void *context, const lg_case_result *result) {
    junit *j = context;
    const lg_case *what = result->what;
    const char *point = what->scenario->point ? what->scenario->point : "";
    char *name = lg_xasprintf("%s, %s%s%s", what->kernel->name, lg_mode_name(what->mode),
                              *point ? ", " : "", point);
    j->n++;
    j->elapsed_ns += result->elapsed_ns;
    lg_str_add(&j->cases, "  <testcase");
    add_attribute(&j->cases, "classname", what->scenario->name);
    add_attribute(&j->cases, "name", name);
    add_attribute(&j->cases, "file", what->scenario->path ? what->scenario->path : "");
    lg_str_printf(&j->cases, " time=\"%.6f\">\n", (double)result->elapsed_ns / 1e9);
    free(name);
    if (result->judged.verdict == LG_SKIPPED && result->as_expected) {
        j->n_skipped++;
        lg_str_add(&j->cases, "    <skipped");
        add_attribute(&j->cases, "message", result->judged.text ? result->judged.text : "");
        lg_str_add(&j->cases, "/>\n");
    } else if (result->judged.verdict == LG_UNTESTED) {
        j->n_errors++;
        add_outcome(j, result, "error");
    } else if (!result->as_expected) {
        j->n_failures++;
        add_outcome(j, result, "failure");
    }
    lg_str_add(&j->cases, "  </testcase>\n");
}

static bool write_file(const junit *j, FILE *file) {
    fprintf(file,
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
            "<testsuite name=\"lossgate\" tests=\"%" PRId64 "\" failures=\"%" PRId64
            "\" errors=\"%" PRId64 "\" skipped=\"%" PRId64 "\" time=\"%.6f\">\n%s</testsuite>\n",
            j->n, j->n_failures, j->n_errors, j->n_skipped, (double)j->elapsed_ns / 1e9,
            lg_str_text(&j->cases));
    bool ok = !ferror(file);
    return fclose(file) == 0 && ok;
}

// What is no case and must not look green.
static void add_error(void *context, const char *name, const char *message) {
    junit *j = context;
    j->n++;
    j->n_errors++;
    lg_str_add(&j->cases, "  <testcase classname=\"lossgate\"");
    add_attribute(&j->cases, "name", name);
    lg_str_add(&j->cases, " time=\"0\">\n    <error");
    add_attribute(&j->cases, "message", message);
    lg_str_add(&j->cases, "/>\n  </testcase>\n");
}

static void write_report(void *context, const lg_run_summary *summary) {
    junit *j = context;
    lg_each_unproven(summary, add_error, j);
    char *temporary = lg_xasprintf("%s.tmp", j->path);
    FILE *file = fopen(temporary, "w");
    if (!file || !write_file(j, file) || rename(temporary, j->path) != 0) {
        lg_error(j->diags, (lg_loc){.file = j->path}, "cannot write: %s", strerror(errno));
        unlink(temporary);
    }
    free(temporary);
}

lg_observer lg_report_junit(const char *path, lg_diags *diags) {
    junit *j = lg_xcalloc(1, sizeof(*j));
    *j = (junit){.path = lg_xstrdup(path), .diags = diags};
    return (lg_observer){.context = j, .case_done = add_case, .run_ended = write_report};
}

void lg_report_junit_free(lg_observer *observer) {
    junit *j = observer->context;
    if (j) {
        lg_str_free(&j->cases);
        free(j->path);
        free(j);
    }
    *observer = (lg_observer){0};
}
