// SPDX-License-Identifier: Apache-2.0
#include "support/shell.h"
#include "unit/testing.h"

#include <stdlib.h>
#include <string.h>

typedef struct quote_row {
    const char *name;
    const char *word;
    const char *quoted;
} quote_row;

static const quote_row quotes[] = {
    {"plain path", "scenarios/faults/a-b_c.yaml", "scenarios/faults/a-b_c.yaml"},
    {"empty", "", "''"},
    {"blank", "a b", "'a b'"},
    {"glob", "nll_loss/*", "'nll_loss/*'"},
    {"quote", "it's", "'it'\\''s'"},
    {"dollar", "$HOME;`x`", "'$HOME;`x`'"},
};

static void test_words_survive_a_round_trip(void) {
    for (size_t i = 0; i < sizeof(quotes) / sizeof(quotes[0]); i++) {
        lg_str line = {0};
        lg_shell_add(&line, quotes[i].word);
        LG_CHECK_ROW(quotes[i].name, strcmp(lg_str_text(&line), quotes[i].quoted) == 0);
        size_t n;
        char **words = lg_shell_split(lg_str_text(&line), &n);
        LG_CHECK_ROW(quotes[i].name, words && n == 1 && strcmp(words[0], quotes[i].word) == 0);
        free(words);
        lg_str_free(&line);
    }
}

typedef struct split_row {
    const char *name;
    const char *line;
    const char *words; // joined by '|'; NULL: refused
} split_row;

static const split_row splits[] = {
    {"blanks around", "  a  b\tc \n", "a|b|c"},
    {"nothing", "   ", ""},
    {"one letter words", "a b c d e", "a|b|c|d|e"},
    {"quotes inside a word", "a'b c'd e", "ab cd|e"},
    {"empty word", "a '' b", "a||b"},
    {"escaped blank", "a\\ b", "a b"},
    {"backslash in quotes stays", "'a\\b'", "a\\b"},
    {"open quote", "a 'b", NULL},
};

static void test_lines_split_into_words(void) {
    for (size_t i = 0; i < sizeof(splits) / sizeof(splits[0]); i++) {
        size_t n;
        char **words = lg_shell_split(splits[i].line, &n);
        LG_CHECK_ROW(splits[i].name, (words != NULL) == (splits[i].words != NULL));
        lg_str joined = {0};
        for (size_t w = 0; words && w < n; w++) {
            lg_str_printf(&joined, "%s%s", w ? "|" : "", words[w]);
        }
        LG_CHECK_ROW(splits[i].name,
                     !splits[i].words || strcmp(lg_str_text(&joined), splits[i].words) == 0);
        lg_str_free(&joined);
        free(words);
    }
}

int main(void) {
    const lg_test tests[] = {
        {"words survive a round trip", test_words_survive_a_round_trip},
        {"lines split into words", test_lines_split_into_words},
    };
    return lg_run_tests("support.shell", tests, sizeof(tests) / sizeof(tests[0]));
}
