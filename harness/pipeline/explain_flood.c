// SPDX-License-Identifier: Apache-2.0
// Floods: thousands of lines of one assert, which differ in block, thread and a logger's prefix
// only. Such a line is told by comparing its text with the last assert line's, from its end
// backwards, without being parsed.
#include "pipeline/explain_parts.h"

#include <string.h>

static const char head_mark[] = ": block: [";
static const char middle[] = "], thread: [";
static const char tail_mark[] = "] Assertion ";
enum { TAIL_BEFORE_HIT = 2 }; // of tail_mark, before the word that lines are found by

void lg_log_flood_start(lg_log_reader *reader, const lg_log_line *line, const char *file,
                        int group) {
    lg_log_flood *flood = &reader->flood;
    const char *end = line->text + line->n;
    const char *mark = memmem(file, (size_t)(end - file), head_mark, strlen(head_mark));
    const char *tail =
        mark ? memmem(mark, (size_t)(end - mark), tail_mark, strlen(tail_mark)) : NULL;
    flood->group = -1;
    if (!tail || line->cut || line->is_cleaned) {
        return;
    }
    flood->n_head = (size_t)(mark - file) + strlen(head_mark);
    flood->n_tail = (size_t)(end - tail) + 1; // with what ends the line
    if (flood->n_head <= sizeof flood->head && flood->n_tail <= sizeof flood->tail) {
        memcpy(flood->head, file, flood->n_head);
        memcpy(flood->tail, tail, flood->n_tail - 1);
        flood->tail[flood->n_tail - 1] = line->stop;
        flood->group = group;
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

bool lg_log_flood_take(lg_log_reader *reader, size_t hit, size_t *end) {
    const lg_log_flood *flood = &reader->flood;
    const char *begin = reader->buffer;
    if (flood->group < 0 || hit < TAIL_BEFORE_HIT) {
        return false;
    }
    const char *at = begin + hit - TAIL_BEFORE_HIT;
    if (reader->n - (hit - TAIL_BEFORE_HIT) < flood->n_tail ||
        memcmp(at, flood->tail, flood->n_tail) != 0) {
        return false;
    }
    int64_t block[3];
    int64_t thread[3];
    *end = hit - TAIL_BEFORE_HIT + flood->n_tail - 1; // at the line's end
    at = triple_before(begin, at, thread);
    if (!at || !ends_before(begin, &at, middle, strlen(middle))) {
        return false;
    }
    at = triple_before(begin, at, block);
    if (!at || !ends_before(begin, &at, flood->head, flood->n_head) ||
        (at > begin && at[-1] != ' ' && at[-1] != '\n' && at[-1] != '\r')) {
        return false;
    }
    lg_log_group *group = &reader->groups[flood->group];
    group->count++;
    lg_log_group_thread(group, block, thread);
    return true;
}
