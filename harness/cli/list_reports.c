// SPDX-License-Identifier: Apache-2.0
// `lossgate list reports`: the scenarios that come from a report, what each must show, and what the
// latest run found.
#include "cli/list_reports.h"

#include "support/alloc.h"
#include "support/str.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

// Different words in the order they first came, joined with '+'.
typedef struct word_set {
    lg_str text;
} word_set;

static bool has_word(const word_set *set, const char *word) {
    size_t n = strlen(word);
    for (const char *at = lg_str_text(&set->text); (at = strstr(at, word)) != NULL; at += n) {
        bool begins = at == lg_str_text(&set->text) || at[-1] == '+';
        if (begins && (at[n] == '\0' || at[n] == '+')) {
            return true;
        }
    }
    return false;
}

static void add_word(word_set *set, const char *word) {
    if (!has_word(set, word)) {
        lg_str_add(&set->text, set->text.n ? "+" : "");
        lg_str_add(&set->text, word);
    }
}

typedef struct report {
    const char *origin, *scenario;
    word_set wanted_verdicts, wanted_causes;
    word_set verdicts, causes; // of the run
    int64_t n_cases, n_as_expected;
} report;

typedef struct report_list {
    int64_t n;
    report *items;
} report_list;

// What the scenario's author expects; without words of their own, what the faults and the policy of
// each kernel ask for.
static void add_expectation(report *r, const lg_scenario *scenario) {
    const lg_expect *expect = &scenario->expect;
    bool control = scenario->n_faults == 0;
    add_word(&r->wanted_verdicts, expect->has_verdict ? lg_verdict_name(expect->verdict)
                                  : control           ? lg_verdict_name(LG_PASS)
                                                      : "as the policy says");
    if (expect->has_cause) {
        add_word(&r->wanted_causes, lg_cause_name(expect->cause));
    } else if (control && !expect->has_verdict) {
        add_word(&r->wanted_causes, lg_cause_name(LG_CAUSE_NONE));
    }
    for (int i = LG_CAUSE_NONE + 1; i < LG_N_CAUSES; i++) {
        if (expect->causes & LG_CAUSE_BIT(i)) {
            add_word(&r->wanted_causes, lg_cause_name((lg_cause)i));
        }
    }
    for (int i = 0; i < scenario->n_faults && !expect->has_cause && !expect->causes; i++) {
        add_word(&r->wanted_causes, lg_cause_name(scenario->faults[i].kind));
    }
}

static void collect(const lg_scenarios *scenarios, report_list *out) {
    *out = (report_list){.items = lg_xcalloc((size_t)scenarios->n + 1, sizeof(*out->items))};
    for (int64_t i = 0; i < scenarios->n; i++) {
        const lg_scenario_set *set = &scenarios->sets[i];
        if (set->n == 0 || !set->items[0].origin) {
            continue;
        }
        report *r = &out->items[out->n++];
        r->origin = set->items[0].origin;
        r->scenario = set->items[0].name;
        for (int64_t k = 0; k < set->n; k++) {
            add_expectation(r, &set->items[k]);
        }
    }
}

static report *find(const report_list *list, const char *scenario) {
    for (int64_t i = 0; scenario && i < list->n; i++) {
        if (strcmp(list->items[i].scenario, scenario) == 0) {
            return &list->items[i];
        }
    }
    return NULL;
}

// All that the finding names; false when it names nothing.
static bool add_named(word_set *set, const json_t *causes) {
    bool any = false;
    size_t i;
    const json_t *item;
    json_array_foreach(causes, i, item) {
        const char *cause = json_string_value(json_object_get(item, "cause"));
        if (cause && json_is_true(json_object_get(item, "named"))) {
            const json_t *with = json_object_get(item, "with");
            size_t k;
            const json_t *companion;
            add_word(set, cause);
            any = true;
            json_array_foreach(with, k, companion) {
                const char *name = json_string_value(companion);
                add_word(set, name ? name : "?");
            }
        }
    }
    return any;
}

static void add_case(const report_list *list, const json_t *line) {
    report *r = find(list, json_string_value(json_object_get(line, "scenario")));
    const char *verdict = json_string_value(json_object_get(line, "verdict"));
    const char *cause = json_string_value(json_object_get(line, "cause"));
    if (!r || !verdict || !cause) {
        return;
    }
    r->n_cases++;
    r->n_as_expected += json_is_true(json_object_get(line, "as_expected"));
    add_word(&r->verdicts, verdict);
    if (!add_named(&r->causes, json_object_get(line, "causes"))) {
        add_word(&r->causes, cause);
    }
}

// A run that was not made is no error: the list says so.
static bool read_run(const char *path, const report_list *list, lg_diags *diags) {
    FILE *file = fopen(path, "r");
    if (!file) {
        return errno == ENOENT ||
               lg_error(diags, (lg_loc){.file = path}, "cannot read: %s", strerror(errno));
    }
    bool ok = true;
    char *line = NULL;
    size_t capacity = 0;
    for (int n = 1; getline(&line, &capacity, file) > 0; n++) {
        json_error_t error;
        json_t *parsed = json_loads(line, 0, &error);
        if (!json_is_object(parsed)) {
            ok = lg_error(diags, (lg_loc){.file = path, .line = n}, "not a case: %s",
                          parsed ? "no object" : error.text);
        } else {
            add_case(list, parsed);
        }
        json_decref(parsed);
    }
    free(line);
    fclose(file);
    return ok;
}

static void print_report(const report *r) {
    lg_str wanted = {0};
    lg_str_printf(&wanted, "%s, %s", lg_str_text(&r->wanted_verdicts.text),
                  r->wanted_causes.text.n ? lg_str_text(&r->wanted_causes.text) : "any cause");
    printf("%-46s %-44s %-50s ", r->origin, r->scenario, lg_str_text(&wanted));
    if (r->n_cases == 0) {
        puts("not run");
    } else {
        printf("%s, %s (%" PRId64 " of %" PRId64 " as expected)\n", lg_str_text(&r->verdicts.text),
               lg_str_text(&r->causes.text), r->n_as_expected, r->n_cases);
    }
    lg_str_free(&wanted);
}

static void free_reports(report_list *list) {
    for (int64_t i = 0; i < list->n; i++) {
        report *r = &list->items[i];
        lg_str_free(&r->wanted_verdicts.text);
        lg_str_free(&r->wanted_causes.text);
        lg_str_free(&r->verdicts.text);
        lg_str_free(&r->causes.text);
    }
    free(list->items);
}

int lg_list_reports(const lg_cli *cli) {
    lg_diags diags = {0};
    lg_scenarios scenarios;
    report_list list;
    lg_str_list paths = {.n = cli->words.n - 1, .items = cli->words.items + 1};
    bool ok = lg_scenarios_load(cli, &paths, &scenarios, &diags);
    collect(&scenarios, &list);
    char *run = lg_xasprintf("%s/cases.jsonl", cli->out && *cli->out ? cli->out : "out");
    ok = read_run(run, &list, &diags) && ok;
    for (int64_t i = 0; i < list.n; i++) {
        print_report(&list.items[i]);
    }
    free(run);
    free_reports(&list);
    lg_diags_print(&diags, stderr);
    lg_diags_free(&diags);
    lg_scenarios_free(&scenarios);
    return ok ? LG_EXIT_OK : LG_EXIT_USAGE;
}
