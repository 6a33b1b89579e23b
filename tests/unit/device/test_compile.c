// SPDX-License-Identifier: Apache-2.0
#include "device/device.h"

#include "device/internal.h"
#include "support/alloc.h"
#include "unit/tree.h"

#include <dirent.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int count_files(const char *folder, const char *suffix) {
    int n = 0;
    DIR *dir = opendir(folder);
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        size_t length = strlen(entry->d_name);
        n += length >= strlen(suffix) &&
             strcmp(entry->d_name + length - strlen(suffix), suffix) == 0;
    }
    if (dir) {
        closedir(dir);
    }
    return n;
}

static const char kernel_text[] = "#include \"value.h\"\n"
                                  "#include <cassert>\n"
                                  "extern \"C\" __global__ void set(int *out, int n) {\n"
                                  "    assert(n >= 0);\n"
                                  "    if (n > 0) { out[0] = VALUE + EXTRA; }\n"
                                  "}\n";

typedef struct fixture {
    char *tree;
    char *cache;
    char *source;
    lg_compiler *compiler;
    lg_diags diags;
} fixture;

static void set_up(fixture *with) {
    *with = (fixture){.tree = make_tree()};
    with->cache = lg_xasprintf("%s/cache/deep", with->tree);
    with->source = lg_xasprintf("%s/kernels/set.cu", with->tree);
    write_text(with->tree, "kernels/set.cu", kernel_text);
    write_text(with->tree, "kernels/value.h", "#include \"../shared/inner.h\"\n");
    write_text(with->tree, "shared/inner.h", "#define VALUE 12345\n");
    with->compiler = lg_compiler_open(LG_DEFAULT_NVCC, with->cache, &with->diags);
    lg_diags_print(&with->diags, stderr);
    CU_ASSERT_PTR_NOT_NULL_FATAL(with->compiler);
}

static void tear_down(fixture *with) {
    lg_compiler_close(with->compiler);
    lg_diags_free(&with->diags);
    free(with->cache);
    free(with->source);
    remove_tree(with->tree);
}

static const char *const extra_1[] = {"-DEXTRA=1"};
static const char *const extra_2[] = {"-DEXTRA=2"};

static void count_notice(void *context, const char *source) {
    *(int *)context += strcmp(source, "kernels/set.cu") == 0;
}

static void test_compiles_once(void) {
    fixture with;
    set_up(&with);
    int n_notices = 0;
    lg_compiler_notify(with.compiler, count_notice, &n_notices);
    lg_compiled first;
    CU_ASSERT_TRUE_FATAL(lg_compile(with.compiler, with.source, extra_1, 1, &first, &with.diags));
    CU_ASSERT_FALSE(first.from_cache);
    CU_ASSERT_EQUAL(first.n_bytes, strlen(first.ptx));
    CU_ASSERT_PTR_NOT_NULL(strstr(first.ptx, ".entry set("));
    CU_ASSERT_PTR_NOT_NULL(strstr(first.ptx, "12346"));
    // Neither line tables nor assert texts know where the tree lies.
    CU_ASSERT_PTR_NOT_NULL(strstr(first.ptx, "\"kernels/set.cu\""));
    CU_ASSERT_PTR_NULL(strstr(first.ptx, with.tree));
    lg_compiled second;
    CU_ASSERT_TRUE_FATAL(lg_compile(with.compiler, with.source, extra_1, 1, &second, &with.diags));
    CU_ASSERT_TRUE(second.from_cache);
    CU_ASSERT_EQUAL(n_notices, 1);
    CU_ASSERT_STRING_EQUAL(second.path, first.path);
    CU_ASSERT_STRING_EQUAL(second.ptx, first.ptx);
    CU_ASSERT_EQUAL(with.diags.n, 0);
    lg_compiled_free(&first);
    lg_compiled_free(&second);
    tear_down(&with);
}

// A cached text is mapped: it ends with a NUL where its last page is full too, and is read again
// after its pages were given back.
static void test_page_ends(void) {
    fixture with;
    set_up(&with);
    lg_compiled file;
    CU_ASSERT_TRUE_FATAL(lg_compile(with.compiler, with.source, extra_1, 1, &file, &with.diags));
    char *path = lg_xstrdup(file.path);
    lg_compiled_free(&file);
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const size_t sizes[] = {0, 1, page - 1, page, page + 1, 3 * page};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        FILE *out = fopen(path, "w");
        CU_ASSERT_PTR_NOT_NULL_FATAL(out);
        for (size_t k = 0; k < sizes[i]; k++) {
            fputc('x', out);
        }
        fclose(out);
        CU_ASSERT_TRUE_FATAL(
            lg_compile(with.compiler, with.source, extra_1, 1, &file, &with.diags));
        CU_ASSERT_TRUE(file.from_cache);
        CU_ASSERT_EQUAL(file.n_bytes, sizes[i]);
        CU_ASSERT_EQUAL(strlen(file.ptx), sizes[i]);
        lg_compiled_rest(&file);
        CU_ASSERT_EQUAL(strspn(file.ptx, "x"), sizes[i]);
        lg_compiled_free(&file);
    }
    free(path);
    tear_down(&with);
}

// What must make another PTX, and what must not.
static void test_key(void) {
    fixture with;
    set_up(&with);
    static const struct {
        const char *name;
        const char *file; // to write first, or NULL
        const char *text;
        const char *const *flags;
        bool from_cache;
        const char *wanted; // in the PTX
    } rows[] = {
        {"the first", NULL, NULL, extra_1, false, "12346"},
        {"again", NULL, NULL, extra_1, true, "12346"},
        {"other flags", NULL, NULL, extra_2, false, "12347"},
        {"a header two levels down", "shared/inner.h", "#define VALUE 500\n", extra_1, false,
         "501"},
        {"a file beside it", "kernels/other.h", "#define VALUE 1\n", extra_1, true, "501"},
        {"the header as it was", "shared/inner.h", "#define VALUE 12345\n", extra_1, true, "12346"},
        {"an include by macro", "kernels/value.h",
         "#define WHICH \"../shared/inner.h\"\n#include WHICH\n", extra_1, false, "12346"},
        {"which cannot be cached", "shared/inner.h", "#define VALUE 700\n", extra_1, false, "701"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (rows[i].file) {
            write_text(with.tree, rows[i].file, rows[i].text);
        }
        lg_compiled out;
        bool ok = lg_compile(with.compiler, with.source, rows[i].flags, 1, &out, &with.diags);
        LG_CHECK_ROW(rows[i].name, ok);
        LG_CHECK_ROW(rows[i].name, ok && out.from_cache == rows[i].from_cache);
        LG_CHECK_ROW(rows[i].name, ok && strstr(out.ptx, rows[i].wanted));
        lg_compiled_free(&out);
    }
    CU_ASSERT_EQUAL(count_files(with.cache, ".tmp"), 0);
    tear_down(&with);
}

static void test_errors(void) {
    fixture with;
    set_up(&with);
    write_text(with.tree, "kernels/set.cu",
               "__global__ void f(int *p) {\n    missing();\n    p = 1.5;\n}\n");
    lg_compiled out;
    CU_ASSERT_FALSE(lg_compile(with.compiler, with.source, NULL, 0, &out, &with.diags));
    CU_ASSERT_PTR_NULL(out.ptx);
    CU_ASSERT_EQUAL_FATAL(with.diags.n_errors, 2);
    const lg_diag *first = &with.diags.items[0];
    CU_ASSERT_STRING_EQUAL(first->file, "kernels/set.cu");
    CU_ASSERT_EQUAL(first->line, 2);
    CU_ASSERT_EQUAL(first->column, 5);
    CU_ASSERT_STRING_EQUAL(first->source_line, "    missing();");
    CU_ASSERT_PTR_NOT_NULL(strstr(first->message, "\"missing\" is undefined"));
    CU_ASSERT_EQUAL(with.diags.items[1].line, 3);
    CU_ASSERT_EQUAL(count_files(with.cache, ".ptx"), 0);
    CU_ASSERT_EQUAL(count_files(with.cache, ".tmp"), 0);

    static const char *const bad_flag[] = {"--no-such-flag"};
    lg_diags_free(&with.diags);
    with.diags = (lg_diags){0};
    CU_ASSERT_FALSE(lg_compile(with.compiler, with.source, bad_flag, 1, &out, &with.diags));
    CU_ASSERT_EQUAL_FATAL(with.diags.n_errors, 1);
    CU_ASSERT_PTR_NOT_NULL(strstr(with.diags.items[0].message, "no-such-flag"));

    lg_diags_free(&with.diags);
    with.diags = (lg_diags){0};
    CU_ASSERT_FALSE(lg_compile(with.compiler, "/no/such.cu", NULL, 0, &out, &with.diags));
    CU_ASSERT_EQUAL_FATAL(with.diags.n_errors, 1);
    CU_ASSERT_STRING_EQUAL(with.diags.items[0].file, "/no/such.cu");
    tear_down(&with);
}

static void test_no_compiler(void) {
    char *tree = make_tree();
    static const char *const names[] = {"/no/nvcc", "no-such-compiler-anywhere", "/bin/false", "/"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        lg_diags diags = {0};
        LG_CHECK_ROW(names[i], !lg_compiler_open(names[i], tree, &diags));
        LG_CHECK_ROW(names[i], diags.n_errors == 1);
        lg_diags_free(&diags);
    }
    lg_diags diags = {0};
    CU_ASSERT_PTR_NULL(lg_compiler_open(LG_DEFAULT_NVCC, "/dev/null/cache", &diags));
    CU_ASSERT_EQUAL(diags.n_errors, 1);
    lg_diags_free(&diags);
    remove_tree(tree);
}

// nvcc found through a link in another folder, as a wheel's is, and by name on PATH.
static void test_compiler_elsewhere(void) {
    fixture with;
    set_up(&with);
    char *link = lg_xasprintf("%s/tool chain", with.tree);
    char *target = lg_xstrdup(LG_DEFAULT_NVCC);
    *strrchr(target, '/') = '\0';
    CU_ASSERT_EQUAL(symlink(target, link), 0);
    char *nvcc = lg_xasprintf("%s/nvcc", link);
    lg_compiler *compiler = lg_compiler_open(nvcc, with.cache, &with.diags);
    CU_ASSERT_PTR_NOT_NULL_FATAL(compiler);
    lg_compiled out;
    CU_ASSERT_TRUE(lg_compile(compiler, with.source, extra_1, 1, &out, &with.diags));
    lg_compiled_free(&out);
    lg_compiler_close(compiler);
    char *old = lg_xstrdup(getenv("PATH") ? getenv("PATH") : "");
    char *path = lg_xasprintf("%s:%s", target, old);
    setenv("PATH", path, 1);
    compiler = lg_compiler_open("nvcc", with.cache, &with.diags);
    CU_ASSERT_PTR_NOT_NULL_FATAL(compiler);
    CU_ASSERT_TRUE(lg_compile(compiler, with.source, extra_1, 1, &out, &with.diags));
    CU_ASSERT_TRUE(out.from_cache); // the same compiler by another way
    setenv("PATH", old, 1);
    lg_compiled_free(&out);
    lg_compiler_close(compiler);
    free(path);
    free(old);
    free(nvcc);
    free(target);
    free(link);
    tear_down(&with);
}

typedef struct job {
    const fixture *with;
    bool ok;
    bool from_cache;
    size_t n_bytes;
} job;

static void *run_job(void *memory) {
    job *mine = memory;
    lg_diags diags = {0};
    lg_compiler *compiler = lg_compiler_open(LG_DEFAULT_NVCC, mine->with->cache, &diags);
    lg_compiled out = {0};
    mine->ok = compiler && lg_compile(compiler, mine->with->source, extra_1, 1, &out, &diags);
    mine->from_cache = out.from_cache;
    mine->n_bytes = out.n_bytes;
    lg_compiled_free(&out);
    lg_compiler_close(compiler);
    lg_diags_free(&diags);
    return NULL;
}

static void test_concurrent(void) {
    fixture with;
    set_up(&with);
    enum { N_JOBS = 4 };
    pthread_t threads[N_JOBS];
    job jobs[N_JOBS];
    for (int i = 0; i < N_JOBS; i++) {
        jobs[i] = (job){.with = &with};
        CU_ASSERT_EQUAL_FATAL(pthread_create(&threads[i], NULL, run_job, &jobs[i]), 0);
    }
    int n_compiled = 0;
    for (int i = 0; i < N_JOBS; i++) {
        pthread_join(threads[i], NULL);
        CU_ASSERT_TRUE(jobs[i].ok);
        CU_ASSERT_EQUAL(jobs[i].n_bytes, jobs[0].n_bytes);
        n_compiled += !jobs[i].from_cache;
    }
    CU_ASSERT_EQUAL(n_compiled, 1);
    CU_ASSERT_EQUAL(count_files(with.cache, ".ptx"), 1);
    CU_ASSERT_EQUAL(count_files(with.cache, ".tmp"), 0);
    tear_down(&with);
}

static void test_output_parser(void) {
    static const struct {
        const char *name;
        const char *output;
        size_t n_errors;
        size_t n; // diagnostics
        const char *file;
        int line, column;
        const char *message;
    } rows[] = {
        {"front end", "k/a.cu(12): error: no\n    int x\n        ^\n\n1 error detected\n", 1, 1,
         "k/a.cu", 12, 7, "no"},
        {"preprocessor", "k/a.cu:1:10: fatal error: x.h: No such file\n    1 | #inc\n", 1, 1,
         "k/a.cu", 1, 10, "x.h: No such file"},
        {"parenthesis in a path", "k (2)/a.cu(3): error: no\n", 1, 1, "k (2)/a.cu", 3, 0, "no"},
        {"warning with a number", "a.cu(1): warning #177-D: unused\n  int y;\n      ^\n", 0, 1,
         "a.cu", 1, 5, "#177-D: unused"},
        {"no message", "nvcc fatal : Unknown option\n\n", 0, 0, NULL, 0, 0, NULL},
        {"huge line", "a.cu(99999999999999999999): error: no\n", 0, 0, NULL, 0, 0, NULL},
        {"cut", "a.cu(1): error: no\n    int x", 1, 1, "a.cu", 1, 0, "no"},
        {"empty", "", 0, 0, NULL, 0, 0, NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        lg_diags diags = {0};
        LG_CHECK_ROW(rows[i].name,
                     lg_parse_compiler_output(rows[i].output, &diags) == rows[i].n_errors);
        LG_CHECK_ROW(rows[i].name, diags.n == rows[i].n);
        if (diags.n && rows[i].n) {
            LG_CHECK_ROW(rows[i].name, strcmp(diags.items[0].file, rows[i].file) == 0);
            LG_CHECK_ROW(rows[i].name, diags.items[0].line == rows[i].line);
            LG_CHECK_ROW(rows[i].name, diags.items[0].column == rows[i].column);
            LG_CHECK_ROW(rows[i].name, strcmp(diags.items[0].message, rows[i].message) == 0);
        }
        lg_diags_free(&diags);
    }
}

static void test_run_program(void) {
    lg_str output = {0};
    int status = -1;
    CU_ASSERT_TRUE(lg_run_program((const char *const[]){"pwd", NULL}, "/usr", &output, &status));
    CU_ASSERT_STRING_EQUAL(lg_str_text(&output), "/usr\n");
    CU_ASSERT_EQUAL(status, 0);
    lg_str_clear(&output);
    CU_ASSERT_TRUE(lg_run_program(
        (const char *const[]){"sh", "-c", "echo out; echo err >&2; cat; kill -9 $$", NULL}, NULL,
        &output, &status));
    CU_ASSERT_STRING_EQUAL(lg_str_text(&output), "out\nerr\n");
    CU_ASSERT_EQUAL(status, 137);
    CU_ASSERT_FALSE(
        lg_run_program((const char *const[]){"/no/such", NULL}, NULL, &output, &status));
    lg_str_free(&output);
}

static void test_shorten(void) {
    lg_str out = {0};
    lg_shorten_ptx_paths("\t.file\t1 \"/a/b/k/x.cu\"\n.file 2 \"/a/bc/y.h\"\n// \"/a/b/z\"\n"
                         ".file 3 \"/a/b/k/../w.h\"",
                         "/a/b", &out);
    CU_ASSERT_STRING_EQUAL(lg_str_text(&out), "\t.file\t1 \"k/x.cu\"\n.file 2 \"/a/bc/y.h\"\n"
                                              "// \"/a/b/z\"\n.file 3 \"k/../w.h\"");
    lg_str_free(&out);
}

int main(void) {
    static const lg_test tests[] = {
        {"compiles once", test_compiles_once},   {"page ends", test_page_ends},
        {"key of the cache", test_key},          {"compile errors", test_errors},
        {"no compiler", test_no_compiler},       {"compiler elsewhere", test_compiler_elsewhere},
        {"concurrent", test_concurrent},         {"compiler output", test_output_parser},
        {"running a program", test_run_program}, {"short paths", test_shorten}};
    return lg_run_tests(LG_SUITE, tests, sizeof tests / sizeof *tests);
}
