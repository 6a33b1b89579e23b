// SPDX-License-Identifier: Apache-2.0
// The reader: a buffer that slides over the log, the search for words worth a look, and floods.
#include "explain/explain.h"

#include "explain/internal.h"
#include "support/alloc.h"
#include "support/needles.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    BUFFER_BYTES = 256 * 1024,
    CONTROL = 7,   // bytes below, NUL among them, no text has; a terminal has uses for those above
    NO_TEXT = 100, // more than one of them in so many bytes is no text
};

static const char *const mark_words[LG_N_MARKS] = {
    [LG_MARK_ASSERTION] = "Assertion `",
    [LG_MARK_ASSERTION_FAILED] = "Assertion failed: `",
    [LG_MARK_DEVICE_ASSERTION] = "Device-side assertion ",
    [LG_MARK_SANITIZER] = "========= ",
    [LG_MARK_RECORD] = "Assertion failure ",
    [LG_MARK_RECORD_MESSAGE] = "GPU assertion failure message = ",
    [LG_MARK_RECORD_FILE] = "File containing assertion = ",
    [LG_MARK_RECORD_FUNCTION] = "Device function containing assertion = ",
    [LG_MARK_RECORD_ID] = " ID that failed assertion = ",
    [LG_MARK_RECORD_KERNEL] = "Name of kernel launched that led to failure = ",
    [LG_MARK_FRAME] = "functional.py\", line ",
    [LG_MARK_FRAME_JSON] = "functional.py\\\", line ",
    [LG_MARK_FRAME_OPERATOR] = "torch._C._nn.",
    [LG_MARK_FRAME_COMPILED] = "cpp_fused_",
    [LG_MARK_DSA_HINT] = "Compile with `TORCH_USE_CUDA_DSA`",
    [LG_MARK_LABEL_TAIL] = "n_classes` failed.",
    [LG_MARK_RANGE_TAIL] = "<= one` failed.",
    [LG_MARK_KERNEL_FORWARD] = "nll_loss_forward",
    [LG_MARK_KERNEL_BACKWARD] = "nll_loss_backward",
    [LG_MARK_KERNEL_SPATIAL] = "nll_loss2d_",
};

lg_log_reader *lg_log_open(void) {
    lg_log_reader *reader = lg_xcalloc(1, sizeof *reader);
    reader->buffer = lg_xmalloc(BUFFER_BYTES);
    size_t n = (size_t)lg_n_log_patterns + LG_N_MARKS;
    reader->words = lg_xmalloc(n * sizeof *reader->words);
    for (int i = 0; i < lg_n_log_patterns; i++) {
        reader->words[i] = lg_log_literal(lg_log_patterns[i].pattern, &reader->arena);
    }
    for (int i = 0; i < LG_N_MARKS; i++) {
        reader->words[lg_n_log_patterns + i] = mark_words[i];
    }
    reader->needles = lg_needles_new(reader->words, n);
    return reader;
}

void lg_log_free(lg_log_reader *reader) {
    if (!reader) {
        return;
    }
    lg_needles_free(reader->needles);
    free(reader->words);
    free(reader->buffer);
    lg_arena_free(&reader->arena);
    free(reader);
}

static void count_bytes(lg_log_reader *reader, const char *text, size_t n) {
    size_t at = 0;
    reader->n_text += (int64_t)n;
    for (; at + 128 <= n; at += 128) {
        // A fixed count of steps, which the compiler turns into vectors.
        unsigned char newlines = 0;
        unsigned char controls = 0;
        for (size_t i = 0; i < 128; i++) {
            newlines = (unsigned char)(newlines + (text[at + i] == '\n'));
            controls = (unsigned char)(controls + ((unsigned char)text[at + i] < CONTROL));
        }
        reader->n_lines += newlines;
        reader->n_control += controls;
    }
    for (; at < n; at++) {
        reader->n_lines += text[at] == '\n';
        reader->n_control += (unsigned char)text[at] < CONTROL;
    }
}

static void count_lines_to(lg_log_reader *reader, size_t end) {
    if (end > reader->counted) {
        count_bytes(reader, reader->buffer + reader->counted, end - reader->counted);
        reader->counted = end;
    }
}

// The line around a find. Its start is looked for no further back than what was read last. What a
// carriage return separates was drawn over one another.
static lg_log_line line_around(lg_log_reader *reader, size_t hit) {
    const char *text = reader->buffer;
    size_t least = hit > LG_LOG_BEFORE ? hit - LG_LOG_BEFORE : 0;
    const char *before = hit > least ? memrchr(text + least, '\n', hit - least) : NULL;
    size_t start = before ? (size_t)(before - text) + 1 : least;
    size_t room = reader->n - hit;
    room = room < LG_LOG_AFTER ? room : LG_LOG_AFTER;
    const char *newline = memchr(text + hit, '\n', room);
    size_t end = newline ? (size_t)(newline - text) : hit + room;
    const char *drawn = hit > start ? memrchr(text + start, '\r', hit - start) : NULL;
    const char *redrawn = end > hit ? memchr(text + hit, '\r', end - hit) : NULL;
    start = drawn ? (size_t)(drawn - text) + 1 : start;
    end = redrawn ? (size_t)(redrawn - text) : end;
    // A line that was read already may have been counted past its start; then it is the same line.
    count_lines_to(reader, start);
    return (lg_log_line){.text = text + start,
                         .n = end - start,
                         .hit = hit - start,
                         .cut = !newline && !redrawn && end < reader->n,
                         .ends = newline || redrawn,
                         .number = reader->n_lines + 1};
}

// --- sliding ------------------------------------------------------------------------------------

// Whether what follows a kernel's name is found by its own words: a cheap look at a flood's lines.
static bool is_whole(const lg_log_reader *reader, size_t hit) {
    static const char mark[] = " Assertion `";
    enum { REACH = 192 };
    size_t room = reader->n - hit < REACH ? reader->n - hit : REACH;
    const char *text = reader->buffer + hit;
    const char *found = memmem(text, room, mark, sizeof mark - 1);
    return found && !memchr(text, '\n', (size_t)(found - text));
}

// Takes one find; returns where the search goes on.
static size_t take_hit(lg_log_reader *reader, size_t hit, size_t word) {
    size_t end;
    if (word == (size_t)lg_n_log_patterns + LG_MARK_ASSERTION &&
        lg_log_flood_take(reader, hit, &end)) {
        return end;
    }
    size_t mark = word - (size_t)lg_n_log_patterns;
    if (word >= (size_t)lg_n_log_patterns && mark >= LG_MARK_KERNEL_FORWARD &&
        mark <= LG_MARK_KERNEL_SPATIAL && is_whole(reader, hit)) {
        return hit + LG_NEEDLE_MIN;
    }
    lg_log_line line = line_around(reader, hit);
    size_t start = (size_t)(line.text - reader->buffer);
    end = start + lg_log_undo(reader, &line);
    if (!lg_log_take(reader, &line, word)) {
        return hit + 1;
    }
    return end > hit ? end : hit + 1;
}

static void process(lg_log_reader *reader, bool final) {
    // What is found behind `limit` waits until its whole line, or enough of it, is in the buffer.
    size_t limit = reader->n;
    if (!final) {
        limit = reader->n > LG_LOG_AFTER ? reader->n - LG_LOG_AFTER : 0;
    }
    while (reader->at < limit) {
        size_t word = 0;
        size_t hit = lg_needles_find(reader->needles, reader->buffer, reader->n, reader->at, &word);
        if (hit >= limit) {
            reader->at = limit;
            break;
        }
        reader->at = take_hit(reader, hit, word);
    }
    size_t keep = reader->at > LG_LOG_BEFORE ? reader->at - LG_LOG_BEFORE : 0;
    count_lines_to(reader, final ? reader->n : keep);
    memmove(reader->buffer, reader->buffer + keep, reader->n - keep);
    reader->n -= keep;
    reader->at -= keep;
    reader->counted -= keep;
}

void lg_log_feed_text(lg_log_reader *reader, const char *bytes, size_t n) {
    while (n > 0) {
        size_t room = BUFFER_BYTES - reader->n;
        size_t part = n < room ? n : room;
        memcpy(reader->buffer + reader->n, bytes, part);
        reader->ends_in_newline = bytes[part - 1] == '\n';
        reader->n += part;
        bytes += part;
        n -= part;
        if (reader->n == BUFFER_BYTES) {
            process(reader, false);
        }
    }
}

// --- conclusion ---------------------------------------------------------------------------------

static bool is_loss_fault(lg_log_what what) {
    return what != LG_WHAT_OTHER_OP && what != LG_WHAT_AFTERMATH && what != LG_WHAT_UNKNOWN;
}

static int by_first_line(const void *a, const void *b) {
    const lg_log_group *left = a;
    const lg_log_group *right = b;
    return (left->first_line > right->first_line) - (left->first_line < right->first_line);
}

static void conclude(lg_log_finding *out) {
    out->primary = -1;
    out->conclusion = out->n_bytes == 0 ? LG_LOG_EMPTY : LG_LOG_QUIET;
    // Asserts end a context: of several, the first says what happened.
    lg_log_conclusion other = LG_LOG_QUIET;
    bool aftermath = false;
    for (int i = 0; i < out->n_groups; i++) {
        lg_log_what what = out->groups[i].what;
        if (other == LG_LOG_QUIET && (what == LG_WHAT_OTHER_OP || what == LG_WHAT_UNKNOWN)) {
            other = what == LG_WHAT_UNKNOWN ? LG_LOG_UNKNOWN_CHECK : LG_LOG_OTHER_FAULT;
        }
        aftermath = aftermath || what == LG_WHAT_AFTERMATH;
        // A line that is whole says more than one of the same kind whose beginning is cut off.
        bool better = out->primary < 0 ||
                      (out->groups[out->primary].lacks_head &&
                       out->groups[out->primary].what == what && !out->groups[i].lacks_head);
        if (better && is_loss_fault(what)) {
            out->primary = i;
        }
    }
    if (out->primary >= 0) {
        out->conclusion = LG_LOG_LOSS_FAULT;
        lg_log_rows(out, &out->groups[out->primary]);
        lg_log_causes(out, &out->groups[out->primary]);
    } else if (other != LG_LOG_QUIET) {
        out->conclusion = other;
    } else if (aftermath) {
        out->conclusion = LG_LOG_ORIGIN_LOST;
    }
}

// A log may end within an assert line, before the words that it is found by.
static void take_last_line(lg_log_reader *reader) {
    const char *text = reader->buffer;
    if (reader->ends_in_newline || reader->n == 0) {
        return;
    }
    const char *before = memrchr(text, '\n', reader->n);
    size_t start = before ? (size_t)(before - text) + 1 : 0;
    const char *drawn = reader->n > start ? memrchr(text + start, '\r', reader->n - start) : NULL;
    start = drawn ? (size_t)(drawn - text) + 1 : start;
    size_t n = reader->n - start;
    lg_log_line line = {.text = text + start, .n = n, .hit = n, .number = reader->n_lines + 1};
    for (int i = LG_MARK_KERNEL_FORWARD; i <= LG_MARK_KERNEL_SPATIAL; i++) {
        if (n == 0 || memmem(line.text, n, mark_words[i], strlen(mark_words[i]))) {
            return; // it was found by that
        }
    }
    if (n <= LG_LOG_BEFORE) {
        lg_log_undo(reader, &line);
        lg_log_take_cut(reader, &line, true);
    }
}

void lg_log_finish(lg_log_reader *reader, lg_log_finding *out) {
    lg_log_decide(reader);
    process(reader, true);
    take_last_line(reader);
    lg_log_close_blocks(reader);
    *out = (lg_log_finding){.n_bytes = reader->n_bytes,
                            .n_lines =
                                reader->n_lines + (reader->n_bytes > 0 && !reader->ends_in_newline),
                            .n_groups = reader->n_groups,
                            .n_dropped = reader->n_dropped,
                            .dsa_hint = reader->dsa_hint,
                            .unpack = reader->decoder.unpack,
                            .row = -1};
    out->groups = lg_arena_array(&reader->arena, LG_LOG_MAX_GROUPS, sizeof *out->groups);
    memcpy(out->groups, reader->groups, (size_t)reader->n_groups * sizeof *out->groups);
    qsort(out->groups, (size_t)out->n_groups, sizeof *out->groups, by_first_line);
    out->arena = reader->arena; // with the strings of the groups
    reader->arena = (lg_arena){0};
    conclude(out);
    if (out->conclusion == LG_LOG_QUIET && reader->n_text == 0 &&
        reader->decoder.encoding != LG_LOG_PACKED) {
        out->conclusion = LG_LOG_EMPTY; // the mark of an encoding, and nothing behind it
    } else if (out->conclusion == LG_LOG_QUIET && reader->decoder.encoding == LG_LOG_PACKED) {
        out->conclusion = LG_LOG_PACKED_FILE;
    } else if (out->conclusion == LG_LOG_QUIET && reader->n_control > reader->n_text / NO_TEXT) {
        out->conclusion = LG_LOG_NO_TEXT;
    }
}

void lg_log_finding_free(lg_log_finding *finding) {
    lg_arena_free(&finding->arena);
    *finding = (lg_log_finding){0};
}
