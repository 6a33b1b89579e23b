// SPDX-License-Identifier: Apache-2.0
// The reference page of scenarios/README.md, from the field tables.
#include "scenario/internal.h"

#include <float.h>

static const char *const type_names[] = {
    [LG_FIELD_I64] = "integer",
    [LG_FIELD_U64] = "integer",
    [LG_FIELD_F64] = "number",
    [LG_FIELD_REAL] = "number",
    [LG_FIELD_BOOL] = "true or false",
    [LG_FIELD_TEXT] = "text",
    [LG_FIELD_CHOICE] = "one of",
    [LG_FIELD_I64_LIST] = "list of integers",
    [LG_FIELD_TEXT_LIST] = "list of texts",
    [LG_FIELD_CHOICE_SET] = "list of",
    [LG_FIELD_MAP] = "mapping",
    [LG_FIELD_CUSTOM] = "",
};

static void write_bounds(lg_str *out, const lg_field *field) {
    bool is_int = field->type == LG_FIELD_I64 || field->type == LG_FIELD_I64_LIST;
    bool is_real = field->type == LG_FIELD_F64;
    if (is_int && field->min > INT64_MIN && field->max < INT64_MAX) {
        lg_str_printf(out, " from %lld to %lld", (long long)field->min, (long long)field->max);
    } else if (is_int && field->min > INT64_MIN) {
        lg_str_printf(out, " from %lld", (long long)field->min);
    } else if (is_real && field->low > -DBL_MAX && field->high < DBL_MAX) {
        lg_str_printf(out, " from %g to %g", field->low, field->high);
    } else if (is_real && field->low > -DBL_MAX) {
        lg_str_printf(out, " from %g", field->low);
    } else if (is_real) {
        lg_str_add(out, ", finite");
    } else if (field->type == LG_FIELD_REAL) {
        lg_str_add(out, ", .inf, -.inf or .nan");
    }
    if (field->choices && !*field->range) {
        size_t n;
        const char *const *names = field->choices(&n);
        for (size_t i = 0; i < n; i++) {
            lg_str_printf(out, "%s`%s`", i ? ", " : " ", names[i]);
        }
    }
}

static void write_row(lg_str *out, const lg_field *field) {
    lg_str_printf(out, "| `%s` | ", field->key);
    lg_str value = {0};
    bool words_say_all = *field->range && field->choices;
    lg_str_add(&value, words_say_all ? "" : type_names[field->type]);
    write_bounds(&value, field);
    if (*field->range) {
        lg_str_printf(&value, "%s%s", value.n ? "; " : "", field->range);
    }
    if (*field->unit) {
        lg_str_printf(&value, " (%s)", field->unit);
    }
    lg_str_add(out, value.n ? value.text : "mapping");
    lg_str_free(&value);
    if (field->required) {
        lg_str_add(out, " | required");
    } else if (field->initial) {
        lg_str_printf(out, " | `%s`", field->initial);
    } else {
        lg_str_printf(out, " | %s", field->fallback ? field->fallback : "none");
    }
    lg_str_printf(out, " | %s |\n", field->help);
}

static void write_head(lg_str *out, const char *title, const char *text) {
    lg_str_printf(
        out, "\n### %s\n\n%s%s| key | value | default | meaning |\n| --- | --- | --- | --- |\n",
        title, text, *text ? "\n\n" : "");
}

static void write_table(lg_str *out, const char *title, const char *text,
                        const lg_field_table *table, uint32_t tags) {
    write_head(out, title, text);
    for (int i = 0; i < table->n; i++) {
        if (tags == 0 || table->fields[i].tags == 0 || (table->fields[i].tags & tags)) {
            write_row(out, &table->fields[i]);
        }
    }
}

static void write_faults(lg_str *out) {
    write_table(out, "An entry of `faults`",
                "`kind` is required; which of the other keys it takes is in the next table.",
                &lg_fault_table, 0);
    lg_str_add(out, "\n| kind | what is injected | keys | forms (`where`) |\n"
                    "| --- | --- | --- | --- |\n");
    size_t n;
    lg_fault_names(&n);
    for (int kind = 1; kind <= (int)n; kind++) {
        lg_str_printf(out, "| `%s` | %s | ", lg_cause_name((lg_cause)kind),
                      lg_cause_help((lg_cause)kind));
        bool any = false;
        for (int i = 0; i < lg_fault_table.n; i++) {
            if (lg_fault_table.fields[i].tags & UINT32_C(1) << kind) {
                lg_str_printf(out, "%s`%s`", any ? ", " : "", lg_fault_table.fields[i].key);
                any = true;
            }
        }
        size_t n_forms;
        const char *const *forms = lg_fault_forms((lg_cause)kind, &n_forms);
        lg_str_add(out, any ? " | " : "none | ");
        for (size_t i = 0; i < n_forms; i++) {
            lg_str_printf(out, "%s`%s`", i ? ", " : "", forms[i]);
        }
        lg_str_add(out, n_forms ? " |\n" : "none |\n");
    }
    lg_str_add(out, "\n| kind | form | what it does |\n| --- | --- | --- |\n");
#define LG_FORM(cause, id, name, help)                                                             \
    lg_str_printf(out, "| `%s` | `%s` | %s |\n", lg_cause_name(LG_CAUSE_##cause), name, help);
#include "scenario/fault_form.def"
#undef LG_FORM
}

void lg_scenario_reference_page(lg_str *out) {
    lg_str_add(out, "<!-- Generated from harness/scenario/fields.def. -->\n");
    write_table(out, "The file", "", &lg_root_table, 0);
    write_table(out, "`loss`", "", &lg_loss_table, 0);
    write_table(out, "`batch`", "", &lg_batch_table, 0);
    write_table(out, "`batch.logits`", "", &lg_array_table, LG_PLACE_LOGITS);
    write_table(out, "`batch.targets`", "", &lg_array_table, LG_PLACE_TARGETS);
    write_table(out, "`loss.weight`, `loss.pos_weight`, `loss.grad_output`",
                "`none`, a list of numbers, or a mapping:", &lg_array_table, LG_PLACE_WEIGHT);
    write_faults(out);
    write_table(out, "`run`", "", &lg_run_table, 0);
    write_table(out, "`expect`", "What is left out follows from the faults.", &lg_expect_table, 0);
}
