// SPDX-License-Identifier: Apache-2.0
// What a file of labels holds that is no label: NaN, infinities, classes beyond those stated;
// shapes that want a squeeze.
#include "unit/diagnose/helpers.h"

static const value_row rows[] = {
    {.name = "a NaN",
     .floats = true,
     .rank = 1,
     .shape = {4},
     .targets = {0, NAN, 2, NAN},
     .width = 3,
     .cause = LG_CAUSE_FLOAT_TARGETS,
     .n_bad = 2,
     .text = "hold nan (2 times), the first at 1",
     .not_in_it = "922337"},
    {.name = "infinities",
     .floats = true,
     .rank = 1,
     .shape = {4},
     .targets = {0, INFINITY, 2, -INFINITY},
     .width = 3,
     .cause = LG_CAUSE_FLOAT_TARGETS,
     .n_bad = 2,
     .text = "hold inf and -inf, the first at 1",
     .not_in_it = "whole numbers"},
    {.name = "whole floats",
     .floats = true,
     .rank = 1,
     .shape = {4},
     .targets = {0, 1, 2, 2},
     .width = 3,
     .cause = LG_CAUSE_FLOAT_TARGETS,
     .text = "all whole numbers",
     .not_in_it = "nan"},
    {.name = "a NaN among probabilities",
     .floats = true,
     .rank = 2,
     .shape = {2, 2},
     .targets = {0.5, 0.5, NAN, 1},
     .width = 2,
     .cause = LG_CAUSE_VALUE_DOMAIN,
     .n_bad = 1,
     .text = "1 target row is no probabilities: nan, the first at 1",
     .not_in_it = "logits"},
    {.name = "an infinity among probabilities",
     .floats = true,
     .rank = 2,
     .shape = {2, 2},
     .targets = {0.5, 0.5, INFINITY, 1},
     .n_logits = 2,
     .width = 2,
     .logits = {1, -1, 0, 2},
     .cause = LG_CAUSE_VALUE_DOMAIN,
     .n_bad = 1,
     .text = "inf, the first at 1"},
    {.name = "no probabilities at all",
     .floats = true,
     .rank = 2,
     .shape = {0, 3},
     .width = 3,
     .text = "there is no row",
     .not_in_it = "float_targets"},
    {.name = "no labels at all",
     .floats = true,
     .rank = 1,
     .shape = {0},
     .width = 3,
     .text = "there is no row"},
    // Classes.
    {.name = "labels beyond the classes stated",
     .rank = 1,
     .shape = {4},
     .targets = {0, 4, 2, 5},
     .width = 6,
     .classes = 4,
     .cause = LG_CAUSE_CORRUPT_LABELS,
     .n_bad = 2,
     .text = "2 of 4: 1 3",
     .not_in_it = "certain"},
    {.name = "as many as stated",
     .rank = 1,
     .shape = {4},
     .targets = {0, 3, 2, 1},
     .width = 6,
     .classes = 4,
     .text = "nothing wrong: 4 rows"},
    {.name = "one that is ignored is not beyond",
     .rank = 1,
     .shape = {4},
     .targets = {0, 3, 2, -100},
     .width = 6,
     .classes = 4,
     .text = "nothing wrong: 4 rows"},
    // Shapes.
    {.name = "a column",
     .rank = 2,
     .shape = {4, 1},
     .targets = {0, 1, 2, 0},
     .width = 3,
     .text = "[4, 1]: logits of N x C want [N]: targets.squeeze(1)"},
    {.name = "a row",
     .rank = 2,
     .shape = {1, 4},
     .targets = {0, 1, 2, 0},
     .width = 3,
     .text = "[1, 4]: logits of N x C want [N]: targets.squeeze(0)"},
    {.name = "a column with its logits",
     .rank = 2,
     .shape = {2, 1},
     .targets = {0, 1},
     .n_logits = 2,
     .width = 3,
     .logits = {1, -1, 0, 2, 3, 4},
     .cause = LG_CAUSE_SHAPE_LAYOUT,
     .text = "try       hand over targets.squeeze(1)"},
    {.name = "a row with its logits",
     .rank = 2,
     .shape = {1, 2},
     .targets = {0, 1},
     .n_logits = 2,
     .width = 3,
     .logits = {1, -1, 0, 2, 3, 4},
     .cause = LG_CAUSE_SHAPE_LAYOUT,
     .text = "try       hand over targets.squeeze(0)"},
    {.name = "one label more than logits",
     .rank = 1,
     .shape = {3},
     .targets = {0, 1, 2},
     .n_logits = 2,
     .width = 3,
     .logits = {1, -1, 0, 2, 3, 4},
     .cause = LG_CAUSE_SHAPE_LAYOUT,
     .text = "as many labels as logits have rows: 3 and 2 are there"},
};

static void test_rows(void) {
    check_rows(rows, sizeof rows / sizeof *rows);
}

// Bytes that fill 0..255 may be longer labels that wrapped; as int64 they are what they are.
static void test_bytes(void) {
    char path[64];
    uint8_t bytes[2560];
    int64_t integers[2560];
    const int64_t n = 2560;
    lg_diags diags = {0};
    snprintf(path, sizeof path, "%s/t.npy", folder);
    for (int i = 0; i < n; i++) {
        bytes[i] = (uint8_t)i;
        integers[i] = i % 256;
    }
    for (int wide = 0; wide < 2; wide++) {
        const void *data = wide ? (const void *)integers : bytes;
        CU_ASSERT_TRUE_FATAL(
            lg_npy_write(path, wide ? LG_NPY_INT64 : LG_NPY_UINT8, 1, &n, data, &diags));
        lg_diagnose_options options = {.targets = path, .head_width = 10, .ignore_index = -100};
        lg_diagnose_result got;
        CU_ASSERT_TRUE_FATAL(lg_diagnose(&options, &got, &diags));
        CU_ASSERT_EQUAL(got.finding.cause, LG_CAUSE_WRONG_HEAD_WIDTH);
        CU_ASSERT_EQUAL(got.finding.certain, wide == 1);
        CU_ASSERT_EQUAL(got.n_notes, wide ? 0 : 1);
        lg_diagnose_free(&got);
    }
    unlink(path);
    lg_diags_free(&diags);
}

int main(void) {
    static const lg_test tests[] = {{"values", test_rows}, {"bytes", test_bytes}};
    return run_in_folder(LG_SUITE, tests, sizeof tests / sizeof *tests);
}
