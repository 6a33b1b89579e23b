// SPDX-License-Identifier: Apache-2.0
// Binds a YAML mapping to a C struct through a table of fields, and reports every key that does not
// fit: unknown (with the nearest known), missing, of a wrong type, out of range.
//
// Numbers are read whole or refused. A field's default is the text of the table, read by the same
// code as the user's. Strings and lists live in the scratch arena.
#ifndef LG_SUPPORT_YAML_BIND_H
#define LG_SUPPORT_YAML_BIND_H

#include "support/lists.h"
#include "support/yaml_doc.h"

typedef enum lg_field_type {
    LG_FIELD_I64,        // int64_t in [min, max]
    LG_FIELD_U64,        // uint64_t
    LG_FIELD_F64,        // double, finite, in [low, high]
    LG_FIELD_REAL,       // double; inf and nan too
    LG_FIELD_BOOL,       // bool
    LG_FIELD_TEXT,       // const char *, not empty
    LG_FIELD_CHOICE,     // int (an enum): choices[i] is stored as first + i
    LG_FIELD_I64_LIST,   // lg_i64_list, each item in [min, max]
    LG_FIELD_TEXT_LIST,  // lg_str_list
    LG_FIELD_CHOICE_SET, // uint64_t: bit (first + i) for each of a list of choices
    LG_FIELD_MAP,        // a nested table; `offset` is where its fields' offsets start
    LG_FIELD_CUSTOM,     // `read` does it
} lg_field_type;

typedef struct lg_binder {
    const lg_yaml_doc *doc;
    lg_arena *arena;   // owns what the bound struct points to
    lg_arena *scratch; // paths and messages; may be freed after each lg_bind
    lg_diags *diags;
    void *context;    // for LG_FIELD_CUSTOM
    const char *root; // what the file is, in errors: "a scenario"
} lg_binder;

typedef struct lg_field lg_field;

typedef struct lg_field_table {
    const char *name; // dotted path of the mapping: "batch"; "" for the file
    const lg_field *fields;
    int n;
} lg_field_table;

struct lg_field {
    const char *key;
    size_t offset;    // in the bound struct
    int64_t min, max; // of integers
    double low, high; // of LG_FIELD_F64
    const char *const *(*choices)(size_t *n);
    const lg_field_table *table; // LG_FIELD_MAP; may be given for the documentation of a CUSTOM
    bool (*read)(lg_binder *binder, const lg_field *field, const char *what, lg_yaml_node *value,
                 void *object); // `object` is the bound struct, `what` the dotted path
    // LG_FIELD_CHOICE: for a word that is none of the choices; true when it has said why.
    bool (*explain)(lg_binder *binder, const char *what, const lg_yaml_node *value);
    const char *initial;  // default as YAML text, or NULL
    const char *fallback; // a default in words, for the documentation
    const char *unit;     // of the documentation, "" when it has none
    const char *range;    // in words; "" lets the documentation take it from min, max, choices
    const char *help;
    lg_field_type type;
    int first;     // the value of choices[0]
    uint32_t tags; // for the table's owner: which variants take this field; 0: all
    bool required;
};

// Sets the defaults, then every key of `map`. False when an error was added. Reading goes on after
// an error; the nodes of values that were not taken are marked (lg_yaml_known).
bool lg_bind(lg_binder *binder, lg_yaml_node *map, const lg_field_table *table, void *object);
// As lg_bind for the fields whose tags are 0 or contain one of `tags`; `what` names the variant in
// the error for a key that belongs to others ("one_based_labels").
bool lg_bind_tagged(lg_binder *binder, lg_yaml_node *map, const lg_field_table *table, void *object,
                    uint32_t tags, const char *what);

// Only the defaults. lg_bind starts with it for its own table and nested LG_FIELD_MAP tables; a
// mapping read by an LG_FIELD_CUSTOM that may be absent needs it called.
void lg_bind_defaults(lg_binder *binder, const lg_field_table *table, void *object);

// Single values, with the same errors. `what` is the key's dotted path.
bool lg_bind_i64(lg_binder *binder, lg_yaml_node *node, const char *what, int64_t min, int64_t max,
                 int64_t *value);
bool lg_bind_u64(lg_binder *binder, lg_yaml_node *node, const char *what, uint64_t *value);
bool lg_bind_bool(lg_binder *binder, lg_yaml_node *node, const char *what, bool *value);
bool lg_bind_real(lg_binder *binder, lg_yaml_node *node, const char *what, double *value);
bool lg_bind_text(lg_binder *binder, lg_yaml_node *node, const char *what, const char **text);
bool lg_bind_choice(lg_binder *binder, lg_yaml_node *node, const char *what,
                    const char *const *choices, size_t n, int *index);
bool lg_bind_is_map(lg_binder *binder, lg_yaml_node *node, const char *what);
bool lg_bind_is_list(lg_binder *binder, lg_yaml_node *node, const char *what);

// The name that `word` may be meant for, or NULL.
const char *lg_bind_nearest(const char *word, const char *const *names, size_t n);
// "; did you mean 'x'?" or "": the end of a message, in the scratch arena.
const char *lg_bind_hint(lg_binder *binder, const char *word, const char *const *names, size_t n);

#endif
