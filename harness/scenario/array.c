// SPDX-License-Identifier: Apache-2.0
// The array mappings of a scenario (logits, targets, weights) and their custom keys.
#include "scenario/internal.h"
#include "support/strparse.h"

#include <string.h>

// What a list of numbers was converted to, kept with its node.
typedef struct numbers {
    lg_f64_list reals;
    lg_i64_list ints;
    bool all_ints;
} numbers;

static bool convert_number(lg_binder *binder, const char *what, lg_yaml_node *item, numbers *out,
                           int64_t i) {
    if (item->kind == LG_YAML_LIST) {
        return lg_yaml_error(binder->doc, item, binder->diags,
                             "%s is a nested list; write the numbers flat and give the shape",
                             what);
    }
    if (!lg_bind_real(binder, item, what, &out->reals.items[i])) {
        return false;
    }
    out->all_ints &= lg_parse_i64(item->text, &out->ints.items[i]);
    return true;
}

LG_CUSTOM(lg_read_values) {
    (void)field;
    lg_array_spec *spec = object;
    const numbers *known = value->memo;
    if (!known) {
        if (!lg_bind_is_list(binder, value, what)) {
            return false;
        }
        numbers *fresh = lg_arena_alloc(binder->arena, sizeof *fresh);
        size_t n = (size_t)value->n;
        fresh->all_ints = true;
        fresh->reals = (lg_f64_list){value->n, lg_arena_array(binder->arena, n, sizeof(double))};
        fresh->ints = (lg_i64_list){value->n, lg_arena_array(binder->arena, n, sizeof(int64_t))};
        bool ok = true;
        for (int64_t i = 0; i < value->n; i++) {
            ok &= convert_number(binder, what, value->items[i], fresh, i);
        }
        if (!ok) {
            return false;
        }
        value->memo = fresh;
        known = fresh;
    }
    spec->source = LG_ARRAY_VALUES;
    spec->values = known->reals;
    spec->values_are_integers = known->all_ints;
    if (known->all_ints) {
        spec->int_values = known->ints;
    }
    return true;
}

LG_CUSTOM(lg_read_uniform) {
    (void)field;
    lg_array_spec *spec = object;
    if (!lg_bind_is_list(binder, value, what)) {
        return false;
    }
    if (value->n != 2) {
        return lg_yaml_error(binder->doc, value, binder->diags,
                             "%s has %lld values; want two, [lo, hi]", what, (long long)value->n);
    }
    double lo;
    double hi;
    bool ok = lg_bind_real(binder, value->items[0], what, &lo);
    if (!lg_bind_real(binder, value->items[1], what, &hi) || !ok) {
        return false;
    }
    if (!(lo < hi && lo >= -1e300 && hi <= 1e300)) {
        return lg_yaml_error(binder->doc, value, binder->diags,
                             "%s is [%g, %g]; want finite numbers with the lower one first", what,
                             lo, hi);
    }
    spec->source = LG_ARRAY_GENERATED;
    spec->distribution = LG_DIST_UNIFORM;
    spec->lo = lo;
    spec->hi = hi;
    return true;
}

LG_CUSTOM(lg_read_target_kind) {
    (void)field;
    static const char *const kinds[] = {"indices", "probabilities"};
    int index;
    if (!lg_bind_choice(binder, value, what, kinds, 2, &index)) {
        return false;
    }
    ((lg_array_spec *)object)->probabilities = index == 1;
    return true;
}

LG_CUSTOM(lg_read_array) {
    lg_array_spec *spec = (lg_array_spec *)((char *)object + field->offset);
    bool is_vector = field->first == LG_PLACE_WEIGHT;
    *spec = (lg_array_spec){0};
    if (is_vector && value->kind == LG_YAML_SCALAR && strcmp(value->text, "none") == 0) {
        return true;
    }
    if (is_vector && value->kind == LG_YAML_LIST) {
        return lg_read_values(binder, field, what, value, spec);
    }
    if (is_vector && value->kind == LG_YAML_SCALAR) {
        return lg_yaml_error(binder->doc, value, binder->diags,
                             "%s is '%.60s'; want none, a list of numbers, or a mapping", what,
                             value->text);
    }
    if (!lg_bind_is_map(binder, value, what)) {
        return false;
    }
    lg_field_table table = lg_array_table;
    table.name = what;
    const char *variant = lg_arena_printf(binder->scratch, "'%s'", what);
    bool ok = lg_bind_tagged(binder, value, &table, spec, (uint32_t)field->first, variant);
    if (spec->source == LG_ARRAY_ABSENT) { // of refused elements it is known that they are listed
        spec->source = lg_yaml_get(value, "values") ? LG_ARRAY_VALUES
                       : lg_yaml_get(value, "file") ? LG_ARRAY_FILE
                                                    : LG_ARRAY_GENERATED;
    } else if (spec->source == LG_ARRAY_FILE && !lg_yaml_get(value, "shape")) {
        lg_array_take_file_facts(lg_yaml_get(value, "file"), spec);
    }
    return ok;
}
