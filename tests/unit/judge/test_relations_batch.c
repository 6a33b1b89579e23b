// SPDX-License-Identifier: Apache-2.0
// Batches written in another way: the same rows, the same loss; and played kernels that do not keep
// a relation.
#include "judge/internal.h"
#include "judge/judge.h"

#include "reference/reference.h"
#include "support/str.h"
#include "unit/judge/relation_helpers.h"

#include <math.h>
#include <stdlib.h>

#define NLL "title: t\nloss: {kind: nll_loss, ignore_index: -100, weight: {uniform: [0.5, 2]}, "
#define CE "title: t\nloss: {kind: cross_entropy, ignore_index: -100, label_smoothing: 0.1, "
#define BCE "title: t\nloss: {kind: binary_cross_entropy_with_logits, weight: {uniform: [0.5, 2]}, "
#define MEAN "reduction: mean}\n"
#define SUM "reduction: sum}\n"
#define ROWS "reduction: none, grad_output: {uniform: [0.5, 2]}}\n"
#define FLAT "batch: {seed: 5, samples: 7, classes: 4, ignored_fraction: 0.2}\n"
#define SPATIAL "batch: {seed: 5, samples: 3, extent: [2, 3], classes: 4, ignored_fraction: 0.2}\n"
#define VIEW                                                                                       \
    "batch: {seed: 5, samples: 3, extent: [5], classes: 4, logits: {stride: [20, 1, 4]},\n"        \
    "  targets: {stride: [11, 2]}}\n"
#define SIMPLEX                                                                                    \
    "batch: {seed: 5, samples: 4, extent: [3], classes: 4, targets: {distribution: simplex}}\n"
#define BINARY "batch: {seed: 5, samples: 6, classes: 3, targets: {distribution: uniform}}\n"

typedef struct batch_row {
    const char *name;
    const char *text;
    lg_relation relation;
} batch_row;

#define R(id) LG_RELATION_##id

static const batch_row rows[] = {
    {"nll mean, permuted", NLL MEAN FLAT, R(PERMUTE_ROWS)},
    {"nll none, permuted", NLL ROWS SPATIAL, R(PERMUTE_ROWS)},
    {"nll mean, split", NLL MEAN FLAT, R(SPLIT_BATCH)},
    {"nll sum, split", NLL SUM SPATIAL, R(SPLIT_BATCH)},
    {"nll none, split", NLL ROWS FLAT, R(SPLIT_BATCH)},
    {"nll mean, doubled", NLL MEAN SPATIAL, R(DOUBLE_BATCH)},
    {"nll none, flattened", NLL ROWS SPATIAL, R(FLATTEN_SPATIAL)},
    {"nll mean, flattened", NLL MEAN SPATIAL, R(FLATTEN_SPATIAL)},
    {"nll sum, a view", NLL SUM VIEW, R(CONTIGUOUS_COPY)},
    {"ce mean, permuted", CE MEAN SPATIAL, R(PERMUTE_ROWS)},
    {"ce sum, split", CE SUM FLAT, R(SPLIT_BATCH)},
    {"ce sum, doubled", CE SUM FLAT, R(DOUBLE_BATCH)},
    {"ce none, doubled", CE ROWS FLAT, R(DOUBLE_BATCH)},
    {"ce mean, flattened", CE MEAN SPATIAL, R(FLATTEN_SPATIAL)},
    {"ce mean, shifted", CE MEAN FLAT, R(SHIFT_LOGITS)},
    {"ce none, shifted", CE ROWS SPATIAL, R(SHIFT_LOGITS)},
    {"ce none, a view", CE ROWS VIEW, R(CONTIGUOUS_COPY)},
    {"probabilities mean, permuted", CE MEAN SIMPLEX, R(PERMUTE_ROWS)},
    {"probabilities sum, split", CE SUM SIMPLEX, R(SPLIT_BATCH)},
    {"probabilities none, flattened", CE ROWS SIMPLEX, R(FLATTEN_SPATIAL)},
    {"binary mean, permuted", BCE MEAN BINARY, R(PERMUTE_ROWS)},
    {"binary mean, split", BCE "pos_weight: {uniform: [1, 3]}, " MEAN BINARY, R(SPLIT_BATCH)},
    {"binary none, doubled", BCE ROWS BINARY, R(DOUBLE_BATCH)},
};

enum { N_ROWS = sizeof rows / sizeof *rows };

// The runs of a relation, each side playing the reference's numbers.
typedef struct played {
    scene scene;
    lg_related related;
    lg_observation seen[3];
    lg_relation_side first;
    lg_relation_side others[2];
    lg_arena arena;
} played;

static lg_relation_side side_of(const lg_related_batch *part, const lg_observation *seen) {
    return (lg_relation_side){&part->batch, &part->reference, seen, part->source};
}

static void play(const batch_row *row, played *p) {
    *p = (played){0};
    scene_begin(&p->scene, row->text);
    CU_ASSERT_TRUE_FATAL(lg_related_make(&p->scene.batch, row->relation, 11, &p->related));
    p->first = (lg_relation_side){&p->scene.batch, &p->scene.reference, &p->seen[2], NULL};
    if (p->related.has_first) {
        p->first = side_of(&p->related.first, &p->seen[2]);
    }
    play_right(p->first.batch, p->first.reference, &p->seen[2]);
    for (int i = 0; i < p->related.n_others; i++) {
        const lg_related_batch *part = &p->related.others[i];
        play_right(&part->batch, &part->reference, &p->seen[i]);
        p->others[i] = side_of(part, &p->seen[i]);
    }
}

static void played_free(played *p) {
    for (int i = 0; i < 3; i++) {
        lg_observation_free(&p->seen[i]);
    }
    lg_related_free(&p->related);
    scene_end(&p->scene);
    lg_arena_free(&p->arena);
}

static void test_the_same_rows(void) {
    for (int i = 0; i < N_ROWS; i++) {
        played p;
        play(&rows[i], &p);
        const lg_batch *whole = p.first.batch;
        int64_t n_rows = 0;
        for (int k = 0; k < p.related.n_others; k++) {
            const lg_batch *other = p.others[k].batch;
            LG_CHECK_ROW(rows[i].name, lg_tensor_is_contiguous(&other->input));
            LG_CHECK_ROW(rows[i].name, lg_tensor_is_contiguous(&other->target));
            bool same = true;
            for (int64_t row = 0; row < lg_batch_rows(other); row++) {
                int64_t was = p.others[k].source[row];
                // A shift rounds the reference's own subtractions; all else is the same numbers.
                double slack = rows[i].relation == R(SHIFT_LOGITS) ? 1e-11 : 0;
                double gap =
                    p.others[k].reference->row_loss[row] - p.first.reference->row_loss[was];
                same = same && fabs(gap) <= slack;
            }
            LG_CHECK_ROW(rows[i].name, same);
            n_rows += lg_batch_rows(other);
        }
        LG_CHECK_ROW(rows[i].name,
                     (double)n_rows == p.related.copies * (double)lg_batch_rows(whole));
        played_free(&p);
    }
}

static void test_permuted_rows_move(void) {
    played p;
    play(&(batch_row){"", NLL ROWS "batch: {samples: 2, classes: 3}\n", R(PERMUTE_ROWS)}, &p);
    const int64_t *source = p.others[0].source;
    CU_ASSERT_TRUE(source[0] == 1 && source[1] == 0); // the only other order there is
    played_free(&p);
    play(&rows[1], &p);
    int64_t n = lg_batch_rows(p.others[0].batch);
    int n_moved = 0;
    int64_t sum = 0;
    for (int64_t row = 0; row < n; row++) {
        n_moved += p.others[0].source[row] != row;
        sum += p.others[0].source[row];
    }
    CU_ASSERT_TRUE(n_moved > n / 2 && sum == n * (n - 1) / 2);
    played_free(&p);
}

// The logits of a pair differ by exactly the constant, in every type, one constant a row.
static void test_shifts_are_exact(void) {
    static const char *const types[] = {"float64", "float32", "float16", "bfloat16"};
    for (int i = 0; i < 4; i++) {
        lg_str text = {0};
        lg_str_printf(&text,
                      CE MEAN "batch: {samples: 9, extent: [2], classes: 5, logits: {dtype: %s, "
                              "scale: 40}}\n",
                      types[i]);
        played p;
        play(&(batch_row){types[i], lg_str_text(&text), R(SHIFT_LOGITS)}, &p);
        int n_up = 0;
        int n_down = 0;
        for (int64_t row = 0; row < lg_batch_rows(p.first.batch); row++) {
            double by[5];
            for (int c = 0; c < 5; c++) {
                by[c] = lg_row_read_class(&p.others[0].batch->input, row, c) -
                        lg_row_read_class(&p.first.batch->input, row, c);
                LG_CHECK_ROW(types[i], by[c] == by[0]);
            }
            n_up += by[0] == 128;
            n_down += by[0] == -128;
        }
        LG_CHECK_ROW(types[i], n_up > 0 && n_down > 0);
        LG_CHECK_ROW(types[i], n_up + n_down == lg_batch_rows(p.first.batch));
        played_free(&p);
        lg_str_free(&text);
    }
}

static void test_right_numbers_agree(void) {
    for (int i = 0; i < N_ROWS; i++) {
        played p;
        play(&rows[i], &p);
        lg_relation_gap gap = lg_relation_compare(&p.related, &p.first, p.others, &p.arena);
        if (gap.differs) {
            fprintf(stderr, "\n    %s\n", gap.text);
        }
        LG_CHECK_ROW(rows[i].name, !gap.differs);
        played_free(&p);
    }
}

// The element of an output that is off in the other run: its largest, so that it counts.
static int64_t largest(const lg_output *output) {
    int64_t at = 0;
    for (int64_t i = 0; i < output->n; i++) {
        at = fabs(output->values[i]) > fabs(output->values[at]) ? i : at;
    }
    return at;
}

static void check_caught(const batch_row *row, lg_arg_id output, bool nan) {
    played p;
    play(row, &p);
    lg_observation *seen = &p.seen[p.related.n_others - 1];
    lg_output *off = played_output(seen, output);
    int64_t at = largest(off);
    off->values[at] = nan ? NAN : off->values[at] * 1.02;
    lg_relation_gap gap = lg_relation_compare(&p.related, &p.first, p.others, &p.arena);
    LG_CHECK_ROW(row->name, gap.differs && gap.output == output);
    LG_CHECK_ROW(row->name, gap.differs && strstr(gap.text, lg_relation_name(row->relation)));
    LG_CHECK_ROW(row->name,
                 nan ? isinf(gap.relative) : gap.relative > 0.004 && gap.relative < 0.021);
    played_free(&p);
}

static void test_wrong_numbers_do_not(void) {
    for (int i = 0; i < N_ROWS; i++) {
        check_caught(&rows[i], LG_ARG_OUTPUT, false);
        check_caught(&rows[i], LG_ARG_OUTPUT, true);
        check_caught(&rows[i], LG_ARG_GRAD_INPUT, false);
        check_caught(&rows[i], LG_ARG_GRAD_INPUT, true);
        if (strstr(rows[i].text, MEAN) || strstr(rows[i].text, SUM)) {
            check_caught(&rows[i], LG_ARG_TOTAL_WEIGHT, false);
        }
    }
}

// A mean of means is not the mean of the whole when the halves weigh differently.
static void test_mean_of_means(void) {
    played p;
    play(&rows[2], &p);
    double mean = (p.others[0].reference->loss[0] + p.others[1].reference->loss[0]) / 2;
    played_output(&p.seen[2], LG_ARG_OUTPUT)->values[0] = mean;
    lg_relation_gap gap = lg_relation_compare(&p.related, &p.first, p.others, &p.arena);
    CU_ASSERT_TRUE_FATAL(gap.differs);
    CU_ASSERT_PTR_NOT_NULL(strstr(gap.text, "split_batch"));
    played_free(&p);
}

// Every row of the second half is ignored: its mean is NaN and adds nothing.
static void test_a_half_without_weight(void) {
    static const char text[] =
        "title: t\nloss: {kind: cross_entropy, ignore_index: 9}\nbatch: {samples: 4, classes: 3, "
        "targets: {values: [0, 2, 9, 9]}}\n";
    played p;
    play(&(batch_row){"ignored half", text, R(SPLIT_BATCH)}, &p);
    CU_ASSERT_TRUE(isnan(p.others[1].reference->loss[0]));
    lg_relation_gap gap = lg_relation_compare(&p.related, &p.first, p.others, &p.arena);
    CU_ASSERT_FALSE(gap.differs);
    played_output(&p.seen[0], LG_ARG_OUTPUT)->values[0] *= 1.001;
    gap = lg_relation_compare(&p.related, &p.first, p.others, &p.arena);
    CU_ASSERT_TRUE(gap.differs);
    played_free(&p);
}

// A sum that is infinite in its type, and whose halves are not, tells nothing; one that has no
// reason to be infinite tells.
static void test_overflow(void) {
    static const char text[] =
        "title: t\nloss: {kind: nll_loss, reduction: sum}\nbatch: {samples: 4, classes: 1, logits: "
        "{dtype: float16, values: [-30000, -30000, -30000, -30000], shape: [4, 1]}}\n";
    played p;
    play(&(batch_row){"overflow", text, R(SPLIT_BATCH)}, &p);
    played_output(&p.seen[2], LG_ARG_OUTPUT)->values[0] = INFINITY;
    lg_relation_gap gap = lg_relation_compare(&p.related, &p.first, p.others, &p.arena);
    CU_ASSERT_FALSE(gap.differs);
    played_output(&p.seen[0], LG_ARG_OUTPUT)->values[0] = INFINITY;
    gap = lg_relation_compare(&p.related, &p.first, p.others, &p.arena);
    CU_ASSERT_FALSE(gap.differs); // the whole still overflows
    played_output(&p.seen[2], LG_ARG_OUTPUT)->values[0] = 120000;
    gap = lg_relation_compare(&p.related, &p.first, p.others, &p.arena);
    CU_ASSERT_TRUE(gap.differs);
    played_free(&p);
}

int main(void) {
    static const lg_test tests[] = {
        {"the same rows", test_the_same_rows},
        {"permuted rows move", test_permuted_rows_move},
        {"shifts are exact", test_shifts_are_exact},
        {"right numbers agree", test_right_numbers_agree},
        {"wrong numbers do not", test_wrong_numbers_do_not},
        {"mean of means", test_mean_of_means},
        {"a half without weight", test_a_half_without_weight},
        {"overflow tells nothing", test_overflow},
    };
    return lg_run_tests(LG_SUITE, tests, sizeof tests / sizeof *tests);
}
