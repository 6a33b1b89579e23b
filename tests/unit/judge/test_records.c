// SPDX-License-Identifier: Apache-2.0
// The fault records of a `report` kernel: each field that is wrong must be noticed, and named.
#include "judge/internal.h"
#include "unit/testing.h"

#include <math.h>
#include <string.h>

enum { ROWS = 6, WIDTH = 3, MAX_RECORDS = 8 };

static int64_t bits(double value) {
    int64_t out;
    memcpy(&out, &value, sizeof out);
    return out;
}

typedef struct scene {
    lg_batch batch;
    lg_reference reference;
    lg_kernel kernel;
    lg_stage stages[2];
    lg_launch launches[3];
    lg_fault_record records[MAX_RECORDS];
    lg_observation seen;
} scene;

static lg_arg label_args[] = {
    {.id = LG_ARG_TARGET}, {.id = LG_ARG_FAULT_RECORD}, {.id = LG_ARG_LAUNCH_INDEX}};

static void add(scene *s, int64_t row, int64_t value, int64_t upper, uint32_t code, int launch) {
    s->records[s->seen.n_records++] = (lg_fault_record){.row = row,
                                                        .value = value,
                                                        .upper = upper,
                                                        .block = {(int32_t)(row / 2), 0, 0},
                                                        .thread = {(int32_t)(row % 2), 0, 0},
                                                        .kernel = (uint32_t)launch,
                                                        .code = code};
}

// Three blocks of two threads, one row each; a launch that has no ring stands between the two.
static void build_launches(scene *s) {
    s->kernel = (lg_kernel){.policy = LG_POLICY_REPORT, .n_stages = 2, .stages = s->stages};
    for (int i = 0; i < 2; i++) {
        s->stages[i] = (lg_stage){.direction = i ? LG_BACKWARD : LG_FORWARD,
                                  .recorder = "row",
                                  .n_args = 3,
                                  .args = label_args};
    }
    for (int i = 0; i < 3; i++) {
        s->launches[i] =
            (lg_launch){.stage = i == 1 ? -1 : i / 2, .grid = {3, 1, 1}, .block = {2, 1, 1}};
    }
    s->seen.n_launches = 3;
    s->seen.launches = s->launches;
    s->seen.records = s->records;
}

// Rows 1 and 4 hold the labels 3 and -7; forward and backward record both.
static void build_labels(scene *s) {
    *s = (scene){
        .batch = {.loss = {.kind = LG_NLL_LOSS, .ignore_index = -100, .direction = LG_BOTH}}};
    CU_ASSERT_TRUE_FATAL(lg_tensor_init(&s->batch.input, LG_FLOAT32, 2, (int64_t[]){ROWS, WIDTH}));
    CU_ASSERT_TRUE_FATAL(lg_tensor_init(&s->batch.target, LG_INT64, 1, (int64_t[]){ROWS}));
    for (int i = 0; i < ROWS * WIDTH; i++) {
        lg_tensor_set_f64(&s->batch.input, i, -1);
    }
    for (int i = 0; i < ROWS; i++) {
        lg_tensor_set_i64(&s->batch.target, i, i == 1 ? 3 : i == 4 ? -7 : 0);
    }
    CU_ASSERT_TRUE_FATAL(lg_reference_compute(&s->batch, false, &s->reference));
    CU_ASSERT_EQUAL_FATAL(s->reference.n_invalid, 2);
    build_launches(s);
    for (int launch = 0; launch < 3; launch += 2) {
        add(s, 1, 3, WIDTH, LG_RECORD_LABEL, launch);
        add(s, 4, -7, WIDTH, LG_RECORD_LABEL, launch);
    }
}

// Row 1 has the input 1.5, row 4 the input -0.5 and the target NaN.
static void build_binary(scene *s) {
    *s = (scene){.batch = {.loss = {.kind = LG_BCE, .direction = LG_FORWARD}}};
    CU_ASSERT_TRUE_FATAL(lg_tensor_init(&s->batch.input, LG_FLOAT32, 1, (int64_t[]){ROWS}));
    CU_ASSERT_TRUE_FATAL(lg_tensor_init(&s->batch.target, LG_FLOAT32, 1, (int64_t[]){ROWS}));
    for (int i = 0; i < ROWS; i++) {
        lg_tensor_set_f64(&s->batch.input, i, i == 1 ? 1.5 : i == 4 ? -0.5 : 0.5);
        lg_tensor_set_f64(&s->batch.target, i, i == 4 ? NAN : 0.25);
    }
    CU_ASSERT_TRUE_FATAL(lg_reference_compute(&s->batch, false, &s->reference));
    CU_ASSERT_EQUAL_FATAL(s->reference.n_invalid, 2);
    build_launches(s);
    s->seen.n_launches = 1;
    add(s, 1, bits(1.5), 1, LG_RECORD_INPUT, 0);
    add(s, 4, bits(-0.5), 1, LG_RECORD_INPUT, 0);
    add(s, 4, bits(NAN), 1, LG_RECORD_TARGET, 0);
}

// Row 1 has the probabilities 0.5, -0.5, 1; the others 0, 0, 0.
static void build_probabilities(scene *s) {
    build_labels(s);
    lg_tensor_free(&s->batch.target);
    lg_reference_free(&s->reference);
    s->batch.loss.kind = LG_CROSS_ENTROPY;
    s->batch.target_is_probability = true;
    CU_ASSERT_TRUE_FATAL(lg_tensor_init(&s->batch.target, LG_FLOAT32, 2, (int64_t[]){ROWS, WIDTH}));
    const double row[] = {0.5, -0.5, 1};
    for (int i = 0; i < ROWS * WIDTH; i++) {
        lg_tensor_set_f64(&s->batch.target, i, i / WIDTH == 1 ? row[i % WIDTH] : 0);
    }
    static int64_t invalid[] = {1};
    s->reference = (lg_reference){.n_rows = ROWS, .n_invalid = 1, .invalid_rows = invalid};
    s->seen.n_records = 0;
    add(s, 1, bits(-0.5), 1, LG_RECORD_TARGET, 0);
    add(s, 1, bits(-0.5), 1, LG_RECORD_TARGET, 2);
}

static void nothing(scene *s) {
    (void)s;
}
static void another_value(scene *s) {
    s->records[1].value = 3;
}
static void another_code(scene *s) {
    s->records[0].code = LG_RECORD_INPUT;
}
static void lower_bound(scene *s) {
    s->records[0].lower = 1;
}
static void upper_bound(scene *s) {
    s->records[0].upper++;
}
static void valid_row(scene *s) {
    s->records[0].row = 0;
}
static void no_such_row(scene *s) {
    s->records[0].row = ROWS;
}
static void row_before_the_first(scene *s) {
    s->records[0].row = -1;
}
static void block_outside(scene *s) {
    s->records[0].block[0] = 3;
}
static void block_y_outside(scene *s) {
    s->records[0].block[1] = 1;
}
static void thread_outside(scene *s) {
    s->records[0].thread[0] = 2;
}
static void thread_below(scene *s) {
    s->records[0].thread[2] = -1;
}
static void another_thread(scene *s) {
    s->records[0].thread[0] = 0;
}
static void another_block(scene *s) {
    s->records[0].block[0] = 1;
}
static void another_thread_untold(scene *s) {
    another_thread(s);
    s->stages[0].recorder = NULL;
}
static void unrelated_launch(scene *s) {
    s->records[0].kernel = 1;
}
static void no_such_launch(scene *s) {
    s->records[0].kernel = 3;
}
static void backward_says_forward(scene *s) {
    s->records[2].kernel = 0;
}
static void twice(scene *s) {
    s->records[s->seen.n_records++] = s->records[0];
}
static void backward_forgets_one(scene *s) {
    s->seen.n_records = 3;
}
static void backward_forgets_all(scene *s) {
    s->seen.n_records = 2;
}
static void forward_forgets_one(scene *s) {
    s->records[0] = s->records[--s->seen.n_records]; // row 4, backward
}
static void one_row_never(scene *s) {
    s->records[1] = s->records[2];
    s->seen.n_records = 2;
}
static void no_record(scene *s) {
    s->seen.n_records = 0;
}
static void no_number(scene *s) { // no launch is told its own: any number will do, twice a row
    for (int i = 0; i < 2; i++) {
        s->stages[i].n_args = 2;
    }
    s->records[0].kernel = s->records[2].kernel = 77;
}
static void no_number_thrice(scene *s) {
    no_number(s);
    twice(s);
}
static void no_number_outside(scene *s) {
    no_number(s);
    block_outside(s);
}
static void some_dropped(scene *s) {
    s->seen.n_records = 3;
    s->seen.n_records_dropped = 1;
}
static void too_many_dropped(scene *s) {
    s->seen.n_records_dropped = 2;
}
static void too_few_dropped(scene *s) {
    s->seen.n_records = 2;
    s->seen.n_records_dropped = 1;
}
static void all_dropped(scene *s) {
    s->seen.n_records = 0;
    s->seen.n_records_dropped = 4;
}
static void launches_unknown(scene *s) {
    s->seen.launches = NULL;
}
static void one_operand_of_two(scene *s) {
    s->seen.n_records = 2;
}
static void accuses_the_good_operand(scene *s) {
    s->records[0].code = LG_RECORD_TARGET;
    s->records[0].value = bits(0.25);
}
static void another_probability(scene *s) {
    s->records[0].value = bits(1);
}
static void not_the_nan(scene *s) {
    s->records[2].value = bits(2);
}

typedef struct record_row {
    const char *name;
    void (*build)(scene *s);
    void (*change)(scene *s);
    lg_records_verdict want;
    const char *why; // a part of it; NULL: there is none
} record_row;

static const record_row rows[] = {
    {"labels: right", build_labels, nothing, LG_RECORDS_EXACT, NULL},
    {"labels: value", build_labels, another_value, LG_RECORDS_WRONG,
     "row 4 (launch 0) has value 3, right is -7"},
    {"labels: code", build_labels, another_code, LG_RECORDS_WRONG, "has code 2, right is 1"},
    {"labels: lower", build_labels, lower_bound, LG_RECORDS_WRONG, "lower bound 1, right is 0"},
    {"labels: upper", build_labels, upper_bound, LG_RECORDS_WRONG, "upper bound 4, right is 3"},
    {"labels: valid row", build_labels, valid_row, LG_RECORDS_VALID_ROW,
     "row 0 (value 3), which is valid"},
    {"labels: no such row", build_labels, no_such_row, LG_RECORDS_WRONG, "row 6, the batch has 6"},
    {"labels: row -1", build_labels, row_before_the_first, LG_RECORDS_WRONG, "row -1"},
    {"labels: block", build_labels, block_outside, LG_RECORDS_WRONG,
     "block.x 3, right is one of 3"},
    {"labels: block.y", build_labels, block_y_outside, LG_RECORDS_WRONG, "block.y 1"},
    {"labels: thread", build_labels, thread_outside, LG_RECORDS_WRONG,
     "thread.x 2, right is one of 2"},
    {"labels: thread.z", build_labels, thread_below, LG_RECORDS_WRONG, "thread.z -1"},
    {"labels: another thread", build_labels, another_thread, LG_RECORDS_WRONG,
     "block 0 thread 0, which is thread 0 of the launch, right is 1"},
    {"labels: another block", build_labels, another_block, LG_RECORDS_WRONG,
     "block 1 thread 1, which is thread 3 of the launch, right is 1"},
    {"labels: thread untold", build_labels, another_thread_untold, LG_RECORDS_EXACT, NULL},
    {"labels: unrelated launch", build_labels, unrelated_launch, LG_RECORDS_WRONG,
     "launch 1, which was not given the ring"},
    {"labels: no such launch", build_labels, no_such_launch, LG_RECORDS_WRONG, "launch 3"},
    {"labels: launch of another direction", build_labels, backward_says_forward, LG_RECORDS_WRONG,
     "launch 0 wrote 2 fault records of row 1"},
    {"labels: twice", build_labels, twice, LG_RECORDS_WRONG, "2 fault records of row 1"},
    {"labels: backward one less", build_labels, backward_forgets_one, LG_RECORDS_WRONG,
     "1 of 2 invalid rows have no fault record of a backward launch, the first is row 4"},
    {"labels: backward none", build_labels, backward_forgets_all, LG_RECORDS_WRONG,
     "2 of 2 invalid rows have no fault record of a backward launch"},
    {"labels: forward one less", build_labels, forward_forgets_one, LG_RECORDS_MISSING,
     "1 of 2 invalid rows have no fault record of a forward launch, the first is row 1"},
    {"labels: a row never", build_labels, one_row_never, LG_RECORDS_MISSING,
     "1 of 2 invalid rows have no fault record, the first is row 4"},
    {"labels: none", build_labels, no_record, LG_RECORDS_ABSENT, "no fault record"},
    {"labels: launches not numbered", build_labels, no_number, LG_RECORDS_EXACT, NULL},
    {"labels: not numbered, thrice", build_labels, no_number_thrice, LG_RECORDS_WRONG,
     "3 fault records of row 1"},
    {"labels: not numbered, outside", build_labels, no_number_outside, LG_RECORDS_WRONG,
     "block.x 3"},
    {"labels: overflow", build_labels, some_dropped, LG_RECORDS_EXACT, NULL},
    {"labels: overflow of too many", build_labels, too_many_dropped, LG_RECORDS_WRONG,
     "6 fault records were written (2 of them dropped), 4 are right"},
    {"labels: overflow of too few", build_labels, too_few_dropped, LG_RECORDS_WRONG,
     "3 fault records were written (1 of them dropped), 4 are right"},
    {"labels: all dropped", build_labels, all_dropped, LG_RECORDS_ABSENT, "all 4"},
    {"labels: launches unknown", build_labels, launches_unknown, LG_RECORDS_WRONG,
     "launch 0, which was not given the ring"},
    {"binary: right", build_binary, nothing, LG_RECORDS_EXACT, NULL},
    {"binary: one operand of two", build_binary, one_operand_of_two, LG_RECORDS_EXACT, NULL},
    {"binary: value", build_binary, another_value, LG_RECORDS_WRONG, "right is -0.5"},
    {"binary: NaN", build_binary, not_the_nan, LG_RECORDS_WRONG, "has value 2, right is nan"},
    {"binary: upper", build_binary, upper_bound, LG_RECORDS_WRONG, "upper bound 2, right is 1"},
    {"binary: lower", build_binary, lower_bound, LG_RECORDS_WRONG, "lower bound 1"},
    {"binary: valid row", build_binary, valid_row, LG_RECORDS_VALID_ROW, "row 0 (value 1.5)"},
    {"binary: the operand in range", build_binary, accuses_the_good_operand, LG_RECORDS_WRONG,
     "accuses its target, and 0.25 is in range"},
    {"binary: twice", build_binary, twice, LG_RECORDS_WRONG, "with code 2, one is right"},
    {"probabilities: right", build_probabilities, nothing, LG_RECORDS_EXACT, NULL},
    {"probabilities: one in range", build_probabilities, another_probability, LG_RECORDS_WRONG,
     "has value 1, right is -0.5"},
    {"probabilities: code", build_probabilities, another_code, LG_RECORDS_WRONG,
     "has code 2, right is 3"},
};

static void test_every_field_counts(void) {
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const record_row *row = &rows[i];
        scene s;
        row->build(&s);
        row->change(&s);
        lg_arena arena = {0};
        const char *why;
        lg_records_verdict got =
            lg_records_check(&s.batch, &s.reference, &s.kernel, &s.seen, &arena, &why);
        bool told = row->why ? why && strstr(why, row->why) : why == NULL;
        if (got != row->want || !told) {
            fprintf(stderr, "\n    %s: %d: %s\n", row->name, (int)got, why ? why : "-");
        }
        LG_CHECK_ROW(row->name, got == row->want);
        LG_CHECK_ROW(row->name, told);
        lg_arena_free(&arena);
        lg_batch_free(&s.batch);
        if (s.reference.row_loss) {
            lg_reference_free(&s.reference);
        }
    }
}

int main(void) {
    const lg_test tests[] = {{"every field counts", test_every_field_counts}};
    return lg_run_tests(LG_SUITE, tests, sizeof tests / sizeof tests[0]);
}
