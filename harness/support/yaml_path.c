// SPDX-License-Identifier: Apache-2.0
#include "support/alloc.h"
#include "support/strparse.h"
#include "support/yaml_doc.h"

#include <stdlib.h>
#include <string.h>

lg_yaml_node *lg_yaml_get(const lg_yaml_node *map, const char *key) {
    if (!map || map->kind != LG_YAML_MAP) {
        return NULL;
    }
    for (int64_t i = 0; i < map->n; i++) {
        if (strcmp(map->entries[i].key->text, key) == 0) {
            return map->entries[i].value;
        }
    }
    return NULL;
}

static lg_yaml_node *step(const lg_yaml_node *node, const char *part) {
    int64_t index;
    if (node->kind == LG_YAML_LIST) {
        bool inside = lg_parse_i64(part, &index) && index >= 0 && index < node->n;
        return inside ? node->items[index] : NULL;
    }
    return lg_yaml_get(node, part);
}

static lg_yaml_node *walk(lg_yaml_node *node, const char *path, bool whole) {
    char part[128];
    while (node && *path) {
        size_t length = strcspn(path, ".");
        if (length >= sizeof part) {
            return whole ? NULL : node;
        }
        memcpy(part, path, length);
        part[length] = '\0';
        lg_yaml_node *next = step(node, part);
        if (!next) {
            return whole ? NULL : node;
        }
        node = next;
        path += length + (path[length] == '.');
    }
    return node;
}

lg_yaml_node *lg_yaml_at(lg_yaml_node *root, const char *path) {
    return walk(root, path, true);
}

lg_yaml_node *lg_yaml_towards(lg_yaml_node *root, const char *path) {
    return walk(root, path, false);
}

// A key that was not known, but may be meant for `part`.
static bool misspelt(const lg_yaml_node *map, const char *part) {
    for (int64_t i = 0; i < map->n; i++) {
        const lg_yaml_node *value = map->entries[i].value;
        if (value && value->meant && strcmp(value->meant, part) == 0) {
            return true;
        }
    }
    return false;
}

bool lg_yaml_known(lg_yaml_node *root, const char *path) {
    const lg_yaml_node *node = root;
    char part[128];
    while (*path) {
        size_t length = strcspn(path, ".");
        if (length >= sizeof part) {
            return false;
        }
        memcpy(part, path, length);
        part[length] = '\0';
        const lg_yaml_node *next = step(node, part);
        if (!next) {
            return node->kind == LG_YAML_MAP ? !misspelt(node, part) : !node->refused;
        }
        node = next;
        path += length + (path[length] == '.');
    }
    return !node->refused;
}

int lg_yaml_compare(const lg_yaml_node *a, const lg_yaml_node *b) {
    if (a->kind != b->kind) {
        return a->kind < b->kind ? -1 : 1;
    }
    if (a->kind == LG_YAML_SCALAR) {
        return a->plain != b->plain ? a->plain - b->plain : strcmp(a->text, b->text);
    }
    if (a->n != b->n) {
        return a->n < b->n ? -1 : 1;
    }
    int order = 0;
    for (int64_t i = 0; i < a->n && order == 0; i++) {
        if (a->kind == LG_YAML_LIST) {
            order = lg_yaml_compare(a->items[i], b->items[i]);
            continue;
        }
        order = strcmp(a->entries[i].key->text, b->entries[i].key->text);
        order = order ? order : lg_yaml_compare(a->entries[i].value, b->entries[i].value);
    }
    return order;
}

typedef struct sorted_diag {
    lg_diag diag;
    size_t at; // in the order of their adding
} sorted_diag;

static int by_place(const void *left, const void *right) {
    const sorted_diag *a = left;
    const sorted_diag *b = right;
    if (a->diag.line != b->diag.line) {
        return a->diag.line < b->diag.line ? -1 : 1;
    }
    if (a->diag.column != b->diag.column) {
        return a->diag.column < b->diag.column ? -1 : 1;
    }
    return a->at < b->at ? -1 : a->at > b->at;
}

void lg_yaml_sort(lg_diags *diags, size_t first) {
    size_t n = diags->n - first;
    if (n < 2) {
        return;
    }
    sorted_diag *sorted = lg_xcalloc(n, sizeof *sorted);
    for (size_t i = 0; i < n; i++) {
        sorted[i] = (sorted_diag){diags->items[first + i], i};
    }
    qsort(sorted, n, sizeof *sorted, by_place);
    for (size_t i = 0; i < n; i++) {
        diags->items[first + i] = sorted[i].diag;
    }
    free(sorted);
}

void lg_yaml_flow(const lg_yaml_node *node, lg_str *out) {
    switch (node->kind) {
    case LG_YAML_SCALAR:
        lg_str_add(out, node->text);
        return;
    case LG_YAML_LIST:
        lg_str_add(out, "[");
        for (int64_t i = 0; i < node->n; i++) {
            lg_str_add(out, i ? "," : "");
            lg_yaml_flow(node->items[i], out);
        }
        lg_str_add(out, "]");
        return;
    case LG_YAML_MAP:
        lg_str_add(out, "{");
        for (int64_t i = 0; i < node->n; i++) {
            lg_str_printf(out, "%s%s:", i ? "," : "", node->entries[i].key->text);
            lg_yaml_flow(node->entries[i].value, out);
        }
        lg_str_add(out, "}");
        return;
    }
}
