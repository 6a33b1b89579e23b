// SPDX-License-Identifier: Apache-2.0
#include "support/needles.h"

#include "support/alloc.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum {
    GRAM = 4, // bytes looked at together
    HASH_BITS = 14,
    N_SLOTS = 1 << HASH_BITS,
    NO_WORD = -1,
};

typedef struct needle {
    const char *word;
    size_t n;
    int next; // the next word whose window ends in a gram of the same hash
} needle;

struct lg_needles {
    uint8_t shift[N_SLOTS];
    int first[N_SLOTS]; // of the words whose window ends in this hash
    size_t n;
    needle items[];
};

static unsigned hash_of(const char *gram) {
    uint32_t bytes;
    memcpy(&bytes, gram, sizeof bytes);
    return bytes * UINT32_C(0x9e3779b1) >> (32 - HASH_BITS);
}

lg_needles *lg_needles_new(const char *const *words, size_t n) {
    lg_needles *needles = lg_xmalloc(sizeof *needles + n * sizeof(needle));
    needles->n = n;
    memset(needles->shift, LG_NEEDLE_MIN - GRAM + 1, sizeof needles->shift);
    for (size_t i = 0; i < N_SLOTS; i++) {
        needles->first[i] = NO_WORD;
    }
    // Backwards, so that a chain begins with the word listed first.
    for (size_t i = n; i-- > 0;) {
        needle *item = &needles->items[i];
        *item = (needle){.word = words[i], .n = strlen(words[i]), .next = NO_WORD};
        for (size_t at = 0; at + GRAM <= LG_NEEDLE_MIN; at++) {
            unsigned slot = hash_of(item->word + at);
            uint8_t shift = (uint8_t)(LG_NEEDLE_MIN - GRAM - at);
            if (shift < needles->shift[slot]) {
                needles->shift[slot] = shift;
            }
            if (shift == 0) {
                item->next = needles->first[slot];
                needles->first[slot] = (int)i;
            }
        }
    }
    return needles;
}

void lg_needles_free(lg_needles *needles) {
    free(needles);
}

size_t lg_needles_find(const lg_needles *needles, const char *text, size_t n, size_t from,
                       size_t *which) {
    if (n < LG_NEEDLE_MIN) {
        return n;
    }
    size_t last = n - GRAM; // where the last gram starts
    for (size_t at = from + LG_NEEDLE_MIN - GRAM; at <= last;) {
        unsigned slot = hash_of(text + at);
        size_t shift = needles->shift[slot];
        if (shift) {
            at += shift;
            continue;
        }
        size_t start = at - (LG_NEEDLE_MIN - GRAM);
        for (int i = needles->first[slot]; i != NO_WORD; i = needles->items[i].next) {
            const needle *item = &needles->items[i];
            if (item->n <= n - start && memcmp(text + start, item->word, item->n) == 0) {
                *which = (size_t)i;
                return start;
            }
        }
        at++;
    }
    return n;
}
