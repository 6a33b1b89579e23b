// SPDX-License-Identifier: Apache-2.0
#include "result/observation.h"

#include "model/dtype.h"

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

const lg_output *lg_observation_output(const lg_observation *observation, lg_arg_id arg) {
    for (int i = 0; i < observation->n_outputs; i++) {
        if (observation->outputs[i].arg == arg) {
            return &observation->outputs[i];
        }
    }
    return NULL;
}

const lg_stage *lg_observation_failed_stage(const lg_observation *observation,
                                            const lg_kernel *kernel) {
    int failed = observation->failed_launch_index;
    int stage =
        failed >= 0 && failed < observation->n_launches ? observation->launches[failed].stage : -1;
    return stage >= 0 && stage < kernel->n_stages ? &kernel->stages[stage] : NULL;
}
