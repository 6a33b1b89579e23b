// SPDX-License-Identifier: Apache-2.0
// Which local files a source is made of, and the compiler's words about them.
#include "device/internal.h"

#include "support/alloc.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    MAX_FILES = 1000
}; // a loop of includes ends by the list of files seen; this ends the absurd

typedef struct collector {
    const char *const *folders;
    size_t n_folders;
    char **seen; // resolved paths, the queue of files to read as well
    size_t n_seen;
    bool *opaque;
} collector;

static void add_file(collector *files, char *resolved) {
    for (size_t i = 0; i < files->n_seen; i++) {
        if (strcmp(files->seen[i], resolved) == 0) {
            free(resolved);
            return;
        }
    }
    if (files->n_seen == MAX_FILES) {
        *files->opaque = true;
        free(resolved);
        return;
    }
    files->seen = lg_xrealloc(files->seen, (files->n_seen + 1) * sizeof *files->seen);
    files->seen[files->n_seen++] = resolved;
}

static bool add_if_found(collector *files, const char *folder, const char *name, size_t n_name) {
    char *path = *name == '/' ? lg_xstrndup(name, n_name)
                              : lg_xasprintf("%s/%.*s", folder, (int)n_name, name);
    char *resolved = realpath(path, NULL);
    free(path);
    if (!resolved) {
        return false;
    }
    add_file(files, resolved);
    return true;
}

static void add_include(collector *files, const char *includer, const char *name, size_t n_name,
                        bool quoted) {
    if (n_name == 0 || n_name > 4096) {
        return;
    }
    if (quoted) {
        const char *slash = strrchr(includer, '/');
        char *folder = lg_xstrndup(includer, slash ? (size_t)(slash - includer) : 0);
        bool found = add_if_found(files, folder, name, n_name);
        free(folder);
        if (found) {
            return;
        }
    }
    for (size_t i = 0; i < files->n_folders; i++) {
        if (add_if_found(files, files->folders[i], name, n_name)) {
            return;
        }
    }
}

static const char *skip_blanks(const char *at) {
    while (*at == ' ' || *at == '\t') {
        at++;
    }
    return at;
}

// Includes inside comments or switched-off branches are followed as well: a file too many in the
// key costs a compilation, one too few a wrong result.
static void scan_line(collector *files, const char *includer, const char *line) {
    const char *at = skip_blanks(line);
    if (*at != '#') {
        return;
    }
    at = skip_blanks(at + 1);
    if (strncmp(at, "include", 7) != 0) {
        return;
    }
    at += 7;
    if (strncmp(at, "_next", 5) == 0) {
        at += 5;
    }
    at = skip_blanks(at);
    if (*at == '"' || *at == '<') {
        const char *name = at + 1;
        size_t n = strcspn(name, *at == '"' ? "\"\n" : ">\n");
        add_include(files, includer, name, n, *at == '"');
    } else { // a macro, or something more clever
        *files->opaque = true;
    }
}

static void scan_text(collector *files, const char *path, const char *text) {
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        scan_line(files, path, line);
    }
    if (strstr(text, "__has_include")) {
        *files->opaque = true;
    }
}

static const char *relative_to(const char *path, const char *folder) {
    size_t n = strlen(folder);
    while (n > 0 && folder[n - 1] == '/') {
        n--;
    }
    return strncmp(path, folder, n) == 0 && path[n] == '/' ? path + n + 1 : path;
}

bool lg_collect_sources(const char *source, const char *const *folders, size_t n_folders,
                        const char *cwd, lg_str *out, bool *opaque, lg_diags *diags) {
    collector files = {.folders = folders, .n_folders = n_folders, .opaque = opaque};
    bool ok = true;
    char *resolved = realpath(source, NULL);
    if (!resolved) {
        return lg_error(diags, (lg_loc){source, 0, 0}, "cannot read it: %s", strerror(errno));
    }
    add_file(&files, resolved);
    for (size_t i = 0; i < files.n_seen; i++) {
        const char *path = files.seen[i];
        size_t n;
        char *text = lg_read_file(path, &n);
        if (!text) {
            if (i == 0) {
                ok = lg_error(diags, (lg_loc){source, 0, 0}, "cannot read it: %s", strerror(errno));
            }
            continue; // a folder or an unreadable header: the compiler will say so
        }
        lg_str_printf(out, "%s\n%zu\n", relative_to(path, cwd), n);
        lg_str_add_n(out, text, n);
        scan_text(&files, path, text);
        free(text);
    }
    for (size_t i = 0; i < files.n_seen; i++) {
        free(files.seen[i]);
    }
    free(files.seen);
    return ok;
}

void lg_shorten_ptx_paths(const char *ptx, const char *folder, lg_str *out) {
    for (const char *line = ptx; *line;) {
        const char *newline = strchr(line, '\n');
        size_t n = newline ? (size_t)(newline - line) + 1 : strlen(line);
        const char *at = skip_blanks(line);
        const char *quote =
            strncmp(at, ".file", 5) == 0 ? memchr(at, '"', n - (size_t)(at - line)) : NULL;
        if (quote) {
            const char *path = quote + 1;
            const char *shorter = relative_to(path, folder);
            lg_str_add_n(out, line, (size_t)(path - line));
            lg_str_add_n(out, shorter, n - (size_t)(shorter - line));
        } else {
            lg_str_add_n(out, line, n);
        }
        line += n;
    }
}
