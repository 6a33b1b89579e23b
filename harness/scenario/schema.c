// SPDX-License-Identifier: Apache-2.0
// A JSON Schema of scenario files for editors, from the field tables. It says less than the reader
// checks: contradictions between keys are the reader's.
#include "scenario/internal.h"

#include <float.h>
#include <jansson.h>
#include <stdlib.h>

static json_t *object_of(const lg_field_table *table, uint32_t tags);

static json_t *names_array(const char *const *names, size_t n) {
    json_t *array = json_array();
    for (size_t i = 0; i < n; i++) {
        json_array_append_new(array, json_string(names[i]));
    }
    return array;
}

static json_t *typed(const char *type) {
    return json_pack("{ss}", "type", type);
}

static json_t *integer_schema(const lg_field *field) {
    json_t *schema = typed("integer");
    if (field->min > INT64_MIN) {
        json_object_set_new(schema, "minimum", json_integer(field->min));
    }
    if (field->max < INT64_MAX) {
        json_object_set_new(schema, "maximum", json_integer(field->max));
    }
    return schema;
}

static json_t *number_schema(const lg_field *field) {
    json_t *schema = typed("number");
    if (field->low > -DBL_MAX) {
        json_object_set_new(schema, "minimum", json_real(field->low));
    }
    if (field->high < DBL_MAX) {
        json_object_set_new(schema, "maximum", json_real(field->high));
    }
    return schema;
}

static json_t *list_of(json_t *items) {
    return json_pack("{ssso}", "type", "array", "items", items);
}

static json_t *choice_schema(const lg_field *field) {
    size_t n;
    const char *const *names = field->choices(&n);
    return json_pack("{so}", "enum", names_array(names, n));
}

static json_t *array_schema(const lg_field *field) {
    json_t *map = object_of(&lg_array_table, (uint32_t)field->first);
    if (field->first != LG_PLACE_WEIGHT) {
        return map;
    }
    return json_pack("{s[ooo]}", "oneOf", json_pack("{ss}", "const", "none"),
                     list_of(typed("number")), map);
}

// Each kind takes only its own keys.
static json_t *fault_schema(void) {
    json_t *fault = object_of(&lg_fault_table, 0);
    json_t *rules = json_array();
    size_t n;
    const char *const *kinds = lg_fault_names(&n);
    for (size_t k = 0; k < n; k++) {
        json_t *keys = json_array();
        for (int i = 0; i < lg_fault_table.n; i++) {
            const lg_field *field = &lg_fault_table.fields[i];
            if (field->tags == 0 || (field->tags & UINT32_C(1) << (k + 1))) {
                json_array_append_new(keys, json_string(field->key));
            }
        }
        json_t *then = json_pack("{s{so}}", "propertyNames", "enum", keys);
        size_t n_forms;
        const char *const *forms = lg_fault_forms((lg_cause)(k + 1), &n_forms);
        if (n_forms) {
            json_object_set_new(then, "properties",
                                json_pack("{s{so}}", "where", "enum", names_array(forms, n_forms)));
        }
        json_t *rule = json_pack("{s{s{s{ss}}}so}", "if", "properties", "kind", "const", kinds[k],
                                 "then", then);
        json_array_append_new(rules, rule);
    }
    json_object_set_new(fault, "allOf", rules);
    return fault;
}

static json_t *custom_schema(const lg_field *field) {
    if (field->read == lg_read_array) {
        return array_schema(field);
    }
    if (field->read == lg_read_faults) {
        return json_pack("{sssosi}", "type", "array", "items", fault_schema(), "maxItems",
                         LG_MAX_FAULTS);
    }
    if (field->read == lg_read_nothing) {
        return json_pack("{sss{s[{sssi}{sssis{sssi}}]}}", "type", "object", "additionalProperties",
                         "oneOf", "type", "array", "minItems", 1, "type", "object", "minProperties",
                         1, "additionalProperties", "type", "object", "minProperties", 1);
    }
    if (field->read == lg_read_form) {
        return typed("string"); // which ones, the rule of the kind says
    }
    if (field->read == lg_read_target_kind) {
        return json_pack("{s[ss]}", "enum", "indices", "probabilities");
    }
    if (field->read == lg_read_expected_loss) {
        return json_pack("{s[oo]}", "oneOf", typed("number"), list_of(typed("number")));
    }
    if (field->read == lg_read_uniform) {
        return json_pack("{sss{ss}sisi}", "type", "array", "items", "type", "number", "minItems", 2,
                         "maxItems", 2);
    }
    if (field->read == lg_read_values) {
        return list_of(typed("number"));
    }
    if (field->read == lg_read_file_name) {
        return typed("string");
    }
    return object_of(field->table, 0); // a section
}

static json_t *field_schema(const lg_field *field) {
    switch (field->type) {
    case LG_FIELD_I64:
        return integer_schema(field);
    case LG_FIELD_U64:
        return json_pack("{sssi}", "type", "integer", "minimum", 0);
    case LG_FIELD_F64:
        return number_schema(field);
    case LG_FIELD_REAL:
        return typed("number");
    case LG_FIELD_BOOL:
        return typed("boolean");
    case LG_FIELD_TEXT:
        return json_pack("{sssi}", "type", "string", "minLength", 1);
    case LG_FIELD_CHOICE:
        return choice_schema(field);
    case LG_FIELD_I64_LIST:
        return list_of(integer_schema(field));
    case LG_FIELD_TEXT_LIST:
        return list_of(typed("string"));
    case LG_FIELD_CHOICE_SET:
        return list_of(choice_schema(field));
    case LG_FIELD_MAP:
        return object_of(field->table, 0);
    case LG_FIELD_CUSTOM:
        return custom_schema(field);
    }
    return json_object();
}

static json_t *object_of(const lg_field_table *table, uint32_t tags) {
    json_t *properties = json_object();
    json_t *required = json_array();
    for (int i = 0; i < table->n; i++) {
        const lg_field *field = &table->fields[i];
        if (tags && field->tags && !(field->tags & tags)) {
            continue;
        }
        json_t *schema = field_schema(field);
        json_object_set_new(schema, "description", json_string(field->help));
        json_object_set_new(properties, field->key, schema);
        if (field->required) {
            json_array_append_new(required, json_string(field->key));
        }
    }
    json_t *object = json_pack("{sssosb}", "type", "object", "properties", properties,
                               "additionalProperties", 0);
    if (json_array_size(required)) {
        json_object_set_new(object, "required", required);
    } else {
        json_decref(required);
    }
    return object;
}

void lg_scenario_json_schema(lg_str *out) {
    json_t *root = json_pack("{ssss}", "$schema", "https://json-schema.org/draft/2020-12/schema",
                             "title", "lossgate scenario");
    json_t *file = object_of(&lg_root_table, 0);
    json_object_update(root, file);
    json_decref(file);
    char *text = json_dumps(root, JSON_INDENT(2) | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(17));
    json_decref(root);
    lg_str_add(out, text ? text : "");
    lg_str_add(out, "\n");
    free(text);
}
