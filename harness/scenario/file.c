// SPDX-License-Identifier: Apache-2.0
// Files that a scenario names: only inside its own folder or an allowed one, links resolved.
#include "model/tensor_file.h"
#include "scenario/internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

// What is known of a file without reading its elements, kept with the node that names it.
typedef struct peeked {
    const char *file; // resolved, with ":member"
    lg_dtype dtype;
    lg_i64_list shape;
} peeked;

static bool lies_in(const char *path, const char *folder) {
    char *real = realpath(folder, NULL);
    if (!real) {
        return false;
    }
    size_t n = strlen(real);
    bool inside = strncmp(path, real, n) == 0 && (path[n] == '/' || n == 1);
    free(real);
    return inside;
}

static char *folder_of(lg_arena *arena, const char *path) {
    const char *slash = strrchr(path, '/');
    if (!slash) {
        return lg_arena_strdup(arena, ".");
    }
    return lg_arena_strndup(arena, path, slash == path ? 1 : (size_t)(slash - path));
}

// The real path of `name` as seen from the scenario's folder, or NULL with an error.
static const char *resolve(lg_scenario_reader *reader, const char *what, const lg_yaml_node *node,
                           const char *name) {
    lg_binder *binder = &reader->binder;
    const char *folder = folder_of(binder->arena, binder->doc->name);
    const char *joined =
        *name == '/' ? name : lg_arena_printf(binder->arena, "%s/%s", folder, name);
    char *real = realpath(joined, NULL);
    if (!real) {
        lg_yaml_error(binder->doc, node, binder->diags, "%s: '%.200s' cannot be read: %s", what,
                      name, strerror(errno));
        return NULL;
    }
    bool allowed = lies_in(real, folder);
    for (int64_t i = 0; !allowed && i < reader->options->allow_paths.n; i++) {
        allowed = lies_in(real, reader->options->allow_paths.items[i]);
    }
    const char *copy = lg_arena_strdup(binder->arena, real);
    free(real);
    struct stat status;
    if (!allowed) {
        lg_yaml_error(binder->doc, node, binder->diags,
                      "%s: '%.200s' lies outside the scenario's folder; --allow-path permits it",
                      what, name);
        return NULL;
    }
    if (stat(copy, &status) != 0 || !S_ISREG(status.st_mode)) {
        lg_yaml_error(binder->doc, node, binder->diags, "%s: '%.200s' is not a regular file", what,
                      name);
        return NULL;
    }
    return copy;
}

static peeked *peek(lg_scenario_reader *reader, const char *what, const lg_yaml_node *node) {
    lg_binder *binder = &reader->binder;
    size_t length = lg_npy_path_length(node->text);
    const char *name = lg_arena_strndup(binder->arena, node->text, length);
    const char *path = resolve(reader, what, node, name);
    if (!path) {
        return NULL;
    }
    peeked *file = lg_arena_alloc(binder->arena, sizeof *file);
    file->file = lg_arena_printf(binder->arena, "%s%s", path, node->text + length);
    lg_npy_header header;
    lg_diags problems = {0};
    lg_npy_reader *array = lg_npy_open(file->file, &header, &problems);
    if (!array) {
        lg_yaml_error(binder->doc, node, binder->diags, "%s: '%.200s' %s", what, node->text,
                      problems.n ? problems.items[0].message : "cannot be read");
        lg_diags_free(&problems);
        return NULL;
    }
    lg_npy_close(array);
    lg_diags_free(&problems);
    if (header.rank > LG_MAX_RANK) {
        lg_yaml_error(binder->doc, node, binder->diags,
                      "%s: '%.200s' has %d dimensions; at most %d", what, node->text, header.rank,
                      LG_MAX_RANK);
        return NULL;
    }
    file->dtype = lg_dtype_of_npy(header.type);
    file->shape.n = header.rank;
    if (header.rank) {
        size_t bytes = (size_t)header.rank * sizeof(int64_t);
        file->shape.items = lg_arena_alloc(binder->arena, bytes);
        memcpy(file->shape.items, header.shape, bytes);
    }
    return file;
}

LG_CUSTOM(lg_read_file_name) {
    (void)field;
    const char *text;
    if (!lg_bind_text(binder, value, what, &text)) {
        return false;
    }
    if (!value->memo) {
        value->memo = peek(binder->context, what, value);
    }
    const peeked *file = value->memo;
    if (!file) {
        return false;
    }
    lg_array_spec *spec = object;
    spec->source = LG_ARRAY_FILE;
    spec->file = file->file;
    return true;
}

void lg_array_take_file_facts(const lg_yaml_node *file, lg_array_spec *spec) {
    const peeked *known = file->memo;
    if (!known) {
        return; // it cannot be read
    }
    spec->shape = known->shape;
    if (spec->dtype == LG_DTYPE_NONE) {
        spec->dtype = known->dtype;
    }
}
