// SPDX-License-Identifier: Apache-2.0
// Broken softmaxes and smoothing: each row plays one, and it must be named for it.
#include "unit/attribute/play.h"

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
        int64_t half = width / 2;
        int64_t first = label < half ? 0 : half;
        double spread = 0;
        for (int64_t c = first; c < first + half; c++) {
            spread += mass - play_logit(p, row, c);
        }
        double own = mass - play_logit(p, row, label);
        p->loss[row] = (1 - e) * own + e / (double)half * spread;
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

static const kernel_row rows[] = {
    {"two shards with all classes", LG_CROSS_ENTROPY, LG_REDUCTION_NONE, 16, 64,
     .breakage = break_shards, .cause = K(SHARD_STATISTICS)},
    {"lanes beyond C", LG_CROSS_ENTROPY, LG_REDUCTION_NONE, 16, 65, .breakage = break_padding,
     .cause = K(PADDED_LANES)},
    {"lanes that hold -2", LG_CROSS_ENTROPY, LG_REDUCTION_NONE, 16, 65, .breakage = break_fill,
     .cause = K(PADDED_LANES)},
    {"smoothing of one shard", LG_CROSS_ENTROPY, LG_REDUCTION_NONE, 16, 32, .smoothing = 0.1,
     .breakage = break_shard_smoothing, .cause = K(SHARD_STATISTICS)},
    {"a warp left out of the softmax", LG_CROSS_ENTROPY, LG_REDUCTION_NONE, 6, 300,
     .breakage = break_warp, .cause = K(SHARD_STATISTICS)},
};

static void test_kernels(void) {
    play_rows(rows, sizeof rows / sizeof *rows);
}

// --- formulas, in float as a kernel computes

enum { WIDTH = 6, N_ROWS = 24 };

typedef float (*formula)(const float *x, int64_t label);

static float largest_of(const float *x, float start) {
    for (int c = 0; c < WIDTH; c++) {
        start = fmaxf(start, x[c]);
    }
    return start;
}

static float sum_of_exp(const float *x, float off) {
    float sum = 0;
    for (int c = 0; c < WIDTH; c++) {
        sum += expf(x[c] - off);
    }
    return sum;
}

static float without(const float *x, int64_t label, float off) {
    return logf(sum_of_exp(x, off)) + off - x[label];
}

static float right(const float *x, int64_t label) {
    return without(x, label, largest_of(x, -INFINITY));
}

static float no_maximum(const float *x, int64_t label) {
    return without(x, label, 0);
}

static float from_zero(const float *x, int64_t label) {
    return without(x, label, largest_of(x, 0));
}

static float first_off(const float *x, int64_t label) {
    return without(x, label, x[0]);
}

static float log_of_softmax(const float *x, int64_t label) {
    float top = largest_of(x, -INFINITY);
    return -logf(expf(x[label] - top) / sum_of_exp(x, top));
}

static float log_of_softmax_and_eps(const float *x, int64_t label) {
    float top = largest_of(x, -INFINITY);
    return -logf(expf(x[label] - top) / sum_of_exp(x, top) + 1e-7f);
}

typedef enum ends { ENDS_ALL, ENDS_HIGH_AND_LOW, ENDS_LOW, ENDS_NEAR, ENDS_NONE } ends;

typedef struct formula_row {
    const char *name;
    formula loss_of;
    ends ends;
    lg_reduction reduction;
    const char *words; // in the headline
} formula_row;

static const formula_row formulas[] = {
    {"no maximum", no_maximum, ENDS_ALL, LG_REDUCTION_NONE, "without their maximum"},
    {"no maximum, mean", no_maximum, ENDS_ALL, LG_REDUCTION_MEAN, "without their maximum"},
    {"no maximum, low rows", no_maximum, ENDS_LOW, LG_REDUCTION_NONE,
     ", or the running maximum starts at 0"},
    {"no maximum, a sum that overflows", no_maximum, ENDS_NEAR, LG_REDUCTION_NONE,
     "without their maximum"},
    {"from 0", from_zero, ENDS_ALL, LG_REDUCTION_NONE, "starts at 0"},
    {"from 0, sum", from_zero, ENDS_HIGH_AND_LOW, LG_REDUCTION_SUM, "starts at 0"},
    {"the first off", first_off, ENDS_ALL, LG_REDUCTION_NONE, "the first class"},
    {"log of a softmax", log_of_softmax, ENDS_ALL, LG_REDUCTION_NONE, "softmax rounded to 0"},
    {"log of a softmax + eps", log_of_softmax_and_eps, ENDS_ALL, LG_REDUCTION_NONE, "1e-7"},
    {"log of a softmax + eps, mean", log_of_softmax_and_eps, ENDS_ALL, LG_REDUCTION_MEAN, "1e-7"},
};

static void set_row(play *p, int64_t row, float all, float label) {
    for (int64_t c = 0; c < WIDTH; c++) {
        double spread = 0.125 * (double)c;
        lg_tensor_set_f64(&p->batch.input, row * WIDTH + c, all + spread);
    }
    lg_tensor_set_f64(&p->batch.input, row * WIDTH + play_label(p, row), label);
}

static void set_ends(play *p, ends at) {
    bool all = at == ENDS_ALL;
    if (all || at == ENDS_HIGH_AND_LOW) {
        set_row(p, 2, 95, 94);
        lg_tensor_set_f64(&p->batch.input, 2 * WIDTH, 95); // what the first class is off
    }
    if (at != ENDS_NEAR && at != ENDS_NONE) {
        set_row(p, 3, -120, -121);
        set_row(p, 4, -97, -98); // denormal in float
    }
    if (all) {
        set_row(p, 5, 60, -60);
        set_row(p, 6, 10, 105);
        lg_tensor_set_f64(&p->batch.input, 6 * WIDTH, 10);
    }
    if (at == ENDS_NEAR) {
        set_row(p, 7, 87.9F, 88);
    }
    play_again(p);
}

static void play_formula(play *p, const formula_row *row) {
    const kernel_row plain = {row->name, LG_CROSS_ENTROPY, row->reduction, N_ROWS,
                              WIDTH,     .gradient = true};
    play_begin(&plain, p);
    set_ends(p, row->ends);
    double row_loss[N_ROWS];
    for (int64_t i = 0; i < N_ROWS; i++) {
        float x[WIDTH];
        for (int64_t c = 0; c < WIDTH; c++) {
            x[c] = (float)play_logit(p, i, c);
        }
        row_loss[i] = row->loss_of(x, play_label(p, i));
    }
    play_reduce(p, row_loss);
}

static void check_words(play *p, const char *name, const char *words) {
    lg_finding finding;
    play_attribute(p, true, &finding);
    play_expect(name, &finding, K(NUMERICAL_STABILITY));
    LG_CHECK_ROW(name, !finding.ambiguous && !finding.certain);
    bool worded = finding.headline && strstr(finding.headline, words);
    if (!worded) {
        fprintf(stderr, "\n    '%s': %s\n", name, finding.headline ? finding.headline : "");
    }
    LG_CHECK_ROW(name, worded);
    lg_finding_free(&finding);
    play_end(p);
}

static void test_formulas(void) {
    for (size_t i = 0; i < sizeof formulas / sizeof *formulas; i++) {
        play p;
        play_formula(&p, &formulas[i]);
        check_words(&p, formulas[i].name, formulas[i].words);
    }
}

// The gradient of rows whose sum of exponentials overflows, with a right loss and without one.
static void test_gradients(void) {
    for (int alone = 0; alone < 2; alone++) {
        const formula_row row = {"gradient", right, ENDS_ALL, LG_REDUCTION_NONE, NULL};
        play p;
        play_formula(&p, &row);
        lg_output *gradient = play_add_gradient(&p);
        for (int64_t i = 0; i < N_ROWS; i++) {
            float sum = 0;
            for (int64_t c = 0; c < WIDTH; c++) {
                sum += expf((float)play_logit(&p, i, c));
            }
            for (int64_t c = 0; c < WIDTH; c++) {
                float softmax = expf((float)play_logit(&p, i, c)) / sum;
                gradient->values[i * WIDTH + c] = softmax - (float)(c == play_label(&p, i));
            }
        }
        p.seen.outputs[0] = alone ? *gradient : p.seen.outputs[0];
        p.seen.n_outputs = alone ? 1 : 2;
        check_words(&p, alone ? "alone" : "beside a right loss", "without their maximum");
    }
}

// Logits that give every formula room convict none: another fault is told for what it is, and a
// right kernel for rounding.
static void test_room_is_no_evidence(void) {
    const formula_row row = {"right", right, ENDS_ALL, LG_REDUCTION_NONE, NULL};
    play p;
    play_formula(&p, &row);
    break_shards(&p);
    play_check(&p, "two shards", K(SHARD_STATISTICS), false);
    play_formula(&p, &row);
    play_check(&p, "right", K(PRECISION), false);
    // No number in a row that is near no end.
    play_formula(&p, &row);
    p.loss[20] = NAN;
    play_check(&p, "NaN elsewhere", K(NONE), false);
}

static const lg_test tests[] = {
    {"kernels", test_kernels},
    {"formulas", test_formulas},
    {"gradients", test_gradients},
    {"room is no evidence", test_room_is_no_evidence},
};

int main(void) {
    return lg_run_tests(LG_SUITE, tests, sizeof tests / sizeof *tests);
}
