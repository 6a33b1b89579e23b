// SPDX-License-Identifier: Apache-2.0
#include "cli/cli.h"

#include "support/alloc.h"
#include "support/shell.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static const char repro_start[] = "lossgate run ";

// The repro line that cases.jsonl holds for the id; malloc'd, NULL with an error.
static char *find_repro(const char *path, const char *id, lg_diags *diags) {
    FILE *file = fopen(path, "r");
    if (!file) {
        lg_error(diags, (lg_loc){.file = path}, "cannot read: %s", strerror(errno));
        return NULL;
    }
    char *line = NULL;
    size_t capacity = 0;
    char *repro = NULL;
    for (int n = 1; !repro && getline(&line, &capacity, file) > 0; n++) {
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
        const char *found = json_string_value(json_object_get(item, "id"));
        const char *text = json_string_value(json_object_get(item, "repro"));
        if (found && text && strcmp(found, id) == 0) {
            repro = lg_xstrdup(text);
        }
        json_decref(item);
    }
    free(line);
    fclose(file);
    if (!repro) {
        lg_error(diags, (lg_loc){.file = path}, "holds no case '%s'", id);
    }
    return repro;
}

// out/cases/ID → the file out/cases.jsonl and ID; a plain id → DIR/cases.jsonl of --out.
static char *locate(const lg_cli *cli, const char *argument, char **id) {
    char *copy = lg_xstrdup(argument);
    size_t n = strlen(copy);
    while (n > 1 && copy[n - 1] == '/') {
        copy[--n] = '\0';
    }
    char *slash = strrchr(copy, '/');
    *id = lg_xstrdup(slash ? slash + 1 : copy);
    char *path = NULL;
    if (slash) {
        *slash = '\0';
        path = lg_xasprintf("%s.jsonl", copy); // DIR/cases → DIR/cases.jsonl
    } else {
        path = lg_xasprintf("%s/cases.jsonl", cli->out && *cli->out ? cli->out : "out");
    }
    free(copy);
    return path;
}

static int run_again(const lg_cli *cli, const char *path, const char *repro, lg_diags *diags) {
    size_t n = 0;
    char **words = strncmp(repro, repro_start, sizeof(repro_start) - 1) == 0
                       ? lg_shell_split(repro, &n)
                       : NULL;
    if (!words || n < 2) {
        lg_error(diags, (lg_loc){.file = path}, "the case's repro is no `lossgate run` line: %s",
                 repro);
        free(words);
        return LG_EXIT_USAGE;
    }
    printf("%s\n\n", repro);
    fflush(stdout);
    char program[] = "lossgate run";
    words[1] = program;
    lg_cli again;
    lg_cli_parse(LG_VERB_RUN, (int)n - 1, words + 1, &again);
    again.jobs = cli->jobs;
    int status = lg_verb_run(&again);
    lg_cli_free(&again);
    free(words);
    return status;
}

int lg_verb_replay(const lg_cli *cli) {
    if (cli->words.n != 1) {
        fputs("lossgate replay: error: give one case id or folder out/cases/ID\n", stderr);
        return LG_EXIT_USAGE;
    }
    lg_diags diags = {0};
    char *id = NULL;
    char *path = locate(cli, cli->words.items[0], &id);
    char *repro = find_repro(path, id, &diags);
    int status = repro ? run_again(cli, path, repro, &diags) : LG_EXIT_USAGE;
    lg_diags_print(&diags, stderr);
    lg_diags_free(&diags);
    free(repro);
    free(path);
    free(id);
    return status;
}
