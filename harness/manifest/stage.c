// SPDX-License-Identifier: Apache-2.0
// Stages and scratch buffers of a manifest: sizes and arguments.
#include "manifest/internal.h"
#include "manifest/manifest.h"
#include "support/str.h"

#include <string.h>

enum { MAX_STAGES = 32, MAX_ARGS = 64, MAX_SCRATCH = 16, MAX_BLOCK_SIZES = 16 };

static bool no_names(void *context, const char *name, int64_t *value) {
    (void)context;
    (void)name;
    (void)value;
    return false;
}

// Checks syntax and names, and a constant against its bounds.
// `knows`: the names beside the sizes of a batch.
enum { KNOWS_BLOCK = 1, KNOWS_ROW = 2 };

static bool read_expr(lg_binder *binder, lg_yaml_node *node, const char *what, int knows,
                      int64_t min, int64_t max, lg_expr *expr) {
    const char *text;
    if (!lg_bind_text(binder, node, what, &text)) {
        return false;
    }
    size_t n;
    const char *const *names = lg_expr_names(&n);
    lg_expr_problem problem;
    // block_x and dtype_bytes are the last two; a block size may not refer to itself.
    const char *sizes[64];
    size_t n_sizes = 0;
    for (size_t i = 0; i < n && n_sizes < 62; i++) {
        if ((knows & KNOWS_BLOCK) || strcmp(names[i], "block_x") != 0) {
            sizes[n_sizes++] = names[i];
        }
    }
    if (knows & KNOWS_ROW) {
        sizes[n_sizes++] = "row";
        sizes[n_sizes++] = "threads";
    }
    if (!lg_expr_check(text, sizes, n_sizes, &problem)) {
        return lg_yaml_error(binder->doc, node, binder->diags,
                             "%s '%.60s' has %s (at character %zu)", what, text, problem.text,
                             problem.at + 1);
    }
    int64_t value;
    if (lg_expr_eval(text, no_names, NULL, &value, &problem)) {
        if (value < min || value > max) {
            return lg_yaml_error(binder->doc, node, binder->diags,
                                 "%s is %lld; it must lie between %lld and %lld", what,
                                 (long long)value, (long long)min, (long long)max);
        }
    } else if (!problem.unknown_name) {
        return lg_yaml_error(binder->doc, node, binder->diags, "%s '%.60s' has %s", what, text,
                             problem.text);
    }
    *expr = text;
    return true;
}

bool lg_is_list_of(lg_binder *binder, lg_yaml_node *value, const char *what, int least, int most,
                   const char *things) {
    if (!lg_bind_is_list(binder, value, what)) {
        return false;
    }
    return (value->n >= least && value->n <= most) ||
           lg_yaml_error(binder->doc, value, binder->diags, "%s has %lld %s; want %d to %d", what,
                         (long long)value->n, things, least, most);
}

LG_CUSTOM(lg_read_size) {
    lg_expr *expr = (lg_expr *)((char *)object + field->offset);
    return read_expr(binder, value, what, KNOWS_BLOCK, 0, 1 << 20, expr);
}

LG_CUSTOM(lg_read_recorder) {
    lg_expr *expr = (lg_expr *)((char *)object + field->offset);
    return read_expr(binder, value, what, KNOWS_BLOCK | KNOWS_ROW, 0, INT64_MAX, expr);
}

LG_CUSTOM(lg_read_geometry) {
    static const int64_t block_limits[3] = {1024, 1024, 64};
    static const int64_t grid_limits[3] = {INT32_MAX, 65535, 65535};
    lg_expr *sizes = (lg_expr *)((char *)object + field->offset);
    bool is_grid = field->offset == offsetof(lg_stage, grid);
    if (!lg_is_list_of(binder, value, what, 1, 3, "dimensions")) {
        return false;
    }
    bool ok = true;
    for (int i = 0; i < 3; i++) {
        sizes[i] = "1";
        int64_t limit = is_grid ? grid_limits[i] : block_limits[i];
        if (i < value->n) {
            ok &= read_expr(binder, value->items[i], what, is_grid ? KNOWS_BLOCK : 0, 1, limit,
                            &sizes[i]);
        }
    }
    return ok;
}

LG_CUSTOM(lg_read_block_x) {
    (void)field;
    lg_stage *stage = object;
    if (!lg_is_list_of(binder, value, what, 1, MAX_BLOCK_SIZES, "sizes")) {
        return false;
    }
    lg_expr *sizes = lg_arena_array(binder->arena, (size_t)value->n, sizeof *sizes);
    bool ok = true;
    for (int i = 0; i < (int)value->n; i++) {
        ok &= read_expr(binder, value->items[i], what, 0, 1, 1024, &sizes[i]);
    }
    stage->n_block_x = (int)value->n;
    stage->block_x = sizes;
    return ok;
}

LG_CUSTOM(lg_read_args) {
    (void)field;
    lg_stage *stage = object;
    if (!lg_is_list_of(binder, value, what, 0, MAX_ARGS, "names")) {
        return false;
    }
    stage->args_loc = lg_yaml_loc(binder->doc, value);
    stage->args = lg_arena_array(binder->arena, (size_t)value->n, sizeof *stage->args);
    stage->n_args = (int)value->n;
    bool ok = true;
    for (int i = 0; i < stage->n_args; i++) {
        stage->args[i] = (lg_arg){.id = LG_N_ARGS, .scratch = -1};
        ok &= lg_bind_text(binder, value->items[i], what, &stage->args[i].name);
    }
    return ok; // the names are looked up once the scratch buffers are known
}

LG_CUSTOM(lg_read_scratch) {
    (void)field;
    lg_kernel *kernel = &((lg_kernel_draft *)object)->kernel;
    if (!lg_bind_is_map(binder, value, what)) {
        return false;
    }
    if (value->n > MAX_SCRATCH) {
        return lg_yaml_error(binder->doc, value, binder->diags, "%s has %lld buffers; at most %d",
                             what, (long long)value->n, MAX_SCRATCH);
    }
    kernel->scratch = lg_arena_array(binder->arena, (size_t)value->n, sizeof *kernel->scratch);
    kernel->n_scratch = (int)value->n;
    bool ok = true;
    for (int i = 0; i < kernel->n_scratch; i++) {
        const lg_yaml_entry *entry = &value->entries[i];
        const char *path = lg_arena_printf(binder->scratch, "%s.%s", what, entry->key->text);
        kernel->scratch[i].name = entry->key->text;
        ok &= read_expr(binder, entry->value, path, KNOWS_BLOCK, 0, INT64_C(1) << 40,
                        &kernel->scratch[i].bytes);
    }
    return ok;
}

static bool check_blocks(lg_binder *binder, lg_yaml_node *node, const char *what, lg_stage *stage) {
    bool has_block = lg_yaml_get(node, "block") != NULL;
    bool has_sizes = lg_yaml_get(node, "block_x") != NULL;
    if (has_block == has_sizes) {
        return lg_yaml_error(binder->doc, node, binder->diags, "%s wants %s", what,
                             has_block ? "one of block and block_x, not both" : "block or block_x");
    }
    if (has_sizes) {
        stage->block[0] = stage->block_x ? stage->block_x[0] : "1";
        stage->block[1] = stage->block[2] = "1";
    }
    return true;
}

LG_CUSTOM(lg_read_stages) {
    (void)field;
    lg_kernel *kernel = &((lg_kernel_draft *)object)->kernel;
    if (!lg_is_list_of(binder, value, what, 1, MAX_STAGES, "entries")) {
        return false;
    }
    kernel->stages = lg_arena_array(binder->arena, (size_t)value->n, sizeof *kernel->stages);
    kernel->n_stages = (int)value->n;
    bool ok = true;
    for (int i = 0; i < kernel->n_stages; i++) {
        lg_field_table table = lg_stage_table;
        lg_yaml_node *node = value->items[i];
        table.name = lg_arena_printf(binder->scratch, "%s.%d", what, i);
        kernel->stages[i].loc = lg_yaml_loc(binder->doc, node);
        if (!lg_bind_is_map(binder, node, table.name)) {
            node->refused = true;
            ok = false;
            continue;
        }
        bool bound = lg_bind(binder, node, &table, &kernel->stages[i]);
        bound &= check_blocks(binder, node, table.name, &kernel->stages[i]);
        const char *entry = kernel->stages[i].entry;
        kernel->stages[i].entry_by_dtype = entry && strstr(entry, "{dtype}");
        kernel->stages[i].entry_by_target = entry && strstr(entry, "{target}");
        node->refused = !bound;
        ok &= bound;
    }
    return ok;
}
