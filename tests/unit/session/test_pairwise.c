// SPDX-License-Identifier: Apache-2.0
// The scenarios of scenarios/pairwise: generated here, compared with the files, every feasible pair
// of options in one of them, and a kernel for each. `--write FOLDER` writes the files.
#include "unit/session/pairwise.h"

#include "batch/batch.h"
#include "device/device.h"
#include "scenario/scenario.h"
#include "support/alloc.h"
#include "unit/testing.h"

#include <glob.h>
#include <stdlib.h>

static const lg_loss_kind losses[] = {LG_NLL_LOSS, LG_CROSS_ENTROPY, LG_BCE, LG_BCE_WITH_LOGITS};
enum { N_LOSSES = 4 };

static char *path_of(const char *folder, lg_loss_kind loss, int index) {
    return lg_xasprintf("%s/%s_%02d.yaml", folder, lg_loss_kind_name(loss), index + 1);
}

static int write_files(const char *folder) {
    for (int k = 0; k < N_LOSSES; k++) {
        pw_point points[PW_MAX_POINTS];
        int n = pw_cover(losses[k], points);
        for (int i = 0; i < n; i++) {
            lg_str text = {0};
            pw_write(losses[k], &points[i], 100 + i, &text);
            char *path = path_of(folder, losses[k], i);
            FILE *file = fopen(path, "w");
            bool ok = file && fputs(lg_str_text(&text), file) >= 0;
            ok = file && fclose(file) == 0 && ok;
            free(path);
            lg_str_free(&text);
            if (!ok) {
                return 1;
            }
        }
    }
    return 0;
}

typedef struct pair_count {
    int all, feasible, covered;
} pair_count;

static pair_count count_pairs(lg_loss_kind loss, const pw_point *points, int n) {
    pw_pairs feasible;
    pw_pairs covered = {0};
    pw_feasible(loss, &feasible);
    for (int i = 0; i < n; i++) {
        pw_add_pairs(&covered, &points[i], true);
    }
    pair_count count = {0};
    for (int f = 0; f < PW_N_FACTORS; f++) {
        for (int g = f + 1; g < PW_N_FACTORS; g++) {
            for (int l = 0; l < pw_factors[f].n; l++) {
                for (int m = 0; m < pw_factors[g].n; m++) {
                    count.all++;
                    count.feasible += feasible.has[f][l][g][m];
                    count.covered += feasible.has[f][l][g][m] && covered.has[f][l][g][m];
                }
            }
        }
    }
    return count;
}

// For each pair of factors: pairs covered of those feasible.
static void print_table(lg_loss_kind loss, const pw_point *points, int n) {
    pw_pairs feasible;
    pw_pairs covered = {0};
    pw_feasible(loss, &feasible);
    for (int i = 0; i < n; i++) {
        pw_add_pairs(&covered, &points[i], true);
    }
    printf("\n    %s, %d points\n    %10s", lg_loss_kind_name(loss), n, "");
    for (int g = 1; g < PW_N_FACTORS; g++) {
        printf(" %10s", pw_factors[g].name);
    }
    for (int f = 0; f + 1 < PW_N_FACTORS; f++) {
        printf("\n    %10s", pw_factors[f].name);
        for (int g = 1; g < PW_N_FACTORS; g++) {
            int n_feasible = 0;
            int n_covered = 0;
            for (int at = 0; g > f && at < pw_factors[f].n * pw_factors[g].n; at++) {
                int l = at / pw_factors[g].n;
                int m = at % pw_factors[g].n;
                n_feasible += feasible.has[f][l][g][m];
                n_covered += feasible.has[f][l][g][m] && covered.has[f][l][g][m];
            }
            char text[32] = "";
            if (g > f) {
                snprintf(text, sizeof text, "%d/%d", n_covered, n_feasible);
            }
            printf(" %10s", text);
        }
    }
    printf("\n    ");
}

static void test_every_pair(void) {
    for (int k = 0; k < N_LOSSES; k++) {
        const char *name = lg_loss_kind_name(losses[k]);
        pw_point points[PW_MAX_POINTS];
        int n = pw_cover(losses[k], points);
        print_table(losses[k], points, n);
        pair_count count = count_pairs(losses[k], points, n);
        LG_CHECK_ROW(name, n > 0 && n < PW_MAX_POINTS);
        LG_CHECK_ROW(name, count.covered == count.feasible);
        for (int i = 0; i < n; i++) {
            LG_CHECK_ROW(name, pw_is_possible(losses[k], &points[i]));
        }
    }
}

// The pairs that cannot be, by hand: each rule's, and nothing more.
static void test_infeasible_pairs(void) {
    // uint8 with -100, probabilities with three ways to ignore, one expanded sample.
    pair_count ce = count_pairs(LG_CROSS_ENTROPY, NULL, 0);
    // And no positive weight with any of the 29 other values.
    CU_ASSERT_EQUAL(ce.all - ce.feasible, 1 + 3 + 1 + 29);
    // No smoothing and no positive weight with any of the 29 others, no probabilities with any of
    // the 27 others; the pairs of two of them are counted once.
    pair_count nll = count_pairs(LG_NLL_LOSS, NULL, 0);
    CU_ASSERT_EQUAL(nll.all - nll.feasible, 29 + 29 + 27 - 3 + 1 + 1);
    // What is left: 3 reductions, 2 weights, 4 inputs, 4 ranks, 3 layouts, 3 directions and one
    // value of the other four factors; a lone dimension is not expanded.
    CU_ASSERT_EQUAL(count_pairs(LG_BCE, NULL, 0).feasible, 231 - 1);
    CU_ASSERT_EQUAL(count_pairs(LG_BCE_WITH_LOGITS, NULL, 0).feasible, 253 - 1);
}

// An array that lacks a point is told from one that is whole.
static void test_a_missing_point(void) {
    for (int k = 0; k < N_LOSSES; k++) {
        pw_point points[PW_MAX_POINTS];
        int n = pw_cover(losses[k], points);
        pair_count count = count_pairs(losses[k], points, n - 1);
        LG_CHECK_ROW(lg_loss_kind_name(losses[k]), count.covered < count.feasible);
    }
}

static void test_files(void) {
    size_t n_files = 0;
    for (int k = 0; k < N_LOSSES; k++) {
        pw_point points[PW_MAX_POINTS];
        int n = pw_cover(losses[k], points);
        for (int i = 0; i < n; i++) {
            lg_str text = {0};
            size_t size;
            pw_write(losses[k], &points[i], 100 + i, &text);
            char *path = path_of(LG_SOURCE_DIR "/scenarios/pairwise", losses[k], i);
            char *file = lg_read_file(path, &size);
            LG_CHECK_ROW(path, file && strcmp(file, lg_str_text(&text)) == 0);
            free(file);
            free(path);
            lg_str_free(&text);
        }
        n_files += (size_t)n;
    }
    glob_t found;
    CU_ASSERT_EQUAL_FATAL(glob(LG_SOURCE_DIR "/scenarios/pairwise/*", 0, NULL, &found), 0);
    CU_ASSERT_EQUAL(found.gl_pathc, n_files); // and none that is not generated
    globfree(&found);
}

// How many of the kernels take the point.
static int count_kernels(const lg_kernel_set *kernels, const lg_scenario *scenario) {
    lg_batch batch;
    lg_diags diags = {0};
    lg_arena arena = {0};
    bool ok = lg_generate(scenario, true, &batch, &diags);
    lg_diags_print(&diags, stderr);
    CU_ASSERT_TRUE_FATAL(ok);
    int n = 0;
    for (int64_t i = 0; i < kernels->n; i++) {
        n += !lg_device_unsuitable(&kernels->items[i], &batch, LG_MODE_BLOCKING, &arena);
    }
    lg_arena_free(&arena);
    lg_batch_free(&batch);
    return n;
}

static void read_kernels(lg_kernel_set *kernels) {
    lg_diags diags = {0};
    *kernels = (lg_kernel_set){0};
    bool ok = lg_kernels_read(LG_SOURCE_DIR "/kernels/nll_loss.yaml", kernels, &diags) &&
              lg_kernels_read(LG_SOURCE_DIR "/kernels/cross_entropy.yaml", kernels, &diags) &&
              lg_kernels_read(LG_SOURCE_DIR "/kernels/bce.yaml", kernels, &diags) &&
              lg_kernels_read(LG_SOURCE_DIR "/kernels/bce_with_logits.yaml", kernels, &diags);
    lg_diags_print(&diags, stderr);
    CU_ASSERT_TRUE_FATAL(ok);
}

static void test_a_kernel_for_each(void) {
    lg_kernel_set kernels;
    read_kernels(&kernels);
    for (int k = 0; k < N_LOSSES; k++) {
        pw_point points[PW_MAX_POINTS];
        int n = pw_cover(losses[k], points);
        for (int i = 0; i < n; i++) {
            lg_str text = {0};
            lg_diags diags = {0};
            lg_read_options options = {0};
            lg_scenario_set set;
            pw_write(losses[k], &points[i], 100 + i, &text);
            char *name = path_of("pairwise", losses[k], i);
            bool ok = lg_scenario_read_text(name, text.text, text.n, &options, &set, &diags);
            lg_diags_print(&diags, stderr);
            CU_ASSERT_TRUE_FATAL(ok);
            LG_CHECK_ROW(name, count_kernels(&kernels, &set.items[0]) >= 1);
            lg_scenario_set_free(&set);
            lg_str_free(&text);
            free(name);
        }
    }
    lg_kernel_set_free(&kernels);
}

// Not only the points chosen: whatever options go together, there is a kernel that takes them.
static void test_a_kernel_for_every_possible_point(void) {
    lg_kernel_set kernels;
    read_kernels(&kernels);
    for (int k = 0; k < N_LOSSES; k++) {
        pw_point p = {0};
        int n = 0;
        int n_taken = 0;
        do {
            // Values do not decide what a kernel takes: one of each of these will do.
            bool skip = p.level[PW_WEIGHT] || p.level[PW_IGNORE] || p.level[PW_SMOOTHING] ||
                        p.level[PW_POSITIVE] || p.level[PW_DIRECTION] != PW_DIRECTION_FORWARD;
            if (skip || !pw_is_possible(losses[k], &p)) {
                continue;
            }
            lg_str text = {0};
            lg_diags diags = {0};
            lg_read_options options = {0};
            lg_scenario_set set;
            pw_write(losses[k], &p, 1, &text);
            CU_ASSERT_TRUE_FATAL(
                lg_scenario_read_text("p.yaml", text.text, text.n, &options, &set, &diags));
            n++;
            n_taken += count_kernels(&kernels, &set.items[0]) >= 1;
            lg_scenario_set_free(&set);
            lg_str_free(&text);
        } while (pw_next(&p));
        LG_CHECK_ROW(lg_loss_kind_name(losses[k]), n > 100 && n_taken == n);
        if (n_taken != n) {
            fprintf(stderr, "    %d of %d points have a kernel\n", n_taken, n);
        }
    }
    lg_kernel_set_free(&kernels);
}

// A batch that none of the kernels takes is counted as such.
static void test_no_kernel(void) {
    static const char text[] =
        "title: t\nloss: {kind: nll_loss}\nbatch: {samples: 4, extent: [2, 3], "
        "classes: 3, logits: {stride: [36, 12, 1, 2]}}\n";
    lg_kernel_set kernels;
    lg_scenario_set set;
    lg_diags diags = {0};
    lg_read_options options = {0};
    read_kernels(&kernels);
    CU_ASSERT_TRUE_FATAL(
        lg_scenario_read_text("t.yaml", text, sizeof text - 1, &options, &set, &diags));
    CU_ASSERT_EQUAL(count_kernels(&kernels, &set.items[0]), 0);
    lg_scenario_set_free(&set);
    lg_kernel_set_free(&kernels);
}

int main(int argc, char **argv) {
    static const lg_test tests[] = {
        {"every feasible pair", test_every_pair},
        {"infeasible pairs", test_infeasible_pairs},
        {"a missing point is missed", test_a_missing_point},
        {"the files", test_files},
        {"a kernel for each", test_a_kernel_for_each},
        {"a kernel for every possible point", test_a_kernel_for_every_possible_point},
        {"no kernel", test_no_kernel},
    };
    if (argc == 3 && strcmp(argv[1], "--write") == 0) {
        return write_files(argv[2]);
    }
    return lg_run_tests("pairwise", tests, sizeof tests / sizeof *tests);
}
