// SPDX-License-Identifier: Apache-2.0
#include "session/internal.h"
#include "unit/testing.h"

#include "engine/driver/driver.h"

#include <stdlib.h>
#include <string.h>

static const char *one_kernel[] = {"nll_loss/reduce/assert"};
static const char *reduce_glob[] = {"nll_loss/reduce/*"};
static const char *typo_glob[] = {"nll_los/*"};
static const char *blocking[] = {"blocking"};

typedef struct world {
    lg_kernel kernels[3];
    lg_kernel_set kernel_set;
    lg_scenario points[2];
    lg_scenario_set set;
    lg_driver driver;
    lg_session_options options;
} world;

static void build(world *w) {
    *w = (world){0};
    w->kernels[0] = (lg_kernel){.name = "nll_loss/reduce/assert", .family = LG_NLL_LOSS};
    w->kernels[1] = (lg_kernel){.name = "nll_loss/no_reduce/nan", .family = LG_NLL_LOSS};
    w->kernels[2] = (lg_kernel){.name = "cross_entropy/row/assert", .family = LG_CROSS_ENTROPY};
    w->kernel_set = (lg_kernel_set){.n = 3, .items = w->kernels};
    for (int i = 0; i < 2; i++) {
        w->points[i] = (lg_scenario){.path = "scenarios/a b.yaml",
                                     .name = "a b",
                                     .loss = {.kind = LG_NLL_LOSS},
                                     .batch = {.seed = 7},
                                     .point = i ? "batch.samples=2" : "batch.samples=1"};
    }
    w->set = (lg_scenario_set){.n = 2, .items = w->points};
    w->driver.name = "sim";
    w->options = (lg_session_options){.driver = &w->driver,
                                      .sets = &w->set,
                                      .n_sets = 1,
                                      .kernels = &w->kernel_set,
                                      .jobs = 1,
                                      .repro_prefix = "lossgate run"};
}

static void test_family_and_filters_choose_the_cases(void) {
    world w;
    lg_plan plan;
    const int64_t n_modes = LG_N_MODES - 2; // poisoned has to be asked for
    build(&w);
    lg_plan_build(&w.options, &plan);
    CU_ASSERT_EQUAL(plan.n_cases, 2 * 2 * n_modes); // not the cross-entropy kernel
    CU_ASSERT_EQUAL(plan.n_points, 2);
    CU_ASSERT_EQUAL(plan.n_columns, 2 * n_modes);
    CU_ASSERT_EQUAL(plan.n_kernels, 2);
    CU_ASSERT_EQUAL(plan.points[1].first_case, 2 * n_modes);
    CU_ASSERT_FALSE(plan.cases[0].named);
    lg_plan_free(&plan);

    w.options.kernel_globs = (lg_str_list){.n = 1, .items = reduce_glob};
    w.options.mode_globs = (lg_str_list){.n = 1, .items = blocking};
    lg_plan_build(&w.options, &plan);
    CU_ASSERT_EQUAL(plan.n_cases, 2);
    CU_ASSERT_STRING_EQUAL(plan.cases[0].what.kernel->name, "nll_loss/reduce/assert");
    lg_plan_free(&plan);

    w.options.kernel_globs = (lg_str_list){.n = 1, .items = typo_glob};
    lg_plan_build(&w.options, &plan);
    CU_ASSERT_EQUAL(plan.n_cases, 0);
    CU_ASSERT_EQUAL(plan.n_points, 0);
    lg_plan_free(&plan);
}

static void test_a_scenario_that_names_a_kernel_means_it(void) {
    world w;
    lg_plan plan;
    build(&w);
    w.points[0].kernels = (lg_str_list){.n = 1, .items = one_kernel};
    w.points[1].kernels = (lg_str_list){.n = 1, .items = reduce_glob};
    w.points[0].modes = w.points[1].modes = (lg_str_list){.n = 1, .items = blocking};
    lg_plan_build(&w.options, &plan);
    CU_ASSERT_EQUAL_FATAL(plan.n_cases, 2);
    CU_ASSERT_TRUE(plan.cases[0].named);
    CU_ASSERT_FALSE(plan.cases[1].named);
    lg_plan_free(&plan);
}

static void test_only_a_pattern_of_its_own_selects_a_mutant(void) {
    static const struct {
        const char *name;
        const char *in_scenario, *on_command_line; // a pattern, or NULL
        int64_t n_cases;
    } rows[] = {
        {"no pattern", NULL, NULL, 0},
        {"everything", "*", "*", 0},
        {"a wide pattern that matches", "*/reduce/*", NULL, 0},
        {"its name", "mutants/nll/reduce/wide", NULL, 1},
        {"a pattern in the scenario", "mutants/*", NULL, 1},
        {"a pattern on the command line", NULL, "mutants/*", 1},
        {"another mutant", "mutants/other*", NULL, 0},
        {"one the command line leaves out", "mutants/*", "nll_loss/*", 0},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        world w;
        lg_plan plan;
        build(&w);
        w.kernels[0].name = "mutants/nll/reduce/wide";
        w.kernel_set.n = 1;
        w.set.n = 1;
        w.points[0].modes = (lg_str_list){.n = 1, .items = blocking};
        const char *in_scenario[] = {rows[i].in_scenario};
        const char *on_command_line[] = {rows[i].on_command_line};
        w.points[0].kernels = (lg_str_list){.n = in_scenario[0] ? 1 : 0, .items = in_scenario};
        w.options.kernel_globs =
            (lg_str_list){.n = on_command_line[0] ? 1 : 0, .items = on_command_line};
        lg_plan_build(&w.options, &plan);
        LG_CHECK_ROW(rows[i].name, plan.n_cases == rows[i].n_cases);
        lg_plan_free(&plan);
    }
}

static void test_a_poisoned_context_is_asked_for_by_name(void) {
    static const struct {
        const char *name;
        const char *in_scenario, *on_command_line;
        int64_t n_poisoned;
    } rows[] = {
        {"every mode", NULL, NULL, 0},
        {"a wide pattern", "*", "*", 0},
        {"in the scenario", "poisoned", NULL, 1},
        {"on the command line", NULL, "poisoned", 1},
        {"both", "poisoned", "poisoned", 1},
        {"left out", "poisoned", "blocking", 0},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        world w;
        lg_plan plan;
        build(&w);
        w.kernel_set.n = 1;
        w.set.n = 1;
        const char *in_scenario[] = {rows[i].in_scenario};
        const char *on_command_line[] = {rows[i].on_command_line};
        w.points[0].modes = (lg_str_list){.n = in_scenario[0] ? 1 : 0, .items = in_scenario};
        w.options.mode_globs =
            (lg_str_list){.n = on_command_line[0] ? 1 : 0, .items = on_command_line};
        lg_plan_build(&w.options, &plan);
        int64_t n = 0;
        for (int64_t k = 0; k < plan.n_cases; k++) {
            n += plan.cases[k].what.mode == LG_MODE_POISONED;
        }
        LG_CHECK_ROW(rows[i].name, n == rows[i].n_poisoned);
        lg_plan_free(&plan);
    }
}

// A case for each type of a foreign kernel, each with an id of its own; of a mutant, and of our
// own, one. What is for foreign kernels is for them alone.
static void test_foreign_kernels_are_run_in_every_type(void) {
    static const struct {
        const char *name, *kernel;
        bool foreign, for_foreign;
        int64_t n_cases, n_further;
    } rows[] = {
        {"our own", "nll_loss/reduce/assert", false, false, 1, 0},
        {"a foreign one", "my_loss", true, false, 3, 2},
        {"a mutant", "mutants/nll/wide", true, false, 1, 0},
        {"our own, not for it", "nll_loss/reduce/assert", false, true, 0, 0},
        {"a foreign one, for it", "my_loss", true, true, 3, 2},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        world w;
        lg_plan plan;
        build(&w);
        const char *named[] = {rows[i].kernel};
        w.kernels[0].name = rows[i].kernel;
        w.kernels[0].input_dtypes = 1u << LG_FLOAT32 | 1u << LG_FLOAT16;
        w.kernels[0].target_dtypes = 1u << LG_INT64 | 1u << LG_INT32 | 1u << LG_UINT8;
        w.kernel_set.n = 1;
        w.set.n = 1;
        w.points[0].modes = (lg_str_list){.n = 1, .items = blocking};
        w.points[0].kernels = (lg_str_list){.n = 1, .items = named};
        w.points[0].batch.classes = 3;
        w.points[0].batch.logits = (lg_array_spec){.dtype = LG_FLOAT32, .default_dtype = true};
        w.points[0].batch.targets = (lg_array_spec){.dtype = LG_INT64, .open_dtype = true};
        w.points[0].foreign = rows[i].for_foreign;
        w.options.foreign = rows[i].foreign;
        lg_plan_build(&w.options, &plan);
        LG_CHECK_ROW(rows[i].name, plan.n_cases == rows[i].n_cases);
        LG_CHECK_ROW(rows[i].name, plan.n_points == rows[i].n_cases);
        int64_t n_further = 0;
        for (int64_t k = 0; k < plan.n_cases; k++) {
            bool further = plan.points[plan.cases[k].point].further;
            n_further += further;
            LG_CHECK_ROW(rows[i].name, plan.cases[k].named == !further);
            for (int64_t other = 0; other < k; other++) {
                LG_CHECK_ROW(rows[i].name,
                             strcmp(plan.cases[k].what.id, plan.cases[other].what.id) != 0);
            }
        }
        LG_CHECK_ROW(rows[i].name, n_further == rows[i].n_further);
        lg_plan_free(&plan);
    }
}

static void test_ids_are_stable_and_apart(void) {
    world w;
    build(&w);
    char id[17];
    lg_case_id(&w.points[0], &w.kernels[0], LG_MODE_BLOCKING, "sim", id);
    // Written down once: ids in old result files must stay valid.
    CU_ASSERT_STRING_EQUAL(id, "21ab745a75517905");
    lg_plan plan;
    lg_plan_build(&w.options, &plan);
    for (int64_t i = 0; i < plan.n_cases; i++) {
        for (int64_t j = 0; j < i; j++) {
            CU_ASSERT_STRING_NOT_EQUAL(plan.cases[i].what.id, plan.cases[j].what.id);
        }
    }
    lg_plan_free(&plan);
    char other[17];
    lg_case_id(&w.points[0], &w.kernels[0], LG_MODE_BLOCKING, "cuda", other);
    CU_ASSERT_STRING_NOT_EQUAL(id, other);
    w.points[0].batch.seed = 8;
    lg_case_id(&w.points[0], &w.kernels[0], LG_MODE_BLOCKING, "sim", other);
    CU_ASSERT_STRING_NOT_EQUAL(id, other);
}

static void test_a_repro_line_selects_its_case(void) {
    world w;
    lg_plan plan;
    build(&w);
    lg_plan_build(&w.options, &plan);
    lg_case what = plan.cases[plan.n_cases - 1].what;
    char *line = lg_case_repro(&what, "lossgate run");
    char expected[256];
    snprintf(expected, sizeof(expected),
             "lossgate run --case %s --seed 7 'scenarios/a b.yaml' --kernel nll_loss/no_reduce/nan "
             "--mode %s",
             what.id, lg_mode_name(what.mode));
    CU_ASSERT_STRING_EQUAL(line, expected);
    free(line);
    char id[17];
    memcpy(id, what.id, sizeof(id));
    lg_plan_free(&plan);
    w.options.only_case = id;
    w.options.has_seed = true;
    w.options.seed = 7;
    lg_plan_build(&w.options, &plan);
    CU_ASSERT_EQUAL(plan.n_cases, 1);
    CU_ASSERT_EQUAL(plan.n_columns, 1);
    CU_ASSERT_STRING_EQUAL(plan.cases[0].what.id, id);
    lg_plan_free(&plan);
    w.options.seed = 8; // another seed is another case
    lg_plan_build(&w.options, &plan);
    CU_ASSERT_EQUAL(plan.n_cases, 0);
    lg_plan_free(&plan);
}

int main(void) {
    const lg_test tests[] = {
        {"family and filters choose the cases", test_family_and_filters_choose_the_cases},
        {"a scenario that names a kernel means it", test_a_scenario_that_names_a_kernel_means_it},
        {"only a pattern of its own selects a mutant",
         test_only_a_pattern_of_its_own_selects_a_mutant},
        {"a poisoned context is asked for by name", test_a_poisoned_context_is_asked_for_by_name},
        {"foreign kernels are run in every type", test_foreign_kernels_are_run_in_every_type},
        {"ids are stable and apart", test_ids_are_stable_and_apart},
        {"a repro line selects its case", test_a_repro_line_selects_its_case},
    };
    return lg_run_tests(LG_SUITE, tests, sizeof(tests) / sizeof(tests[0]));
}
