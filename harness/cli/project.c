// SPDX-License-Identifier: Apache-2.0
// Where lossgate's own scenarios and kernels lie, for a program that runs anywhere.
#include "cli/cli.h"

#include "support/alloc.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// The share/lossgate of an installed program lies beside its bin/; otherwise the source tree that
// it was built from. malloc'd.
static char *project_folder(void) {
    char program[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", program, sizeof program - 1);
    program[n > 0 ? n : 0] = '\0';
    for (int up = 0; up < 2; up++) {
        char *slash = strrchr(program, '/');
        if (slash) {
            *slash = '\0';
        }
    }
    char *installed = lg_xasprintf("%s/share/lossgate", program);
    if (access(installed, F_OK) == 0) {
        return installed;
    }
    free(installed);
    return lg_xstrdup(LG_SOURCE_DIR);
}

char *lg_project_path(const char *name) {
    char *folder = project_folder();
    char here[PATH_MAX];
    char project[PATH_MAX];
    bool at_home = realpath(".", here) && realpath(folder, project) && strcmp(here, project) == 0;
    char *path = at_home ? lg_xstrdup(name) : lg_xasprintf("%s/%s", folder, name);
    free(folder);
    return path;
}

char *lg_input_path(const char *argument) {
    if (*argument && *argument != '/' && access(argument, F_OK) != 0) {
        char *shipped = lg_project_path(argument);
        if (access(shipped, F_OK) == 0) {
            return shipped;
        }
        free(shipped);
    }
    return lg_xstrdup(argument);
}

void lg_add_kernel_headers(lg_kernel_set *set) {
    char *kernels = lg_project_path("kernels");
    char folder[PATH_MAX];
    bool found = realpath(kernels, folder) != NULL;
    free(kernels);
    const char *flag = found ? lg_arena_printf(&set->arena, "-I%s", folder) : NULL;
    for (int64_t i = 0; flag && i < set->n; i++) {
        lg_kernel *kernel = &set->items[i];
        char source[PATH_MAX];
        size_t n = strlen(folder);
        bool own = kernel->source && realpath(kernel->source, source) &&
                   strncmp(source, folder, n) == 0 && source[n] == '/';
        if (!kernel->source || own) {
            continue;
        }
        size_t n_flags = (size_t)kernel->n_nvcc_flags;
        const char **flags = lg_arena_array(&set->arena, n_flags + 1, sizeof(char *));
        for (size_t k = 0; k < n_flags; k++) {
            flags[k] = kernel->nvcc_flags[k];
        }
        flags[n_flags] = flag;
        kernel->nvcc_flags = flags;
        kernel->n_nvcc_flags++;
    }
}

const char *lg_cli_nvcc(const lg_cli *cli) {
    if (cli->nvcc) {
        return cli->nvcc;
    }
    // The compiler of the build may be gone where the program was moved to.
    return access(LG_DEFAULT_NVCC, X_OK) == 0 ? LG_DEFAULT_NVCC : "nvcc";
}
