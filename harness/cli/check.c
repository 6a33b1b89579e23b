// SPDX-License-Identifier: Apache-2.0
#include "cli/cli.h"

#include "model/scenario_read.h"
#include "pipeline/devrun.h"
#include "support/plain.h"
#include "support/str.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

// A manifest has a top-level key `family` or `kernels`, which no scenario has.
static bool is_manifest(const char *path) {
    size_t n;
    char *text = lg_read_file(path, &n);
    bool found = false;
    for (const char *line = text; line && !found; line = strchr(line, '\n')) {
        line += *line == '\n';
        found = strncmp(line, "family:", 7) == 0 || strncmp(line, "kernels:", 8) == 0;
        if (!*line) {
            break;
        }
    }
    free(text);
    return found;
}

typedef struct checked {
    int64_t n_scenarios, n_points, n_manifests;
    lg_kernel_set kernels;
} checked;

static void check_file(const lg_cli *cli, const char *file, checked *done, lg_diags *diags) {
    if (is_manifest(file)) {
        done->n_manifests++;
        lg_kernels_read(file, &done->kernels, diags);
        return;
    }
    lg_read_options options = {.root = cli->root, .allow_paths = cli->allow_paths};
    lg_scenario_set set = {0};
    done->n_scenarios++;
    lg_scenario_read(file, &options, &set, diags);
    done->n_points += set.n;
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
    checked done = {0};
    for (int64_t i = 0; i < files.n; i++) {
        check_file(cli, files.items[i], &done, &diags);
    }
    if (cli->compile) {
        compile_kernels(cli, &done.kernels, &diags);
    }
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
    lg_file_list_free(&files);
    lg_diags_free(&diags);
    return status;
}
