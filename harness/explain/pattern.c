// SPDX-License-Identifier: Apache-2.0
// Texts with holes: the patterns of explain_texts.def, and matching them in bounded time.
#include "explain/internal.h"

#include <string.h>

const lg_log_pattern lg_log_patterns[] = {
#define LG_LOG_TEXT(pattern, what, cause, frame, fired)                                            \
    {pattern, LG_WHAT_##what, LG_CAUSE_##cause, frame, fired},
#include "explain/texts.def"
#undef LG_LOG_TEXT
};
const int lg_n_log_patterns = sizeof lg_log_patterns / sizeof *lg_log_patterns;

enum { MOST_SKIPPED = 512 };

const char *lg_log_literal(const char *pattern, lg_arena *arena) {
    const char *best = pattern;
    size_t best_n = 0;
    for (const char *at = pattern; *at;) {
        size_t n = strcspn(at, "%");
        if (n > best_n) {
            best = at;
            best_n = n;
        }
        at += n;
        at += *at ? 2 : 0;
    }
    return lg_arena_strndup(arena, best, best_n);
}

static bool is_word_byte(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

// A decimal integer with an optional minus; 0 bytes when there is none or it does not fit.
static size_t integer_at(const char *text, size_t n, int64_t *value) {
    size_t at = 0;
    bool minus = n > 0 && text[0] == '-';
    at += minus;
    size_t start = at;
    int64_t sum = 0;
    for (; at < n && text[at] >= '0' && text[at] <= '9'; at++) {
        int digit = text[at] - '0';
        if (__builtin_mul_overflow(sum, 10, &sum) ||
            __builtin_add_overflow(sum, minus ? -digit : digit, &sum)) {
            return 0;
        }
    }
    *value = sum;
    return at > start ? at : 0;
}

static bool is_next(const char *pattern, char c) {
    return pattern[0] == '%' || (pattern[0] == ' ' ? c == ' ' || c == pattern[1] : c == pattern[0]);
}

// Bytes the hole takes; SIZE_MAX: it cannot be filled. `after` is the pattern behind it.
static size_t fill_hole(char hole, const char *after, const char *text, size_t n,
                        lg_log_captures *out) {
    int64_t value = 0;
    size_t taken = 0;
    switch (hole) {
    case 'v':
        taken = integer_at(text, n, &out->value);
        out->has_value = taken > 0;
        return taken ? taken : SIZE_MAX;
    case 'c':
        taken = integer_at(text, n, &out->width);
        out->has_width = taken > 0;
        return taken ? taken : SIZE_MAX;
    case 'i':
        taken = integer_at(text, n, &out->ignore_index);
        out->has_ignore = taken > 0;
        return taken ? taken : SIZE_MAX;
    case 'r':
        taken = integer_at(text, n, &out->row);
        out->has_row = taken > 0;
        return taken ? taken : SIZE_MAX;
    case 'd':
        taken = integer_at(text, n, &value);
        return taken ? taken : SIZE_MAX;
    case 'b':
        if (n == 0) {
            return SIZE_MAX;
        }
        out->value = (unsigned char)text[0];
        out->has_value = true;
        return 1;
    case 'w':
        while (taken < n && is_word_byte(text[taken])) {
            taken++;
        }
        if (taken && out->n_words < 2) {
            out->words[out->n_words++] = (lg_span){text, taken};
        }
        return taken ? taken : SIZE_MAX;
    case '*': {
        // To the first place where a short piece of what follows is found: no going back.
        size_t piece = strcspn(after, "%");
        piece = piece > 8 ? 8 : piece;
        size_t most = n < MOST_SKIPPED ? n : MOST_SKIPPED;
        for (; taken + piece <= most; taken++) {
            if (memcmp(text + taken, after, piece) == 0) {
                return taken;
            }
        }
        return SIZE_MAX;
    }
    default:
        return SIZE_MAX; // no such hole: the pattern never matches, which its test shows
    }
}

bool lg_log_match_at(const char *pattern, const char *text, size_t n, lg_log_captures *out) {
    *out = (lg_log_captures){0};
    size_t at = 0;
    while (*pattern) {
        if (*pattern == '%') {
            size_t taken = fill_hole(pattern[1], pattern + 2, text + at, n - at, out);
            if (taken == SIZE_MAX) {
                return false;
            }
            at += taken;
            pattern += 2;
        } else if (*pattern == ' ') {
            while (at < n && text[at] == ' ') {
                at++;
            }
            pattern++;
        } else if (at < n && text[at] == *pattern) {
            at++;
            pattern++;
        } else {
            return false;
        }
    }
    out->end = at;
    return true;
}

bool lg_log_match(const char *pattern, const char *text, size_t n, size_t last,
                  lg_log_captures *out) {
    for (size_t at = 0; at <= last && at < n; at++) {
        if (is_next(pattern, text[at]) && lg_log_match_at(pattern, text + at, n - at, out)) {
            out->end += at;
            return true;
        }
    }
    return false;
}
