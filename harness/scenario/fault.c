// SPDX-License-Identifier: Apache-2.0
// The list of faults: each kind takes the keys that the field table gives it.
#include "scenario/internal.h"

#include <string.h>

LG_CUSTOM(lg_read_form) {
    (void)field;
    lg_fault_spec *fault = object;
    size_t n;
    const char *const *forms = lg_fault_forms(fault->kind, &n);
    int index;
    if (n == 0) { // the kind is not known, which was reported
        return false;
    }
    if (!lg_bind_choice(binder, value, what, forms, n, &index)) {
        return false;
    }
    fault->where = (lg_fault_form)((int)lg_fault_default_form(fault->kind) + index);
    return true;
}

bool lg_explain_fault_kind(lg_binder *binder, const char *what, const lg_yaml_node *value) {
    lg_cause cause;
    if (value->kind != LG_YAML_SCALAR || !lg_cause_parse(value->text, &cause) ||
        lg_cause_phase_of(cause) != LG_PHASE_KERNEL) {
        return false;
    }
    lg_yaml_error(binder->doc, value, binder->diags,
                  "%s is '%s', which is a fault of a kernel; a scenario injects faults of data",
                  what, value->text);
    return true;
}

// The kind decides which keys are taken, so it is looked up before they are read; LG_CAUSE_NONE
// when it is missing or wrong, which reading the key tells.
static lg_cause kind_of(const lg_yaml_node *map) {
    const lg_yaml_node *node = lg_yaml_get(map, "kind");
    size_t n;
    const char *const *names = lg_fault_names(&n);
    for (size_t i = 0; node && node->kind == LG_YAML_SCALAR && i < n; i++) {
        if (strcmp(node->text, names[i]) == 0) {
            return (lg_cause)(i + 1);
        }
    }
    return LG_CAUSE_NONE;
}

static bool read_fault(lg_binder *binder, const char *what, lg_yaml_node *map,
                       lg_fault_spec *fault) {
    *fault = (lg_fault_spec){.loc = lg_yaml_loc(binder->doc, map)};
    if (!lg_bind_is_map(binder, map, what)) {
        return false;
    }
    fault->kind = kind_of(map);
    lg_field_table table = lg_fault_table;
    table.name = what;
    // Of a fault of unknown kind every key is read for its own sake.
    uint32_t tags = fault->kind ? UINT32_C(1) << fault->kind : UINT32_MAX;
    return lg_bind_tagged(binder, map, &table, fault, tags, lg_cause_name(fault->kind));
}

enum { MAX_READ = 64 }; // entries beyond the limit are read for their errors, but not a flood

LG_CUSTOM(lg_read_faults) {
    (void)field;
    lg_scenario *scenario = object;
    if (!lg_bind_is_list(binder, value, what)) {
        return false;
    }
    bool ok = true;
    if (value->n > LG_MAX_FAULTS) {
        ok = lg_yaml_error(binder->doc, value->items[LG_MAX_FAULTS], binder->diags,
                           "%s has %lld entries; at most %d", what, (long long)value->n,
                           LG_MAX_FAULTS);
    }
    for (int i = 0; i < MAX_READ && i < (int)value->n; i++) {
        const char *path = lg_arena_printf(binder->scratch, "faults.%d", i);
        lg_fault_spec beyond;
        lg_fault_spec *fault = i < LG_MAX_FAULTS ? &scenario->faults[i] : &beyond;
        value->items[i]->refused = !read_fault(binder, path, value->items[i], fault);
        ok &= !value->items[i]->refused;
    }
    scenario->n_faults = value->n < LG_MAX_FAULTS ? (int)value->n : LG_MAX_FAULTS;
    return ok;
}
