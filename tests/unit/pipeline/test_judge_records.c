// SPDX-License-Identifier: Apache-2.0
// The fault records of binary losses: each field that is wrong must be noticed.
#include "pipeline/judge_records.h"
#include "unit/testing.h"

#include <string.h>

static int64_t bits(double value) {
    int64_t out;
    memcpy(&out, &value, sizeof out);
    return out;
}

typedef struct record_row {
    const char *name;
    int64_t row;
    double value;
    int64_t lower, upper;
    uint32_t code;
    lg_records_verdict want;
} record_row;

// Row 1 has the input 1.5 and the target 0.25; row 0 is valid.
static const record_row rows[] = {
    {"as it is", 1, 1.5, 0, 1, LG_RECORD_INPUT, LG_RECORDS_EXACT},
    {"another value", 1, 1.25, 0, 1, LG_RECORD_INPUT, LG_RECORDS_WRONG},
    {"upper bound 0", 1, 1.5, 0, 0, LG_RECORD_INPUT, LG_RECORDS_WRONG},
    {"lower bound 1", 1, 1.5, 1, 1, LG_RECORD_INPUT, LG_RECORDS_WRONG},
    {"the target's code", 1, 1.5, 0, 1, LG_RECORD_TARGET, LG_RECORDS_WRONG},
    {"no code", 1, 1.5, 0, 1, 0, LG_RECORDS_WRONG},
    {"a valid row", 0, 0.5, 0, 1, LG_RECORD_INPUT, LG_RECORDS_VALID_ROW},
};

static void test_every_field_counts(void) {
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const record_row *row = &rows[i];
        lg_batch batch = {.loss = {.kind = LG_BCE, .direction = LG_FORWARD}};
        const int64_t shape[] = {2};
        CU_ASSERT_TRUE_FATAL(lg_tensor_init(&batch.input, LG_FLOAT32, 1, shape));
        CU_ASSERT_TRUE_FATAL(lg_tensor_init(&batch.target, LG_FLOAT32, 1, shape));
        lg_tensor_set_f64(&batch.input, 0, 0.5);
        lg_tensor_set_f64(&batch.input, 1, 1.5);
        lg_tensor_set_f64(&batch.target, 0, 0.25);
        lg_tensor_set_f64(&batch.target, 1, 0.25);
        int64_t invalid = 1;
        lg_reference reference = {.n_rows = 2, .n_invalid = 1, .invalid_rows = &invalid};
        lg_fault_record record = {.row = row->row,
                                  .value = bits(row->value),
                                  .lower = row->lower,
                                  .upper = row->upper,
                                  .code = row->code};
        lg_observation seen = {.n_records = 1, .records = &record};
        lg_arena arena = {0};
        const char *why;
        LG_CHECK_ROW(row->name,
                     lg_records_check(&batch, &reference, &seen, &arena, &why) == row->want);
        LG_CHECK_ROW(row->name, (why == NULL) == (row->want == LG_RECORDS_EXACT));
        lg_arena_free(&arena);
        lg_batch_free(&batch);
    }
}

int main(void) {
    const lg_test tests[] = {{"every field counts", test_every_field_counts}};
    return lg_run_tests("pipeline.judge_records", tests, sizeof tests / sizeof tests[0]);
}
