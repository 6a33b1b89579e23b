// SPDX-License-Identifier: Apache-2.0
// Gradients that break what every gradient keeps, and right ones of every shape that do not.
#include "judge/judge.h"

#include "attribute/attribute.h"
#include "unit/judge/relation_helpers.h"

#include <math.h>

typedef struct broken_row {
    const char *name;
    const char *loss;
    const char *batch;
    void (*breakage)(const scene *s, lg_observation *seen);
    const char *says; // part of the reason; NULL: nothing is broken
} broken_row;

// --- breakages

static double *gradient_of(lg_observation *seen) {
    return played_output(seen, LG_ARG_GRAD_INPUT)->values;
}

static int64_t element(const scene *s, int64_t row, int64_t c) {
    int64_t spatial = lg_batch_spatial(&s->batch);
    int64_t width = lg_batch_head_width(&s->batch);
    return (row / spatial * width + c) * spatial + row % spatial;
}

static void keep(const scene *s, lg_observation *seen) {
    (void)s;
    (void)seen;
}

// The numbers a kernel stores: rounded to the input's type.
static void round_all(const scene *s, lg_observation *seen) {
    for (int i = 0; i < seen->n_outputs; i++) {
        for (int64_t k = 0; k < seen->outputs[i].n; k++) {
            double room;
            lg_dtype_set_f64(s->batch.input.dtype, &room, 0, seen->outputs[i].values[k]);
            seen->outputs[i].values[k] = lg_dtype_get_f64(s->batch.input.dtype, &room, 0);
        }
    }
}

static void ignored_loss(const scene *s, lg_observation *seen) {
    (void)s;
    played_output(seen, LG_ARG_OUTPUT)->values[2] = 1e-30;
}

static void ignored_gradient(const scene *s, lg_observation *seen) {
    gradient_of(seen)[element(s, 2, 1)] = -1e-30;
}

static void ignored_negative_zero(const scene *s, lg_observation *seen) {
    gradient_of(seen)[element(s, 2, 1)] = -0.0;
}

static void second_element(const scene *s, lg_observation *seen) {
    gradient_of(seen)[element(s, 1, 3)] = 1e-30;
}

static void no_element(const scene *s, lg_observation *seen) {
    gradient_of(seen)[element(s, 1, 1)] = 0;
}

// The softmax sums 125 lanes of logit 0 beyond the three classes.
static void padded_lanes(const scene *s, lg_observation *seen) {
    const lg_batch *batch = &s->batch;
    for (int64_t row = 0; row < s->reference.n_rows; row++) {
        int64_t label = lg_tensor_get_i64(&batch->target, row);
        if (label == batch->loss.ignore_index) {
            continue;
        }
        double z = (1 + s->reference.row_rest[row]) * exp(s->reference.row_max[row]);
        double w = lg_tensor_exists(&batch->weight) ? lg_tensor_get_f64(&batch->weight, label) : 1;
        w /= batch->loss.reduction == LG_REDUCTION_MEAN ? s->reference.total_weight : 1;
        for (int64_t c = 0; c < 3; c++) {
            double *g = &gradient_of(seen)[element(s, row, c)];
            double hot = c == label ? w : 0;
            *g = (*g + hot) * z / (z + 125) - hot;
        }
    }
}

static void softmax_times_09(const scene *s, lg_observation *seen) {
    for (int64_t row = 0; row < s->reference.n_rows; row++) {
        for (int64_t c = 0; c < 3; c++) {
            double hot = c == lg_tensor_get_i64(&s->batch.target, row);
            double *g = &gradient_of(seen)[element(s, row, c)];
            *g = (*g + hot) * 0.9 - hot;
        }
    }
}

// The target is taken off twice in one row.
static void label_twice(const scene *s, lg_observation *seen) {
    int64_t label = lg_tensor_get_i64(&s->batch.target, 3);
    gradient_of(seen)[element(s, 3, label)] -= 1.0 / (double)s->reference.n_rows;
}

static void last_class_missing(const scene *s, lg_observation *seen) {
    gradient_of(seen)[element(s, 0, lg_batch_head_width(&s->batch) - 1)] = 0;
}

// All classes lean one way, little each.
static void all_too_high(const scene *s, lg_observation *seen) {
    int64_t n = lg_tensor_numel(&s->batch.input);
    double bound = lg_tolerance_row_sum(&s->batch, &s->reference, 0);
    for (int64_t i = 0; i < n; i++) {
        gradient_of(seen)[i] += 1.01 * bound / (double)lg_batch_head_width(&s->batch);
    }
}

static void not_a_number(const scene *s, lg_observation *seen) {
    gradient_of(seen)[element(s, 0, 0)] = NAN;
}

static void no_gradient(const scene *s, lg_observation *seen) {
    (void)s;
    played_output(seen, LG_ARG_GRAD_INPUT)->arg = LG_ARG_INPUT; // no output at all
}

// --- the table

#define NLL(options) "title: t\nloss: {kind: nll_loss" options "}\n"
#define CE(options) "title: t\nloss: {kind: cross_entropy" options "}\n"
#define NONE ", reduction: none"
#define SUM ", reduction: sum"
#define WEIGHTS ", weight: {uniform: [0.25, 2]}"
#define SMOOTH ", label_smoothing: 0.2"
#define IGNORING "batch: {samples: 4, classes: 5, targets: {values: [0, 1, -100, 4]}}\n"
#define SMALL "batch: {samples: 9, classes: 3}\n"
#define MAPS "batch: {samples: 2, extent: [3], classes: 5, ignored_fraction: 0.3}\n"
#define WIDE(dtype) "batch: {samples: 5, classes: 3000, logits: {dtype: " dtype ", scale: 5}}\n"
#define SIMPLEX "batch: {samples: 5, classes: 7, targets: {distribution: simplex}}\n"
#define SUM_TO "adds up to"
#define EXACTLY "contributes exactly nothing"

static const broken_row rows[] = {
    {"nll mean", NLL(""), MAPS, keep, NULL},
    {"nll none, weights", NLL(NONE WEIGHTS), MAPS, keep, NULL},
    {"ce mean", CE(""), MAPS, keep, NULL},
    {"ce mean, weights and smoothing", CE(WEIGHTS SMOOTH), MAPS, keep, NULL},
    {"ce none", CE(NONE), IGNORING, keep, NULL},
    {"ce wide", CE(SUM), WIDE("float64"), round_all, NULL},
    {"ce wide float32", CE(SUM), WIDE("float32"), round_all, NULL},
    {"ce wide float16", CE(SUM), WIDE("float16"), round_all, NULL},
    {"ce wide bfloat16, smoothed", CE(SUM SMOOTH), WIDE("bfloat16"), round_all, NULL},
    {"ce probabilities", CE(WEIGHTS SMOOTH), SIMPLEX, round_all, NULL},
    {"nothing observed", CE(""), SMALL, no_gradient, NULL},
    {"an ignored row's gradient is -0", CE(""), IGNORING, ignored_negative_zero, NULL},
    {"nll: loss of an ignored row", NLL(NONE), IGNORING, ignored_loss, EXACTLY},
    {"ce: loss of an ignored row", CE(NONE), IGNORING, ignored_loss, EXACTLY},
    {"nll: gradient of an ignored row", NLL(""), IGNORING, ignored_gradient, EXACTLY},
    {"ce: gradient of an ignored row", CE(SMOOTH), IGNORING, ignored_gradient, EXACTLY},
    {"nll: a second element", NLL(NONE), IGNORING, second_element, "reads one element a row"},
    {"nll: no element", NLL(""), IGNORING, no_element, "the gradient of its label 1 is 0"},
    {"ce: lanes beyond C", CE(SUM), SMALL, padded_lanes, "its softmax adds up to 0."},
    {"ce: the label twice", CE(""), SMALL, label_twice, "its softmax adds up to"},
    {"ce: a class is missing", CE(SMOOTH), SMALL, last_class_missing, SUM_TO},
    {"ce: a class of probabilities is missing", CE(""), SIMPLEX, last_class_missing, SUM_TO},
    {"ce: all classes too high", CE(SUM), WIDE("float32"), all_too_high, SUM_TO},
    {"ce: all classes too high, float16", CE(SUM), WIDE("float16"), all_too_high, SUM_TO},
    {"ce: NaN", CE(""), SMALL, not_a_number, SUM_TO},
};

enum { N_ROWS = sizeof rows / sizeof *rows };

static void begin(const broken_row *row, scene *s, lg_observation *seen) {
    char text[512];
    snprintf(text, sizeof text, "%s%s", row->loss, row->batch);
    scene_begin(s, text);
    play_right(&s->batch, &s->reference, seen);
    row->breakage(s, seen);
}

static void test_invariants(void) {
    for (int i = 0; i < N_ROWS; i++) {
        scene s;
        lg_observation seen;
        lg_arena arena = {0};
        begin(&rows[i], &s, &seen);
        lg_broken_invariant found;
        const char *broken =
            lg_invariants_check(&s.batch, &s.reference, &seen, &arena, &found) ? found.text : NULL;
        LG_CHECK_ROW(rows[i].name, rows[i].says ? broken && strstr(broken, rows[i].says) : !broken);
        if (broken && !(rows[i].says && strstr(broken, rows[i].says))) {
            fprintf(stderr, "    %s\n", broken);
        }
        lg_arena_free(&arena);
        lg_observation_free(&seen);
        scene_end(&s);
    }
}

// What attribution makes of it.
static void test_causes(void) {
    static const struct {
        broken_row row;
        lg_cause cause;
    } causes[] = {
        {{"lanes beyond C", CE(SUM), SMALL, padded_lanes, "lanes beyond them"},
         LG_CAUSE_PADDED_LANES},
        {{"lanes beyond C, ignored rows, weights", CE(WEIGHTS),
          "batch: {samples: 9, classes: 3, ignored_fraction: 0.3}\n", padded_lanes,
          "lanes beyond them"},
         LG_CAUSE_PADDED_LANES},
        {{"a softmax too small by a tenth", CE(SUM), SMALL, softmax_times_09, SUM_TO},
         LG_CAUSE_GRADIENT_CONTRACT},
        {{"rows that are alike", CE(SUM),
          "batch: {samples: 5, classes: 3, logits: {distribution: constant, value: 1}}\n",
          padded_lanes, SUM_TO},
         LG_CAUSE_GRADIENT_CONTRACT},
        {{"one row", CE(""), SMALL, label_twice, SUM_TO}, LG_CAUSE_GRADIENT_CONTRACT},
        {{"an ignored row", CE(SMOOTH), IGNORING, ignored_gradient, EXACTLY},
         LG_CAUSE_GRADIENT_CONTRACT},
        {{"nll", NLL(NONE), IGNORING, second_element, "reads one element"},
         LG_CAUSE_GRADIENT_CONTRACT},
    };
    for (size_t i = 0; i < sizeof causes / sizeof *causes; i++) {
        scene s;
        lg_observation seen;
        lg_finding finding;
        begin(&causes[i].row, &s, &seen);
        lg_kernel kernel = {.name = "played", .family = s.batch.loss.kind};
        lg_attribute_input input = {.batch = &s.batch,
                                    .reference = &s.reference,
                                    .kernel = &kernel,
                                    .observation = &seen,
                                    .result_wrong = true};
        lg_attribute(&input, &finding);
        LG_CHECK_ROW(causes[i].row.name, finding.cause == causes[i].cause);
        LG_CHECK_ROW(causes[i].row.name,
                     finding.headline && strstr(finding.headline, causes[i].row.says));
        if (finding.headline && !strstr(finding.headline, causes[i].row.says)) {
            fprintf(stderr, "    %s\n", finding.headline);
        }
        lg_finding_free(&finding);
        lg_observation_free(&seen);
        scene_end(&s);
    }
}

// What the judge makes of it.
static void test_verdicts(void) {
    lg_stage stages[] = {{.direction = LG_FORWARD}, {.direction = LG_BACKWARD}};
    for (int i = 0; i < N_ROWS; i++) {
        if (rows[i].breakage == no_gradient || rows[i].breakage == not_a_number) {
            continue; // other words of the judge come first
        }
        scene s;
        lg_observation seen;
        lg_arena arena = {0};
        begin(&rows[i], &s, &seen);
        lg_kernel kernel = {.name = "played",
                            .family = s.batch.loss.kind,
                            .policy = LG_POLICY_NAN,
                            .n_stages = 2,
                            .stages = stages};
        lg_run_facts run = {
            .batch = &s.batch, .reference = &s.reference, .kernel = &kernel, .observation = &seen};
        lg_judgement judgement = lg_judge_run(&run, &arena);
        LG_CHECK_ROW(rows[i].name, judgement.verdict == (rows[i].says ? LG_WRONG_RESULT : LG_PASS));
        bool by_invariant = judgement.detected_by == LG_DETECTOR_INVARIANT;
        LG_CHECK_ROW(rows[i].name, by_invariant == (rows[i].says != NULL));
        lg_arena_free(&arena);
        lg_observation_free(&seen);
        scene_end(&s);
    }
}

// The bound of a row's sum lies between what one rounding an element makes and what the elements'
// own bounds add up to.
static void test_bound(void) {
    static const char *const dtypes[] = {WIDE("float64"), WIDE("float32"), WIDE("float16"),
                                         WIDE("bfloat16")};
    for (int i = 0; i < 4; i++) {
        scene s;
        lg_observation seen;
        begin(&(broken_row){"", CE(SUM), dtypes[i], keep, NULL}, &s, &seen);
        int64_t width = lg_batch_head_width(&s.batch);
        for (int64_t row = 0; row < s.reference.n_rows; row++) {
            double all = 0;
            for (int64_t c = 0; c < width; c++) {
                int64_t at = row * width + c;
                all += lg_tolerance(&s.batch, &s.reference, LG_Q_GRADIENT, at,
                                    s.reference.grad_input[at]);
            }
            double bound = lg_tolerance_row_sum(&s.batch, &s.reference, row);
            LG_CHECK_ROW(dtypes[i], bound > 0 && bound <= 1.5 * all && bound >= 0.1 * all);
        }
        lg_observation_free(&seen);
        scene_end(&s);
    }
}

int main(void) {
    static const lg_test tests[] = {
        {"invariants", test_invariants},
        {"verdicts", test_verdicts},
        {"causes", test_causes},
        {"the bound of a row's sum", test_bound},
    };
    return lg_run_tests(LG_SUITE, tests, sizeof tests / sizeof *tests);
}
