// SPDX-License-Identifier: Apache-2.0
#include "cli/session_options.h"

#include "support/alloc.h"
#include "support/str.h"

#include <stdlib.h>
#include <string.h>

lg_session_options lg_cli_session(const lg_cli *cli, const lg_driver *driver,
                                  const lg_scenarios *scenarios, const lg_kernel_set *kernels,
                                  const char *cache) {
    return (lg_session_options){.driver = driver,
                                .nvcc = lg_cli_nvcc(cli),
                                .cache_dir = cache,
                                .sets = scenarios->sets,
                                .n_sets = scenarios->n,
                                .kernels = kernels,
                                .kernel_globs = cli->kernel_globs,
                                .mode_globs = cli->mode_globs,
                                .kernels_chosen = cli->kernel_paths.n > 0 && !cli->only_case,
                                .foreign = cli->kernel_paths.n > 0,
                                .has_seed = cli->has_seed,
                                .seed = cli->seed};
}

static bool matches_any(const char *glob, const char *const names[], size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (lg_glob_match(glob, names[i])) {
            return true;
        }
    }
    return false;
}

// The n-th part between slashes; NULL beyond the last. malloc'd.
static char *part_of(const char *path, int n) {
    while (n > 0 && path) {
        path = strchr(path, '/');
        path = path ? path + 1 : NULL;
        n--;
    }
    return path ? lg_xstrndup(path, strcspn(path, "/")) : NULL;
}

// The pattern with each part that is no pattern replaced by the nearest one of the names, when that
// matches something: "nll_los/*" → "nll_loss/*". malloc'd, or NULL.
static char *nearest_pattern(const char *glob, const char *const names[], size_t n) {
    lg_str fixed = {0};
    char **parts = lg_xcalloc(n + 1, sizeof *parts);
    bool found = true;
    for (int level = 0; found; level++) {
        char *part = part_of(glob, level);
        if (!part) {
            break;
        }
        size_t n_parts = 0;
        for (size_t i = 0; i < n; i++) {
            char *of_name = part_of(names[i], level);
            if (of_name) {
                parts[n_parts++] = of_name;
            }
        }
        bool pattern = strpbrk(part, "*?[") != NULL;
        const char *near = pattern ? part : lg_nearest(part, (const char *const *)parts, n_parts);
        found = near != NULL;
        lg_str_printf(&fixed, "%s%s", level ? "/" : "", found ? near : "");
        for (size_t i = 0; i < n_parts; i++) {
            free(parts[i]);
        }
        free(part);
    }
    free(parts);
    if (found && !matches_any(lg_str_text(&fixed), names, n)) {
        lg_str_add(&fixed, "/*"); // a kernel without its policy
    }
    found = found && matches_any(lg_str_text(&fixed), names, n);
    char *text = found ? lg_str_take(&fixed) : NULL;
    lg_str_free(&fixed);
    return text;
}

static bool check_globs(const lg_str_list *globs, const char *where, const char *what,
                        const char *const names[], size_t n) {
    bool ok = true;
    for (int64_t g = 0; g < globs->n; g++) {
        const char *glob = globs->items[g];
        if (matches_any(glob, names, n)) {
            continue;
        }
        char *near = nearest_pattern(glob, names, n);
        fprintf(stderr, "%s: error: no %s matches '%s'", where, what, glob);
        fprintf(stderr, near ? ", did you mean '%s'?\n" : "\n", near);
        free(near);
        ok = false;
    }
    return ok;
}

static bool check_scenarios(const lg_scenarios *scenarios, const char *const names[], size_t n) {
    bool ok = true;
    for (int64_t i = 0; i < scenarios->n; i++) {
        const lg_scenario_set *set = &scenarios->sets[i];
        for (int64_t k = 0; k < set->n; k++) {
            if (lg_scenario_set_new_kernels(set, k)) {
                char *where = lg_xasprintf("%s: run.kernels", set->items[k].path);
                ok = check_globs(&set->items[k].kernels, where, "kernel", names, n) && ok;
                free(where);
            }
        }
    }
    return ok;
}

static bool check_paths(const lg_cli *cli) {
    bool ok = true;
    for (int64_t i = 0; i < cli->words.n; i++) {
        lg_str_list files = {0};
        lg_diags diags = {0}; // of the same path, which has been read before
        if (lg_collect_yaml(cli->words.items[i], true, &files, &diags) && files.n == 0) {
            fprintf(stderr, "lossgate: error: there is no scenario (*.yaml) under '%s'\n",
                    cli->words.items[i]);
            ok = false;
        }
        lg_file_list_free(&files);
        lg_diags_free(&diags);
    }
    return ok;
}

bool lg_cli_filters_match(const lg_cli *cli, const lg_scenarios *scenarios,
                          const lg_kernel_set *kernels) {
    const char **names = lg_xcalloc((size_t)kernels->n + 1, sizeof *names);
    for (int64_t k = 0; k < kernels->n; k++) {
        names[k] = kernels->items[k].name;
    }
    size_t n_modes;
    const char *const *modes = lg_mode_names(&n_modes);
    bool ok = check_paths(cli);
    ok = check_globs(&cli->kernel_globs, "lossgate", "kernel", names, (size_t)kernels->n) && ok;
    ok = check_globs(&cli->mode_globs, "lossgate", "launch mode", modes, n_modes) && ok;
    if (cli->kernel_paths.n == 0) {
        ok = check_scenarios(scenarios, names, (size_t)kernels->n) && ok;
    }
    free(names);
    return ok;
}
