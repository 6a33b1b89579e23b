// SPDX-License-Identifier: Apache-2.0
#include "device/internal.h"

#include "support/alloc.h"
#include "unit/testing.h"

#include <stdlib.h>
#include <string.h>

static void test_slices(void) {
    static const char text[] = ".version 8.0\n"
                               ".global .b8 s[2] = {1, 2}; // .entry x { in a comment\n"
                               ".func helper() { ret; }\n"
                               ".visible .entry first(.param .u64 p)\n{\n { ret; } /* } */\n}\n"
                               ".file 1 \"a } .entry b\"\n"
                               ".entry second()\n.maxntid 32, 1, 1\n{\n ret;\n}\n"
                               ".entry third() { ret; } .entry fourth() { ret; }\n"
                               "\t.section .debug_str\n{\n .b8 1\n}\n"
                               "// end\n";
    lg_ptx_index index = lg_ptx_index_make(text, strlen(text));
    CU_ASSERT_EQUAL(index.n_pieces, 5);
    static const struct {
        const char *name;
        const char *names[2];
        size_t n;
        bool keep_debug;
        size_t kept;
        const char *has[3];
        const char *has_not[3];
    } rows[] = {
        {"one",
         {"second"},
         1,
         false,
         1,
         {".maxntid 32", "helper", "s[2]"},
         {"first", "third", ".section"}},
        {"two",
         {"first", "fourth"},
         2,
         true,
         2,
         {"entry first", "entry fourth", ".section"},
         {"second", "third", "maxntid"}},
        {"none of that name",
         {"fir"},
         1,
         false,
         0,
         {"helper", "// end", "a } .entry b"},
         {"first", "second", "fourth"}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        lg_str out = {0};
        size_t kept = lg_ptx_slice(text, strlen(text), &index, rows[i].names, rows[i].n,
                                   rows[i].keep_debug, &out);
        LG_CHECK_ROW(rows[i].name, kept == rows[i].kept);
        for (int k = 0; k < 3; k++) {
            LG_CHECK_ROW(rows[i].name, strstr(lg_str_text(&out), rows[i].has[k]));
            LG_CHECK_ROW(rows[i].name, !strstr(lg_str_text(&out), rows[i].has_not[k]));
        }
        lg_str_free(&out);
    }
    const lg_ptx_piece *second = lg_ptx_index_find(text, &index, "second");
    CU_ASSERT_PTR_NOT_NULL_FATAL(second);
    CU_ASSERT_EQUAL(strncmp(text + second->start, ".entry second()", 15), 0);
    CU_ASSERT_PTR_NULL(lg_ptx_index_find(text, &index, "secon"));
    CU_ASSERT_PTR_NULL(lg_ptx_index_find(text, &index, "")); // a debug section has no name
    lg_ptx_index_free(&index);
    // Cut anywhere, in memory of exactly its size: nothing is read past the end.
    for (size_t n = 0; n < sizeof text - 1; n++) {
        char *cut = lg_xmalloc(n ? n : 1);
        memcpy(cut, text, n);
        index = lg_ptx_index_make(cut, n);
        lg_str out = {0};
        lg_ptx_slice(cut, n, &index, NULL, 0, true, &out);
        CU_ASSERT_TRUE(out.n <= n);
        lg_str_free(&out);
        lg_ptx_index_free(&index);
        free(cut);
    }
}

int main(void) {
    static const lg_test tests[] = {{"slices", test_slices}};
    return lg_run_tests(LG_SUITE, tests, sizeof tests / sizeof *tests);
}
