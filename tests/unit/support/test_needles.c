// SPDX-License-Identifier: Apache-2.0
#include "support/needles.h"

#include "support/alloc.h"
#include "unit/testing.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static const char *const words[] = {"is out of bounds", "is out of bound", "aaaaaaaaaab",
                                    "aaaaaaaaaa", "========= Invalid"};
enum { N_WORDS = sizeof words / sizeof *words };

typedef struct row {
    const char *name;
    const char *text;
    size_t from;
    size_t want; // SIZE_MAX: none
    size_t which;
} row;

static const row rows[] = {
    {"empty", "", 0, SIZE_MAX, 0},
    {"shorter than a window", "is out of", 0, SIZE_MAX, 0},
    {"whole text", "is out of bounds", 0, 0, 0},
    {"the word listed first", "x is out of bounds.", 0, 2, 0},
    {"cut at the end", "x is out of bound", 0, 2, 1},
    {"window only", "x is out of bo!nds", 0, SIZE_MAX, 0},
    {"after `from`", "is out of bounds is out of bounds", 1, 17, 0},
    {"from at the end", "is out of bounds", 16, SIZE_MAX, 0},
    {"repeated bytes, the longer one", "xaaaaaaaaaaab", 0, 1, 3},
    {"repeated bytes, first", "aaaaaaaaaab", 0, 0, 2},
    {"second word", "=========  ========= Invalid", 0, 11, 4},
};

static void test_rows(void) {
    lg_needles *needles = lg_needles_new(words, N_WORDS);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        size_t n = strlen(rows[i].text);
        char *exact = lg_xmalloc(n ? n : 1); // no byte behind the text
        memcpy(exact, rows[i].text, n);
        size_t which = 99;
        size_t got = lg_needles_find(needles, exact, n, rows[i].from, &which);
        LG_CHECK_ROW(rows[i].name, got == (rows[i].want == SIZE_MAX ? n : rows[i].want));
        LG_CHECK_ROW(rows[i].name, rows[i].want == SIZE_MAX || which == rows[i].which);
        free(exact);
    }
    lg_needles_free(needles);
}

static size_t find_slowly(const char *text, size_t n, size_t from, size_t *which) {
    for (size_t at = from; at < n; at++) {
        for (size_t w = 0; w < N_WORDS; w++) {
            size_t length = strlen(words[w]);
            if (length <= n - at && memcmp(text + at, words[w], length) == 0) {
                *which = w;
                return at;
            }
        }
    }
    return n;
}

// Random texts made of pieces of the words, against a search of every place.
static void test_random(void) {
    lg_needles *needles = lg_needles_new(words, N_WORDS);
    uint64_t seed = 88172645463325252u;
    int n_found = 0;
    for (int round = 0; round < 3000; round++) {
        char text[300];
        size_t n = 0;
        while (n + 20 < sizeof text) {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            const char *word = words[seed % N_WORDS];
            size_t length = strlen(word);
            size_t begin = (seed >> 8) % length;
            size_t take = (seed >> 16) % (length - begin) + 1;
            take = (seed >> 30) % 4 == 0 ? length - begin : take;
            begin = (seed >> 33) % 4 == 0 ? 0 : begin;
            take = take < length - begin ? take : length - begin;
            memcpy(text + n, word + begin, take);
            n += take;
        }
        for (size_t from = 0; from < n;) {
            size_t which = 0;
            size_t want_which = 0;
            size_t got = lg_needles_find(needles, text, n, from, &which);
            size_t want = find_slowly(text, n, from, &want_which);
            CU_ASSERT_EQUAL(got, want);
            CU_ASSERT_EQUAL(which, want_which);
            n_found += want < n;
            from = want + 1;
        }
    }
    CU_ASSERT(n_found > 1000);
    lg_needles_free(needles);
}

int main(void) {
    static const lg_test tests[] = {{"rows", test_rows}, {"random texts", test_random}};
    return lg_run_tests("support/needles", tests, sizeof tests / sizeof *tests);
}
