// SPDX-License-Identifier: Apache-2.0
// What a training log says about a loss: the first fault in it, whose it is, which rows it can
// mean, what it cannot tell, and how likely each cause is.
//
// The log is fed in pieces of any size; memory is bounded whatever its length, and so is the part
// of a line that is looked at (LG_LOG_BEFORE bytes before a find and LG_LOG_AFTER behind it). Lines
// alike are one group: a flood of thousands of asserts is one entry with a count.
//
// UTF-16 with its mark is read as text. A carriage return ends a line that a progress bar draws
// over; JSON strings, colours and HTML's escapes are undone in the lines that matter. Of a line
// that the log cuts off, what is left counts.
//
// Owner: lg_log_free, lg_log_finding_free. One thread a reader.
#ifndef LG_EXPLAIN_EXPLAIN_H
#define LG_EXPLAIN_EXPLAIN_H

#include "model/cause.h"
#include "result/assert_log.h"
#include "result/finding.h"
#include "support/arena.h"
#include "support/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    LG_LOG_BEFORE = 4096,
    LG_LOG_AFTER = 16384,
    LG_LOG_MAX_GROUPS = 64, // further kinds of lines are only counted
    LG_LOG_MAX_VALUES = 16, // distinct label values kept a group
    LG_LOG_MAX_TEXT = 300,  // bytes of a group's first line that are kept
    LG_LOG_BLOCK_THREADS = 1024,
};

// What a line is about.
typedef enum lg_log_what {
    LG_WHAT_LABEL = 1,    // a class index out of range
    LG_WHAT_LABEL_UINT8,  // the same, and the label cannot be negative
    LG_WHAT_OFFSET,       // a computed offset is negative: it overflowed
    LG_WHAT_INPUT_RANGE,  // a binary input outside [0, 1]
    LG_WHAT_TARGET_RANGE, // a binary target outside [0, 1]
    LG_WHAT_DTYPE,
    LG_WHAT_SHAPE,
    LG_WHAT_WEIGHT,
    LG_WHAT_OPTION,
    LG_WHAT_ACCESS,    // a loss kernel read or wrote outside its arrays
    LG_WHAT_OTHER_OP,  // a fault of another operation
    LG_WHAT_UNKNOWN,   // a check that is not known: it may be a loss's
    LG_WHAT_AFTERMATH, // says only that the device was in an error state already
} lg_log_what;

// How the line came about.
typedef enum lg_log_source {
    LG_LOG_ASSERT = 1, // an assert line
    LG_LOG_TEXT,       // an error's text
    LG_LOG_RECORD,     // a record of a device-side assertion report
    LG_LOG_SANITIZER,  // a block of compute-sanitizer
} lg_log_source;

typedef struct lg_log_group {
    lg_log_source source;
    lg_log_what what;
    lg_cause cause;     // where the line alone decides it; else LG_CAUSE_NONE
    const char *fired;  // whose check it is; static or in the arena
    int64_t count;      // lines alike
    int64_t first_line; // of the log, from 1
    const char *text;   // the first of them, cut, unprintable bytes as '?'

    lg_assert_form form; // an assert, or a record (as LG_ASSERT_CUDA); else 0
    const char *file, *function, *expression;
    int line;
    bool has_thread;
    int64_t block[3], thread[3]; // of the first line
    bool lacks_head, lacks_tail; // the log cuts the line off
    // Over all lines of the group.
    int64_t
        n_blocks; // lines whose block differs from the line before, at least the number of blocks
    int64_t max_thread; // the largest thread.x
    uint64_t
        threads[LG_LOG_BLOCK_THREADS / 64]; // thread.x seen in the first line's block, a bit each

    // Values the lines hold.
    int64_t n_values;                         // distinct ones kept
    lg_value_count values[LG_LOG_MAX_VALUES]; // in the order they came
    bool has_width, has_ignore;
    int64_t width, ignore_index;
    int64_t row;          // of the first line, -1: not said
    const char *bound;    // what the index of a compiled kernel must be below, as written, or NULL
    const char *words[2]; // %w of the pattern
    const char *labels;   // the whole list of labels where the text has one (TensorFlow), or NULL
    bool labels_cut;      // it went on beyond what is looked at

    const char *access; // sanitizer: "read", "write", …
    int64_t access_bytes;
    int64_t distance;      // bytes from the nearest allocation; -1: not said
    const char *direction; // "after", "before", "inside", or NULL
    int64_t nearest_bytes; // its size
} lg_log_group;

typedef enum lg_log_conclusion {
    LG_LOG_EMPTY,         // not one byte
    LG_LOG_QUIET,         // nothing in it speaks of a fault
    LG_LOG_LOSS_FAULT,    // `primary` is it
    LG_LOG_OTHER_FAULT,   // faults, but of other operations
    LG_LOG_UNKNOWN_CHECK, // the first fault is a check that is not known; whose, the log cannot say
    LG_LOG_PACKED_FILE,   // compressed: `unpack` reads it
    LG_LOG_NO_TEXT,       // binary, and nothing in it speaks of a fault
    LG_LOG_ORIGIN_LOST,   // only the aftermath of a fault that the log does not hold
} lg_log_conclusion;

typedef struct lg_log_guess {
    lg_cause cause;
    double probability; // a rank rather than a claim unless `from_labels`; unlikely causes are left
                        // out of the list
    const char *reason; // one line
} lg_log_guess;

enum { LG_LOG_MAX_GUESSES = 12 };

typedef struct lg_log_finding {
    lg_arena arena;
    int64_t n_bytes, n_lines;
    lg_log_conclusion conclusion;
    int n_groups;
    lg_log_group *groups; // in the order of the log
    int64_t n_dropped;    // lines of kinds beyond LG_LOG_MAX_GROUPS
    bool dsa_hint;        // the log advises TORCH_USE_CUDA_DSA
    int primary;          // of `groups`; -1: none
    const char *rows;     // which rows it can mean
    bool has_row;         // each line can only mean one; `row` is the first line's
    int64_t row;
    const char *unpack;  // of LG_LOG_PACKED_FILE
    const char *unknown; // what the log cannot tell
    int n_guesses;
    lg_log_guess guesses[LG_LOG_MAX_GUESSES]; // most probable first
    bool from_labels; // the guesses weigh a list of labels, as a batch's are
    const char *next; // what to do, lines joined by newlines
} lg_log_finding;

typedef struct lg_log_reader lg_log_reader;

lg_log_reader *lg_log_open(void); // never NULL
void lg_log_feed(lg_log_reader *reader, const char *bytes, size_t n);
// Ends the log and draws the conclusion; the reader can only be freed after it.
void lg_log_finish(lg_log_reader *reader, lg_log_finding *out);
void lg_log_free(lg_log_reader *reader);
void lg_log_finding_free(lg_log_finding *finding);

// The finding as people read it. `name` is what the log is called.
void lg_log_finding_text(const lg_log_finding *finding, const char *name, lg_str *out);

// A scenario file that shows the most probable cause as the log tells it; false when the finding
// has no cause that a scenario can inject.
bool lg_log_scenario(const lg_log_finding *finding, const char *name, lg_str *out);

#endif
