// SPDX-License-Identifier: Apache-2.0
#include "support/shell.h"

#include "support/alloc.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

void lg_shell_add(lg_str *line, const char *word) {
    bool plain = *word != '\0';
    for (const char *p = word; *p; p++) {
        plain = plain && (isalnum((unsigned char)*p) || strchr("_-./:=,+@%", *p));
    }
    if (plain) {
        lg_str_add(line, word);
        return;
    }
    lg_str_add(line, "'");
    for (const char *p = word; *p; p++) {
        if (*p == '\'') {
            lg_str_add(line, "'\\''");
        } else {
            lg_str_add_n(line, p, 1);
        }
    }
    lg_str_add(line, "'");
}

// Reads one word at *at into `out`; false when a quote is not closed.
static bool take_word(const char **at, char **out) {
    const char *p = *at;
    char *to = *out;
    bool quoted = false;
    for (; *p && (quoted || (*p != ' ' && *p != '\t' && *p != '\n')); p++) {
        if (*p == '\'') {
            quoted = !quoted;
        } else if (*p == '\\' && !quoted && p[1]) {
            *to++ = *++p;
        } else {
            *to++ = *p;
        }
    }
    *to++ = '\0';
    *at = p;
    *out = to;
    return !quoted;
}

char **lg_shell_split(const char *line, size_t *n) {
    size_t length = strlen(line);
    // No line has more words than every other character, and their text is no longer than the line.
    size_t most = length / 2 + 2;
    char **words = lg_xmalloc(most * sizeof(*words) + length + 2);
    char *text = (char *)(words + most);
    *n = 0;
    const char *at = line;
    while (*(at += strspn(at, " \t\n"))) {
        words[(*n)++] = text;
        if (!take_word(&at, &text)) {
            free(words);
            *n = 0;
            return NULL;
        }
    }
    words[*n] = NULL;
    return words;
}
