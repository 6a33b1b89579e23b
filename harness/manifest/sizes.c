// SPDX-License-Identifier: Apache-2.0
// The sizes of a kernel on a few typical batches: a division by zero, an overflow or a grid without
// blocks is found before anything runs.
#include "manifest/internal.h"
#include "manifest/manifest.h"

#include <string.h>

typedef struct trial {
    int64_t samples, classes, spatial;
    int64_t block_x; // of the stage, once it is known
    int64_t row, threads;
    bool probabilities;
} trial;

static bool look_up(void *context, const char *name, int64_t *value) {
    const trial *t = context;
    int64_t inner = t->classes * t->spatial;
    const struct {
        const char *name;
        int64_t value;
    } sizes[] = {
        {"samples", t->samples},
        {"head_width", t->classes},
        {"spatial", t->spatial},
        {"rows", t->samples * t->spatial},
        {"elements", t->samples * inner},
        {"input_stride_n", inner},
        {"input_stride_c", t->spatial},
        {"input_stride_s", 1},
        {"target_stride_n", t->probabilities ? inner : t->spatial},
        {"target_stride_c", t->spatial},
        {"target_stride_s", 1},
        {"ignore_index", -100},
        {"reduction", LG_REDUCTION_MEAN},
        {"reduction_mean", 1},
        {"launch_index", 0},
        {"block_x", t->block_x},
        {"dtype_bytes", 4},
        {"row", t->row},
        {"threads", t->threads},
    };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        if (strcmp(name, sizes[i].name) == 0) {
            *value = sizes[i].value;
            return true;
        }
    }
    return false;
}

typedef struct size_check {
    lg_binder *binder;
    const lg_kernel_draft *draft;
    const char *what; // "kernels.0"
    trial trial;
} size_check;

static bool report(const size_check *check, const char *path, lg_expr expr, const char *problem,
                   int64_t value, int64_t min) {
    const trial *t = &check->trial;
    lg_binder *binder = check->binder;
    const char *batch =
        lg_arena_printf(binder->scratch, "%lld sample%s of %lld classes%s", (long long)t->samples,
                        t->samples == 1 ? "" : "s", (long long)t->classes,
                        t->spatial > 1 ? " with extra dimensions" : "");
    lg_yaml_node *node = lg_yaml_towards((lg_yaml_node *)check->draft->node, path);
    if (problem) {
        return lg_yaml_error(binder->doc, node, binder->diags,
                             "%s.%s '%.60s' has %s for a batch of %s", check->what, path, expr,
                             problem, batch);
    }
    return lg_yaml_error(binder->doc, node, binder->diags,
                         "%s.%s '%.60s' is %lld for a batch of %s; it must be at least %lld",
                         check->what, path, expr, (long long)value, batch, (long long)min);
}

// False when an error was added; an expression that was refused is 1.
static bool try_size(size_check *check, const char *path, lg_expr expr, int64_t min,
                     int64_t *value) {
    *value = 1;
    if (!expr || !lg_yaml_known((lg_yaml_node *)check->draft->node, path)) {
        return true;
    }
    lg_expr_problem problem;
    if (!lg_expr_eval(expr, look_up, &check->trial, value, &problem)) {
        *value = 1;
        return report(check, path, expr, problem.text, 0, min);
    }
    return *value >= min || report(check, path, expr, NULL, *value, min);
}

static const char *path_of(const size_check *check, int stage, const char *key, int i) {
    return lg_arena_printf(check->binder->scratch, "stages.%d.%s.%d", stage, key, i);
}

static bool try_stage(size_check *check, int at) {
    const lg_stage *stage = &check->draft->kernel.stages[at];
    int64_t threads = 1;
    int64_t value;
    bool ok = true;
    for (int i = 0; i < stage->n_block_x; i++) {
        ok &= try_size(check, path_of(check, at, "block_x", i), stage->block_x[i], 1, &value);
        threads = i == 0 ? value : threads;
    }
    for (int i = 0; i < 3 && stage->n_block_x == 0; i++) {
        ok &= try_size(check, path_of(check, at, "block", i), stage->block[i], 1, &value);
        check->trial.block_x = i == 0 ? value : check->trial.block_x;
        ok &= !__builtin_mul_overflow(threads, value, &threads);
    }
    check->trial.block_x = stage->n_block_x ? threads : check->trial.block_x;
    for (int i = 0; i < 3; i++) {
        ok &= try_size(check, path_of(check, at, "grid", i), stage->grid[i], 1, &value);
        ok &= !__builtin_mul_overflow(threads, value, &threads);
    }
    lg_arena *scratch = check->binder->scratch;
    ok &= try_size(check, lg_arena_printf(scratch, "stages.%d.shared_bytes", at),
                   stage->shared_bytes, 0, &value);
    check->trial.threads = threads;
    check->trial.row = check->trial.samples * check->trial.spatial - 1;
    ok = ok && try_size(check, lg_arena_printf(scratch, "stages.%d.recorder", at), stage->recorder,
                        0, &value);
    return ok;
}

bool lg_kernel_draft_try_sizes(lg_binder *binder, const lg_kernel_draft *draft, const char *what) {
    static const trial trials[] = {
        {.samples = 1, .classes = 10, .spatial = 1},
        {.samples = 64, .classes = 10, .spatial = 1},
        {.samples = 1000, .classes = 3, .spatial = 1},
        {.samples = 2, .classes = 5, .spatial = 12},
    };
    const lg_kernel *kernel = &draft->kernel;
    bool many = draft->inputs == 0 || (draft->inputs & 1u << LG_INPUT_BATCHED);
    bool ok = true;
    for (size_t i = 0; ok && i < sizeof trials / sizeof *trials; i++) {
        size_check check = {binder, draft, what, trials[i]};
        check.trial.probabilities = kernel->probability_targets;
        check.trial.block_x = 256;
        bool fits = trials[i].spatial > 1 ? (draft->inputs & 1u << LG_INPUT_SPATIAL) != 0
                                          : trials[i].samples == 1 || many;
        for (int k = 0; fits && k < kernel->n_stages; k++) {
            ok &= try_stage(&check, k);
        }
        for (int k = 0; fits && k < kernel->n_scratch; k++) {
            int64_t value;
            ok &= try_size(&check,
                           lg_arena_printf(binder->scratch, "scratch.%s", kernel->scratch[k].name),
                           kernel->scratch[k].bytes, 0, &value);
        }
    }
    return ok;
}
