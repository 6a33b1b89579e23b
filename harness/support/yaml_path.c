// SPDX-License-Identifier: Apache-2.0
#include "support/strparse.h"
#include "support/yaml_doc.h"

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
