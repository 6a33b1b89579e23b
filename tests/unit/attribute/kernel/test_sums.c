// SPDX-License-Identifier: Apache-2.0
// Broken sums and means: each row plays one, and it must be named for it.
#include "unit/attribute/play.h"

static int64_t live_rows(const play *p) {
    return p->reference.n_rows - p->reference.n_ignored;
}

static void break_mean(play *p) {
    p->loss[0] = p->reference.loss[0] * (double)live_rows(p) / (double)p->reference.n_rows;
}

// One block of 64 threads, a thread a row: what lies beyond is left out of the sum.
static void break_grid(play *p) {
    double sum = 0;
    for (int64_t row = 0; row < 64; row++) {
        sum += p->reference.row_loss[row];
    }
    p->loss[0] = sum;
}

static void break_width_of_sum(play *p) {
    p->loss[0] *= 1.004;
}

// The mean of the means of two halves of the rows.
static void break_micro_batches(play *p) {
    double means[2] = {0, 0};
    int64_t half = p->reference.n_rows / 2;
    for (int k = 0; k < 2; k++) {
        double n = 0;
        for (int64_t row = k * half; row < (k + 1) * half; row++) {
            bool live = play_label(p, row) != -100;
            means[k] += p->reference.row_loss[row];
            n += live;
        }
        means[k] /= n;
    }
    p->loss[0] = (means[0] + means[1]) / 2;
}

// The last of 8 blocks of 256 threads is left out of the sum.
static void break_partials(play *p) {
    double sum = 0;
    for (int64_t row = 0; row < p->reference.n_rows; row++) {
        sum += row / 256 % 8 == 7 ? 0 : p->reference.row_loss[row];
    }
    p->loss[0] = sum;
}

static void break_garbage(play *p) {
    p->loss[0] = 6.5e36;
}

static const kernel_row rows[] = {
    {"mean over all rows", LG_CROSS_ENTROPY, LG_REDUCTION_MEAN, 8, 5, .ignored = 0.4,
     .breakage = break_mean, .cause = K(WRONG_NORMALISATION)},
    {"narrow sum", LG_NLL_LOSS, LG_REDUCTION_SUM, 64, 5, .breakage = break_width_of_sum,
     .cause = K(PRECISION)},
    {"mean of two means", LG_NLL_LOSS, LG_REDUCTION_MEAN, 40, 5, .ignored = 0.5,
     .breakage = break_micro_batches, .cause = K(WRONG_NORMALISATION)},
    {"an odd number on a strided view", LG_NLL_LOSS, LG_REDUCTION_SUM, 64, 5, .strided = true,
     .breakage = break_width_of_sum, .cause = K(PRECISION), .doubtful = true},
    {"rows beyond a block", LG_NLL_LOSS, LG_REDUCTION_SUM, 100, 5, .breakage = break_grid,
     .cause = K(INDEX_OVERFLOW)},
    {"a block left out of the sum", LG_BCE_WITH_LOGITS, LG_REDUCTION_SUM, 900, 3,
     .breakage = break_partials, .cause = K(INDEX_OVERFLOW)},
    {"memory never written", LG_NLL_LOSS, LG_REDUCTION_MEAN, 20, 5, .breakage = break_garbage,
     .cause = K(UNWRITTEN_OUTPUT)},
};

static void test_kernels(void) {
    play_rows(rows, sizeof rows / sizeof *rows);
}

// A total weight that is not the sum of the weights, beside a right loss.
static void test_total_weight(void) {
    const struct {
        const char *name;
        double factor;
        lg_dtype input;
        lg_cause cause;
    } weights[] = {{"ignored rows counted", 1.3, LG_FLOAT32, K(WRONG_NORMALISATION)},
                   {"written in part", NAN, LG_FLOAT16, K(WRONG_NORMALISATION)},
                   {"infinite in its type", INFINITY, LG_FLOAT16, K(PRECISION)}};
    for (size_t k = 0; k < sizeof weights / sizeof *weights; k++) {
        kernel_row plain = {weights[k].name, LG_NLL_LOSS,           LG_REDUCTION_SUM, 40, 5,
                            .ignored = 0.3,  .breakage = play_right};
        plain.input = weights[k].input;
        play p;
        play_begin(&plain, &p);
        lg_output *total = &p.seen.outputs[p.seen.n_outputs++];
        *total = (lg_output){.arg = LG_ARG_TOTAL_WEIGHT, .dtype = LG_FLOAT32, .n = 1};
        total->values = lg_arena_array(&p.seen.arena, 1, sizeof(double));
        total->values[0] = p.reference.total_weight * weights[k].factor;
        play_check(&p, weights[k].name, weights[k].cause, false);
    }
}

static const lg_test tests[] = {
    {"kernels", test_kernels},
    {"total weight", test_total_weight},
};

int main(void) {
    return lg_run_tests(LG_SUITE, tests, sizeof tests / sizeof *tests);
}
