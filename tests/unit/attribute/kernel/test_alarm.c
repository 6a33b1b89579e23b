// SPDX-License-Identifier: Apache-2.0
// Signals on valid batches, and bad accesses: which guard or offset they blame.
#include "unit/attribute/play.h"

static void break_last_class(play *p) {
    p->seen.status = LG_STATUS_ASSERT;
    p->seen.n_asserts = 1;
}

static const kernel_row rows[] = {
    {"class C-1 refused", LG_NLL_LOSS, LG_REDUCTION_MEAN, 64, 4, .breakage = break_last_class,
     .cause = K(OFF_BY_ONE_CHECK)},
};

static void test_kernels(void) {
    play_rows(rows, sizeof rows / sizeof *rows);
}

// An assert of a launch that is given no labels is no word about the loss.
static void test_a_launch_without_labels_is_not_blamed(void) {
    lg_arg loss_args[] = {{.id = LG_ARG_OUTPUT}, {.id = LG_ARG_INPUT}, {.id = LG_ARG_TARGET}};
    lg_arg other_args[] = {{.id = LG_ARG_SAMPLES}};
    lg_stage stages[] = {
        {.entry = "loss_{dtype}",
         .entry_by_dtype = true,
         .direction = LG_FORWARD,
         .n_args = 3,
         .args = loss_args},
        {.entry = "loss_{dtype}_of_rows", // a name that begins as the other one does
         .direction = LG_FORWARD,
         .n_args = 1,
         .args = other_args}};
    lg_launch launches[] = {{.stage = 0}, {.stage = 1}};
    const struct {
        const char *entry;
        lg_cause cause;
    } rows_of[] = {{"loss_float32", LG_CAUSE_OFF_BY_ONE_CHECK},
                   {"loss_float32_of_rows", LG_CAUSE_NONE}};
    for (int i = 0; i < 2; i++) {
        const kernel_row plain = {"assert", LG_NLL_LOSS, LG_REDUCTION_NONE,
                                  64,       4,           .breakage = play_right};
        play p;
        play_begin(&plain, &p);
        p.kernel.stages = stages;
        p.kernel.n_stages = 2;
        p.seen.status = LG_STATUS_ASSERT;
        p.seen.n_asserts = 1;
        p.seen.n_outputs = 0; // nothing is read back from a dead context
        p.seen.launches = launches;
        p.seen.n_launches = 2;
        p.seen.failed_launch_index = i;
        lg_finding finding;
        play_attribute(&p, true, &finding);
        LG_CHECK_ROW(rows_of[i].entry, finding.cause == rows_of[i].cause);
        lg_finding_free(&finding);
        play_end(&p);
    }
}

// One row an alarm: which rows were signalled on a valid batch, and what the guard refuses.
typedef struct alarm_row {
    const char *name;
    lg_loss_kind loss;
    lg_dtype dtype; // of the labels
    int64_t classes;
    int64_t ignore_index;
    double ignored;
    bool by_assert;  // else by a record
    int64_t refused; // the rows with this label; -1: with one from 128 on
    lg_cause cause;
    bool doubtful;
} alarm_row;

static void test_alarms(void) {
    static const alarm_row alarms[] = {
        {"the ignored label", LG_NLL_LOSS, LG_INT64, 8, -100, 0.3, true, -100, K(OPTION_INTERPLAY),
         false},
        {"the ignored label, recorded", LG_NLL_LOSS, LG_INT64, 8, -100, 0.3, false, -100,
         K(OPTION_INTERPLAY), false},
        {"an ignored label beyond 32 bits", LG_CROSS_ENTROPY, LG_INT64, 8, 4294967297, 0.3, true,
         4294967297, K(OPTION_INTERPLAY), false},
        {"class C-1", LG_NLL_LOSS, LG_INT64, 8, -100, 0.3, true, 7, K(OFF_BY_ONE_CHECK), false},
        {"class 0", LG_NLL_LOSS, LG_INT64, 8, -100, 0.3, false, 0, K(OFF_BY_ONE_CHECK), false},
        {"a class in the middle", LG_NLL_LOSS, LG_INT64, 8, -100, 0.3, true, 3, K(NONE), false},
        {"255, ignored", LG_NLL_LOSS, LG_UINT8, 8, 255, 0.3, true, 255, K(OPTION_INTERPLAY), true},
        {"a byte from 128 on", LG_NLL_LOSS, LG_UINT8, 200, 255, 0, true, -1, K(TARGET_DTYPE),
         false},
    };
    lg_arg args[] = {{.id = LG_ARG_OUTPUT}, {.id = LG_ARG_INPUT}, {.id = LG_ARG_TARGET}};
    lg_stage stage = {.entry = "loss", .direction = LG_FORWARD, .recorder = "row", .n_args = 3};
    stage.args = args;
    for (size_t k = 0; k < sizeof alarms / sizeof *alarms; k++) {
        const alarm_row *a = &alarms[k];
        kernel_row plain = {a->name,
                            a->loss,
                            LG_REDUCTION_NONE,
                            96,
                            a->classes,
                            .ignored = a->ignored,
                            .breakage = play_right};
        plain.ignore_index = a->ignore_index;
        plain.labels = a->dtype;
        play p;
        play_begin(&plain, &p);
        lg_launch launch = {.entry = "loss", .grid = {1, 1, 1}, .block = {128, 1, 1}};
        lg_assert_line lines[96];
        lg_fault_record records[96];
        int n = 0;
        for (int64_t row = 0; row < 96; row++) {
            int64_t label = lg_tensor_get_i64(&p.batch.target, row);
            if (label == a->refused || (a->refused == -1 && label > INT8_MAX)) {
                lines[n] = (lg_assert_line){.thread = {row, 0, 0}, .expression = "t < n"};
                records[n++] = (lg_fault_record){.row = row, .value = label};
            }
        }
        CU_ASSERT_FATAL(n > 0);
        p.kernel.stages = &stage;
        p.kernel.n_stages = 1;
        p.seen.launches = &launch;
        p.seen.n_launches = 1;
        if (a->by_assert) {
            p.seen.status = LG_STATUS_ASSERT;
            p.seen.failed_launch = "loss";
            p.seen.failed_launch_index = 0;
            p.seen.n_asserts = p.seen.n_asserts_kept = n;
            p.seen.asserts = lines;
            p.seen.n_outputs = 0;
        } else {
            p.seen.n_records = n;
            p.seen.records = records;
        }
        play_check(&p, a->name, a->cause, a->doubtful);
    }
}

// A bad access of a kernel on a small, packed batch of valid labels.
static void test_memory(void) {
    const struct {
        const char *name;
        lg_memory_finding memory;
        lg_device_status status;
        lg_cause cause;
    } accesses[] = {{"null",
                     {.present = true, .kind = LG_DEVICE_FAULT_NULL_POINTER, .address = 12},
                     LG_STATUS_ILLEGAL_ADDRESS,
                     K(OPTION_INTERPLAY)},
                    {"misaligned",
                     {.present = true,
                      .kind = LG_DEVICE_FAULT_MISALIGNED,
                      .address = 0x7f0000000004,
                      .buffer = "input",
                      .buffer_arg = LG_ARG_INPUT},
                     LG_STATUS_MISALIGNED,
                     K(NONE)},
                    {"near a buffer of 40 numbers",
                     {.present = true,
                      .kind = LG_DEVICE_FAULT_OUT_OF_BOUNDS,
                      .address = 0x7f0000000004,
                      .buffer = "input",
                      .buffer_arg = LG_ARG_INPUT},
                     LG_STATUS_ILLEGAL_ADDRESS,
                     K(NONE)}};
    for (size_t k = 0; k < sizeof accesses / sizeof *accesses; k++) {
        const kernel_row plain = {accesses[k].name,      LG_NLL_LOSS, LG_REDUCTION_NONE, 8, 5,
                                  .breakage = play_right};
        play p;
        play_begin(&plain, &p);
        p.seen.status = accesses[k].status;
        p.seen.memory = accesses[k].memory;
        p.seen.n_outputs = 0;
        play_check(&p, accesses[k].name, accesses[k].cause, false);
    }
}

static const lg_test tests[] = {
    {"kernels", test_kernels},
    {"alarms", test_alarms},
    {"memory", test_memory},
    {"a launch without labels is not blamed", test_a_launch_without_labels_is_not_blamed},
};

int main(void) {
    return lg_run_tests(LG_SUITE, tests, sizeof tests / sizeof *tests);
}
