// SPDX-License-Identifier: Apache-2.0
// Broken softmaxes and smoothing: each row plays one, and it must be named for it.
#include "attribute_play.h"

static void break_shards(play *p) {
    for (int64_t i = 0; i < p->reference.n_loss; i++) {
        p->loss[i] += log(2);
    }
}

static void break_padding(play *p) {
    int64_t width = lg_batch_head_width(&p->batch);
    int64_t extra = (128 - width % 128) % 128;
    for (int64_t row = 0; row < p->reference.n_rows; row++) {
        double sum = 0;
        for (int64_t c = 0; c < width; c++) {
            sum += exp(play_logit(p, row, c));
        }
        p->loss[row] += log((sum + (double)extra) / sum);
    }
}

static double log_sum(const lg_batch *batch, int64_t row) {
    int64_t width = lg_batch_head_width(batch);
    double sum = 0;
    for (int64_t c = 0; c < width; c++) {
        sum += exp(lg_tensor_get_f64(&batch->input, row * width + c));
    }
    return log(sum);
}

// Lanes beyond C hold -2: the sum of exponentials has 63·exp(-2) more.
static void break_fill(play *p) {
    for (int64_t row = 0; row < p->reference.n_rows; row++) {
        double mass = log_sum(&p->batch, row);
        p->loss[row] += log(exp(mass) + 63 * exp(-2)) - mass;
    }
}

// Smoothing spread over the label's half of the classes.
static void break_shard_smoothing(play *p) {
    int64_t width = lg_batch_head_width(&p->batch);
    double e = p->scenario.loss.label_smoothing;
    for (int64_t row = 0; row < p->reference.n_rows; row++) {
        double mass = log_sum(&p->batch, row);
        int64_t label = play_label(p, row);
        int64_t first = label < width / 2 ? 0 : width / 2;
        double spread = 0;
        for (int64_t c = first; c < first + width / 2; c++) {
            spread += mass - play_logit(p, row, c);
        }
        double own = mass - play_logit(p, row, label);
        p->loss[row] = (1 - e) * own + e / (double)(width / 2) * spread;
    }
}

// exp(-100) is denormal in float: a sum of them is too large by a factor.
static void break_denormals(play *p) {
    for (int64_t i = 0; i < p->reference.n_loss; i++) {
        p->loss[i] += 0.017;
    }
}

// A softmax over all classes but those of the last of eight warps.
static void break_warp(play *p) {
    int64_t width = lg_batch_head_width(&p->batch);
    for (int64_t row = 0; row < p->reference.n_rows; row++) {
        double all = 0;
        double some = 0;
        for (int64_t c = 0; c < width; c++) {
            double e = exp(play_logit(p, row, c));
            all += e;
            some += c / 32 % 8 == 7 ? 0 : e;
        }
        p->loss[row] += log(some / all);
    }
}

static void break_exponential(play *p) {
    p->loss[0] = NAN;
}

static const kernel_row rows[] = {
    {"two shards with all classes", LG_CROSS_ENTROPY, LG_REDUCTION_NONE, 16, 64,
     .breakage = break_shards, .cause = K(SHARD_STATISTICS)},
    {"lanes beyond C", LG_CROSS_ENTROPY, LG_REDUCTION_NONE, 16, 65, .breakage = break_padding,
     .cause = K(PADDED_LANES)},
    {"lanes that hold -2", LG_CROSS_ENTROPY, LG_REDUCTION_NONE, 16, 65, .breakage = break_fill,
     .cause = K(PADDED_LANES)},
    {"smoothing of one shard", LG_CROSS_ENTROPY, LG_REDUCTION_NONE, 16, 32, .smoothing = 0.1,
     .breakage = break_shard_smoothing, .cause = K(SHARD_STATISTICS)},
    {"denormal exponentials", LG_CROSS_ENTROPY, LG_REDUCTION_NONE, 8, 65, .at = -100,
     .breakage = break_denormals, .cause = K(PRECISION), .doubtful = true},
    {"a warp left out of the softmax", LG_CROSS_ENTROPY, LG_REDUCTION_NONE, 6, 300,
     .breakage = break_warp, .cause = K(SHARD_STATISTICS)},
    {"exp(100)", LG_CROSS_ENTROPY, LG_REDUCTION_NONE, 6, 5, .at = 100,
     .breakage = break_exponential, .cause = K(PRECISION)},
};

static void test_kernels(void) {
    play_rows(rows, sizeof rows / sizeof *rows);
}

static const lg_test tests[] = {
    {"kernels", test_kernels},
};

int main(void) {
    return lg_run_tests("pipeline/attribute_softmax", tests, sizeof tests / sizeof *tests);
}
