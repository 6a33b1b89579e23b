// SPDX-License-Identifier: Apache-2.0
#include "model/observation.h"

#include <string.h>

void lg_observation_free(lg_observation *observation) {
    lg_arena_free(&observation->arena);
    *observation = (lg_observation){0};
}

const lg_output *lg_observation_output(const lg_observation *observation, const char *name) {
    for (int i = 0; i < observation->n_outputs; i++) {
        if (strcmp(observation->outputs[i].name, name) == 0) {
            return &observation->outputs[i];
        }
    }
    return NULL;
}
