// SPDX-License-Identifier: Apache-2.0
// Hostile and huge texts: they end, with a bounded number of errors and bounded memory.
#include "unit/engine/ptx/ptx_text.h"
#include "unit/testing.h"

#include <stdlib.h>
#include <time.h>

static void repeat(lg_str *text, const char *piece, int n) {
    for (int i = 0; i < n; i++) {
        lg_str_add(text, piece);
    }
}

typedef struct hostile_row {
    const char *name;
    const char *before, *piece;
    int n;
    const char *after;
    const char *first_error; // NULL: it loads
} hostile_row;

static const hostile_row hostile[] = {
    {"deep scopes", PTX_KERNEL, "{", 100000, "}", "scopes are nested deeper than 64"},
    {"deep expression", PTX_KERNEL "mov.u32 %r1, ", "(", 100000, ";",
     "expressions are nested deeper than 64"},
    {"many minus signs", PTX_KERNEL "mov.u32 %r1, ", "-", 100000, "1; }",
     "expressions are nested deeper than 64"},
    {"deep ternaries", PTX_KERNEL "mov.u32 %r1, ", "1 ? 1 : ", 100000, "1; }",
     "expressions are nested deeper than 64"},
    {"long sum", PTX_KERNEL "mov.u32 %r1, ", "1 + ", 100000, "1; }", NULL},
    {"deep initialiser", PTX_HEADER ".global .u32 x[1] = ", "{", 100000, ";",
     "more braces than 'x' has dimensions"},
    {"many dimensions", PTX_HEADER ".global .u32 x", "[1]", 100000, ";",
     "an array has more than 8 dimensions"},
    {"long mnemonic", PTX_KERNEL "add", ".ftz", 100000, " %r1;",
     "the mnemonic is longer than 200 characters"},
    {"many modifiers", PTX_KERNEL "add", ".l", 60, " %r1;}", "too many modifiers"},
    {"many operands", PTX_KERNEL "add.s32 ", "%r1, ", 100000, "%r1;",
     "'add.s32' has too many operands"},
    {"many vector elements", PTX_KERNEL "mov.b32 %r1, {", "%h1, ", 100000, "%h1};",
     "a vector has more than 8 elements"},
    {"many arguments", PTX_KERNEL "call f, (", "%r1, ", 100000, "%r1);",
     "more than 4096 call arguments"},
    {"long name", PTX_KERNEL "bra ", "x", 1000000, ";}", NULL},
    {"garbage", "", "\x01\xff{", 100000, "", "a character that PTX does not use"},
    {"open strings", PTX_HEADER, "\"\n", 100000, "", "the string is not closed on its line"},
    {"many switches over a long table",
     PTX_KERNEL
     "A: t: .branchtargets A, A, A, A, A, A, A, A, A, A, A, A, A, A, A, A, A, A, A, A, A, "
     "A, A, A, A, A, A, A, A, A, A, A;",
     "brx.idx %r1, t;\n", 40000, "}", "more than 1048576 branch targets in one function"},
    {"registers are made when used", PTX_HEADER,
     ".entry k() { .reg .b32 %r<1000000>; }\n.entry l() { .reg .b32 %r<1000000>; }\n", 1, "", NULL},
};

static void test_hostile_texts(void) {
    for (size_t i = 0; i < sizeof hostile / sizeof *hostile; i++) {
        const hostile_row *row = &hostile[i];
        lg_str text = {0};
        lg_diags diags = {0};
        lg_str_add(&text, row->before);
        repeat(&text, row->piece, row->n);
        lg_str_add(&text, row->after);
        lg_ptx_module *module = load_text(lg_str_text(&text), &diags);
        bool is_long_name = strcmp(row->name, "long name") == 0;
        bool loads = row->first_error == NULL && !is_long_name;
        LG_CHECK_ROW(row->name, (module != NULL) == loads);
        LG_CHECK_ROW(row->name, diags.n_errors <= 1001);
        if (is_long_name) {
            LG_CHECK_ROW(row->name, diags.n == 1 && strlen(diags.items[0].message) < 500);
        } else if (!loads && diags.n > 0) {
            bool same = strcmp(diags.items[0].message, row->first_error) == 0;
            LG_CHECK_ROW(row->name, same);
            if (!same) {
                fprintf(stderr, "    got '%s'\n", diags.items[0].message);
            }
        }
        lg_ptx_free(module);
        lg_diags_free(&diags);
        lg_str_free(&text);
    }
}

static void test_errors_are_bounded_and_counted(void) {
    lg_str text = {0};
    lg_diags diags = {0};
    lg_str_add(&text, PTX_KERNEL);
    repeat(&text, "foo;\n", 5000);
    CU_ASSERT_PTR_NULL(load_text(lg_str_text(&text), &diags));
    CU_ASSERT_EQUAL(diags.n_errors, 1001);
    CU_ASSERT_STRING_EQUAL(diags.items[diags.n - 1].message,
                           "1000 errors; the rest of the file was not read");
    lg_diags_free(&diags);
    lg_str_free(&text);
}

// Every beginning of a module ends in errors or loads; a NUL ends the text.
static void test_every_prefix(void) {
    size_t n;
    char *text = lg_read_file(LG_TEST_DIR "/fuzz/corpus/ptx/forms.ptx", &n);
    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    size_t n_loaded = 0;
    for (size_t length = 0; length <= n; length++) {
        lg_diags diags = {0};
        char *prefix = malloc(length + 1); // exact, so that a sanitizer sees a read behind it
        memcpy(prefix, text, length);
        lg_ptx_module *module = lg_ptx_load("t.ptx", prefix, length, &diags);
        CU_ASSERT_EQUAL(module == NULL, diags.n_errors > 0);
        n_loaded += module != NULL;
        lg_ptx_free(module);
        lg_diags_free(&diags);
        free(prefix);
    }
    CU_ASSERT_TRUE(n_loaded > 1 && n_loaded < n / 2);
    lg_diags diags = {0};
    static const char with_nul[] = PTX_HEADER "\0garbage";
    lg_ptx_module *module = lg_ptx_load("t.ptx", with_nul, sizeof with_nul - 1, &diags);
    CU_ASSERT_PTR_NOT_NULL(module);
    lg_ptx_free(module);
    free(text);
}

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

// 60,000 lines; the bound is loose, for sanitizers and busy machines, and still catches what is
// quadratic.
static void test_long_text_is_quick(void) {
    enum { N_BLOCKS = 10000 };
    lg_str text = {0};
    lg_str_add(&text, PTX_HEADER ".entry k(.param .u64 p) {\n"
                                 ".reg .pred %p<3>; .reg .b32 %r<100000>; .reg .b64 %rd<3>;\n"
                                 "ld.param.u64 %rd1, [p];\n");
    for (int b = 0; b < N_BLOCKS; b++) {
        lg_str_printf(&text,
                      ".loc 1 %d 3\n$L%d:\nmad.lo.s32 %%r%d, %%r%d, 7, %%r%d;\n"
                      "setp.lt.s32 %%p1, %%r%d, 100;\nst.global.u32 [%%rd1+%d], %%r%d;\n"
                      "@%%p1 bra $L%d;\n",
                      b + 1, b, b + 1, b, b, b, 4 * b, b, b / 2);
    }
    lg_str_add(&text, "ret;\n}\n.file 1 \"x.cu\"\n");
    double start = seconds();
    lg_ptx_module *module = load_or_print(lg_str_text(&text));
    double took = seconds() - start;
    CU_ASSERT_PTR_NOT_NULL_FATAL(module);
    CU_ASSERT_EQUAL(module->functions[0].n_insns, 4 * N_BLOCKS + 2);
    fprintf(stderr, "\n    %d lines in %.1f ms ", module->n_lines, 1e3 * took);
    CU_ASSERT_TRUE(took < 5.0);
    lg_ptx_free(module);
    lg_str_free(&text);
}

int main(void) {
    static const lg_test tests[] = {
        {"hostile texts", test_hostile_texts},
        {"errors are bounded and counted", test_errors_are_bounded_and_counted},
        {"every prefix", test_every_prefix},
        {"long text is quick", test_long_text_is_quick},
    };
    return lg_run_tests(LG_SUITE, tests, sizeof tests / sizeof *tests);
}
