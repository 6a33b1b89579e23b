// SPDX-License-Identifier: Apache-2.0
// What only a whole kernel of a manifest shows: names that refer to each other, types that fit the
// family.
#include "manifest/internal.h"
#include "support/alloc.h"

#include <stdlib.h>
#include <string.h>

static const char scratch_prefix[] = "scratch_";

typedef struct kernel_check {
    lg_binder *binder;
    lg_kernel_draft *draft;
    lg_loss_kind family;
    const char *what;
} kernel_check;

static bool error_at(const kernel_check *check, const char *path, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static bool error_at(const kernel_check *check, const char *path, const char *format, ...) {
    va_list args;
    va_start(args, format);
    char *message = lg_xvasprintf(format, args);
    va_end(args);
    lg_yaml_error(check->binder->doc, lg_yaml_towards((lg_yaml_node *)check->draft->node, path),
                  check->binder->diags, "%s: %s", check->what, message);
    free(message);
    return false;
}

static bool knows(const kernel_check *check, const char *path) {
    return lg_yaml_known((lg_yaml_node *)check->draft->node, path);
}

static bool find_arg(const lg_kernel *kernel, lg_arg *arg) {
    arg->id = lg_arg_find(arg->name);
    for (int i = 0; arg->id == LG_N_ARGS && i < kernel->n_scratch; i++) {
        if (strncmp(arg->name, scratch_prefix, sizeof scratch_prefix - 1) == 0 &&
            strcmp(arg->name + sizeof scratch_prefix - 1, kernel->scratch[i].name) == 0) {
            arg->scratch = i;
        }
    }
    return arg->id < LG_N_ARGS || arg->scratch >= 0;
}

enum { MAX_KNOWN = 128 };

static bool check_arg(const kernel_check *check, int stage, int index) {
    const lg_kernel *kernel = &check->draft->kernel;
    lg_arena *scratch = check->binder->scratch;
    lg_arg *arg = &kernel->stages[stage].args[index];
    if (!arg->name || find_arg(kernel, arg)) {
        return true; // reported before, or right
    }
    if (strncmp(arg->name, scratch_prefix, sizeof scratch_prefix - 1) == 0 &&
        kernel->n_scratch == 0 && !knows(check, "scratch")) {
        return true;
    }
    size_t n_names;
    const char *const *names = lg_arg_names(&n_names);
    const char *known[MAX_KNOWN];
    size_t n = 0;
    for (size_t i = 0; i < n_names && n < MAX_KNOWN; i++) {
        known[n++] = names[i];
    }
    for (int i = 0; i < kernel->n_scratch && n < MAX_KNOWN; i++) {
        known[n++] = lg_arena_printf(scratch, "%s%s", scratch_prefix, kernel->scratch[i].name);
    }
    return error_at(check, lg_arena_printf(scratch, "stages.%d.args.%d", stage, index),
                    "unknown argument '%.60s'%s", arg->name,
                    lg_bind_hint(check->binder, arg->name, known, n));
}

// Whether `arg` is `wanted`, or a misspelling of it.
static bool is_arg(const char *arg, const char *wanted) {
    size_t n;
    const char *const *names = lg_arg_names(&n);
    const char *near = arg ? lg_bind_nearest(arg, names, n) : NULL;
    return near && strcmp(near, wanted) == 0;
}

static bool passes(const lg_kernel *kernel, lg_direction direction, const char *wanted,
                   bool *has_stage) {
    *has_stage = false;
    for (int i = 0; i < kernel->n_stages; i++) {
        const lg_stage *stage = &kernel->stages[i];
        *has_stage |= stage->direction == direction;
        for (int k = 0; stage->direction == direction && k < stage->n_args; k++) {
            if (is_arg(stage->args[k].name, wanted)) {
                return true;
            }
        }
    }
    return false;
}

static bool check_args(const kernel_check *check) {
    const lg_kernel *kernel = &check->draft->kernel;
    bool ok = true;
    for (int i = 0; i < kernel->n_stages; i++) {
        for (int k = 0; k < kernel->stages[i].n_args; k++) {
            ok &= check_arg(check, i, k);
        }
    }
    bool stages_known = true; // which pass each stage belongs to, and what it is given
    for (int i = 0; i < kernel->n_stages; i++) {
        lg_arena *scratch = check->binder->scratch;
        stages_known &= knows(check, lg_arena_printf(scratch, "stages.%d.direction", i)) &&
                        knows(check, lg_arena_printf(scratch, "stages.%d.args", i)) &&
                        kernel->stages[i].args;
    }
    bool has_stage;
    if (stages_known && !passes(kernel, LG_FORWARD, "output", &has_stage) && has_stage) {
        ok = error_at(check, "stages", "no forward stage is given 'output'");
    }
    if (stages_known && !passes(kernel, LG_BACKWARD, "grad_input", &has_stage) && has_stage) {
        ok = error_at(check, "stages", "no backward stage is given 'grad_input'");
    }
    return ok;
}

// "{dtype}" and the like; anything else in braces would silently be part of a name.
static bool check_braces(const kernel_check *check, const char *path, const char *text,
                         bool is_entry) {
    const char *brace = text;
    while ((brace = strpbrk(brace, "{}")) != NULL) {
        bool known =
            strncmp(brace, "{policy}", 8) == 0 ||
            (is_entry && (strncmp(brace, "{dtype}", 7) == 0 || strncmp(brace, "{target}", 8) == 0));
        if (!known) {
            return error_at(check, path, "'%.80s': only %s can stand in braces", text,
                            is_entry ? "{policy}, {dtype} and {target}" : "{policy}");
        }
        brace = strchr(brace, '}') + 1;
    }
    return true;
}

static bool check_names(const kernel_check *check) {
    const lg_kernel_draft *draft = check->draft;
    bool ok = !draft->kernel.name || check_braces(check, "name", draft->kernel.name, false);
    for (int i = 0; i < draft->kernel.n_stages; i++) {
        const char *path = lg_arena_printf(check->binder->scratch, "stages.%d.entry", i);
        const char *entry = draft->kernel.stages[i].entry;
        ok &= !entry || check_braces(check, path, entry, true);
    }
    bool several = (draft->policies & (draft->policies - 1)) != 0;
    if (several && draft->kernel.name && !strstr(draft->kernel.name, "{policy}")) {
        ok = error_at(check, "name", "several policies need {policy} in the name");
    }
    lg_yaml_node *node = (lg_yaml_node *)draft->node;
    bool one = draft->policy != LG_POLICY_UNSET || !knows(check, "policy");
    bool both = one && lg_yaml_get(node, "policies");
    bool neither = !one && !lg_yaml_get(node, "policies") && knows(check, "policies");
    if (both || neither) {
        ok = error_at(check, both ? "policies" : "", "want %s",
                      both ? "one of policy and policies, not both" : "policy or policies");
    }
    return ok;
}

static bool check_types(const kernel_check *check) {
    const lg_kernel *kernel = &check->draft->kernel;
    bool family = check->family != 0; // known
    bool binary = check->family == LG_BCE || check->family == LG_BCE_WITH_LOGITS;
    bool want_float = binary || kernel->probability_targets;
    bool ok = true;
    for (int i = LG_DTYPE_NONE + 1; i < LG_N_DTYPES; i++) {
        const char *name = lg_dtype_name((lg_dtype)i);
        bool is_float = lg_dtype_is_float((lg_dtype)i);
        if ((kernel->input_dtypes & 1u << i) && !is_float) {
            ok = error_at(check, "dtypes", "the input cannot be %s; want floating dtypes", name);
        }
    }
    for (int i = LG_DTYPE_NONE + 1; i < LG_N_DTYPES; i++) {
        const char *name = lg_dtype_name((lg_dtype)i);
        bool is_float = lg_dtype_is_float((lg_dtype)i);
        if (family && knows(check, "probability_targets") && (kernel->target_dtypes & 1u << i) &&
            is_float != want_float) {
            ok = error_at(check, "targets", "targets cannot be %s: %s", name,
                          want_float ? "probabilities are floating" : "class indices are integers");
        }
    }
    if (kernel->probability_targets && check->family == LG_NLL_LOSS) {
        ok = error_at(check, "probability_targets", "nll_loss takes class indices");
    }
    if (family && knows(check, "probability_targets") && kernel->zero_log_zero &&
        (!kernel->probability_targets || binary)) {
        ok = error_at(check, "zero_log_zero", "only kernels of class probabilities have this rule");
    }
    if (family && kernel->label_smoothing && check->family != LG_CROSS_ENTROPY) {
        ok = error_at(check, "label_smoothing", "%s has no label smoothing",
                      lg_loss_kind_name(check->family));
    }
    return ok;
}

bool lg_kernel_draft_check(lg_binder *binder, lg_loss_kind family, lg_kernel_draft *draft,
                           const char *what) {
    const kernel_check check = {binder, draft, family, what};
    bool names = check_names(&check);
    bool args = check_args(&check);
    bool sizes = lg_kernel_draft_try_sizes(binder, draft, what);
    return check_types(&check) && names && args && sizes;
}
