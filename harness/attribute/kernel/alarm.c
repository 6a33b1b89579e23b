// SPDX-License-Identifier: Apache-2.0
// A signal on a valid batch: which of its labels the guard refuses, by the rows that were
// signalled.
#include "attribute/kernel/internal.h"
#include "labels/labels.h"

#include <inttypes.h>
#include <string.h>

// A kind of value that a guard refuses and should not.
typedef struct refusal_kind {
    lg_cause cause;
    bool (*refuses)(const lg_suspicion *s, int64_t row);
    const char *what; // behind "row 3 holds 7: "
} refusal_kind;

static bool has_labels(const lg_suspicion *s) {
    return s->targets_fit && !s->batch->target_is_probability;
}

static bool is_last(const lg_suspicion *s, int64_t row) {
    return has_labels(s) && lg_label_of(s, row) == lg_batch_head_width(s->batch) - 1;
}

static bool is_first(const lg_suspicion *s, int64_t row) {
    return has_labels(s) && lg_label_of(s, row) == 0;
}

static bool is_ignored_outside(const lg_suspicion *s, int64_t row) {
    int64_t ignored = s->batch->loss.ignore_index;
    bool outside = ignored < 0 || ignored >= lg_batch_head_width(s->batch);
    return has_labels(s) && outside && lg_label_of(s, row) == ignored;
}

// Labels without a type of their own are passed in the kernel's.
static bool device_reads_bytes(const lg_suspicion *s) {
    const lg_kernel *kernel = s->kernel;
    lg_dtype dtype = lg_batch_device_target(s->batch)->dtype;
    uint32_t wider = 1u << LG_INT64 | 1u << LG_INT32 | 1u << LG_INT16;
    bool own =
        kernel && !(kernel->target_dtypes & wider) && (kernel->target_dtypes & 1u << LG_UINT8);
    return dtype == LG_UINT8 || own;
}

static bool is_negative_byte(const lg_suspicion *s, int64_t row) {
    return has_labels(s) && device_reads_bytes(s) && lg_label_of(s, row) > INT8_MAX;
}

static bool is_edge_input(const lg_suspicion *s, int64_t row) {
    double x = s->batch->loss.kind == LG_BCE ? lg_tensor_get_f64(&s->batch->input, row) : 0.5;
    return x == 0 || x == 1;
}

static bool is_edge_target(const lg_suspicion *s, int64_t row) {
    bool binary = lg_batch_is_binary(s->batch);
    double t = binary ? lg_tensor_get_f64(lg_batch_device_target(s->batch), row) : 0.5;
    return t == 0 || t == 1;
}

static const refusal_kind kinds[] = {
    {LG_CAUSE_OFF_BY_ONE_CHECK, is_last, "the last class is refused"},
    {LG_CAUSE_OFF_BY_ONE_CHECK, is_first, "class 0 is refused"},
    {LG_CAUSE_OFF_BY_ONE_CHECK, is_edge_input, "an input that is an end of [0, 1] is refused"},
    {LG_CAUSE_OFF_BY_ONE_CHECK, is_edge_target, "a target that is an end of [0, 1] is refused"},
    {LG_CAUSE_OPTION_INTERPLAY, is_ignored_outside, "the ignored label is refused"},
    {LG_CAUSE_TARGET_DTYPE, is_negative_byte, "a byte is read with a sign"},
};

// A refused row that should have been signalled beside those that were.
#define SIGNAL_LEFT_OUT 0.01

// Where the signals came from.
typedef struct alarm {
    const lg_suspicion *s;
    const lg_stage *stage;   // of the asserts, when it says which thread takes a row; or NULL
    const lg_launch *launch; // its launch
    int64_t n_threads;       // of the launch
    lg_size_values sizes;
} alarm;

static int64_t threads_of(const int64_t size[3]) {
    return size[0] * size[1] * size[2];
}

static void find_stage(alarm *a) {
    const lg_observation *seen = a->s->seen;
    const lg_stage *stage = a->s->kernel ? lg_observation_failed_stage(seen, a->s->kernel) : NULL;
    if (!stage || !stage->recorder) {
        return;
    }
    a->stage = stage;
    a->launch = &seen->launches[seen->failed_launch_index];
    a->n_threads = threads_of(a->launch->grid) * threads_of(a->launch->block);
    a->sizes = lg_sizes_measure(a->s->batch);
    a->sizes.block_x = a->launch->block[0];
    a->sizes.threads = a->n_threads;
}

// The thread, counted over the launch, that tests the row; -1: not known.
static int64_t thread_of_row(alarm *a, int64_t row) {
    int64_t thread = -1;
    lg_diags diags = {0};
    a->sizes.row = row;
    if (!lg_sizes_eval(&a->sizes, a->stage->recorder, -1, a->stage->loc, &thread, &diags)) {
        thread = -1;
    }
    lg_diags_free(&diags);
    return thread;
}

static int64_t linear(const int64_t at[3], const int64_t size[3]) {
    return (at[2] * size[1] + at[1]) * size[0] + at[0];
}

static int64_t thread_of_assert(const alarm *a, const lg_assert_line *line) {
    return linear(line->block, a->launch->grid) * threads_of(a->launch->block) +
           linear(line->thread, a->launch->block);
}

// How well a kind explains the records: each must be of a refused row, and each refused row has
// one. `*row`: one of them.
static double explain_records(const alarm *a, const refusal_kind *kind, int64_t *row) {
    const lg_observation *seen = a->s->seen;
    for (int64_t i = 0; i < seen->n_records; i++) {
        int64_t at = seen->records[i].row;
        if (at < 0 || at >= a->s->n_rows || !kind->refuses(a->s, at)) {
            return 0;
        }
    }
    *row = seen->records[0].row;
    for (int64_t at = 0; seen->n_records_dropped == 0 && at < a->s->n_rows; at++) {
        bool found = !kind->refuses(a->s, at);
        for (int64_t i = 0; !found && i < seen->n_records; i++) {
            found = seen->records[i].row == at;
        }
        if (!found) {
            return SIGNAL_LEFT_OUT;
        }
    }
    return 1;
}

// The same for asserts: each thread that printed a line has a refused row, and where a thread has
// one row, no neighbour in its warp that has a refused row too is silent.
static double explain_asserts(alarm *a, const refusal_kind *kind, int64_t *row) {
    const lg_observation *seen = a->s->seen;
    bool *heard = lg_arena_array(a->s->arena, (size_t)seen->n_asserts_kept, sizeof *heard);
    bool whole = seen->n_asserts == seen->n_asserts_kept && a->s->n_rows <= a->n_threads;
    bool silent = false;
    for (int64_t at = 0; at < a->s->n_rows; at++) {
        if (!kind->refuses(a->s, at)) {
            continue;
        }
        int64_t thread = thread_of_row(a, at);
        bool same_warp = false;
        bool found = false;
        for (int64_t i = 0; i < seen->n_asserts_kept; i++) {
            int64_t other = thread_of_assert(a, &seen->asserts[i]);
            *row = other == thread && *row < 0 ? at : *row;
            heard[i] = heard[i] || other == thread;
            found = found || other == thread;
            same_warp = same_warp || other / 32 == thread / 32;
        }
        silent = silent || (same_warp && !found);
    }
    for (int64_t i = 0; i < seen->n_asserts_kept; i++) {
        if (!heard[i]) {
            return 0;
        }
    }
    return whole && silent ? SIGNAL_LEFT_OUT : 1;
}

// Without a place, any refused row explains the signal.
static double explain_signal(const alarm *a, const refusal_kind *kind, int64_t *row) {
    for (int64_t at = 0; at < a->s->n_rows; at++) {
        if (kind->refuses(a->s, at)) {
            *row = at;
            return 1;
        }
    }
    return 0;
}

static double explain(alarm *a, const refusal_kind *kind, int64_t *row) {
    if (a->s->seen->n_records > 0) {
        return explain_records(a, kind, row);
    }
    if (a->stage && a->s->seen->n_asserts_kept > 0) {
        return explain_asserts(a, kind, row);
    }
    return explain_signal(a, kind, row);
}

// Whether the launch that failed was given the labels. One that was not tests something else: its
// signal is no word about the loss.
static bool failed_launch_has_labels(const lg_suspicion *s) {
    const lg_stage *failed = s->kernel ? lg_observation_failed_stage(s->seen, s->kernel) : NULL;
    return !failed || lg_stage_takes(failed, LG_ARG_TARGET);
}

static const char *alarm_text(const lg_suspicion *s, const refusal_kind *kind, int64_t row) {
    if (kind->refuses == is_edge_input) {
        return lg_arena_printf(
            s->arena, "a valid batch is signalled: the input of row %" PRId64 " is %g, and %s", row,
            lg_tensor_get_f64(&s->batch->input, row), kind->what);
    }
    if (kind->refuses == is_edge_target) {
        return lg_arena_printf(
            s->arena, "a valid batch is signalled: the target of row %" PRId64 " is %g, and %s",
            row, lg_tensor_get_f64(lg_batch_device_target(s->batch), row), kind->what);
    }
    return lg_arena_printf(
        s->arena, "a valid batch is signalled: the label of row %" PRId64 " is %" PRId64 ", and %s",
        row, lg_label_of(s, row), kind->what);
}

bool lg_is_alarm(const lg_suspicion *s) {
    return s->seen->status == LG_STATUS_ASSERT || s->seen->n_asserts > 0 || s->seen->n_records > 0;
}

int lg_guess_alarm(const lg_suspicion *s, lg_guess *out) {
    alarm a = {.s = s};
    int n = 0;
    if (!failed_launch_has_labels(s)) {
        return 0;
    }
    find_stage(&a);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        int64_t row = -1;
        double weight = explain(&a, &kinds[i], &row);
        weight *= lg_prior_of_kernel_cause(kinds[i].cause);
        if (!(weight > 0)) {
            continue;
        }
        int at = 0;
        while (at < n && out[at].cause != kinds[i].cause) {
            at++;
        }
        if (at == n || weight > out[at].weight) {
            out[at] = (lg_guess){kinds[i].cause, weight, alarm_text(s, &kinds[i], row)};
        }
        n = at == n ? n + 1 : n;
    }
    return n;
}
