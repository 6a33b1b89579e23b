// SPDX-License-Identifier: Apache-2.0
// Broken binary cross-entropies: each row plays one, and it must be named for it.
#include "attribute_play.h"

// Far beyond rounding, and like nothing that is recomputed.
static void break_far(play *p) {
    for (int64_t i = 0; i < p->reference.n_loss; i++) {
        p->loss[i] *= 1.5 + 0.1 * (double)(i % 7);
    }
}

static void break_first_pos_weight(play *p) {
    lg_batch other = p->batch;
    lg_reference wrong;
    for (int i = 0; i < other.pos_weight.rank; i++) {
        other.pos_weight.stride[i] = 0;
    }
    CU_ASSERT_TRUE_FATAL(lg_reference_compute(&other, false, &wrong));
    memcpy(p->loss, wrong.loss, (size_t)wrong.n_loss * sizeof(double));
    lg_reference_free(&wrong);
}

static void break_unclamped(play *p) {
    p->loss[0] = NAN;
}

static const kernel_row rows[] = {
    {"far beyond rounding", LG_BCE_WITH_LOGITS, LG_REDUCTION_NONE, 6, 3, .breakage = break_far,
     .cause = K(NONE)},
    {"far beyond rounding, with pos_weight", LG_BCE_WITH_LOGITS, LG_REDUCTION_NONE, 6, 3,
     .positive = true, .breakage = break_far, .cause = K(OPTION_INTERPLAY), .doubtful = true},
    {"pos_weight of the first class", LG_BCE_WITH_LOGITS, LG_REDUCTION_NONE, 6, 3, .positive = true,
     .breakage = break_first_pos_weight, .cause = K(OPTION_INTERPLAY)},
    {"0 log 0", LG_BCE, LG_REDUCTION_NONE, 6, 3, .at = 1, .breakage = break_unclamped,
     .cause = K(PRECISION)},
};

static void test_kernels(void) {
    play_rows(rows, sizeof rows / sizeof *rows);
}

static const lg_test tests[] = {
    {"kernels", test_kernels},
};

int main(void) {
    return lg_run_tests("pipeline/attribute_binary", tests, sizeof tests / sizeof *tests);
}
