// SPDX-License-Identifier: Apache-2.0
#include "scenario/scenario.h"

static const char *const distributions[] = {
    [LG_DIST_DEFAULT] = "default",         [LG_DIST_NORMAL] = "normal",
    [LG_DIST_UNIFORM] = "uniform",         [LG_DIST_CONSTANT] = "constant",
    [LG_DIST_ROUND_ROBIN] = "round_robin", [LG_DIST_ZIPF] = "zipf",
    [LG_DIST_SIMPLEX] = "simplex",
};

static const char *const float_forms[] = {
    [LG_FLOAT_REFUSED] = "refused",
    [LG_FLOAT_BITS] = "bits",
    [LG_FLOAT_TRUNCATED] = "truncated",
};

static const char *const form_names[] = {
    "unset",
#define LG_FORM(cause, id, name, help) name,
#include "scenario/fault_form.def"
#undef LG_FORM
};

static const lg_cause form_causes[] = {
    LG_N_CAUSES, // of none
#define LG_FORM(cause, id, name, help) LG_CAUSE_##cause,
#include "scenario/fault_form.def"
#undef LG_FORM
};

const char *lg_distribution_name(lg_distribution distribution) {
    return (unsigned)distribution <= LG_DIST_SIMPLEX ? distributions[distribution] : "invalid";
}

const char *lg_float_form_name(lg_float_form form) {
    return (unsigned)form <= LG_FLOAT_TRUNCATED ? float_forms[form] : "invalid";
}

const char *const *lg_distribution_names(size_t *n) {
    *n = LG_DIST_SIMPLEX;
    return distributions + LG_DIST_NORMAL;
}

const char *const *lg_float_form_names(size_t *n) {
    *n = LG_FLOAT_TRUNCATED + 1;
    return float_forms;
}

const char *lg_fault_form_name(lg_fault_form form) {
    return (unsigned)form < LG_N_FORMS ? form_names[form] : "invalid";
}

lg_fault_form lg_fault_default_form(lg_cause kind) {
    int form = LG_FORM_UNSET;
    while (form < LG_N_FORMS && form_causes[form] != kind) {
        form++;
    }
    return form < LG_N_FORMS ? (lg_fault_form)form : LG_FORM_UNSET;
}

lg_fault_form lg_fault_form_of(const lg_fault_spec *fault) {
    return fault->where ? fault->where : lg_fault_default_form(fault->kind);
}

const char *const *lg_fault_forms(lg_cause kind, size_t *n) {
    // The forms of a cause stand together in the table.
    size_t first = (size_t)lg_fault_default_form(kind);
    *n = 0;
    while (first && first + *n < LG_N_FORMS && form_causes[first + *n] == kind) {
        (*n)++;
    }
    return form_names + first;
}

bool lg_scenario_set_new_kernels(const lg_scenario_set *set, int64_t point) {
    int64_t before = point - 1; // points that share a list of the file share its items
    while (before >= 0 && set->items[before].kernels.items != set->items[point].kernels.items) {
        before--;
    }
    return before < 0;
}

void lg_scenario_set_free(lg_scenario_set *set) {
    lg_arena_free(&set->arena);
    *set = (lg_scenario_set){0};
}
