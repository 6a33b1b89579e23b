// SPDX-License-Identifier: Apache-2.0
// Every data fault in every form: it fires, leaves the rows it says, and is found again; its
// control is clean. And the faults that must not fire, or must be refused.
#include "attribute/attribute.h"
#include "batch/batch.h"
#include "unit/testing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct fault_row {
    const char *name;
    lg_loss_kind loss;
    int64_t samples;
    int64_t classes;
    int64_t extent; // 0: none
    double ignored;
    int64_t ignore_index; // 0: -100
    lg_dtype dtype;       // of the targets; none: int64
    lg_distribution targets;
    int n_faults;
    lg_fault_spec faults[2];
    int64_t n_rows;    // spoiled by the first fault; -1: some
    bool no_fire;      // it must not
    const char *error; // part of the diagnostic, or NULL
    lg_attribution attribution;
} fault_row;

static int64_t some_rows[] = {3, 17, 31};
static int64_t odd_negatives[] = {-1, -7, -1000000};
static int64_t minus_hundred[] = {-100};
static int64_t sentinel_255[] = {255};
static int64_t wrong_target[] = {64, 2};
static int64_t ignored_row[] = {0};

#define KIND(id) .kind = LG_CAUSE_##id
#define EXACT LG_ATTRIBUTION_EXACT
#define EITHER LG_ATTRIBUTION_AMBIGUOUS // exact, or ambiguous with the cause named

static const fault_row rows[] = {
    {"narrow head", LG_NLL_LOSS, 64, 5, .n_faults = 1,
     .faults = {{KIND(WRONG_HEAD_WIDTH), .head_width = 3}}, .n_rows = -1, .attribution = EXACT},
    {"default head, ignored rows", LG_NLL_LOSS, 64, 5, .ignored = 0.2, .n_faults = 1,
     .faults = {{KIND(WRONG_HEAD_WIDTH)}}, .n_rows = -1, .attribution = EXACT},
    {"head of one", LG_CROSS_ENTROPY, 16, 2, .n_faults = 1,
     .faults = {{KIND(WRONG_HEAD_WIDTH), .head_width = 1}}, .n_rows = -1, .attribution = EXACT},
    {"segmentation head", LG_CROSS_ENTROPY, 2, 21, .extent = 16, .n_faults = 1,
     .faults = {{KIND(WRONG_HEAD_WIDTH), .head_width = 19}}, .n_rows = -1, .attribution = EXACT},
    {"1-based", LG_NLL_LOSS, 64, 5, .n_faults = 1, .faults = {{KIND(ONE_BASED_LABELS)}},
     .n_rows = -1, .attribution = EITHER},
    {"1-based, one row", LG_NLL_LOSS, 1, 5, .n_faults = 1, .faults = {{KIND(ONE_BASED_LABELS)}},
     .n_rows = 1, .attribution = EITHER},
    {"1-based past an ignored class", LG_NLL_LOSS, 200, 5, .ignored = 0.1, .ignore_index = 2,
     .n_faults = 1, .faults = {{KIND(ONE_BASED_LABELS)}}, .n_rows = -1, .attribution = EITHER},
    {"1-based into the ignored C", LG_NLL_LOSS, 64, 5, .ignored = 0.1, .ignore_index = 5,
     .n_faults = 1, .faults = {{KIND(ONE_BASED_LABELS)}}, .no_fire = true},
    {"over-shifted", LG_NLL_LOSS, 300, 5, .n_faults = 1, .faults = {{KIND(OVER_SHIFTED_LABELS)}},
     .n_rows = -1, .attribution = EITHER},
    {"over-shifted bytes", LG_NLL_LOSS, 64, 5, .ignore_index = 255, .dtype = LG_UINT8,
     .n_faults = 1, .faults = {{KIND(OVER_SHIFTED_LABELS)}}, .no_fire = true},
    {"labels C", LG_NLL_LOSS, 97, 10, .n_faults = 1,
     .faults = {{KIND(LABEL_EQUALS_WIDTH), .rows = {3, some_rows}}}, .attribution = EITHER,
     .n_rows = -1},
    {"labels C, drawn", LG_NLL_LOSS, 97, 10, .n_faults = 1,
     .faults = {{KIND(LABEL_EQUALS_WIDTH), .count = 2}}, .n_rows = 2, .attribution = EITHER},
    {"negative", LG_NLL_LOSS, 97, 10, .ignored = 0.1, .n_faults = 1,
     .faults = {{KIND(NEGATIVE_LABELS), .count = 3}}, .n_rows = 3, .attribution = EITHER},
    {"several negative", LG_NLL_LOSS, 400, 10, .n_faults = 1,
     .faults = {{KIND(NEGATIVE_LABELS), .count = 3, .values = {3, odd_negatives}}}, .n_rows = 3,
     .attribution = EITHER},
    {"negative default beside ignore -1", LG_NLL_LOSS, 400, 10, .ignored = 0.1, .ignore_index = -1,
     .n_faults = 1, .faults = {{KIND(NEGATIVE_LABELS)}}, .n_rows = 1, .attribution = EITHER},
    {"negative bytes", LG_NLL_LOSS, 64, 10, .ignore_index = 255, .dtype = LG_UINT8, .n_faults = 1,
     .faults = {{KIND(NEGATIVE_LABELS)}}, .no_fire = true},
    {"negative is ignored", LG_NLL_LOSS, 64, 10, .n_faults = 1,
     .faults = {{KIND(NEGATIVE_LABELS), .values = {1, minus_hundred}}},
     .error = "-100 is the ignore_index"},
    {"an ignored row", LG_NLL_LOSS, 64, 10, .ignored = 1, .n_faults = 1,
     .faults = {{KIND(NEGATIVE_LABELS), .rows = {1, ignored_row}}}, .error = "row 0 is ignored"},
    {"sentinel", LG_CROSS_ENTROPY, 200, 19, .ignored = 0.1, .ignore_index = -1, .n_faults = 1,
     .faults = {{KIND(SENTINEL_MISMATCH), .fraction = 0.3, .values = {1, minus_hundred}}},
     .n_rows = -1, .attribution = EITHER},
    {"sentinel byte", LG_CROSS_ENTROPY, 200, 19, .dtype = LG_UINT8, .ignore_index = 254,
     .n_faults = 1, .faults = {{KIND(SENTINEL_MISMATCH)}}, .n_rows = -1, .attribution = EITHER},
    {"sentinel that does not dominate", LG_NLL_LOSS, 200, 19, .n_faults = 1,
     .faults = {{KIND(SENTINEL_MISMATCH), .count = 2}}, .error = "at least 5 %"},
    {"floats", LG_NLL_LOSS, 64, 10, .n_faults = 1, .faults = {{KIND(FLOAT_TARGETS)}}, .n_rows = 0,
     .attribution = EXACT},
    {"fractions", LG_NLL_LOSS, 64, 10, .ignored = 0.1, .n_faults = 1,
     .faults = {{KIND(FLOAT_TARGETS), .dtype = LG_FLOAT64, .number = 0.2, .count = 4}}, .n_rows = 4,
     .attribution = EXACT},
    {"bits of float32", LG_NLL_LOSS, 64, 10, .ignored = 0.1, .n_faults = 1,
     .faults = {{KIND(FLOAT_TARGETS), .form = LG_FLOAT_BITS}}, .n_rows = -1, .attribution = EXACT},
    {"bits of float64", LG_NLL_LOSS, 64, 10, .n_faults = 1,
     .faults = {{KIND(FLOAT_TARGETS), .form = LG_FLOAT_BITS, .dtype = LG_FLOAT64}}, .n_rows = -1,
     .attribution = EXACT},
    {"truncated", LG_NLL_LOSS, 64, 10, .n_faults = 1,
     .faults = {{KIND(FLOAT_TARGETS), .form = LG_FLOAT_TRUNCATED, .count = 4}}, .n_rows = 4,
     .attribution = EXACT},
    {"int16", LG_NLL_LOSS, 64, 10, .n_faults = 1, .faults = {{KIND(TARGET_DTYPE)}}, .n_rows = 0,
     .attribution = EXACT},
    {"probabilities as int16", LG_CROSS_ENTROPY, 32, 7, .targets = LG_DIST_SIMPLEX, .n_faults = 1,
     .faults = {{KIND(TARGET_DTYPE)}}, .n_rows = 0, .attribution = EXACT},
    {"maps of probabilities as float64", LG_CROSS_ENTROPY, 4, 7, .extent = 6,
     .targets = LG_DIST_SIMPLEX, .n_faults = 1,
     .faults = {{KIND(TARGET_DTYPE), .dtype = LG_FLOAT64}}, .n_rows = 0, .attribution = EXACT},
    {"binary targets as int64", LG_BCE, 40, 1, .n_faults = 1,
     .faults = {{KIND(TARGET_DTYPE), .dtype = LG_INT64}}, .n_rows = 0, .attribution = EXACT},
    {"binary targets of their own type", LG_BCE, 40, 1, .n_faults = 1,
     .faults = {{KIND(TARGET_DTYPE), .dtype = LG_FLOAT32}}, .no_fire = true},
    {"int32 as int64", LG_NLL_LOSS, 64, 10, .n_faults = 1,
     .faults = {{KIND(TARGET_DTYPE), .where = LG_FORM_INT32_AS_INT64}}, .n_rows = -1,
     .attribution = EXACT},
    {"int64 wrapped to int32", LG_NLL_LOSS, 64, 10, .n_faults = 1,
     .faults = {{KIND(TARGET_DTYPE), .where = LG_FORM_INT32_WRAP, .count = 3}}, .n_rows = 3,
     .attribution = EXACT},
    {"uint8 wrap", LG_NLL_LOSS, 64, 300, .n_faults = 1,
     .faults = {{KIND(TARGET_DTYPE), .where = LG_FORM_UINT8_WRAP}}, .n_rows = -1,
     .attribution = EXACT},
    {"signed bytes", LG_NLL_LOSS, 64, 200, .n_faults = 1,
     .faults = {{KIND(TARGET_DTYPE), .where = LG_FORM_SIGN_BYTES}}, .n_rows = -1,
     .attribution = EXACT},
    {"corrupt", LG_CROSS_ENTROPY, 200, 19, .n_faults = 1,
     .faults = {{KIND(CORRUPT_LABELS), .count = 4}}, .n_rows = 4, .attribution = EXACT},
    {"softmax instead of log-softmax", LG_NLL_LOSS, 32, 7, .n_faults = 1,
     .faults = {{KIND(VALUE_DOMAIN)}}, .n_rows = 32, .attribution = EXACT},
    {"logits instead of log-softmax", LG_NLL_LOSS, 32, 7, .n_faults = 1,
     .faults = {{KIND(VALUE_DOMAIN), .where = LG_FORM_RAW_LOGITS}}, .n_rows = -1,
     .attribution = EXACT},
    {"negative probability", LG_CROSS_ENTROPY, 32, 7, .targets = LG_DIST_SIMPLEX, .n_faults = 1,
     .faults = {{KIND(VALUE_DOMAIN), .where = LG_FORM_NEGATIVE, .count = 2}}, .n_rows = 2,
     .attribution = EXACT},
    {"unnormalised probabilities", LG_CROSS_ENTROPY, 32, 7, .targets = LG_DIST_SIMPLEX,
     .n_faults = 1, .faults = {{KIND(VALUE_DOMAIN), .where = LG_FORM_UNNORMALISED, .count = 2}},
     .n_rows = 2, .attribution = EXACT},
    {"one sample short", LG_NLL_LOSS, 32, 7, .n_faults = 1, .faults = {{KIND(SHAPE_LAYOUT)}},
     .n_rows = 0, .attribution = EXACT},
    {"target column", LG_NLL_LOSS, 32, 7, .n_faults = 1,
     .faults = {{KIND(SHAPE_LAYOUT), .where = LG_FORM_RANK}}, .n_rows = 0, .attribution = EXACT},
    {"spatial mismatch", LG_NLL_LOSS, 4, 7, .extent = 6, .n_faults = 1,
     .faults = {{KIND(SHAPE_LAYOUT), .where = LG_FORM_SPATIAL}}, .n_rows = 0, .attribution = EXACT},
    {"class axis last", LG_CROSS_ENTROPY, 4, 9, .extent = 6, .n_faults = 1,
     .faults = {{KIND(SHAPE_LAYOUT), .where = LG_FORM_CLASS_LAST}}, .n_rows = 0,
     .attribution = EXACT},
    {"given shape", LG_NLL_LOSS, 64, 7, .n_faults = 1,
     .faults = {{KIND(SHAPE_LAYOUT), .where = LG_FORM_GIVEN, .shape = {2, wrong_target}}},
     .n_rows = 0, .attribution = EXACT},
    {"reshaped logits", LG_CROSS_ENTROPY, 8, 64, .n_faults = 1,
     .faults = {{KIND(SHAPE_LAYOUT), .where = LG_FORM_RESHAPED}}, .n_rows = 0,
     .attribution = EXACT},
    {"BCE input", LG_BCE, 40, 1, .n_faults = 1, .faults = {{KIND(BCE_RANGE), .count = 2}},
     .n_rows = 2, .attribution = EXACT},
    {"BCE target", LG_BCE, 40, 1, .n_faults = 1,
     .faults = {{KIND(BCE_RANGE), .where = LG_FORM_TARGET_OUTSIDE, .number = -0.5}}, .n_rows = 1,
     .attribution = EXACT},
    {"BCE with logits, target 7", LG_BCE_WITH_LOGITS, 40, 3, .n_faults = 1,
     .faults = {{KIND(BCE_RANGE), .where = LG_FORM_TARGET_OUTSIDE, .number = 7}}, .n_rows = 1,
     .attribution = EXACT},
    {"BCE inside the range", LG_BCE, 40, 1, .n_faults = 1,
     .faults = {{KIND(BCE_RANGE), .number = 0.5}}, .error = "inside [0, 1]"},
    {"weights too long", LG_CROSS_ENTROPY, 32, 7, .n_faults = 1, .faults = {{KIND(WEIGHT_VECTOR)}},
     .n_rows = 0, .attribution = EXACT},
    {"weights of float16", LG_CROSS_ENTROPY, 32, 7, .n_faults = 1,
     .faults = {{KIND(WEIGHT_VECTOR), .dtype = LG_FLOAT16}}, .n_rows = 0, .attribution = EXACT},
    {"negative weight", LG_CROSS_ENTROPY, 32, 7, .n_faults = 1,
     .faults = {{KIND(WEIGHT_VECTOR), .number = -1}}, .n_rows = 0, .attribution = EXACT},
    {"infinite weight", LG_NLL_LOSS, 32, 7, .n_faults = 1,
     .faults = {{KIND(WEIGHT_VECTOR), .number = INFINITY}}, .n_rows = 0, .attribution = EXACT},
    {"NaN logits", LG_CROSS_ENTROPY, 32, 7, .ignored = 0.2, .n_faults = 1,
     .faults = {{KIND(NONFINITE_LOGITS), .count = 3}}, .n_rows = 3, .attribution = EXACT},
    {"infinite logit", LG_CROSS_ENTROPY, 32, 7, .n_faults = 1,
     .faults = {{KIND(NONFINITE_LOGITS), .number = INFINITY}}, .n_rows = 1, .attribution = EXACT},
    {"the label's logit is -inf", LG_CROSS_ENTROPY, 32, 7, .n_faults = 1,
     .faults = {{KIND(NONFINITE_LOGITS), .number = -INFINITY}}, .n_rows = 1, .attribution = EXACT},
    {"NaN probability", LG_CROSS_ENTROPY, 32, 7, .targets = LG_DIST_SIMPLEX, .n_faults = 1,
     .faults = {{KIND(NONFINITE_LOGITS), .where = LG_FORM_TARGET_NONFINITE}}, .n_rows = 1,
     .attribution = EXACT},
    {"NaN BCE input", LG_BCE, 40, 1, .n_faults = 1, .faults = {{KIND(NONFINITE_LOGITS)}},
     .n_rows = 1, .attribution = EXACT},
    {"all ignored", LG_NLL_LOSS, 32, 7, .n_faults = 1, .faults = {{KIND(NO_SUPERVISED_ROW)}},
     .n_rows = 0, .attribution = EXACT},
    {"zero weights", LG_NLL_LOSS, 32, 7, .n_faults = 1,
     .faults = {{KIND(NO_SUPERVISED_ROW), .where = LG_FORM_ZERO_WEIGHT}}, .n_rows = 0,
     .attribution = EXACT},
    {"narrow head and negative", LG_NLL_LOSS, 200, 9, .ignored = 0.1, .n_faults = 2,
     .faults = {{KIND(WRONG_HEAD_WIDTH), .head_width = 6}, {KIND(NEGATIVE_LABELS), .count = 3}},
     .n_rows = -1, .attribution = EITHER},
    {"C and 255", LG_NLL_LOSS, 200, 9, .n_faults = 2,
     .faults = {{KIND(LABEL_EQUALS_WIDTH), .count = 3},
                {KIND(SENTINEL_MISMATCH), .values = {1, sentinel_255}}},
     .n_rows = 3, .attribution = EITHER},
    {"negative, then shifted", LG_NLL_LOSS, 200, 9, .n_faults = 2,
     .faults = {{KIND(NEGATIVE_LABELS), .count = 3}, {KIND(ONE_BASED_LABELS)}}, .n_rows = 3,
     .attribution = EITHER},
    {"truncated and corrupt", LG_NLL_LOSS, 200, 9, .n_faults = 2,
     .faults = {{KIND(CORRUPT_LABELS), .count = 2},
                {KIND(FLOAT_TARGETS), .form = LG_FLOAT_TRUNCATED, .dtype = LG_FLOAT64, .count = 3}},
     .n_rows = 2, .attribution = EITHER},
    {"NaN and negative", LG_CROSS_ENTROPY, 200, 9, .n_faults = 2,
     .faults = {{KIND(NEGATIVE_LABELS), .count = 2}, {KIND(NONFINITE_LOGITS), .count = 2}},
     .n_rows = 2, .attribution = EITHER},
};

static lg_scenario make_scenario(const fault_row *row, int64_t *extent) {
    lg_scenario s = {.path = "row.yaml", .name = row->name, .n_faults = row->n_faults};
    s.loss = (lg_loss_options){.kind = row->loss,
                               .reduction = LG_REDUCTION_MEAN,
                               .ignore_index = row->ignore_index ? row->ignore_index : -100,
                               .direction = LG_BOTH};
    *extent = row->extent;
    s.batch = (lg_batch_spec){.seed = 5,
                              .samples = row->samples,
                              .classes = row->classes,
                              .extent = {.n = row->extent > 0, .items = extent},
                              .ignored_fraction = row->ignored,
                              .logits = {.source = LG_ARRAY_GENERATED, .scale = 2},
                              .targets = {.source = LG_ARRAY_GENERATED,
                                          .dtype = row->dtype,
                                          .distribution = row->targets}};
    memcpy(s.faults, row->faults, sizeof row->faults);
    return s;
}

static lg_attribution find_again(const fault_row *row, const lg_batch *batch) {
    lg_attribute_input input = {.batch = batch};
    lg_finding finding;
    lg_attribute(&input, &finding);
    lg_attribution grade = lg_attribution_grade(batch, &finding);
    bool fine = grade == row->attribution ||
                (row->attribution == LG_ATTRIBUTION_AMBIGUOUS && grade == LG_ATTRIBUTION_EXACT);
    if (!fine) {
        fprintf(stderr, "\n    '%s': %s, found %s with %s, certain %d, %lld rows: %s\n", row->name,
                lg_attribution_name(grade), lg_cause_name(finding.cause),
                lg_cause_name(finding.n_hypotheses && finding.hypotheses[0].n_with
                                  ? finding.hypotheses[0].with[0]
                                  : LG_CAUSE_NONE),
                finding.certain, (long long)finding.n_rows,
                finding.headline ? finding.headline : "");
        for (int i = 0; i < batch->n_injections; i++) {
            fprintf(stderr, "        injected %s, %lld rows\n",
                    lg_cause_name(batch->injections[i].cause),
                    (long long)batch->injections[i].n_rows);
        }
    }
    LG_CHECK_ROW(row->name, fine);
    LG_CHECK_ROW(row->name, finding.cause == LG_CAUSE_NONE || finding.headline);
    lg_finding_free(&finding);
    return grade;
}

// The rows of a fault are ascending, and none of them is ignored unless its bits are misread.
static void check_rows(const fault_row *row, const lg_batch *batch) {
    for (int i = 0; i < batch->n_injections; i++) {
        const lg_injection *one = &batch->injections[i];
        bool misread = lg_tensor_exists(&batch->device_target);
        for (int64_t r = 0; r < one->n_rows; r++) {
            LG_CHECK_ROW(row->name, r == 0 || one->rows[r] > one->rows[r - 1]);
            bool ignored =
                !batch->target_is_probability && !misread &&
                lg_tensor_get_i64(&batch->target, one->rows[r]) == batch->loss.ignore_index;
            LG_CHECK_ROW(row->name, !ignored);
        }
    }
}

static void check_control(const fault_row *row, const lg_scenario *scenario) {
    lg_batch control;
    lg_diags diags = {0};
    LG_CHECK_ROW(row->name, lg_generate(scenario, false, &control, &diags));
    lg_attribute_input input = {.batch = &control};
    lg_finding finding;
    lg_attribute(&input, &finding);
    LG_CHECK_ROW(row->name, control.n_injections == 0);
    LG_CHECK_ROW(row->name, finding.cause == LG_CAUSE_NONE || finding.warning);
    LG_CHECK_ROW(row->name, finding.n_rows == 0);
    LG_CHECK_ROW(row->name, lg_attribution_grade(&control, &finding) == LG_ATTRIBUTION_NONE);
    lg_finding_free(&finding);
    lg_batch_free(&control);
    lg_diags_free(&diags);
}

static void check_row(const fault_row *row) {
    int64_t extent;
    lg_scenario scenario = make_scenario(row, &extent);
    lg_batch batch;
    lg_diags diags = {0};
    bool made = lg_generate(&scenario, true, &batch, &diags);
    if (row->error) {
        LG_CHECK_ROW(row->name, !made && diags.n_errors == 1);
        LG_CHECK_ROW(row->name, diags.n > 0 && strstr(diags.items[0].message, row->error));
        lg_diags_free(&diags);
        return;
    }
    if (!made) {
        lg_diags_print(&diags, stderr);
    }
    LG_CHECK_ROW(row->name, made);
    const lg_injection *first = &batch.injections[0];
    if (made) {
        LG_CHECK_ROW(row->name, batch.n_injections == row->n_faults);
        LG_CHECK_ROW(row->name, first->fired == !row->no_fire);
        LG_CHECK_ROW(row->name, row->n_rows < 0 ? first->n_rows > 0 : first->n_rows == row->n_rows);
        check_rows(row, &batch);
        if (!row->no_fire) {
            find_again(row, &batch);
        }
        lg_batch_free(&batch);
        check_control(row, &scenario);
    }
    lg_diags_free(&diags);
}

static void test_faults(void) {
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        check_row(&rows[i]);
    }
}

// The five daily faults over sizes, classes and dtypes: always found, rows always exact.
static void test_sizes(void) {
    static const int64_t samples[] = {1, 2, 8, 33, 400};
    static const int64_t classes[] = {2, 3, 10, 250};
    static const lg_dtype dtypes[] = {LG_INT64, LG_INT32, LG_UINT8};
    static const lg_cause kinds[] = {LG_CAUSE_WRONG_HEAD_WIDTH, LG_CAUSE_ONE_BASED_LABELS,
                                     LG_CAUSE_LABEL_EQUALS_WIDTH, LG_CAUSE_NEGATIVE_LABELS,
                                     LG_CAUSE_FLOAT_TARGETS};
    int n_fired = 0;
    for (int at = 0; at < 5 * 4 * 3 * 5; at++) {
        lg_cause kind = kinds[at % 5];
        fault_row row = {.name = lg_cause_name(kind),
                         .loss = LG_NLL_LOSS,
                         .samples = samples[at / 5 % 5],
                         .classes = classes[at / 25 % 4],
                         .dtype = dtypes[at / 100],
                         .ignored = at % 2 ? 0.2 : 0,
                         .ignore_index = dtypes[at / 100] == LG_UINT8 ? 255 : -100,
                         .n_faults = 1,
                         .faults = {{.kind = kind}},
                         .attribution = EITHER};
        int64_t extent;
        lg_scenario scenario = make_scenario(&row, &extent);
        lg_batch batch;
        lg_diags diags = {0};
        LG_CHECK_ROW(row.name, lg_generate(&scenario, true, &batch, &diags));
        if (batch.injections[0].fired) {
            n_fired++;
            find_again(&row, &batch);
        }
        lg_batch_free(&batch);
        lg_diags_free(&diags);
    }
    // Small batches and bytes cannot show every fault, but most do.
    CU_ASSERT_TRUE(n_fired > 200);
}

static const lg_test tests[] = {
    {"every fault in every form", test_faults},
    {"the five over sizes and dtypes", test_sizes},
};

int main(void) {
    return lg_run_tests(LG_SUITE, tests, sizeof tests / sizeof *tests);
}
