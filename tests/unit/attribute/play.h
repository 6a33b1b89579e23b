// SPDX-License-Identifier: Apache-2.0
// A kernel that is broken in one way, played: the reference's numbers, spoiled as such a kernel
// would spoil them, and what attribution says of it.
#ifndef LG_TESTS_PIPELINE_ATTRIBUTE_PLAY_H
#define LG_TESTS_PIPELINE_ATTRIBUTE_PLAY_H

#include "attribute/attribute.h"
#include "batch/batch.h"
#include "unit/testing.h"

#include <math.h>
#include <string.h>

typedef struct play {
    lg_scenario scenario;
    lg_batch batch;
    lg_reference reference;
    lg_kernel kernel;
    lg_observation seen;
    double *loss;
} play;

typedef struct kernel_row {
    const char *name;
    lg_loss_kind loss;
    lg_reduction reduction;
    int64_t samples;
    int64_t classes;
    double ignored;
    double smoothing;
    bool weighted;
    bool gradient;
    bool strided;         // classes first in memory
    bool upstream;        // a gradient for each row comes from above
    bool with_fault;      // a few labels C, under a guarded kernel
    int64_t ignore_index; // 0: -100
    lg_dtype labels;      // none: int64
    lg_dtype input;       // none: float32
    double at;            // not 0: every logit
    bool positive;        // pos_weight of a binary loss
    void (*breakage)(play *p);
    lg_cause cause;
    lg_cause also; // named beside it, or NONE
    bool doubtful; // other kinds of broken kernel are named too
} kernel_row;
#define K(id) LG_CAUSE_##id

static inline void play_begin(const kernel_row *row, play *p) {
    *p = (play){.kernel = {.name = "played", .family = row->loss, .policy = LG_POLICY_NAN}};
    lg_scenario *s = &p->scenario;
    s->path = "row.yaml";
    s->loss = (lg_loss_options){.kind = row->loss,
                                .reduction = row->reduction,
                                .ignore_index = row->ignore_index ? row->ignore_index : -100,
                                .label_smoothing = row->smoothing,
                                .direction = row->gradient ? LG_BOTH : LG_FORWARD};
    s->batch =
        (lg_batch_spec){.seed = 3,
                        .samples = row->samples,
                        .classes = row->classes,
                        .ignored_fraction = row->ignored,
                        .logits = {.source = LG_ARRAY_GENERATED, .dtype = row->input, .scale = 1},
                        .targets = {.source = LG_ARRAY_GENERATED, .dtype = row->labels}};
    if (row->positive) {
        s->pos_weight = (lg_array_spec){.source = LG_ARRAY_GENERATED, .lo = 0.5, .hi = 3};
    }
    int64_t by_class[] = {1, row->samples};
    if (row->strided) {
        s->batch.logits.stride = (lg_i64_list){.n = 2, .items = by_class};
    }
    if (row->upstream) {
        s->grad_output = (lg_array_spec){.source = LG_ARRAY_GENERATED, .lo = 0.5, .hi = 1.5};
    }
    s->n_faults = row->with_fault;
    s->faults[0] = (lg_fault_spec){.kind = LG_CAUSE_LABEL_EQUALS_WIDTH, .count = 3};
    lg_diags diags = {0};
    CU_ASSERT_TRUE_FATAL(lg_generate(s, true, &p->batch, &diags));
    lg_diags_free(&diags);
    for (int64_t i = 0; row->at != 0 && i < lg_tensor_numel(&p->batch.input); i++) {
        lg_tensor_set_f64(&p->batch.input, i, row->at);
    }
    CU_ASSERT_TRUE_FATAL(lg_reference_compute(&p->batch, row->gradient, &p->reference));
    lg_output *loss = &p->seen.outputs[p->seen.n_outputs++];
    *loss = (lg_output){.arg = LG_ARG_OUTPUT, .dtype = LG_FLOAT32, .n = p->reference.n_loss};
    loss->values = lg_arena_array(&p->seen.arena, (size_t)loss->n, sizeof(double));
    memcpy(loss->values, p->reference.loss, (size_t)loss->n * sizeof(double));
    p->loss = loss->values;
    p->seen.failed_launch_index = -1;
}

static inline void play_end(play *p) {
    lg_observation_free(&p->seen);
    lg_reference_free(&p->reference);
    lg_batch_free(&p->batch);
}

// Free the finding with lg_finding_free.
static inline void play_attribute(const play *p, bool wrong, lg_finding *finding) {
    lg_attribute_input input = {.batch = &p->batch,
                                .reference = &p->reference,
                                .kernel = &p->kernel,
                                .observation = &p->seen,
                                .result_wrong = wrong};
    lg_attribute(&input, finding);
}

static inline lg_output *play_add_gradient(play *p) {
    lg_output *gradient = &p->seen.outputs[p->seen.n_outputs++];
    gradient->arg = LG_ARG_GRAD_INPUT;
    gradient->n = lg_tensor_numel(&p->batch.input);
    gradient->values = lg_arena_array(&p->seen.arena, (size_t)gradient->n, sizeof(double));
    memcpy(gradient->values, p->reference.grad_input, (size_t)gradient->n * sizeof(double));
    return gradient;
}

// After the batch was changed: what is right now, in every output.
static inline void play_again(play *p) {
    bool gradient = p->scenario.loss.direction & LG_BACKWARD;
    lg_reference_free(&p->reference);
    CU_ASSERT_TRUE_FATAL(lg_reference_compute(&p->batch, gradient, &p->reference));
    memcpy(p->loss, p->reference.loss, (size_t)p->reference.n_loss * sizeof(double));
}

// The loss that these row losses come to.
static inline void play_reduce(play *p, const double *row_loss) {
    double sum = 0;
    for (int64_t row = 0; row < p->reference.n_rows; row++) {
        sum += row_loss[row];
        p->loss[p->reference.scalar ? 0 : row] = row_loss[row];
    }
    bool mean = p->scenario.loss.reduction == LG_REDUCTION_MEAN;
    p->loss[0] = !p->reference.scalar ? p->loss[0] : mean ? sum / p->reference.total_weight : sum;
}

static inline double play_logit(const play *p, int64_t row, int64_t c) {
    return lg_tensor_get_f64(&p->batch.input, row * lg_batch_head_width(&p->batch) + c);
}

static inline int64_t play_label(const play *p, int64_t row) {
    return lg_tensor_get_i64(&p->batch.target, row);
}

// The kernel keeps its promise.
static inline void play_right(play *p) {
    (void)p;
}

static inline void play_expect(const char *name, const lg_finding *finding, lg_cause cause) {
    if (finding->cause != cause) {
        fprintf(stderr, "\n    '%s': found %s: %s\n", name, lg_cause_name(finding->cause),
                finding->headline ? finding->headline : "");
    }
    LG_CHECK_ROW(name, finding->cause == cause);
    LG_CHECK_ROW(name, (finding->headline != NULL) == (cause != LG_CAUSE_NONE));
}

// What a valid batch and a broken kernel come to; ends the play.
static inline void play_check(play *p, const char *name, lg_cause cause, bool doubtful) {
    lg_finding finding;
    play_attribute(p, true, &finding);
    play_expect(name, &finding, cause);
    LG_CHECK_ROW(name, finding.ambiguous == doubtful && !finding.certain);
    lg_finding_free(&finding);
    play_end(p);
}

static inline void play_row(const kernel_row *row) {
    play p;
    lg_finding finding;
    play_begin(row, &p);
    row->breakage(&p);
    play_attribute(&p, !row->with_fault, &finding);
    play_expect(row->name, &finding, row->cause);
    LG_CHECK_ROW(row->name,
                 row->with_fault || (!finding.certain && finding.ambiguous == row->doubtful));
    LG_CHECK_ROW(row->name, (row->also != LG_CAUSE_NONE) ==
                                (finding.n_hypotheses > 0 && finding.hypotheses[0].n_with == 1));
    LG_CHECK_ROW(row->name, row->also == LG_CAUSE_NONE || lg_finding_names(&finding, row->also));
    LG_CHECK_ROW(row->name, finding.n_rows == (row->with_fault ? 3 : 0));
    lg_finding_free(&finding);
    play_end(&p);
}

static inline void play_rows(const kernel_row *rows, size_t n) {
    for (size_t i = 0; i < n; i++) {
        play_row(&rows[i]);
    }
}

#endif
