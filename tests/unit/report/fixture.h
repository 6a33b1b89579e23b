// SPDX-License-Identifier: Apache-2.0
// A case result made by hand, as a session would hand it to an observer.
#ifndef LG_TESTS_REPORT_FIXTURE_H
#define LG_TESTS_REPORT_FIXTURE_H

#include "result/case.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct fixture {
    lg_scenario scenario;
    lg_kernel kernel;
    lg_case what;
    lg_case_result result;
    lg_hypothesis hypotheses[2];
    lg_value_count values[2];
    int64_t rows[10];
    int64_t injected_rows[3];
    lg_assert_line line;
    double loss, reference;
} fixture;

// Labels 3 and 4 for a head of 3 outputs, caught by a device assert. Nothing in it is to be freed.
static inline void fixture_init(fixture *f) {
    *f = (fixture){0};
    f->scenario = (lg_scenario){.path = "scenarios/faults/wrong_head_width.yaml",
                                .name = "faults/wrong_head_width",
                                .title = "A title",
                                .batch = {.seed = 7},
                                .point = "batch.samples=64"};
    f->kernel = (lg_kernel){.name = "nll_loss/reduce/assert",
                            .base_name = "nll_loss/reduce",
                            .policy = LG_POLICY_ASSERT};
    f->what = (lg_case){
        .scenario = &f->scenario, .kernel = &f->kernel, .mode = LG_MODE_ASYNC, .device = "sim"};
    strcpy(f->what.id, "0123456789abcdef");
    f->hypotheses[0] = (lg_hypothesis){.cause = LG_CAUSE_WRONG_HEAD_WIDTH,
                                       .probability = 1,
                                       .evidence = "labels fill 0..4",
                                       .advice = "out_features = 5"};
    f->hypotheses[1] =
        (lg_hypothesis){.cause = LG_CAUSE_ONE_BASED_LABELS, .evidence = "class 0 occurs"};
    f->values[0] = (lg_value_count){.value = 3, .count = 14};
    f->values[1] = (lg_value_count){.value = 4, .count = 1};
    for (int i = 0; i < 10; i++) {
        f->rows[i] = 3 * i + 1;
    }
    f->injected_rows[0] = 1;
    f->injected_rows[1] = 4;
    f->line = (lg_assert_line){.file = "kernels/nll_loss.cu",
                               .line = 41,
                               .function = "nll_row",
                               .thread = {3, 0, 0},
                               .expression = "t >= 0 && t < n_classes"};
    f->loss = NAN;
    f->reference = NAN;
    f->result = (lg_case_result){
        .what = &f->what,
        .judged = {.verdict = LG_DETECTED,
                   .detected_by = LG_DETECTOR_DEVICE_ASSERT,
                   .output = LG_N_ARGS,
                   .max_error_share = NAN},
        .attribution = LG_ATTRIBUTION_EXACT,
        .as_expected = true,
        .expectation = "detected, cause wrong_head_width",
        .finding = {.cause = LG_CAUSE_WRONG_HEAD_WIDTH,
                    .certain = true,
                    .n_hypotheses = 2,
                    .hypotheses = f->hypotheses,
                    .n_named = 1,
                    .n_rows = 10,
                    .rows = f->rows,
                    .n_values = 2,
                    .values = f->values,
                    .headline = "labels fill 0..4, the head has 3 outputs"},
        .observation = {.status = LG_STATUS_ASSERT,
                        .status_text = "CUDA_ERROR_ASSERT (710)",
                        .failed_launch = "nll_loss_forward_reduce_assert_float32_int64",
                        .n_launches = 3,
                        .surfaced_at = "cuStreamSynchronize",
                        .calls_later = 2,
                        .n_asserts = 27,
                        .n_asserts_kept = 1,
                        .asserts = &f->line,
                        .log = ""},
        .reference_loss = &f->reference,
        .n_reference_loss = 1,
        .n_rows = 64,
        .injected = {{.cause = LG_CAUSE_WRONG_HEAD_WIDTH,
                      .fired = true,
                      .n_rows = 2,
                      .rows = f->injected_rows}},
        .n_injected = 1,
        .head_width = 3,
        .repro = (char *)"lossgate run --case 0123456789abcdef",
    };
}

#endif
