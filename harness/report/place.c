// SPDX-License-Identifier: Apache-2.0
#include "report/internal.h"

#include "support/alloc.h"
#include "support/str.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool has_git(const char *folder) {
    char *path = lg_xasprintf("%s/.git", strcmp(folder, "/") == 0 ? "" : folder);
    bool there = access(path, F_OK) == 0;
    free(path);
    return there;
}

// Cuts the last part off an absolute path; "/" stays.
static void to_parent(char *path) {
    char *slash = strrchr(path, '/');
    if (slash) {
        slash[slash == path] = '\0';
    }
}

char *lg_repository_root(void) {
    char *current = realpath(".", NULL);
    char *at = lg_xstrdup(current ? current : "/");
    while (!has_git(at) && strcmp(at, "/") != 0) {
        to_parent(at);
    }
    if (!has_git(at)) {
        free(at);
        at = lg_xstrdup(current ? current : "/");
    }
    free(current);
    return at;
}

char *lg_kernel_file(const lg_kernel *kernel, const char *file) {
    char *source = kernel->source ? realpath(kernel->source, NULL) : NULL;
    char *path = NULL;
    if (source && file[0] != '/') {
        to_parent(source);
        to_parent(source);
        path = lg_xasprintf("%s/%s", strcmp(source, "/") == 0 ? "" : source, file);
    }
    path = path ? path : lg_xstrdup(file);
    char *found = realpath(path, NULL);
    free(found ? path : NULL);
    free(source);
    return found ? found : path;
}

static void add_encoded(lg_str *out, const char *path) {
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~/";
    for (const char *at = path; *at; at++) {
        if (strchr(plain, *at)) {
            lg_str_add_n(out, at, 1);
        } else {
            lg_str_printf(out, "%%%02X", (unsigned)(unsigned char)*at);
        }
    }
}

char *lg_path_uri(const char *path, const char *root, bool *relative) {
    char *real = realpath(path, NULL);
    char *current = real || path[0] == '/' ? NULL : realpath(".", NULL); // it is not there
    char *joined = current ? lg_xasprintf("%s/%s", current, path) : NULL;
    const char *absolute = real ? real : joined ? joined : path;
    size_t n = strcmp(root, "/") == 0 ? 0 : strlen(root);
    bool inside = strncmp(absolute, root, n) == 0 && absolute[n] == '/';
    lg_str out = {0};
    *relative = inside || absolute[0] != '/';
    lg_str_add(&out, *relative ? "" : "file://");
    add_encoded(&out, inside ? absolute + n + 1 : absolute);
    free(joined);
    free(current);
    free(real);
    return lg_str_take(&out);
}

char *lg_file_uri(const char *path) {
    lg_str out = {0};
    lg_str_add(&out, "file://");
    add_encoded(&out, path);
    return lg_str_take(&out);
}
