// SPDX-License-Identifier: Apache-2.0
#include "support/yaml_doc.h"

#include "support/alloc.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

typedef struct yaml_loader {
    yaml_parser_t parser;
    lg_yaml_doc *doc;
    lg_diags *diags;
    int64_t n_nodes;
    bool failed; // nothing more can be read
} yaml_loader;

enum { MAX_SHOWN_LINE = 240 };

// The file's line without its newline, or NULL when it is too long to show the column in it.
static char *copy_line(const lg_yaml_doc *doc, int line, int column) {
    const char *begin = doc->text;
    const char *end = doc->text + doc->n;
    for (int i = 1; i < line; i++) {
        const char *newline = memchr(begin, '\n', (size_t)(end - begin));
        if (!newline) {
            return NULL;
        }
        begin = newline + 1;
    }
    size_t length = 0;
    while (begin + length < end && begin[length] != '\n' && begin[length] != '\r') {
        length++;
    }
    if (length <= MAX_SHOWN_LINE) {
        return lg_xstrndup(begin, length);
    }
    return column < MAX_SHOWN_LINE - 40 ? lg_xasprintf("%.*s ...", MAX_SHOWN_LINE, begin) : NULL;
}

static void hide_controls(char *text, bool keep_tabs) {
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if ((c < 0x20 || c == 0x7f) && !(keep_tabs && c == '\t')) {
            *text = '?';
        }
    }
}

static void add_error(const lg_yaml_doc *doc, int line, int column, lg_diags *diags,
                      const char *format, va_list args) {
    char *message = lg_xvasprintf(format, args);
    hide_controls(message, false);
    char *shown = line > 0 ? copy_line(doc, line, column) : NULL;
    if (shown) {
        hide_controls(shown, true);
    }
    lg_diags_add(diags, LG_ERROR, (lg_loc){doc->name, line, column}, shown, "%s", message);
    free(message);
    free(shown);
}

bool(lg_yaml_error)(const lg_yaml_doc *doc, const lg_yaml_node *node, lg_diags *diags,
                    const char *format, ...) {
    va_list args;
    va_start(args, format);
    add_error(doc, node ? node->line : 0, node ? node->column : 0, diags, format, args);
    va_end(args);
    return false;
}

lg_loc lg_yaml_loc(const lg_yaml_doc *doc, const lg_yaml_node *node) {
    return (lg_loc){doc->name, node ? node->line : 0, node ? node->column : 0};
}

static void fail_at(yaml_loader *loader, yaml_mark_t mark, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void fail_at(yaml_loader *loader, yaml_mark_t mark, const char *format, ...) {
    va_list args;
    va_start(args, format);
    add_error(loader->doc, (int)mark.line + 1, (int)mark.column + 1, loader->diags, format, args);
    va_end(args);
    loader->failed = true;
}

// Whether a tab stands between the line's begin and the first word, at or before `column`.
static bool indented_by_tab(const lg_yaml_doc *doc, int line, size_t column) {
    char *text = copy_line(doc, line, 0);
    size_t blank = text ? strspn(text, " \t") : 0;
    char *tab = text ? memchr(text, '\t', blank) : NULL;
    bool found = tab && column <= blank;
    free(text);
    return found;
}

static bool next_event(yaml_loader *loader, yaml_event_t *event) {
    if (yaml_parser_parse(&loader->parser, event)) {
        return true;
    }
    yaml_mark_t mark = loader->parser.problem_mark;
    const char *problem = loader->parser.problem ? loader->parser.problem : "unreadable";
    if (loader->parser.error == YAML_READER_ERROR) {
        mark = (yaml_mark_t){0};
        for (size_t i = 0; i < loader->parser.problem_offset && i < loader->doc->n; i++) {
            mark.column++;
            if (loader->doc->text[i] == '\n') {
                mark.line++;
                mark.column = 0;
            }
        }
    }
    const char *context = loader->parser.context;
    if (indented_by_tab(loader->doc, (int)mark.line + 1, mark.column)) {
        fail_at(loader, mark, "not valid YAML: a tab; tabs cannot indent YAML, use spaces");
        return false;
    }
    bool is_list = context && strstr(context, "flow sequence");
    if (is_list || (context && strstr(context, "flow mapping"))) {
        fail_at(loader, loader->parser.context_mark,
                "not valid YAML: this '%c' is not closed, or a ',' is missing up to line %zu",
                is_list ? '[' : '{', mark.line + 1);
        return false;
    }
    fail_at(loader, mark, "not valid YAML: %s%s%s", context ? context : "", context ? ", " : "",
            problem);
    return false;
}

static lg_yaml_node *new_node(yaml_loader *loader, lg_yaml_kind kind, yaml_mark_t mark) {
    if (++loader->n_nodes > LG_YAML_MAX_NODES) {
        fail_at(loader, mark, "more than %d values in one file; large arrays belong in a .npy file",
                LG_YAML_MAX_NODES);
        return NULL;
    }
    lg_yaml_node *node = lg_arena_alloc(loader->doc->arena, sizeof *node);
    *node =
        (lg_yaml_node){.kind = kind, .line = (int)mark.line + 1, .column = (int)mark.column + 1};
    return node;
}

static bool refuse_extras(yaml_loader *loader, yaml_mark_t mark, const yaml_char_t *anchor,
                          const yaml_char_t *tag) {
    if (anchor) {
        fail_at(loader, mark, "anchors and aliases are not read; write the value out");
    } else if (tag) {
        fail_at(loader, mark, "tags are not read; write the plain value");
    }
    return loader->failed;
}

static lg_yaml_node *load_node(yaml_loader *loader, yaml_event_t *event, int depth);

static lg_yaml_node *load_scalar(yaml_loader *loader, const yaml_event_t *event) {
    size_t length = event->data.scalar.length;
    const char *text = (const char *)event->data.scalar.value;
    if (refuse_extras(loader, event->start_mark, event->data.scalar.anchor,
                      event->data.scalar.tag)) {
        return NULL;
    }
    if (memchr(text, '\0', length)) {
        fail_at(loader, event->start_mark, "a NUL character in text");
        return NULL;
    }
    lg_yaml_node *node = new_node(loader, LG_YAML_SCALAR, event->start_mark);
    if (node) {
        node->text = lg_arena_strndup(loader->doc->arena, text, length);
        node->plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    }
    return node;
}

// Reads one more node unless the collection ends here; NULL at its end or when reading failed.
static lg_yaml_node *load_next(yaml_loader *loader, yaml_event_type_t end, int depth) {
    yaml_event_t event;
    if (!next_event(loader, &event)) {
        return NULL;
    }
    lg_yaml_node *node = NULL;
    if (event.type != end) {
        node = load_node(loader, &event, depth);
    }
    yaml_event_delete(&event);
    return node;
}

static void load_items(yaml_loader *loader, lg_yaml_node *list, int depth) {
    int64_t capacity = 0;
    lg_yaml_node **items = NULL;
    lg_yaml_node *item;
    while ((item = load_next(loader, YAML_SEQUENCE_END_EVENT, depth)) != NULL) {
        if (list->n == capacity) {
            capacity = capacity ? 2 * capacity : 8;
            items = lg_xrealloc(items, (size_t)capacity * sizeof(lg_yaml_node *));
        }
        items[list->n++] = item;
    }
    list->items = lg_arena_array(loader->doc->arena, (size_t)list->n, sizeof(lg_yaml_node *));
    if (list->n) {
        memcpy(list->items, items, (size_t)list->n * sizeof(lg_yaml_node *));
    }
    free(items);
}

static bool add_entry(yaml_loader *loader, lg_yaml_node *map, lg_yaml_entry *entries,
                      lg_yaml_entry entry) {
    if (map->n == LG_YAML_MAX_KEYS) {
        fail_at(loader,
                (yaml_mark_t){0, (size_t)entry.key->line - 1, (size_t)entry.key->column - 1},
                "more than %d keys in one mapping", LG_YAML_MAX_KEYS);
        return false;
    }
    for (int64_t i = 0; i < map->n; i++) {
        if (strcmp(entries[i].key->text, entry.key->text) == 0) {
            lg_yaml_error(loader->doc, entry.key, loader->diags,
                          "key '%s' occurs twice; the first is in line %d", entry.key->text,
                          entries[i].key->line);
            return true;
        }
    }
    entries[map->n++] = entry;
    return true;
}

static void load_entries(yaml_loader *loader, lg_yaml_node *map, int depth) {
    lg_yaml_entry *entries = lg_xcalloc(LG_YAML_MAX_KEYS, sizeof *entries);
    lg_yaml_entry entry;
    while ((entry.key = load_next(loader, YAML_MAPPING_END_EVENT, depth)) != NULL) {
        // A value cannot be the end of the mapping: libyaml gives an empty scalar for a missing
        // one.
        entry.value = load_next(loader, YAML_NO_EVENT, depth);
        if (!entry.value) {
            break;
        }
        if (entry.key->kind != LG_YAML_SCALAR) {
            lg_yaml_error(loader->doc, entry.key, loader->diags,
                          "a key must be a word, not a list or a mapping");
        } else if (!add_entry(loader, map, entries, entry)) {
            break;
        }
    }
    map->entries = lg_arena_array(loader->doc->arena, (size_t)map->n, sizeof *entries);
    if (map->n) {
        memcpy(map->entries, entries, (size_t)map->n * sizeof *entries);
    }
    free(entries);
}

static lg_yaml_node *load_node(yaml_loader *loader, yaml_event_t *event, int depth) {
    yaml_mark_t mark = event->start_mark;
    lg_yaml_node *node = NULL;
    if (depth >= LG_YAML_MAX_DEPTH) {
        fail_at(loader, mark, "nested deeper than %d levels", LG_YAML_MAX_DEPTH);
    } else if (event->type == YAML_SCALAR_EVENT) {
        node = load_scalar(loader, event);
    } else if (event->type == YAML_SEQUENCE_START_EVENT) {
        if (!refuse_extras(loader, mark, event->data.sequence_start.anchor,
                           event->data.sequence_start.tag) &&
            (node = new_node(loader, LG_YAML_LIST, mark)) != NULL) {
            load_items(loader, node, depth + 1);
        }
    } else if (event->type == YAML_MAPPING_START_EVENT) {
        if (!refuse_extras(loader, mark, event->data.mapping_start.anchor,
                           event->data.mapping_start.tag) &&
            (node = new_node(loader, LG_YAML_MAP, mark)) != NULL) {
            load_entries(loader, node, depth + 1);
        }
    } else if (event->type == YAML_ALIAS_EVENT) {
        fail_at(loader, mark, "anchors and aliases are not read; write the value out");
    } else {
        fail_at(loader, mark, "not valid YAML here");
    }
    return loader->failed ? NULL : node;
}

// Reads events until one of a type that carries data; the stream and document marks are skipped.
static void load_document(yaml_loader *loader) {
    bool done = false;
    while (!done && !loader->failed) {
        yaml_event_t event;
        if (!next_event(loader, &event)) {
            return;
        }
        switch ((int)event.type) {
        case YAML_STREAM_START_EVENT:
        case YAML_DOCUMENT_START_EVENT:
        case YAML_DOCUMENT_END_EVENT:
            if (event.type == YAML_DOCUMENT_START_EVENT && loader->doc->root) {
                fail_at(loader, event.start_mark, "a second document in one file");
            }
            break;
        case YAML_STREAM_END_EVENT:
            done = true;
            break;
        default: // a node of the one document
            loader->doc->root = load_node(loader, &event, 0);
            break;
        }
        yaml_event_delete(&event);
    }
}

bool lg_yaml_parse(const char *name, const char *text, size_t n, lg_arena *arena, lg_yaml_doc *doc,
                   lg_diags *diags) {
    *doc = (lg_yaml_doc){.arena = arena, .name = lg_arena_strdup(arena, name)};
    size_t n_before = diags->n_errors;
    if (n > LG_YAML_MAX_BYTES) {
        return lg_yaml_error(doc, NULL, diags,
                             "the file has %zu bytes, more than the limit of %d; large arrays "
                             "belong in a .npy file",
                             n, LG_YAML_MAX_BYTES);
    }
    if (n >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) { // a byte order mark
        text += 3;
        n -= 3;
    }
    char *copy = lg_arena_alloc(arena, n + 1);
    if (n) {
        memcpy(copy, text, n);
    }
    doc->text = copy;
    doc->n = n;
    yaml_loader loader = {.doc = doc, .diags = diags};
    if (!yaml_parser_initialize(&loader.parser)) {
        return lg_yaml_error(doc, NULL, diags, "out of memory");
    }
    yaml_parser_set_encoding(&loader.parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&loader.parser, (const unsigned char *)copy, n);
    load_document(&loader);
    yaml_parser_delete(&loader.parser);
    if (!loader.failed && !doc->root) {
        lg_yaml_error(doc, NULL, diags, "the file is empty");
    }
    return diags->n_errors == n_before;
}

bool lg_yaml_read(const char *path, lg_arena *arena, lg_yaml_doc *doc, lg_diags *diags) {
    size_t n;
    char *text = lg_read_file(path, &n);
    if (!text) {
        return lg_error(diags, (lg_loc){.file = path}, "cannot be read: %s", strerror(errno));
    }
    bool ok = lg_yaml_parse(path, text, n, arena, doc, diags);
    free(text);
    return ok;
}
