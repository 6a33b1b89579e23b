// SPDX-License-Identifier: Apache-2.0
// A matrix: the product of lists of values for dotted keys. A point is the file with those values
// put in place of its own, so that every check of a plain file holds for every point.
#include "scenario/internal.h"
#include "support/alloc.h"
#include "support/strparse.h"

#include <stdlib.h>
#include <string.h>

static int by_value(const void *left, const void *right) {
    const lg_yaml_node *a = *(lg_yaml_node *const *)left;
    const lg_yaml_node *b = *(lg_yaml_node *const *)right;
    int order = lg_yaml_compare(a, b);
    order = order ? order : (a->line > b->line) - (a->line < b->line);
    return order ? order : (a->column > b->column) - (a->column < b->column);
}

// A value listed twice would be run and counted twice.
static void refuse_twice(lg_binder *binder, const char *path, const lg_yaml_node *values) {
    size_t n = (size_t)values->n;
    lg_yaml_node **sorted = lg_xcalloc(n, sizeof(lg_yaml_node *));
    memcpy(sorted, values->items, n * sizeof(lg_yaml_node *));
    qsort(sorted, n, sizeof(lg_yaml_node *), by_value);
    for (size_t i = 1; i < n; i++) {
        if (lg_yaml_compare(sorted[i - 1], sorted[i]) == 0) {
            lg_str text = {0};
            lg_yaml_flow(sorted[i], &text);
            lg_yaml_error(binder->doc, sorted[i], binder->diags,
                          "matrix key '%s' lists %.60s twice", path, lg_str_text(&text));
            lg_str_free(&text);
        }
    }
    free(sorted);
}

static bool read_axis(lg_binder *binder, const lg_yaml_entry *entry, lg_matrix *matrix) {
    const lg_yaml_node *values = entry->value;
    const char *path = entry->key->text;
    if (strcmp(path, "matrix") == 0 || strncmp(path, "matrix.", 7) == 0) {
        return lg_yaml_error(binder->doc, entry->key, binder->diags,
                             "a matrix cannot vary a matrix");
    }
    if (values->kind != LG_YAML_LIST || values->n == 0) {
        return lg_yaml_error(binder->doc, entry->value, binder->diags,
                             "matrix key '%s' wants a list of at least one value", path);
    }
    for (int i = 0; i < matrix->n_axes; i++) {
        const char *other = matrix->axes[i].key->text;
        size_t n = strlen(path) < strlen(other) ? strlen(path) : strlen(other);
        const char *longer = strlen(path) < strlen(other) ? other : path;
        if (strncmp(path, other, n) == 0 && longer[n] == '.') {
            return lg_yaml_error(binder->doc, entry->key, binder->diags,
                                 "matrix keys '%s' and '%s' overlap", other, path);
        }
    }
    refuse_twice(binder, path, values);
    matrix->axes[matrix->n_axes++] = (lg_axis){entry->key, entry->value};
    if (__builtin_mul_overflow(matrix->n_points, values->n, &matrix->n_points)) {
        matrix->n_points = INT64_MAX;
    }
    return true;
}

void lg_matrix_read(lg_binder *binder, lg_matrix *matrix) {
    *matrix = (lg_matrix){.n_points = 1};
    lg_yaml_node *node = lg_yaml_get(binder->doc->root, "matrix");
    if (!node || !lg_bind_is_map(binder, node, "matrix")) {
        return;
    }
    matrix->axes = lg_arena_array(binder->arena, (size_t)node->n, sizeof *matrix->axes);
    for (int64_t i = 0; i < node->n; i++) {
        node->entries[i].value->refused = !read_axis(binder, &node->entries[i], matrix);
    }
    if (matrix->n_points > LG_MAX_POINTS) {
        lg_yaml_error(binder->doc, node, binder->diags, "the matrix has %s%lld points; at most %d",
                      matrix->n_points == INT64_MAX ? "more than " : "",
                      (long long)matrix->n_points, LG_MAX_POINTS);
        matrix->n_points = 1; // the first one is looked at
    }
}

static lg_yaml_node *choice(const lg_matrix *matrix, int64_t point, int axis) {
    for (int i = matrix->n_axes - 1; i > axis; i--) {
        point /= matrix->axes[i].values->n;
    }
    const lg_yaml_node *values = matrix->axes[axis].values;
    return values->items[point % values->n];
}

const char *lg_matrix_point_text(const lg_matrix *matrix, int64_t point, lg_arena *arena) {
    lg_str text = {0};
    for (int i = 0; i < matrix->n_axes; i++) {
        lg_str_printf(&text, "%s%s=", i ? " " : "", matrix->axes[i].key->text);
        lg_yaml_flow(choice(matrix, point, i), &text);
    }
    const char *copy = lg_arena_strdup(arena, lg_str_text(&text));
    lg_str_free(&text);
    return copy;
}

static lg_yaml_node *refuse(lg_binder *binder, const lg_axis *axis, const char *part,
                            const lg_yaml_node *node) {
    if (node->kind == LG_YAML_LIST) {
        lg_yaml_error(binder->doc, axis->key, binder->diags,
                      "matrix key '%s': '%.60s' is no entry of the list in line %d, which has %lld",
                      axis->key->text, part, node->line, (long long)node->n);
    } else {
        lg_yaml_error(binder->doc, axis->key, binder->diags,
                      "matrix key '%s': there is no '%.60s' in a single value (line %d)",
                      axis->key->text, part, node->line);
    }
    return NULL;
}

static lg_yaml_node *with_value(lg_binder *binder, const lg_axis *axis, const char *path,
                                lg_yaml_node *node, lg_yaml_node *value, lg_arena *arena);

static lg_yaml_node *map_with(lg_binder *binder, const lg_axis *axis, const char *part,
                              const char *rest, lg_yaml_node *map, lg_yaml_node *value,
                              lg_arena *arena) {
    lg_yaml_node *copy = lg_arena_alloc(arena, sizeof *copy);
    *copy = *map;
    copy->memo = NULL;
    copy->entries = lg_arena_array(arena, (size_t)map->n + 1, sizeof *copy->entries);
    if (map->n) {
        memcpy(copy->entries, map->entries, (size_t)map->n * sizeof *copy->entries);
    }
    int64_t at = 0;
    while (at < map->n && strcmp(map->entries[at].key->text, part) != 0) {
        at++;
    }
    lg_yaml_entry *entry = &copy->entries[at];
    int64_t index;
    size_t digits = rest ? strcspn(rest, ".") : 0;
    if (at == map->n && digits &&
        lg_parse_i64(lg_arena_strndup(arena, rest, digits), &index)) { // an entry of no list
        lg_yaml_error(binder->doc, axis->key, binder->diags,
                      "matrix key '%s': there is no entry %lld to vary: the file has no '%s'",
                      axis->key->text, (long long)index, part);
        return NULL;
    }
    if (at == map->n) {
        lg_yaml_node *key = lg_arena_alloc(arena, sizeof *key);
        *key = *axis->key;
        key->text = part;
        lg_yaml_node *empty = lg_arena_alloc(arena, sizeof *empty);
        *empty = (lg_yaml_node){.kind = LG_YAML_MAP, .line = key->line, .column = key->column};
        *entry = (lg_yaml_entry){key, empty};
        copy->n++;
    }
    entry->value = with_value(binder, axis, rest, entry->value, value, arena);
    return entry->value ? copy : NULL;
}

static lg_yaml_node *list_with(lg_binder *binder, const lg_axis *axis, const char *part,
                               const char *rest, lg_yaml_node *list, lg_yaml_node *value,
                               lg_arena *arena) {
    int64_t at;
    if (!lg_parse_i64(part, &at) || at < 0 || at >= list->n) {
        return refuse(binder, axis, part, list);
    }
    lg_yaml_node *copy = lg_arena_alloc(arena, sizeof *copy);
    *copy = *list;
    copy->memo = NULL;
    copy->items = lg_arena_array(arena, (size_t)list->n, sizeof(lg_yaml_node *));
    memcpy(copy->items, list->items, (size_t)list->n * sizeof(lg_yaml_node *));
    copy->items[at] = with_value(binder, axis, rest, list->items[at], value, arena);
    return copy->items[at] ? copy : NULL;
}

// A copy of `node` in which the dotted path leads to `value`; everything beside the path is shared.
static lg_yaml_node *with_value(lg_binder *binder, const lg_axis *axis, const char *path,
                                lg_yaml_node *node, lg_yaml_node *value, lg_arena *arena) {
    if (!path) {
        return value;
    }
    const char *dot = strchr(path, '.');
    const char *part = dot ? lg_arena_strndup(arena, path, (size_t)(dot - path)) : path;
    const char *rest = dot ? dot + 1 : NULL;
    switch (node->kind) {
    case LG_YAML_MAP:
        return map_with(binder, axis, part, rest, node, value, arena);
    case LG_YAML_LIST:
        return list_with(binder, axis, part, rest, node, value, arena);
    case LG_YAML_SCALAR:
        break;
    }
    return refuse(binder, axis, part, node);
}

lg_yaml_node *lg_matrix_apply(lg_binder *binder, const lg_matrix *matrix, int64_t point,
                              lg_arena *arena) {
    lg_yaml_node *root = binder->doc->root;
    for (int i = 0; i < matrix->n_axes; i++) {
        const lg_axis *axis = &matrix->axes[i];
        lg_yaml_node *with =
            with_value(binder, axis, axis->key->text, root, choice(matrix, point, i), arena);
        axis->values->refused |= !with;
        root = with ? with : root; // the other axes are looked at too
    }
    return root;
}
