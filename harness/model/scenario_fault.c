// SPDX-License-Identifier: Apache-2.0
// The list of faults: each kind takes the keys that the field table gives it.
#include "model/scenario_tables.h"

#include <string.h>

LG_CUSTOM(lg_read_form) {
    (void)field;
    lg_fault_spec *fault = object;
    size_t n;
    const char *const *forms = lg_fault_forms(fault->kind, &n);
    int index;
    if (!lg_bind_choice(binder, value, what, forms, n, &index)) {
        return false;
    }
    fault->where = forms[index];
    return true;
}

static bool read_kind(lg_binder *binder, const char *what, lg_yaml_node *map, lg_cause *kind) {
    const char *path = lg_arena_printf(binder->scratch, "%s.kind", what);
    lg_yaml_node *node = lg_yaml_get(map, "kind");
    if (!node) {
        return lg_yaml_error(binder->doc, map, binder->diags, "missing key '%s'", path);
    }
    lg_cause cause;
    if (node->kind == LG_YAML_SCALAR && lg_cause_parse(node->text, &cause) &&
        lg_cause_phase_of(cause) == LG_PHASE_KERNEL) {
        return lg_yaml_error(binder->doc, node, binder->diags,
                             "%s is '%s', which is a fault of a kernel; a scenario injects faults "
                             "of data",
                             path, node->text);
    }
    size_t n;
    const char *const *names = lg_fault_names(&n);
    int index;
    if (!lg_bind_choice(binder, node, path, names, n, &index)) {
        return false;
    }
    *kind = (lg_cause)(index + 1);
    return true;
}

static bool read_fault(lg_binder *binder, const char *what, lg_yaml_node *map,
                       lg_fault_spec *fault) {
    *fault = (lg_fault_spec){.loc = lg_yaml_loc(binder->doc, map)};
    if (!lg_bind_is_map(binder, map, what) || !read_kind(binder, what, map, &fault->kind)) {
        return false;
    }
    lg_field_table table = lg_fault_table;
    table.name = what;
    return lg_bind_tagged(binder, map, &table, fault, UINT32_C(1) << fault->kind,
                          lg_cause_name(fault->kind));
}

LG_CUSTOM(lg_read_faults) {
    (void)field;
    lg_scenario_reader *reader = binder->context;
    lg_scenario *scenario = object;
    reader->failed |= LG_PART_FAULTS;
    if (!lg_bind_is_list(binder, value, what)) {
        return false;
    }
    if (value->n > LG_MAX_FAULTS) {
        return lg_yaml_error(binder->doc, value->items[LG_MAX_FAULTS], binder->diags,
                             "%s has %lld entries; at most %d", what, (long long)value->n,
                             LG_MAX_FAULTS);
    }
    bool ok = true;
    for (int i = 0; i < (int)value->n; i++) {
        const char *path = lg_arena_printf(binder->scratch, "faults.%d", i);
        if (!read_fault(binder, path, value->items[i], &scenario->faults[i])) {
            scenario->faults[i].kind = LG_CAUSE_NONE; // not looked at further
            ok = false;
        }
    }
    scenario->n_faults = (int)value->n;
    reader->failed &= ~(unsigned)LG_PART_FAULTS;
    return ok;
}
