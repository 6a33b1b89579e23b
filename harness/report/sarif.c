// SPDX-License-Identifier: Apache-2.0
// SARIF 2.1.0: a result for each way in which a kernel was not as expected, at the kernel's line or
// else the scenario's. Rules are the causes of findings; a case without one goes by its verdict.
#include "report/report.h"

#include "report/internal.h"
#include "support/alloc.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char root_id[] = "SRCROOT";

// Cases alike are one result: a broken kernel fails every point of a matrix in the same way.
typedef struct group {
    char *key;
    json_t *result;
    int64_t n_cases;
} group;

typedef struct sarif {
    char *path, *root, *version;
    char *temporary; // what is renamed to `path`, or NULL
    FILE *file;
    lg_diags *diags;
    json_t *rules, *results, *notes;
    group *groups;
    size_t n_groups;
} sarif;

static json_t *string_of(const char *text) {
    lg_str clean = {0};
    lg_add_utf8(&clean, text ? text : "");
    json_t *value = json_string(lg_str_text(&clean));
    lg_str_free(&clean);
    return value;
}

static json_t *text_of(const char *text) {
    return json_pack("{s:o}", "text", string_of(text));
}

// --- rules --------------------------------------------------------------------------------------

static const char *rule_of(const lg_case_result *result) {
    lg_cause cause = result->finding.cause;
    return cause != LG_CAUSE_NONE ? lg_cause_name(cause) : lg_verdict_name(result->judged.verdict);
}

static size_t rule_index(sarif *s, const lg_case_result *result) {
    const char *id = rule_of(result);
    for (size_t i = 0; i < json_array_size(s->rules); i++) {
        const json_t *rule = json_array_get(s->rules, i);
        if (strcmp(json_string_value(json_object_get(rule, "id")), id) == 0) {
            return i;
        }
    }
    lg_cause cause = result->finding.cause;
    const char *help =
        cause != LG_CAUSE_NONE ? lg_cause_help(cause) : lg_verdict_help(result->judged.verdict);
    json_array_append_new(s->rules,
                          json_pack("{s:s, s:o, s:{s:s}}", "id", id, "shortDescription",
                                    text_of(help), "defaultConfiguration", "level", "error"));
    return json_array_size(s->rules) - 1;
}

// --- places -------------------------------------------------------------------------------------

static json_t *location(const sarif *s, const char *path, int line) {
    bool relative = false;
    char *uri = lg_path_uri(path, s->root, &relative);
    json_t *artifact = json_pack("{s:s}", "uri", uri);
    if (relative) {
        json_object_set_new(artifact, "uriBaseId", json_string(root_id));
    }
    free(uri);
    return json_pack("{s:{s:o, s:{s:i}}}", "physicalLocation", "artifactLocation", artifact,
                     "region", "startLine", line > 0 ? line : 1);
}

// The scenario's fault, or its file.
static json_t *scenario_location(const sarif *s, const lg_scenario *scenario) {
    const lg_loc *loc = scenario->n_faults > 0 ? &scenario->faults[0].loc : NULL;
    bool known = loc && loc->file;
    const char *path = known ? loc->file : scenario->path ? scenario->path : scenario->name;
    return location(s, path, known ? loc->line : 1);
}

static json_t *main_location(const sarif *s, const lg_case_result *result) {
    const lg_kernel *kernel = result->what->kernel;
    json_t *place;
    if (result->place.file) {
        char *file = lg_kernel_file(kernel, result->place.file);
        place = location(s, file, result->place.line);
        free(file);
    } else {
        place = scenario_location(s, result->what->scenario);
    }
    json_object_set_new(place, "logicalLocations",
                        json_pack("[{s:o, s:s}]", "fullyQualifiedName", string_of(kernel->name),
                                  "kind", "function"));
    return place;
}

// --- results ------------------------------------------------------------------------------------

// What a reader sees first, then the finding as the log has it.
static json_t *message_of(const lg_case_result *result) {
    char *finding = lg_finding_string(result, false);
    lg_str text = {0};
    lg_str_printf(&text, "%s, %s: %s%s%s\n\n%s", result->what->kernel->name,
                  lg_mode_name(result->what->mode), result->expectation,
                  result->judged.text ? ": " : "", result->judged.text ? result->judged.text : "",
                  finding);
    json_t *message = text_of(lg_str_text(&text));
    lg_str_free(&text);
    free(finding);
    return message;
}

static char *key_of(const lg_case_result *result) {
    const lg_source_place *place = &result->place;
    return lg_xasprintf("%s\n%s\n%s\n%s\n%d\n%s", rule_of(result), result->what->kernel->name,
                        lg_verdict_name(result->judged.verdict), place->file ? place->file : "",
                        place->line, place->file ? "" : result->what->scenario->name);
}

static group *group_of(sarif *s, const lg_case_result *result) {
    char *key = key_of(result);
    for (size_t i = 0; i < s->n_groups; i++) {
        if (strcmp(s->groups[i].key, key) == 0) {
            free(key);
            return &s->groups[i];
        }
    }
    s->groups = lg_xrealloc(s->groups, (s->n_groups + 1) * sizeof(*s->groups));
    s->groups[s->n_groups] = (group){.key = key};
    return &s->groups[s->n_groups++];
}

static json_t *new_result(sarif *s, const group *g, const lg_case_result *result) {
    json_t *item =
        json_pack("{s:s, s:i, s:s, s:s, s:o, s:[o], s:[o], s:{s:o}}", "ruleId", rule_of(result),
                  "ruleIndex", (int)rule_index(s, result), "level", "error", "kind", "fail",
                  "message", message_of(result), "locations", main_location(s, result),
                  "relatedLocations", scenario_location(s, result->what->scenario),
                  "partialFingerprints", "lossgate/v1", string_of(g->key));
    json_object_set_new(json_array_get(json_object_get(item, "relatedLocations"), 0), "message",
                        text_of("the scenario"));
    json_object_set_new(item, "properties",
                        json_pack("{s:s, s:s, s:o}", "case", result->what->id, "verdict",
                                  lg_verdict_name(result->judged.verdict), "replay",
                                  string_of(result->repro)));
    return item;
}

static void add_case(void *context, const lg_case_result *result) {
    sarif *s = context;
    if (result->as_expected) {
        return;
    }
    group *g = group_of(s, result);
    if (g->n_cases++ == 0) {
        g->result = new_result(s, g, result);
        json_array_append_new(s->results, g->result);
    }
    json_object_set_new(g->result, "occurrenceCount", json_integer(g->n_cases));
}

// --- the run ------------------------------------------------------------------------------------

static void add_note(void *context, const char *name, const char *text) {
    (void)name; // the text has it
    sarif *s = context;
    json_array_append_new(s->notes,
                          json_pack("{s:s, s:o}", "level", "error", "message", text_of(text)));
}

static json_t *make_log(sarif *s, const lg_run_summary *summary) {
    bool top = strcmp(s->root, "/") == 0;
    char *folder = lg_xasprintf("%s/", top ? "" : s->root);
    char *uri = lg_file_uri(folder);
    json_t *log =
        json_pack("{s:s, s:s, s:[{s:{s:{s:s, s:s, s:O}}, s:{s:{s:s}}, s:[{s:b, s:i, s:O}], s:O}]}",
                  "$schema", "https://json.schemastore.org/sarif-2.1.0.json", "version", "2.1.0",
                  "runs", "tool", "driver", "name", "lossgate", "version", s->version, "rules",
                  s->rules, "originalUriBaseIds", root_id, "uri", uri, "invocations",
                  "executionSuccessful", !summary->interrupted, "exitCode", summary->exit_code,
                  "toolExecutionNotifications", s->notes, "results", s->results);
    free(uri);
    free(folder);
    return log;
}

static bool write_log(sarif *s, const json_t *log) {
    bool ok = json_dumpf(log, s->file, JSON_INDENT(1)) == 0 && fputc('\n', s->file) != EOF;
    ok = fclose(s->file) == 0 && ok;
    s->file = NULL;
    return ok && (!s->temporary || rename(s->temporary, s->path) == 0);
}

static void write_report(void *context, const lg_run_summary *summary) {
    sarif *s = context;
    lg_each_unproven(summary, add_note, s);
    json_t *log = make_log(s, summary);
    if (!log || !write_log(s, log)) {
        lg_error(s->diags, (lg_loc){.file = s->path}, "cannot write: %s",
                 log ? strerror(errno) : "no memory");
    }
    json_decref(log);
}

// A device or a pipe is written to; a file is replaced when the new one is whole.
static bool open_file(sarif *s) {
    struct stat st;
    bool special = stat(s->path, &st) == 0 && !S_ISREG(st.st_mode);
    s->temporary = special ? NULL : lg_xasprintf("%s.tmp", s->path);
    s->file = fopen(special ? s->path : s->temporary, "w");
    return s->file ||
           lg_error(s->diags, (lg_loc){.file = s->path}, "cannot write: %s", strerror(errno));
}

lg_observer lg_report_sarif(const char *path, const char *version, lg_diags *diags) {
    sarif *s = lg_xcalloc(1, sizeof(*s));
    *s = (sarif){.path = lg_xstrdup(path),
                 .root = lg_repository_root(),
                 .version = lg_xstrdup(version),
                 .diags = diags,
                 .rules = json_array(),
                 .results = json_array(),
                 .notes = json_array()};
    lg_observer observer = {.context = s, .case_done = add_case, .run_ended = write_report};
    if (!open_file(s)) {
        lg_report_sarif_free(&observer);
    }
    return observer;
}

void lg_report_sarif_free(lg_observer *observer) {
    sarif *s = observer->context;
    if (s) {
        for (size_t i = 0; i < s->n_groups; i++) {
            free(s->groups[i].key);
        }
        free(s->groups);
        if (s->file) {
            fclose(s->file);
        }
        if (s->temporary) {
            unlink(s->temporary); // a whole one was renamed
        }
        free(s->temporary);
        json_decref(s->rules);
        json_decref(s->results);
        json_decref(s->notes);
        free(s->version);
        free(s->root);
        free(s->path);
        free(s);
    }
    *observer = (lg_observer){0};
}
