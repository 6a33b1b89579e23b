// SPDX-License-Identifier: Apache-2.0
// Kernel causes: each row plays a kernel that is broken in one way and must be named for it.
#include "pipeline/attribute.h"
#include "pipeline/generate.h"
#include "unit/testing.h"

#include <math.h>
#include <stdlib.h>
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

static int64_t live_rows(const play *p) {
    return p->reference.n_rows - p->reference.n_ignored;
}

static void break_mean(play *p) {
    p->loss[0] = p->reference.loss[0] * (double)live_rows(p) / (double)p->reference.n_rows;
}

static void break_shards(play *p) {
    for (int64_t i = 0; i < p->reference.n_loss; i++) {
        p->loss[i] += log(2);
    }
}

static void break_padding(play *p) {
    int64_t width = lg_batch_head_width(&p->batch);
    int64_t extra = (128 - width % 128) % 128;
    for (int64_t row = 0; row < p->reference.n_rows; row++) {
        double sum = 0;
        for (int64_t c = 0; c < width; c++) {
            sum += exp(lg_tensor_get_f64(&p->batch.input, row * width + c));
        }
        p->loss[row] += log((sum + (double)extra) / sum);
    }
}

static void break_offsets(play *p) {
    for (int64_t row = 0; row < p->reference.n_rows; row++) {
        if (row * lg_batch_head_width(&p->batch) > INT16_MAX) {
            p->loss[row] = p->reference.loss[0] + 3;
        }
    }
}

static void break_write(play *p) {
    p->seen.outputs[0].n_unwritten = 2;
    p->seen.outputs[0].first_unwritten = 5;
}

static void break_last_class(play *p) {
    p->seen.status = LG_STATUS_ASSERT;
    p->seen.n_asserts = 1;
}

static void break_gradient(play *p) {
    lg_output *gradient = &p->seen.outputs[p->seen.n_outputs++];
    gradient->name = "grad_input";
    gradient->n = lg_tensor_numel(&p->batch.input);
    gradient->values = lg_arena_array(&p->seen.arena, (size_t)gradient->n, sizeof(double));
}

static lg_output *add_gradient(play *p) {
    lg_output *gradient = &p->seen.outputs[p->seen.n_outputs++];
    gradient->name = "grad_input";
    gradient->n = lg_tensor_numel(&p->batch.input);
    gradient->values = lg_arena_array(&p->seen.arena, (size_t)gradient->n, sizeof(double));
    memcpy(gradient->values, p->reference.grad_input, (size_t)gradient->n * sizeof(double));
    return gradient;
}

// Each element a little nearer to 0, as rounding towards it leaves it after many steps.
static void break_rounding(play *p) {
    lg_output *gradient = add_gradient(p);
    for (int64_t i = 0; i < gradient->n; i++) {
        gradient->values[i] *= 1 - 1e-5 * (double)(1 + i % 3);
    }
}

// The gradient as if nothing came from above.
static void break_upstream(play *p) {
    lg_output *gradient = add_gradient(p);
    int64_t width = lg_batch_head_width(&p->batch);
    for (int64_t i = 0; i < gradient->n; i++) {
        gradient->values[i] /= lg_tensor_get_f64(&p->batch.grad_output, i / width);
    }
}

// Row by row and class by class from memory that has the classes first.
static void break_strides(play *p) {
    int64_t width = lg_batch_head_width(&p->batch);
    for (int64_t row = 0; row < p->reference.n_rows; row++) {
        int64_t label = lg_tensor_get_i64(&p->batch.target, row);
        p->loss[row] =
            -lg_dtype_get_f64(p->batch.input.dtype, p->batch.input.data, row * width + label);
    }
}

// One block of 64 threads, a thread a row: what lies beyond is left out of the sum.
static void break_grid(play *p) {
    double sum = 0;
    for (int64_t row = 0; row < 64; row++) {
        sum += p->reference.row_loss[row];
    }
    p->loss[0] = sum;
}

static void break_order(play *p) {
    p->seen.race = "race on shared memory";
}

// Whatever else is wrong follows from that.
static void break_input(play *p) {
    p->seen.input_written = "the kernel wrote to `input`";
    break_order(p);
    break_write(p);
}

static void break_smoothing(play *p) {
    p->loss[0] *= 1.4;
}

static void break_width_of_sum(play *p) {
    p->loss[0] *= 1.004;
}

// The mean of the means of two halves of the rows.
static void break_micro_batches(play *p) {
    double means[2] = {0, 0};
    int64_t half = p->reference.n_rows / 2;
    for (int k = 0; k < 2; k++) {
        double n = 0;
        for (int64_t row = k * half; row < (k + 1) * half; row++) {
            bool live = lg_tensor_get_i64(&p->batch.target, row) != -100;
            means[k] += p->reference.row_loss[row];
            n += live;
        }
        means[k] /= n;
    }
    p->loss[0] = (means[0] + means[1]) / 2;
}

static double log_sum(const lg_batch *batch, int64_t row) {
    int64_t width = lg_batch_head_width(batch);
    double sum = 0;
    for (int64_t c = 0; c < width; c++) {
        sum += exp(lg_tensor_get_f64(&batch->input, row * width + c));
    }
    return log(sum);
}

// Lanes beyond C hold -2: the sum of exponentials has 63·exp(-2) more.
static void break_fill(play *p) {
    for (int64_t row = 0; row < p->reference.n_rows; row++) {
        double mass = log_sum(&p->batch, row);
        p->loss[row] += log(exp(mass) + 63 * exp(-2)) - mass;
    }
}

// Smoothing spread over the label's half of the classes.
static void break_shard_smoothing(play *p) {
    int64_t width = lg_batch_head_width(&p->batch);
    double e = p->scenario.loss.label_smoothing;
    for (int64_t row = 0; row < p->reference.n_rows; row++) {
        double mass = log_sum(&p->batch, row);
        int64_t label = lg_tensor_get_i64(&p->batch.target, row);
        int64_t first = label < width / 2 ? 0 : width / 2;
        double spread = 0;
        for (int64_t c = first; c < first + width / 2; c++) {
            spread += mass - lg_tensor_get_f64(&p->batch.input, row * width + c);
        }
        double own = mass - lg_tensor_get_f64(&p->batch.input, row * width + label);
        p->loss[row] = (1 - e) * own + e / (double)(width / 2) * spread;
    }
}

// Odd labels beyond 2048 are even in float16.
static void break_label_type(play *p) {
    for (int64_t row = 0; row < p->reference.n_rows; row++) {
        int64_t label = lg_tensor_get_i64(&p->batch.target, row);
        if (label > 2048 && label % 2 == 1) {
            int64_t kept = label % 4 == 1 ? label - 1 : label + 1; // to even: ties
            p->loss[row] =
                -lg_tensor_get_f64(&p->batch.input, row * lg_batch_head_width(&p->batch) + kept);
        }
    }
}

// exp(-100) is denormal in float: a sum of them is too large by a factor.
static void break_denormals(play *p) {
    for (int64_t i = 0; i < p->reference.n_loss; i++) {
        p->loss[i] += 0.017;
    }
}

// A softmax over all classes but those of the last of eight warps.
static void break_warp(play *p) {
    int64_t width = lg_batch_head_width(&p->batch);
    for (int64_t row = 0; row < p->reference.n_rows; row++) {
        double all = 0;
        double some = 0;
        for (int64_t c = 0; c < width; c++) {
            double e = exp(lg_tensor_get_f64(&p->batch.input, row * width + c));
            all += e;
            some += c / 32 % 8 == 7 ? 0 : e;
        }
        p->loss[row] += log(some / all);
    }
}

// The last of 8 blocks of 256 threads is left out of the sum.
static void break_partials(play *p) {
    double sum = 0;
    for (int64_t row = 0; row < p->reference.n_rows; row++) {
        sum += row / 256 % 8 == 7 ? 0 : p->reference.row_loss[row];
    }
    p->loss[0] = sum;
}

// Far beyond rounding, and like nothing that is recomputed.
static void break_far(play *p) {
    for (int64_t i = 0; i < p->reference.n_loss; i++) {
        p->loss[i] *= 1.5 + 0.1 * (double)(i % 7);
    }
}

static void break_first_pos_weight(play *p) {
    lg_batch other = p->batch;
    lg_reference wrong;
    for (int i = 0; i < other.pos_weight.rank; i++) {
        other.pos_weight.stride[i] = 0;
    }
    CU_ASSERT_TRUE_FATAL(lg_reference_compute(&other, false, &wrong));
    memcpy(p->loss, wrong.loss, (size_t)wrong.n_loss * sizeof(double));
    lg_reference_free(&wrong);
}

static void break_garbage(play *p) {
    p->loss[0] = 6.5e36;
}

static void break_unclamped(play *p) {
    p->loss[0] = NAN;
}

static void break_exponential(play *p) {
    p->loss[0] = NAN;
}

static void miss_all(play *p) {
    for (int64_t i = 0; i < p->reference.n_loss; i++) {
        p->loss[i] = isnan(p->loss[i]) ? 1 : p->loss[i];
    }
}

static void miss_none(play *p) {
    (void)p;
}

#define K(id) LG_CAUSE_##id

static const kernel_row rows[] = {
    {"mean over all rows", LG_CROSS_ENTROPY, LG_REDUCTION_MEAN, 8, 5, .ignored = 0.4,
     .breakage = break_mean, .cause = K(WRONG_NORMALISATION)},
    {"two shards with all classes", LG_CROSS_ENTROPY, LG_REDUCTION_NONE, 16, 64,
     .breakage = break_shards, .cause = K(SHARD_STATISTICS)},
    {"lanes beyond C", LG_CROSS_ENTROPY, LG_REDUCTION_NONE, 16, 65, .breakage = break_padding,
     .cause = K(PADDED_LANES)},
    {"16-bit offsets", LG_NLL_LOSS, LG_REDUCTION_NONE, 200, 200, .breakage = break_offsets,
     .cause = K(INDEX_OVERFLOW)},
    {"poison left", LG_NLL_LOSS, LG_REDUCTION_NONE, 24, 2, .breakage = break_write,
     .cause = K(UNWRITTEN_OUTPUT)},
    {"class C-1 refused", LG_NLL_LOSS, LG_REDUCTION_MEAN, 64, 4, .breakage = break_last_class,
     .cause = K(OFF_BY_ONE_CHECK)},
    {"gradient alone", LG_CROSS_ENTROPY, LG_REDUCTION_MEAN, 8, 15, .gradient = true,
     .breakage = break_gradient, .cause = K(GRADIENT_CONTRACT), .doubtful = true},
    {"race", LG_CROSS_ENTROPY, LG_REDUCTION_MEAN, 8, 15, .breakage = break_order, .cause = K(RACE)},
    {"input overwritten", LG_CROSS_ENTROPY, LG_REDUCTION_MEAN, 8, 15, .breakage = break_input,
     .cause = K(INPUT_OVERWRITTEN)},
    {"smoothing with ignored rows", LG_CROSS_ENTROPY, LG_REDUCTION_MEAN, 40, 5, .ignored = 0.2,
     .smoothing = 0.2, .breakage = break_smoothing, .cause = K(OPTION_INTERPLAY), .doubtful = true},
    {"narrow sum", LG_NLL_LOSS, LG_REDUCTION_SUM, 64, 5, .breakage = break_width_of_sum,
     .cause = K(PRECISION)},
    {"mean of two means", LG_NLL_LOSS, LG_REDUCTION_MEAN, 40, 5, .ignored = 0.5,
     .breakage = break_micro_batches, .cause = K(WRONG_NORMALISATION)},
    {"lanes that hold -2", LG_CROSS_ENTROPY, LG_REDUCTION_NONE, 16, 65, .breakage = break_fill,
     .cause = K(PADDED_LANES)},
    {"smoothing of one shard", LG_CROSS_ENTROPY, LG_REDUCTION_NONE, 16, 32, .smoothing = 0.1,
     .breakage = break_shard_smoothing, .cause = K(SHARD_STATISTICS)},
    {"labels in float16", LG_NLL_LOSS, LG_REDUCTION_NONE, 60, 3000, .breakage = break_label_type,
     .cause = K(PRECISION)},
    {"gradient rounded towards 0", LG_CROSS_ENTROPY, LG_REDUCTION_MEAN, 40, 15, .gradient = true,
     .breakage = break_rounding, .cause = K(PRECISION)},
    {"upstream gradient left out", LG_CROSS_ENTROPY, LG_REDUCTION_NONE, 12, 5, .gradient = true,
     .upstream = true, .breakage = break_upstream, .cause = K(GRADIENT_CONTRACT)},
    {"upstream gradient left out of a strided view", LG_CROSS_ENTROPY, LG_REDUCTION_NONE, 12, 5,
     .gradient = true, .strided = true, .upstream = true, .breakage = break_upstream,
     .cause = K(GRADIENT_CONTRACT)},
    {"a strided view read as packed", LG_NLL_LOSS, LG_REDUCTION_NONE, 12, 5, .strided = true,
     .breakage = break_strides, .cause = K(STRIDES_IGNORED)},
    {"an odd number on a strided view", LG_NLL_LOSS, LG_REDUCTION_SUM, 64, 5, .strided = true,
     .breakage = break_width_of_sum, .cause = K(PRECISION), .doubtful = true},
    {"rows beyond a block", LG_NLL_LOSS, LG_REDUCTION_SUM, 100, 5, .breakage = break_grid,
     .cause = K(INDEX_OVERFLOW)},
    {"denormal exponentials", LG_CROSS_ENTROPY, LG_REDUCTION_NONE, 8, 65, .at = -100,
     .breakage = break_denormals, .cause = K(PRECISION), .doubtful = true},
    {"a warp left out of the softmax", LG_CROSS_ENTROPY, LG_REDUCTION_NONE, 6, 300,
     .breakage = break_warp, .cause = K(SHARD_STATISTICS)},
    {"a block left out of the sum", LG_BCE_WITH_LOGITS, LG_REDUCTION_SUM, 900, 3,
     .breakage = break_partials, .cause = K(INDEX_OVERFLOW)},
    {"far beyond rounding", LG_BCE_WITH_LOGITS, LG_REDUCTION_NONE, 6, 3, .breakage = break_far,
     .cause = K(NONE)},
    {"far beyond rounding, with pos_weight", LG_BCE_WITH_LOGITS, LG_REDUCTION_NONE, 6, 3,
     .positive = true, .breakage = break_far, .cause = K(OPTION_INTERPLAY), .doubtful = true},
    {"pos_weight of the first class", LG_BCE_WITH_LOGITS, LG_REDUCTION_NONE, 6, 3, .positive = true,
     .breakage = break_first_pos_weight, .cause = K(OPTION_INTERPLAY)},
    {"memory never written", LG_NLL_LOSS, LG_REDUCTION_MEAN, 20, 5, .breakage = break_garbage,
     .cause = K(UNWRITTEN_OUTPUT)},
    {"0 log 0", LG_BCE, LG_REDUCTION_NONE, 6, 3, .at = 1, .breakage = break_unclamped,
     .cause = K(PRECISION)},
    {"exp(100)", LG_CROSS_ENTROPY, LG_REDUCTION_NONE, 6, 5, .at = 100,
     .breakage = break_exponential, .cause = K(PRECISION)},
    {"label C passes", LG_NLL_LOSS, LG_REDUCTION_NONE, 64, 5, .with_fault = true,
     .breakage = miss_all, .cause = K(LABEL_EQUALS_WIDTH), .also = K(OFF_BY_ONE_CHECK)},
    {"label C is caught", LG_NLL_LOSS, LG_REDUCTION_NONE, 64, 5, .with_fault = true,
     .breakage = miss_none, .cause = K(LABEL_EQUALS_WIDTH)},
};

static void begin(const kernel_row *row, play *p) {
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
    *loss = (lg_output){.name = "output", .dtype = LG_FLOAT32, .n = p->reference.n_loss};
    loss->values = lg_arena_array(&p->seen.arena, (size_t)loss->n, sizeof(double));
    memcpy(loss->values, p->reference.loss, (size_t)loss->n * sizeof(double));
    p->loss = loss->values;
    p->seen.failed_launch_index = -1;
}

static void check_row(const kernel_row *row) {
    play p;
    begin(row, &p);
    row->breakage(&p);
    lg_attribute_input input = {.batch = &p.batch,
                                .reference = &p.reference,
                                .kernel = &p.kernel,
                                .observation = &p.seen,
                                .result_wrong = !row->with_fault};
    lg_finding finding;
    lg_attribute(&input, &finding);
    if (finding.cause != row->cause) {
        fprintf(stderr, "\n    '%s': found %s: %s\n", row->name, lg_cause_name(finding.cause),
                finding.headline ? finding.headline : "");
    }
    LG_CHECK_ROW(row->name, finding.cause == row->cause);
    LG_CHECK_ROW(row->name, (finding.headline != NULL) == (row->cause != LG_CAUSE_NONE));
    LG_CHECK_ROW(row->name,
                 row->with_fault || (!finding.certain && finding.ambiguous == row->doubtful));
    lg_cause with = finding.n_hypotheses > 0 ? finding.hypotheses[0].with : LG_CAUSE_NONE;
    LG_CHECK_ROW(row->name, with == row->also);
    LG_CHECK_ROW(row->name, finding.n_rows == (row->with_fault ? 3 : 0));
    lg_finding_free(&finding);
    lg_observation_free(&p.seen);
    lg_reference_free(&p.reference);
    lg_batch_free(&p.batch);
}

static void test_kernels(void) {
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        check_row(&rows[i]);
    }
}

// NaN for a number, a number for NaN: whatever the kernel did, the value does not tell.
static void test_another_class_of_number_tells_nothing(void) {
    const kernel_row plain = {"NaN", LG_CROSS_ENTROPY,     LG_REDUCTION_NONE, 8,
                              5,     .breakage = miss_none};
    play p;
    begin(&plain, &p);
    p.loss[3] = NAN;
    lg_attribute_input input = {.batch = &p.batch,
                                .reference = &p.reference,
                                .kernel = &p.kernel,
                                .observation = &p.seen,
                                .result_wrong = true};
    lg_finding finding;
    lg_attribute(&input, &finding);
    CU_ASSERT_EQUAL(finding.cause, LG_CAUSE_NONE);
    lg_finding_free(&finding);
    lg_observation_free(&p.seen);
    lg_reference_free(&p.reference);
    lg_batch_free(&p.batch);
}

// -inf for the label's class has a right answer, inf. A kernel that returns NaN there is at fault
// itself: the logits are named, for they are worth a look, and nothing is certain.
static void test_infinity_does_not_acquit_the_kernel(void) {
    const kernel_row plain = {"-inf", LG_CROSS_ENTROPY,     LG_REDUCTION_NONE, 8,
                              5,      .breakage = miss_none};
    const double returned[] = {INFINITY, NAN};
    for (int wrong = 0; wrong < 2; wrong++) {
        play p;
        begin(&plain, &p);
        lg_tensor_set_f64(&p.batch.input, 3 * 5 + lg_tensor_get_i64(&p.batch.target, 3), -INFINITY);
        p.loss[3] = returned[wrong];
        p.reference.loss[3] = INFINITY;
        lg_attribute_input input = {.batch = &p.batch,
                                    .reference = &p.reference,
                                    .kernel = &p.kernel,
                                    .observation = &p.seen,
                                    .result_wrong = wrong};
        lg_finding finding;
        lg_attribute(&input, &finding);
        CU_ASSERT_EQUAL(finding.cause, LG_CAUSE_NONFINITE_LOGITS);
        CU_ASSERT_EQUAL(finding.certain, !wrong);
        CU_ASSERT_EQUAL(finding.n_rows, 1);
        CU_ASSERT_EQUAL(finding.n_values, 0);
        CU_ASSERT_PTR_NOT_NULL(strstr(finding.headline, "holds -inf, and it is the label's"));
        CU_ASSERT_EQUAL(strstr(finding.headline, "IEEE arithmetic") != NULL, wrong);
        lg_finding_free(&finding);
        lg_observation_free(&p.seen);
        lg_reference_free(&p.reference);
        lg_batch_free(&p.batch);
    }
}

// An assert of a launch that is given no labels is no word about the loss.
static void test_a_launch_without_labels_is_not_blamed(void) {
    const char *loss_args[] = {"output", "input", "target"};
    const char *other_args[] = {"samples"};
    lg_stage stages[] = {
        {.entry = "loss_{dtype}", .direction = LG_FORWARD, .n_args = 3, .args = loss_args},
        {.entry = "other", .direction = LG_FORWARD, .n_args = 1, .args = other_args}};
    const struct {
        const char *entry;
        lg_cause cause;
    } rows_of[] = {{"loss_float32", LG_CAUSE_OFF_BY_ONE_CHECK}, {"other", LG_CAUSE_NONE}};
    for (int i = 0; i < 2; i++) {
        const kernel_row plain = {"assert", LG_NLL_LOSS, LG_REDUCTION_NONE,
                                  64,       4,           .breakage = miss_none};
        play p;
        begin(&plain, &p);
        p.kernel.stages = stages;
        p.kernel.n_stages = 2;
        p.seen.status = LG_STATUS_ASSERT;
        p.seen.n_asserts = 1;
        p.seen.n_outputs = 0; // nothing is read back from a dead context
        p.seen.failed_launch = rows_of[i].entry;
        lg_attribute_input input = {.batch = &p.batch,
                                    .reference = &p.reference,
                                    .kernel = &p.kernel,
                                    .observation = &p.seen,
                                    .result_wrong = true};
        lg_finding finding;
        lg_attribute(&input, &finding);
        LG_CHECK_ROW(rows_of[i].entry, finding.cause == rows_of[i].cause);
        lg_finding_free(&finding);
        lg_observation_free(&p.seen);
        lg_reference_free(&p.reference);
        lg_batch_free(&p.batch);
    }
}

// What a valid batch and a broken kernel come to; frees the play.
static void check_finding(play *p, const char *name, lg_cause cause, bool doubtful) {
    lg_attribute_input input = {.batch = &p->batch,
                                .reference = &p->reference,
                                .kernel = &p->kernel,
                                .observation = &p->seen,
                                .result_wrong = true};
    lg_finding finding;
    lg_attribute(&input, &finding);
    if (finding.cause != cause) {
        fprintf(stderr, "\n    '%s': found %s: %s\n", name, lg_cause_name(finding.cause),
                finding.headline ? finding.headline : "");
    }
    LG_CHECK_ROW(name, finding.cause == cause);
    LG_CHECK_ROW(name, finding.ambiguous == doubtful && !finding.certain);
    lg_finding_free(&finding);
    lg_observation_free(&p->seen);
    lg_reference_free(&p->reference);
    lg_batch_free(&p->batch);
}

// One row an alarm: which rows were signalled on a valid batch, and what the guard refuses.
typedef struct alarm_row {
    const char *name;
    lg_loss_kind loss;
    lg_dtype dtype; // of the labels
    int64_t classes;
    int64_t ignore_index;
    double ignored;
    bool by_assert;  // else by a record
    int64_t refused; // the rows with this label; -1: with one from 128 on
    lg_cause cause;
    bool doubtful;
} alarm_row;

static void test_alarms(void) {
    static const alarm_row alarms[] = {
        {"the ignored label", LG_NLL_LOSS, LG_INT64, 8, -100, 0.3, true, -100, K(OPTION_INTERPLAY),
         false},
        {"the ignored label, recorded", LG_NLL_LOSS, LG_INT64, 8, -100, 0.3, false, -100,
         K(OPTION_INTERPLAY), false},
        {"an ignored label beyond 32 bits", LG_CROSS_ENTROPY, LG_INT64, 8, 4294967297, 0.3, true,
         4294967297, K(OPTION_INTERPLAY), false},
        {"class C-1", LG_NLL_LOSS, LG_INT64, 8, -100, 0.3, true, 7, K(OFF_BY_ONE_CHECK), false},
        {"class 0", LG_NLL_LOSS, LG_INT64, 8, -100, 0.3, false, 0, K(OFF_BY_ONE_CHECK), false},
        {"a class in the middle", LG_NLL_LOSS, LG_INT64, 8, -100, 0.3, true, 3, K(NONE), false},
        {"255, ignored", LG_NLL_LOSS, LG_UINT8, 8, 255, 0.3, true, 255, K(OPTION_INTERPLAY), true},
        {"a byte from 128 on", LG_NLL_LOSS, LG_UINT8, 200, 255, 0, true, -1, K(TARGET_DTYPE),
         false},
    };
    const char *args[] = {"output", "input", "target"};
    lg_stage stage = {.entry = "loss", .direction = LG_FORWARD, .recorder = "row", .n_args = 3};
    stage.args = args;
    for (size_t k = 0; k < sizeof alarms / sizeof *alarms; k++) {
        const alarm_row *a = &alarms[k];
        kernel_row plain = {a->name,
                            a->loss,
                            LG_REDUCTION_NONE,
                            96,
                            a->classes,
                            .ignored = a->ignored,
                            .breakage = miss_none};
        plain.ignore_index = a->ignore_index;
        plain.labels = a->dtype;
        play p;
        begin(&plain, &p);
        lg_launch launch = {.entry = "loss", .grid = {1, 1, 1}, .block = {128, 1, 1}};
        lg_assert_line lines[96];
        lg_fault_record records[96];
        int n = 0;
        for (int64_t row = 0; row < 96; row++) {
            int64_t label = lg_tensor_get_i64(&p.batch.target, row);
            if (label == a->refused || (a->refused == -1 && label > INT8_MAX)) {
                lines[n] = (lg_assert_line){.thread = {row, 0, 0}, .expression = "t < n"};
                records[n++] = (lg_fault_record){.row = row, .value = label};
            }
        }
        CU_ASSERT_FATAL(n > 0);
        p.kernel.stages = &stage;
        p.kernel.n_stages = 1;
        p.seen.launches = &launch;
        p.seen.n_launches = 1;
        if (a->by_assert) {
            p.seen.status = LG_STATUS_ASSERT;
            p.seen.failed_launch = "loss";
            p.seen.failed_launch_index = 0;
            p.seen.n_asserts = p.seen.n_asserts_kept = n;
            p.seen.asserts = lines;
            p.seen.n_outputs = 0;
        } else {
            p.seen.n_records = n;
            p.seen.records = records;
        }
        check_finding(&p, a->name, a->cause, a->doubtful);
    }
}

// A total weight that is not the sum of the weights, beside a right loss.
static void test_total_weight(void) {
    const struct {
        const char *name;
        double factor;
        lg_dtype input;
        lg_cause cause;
    } weights[] = {{"ignored rows counted", 1.3, LG_FLOAT32, K(WRONG_NORMALISATION)},
                   {"written in part", NAN, LG_FLOAT16, K(WRONG_NORMALISATION)},
                   {"infinite in its type", INFINITY, LG_FLOAT16, K(PRECISION)}};
    for (size_t k = 0; k < sizeof weights / sizeof *weights; k++) {
        kernel_row plain = {weights[k].name, LG_NLL_LOSS,          LG_REDUCTION_SUM, 40, 5,
                            .ignored = 0.3,  .breakage = miss_none};
        plain.input = weights[k].input;
        play p;
        begin(&plain, &p);
        lg_output *total = &p.seen.outputs[p.seen.n_outputs++];
        *total = (lg_output){.name = "total_weight", .dtype = LG_FLOAT32, .n = 1};
        total->values = lg_arena_array(&p.seen.arena, 1, sizeof(double));
        total->values[0] = p.reference.total_weight * weights[k].factor;
        check_finding(&p, weights[k].name, weights[k].cause, false);
    }
}

// A bad access of a kernel on a small, packed batch of valid labels.
static void test_memory(void) {
    const struct {
        const char *name;
        lg_memory_finding memory;
        lg_device_status status;
        lg_cause cause;
    } accesses[] = {
        {"null",
         {.present = true, .kind = "null pointer read", .address = 12},
         LG_STATUS_ILLEGAL_ADDRESS,
         K(OPTION_INTERPLAY)},
        {"misaligned",
         {.present = true, .kind = "misaligned read", .address = 0x7f0000000004, .buffer = "input"},
         LG_STATUS_MISALIGNED,
         K(NONE)},
        {"near a buffer of 40 numbers",
         {.present = true,
          .kind = "read out of bounds",
          .address = 0x7f0000000004,
          .buffer = "input"},
         LG_STATUS_ILLEGAL_ADDRESS,
         K(NONE)}};
    for (size_t k = 0; k < sizeof accesses / sizeof *accesses; k++) {
        const kernel_row plain = {accesses[k].name,     LG_NLL_LOSS, LG_REDUCTION_NONE, 8, 5,
                                  .breakage = miss_none};
        play p;
        begin(&plain, &p);
        p.seen.status = accesses[k].status;
        p.seen.memory = accesses[k].memory;
        p.seen.n_outputs = 0;
        check_finding(&p, accesses[k].name, accesses[k].cause, false);
    }
}

static const lg_test tests[] = {
    {"alarms", test_alarms},
    {"total weight", test_total_weight},
    {"memory", test_memory},
    {"kernels", test_kernels},
    {"another class of number tells nothing", test_another_class_of_number_tells_nothing},
    {"infinity does not acquit the kernel", test_infinity_does_not_acquit_the_kernel},
    {"a launch without labels is not blamed", test_a_launch_without_labels_is_not_blamed},
};

int main(void) {
    return lg_run_tests("pipeline/attribute_kernel", tests, sizeof tests / sizeof *tests);
}
