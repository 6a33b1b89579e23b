// SPDX-License-Identifier: Apache-2.0
#include "scenario/scenario.h"

#include "scenario/internal.h"
#include "support/alloc.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

LG_CUSTOM(lg_read_section) {
    return lg_bind_is_map(binder, value, what) && lg_bind(binder, value, field->table, object);
}

LG_CUSTOM(lg_read_nothing) {
    (void)binder;
    (void)field;
    (void)what;
    (void)value;
    (void)object;
    return true; // the matrix was read before, see matrix.c
}

static void read_point(lg_scenario_reader *reader) {
    lg_binder *binder = &reader->binder;
    lg_scenario *scenario = reader->scenario;
    if (!lg_bind_is_map(binder, reader->root, "a scenario file")) {
        return;
    }
    lg_bind_defaults(binder, &lg_loss_table, scenario);
    lg_bind_defaults(binder, &lg_batch_table, scenario);
    lg_bind(binder, reader->root, &lg_root_table, scenario);
    lg_scenario_complete(reader);
    lg_scenario_check(reader);
}

// Errors of the points of a matrix: the same one at many points is reported once.
typedef struct point_error {
    const lg_diag *diag;
    const char *first_point;
    int64_t n_points;
} point_error;

enum { MAX_DISTINCT_ERRORS = 100 };

typedef struct collected {
    lg_diags kept;
    point_error errors[MAX_DISTINCT_ERRORS];
    size_t n;
    int64_t points_read;
} collected;

static bool same_error(const lg_diag *a, const lg_diag *b) {
    return a->line == b->line && a->column == b->column && strcmp(a->message, b->message) == 0;
}

static void collect(collected *all, const lg_diags *fresh, const char *point) {
    for (size_t i = 0; i < fresh->n; i++) {
        const lg_diag *diag = &fresh->items[i];
        size_t k = 0;
        while (k < all->n && !same_error(&all->kept.items[k], diag)) {
            k++;
        }
        if (k < all->n) {
            all->errors[k].n_points++;
        } else if (all->n < MAX_DISTINCT_ERRORS) {
            lg_diags_add(&all->kept, diag->severity, (lg_loc){diag->file, diag->line, diag->column},
                         diag->source_line, "%s", diag->message);
            all->errors[all->n++] = (point_error){.first_point = point, .n_points = 1};
        }
    }
}

static void report(const collected *all, bool has_matrix, lg_diags *diags) {
    for (size_t i = 0; i < all->n; i++) {
        const lg_diag *diag = &all->kept.items[i];
        const point_error *error = &all->errors[i];
        lg_str where = {0};
        if (has_matrix && error->n_points < all->points_read) {
            lg_str_printf(&where, " (at point %s", error->first_point);
            if (error->n_points > 1) {
                lg_str_printf(&where, " and %lld more", (long long)error->n_points - 1);
            }
            lg_str_add(&where, ")");
        }
        lg_diags_add(diags, diag->severity, (lg_loc){diag->file, diag->line, diag->column},
                     diag->source_line, "%s%s", diag->message, lg_str_text(&where));
        lg_str_free(&where);
    }
}

// The file's path below `root` without its extension: "faults/negative".
static const char *scenario_name(lg_arena *arena, const char *path, const char *root) {
    const char *slash = strrchr(path, '/');
    const char *begin = slash ? slash + 1 : path;
    size_t n = root ? strlen(root) : 0;
    while (n > 0 && root[n - 1] == '/') {
        n--;
    }
    if (n > 0 && strncmp(path, root, n) == 0 && path[n] == '/') {
        begin = path + n + strspn(path + n, "/");
    }
    size_t length = strlen(begin);
    const char *dot = strrchr(begin, '.');
    if (dot && dot != begin && !strchr(dot, '/')) {
        length = (size_t)(dot - begin);
    }
    return lg_arena_strndup(arena, begin, length);
}

static void read_points(lg_scenario_reader *reader, const lg_matrix *matrix, lg_scenario_set *set,
                        lg_diags *diags) {
    lg_binder *binder = &reader->binder;
    const char *name = scenario_name(&set->arena, binder->doc->name, reader->options->root);
    collected *all = lg_xcalloc(1, sizeof *all);
    set->items = lg_arena_array(&set->arena, (size_t)matrix->n_points, sizeof *set->items);
    for (int64_t i = 0; i < matrix->n_points && all->n < MAX_DISTINCT_ERRORS; i++) {
        lg_diags fresh = {0};
        lg_arena scratch = {0};
        binder->diags = &fresh;
        binder->scratch = &scratch;
        reader->scenario = &set->items[i];
        reader->root = lg_matrix_apply(binder, matrix, i, &scratch);
        reader->scenario->path = binder->doc->name;
        reader->scenario->name = name;
        reader->scenario->point = lg_matrix_point_text(matrix, i, &set->arena);
        read_point(reader);
        all->points_read++;
        collect(all, &fresh, reader->scenario->point);
        lg_diags_free(&fresh);
        lg_arena_free(&scratch);
    }
    set->n = matrix->n_points;
    report(all, matrix->n_axes > 0, diags);
    lg_diags_free(&all->kept);
    free(all);
}

bool lg_scenario_read_text(const char *name, const char *text, size_t n,
                           const lg_read_options *options, lg_scenario_set *set, lg_diags *diags) {
    static const lg_read_options no_options = {0};
    *set = (lg_scenario_set){0};
    size_t before = diags->n_errors;
    size_t first = diags->n;
    lg_yaml_doc doc;
    lg_arena scratch = {0};
    bool whole = lg_yaml_parse(name, text, n, &set->arena, &doc, diags);
    lg_scenario_reader reader = {
        .binder = {.doc = &doc,
                   .arena = &set->arena,
                   .scratch = &scratch,
                   .diags = diags,
                   .root = "a scenario"},
        .options = options ? options : &no_options,
    };
    reader.binder.context = &reader;
    lg_matrix matrix;
    // A file with a doubled key is still whole enough to look for its other errors.
    if (whole || doc.root) {
        lg_matrix_read(&reader.binder, &matrix);
        read_points(&reader, &matrix, set, diags);
    }
    lg_yaml_sort(diags, first);
    lg_arena_free(&scratch);
    if (diags->n_errors != before) {
        lg_scenario_set_free(set);
        return false;
    }
    return true;
}

bool lg_scenario_read(const char *path, const lg_read_options *options, lg_scenario_set *set,
                      lg_diags *diags) {
    *set = (lg_scenario_set){0};
    size_t n;
    char *text = lg_read_file(path, &n);
    if (!text) {
        return lg_error(diags, (lg_loc){.file = path}, "cannot be read: %s", strerror(errno));
    }
    bool ok = lg_scenario_read_text(path, text, n, options, set, diags);
    free(text);
    return ok;
}
