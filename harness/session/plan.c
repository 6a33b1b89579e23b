// SPDX-License-Identifier: Apache-2.0
#include "session/internal.h"

#include "batch/batch.h"
#include "support/alloc.h"
#include "support/shell.h"
#include "support/str.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

// An empty list lets everything through.
static bool list_matches(const lg_str_list *globs, const char *name) {
    for (int64_t i = 0; i < globs->n; i++) {
        if (lg_glob_match(globs->items[i], name)) {
            return true;
        }
    }
    return globs->n == 0;
}

// A mutant runs only where a pattern asks for mutants, never by one that matches everything.
static bool asks_for_mutant(const lg_str_list *globs, const char *name) {
    for (int64_t i = 0; i < globs->n; i++) {
        if (lg_names_mutant(globs->items[i]) && lg_glob_match(globs->items[i], name)) {
            return true;
        }
    }
    return false;
}

// By the name itself, without a wildcard.
static bool list_names(const lg_str_list *globs, const char *name) {
    for (int64_t i = 0; i < globs->n; i++) {
        if (strcmp(globs->items[i], name) == 0) {
            return true;
        }
    }
    return false;
}

bool lg_plan_is_chosen(const lg_session_options *options, const lg_scenario *scenario,
                       const lg_kernel *kernel) {
    return list_matches(&options->kernel_globs, kernel->name) &&
           (!kernel->mutant || asks_for_mutant(&options->kernel_globs, kernel->name) ||
            (scenario && asks_for_mutant(&scenario->kernels, kernel->name)));
}

// So that it is never a part of "every mode": nothing of a batch runs in it.
static bool is_asked_for(const lg_session_options *options, const lg_scenario *scenario,
                         lg_mode mode) {
    return mode != LG_MODE_POISONED || list_names(&scenario->modes, lg_mode_name(mode)) ||
           list_names(&options->mode_globs, lg_mode_name(mode));
}

void lg_case_id(const lg_scenario *scenario, const lg_kernel *kernel, lg_mode mode,
                const char *device, char id[17]) {
    char seed[32];
    snprintf(seed, sizeof(seed), "%" PRIu64, scenario->batch.seed);
    const char *parts[] = {scenario->name, scenario->point,    seed,
                           kernel->name,   lg_mode_name(mode), device};
    lg_str key = {0};
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        const char *part = parts[i] ? parts[i] : "";
        lg_str_add_n(&key, part, strlen(part) + 1); // the NUL keeps "a"+"bc" apart from "ab"+"c"
    }
    snprintf(id, 17, "%016" PRIx64, (uint64_t)XXH64(key.text, key.n, 0));
    lg_str_free(&key);
}

char *lg_case_repro(const lg_case *what, const char *prefix) {
    lg_str out = {0};
    lg_str_printf(&out, "%s --case %s --seed %" PRIu64 " ", prefix, what->id,
                  what->scenario->batch.seed);
    lg_shell_add(&out, what->scenario->path);
    lg_str_add(&out, " --kernel ");
    lg_shell_add(&out, what->kernel->name);
    lg_str_printf(&out, " --mode %s", lg_mode_name(what->mode));
    return lg_str_take(&out);
}

typedef struct builder {
    const lg_session_options *options;
    struct match *matches; // room for those of one point
    lg_plan *plan;
    int64_t n_points, n_cases, n_columns; // plan gets them at the end
    int64_t points_capacity, cases_capacity, columns_capacity;
    lg_plan_point *points;
    lg_plan_case *cases;
    lg_plan_column *columns;
    int64_t *column_of; // [kernel × LG_N_MODES + mode], -1: not used yet
} builder;

// `items` with room for one more than `n`.
static void *with_room(void *items, int64_t n, int64_t *capacity, size_t item_bytes) {
    if (n < *capacity) {
        return items;
    }
    *capacity = *capacity * 2 + 16;
    return lg_xrealloc(items, (size_t)*capacity * item_bytes);
}

static int64_t column_index(builder *b, int64_t kernel, lg_mode mode) {
    int64_t *slot = &b->column_of[kernel * LG_N_MODES + mode];
    if (*slot >= 0) {
        return *slot;
    }
    b->columns = with_room(b->columns, b->n_columns, &b->columns_capacity, sizeof(*b->columns));
    b->columns[b->n_columns] =
        (lg_plan_column){.kernel = &b->options->kernels->items[kernel], .mode = mode};
    *slot = b->n_columns++;
    return *slot;
}

static void add_case(builder *b, const lg_scenario *scenario, int64_t kernel, lg_mode mode,
                     bool further) {
    const lg_session_options *options = b->options;
    lg_plan_case item = {
        .what = {.scenario = scenario,
                 .kernel = &options->kernels->items[kernel],
                 .mode = mode,
                 .device = options->driver->name},
        .point = b->n_points,
        .named = !further && list_names(&scenario->kernels, options->kernels->items[kernel].name),
    };
    lg_case_id(scenario, item.what.kernel, mode, item.what.device, item.what.id);
    if (options->only_case && strcmp(options->only_case, item.what.id) != 0) {
        return;
    }
    item.column = column_index(b, kernel, mode);
    b->cases = with_room(b->cases, b->n_cases, &b->cases_capacity, sizeof(*b->cases));
    b->cases[b->n_cases++] = item;
}

// A kernel that a point is for, and the types it is given it in.
typedef struct match {
    int64_t kernel;
    lg_fit fit;
    bool planned;
} match;

static int64_t find_matches(const builder *b, const lg_scenario *scenario, int64_t turn,
                            match *matches) {
    const lg_session_options *options = b->options;
    int64_t n = 0;
    for (int64_t k = 0; k < options->kernels->n; k++) {
        const lg_kernel *kernel = &options->kernels->items[k];
        if ((scenario->foreign && !options->foreign) || kernel->family != scenario->loss.kind ||
            !list_matches(&scenario->kernels, kernel->name) ||
            !lg_plan_is_chosen(options, scenario, kernel)) {
            continue;
        }
        lg_fit fits[LG_MAX_FITS];
        bool every_type = options->foreign && !kernel->mutant;
        int n_fits = lg_fits(scenario, kernel, every_type, turn, fits);
        for (int i = 0; i < n_fits; i++) {
            matches[n++] = (match){.kernel = k, .fit = fits[i]};
        }
    }
    return n;
}

static bool same_fit(const lg_fit *a, const lg_fit *b) {
    return a->input == b->input && a->labels == b->labels && a->further == b->further;
}

static void add_modes(builder *b, const lg_scenario *scenario, const match *m) {
    const lg_session_options *options = b->options;
    for (int mode = LG_MODE_UNSET + 1; mode < LG_N_MODES; mode++) {
        const char *name = lg_mode_name((lg_mode)mode);
        if (is_asked_for(options, scenario, (lg_mode)mode) &&
            list_matches(&scenario->modes, name) && list_matches(&options->mode_globs, name)) {
            add_case(b, scenario, m->kernel, (lg_mode)mode, m->fit.further);
        }
    }
}

// One plan point for the kernels that are given the same types: the cases of a point share its
// batch.
static void add_point(builder *b, const lg_scenario *scenario, match *matches, int64_t n) {
    int64_t first = b->n_cases;
    const lg_fit *fit = &matches[0].fit;
    const lg_scenario *fitted = lg_fit_input(scenario, fit, &b->plan->arena);
    for (int64_t i = 0; i < n; i++) {
        if (!matches[i].planned && same_fit(&matches[i].fit, fit)) {
            add_modes(b, fitted, &matches[i]);
            matches[i].planned = true;
        }
    }
    if (b->n_cases == first) {
        return;
    }
    b->points = with_room(b->points, b->n_points, &b->points_capacity, sizeof(*b->points));
    b->points[b->n_points++] = (lg_plan_point){.scenario = fitted,
                                               .first_case = first,
                                               .n_cases = b->n_cases - first,
                                               .further = fit->further};
}

// `turn`: which point of its file it is.
static void add_points(builder *b, const lg_scenario *scenario, int64_t turn) {
    int64_t n = find_matches(b, scenario, turn, b->matches);
    for (int64_t i = 0; i < n; i++) {
        if (!b->matches[i].planned) {
            add_point(b, scenario, &b->matches[i], n - i);
        }
    }
}

// --seed overrides the file's seed: a copy of the point with that one field changed.
static const lg_scenario *with_seed(builder *b, const lg_scenario *scenario) {
    if (!b->options->has_seed || scenario->batch.seed == b->options->seed) {
        return scenario;
    }
    lg_scenario *copy = lg_arena_alloc(&b->plan->arena, sizeof(*copy));
    *copy = *scenario;
    copy->batch.seed = b->options->seed;
    return copy;
}

static void *keep(lg_arena *arena, void *items, int64_t n, size_t item_bytes) {
    void *copy = lg_arena_array(arena, (size_t)(n ? n : 1), item_bytes);
    if (items) {
        memcpy(copy, items, (size_t)n * item_bytes);
    }
    free(items);
    return copy;
}

static void list_kernels(lg_plan *plan) {
    plan->kernels = lg_arena_array(&plan->arena, (size_t)plan->n_columns + 1, sizeof(lg_kernel *));
    for (int64_t i = 0; i < plan->n_columns; i++) {
        bool seen = false;
        for (int64_t j = 0; j < plan->n_kernels && !seen; j++) {
            seen = plan->kernels[j] == plan->columns[i].kernel;
        }
        if (!seen) {
            plan->kernels[plan->n_kernels++] = plan->columns[i].kernel;
        }
    }
}

void lg_plan_build(const lg_session_options *options, lg_plan *plan) {
    *plan = (lg_plan){0};
    builder b = {.options = options, .plan = plan};
    size_t n_slots = (size_t)options->kernels->n * LG_N_MODES;
    b.column_of = lg_xmalloc((n_slots + 1) * sizeof(*b.column_of));
    for (size_t i = 0; i < n_slots; i++) {
        b.column_of[i] = -1;
    }
    b.matches = lg_xmalloc(((size_t)options->kernels->n * LG_MAX_FITS + 1) * sizeof(*b.matches));
    for (int64_t s = 0; s < options->n_sets; s++) {
        for (int64_t i = 0; i < options->sets[s].n; i++) {
            add_points(&b, with_seed(&b, &options->sets[s].items[i]), i);
        }
    }
    plan->n_points = b.n_points;
    plan->points = keep(&plan->arena, b.points, b.n_points, sizeof(*b.points));
    plan->n_cases = b.n_cases;
    plan->cases = keep(&plan->arena, b.cases, b.n_cases, sizeof(*b.cases));
    plan->n_columns = b.n_columns;
    plan->columns = keep(&plan->arena, b.columns, b.n_columns, sizeof(*b.columns));
    list_kernels(plan);
    free(b.column_of);
    free(b.matches);
}

void lg_plan_free(lg_plan *plan) {
    lg_arena_free(&plan->arena);
    *plan = (lg_plan){0};
}
