// SPDX-License-Identifier: Apache-2.0
// Source positions from .file and .loc, and the listing.
#include "unit/engine/ptx/ptx_text.h"
#include "unit/testing.h"

#include <stdlib.h>

static const char text[] =
    PTX_HEADER ".entry k() {\n" // line 4
               ".reg .pred %p<2>; .reg .b32 %r<5>;\n"
               "mov.u32 %r1, 0;\n" // 6: before any .loc
               ".loc 1 10 3\n"
               "mov.u32 %r2, 0;\n" // 8
               ".loc 2 364 5, function_name $L__info0, inlined_at 1 10 3\n"
               ".loc 2 269 13, function_name $L__info1+4, inlined_at 2 364 5\n"
               "mov.u32 %r3, 0;\n" // 11: two inlined calls deep
               ".loc 1 0 0\n"
               "mov.u32 %r4, 0;\n" // 13: nvcc knows no line
               ".loc 7 1 1\n"
               "mov.u32 %r4, 1;\n" // 15: a file that nobody named
               ".loc 2 99 1, function_name $L__info0, inlined_at 3 5 6\n"
               "@%p1 bra L;\n" // 17: the call site was not seen before
               ".loc 1 10 3\n"
               "L: mov.u32 %r4,\t 2;\n" // 19
               "}\n"
               ".file 1 \"/src/a.cu\"\n.file 2 \"/inc/b.h\", 1234, 5678\n.file 3 \"c.cu\"\n"
               ".section .debug_str {\n$L__info0:\n.b8 95,90,0\n$L__info1:\n.b8 1\n}\n";

typedef struct source_row {
    const char *name;
    int insn;
    const char *file; // NULL: unknown
    int line, column;
    const char *chain; // lines of the call sites, inner to outer
} source_row;

static const source_row sources[] = {
    {"before any .loc", 0, NULL, 0, 0, ""},
    {"plain", 1, "/src/a.cu", 10, 3, ""},
    {"inlined twice", 2, "/inc/b.h", 269, 13, "364 10 "},
    {"line 0", 3, NULL, 0, 0, ""},
    {"unnamed file", 4, NULL, 0, 0, ""},
    {"new call site", 5, "/inc/b.h", 99, 1, "5 "},
    {"plain again", 6, "/src/a.cu", 10, 3, ""},
    {"the return that was added", 7, "/src/a.cu", 10, 3, ""},
    {"no such instruction", 8, NULL, 0, 0, ""},
    {"negative index", -1, NULL, 0, 0, ""},
};

static void test_positions(void) {
    lg_ptx_module *module = load_or_print(text);
    CU_ASSERT_PTR_NOT_NULL_FATAL(module);
    const lg_ptx_function *k = &module->functions[0];
    CU_ASSERT_EQUAL_FATAL(k->n_insns, 8);
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++) {
        const source_row *row = &sources[i];
        const char *file = NULL;
        int line = 0;
        int column = 0;
        bool known = lg_ptx_source(module, k, row->insn, &file, &line, &column);
        LG_CHECK_ROW(row->name, known == (row->file != NULL));
        if (known) {
            LG_CHECK_ROW(row->name, row->file && strcmp(file, row->file) == 0);
            LG_CHECK_ROW(row->name, line == row->line && column == row->column);
            lg_str chain = {0};
            int32_t src = k->insns[row->insn].src;
            while ((src = k->srcs[src].inlined_at) >= 0) {
                lg_str_printf(&chain, "%d ", k->srcs[src].line);
            }
            LG_CHECK_ROW(row->name, strcmp(lg_str_text(&chain), row->chain) == 0);
            lg_str_free(&chain);
        }
    }
    lg_ptx_free(module);
}

// What a header of the toolkit does is told of the line that called it; other headers speak for
// themselves.
static void test_callers(void) {
    static const char inlined[] =
        ".version 9.0\n.target sm_75\n.address_size 64\n.file 1 \"k.cu\"\n"
        ".file 2 \"/cuda/include/inner.hpp\"\n.file 3 \"mine.cuh\"\n"
        ".entry k() {\n.reg .b32 %r<2>;\n.loc 1 10 3\nmov.u32 %r1, 0;\n"
        ".loc 2 77 5, function_name $n, inlined_at 1 10 3\nmov.u32 %r1, 1;\n"
        ".loc 2 88 5, function_name $n, inlined_at 2 77 5\nmov.u32 %r1, 2;\n"
        ".loc 3 4 1, function_name $n, inlined_at 1 10 3\nmov.u32 %r1, 3;\n"
        ".loc 2 99 5\nmov.u32 %r1, 4;\nret;\n}\n";
    static const struct {
        const char *name, *file;
        int insn, line;
    } callers[] = {
        {"own line", "k.cu", 0, 10},
        {"a header of the toolkit", "k.cu", 1, 10},
        {"a header's call of another", "k.cu", 2, 10},
        {"a header of the program", "mine.cuh", 3, 4},
        {"a header that nobody calls", "/cuda/include/inner.hpp", 4, 99},
    };
    lg_ptx_module *module = load_or_print(inlined);
    CU_ASSERT_PTR_NOT_NULL_FATAL(module);
    for (size_t i = 0; i < sizeof callers / sizeof *callers; i++) {
        const char *file = NULL;
        int line = 0, column = 0;
        bool known = lg_ptx_caller_source(module, &module->functions[0], callers[i].insn, &file,
                                          &line, &column);
        LG_CHECK_ROW(callers[i].name, known && strcmp(file, callers[i].file) == 0);
        LG_CHECK_ROW(callers[i].name, line == callers[i].line);
    }
    lg_ptx_free(module);
}

static const char listing[] = "entry k: 5 registers, 8 instructions, 0 bytes of parameters\n"
                              "    0  mov.u32 %r1, 0  (line 6)\n"
                              "; a.cu:10\n"
                              "    1  mov.u32 %r2, 0  (line 8)\n"
                              "; b.h:269\n"
                              "    2  mov.u32 %r3, 0  (line 11)\n"
                              "    3  mov.u32 %r4, 0  (line 13)\n"
                              "    4  mov.u32 %r4, 1  (line 15)\n"
                              "; b.h:99\n"
                              "    5  @%p1 bra L -> 6, meet at 6  (line 17)\n"
                              "; a.cu:10\n"
                              "    6  mov.u32 %r4, 2  (line 19)\n"
                              "    7  ret  (line 20)\n";

static void test_listing(void) {
    lg_ptx_module *module = load_or_print(text);
    CU_ASSERT_PTR_NOT_NULL_FATAL(module);
    lg_str out = {0};
    lg_ptx_dump(module, &module->functions[0], &out);
    bool same = strcmp(lg_str_text(&out), listing) == 0;
    CU_ASSERT_TRUE(same);
    if (!same) {
        fprintf(stderr, "\n%s", lg_str_text(&out));
    }
    lg_str_free(&out);
    lg_ptx_free(module);
}

int main(void) {
    static const lg_test tests[] = {
        {"positions", test_positions},
        {"callers", test_callers},
        {"listing", test_listing},
    };
    return lg_run_tests(LG_SUITE, tests, sizeof tests / sizeof *tests);
}
