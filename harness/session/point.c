// SPDX-License-Identifier: Apache-2.0
// What the cases of a scenario point share.
#include "session/internal.h"

#include "attribute/attribute.h"
#include "batch/batch.h"

const char *lg_last_error(lg_arena *arena, const lg_diags *diags, size_t from,
                          const char *otherwise) {
    for (size_t i = from; i < diags->n; i++) {
        if (diags->items[i].severity == LG_ERROR) {
            return lg_arena_strdup(arena, diags->items[i].message);
        }
    }
    return otherwise;
}

static lg_senseless find_senseless(lg_point_data *data) {
    lg_attribute_input input = {.batch = &data->batch, .reference = &data->reference};
    lg_finding finding;
    lg_attribute(&input, &finding);
    lg_senseless found = {0};
    if (finding.certain &&
        (finding.cause == LG_CAUSE_VALUE_DOMAIN || finding.cause == LG_CAUSE_WRONG_HEAD_WIDTH)) {
        found.cause = finding.cause;
        found.text = lg_arena_strdup(&data->arena, finding.headline);
    }
    lg_finding_free(&finding);
    return found;
}

void lg_point_prepare(const lg_scenario *scenario, lg_point_data *data, lg_diags *diags) {
    *data = (lg_point_data){0};
    size_t first = diags->n;
    if (!lg_generate(scenario, true, &data->batch, diags)) {
        data->failure =
            lg_last_error(&data->arena, diags, first, "the batch could not be generated");
        return;
    }
    data->view = data->batch;
    data->view.target = *lg_batch_device_target(&data->batch);
    data->view.device_target = (lg_tensor){0};
    data->n_labels = lg_label_histogram(&data->batch, data->labels);
    data->refusal = lg_hostcheck(&data->batch, &data->arena);
    // The reference needs shapes and types that agree; a refused batch may have neither.
    if (data->refusal.cause != LG_CAUSE_NONE) {
        return;
    }
    data->has_reference = lg_reference_compute(
        &data->view, lg_reference_keeps_gradient(&data->view), &data->reference);
    bool other_labels = lg_tensor_exists(&data->batch.device_target);
    data->has_intended = other_labels && lg_reference_compute(&data->batch, false, &data->intended);
    if (!data->has_reference || data->has_intended != other_labels) {
        data->failure = "no memory for the reference";
    } else if (!lg_relations_make(scenario, &data->view, &data->relations)) {
        data->failure = "no memory for the relations";
    } else {
        data->senseless = find_senseless(data);
    }
}

void lg_point_free(lg_point_data *data) {
    lg_batch_free(&data->batch);
    if (data->has_reference) {
        lg_reference_free(&data->reference);
    }
    if (data->has_intended) {
        lg_reference_free(&data->intended);
    }
    lg_relations_free(&data->relations);
    lg_arena_free(&data->arena);
    *data = (lg_point_data){0};
}
