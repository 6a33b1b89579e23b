// SPDX-License-Identifier: Apache-2.0
#include "cli/cli.h"

#include "device/device.h"
#include "scenario/scenario.h"
#include "support/plain.h"
#include "support/str.h"
#include "support/yaml_doc.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

typedef enum file_kind { EMPTY, MANIFEST, SCENARIO } file_kind;

// A manifest has a top-level key `family` or `kernels`, which no scenario has.
static file_kind kind_of(const char *path) {
    size_t n;
    char *text = lg_read_file(path, &n);
    bool found = false;
    bool empty = text && text[strspn(text, " \t\r\n")] == '\0';
    bool marked = text && strncmp(text, "\xef\xbb\xbf", 3) == 0; // a byte order mark
    for (const char *line = marked ? text + 3 : text; line && !found; line = strchr(line, '\n')) {
        line += *line == '\n';
        found = strncmp(line, "family:", 7) == 0 || strncmp(line, "kernels:", 8) == 0;
        if (!*line) {
            break;
        }
    }
    free(text);
    return found ? MANIFEST : empty ? EMPTY : SCENARIO;
}

// A pattern of run.kernels, to be compared with the kernels once all files are read.
typedef struct pattern {
    struct pattern *before;
    const char *file;
    const char *text;
} pattern;

typedef struct checked {
    int64_t n_scenarios, n_points, n_manifests;
    lg_kernel_set kernels;
    bool all_read; // every kernel of the manifests is known
    lg_arena arena;
    pattern *patterns; // the last one noted
} checked;

static void note_patterns(checked *done, const char *file, const lg_scenario_set *set) {
    for (int64_t k = 0; k < set->n; k++) {
        const lg_str_list *kernels = &set->items[k].kernels;
        for (int64_t i = 0; lg_scenario_set_new_kernels(set, k) && i < kernels->n; i++) {
            pattern *noted = lg_arena_alloc(&done->arena, sizeof *noted);
            *noted =
                (pattern){done->patterns, file, lg_arena_strdup(&done->arena, kernels->items[i])};
            done->patterns = noted;
        }
    }
}

// Where a text stands in a file, or NULL.
static const lg_yaml_node *find_text(const lg_yaml_node *node, const char *text) {
    const lg_yaml_node *found =
        node->kind == LG_YAML_SCALAR && strcmp(node->text, text) == 0 ? node : NULL;
    for (int64_t i = 0; !found && node->kind != LG_YAML_SCALAR && i < node->n; i++) {
        found =
            find_text(node->kind == LG_YAML_MAP ? node->entries[i].value : node->items[i], text);
    }
    return found;
}

// A pattern that no manifest of the same call knows: perhaps it is misspelt.
static void check_patterns(checked *done, lg_diags *diags) {
    for (pattern *noted = done->patterns; noted && done->all_read && done->kernels.n;
         noted = noted->before) {
        bool matches = false;
        for (int64_t i = 0; i < done->kernels.n && !matches; i++) {
            matches = lg_glob_match(noted->text, done->kernels.items[i].name);
        }
        lg_yaml_doc doc;
        if (!matches && lg_yaml_read(noted->file, &done->arena, &doc, diags)) {
            const lg_yaml_node *node = find_text(doc.root, noted->text);
            lg_loc loc = lg_yaml_loc(&doc, node ? node : doc.root);
            lg_diags_add(diags, LG_WARNING, loc, NULL,
                         "run.kernels '%.60s' matches no kernel of the manifests given",
                         noted->text);
        }
    }
}

// All of one file together, in the order of its lines: what was read and what was compiled.
static void sort_by_file(lg_diags *diags, const lg_str_list *files) {
    size_t sorted = 0;
    for (int64_t f = 0; f < files->n; f++) {
        size_t first = sorted;
        for (size_t i = sorted; i < diags->n; i++) {
            lg_diag diag = diags->items[i];
            if (diag.file && strcmp(diag.file, files->items[f]) == 0) {
                memmove(&diags->items[sorted + 1], &diags->items[sorted],
                        (i - sorted) * sizeof diag);
                diags->items[sorted++] = diag;
            }
        }
        lg_diags part = {.items = diags->items, .n = sorted};
        lg_yaml_sort(&part, first);
    }
}

static void check_file(const lg_cli *cli, const char *file, checked *done, lg_diags *diags) {
    file_kind kind = kind_of(file);
    if (kind == MANIFEST) {
        done->n_manifests++;
        done->all_read &= lg_kernels_read_for_check(file, &done->kernels, diags);
        return;
    }
    lg_read_options options = {.root = cli->root, .allow_paths = cli->allow_paths};
    lg_scenario_set set = {0};
    done->n_scenarios += kind == SCENARIO; // an empty file is neither, and an error
    lg_scenario_read(file, &options, &set, diags);
    done->n_points += set.n;
    note_patterns(done, file, &set);
    lg_scenario_set_free(&set);
}

static int print_generated(const lg_cli *cli) {
    lg_str text = {0};
    if (cli->schema) {
        lg_scenario_json_schema(&text);
    } else {
        lg_scenario_reference_page(&text);
    }
    fputs(lg_str_text(&text), stdout);
    lg_str_free(&text);
    return LG_EXIT_OK;
}

// Compiles, loads and checks every kernel read, so that a later run finds them in the cache.
static void compile_kernels(const lg_cli *cli, const lg_kernel_set *kernels, lg_diags *diags) {
    char *cache = lg_cli_cache(cli);
    lg_device_session *device = lg_device_open(lg_driver_sim(), lg_cli_nvcc(cli), cache, diags);
    for (int64_t i = 0; i < kernels->n && device; i++) {
        lg_device_prepare(device, &kernels->items[i], diags);
    }
    lg_device_close(device);
    free(cache);
}

int lg_verb_check(const lg_cli *cli) {
    if (cli->schema || cli->reference_page) {
        return print_generated(cli);
    }
    lg_diags diags = {0};
    lg_str_list files = {0};
    for (int64_t i = 0; i < cli->words.n; i++) {
        lg_collect_yaml(cli->words.items[i], true, &files, &diags);
    }
    if (cli->words.n == 0) {
        char *scenarios = lg_project_path("scenarios");
        char *kernels = lg_project_path("kernels");
        lg_collect_yaml(scenarios, true, &files, &diags);
        lg_collect_yaml(kernels, true, &files, &diags);
        free(scenarios);
        free(kernels);
    }
    checked done = {.all_read = true};
    for (int64_t i = 0; i < files.n; i++) {
        check_file(cli, files.items[i], &done, &diags);
    }
    check_patterns(&done, &diags);
    lg_add_kernel_headers(&done.kernels);
    if (cli->compile) {
        compile_kernels(cli, &done.kernels, &diags);
    }
    sort_by_file(&diags, &files);
    printf("%" PRId64 " scenario%s (%" PRId64 " point%s), %" PRId64 " manifest%s (%" PRId64
           " kernel%s): %zu error%s\n",
           done.n_scenarios, lg_s(done.n_scenarios), done.n_points, lg_s(done.n_points),
           done.n_manifests, lg_s(done.n_manifests), done.kernels.n, lg_s(done.kernels.n),
           diags.n_errors, lg_s((int64_t)diags.n_errors));
    fflush(stdout);
    lg_diags_print(&diags, stderr);
    int status = diags.n_errors > 0 ? LG_EXIT_USAGE : LG_EXIT_OK;
    if (files.n == 0 && status == LG_EXIT_OK) {
        fputs("lossgate check: there is no file to check\n", stderr);
        status = LG_EXIT_NOTHING_PROVEN;
    }
    lg_kernel_set_free(&done.kernels);
    lg_arena_free(&done.arena);
    lg_file_list_free(&files);
    lg_diags_free(&diags);
    return status;
}
