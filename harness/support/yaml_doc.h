// SPDX-License-Identifier: Apache-2.0
// A YAML file as a tree of nodes with positions, over libyaml's events.
//
// Bounded against hostile files: size, nesting, number of nodes and of keys in one mapping;
// anchors, aliases, tags and several documents in one file are refused. Scalars stay text: what a
// scalar means is decided by who reads it (support/yaml_bind.h), so `12abc` is never 12.
#ifndef LG_SUPPORT_YAML_DOC_H
#define LG_SUPPORT_YAML_DOC_H

#include "support/arena.h"
#include "support/error.h"
#include "support/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    LG_YAML_MAX_BYTES = 16 << 20,
    LG_YAML_MAX_DEPTH = 32,
    LG_YAML_MAX_NODES = 1000000,
    LG_YAML_MAX_KEYS = 256,
};

typedef enum lg_yaml_kind { LG_YAML_SCALAR, LG_YAML_LIST, LG_YAML_MAP } lg_yaml_kind;

typedef struct lg_yaml_node lg_yaml_node;

typedef struct lg_yaml_entry {
    lg_yaml_node *key; // a scalar
    lg_yaml_node *value;
} lg_yaml_entry;

struct lg_yaml_node {
    lg_yaml_kind kind;
    int line; // from 1
    int column;
    bool plain;       // a scalar without quotes
    const char *text; // of a scalar
    int64_t n;        // items of a list, entries of a mapping
    lg_yaml_node **items;
    lg_yaml_entry *entries;
    // For who binds this node: what it was converted to, so that a list shared by many matrix
    // points is converted and stored once.
    const void *memo;
    // Set by who binds this node: the value (or a part of it) was refused, so that what it means is
    // not known; and for the value of an unknown key, the known key it may stand for (or NULL).
    bool refused;
    const char *meant;
};

typedef struct lg_yaml_doc {
    lg_arena *arena;  // owns all below
    const char *name; // the file name in diagnostics
    const char *text;
    size_t n;
    lg_yaml_node *root;
} lg_yaml_doc;

// Parses `n` bytes (a byte order mark in front is skipped). Everything is copied into `arena`.
// False when an error was added; after a syntax error nothing can be said about the rest of the
// file, but duplicate keys are all reported.
bool lg_yaml_parse(const char *name, const char *text, size_t n, lg_arena *arena, lg_yaml_doc *doc,
                   lg_diags *diags);
bool lg_yaml_read(const char *path, lg_arena *arena, lg_yaml_doc *doc, lg_diags *diags);

// The value of a key of a mapping, or NULL.
lg_yaml_node *lg_yaml_get(const lg_yaml_node *map, const char *key);
// Follows a dotted path ("batch.targets.dtype", "faults.0.kind"); NULL when a part is missing.
lg_yaml_node *lg_yaml_at(lg_yaml_node *root, const char *path);
// As lg_yaml_at, but returns the last node that exists: where to point when a key is missing.
lg_yaml_node *lg_yaml_towards(lg_yaml_node *root, const char *path);

// Whether what the file says at the path can be relied on: the value there was taken, or there is
// none and no refused value or misspelt key stands where it would be.
bool lg_yaml_known(lg_yaml_node *root, const char *path);

// Orders two nodes by kind and contents; 0: they say the same.
int lg_yaml_compare(const lg_yaml_node *a, const lg_yaml_node *b);

// Sorts the diagnostics from `first` on by line and column; those of one place keep their order.
void lg_yaml_sort(lg_diags *diags, size_t first);

// The node on one line, as flow YAML without blanks: "[32,32]", "{dtype:float32}".
void lg_yaml_flow(const lg_yaml_node *node, lg_str *out);

// Adds an error at the node with its line of the file; control characters in the message become
// '?'. Returns false.
bool lg_yaml_error(const lg_yaml_doc *doc, const lg_yaml_node *node, lg_diags *diags,
                   const char *format, ...) __attribute__((format(printf, 4, 5)));
#ifdef __clang_analyzer__
#define lg_yaml_error(...) LG_ALWAYS_FALSE(lg_yaml_error(__VA_ARGS__))
#endif
lg_loc lg_yaml_loc(const lg_yaml_doc *doc, const lg_yaml_node *node);

#endif
