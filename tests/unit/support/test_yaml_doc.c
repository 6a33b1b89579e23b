// SPDX-License-Identifier: Apache-2.0
#include "support/yaml_doc.h"
#include "unit/testing.h"

#include <stdlib.h>
#include <string.h>

static void test_tree_with_positions(void) {
    static const char text[] = "a: 1\nb:\n  - {c: \"x y\"}\n  - []\n";
    lg_arena arena = {0};
    lg_diags diags = {0};
    lg_yaml_doc doc;
    CU_ASSERT_TRUE_FATAL(lg_yaml_parse("t.yaml", text, strlen(text), &arena, &doc, &diags));
    lg_yaml_node *c = lg_yaml_at(doc.root, "b.0.c");
    CU_ASSERT_PTR_NOT_NULL_FATAL(c);
    CU_ASSERT_TRUE(c->line == 3 && c->column == 9 && !c->plain);
    CU_ASSERT_STRING_EQUAL(c->text, "x y");
    CU_ASSERT_PTR_NULL(lg_yaml_at(doc.root, "b.2"));
    CU_ASSERT_PTR_NULL(lg_yaml_at(doc.root, "b.-1"));
    CU_ASSERT_PTR_NULL(lg_yaml_at(doc.root, "a.x"));
    CU_ASSERT_PTR_EQUAL(lg_yaml_towards(doc.root, "b.0.d.e"), lg_yaml_at(doc.root, "b.0"));
    lg_str flow = {0};
    lg_yaml_flow(doc.root, &flow);
    CU_ASSERT_STRING_EQUAL(flow.text, "{a:1,b:[{c:x y},[]]}");
    lg_str_free(&flow);
    lg_arena_free(&arena);
}

typedef struct bad_row {
    const char *name;
    const char *text;
    int line;
    int column;
    const char *message;
} bad_row;

static const bad_row bad[] = {
    {"nothing", "", 0, 0, "empty"},
    {"unclosed list", "b: 1\na: [1\nc: 2", 2, 4, "this '[' is not closed"},
    {"unclosed mapping", "a: {b: 1", 1, 4, "this '{' is not closed"},
    {"tab", "a:\n\tb: 1", 2, 1, "tabs cannot indent YAML"},
    {"tab behind blanks", "a:\n  b: 1\n  \tc: 2", 3, 3, "tabs cannot indent YAML"},
    {"anchor", "a: &x 1", 1, 4, "anchors"},
    {"alias", "a: *x", 1, 4, "anchors"},
    {"tag", "a: !!int 1", 1, 4, "tags"},
    {"list as a key", "? [a]\n: 1", 1, 3, "a key must be a word"},
    {"doubled key", "a: 1\nb: 2\na: 3", 3, 1, "key 'a' occurs twice; the first is in line 1"},
    {"second document", "a: 1\n---\nb: 2", 2, 1, "second document"},
    {"NUL in text", "a: \"x\\0y\"", 1, 4, "NUL"},
    {"control character", "a: \x01", 1, 4, "not valid YAML"},
    {"broken UTF-8", "a: \xff\xfe", 1, 4, "not valid YAML"},
};

static void test_refused(void) {
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const bad_row *row = &bad[i];
        lg_arena arena = {0};
        lg_diags diags = {0};
        lg_yaml_doc doc;
        LG_CHECK_ROW(row->name,
                     !lg_yaml_parse("t.yaml", row->text, strlen(row->text), &arena, &doc, &diags));
        LG_CHECK_ROW(row->name, diags.n == 1);
        LG_CHECK_ROW(row->name, diags.n && strstr(diags.items[0].message, row->message));
        LG_CHECK_ROW(row->name, diags.n && diags.items[0].line == row->line);
        LG_CHECK_ROW(row->name, diags.n && diags.items[0].column == row->column);
        lg_diags_free(&diags);
        lg_arena_free(&arena);
    }
}

static void check_bound(const char *name, const lg_str *text, const char *message) {
    lg_arena arena = {0};
    lg_diags diags = {0};
    lg_yaml_doc doc;
    LG_CHECK_ROW(name, !lg_yaml_parse("t.yaml", text->text, text->n, &arena, &doc, &diags));
    LG_CHECK_ROW(name, diags.n && strstr(diags.items[0].message, message));
    LG_CHECK_ROW(name, !diags.n || !diags.items[0].source_line ||
                           strlen(diags.items[0].source_line) < 300);
    lg_diags_free(&diags);
    lg_arena_free(&arena);
}

static void test_bounds(void) {
    lg_str text = {0};
    for (int i = 0; i < 100000; i++) {
        lg_str_add(&text, "[");
    }
    check_bound("nesting", &text, "nested deeper");
    lg_str_clear(&text);
    for (int i = 0; i <= LG_YAML_MAX_KEYS; i++) {
        lg_str_printf(&text, "k%d: 1\n", i);
    }
    check_bound("keys", &text, "keys in one mapping");
    lg_str_clear(&text);
    lg_str_add(&text, "a: [");
    for (int i = 0; i <= LG_YAML_MAX_NODES; i++) {
        lg_str_add(&text, "1,");
    }
    check_bound("nodes", &text, "more than 1000000 values");
    lg_str_clear(&text);
    char *blanks = malloc(LG_YAML_MAX_BYTES + 1);
    memset(blanks, '\n', LG_YAML_MAX_BYTES + 1);
    lg_str_add_n(&text, blanks, LG_YAML_MAX_BYTES + 1);
    check_bound("bytes", &text, "more than the limit");
    free(blanks);
    lg_str_free(&text);
}

static void test_unprintable_text_is_hidden(void) {
    static const char text[] = "a: 1\n\"k\\e[31m\": 2\n\"k\\e[31m\": 3\n";
    lg_arena arena = {0};
    lg_diags diags = {0};
    lg_yaml_doc doc;
    CU_ASSERT_FALSE(lg_yaml_parse("t.yaml", text, strlen(text), &arena, &doc, &diags));
    CU_ASSERT_EQUAL_FATAL(diags.n, 1);
    CU_ASSERT_PTR_NULL(strchr(diags.items[0].message, 0x1b));
    lg_diags_free(&diags);
    lg_arena_free(&arena);
}

int main(void) {
    static const lg_test tests[] = {
        {"tree with positions", test_tree_with_positions},
        {"refused files", test_refused},
        {"bounds", test_bounds},
        {"unprintable text is hidden", test_unprintable_text_is_hidden},
    };
    return lg_run_tests("yaml_doc", tests, sizeof tests / sizeof *tests);
}
