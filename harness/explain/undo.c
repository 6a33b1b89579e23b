// SPDX-License-Identifier: Apache-2.0
// Undoes what stands between a program's line and the log: a JSON string (as container logs are
// kept), colours of a terminal, HTML's escapes, and newlines within a condition.
#include "explain/internal.h"

#include <string.h>

enum { ESC = 0x1b };

typedef struct entity {
    const char *name;
    char c;
} entity;

// JSON's escapes of HTML's characters are among them, for a string whose begin is not in sight.
static const entity entities[] = {
    {"&lt;", '<'},    {"&gt;", '>'},    {"&amp;", '&'},  {"&quot;", '"'}, {"&#34;", '"'},
    {"&#39;", '\''},  {"&#x27;", '\''}, {"&#96;", '`'},  {"&#x60;", '`'}, {"&apos;", '\''},
    {"\\u003c", '<'}, {"\\u003e", '>'}, {"\\u0026", '&'}};

static const entity *entity_at(const char *text, size_t n) {
    for (size_t i = 0; i < sizeof entities / sizeof *entities; i++) {
        size_t length = strlen(entities[i].name);
        if (length <= n && memcmp(text, entities[i].name, length) == 0) {
            return &entities[i];
        }
    }
    return NULL;
}

// Bytes of a terminal's control sequence at text[0], which is ESC.
static size_t sequence_bytes(const char *text, size_t n) {
    size_t at = 1;
    if (at < n && text[at] == '[') {
        for (at++; at < n && ((unsigned char)text[at] < 0x40 || text[at] > 0x7e); at++) {
        }
        return at < n ? at + 1 : n;
    }
    if (at < n && text[at] == ']') { // a title, up to BEL or ESC
        for (at++; at < n && text[at] != 0x07 && text[at] != ESC; at++) {
        }
        return at < n && text[at] == 0x07 ? at + 1 : at;
    }
    return n < 2 ? n : 2;
}

// Where the JSON string around `hit` begins; n when the line is no JSON object or `hit` in none.
static size_t json_string(const lg_log_line *line) {
    const char *text = line->text;
    size_t at = 0;
    while (at < line->n && text[at] == ' ') {
        at++;
    }
    if (line->n - at < 2 || text[at] != '{' || text[at + 1] != '"') {
        return line->n;
    }
    size_t begin = line->n;
    bool inside = false;
    for (at++; at < line->hit; at++) {
        if (text[at] == '\\' && inside) {
            at++;
        } else if (text[at] == '"') {
            inside = !inside;
            begin = at + 1;
        }
    }
    return inside ? begin : line->n;
}

static int hex_digit(char c) {
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

// The character of the escape at text[0], which is a backslash; its bytes in *n_bytes.
static char unescape(const char *text, size_t n, size_t *n_bytes) {
    static const char from[] = "nrtbf";
    static const char to[] = "\n\r\t\b\f";
    *n_bytes = n < 2 ? n : 2;
    if (n < 2) {
        return '\\';
    }
    if (text[1] != 'u') {
        const char *found = strchr(from, text[1]);
        return found && *found ? to[found - from] : text[1];
    }
    int value = 0;
    size_t at = 2;
    for (; at < 6 && at < n && hex_digit(text[at]) >= 0; at++) {
        value = value * 16 + hex_digit(text[at]);
    }
    *n_bytes = at;
    return value < 0x80 && value > 0 ? (char)value : '?';
}

// The line within the JSON string that begins at `from` and holds the hit.
static void undo_json(lg_log_line *line, size_t from, char *out, size_t *used) {
    size_t n = 0;
    size_t hit = line->hit;
    size_t at = from;
    bool mapped = false;
    while (at < line->n && line->text[at] != '"') {
        if (at >= line->hit && !mapped) {
            hit = n;
            mapped = true;
        }
        size_t bytes = 1;
        bool escaped = line->text[at] == '\\';
        char c = escaped ? unescape(line->text + at, line->n - at, &bytes) : line->text[at];
        if (escaped && (c == '\n' || c == '\r')) {
            if (mapped) {
                break;
            }
            n = 0;
        } else {
            out[n++] = c;
        }
        at += bytes;
    }
    *used = at;
    line->text = out;
    line->n = n;
    line->hit = mapped ? hit : n;
}

static void undo_marks(lg_log_line *line, char *out) {
    size_t n = 0;
    size_t hit = line->hit;
    bool mapped = false;
    for (size_t at = 0; at < line->n;) {
        if (at >= line->hit && !mapped) {
            hit = n;
            mapped = true;
        }
        const char *text = line->text + at;
        const entity *found = *text == '&' || *text == '\\' ? entity_at(text, line->n - at) : NULL;
        if (*text == ESC) {
            at += sequence_bytes(text, line->n - at);
        } else if (found) {
            out[n++] = found->c;
            at += strlen(found->name);
        } else {
            out[n++] = *text;
            at++;
        }
    }
    line->text = out;
    line->n = n;
    line->hit = mapped ? hit : n;
}

static bool has_marks(const lg_log_line *line) {
    if (line->n == 0) {
        return false;
    }
    const char *end = line->text + line->n;
    for (const char *at = line->text; at < end; at++) {
        if ((*at == '&' || *at == '\\') && entity_at(at, (size_t)(end - at))) {
            return true;
        }
    }
    return memchr(line->text, ESC, line->n) != NULL;
}

// --- conditions that a newline parts ------------------------------------------------------------

enum { MOST_JOINED = 3, JOINED_BYTES = 2048 };

static bool has(const char *text, size_t n, const char *part) {
    return n && memmem(text, n, part, strlen(part)) != NULL;
}

// Where the line ends on which a condition ends that begins at `from`; NULL: on none of the next.
static const char *condition_end(const char *from, const char *end) {
    const char *newline = from;
    for (int i = 0; i <= MOST_JOINED && newline; i++) {
        newline = memchr(newline + (i > 0), '\n', (size_t)(end - newline - (i > 0)));
        size_t n = newline ? (size_t)(newline - from) : 0;
        if (has(from, n, "` failed.") || has(from, n, "' failed.")) {
            return i > 0 && !has(from, n, "Assertion ") && !has(from, n, ": block: [") ? newline
                                                                                       : NULL;
        }
    }
    return NULL;
}

// A long condition, or one that a terminal wrapped, is one line with blanks for the newlines.
static void join_condition(lg_log_reader *reader, lg_log_line *line) {
    static const char mark[] = "Assertion `";
    size_t at = line->hit + sizeof mark - 1;
    if (at > line->n || memcmp(line->text + line->hit, mark, sizeof mark - 1) != 0) {
        return;
    }
    const char *from = line->text + at;
    size_t room = (size_t)(reader->buffer + reader->n - from);
    const char *end = condition_end(from, from + (room < JOINED_BYTES ? room : JOINED_BYTES));
    size_t n = end ? (size_t)(end - line->text) : 0;
    if (!end || n > sizeof reader->cleaned) {
        return;
    }
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        char c = line->text[i] == '\n' || line->text[i] == '\r' ? ' ' : line->text[i];
        if (c != ' ' || i < at || reader->cleaned[kept - 1] != ' ') {
            reader->cleaned[kept++] = c;
        }
    }
    line->text = reader->cleaned;
    line->n = kept;
    line->raw_room = n;
    line->n_raw = n;
}

size_t lg_log_undo(lg_log_reader *reader, lg_log_line *line) {
    line->raw = line->text;
    line->n_raw = line->n;
    line->raw_room = line->n;
    if (line->n > sizeof reader->cleaned) {
        return line->n;
    }
    if (line->ends) {
        join_condition(reader, line);
    }
    size_t used = line->n_raw;
    size_t string = json_string(line);
    if (string < line->n) {
        undo_json(line, string, reader->cleaned, &used);
        line->n_raw = used;
        line->in_json = true;
    }
    if (has_marks(line)) {
        undo_marks(line, reader->cleaned); // in place: nothing grows
    }
    return used;
}
