// SPDX-License-Identifier: Apache-2.0
// Which types a kernel is given a scenario in.
#include "batch/batch.h"

#include "scenario/scenario.h"
#include "support/str.h"
#include "unit/testing.h"

#include <string.h>

#define BIT(dtype) (1u << (dtype))
#define FLOATS (BIT(LG_FLOAT32) | BIT(LG_FLOAT64) | BIT(LG_FLOAT16))
#define LABELS (BIT(LG_INT64) | BIT(LG_INT32) | BIT(LG_UINT8))
#define CE "loss: {kind: cross_entropy}\n"
#define PLAIN CE "batch: {samples: 8, classes: 5}\n"

typedef struct fit_row {
    const char *name;
    const char *text; // after its title
    uint32_t inputs, targets;
    bool every_type;
    int64_t turn;
    const char *fits; // "input/labels …"; '-' stands for labels as they are
} fit_row;

static const fit_row rows[] = {
    {"the scenario's own", PLAIN, FLOATS, LABELS, false, 0, "float32/-"},
    {"the kernel's own", PLAIN, BIT(LG_FLOAT16), LABELS, false, 0, "float16/-"},
    {"the widest of the kernel's own", PLAIN, BIT(LG_FLOAT16) | BIT(LG_FLOAT64), LABELS, false, 0,
     "float64/-"},
    {"a fixed type", CE "batch: {classes: 5, logits: {dtype: float32}}\n", BIT(LG_FLOAT16), LABELS,
     false, 0, "float32/-"},
    {"a value that does not fit",
     CE "batch: {logits: {values: [1, 70000], shape: [1, 2]}, targets: {values: [0]}}\n",
     BIT(LG_FLOAT16), LABELS, false, 0, "float32/-"},
    {"a loss that is written out", PLAIN "expect: {loss: 1.5}\n", FLOATS, LABELS, true, 0,
     "float32/- float32/int32 float32/uint8"},
    {"every type", PLAIN, FLOATS, LABELS, true, 0, "float32/- float64/int32 float16/uint8"},
    {"every type, turned", PLAIN, FLOATS, LABELS, true, 1,
     "float32/- float32/int32 float64/uint8 float16/-"},
    {"every type, turned twice", PLAIN, FLOATS, LABELS, true, 2,
     "float32/- float32/uint8 float64/- float16/int32"},
    {"every type, turned all the way", PLAIN, FLOATS, LABELS, true, 3,
     "float32/- float64/int32 float16/uint8"},
    {"more label types than input types", PLAIN, BIT(LG_FLOAT32) | BIT(LG_FLOAT64), LABELS, true, 1,
     "float32/- float64/- float32/int32 float64/uint8"},
    {"one of each", PLAIN, BIT(LG_FLOAT32), BIT(LG_INT64), true, 1, "float32/-"},
    {"one of each, its own", PLAIN, BIT(LG_BFLOAT16), BIT(LG_INT32), true, 0, "bfloat16/-"},
    {"fixed input, every label type", CE "batch: {classes: 5, logits: {dtype: float64}}\n", FLOATS,
     LABELS, true, 0, "float64/- float64/int32 float64/uint8"},
    {"fixed labels", CE "batch: {classes: 5, targets: {dtype: int32}}\n", FLOATS, LABELS, true, 0,
     "float32/- float64/- float16/-"},
    {"too many classes for a type", CE "batch: {classes: 256}\n", BIT(LG_FLOAT32), LABELS, true, 0,
     "float32/- float32/int32"},
    {"an ignored label beyond a type", CE "batch: {classes: 5, ignored_fraction: 0.2}\n",
     BIT(LG_FLOAT32), LABELS, true, 0, "float32/- float32/int32"},
    {"a listed label beyond a type", CE "batch: {classes: 5, targets: {values: [0, 1, 300]}}\n",
     BIT(LG_FLOAT32), LABELS, true, 0, "float32/- float32/int32"},
    {"a negative label", PLAIN "faults: [{kind: negative_labels}]\n", BIT(LG_FLOAT32), LABELS, true,
     0, "float32/- float32/int32"},
    {"a negative label beyond a type",
     PLAIN "faults: [{kind: negative_labels, values: [-5000000000]}]\n", BIT(LG_FLOAT32), LABELS,
     true, 0, "float32/-"},
    {"label C", PLAIN "faults: [{kind: label_equals_width}]\n", BIT(LG_FLOAT32), LABELS, true, 0,
     "float32/- float32/int32 float32/uint8"},
    {"a fault of the type itself", PLAIN "faults: [{kind: float_targets}]\n", BIT(LG_FLOAT32),
     LABELS, true, 0, "float32/-"},
    {"every row ignored", PLAIN "faults: [{kind: no_supervised_row}]\n", BIT(LG_FLOAT32), LABELS,
     true, 0, "float32/- float32/int32"},
    {"no labels", "loss: {kind: binary_cross_entropy}\nbatch: {samples: 8}\n", FLOATS, FLOATS, true,
     1, "float32/- float64/- float16/-"},
    {"a type the values do not fit is left out",
     CE "batch: {classes: 5, logits: {distribution: uniform, lo: -1e5, hi: 1e5}}\n", FLOATS,
     BIT(LG_INT64), true, 0, "float32/- float64/-"},
};

static void read_scenario(const char *name, const char *text, lg_scenario_set *set) {
    lg_diags diags = {0};
    lg_read_options options = {0};
    lg_str whole = {0};
    lg_str_printf(&whole, "title: t\n%s", text);
    bool ok = lg_scenario_read_text("t.yaml", lg_str_text(&whole), whole.n, &options, set, &diags);
    lg_diags_print(&diags, stderr);
    LG_CHECK_ROW(name, ok);
    lg_diags_free(&diags);
    lg_str_free(&whole);
}

static void test_types(void) {
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const fit_row *row = &rows[i];
        lg_scenario_set set;
        read_scenario(row->name, row->text, &set);
        lg_kernel kernel = {.input_dtypes = row->inputs, .target_dtypes = row->targets};
        lg_fit fits[LG_MAX_FITS];
        int n = lg_fits(&set.items[0], &kernel, row->every_type, row->turn, fits);
        lg_str got = {0};
        for (int k = 0; k < n; k++) {
            lg_str_printf(&got, "%s%s/%s", k ? " " : "", lg_dtype_name(fits[k].input),
                          fits[k].labels ? lg_dtype_name(fits[k].labels) : "-");
            LG_CHECK_ROW(row->name, fits[k].further == (k > 0));
        }
        LG_CHECK_ROW(row->name, strcmp(lg_str_text(&got), row->fits) == 0);
        if (strcmp(lg_str_text(&got), row->fits) != 0) {
            fprintf(stderr, "    %s\n", lg_str_text(&got));
        }
        lg_str_free(&got);
        lg_scenario_set_free(&set);
    }
}

// What has the input's type by default goes with it; what has its own stays, and the point tells of
// further types alone.
static void test_copies(void) {
    lg_scenario_set set;
    lg_arena arena = {0};
    read_scenario(
        "copies",
        "loss: {kind: cross_entropy, weight: {uniform: [1, 2]}, grad_output: {uniform: [1, "
        "2], dtype: float64}}\nbatch: {samples: 8, classes: 5}\n",
        &set);
    const lg_scenario *from = &set.items[0];
    lg_fit same = {.input = LG_FLOAT32};
    CU_ASSERT_PTR_EQUAL(lg_fit_input(from, &same, &arena), from);
    CU_ASSERT_FALSE(lg_input_was_fitted(from));
    lg_fit own = {.input = LG_FLOAT16};
    const lg_scenario *copy = lg_fit_input(from, &own, &arena);
    CU_ASSERT_EQUAL(copy->batch.logits.dtype, LG_FLOAT16);
    CU_ASSERT_EQUAL(copy->weight.dtype, LG_FLOAT16);
    CU_ASSERT_EQUAL(copy->grad_output.dtype, LG_FLOAT64);
    CU_ASSERT_TRUE(copy->batch.targets.open_dtype);
    CU_ASSERT_STRING_EQUAL(copy->point, "");
    CU_ASSERT_TRUE(lg_input_was_fitted(copy));
    lg_fit further = {.input = LG_FLOAT16, .labels = LG_UINT8, .further = true};
    copy = lg_fit_input(from, &further, &arena);
    CU_ASSERT_EQUAL(copy->batch.targets.dtype, LG_UINT8);
    CU_ASSERT_FALSE(copy->batch.targets.open_dtype);
    CU_ASSERT_STRING_EQUAL(copy->point, "batch.logits.dtype=float16 batch.targets.dtype=uint8");
    CU_ASSERT_EQUAL(from->batch.logits.dtype, LG_FLOAT32);
    lg_arena_free(&arena);
    lg_scenario_set_free(&set);
}

int main(void) {
    static const lg_test tests[] = {
        {"the types of a kernel", test_types},
        {"the copy in a type", test_copies},
    };
    return lg_run_tests("fit_input", tests, sizeof tests / sizeof *tests);
}
