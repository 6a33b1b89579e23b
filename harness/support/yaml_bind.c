// SPDX-License-Identifier: Apache-2.0
#include "support/yaml_bind.h"

#include <float.h>
#include <string.h>

static const char *dotted(lg_binder *binder, const lg_field_table *table, const char *key) {
    return *table->name ? lg_arena_printf(binder->scratch, "%s.%s", table->name, key) : key;
}

static bool belongs(const lg_field *field, uint32_t tags) {
    return field->tags == 0 || (field->tags & tags);
}

static bool bind_choice_field(lg_binder *binder, lg_yaml_node *node, const char *what,
                              const lg_field *field, void *member) {
    size_t n;
    const char *const *choices = field->choices(&n);
    int index;
    if ((field->explain && field->explain(binder, what, node)) ||
        !lg_bind_choice(binder, node, what, choices, n, &index)) {
        return false;
    }
    *(int *)member = field->first + index;
    return true;
}

static bool bind_choice_set(lg_binder *binder, lg_yaml_node *node, const char *what,
                            const lg_field *field, uint64_t *set) {
    if (!lg_bind_is_list(binder, node, what)) {
        return false;
    }
    if (node->n == 0) {
        return lg_yaml_error(binder->doc, node, binder->diags, "%s is an empty list", what);
    }
    size_t n;
    const char *const *choices = field->choices(&n);
    *set = 0;
    bool ok = true;
    for (int64_t i = 0; i < node->n; i++) {
        int index;
        if (!lg_bind_choice(binder, node->items[i], what, choices, n, &index)) {
            ok = false;
            continue;
        }
        uint64_t bit = UINT64_C(1) << (field->first + index);
        if (*set & bit) {
            ok = lg_yaml_error(binder->doc, node->items[i], binder->diags, "%s lists '%s' twice",
                               what, choices[index]);
        }
        *set |= bit;
    }
    return ok;
}

static bool bind_i64_list(lg_binder *binder, lg_yaml_node *node, const char *what,
                          const lg_field *field, lg_i64_list *list) {
    if (node->memo) {
        *list = *(const lg_i64_list *)node->memo;
        return true;
    }
    if (!lg_bind_is_list(binder, node, what)) {
        return false;
    }
    *list = (lg_i64_list){.n = node->n};
    if (node->n) {
        list->items = lg_arena_array(binder->arena, (size_t)node->n, sizeof(int64_t));
    }
    bool ok = true;
    for (int64_t i = 0; i < node->n; i++) {
        ok &= lg_bind_i64(binder, node->items[i], what, field->min, field->max, &list->items[i]);
    }
    if (ok) {
        lg_i64_list *memo = lg_arena_alloc(binder->arena, sizeof *memo);
        *memo = *list;
        node->memo = memo;
    }
    return ok;
}

static bool bind_text_list(lg_binder *binder, lg_yaml_node *node, const char *what,
                           lg_str_list *list) {
    if (node->memo) {
        *list = *(const lg_str_list *)node->memo;
        return true;
    }
    if (!lg_bind_is_list(binder, node, what)) {
        return false;
    }
    *list = (lg_str_list){.n = node->n};
    if (node->n) {
        list->items = lg_arena_array(binder->arena, (size_t)node->n, sizeof(char *));
    }
    bool ok = true;
    for (int64_t i = 0; i < node->n; i++) {
        ok &= lg_bind_text(binder, node->items[i], what, &list->items[i]);
    }
    if (ok) {
        lg_str_list *memo = lg_arena_alloc(binder->arena, sizeof *memo);
        *memo = *list;
        node->memo = memo;
    }
    return ok;
}

static bool bind_f64(lg_binder *binder, lg_yaml_node *node, const char *what, const lg_field *field,
                     double *value) {
    double read;
    if (!lg_bind_real(binder, node, what, &read)) {
        return false;
    }
    if (!(read >= field->low && read <= field->high) && field->high == DBL_MAX) {
        return field->low == -DBL_MAX
                   ? lg_yaml_error(binder->doc, node, binder->diags, "%s is %s; it must be finite",
                                   what, node->text)
                   : lg_yaml_error(binder->doc, node, binder->diags,
                                   "%s is %s; it must be at least %g and finite", what, node->text,
                                   field->low);
    }
    if (!(read >= field->low && read <= field->high)) {
        return lg_yaml_error(binder->doc, node, binder->diags,
                             "%s is %s; it must lie between %g and %g", what, node->text,
                             field->low, field->high);
    }
    *value = read;
    return true;
}

static bool bind_field(lg_binder *binder, lg_yaml_node *node, const char *what,
                       const lg_field *field, void *object) {
    void *member = (char *)object + field->offset;
    switch (field->type) {
    case LG_FIELD_I64:
        return lg_bind_i64(binder, node, what, field->min, field->max, member);
    case LG_FIELD_U64:
        return lg_bind_u64(binder, node, what, member);
    case LG_FIELD_F64:
        return bind_f64(binder, node, what, field, member);
    case LG_FIELD_REAL:
        return lg_bind_real(binder, node, what, member);
    case LG_FIELD_BOOL:
        return lg_bind_bool(binder, node, what, member);
    case LG_FIELD_TEXT:
        return lg_bind_text(binder, node, what, member);
    case LG_FIELD_CHOICE:
        return bind_choice_field(binder, node, what, field, member);
    case LG_FIELD_CHOICE_SET:
        return bind_choice_set(binder, node, what, field, member);
    case LG_FIELD_I64_LIST:
        return bind_i64_list(binder, node, what, field, member);
    case LG_FIELD_TEXT_LIST:
        return bind_text_list(binder, node, what, member);
    case LG_FIELD_MAP:
        return lg_bind_is_map(binder, node, what) && lg_bind(binder, node, field->table, member);
    case LG_FIELD_CUSTOM:
        return field->read(binder, field, what, node, object);
    }
    return false;
}

// A default is a scalar of the table; nested tables set their own.
static void set_default(lg_binder *binder, const lg_field *field, void *object) {
    if (field->type == LG_FIELD_MAP) {
        lg_bind_defaults(binder, field->table, (char *)object + field->offset);
    } else if (field->initial && field->type != LG_FIELD_CUSTOM) {
        lg_yaml_node scalar = {.kind = LG_YAML_SCALAR, .plain = true, .text = field->initial};
        bind_field(binder, &scalar, field->key, field, object);
    }
}

void lg_bind_defaults(lg_binder *binder, const lg_field_table *table, void *object) {
    for (int i = 0; i < table->n; i++) {
        set_default(binder, &table->fields[i], object);
    }
}

static const lg_field *find_field(const lg_field_table *table, const char *key) {
    for (int i = 0; i < table->n; i++) {
        if (strcmp(table->fields[i].key, key) == 0) {
            return &table->fields[i];
        }
    }
    return NULL;
}

enum { MAX_NAMES = 64 };

static int known_keys(const lg_field_table *table, uint32_t tags, const char *names[MAX_NAMES]) {
    int n = 0;
    for (int i = 0; i < table->n && n < MAX_NAMES; i++) {
        if (belongs(&table->fields[i], tags)) {
            names[n++] = table->fields[i].key;
        }
    }
    return n;
}

// The end of the message: what may be meant, also among the keys of other variants.
static const char *hint(lg_binder *binder, const char *word, const lg_field_table *table,
                        uint32_t tags, const char *what) {
    const char *names[MAX_NAMES];
    int n = known_keys(table, tags, names);
    const char *near = lg_bind_hint(binder, word, names, (size_t)n);
    if (*near) {
        return near;
    }
    n = known_keys(table, UINT32_MAX, names);
    const char *foreign = lg_bind_nearest(word, names, (size_t)n);
    return foreign ? lg_arena_printf(binder->scratch,
                                     "; the nearest is '%s', which %s does not take", foreign, what)
                   : "";
}

static bool report_unknown(lg_binder *binder, const lg_yaml_entry *entry,
                           const lg_field_table *table, uint32_t tags, const char *what) {
    const char *names[MAX_NAMES];
    const lg_yaml_node *key = entry->key;
    int n = known_keys(table, tags, names);
    const char *place = *table->name ? table->name : binder->root ? binder->root : "the file";
    entry->value->meant = lg_bind_nearest(key->text, names, (size_t)n);
    return lg_yaml_error(binder->doc, key, binder->diags, "unknown key '%s' in %s%s", key->text,
                         place, hint(binder, key->text, table, tags, what));
}

static bool report_foreign(lg_binder *binder, const lg_yaml_node *key, const lg_field_table *table,
                           uint32_t tags, const char *what) {
    lg_str list = {0};
    for (int i = 0; i < table->n; i++) {
        if (table->fields[i].tags && belongs(&table->fields[i], tags)) {
            lg_str_printf(&list, "%s%s", list.n ? ", " : "", table->fields[i].key);
        }
    }
    lg_yaml_error(binder->doc, key, binder->diags, "%s does not take '%s'; it takes %s", what,
                  key->text, list.n ? list.text : "nothing more");
    lg_str_free(&list);
    return false;
}

bool lg_bind_tagged(lg_binder *binder, lg_yaml_node *map, const lg_field_table *table, void *object,
                    uint32_t tags, const char *what) {
    bool ok = true;
    for (int i = 0; i < table->n; i++) {
        const lg_field *field = &table->fields[i];
        if (belongs(field, tags)) {
            set_default(binder, field, object);
        }
    }
    for (int64_t i = 0; i < map->n; i++) {
        const lg_yaml_entry *entry = &map->entries[i];
        const lg_field *field = find_field(table, entry->key->text);
        if (!field) {
            ok = report_unknown(binder, entry, table, tags, what);
        } else if (!belongs(field, tags)) {
            entry->value->refused = true;
            ok = report_foreign(binder, entry->key, table, tags, what);
        } else {
            const char *path = dotted(binder, table, field->key);
            entry->value->refused = !bind_field(binder, entry->value, path, field, object);
            ok &= !entry->value->refused;
        }
    }
    for (int i = 0; i < table->n; i++) {
        const lg_field *field = &table->fields[i];
        if (field->required && belongs(field, tags) && !lg_yaml_get(map, field->key)) {
            ok = lg_yaml_error(binder->doc, map, binder->diags, "missing key '%s'",
                               dotted(binder, table, field->key));
        }
    }
    return ok;
}

bool lg_bind(lg_binder *binder, lg_yaml_node *map, const lg_field_table *table, void *object) {
    return lg_bind_tagged(binder, map, table, object, 0, table->name);
}
