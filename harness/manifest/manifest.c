// SPDX-License-Identifier: Apache-2.0
#include "manifest/manifest.h"

#include "manifest/internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_KERNELS = 1024 };

static void set_defaults(lg_kernel_draft *draft, bool floating_targets) {
    if (draft->kernel.target_dtypes == 0) {
        draft->kernel.target_dtypes =
            floating_targets ? draft->kernel.input_dtypes : UINT32_C(1) << LG_INT64;
    }
    if (draft->kernel.reductions == 0) {
        draft->kernel.reductions =
            1u << LG_REDUCTION_NONE | 1u << LG_REDUCTION_MEAN | 1u << LG_REDUCTION_SUM;
    }
    if (draft->inputs == 0) {
        draft->inputs = 1u << LG_INPUT_BATCHED;
    }
    draft->kernel.unbatched = draft->inputs >> LG_INPUT_UNBATCHED & 1;
    draft->kernel.batched = draft->inputs >> LG_INPUT_BATCHED & 1;
    draft->kernel.spatial = draft->inputs >> LG_INPUT_SPATIAL & 1;
    draft->kernel.total_weight_accumulates = draft->total_weight == 1;
}

LG_CUSTOM(lg_read_kernels) {
    (void)field;
    lg_manifest *manifest = object;
    if (!lg_is_list_of(binder, value, what, 1, MAX_KERNELS, "entries")) {
        return false;
    }
    manifest->kernels = lg_arena_array(binder->arena, (size_t)value->n, sizeof(lg_kernel_draft));
    manifest->n_kernels = (int)value->n;
    bool ok = true;
    for (int i = 0; i < manifest->n_kernels; i++) {
        lg_kernel_draft *draft = &manifest->kernels[i];
        lg_yaml_node *node = value->items[i];
        lg_field_table table = lg_kernel_table;
        table.name = lg_arena_printf(binder->scratch, "kernels.%d", i);
        draft->node = node;
        draft->kernel.loc = lg_yaml_loc(binder->doc, node);
        if (!lg_bind_is_map(binder, node, table.name)) {
            draft->node = NULL; // not looked at further
            ok = false;
            continue;
        }
        ok &= lg_bind(binder, node, &table, draft);
    }
    return ok;
}

static const char *replace_policy(lg_arena *arena, const char *text, lg_policy policy) {
    lg_str out = {0};
    const char *found;
    while ((found = strstr(text, "{policy}")) != NULL) {
        lg_str_add_n(&out, text, (size_t)(found - text));
        lg_str_add(&out, lg_policy_name(policy));
        text = found + strlen("{policy}");
    }
    lg_str_add(&out, text);
    const char *copy = lg_arena_strdup(arena, lg_str_text(&out));
    lg_str_free(&out);
    return copy;
}

static bool append(lg_binder *binder, const lg_kernel_draft *draft, lg_policy policy,
                   lg_kernel_set *set) {
    lg_kernel kernel = draft->kernel;
    kernel.policy = policy;
    if (strstr(kernel.name, "{policy}")) {
        kernel.name = replace_policy(&set->arena, kernel.name, policy);
    }
    for (int64_t i = 0; i < set->n; i++) {
        // Two names of one manifest without {policy} are compared by check_doubles.
        bool reported =
            kernel.manifest == set->items[i].manifest && kernel.name == draft->kernel.name;
        if (strcmp(set->items[i].name, kernel.name) == 0) {
            return !reported &&
                   lg_yaml_error(binder->doc, lg_yaml_get(draft->node, "name"), binder->diags,
                                 "a second kernel '%s'; the first is at %s:%d", kernel.name,
                                 set->items[i].loc.file, set->items[i].loc.line);
        }
    }
    size_t n = (size_t)kernel.n_stages;
    lg_stage *stages = lg_arena_array(&set->arena, n, sizeof *stages);
    memcpy(stages, kernel.stages, n * sizeof *stages);
    for (size_t i = 0; i < n; i++) {
        stages[i].entry = replace_policy(&set->arena, stages[i].entry, policy);
    }
    kernel.stages = stages;
    if ((set->n & (set->n - 1)) == 0) { // full at each power of two
        size_t capacity = set->n ? 2 * (size_t)set->n : 1;
        lg_kernel *items = lg_arena_array(&set->arena, capacity, sizeof *items);
        if (set->n) {
            memcpy(items, set->items, (size_t)set->n * sizeof *items);
        }
        set->items = items;
    }
    set->items[set->n++] = kernel;
    return true;
}

// The file a manifest names, as seen from the manifest's folder.
static bool resolve(lg_binder *binder, const char *key, const char **path) {
    if (!*path) {
        return true;
    }
    const char *slash = strrchr(binder->doc->name, '/');
    if (**path != '/' && slash) {
        *path = lg_arena_printf(binder->arena, "%.*s/%s", (int)(slash - binder->doc->name),
                                binder->doc->name, *path);
    }
    if (access(*path, R_OK) != 0) {
        lg_yaml_node *node = lg_yaml_get(binder->doc->root, key);
        node->refused = true;
        return lg_yaml_error(binder->doc, node, binder->diags, "%s: '%.200s' cannot be read: %s",
                             key, *path, strerror(errno));
    }
    return true;
}

// One name for two kernels of this manifest, whatever else is wrong with them.
static bool check_doubles(lg_binder *binder, const lg_manifest *manifest) {
    bool ok = true;
    for (int i = 1; i < manifest->n_kernels; i++) {
        const lg_kernel_draft *draft = &manifest->kernels[i];
        const char *name = draft->kernel.name;
        for (int k = 0; draft->node && name && !strstr(name, "{policy}") && k < i; k++) {
            const lg_kernel *other = &manifest->kernels[k].kernel;
            if (other->name && strcmp(other->name, name) == 0) {
                ok = lg_yaml_error(binder->doc, lg_yaml_get(draft->node, "name"), binder->diags,
                                   "a second kernel '%s'; the first is at %s:%d", name,
                                   other->loc.file, other->loc.line);
                break;
            }
        }
    }
    return ok;
}

static bool check_manifest(lg_binder *binder, lg_manifest *manifest) {
    bool ok = resolve(binder, "source", &manifest->source);
    ok &= resolve(binder, "ptx", &manifest->ptx);
    bool known =
        lg_yaml_known(binder->doc->root, "source") && lg_yaml_known(binder->doc->root, "ptx");
    if (known && !manifest->source == !manifest->ptx) {
        lg_yaml_node *second = lg_yaml_get(binder->doc->root, "ptx");
        ok = lg_yaml_error(binder->doc, second ? second : binder->doc->root, binder->diags,
                           second ? "both source and ptx are given; want one of them"
                                  : "missing key 'source' (or 'ptx')");
    }
    if (manifest->nvcc_flags.n && manifest->ptx) {
        ok = lg_yaml_error(binder->doc, lg_yaml_get(binder->doc->root, "nvcc_flags"), binder->diags,
                           "nvcc_flags have no meaning with ptx");
    }
    for (int i = 0; i < manifest->n_kernels; i++) {
        lg_kernel_draft *draft = &manifest->kernels[i];
        const char *what = lg_arena_printf(binder->scratch, "kernels.%d", i);
        if (draft->node) {
            ok &= lg_kernel_draft_check(binder, manifest->family, draft, what);
        }
    }
    return check_doubles(binder, manifest) && ok;
}

// Whether enough is known of a kernel to compile it and look for its entries; what is not known of
// its stages is left out.
static bool cut_to_checkable(lg_binder *binder, const lg_manifest *manifest,
                             lg_kernel_draft *draft) {
    static const char *const keys[] = {"name",   "policy",  "policies",
                                       "dtypes", "targets", "scratch"};
    lg_yaml_node *root = binder->doc->root;
    lg_yaml_node *node = (lg_yaml_node *)draft->node;
    bool known = node && draft->kernel.name && draft->kernel.input_dtypes && manifest->family &&
                 !draft->policy == (draft->policies != 0) && lg_yaml_known(root, "source") &&
                 lg_yaml_known(root, "ptx") && lg_yaml_known(root, "nvcc_flags");
    for (size_t i = 0; known && i < sizeof keys / sizeof *keys; i++) {
        known = lg_yaml_known(node, keys[i]);
    }
    lg_kernel *kernel = &draft->kernel;
    int n = 0;
    for (int i = 0; known && i < kernel->n_stages; i++) {
        lg_stage stage = kernel->stages[i];
        const char *args = lg_arena_printf(binder->scratch, "stages.%d.args", i);
        stage.n_args = lg_yaml_known(node, args) && stage.args ? stage.n_args : -1;
        if (stage.entry) {
            kernel->stages[n++] = stage;
        }
    }
    kernel->n_stages = n;
    return known && n > 0;
}

static bool add_kernels(lg_binder *binder, lg_manifest *manifest, bool whole, lg_kernel_set *set) {
    bool ok = true;
    bool binary = manifest->family == LG_BCE || manifest->family == LG_BCE_WITH_LOGITS;
    for (int i = 0; i < manifest->n_kernels; i++) {
        lg_kernel_draft *draft = &manifest->kernels[i];
        lg_kernel *kernel = &draft->kernel;
        if (!whole && !cut_to_checkable(binder, manifest, draft)) {
            continue;
        }
        set_defaults(draft, binary || kernel->probability_targets);
        kernel->manifest = binder->doc->name;
        kernel->family = manifest->family;
        kernel->source = manifest->source;
        kernel->ptx = manifest->ptx;
        kernel->nvcc_flags = manifest->nvcc_flags.items;
        kernel->n_nvcc_flags = (int)manifest->nvcc_flags.n;
        uint32_t policies = draft->policies ? draft->policies : 1u << draft->policy;
        for (int p = LG_POLICY_UNSET + 1; p < LG_N_POLICIES; p++) {
            if (policies & 1u << p) {
                ok &= append(binder, draft, (lg_policy)p, set);
            }
        }
    }
    return ok;
}

static bool read_text(const char *name, const char *text, size_t n, bool for_check,
                      lg_kernel_set *set, lg_diags *diags) {
    lg_yaml_doc doc;
    size_t first = diags->n;
    lg_arena scratch = {0};
    lg_binder binder = {.doc = &doc,
                        .arena = &set->arena,
                        .scratch = &scratch,
                        .diags = diags,
                        .root = "a manifest"};
    lg_manifest manifest = {0};
    int64_t n_before = set->n;
    bool ok = lg_yaml_parse(name, text, n, &set->arena, &doc, diags);
    if (doc.root && lg_bind_is_map(&binder, doc.root, "a manifest")) {
        ok &= lg_bind(&binder, doc.root, &lg_manifest_table, &manifest);
        ok &= check_manifest(&binder, &manifest);
        if (ok || for_check) {
            ok &= add_kernels(&binder, &manifest, ok, set);
        }
    } else {
        ok = false;
    }
    if (!ok && !for_check) {
        set->n = n_before;
    }
    lg_yaml_sort(diags, first);
    lg_arena_free(&scratch);
    return ok;
}

bool lg_kernels_read_text(const char *name, const char *text, size_t n, lg_kernel_set *set,
                          lg_diags *diags) {
    return read_text(name, text, n, false, set, diags);
}

static bool read_file(const char *path, bool for_check, lg_kernel_set *set, lg_diags *diags) {
    size_t n;
    char *text = lg_read_file(path, &n);
    if (!text) {
        return lg_error(diags, (lg_loc){.file = path}, "cannot be read: %s", strerror(errno));
    }
    bool ok = read_text(path, text, n, for_check, set, diags);
    free(text);
    return ok;
}

bool lg_kernels_read(const char *path, lg_kernel_set *set, lg_diags *diags) {
    return read_file(path, false, set, diags);
}

bool lg_kernels_read_for_check(const char *path, lg_kernel_set *set, lg_diags *diags) {
    return read_file(path, true, set, diags);
}
