// SPDX-License-Identifier: Apache-2.0
// Several faults in one batch that are plain each for itself: all are named.
#include "attribute/attribute.h"
#include "batch/batch.h"
#include "unit/testing.h"

#include <math.h>
#include <string.h>

enum { MAX_TOGETHER = 3 };

typedef struct together_row {
    const char *name;
    lg_fault_spec faults[MAX_TOGETHER]; // of kind LG_CAUSE_NONE: no more
    bool certain;
    bool doubtful;  // the labels fit another cause too
    int64_t extent; // of one extra dimension; 0: none
} together_row;

static int count_faults(const together_row *row) {
    int n = 0;
    while (n < MAX_TOGETHER && row->faults[n].kind != LG_CAUSE_NONE) {
        n++;
    }
    return n;
}

static void generate(const together_row *row, lg_batch *batch) {
    const lg_array_spec some = {.source = LG_ARRAY_GENERATED, .lo = 0.25, .hi = 2};
    lg_scenario s = {.path = "row.yaml"};
    s.loss = (lg_loss_options){.kind = LG_NLL_LOSS,
                               .reduction = LG_REDUCTION_NONE,
                               .ignore_index = -100,
                               .direction = LG_FORWARD};
    s.batch = (lg_batch_spec){.seed = 9,
                              .samples = 100,
                              .classes = 8,
                              .logits = {.source = LG_ARRAY_GENERATED, .scale = 1},
                              .targets = {.source = LG_ARRAY_GENERATED}};
    if (row->extent > 0) {
        s.batch.extent = (lg_i64_list){.n = 1, .items = (int64_t *)&row->extent};
    }
    s.weight = some;
    s.n_faults = count_faults(row);
    memcpy(s.faults, row->faults, sizeof row->faults);
    lg_diags diags = {0};
    CU_ASSERT_TRUE_FATAL(lg_generate(&s, true, batch, &diags));
    lg_diags_free(&diags);
}

static void check_row(const together_row *row) {
    lg_batch batch;
    generate(row, &batch);
    lg_attribute_input input = {.batch = &batch};
    lg_finding finding;
    lg_attribute(&input, &finding);
    int n = count_faults(row);
    int n_stated = finding.n_hypotheses > 0 ? 1 + finding.hypotheses[0].n_with : 0;
    const char *headline = finding.headline ? finding.headline : "";
    if (n_stated != n) {
        fprintf(stderr, "\n    '%s': %s\n", row->name, headline);
    }
    LG_CHECK_ROW(row->name, n_stated == n);
    for (int i = 0; i < n && n_stated > 0; i++) {
        LG_CHECK_ROW(row->name, lg_hypothesis_states(&finding.hypotheses[0], row->faults[i].kind));
        LG_CHECK_ROW(row->name, strstr(headline, lg_cause_name(row->faults[i].kind)) ||
                                    finding.cause == row->faults[i].kind);
    }
    LG_CHECK_ROW(row->name, finding.certain == row->certain);
    lg_attribution want = row->doubtful ? LG_ATTRIBUTION_AMBIGUOUS : LG_ATTRIBUTION_EXACT;
    LG_CHECK_ROW(row->name, lg_attribution_grade(&batch, &finding) == want);
    lg_finding_free(&finding);
    lg_batch_free(&batch);
}

static const lg_fault_spec probabilities = {.kind = LG_CAUSE_VALUE_DOMAIN,
                                            .where = LG_FORM_PROBABILITIES};
static const lg_fault_spec weights = {.kind = LG_CAUSE_WEIGHT_VECTOR, .length = 5};
static const lg_fault_spec shape = {.kind = LG_CAUSE_SHAPE_LAYOUT, .where = LG_FORM_BATCH};
static const lg_fault_spec type = {.kind = LG_CAUSE_TARGET_DTYPE, .dtype = LG_INT16};
static const lg_fault_spec at_width = {.kind = LG_CAUSE_LABEL_EQUALS_WIDTH, .count = 3};
static const lg_fault_spec infinite = {
    .kind = LG_CAUSE_NONFINITE_LOGITS, .count = 2, .number = INFINITY};

static void test_pairs(void) {
    const together_row pairs[] = {
        {"probabilities and weights", {probabilities, weights}, .certain = true},
        {"probabilities and a shape", {probabilities, shape}, .certain = true},
        {"probabilities and a type of labels", {probabilities, type}, .certain = true},
        {"probabilities and labels C", {probabilities, at_width}, .certain = false},
        {"a type of labels and weights", {type, weights}, .certain = true},
        {"a type of labels and a shape", {type, shape}, .certain = true},
        {"weights and labels C", {weights, at_width}, .certain = false},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        check_row(&pairs[i]);
    }
}

// Labels are read also where their number is not that of the rows.
static void test_labels_of_another_shape(void) {
    int64_t minus[] = {-7};
    int64_t least[] = {INT32_MIN};
    int64_t sentinel[] = {255};
    const lg_fault_spec stray[] = {
        at_width,
        {.kind = LG_CAUSE_ONE_BASED_LABELS},
        {.kind = LG_CAUSE_OVER_SHIFTED_LABELS},
        {.kind = LG_CAUSE_NEGATIVE_LABELS, .count = 3, .values = {.n = 1, .items = minus}},
        {.kind = LG_CAUSE_CORRUPT_LABELS, .count = 3, .values = {.n = 1, .items = least}},
        {.kind = LG_CAUSE_SENTINEL_MISMATCH, .count = 20, .values = {.n = 1, .items = sentinel}},
        {.kind = LG_CAUSE_WRONG_HEAD_WIDTH, .head_width = 5},
        {.kind = LG_CAUSE_FLOAT_TARGETS, .form = LG_FLOAT_BITS, .dtype = LG_FLOAT32},
        {.kind = LG_CAUSE_TARGET_DTYPE, .where = LG_FORM_INT32_AS_INT64},
    };
    for (size_t i = 0; i < sizeof stray / sizeof *stray; i++) {
        const char *name = lg_cause_name(stray[i].kind);
        // Every label moved by one, or the last class missing: only how often which occurs tells.
        bool doubtful = stray[i].kind == LG_CAUSE_ONE_BASED_LABELS;
        check_row(&(together_row){name, {shape, stray[i]}, .doubtful = doubtful});
    }
}

static void test_three(void) {
    int64_t minus[] = {-7};
    const lg_fault_spec negative = {
        .kind = LG_CAUSE_NEGATIVE_LABELS, .count = 3, .values = {.n = 1, .items = minus}};
    const together_row threes[] = {
        {"weights, a type and a shape", {weights, type, shape}, .certain = true},
        {"probabilities, weights and a type", {probabilities, weights, type}, .certain = true},
        {"infinite logits, weights and labels C", {at_width, infinite, weights}, .certain = false},
        {"weights, a shape and labels C", {at_width, weights, shape}, .certain = false},
        {"weights and two label faults", {at_width, negative, weights}, .certain = false},
        {"a shape and two label faults", {at_width, negative, shape}, .certain = false},
    };
    for (size_t i = 0; i < sizeof threes / sizeof *threes; i++) {
        check_row(&threes[i]);
    }
}

// A fault of the shape alone is no fault of the labels, whichever axis holds the classes.
static void test_a_shape_alone(void) {
    static const lg_fault_form forms[] = {LG_FORM_BATCH, LG_FORM_RANK, LG_FORM_RESHAPED,
                                          LG_FORM_CLASS_LAST, LG_FORM_SPATIAL};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        together_row row = {lg_fault_form_name(forms[i]),
                            {{.kind = LG_CAUSE_SHAPE_LAYOUT, .where = forms[i]}},
                            .certain = true};
        for (row.extent = 0; row.extent <= 12; row.extent += 4) {
            bool flat = row.extent == 0;
            // Reshaped or expanded: as the form asks.
            if (flat ? i < 3 : i != 2 && !(i == 3 && row.extent == 8)) {
                check_row(&row);
            }
        }
    }
}

// Two faults that spoil rows: the labels listed are those of the rows that a label spoils.
static void test_only_labels_to_blame_are_listed(void) {
    const together_row rows[] = {
        {"probabilities beside a refused type", {probabilities, type}, .certain = false},
        {"infinite logits beside a refused type", {infinite, type}, .certain = false},
        {"infinite logits beside labels C", {at_width, infinite}, .certain = false},
    };
    const int64_t n_values[] = {0, 0, 1};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        lg_batch batch;
        generate(&rows[i], &batch);
        lg_attribute_input input = {.batch = &batch};
        lg_finding finding;
        lg_attribute(&input, &finding);
        LG_CHECK_ROW(rows[i].name, finding.n_rows > 0);
        LG_CHECK_ROW(rows[i].name, finding.n_values == n_values[i]);
        lg_finding_free(&finding);
        lg_batch_free(&batch);
    }
}

static const lg_test tests[] = {
    {"pairs", test_pairs},
    {"labels of another shape", test_labels_of_another_shape},
    {"three", test_three},
    {"a shape alone", test_a_shape_alone},
    {"only labels to blame are listed", test_only_labels_to_blame_are_listed},
};

int main(void) {
    return lg_run_tests(LG_SUITE, tests, sizeof tests / sizeof *tests);
}
