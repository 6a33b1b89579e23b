// SPDX-License-Identifier: Apache-2.0
// Where diverged threads meet: tables of shapes, and random graphs against a plain definition.
#include "engine/ptx/cfg.h"
#include "unit/engine/ptx/ptx_text.h"
#include "unit/testing.h"

#include <stdlib.h>

typedef struct meet_row {
    const char *name;
    const char *body;  // one instruction a line, so that indices are easy to count
    const char *meets; // "branch>meeting" of each instruction that can diverge; x: at exit
} meet_row;

#define INSN "add.s32 %r1, %r1, 1;\n"

static const meet_row meets[] = {
    {"straight line", INSN INSN "ret;\n", ""},
    {"if", "@%p1 bra E;\n" INSN "E: ret;\n", "0>2 "},
    {"if and else", "@%p1 bra A;\n" INSN "bra.uni E;\nA: " INSN "E: " INSN "ret;\n", "0>4 "},
    {"nested if", "@%p1 bra E;\n@!%p2 bra F;\n" INSN "F: " INSN "E: ret;\n", "0>4 1>3 "},
    {"loop", "L: " INSN "@%p1 bra L;\nret;\n", "1>2 "},
    {"nested loops", "L: " INSN "M: " INSN "@%p1 bra M;\n@%p2 bra L;\nret;\n", "2>3 3>4 "},
    {"break", "L: " INSN "@%p1 bra E;\n" INSN "@%p2 bra L;\nE: ret;\n", "1>4 3>4 "},
    {"continue", "L: " INSN "@%p1 bra C;\n" INSN "C: @%p2 bra L;\nret;\n", "1>3 3>4 "},
    {"early return by a branch", "@%p1 bra E;\n" INSN "@%p2 bra F;\n" INSN "F: " INSN "E: ret;\n",
     "0>5 2>4 "},
    {"early return of its own", "@%p1 bra A;\nret;\nA: " INSN "ret;\n", "0>x "},
    // The threads that return are gone: the others still meet at F.
    {"guarded return inside an if", "@%p1 bra F;\n@%p2 ret;\n" INSN "F: ret;\n", "0>3 1>x "},
    {"guarded exit in a loop", "L: @%p2 exit;\n@%p1 bra C;\n" INSN "C: bra L;\n", "0>x 1>3 "},
    {"a trap needs no meeting point", "@%p1 bra G;\n" INSN "trap;\nG: ret;\n", "0>3 "},
    {"two ways into a loop", "@%p1 bra B;\nA: " INSN "B: " INSN "@%p2 bra A;\nret;\n", "0>2 3>4 "},
    {"irreducible with two exits", "@%p1 bra B;\nA: @%p2 bra E;\nB: @%p3 bra A;\nE: ret;\n",
     "0>3 1>3 2>3 "},
    {"endless loop", "@%p1 bra E;\nL: " INSN "bra L;\nE: ret;\n", "0>x "},
    {"endless loop with an if inside", "L: @%p1 bra C;\n" INSN "C: bra L;\n", "0>2 "},
    {"endless loop whose if stands last", "bra L;\nB: " INSN "L: @%p1 bra B;\n" INSN "bra B;\n",
     "2>1 "},
    {"endless loop of two ways", "L: @%p1 bra A;\n" INSN "bra L;\nA: " INSN "bra L;\n", "0>0 "},
    {"endless loop with a loop inside", "L: " INSN "M: " INSN "@%p1 bra M;\nbra L;\n", "2>3 "},
    {"endless loop with a continue", "L: " INSN "@%p1 bra L;\n@%p2 bra C;\n" INSN "C: bra L;\n",
     "1>0 2>4 "},
    {"two endless loops", "@%p1 bra M;\nL: @%p2 bra L;\nbra L;\nM: " INSN "bra M;\n", "0>x 1>1 "},
    {"endless loop that one in two reaches",
     "@%p1 bra L;\n@%p2 bra E;\nL: " INSN "bra L;\nE: ret;\n", "0>x 1>x "},
    {"endless loop with two ways in", "@%p1 bra B;\nA: " INSN "B: @%p2 bra A;\nbra A;\n",
     "0>1 2>1 "},
    {"branch to itself", "L: @%p1 bra L;\nret;\n", "0>1 "},
    {"unreachable code", "bra E;\nD: @%p1 bra D;\nE: ret;\n", "1>2 "},
    {"branch to the next instruction", "@%p1 bra N;\nN: ret;\n", "0>1 "},
    {"guarded branch at the end", "L: " INSN "@%p1 bra L;\n", "1>2 "},
    {"switch",
     "t: .branchtargets A, B, C;\nbrx.idx %r1, t;\nA: bra E;\nB: bra E;\nC: " INSN "E: ret;\n",
     "0>4 "},
    {"switch with fall through",
     "t: .branchtargets A, B;\nbrx.idx %r1, t;\nA: " INSN "B: " INSN "ret;\n", "0>2 "},
    {"switch of one target", "t: .branchtargets A, A;\nbrx.idx %r1, t;\nA: " INSN "ret;\n", "0>1 "},
    {"guarded switch", "t: .branchtargets A;\n@%p1 brx.idx %r1, t;\n" INSN "A: ret;\n", "0>2 "},
    {"short circuit", "@%p1 bra T;\n@%p2 bra T;\n" INSN "bra E;\nT: " INSN "E: ret;\n", "0>5 1>5 "},
};

static void print_meets(const lg_ptx_function *function, lg_str *out) {
    for (int i = 0; i < function->n_insns; i++) {
        if (function->reconverge[i] == function->n_insns) {
            lg_str_printf(out, "%d>x ", i);
        } else if (function->reconverge[i] >= 0) {
            lg_str_printf(out, "%d>%d ", i, function->reconverge[i]);
        }
    }
}

static void test_shapes(void) {
    for (size_t i = 0; i < sizeof meets / sizeof *meets; i++) {
        lg_str text = {0};
        lg_str printed = {0};
        lg_str_printf(&text, "%s%s}\n", PTX_KERNEL, meets[i].body);
        lg_ptx_module *module = load_or_print(lg_str_text(&text));
        LG_CHECK_ROW(meets[i].name, module != NULL);
        if (module) {
            print_meets(&module->functions[lg_ptx_find_function(module, "k")], &printed);
            LG_CHECK_ROW(meets[i].name, strcmp(lg_str_text(&printed), meets[i].meets) == 0);
            if (strcmp(lg_str_text(&printed), meets[i].meets) != 0) {
                fprintf(stderr, "    got '%s'\n", lg_str_text(&printed));
            }
        }
        lg_ptx_free(module);
        lg_str_free(&text);
        lg_str_free(&printed);
    }
}

static uint64_t next_random(uint64_t *state) {
    *state = *state * 6364136223846793005ULL + 1442695040888963407ULL;
    return *state >> 33;
}

// n blocks of two instructions; each ends in a branch, a guarded branch or a return.
static void random_text(uint64_t seed, int n, lg_str *text) {
    lg_str_add(text, PTX_KERNEL);
    for (int b = 0; b < n; b++) {
        lg_str_printf(text, "B%d: ", b);
        lg_str_add(text, INSN);
        uint64_t kind = next_random(&seed) % 10;
        int target = (int)(next_random(&seed) % (uint64_t)n);
        if (kind < 6) {
            lg_str_printf(text, "@%%p1 bra B%d;\n", target);
        } else if (kind < 9) {
            lg_str_printf(text, "bra B%d;\n", target);
        } else {
            lg_str_add(text, "ret;\n");
        }
    }
    lg_str_add(text, "}\n");
}

static void visit(const lg_ptx_cfg *cfg, int32_t without, int32_t from, bool *seen) {
    if (from == without || seen[from]) {
        return;
    }
    seen[from] = true;
    for (int32_t i = 0; from < cfg->n_blocks && i < cfg->blocks[from].n_succs; i++) {
        visit(cfg, without, cfg->blocks[from].succs[i], seen);
    }
}

// b is post-dominated by d: without d, no path from b reaches the exit.
static bool post_dominates(const lg_ptx_cfg *cfg, int32_t d, int32_t b) {
    bool seen[64] = {0};
    visit(cfg, d, b, seen);
    return !seen[cfg->n_blocks];
}

static void test_random_graphs(void) {
    int n_checked = 0;
    for (uint64_t seed = 1; seed <= 400; seed++) {
        lg_str text = {0};
        lg_arena arena = {0};
        lg_ptx_cfg cfg;
        random_text(seed * 977, 2 + (int)(seed % 20), &text);
        lg_ptx_module *module = load_or_print(lg_str_text(&text));
        CU_ASSERT_PTR_NOT_NULL_FATAL(module);
        lg_ptx_cfg_build(&arena, &module->functions[lg_ptx_find_function(module, "k")], &cfg);
        CU_ASSERT_FATAL(cfg.n_blocks < 64);
        for (int32_t b = 0; b < cfg.n_blocks; b++) {
            bool reaches[64] = {0};
            visit(&cfg, -1, b, reaches);
            CU_ASSERT_TRUE(reaches[cfg.n_blocks]); // endless loops got an edge
            int32_t ipdom = cfg.blocks[b].ipdom;
            bool right = ipdom != b && (ipdom == cfg.n_blocks || post_dominates(&cfg, ipdom, b));
            // Nearest: every other post-dominator of b post-dominates it.
            for (int32_t d = 0; d < cfg.n_blocks; d++) {
                if (d != b && d != ipdom && post_dominates(&cfg, d, b)) {
                    right &= ipdom < cfg.n_blocks && post_dominates(&cfg, d, ipdom);
                }
            }
            CU_ASSERT_TRUE(right);
            n_checked++;
        }
        lg_ptx_free(module);
        lg_arena_free(&arena);
        lg_str_free(&text);
    }
    CU_ASSERT_TRUE(n_checked > 4000);
}

// A ladder on which simpler algorithms take quadratic time.
static void test_long_functions(void) {
    enum { N = 20000 };
    lg_str text = {0};
    lg_str_add(&text, PTX_KERNEL);
    for (int b = 0; b < N; b++) {
        lg_str_printf(&text, "B%d: @%%p1 bra B%d;\n@%%p2 bra B%d;\n", b, N - 1 - b, b / 2);
    }
    lg_str_add(&text, "}\n");
    lg_ptx_module *module = load_or_print(lg_str_text(&text));
    CU_ASSERT_PTR_NOT_NULL_FATAL(module);
    const lg_ptx_function *k = &module->functions[lg_ptx_find_function(module, "k")];
    CU_ASSERT_EQUAL(k->n_insns, 2 * N + 1);
    CU_ASSERT_EQUAL(k->reconverge[2 * N - 1], 2 * N);
    lg_ptx_free(module);
    lg_str_free(&text);
}

int main(void) {
    static const lg_test tests[] = {
        {"shapes", test_shapes},
        {"random graphs", test_random_graphs},
        {"long functions", test_long_functions},
    };
    return lg_run_tests(LG_SUITE, tests, sizeof tests / sizeof *tests);
}
