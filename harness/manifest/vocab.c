// SPDX-License-Identifier: Apache-2.0
#include "manifest/manifest.h"

#include <string.h>

static const char *const policies[] = {
    "unset",
#define LG_POLICY(id, name, help) name,
#include "manifest/policy.def"
#undef LG_POLICY
};

static const char *const modes[] = {
    "unset",
#define LG_MODE(id, name, help) name,
#include "manifest/mode.def"
#undef LG_MODE
};

static const char *const mode_helps[] = {
    "",
#define LG_MODE(id, name, help) help,
#include "manifest/mode.def"
#undef LG_MODE
};

static const char *const args[] = {
#define LG_ARG(id, name, kind, help) name,
#include "manifest/args.def"
#undef LG_ARG
};

static const lg_arg_kind arg_kinds[] = {
#define LG_ARG(id, name, kind, help) LG_ARG_##kind,
#include "manifest/args.def"
#undef LG_ARG
    LG_ARG_BUFFER,
};

const char *lg_policy_name(lg_policy policy) {
    return (unsigned)policy < LG_N_POLICIES ? policies[policy] : "invalid";
}

const char *const *lg_policy_names(size_t *n) {
    *n = LG_N_POLICIES - 1;
    return policies + 1;
}

const char *lg_mode_name(lg_mode mode) {
    return (unsigned)mode < LG_N_MODES ? modes[mode] : "invalid";
}

const char *lg_mode_help(lg_mode mode) {
    return (unsigned)mode < LG_N_MODES ? mode_helps[mode] : "";
}

const char *const *lg_mode_names(size_t *n) {
    *n = LG_N_MODES - 1;
    return modes + 1;
}

const char *const *lg_arg_names(size_t *n) {
    *n = sizeof args / sizeof *args;
    return args;
}

const char *lg_arg_name(lg_arg_id arg) {
    return args[arg];
}

lg_arg_id lg_arg_find(const char *name) {
    int i = 0;
    while (i < LG_N_ARGS && strcmp(args[i], name) != 0) {
        i++;
    }
    return (lg_arg_id)i;
}

lg_arg_kind lg_arg_kind_of(lg_arg_id arg) {
    return arg_kinds[arg];
}

bool lg_stage_takes(const lg_stage *stage, lg_arg_id arg) {
    for (int i = 0; i < stage->n_args; i++) {
        if (stage->args[i].id == arg) {
            return true;
        }
    }
    return false;
}

bool lg_kernel_takes(const lg_kernel *kernel, lg_arg_id arg) {
    for (int i = 0; i < kernel->n_stages; i++) {
        if (lg_stage_takes(&kernel->stages[i], arg)) {
            return true;
        }
    }
    return false;
}

void lg_kernel_set_free(lg_kernel_set *set) {
    lg_arena_free(&set->arena);
    *set = (lg_kernel_set){0};
}

lg_direction lg_kernel_directions(const lg_kernel *kernel) {
    int directions = 0;
    for (int i = 0; i < kernel->n_stages; i++) {
        directions |= (int)kernel->stages[i].direction;
    }
    return (lg_direction)directions;
}
