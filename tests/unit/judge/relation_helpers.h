// SPDX-License-Identifier: Apache-2.0
// A scenario's text as a batch with its reference, and what a right kernel would show for it.
#ifndef LG_TESTS_PIPELINE_RELATION_HELPERS_H
#define LG_TESTS_PIPELINE_RELATION_HELPERS_H

#include "batch/batch.h"
#include "reference/reference.h"
#include "result/observation.h"
#include "scenario/scenario.h"
#include "unit/testing.h"

#include <string.h>

typedef struct scene {
    lg_scenario_set set;
    lg_batch batch;
    lg_reference reference;
} scene;

static inline void scene_begin(scene *s, const char *text) {
    *s = (scene){0};
    lg_diags diags = {0};
    lg_read_options options = {0};
    bool ok = lg_scenario_read_text("scene.yaml", text, strlen(text), &options, &s->set, &diags) &&
              lg_generate(&s->set.items[0], true, &s->batch, &diags);
    lg_diags_print(&diags, stderr);
    lg_diags_free(&diags);
    CU_ASSERT_TRUE_FATAL(ok);
    CU_ASSERT_TRUE_FATAL(
        lg_reference_compute(&s->batch, s->batch.loss.direction & LG_BACKWARD, &s->reference));
}

static inline void scene_end(scene *s) {
    lg_reference_free(&s->reference);
    lg_batch_free(&s->batch);
    lg_scenario_set_free(&s->set);
}

static inline lg_output *played_output(lg_observation *seen, lg_arg_id arg) {
    for (int i = 0; i < seen->n_outputs; i++) {
        if (seen->outputs[i].arg == arg) {
            return &seen->outputs[i];
        }
    }
    CU_FAIL_FATAL("no such output");
    return NULL;
}

static inline void play_output(lg_observation *seen, lg_arg_id arg, lg_dtype dtype,
                               const double *values, int64_t n) {
    lg_output *output = &seen->outputs[seen->n_outputs++];
    *output = (lg_output){.arg = arg, .dtype = dtype, .n = n};
    output->values = lg_arena_array(&seen->arena, (size_t)n + 1, sizeof(double));
    memcpy(output->values, values, (size_t)n * sizeof(double));
}

// The reference's own numbers as a kernel's.
static inline void play_right(const lg_batch *batch, const lg_reference *reference,
                              lg_observation *seen) {
    *seen = (lg_observation){.failed_launch_index = -1, .log = ""};
    play_output(seen, LG_ARG_OUTPUT, batch->input.dtype, reference->loss, reference->n_loss);
    if (reference->grad_input) {
        play_output(seen, LG_ARG_GRAD_INPUT, batch->input.dtype, reference->grad_input,
                    lg_tensor_numel(&batch->input));
    }
    if (reference->scalar) {
        play_output(seen, LG_ARG_TOTAL_WEIGHT, batch->input.dtype, &reference->total_weight, 1);
    }
}

#endif
