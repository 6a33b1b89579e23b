// SPDX-License-Identifier: Apache-2.0
#include "cli/bundle.h"
#include "cli/cli.h"

#include "support/alloc.h"
#include "support/shell.h"
#include "support/str.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char repro_start[] = "lossgate run ";

// What an earlier run wrote about the case, and the line that runs it again. Owned strings.
typedef struct record {
    char *repro;
    char *kernel, *mode, *verdict, *cause;
} record;

static void free_record(record *r) {
    free(r->repro);
    free(r->kernel);
    free(r->mode);
    free(r->verdict);
    free(r->cause);
    *r = (record){0};
}

static char *copy_member(const json_t *object, const char *key) {
    const char *text = json_string_value(json_object_get(object, key));
    return text ? lg_xstrdup(text) : NULL;
}

static bool read_record(const json_t *object, record *out) {
    *out = (record){.repro = copy_member(object, "repro"),
                    .kernel = copy_member(object, "kernel"),
                    .mode = copy_member(object, "mode"),
                    .verdict = copy_member(object, "verdict"),
                    .cause = copy_member(object, "cause")};
    bool whole = out->repro && out->kernel && out->mode && out->verdict && out->cause;
    if (!whole) {
        free_record(out);
    }
    return whole;
}

// The line of cases.jsonl for the id.
static bool find_record(const char *path, const char *id, record *out, lg_diags *diags) {
    FILE *file = fopen(path, "r");
    if (!file) {
        return lg_error(diags, (lg_loc){.file = path}, "cannot read: %s", strerror(errno));
    }
    char *line = NULL;
    size_t capacity = 0;
    bool found = false;
    for (int n = 1; !found && getline(&line, &capacity, file) > 0; n++) {
        if (!strstr(line, id)) {
            continue;
        }
        json_error_t error;
        json_t *item = json_loads(line, 0, &error);
        if (!item) {
            // A run that was killed leaves its last line cut.
            lg_diags_add(diags, LG_WARNING, (lg_loc){.file = path, .line = n}, NULL,
                         "not a JSON object: %s", error.text);
            continue;
        }
        const char *name = json_string_value(json_object_get(item, "id"));
        found = name && strcmp(name, id) == 0 && read_record(item, out);
        json_decref(item);
    }
    free(line);
    fclose(file);
    return found || lg_error(diags, (lg_loc){.file = path}, "holds no case '%s'", id);
}

static bool read_bundle(const char *folder, record *out, lg_diags *diags) {
    char *path = lg_xasprintf("%s/case.json", folder);
    json_error_t error;
    json_t *object = json_load_file(path, 0, &error);
    bool ok = object && read_record(object, out);
    if (!object) {
        lg_error(diags, (lg_loc){.file = path, .line = error.line > 0 ? error.line : 0},
                 "cannot read: %s", error.text);
    } else if (!ok) {
        lg_error(diags, (lg_loc){.file = path}, "is not the record of a case");
    }
    json_decref(object);
    free(path);
    return ok;
}

// Where the case may be: a bundle, and a line of cases.jsonl. A folder → the bundle itself and
// the file out/cases.jsonl; a plain id → DIR/cases/ID and DIR/cases.jsonl of --out.
typedef struct place {
    char *bundle, *jsonl, *id;
} place;

static place locate(const lg_cli *cli, const char *argument) {
    char *copy = lg_xstrdup(argument);
    size_t n = strlen(copy);
    while (n > 1 && copy[n - 1] == '/') {
        copy[--n] = '\0';
    }
    place p;
    char *slash = strrchr(copy, '/');
    p.id = lg_xstrdup(slash ? slash + 1 : copy);
    if (slash || lg_bundle_exists(copy)) {
        p.bundle = lg_xstrdup(copy);
        if (slash) {
            *slash = '\0';
        }
        p.jsonl = lg_xasprintf("%s.jsonl", copy); // DIR/cases → DIR/cases.jsonl
    } else {
        const char *folder = cli->out && *cli->out ? cli->out : "out";
        p.bundle = lg_xasprintf("%s/cases/%s", folder, copy);
        p.jsonl = lg_xasprintf("%s/cases.jsonl", folder);
    }
    free(copy);
    return p;
}

// --- running it again

typedef struct again {
    bool ran;
    lg_verdict verdict;
    lg_cause cause;
} again;

static void note_case(void *context, const lg_case_result *result) {
    again *a = context;
    *a = (again){.ran = true, .verdict = result->judged.verdict, .cause = result->finding.cause};
}

static int tell(const record *recorded, const again *now) {
    if (!now->ran) {
        puts("not reproduced: the case is not there any more");
        return LG_EXIT_NOT_EXPECTED;
    }
    const char *verdict = lg_verdict_name(now->verdict);
    const char *cause = lg_cause_name(now->cause);
    bool same = strcmp(verdict, recorded->verdict) == 0 && strcmp(cause, recorded->cause) == 0;
    if (same) {
        printf("reproduced: %s, %s\n", verdict, cause);
    } else {
        printf("not reproduced: recorded %s, %s; now %s, %s\n", recorded->verdict, recorded->cause,
               verdict, cause);
    }
    return same ? LG_EXIT_OK : LG_EXIT_NOT_EXPECTED;
}

// A run that ended as its expectation says, or not as it says, was run; anything else is an error.
static int run_and_compare(const lg_cli *cli, const record *recorded) {
    again now = {0};
    lg_observer note = {.context = &now, .case_done = note_case};
    int status = lg_run_observed(cli, &note);
    if (status == LG_EXIT_USAGE || status == LG_EXIT_INTERNAL) {
        return status;
    }
    puts("");
    return tell(recorded, &now);
}

// The words of the recorded line, for lg_cli_parse; they must outlive its result.
static char **parse_repro(const char *file, const char *repro, lg_cli *out, lg_diags *diags) {
    static char program[] = "lossgate run";
    size_t n = 0;
    char **words = strncmp(repro, repro_start, sizeof(repro_start) - 1) == 0
                       ? lg_shell_split(repro, &n)
                       : NULL;
    if (!words || n < 2) {
        lg_error(diags, (lg_loc){.file = file}, "the case's repro is no `lossgate run` line: %s",
                 repro);
        free(words);
        return NULL;
    }
    words[1] = program;
    lg_cli_parse(LG_VERB_RUN, (int)n - 1, words + 1, out);
    return words;
}

static int replay_line(const lg_cli *cli, const char *path, const record *recorded,
                       lg_diags *diags) {
    lg_cli line;
    char **words = parse_repro(path, recorded->repro, &line, diags);
    if (!words) {
        return LG_EXIT_USAGE;
    }
    printf("%s\n\n", recorded->repro);
    fflush(stdout);
    line.jobs = cli->jobs;
    int status = run_and_compare(&line, recorded);
    lg_cli_free(&line);
    free(words);
    return status;
}

static void replace_list(lg_str_list *list, const char *item) {
    free(list->items);
    *list = (lg_str_list){0};
    lg_str_list_add(list, item);
}

static bool check_batch(const lg_cli *line, const char *folder, lg_diags *diags) {
    lg_scenarios scenarios;
    bool compared = false;
    bool ok = lg_scenarios_load(line, &line->words, &scenarios, diags);
    if (ok && (scenarios.n != 1 || scenarios.sets[0].n != 1)) {
        ok = lg_error(diags, (lg_loc){.file = folder}, "its scenario is not one point");
    }
    ok = ok && lg_bundle_check_batch(folder, &scenarios.sets[0].items[0], &compared, diags);
    if (ok) {
        printf("%s: the batch is %s\n\n", folder,
               compared ? "the recorded one, bit for bit" : "made again: none was recorded");
        fflush(stdout);
    }
    lg_scenarios_free(&scenarios);
    return ok;
}

// The scenario comes from the bundle; the recorded line says which kernels and device.
static int replay_bundle(const lg_cli *cli, const char *folder, const record *recorded,
                         lg_diags *diags) {
    lg_cli line;
    char **words = parse_repro(folder, recorded->repro, &line, diags);
    if (!words) {
        return LG_EXIT_USAGE;
    }
    char *scenario = lg_xasprintf("%s/scenario.yaml", folder);
    replace_list(&line.words, scenario);
    replace_list(&line.kernel_globs, recorded->kernel);
    replace_list(&line.mode_globs, recorded->mode);
    line.only_case = NULL;
    line.has_seed = false;
    line.root = NULL;
    line.out = "";
    line.verbose = true;
    line.jobs = cli->jobs;
    int status =
        check_batch(&line, folder, diags) ? run_and_compare(&line, recorded) : LG_EXIT_USAGE;
    lg_cli_free(&line);
    free(scenario);
    free(words);
    return status;
}

static bool is_folder(const char *path) {
    struct stat s;
    return stat(path, &s) == 0 && S_ISDIR(s.st_mode);
}

int lg_verb_replay(const lg_cli *cli) {
    if (cli->words.n != 1) {
        fputs("lossgate replay: error: give one case id or folder out/cases/ID\n", stderr);
        return LG_EXIT_USAGE;
    }
    lg_diags diags = {0};
    record recorded = {0};
    int status = LG_EXIT_USAGE;
    place p = locate(cli, cli->words.items[0]);
    if (lg_bundle_exists(p.bundle)) {
        if (read_bundle(p.bundle, &recorded, &diags)) {
            status = replay_bundle(cli, p.bundle, &recorded, &diags);
        }
    } else if (is_folder(cli->words.items[0]) && access(p.jsonl, F_OK) != 0) {
        lg_error(&diags, (lg_loc){0},
                 "%s has no case.json: give a case id or a folder out/cases/ID",
                 cli->words.items[0]);
    } else if (find_record(p.jsonl, p.id, &recorded, &diags)) {
        status = replay_line(cli, p.jsonl, &recorded, &diags);
    }
    fflush(stdout);
    lg_diags_print(&diags, stderr);
    lg_diags_free(&diags);
    free_record(&recorded);
    free(p.bundle);
    free(p.jsonl);
    free(p.id);
    return status;
}
