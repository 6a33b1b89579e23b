// SPDX-License-Identifier: Apache-2.0
#include "report/report.h"
#include "unit/report/fixture.h"
#include "unit/testing.h"

#include <stdlib.h>

static void check_text(const char *name, const lg_case_result *result, const char *expected) {
    char *text = NULL;
    size_t n = 0;
    FILE *memory = open_memstream(&text, &n);
    lg_finding_text(result, memory, false);
    fclose(memory);
    if (strcmp(text, expected) != 0) {
        fprintf(stderr, "\n--- got\n%s--- expected\n%s---\n", text, expected);
    }
    LG_CHECK_ROW(name, strcmp(text, expected) == 0);
    free(text);
}

static void test_a_detected_fault_reads_as_designed(void) {
    fixture f;
    fixture_init(&f);
    check_text(
        "certain", &f.result,
        "FAULT wrong_head_width — certain: labels fill 0..4, the head has 3 outputs\n"
        "  case       faults/wrong_head_width, nll_loss/reduce/assert, async\n"
        "  point      batch.samples=64\n"
        "  verdict    detected\n"
        "  rows       10 of 64: 1 4 7 10 13 16 19 22 …   values 3 (14 times), 4 (once)\n"
        "  detected   device assert `t >= 0 && t < n_classes`, kernels/nll_loss.cu:41, block 0 "
        "thread 3\n"
        "  failed     launch 0 of 3 (nll_loss_forward_reduce_assert_float32_int64)\n"
        "  surfaced   cuStreamSynchronize, 2 calls later\n"
        "  try        out_features = 5\n"
        "  replay     lossgate run --case 0123456789abcdef\n");
}

static void test_an_ambiguous_finding_names_all(void) {
    fixture f;
    fixture_init(&f);
    f.result.finding.certain = false;
    f.result.finding.ambiguous = true;
    f.result.finding.n_named = 2;
    f.result.finding.n_rows = 0;
    f.hypotheses[0].probability = 0.75;
    f.hypotheses[1].probability = 0.25;
    f.result.observation = (lg_observation){0};
    f.result.judged.verdict = LG_SILENT_CORRUPTION;
    f.result.judged.text = "no signal, and a number";
    f.result.as_expected = false;
    f.result.expectation = "expected detected, found silent_corruption";
    f.loss = 1.5;
    f.result.loss = &f.loss;
    f.result.n_loss = 1;
    check_text(
        "ambiguous", &f.result,
        "FAULT wrong_head_width or one_based_labels — ambiguous: labels fill 0..4, the head has 3 "
        "outputs\n"
        "  case       faults/wrong_head_width, nll_loss/reduce/assert, async\n"
        "  point      batch.samples=64\n"
        "  verdict    silent_corruption: no signal, and a number\n"
        "  differs    expected detected, found silent_corruption\n"
        "  loss       1.5, the reference is nan\n"
        "  either     wrong_head_width (75 %): labels fill 0..4\n"
        "  either     one_based_labels (25 %): class 0 occurs\n"
        "  try        out_features = 5\n"
        "  replay     lossgate run --case 0123456789abcdef\n");
}

static void test_a_memory_fault_names_its_line(void) {
    fixture f;
    fixture_init(&f);
    f.result.finding = (lg_finding){0};
    f.result.observation = (lg_observation){.status = LG_STATUS_ILLEGAL_ADDRESS,
                                            .memory = {.present = true,
                                                       .kind = LG_DEVICE_FAULT_OUT_OF_BOUNDS,
                                                       .bytes = 4,
                                                       .file = "kernels/nll_loss.cu",
                                                       .line = 52,
                                                       .thread = {5, 1, 0}}};
    f.result.judged.verdict = LG_MEMORY_FAULT;
    f.result.as_expected = false;
    f.result.expectation = "expected pass, found memory_fault";
    f.scenario.point = "";
    check_text("memory", &f.result,
               "memory_fault — no cause found in the batch\n"
               "  case       faults/wrong_head_width, nll_loss/reduce/assert, async\n"
               "  verdict    memory_fault\n"
               "  differs    expected pass, found memory_fault\n"
               "  memory     read out of bounds of 4 bytes, kernels/nll_loss.cu:52, block 0 thread "
               "[5,1,0]\n"
               "  replay     lossgate run --case 0123456789abcdef\n");
}

int main(void) {
    const lg_test tests[] = {
        {"a detected fault reads as designed", test_a_detected_fault_reads_as_designed},
        {"an ambiguous finding names all", test_an_ambiguous_finding_names_all},
        {"a memory fault names its line", test_a_memory_fault_names_its_line},
    };
    return lg_run_tests(LG_SUITE, tests, sizeof(tests) / sizeof(tests[0]));
}
