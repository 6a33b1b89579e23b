// SPDX-License-Identifier: Apache-2.0
#include "report/report.h"
#include "support/str.h"
#include "unit/report/fixture.h"
#include "unit/testing.h"

#include <jansson.h>
#include <stdlib.h>
#include <unistd.h>

static json_t *parse(const lg_case_result *result) {
    char *text = lg_case_json(result);
    CU_ASSERT_PTR_NULL(strchr(text, '\n'));
    json_error_t error;
    json_t *object = json_loads(text, 0, &error);
    CU_ASSERT_PTR_NOT_NULL_FATAL(object);
    free(text);
    return object;
}

static const char *text_of(json_t *object, const char *key) {
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "(no text)";
}

static void test_every_promised_key_is_there(void) {
    static const char *const keys[] = {"id",
                                       "scenario",
                                       "kernel",
                                       "policy",
                                       "mode",
                                       "device",
                                       "fault",
                                       "verdict",
                                       "attribution",
                                       "cause",
                                       "causes",
                                       "rows",
                                       "n_rows",
                                       "values",
                                       "detected_by",
                                       "failed_launch",
                                       "surfaced_at",
                                       "loss",
                                       "reference_loss",
                                       "as_expected",
                                       "repro",
                                       "point",
                                       "seed",
                                       "reason",
                                       "expectation",
                                       "max_error_share",
                                       "labels",
                                       "assert",
                                       "memory",
                                       "place"};
    fixture f;
    fixture_init(&f);
    json_t *object = parse(&f.result);
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        LG_CHECK_ROW(keys[i], json_object_get(object, keys[i]) != NULL);
    }
    CU_ASSERT_STRING_EQUAL(text_of(object, "fault"), "wrong_head_width");
    CU_ASSERT_STRING_EQUAL(text_of(object, "verdict"), "detected");
    CU_ASSERT_STRING_EQUAL(text_of(object, "seed"), "7");
    CU_ASSERT_TRUE(json_is_null(json_object_get(object, "memory")));
    CU_ASSERT_EQUAL(json_array_size(json_object_get(object, "rows")), 10);
    CU_ASSERT_EQUAL(json_array_size(json_object_get(object, "injected_rows")), 2);
    json_t *cause = json_array_get(json_object_get(object, "causes"), 0);
    CU_ASSERT_STRING_EQUAL(text_of(cause, "cause"), "wrong_head_width");
    CU_ASSERT_EQUAL(json_number_value(json_object_get(cause, "confidence")), 1.0);
    json_t *line = json_object_get(object, "assert");
    CU_ASSERT_EQUAL(json_integer_value(json_object_get(line, "line")), 41);
    json_decref(object);
}

static void test_numbers_without_json_form_are_text(void) {
    fixture f;
    fixture_init(&f);
    double losses[] = {NAN, INFINITY, -INFINITY, 0.1};
    f.result.loss = losses;
    f.result.n_loss = 4;
    json_t *object = parse(&f.result);
    json_t *loss = json_object_get(object, "loss");
    static const char *const expected[] = {"nan", "inf", "-inf"};
    for (size_t i = 0; i < 3; i++) {
        const char *text = json_string_value(json_array_get(loss, i));
        LG_CHECK_ROW(expected[i], text && strcmp(text, expected[i]) == 0);
    }
    CU_ASSERT_EQUAL(json_real_value(json_array_get(loss, 3)), 0.1); // every bit
    CU_ASSERT_STRING_EQUAL(text_of(object, "max_error_share"), "nan");
    json_decref(object);
}

static void test_controls_pairs_and_bad_bytes(void) {
    fixture f;
    fixture_init(&f);
    f.result.n_injected = 2;
    f.result.injected[1] = (lg_injection){
        .cause = LG_CAUSE_NEGATIVE_LABELS, .n_rows = 3, .rows = (int64_t[]){0, 4, 9}};
    f.result.judged.text = "bytes \xff\xfe and \x01";
    json_t *object = parse(&f.result);
    CU_ASSERT_STRING_EQUAL(text_of(object, "fault"), "wrong_head_width+negative_labels");
    CU_ASSERT_STRING_EQUAL(text_of(object, "reason"), "bytes \xef\xbf\xbd\xef\xbf\xbd and \x01");
    // Rows that two faults spoiled count once.
    CU_ASSERT_EQUAL(json_array_size(json_object_get(object, "injected_rows")), 4);
    json_decref(object);
    f.result.n_injected = 0;
    object = parse(&f.result);
    CU_ASSERT_STRING_EQUAL(text_of(object, "fault"), "none");
    json_decref(object);
}

static char *read_back(const char *path) {
    size_t n;
    char *text = lg_read_file(path, &n);
    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    return text;
}

static void test_lines_are_there_before_the_run_ends(void) {
    char folder[] = "/tmp/lossgate-json-XXXXXX";
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
    char path[64];
    snprintf(path, sizeof(path), "%s/cases.jsonl", folder);
    fixture f;
    fixture_init(&f);
    lg_diags diags = {0};
    lg_observer observer = lg_report_jsonl(path, &diags);
    CU_ASSERT_PTR_NOT_NULL_FATAL(observer.context);
    observer.case_done(observer.context, &f.result);
    char *one = read_back(path);
    char *line = lg_case_json(&f.result);
    CU_ASSERT_EQUAL(strlen(one), strlen(line) + 1);
    CU_ASSERT_EQUAL(strncmp(one, line, strlen(line)), 0);
    free(line);
    free(one);
    lg_report_jsonl_free(&observer);
    unlink(path);
    rmdir(folder);
    observer = lg_report_jsonl(path, &diags); // the folder is gone
    CU_ASSERT_PTR_NULL(observer.context);
    CU_ASSERT_EQUAL(diags.n_errors, 1);
    lg_diags_free(&diags);
}

static void test_junit_counts_and_escapes(void) {
    char path[] = "/tmp/lossgate-junit-XXXXXX";
    int fd = mkstemp(path);
    CU_ASSERT_TRUE_FATAL(fd >= 0);
    close(fd);
    fixture f;
    fixture_init(&f);
    lg_diags diags = {0};
    lg_observer observer = lg_report_junit(path, &diags);
    observer.case_done(observer.context, &f.result);
    f.scenario.name = "a<b>&\x01";
    f.result.as_expected = false;
    f.result.expectation = "expected \"pass\"";
    observer.case_done(observer.context, &f.result);
    f.result.judged.verdict = LG_UNTESTED;
    observer.case_done(observer.context, &f.result);
    f.result.judged.verdict = LG_SKIPPED;
    f.result.as_expected = true;
    f.result.judged.text = "takes no strides";
    observer.case_done(observer.context, &f.result);
    lg_run_summary summary = {0};
    observer.run_ended(observer.context, &summary);
    lg_report_junit_free(&observer);
    char *text = read_back(path);
    CU_ASSERT_PTR_NOT_NULL(strstr(
        text,
        "<testsuite name=\"lossgate\" tests=\"4\" failures=\"1\" errors=\"1\" skipped=\"1\""));
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "classname=\"a&lt;b&gt;&amp;\xef\xbf\xbd\""));
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "<failure message=\"expected &quot;pass&quot;\""));
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "<skipped message=\"takes no strides\"/>"));
    CU_ASSERT_PTR_NULL(strchr(text, '\x01'));
    CU_ASSERT_EQUAL(diags.n_errors, 0);
    free(text);
    unlink(path);
    lg_diags_free(&diags);
}

int main(void) {
    const lg_test tests[] = {
        {"every promised key is there", test_every_promised_key_is_there},
        {"numbers without JSON form are text", test_numbers_without_json_form_are_text},
        {"controls, pairs and bad bytes", test_controls_pairs_and_bad_bytes},
        {"lines are there before the run ends", test_lines_are_there_before_the_run_ends},
        {"JUnit counts and escapes", test_junit_counts_and_escapes},
    };
    return lg_run_tests(LG_SUITE, tests, sizeof(tests) / sizeof(tests[0]));
}
