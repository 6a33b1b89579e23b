// SPDX-License-Identifier: Apache-2.0
// A hand-made observation of a small NLL batch, right in everything until a test changes it.
#ifndef LG_TESTS_JUDGE_SCENE_H
#define LG_TESTS_JUDGE_SCENE_H

#include "judge/judge.h"
#include "unit/testing.h"

#include <string.h>

enum { ROWS = 4, WIDTH = 3, BAD_ROW = 2 };

// The scene of one row of the table: all of it can be changed before it is judged.
typedef struct scene {
    lg_batch batch;
    lg_reference reference;
    bool has_reference;
    lg_refusal refusal;
    bool refused;
    lg_kernel kernel;
    lg_stage stages[2];
    lg_observation seen;
    lg_launch launches[2];
    lg_fault_record records[8];
    lg_assert_line line;
} scene;

static inline void add_output(scene *s, lg_arg_id arg, const double *values, int64_t n) {
    lg_output *output = &s->seen.outputs[s->seen.n_outputs++];
    *output = (lg_output){.arg = arg, .dtype = LG_FLOAT32, .n = n};
    output->values = lg_arena_array(&s->seen.arena, (size_t)n, sizeof(double));
    memcpy(output->values, values, (size_t)n * sizeof(double));
}

// A batch, its reference and what a right kernel would return for it; label C in BAD_ROW if `bad`.
static inline void build(scene *s, lg_policy policy, lg_reduction reduction, bool bad) {
    *s = (scene){0};
    s->batch.loss = (lg_loss_options){
        .kind = LG_NLL_LOSS, .reduction = reduction, .ignore_index = -100, .direction = LG_BOTH};
    s->batch.classes = WIDTH;
    const int64_t shape[] = {ROWS, WIDTH};
    CU_ASSERT_TRUE_FATAL(lg_tensor_init(&s->batch.input, LG_FLOAT32, 2, shape));
    CU_ASSERT_TRUE_FATAL(lg_tensor_init(&s->batch.target, LG_INT64, 1, shape));
    for (int i = 0; i < ROWS * WIDTH; i++) {
        lg_tensor_set_f64(&s->batch.input, i, -0.5 - 0.25 * i);
    }
    for (int r = 0; r < ROWS; r++) {
        lg_tensor_set_i64(&s->batch.target, r, bad && r == BAD_ROW ? WIDTH : r % WIDTH);
    }
    CU_ASSERT_TRUE_FATAL(lg_reference_compute(&s->batch, true, &s->reference));
    s->has_reference = true;
    static lg_arg args[] = {{.id = LG_ARG_FAULT_RECORD}, {.id = LG_ARG_LAUNCH_INDEX}};
    s->stages[0] = (lg_stage){
        .entry = "forward_{dtype}_{target}", .direction = LG_FORWARD, .n_args = 2, .args = args};
    s->stages[1] = (lg_stage){
        .entry = "backward_{dtype}_{target}", .direction = LG_BACKWARD, .n_args = 2, .args = args};
    for (int i = 0; i < 2; i++) {
        s->launches[i] = (lg_launch){.stage = i, .grid = {1, 1, 1}, .block = {ROWS, 1, 1}};
    }
    s->seen.n_launches = 2;
    s->seen.launches = s->launches;
    s->kernel = (lg_kernel){.name = "nll_loss/test",
                            .family = LG_NLL_LOSS,
                            .policy = policy,
                            .n_stages = 2,
                            .stages = s->stages};
    s->seen.failed_launch_index = -1;
    add_output(s, LG_ARG_OUTPUT, s->reference.loss, s->reference.n_loss);
    add_output(s, LG_ARG_GRAD_INPUT, s->reference.grad_input, ROWS * WIDTH);
    if (reduction != LG_REDUCTION_NONE) {
        add_output(s, LG_ARG_TOTAL_WEIGHT, &s->reference.total_weight, 1);
    }
}

static inline void destroy(scene *s) {
    lg_batch_free(&s->batch);
    lg_reference_free(&s->reference);
    lg_observation_free(&s->seen);
}

static inline lg_output *output_of(scene *s, lg_arg_id arg) {
    for (int i = 0; i < s->seen.n_outputs; i++) {
        if (s->seen.outputs[i].arg == arg) {
            return &s->seen.outputs[i];
        }
    }
    return NULL;
}

static inline void with_assert(scene *s) {
    s->seen.status = LG_STATUS_ASSERT;
    s->line = (lg_assert_line){.file = "k.cu", .line = 41, .function = "f", .expression = "t < n"};
    s->seen.asserts = &s->line;
    s->seen.n_asserts = s->seen.n_asserts_kept = 1;
    for (int i = 0; i < s->seen.n_outputs; i++) {
        s->seen.outputs[i].values = NULL; // the context is dead
    }
}

static inline lg_run_facts facts_of(const scene *s) {
    return (lg_run_facts){.batch = &s->batch,
                          .reference = s->has_reference && !s->refused ? &s->reference : NULL,
                          .refusal = s->refused ? &s->refusal : NULL,
                          .kernel = &s->kernel,
                          .observation = &s->seen};
}

static inline lg_judgement judge_scene(const scene *s, lg_arena *arena) {
    lg_run_facts run = facts_of(s);
    return lg_judge_run(&run, arena);
}

#define NONE LG_REDUCTION_NONE
#define MEAN LG_REDUCTION_MEAN
#define ASSERT LG_POLICY_ASSERT
#define REPORT LG_POLICY_REPORT
#define NAN_ROW LG_POLICY_NAN
#define UNCHECKED LG_POLICY_NONE

#endif
