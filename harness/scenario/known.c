// SPDX-License-Identifier: Apache-2.0
// What is known of a file with errors: a check looks only at values that were taken, so that one
// error neither hides the others nor brings forth false ones.
#include "scenario/internal.h"

#include <string.h>

bool lg_paths_overlap(const char *a, const char *b) {
    size_t n = strlen(a) < strlen(b) ? strlen(a) : strlen(b);
    return strncmp(a, b, n) == 0 && (a[n] == '.' || b[n] == '.' || a[n] == b[n]);
}

// Whether the axis of a matrix, or one of its rows, sets what is at the path.
static bool varies(const lg_yaml_entry *axis, const char *path) {
    const lg_yaml_node *values = axis->value;
    if (values->kind != LG_YAML_MAP) {
        return lg_paths_overlap(axis->key->text, path);
    }
    for (int64_t i = 0; i < values->n; i++) {
        const lg_yaml_node *row = values->entries[i].value;
        for (int64_t k = 0; row->kind == LG_YAML_MAP && k < row->n; k++) {
            if (lg_paths_overlap(row->entries[k].key->text, path)) {
                return true;
            }
        }
    }
    return false;
}

// A matrix key with an error: its values are not in place.
static bool varied_wrongly(const lg_scenario_reader *reader, const char *path) {
    const lg_yaml_node *matrix = lg_yaml_get(reader->root, "matrix");
    bool is_map = matrix && matrix->kind == LG_YAML_MAP;
    for (int64_t i = 0; is_map && i < matrix->n; i++) {
        if (matrix->entries[i].value->refused && varies(&matrix->entries[i], path)) {
            return true;
        }
    }
    return false;
}

bool lg_scenario_knows(lg_scenario_reader *reader, const char *paths) {
    char path[160];
    while (*paths) {
        size_t length = strcspn(paths, " ");
        if (length >= sizeof path) {
            return false;
        }
        memcpy(path, paths, length);
        path[length] = '\0';
        bool no_kind = strcmp(path, "loss.kind") == 0 && reader->scenario->loss.kind == 0;
        if (no_kind || !lg_yaml_known(reader->root, path) || varied_wrongly(reader, path)) {
            return false;
        }
        paths += length + (paths[length] == ' ');
    }
    return true;
}

// Whether sizes that are left out would be those of listed arrays, and these are not known.
static bool listed_unknown(lg_scenario_reader *reader) {
    bool sources = lg_scenario_knows(reader, "batch.logits.values batch.logits.file "
                                             "batch.targets.values batch.targets.file");
    bool listed = lg_scenario_has(reader, "batch.logits.values") ||
                  lg_scenario_has(reader, "batch.logits.file") ||
                  lg_scenario_has(reader, "batch.targets.values") ||
                  lg_scenario_has(reader, "batch.targets.file");
    return !sources ||
           (listed && !lg_scenario_knows(reader, "loss.kind batch.classes batch.samples "
                                                 "batch.logits.shape batch.targets.shape "
                                                 "batch.targets.kind batch.targets.distribution"));
}

bool lg_scenario_knows_sizes(lg_scenario_reader *reader) {
    if (!lg_scenario_knows(reader, "loss.kind batch.unbatched batch.samples batch.extent "
                                   "batch.classes")) {
        return false;
    }
    bool given = lg_scenario_has(reader, "batch.samples") &&
                 lg_scenario_has(reader, "batch.extent") &&
                 lg_scenario_has(reader, "batch.classes");
    return given || !listed_unknown(reader);
}
