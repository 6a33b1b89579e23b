// SPDX-License-Identifier: Apache-2.0
#include "result/observation.h"

#include "model/dtype.h"

#include <string.h>

void lg_observation_free(lg_observation *observation) {
    lg_arena_free(&observation->arena);
    *observation = (lg_observation){0};
}

bool lg_output_exists(const lg_output *output) {
    return output && (output->values || output->data);
}

double lg_output_get(const lg_output *output, int64_t index) {
    return output->values ? output->values[index]
                          : lg_dtype_get_f64((lg_dtype)output->dtype, output->data, index);
}

const lg_output *lg_observation_output(const lg_observation *observation, const char *name) {
    for (int i = 0; i < observation->n_outputs; i++) {
        if (strcmp(observation->outputs[i].name, name) == 0) {
            return &observation->outputs[i];
        }
    }
    return NULL;
}
