// SPDX-License-Identifier: Apache-2.0
#include "cli/cli.h"

#include "attribute/attribute.h"
#include "session/session.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>

static json_t *number(double value) {
    if (isnan(value)) {
        return json_string("nan");
    }
    return isinf(value) ? json_string(value > 0 ? "inf" : "-inf") : json_real(value);
}

static json_t *numbers(const double *values, int64_t n) {
    json_t *list = json_array();
    for (int64_t i = 0; i < n; i++) {
        json_array_append_new(list, number(values[i]));
    }
    return list;
}

static json_t *rows(const int64_t *items, int64_t n) {
    json_t *list = json_array();
    for (int64_t i = 0; i < n; i++) {
        json_array_append_new(list, json_integer(items[i]));
    }
    return list;
}

static void add_losses(json_t *object, const lg_batch *batch, const lg_reference *reference) {
    json_object_set_new(object, "loss", numbers(reference->loss, reference->n_loss));
    json_object_set_new(object, "row_loss", numbers(reference->row_loss, reference->n_rows));
    json_object_set_new(object, "total_weight", number(reference->total_weight));
    if (reference->grad_input) {
        json_object_set_new(object, "grad_input",
                            numbers(reference->grad_input, lg_tensor_numel(&batch->input)));
    }
}

static void add_cause(json_t *object, const lg_point_data *data) {
    const lg_refusal *refusal = data->refusal.cause != LG_CAUSE_NONE ? &data->refusal : NULL;
    const lg_reference *reference = data->has_reference ? &data->reference : NULL;
    lg_attribute_input input = {.batch = &data->batch, .reference = reference, .refusal = refusal};
    lg_finding finding = {0};
    lg_attribute(&input, &finding);
    bool valid = reference && reference->n_invalid == 0;
    json_object_set_new(object, "valid", json_boolean(valid));
    if (finding.warning && valid) {
        json_object_set_new(object, "warning", json_string(lg_cause_name(finding.cause)));
    }
    if (!valid) {
        json_object_set_new(object, "cause", json_string(lg_cause_name(finding.cause)));
        json_object_set_new(object, "rows",
                            reference ? rows(reference->invalid_rows, reference->n_invalid)
                                      : rows(finding.rows, finding.n_rows));
    }
    if (refusal && refusal->text) {
        json_object_set_new(object, "refused", json_string(refusal->text));
    }
    lg_finding_free(&finding);
}

static void print_json(const lg_scenario *scenario, const lg_point_data *data) {
    json_t *object = json_object();
    if (scenario->point && *scenario->point) {
        json_object_set_new(object, "point", json_string(scenario->point));
    }
    if (data->has_reference) {
        add_losses(object, &data->batch, &data->reference);
    } else {
        json_object_set_new(object, "loss", json_array());
        json_object_set_new(object, "row_loss", json_array());
        json_object_set_new(object, "total_weight", json_null());
    }
    add_cause(object, data);
    char *text = json_dumps(object, JSON_COMPACT);
    printf("%s\n", text ? text : "{}");
    free(text);
    json_decref(object);
}

// One object a point; false when its batch cannot be made.
static bool print_point(const lg_scenario *scenario, lg_diags *diags) {
    lg_point_data data;
    size_t n_errors = diags->n_errors;
    lg_point_prepare(scenario, &data, diags);
    bool ok = data.failure == NULL;
    if (ok) {
        print_json(scenario, &data);
    } else if (diags->n_errors == n_errors) {
        lg_error(diags, (lg_loc){.file = scenario->path}, "%s", data.failure);
    }
    lg_point_free(&data);
    return ok;
}

int lg_verb_reference(const lg_cli *cli) {
    if (cli->words.n != 1) {
        fputs("lossgate reference: error: give one scenario file\n", stderr);
        return LG_EXIT_USAGE;
    }
    lg_diags diags = {0};
    lg_scenarios scenarios;
    bool ok = lg_scenarios_load(cli, &cli->words, &scenarios, &diags);
    for (int64_t s = 0; ok && s < scenarios.n; s++) {
        for (int64_t i = 0; i < scenarios.sets[s].n; i++) {
            lg_scenario point = scenarios.sets[s].items[i];
            point.batch.seed = cli->has_seed ? cli->seed : point.batch.seed;
            ok = print_point(&point, &diags) && ok;
        }
    }
    fflush(stdout);
    lg_diags_print(&diags, stderr);
    lg_diags_free(&diags);
    lg_scenarios_free(&scenarios);
    return ok ? LG_EXIT_OK : LG_EXIT_USAGE;
}
