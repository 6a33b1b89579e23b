// SPDX-License-Identifier: Apache-2.0
// Broken scenarios answer with exactly the errors beside them; the files of scenarios/ are valid
// and survive being written; and which array files a scenario may read.
#include "unit/scenario/helpers.h"

#include "support/alloc.h"
#include "support/npy.h"

#include <glob.h>
#include <sys/stat.h>
#include <unistd.h>

// What `line` begins, up to the next line; NULL after the last.
static const char *next_line(const char *line) {
    const char *end = strchr(line, '\n');
    return end && end[1] ? end + 1 : NULL;
}

static void add_place(lg_str *out, const lg_diag *diag) {
    lg_str_add(out, "! ");
    if (diag->line) {
        lg_str_printf(out, "%d:%d: ", diag->line, diag->column);
    }
    lg_str_printf(out, "%s: %s\n", diag->severity == LG_ERROR ? "error" : "warning", diag->message);
}

static void check_broken(const char *name, const lg_str *yaml, const lg_str *expected) {
    lg_scenario_set set;
    lg_diags diags = {0};
    lg_str got = {0};
    LG_CHECK_ROW(name,
                 !lg_scenario_read_text("t.yaml", lg_str_text(yaml), yaml->n, NULL, &set, &diags));
    for (size_t i = 0; i < diags.n; i++) {
        add_place(&got, &diags.items[i]);
    }
    bool same = expected->n && strcmp(lg_str_text(&got), lg_str_text(expected)) == 0;
    LG_CHECK_ROW(name, same);
    if (!same) {
        fprintf(stderr, "%s", lg_str_text(&got));
    }
    lg_str_free(&got);
    lg_diags_free(&diags);
}

// "=== name", the text of a scenario, and "! line:column: error: ..." for each of its errors.
static size_t check_broken_texts(const char *path) {
    size_t n;
    size_t n_texts = 0;
    char *text = lg_read_file(path, &n);
    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    const char *line = text;
    while (line && strncmp(line, "=== ", 4) == 0) {
        char *name = lg_xstrndup(line + 4, strcspn(line + 4, "\n"));
        lg_str yaml = {0};
        lg_str expected = {0};
        while ((line = next_line(line)) != NULL && strncmp(line, "=== ", 4) != 0) {
            lg_str *part = strncmp(line, "! ", 2) == 0 ? &expected : &yaml;
            lg_str_add_n(part, line, strcspn(line, "\n") + 1);
        }
        check_broken(name, &yaml, &expected);
        lg_str_free(&expected);
        lg_str_free(&yaml);
        free(name);
        n_texts++;
    }
    CU_ASSERT_PTR_NULL(line); // nothing was left out
    free(text);
    return n_texts;
}

static void test_broken(void) {
    char *before = getcwd(NULL, 0);
    CU_ASSERT_EQUAL_FATAL(chdir(LG_SOURCE_DIR "/tests/unit/scenario/broken"), 0);
    glob_t files;
    size_t n_texts = 0;
    CU_ASSERT_EQUAL_FATAL(glob("*.txt", 0, NULL, &files), 0);
    for (size_t i = 0; i < files.gl_pathc; i++) {
        n_texts += check_broken_texts(files.gl_pathv[i]);
    }
    CU_ASSERT_TRUE(n_texts >= 70);
    globfree(&files);
    CU_ASSERT_EQUAL_FATAL(chdir(before), 0);
    free(before);
}

// Fields that are written out; the rest follows from them.
static bool same_array(const lg_array_spec *a, const lg_array_spec *b) {
    bool same = a->source == b->source && a->dtype == b->dtype &&
                a->distribution == b->distribution && a->probabilities == b->probabilities &&
                a->scale == b->scale && a->lo == b->lo && a->hi == b->hi &&
                a->values.n == b->values.n && a->int_values.n == b->int_values.n &&
                a->values_are_integers == b->values_are_integers && a->scalar == b->scalar &&
                a->shape.n == b->shape.n && a->stride.n == b->stride.n && (!a->file == !b->file);
    size_t n = (size_t)a->values.n;
    same = same && (n == 0 || memcmp(a->values.items, b->values.items, n * sizeof(double)) == 0);
    for (int64_t i = 0; same && i < a->shape.n; i++) {
        same = a->shape.items[i] == b->shape.items[i];
    }
    for (int64_t i = 0; same && i < a->stride.n; i++) {
        same = a->stride.items[i] == b->stride.items[i];
    }
    return same && (!a->file || strcmp(a->file, b->file) == 0);
}

static bool same_ints(lg_i64_list a, lg_i64_list b) {
    return a.n == b.n && (a.n == 0 || memcmp(a.items, b.items, (size_t)a.n * sizeof *a.items) == 0);
}

static bool same_words(const char *a, const char *b) {
    return a && b ? strcmp(a, b) == 0 : a == b;
}

static bool same_fault(const lg_fault_spec *a, const lg_fault_spec *b) {
    return a->kind == b->kind && a->head_width == b->head_width && same_ints(a->rows, b->rows) &&
           a->count == b->count && a->fraction == b->fraction && same_ints(a->values, b->values) &&
           a->form == b->form && a->dtype == b->dtype && a->length == b->length &&
           lg_same_bits(a->number, b->number) && a->where == b->where &&
           same_ints(a->shape, b->shape);
}

static bool same_loss(const lg_loss_options *a, const lg_loss_options *b) {
    return a->kind == b->kind && a->reduction == b->reduction &&
           a->ignore_index == b->ignore_index && a->label_smoothing == b->label_smoothing &&
           a->direction == b->direction && a->zero_log_zero == b->zero_log_zero;
}

static bool same_scenario(const lg_scenario *a, const lg_scenario *b) {
    bool same =
        strcmp(a->title, b->title) == 0 && (!a->origin == !b->origin) &&
        same_loss(&a->loss, &b->loss) && same_array(&a->weight, &b->weight) &&
        same_array(&a->pos_weight, &b->pos_weight) &&
        same_array(&a->grad_output, &b->grad_output) && a->batch.seed == b->batch.seed &&
        a->batch.samples == b->batch.samples && a->batch.classes == b->batch.classes &&
        a->batch.unbatched == b->batch.unbatched && same_ints(a->batch.extent, b->batch.extent) &&
        a->batch.ignored_fraction == b->batch.ignored_fraction &&
        same_array(&a->batch.logits, &b->batch.logits) &&
        same_array(&a->batch.targets, &b->batch.targets) && a->n_faults == b->n_faults &&
        a->kernels.n == b->kernels.n && a->foreign == b->foreign && a->modes.n == b->modes.n &&
        a->relations == b->relations && a->expect.has_cause == b->expect.has_cause &&
        a->expect.cause == b->expect.cause && a->expect.has_verdict == b->expect.has_verdict &&
        a->expect.verdict == b->expect.verdict && a->expect.has_rows == b->expect.has_rows &&
        same_ints(a->expect.rows, b->expect.rows) &&
        a->expect.has_attribution == b->expect.has_attribution &&
        a->expect.attribution == b->expect.attribution && a->expect.causes == b->expect.causes &&
        same_words(a->expect.advice, b->expect.advice) &&
        same_words(a->expect.evidence, b->expect.evidence) &&
        same_words(a->expect.surfaced_at, b->expect.surfaced_at) &&
        same_words(a->expect.failed_launch, b->expect.failed_launch) &&
        a->expect.loss.n == b->expect.loss.n &&
        (a->expect.loss.n == 0 || (memcmp(a->expect.loss.items, b->expect.loss.items,
                                          (size_t)a->expect.loss.n * sizeof(double)) == 0 &&
                                   a->expect.loss_tolerance == b->expect.loss_tolerance));
    for (int i = 0; same && i < a->n_faults; i++) {
        same = same_fault(&a->faults[i], &b->faults[i]);
    }
    return same;
}

static void check_round_trip(const lg_scenario *scenario, const lg_read_options *options) {
    lg_str text = {0};
    lg_scenario_write(scenario, &text);
    lg_scenario_set set;
    lg_diags diags = {0};
    bool ok = lg_scenario_read_text("copy.yaml", text.text, text.n, options, &set, &diags);
    bool same = ok && set.n == 1 && same_scenario(scenario, &set.items[0]);
    char *name = lg_xasprintf("%s %s", scenario->name, scenario->point);
    LG_CHECK_ROW(name, same);
    if (!same) {
        char *problems = diags_text(&diags);
        fprintf(stderr, "%s\n%s", text.text, problems);
        free(problems);
    }
    free(name);
    lg_scenario_set_free(&set);
    lg_diags_free(&diags);
    lg_str_free(&text);
}

static void check_folder(const char *pattern) {
    glob_t files;
    CU_ASSERT_EQUAL_FATAL(glob(pattern, 0, NULL, &files), 0);
    for (size_t i = 0; i < files.gl_pathc; i++) {
        lg_scenario_set set;
        lg_diags diags = {0};
        bool ok = lg_scenario_read(files.gl_pathv[i], NULL, &set, &diags);
        LG_CHECK_ROW(files.gl_pathv[i], ok && set.n > 0);
        for (int64_t k = 0; ok && k < set.n; k++) {
            check_round_trip(&set.items[k], NULL);
        }
        if (!ok) {
            char *problems = diags_text(&diags);
            fprintf(stderr, "%s", problems);
            free(problems);
        }
        lg_scenario_set_free(&set);
        lg_diags_free(&diags);
    }
    globfree(&files);
}

static void test_shipped_files_round_trip(void) {
    check_folder(LG_SOURCE_DIR "/scenarios/*/*.yaml");
}

static void test_rare_keys_round_trip(void) {
    static const char *const texts[] = {
        "title: \"quotes \\\" and \\\\ and \\x07\"\norigin: 'a: b # c'\nloss: {kind: "
        "cross_entropy, "
        "label_smoothing: 0.1, weight: [1, 0.1], grad_output: {values: [1, -0], shape: [2, 1]}}\n"
        "batch: {samples: 2, classes: 2, extent: [1], seed: 18446744073709551615,\n"
        "  logits: {values: [.nan, -.inf, 1e-310, 3], shape: [2, 2, 1], stride: [2, 1, 1]},\n"
        "  targets: {values: [0, -9223372036854775808], shape: [2, 1], dtype: int64}}\n"
        "expect: {cause: negative_labels, verdict: detected, rows: [1], attribution: exact}\n"
        "run: {kernels: ['a*', \"b?\"], modes: [async]}\n",
        "title: x\nloss: {kind: nll_loss}\n"
        "expect: {causes: [race, missing_check], advice: \"set: 'x'\", evidence: '255',\n"
        "  surfaced_at: cuStream*, failed_launch: none, loss: [1.5, .nan, -.inf], loss_tolerance: "
        "0.25}\n",
        "title: x\nloss: {kind: cross_entropy}\nbatch: {extent: [2], logits: {stride: [20, 1, "
        "10]}}\n"
        "run: {foreign: true, relations: [contiguous_copy, permute_rows, shift_logits]}\n",
        "title: x\nloss: {kind: binary_cross_entropy_with_logits, pos_weight: {uniform: [1, 2]}}\n"
        "batch: {samples: 4, classes: 3, targets: {distribution: uniform, lo: 0.25, hi: 0.5}}\n",
        "title: x\nloss: {kind: binary_cross_entropy, weight: {values: [2], shape: []}}\n"
        "batch: {logits: {values: [0.25], shape: []}, targets: {values: [1], shape: []}}\n",
        "title: x\nloss: {kind: binary_cross_entropy}\n"
        "batch: {logits: {distribution: constant, value: 0.5}, targets: {dtype: float64}}\n"
        "faults:\n  - {kind: bce_range, where: target, number: -.inf, fraction: 0.3}\n"
        "  - {kind: nonfinite_logits, rows: [1, 2]}\n",
        "title: x\nloss: {kind: nll_loss}\nbatch: {unbatched: true, targets: {distribution: "
        "constant, value: 3}}\nfaults:\n  - {kind: shape_layout, where: given, shape: [3, 1]}\n"
        "  - {kind: weight_vector, number: .nan}\n"
        "  - {kind: target_dtype, where: int32_wrap, values: [4294967296], count: 1}\n",
        "title: x\nloss: {kind: nll_loss}\nfaults:\n"
        "  - {kind: float_targets, form: truncated, dtype: float16, number: 0.25, count: 3}\n",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        lg_scenario_set set;
        bool ok = read_valid(texts[i], texts[i], &set);
        LG_CHECK_ROW(texts[i], ok);
        if (ok) {
            check_round_trip(&set.items[0], NULL);
        }
        lg_scenario_set_free(&set);
    }
}

typedef struct file_row {
    const char *name;
    const char *place;
    bool allow_parent;
    bool ok;
} file_row;

static void test_confinement(void) {
    char folder[] = "/tmp/lossgate_scenario_XXXXXX";
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
    char *inner = lg_xasprintf("%s/inner", folder);
    char *path = lg_xasprintf("%s/s.yaml", inner);
    lg_diags diags = {0};
    const int64_t labels[3] = {0, 1, 2};
    const int64_t shape[1] = {3};
    char *made[5] = {lg_xasprintf("%s/in.npy", inner), lg_xasprintf("%s/out.npy", folder),
                     lg_xasprintf("%s/link.npy", inner), lg_xasprintf("%s/inner2", folder),
                     lg_xasprintf("%s/inner2/near.npy", folder)};
    CU_ASSERT_EQUAL_FATAL(mkdir(inner, 0700) | mkdir(made[3], 0700), 0);
    CU_ASSERT_TRUE(lg_npy_write(made[0], LG_NPY_INT64, 1, shape, labels, &diags));
    CU_ASSERT_TRUE(lg_npy_write(made[1], LG_NPY_INT64, 1, shape, labels, &diags));
    CU_ASSERT_TRUE(lg_npy_write(made[4], LG_NPY_INT64, 1, shape, labels, &diags));
    CU_ASSERT_EQUAL_FATAL(symlink(made[1], made[2]), 0);
    const file_row rows[] = {
        {"inside", "in.npy", false, true},
        {"inside, written oddly", "../inner/./in.npy", false, true},
        {"above", "../out.npy", false, false},
        {"absolute", made[1], false, false},
        {"a link that leads out", "link.npy", false, false},
        {"a folder whose name only begins alike", "../inner2/near.npy", false, false},
        {"above, allowed", "../out.npy", true, true},
        {"a link that leads out, allowed", "link.npy", true, true},
        {"a folder", ".", false, false},
        {"a device, allowed or not", "/dev/zero", true, false},
        {"not there", "no.npy", false, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *allowed[] = {folder};
        lg_read_options options = {.allow_paths = {rows[i].allow_parent, allowed}};
        char *text = lg_xasprintf(
            "title: x\nloss: {kind: nll_loss}\nbatch: {targets: {file: %s}}\n", rows[i].place);
        lg_scenario_set set;
        lg_diags problems = {0};
        bool ok = lg_scenario_read_text(path, text, strlen(text), &options, &set, &problems);
        LG_CHECK_ROW(rows[i].name, ok == rows[i].ok);
        if (ok) {
            const lg_batch_spec *batch = &set.items[0].batch;
            LG_CHECK_ROW(rows[i].name, batch->samples == 3 && batch->targets.dtype == LG_INT64);
            lg_read_options all = {.allow_paths = {1, allowed}};
            check_round_trip(&set.items[0], &all);
        }
        lg_scenario_set_free(&set);
        lg_diags_free(&problems);
        free(text);
    }
    unlink(made[2]);
    unlink(made[0]);
    unlink(made[1]);
    unlink(made[4]);
    rmdir(made[3]);
    rmdir(inner);
    rmdir(folder);
    for (int i = 0; i < 5; i++) {
        free(made[i]);
    }
    free(inner);
    free(path);
    lg_diags_free(&diags);
}

static char *between(const char *text, const char *begin, const char *end) {
    const char *from = strstr(text, begin);
    const char *to = from ? strstr(from, end) : NULL;
    return to ? lg_xstrndup(from + strlen(begin), (size_t)(to - from) - strlen(begin)) : NULL;
}

static void test_generated_files_are_up_to_date(void) {
    size_t n;
    char *readme = lg_read_file(LG_SOURCE_DIR "/scenarios/README.md", &n);
    CU_ASSERT_PTR_NOT_NULL_FATAL(readme);
    char *page = between(readme, "<!-- reference: begin -->\n", "<!-- reference: end -->");
    lg_str wanted = {0};
    lg_scenario_reference_page(&wanted);
    CU_ASSERT_PTR_NOT_NULL_FATAL(page);
    CU_ASSERT_STRING_EQUAL(page, wanted.text);
    lg_str_clear(&wanted);
    lg_scenario_json_schema(&wanted);
    char *schema = lg_read_file(LG_SOURCE_DIR "/scenarios/scenario.schema.json", &n);
    CU_ASSERT_PTR_NOT_NULL_FATAL(schema);
    CU_ASSERT_STRING_EQUAL(schema, wanted.text);
    free(schema);
    free(page);
    free(readme);
    lg_str_free(&wanted);
}

int main(void) {
    static const lg_test tests[] = {
        {"broken files answer exactly", test_broken},
        {"shipped files read and round trip", test_shipped_files_round_trip},
        {"rare keys round trip", test_rare_keys_round_trip},
        {"files outside the folder", test_confinement},
        {"generated files are up to date", test_generated_files_are_up_to_date},
    };
    return lg_run_tests("scenario_files", tests, sizeof tests / sizeof *tests);
}
