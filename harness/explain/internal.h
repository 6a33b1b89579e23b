// SPDX-License-Identifier: Apache-2.0
// Between the files of the log reader. Not for use outside them.
#ifndef LG_EXPLAIN_INTERNAL_H
#define LG_EXPLAIN_INTERNAL_H

#include "explain/explain.h"
#include "support/needles.h"

// --- explain_pattern.c: texts with holes --------------------------------------------------------

typedef struct lg_log_captures {
    bool has_value, has_width, has_ignore, has_row;
    int64_t value, width, ignore_index, row;
    int n_words;
    lg_span words[2];
    size_t end; // behind the match
} lg_log_captures;

// Whether the pattern (explain_texts.def says how it is written) matches at text[0].
bool lg_log_match_at(const char *pattern, const char *text, size_t n, lg_log_captures *out);
// Whether it matches anywhere from text[0] to text[last].
bool lg_log_match(const char *pattern, const char *text, size_t n, size_t last,
                  lg_log_captures *out);

typedef struct lg_log_pattern {
    const char *pattern;
    lg_log_what what;
    lg_cause cause;
    int frame; // explain_texts.def
    const char *fired;
} lg_log_pattern;

extern const lg_log_pattern lg_log_patterns[];
extern const int lg_n_log_patterns;

// The longest literal part of a pattern, copied into `arena`: what its line is found by.
const char *lg_log_literal(const char *pattern, lg_arena *arena);

// --- the reader ---------------------------------------------------------------------------------

// Words that lines are found by, besides those of the patterns; numbers below lg_n_log_patterns are
// patterns.
typedef enum lg_log_mark {
    LG_MARK_ASSERTION,
    LG_MARK_ASSERTION_FAILED,
    LG_MARK_DEVICE_ASSERTION,
    LG_MARK_SANITIZER,
    LG_MARK_RECORD,
    LG_MARK_RECORD_MESSAGE,
    LG_MARK_RECORD_FILE,
    LG_MARK_RECORD_FUNCTION,
    LG_MARK_RECORD_ID,
    LG_MARK_RECORD_KERNEL,
    LG_MARK_FRAME,
    LG_MARK_FRAME_JSON,
    LG_MARK_FRAME_OPERATOR,
    LG_MARK_FRAME_COMPILED,
    LG_MARK_DSA_HINT,
    LG_MARK_LABEL_TAIL,
    LG_MARK_RANGE_TAIL,
    LG_MARK_KERNEL_FORWARD,
    LG_MARK_KERNEL_BACKWARD,
    LG_MARK_KERNEL_SPATIAL,
    LG_N_MARKS
} lg_log_mark;

// A bad access or an assertion record, told over several lines.
typedef struct lg_log_block {
    bool open;
    lg_log_group group; // strings in the arrays below
    char text[LG_LOG_MAX_TEXT + 1], file[LG_LOG_MAX_TEXT + 1], function[LG_LOG_MAX_TEXT + 1],
        expression[LG_LOG_MAX_TEXT + 1], access[16], direction[16];
} lg_log_block;

typedef enum lg_log_encoding {
    LG_LOG_UNDECIDED, // too few bytes so far
    LG_LOG_PLAIN,
    LG_LOG_UTF16_LE,
    LG_LOG_UTF16_BE,
    LG_LOG_PACKED, // nothing of it is read
} lg_log_encoding;

typedef struct lg_log_decoder {
    lg_log_encoding encoding;
    const char *unpack; // the program that unpacks it
    size_t n_held;
    char held[4]; // the first bytes, which tell
    bool odd;     // half a unit of UTF-16 is in `half`
    unsigned half;
} lg_log_decoder;

// What lines that follow an assert line must begin and end with to be of its flood, as they stand
// in the log.
typedef struct lg_log_flood {
    int group;
    bool in_json;
    size_t n_head, n_tail; // 0: none
    char head[1024];       // the file up to `block: [`
    char tail[1024];       // from ` Assertion` on, with what ends the line
} lg_log_flood;

enum { LG_LOG_FLOODS = 4 }; // asserts that alternate: of several kernels, of several processes

struct lg_log_reader {
    lg_arena arena;
    lg_needles *needles;
    const char **words; // of the needles
    char *buffer;
    size_t n;       // bytes in the buffer
    size_t at;      // where the search goes on
    size_t counted; // newlines before it are in n_lines
    int64_t n_lines, n_bytes;
    int64_t n_text, n_control; // bytes looked at, and those of them that no text has
    bool ends_in_newline;
    lg_log_decoder decoder;
    char cleaned[LG_LOG_BEFORE + LG_LOG_AFTER]; // the line that lg_log_undo made
    int n_groups;
    lg_log_group groups[LG_LOG_MAX_GROUPS];
    int64_t n_dropped;
    bool dsa_hint;
    int64_t frame_line; // the line a loss was last seen in a traceback, 0: never
    lg_log_flood floods[LG_LOG_FLOODS];
    int next_flood; // the one that is replaced next
    lg_log_block access, record;
};

// One line of the log, as far as it is looked at.
typedef struct lg_log_line {
    const char *text;
    size_t n;
    size_t hit;     // where the word was found
    bool cut;       // the line goes on behind
    bool ends;      // with a newline or a carriage return
    int64_t number; // from 1
    // As it stands in the buffer, up to where what was taken of it ends; lg_log_undo sets them.
    const char *raw;
    size_t n_raw;
    size_t raw_room; // bytes up to the end of the line
    bool in_json;
} lg_log_line;

// --- explain_encoding.c -------------------------------------------------------------------------

// What the log is when it ends before that was clear.
void lg_log_decide(lg_log_reader *reader);
// explain.c: bytes of a text.
void lg_log_feed_text(lg_log_reader *reader, const char *bytes, size_t n);

// --- explain_undo.c ----------------------------------------------------------------------------

// Undoes the escapes of a line around its hit; the bytes of the line as it was that this took.
size_t lg_log_undo(lg_log_reader *reader, lg_log_line *line);

// --- explain_lines.c ----------------------------------------------------------------------------

// Notes what the line says, which was found by word number `word`. false: nothing, it only looked
// so.
bool lg_log_take(lg_log_reader *reader, const lg_log_line *line, size_t word);
// Adds a line to its group, or a new one (a copy of `like` with its strings copied). NULL: dropped.
lg_log_group *lg_log_group_add(lg_log_reader *reader, const lg_log_group *like,
                               const lg_log_line *line);
void lg_log_group_thread(lg_log_group *group, const int64_t block[3], const int64_t thread[3]);
int lg_log_group_threads(const lg_log_group *group); // distinct threads of the first block
void lg_log_group_value(lg_log_group *group, int64_t value);
// The text in out_bytes, cut, control characters as '?'.
void lg_log_put(char *out, size_t out_bytes, const char *text, size_t n);

// What a text's holes held.
void lg_log_group_captures(lg_log_group *group, const lg_log_captures *found);

// --- explain_asserts.c --------------------------------------------------------------------------

bool lg_log_take_assert(lg_log_reader *reader, const lg_log_line *line);
// A line of which the log has only the end of a condition.
bool lg_log_take_tail(lg_log_reader *reader, const lg_log_line *line);
// A line of which the log has only the beginning, before its condition. `last`: the log ends within
// it.
bool lg_log_take_cut(lg_log_reader *reader, const lg_log_line *line, bool last);

// --- explain_compiled.c -------------------------------------------------------------------------

// Reads the condition of a kernel that torch.compile made: whose it is, by the group's function,
// and the bound, into `bound` and as a width. false: it is no such condition.
bool lg_log_compiled(lg_log_group *like, lg_span condition, char *bound, size_t bound_bytes,
                     lg_log_captures *found);

// --- explain_flood.c ----------------------------------------------------------------------------

// Remembers an assert line of CUDA's form, which names `file`, as one that may be repeated.
void lg_log_flood_start(lg_log_reader *reader, const lg_log_line *line, lg_span file, int group);
// Whether the line with `Assertion ` at `hit` is that one again; counts it, `*end` is its newline.
bool lg_log_flood_take(lg_log_reader *reader, size_t hit, size_t *end);

// --- explain_blocks.c ---------------------------------------------------------------------------

bool lg_log_take_sanitizer(lg_log_reader *reader, const lg_log_line *line);
bool lg_log_take_record(lg_log_reader *reader, const lg_log_line *line, lg_log_mark mark);
// Closes what is told over several lines.
void lg_log_close_blocks(lg_log_reader *reader);

// Fills what, fired from the condition of an assert, of which a cut-off line has only the
// beginning, and from the group's function.
void lg_log_guard(lg_log_group *group, const char *expression, size_t n, bool cut);
// Whether a kernel's name is that of a loss that reads at an index from the labels.
bool lg_log_is_loss_kernel(const char *name);

// --- conclusions --------------------------------------------------------------------------------

// explain_rows.c: the rows that block and thread can mean.
void lg_log_rows(lg_log_finding *finding, const lg_log_group *group);
// explain_causes.c: ranked causes.
void lg_log_causes(lg_log_finding *finding, const lg_log_group *group);

#endif
