// SPDX-License-Identifier: Apache-2.0
// Arrays that stay in their files, named from where the new scenario is.
#include "shrink/internal.h"
#include "support/npy.h"

#include <stdlib.h>
#include <string.h>

static char *real_folder(const char *out_path) {
    const char *slash = out_path ? strrchr(out_path, '/') : NULL;
    if (!slash) {
        return realpath(".", NULL);
    }
    char *folder = strndup(out_path, slash == out_path ? 1 : (size_t)(slash - out_path));
    char *real = folder ? realpath(folder, NULL) : NULL;
    free(folder);
    return real;
}

// The file is absolute, with ":member" behind it perhaps: the reader made it so.
static const char *rebase(lg_array_spec *spec, const char *folder, lg_arena *arena) {
    size_t n = strlen(folder);
    if (strncmp(spec->file, folder, n) == 0 && (spec->file[n] == '/' || n == 1)) {
        spec->file = lg_arena_strdup(arena, spec->file + n + (n > 1));
        return NULL;
    }
    size_t length = lg_npy_path_length(spec->file);
    const char *slash = memrchr(spec->file, '/', length);
    return slash ? lg_arena_strndup(arena, spec->file,
                                    slash == spec->file ? 1 : (size_t)(slash - spec->file))
                 : NULL;
}

const char *lg_shrink_rebase_files(lg_scenario *scenario, const char *out_path, lg_arena *arena) {
    lg_array_spec *const specs[] = {&scenario->batch.logits, &scenario->batch.targets,
                                    &scenario->weight, &scenario->pos_weight,
                                    &scenario->grad_output};
    char *folder = real_folder(out_path);
    const char *outside = NULL;
    for (size_t i = 0; folder && i < sizeof specs / sizeof specs[0]; i++) {
        const char *beyond = NULL;
        if (specs[i]->source == LG_ARRAY_FILE) {
            beyond = rebase(specs[i], folder, arena);
        }
        outside = beyond ? beyond : outside;
    }
    free(folder);
    return outside;
}
