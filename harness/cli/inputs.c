// SPDX-License-Identifier: Apache-2.0
// From paths on the command line to scenarios and kernels.
#include "cli/cli.h"

#include "scenario/scenario.h"
#include "support/alloc.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char skip_marker[] = ".lossgate-skip";

static bool is_yaml(const char *name) {
    const char *dot = strrchr(name, '.');
    return dot && dot != name && (strcmp(dot, ".yaml") == 0 || strcmp(dot, ".yml") == 0);
}

static bool is_folder(const char *path) {
    struct stat s;
    return stat(path, &s) == 0 && S_ISDIR(s.st_mode);
}

static bool is_skipped(const char *folder) {
    char *marker = lg_xasprintf("%s/%s", folder, skip_marker);
    bool skipped = access(marker, F_OK) == 0;
    free(marker);
    return skipped;
}

static bool walk(const char *folder, bool recursive, lg_str_list *files, lg_diags *diags) {
    struct dirent **entries = NULL;
    int n = scandir(folder, &entries, NULL, alphasort);
    if (n < 0) {
        return lg_error(diags, (lg_loc){.file = folder}, "cannot read the folder: %s",
                        strerror(errno));
    }
    bool ok = true;
    for (int i = 0; i < n; i++) {
        const char *name = entries[i]->d_name;
        char *path =
            lg_xasprintf("%s%s%s", folder, folder[strlen(folder) - 1] == '/' ? "" : "/", name);
        bool hidden = name[0] == '.';
        if (!hidden && is_folder(path)) {
            ok = (!recursive || is_skipped(path) || walk(path, true, files, diags)) && ok;
        } else if (!hidden && is_yaml(name)) {
            lg_str_list_add(files, path);
            path = NULL; // the list's now
        }
        free(path);
        free(entries[i]);
    }
    free(entries);
    return ok;
}

bool lg_collect_yaml(const char *argument, bool recursive, lg_str_list *files, lg_diags *diags) {
    char *path = lg_input_path(argument);
    bool ok = true;
    if (*path && is_folder(path)) {
        ok = walk(path, recursive, files, diags);
    } else if (access(path, R_OK) != 0) {
        ok = lg_error(diags, (lg_loc){.file = argument}, "cannot read: %s", strerror(errno));
    } else {
        lg_str_list_add(files, lg_xstrdup(path));
    }
    free(path);
    return ok;
}

void lg_file_list_free(lg_str_list *files) {
    for (int64_t i = 0; i < files->n; i++) {
        free((char *)files->items[i]);
    }
    free(files->items);
    *files = (lg_str_list){0};
}

char *lg_cli_cache(const lg_cli *cli) {
    if (cli->cache) {
        return lg_xstrdup(cli->cache);
    }
    const char *base = getenv("XDG_CACHE_HOME");
    if (base && *base == '/') {
        return lg_xasprintf("%s/lossgate", base);
    }
    const char *home = getenv("HOME");
    return home && *home == '/' ? lg_xasprintf("%s/.cache/lossgate", home)
                                : lg_xstrdup(".lossgate-cache");
}

// The part of `path` up to and with its last component `scenarios`, or NULL; malloc'd.
static char *up_to_scenarios(const char *path) {
    static const char word[] = "scenarios";
    size_t n = strlen(path);
    for (size_t end = n; end > 0; end--) {
        bool at_end = end == n || path[end] == '/';
        size_t length = sizeof(word) - 1;
        if (at_end && end >= length && strncmp(path + end - length, word, length) == 0 &&
            (end == length || path[end - length - 1] == '/')) {
            return lg_xstrndup(path, end);
        }
    }
    return NULL;
}

static char *folder_of(const char *file) {
    const char *slash = strrchr(file, '/');
    return slash ? lg_xstrndup(file, (size_t)(slash - file) + (slash == file)) : lg_xstrdup(".");
}

// What the scenarios of one argument are named relative to: --root, or the nearest folder
// `scenarios`, or the folder itself (then `*chosen`: a repro line has to say it).
static char *root_of(const lg_cli *cli, const char *argument, bool *chosen) {
    *chosen = cli->root != NULL;
    if (cli->root) {
        return lg_xstrdup(cli->root);
    }
    char *folder = is_folder(argument) ? lg_xstrdup(argument) : folder_of(argument);
    char real[PATH_MAX];
    char *root = realpath(folder, real) ? up_to_scenarios(real) : NULL;
    if (root) {
        free(folder);
        return root;
    }
    *chosen = is_folder(argument);
    return folder;
}

// The file relative to the root without its extension; a file outside keeps its path.
static const char *scenario_name(lg_arena *arena, const char *root, const char *file) {
    char real_root[PATH_MAX];
    char real_file[PATH_MAX];
    const char *name = file;
    if (realpath(root, real_root) && realpath(file, real_file)) {
        size_t n = strlen(real_root);
        bool inside = strncmp(real_file, real_root, n) == 0 && real_file[n] == '/';
        name = inside ? real_file + n + 1 : file;
    }
    size_t length =
        strlen(name) - strlen(strrchr(name, '.') && is_yaml(name) ? strrchr(name, '.') : "");
    return lg_arena_strndup(arena, name, length);
}

static bool load_file(const lg_cli *cli, const char *root, const char *file, lg_scenarios *out,
                      lg_diags *diags) {
    lg_read_options options = {.root = root, .allow_paths = cli->allow_paths};
    lg_scenario_set set = {0};
    if (!lg_scenario_read(file, &options, &set, diags)) {
        lg_scenario_set_free(&set);
        return false;
    }
    const char *name = scenario_name(&set.arena, root, file);
    for (int64_t i = 0; i < set.n; i++) {
        set.items[i].name = name;
    }
    out->sets = lg_xrealloc(out->sets, ((size_t)out->n + 1) * sizeof(*out->sets));
    out->sets[out->n++] = set;
    return true;
}

static bool load_argument(const lg_cli *cli, const char *argument, lg_scenarios *out,
                          lg_diags *diags) {
    lg_str_list files = {0};
    bool ok = lg_collect_yaml(argument, true, &files, diags);
    bool chosen = false;
    char *path = lg_input_path(argument);
    char *root = root_of(cli, path, &chosen);
    free(path);
    for (int64_t i = 0; i < files.n; i++) {
        ok = load_file(cli, root, files.items[i], out, diags) && ok;
    }
    lg_file_list_free(&files);
    if (chosen && !out->root) {
        out->root = root;
    } else {
        free(root);
    }
    return ok;
}

bool lg_scenarios_load(const lg_cli *cli, const lg_str_list *paths, lg_scenarios *out,
                       lg_diags *diags) {
    *out = (lg_scenarios){0};
    bool ok = true;
    for (int64_t i = 0; i < paths->n; i++) {
        ok = load_argument(cli, paths->items[i], out, diags) && ok;
    }
    if (paths->n == 0) {
        char *path = lg_project_path("scenarios");
        ok = load_argument(cli, path, out, diags);
        free(path);
    }
    return ok;
}

void lg_scenarios_free(lg_scenarios *scenarios) {
    for (int64_t i = 0; i < scenarios->n; i++) {
        lg_scenario_set_free(&scenarios->sets[i]);
    }
    free(scenarios->sets);
    free(scenarios->root);
    *scenarios = (lg_scenarios){0};
}

bool lg_kernels_load(const lg_cli *cli, lg_kernel_set *set, lg_diags *diags) {
    *set = (lg_kernel_set){0};
    lg_str_list files = {0};
    bool ok = true;
    for (int64_t i = 0; i < cli->kernel_paths.n; i++) {
        ok = lg_collect_yaml(cli->kernel_paths.items[i], false, &files, diags) && ok;
    }
    if (cli->kernel_paths.n == 0) {
        static const char *const folders[] = {"kernels", "kernels/mutants"};
        for (int i = 0; i < 2; i++) {
            char *path = lg_project_path(folders[i]);
            ok = lg_collect_yaml(path, false, &files, diags) && ok;
            free(path);
        }
    }
    for (int64_t i = 0; i < files.n; i++) {
        ok = lg_kernels_read(files.items[i], set, diags) && ok;
    }
    lg_file_list_free(&files);
    lg_add_kernel_headers(set);
    return ok;
}
