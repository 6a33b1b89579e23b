// SPDX-License-Identifier: Apache-2.0
// Clean batches: the same values whatever else is asked for, in the domain of their loss, in the
// shapes and strides of the scenario.
#include "batch/batch.h"
#include "unit/testing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static lg_scenario plain(lg_loss_kind kind, int64_t samples, int64_t classes) {
    return (lg_scenario){
        .path = "s.yaml",
        .loss = {.kind = kind, .reduction = LG_REDUCTION_MEAN, .ignore_index = -100},
        .batch = {.seed = 9,
                  .samples = samples,
                  .classes = classes,
                  .logits = {.source = LG_ARRAY_GENERATED, .scale = 2},
                  .targets = {.source = LG_ARRAY_GENERATED}}};
}

static lg_batch make(const lg_scenario *scenario) {
    lg_batch batch = {0};
    lg_diags diags = {0};
    bool made = lg_generate(scenario, true, &batch, &diags);
    if (!made) {
        lg_diags_print(&diags, stderr);
    }
    CU_ASSERT_TRUE_FATAL(made);
    lg_diags_free(&diags);
    return batch;
}

static void test_nll_input_is_log_probabilities(void) {
    int64_t extent[] = {3, 2};
    lg_scenario s = plain(LG_NLL_LOSS, 4, 7);
    s.batch.extent = (lg_i64_list){.n = 2, .items = extent};
    s.batch.logits.dtype = LG_FLOAT64;
    lg_batch batch = make(&s);
    CU_ASSERT_EQUAL(batch.input.rank, 4);
    CU_ASSERT_EQUAL(batch.input.shape[1], 7);
    CU_ASSERT_EQUAL(batch.target.rank, 3);
    for (int64_t n = 0; n < 4; n++) {
        for (int64_t at = 0; at < 6; at++) {
            double sum = 0;
            for (int64_t c = 0; c < 7; c++) {
                sum += exp(lg_tensor_get_f64(&batch.input, (n * 7 + c) * 6 + at));
            }
            CU_ASSERT_TRUE(fabs(sum - 1) < 1e-14);
        }
    }
    lg_batch_free(&batch);
}

// Listed without a shape a number is a row of one; with the shape [] it has no dimension.
static void test_one_number(void) {
    double value = 0.25;
    lg_scenario s = plain(LG_BCE, 1, 1);
    lg_array_spec one = {
        .source = LG_ARRAY_VALUES, .dtype = LG_FLOAT32, .values = {.n = 1, .items = &value}};
    for (int scalar = 0; scalar < 2; scalar++) {
        one.scalar = scalar;
        s.batch.logits = s.batch.targets = one;
        s.batch.targets.probabilities = true;
        lg_batch batch = make(&s);
        CU_ASSERT_EQUAL(batch.input.rank, scalar ? 0 : 1);
        CU_ASSERT_EQUAL(batch.target.rank, scalar ? 0 : 1);
        CU_ASSERT_EQUAL(lg_tensor_get_f64(&batch.input, 0), 0.25);
        CU_ASSERT_EQUAL(lg_batch_rows(&batch), 1);
        lg_batch_free(&batch);
    }
}

// Row i does not know how many rows follow, and a seed is another batch.
static void test_values_have_an_address(void) {
    lg_scenario s = plain(LG_CROSS_ENTROPY, 10, 5);
    lg_batch few = make(&s);
    s.batch.samples = 100;
    lg_batch many = make(&s);
    s.batch.seed = 10;
    lg_batch other = make(&s);
    CU_ASSERT_EQUAL(memcmp(few.input.data, many.input.data, lg_tensor_bytes(&few.input)), 0);
    CU_ASSERT_EQUAL(memcmp(few.target.data, many.target.data, lg_tensor_bytes(&few.target)), 0);
    CU_ASSERT_NOT_EQUAL(memcmp(other.input.data, many.input.data, 64), 0);
    CU_ASSERT_NOT_EQUAL(memcmp(other.target.data, many.target.data, 800), 0);
    lg_batch_free(&few);
    lg_batch_free(&many);
    lg_batch_free(&other);
}

static void test_label_distributions(void) {
    static const struct {
        const char *name;
        lg_distribution distribution;
        double share_of_0; // of 20,000 rows over 4 classes
    } table[] = {{"uniform", LG_DIST_UNIFORM, 0.25},
                 {"round robin", LG_DIST_ROUND_ROBIN, 0.25},
                 {"zipf", LG_DIST_ZIPF, 12.0 / 25},
                 {"constant", LG_DIST_CONSTANT, 1}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        lg_scenario s = plain(LG_CROSS_ENTROPY, 20000, 4);
        s.batch.targets.distribution = table[i].distribution;
        s.batch.ignored_fraction = 0.25;
        lg_batch batch = make(&s);
        int64_t zeros = 0;
        int64_t ignored = 0;
        for (int64_t row = 0; row < 20000; row++) {
            int64_t label = lg_tensor_get_i64(&batch.target, row);
            zeros += label == 0;
            ignored += label == -100;
            LG_CHECK_ROW(table[i].name, (label >= 0 && label < 4) || label == -100);
        }
        double share = (double)zeros / (double)(20000 - ignored);
        LG_CHECK_ROW(table[i].name, fabs(share - table[i].share_of_0) < 0.02);
        LG_CHECK_ROW(table[i].name, fabs((double)ignored / 20000 - 0.25) < 0.02);
        lg_batch_free(&batch);
    }
}

static void test_binary_and_probabilities(void) {
    lg_scenario s = plain(LG_BCE, 50, 3);
    lg_batch batch = make(&s);
    CU_ASSERT_EQUAL(lg_batch_rows(&batch), 150);
    for (int64_t i = 0; i < 150; i++) {
        double p = lg_tensor_get_f64(&batch.input, i);
        double t = lg_tensor_get_f64(&batch.target, i);
        CU_ASSERT_TRUE(p > 0 && p < 1 && (t == 0 || t == 1));
    }
    lg_batch_free(&batch);
    s = plain(LG_CROSS_ENTROPY, 50, 3);
    s.batch.targets.distribution = LG_DIST_SIMPLEX;
    batch = make(&s);
    CU_ASSERT_TRUE(batch.target_is_probability);
    for (int64_t row = 0; row < 50; row++) {
        double sum = 0;
        for (int64_t c = 0; c < 3; c++) {
            sum += lg_tensor_get_f64(&batch.target, row * 3 + c);
        }
        CU_ASSERT_TRUE(fabs(sum - 1) < 1e-6);
    }
    lg_batch_free(&batch);
}

static void test_strides_keep_values(void) {
    int64_t strides[] = {40, 4};
    int64_t every_fourth[] = {4};
    lg_scenario s = plain(LG_CROSS_ENTROPY, 6, 10);
    lg_batch packed = make(&s);
    s.batch.logits.stride = (lg_i64_list){.n = 2, .items = strides};
    s.batch.targets.stride = (lg_i64_list){.n = 1, .items = every_fourth};
    lg_batch strided = make(&s);
    CU_ASSERT_FALSE(lg_tensor_is_contiguous(&strided.input));
    CU_ASSERT_EQUAL(strided.target.stride[0], 4);
    for (int64_t i = 0; i < 60; i++) {
        CU_ASSERT_EQUAL(lg_tensor_get_f64(&packed.input, i), lg_tensor_get_f64(&strided.input, i));
    }
    for (int64_t i = 0; i < 6; i++) {
        CU_ASSERT_EQUAL(lg_tensor_get_i64(&packed.target, i),
                        lg_tensor_get_i64(&strided.target, i));
    }
    lg_batch_free(&packed);
    lg_batch_free(&strided);
}

// What a scenario lists is passed as it is, changed by the fault alone.
static void test_given_labels_are_only_shifted(void) {
    static const struct {
        const char *name;
        lg_cause kind;
        int64_t ignore_index;
        int64_t labels[3], want[3];
        bool fired;
        int64_t n_rows;
    } table[] = {
        {"1-based", LG_CAUSE_ONE_BASED_LABELS, -100, {0, 2, 1}, {1, 3, 2}, true, 1},
        {"1-based, nothing leaves the range",
         LG_CAUSE_ONE_BASED_LABELS,
         -100,
         {0, 1, 0},
         {0, 1, 0},
         false,
         0},
        {"1-based, one becomes the ignored",
         LG_CAUSE_ONE_BASED_LABELS,
         1,
         {0, 2, 0},
         {1, 3, 1},
         true,
         1},
        {"over-shifted", LG_CAUSE_OVER_SHIFTED_LABELS, -100, {0, 2, 1}, {-1, 1, 0}, true, 1},
        {"over-shifted, nothing leaves the range",
         LG_CAUSE_OVER_SHIFTED_LABELS,
         -100,
         {1, 2, 1},
         {1, 2, 1},
         false,
         0},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        int64_t labels[3];
        memcpy(labels, table[i].labels, sizeof labels);
        lg_scenario scenario = plain(LG_CROSS_ENTROPY, 3, 3);
        scenario.loss.ignore_index = table[i].ignore_index;
        scenario.batch.targets = (lg_array_spec){.source = LG_ARRAY_VALUES,
                                                 .dtype = LG_INT64,
                                                 .values_are_integers = true,
                                                 .int_values = {.n = 3, .items = labels},
                                                 .values = {.n = 3}};
        scenario.n_faults = 1;
        scenario.faults[0].kind = table[i].kind;
        lg_batch batch = make(&scenario);
        for (int64_t k = 0; k < 3; k++) {
            LG_CHECK_ROW(table[i].name, lg_tensor_get_i64(&batch.target, k) == table[i].want[k]);
        }
        LG_CHECK_ROW(table[i].name, batch.injections[0].fired == table[i].fired);
        LG_CHECK_ROW(table[i].name, batch.injections[0].n_rows == table[i].n_rows);
        lg_batch_free(&batch);
    }
}

static void test_errors(void) {
    int64_t shape[] = {2, 2};
    int64_t labels[] = {0, 1, 2};
    lg_scenario bad_shape = plain(LG_CROSS_ENTROPY, 3, 3);
    bad_shape.batch.targets = (lg_array_spec){.source = LG_ARRAY_VALUES,
                                              .values_are_integers = true,
                                              .int_values = {.n = 3, .items = labels},
                                              .shape = {.n = 2, .items = shape}};
    lg_scenario bytes = plain(LG_CROSS_ENTROPY, 3, 300);
    bytes.batch.targets.dtype = LG_UINT8;
    lg_scenario no_classes = plain(LG_CROSS_ENTROPY, 3, 0);
    lg_scenario constant = plain(LG_CROSS_ENTROPY, 3, 3);
    constant.batch.targets.distribution = LG_DIST_CONSTANT;
    constant.batch.targets.lo = 3;
    lg_scenario missing = plain(LG_CROSS_ENTROPY, 3, 3);
    missing.batch.targets = (lg_array_spec){.source = LG_ARRAY_FILE, .file = "/nonexistent/x.npy"};
    const struct {
        const char *name;
        const lg_scenario *scenario;
        const char *text;
    } table[] = {
        {"shape", &bad_shape, "lists 3 values for a shape of 4 elements"},
        {"bytes", &bytes, "uint8 cannot hold class 299"},
        {"classes", &no_classes, "batch.classes must be at least 1"},
        {"constant", &constant, "a constant class must lie in 0..2"},
        {"file", &missing, ""},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        lg_batch batch;
        lg_diags diags = {0};
        LG_CHECK_ROW(table[i].name, !lg_generate(table[i].scenario, true, &batch, &diags));
        LG_CHECK_ROW(table[i].name, diags.n_errors >= 1);
        LG_CHECK_ROW(table[i].name, diags.n > 0 && strstr(diags.items[0].message, table[i].text));
        lg_diags_free(&diags);
    }
}

static void test_labels_only_has_the_same_labels(void) {
    lg_scenario s = plain(LG_CROSS_ENTROPY, 40, 6);
    s.n_faults = 1;
    s.faults[0] = (lg_fault_spec){.kind = LG_CAUSE_NEGATIVE_LABELS, .count = 2};
    lg_batch whole = make(&s);
    lg_batch labels;
    lg_diags diags = {0};
    CU_ASSERT_TRUE_FATAL(lg_generate_labels_only(&s, true, &labels, &diags));
    CU_ASSERT_PTR_NULL(labels.input.data);
    CU_ASSERT_EQUAL(lg_batch_head_width(&labels), 6);
    CU_ASSERT_EQUAL(memcmp(whole.target.data, labels.target.data, lg_tensor_bytes(&whole.target)),
                    0);
    lg_batch_free(&whole);
    lg_batch_free(&labels);
    lg_diags_free(&diags);
}

static const lg_test tests[] = {
    {"one number", test_one_number},
    {"nll input is log-probabilities", test_nll_input_is_log_probabilities},
    {"values have an address", test_values_have_an_address},
    {"label distributions", test_label_distributions},
    {"binary and probabilities", test_binary_and_probabilities},
    {"strides keep values", test_strides_keep_values},
    {"given labels are only shifted", test_given_labels_are_only_shifted},
    {"errors", test_errors},
    {"labels only", test_labels_only_has_the_same_labels},
};

int main(void) {
    return lg_run_tests(LG_SUITE, tests, sizeof tests / sizeof *tests);
}
