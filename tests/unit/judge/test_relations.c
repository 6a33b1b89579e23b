// SPDX-License-Identifier: Apache-2.0
// Kernels whose numbers are right on the batch they are given, and that break a relation.
#include "attribute/attribute.h"
#include "judge/judge.h"

#include "session/session.h"
#include "unit/device/kernel_folder.h"
#include "unit/judge/relation_helpers.h"
#include "unit/judge/relation_kernels.h"

#include <math.h>

static kernel_folder f;

static void set_up(void) {
    open_kernels(&f, relation_source);
    add_manifest(&f, "nll.yaml", relation_nll_manifest);
    add_manifest(&f, "ce.yaml", relation_ce_manifest);
}

static void tear_down(void) {
    close_kernels(&f);
}

#define NLL(reduction, direction)                                                                  \
    "title: t\nloss: {kind: nll_loss, reduction: " reduction ", direction: " direction "}\n"
#define CE "title: t\nloss: {kind: cross_entropy, reduction: none, direction: forward}\n"
#define ASCENDING "batch: {samples: 8, classes: 5, targets: {values: [0, 0, 1, 1, 2, 3, 4, 4]}}\n"
#define FLAT "batch: {samples: 24, classes: 5}\n"
#define SPATIAL "batch: {samples: 4, extent: [6], classes: 5}\n"
#define VIEW "batch: {samples: 4, extent: [6], classes: 5, logits: {stride: [30, 1, 5]}}\n"
#define ALL "run: {relations: [permute_rows, split_batch, double_batch]}\n"
#define ONLY(relation) "run: {relations: [" relation "]}\n"

typedef struct kernel_row {
    const char *name;
    const char *kernel;
    const char *text;
    lg_verdict verdict;
    const char *relation; // that the reason must name; NULL: all are kept
    lg_cause cause;
} kernel_row;

static const kernel_row rows[] = {
    {"right", "test/right", NLL("none", "forward") FLAT ALL, LG_PASS, NULL, LG_CAUSE_NONE},
    {"counts on ascending labels", "test/ascending", NLL("none", "forward") ASCENDING ALL,
     LG_WRONG_RESULT, "permute_rows", LG_CAUSE_RACE},
    {"divides by 16 at least", "test/sixteen", NLL("mean", "forward") FLAT ALL, LG_WRONG_RESULT,
     "split_batch", LG_CAUSE_WRONG_NORMALISATION},
    {"one block of rows", "test/one_block", NLL("sum", "forward") FLAT ALL, LG_WRONG_RESULT,
     "double_batch", LG_CAUSE_INDEX_OVERFLOW},
    {"a gradient of 32 rows", "test/short_gradient", NLL("sum", "both") FLAT ALL, LG_WRONG_RESULT,
     "double_batch", LG_CAUSE_INDEX_OVERFLOW},
    {"reads past the input", "test/past_input", NLL("none", "forward") FLAT ALL, LG_MEMORY_FAULT,
     "double_batch", LG_CAUSE_INDEX_OVERFLOW},
    {"writes past the output", "test/past_output", NLL("none", "forward") FLAT ALL, LG_MEMORY_FAULT,
     "double_batch", LG_CAUSE_INDEX_OVERFLOW},
    {"writes its input", "test/writes_input", NLL("none", "forward") FLAT ALL, LG_WRONG_RESULT,
     "double_batch", LG_CAUSE_INPUT_OVERWRITTEN},
    {"writes its target", "test/writes_target", NLL("none", "forward") FLAT ALL, LG_WRONG_RESULT,
     "double_batch", LG_CAUSE_INPUT_OVERWRITTEN},
    {"classes outside, without a sample axis", "test/outer_classes",
     NLL("none", "forward") SPATIAL ONLY("flatten_spatial"), LG_WRONG_RESULT, "flatten_spatial",
     LG_CAUSE_STRIDES_IGNORED},
    {"classes outside is right with extra dimensions", "test/outer_classes",
     NLL("none", "forward") SPATIAL ALL, LG_PASS, NULL, LG_CAUSE_NONE},
    {"a wrong fast path", "test/fast_path", NLL("none", "forward") VIEW ONLY("contiguous_copy"),
     LG_WRONG_RESULT, "contiguous_copy", LG_CAUSE_STRIDES_IGNORED},
    {"no maximum", "test/no_maximum", CE FLAT ONLY("shift_logits"), LG_WRONG_RESULT, "shift_logits",
     LG_CAUSE_NUMERICAL_STABILITY},
    {"with a maximum", "test/with_maximum",
     CE FLAT "run: {relations: [permute_rows, split_batch, double_batch, shift_logits]}\n", LG_PASS,
     NULL, LG_CAUSE_NONE},
};

// Runs and judges the case itself, which must pass, and then its relations.
static void run_case(const kernel_row *row, const scene *s, const lg_relations *relations,
                     const lg_case *what, lg_case_result *result, lg_arena *arena) {
    lg_run_request request = {.kernel = what->kernel, .batch = &s->batch, .mode = LG_MODE_BLOCKING};
    CU_ASSERT_TRUE_FATAL(lg_device_run(f.device, &request, &result->observation, &f.diags));
    lg_case_facts facts = {.run = {.batch = &s->batch,
                                   .reference = &s->reference,
                                   .kernel = what->kernel,
                                   .observation = &result->observation},
                           .given = &s->batch};
    facts.run_shows = lg_judge_run(&facts.run, arena);
    LG_CHECK_ROW(row->name, facts.run_shows.verdict == LG_PASS);
    lg_relations_observe(f.device, relations, what, &facts, arena, &f.diags);
    result->judged = lg_judge(&facts, arena);
    if (facts.relation.broken) {
        lg_attribute_relation(&facts.relation, &result->finding);
    }
    result->attribution = lg_attribution_grade(&s->batch, &result->finding);
    lg_relation_fact_free(&facts.relation);
    lg_diags_print(&f.diags, stderr);
    LG_CHECK_ROW(row->name, f.diags.n_errors == 0);
}

static void test_kernels(void) {
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const kernel_row *row = &rows[i];
        scene s;
        lg_arena arena = {0};
        lg_relations relations;
        scene_begin(&s, row->text);
        CU_ASSERT_TRUE_FATAL(lg_relations_make(&s.set.items[0], &s.batch, &relations));
        lg_case what = {.scenario = &s.set.items[0], .kernel = find_kernel(&f, row->kernel)};
        lg_case_result result = {.what = &what};
        LG_CHECK_ROW(row->name,
                     !lg_relations_unsuitable(&relations, what.scenario, what.kernel, &arena));
        run_case(row, &s, &relations, &what, &result, &arena);
        LG_CHECK_ROW(row->name, result.judged.verdict == row->verdict);
        LG_CHECK_ROW(row->name, result.finding.cause == row->cause);
        if (row->relation) {
            LG_CHECK_ROW(row->name,
                         result.judged.text && strstr(result.judged.text, row->relation));
            LG_CHECK_ROW(row->name, result.finding.headline && !result.finding.certain);
            LG_CHECK_ROW(row->name, result.attribution == LG_ATTRIBUTION_WRONG);
        } else {
            LG_CHECK_ROW(row->name, !result.judged.text);
            LG_CHECK_ROW(row->name, result.attribution == LG_ATTRIBUTION_NONE);
        }
        if (result.judged.verdict != row->verdict || result.finding.cause != row->cause) {
            fprintf(stderr, "    %s, %s: %s\n", lg_verdict_name(result.judged.verdict),
                    lg_cause_name(result.finding.cause),
                    result.judged.text ? result.judged.text : "-");
        }
        lg_case_result_free(&result);
        lg_relations_free(&relations);
        lg_arena_free(&arena);
        scene_end(&s);
    }
}

// A kernel that takes no N×C input cannot show that extra dimensions are samples.
static void test_unsuitable(void) {
    scene s;
    lg_arena arena = {0};
    lg_relations relations;
    scene_begin(&s, NLL("none", "forward") SPATIAL ONLY("flatten_spatial"));
    CU_ASSERT_TRUE_FATAL(lg_relations_make(&s.set.items[0], &s.batch, &relations));
    lg_kernel narrow = *find_kernel(&f, "test/outer_classes");
    CU_ASSERT_PTR_NULL(lg_relations_unsuitable(&relations, &s.set.items[0], &narrow, &arena));
    narrow.batched = false;
    const char *why = lg_relations_unsuitable(&relations, &s.set.items[0], &narrow, &arena);
    CU_ASSERT_PTR_NOT_NULL_FATAL(why);
    CU_ASSERT_STRING_EQUAL(why, "relation flatten_spatial: it takes no N×C input");
    lg_relations_free(&relations);
    lg_arena_free(&arena);
    scene_end(&s);
}

// The session's own way: the case fails in the mode blocking and only there, and a kernel that
// cannot take the other batch is no case.
static void test_in_a_case(void) {
    static const struct {
        const char *name, *kernel, *text;
        lg_mode mode;
        lg_verdict verdict;
        bool absent;
    } cases[] = {
        {"broken", "test/one_block", NLL("sum", "forward") FLAT ALL, LG_MODE_BLOCKING,
         LG_WRONG_RESULT, false},
        {"not looked at", "test/one_block", NLL("sum", "forward") FLAT ALL, LG_MODE_ASYNC, LG_PASS,
         false},
        {"not asked for", "test/one_block", NLL("sum", "forward") FLAT, LG_MODE_BLOCKING, LG_PASS,
         false},
        {"kept", "test/right", NLL("none", "forward") FLAT ALL, LG_MODE_BLOCKING, LG_PASS, false},
        {"kept with labels of 32 bits", "test/right32", NLL("none", "forward") FLAT ALL,
         LG_MODE_BLOCKING, LG_PASS, false},
        {"broken with labels of 32 bits", "test/rows32", NLL("none", "forward") FLAT ALL,
         LG_MODE_BLOCKING, LG_WRONG_RESULT, false},
        {"no labels of 64 bits", "test/right32",
         NLL("none", "forward") "batch: {samples: 24, classes: 5, targets: {dtype: int64}}\n" ALL,
         LG_MODE_BLOCKING, LG_SKIPPED, true},
        {"cannot be taken", "test/spatial_only",
         NLL("none", "forward") SPATIAL ONLY("flatten_spatial"), LG_MODE_BLOCKING, LG_SKIPPED,
         true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        lg_scenario_set set;
        lg_read_options options = {0};
        lg_point_data data;
        lg_case_run run;
        CU_ASSERT_TRUE_FATAL(lg_scenario_read_text("t.yaml", cases[i].text, strlen(cases[i].text),
                                                   &options, &set, &f.diags));
        lg_point_prepare(&set.items[0], &data, &f.diags);
        lg_case what = {.scenario = &set.items[0],
                        .kernel = find_kernel(&f, cases[i].kernel),
                        .mode = cases[i].mode};
        lg_case_run_one(f.device, &what, false, &data, NULL, "run", &run, &f.diags);
        LG_CHECK_ROW(cases[i].name, run.absent == cases[i].absent);
        LG_CHECK_ROW(cases[i].name, run.result.judged.verdict == cases[i].verdict);
        if (cases[i].verdict == LG_WRONG_RESULT) {
            LG_CHECK_ROW(cases[i].name, !run.result.as_expected);
            LG_CHECK_ROW(cases[i].name,
                         run.result.judged.text &&
                             !strncmp(run.result.judged.text, "relation double_batch", 21));
            LG_CHECK_ROW(cases[i].name, run.result.judged.detected_by == LG_DETECTOR_RELATION);
        }
        lg_case_run_free(&run);
        lg_point_free(&data);
        lg_scenario_set_free(&set);
    }
    lg_diags_print(&f.diags, stderr);
    CU_ASSERT_EQUAL(f.diags.n_errors, 0);
}

static void test_nothing_asked(void) {
    scene s;
    lg_relations relations;
    scene_begin(&s, NLL("none", "forward") FLAT);
    CU_ASSERT_TRUE(lg_relations_make(&s.set.items[0], &s.batch, &relations));
    CU_ASSERT_EQUAL(relations.n, 0);
    lg_relations_free(&relations);
    scene_end(&s);
}

int main(void) {
    static const lg_test tests[] = {
        {"set up", set_up},
        {"kernels that break a relation", test_kernels},
        {"unsuitable kernels", test_unsuitable},
        {"in a case", test_in_a_case},
        {"nothing asked", test_nothing_asked},
        {"tear down", tear_down},
    };
    return lg_run_tests(LG_SUITE, tests, sizeof tests / sizeof *tests);
}
