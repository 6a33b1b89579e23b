// SPDX-License-Identifier: Apache-2.0
// SARIF as tools read it: what 2.1.0 requires, rules that are causes, places relative to the root.
#include "report/internal.h"
#include "report/report.h"
#include "support/alloc.h"
#include "unit/report/fixture.h"
#include "unit/testing.h"

#include <jansson.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/lossgate-sarif-XXXXXX";

static void write_file(const char *path) {
    FILE *file = fopen(path, "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    fputs("//\n", file);
    fclose(file);
}

// A repository with a kernel, a scenario beside it and a log file; the current folder is below it.
static void make_repository(void) {
    CU_ASSERT_EQUAL_FATAL(chdir(folder), 0);
    mkdir(".git", 0777);
    mkdir("my kernels", 0777);
    mkdir("ci", 0777);
    write_file("my kernels/a+b.cu");
    write_file("s.yaml");
    CU_ASSERT_EQUAL_FATAL(chdir("ci"), 0);
}

static const char *text_at(const json_t *value, const char *key) {
    const char *text = json_string_value(json_object_get(value, key));
    return text ? text : "";
}

static const json_t *item(const json_t *value, const char *key, size_t i) {
    return json_array_get(json_object_get(value, key), i);
}

// What the standard requires of each object that is written.
static void check_structure(const json_t *log) {
    CU_ASSERT_STRING_EQUAL(text_at(log, "version"), "2.1.0");
    CU_ASSERT_EQUAL_FATAL(json_array_size(json_object_get(log, "runs")), 1);
    const json_t *run = item(log, "runs", 0);
    const json_t *driver = json_object_get(json_object_get(run, "tool"), "driver");
    CU_ASSERT_STRING_EQUAL(text_at(driver, "name"), "lossgate");
    const json_t *rules = json_object_get(driver, "rules");
    const json_t *call = item(run, "invocations", 0);
    CU_ASSERT_TRUE(json_is_boolean(json_object_get(call, "executionSuccessful")));
    const json_t *root = json_object_get(json_object_get(run, "originalUriBaseIds"), "SRCROOT");
    const char *root_uri = text_at(root, "uri");
    CU_ASSERT_EQUAL(strncmp(root_uri, "file:///", 8), 0);
    CU_ASSERT_TRUE(*root_uri && root_uri[strlen(root_uri) - 1] == '/');
    size_t i;
    json_t *result;
    CU_ASSERT_TRUE(json_is_array(json_object_get(run, "results")));
    json_array_foreach(json_object_get(run, "results"), i, result) {
        CU_ASSERT_TRUE(*text_at(json_object_get(result, "message"), "text") != '\0');
        json_int_t index = json_integer_value(json_object_get(result, "ruleIndex"));
        CU_ASSERT_STRING_EQUAL(text_at(json_array_get(rules, (size_t)index), "id"),
                               text_at(result, "ruleId"));
        CU_ASSERT_STRING_EQUAL(text_at(result, "level"), "error");
        const json_t *place = json_object_get(item(result, "locations", 0), "physicalLocation");
        CU_ASSERT_TRUE(*text_at(json_object_get(place, "artifactLocation"), "uri") != '\0');
        json_t *line = json_object_get(json_object_get(place, "region"), "startLine");
        CU_ASSERT_TRUE(json_integer_value(line) >= 1);
    }
}

typedef struct writer {
    lg_observer observer;
    lg_diags diags;
} writer;

static void begin(writer *w) {
    *w = (writer){0};
    w->observer = lg_report_sarif("x.sarif", "1.2.3", &w->diags);
    CU_ASSERT_PTR_NOT_NULL_FATAL(w->observer.context);
}

// The log, which the caller frees.
static json_t *end(writer *w, const lg_run_summary *summary) {
    w->observer.run_ended(w->observer.context, summary);
    lg_report_sarif_free(&w->observer);
    CU_ASSERT_EQUAL(w->diags.n_errors, 0);
    lg_diags_free(&w->diags);
    json_error_t error;
    json_t *log = json_load_file("x.sarif", 0, &error);
    CU_ASSERT_PTR_NOT_NULL_FATAL(log);
    check_structure(log);
    CU_ASSERT_NOT_EQUAL(access("x.sarif.tmp", F_OK), 0);
    unlink("x.sarif");
    return log;
}

static void add(writer *w, const fixture *f) {
    w->observer.case_done(w->observer.context, &f->result);
}

static void spoil(fixture *f) {
    fixture_init(f);
    f->kernel.source = "../my kernels/a+b.cu";
    f->scenario.path = "../s.yaml";
    f->result.as_expected = false;
    f->result.judged.verdict = LG_SILENT_CORRUPTION;
    f->result.judged.text = "no signal, and a number";
    f->result.place = (lg_source_place){"my kernels/a+b.cu", 41, "the guard that fired", LG_PLACE_GUARD};
}

static const json_t *artifact_of(const json_t *log, size_t i) {
    const json_t *place = item(item(item(log, "runs", 0), "results", i), "locations", 0);
    return json_object_get(json_object_get(place, "physicalLocation"), "artifactLocation");
}

static void test_place(void) {
    writer w;
    fixture f;
    begin(&w);
    spoil(&f);
    add(&w, &f);
    json_t *log = end(&w, &(lg_run_summary){.exit_code = 1});
    CU_ASSERT_STRING_EQUAL(text_at(artifact_of(log, 0), "uri"), "my%20kernels/a%2Bb.cu");
    CU_ASSERT_STRING_EQUAL(text_at(artifact_of(log, 0), "uriBaseId"), "SRCROOT");
    const json_t *result = item(item(log, "runs", 0), "results", 0);
    CU_ASSERT_STRING_EQUAL(text_at(result, "ruleId"), "wrong_head_width");
    const char *message = text_at(json_object_get(result, "message"), "text");
    CU_ASSERT_PTR_NOT_NULL(strstr(message, "no signal, and a number"));
    CU_ASSERT_PTR_NOT_NULL(strstr(message, "10 of 64: 1 4 7"));
    CU_ASSERT_PTR_NOT_NULL(strstr(message, "lossgate run --case 0123456789abcdef"));
    json_decref(log);
}

// Without a line of the kernel, the scenario's fault; a source outside is named in full.
static void test_other_places(void) {
    writer w;
    fixture f;
    begin(&w);
    spoil(&f);
    f.result.place = (lg_source_place){0};
    f.scenario.n_faults = 1;
    f.scenario.faults[0].loc = (lg_loc){.file = "../s.yaml", .line = 7};
    add(&w, &f);
    f.kernel.name = "other";
    f.result.place = (lg_source_place){"/proc/version", 3, "the bad access", LG_PLACE_ACCESS};
    add(&w, &f);
    f.kernel.name = "gone";
    f.result.place = (lg_source_place){"no/such.cu", 3, "the bad access", LG_PLACE_ACCESS};
    add(&w, &f);
    json_t *log = end(&w, &(lg_run_summary){.exit_code = 1});
    CU_ASSERT_STRING_EQUAL(text_at(artifact_of(log, 0), "uri"), "s.yaml");
    const json_t *first = item(item(item(log, "runs", 0), "results", 0), "locations", 0);
    const json_t *region = json_object_get(json_object_get(first, "physicalLocation"), "region");
    CU_ASSERT_EQUAL(json_integer_value(json_object_get(region, "startLine")), 7);
    CU_ASSERT_STRING_EQUAL(text_at(artifact_of(log, 1), "uri"), "file:///proc/version");
    CU_ASSERT_STRING_EQUAL(text_at(artifact_of(log, 1), "uriBaseId"), "");
    CU_ASSERT_STRING_EQUAL(text_at(artifact_of(log, 2), "uri"), "no/such.cu");
    json_decref(log);
}

// A broken kernel fails a matrix in one way: one result; another line is another.
static void test_groups(void) {
    writer w;
    fixture f;
    begin(&w);
    for (int i = 0; i < 3; i++) {
        spoil(&f);
        add(&w, &f);
    }
    f.result.place.line = 42;
    add(&w, &f);
    f.result.finding.cause = LG_CAUSE_NONE;
    f.result.judged.verdict = LG_UNTESTED;
    add(&w, &f);
    f.result.as_expected = true;
    add(&w, &f);
    json_t *log = end(&w, &(lg_run_summary){.exit_code = 1});
    const json_t *run = item(log, "runs", 0);
    CU_ASSERT_EQUAL(json_array_size(json_object_get(run, "results")), 3);
    CU_ASSERT_EQUAL(json_integer_value(json_object_get(item(run, "results", 0), "occurrenceCount")),
                    3);
    CU_ASSERT_STRING_EQUAL(text_at(item(run, "results", 2), "ruleId"), "untested");
    json_decref(log);
}

// What is no case and must not look green.
static void test_notes(void) {
    writer w;
    lg_kernel kernel = {.name = "mine"};
    lg_kernel_gap gap = {.kernel = &kernel, .why_none = "it takes no float32 input"};
    begin(&w);
    json_t *log = end(&w, &(lg_run_summary){.exit_code = 3,
                                            .n_gaps = 1,
                                            .gaps = &gap,
                                            .interrupted = true,
                                            .n_done = 4,
                                            .n_planned = 9});
    const json_t *call = item(item(log, "runs", 0), "invocations", 0);
    CU_ASSERT_TRUE(json_is_false(json_object_get(call, "executionSuccessful")));
    CU_ASSERT_EQUAL(json_integer_value(json_object_get(call, "exitCode")), 3);
    const json_t *first = item(call, "toolExecutionNotifications", 0);
    const json_t *second = item(call, "toolExecutionNotifications", 1);
    CU_ASSERT_STRING_EQUAL(text_at(json_object_get(first, "message"), "text"),
                           "nothing was proven of mine: it takes no float32 input");
    CU_ASSERT_STRING_EQUAL(text_at(json_object_get(second, "message"), "text"),
                           "interrupted after 4 of 9 cases");
    json_decref(log);
}

// Bytes that are no UTF-8 must not cost the log.
static void test_bad_bytes(void) {
    writer w;
    fixture f;
    begin(&w);
    spoil(&f);
    f.result.repro = (char *)"lossgate run \xff";
    f.result.judged.text = "a \xfe reason";
    f.scenario.path = "../s\xff.yaml";
    add(&w, &f);
    json_t *log = end(&w, &(lg_run_summary){.exit_code = 1});
    const json_t *related = item(item(item(log, "runs", 0), "results", 0), "relatedLocations", 0);
    const json_t *place = json_object_get(related, "physicalLocation");
    CU_ASSERT_STRING_EQUAL(text_at(json_object_get(place, "artifactLocation"), "uri"),
                           "ci/../s%FF.yaml");
    json_decref(log);
}

static void test_cannot_write(void) {
    lg_diags diags = {0};
    lg_observer observer = lg_report_sarif("no/such/folder/x.sarif", "1", &diags);
    CU_ASSERT_PTR_NULL(observer.context);
    CU_ASSERT_EQUAL(diags.n_errors, 1);
    lg_diags_free(&diags);
    diags = (lg_diags){0};
    observer = lg_report_sarif("/dev/full", "1", &diags);
    CU_ASSERT_PTR_NOT_NULL_FATAL(observer.context);
    observer.run_ended(observer.context, &(lg_run_summary){0});
    lg_report_sarif_free(&observer);
    CU_ASSERT_EQUAL(diags.n_errors, 1);
    struct stat st;
    CU_ASSERT_TRUE(stat("/dev/full", &st) == 0 && S_ISCHR(st.st_mode));
    lg_diags_free(&diags);
    // A run that never ended leaves nothing that looks like a report.
    diags = (lg_diags){0};
    observer = lg_report_sarif("y.sarif", "1", &diags);
    lg_report_sarif_free(&observer);
    CU_ASSERT_NOT_EQUAL(access("y.sarif", F_OK), 0);
    CU_ASSERT_NOT_EQUAL(access("y.sarif.tmp", F_OK), 0);
    lg_diags_free(&diags);
}

static void remove_repository(void) {
    static const char *const files[] = {"my kernels/a+b.cu", "s.yaml"};
    static const char *const folders[] = {"my kernels", "ci", ".git", "."};
    bool gone = chdir(folder) == 0;
    for (size_t i = 0; gone && i < sizeof files / sizeof *files; i++) {
        unlink(files[i]);
    }
    for (size_t i = 0; gone && i + 1 < sizeof folders / sizeof *folders; i++) {
        rmdir(folders[i]);
    }
    rmdir(folder);
}

int main(void) {
    static const lg_test tests[] = {
        {"a repository", make_repository},       {"a kernel's line", test_place},
        {"other places", test_other_places},     {"cases alike", test_groups},
        {"what is no case", test_notes},         {"bytes that are no text", test_bad_bytes},
        {"no place to write", test_cannot_write}};
    if (!mkdtemp(folder)) {
        return 2;
    }
    int status = lg_run_tests(LG_SUITE, tests, sizeof tests / sizeof *tests);
    remove_repository();
    return status;
}
