// SPDX-License-Identifier: Apache-2.0
// A matrix: the product of its axes, each a list of values for a dotted key or a mapping of named
// rows, which set several keys together. A point is the file with the chosen values put in place of
// its own, so that every check of a plain file holds for every point.
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

static bool has_rows(const lg_axis *axis) {
    return axis->values->kind == LG_YAML_MAP;
}

// What a choice of the axis puts in place: a value of a list, or the mapping of a named row.
static lg_yaml_node *choice_of(const lg_axis *axis, int64_t i) {
    return has_rows(axis) ? axis->values->entries[i].value : axis->values->items[i];
}

// A value listed twice would be run and counted twice, and so would a row under two names.
static void refuse_twice(lg_binder *binder, const lg_axis *axis) {
    size_t n = (size_t)axis->values->n;
    lg_yaml_node **sorted = lg_xcalloc(n, sizeof(lg_yaml_node *));
    for (size_t i = 0; i < n; i++) {
        sorted[i] = choice_of(axis, (int64_t)i);
    }
    qsort(sorted, n, sizeof(lg_yaml_node *), by_value);
    for (size_t i = 1; i < n; i++) {
        if (lg_yaml_compare(sorted[i - 1], sorted[i]) == 0) {
            lg_str text = {0};
            lg_yaml_flow(sorted[i], &text);
            lg_yaml_error(binder->doc, sorted[i], binder->diags,
                          "matrix key '%s' lists %.60s twice", axis->key->text, lg_str_text(&text));
            lg_str_free(&text);
        }
    }
    free(sorted);
}

static bool is_path(lg_binder *binder, const lg_yaml_node *key) {
    return (strcmp(key->text, "matrix") != 0 && strncmp(key->text, "matrix.", 7) != 0) ||
           lg_yaml_error(binder->doc, key, binder->diags, "a matrix cannot vary a matrix");
}

static bool are_rows(lg_binder *binder, const lg_axis *axis) {
    bool ok = true;
    for (int64_t i = 0; i < axis->values->n; i++) {
        const lg_yaml_node *row = axis->values->entries[i].value;
        if (row->kind != LG_YAML_MAP || row->n == 0) {
            ok = lg_yaml_error(binder->doc, row, binder->diags,
                               "row '%.60s' of matrix key '%s' wants a mapping of dotted keys",
                               axis->values->entries[i].key->text, axis->key->text);
            continue;
        }
        for (int64_t k = 0; k < row->n; k++) {
            ok = is_path(binder, row->entries[k].key) && ok;
        }
    }
    return ok;
}

static bool read_axis(lg_binder *binder, const lg_yaml_entry *entry, lg_matrix *matrix) {
    const lg_axis axis = {entry->key, entry->value};
    if (!is_path(binder, axis.key)) {
        return false;
    }
    if (axis.values->kind == LG_YAML_SCALAR || axis.values->n == 0) {
        return lg_yaml_error(binder->doc, axis.values, binder->diags,
                             "matrix key '%s' wants a list of at least one value, or a mapping of "
                             "named rows",
                             axis.key->text);
    }
    if (has_rows(&axis) && !are_rows(binder, &axis)) {
        return false;
    }
    refuse_twice(binder, &axis);
    matrix->axes[matrix->n_axes++] = axis;
    if (__builtin_mul_overflow(matrix->n_points, axis.values->n, &matrix->n_points)) {
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

static int64_t index_at(const lg_matrix *matrix, int64_t point, int axis) {
    for (int i = matrix->n_axes - 1; i > axis; i--) {
        point /= matrix->axes[i].values->n;
    }
    return point % matrix->axes[axis].values->n;
}

const char *lg_matrix_point_text(const lg_matrix *matrix, int64_t point, lg_arena *arena) {
    lg_str text = {0};
    for (int i = 0; i < matrix->n_axes; i++) {
        const lg_axis *axis = &matrix->axes[i];
        int64_t at = index_at(matrix, point, i);
        lg_str_printf(&text, "%s%s=", i ? " " : "", axis->key->text);
        lg_yaml_flow(has_rows(axis) ? axis->values->entries[at].key : axis->values->items[at],
                     &text);
    }
    const char *copy = lg_arena_strdup(arena, lg_str_text(&text));
    lg_str_free(&text);
    return copy;
}

static lg_yaml_node *refuse(lg_binder *binder, const lg_yaml_node *key, const char *part,
                            const lg_yaml_node *node) {
    if (node->kind == LG_YAML_LIST) {
        lg_yaml_error(binder->doc, key, binder->diags,
                      "matrix key '%s': '%.60s' is no entry of the list in line %d, which has %lld",
                      key->text, part, node->line, (long long)node->n);
    } else {
        lg_yaml_error(binder->doc, key, binder->diags,
                      "matrix key '%s': there is no '%.60s' in a single value (line %d)", key->text,
                      part, node->line);
    }
    return NULL;
}

static lg_yaml_node *with_value(lg_binder *binder, const lg_yaml_node *key, const char *path,
                                lg_yaml_node *node, lg_yaml_node *value, lg_arena *arena);

static lg_yaml_node *map_with(lg_binder *binder, const lg_yaml_node *key, const char *part,
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
        lg_yaml_error(binder->doc, key, binder->diags,
                      "matrix key '%s': there is no entry %lld to vary: the file has no '%s'",
                      key->text, (long long)index, part);
        return NULL;
    }
    if (at == map->n) {
        lg_yaml_node *added = lg_arena_alloc(arena, sizeof *added);
        *added = *key;
        added->text = part;
        lg_yaml_node *empty = lg_arena_alloc(arena, sizeof *empty);
        *empty = (lg_yaml_node){.kind = LG_YAML_MAP, .line = key->line, .column = key->column};
        *entry = (lg_yaml_entry){added, empty};
        copy->n++;
    }
    entry->value = with_value(binder, key, rest, entry->value, value, arena);
    return entry->value ? copy : NULL;
}

static lg_yaml_node *list_with(lg_binder *binder, const lg_yaml_node *key, const char *part,
                               const char *rest, lg_yaml_node *list, lg_yaml_node *value,
                               lg_arena *arena) {
    int64_t at;
    if (!lg_parse_i64(part, &at) || at < 0 || at >= list->n) {
        return refuse(binder, key, part, list);
    }
    lg_yaml_node *copy = lg_arena_alloc(arena, sizeof *copy);
    *copy = *list;
    copy->memo = NULL;
    copy->items = lg_arena_array(arena, (size_t)list->n, sizeof(lg_yaml_node *));
    memcpy(copy->items, list->items, (size_t)list->n * sizeof(lg_yaml_node *));
    copy->items[at] = with_value(binder, key, rest, list->items[at], value, arena);
    return copy->items[at] ? copy : NULL;
}

// A copy of `node` in which the dotted path leads to `value`; everything beside the path is shared.
static lg_yaml_node *with_value(lg_binder *binder, const lg_yaml_node *key, const char *path,
                                lg_yaml_node *node, lg_yaml_node *value, lg_arena *arena) {
    if (!path) {
        return value;
    }
    const char *dot = strchr(path, '.');
    const char *part = dot ? lg_arena_strndup(arena, path, (size_t)(dot - path)) : path;
    const char *rest = dot ? dot + 1 : NULL;
    switch (node->kind) {
    case LG_YAML_MAP:
        return map_with(binder, key, part, rest, node, value, arena);
    case LG_YAML_LIST:
        return list_with(binder, key, part, rest, node, value, arena);
    case LG_YAML_SCALAR:
        break;
    }
    return refuse(binder, key, part, node);
}

// The file as a point is put together, and the keys that were put in place for it so far.
typedef struct composed {
    lg_yaml_node *root;
    const lg_yaml_node **keys;
    int64_t n_keys;
} composed;

static bool put(lg_binder *binder, composed *point, const lg_yaml_entry *setting, lg_arena *arena) {
    const lg_yaml_node *key = setting->key;
    for (int64_t i = 0; i < point->n_keys; i++) {
        if (lg_paths_overlap(point->keys[i]->text, key->text)) {
            return lg_yaml_error(binder->doc, key, binder->diags,
                                 "matrix keys '%s' and '%s' overlap", point->keys[i]->text,
                                 key->text);
        }
    }
    point->keys[point->n_keys++] = key;
    lg_yaml_node *with = with_value(binder, key, key->text, point->root, setting->value, arena);
    point->root = with ? with : point->root; // the other keys are looked at too
    return with;
}

lg_yaml_node *lg_matrix_apply(lg_binder *binder, const lg_matrix *matrix, int64_t point,
                              lg_arena *arena) {
    composed whole = {.root = binder->doc->root};
    int64_t n_keys = 0;
    for (int i = 0; i < matrix->n_axes; i++) {
        const lg_axis *axis = &matrix->axes[i];
        n_keys += has_rows(axis) ? choice_of(axis, index_at(matrix, point, i))->n : 1;
    }
    whole.keys = lg_arena_array(arena, (size_t)n_keys, sizeof(lg_yaml_node *));
    for (int i = 0; i < matrix->n_axes; i++) {
        const lg_axis *axis = &matrix->axes[i];
        lg_yaml_node *choice = choice_of(axis, index_at(matrix, point, i));
        lg_yaml_entry alone = {axis->key, choice};
        const lg_yaml_entry *settings = has_rows(axis) ? choice->entries : &alone;
        int64_t n = has_rows(axis) ? choice->n : 1;
        for (int64_t k = 0; k < n; k++) {
            axis->values->refused |= !put(binder, &whole, &settings[k], arena);
        }
    }
    return whole.root;
}
