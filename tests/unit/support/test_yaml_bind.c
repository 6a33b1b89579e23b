// SPDX-License-Identifier: Apache-2.0
#include "support/yaml_bind.h"
#include "unit/testing.h"

#include <math.h>
#include <string.h>

typedef struct inner {
    int64_t depth;
    bool wide;
} inner;

typedef struct bound {
    int64_t count;
    uint64_t seed;
    double share;
    double any;
    const char *text;
    int word;
    uint64_t words;
    lg_i64_list list;
    lg_str_list texts;
    inner inside;
} bound;

static const char *const *colours(size_t *n) {
    static const char *const names[] = {"red", "green", "blue"};
    *n = 3;
    return names;
}

static const lg_field inner_fields[] = {
    {.key = "depth",
     .type = LG_FIELD_I64,
     .offset = offsetof(inner, depth),
     .max = 9,
     .initial = "4"},
    {.key = "wide", .type = LG_FIELD_BOOL, .offset = offsetof(inner, wide), .initial = "true"},
};
static const lg_field_table inner_table = {"inside", inner_fields, 2};

static const lg_field fields[] = {
    {.key = "count",
     .type = LG_FIELD_I64,
     .offset = offsetof(bound, count),
     .min = 1,
     .max = INT64_MAX,
     .required = true},
    {.key = "seed", .type = LG_FIELD_U64, .offset = offsetof(bound, seed), .initial = "3"},
    {.key = "share", .type = LG_FIELD_F64, .offset = offsetof(bound, share), .high = 1},
    {.key = "any", .type = LG_FIELD_REAL, .offset = offsetof(bound, any), .initial = ".inf"},
    {.key = "text", .type = LG_FIELD_TEXT, .offset = offsetof(bound, text)},
    {.key = "word",
     .type = LG_FIELD_CHOICE,
     .offset = offsetof(bound, word),
     .choices = colours,
     .first = 10,
     .initial = "green"},
    {.key = "words",
     .type = LG_FIELD_CHOICE_SET,
     .offset = offsetof(bound, words),
     .choices = colours,
     .first = 1},
    {.key = "list",
     .type = LG_FIELD_I64_LIST,
     .offset = offsetof(bound, list),
     .max = 100,
     .tags = 1},
    {.key = "texts", .type = LG_FIELD_TEXT_LIST, .offset = offsetof(bound, texts), .tags = 2},
    {.key = "inside",
     .type = LG_FIELD_MAP,
     .offset = offsetof(bound, inside),
     .table = &inner_table},
};
static const lg_field_table table = {"", fields, sizeof fields / sizeof *fields};

static bool bind(const char *text, uint32_t tags, lg_arena *arena, bound *out, lg_diags *diags) {
    lg_yaml_doc doc;
    *out = (bound){0};
    if (!lg_yaml_parse("t.yaml", text, strlen(text), arena, &doc, diags)) {
        return false;
    }
    lg_binder binder = {.doc = &doc, .arena = arena, .scratch = arena, .diags = diags};
    return lg_bind_tagged(&binder, doc.root, &table, out, tags, "the variant");
}

static void test_all_types(void) {
    lg_arena arena = {0};
    lg_diags diags = {0};
    bound b;
    CU_ASSERT_TRUE_FATAL(bind("{count: 5, seed: 18446744073709551615, share: 0.25, any: .nan, "
                              "text: \"a b\", word: blue, words: [red, blue], list: [1, 2], "
                              "inside: {depth: 7}}",
                              1, &arena, &b, &diags));
    CU_ASSERT_TRUE(b.count == 5 && b.seed == UINT64_MAX && b.share == 0.25 && isnan(b.any));
    CU_ASSERT_STRING_EQUAL(b.text, "a b");
    CU_ASSERT_TRUE(b.word == 12 && b.words == (1u << 1 | 1u << 3));
    CU_ASSERT_TRUE(b.list.n == 2 && b.list.items[1] == 2);
    CU_ASSERT_TRUE(b.inside.depth == 7 && b.inside.wide);
    CU_ASSERT_EQUAL(diags.n, 0);
    lg_arena_free(&arena);
}

static void test_defaults(void) {
    lg_arena arena = {0};
    lg_diags diags = {0};
    bound b;
    CU_ASSERT_TRUE_FATAL(bind("count: 1", 1, &arena, &b, &diags));
    CU_ASSERT_TRUE(b.seed == 3 && isinf(b.any) && b.word == 11 && b.text == NULL);
    CU_ASSERT_TRUE(b.inside.depth == 4 && b.inside.wide && b.list.n == 0);
    lg_arena_free(&arena);
}

typedef struct bad_row {
    const char *text;
    const char *message;
} bad_row;

static void test_errors(void) {
    static const bad_row rows[] = {
        {"{}", "missing key 'count'"},
        {"{count: 0}", "count is 0; it must be at least 1"},
        {"{count: [1]}", "count is a list; want an integer"},
        {"{count: }", "count has no value; want an integer"},
        {"{count: 1, seed: -1}", "seed is -1; it must be at least 0"},
        {"{count: 1, share: nan}", "share is nan; it must lie between 0 and 1"},
        {"{count: 1, share: -0.1}", "share is -0.1"},
        {"{count: 1, any: x}", "any is 'x'; want a number"},
        {"{count: 1, text: []}", "text is a list; want text"},
        {"{count: 1, word: gren}", "did you mean 'green'?"},
        {"{count: 1, word: mauve}", "want one of red, green, blue"},
        {"{count: 1, words: []}", "words is an empty list"},
        {"{count: 1, words: [red, red]}", "words lists 'red' twice"},
        {"{count: 1, list: [1, 101]}", "list is 101; it must lie between 0 and 100"},
        {"{count: 1, texts: [a]}", "the variant does not take 'texts'; it takes list"},
        {"{count: 1, inside: {depth: 10}}", "inside.depth is 10"},
        {"{count: 1, inside: {dept: 1}}", "unknown key 'dept' in inside; did you mean 'depth'?"},
        {"{count: 1, inside: {wide: no}}", "inside.wide is 'no'; want true or false"},
        {"{count: 1, cuont: 1}", "unknown key 'cuont'"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        lg_arena arena = {0};
        lg_diags diags = {0};
        bound b;
        LG_CHECK_ROW(rows[i].text, !bind(rows[i].text, 1, &arena, &b, &diags));
        bool said = diags.n_errors == 1 && strstr(diags.items[0].message, rows[i].message);
        LG_CHECK_ROW(rows[i].text, said);
        LG_CHECK_ROW(rows[i].text, said && strcmp(diags.items[0].source_line, rows[i].text) == 0);
        lg_diags_free(&diags);
        lg_arena_free(&arena);
    }
}

static void test_all_errors_at_once(void) {
    lg_arena arena = {0};
    lg_diags diags = {0};
    bound b;
    CU_ASSERT_FALSE(
        bind("{seed: x, share: 2, word: 1, list: [a, 101], zzz: 1}", 1, &arena, &b, &diags));
    CU_ASSERT_EQUAL(diags.n_errors, 7);
    lg_diags_free(&diags);
    lg_arena_free(&arena);
}

int main(void) {
    static const lg_test tests[] = {
        {"all types", test_all_types},
        {"defaults", test_defaults},
        {"errors", test_errors},
        {"all errors at once", test_all_errors_at_once},
    };
    return lg_run_tests("yaml_bind", tests, sizeof tests / sizeof *tests);
}
