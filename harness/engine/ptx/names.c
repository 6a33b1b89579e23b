// SPDX-License-Identifier: Apache-2.0
#include "engine/ptx/parser.h"
#include "support/alloc.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_BUCKETS = 1024, MAX_INDEX_DIGITS = 7 };

static uint32_t hash_bytes(const char *text, size_t n) {
    uint32_t hash = 2166136261U; // FNV-1a
    for (size_t i = 0; i < n; i++) {
        hash = (hash ^ (unsigned char)text[i]) * 16777619U;
    }
    return hash ^ hash >> 15;
}

static void grow(lg_ptx_names *names) {
    size_t n_buckets = names->n_buckets ? 2 * names->n_buckets : FIRST_BUCKETS;
    lg_ptx_name **buckets = lg_xcalloc(n_buckets, sizeof(lg_ptx_name *));
    for (size_t i = 0; i < names->n_buckets; i++) {
        for (lg_ptx_name *name = names->buckets[i], *next; name; name = next) {
            next = name->chain;
            lg_ptx_name **head = &buckets[name->hash & (n_buckets - 1)];
            name->chain = *head;
            *head = name;
        }
    }
    free(names->buckets);
    names->buckets = buckets;
    names->n_buckets = n_buckets;
}

void lg_ptx_names_free(lg_ptx_names *names) {
    free(names->buckets);
    *names = (lg_ptx_names){0};
}

static lg_ptx_name *find(const lg_ptx_names *names, const char *text, size_t n, uint32_t hash) {
    if (!names->n_buckets) {
        return NULL;
    }
    lg_ptx_name *name = names->buckets[hash & (names->n_buckets - 1)];
    while (name && (name->hash != hash || name->n != n || memcmp(name->text, text, n) != 0)) {
        name = name->chain;
    }
    return name;
}

static lg_ptx_name *find_name(lg_ptx_parser *parser, const char *text, size_t n) {
    return find(&parser->names, text, n, hash_bytes(text, n));
}

lg_ptx_name *lg_ptx_intern(lg_ptx_parser *parser, const char *text, size_t n) {
    lg_ptx_names *names = &parser->names;
    uint32_t hash = hash_bytes(text, n);
    lg_ptx_name *name = find(names, text, n, hash);
    if (name) {
        return name;
    }
    if (names->n >= names->n_buckets) {
        grow(names);
    }
    name = lg_arena_alloc(&parser->scratch, sizeof *name);
    *name = (lg_ptx_name){
        .text = lg_arena_strndup(parser->arena, text, n), .n = (uint32_t)n, .hash = hash};
    lg_ptx_name **head = &names->buckets[hash & (names->n_buckets - 1)];
    name->chain = *head;
    *head = name;
    names->n++;
    return name;
}

// "%r12" is register 2 of a range "%r1" or register 12 of a range "%r": the innermost one counts.
static lg_ptx_range *find_range(lg_ptx_parser *parser, const lg_ptx_name *name, int deeper_than) {
    lg_ptx_range *best = NULL;
    const char *text = name->text;
    uint64_t index = 0;
    uint64_t unit = 1;
    for (size_t n = name->n; n > 1 && name->n - n < MAX_INDEX_DIGITS; n--) {
        char c = text[n - 1];
        if (c < '0' || c > '9') {
            break;
        }
        index += unit * (uint64_t)(c - '0');
        unit *= 10;
        if (c == '0' && name->n - n > 0) {
            continue; // %r01 is not a name of the range
        }
        const lg_ptx_name *prefix = find_name(parser, text, n - 1);
        lg_ptx_range *range = prefix ? prefix->range : NULL;
        while (range && index >= range->count) {
            range = range->hidden; // an outer declaration may have more
        }
        if (range && range->depth > deeper_than) {
            best = range;
            deeper_than = range->depth;
        }
    }
    return best;
}

// The binding is made in the scope of `depth`, which may lie outside the current one.
static lg_ptx_binding *push_binding(lg_ptx_parser *parser, lg_ptx_name *name, lg_ptx_bind_kind kind,
                                    int32_t index, int depth) {
    lg_ptx_binding *binding = lg_arena_alloc(&parser->scratch, sizeof *binding);
    lg_ptx_binding **at = &name->binding;
    while (*at && (*at)->depth > depth) {
        at = &(*at)->hidden;
    }
    *binding = (lg_ptx_binding){.kind = kind,
                                .index = index,
                                .depth = depth,
                                .name = name,
                                .hidden = *at,
                                .scope_next = parser->scopes[depth].bindings};
    *at = binding;
    parser->scopes[depth].bindings = binding;
    return binding;
}

bool lg_ptx_bind(lg_ptx_parser *parser, lg_ptx_name *name, lg_ptx_bind_kind kind, int32_t index,
                 int count, const lg_token *at) {
    if (name->binding && name->binding->depth == parser->depth) {
        return lg_ptx_fail(parser, at->line, at->column, "'%s' is already declared on line %d",
                           name->text, name->binding->line);
    }
    if (parser->ranges_at[parser->depth] > 0 && find_range(parser, name, parser->depth - 1)) {
        return lg_ptx_fail(parser, at->line, at->column,
                           "'%s' is already a register of a range of this scope", name->text);
    }
    lg_ptx_binding *binding = push_binding(parser, name, kind, index, parser->depth);
    binding->count = count;
    binding->line = at->line;
    return true;
}

bool lg_ptx_bind_range(lg_ptx_parser *parser, lg_ptx_name *prefix, lg_ptx_type type, uint32_t count,
                       const lg_token *at) {
    if (prefix->range && prefix->range->depth == parser->depth) {
        return lg_ptx_fail(parser, at->line, at->column,
                           "the registers '%s<…>' are already declared in this scope",
                           prefix->text);
    }
    lg_ptx_range *range = lg_arena_alloc(&parser->scratch, sizeof *range);
    lg_ptx_scope *scope = &parser->scopes[parser->depth];
    *range = (lg_ptx_range){.type = type,
                            .count = count,
                            .depth = parser->depth,
                            .prefix = prefix,
                            .hidden = prefix->range,
                            .scope_next = scope->ranges};
    prefix->range = range;
    scope->ranges = range;
    parser->ranges_at[parser->depth]++;
    return true;
}

const lg_ptx_binding *lg_ptx_lookup(lg_ptx_parser *parser, lg_ptx_name *name) {
    const lg_ptx_binding *binding = name->binding;
    int depth = parser->depth;
    while (depth > 0 && parser->ranges_at[depth] == 0) {
        depth--;
    }
    if (binding && binding->depth >= depth) {
        return binding;
    }
    lg_ptx_range *range = find_range(parser, name, binding ? binding->depth : 0);
    if (!range) {
        return binding;
    }
    lg_ptx_reg reg = {.name = name->text, .type = range->type};
    LG_PTX_PUSH(parser->regs, reg);
    return push_binding(parser, name, LG_BIND_REG, (int32_t)parser->regs.n - 1, range->depth);
}

bool lg_ptx_scope_open(lg_ptx_parser *parser) {
    if (parser->depth >= LG_PTX_MAX_DEPTH) {
        return lg_ptx_fail_here(parser, "scopes are nested deeper than %d", LG_PTX_MAX_DEPTH);
    }
    parser->depth++;
    parser->scopes[parser->depth] = (lg_ptx_scope){
        .first_fixup = parser->fixups.n,
        .call_param_bytes = parser->call_param_at,
    };
    parser->ranges_at[parser->depth] = 0;
    return true;
}

void lg_ptx_scope_close(lg_ptx_parser *parser) {
    lg_ptx_scope *scope = &parser->scopes[parser->depth];
    for (lg_ptx_binding *binding = scope->bindings; binding; binding = binding->scope_next) {
        binding->name->binding = binding->hidden;
    }
    for (lg_ptx_range *range = scope->ranges; range; range = range->scope_next) {
        range->prefix->range = range->hidden;
    }
    parser->call_param_at = scope->call_param_bytes;
    parser->ranges_at[parser->depth] = 0;
    parser->depth--;
}
