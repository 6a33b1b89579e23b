// SPDX-License-Identifier: Apache-2.0
// Floods: thousands of lines of a few asserts, which differ in block, thread and a logger's prefix
// only. Such a line is told by comparing its bytes with those of the last assert lines, from its
// end backwards, without being parsed, and as it stands in the log: escaped, in JSON, in colours.
#include "explain/internal.h"

#include <string.h>

static const char head_mark[] = ": block: [";
static const char middle[] = "], thread: [";
static const char tail_mark[] = "] Assertion ";
enum { TAIL_BEFORE_HIT = 2 }; // of tail_mark, before the word that lines are found by

// The file's name as it stands in the log: JSON doubles a backslash. 0: it does not fit.
static size_t put_file(char *out, size_t out_bytes, lg_span file, bool in_json) {
    size_t n = 0;
    for (size_t i = 0; i < file.n; i++) {
        bool escaped = in_json && (file.text[i] == '\\' || file.text[i] == '"');
        if (n + 1 + escaped > out_bytes) {
            return 0;
        }
        if (escaped) {
            out[n++] = '\\';
        }
        out[n++] = file.text[i];
    }
    return n;
}

// Whether a line, a JSON string or a word of it begins at `at`. Of more than one backslash it is
// not told what they escape: such a line is parsed.
static bool begins_at(const char *begin, const char *at, bool in_json) {
    if (at == begin || at[-1] == ' ' || at[-1] == '\n' || at[-1] == '\r') {
        return true;
    }
    if (!in_json || at - begin < 3 || at[-3] == '\\') {
        return false;
    }
    bool escaped = at[-2] == '\\';
    return escaped ? at[-1] == 'n' || at[-1] == 'r' : at[-1] == '"';
}

// Where the word with the file's name begins, colours before it included; NULL: not found.
static const char *head_begin(const lg_log_line *line, const char *mark, lg_span file) {
    char name[sizeof((lg_log_flood *)0)->head];
    size_t n = put_file(name, sizeof name, file, line->in_json);
    if (n == 0 || (size_t)(mark - line->raw) < n) {
        return NULL;
    }
    const char *at = mark - n;
    while (at > line->raw && memcmp(at, name, n) != 0) {
        at--;
    }
    if (memcmp(at, name, n) != 0) {
        return NULL;
    }
    while (!begins_at(line->raw, at, line->in_json)) {
        at--;
    }
    return at;
}

// What ends the line as it stands in the log; NULL when that is not in sight.
static const char *line_end(const lg_log_line *line) {
    const char *end = line->raw + line->n_raw;
    if (!line->in_json) {
        return line->ends ? end + 1 : NULL;
    }
    bool ends = line->raw_room > line->n_raw;
    size_t n = ends && *end == '\\' ? 2 : 1; // "\n" or the string's end
    return line->raw_room >= line->n_raw + n ? end + n : NULL;
}

static lg_log_flood *next_flood(lg_log_reader *reader) {
    lg_log_flood *flood = &reader->floods[reader->next_flood];
    reader->next_flood = (reader->next_flood + 1) % LG_LOG_FLOODS;
    return flood;
}

void lg_log_flood_start(lg_log_reader *reader, const lg_log_line *line, lg_span file, int group) {
    const char *end = line_end(line);
    size_t n = line->n_raw;
    const char *mark = n ? memmem(line->raw, n, head_mark, strlen(head_mark)) : NULL;
    const char *tail =
        mark ? memmem(mark, n - (size_t)(mark - line->raw), tail_mark, strlen(tail_mark)) : NULL;
    const char *head = tail && end ? head_begin(line, mark, file) : NULL;
    if (!head) {
        return;
    }
    size_t n_head = (size_t)(mark - head) + strlen(head_mark);
    size_t n_tail = (size_t)(end - tail);
    if (n_head <= sizeof reader->floods->head && n_tail <= sizeof reader->floods->tail) {
        lg_log_flood *flood = next_flood(reader);
        flood->group = group;
        flood->in_json = line->in_json;
        flood->n_head = n_head;
        flood->n_tail = n_tail;
        memcpy(flood->head, head, n_head);
        memcpy(flood->tail, tail, n_tail);
    }
}

// "x,y,z" that ends before `at`; returns where it begins, NULL when there is none.
static const char *triple_before(const char *begin, const char *at, int64_t out[3]) {
    for (int i = 2; i >= 0; i--) {
        int64_t value = 0;
        int64_t place = 1;
        const char *end = at;
        while (at > begin && at[-1] >= '0' && at[-1] <= '9' && end - at < 11) {
            value += place * (*--at - '0');
            place *= 10;
        }
        if (at == end || at == begin || at[-1] != (i ? ',' : '[')) {
            return NULL;
        }
        at -= i > 0;
        out[i] = value;
    }
    return at;
}

// Whether `n` bytes of `text` end before `at`; moves `at` to their begin.
static bool ends_before(const char *begin, const char **at, const char *text, size_t n) {
    if ((size_t)(*at - begin) < n || memcmp(*at - n, text, n) != 0) {
        return false;
    }
    *at -= n;
    return true;
}

static bool is_of(const lg_log_flood *flood, const char *begin, const char *at, int64_t block[3],
                  int64_t thread[3]) {
    at = triple_before(begin, at, thread);
    if (!at || !ends_before(begin, &at, middle, strlen(middle))) {
        return false;
    }
    at = triple_before(begin, at, block);
    return at && ends_before(begin, &at, flood->head, flood->n_head) &&
           begins_at(begin, at, flood->in_json);
}

bool lg_log_flood_take(lg_log_reader *reader, size_t hit, size_t *end) {
    const char *begin = reader->buffer;
    if (hit < TAIL_BEFORE_HIT) {
        return false;
    }
    size_t tail = hit - TAIL_BEFORE_HIT;
    for (int i = 0; i < LG_LOG_FLOODS; i++) {
        const lg_log_flood *flood = &reader->floods[i];
        int64_t block[3];
        int64_t thread[3];
        if (flood->n_tail > 0 && reader->n - tail >= flood->n_tail &&
            memcmp(begin + tail, flood->tail, flood->n_tail) == 0 &&
            is_of(flood, begin, begin + tail, block, thread)) {
            *end = tail + flood->n_tail - 1; // at what ends the line
            lg_log_group *group = &reader->groups[flood->group];
            group->count++;
            lg_log_group_thread(group, block, thread);
            return true;
        }
    }
    return false;
}
